# SPDX-License-Identifier: Apache-2.0
"""Rows that a Gather reads of a table of narrow numbers: the table stays in flash as the file has
it, and the answers are those of the table made floats, to the bit.

    tables.py --inlay INLAY"""
import argparse
import functools
import itertools
import json
import os
import random
import struct

import host
import onnx
import tap

F32, F16, I64 = (onnx.CODES[t] for t in ('float32', 'float16', 'int64'))
LOW = {'int8': -128, 'uint8': 0, 'int4': -8, 'uint4': 0, 'int2': -2}
BITS = {'int8': 8, 'uint8': 8, 'int4': 4, 'uint4': 4, 'int2': 2}
ROWS = 96
INDICES = [3, 0, ROWS - 1, 3, -2, 41]
# The dimensions of the scales of [ROWS][columns], and the attributes that say so.
FORMS = {
    'one scale': lambda columns: ([], {}),
    'scales of columns': lambda columns: ([columns], {'axis': 1}),
    'scales of rows': lambda columns: ([ROWS, 1], {'axis': 1, 'block_size': columns}),
    'scales of rows, larger blocks': lambda columns: ([ROWS, 1], {'axis': 1, 'block_size': 32}),
    'scales along the rows': lambda columns: ([ROWS], {'axis': 0}),
    'scales of blocks, the last in part': lambda columns: (
        [ROWS, -(-columns // 8)],
        {'axis': 1, 'block_size': 8},
    ),
    'scales of blocks': lambda columns: ([ROWS, columns // 8], {'axis': 1, 'block_size': 8}),
}


def rounded(form, v):
    return struct.unpack('<' + form, struct.pack('<' + form, v))[0]


def place(dims, columns, block, r, c):
    """Where the scale of an element stands."""
    if len(dims) == 2:
        return r * dims[1] + c // block
    if dims == [columns]:
        return c
    return r if dims else 0


class Case:
    """A model, and what it must answer for INDICES."""

    def __init__(self, kind, form, columns, half, zeros):
        rnd = random.Random(columns)
        dims, attrs = FORMS[form](columns)
        code, bits, count = onnx.CODES[kind], BITS[kind], ROWS * columns
        numbers = lambda n: [rnd.randrange(LOW[kind], LOW[kind] + (1 << bits)) for _ in range(n)]
        scales = 1
        for d in dims:
            scales *= d
        values, zero = numbers(count), numbers(scales) if zeros else [0] * scales
        scale = [rounded('e', rnd.uniform(0.001, 0.1)) for _ in range(scales)]
        weights = [
            onnx.make_tensor('q', code, [ROWS, columns], onnx.pack_bits(values, bits)),
            onnx.make_tensor(
                's',
                F16 if half else F32,
                dims,
                struct.pack('<%d%s' % (scales, 'e' if half else 'f'), *scale),
            ),
        ]
        if zeros:
            weights.append(onnx.make_tensor('z', code, dims, onnx.pack_bits(zero, bits)))
        nodes = [
            onnx.make_node('DequantizeLinear', ['q', 's', 'z'][: len(weights)], ['t'], **attrs),
            onnx.make_node('Gather', ['t', 'i'], ['g']),
        ]
        if half:
            nodes.append(onnx.make_node('Cast', ['g'], ['y'], to=F32))
        self.model = model(nodes, weights, 'y' if half else 'g')
        self.bytes = count * bits // 8 + scales * (2 if half else 4) + (scales * bits + 7) // 8
        at = lambda r, c: place(dims, columns, attrs.get('block_size'), r, c)
        number = lambda r, c: rounded(
            'e' if half else 'f', (values[r * columns + c] - zero[at(r, c)]) * scale[at(r, c)]
        )
        self.want = [number(i % ROWS, c) for i in INDICES for c in range(columns)]


class Widened:
    """A table that is cast."""

    def __init__(self):
        values = [rounded('e', i / 7) for i in range(ROWS * 5)]
        weights = [
            onnx.make_tensor('h', F16, [ROWS, 5], struct.pack('<%de' % len(values), *values))
        ]
        self.model = model(
            [
                onnx.make_node('Cast', ['h'], ['t'], to=F32),
                onnx.make_node('Gather', ['t', 'i'], ['y']),
            ],
            weights,
            'y',
        )
        self.bytes = 2 * len(values)
        self.want = [values[i % ROWS * 5 + c] for i in INDICES for c in range(5)]


def model(nodes, weights, result):
    return onnx.make_model(
        nodes,
        [onnx.make_value('i', I64, [2, 3])],
        [onnx.make_value(result, F32, [2, 3, None])],
        weights,
        21,
    )


def check(inlay, case):
    with host.Work() as work:
        path, given, out = (os.path.join(work, name) for name in ('model.onnx', 'i.pb', 'out'))
        for name, data in (
            (path, case.model),
            (given, onnx.make_tensor('i', I64, [2, 3], struct.pack('<6q', *INDICES))),
        ):
            with open(name, 'wb') as f:
                f.write(data)
        for flags in ([], ['--without=tables']):
            status, text = host.run([inlay, 'run', path, '-o', out, '--input', given] + flags)
            assert not status, text
            got = onnx.values(onnx.read_tensor(os.path.join(out, 'output_0.pb')))
            assert list(got) == case.want, 'wrong with %s' % flags
        status, text = host.run([inlay, 'analyze', '--json', path])
        assert not status, text
        size = json.loads(text)['weights']['size']
        assert size <= case.bytes + 128, 'the weights take %d bytes, the file %d' % (
            size,
            case.bytes,
        )


def cases():
    """(name, maker) of all."""
    for kind, form, half, zeros in itertools.product(BITS, FORMS, (False, True), (False, True)):
        columns = {'scales of blocks': 24, 'scales of blocks, the last in part': 20}.get(form, 5)
        name = '%s, %s%s%s' % (
            kind,
            form,
            ', of float16' if half else '',
            ', zero points' if zeros else '',
        )
        yield name, functools.partial(Case, kind, form, columns, half, zeros)
    yield 'float16 that is cast', Widened


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    inlay = parser.parse_args().inlay
    tap.Tap().checks(cases(), lambda make: check(inlay, make()))


if __name__ == '__main__':
    main()
