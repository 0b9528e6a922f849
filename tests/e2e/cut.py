# SPDX-License-Identifier: Apache-2.0
"""--from and --to: both halves of a model, run behind one another, give the bytes of the whole at
each tensor between; what the part does not need may be an operator that nobody knows; the manifest
of a part is proved against the whole file.

    cut.py --inlay INLAY --models MODELS"""
import argparse
import json
import os
import struct

import host
import onnx
import tap
from onnx import make_model, make_node, make_tensor, make_value

F32, I64 = 1, 7
BETWEEN = ['conv1.relu', 'conv1.pool', 'conv2.relu', 'conv3dw.relu', 'conv3pw.pool', 'flat', 'fc']


def write(path, data):
    with open(path, 'wb') as f:
        f.write(data)
    return path


def raw(folder, i=0):
    return onnx.read_tensor(os.path.join(folder, 'output_%d.pb' % i)).raw


def halves(t, inlay, models, work):
    model = os.path.join(models, 'digits', 'digits.onnx')
    first, second, whole = (os.path.join(work, name) for name in ('first', 'second', 'whole'))
    image = os.path.join(models, 'digits', 'test_data_set_0', 'input_0.pb')
    host.run([inlay, 'run', model, '-i', image, '-o', whole, '--without', 'layout'])
    for name in BETWEEN:
        status, text = host.run(
            [inlay, 'run', model, '-i', image, '--to', name, '-o', first, '--without', 'layout']
        )
        if not status:
            status, text = host.run(
                [
                    inlay,
                    'run',
                    model,
                    '-i',
                    os.path.join(first, 'output_0.pb'),
                    '--from',
                    name,
                    '-o',
                    second,
                    '--without',
                    'layout',
                ]
            )
        t.ok('both sides of ' + name, status == 0 and raw(second) == raw(whole), text)
    for more in (
        ['--from', 'conv2.pool'],
        ['--to', 'conv2.pool'],
        ['--from', 'conv1.pool', '--to', 'flat'],
        ['--to', 'flat', '--to', 'conv2.relu'],
    ):
        out = os.path.join(work, 'out')
        status, text = host.run([inlay, 'compile', model, '-n', 'part', '-o', out] + more)
        proved, said = host.run([inlay, 'prove', os.path.join(out, 'part.json'), model])
        t.ok('compiled and proved: ' + ' '.join(more), status == proved == 0, text + said)
    with open(os.path.join(out, 'part.json')) as f:
        manifest = json.load(f)
    t.ok(
        'results are in the order of --to',
        [o['name'] for o in manifest['outputs']] == ['flat', 'conv2.relu'],
        manifest['outputs'],
    )
    for option, name, part in (
        ('--to', 'conv2.rel', 'did you mean conv2.relu?'),
        ('--from', 'image', 'no node makes "image"'),
        ('--to', 'nothing like it', 'one of: conv1'),
    ):
        status, text = host.run([inlay, 'analyze', model, option, name])
        t.ok('%s %s is refused' % (option, name), status == 64 and part in text, text)
    status, text = host.run([inlay, 'analyze', model, '--to', 'fc', '--to', 'fc'])
    t.ok('one tensor twice is refused', status == 64 and 'twice' in text, text)


def strange(t, inlay, work):
    """x -> Before (unknown) -> a; a, k -> Split -> b, c; b -> Neg -> d -> After (unknown) -> y. The
    other half of Split stays what it was."""

    def path():
        return write(
            os.path.join(work, 'm.onnx'),
            make_model(
                [
                    make_node('Before', ['x'], ['a'], 'before'),
                    make_node('Split', ['a', 'k'], ['b', 'c'], 'split', axis=0),
                    make_node('Neg', ['b'], ['d'], 'neg'),
                    make_node('Add', ['d', 'c'], ['e'], 'add'),
                    make_node('After', ['e'], ['y'], 'after'),
                ],
                [make_value('x', F32, [4])],
                [make_value('y', F32, [2])],
                [make_tensor('k', I64, [2], struct.pack('<2q', 2, 2))],
            ),
        )

    value = lambda *v: write(
        os.path.join(work, '%d.pb' % len(v)),
        make_tensor('v', F32, [len(v)], struct.pack('<%df' % len(v), *v)),
    )
    out = os.path.join(work, 'out')
    model = path()
    status, text = host.run([inlay, 'analyze', model])
    t.ok('as a whole it is refused', status == 69 and 'Before' in text and 'After' in text, text)
    t.ok(
        'the help names the rest',
        '--from "a" begins behind it' in text
        and '--to "e" ends before it' in text
        and '"x"' not in text,
        text,
    )
    status, text = host.run(
        [
            inlay,
            'run',
            model,
            '--from',
            'a',
            '--to',
            'e',
            '--shape',
            'a=4',
            '-i',
            value(1, 2, 3, 5),
            '-o',
            out,
        ]
    )
    t.ok('the part between', status == 0 and struct.unpack('<2f', raw(out)) == (2, 3), text)
    t.ok(
        'the type that the file does not say is assumed, and said',
        'float32 is assumed' in text,
        text,
    )
    status, text = host.run(
        [
            inlay,
            'run',
            model,
            '--from',
            'a',
            '--from',
            'b',
            '--to',
            'e',
            '--shape',
            'a=4',
            '--shape',
            'b=2',
            '-i',
            value(1, 2, 3, 5),
            '-i',
            value(10, 20),
            '-o',
            out,
        ]
    )
    t.ok(
        'one of the results of a node',
        status == 0 and struct.unpack('<2f', raw(out)) == (-7, -15),
        text,
    )
    status, text = host.run(
        [
            inlay,
            'run',
            model,
            '--from',
            'b',
            '--to',
            'd',
            '--shape',
            '2',
            '-i',
            value(10, 20),
            '-o',
            out,
        ]
    )
    t.ok(
        'inputs that nothing reads go',
        status == 0 and struct.unpack('<2f', raw(out)) == (-10, -20),
        text,
    )
    status, text = host.run([inlay, 'analyze', model, '--from', 'a', '--to', 'e'])
    t.ok('a shape that nobody knows is asked for', status == 69 and '--shape a=' in text, text)


def inside(t, inlay, work):
    """Types and shapes between are those of the whole model, where it compiles."""
    model = write(
        os.path.join(work, 'n.onnx'),
        make_model(
            [
                make_node('Shape', ['x'], ['s'], 'shape'),
                make_node('Cast', ['x'], ['i'], 'cast', to=I64),
                make_node('Mul', ['i', 'i'], ['y'], 'square'),
            ],
            [make_value('x', F32, ['batch', 3])],
            [make_value('y', I64, ['batch', 3])],
        ),
    )
    for more, dims in ([], [1, 3]), (['--shape', 'i=2x3'], [2, 3]):
        out = os.path.join(work, 'n')
        status, text = host.run(
            [inlay, 'compile', model, '-n', 'n', '-o', out, '--from', 'i'] + more
        )
        with open(os.path.join(out, 'n.json')) as f:
            made = json.load(f)['inputs'][0] if not status else {}
        t.ok(
            'an inferred type, %s' % dims,
            made.get('dtype') == 'int64' and made.get('dims') == dims and 'assumed' not in text,
            text,
        )
        status, text = host.run([inlay, 'prove', os.path.join(out, 'n.json'), model])
        t.ok('proved, %s' % dims, status == 0, text)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    o = p.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        halves(t, o.inlay, o.models, work)
        strange(t, o.inlay, work)
        inside(t, o.inlay, work)
    t.done()


main()
