# SPDX-License-Identifier: Apache-2.0
"""Links of chains whose numbers are quantized, and recurrences."""
import math

import chain_images as images
import chain_math as maths
import chain_moves as moves
from chain_net import need


def scale_of(net, kind, dims=()):
    """A scale and a zero point, one or for each place of an axis."""
    count, middle = math.prod(dims), (-3, 3) if kind.startswith('int') else (100, 130)
    steps = net.const(net.numbers('float32', count, 0.01, 0.05), 'float32', dims)
    return [steps, net.const([net.int(*middle) for _ in range(count)], kind, dims)]


def there(net, x, by, **attrs):
    return net.node('QuantizeLinear', [x] + by, kind=by[-1].kind, **attrs)


def back(net, q, by, **attrs):
    return net.node('DequantizeLinear', [q] + by, kind='float32', **attrs)


def quantized(net, x):
    by = scale_of(net, net.one('uint8', 'int8'))
    return back(net, there(net, x, by), by)


def through(net, link, x):
    """What the link makes of x alone."""
    kept, net.live = net.live, [x]
    try:
        y = link(net)
    finally:
        net.live = kept
    return y[0] if isinstance(y, list) else y


def rounded(net):
    """Quantized and back, at times moved in between."""
    x, wide = net.take('float32'), ['int16', 'uint16'] * (net.opset >= 21)
    kind = net.one('uint8', 'int8', 'uint8', 'int8', *wide)
    if net.opset >= 13 and x.rank > 1 and net.maybe(0.2):
        at = net.int(0, x.rank - 1)
        by, attrs = scale_of(net, kind, [x.dims[at]]), {'axis': net.axis(at, x.rank)}
        return back(net, there(net, x, by, **attrs), by, **attrs)
    by = scale_of(net, kind)
    q = there(net, x, by)
    if x.rank > 1 and net.maybe(0.4):
        q = through(
            net,
            net.one(moves.transpose, moves.reshape, moves.cut_out, moves.gather, moves.split),
            q,
        )
    return back(net, q, by)


def narrow_weight(net, dims, channel):
    """Weights of int8 with one scale, or one for each channel."""
    sizes, attrs = ([dims[channel]], {'axis': channel}) if net.maybe(0.5) else ([], {})
    count = math.prod(sizes)
    by = [
        net.const(net.numbers('float32', count, 0.001, 0.01), 'float32', sizes),
        net.const([0] * count, 'int8', sizes),
    ]
    values = net.numbers('int8', math.prod(dims), -127, 127)
    return back(net, net.const(values, 'int8', dims), by, **attrs)


def biased(net, ins, count):
    return (
        ins + [net.const(net.numbers('float32', count), 'float32', [count])]
        if net.maybe(0.5)
        else ins
    )


def island_conv(net):
    x = net.take('float32', 3, 4)
    w, channels = images.Window(net, x), x.dims[1]
    groups = net.one(1, 1, channels)
    out = groups * net.one(1, 2, 3)
    ins = biased(
        net, [quantized(net, x), narrow_weight(net, [out, channels // groups] + w.taps, 0)], out
    )
    return net.node(
        'Conv', ins, x.dims[:1] + [out] + w.results(), group=groups, **w.attributes(net)
    )


def island_gemm(net):
    x = net.take('float32', 2, 2)
    rows, deep = x.dims
    wide, turned = net.int(1, 9), net.one(0, 1)
    w = narrow_weight(net, [wide, deep], 0) if turned else narrow_weight(net, [deep, wide], 1)
    return net.node('Gemm', biased(net, [quantized(net, x), w], wide), [rows, wide], transB=turned)


def island_matmul(net):
    x, wide = net.take('float32', 2), net.int(1, 9)
    w = narrow_weight(net, [x.dims[-1], wide], 1)
    return net.node('MatMul', [quantized(net, x), w], x.dims[:-1] + [wide])


def island_pair(net):
    x = net.take('float32')
    y = maths.partner(net, x, constant=0.4)
    return net.both(net.one('Add', 'Mul', 'Sub'), quantized(net, x), quantized(net, y))


def island_concat(net):
    x = net.take('float32', 1)
    at = net.int(0, x.rank - 1)
    dims = x.dims[:at] + [2 * x.dims[at]] + x.dims[at + 1 :]
    return net.node('Concat', [quantized(net, x), quantized(net, x)], dims, axis=at)


def island_image(net):
    x = net.take('float32', 3, 4)
    return through(
        net,
        net.one(images.pool, images.global_pool, images.resize, images.deconv),
        quantized(net, x),
    )


def island_numbers(net):
    x = net.take('float32', 1)
    y = through(
        net, net.one(maths.unary, maths.softmax, maths.reduce, images.layer_norm), quantized(net, x)
    )
    need(y.kind == 'float32')
    return y


ISLANDS = [
    island_conv,
    island_conv,
    island_gemm,
    island_matmul,
    island_pair,
    island_concat,
    island_image,
    island_numbers,
]


def island(net):
    """An operator between quantized numbers."""
    y = net.one(*ISLANDS)(net)
    if net.maybe(0.4):
        y = net.node(net.one('Relu', 'Sigmoid', 'Tanh', 'LeakyRelu', 'HardSigmoid'), [y])
    return quantized(net, y)


# --- recurrences ---

GATES = {'LSTM': (4, 3), 'GRU': (3, 2), 'RNN': (1, 1)}  # gates; activations of a direction
# Activations by name, with alpha and beta.
ACTIVATIONS = {
    'Sigmoid': (),
    'Tanh': (),
    'Relu': (),
    'Softsign': (),
    'Softplus': (),
    'HardSigmoid': (0.2, 0.5),
    'LeakyRelu': (0.01,),
    'Elu': (1.0,),
    'Affine': (0.7, 0.1),
    'ScaledTanh': (0.9, 0.8),
}


def activations(net, count):
    names = [net.one(*ACTIVATIONS) for _ in range(count)]
    attrs = {'activations': names}
    alphas = [ACTIVATIONS[n][0] for n in names if ACTIVATIONS[n]]
    betas = [ACTIVATIONS[n][1] for n in names if len(ACTIVATIONS[n]) > 1]
    if alphas and (betas or net.maybe(0.4)):
        attrs['activation_alpha'] = alphas
    if betas:
        attrs['activation_beta'] = betas
    return attrs


def recurrent_attributes(net, op, ways):
    attrs = {}
    if net.maybe(0.2):
        attrs['clip'] = net.one(0.5, 2.0, 5.0)
    if op == 'GRU' and net.maybe(0.5):
        attrs['linear_before_reset'] = net.one(0, 1)
    if op == 'LSTM' and net.maybe(0.15):
        attrs['input_forget'] = 1
    return dict(attrs, **activations(net, GATES[op][1] * ways) if net.maybe(0.25) else {})


def given(net, chance, x, dims):
    return net.weight(x.kind, dims) if net.maybe(chance) else None


def lengths(net, steps, batch):
    if net.maybe(0.75):
        return None
    return net.const([net.int(1, steps) for _ in range(batch)], 'int32', [batch])


def recurrent(net):
    x, op = net.number(3, 3), net.one(*GATES)
    way, size = net.one('forward', 'reverse', 'bidirectional'), net.one(1, 2, 3, 5, 8)
    last = net.opset >= 14 and net.maybe(0.1)
    steps, batch, wide = [x.dims[1], x.dims[0], x.dims[2]] if last else x.dims
    ways, gates = 2 if way == 'bidirectional' else 1, GATES[op][0]
    attrs = dict(recurrent_attributes(net, op, ways), hidden_size=size, direction=way)
    if last:
        attrs['layout'] = 1
    dims = [batch, ways, size] if last else [ways, batch, size]
    ins = [x] + [net.weight(x.kind, [ways, gates * size, n], -0.6, 0.6) for n in (wide, size)]
    ins += [
        given(net, 0.7, x, [ways, 2 * gates * size]),
        lengths(net, steps, batch),
        given(net, 0.4, x, dims),
    ]
    if op == 'LSTM':
        ins += [given(net, 0.4, x, dims), given(net, 0.3, x, [ways, 3 * size])]
    all_steps = [batch, steps, ways, size] if last else [steps, ways, batch, size]
    states = [(x.kind, dims)] * (2 if op == 'LSTM' else 1)
    made = net.nodes_of(op, ins, [(x.kind, all_steps)] + states, **attrs)
    if ways == 1 and not last and net.maybe(0.5):
        axes, attrs = net.axes([1], 4, 13)
        return made[1:] + [net.node('Squeeze', [made[0]] + axes, [steps, batch, size], **attrs)]
    return made[1:] + made[:1]
