# SPDX-License-Identifier: Apache-2.0
"""Small graphs with answers worked out by hand: (model, tensors given, tensors wanted), as each of
which a file of a tensor is. What the compiler makes of them."""
import argparse
import json
import os
import struct

import host
import onnx
import tap
from onnx import make_tensor

F32, I32, I64, BOOL = (onnx.CODES[t] for t in ('float32', 'int32', 'int64', 'bool'))


def floats(name, dims, values):
    return make_tensor(name, F32, dims, struct.pack('<%df' % len(values), *values))


def ints(name, dims, values):
    return make_tensor(name, I64, dims, struct.pack('<%dq' % len(values), *values))


def judge(inlay, case):
    """'' or what is wrong."""
    model, given, want = case
    with host.Work() as work:
        command = [inlay, 'run', os.path.join(work, 'm.onnx'), '-o', work]
        for path, content in [(command[2], model)] + [
            (os.path.join(work, 'in%d.pb' % i), t) for i, t in enumerate(given)
        ]:
            with open(path, 'wb') as f:
                f.write(content)
        for i in range(len(given)):
            command += ['--input', os.path.join(work, 'in%d.pb' % i)]
        status, text = host.run(command, limit=60)
        if status:
            return 'status %d: %s' % (status, text)
        bad = [
            onnx.difference(
                onnx.read_tensor(os.path.join(work, 'output_%d.pb' % i)), onnx.parse_tensor(w)
            )
            for i, w in enumerate(want)
        ]
        return '; '.join('output %d %s' % (i, b) for i, b in enumerate(bad) if b)


def analyzed(inlay, case):
    """What the compiler says of a model, or why it does not."""
    with host.Work() as work:
        path = os.path.join(work, 'm.onnx')
        with open(path, 'wb') as f:
            f.write(case[0])
        status, text = host.run([inlay, 'analyze', path, '--json'], limit=60)
    assert not status, text
    return json.loads(text)


def holds_more(inlay, case, most):
    """Says which tensor of the arena has more than so many bytes, else ''."""
    held = [t['bytes'] for t in analyzed(inlay, case)['tensors'] if t['storage'] == 'arena']
    return '%d bytes are held' % max(held) if max(held, default=0) > most else ''


def arena_above(inlay, case, most):
    size = analyzed(inlay, case)['arena']['size']
    return 'an arena of %d bytes' % size if size > most else ''


def run(check, cases=()):
    """The command line of such a test: judges these cases, then what check(t, inlay) looks at."""
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    inlay = p.parse_args().inlay
    t = tap.Tap()
    for case in cases:
        bad = judge(inlay, case())
        t.ok(case.__name__, not bad, bad)
    check(t, inlay)
    t.done()
