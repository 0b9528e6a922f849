# SPDX-License-Identifier: Apache-2.0
"""Every command with every system call failing, and a kill or a signal at each: documented
statuses, what it writes is as it was or complete, and after the next compile nothing is left.

    calls.py --calls CALLS --inlay INLAY --models MODELS [--corpus FOLDER --count N] [--every N]"""
import argparse
import glob
import os
import shutil
import struct
import subprocess

import host
import tap
from onnx import make_external, make_model, make_node, make_value


def external_model(folder):
    """Weights in a file beside the model."""
    data = struct.pack('<4096f', *(i / 4096 for i in range(4096)))
    with open(os.path.join(folder, 'w.bin'), 'wb') as f:
        f.write(data)
    w = make_external('w', 1, [64, 64], 'w.bin', 0, len(data))
    with open(os.path.join(folder, 'external.onnx'), 'wb') as f:
        f.write(
            make_model(
                [make_node('MatMul', ['x', 'w'], ['y'], 'product')],
                [make_value('x', 1, [1, 64])],
                [make_value('y', 1, [1, 64])],
                [w],
            )
        )


def start(o, work, before=()):
    """The folder that each run begins with."""
    folder = os.path.join(work, 'start')
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name in ('sine', 'digits'):
        shutil.copy(os.path.join(o.models, name, name + '.onnx'), folder)
    for i, name in enumerate(('sine', 'digits')):
        shutil.copy(
            os.path.join(o.models, name, 'test_data_set_0', 'input_0.pb'),
            os.path.join(folder, name + '.pb'),
        )
    shutil.copy(os.path.join(o.models, 'sine', 'sine.onnx'), os.path.join(folder, 'stdin'))
    with open(os.path.join(folder, 'place.csv'), 'w') as f:
        f.write('id,lower,upper,size\na,0,2,64\nb,1,3,32\n')
    external_model(folder)
    for command in before:
        status, text = host.run(command, folder)
        assert status == 0, text
    return folder


def check(t, o, work, label, how, stride, folder, command):
    p = subprocess.run(
        [o.calls, how, str(stride), folder, '--', 'inlay'] + command,
        cwd=work,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=7200,
    )
    text = p.stdout.decode('utf8', 'replace')
    last = (text.splitlines() or ['nothing'])[-1]
    t.ok('%s, %s: %s' % (label, how, last), p.returncode == 0, text[:3000])


def readers(t, o, work):
    """Commands that write nothing, or only to standard output."""
    start(o, work, [[o.inlay, 'compile', 'digits.onnx', '-o', 'proof']])
    for label, command in [
        ('analyze', ['analyze', 'digits.onnx']),
        ('analyze external data', ['analyze', 'external.onnx']),
        ('analyze --load=eager', ['analyze', 'external.onnx', '--load=eager']),
        ('standard input', ['analyze', '-']),
        ('check', ['check', 'sine.onnx', '--max-arena', '1M']),
        ('dump', ['dump', 'sine.onnx']),
        ('ops', ['ops']),
        ('place', ['place', 'place.csv']),
        ('prove', ['prove', 'proof/digits.json', 'digits.onnx']),
        ('run', ['run', 'sine.onnx', '--input', 'sine.pb']),
    ]:
        if command[0] != 'ops':
            check(t, o, work, label, 'errors', o.every, '-', command)


def writers(t, o, work, models):
    for label, model, before, kill, command in [
        ('new folder', 'sine', [], 'kill', ['--html']),
        (
            'exchanged folder',
            'sine',
            [
                ['mkdir', 'out'],
                ['cp', 'sine.pb', 'out/own.pb'],
                [o.inlay, 'compile', 'sine.onnx', '-o', 'out', '--weights', 'bin', '--csv'],
            ],
            'kill',
            [],
        ),
        (
            'folder with folders of others',
            'sine',
            [
                ['mkdir', '-p', 'out/own'],
                [o.inlay, 'compile', 'sine.onnx', '-o', 'out', '--weights', 'bin'],
            ],
            'mixed',
            [],
        ),
        ('external data', 'external', [], 'kill', ['--weights', 'obj']),
    ] + models:
        start(o, work, before)
        for how in ('errors', kill, 'signal'):
            check(
                t,
                o,
                work,
                'compile, ' + label,
                how,
                o.every,
                'out',
                ['compile', model + '.onnx', '-o', 'out'] + command,
            )
    start(o, work, [['mkdir', 'out'], ['cp', 'sine.pb', 'out/output_0.pb']])
    for how in ('errors', 'kill', 'signal'):
        check(
            t,
            o,
            work,
            'run -o',
            how,
            o.every,
            'out',
            ['run', 'digits.onnx', '--input', 'digits.pb', '-o', 'out'],
        )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--calls', required=True)
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    p.add_argument('--corpus', default='')
    p.add_argument('--count', type=int, default=0)
    p.add_argument('--every', type=int, default=1)
    o = p.parse_args()
    t = tap.Tap()
    found = (
        sorted(
            glob.glob(os.path.join(o.corpus, '**', 'model.onnx'), recursive=True),
            key=os.path.getsize,
        )[: o.count]
        if o.corpus
        else []
    )
    with host.Work() as work:
        readers(t, o, work)
        writers(t, o, work, [('digits', 'digits', [], 'kill', [])] if o.every == 1 else [])
        for path in found:
            start(o, work)
            name = os.path.basename(os.path.dirname(path))
            shutil.copy(path, os.path.join(work, 'start', 'm.onnx'))
            if host.run(
                [o.inlay, 'compile', 'm.onnx', '-o', os.path.join(work, 'try')],
                os.path.join(work, 'start'),
            )[0]:
                t.skip(name, 'it does not compile without more options')
                continue
            for how in ('errors', 'kill', 'signal'):
                check(t, o, work, name, how, o.every, 'out', ['compile', 'm.onnx', '-o', 'out'])
    t.done()


main()
