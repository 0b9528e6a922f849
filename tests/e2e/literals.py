# SPDX-License-Identifier: Apache-2.0
"""Numbers on the command line as the constant value of an input: --const sr=16000.

    literals.py --inlay INLAY"""
import argparse
import os
import struct

import host
import onnx
import tap
from onnx import CODES, make_model, make_node, make_value

F32 = CODES['float32']
# type and dimensions of the input, the text, x + its values where x is 1; or a status
CASES = [
    ('float32', [], '1.5', [2.5, 2.5, 2.5]),
    ('int64', [], '16000', [16001, 16001, 16001]),
    ('int64', ['n'], '4', [5, 5, 5]),
    ('float32', [3], '7', [8, 8, 8]),
    ('float32', [3], '1,2,3', [2, 3, 4]),
    ('float32', ['n'], '1,2,-3', [2, 3, -2]),
    ('bool', [], '1', [2, 2, 2]),
    ('float32', [3], '1,2', 64),
    ('int64', [], '1.5', 64),
    ('uint8', [], '300', 64),
    ('uint8', [], '-1', 64),
    ('float32', [], 'nothing.pb', 66),
]


def model(dtype, dims):
    """x + c, for c of any type."""
    nodes = [make_node('Cast', ['c'], ['f'], to=F32), make_node('Add', ['x', 'f'], ['y'])]
    return make_model(
        nodes,
        [make_value('x', F32, [3]), make_value('c', CODES[dtype], dims)],
        [make_value('y', F32, [3])],
    )


def check(t, o, dtype, dims, text, want):
    with host.Work() as work:
        path, x = os.path.join(work, 'm.onnx'), os.path.join(work, 'x.pb')
        for file, blob in (
            (path, model(dtype, dims)),
            (x, onnx.make_tensor('x', F32, [3], struct.pack('<3f', 1, 1, 1))),
        ):
            with open(file, 'wb') as f:
                f.write(blob)
        status, said = host.run(
            [
                o.inlay,
                'run',
                path,
                '--const',
                'c=' + text,
                '--input',
                x,
                '-o',
                os.path.join(work, 'out'),
            ]
        )
        got = status or list(
            onnx.values(onnx.read_tensor(os.path.join(work, 'out', 'output_0.pb')))
        )
        t.ok('%s %s: c=%s' % (dtype, dims, text), got == want, '%s, not %s: %s' % (got, want, said))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    o = p.parse_args()
    t = tap.Tap()
    for case in CASES:
        check(t, o, *case)
    t.done()


main()
