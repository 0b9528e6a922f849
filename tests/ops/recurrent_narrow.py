# SPDX-License-Identifier: Apache-2.0
"""RNN, GRU and LSTM whose constant weights the file holds in a narrower type than float32: they
stay in flash as they are, and the answers are those of the weights made floats.

    recurrent_narrow.py --inlay INLAY"""
import argparse
import itertools
import json
import math
import os
import random
import struct

import host
import onnx
import tap

F32 = onnx.CODES['float32']
GATES = {'RNN': 1, 'GRU': 3, 'LSTM': 4}
BITS = {'int8': 8, 'uint8': 8, 'int4': 4, 'float16': 16, 'bfloat16': 16}
SUFFIX = {'int8': 'i8', 'uint8': 'u8', 'int4': 'i4', 'float16': 'f16', 'bfloat16': 'bf16'}
# How weights become floats: the type, a scale for each row, zero points.
FORMS = {
    'int8': ('int8', False, False),
    'int8, scales of rows': ('int8', True, False),
    'uint8, zero point': ('uint8', False, True),
    'uint8, scales and zero points of rows': ('uint8', True, True),
    'int4': ('int4', False, False),
    'int4, scales of rows': ('int4', True, False),
    'float16': ('float16', False, False),
    'bfloat16': ('bfloat16', False, False),
}
STEPS = 8
# Bytes beyond the file's: what says how weights become floats, and places at multiples of 64.
MORE = 512


def sigmoid(v):
    return 1 / (1 + math.exp(-v))


def single(v):
    return struct.unpack('<f', struct.pack('<f', v))[0]


class Weights:
    """Random weights [ways][rows][columns] of a form: `value`, and the tensors and nodes that make
    them in a model."""

    def __init__(self, rnd, name, form, dims):
        kind, by_row, zeros = FORMS[form]
        ways, rows, columns = dims
        count, code, self.nodes = math.prod(dims), onnx.CODES[kind], []
        if kind in ('float16', 'bfloat16'):
            given = [rnd.uniform(-0.5, 0.5) for _ in range(count)]
            if kind == 'float16':
                raw = struct.pack('<%de' % count, *given)
                self.value = struct.unpack('<%de' % count, raw)
            else:
                words = [struct.pack('<f', v)[2:] for v in given]
                raw = b''.join(words)
                self.value = [struct.unpack('<f', b'\0\0' + w)[0] for w in words]
            self.tensors = [onnx.make_tensor(name + 'q', code, dims, raw)]
            self.nodes = [onnx.make_node('Cast', [name + 'q'], [name], to=F32)]
            self.bytes = len(raw)
            return
        bits, scales = BITS[kind], ways * rows if by_row else 1
        low = 0 if kind == 'uint8' else -(1 << bits - 1)
        q = [rnd.randrange(low, low + (1 << bits)) for _ in range(count)]
        zero = [rnd.randrange(low + 100, low + 150) if zeros else 0 for _ in range(scales)]
        scale = [single(rnd.uniform(0.5, 1) / (1 << bits)) for _ in range(scales)]
        sizes = [ways, rows, 1] if by_row else []
        attrs = {'axis': 2, 'block_size': columns} if by_row else {}
        self.tensors = [
            onnx.make_tensor(name + 'q', code, dims, onnx.pack_bits(q, bits)),
            onnx.make_tensor(name + 's', F32, sizes, struct.pack('<%df' % scales, *scale)),
        ]
        if zeros:
            self.tensors.append(
                onnx.make_tensor(name + 'z', code, sizes, onnx.pack_bits(zero, bits))
            )
        names = [name + part for part in 'qsz'[: len(self.tensors)]]
        self.nodes = [onnx.make_node('DequantizeLinear', names, [name], **attrs)]
        place = lambda i: i // columns if by_row else 0
        self.value = [single((v - zero[place(i)]) * scale[place(i)]) for i, v in enumerate(q)]
        self.bytes = count * bits // 8 + scales * 4 + (scales if zeros else 0)


def row_product(x, matrix, row):
    at = row * len(x)
    return sum(v * w for v, w in zip(x, matrix[at : at + len(x)]))


def cell(op, x, h, c, w, r, b):
    """The next h and c of one row."""
    n = len(h)
    gates = GATES[op] * n
    gx = [row_product(x, w, i) + b[i] for i in range(gates)]
    gh = [row_product(h, r, i) + b[gates + i] for i in range(2 * n if op == 'GRU' else gates)]
    if op == 'RNN':
        return [math.tanh(u + v) for u, v in zip(gx, gh)], c
    gate = [sigmoid(u + v) for u, v in zip(gx, gh)]
    if op == 'GRU':
        reset = [gate[n + i] * h[i] for i in range(n)]
        new = [
            math.tanh(gx[2 * n + i] + row_product(reset, r, 2 * n + i) + b[gates + 2 * n + i])
            for i in range(n)
        ]
        return [new[i] + gate[i] * (h[i] - new[i]) for i in range(n)], c
    c = [
        gate[2 * n + i] * c[i] + gate[i] * math.tanh(gx[3 * n + i] + gh[3 * n + i])
        for i in range(n)
    ]
    return [gate[n + i] * math.tanh(c[i]) for i in range(n)], c


class Case:
    """A model, and what it must answer for x [STEPS][batch][inputs]: all states. A row by itself
    has code of its own."""

    def __init__(self, op, forms, both, inputs, hidden):
        rnd = random.Random(' '.join([op, *forms, str(both)]))
        ways, gates, batch = 1 + both, GATES[op] * hidden, 1 + both
        w = Weights(rnd, 'w', forms[0], [ways, gates, inputs])
        r = Weights(rnd, 'r', forms[1], [ways, gates, hidden])
        b = [single(rnd.uniform(-0.5, 0.5)) for _ in range(ways * 2 * gates)]
        self.dims = [STEPS, batch, inputs]
        self.x = [single(rnd.uniform(-1, 1)) for _ in range(math.prod(self.dims))]
        bias = onnx.make_tensor('b', F32, [ways, 2 * gates], struct.pack('<%df' % len(b), *b))
        direction = 'bidirectional' if both else 'forward'
        step = onnx.make_node(
            op, ['x', 'w', 'r', 'b'], ['y'], hidden_size=hidden, direction=direction
        )
        self.model = onnx.make_model(
            w.nodes + r.nodes + [step],
            [onnx.make_value('x', F32, self.dims)],
            [onnx.make_value('y', F32, [STEPS, ways, batch, hidden])],
            w.tensors + r.tensors + [bias],
            21,
        )
        self.bytes = w.bytes + r.bytes + 4 * len(b)
        self.whole = (
            hidden % 16 == 0
        )  # other rows are filled up to fours, and scales of all rows said again
        kinds = {FORMS[form][0] for form in forms}
        self.kernel = 'recurrent_' + (SUFFIX[kinds.pop()] if len(kinds) == 1 else 'f32')
        self.want = [0.0] * (STEPS * ways * batch * hidden)
        for way, row in itertools.product(range(ways), range(batch)):
            part = lambda values: values[
                way * len(values) // ways : (way + 1) * len(values) // ways
            ]
            self.walk(op, way, ways, row, hidden, part(w.value), part(r.value), part(b))

    def walk(self, op, way, ways, row, hidden, w, r, b):
        h = c = [0.0] * hidden
        batch, inputs = self.dims[1:]
        for step in reversed(range(STEPS)) if way else range(STEPS):
            at = (step * batch + row) * inputs
            h, c = cell(op, self.x[at : at + inputs], h, c, w, r, b)
            to = ((step * ways + way) * batch + row) * hidden
            self.want[to : to + hidden] = h


class Dynamic:
    """An LSTM whose numbers are made bytes when it runs: the answers are those of its weights made
    floats."""

    def __init__(self, both, by_row):
        rnd = random.Random(7)
        ways, batch, inputs, hidden = 1 + both, 1 + both, 64, 64
        self.dims, columns = [STEPS, batch, inputs], 4 * hidden
        self.x = [single(rnd.uniform(-1, 1)) for _ in range(math.prod(self.dims))]
        tensors, self.bytes = [], 0
        sizes = [ways, columns] if by_row else [ways]
        for name, depth in (('w', inputs), ('r', hidden)):
            q = bytes(rnd.randrange(256) for _ in range(ways * depth * columns))
            scale = [rnd.uniform(0.002, 0.004) for _ in range(math.prod(sizes))]
            tensors += [
                onnx.make_tensor(name, onnx.CODES['int8'], [ways, depth, columns], q),
                onnx.make_tensor(name + 's', F32, sizes, struct.pack('<%df' % len(scale), *scale)),
                onnx.make_tensor(name + 'z', onnx.CODES['int8'], sizes, bytes(len(scale))),
            ]
            self.bytes += len(q) + 5 * len(scale)
        bias = [rnd.uniform(-0.5, 0.5) for _ in range(ways * 2 * columns)]
        tensors.append(
            onnx.make_tensor('b', F32, [ways, 2 * columns], struct.pack('<%df' % len(bias), *bias))
        )
        self.bytes += 4 * len(bias)
        node = onnx.make_node(
            'DynamicQuantizeLSTM',
            ['x', 'w', 'r', 'b', '', '', '', '', 'ws', 'wz', 'rs', 'rz'],
            ['y'],
            domain='com.microsoft',
            hidden_size=hidden,
            direction='bidirectional' if both else 'forward',
        )
        self.model = onnx.make_model(
            [node],
            [onnx.make_value('x', F32, self.dims)],
            [onnx.make_value('y', F32, [STEPS, ways, batch, hidden])],
            tensors,
            17,
            [('com.microsoft', 1)],
        )
        self.whole, self.kernel, self.want = by_row or not both, 'recurrent_i8', None


def check(inlay, case):
    with host.Work() as work:
        path, given, out = (os.path.join(work, name) for name in ('model.onnx', 'x.pb', 'out'))
        raw = struct.pack('<%df' % len(case.x), *case.x)
        for name, data in ((path, case.model), (given, onnx.make_tensor('x', F32, case.dims, raw))):
            with open(name, 'wb') as f:
                f.write(data)
        answers = []
        for flags in ([], ['--weights-type=float32']):
            status, text = host.run([inlay, 'run', path, '-o', out, '--input', given] + flags)
            assert not status, text
            answers.append(onnx.read_tensor(os.path.join(out, 'output_0.pb')))
        bad = onnx.difference(*answers, rtol=1e-6, atol=1e-6)
        assert not bad, 'differs from weights of float32: %s' % bad
        for got, want in zip(onnx.values(answers[0]), case.want or []):
            assert abs(got - want) < 1e-5, '%g, not %g' % (got, want)
        status, text = host.run([inlay, 'analyze', '--json', path])
        assert not status, text
        report = json.loads(text)
        kernels = [s['kernel'] for s in report['steps']]
        assert case.kernel in kernels, kernels
        size = report['weights']['size']
        if case.whole:
            assert size <= 1.02 * case.bytes + MORE, 'the weights take %d bytes, the file %d' % (
                size,
                case.bytes,
            )


def cases():
    """(name, case) of all."""
    for op, form, both in itertools.product(GATES, FORMS, (False, True)):
        for inputs, hidden in ((24, 48), (5, 13)):
            name = '%s %dx%d, %s%s' % (
                op,
                inputs,
                hidden,
                form,
                ', both directions' if both else '',
            )
            yield name, Case(op, (form, form), both, inputs, hidden)
    for op in GATES:
        yield '%s, two types' % op, Case(op, ('int8', 'uint8, zero point'), True, 6, 9)
        yield '%s, scales of one and of rows' % op, Case(
            op, ('int8', 'int8, scales of rows'), True, 24, 48
        )
    for both, by_row in itertools.product((False, True), repeat=2):
        yield 'dynamic LSTM%s%s' % (
            ', both directions' if both else '',
            ', scales of rows' if by_row else '',
        ), Dynamic(both, by_row)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    inlay = parser.parse_args().inlay
    tap.Tap().checks(cases(), lambda case: check(inlay, case))


main()
