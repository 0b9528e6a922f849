# SPDX-License-Identifier: Apache-2.0
"""compile --cache: what it finds is what a compile would write, to the byte and whatever changed;
what is damaged is not found.

    cache.py --inlay INLAY [--large MIB]      with --large: an unchanged model of so many MiB in 0.1
    s"""
import argparse
import glob
import os
import shutil
import struct
import subprocess
import time

import host
import tap
import onnx
from onnx import make_model, make_node, make_tensor, make_value

F32 = 1


def write(path, data):
    with open(path, 'wb') as f:
        f.write(data)


def tree(folder):
    return {
        os.path.relpath(os.path.join(path, name), folder): open(
            os.path.join(path, name), 'rb'
        ).read()
        for path, _, names in os.walk(folder)
        for name in names
    }


def model(value, count=64):
    """Weights, of which one half lies in another file."""
    wide = lambda name: make_value(name, F32, [1, count])
    nodes = [
        make_node('Add', ['x', 'w'], ['t'], 'first'),
        make_node('Mul', ['t', 'far'], ['u'], 'second'),
        make_node('Add', ['u', 'k'], ['y'], 'third'),
    ]
    near = make_tensor('w', F32, [1, count], struct.pack('<f', value) * count)
    return make_model(
        nodes,
        [wide('x'), make_value('k', F32, [1])],
        [wide('y')],
        [near, onnx.make_external('far', F32, [1, count], 'far.bin', 0, 4 * count)],
    )


class Bench:
    """A folder with a model, its data, a constant, and a cache. What was not found is written to it
    anew."""

    def __init__(self, t, inlay, work):
        self.t, self.inlay, self.work = t, inlay, work
        self.command = [
            inlay,
            'compile',
            'net.onnx',
            '-o',
            'out',
            '--cache',
            'cache',
            '--const',
            'k=k.pb',
            '--depfile',
            'net.d',
            '--html',
        ]
        self.reset()

    def path(self, *parts):
        return os.path.join(self.work, *parts)

    def reset(self):
        for name in os.listdir(self.work):
            path = self.path(name)
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        write(self.path('net.onnx'), model(1))
        write(self.path('far.bin'), struct.pack('<64f', *range(64)))
        write(self.path('k.pb'), make_tensor('k', F32, [1], struct.pack('<f', 5)))
        self.settle()

    def settle(self):
        time.sleep(0.05)

    def compile(self, *more, command=None):
        """(found, status, text); found: its data in the cache are still the former."""
        before = self.stamps()
        done = subprocess.run(
            (command or self.command) + list(more),
            cwd=self.work,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        data = {k: v for k, v in self.stamps().items() if k.endswith('.data')}
        return (
            bool(data) and all(before.get(k) == v for k, v in data.items()),
            done.returncode,
            done.stdout.decode(),
        )

    def stamps(self):
        return {
            path: (os.stat(path).st_ino, os.stat(path).st_mtime_ns)
            for path in glob.glob(self.path('cache', '*'))
        }

    def right(self, what, found, *more):
        """A compile that finds it, or not, and the folder of one without a cache."""
        got, status, text = self.compile(*more)
        plain = [w for w in self.command + list(more) if w not in ('--cache', 'cache')]
        plain[plain.index('out')] = 'plain'
        shutil.rmtree(self.path('plain'), ignore_errors=True)
        rule = open(self.path('net.d'), 'rb').read()
        want = host.run(plain, self.work)
        same = (
            tree(self.path('out')) == tree(self.path('plain'))
            and rule.replace(b'out/', b'plain/') == open(self.path('net.d'), 'rb').read()
        )
        said = text.replace('to out', 'to plain') == want[1]
        self.t.ok(
            what,
            (got, status) == (found, want[0]) and same and said,
            'found %s, status %d, same %s\n%s\n%s' % (got, status, same, text, want[1]),
        )


def hits(b):
    b.right('the first time', False)
    inodes = {path: os.stat(b.path('out', path)).st_ino for path in tree(b.path('out'))}
    b.right('the second time it is found', True)
    b.t.ok(
        'and no file is touched',
        inodes == {path: os.stat(b.path('out', path)).st_ino for path in inodes},
    )
    shutil.rmtree(b.path('out'))
    os.remove(b.path('net.d'))
    b.right('the folder is gone: it comes back', True)
    os.utime(b.path('net.onnx'))
    b.right('a newer time, the same content', True)
    b.settle()
    data = open(b.path('net.onnx'), 'rb').read()
    os.remove(b.path('net.onnx'))
    write(b.path('net.onnx'), data)
    b.right('another file of the same content, too fresh to be trusted', True)
    for what in '--name=other', '--json':
        shutil.rmtree(b.path('out'))
        b.right('other options: ' + what, False, what)
    b.right('--json again', True, '--json')


def misses(b):
    """Whatever changed: nothing old is found."""
    for what, path, data in (
        ('the model', 'net.onnx', model(2)),
        ('external data', 'far.bin', bytes(256)),
        ('a constant', 'k.pb', make_tensor('k', F32, [1], struct.pack('<f', 6))),
    ):
        b.reset()
        b.right(what + ': first', False)
        old = os.stat(b.path(path))
        write(b.path(path), data)
        os.utime(b.path(path), ns=(old.st_atime_ns, old.st_mtime_ns))
        b.right(what + ' has changed, its time and size have not', False)
        b.settle()
    for what, change in (('changed', lambda p: write(p, b'mine')), ('gone', os.remove)):
        b.reset()
        b.right('a file of the output: first', False)
        change(b.path('out', 'src', 'net.c'))
        b.right('a file of the output is ' + what, False)
    b.reset()
    b.compile()
    write(b.path('out', 'CMakeLists.txt'), b'mine')
    for _ in range(2):
        _, status, text = b.compile()
        b.t.ok(
            'a file of mine stays, and each compile says so',
            status == 0
            and 'it stays' in text
            and open(b.path('out', 'CMakeLists.txt')).read() == 'mine',
            text,
        )


def damage(b):
    """Each byte of a small record, and some of the data."""
    b.reset()
    b.compile()
    record, data = (
        glob.glob(b.path('cache', '*.record'))[0],
        glob.glob(b.path('cache', '*.data'))[0],
    )
    kept, bytes_kept, want = open(record, 'rb').read(), open(data, 'rb').read(), tree(b.path('out'))
    bad = []
    for at in list(range(0, len(kept), 37)) + [None]:
        write(
            record,
            kept[:at]
            if at is None or at % 2
            else kept[:at] + bytes([kept[at] ^ 1]) + kept[at + 1 :],
        )
        shutil.rmtree(b.path('out'))
        _, status, text = b.compile()
        if status or tree(b.path('out')) != want:
            bad.append((at, status, text))
        write(data, bytes_kept)
    b.t.ok('records with damage', not bad, bad[:3])
    bad = []
    for at in list(range(0, len(bytes_kept), max(1, len(bytes_kept) // 40))):
        write(record, kept)
        write(
            data,
            bytes_kept[:at]
            if at % 2
            else bytes_kept[:at] + bytes([bytes_kept[at] ^ 1]) + bytes_kept[at + 1 :],
        )
        shutil.rmtree(b.path('out'))
        _, status, text = b.compile()
        if status or tree(b.path('out')) != want or 'written to out' not in text:
            bad.append((at, status, text))
    b.t.ok('data with damage', not bad, bad[:3])


def refusals(b):
    b.reset()
    for what, folder in (('under a file', 'k.pb/cache'), ('on /proc', '/proc/inlay-cache')):
        found, status, text = b.compile(command=[folder if w == 'cache' else w for w in b.command])
        b.t.ok('a cache ' + what, status == 73 and not os.path.exists(b.path('out')), text)
    found, status, text = b.compile('--max-weights=1')
    b.t.ok(
        'a failure is not kept', status == 1 and not glob.glob(b.path('cache', '*.record')), text
    )
    write(b.path('words'), b'--name=first')
    b.compile('@words')
    write(b.path('words'), b'--name=other')
    found, status, text = b.compile('@words')
    b.t.ok('other words in a file of words', os.path.exists(b.path('out', 'other.json')), text)


def large(t, inlay, work, mib):
    count = mib << 18
    wide = lambda name: make_value(name, F32, [1, count])
    nodes = [make_node('Add', ['x', 'w'], ['y'], 'add')]
    with open(os.path.join(work, 'large.bin'), 'wb') as f:
        for i in range(mib):
            f.write(struct.pack('<i', i) * (1 << 18))
    write(
        os.path.join(work, 'large.onnx'),
        make_model(
            nodes,
            [wide('x')],
            [wide('y')],
            [onnx.make_external('w', F32, [1, count], 'large.bin', 0, 4 * count)],
        ),
    )
    time.sleep(0.05)
    command = [
        inlay,
        'compile',
        'large.onnx',
        '-o',
        'out',
        '--cache',
        'cache',
        '-q',
        '--weights=bin',
    ]
    times = []
    for _ in range(4):
        began = time.monotonic()
        status, text = host.run(command, work)
        times.append(time.monotonic() - began)
        assert status == 0, text
    t.ok(
        '%d MiB unchanged: %s s' % (mib, ' '.join('%.3f' % s for s in times)),
        min(times[1:]) <= 0.1,
        times,
    )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--large', type=int)
    o = p.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        if o.large:
            large(t, o.inlay, work, o.large)
        else:
            b = Bench(t, o.inlay, work)
            hits(b)
            misses(b)
            damage(b)
            refusals(b)
    t.done()


main()
