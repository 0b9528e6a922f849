# SPDX-License-Identifier: Apache-2.0
"""Networks over a sequence whose length T is open, as exporters write them: shapes computed in the
graph, masks, positions, caches, recurrences. Each is a function that takes a Net and returns its
results.

    sequences.py FOLDER [NAME..]      writes FOLDER/NAME.onnx"""
import math
import os
import random
import struct
import sys

import onnx

C, HEADS, MOST = 16, 2, 64
FORMS = {'float32': 'f', 'int64': 'q', 'bool': '?', 'int32': 'i', 'int8': 'b', 'uint8': 'B'}


class Net:
    def __init__(self, name):
        self.random, self.nodes, self.weights, self.inputs, self.n = (
            random.Random(name),
            [],
            [],
            [],
            0,
        )

    def name(self, what):
        self.n += 1
        return '%s_%d' % (what, self.n)

    def input(self, dims, kind='float32'):
        name = self.name('in')
        self.inputs.append((name, kind, dims))
        return name

    def const(self, values, kind='float32', dims=None):
        values = values if isinstance(values, list) else [values]
        name = self.name('c')
        self.weights.append(
            onnx.make_tensor(
                name,
                onnx.CODES[kind],
                [len(values)] if dims is None else dims,
                struct.pack('<%d%s' % (len(values), FORMS[kind]), *values),
            )
        )
        return name

    def scalar(self, value, kind='float32'):
        return self.const(value, kind, [])

    def ints(self, *values):
        return self.const(list(values), 'int64')

    def weight(self, *dims):
        n = math.prod(dims)
        return self.const(
            [self.random.uniform(-1, 1) / math.sqrt(dims[0]) for _ in range(n)],
            'float32',
            list(dims),
        )

    def op(self, op, *ins, outs=1, domain='', **attrs):
        names = [self.name(op) for _ in range(outs)]
        self.nodes.append(onnx.make_node(op, list(ins), names, names[0], domain, **attrs))
        return names if outs > 1 else names[0]

    # --- what exporters write for one line of code ---

    def size(self, x, axis):
        """x.shape[axis] as a scalar."""
        return self.op('Gather', self.op('Shape', x), self.scalar(axis, 'int64'), axis=0)

    def vector(self, *sizes):
        """Sizes, numbers or scalars of the graph, as a shape."""
        parts = [
            self.ints(s) if isinstance(s, int) else self.op('Unsqueeze', s, self.ints(0))
            for s in sizes
        ]
        return self.op('Concat', *parts, axis=0)

    def view(self, x, *sizes):
        return self.op('Reshape', x, self.vector(*sizes))

    def linear(self, x, to, of=C):
        return self.op('Add', self.op('MatMul', x, self.weight(of, to)), self.weight(to))

    def norm(self, x, of=C):
        return self.op('LayerNormalization', x, self.weight(of), self.weight(of), axis=-1)

    def heads(self, x, heads=HEADS, of=C):
        y = self.view(x, self.size(x, 0), self.size(x, 1), heads, of // heads)
        return self.op('Transpose', y, perm=[0, 2, 1, 3])

    def join(self, x, of=C):
        y = self.op('Transpose', x, perm=[0, 2, 1, 3])
        return self.view(y, self.size(y, 0), self.size(y, 1), of)

    def scores(self, q, k, of=C):
        y = self.op('MatMul', q, self.op('Transpose', k, perm=[0, 1, 3, 2]))
        return self.op('Div', y, self.scalar(math.sqrt(of // HEADS)))

    def attend(self, x, mask=None, memory=None):
        memory = memory or x
        s = self.scores(self.heads(self.linear(x, C)), self.heads(self.linear(memory, C)))
        if mask:
            s = mask(s)
        y = self.op('MatMul', self.op('Softmax', s, axis=-1), self.heads(self.linear(memory, C)))
        return self.linear(self.join(y), C)

    def feed(self, x):
        y = self.linear(x, 4 * C)
        erf = self.op('Erf', self.op('Div', y, self.scalar(math.sqrt(2))))
        y = self.op(
            'Mul', self.op('Mul', y, self.op('Add', erf, self.scalar(1.0))), self.scalar(0.5)
        )
        return self.linear(y, C, 4 * C)

    def block(self, x, mask=None):
        x = self.norm(self.op('Add', x, self.attend(x, mask)))
        return self.norm(self.op('Add', x, self.feed(x)))

    def range(self, limit):
        return self.op('Range', self.scalar(0, 'int64'), limit, self.scalar(1, 'int64'))

    def table(self, x, rows=MOST):
        """The rows of a table for the steps of x."""
        return self.op(
            'Slice',
            self.weight(rows, C),
            self.ints(0),
            self.op('Unsqueeze', self.size(x, 1), self.ints(0)),
            self.ints(0),
        )


def sequence(net):
    return net.input([1, 'T', C])


def encoder(net):
    return [net.block(net.block(sequence(net)))]


def hidden(net, mask):
    """1 - mask, times a large negative number, over rows of scores."""
    m = net.op('Cast', net.op('Unsqueeze', mask, net.ints(1, 2)), to=1)
    m = net.op('Mul', net.op('Sub', net.scalar(1.0), m), net.scalar(-1e4))
    return lambda s: net.op('Add', s, m)


def encoder_mask(net):
    x, mask = sequence(net), net.input([1, 'T'], 'int64')
    return [net.block(x, hidden(net, mask))]


def encoder_where(net):
    x, mask = sequence(net), net.input([1, 'T'], 'bool')
    t = net.size(x, 1)
    m = net.op('Expand', net.op('Unsqueeze', mask, net.ints(1, 2)), net.vector(1, 1, t, t))
    return [net.block(x, lambda s: net.op('Where', m, s, net.scalar(-1e9)))]


def decoder_trilu(net):
    x = sequence(net)
    t = net.size(x, 1)
    full = net.op('ConstantOfShape', net.vector(t, t), value=net_value(-1e4))
    m = net.op('Trilu', full, net.scalar(1, 'int64'), upper=1)
    return [net.block(x, lambda s: net.op('Add', s, m))]


def net_value(value):
    return onnx.make_tensor('', onnx.CODES['float32'], [1], struct.pack('<f', value))


def decoder_table(net):
    """A triangle for the most steps, cut to those there are."""
    x = sequence(net)
    t = net.op('Unsqueeze', net.size(x, 1), net.ints(0))
    triangle = net.const(
        [i >= k for i in range(MOST) for k in range(MOST)], 'bool', [1, 1, MOST, MOST]
    )
    m = net.op(
        'Slice', net.op('Slice', triangle, net.ints(0), t, net.ints(2)), net.ints(0), t, net.ints(3)
    )
    return [net.block(x, lambda s: net.op('Where', m, s, net.scalar(-1e4)))]


def decoder_range(net):
    x = sequence(net)
    r = net.range(net.size(x, 1))
    m = net.op(
        'LessOrEqual', net.op('Unsqueeze', r, net.ints(0)), net.op('Unsqueeze', r, net.ints(1))
    )
    return [net.block(x, lambda s: net.op('Where', m, s, net.scalar(-1e4)))]


def decoder_cache(net):
    """One step behind T cached ones; the caches grow."""
    x = net.input([1, 1, C])
    past = [net.input([1, HEADS, 'T', C // HEADS]) for _ in range(2)]
    k, v = [net.op('Concat', p, net.heads(net.linear(x, C)), axis=2) for p in past]
    s = net.op('Softmax', net.scores(net.heads(net.linear(x, C)), k), axis=-1)
    return [net.linear(net.join(net.op('MatMul', s, v)), C), k, v]


def decoder_prefill(net):
    """S steps behind T cached ones; the mask is of both."""
    x, mask = net.input([1, 'S', C]), net.input([1, 1, 1, 'T + S'])
    past = [net.input([1, HEADS, 'T', C // HEADS]) for _ in range(2)]
    k, v = [net.op('Concat', p, net.heads(net.linear(x, C)), axis=2) for p in past]
    s = net.op('Softmax', net.op('Add', net.scores(net.heads(net.linear(x, C)), k), mask), axis=-1)
    return [net.linear(net.join(net.op('MatMul', s, v)), C), k, v]


def words_range(net):
    ids = net.input([1, 'T'], 'int64')
    places = net.op('Unsqueeze', net.range(net.size(ids, 1)), net.ints(0))
    x = net.op(
        'Add',
        net.op('Gather', net.weight(50, C), ids),
        net.op('Gather', net.weight(MOST, C), places),
    )
    return [net.block(net.norm(x))]


def words_slice(net):
    ids = net.input([1, 'T'], 'int64')
    return [net.block(net.op('Add', net.op('Gather', net.weight(50, C), ids), net.table(ids)))]


def words_cumsum(net):
    ids = net.input([1, 'T'], 'int64')
    real = net.op('Cast', net.op('Not', net.op('Equal', ids, net.scalar(1, 'int64'))), to=7)
    places = net.op('Mul', net.op('CumSum', real, net.scalar(1, 'int64')), real)
    x = net.op(
        'Add',
        net.op('Gather', net.weight(50, C), ids),
        net.op('Gather', net.weight(MOST + 1, C), places),
    )
    return [net.block(x)]


def pool_mean(net):
    return [net.linear(net.op('ReduceMean', net.block(sequence(net)), axes=[1], keepdims=0), 5)]


def pool_masked(net):
    x, mask = sequence(net), net.input([1, 'T'], 'int64')
    y = net.block(x, hidden(net, mask))
    m = net.op(
        'Cast', net.op('Expand', net.op('Unsqueeze', mask, net.ints(2)), net.op('Shape', y)), to=1
    )
    total = net.op('ReduceSum', net.op('Mul', y, m), net.ints(1), keepdims=0)
    count = net.op('Clip', net.op('ReduceSum', m, net.ints(1), keepdims=0), net.scalar(1e-9))
    y = net.op('Div', total, count)
    return [net.op('LpNormalization', y, axis=1)]


def pool_max(net):
    y = net.block(sequence(net))
    return [
        net.op('ReduceMax', y, axes=[1], keepdims=0),
        net.op('ArgMax', net.linear(y, 7), axis=2, keepdims=0),
    ]


def pool_attention(net):
    x = net.block(sequence(net))
    w = net.op('Softmax', net.linear(x, 1), axis=1)
    return [net.op('MatMul', net.op('Transpose', w, perm=[0, 2, 1]), x)]


def last_step(net):
    y = net.block(sequence(net))
    return [net.linear(net.op('Gather', y, net.scalar(-1, 'int64'), axis=1), 5)]


def first_step(net):
    """A token in front, and what became of it."""
    x = sequence(net)
    token = net.op('Expand', net.weight(1, 1, C), net.vector(net.size(x, 0), 1, C))
    y = net.block(net.op('Concat', token, x, axis=1))
    return [net.op('Gather', y, net.scalar(0, 'int64'), axis=1), y]


def norm_parts(net):
    x = sequence(net)
    d = net.op('Sub', x, net.op('ReduceMean', x, axes=[-1]))
    v = net.op('ReduceMean', net.op('Pow', d, net.scalar(2.0)), axes=[-1])
    y = net.op('Div', d, net.op('Sqrt', net.op('Add', v, net.scalar(1e-5))))
    return [net.feed(net.op('Add', net.op('Mul', y, net.weight(C)), net.weight(C)))]


def norm_time(net):
    """Mean and deviation over the steps."""
    x = sequence(net)
    d = net.op('Sub', x, net.op('ReduceMean', x, axes=[1]))
    v = net.op('ReduceMean', net.op('Mul', d, d), axes=[1])
    return [net.op('Div', d, net.op('Sqrt', net.op('Add', v, net.scalar(1e-3))))]


def conv_half(net):
    """Two convolutions of stride 2, then an encoder."""
    x = net.op('Transpose', sequence(net), perm=[0, 2, 1])
    for _ in range(2):
        x = net.op(
            'Relu',
            net.op(
                'Conv',
                x,
                net.weight(C, C, 3),
                net.weight(C),
                strides=[2],
                pads=[1, 1],
                kernel_shape=[3],
            ),
        )
    return [net.block(net.op('Transpose', x, perm=[0, 2, 1]))]


def conv_gated(net):
    x = net.op('Transpose', sequence(net), perm=[0, 2, 1])
    a, b = net.op(
        'Split',
        net.op('Conv', x, net.weight(2 * C, C, 1), kernel_shape=[1]),
        net.ints(C, C),
        outs=2,
        axis=1,
    )
    y = net.op('Mul', a, net.op('Sigmoid', b))
    y = net.op(
        'Conv', y, net.weight(C, 1, 5), net.weight(C), group=C, pads=[2, 2], kernel_shape=[5]
    )
    y = net.op('Mul', y, net.op('Sigmoid', y))
    return [
        net.op(
            'Add', net.op('Transpose', y, perm=[0, 2, 1]), net.op('Transpose', x, perm=[0, 2, 1])
        )
    ]


def conv_causal(net):
    x = net.op('Transpose', sequence(net), perm=[0, 2, 1])
    for dilation in (1, 2, 4):
        pad = net.op('Pad', x, net.ints(0, 0, 2 * dilation, 0, 0, 0))
        y = net.op(
            'Conv', pad, net.weight(C, C, 3), net.weight(C), dilations=[dilation], kernel_shape=[3]
        )
        x = net.op('Add', x, net.op('Relu', y))
    return [x]


def image(net):
    """A spectrogram of T columns."""
    x = net.input([1, 1, 8, 'T'])
    y = net.op(
        'Relu',
        net.op('Conv', x, net.weight(4, 1, 3, 3), net.weight(4), pads=[1, 1, 1, 1], strides=[2, 1]),
    )
    y = net.op('MaxPool', y, kernel_shape=[2, 1], strides=[2, 1])
    y = net.view(net.op('Transpose', y, perm=[0, 3, 1, 2]), 1, net.size(y, 3), 8)
    return [net.linear(y, C, 8)]


def recurrent(net, op, gates, **attrs):
    both = attrs.get('direction') == 'bidirectional'
    ways = 2 if both else 1
    x = net.op('Transpose', sequence(net), perm=[1, 0, 2])
    ins = [
        x,
        net.weight(ways, gates * 8, C),
        net.weight(ways, gates * 8, 8),
        net.weight(ways, 2 * gates * 8),
    ]
    state = net.op('ConstantOfShape', net.vector(ways, net.size(x, 1), 8), value=net_value(0.0))
    states = [state, state] if op == 'LSTM' else [state]
    y = net.op(op, *ins, '', *states, outs=3 if op == 'LSTM' else 2, hidden_size=8, **attrs)
    y0 = net.op('Transpose', y[0], perm=[2, 0, 1, 3])
    return [net.view(y0, 1, net.size(x, 0), 8 * ways), y[1]]


def lstm(net):
    return recurrent(net, 'LSTM', 4)


def lstm_both(net):
    return recurrent(net, 'LSTM', 4, direction='bidirectional')


def gru(net):
    return recurrent(net, 'GRU', 3, linear_before_reset=1)


def gru_both(net):
    return recurrent(net, 'GRU', 3, direction='bidirectional')


def flat(net):
    """[-1, C] for a Gemm, and back."""
    x = sequence(net)
    y = net.op('Gemm', net.op('Reshape', x, net.ints(-1, C)), net.weight(C, 8), net.weight(8))
    return [net.op('Reshape', net.op('Relu', y), net.ints(1, -1, 8))]


def rotary(net):
    x = sequence(net)
    t = net.op('Unsqueeze', net.size(x, 1), net.ints(0))
    half = C // HEADS // 2
    q = net.heads(net.linear(x, C))
    cos, sin = [
        net.op(
            'Slice',
            net.const(
                [f(i / 100 ** (k / half)) for i in range(MOST) for k in [*range(half)] * 2],
                'float32',
                [MOST, 2 * half],
            ),
            net.ints(0),
            t,
            net.ints(0),
        )
        for f in (math.cos, math.sin)
    ]
    a, b = net.op('Slice', q, net.ints(0), net.ints(half), net.ints(3)), net.op(
        'Slice', q, net.ints(half), net.ints(2 * half), net.ints(3)
    )
    turned = net.op('Concat', net.op('Neg', b), a, axis=3)
    q = net.op('Add', net.op('Mul', q, cos), net.op('Mul', turned, sin))
    s = net.op('Softmax', net.scores(q, q), axis=-1)
    return [net.join(net.op('MatMul', s, net.heads(x)))]


def relative(net):
    """A bias by the distance of two steps, as T5 has it."""
    x = sequence(net)
    r = net.range(net.size(x, 1))
    far = net.op('Sub', net.op('Unsqueeze', r, net.ints(0)), net.op('Unsqueeze', r, net.ints(1)))
    bucket = net.op('Min', net.op('Abs', far), net.scalar(7, 'int64'))
    bias = net.op('Transpose', net.op('Gather', net.weight(8, HEADS), bucket), perm=[2, 0, 1])
    return [net.block(x, lambda s: net.op('Add', s, bias))]


def einsum(net):
    x = sequence(net)
    q, k, v = [net.heads(net.linear(x, C)) for _ in range(3)]
    s = net.op('Softmax', net.op('Einsum', q, k, equation='bhid,bhjd->bhij'), axis=-1)
    return [net.join(net.op('Einsum', s, v, equation='bhij,bhjd->bhid'))]


def quantized(net):
    """Weights of 8 bits, activations that are quantized when it runs."""
    x = sequence(net)
    q, scale, zero = net.op('DynamicQuantizeLinear', x, outs=3)
    w = net.const([net.random.randrange(-127, 128) for _ in range(C * C)], 'int8', [C, C])
    y = net.op('Cast', net.op('MatMulInteger', q, w, zero, net.scalar(0, 'int8')), to=1)
    return [net.block(net.op('Mul', y, net.op('Mul', scale, net.scalar(0.01))))]


def mean_by_size(net):
    """The number of steps as a float."""
    x = sequence(net)
    total = net.op('ReduceSum', x, net.ints(1), keepdims=1)
    return [net.op('Sub', x, net.op('Div', total, net.op('Cast', net.size(x, 1), to=1)))]


def backwards(net):
    """The steps in reverse, and every other one of them."""
    x = net.linear(sequence(net), C)
    y = net.op('Slice', x, net.ints(-1), net.ints(-(1 << 31)), net.ints(1), net.ints(-1))
    return [
        net.op('Add', x, y),
        net.op('Slice', x, net.ints(0), net.ints(1 << 31), net.ints(1), net.ints(2)),
    ]


def two_lengths(net):
    """A decoder that looks at an encoder's results."""
    x, memory = sequence(net), net.input([1, 'S', C])
    r = net.range(net.size(x, 1))
    m = net.op(
        'LessOrEqual', net.op('Unsqueeze', r, net.ints(0)), net.op('Unsqueeze', r, net.ints(1))
    )
    x = net.norm(net.op('Add', x, net.attend(x, lambda s: net.op('Where', m, s, net.scalar(-1e4)))))
    return [net.norm(net.op('Add', x, net.attend(x, None, net.block(memory))))]


ALL = [
    encoder,
    encoder_mask,
    encoder_where,
    decoder_trilu,
    decoder_table,
    decoder_range,
    decoder_cache,
    decoder_prefill,
    words_range,
    words_slice,
    words_cumsum,
    pool_mean,
    pool_masked,
    pool_max,
    pool_attention,
    last_step,
    first_step,
    norm_parts,
    norm_time,
    conv_half,
    conv_gated,
    conv_causal,
    image,
    lstm,
    lstm_both,
    gru,
    gru_both,
    flat,
    rotary,
    relative,
    einsum,
    quantized,
    mean_by_size,
    backwards,
    two_lengths,
]


class Model:
    """The file's bytes, and its inputs: (name, type, dimensions)."""

    def __init__(self, make):
        net = Net(make.__name__)
        results = make(net)
        self.name, self.inputs = make.__name__, net.inputs
        outs = [onnx.put(1, name) for name in results]  # type and shape are the compiler's to know
        self.blob = onnx.make_model(
            net.nodes,
            [onnx.make_value(n, onnx.CODES[k], d) for n, k, d in net.inputs],
            outs,
            net.weights,
            opset=17,
        )

    def lengths(self):
        return [s for s in ('T', 'S') if any(s in dims for _, _, dims in self.inputs)]

    def values(self, sizes, seed=1):
        """A tensor for each input where the lengths are sizes[symbol]."""
        made = random.Random('%s %s %d' % (self.name, sorted(sizes.items()), seed))
        tensors = []
        for name, kind, dims in self.inputs:
            real = [
                sum(sizes[s] for s in d.split(' + ')) if isinstance(d, str) else d for d in dims
            ]
            n = math.prod(real)
            pick = {
                'float32': lambda: made.uniform(-1, 1),
                'int64': lambda: made.randrange(2),
                'bool': lambda: made.random() < 0.7,
            }[kind]
            values = [pick() for _ in range(n)]
            if kind == 'bool' and n:
                values[0] = True
            tensors.append(
                onnx.Tensor(
                    name, onnx.CODES[kind], real, struct.pack('<%d%s' % (n, FORMS[kind]), *values)
                )
            )
        return tensors


def main():
    for make in ALL:
        if not sys.argv[2:] or make.__name__ in sys.argv[2:]:
            with open(os.path.join(sys.argv[1], make.__name__ + '.onnx'), 'wb') as f:
                f.write(Model(make).blob)


if __name__ == '__main__':
    main()
