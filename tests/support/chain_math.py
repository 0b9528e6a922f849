# SPDX-License-Identifier: Apache-2.0
"""Links of chains that compute: numbers by themselves and in pairs, sums, products, choices."""
import math

import onnx
from chain_net import FLOATS, INTEGERS, UNSIGNED, Unfit, broadcast, need

# Functions of one number: the first opset, what keeps the operand within the domain, an attribute.
UNARY = {
    'Relu': (7,),
    'Sigmoid': (7,),
    'Tanh': (7,),
    'Softplus': (7,),
    'Softsign': (7,),
    'Selu': (7,),
    'Neg': (7,),
    'Abs': (7,),
    'Floor': (7,),
    'Ceil': (7,),
    'Sin': (7,),
    'Cos': (7,),
    'Atan': (7,),
    'Erf': (9,),
    'Sign': (9,),
    'Asinh': (9,),
    'Round': (11,),
    'HardSwish': (14,),
    'Mish': (18,),
    'Elu': (7, None, 'alpha'),
    'LeakyRelu': (7, None, 'alpha'),
    'HardSigmoid': (7, None, 'alpha'),
    'ThresholdedRelu': (10, None, 'alpha'),
    'Celu': (12, None, 'alpha'),
    'Gelu': (20, None, 'approximate'),
    'Sqrt': (7, 'Abs'),
    'Log': (7, 'above'),
    'Reciprocal': (7, 'above'),
    'Acosh': (9, 'above'),
    'Exp': (7, 'Tanh'),
    'Tan': (7, 'Tanh'),
    'Sinh': (9, 'Tanh'),
    'Cosh': (9, 'Tanh'),
    'Asin': (7, 'within'),
    'Acos': (7, 'within'),
    'Atanh': (9, 'within'),
}
ACTIVATIONS = (
    'Relu',
    'Sigmoid',
    'Tanh',
    'Softplus',
    'Elu',
    'LeakyRelu',
    'HardSigmoid',
    'HardSwish',
)
ATTRIBUTES = {'alpha': (0.1, 0.2, 1.5, 0.5), 'approximate': ('none', 'tanh')}


def above(net, x, least):
    """At least so much."""
    return net.both('Add', net.node('Abs', [x]), net.scalar(least, x.kind))


def within(net, x):
    """Less than 1, whatever the sign."""
    return net.both('Mul', net.node('Tanh', [x]), net.scalar(0.9, x.kind))


def unary(net):
    known = [op for op, row in UNARY.items() if row[0] <= net.opset]
    op = net.one(*[op for op in known if op in ACTIVATIONS] if net.maybe(0.5) else known)
    x, (_, domain, attribute) = net.number(), (*UNARY[op], None, None)[:3]
    need(op != 'Celu' or x.kind == 'float32')
    if domain == 'above':
        x = above(net, x, 1.25)
    elif domain == 'within':
        x = within(net, x)
    elif domain:
        x = net.node(domain, [x])
    attrs = {attribute: net.one(*ATTRIBUTES[attribute])} if attribute and net.maybe(0.6) else {}
    return net.node(op, [x], **attrs)


# --- activations as exporters write them ---


def silu(net, x, _):
    return net.both('Mul', *net.shuffled([x, net.node('Sigmoid', [x])]))


def hard_swish(net, x, number):
    if net.opset < 11 or net.maybe(0.4):
        gate = net.node('HardSigmoid', [x], alpha=net.one(1 / 6, 0.2), beta=0.5)
        return net.both('Mul', *net.shuffled([x, gate]))
    y = net.node(
        'Clip', [net.both('Add', x, number(3)), net.scalar(0, x.kind), net.scalar(6, x.kind)]
    )
    if net.maybe(0.5):
        return net.both('Div', net.both('Mul', x, y), number(6))
    return net.both('Mul', x, net.both('Div', y, number(6)))


def gelu(net, x, number):
    need(net.opset >= 9)
    y = net.node('Erf', [net.both('Div', x, number(2**0.5))])
    y = net.both('Add', y, number(1))
    if net.maybe(0.5):
        return net.both('Mul', net.both('Mul', x, y), number(0.5))
    return net.both('Mul', net.both('Mul', x, number(0.5)), y)


def tanh_gelu(net, x, number):
    y = net.both('Mul', net.both('Pow', x, number(3)), number(0.044715))
    y = net.node('Tanh', [net.both('Mul', net.both('Add', x, y), number(0.7978845608))])
    return net.both('Mul', net.both('Mul', x, net.both('Add', y, number(1))), number(0.5))


def mish(net, x, _):
    return net.both('Mul', x, net.node('Tanh', [net.node('Softplus', [x])]))


def spelt(net):
    x, dims = net.number(1), net.one([], [1])
    write = net.one(silu, hard_swish, gelu, tanh_gelu, mish)
    return write(net, x, lambda v: net.const([v], x.kind, dims))


def spelt_norm(net):
    """A norm in its parts."""
    x = net.number(1)
    last = list(range(x.rank - net.int(1, min(2, x.rank)), x.rank))
    axes = last if net.maybe(0.7) else [net.int(0, x.rank - 1)]
    need(math.prod(x.dims[a] for a in axes) > 1)
    kept = [1 if i in axes else d for i, d in enumerate(x.dims)]

    def mean(v):
        ins, attrs = net.axes(axes, x.rank, 18)
        return net.node('ReduceMean', [v] + ins, kept, keepdims=1, **attrs)

    d = x if net.maybe(0.4) else net.both('Sub', x, mean(x))
    square = net.both('Pow', d, net.scalar(2)) if net.maybe(0.6) else net.both('Mul', d, d)
    v = net.node('Sqrt', [net.both('Add', mean(square), net.scalar(1e-3))])
    y = net.both('Div', d, v) if net.maybe(0.6) else net.both('Mul', d, net.node('Reciprocal', [v]))
    for op in ('Mul', 'Add'):
        if net.maybe(0.7):
            dims = net.partial(x.dims) if net.maybe(0.3) else x.dims[axes[0] :]
            y = net.both(op, *net.shuffled([y, net.weight(x.kind, dims)]))
    return y


# --- pairs ---


def partner(net, x, *limits, constant=0.45):
    """A second operand that is broadcast to the first, or the first to it."""
    if net.maybe(constant):
        return net.weight(x.kind, net.partial(x.dims), *limits)

    def fits(v):
        try:
            return bool(broadcast(v.dims, x.dims)) or True
        except Unfit:
            return False

    return net.take(x.kind, fits=fits)


def binary(net):
    x, op = net.number(), net.one(
        'Add', 'Add', 'Add', 'Sub', 'Mul', 'Mul', 'Max', 'Min', 'Mean', 'Sum'
    )
    y = partner(net, x)
    need(op != 'Sub' or y is not x)
    need(net.opset >= 8 or op in ('Add', 'Sub', 'Mul') or x.dims == y.dims)
    return net.both(op, *net.shuffled([x, y]))


def several(net):
    """An operator of any number of operands."""
    x = net.number()
    ins = [x] + [partner(net, x) for _ in range(net.int(1, 3))]
    dims = broadcast(*[v.dims for v in ins])
    return net.node(net.one('Max', 'Min', 'Mean', 'Sum'), net.shuffled(ins), dims)


def quotient(net):
    x = net.number()
    y = partner(net, x, 0.3, 2)
    return net.both('Div', x, y if y.fixed and min(y.fixed) > 0 else above(net, y, 0.5))


def power(net):
    x = net.number()
    by = (
        net.scalar(net.one(2, 3, 0.5, 1))
        if net.maybe(0.6)
        else net.const(net.numbers(x.kind, math.prod(x.dims[-1:]), 0.3, 2), x.kind, x.dims[-1:])
    )
    return net.both('Pow', above(net, x, 0.1), by)


def slopes(net):
    x = net.number()
    y = net.weight(x.kind, net.partial(x.dims))
    return net.both('PRelu', x, y)


def scale_and_shift(net):
    """Numbers of each channel, first or last, one after the other."""
    x = net.number(2)
    at = net.one(1, x.rank - 1)
    dims = [d if i == at else 1 for i, d in enumerate(x.dims)]
    for _ in range(net.int(1, 3)):
        op = net.one('Mul', 'Add', 'Sub', 'Div')
        w = net.weight(x.kind, [] if net.maybe(0.3) else dims[net.int(0, at) :], 0.3, 1.6)
        x = net.both(op, *[x, w] if op == 'Div' or net.maybe(0.7) else [w, x])
    return x


# Operators of integers, and their first opset.
PAIRS = {
    'Add': 7,
    'Sub': 7,
    'Mul': 7,
    'Div': 7,
    'Max': 12,
    'Min': 12,
    'Mod': 10,
    'BitShift': 11,
    'BitwiseAnd': 18,
    'BitwiseXor': 18,
    'Equal': 11,
    'Greater': 9,
    'Less': 9,
    'GreaterOrEqual': 16,
}
TESTS = ('Equal', 'Greater', 'Less', 'GreaterOrEqual')
TWO_WAYS = {'Mod': ('fmod', 0, 1), 'BitShift': ('direction', 'LEFT', 'RIGHT')}


def integers(net):
    known = INTEGERS if net.opset >= 14 else ('int32', 'int64')
    try:
        x = net.take(known)
    except Unfit:
        x = net.input(net.one(*known), [net.int(1, 6) for _ in range(net.int(0, 4))])
    op = net.one(*[op for op, since in PAIRS.items() if since <= net.opset])
    need(op != 'BitShift' or x.kind in UNSIGNED)
    attrs = {TWO_WAYS[op][0]: net.one(*TWO_WAYS[op][1:])} if op in TWO_WAYS else {}
    y = net.weight(x.kind, net.partial(x.dims), 1, 7)
    need(op != 'Div' and op != 'Mod' or y.fixed)
    return net.node(
        op, [x, y], broadcast(x.dims, y.dims), 'bool' if op in TESTS else x.kind, **attrs
    )


def clip(net):
    low, high = net.one((0, 6), (-1, 1), (0, 1), (-0.5, None), (None, 0.7), (0, None))
    return clipped(net, net.number(), low, high)


def clipped(net, x, low, high):
    if net.opset < 11:
        said = {k: float(v) for k, v in (('min', low), ('max', high)) if v is not None}
        return net.node('Clip', [x], **said)
    return net.node(
        'Clip', [x] + [None if v is None else net.scalar(v, x.kind) for v in (low, high)]
    )


def choice(net):
    x = net.number()
    test = net.both(net.one('Greater', 'Less'), x, net.scalar(0.1, x.kind), 'bool')
    y = partner(net, x, constant=0.6)
    if net.maybe(0.2):
        test = net.node('Not', [test])
    return net.node(
        'Where', [test] + net.shuffled([x, y]), broadcast(test.dims, x.dims, y.dims), x.kind
    )


def cast(net):
    """Numbers that the other type has."""
    x = net.take()
    to = net.one(
        'float32',
        'float32',
        'float64',
        'float16',
        'int32',
        'int64',
        'uint8',
        'int8',
        'bool',
        net.main,
    )
    need(to != x.kind or net.maybe(0.2))
    if x.kind in FLOATS and to in INTEGERS:
        x = clipped(net, x, 0, 100)
    return net.node('Cast', [x], kind=to, to=onnx.CODES[to])


# --- along axes ---


def softmax(net):
    x = net.number(1)
    at = net.int(0, x.rank - 1)
    usual = x.rank > 1 or net.opset >= 13  # by default it was 1
    attrs = {} if usual and net.maybe(0.2) else {'axis': net.axis(at, x.rank)}
    return net.node(net.one('Softmax', 'Softmax', 'LogSoftmax', 'Hardmax'), [x], **attrs)


REDUCTIONS = (
    ['Mean'] * 3
    + ['Sum'] * 2
    + ['Max', 'Min', 'Prod', 'L1', 'L2', 'LogSumExp', 'SumSquare', 'LogSum']
)


def reduce(net):
    op = 'Reduce' + net.one(*REDUCTIONS)
    x = (
        net.number(1)
        if op == 'ReduceLogSum' or net.maybe(0.85)
        else net.take(('int32', 'int64', 'float32'), 1)
    )
    need(x.kind in FLOATS or op[6:] in ('Sum', 'Max', 'Min', 'Prod', 'L1', 'SumSquare'))
    x = above(net, x, 0.5) if op == 'ReduceLogSum' else x
    axes, since, keep = net.some(range(x.rank)), 13 if op == 'ReduceSum' else 18, net.one(0, 1, 1)
    need(op != 'ReduceProd' or x.count < 100)  # products of more are next to nothing
    attrs = {'keepdims': keep} if not keep or net.maybe(0.5) else {}
    if net.maybe(0.85):
        ins, more = net.axes(axes, x.rank, since)
    else:
        axes, ins, more = range(x.rank), [], {}
        if net.opset >= since and net.maybe(0.3):
            axes, more = [], {'noop_with_empty_axes': 1}
            need(op[6:] in ('Mean', 'Sum', 'Max', 'Min', 'Prod'))
    dims = [1 if i in axes else d for i, d in enumerate(x.dims) if keep or i not in axes]
    return net.node(op, [x] + ins, dims, **attrs, **more)


def extreme(net):
    """Where the largest or the smallest number is."""
    x = net.number(1) if net.maybe(0.8) else net.take(FLOATS + INTEGERS, 1)
    at, attrs = net.int(0, x.rank - 1), {}
    if at or net.maybe(0.5):
        attrs['axis'] = net.axis(at, x.rank)
    keep = net.one(0, 1, 1)
    if not keep or net.maybe(0.3):
        attrs['keepdims'] = keep
    if net.opset >= 12 and net.maybe(0.5):
        attrs['select_last_index'] = net.one(0, 1)
    dims = x.dims[:at] + [1] * keep + x.dims[at + 1 :]
    return net.node(net.one('ArgMax', 'ArgMin'), [x], dims, 'int64', **attrs)


def largest(net):
    x = net.take(('float32', 'int64', 'int32'), 1)
    at = net.int(0, x.rank - 1)
    k = net.int(1, x.dims[at])
    dims = x.dims[:at] + [k] + x.dims[at + 1 :]
    attrs = {'axis': net.axis(at, x.rank), 'largest': net.one(0, 1)}
    return net.nodes_of('TopK', [x, net.ints(k)], [(x.kind, dims), ('int64', dims)], **attrs)[::-1]


def running_sum(net):
    x = net.number(1)
    need(x.kind != 'float16' or net.opset >= 14)
    at = net.scalar(net.int(-x.rank, x.rank - 1), net.one('int32', 'int64'))
    return net.node('CumSum', [x, at], exclusive=net.one(0, 1), reverse=net.one(0, 1))


# --- products ---


def matmul(net):
    x = net.number(1)
    deep, wide, how = x.dims[-1], net.one(1, 2, 3, 5, 7, 8, 16, 17, 33), net.random.random()
    if how < 0.1:
        return net.node('MatMul', [x, net.weight(x.kind, [deep])], x.dims[:-1])
    if how < 0.2 and x.rank > 1:
        rows = net.int(1, 4)
        return net.node(
            'MatMul', [net.weight(x.kind, [rows, x.dims[-2]]), x], x.dims[:-2] + [rows, deep]
        )
    if how < 0.4 and x.rank > 1:
        batch = [d if net.maybe(0.6) else 1 for d in x.dims[:-2]]
        w = net.weight(x.kind, batch[net.int(0, len(batch)) :] + [deep, wide], -0.6, 0.6)
    elif how < 0.55 and x.rank > 1:
        y = net.take(
            x.kind, x.rank, x.rank, lambda v: v.dims[-1] == deep and v.dims[:-2] == x.dims[:-2]
        )
        perm = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
        w, wide = net.node('Transpose', [y], [y.dims[p] for p in perm], perm=perm), y.dims[-2]
    else:
        w = net.weight(x.kind, [deep, wide], -0.6, 0.6)
    y = net.node('MatMul', [x, w], x.dims[:-1] + [wide])
    return net.both('Add', *net.shuffled([y, net.weight(x.kind, [wide])])) if net.maybe(0.3) else y


def gemm(net):
    x = net.number(2, 2)
    turned, by_rows = net.one(0, 0, 1), net.one(0, 1)
    rows, deep = x.dims[::-1] if turned else x.dims
    wide = net.one(1, 2, 3, 5, 8, 9, 17, 33)
    attrs = {k: v for k, v in (('transA', turned), ('transB', by_rows)) if v}
    if net.maybe(0.4):
        attrs['alpha'] = net.one(0.5, 2.0, 1.0, 0.25)
    if net.maybe(0.4):
        attrs['beta'] = net.one(0.5, 2.0, 0.0, 1.0)
    ins = [x, net.weight(x.kind, [wide, deep] if by_rows else [deep, wide], -0.6, 0.6)]
    if net.opset < 11 or net.maybe(0.7):
        shape = net.one([wide], [1, wide], [rows, 1], [rows, wide], [], [1], [1, 1])
        ins.append(net.weight(x.kind, shape))
    return net.node('Gemm', ins, [rows, wide], **attrs)


def einsum(net):
    x = net.number(1, 4)
    mine = 'abcd'[: x.rank]
    sizes = dict(zip(mine, x.dims))
    theirs = net.some(mine + 'xy')[:3]
    for c in theirs:
        sizes.setdefault(c, net.int(1, 5))
    kept = net.shuffled([c for c in sizes if net.maybe(0.6)])
    form = net.one('%s,%s->%s', '%s, %s -> %s')
    sides = net.shuffled(
        [(mine, x), (''.join(theirs), net.weight(x.kind, [sizes[c] for c in theirs]))]
    )
    text = form % (sides[0][0], sides[1][0], ''.join(kept))
    return net.node('Einsum', [v for _, v in sides], [sizes[c] for c in kept], equation=text)


def attention(net):
    """Heads of attention as exporters write them."""
    x = net.number(3, 3)
    b, s, e = x.dims
    heads, size = net.one(1, 2, 3, 4), net.one(1, 2, 3, 4, 8)
    wide = heads * size

    def projected(*perm):
        y = net.node('MatMul', [x, net.weight(x.kind, [e, wide], -0.6, 0.6)], [b, s, wide])
        y = net.both('Add', y, net.weight(x.kind, [wide])) if net.maybe(0.6) else y
        shape = net.ints(net.one(b, 0), net.one(s, -1), heads, size)
        y = net.node('Reshape', [y, shape], [b, s, heads, size])
        return net.node('Transpose', [y], [y.dims[p] for p in perm], perm=list(perm))

    q, k, v = projected(0, 2, 1, 3), projected(0, 2, 3, 1), projected(0, 2, 1, 3)
    y = net.node('MatMul', [q, k], [b, heads, s, s])
    y = net.both(*net.one(('Div', y, net.scalar(size**0.5)), ('Mul', y, net.scalar(0.5))))
    if net.maybe(0.4):
        mask = net.one([s, s], [1, 1, s, s], [b, 1, 1, s], [heads, 1, 1], [1, heads, s, s])
        y = net.both('Add', y, net.weight(x.kind, mask))
    y = net.node('Softmax', [y], axis=net.axis(3, 4))
    y = net.node('MatMul', [y, v], [b, heads, s, size])
    y = net.node('Transpose', [y], [b, s, heads, size], perm=[0, 2, 1, 3])
    return net.node('Reshape', [y, net.ints(b, s, wide)], [b, s, wide])
