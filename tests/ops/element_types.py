# SPDX-License-Identifier: Apache-2.0
"""Every element type of the elementwise operators, reductions, conversions and index operators,
with answers worked out here in Python: integers exactly, with the wrap-around of their width,
doubles by the math module. The reference data of ONNX has most operators in float32 only.

    element_types.py --inlay INLAY"""
import argparse
import json
import math
import os
import random
import struct

import host
import onnx
import tap
from onnx import make_model, make_node, make_tensor, make_value

INTS = {
    'int8': (8, True),
    'int16': (16, True),
    'int32': (32, True),
    'int64': (64, True),
    'uint8': (8, False),
    'uint16': (16, False),
    'uint32': (32, False),
    'uint64': (64, False),
}
FLOATS = ('float32', 'float64', 'float16')
I64 = onnx.CODES['int64']


def wrap(v, t):
    """The value a C conversion to type t gives."""
    if t == 'bool':
        return int(v != 0)
    if t == 'float32':
        return struct.unpack('<f', struct.pack('<f', v))[0]
    if t == 'float64':
        return float(v)
    if t == 'float16':
        return struct.unpack('<e', struct.pack('<e', v))[0]
    bits, is_signed = INTS[t]
    v = int(v) & ((1 << bits) - 1)
    return v - (1 << bits) if is_signed and v >> (bits - 1) else v


def raw(t, values):
    """Values of formats that Python has; of small ones their codes, of packed ones whole bytes."""
    if t.startswith('complex'):
        values = [part for v in values for part in (v.real, v.imag)]
    letter = (onnx.TYPES[onnx.CODES[t]][2] or ('H' if t == 'bfloat16' else 'B'))[-1]
    return struct.pack('<%d%s' % (len(values), letter), *values)


def tensor(name, t, dims, values):
    return make_tensor(name, onnx.CODES[t], dims, raw(t, values))


class Model:
    """Many small nodes in one model; each has a result of its own and an expected tensor."""

    opset, domains = 20, ()

    def __init__(self, rows):
        self.rows, self.ins, self.nodes, self.weights, self.want = rows, [], [], [], []

    def supported(self, op, t):
        return any(
            r['name'] == op and r['domain'] == 'ai.onnx' and t in r['types'] and r['until'] is None
            for r in self.rows
        )

    def input(self, t, dims, values):
        name = 'in%d' % len(self.ins)
        self.ins.append((name, t, dims, values))
        return name

    def constant(self, t, dims, values):
        name = 'c%d' % len(self.weights)
        self.weights.append(tensor(name, t, dims, values))
        return name

    def node(self, op, ins, t, dims, values, kind='', outs=None, **attrs):
        """outs: [(t, dims, values)] where there is more than one result; values None: not looked
        at."""
        names = []
        for u, d, v in outs or [(t, dims, values)]:
            names.append('y%d' % len(self.want))
            self.want.append(('%s %s' % (op, kind or t), names[-1], u, d, v))
        self.nodes.append(
            make_node(op, ins, names, op.lower() + '_' + (kind or t).replace(' ', '_'), **attrs)
        )

    def write(self, path):
        values = [make_value(n, onnx.CODES[u], d) for n, u, d, _ in self.ins]
        results = [make_value(n, onnx.CODES[u], d) for _, n, u, d, _ in self.want]
        with open(path, 'wb') as f:
            f.write(make_model(self.nodes, values, results, self.weights, self.opset, self.domains))

    def judge(self, t, inlay, title):
        with host.Work() as work:
            path = os.path.join(work, 'm.onnx')
            self.write(path)
            command = [inlay, 'run', path, '-o', os.path.join(work, 'out')]
            for n, u, d, v in self.ins:
                with open(os.path.join(work, n), 'wb') as f:
                    f.write(tensor(n, u, d, v))
                command += ['--input', os.path.join(work, n)]
            status, text = host.run(command)
            if not t.ok(title + ': runs', status == 0, 'status %d\n%s' % (status, text[:3000])):
                return
            for i, (label, _, u, d, v) in enumerate(self.want):
                got = onnx.read_tensor(os.path.join(work, 'out', 'output_%d.pb' % i))
                bad = (
                    ''
                    if v is None
                    else onnx.difference(
                        got,
                        onnx.Tensor('', onnx.CODES[u], d, raw(u, v)),
                        *((2e-4, 1e-4) if u == 'float16' else (2e-6, 1e-6))
                    )
                )
                t.ok(label, not bad, bad)


# --- what the operators mean ---


def truncated(a, b):
    return (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)


BINARY = {
    'Add': lambda a, b: a + b,
    'Sub': lambda a, b: a - b,
    'Mul': lambda a, b: a * b,
    'Min': min,
    'Max': max,
    'Equal': lambda a, b: a == b,
    'Less': lambda a, b: a < b,
    'LessOrEqual': lambda a, b: a <= b,
    'Greater': lambda a, b: a > b,
    'GreaterOrEqual': lambda a, b: a >= b,
    'BitwiseAnd': lambda a, b: a & b,
    'BitwiseOr': lambda a, b: a | b,
    'BitwiseXor': lambda a, b: a ^ b,
    'PRelu': lambda a, b: a if a >= 0 else a * b,
}
COMPARE = ('Equal', 'Less', 'LessOrEqual', 'Greater', 'GreaterOrEqual')
BITS = ('BitwiseAnd', 'BitwiseOr', 'BitwiseXor', 'BitwiseNot')
UNARY = {
    'Abs': abs,
    'Neg': lambda a: -a,
    'Sign': lambda a: (a > 0) - (a < 0),
    'Relu': lambda a: max(a, 0),
    'BitwiseNot': lambda a: ~a,
}


def selu(x, a=1.67326319217681884765625, g=1.05070102214813232421875):
    return g * x if x > 0 else g * a * math.expm1(x)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


MATH = {  # name: function, least and greatest argument, attributes
    'Ceil': (math.ceil, -9, 9, {}),
    'Floor': (math.floor, -9, 9, {}),
    'Round': (round, -9, 9, {}),
    'Sqrt': (math.sqrt, 0, 50, {}),
    'Reciprocal': (lambda x: 1 / x, 0.1, 9, {}),
    'Exp': (math.exp, -5, 5, {}),
    'Log': (math.log, 0.01, 50, {}),
    'Sin': (math.sin, -9, 9, {}),
    'Cos': (math.cos, -9, 9, {}),
    'Tan': (math.tan, -1.4, 1.4, {}),
    'Asin': (math.asin, -1, 1, {}),
    'Acos': (math.acos, -1, 1, {}),
    'Atan': (math.atan, -9, 9, {}),
    'Sinh': (math.sinh, -5, 5, {}),
    'Cosh': (math.cosh, -5, 5, {}),
    'Tanh': (math.tanh, -5, 5, {}),
    'Asinh': (math.asinh, -9, 9, {}),
    'Acosh': (math.acosh, 1, 50, {}),
    'Atanh': (math.atanh, -0.95, 0.95, {}),
    'Erf': (math.erf, -4, 4, {}),
    'Sigmoid': (sigmoid, -9, 9, {}),
    'LeakyRelu': (lambda x: x if x >= 0 else 0.25 * x, -9, 9, {'alpha': 0.25}),
    'Elu': (lambda x: x if x >= 0 else 0.5 * math.expm1(x), -5, 5, {'alpha': 0.5}),
    'Selu': (selu, -5, 5, {}),
    'Celu': (lambda x: max(0, x) + min(0, 2 * math.expm1(x / 2)), -5, 5, {'alpha': 2.0}),
    'ThresholdedRelu': (lambda x: x if x > 0.5 else 0, -5, 5, {'alpha': 0.5}),
    'HardSigmoid': (lambda x: min(1, max(0, 0.25 * x + 0.5)), -9, 9, {'alpha': 0.25, 'beta': 0.5}),
    'HardSwish': (lambda x: x * min(1, max(0, x / 6 + 0.5)), -9, 9, {}),
    'Softplus': (lambda x: math.log1p(math.exp(x)), -9, 9, {}),
    'Softsign': (lambda x: x / (1 + abs(x)), -9, 9, {}),
    'Mish': (lambda x: x * math.tanh(math.log1p(math.exp(x))), -9, 9, {}),
    'Gelu': (lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))), -5, 5, {}),
    'Shrink': (
        lambda x: x - 0.25 if x > 0.5 else x + 0.25 if x < -0.5 else 0,
        -2,
        2,
        {'lambd': 0.5, 'bias': 0.25},
    ),
    'Neg': (lambda x: -x, -9, 9, {}),
    'Abs': (abs, -9, 9, {}),
    'Sign': (lambda x: (x > 0) - (x < 0), -9, 9, {}),
    'Relu': (lambda x: max(x, 0), -9, 9, {}),
}
REDUCE = {
    'ReduceSum': sum,
    'ReduceMax': max,
    'ReduceMin': min,
    'ReduceProd': math.prod,
    'ReduceL1': lambda v: sum(map(abs, v)),
    'ReduceSumSquare': lambda v: sum(x * x for x in v),
    'ReduceMean': None,
    'ReduceL2': lambda v: math.sqrt(sum(x * x for x in v)),
    'ReduceLogSum': lambda v: math.log(sum(v)),
    'ReduceLogSumExp': lambda v: math.log(sum(map(math.exp, v))),
}


def operators():
    """Those with an answer here, for the count of what is tested."""
    return (
        list(BINARY)
        + list(UNARY)
        + list(MATH)
        + list(REDUCE)
        + ['Div', 'Mod', 'Pow', 'Cast', 'IsNaN', 'IsInf']
    )


def some(rng, t, n, small=False, positive=False):
    """n values; small ones keep products and sums in range."""
    if t in FLOATS:
        return [wrap(rng.uniform(0.25 if positive else -4, 4), t) for _ in range(n)]
    bits, is_signed = INTS[t]
    top = 5 if small else (1 << (bits - is_signed)) - 1
    low = 1 if positive else -top if is_signed else 0
    return [rng.randint(low, top) for _ in range(n)]


def elementwise(m, rng, t):
    dims, n = [3, 5], 15
    a, b = some(rng, t, n), some(rng, t, 5)
    a[:2] = [b[0], b[1]]
    x, y = m.input(t, dims, a), m.input(t, [5], b)
    for op, f in BINARY.items():
        if m.supported(op, t) and not (t in FLOATS and op in BITS):
            to = 'bool' if op in COMPARE else t
            m.node(op, [x, y], to, dims, [wrap(f(a[i], b[i % 5]), to) for i in range(n)], t)
    for op, f in UNARY.items() if t in INTS else ():
        if m.supported(op, t):
            m.node(op, [x], t, dims, [wrap(f(v), t) for v in a])
    c, d = some(rng, t, n), some(rng, t, 5, small=True, positive=True)
    d = [v if rng.random() < 0.5 or t not in INTS or not INTS[t][1] else -v for v in d]
    u, v = m.input(t, dims, c), m.input(t, [5], d)
    pairs = [(c[i], d[i % 5]) for i in range(n)]
    if m.supported('Div', t):
        m.node(
            'Div',
            [u, v],
            t,
            dims,
            [wrap(p / q if t in FLOATS else truncated(p, q), t) for p, q in pairs],
        )
    if m.supported('Mod', t):
        if t in INTS:
            m.node('Mod', [u, v], t, dims, [wrap(p % q, t) for p, q in pairs])
        m.node(
            'Mod',
            [u, v],
            t,
            dims,
            [
                wrap(math.fmod(p, q) if t in FLOATS else p - q * truncated(p, q), t)
                for p, q in pairs
            ],
            t + ' fmod',
            fmod=1,
        )
    if m.supported('Pow', t):
        base, e = some(rng, t, n, small=True, positive=True), [2, 3, 0, 1, 2]
        m.node(
            'Pow',
            [m.input(t, dims, base), m.constant(t, [5], [wrap(k, t) for k in e])],
            t,
            dims,
            [wrap(base[i] ** e[i % 5], t) for i in range(n)],
        )


def functions(m, rng, t):
    special(m, t)
    for op, (f, low, top, attrs) in MATH.items():
        if m.supported(op, t):
            a = [wrap(rng.uniform(low, top), t) for _ in range(19)]
            m.node(op, [m.input(t, [19], a)], t, [19], [wrap(f(v), t) for v in a], **attrs)


def special(m, t):
    """Doubles that are no numbers, and what sums over a line."""
    inf, nan = math.inf, math.nan
    x = m.input(t, [5], [1.0, inf, -inf, nan, -0.0])
    if m.supported('IsNaN', t):
        m.node('IsNaN', [x], 'bool', [5], [0, 0, 0, 1, 0], t)
    if m.supported('IsInf', t):
        m.node('IsInf', [x], 'bool', [5], [0, 1, 1, 0, 0], t)
        m.node('IsInf', [x], 'bool', [5], [0, 0, 1, 0, 0], t + ' negative', detect_positive=0)
    a = [1.0, 2.0, 0.5, -1.0, 0.0, 3.0]
    y, lines = m.input(t, [2, 3], a), [a[:3], a[3:]]
    sums = [sum(map(math.exp, line)) for line in lines]
    if m.supported('Softmax', t):
        m.node(
            'Softmax',
            [y],
            t,
            [2, 3],
            [wrap(math.exp(v) / s, t) for line, s in zip(lines, sums) for v in line],
            axis=1,
        )
    if m.supported('LogSoftmax', t):
        m.node(
            'LogSoftmax',
            [y],
            t,
            [2, 3],
            [wrap(v - math.log(s), t) for line, s in zip(lines, sums) for v in line],
            axis=1,
        )
    if m.supported('Hardmax', t):
        m.node(
            'Hardmax',
            [y],
            t,
            [2, 3],
            [wrap(v == max(line), t) for line in lines for v in line],
            axis=1,
        )
    if m.supported('MatMul', t):
        b = [0.5, 1.0, -1.0, 2.0, 3.0, 0.25]
        m.node(
            'MatMul',
            [y, m.input(t, [3, 2], b)],
            t,
            [2, 2],
            [
                wrap(sum(line[k] * b[2 * k + j] for k in range(3)), t)
                for line in lines
                for j in range(2)
            ],
        )


def reductions(m, rng, t):
    dims, n = [2, 3, 4], 24
    for op, f in REDUCE.items():
        if (
            not m.supported(op, t)
            or t in INTS
            and op in ('ReduceL2', 'ReduceLogSum', 'ReduceLogSumExp')
        ):
            continue
        a = some(rng, t, n, small=True, positive=True)
        lines = [[a[i * 12 + k * 4 + j] for k in range(3)] for i in range(2) for j in range(4)]
        g = f or (lambda v: sum(v) / 3 if t in FLOATS else truncated(sum(v), 3))
        # In opset 20 the axes of ReduceMax and ReduceMin are an operand as well (since 18).
        m.node(
            op,
            [m.input(t, dims, a), m.constant('int64', [1], [1])],
            t,
            [2, 1, 4],
            [wrap(g(line), t) for line in lines],
            keepdims=1,
        )
    a = [5, 1, 7, 7, 2, 0, 3, 3, 9, 4, 9, 1]
    x = m.input(t, [3, 4], a)
    for op, best in (('ArgMax', max), ('ArgMin', min)):
        if m.supported(op, t):
            m.node(
                op,
                [x],
                'int64',
                [3],
                [a[4 * i : 4 * i + 4].index(best(a[4 * i : 4 * i + 4])) for i in range(3)],
                t,
                axis=1,
                keepdims=0,
            )


def casts(m, rng, t, all_types):
    """Small numbers, which every type holds; then wrap-around between integers."""
    a = [0, 1, 2, 100, 127] + (
        [-1, -128, -100] if t in FLOATS or t in INTS and INTS[t][1] else [3, 5, 7]
    )
    if t == 'bool':
        a = [0, 1, 1, 0, 1, 1, 0, 1]
    if t in FLOATS:
        a = [v + (0.75 if v > 0 else -0.75) if abs(v) < 120 else v for v in a]
    x = m.input(t, [8], a)
    for u in all_types:
        if u != t:
            # A negative float has no defined value as an unsigned integer.
            b = [abs(v) for v in a] if t in FLOATS and u in INTS and not INTS[u][1] else a
            y = x if b is a else m.input(t, [8], b)
            m.node(
                'Cast', [y], u, [8], [wrap(v, u) for v in b], '%s to %s' % (t, u), to=onnx.CODES[u]
            )
    if t in INTS:
        wide = some(rng, t, 8)
        y = m.input(t, [8], wide)
        for u in INTS:
            if u != t:
                m.node(
                    'Cast',
                    [y],
                    u,
                    [8],
                    [wrap(v, u) for v in wide],
                    '%s to %s, wrapping' % (t, u),
                    to=onnx.CODES[u],
                )


def indices(m, rng, t):
    a = [5, 1, 7, 3, 2, 0, 6, 4, 9, 8, 11, 10]
    x = m.input(t, [3, 4], a)
    rows = [a[4 * i : 4 * i + 4] for i in range(3)]
    if m.supported('TopK', t):
        order = [sorted(range(4), key=lambda k, r=r: -r[k])[:2] for r in rows]
        m.node(
            'TopK',
            [x, m.constant('int64', [1], [2])],
            t,
            [3, 2],
            None,
            outs=[
                (t, [3, 2], [rows[i][k] for i in range(3) for k in order[i]]),
                ('int64', [3, 2], [k for o in order for k in o]),
            ],
            axis=1,
        )
    if m.supported('CumSum', t):
        m.node(
            'CumSum',
            [x, m.constant('int64', [], [1])],
            t,
            [3, 4],
            [sum(r[: k + 1]) for r in rows for k in range(4)],
        )
    if m.supported('ScatterElements', t):
        b = list(a)
        for i, (k, v) in enumerate(((3, 21), (0, 22), (1, 23))):
            b[4 * i + k] = v
        m.node(
            'ScatterElements',
            [x, m.constant('int64', [3, 1], [3, 0, 1]), m.input(t, [3, 1], [21, 22, 23])],
            t,
            [3, 4],
            b,
            axis=1,
        )
        for reduction, f in (
            ('add', lambda p, q: p + q),
            ('mul', lambda p, q: p * q),
            ('max', max),
            ('min', min),
        ):
            b = list(a)
            for k, v in ((2, 3), (2, 2), (0, 4)):
                b[k] = f(b[k], v)
            m.node(
                'ScatterElements',
                [x, m.constant('int64', [1, 3], [2, 2, 0]), m.input(t, [1, 3], [3, 2, 4])],
                t,
                [3, 4],
                b,
                t + ' ' + reduction,
                axis=1,
                reduction=reduction,
            )
    if m.supported('ScatterND', t):
        b = list(a)
        b[4:8], b[0:4] = [1, 2, 3, 4], [6, 7, 8, 9]
        m.node(
            'ScatterND',
            [x, m.constant('int64', [2, 1], [1, 0]), m.input(t, [2, 4], [1, 2, 3, 4, 6, 7, 8, 9])],
            t,
            [3, 4],
            b,
        )
        b = [v + 2 if i < 4 else v for i, v in enumerate(a)]
        m.node(
            'ScatterND',
            [x, m.constant('int64', [1, 1], [0]), m.input(t, [1, 4], [2, 2, 2, 2])],
            t,
            [3, 4],
            b,
            t + ' add',
            reduction='add',
        )
    moves(m, t, x, a)


def moves(m, t, x, a):
    if m.supported('Gather', t):
        m.node('Gather', [x, m.constant('int64', [2], [2, 0])], t, [2, 4], a[8:] + a[:4])
    if m.supported('Transpose', t):
        m.node(
            'Transpose',
            [x],
            t,
            [4, 3],
            [a[4 * i + k] for k in range(4) for i in range(3)],
            perm=[1, 0],
        )
    if m.supported('Trilu', t):
        m.node('Trilu', [x], t, [3, 4], [v if i % 4 >= i // 4 else 0 for i, v in enumerate(a)])
    if m.supported('Where', 'bool'):
        other = list(reversed(a))
        m.node(
            'Where',
            [m.input('bool', [4], [1, 0, 0, 1]), x, m.input(t, [3, 4], other)],
            t,
            [3, 4],
            [a[i] if i % 4 in (0, 3) else other[i] for i in range(12)],
        )
    if m.supported('Concat', t):
        m.node(
            'Concat',
            [x, x],
            t,
            [3, 8],
            [v for i in range(3) for v in a[4 * i : 4 * i + 4] * 2],
            axis=1,
        )
    if m.supported('Slice', t):
        spans = [m.constant('int64', [1], [v]) for v in (3, -5, 1, -2)]
        m.node('Slice', [x] + spans, t, [3, 2], [a[4 * i + k] for i in range(3) for k in (3, 1)])
    if m.supported('Tile', t):
        m.node(
            'Tile',
            [x, m.constant('int64', [2], [1, 2])],
            t,
            [3, 8],
            [v for i in range(3) for v in a[4 * i : 4 * i + 4] * 2],
        )


def models(inlay):
    """(title, Model) for each element type."""
    rng = random.Random(1)
    rows = json.loads(host.run([inlay, 'ops', '--json'])[1])['operators']
    everything = list(INTS) + list(FLOATS) + ['bool']
    for u in everything:
        parts = {'casts': lambda m: casts(m, rng, u, everything)}
        if u != 'bool':
            parts['elementwise'] = lambda m: elementwise(m, rng, u)
            parts['reductions'] = lambda m: reductions(m, rng, u)
            parts['indices'] = lambda m: indices(m, rng, u)
        if u in FLOATS:
            parts['functions'] = lambda m: functions(m, rng, u)
        for name, build in parts.items():
            m = Model(rows)
            build(m)
            yield '%s: %s' % (u, name), m


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    o = p.parse_args()
    t = tap.Tap()
    for title, m in models(o.inlay):
        m.judge(t, o.inlay, title)
    t.done()


if __name__ == '__main__':
    main()
