# SPDX-License-Identifier: Apache-2.0
"""Links of chains that move numbers and change none: views, parts, copies."""
import itertools
import math

from chain_net import MOST_RANK, Unfit, need

FAR = (2**31 - 1, 2**63 - 1)  # what exporters write for "to the end"


def transpose(net):
    x = net.take(least=2)
    if net.maybe(0.1):
        return net.node('Transpose', [x], x.dims[::-1])
    n, perm = x.rank, net.shuffled(range(x.rank))
    if n > 2 and net.maybe(0.5):
        perm = net.one([0, *range(2, n), 1], [0, n - 1, *range(1, n - 1)])
    return net.node('Transpose', [x], [x.dims[p] for p in perm], perm=perm)


def flatten(net):
    x = net.number(1) if net.opset < 9 else net.take(least=1)
    at = net.int(0, x.rank)
    attrs = (
        {'axis': net.axis(at, x.rank) if at < x.rank else at} if at != 1 or net.maybe(0.5) else {}
    )
    return net.node('Flatten', [x], [math.prod(x.dims[:at]), math.prod(x.dims[at:])], **attrs)


def unsqueeze(net):
    x = net.take(most=MOST_RANK - 1)
    at = net.int(0, x.rank)
    ins, attrs = net.axes([at], x.rank + 1, 13)
    return net.node('Unsqueeze', [x] + ins, x.dims[:at] + [1] + x.dims[at:], **attrs)


def squeeze(net):
    x = net.take(least=1, fits=lambda v: 1 in v.dims)
    ones = [i for i, d in enumerate(x.dims) if d == 1]
    if net.maybe(0.2):
        return net.node('Squeeze', [x], [d for d in x.dims if d != 1])
    gone = sorted(net.some(ones)) if net.opset < 13 else net.some(ones)
    ins, attrs = net.axes(gone, x.rank, 13)
    return net.node(
        'Squeeze', [x] + ins, [d for i, d in enumerate(x.dims) if i not in gone], **attrs
    )


def factors(net, n):
    """Dimensions of which n is the product."""
    out = []
    while n > 1 and net.maybe(0.75):
        out.append(net.one(*[d for d in range(1, n + 1) if n % d == 0]))
        n //= out[-1]
    return out + [n] + [1] * net.maybe(0.2)


def reshape(net):
    x = net.take()
    dims = x.dims
    if x.rank > 1 and net.maybe(0.6):
        i = net.int(0, x.rank - 2)
        dims = dims[:i] + [dims[i] * dims[i + 1]] + dims[i + 2 :]
    if not x.rank or net.maybe(0.5):
        i = net.int(0, max(len(dims) - 1, 0))
        dims = dims[:i] + net.shuffled(factors(net, dims[i] if dims else 1)) + dims[i + 1 :]
    said = list(dims)
    for i in range(min(len(dims), x.rank)):
        if dims[i] == x.dims[i] and net.maybe(0.2):
            said[i] = 0
    if said and net.maybe(0.4):
        said[net.int(0, len(said) - 1)] = -1
    return net.node('Reshape', [x, net.ints(*said)], dims)


def concat(net):
    x = net.take(least=1)
    at = net.int(0, x.rank - 1)
    others = [i for i in range(x.rank) if i != at]
    parts = [x]
    for _ in range(net.int(1, 2)):
        try:
            need(net.maybe(0.6))
            alike = lambda v: all(v.dims[i] == x.dims[i] for i in others)
            parts.append(net.take(x.kind, x.rank, x.rank, alike))
        except Unfit:
            parts.append(net.weight(x.kind, x.dims[:at] + [net.int(1, 3)] + x.dims[at + 1 :]))
    dims = x.dims[:at] + [sum(p.dims[at] for p in parts)] + x.dims[at + 1 :]
    return net.node('Concat', net.shuffled(parts), dims, axis=net.axis(at, x.rank))


def split(net):
    x = net.take(least=1, fits=lambda v: max(v.dims) > 1)
    at = net.one(*[i for i, d in enumerate(x.dims) if d > 1])
    size, attrs, ins = x.dims[at], {}, [x]
    n = net.int(2, min(4, size))
    if at or net.maybe(0.5):
        attrs['axis'] = net.axis(at, x.rank)
    cuts = [0] + sorted(net.random.sample(range(1, size), n - 1)) + [size]
    parts = [b - a for a, b in zip(cuts, cuts[1:])]
    each = -(-size // n)
    if net.opset >= 18 and each * (n - 1) < size and net.maybe(0.4):
        attrs['num_outputs'], parts = n, [each] * (n - 1) + [size - each * (n - 1)]
    elif net.opset < 18 and size % n == 0 and net.maybe(0.4):
        parts = [size // n] * n
    elif net.opset >= 13:
        ins.append(net.ints(*parts))
    else:
        attrs['split'] = parts
    dims = [x.dims[:at] + [p] + x.dims[at + 1 :] for p in parts]
    return net.shuffled(net.nodes_of('Split', ins, [(x.kind, d) for d in dims], **attrs))


def cut(net, size):
    """(start, end, step, how many): of a dimension, in each way to say it."""
    step = net.one(1, 1, 1, 2, 3, -1, -2) if net.opset >= 10 else 1
    if step > 0:
        a = net.int(0, size - 1)
        b = net.int(a + 1, size)
        n = -(-(b - a) // step)
        if b == size and net.maybe(0.6):
            b = net.one(*FAR, size + 3)
        elif b < size and net.maybe(0.2):
            b -= size
        return (a - size if net.maybe(0.3) else a), b, step, n
    a = net.int(0, size - 1)
    b = net.int(-1, a - 1)
    n = -(-(a - b) // -step)
    end = b if b >= 0 else net.one(-(2**63), -size - 1)
    return (net.one(FAR[0], -1) if a == size - 1 and net.maybe(0.5) else a), end, step, n


def cut_out(net):
    x = net.take(least=1)
    axes = net.some(range(x.rank))[:2]
    starts, ends, steps, counts = zip(*[cut(net, x.dims[a]) for a in axes])
    dims = list(x.dims)
    for a, n in zip(axes, counts):
        dims[a] = n
    if net.opset < 10:
        ends = [min(e, FAR[0]) for e in ends]
        return net.node('Slice', [x], dims, axes=axes, starts=list(starts), ends=ends)
    ins = [x, net.ints(*starts), net.ints(*ends), net.ints(*[net.axis(a, x.rank) for a in axes])]
    if any(s != 1 for s in steps) or net.maybe(0.4):
        ins.append(net.ints(*steps))
    return net.node('Slice', ins, dims)


def padding(net, size, mode):
    n = net.one(0, 0, 1, 2, 3)
    if mode == 'reflect':
        return min(n, size - 1)
    if mode == 'wrap':
        return min(n, size)
    return -1 if mode == 'constant' and size > 2 and net.maybe(0.07) else n


def pad(net):
    x = net.number(1) if net.opset < 11 or net.maybe(0.8) else net.take(least=1)
    need(x.kind != 'bool' or net.opset >= 13)
    modes = ['constant', 'constant', 'constant', 'reflect', 'edge'] + ['wrap'] * (net.opset >= 19)
    mode, inner = net.one(*modes), x.rank > 2 and net.maybe(0.75)
    before, after = [
        [0] * 2 * inner + [padding(net, d, mode) for d in x.dims[2 * inner :]] for _ in range(2)
    ]
    value = net.one(0, 0, 1.5, -2)
    if x.kind == 'bool' or 'int' in x.kind:
        value = abs(int(value))
    dims = [d + a + b for d, a, b in zip(x.dims, before, after)]
    attrs = {'mode': mode} if mode != 'constant' or net.maybe(0.5) else {}
    if net.opset < 11:
        return net.node('Pad', [x], dims, pads=before + after, value=float(value), **attrs)
    filler = net.scalar(value, x.kind) if value or net.maybe(0.3) else None
    if net.opset < 18 or net.maybe(0.6):
        return net.node('Pad', [x, net.ints(*before, *after), filler], dims, **attrs)
    axes = net.shuffled(range(x.rank))
    axes = [a for a in axes if before[a] or after[a]] or axes
    pads = net.ints(*[before[a] for a in axes], *[after[a] for a in axes])
    return net.node(
        'Pad', [x, pads, filler, net.ints(*[net.axis(a, x.rank) for a in axes])], dims, **attrs
    )


def indices(net, size, count):
    return [net.int(0 if net.opset < 11 else -size, size - 1) for _ in range(count)]


def gather(net):
    x = net.take(least=1)
    at, shape = net.int(0, x.rank - 1), [net.int(1, 3) for _ in range(net.one(0, 1, 1, 2))]
    index = net.const(indices(net, x.dims[at], math.prod(shape)), net.one('int32', 'int64'), shape)
    attrs = {'axis': net.axis(at, x.rank)} if at or net.maybe(0.5) else {}
    return net.node('Gather', [x, index], x.dims[:at] + shape + x.dims[at + 1 :], **attrs)


def gather_elements(net):
    x = net.take(least=1)
    at = net.int(0, x.rank - 1)
    dims = [d if net.maybe(0.5) else net.int(1, d) for d in x.dims]
    dims[at] = net.int(1, x.dims[at] + 2)
    values, kind = indices(net, x.dims[at], math.prod(dims)), net.one('int32', 'int64')
    index = net.given(values, kind, dims) if net.maybe(0.4) else net.const(values, kind, dims)
    return net.node('GatherElements', [x, index], dims, axis=net.axis(at, x.rank))


def gather_places(net):
    x = net.take(least=1)
    batch = net.one(0, 0, 1) if x.rank > 1 else 0
    deep = net.int(1, x.rank - batch)
    shape = x.dims[:batch] + [net.int(1, 3) for _ in range(net.int(0, 2))]
    sizes = x.dims[batch : batch + deep]
    places = [net.int(-d, d - 1) for _ in range(math.prod(shape)) for d in sizes]
    index = net.const(places, 'int64', shape + [deep])
    attrs = {'batch_dims': batch} if batch else {}
    return net.node('GatherND', [x, index], shape + x.dims[batch + deep :], **attrs)


def reduction(net):
    """What becomes of a place that is written to, since opset 16."""
    if net.opset < 16 or net.maybe(0.6):
        return {}
    return {'reduction': net.one('add', 'mul', *['max', 'min'] * (net.opset >= 18))}


def scatter_elements(net):
    """No place twice: which one stays is not said."""
    x = net.number(1)
    at, dims = net.int(0, x.rank - 1), [net.int(1, d) for d in x.dims]
    values = [0] * math.prod(dims)
    order = {}
    for i, place in enumerate(itertools.product(*map(range, dims))):
        row = place[:at] + place[at + 1 :]
        order.setdefault(row, net.shuffled(range(x.dims[at])))
        values[i] = order[row][place[at]] - (x.dims[at] if net.maybe(0.2) else 0)
    ins = [x, net.const(values, 'int64', dims), net.weight(x.kind, dims)]
    return net.node('ScatterElements', ins, axis=net.axis(at, x.rank), **reduction(net))


def scatter_places(net):
    x = net.number(1)
    deep = net.int(1, x.rank)
    if net.maybe(0.5):
        spans = [sorted(net.random.sample(range(d + 1), 2)) for d in x.dims[:deep]]
        shape, places = [b - a for a, b in spans], itertools.product(
            *[range(a, b) for a, b in spans]
        )
    else:
        cells = list(itertools.product(*map(range, x.dims[:deep])))
        places = net.some(cells)[:6]
        shape = [len(places)]
    index = net.const([i for place in places for i in place], 'int64', shape + [deep])
    dims = shape + x.dims[deep:]
    try:
        new = net.take(x.kind, fits=lambda v: v.dims == dims)
    except Unfit:
        new = net.weight(x.kind, dims)
    return net.node('ScatterND', [x, index, new], **reduction(net))


def tile(net):
    x = net.take(least=1)
    times = [net.one(1, 1, 2, 3) for _ in x.dims]
    return net.node('Tile', [x, net.ints(*times)], [d * t for d, t in zip(x.dims, times)])


def expand(net):
    x = net.take()
    said = [net.int(1, 3) if d == 1 else net.one(d, 1) for d in x.dims]
    dims = [max(s, d) for s, d in zip(said, x.dims)]
    if x.rank < 5 and net.maybe(0.4):
        more = net.int(1, 2)
        said, dims = [more] + said, [more] + dims
    return net.node('Expand', [x, net.ints(*said)], dims)


def triangle(net):
    x = net.take(least=2)
    off = net.scalar(net.int(-2, 2), 'int64') if net.maybe(0.6) else None
    return net.node('Trilu', [x, off], upper=net.one(0, 1))


def reverse(net):
    x = net.number(2)
    lengths = net.const([net.int(1, x.dims[0]) for _ in range(x.dims[1])], 'int64', x.dims[1:2])
    return net.node('ReverseSequence', [x, lengths], time_axis=0, batch_axis=1)


def same(net):
    return net.node(net.one('Identity', 'Dropout'), [net.number()])
