# SPDX-License-Identifier: Apache-2.0
"""A model that grows node by node and knows the type and the dimensions of each value: what a chain
of random operators is made of. An operator that finds nothing that fits raises Unfit."""
import math
import struct

import onnx

FLOATS = ('float32', 'float64', 'float16')
INTEGERS = ('int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64')
SIGNED, UNSIGNED = INTEGERS[:4], INTEGERS[4:]
OPSETS = (*range(7, 25), 11, 11, 11, 11, 13, 13, 13, 13, 17, 17, 17, 17, 18, 18, 18, 21, 21, 21)
LARGEST, MOST_RANK = 6000, 6  # elements of a value, dimensions
ROUNDING = {'float64': 1e-5, 'float32': 1e-5, 'float16': 4e-3}
WHOLE = {'int4': 4, 'uint4': 4}  # bits of numbers that are less than a byte

# Forms of a narrow constant: type, least and largest number, how it is scaled, first opset.
NARROW = [
    ('float16', 0, 0, 'cast', 7),
    ('bfloat16', 0, 0, 'cast', 13),
    ('int8', -127, 127, 'whole', 10),
    ('uint8', 0, 255, 'whole', 10),
    ('int8', -127, 127, 'axis', 13),
    ('uint8', 0, 255, 'axis', 13),
    ('int16', -3000, 3000, 'whole', 21),
    ('int4', -8, 7, 'whole', 21),
    ('int4', -8, 7, 'axis', 21),
    ('uint4', 0, 15, 'axis', 21),
    ('int4', -8, 7, 'block', 21),
    ('int8', -127, 127, 'block', 21),
]


class Unfit(Exception):
    """Nothing here that the operator takes, or more than a chain should hold."""


def need(holds):
    if not holds:
        raise Unfit()


class Value:
    """A name in the graph. `fixed`: the numbers of a constant. How far numbers may be off that are
    computed in another order: `rounding`, a part of the largest, and `step`, that of the last
    quantization before them.
    """

    def __init__(self, name, kind, dims, fixed=None):
        self.name, self.kind, self.dims, self.fixed = name, kind, list(dims), fixed
        self.rounding, self.step = ROUNDING.get(kind, 0), 0
        self.rank, self.count = len(self.dims), math.prod(self.dims)


def raw_of(kind, values):
    if kind in WHOLE:
        return onnx.pack_bits(values, WHOLE[kind])
    if kind == 'bfloat16':
        return b''.join(struct.pack('<f', v)[2:] for v in values)
    return struct.pack('<%d%s' % (len(values), onnx.TYPES[onnx.CODES[kind]][2]), *values)


def broadcast(*shapes):
    """The dimensions that all of these become."""
    rank = max(map(len, shapes))
    wide = [[1] * (rank - len(s)) + list(s) for s in shapes]
    sizes = [{d for d in column if d != 1} for column in zip(*wide)]
    need(all(len(s) < 2 for s in sizes))
    return [next(iter(s), 1) for s in sizes]


class Net:
    def __init__(self, rng):
        self.random, self.opset = rng, rng.choice(OPSETS)
        self.main = rng.choice(['float32'] * 12 + ['float64', 'float16', 'float16'])
        self.narrow = self.main == 'float32' and self.maybe(0.2)
        self.nodes, self.weights, self.inputs, self.live, self.n = [], [], [], [], 0

    # --- drawing lots ---

    def maybe(self, chance):
        return self.random.random() < chance

    def one(self, *choices):
        return self.random.choice(choices)

    def int(self, low, high):
        return self.random.randint(low, high)

    def some(self, things):
        """At least one of them, in any order."""
        return self.random.sample(list(things), self.int(1, len(things)))

    def shuffled(self, things):
        return self.random.sample(list(things), len(things))

    def numbers(self, kind, count, low=None, high=None):
        r = self.random
        if kind == 'bool':
            return [r.random() > 0.5 for _ in range(count)]
        if kind in FLOATS:
            return [r.gauss(0, 1) if low is None else r.uniform(low, high) for _ in range(count)]
        if low is None:
            low, high = -9 if kind in SIGNED else 0, 9
        return [r.randint(low, high) for _ in range(count)]

    # --- values ---

    def name(self, what='t'):
        self.n += 1
        return '%s%d' % (what, self.n)

    def const(self, values, kind, dims):
        name = self.name('c')
        tensor = onnx.make_tensor(name, onnx.CODES[kind], dims, raw_of(kind, values))
        plain = kind in FLOATS or self.opset >= 9 and kind in INTEGERS
        if plain and self.maybe(0.06):
            self.nodes.append((onnx.make_node('Constant', [], [name], value=tensor), [], [name]))
        else:
            self.weights.append((name, kind, dims, tensor))
        return Value(name, kind, dims, values)

    def ints(self, *values):
        return self.const(list(values), 'int64', [len(values)])

    def scalar(self, value, kind=None):
        return self.const([value], kind or self.main, [])

    def input(self, kind, dims, low=None, high=None):
        return self.given(self.numbers(kind, math.prod(dims), low, high), kind, dims)

    def given(self, values, kind, dims):
        name = self.name('x')
        self.inputs.append(onnx.Tensor(name, onnx.CODES[kind], list(dims), raw_of(kind, values)))
        return Value(name, kind, dims)

    def weight(self, kind, dims, low=None, high=None):
        """A constant, at times a narrow one; seldom an input."""
        need(math.prod(dims) <= LARGEST)
        if self.narrow and kind == 'float32' and len(dims) > 1 and self.maybe(0.7):
            return narrowed(self, list(dims), low, high)
        if self.maybe(0.04):
            return self.input(kind, dims, low, high)
        return self.const(self.numbers(kind, math.prod(dims), low, high), kind, list(dims))

    def take(self, kinds=None, least=0, most=MOST_RANK, fits=None):
        """A value of these types and so many dimensions; the newest more often than others."""
        kinds = (kinds,) if isinstance(kinds, str) else kinds
        found = [
            v
            for v in self.live
            if (not kinds or v.kind in kinds) and least <= v.rank <= most and (not fits or fits(v))
        ]
        need(found)
        return found[-1] if self.maybe(0.75) else self.one(*found[-4:])

    def number(self, least=0, most=MOST_RANK, fits=None):
        """One of the type that most of the chain has."""
        return self.take(self.main, least, most, fits)

    # --- nodes ---

    def nodes_of(self, op, ins, results, **attrs):
        """[Value] of the results, of which (type, dimensions) are given. An operand that is left
        out is None."""
        for kind, dims in results:
            need(len(dims) <= MOST_RANK and all(d > 0 for d in dims) and math.prod(dims) <= LARGEST)
        ins = list(ins)
        while ins and ins[-1] is None:
            ins.pop()
        names = [v.name if v else '' for v in ins]
        made = [Value(self.name(), kind, dims) for kind, dims in results]
        step = max(ins[1].fixed) if op == 'QuantizeLinear' else 0
        for v in made:
            v.rounding = max([v.rounding] + [i.rounding for i in ins if i and not i.fixed])
            v.step = step or max([i.step for i in ins if i], default=0)
        node = onnx.make_node(op, names, [v.name for v in made], **attrs)
        self.nodes.append((node, names, [v.name for v in made]))
        return made

    def node(self, op, ins, dims=None, kind=None, **attrs):
        """The one result; type and dimensions of the first operand where none are given."""
        (made,) = self.nodes_of(
            op, ins, [(kind or ins[0].kind, ins[0].dims if dims is None else dims)], **attrs
        )
        return made

    def both(self, op, a, b, kind=None):
        """An operator of two operands, which are broadcast."""
        return self.node(op, [a, b], broadcast(a.dims, b.dims), kind or a.kind)

    def axis(self, at, rank):
        """The axis, counted from the end at times."""
        return at - rank if self.opset >= 11 and self.maybe(0.3) else at

    def axes(self, axes, rank, since):
        """(operands, attributes): axes are an operand since that opset."""
        axes = [self.axis(a, rank) for a in axes]
        return ([self.ints(*axes)], {}) if self.opset >= since else ([], {'axes': axes})

    def partial(self, dims):
        """Dimensions that are broadcast to these."""
        if self.maybe(0.2):
            return []
        if len(dims) > 1 and self.maybe(0.3):
            return [dims[1]] + [1] * (len(dims) - 2)
        return [d if self.maybe(0.6) else 1 for d in dims[self.int(0, len(dims)) :]]


def scales_of(net, dims, how):
    """(dimensions of the scales, attributes)."""
    at = net.int(0, len(dims) - 1)
    if how == 'whole':
        return [], {}
    if how == 'axis':
        return [dims[at]], {'axis': net.axis(at, len(dims))}
    block = net.one(*[b for b in range(1, dims[at] + 1) if dims[at] % b == 0])
    return dims[:at] + [dims[at] // block] + dims[at + 1 :], {'axis': at, 'block_size': block}


def narrowed(net, dims, low=None, high=None):
    """Floats that the file holds as something smaller."""
    kind, least, most, how, _ = net.one(*[row for row in NARROW if row[4] <= net.opset])
    count = math.prod(dims)
    if how == 'cast':
        w = net.const(net.numbers('float32', count, low, high), kind, dims)
        return net.node('Cast', [w], kind='float32', to=onnx.CODES['float32'])
    sizes, attrs = scales_of(net, dims, how)
    scales, limit = math.prod(sizes), max(-least, most)
    by = net.const(
        [net.random.uniform(0.35, 1.05) / limit for _ in range(scales)], 'float32', sizes
    )
    middle = 0 if least else (most + 1) // 2
    ins = [net.const([net.int(least, most) for _ in range(count)], kind, dims), by]
    if not least or net.maybe(0.6):
        ins.append(net.const([middle + net.int(-3, 3) for _ in range(scales)], kind, sizes))
    return net.node('DequantizeLinear', ins, kind='float32', **attrs)
