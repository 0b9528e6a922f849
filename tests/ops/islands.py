# SPDX-License-Identifier: Apache-2.0
"""Islands of QuantizeLinear and DequantizeLinear become integer operators: small networks of each,
against the same model without the pass, which computes them in float. Results differ by one step of
the result's scale at most, and rarely; no step computes in float but for those that are named.

    islands.py --inlay INLAY"""
import argparse
import math
import os
import random
import re
import struct

import host
import onnx
import tap

F, I8, U8, I32, I64 = (onnx.CODES[t] for t in ('float32', 'int8', 'uint8', 'int32', 'int64'))
RANGE = {I8: (-128, 127), U8: (0, 255)}
STEP, ZERO = 0.05, {I8: -7, U8: 113}
BETWEEN = ('quantize_', 'dequantize_', 'table_f32')
MOVES = {'Transpose', 'Reshape'}


class Island:
    """A model that grows node by node; numbers between nodes are quantized."""

    def __init__(self, seed, kind):
        self.r, self.kind, self.nodes, self.weights, self.n = random.Random(seed), kind, [], [], 0
        self.opset = 17

    def name(self, what='t'):
        self.n += 1
        return '%s%d' % (what, self.n)

    def const(self, code, dims, form, values):
        name = self.name('c')
        self.weights.append(
            onnx.make_tensor(name, code, dims, struct.pack('<%d%s' % (len(values), form), *values))
        )
        return name

    def number(self, v):
        return self.const(F, [], 'f', [v])

    def ints(self, *v):
        return self.const(I64, [len(v)], 'q', v)

    def node(self, op, *ins, outs=1, **attrs):
        names = [self.name() for _ in range(outs)]
        self.nodes.append(onnx.make_node(op, ins, names, **attrs))
        return names[0] if outs == 1 else names

    def q(self, x, step=STEP, kind=None, zero=None):
        """Quantized and back."""
        kind = kind or self.kind
        zero = ZERO[kind] if zero is None else zero
        by = [self.number(step), self.const(kind, [], 'b' if kind == I8 else 'B', [zero])]
        return self.node('DequantizeLinear', self.node('QuantizeLinear', x, *by), *by)

    def w(self, *dims, channel=None, kind=I8, zeros=None):
        """Weights with one scale, or one for each place of an axis; so too the zero point."""
        count = 1
        for d in dims:
            count *= d
        low, high = RANGE[kind]
        values = [self.r.randint(low, high) for _ in range(count)]
        form = 'b' if kind == I8 else 'B'
        scales = 1 if channel is None else dims[channel]
        sizes = [] if channel is None else [scales]
        by = [
            self.const(F, sizes, 'f', [self.r.uniform(0.002, 0.004) for _ in range(scales)]),
            self.const(
                kind,
                sizes,
                form,
                [zeros[i] if zeros else 0 if kind == I8 else 128 for i in range(scales)],
            ),
        ]
        attrs = {} if channel is None else {'axis': channel}
        return self.node('DequantizeLinear', self.const(kind, dims, form, values), *by, **attrs)

    def few_bits(self, kind, *dims, zeros=(0,), channel=None, domain=''):
        """The same of four or two bits."""
        bits = int(kind[-1])
        most = (1 << bits) - 1
        n = 1 if channel is None else dims[channel]
        sizes = [] if channel is None else [n]
        if not domain:
            self.opset = max(self.opset, 21 if bits == 4 else 25)
        packed = onnx.pack_bits([self.r.randint(0, most) for _ in range(math.prod(dims))], bits)
        zero = onnx.pack_bits([zeros[i % len(zeros)] & most for i in range(n)], bits)
        names = [
            self.name('c'),
            self.const(F, sizes, 'f', [self.r.uniform(0.02, 0.04) for _ in range(n)]),
            self.name('c'),
        ]
        self.weights += [
            onnx.make_tensor(names[0], onnx.CODES[kind], dims, packed),
            onnx.make_tensor(names[2], onnx.CODES[kind], sizes, zero),
        ]
        return self.node(
            'DequantizeLinear',
            *names,
            domain=domain,
            **({} if channel is None else {'axis': channel})
        )

    def floats(self, *dims, low=-1.0, high=1.0):
        count = 1
        for d in dims:
            count *= d
        return self.const(F, dims, 'f', [self.r.uniform(low, high) for _ in range(count)])

    def byte(self, kind, value):
        return self.const(kind, [], 'b' if kind == I8 else 'B', [value])

    def by(self, step=STEP, zero=None):
        """A scale and a zero point."""
        return [self.number(step), self.byte(self.kind, ZERO[self.kind] if zero is None else zero)]

    def ms(self, op, *ins, **attrs):
        return self.node(op, *ins, domain='com.microsoft', **attrs)

    def model(self, dims, y):
        result = onnx.put(1, y) + onnx.put(2, onnx.put(1, onnx.put(1, F)))  # of any shape
        return onnx.make_model(
            self.nodes,
            [onnx.make_value('x', F, dims)],
            [result],
            self.weights,
            self.opset,
            [('com.microsoft', 1)],
        )


def conv_of(m, x, ic, oc, k=3, channel=0, **attrs):
    return m.node(
        'Conv',
        x,
        m.w(oc, ic // attrs.get('group', 1), k, k, channel=channel),
        m.floats(oc),
        kernel_shape=[k, k],
        pads=[k // 2] * 4,
        **attrs
    )


IMAGE = [1, 4, 9, 8]


def conv(m):
    return IMAGE, m.q(conv_of(m, m.q('x'), 4, 6))


def conv_relu(m):
    return IMAGE, m.q(m.node('Relu', conv_of(m, m.q('x'), 4, 6, channel=None)))


def conv_clip(m):
    y = m.node('Clip', conv_of(m, m.q('x'), 4, 4, group=4), m.number(-1.0), m.number(2.0))
    return IMAGE, m.q(m.node('Relu', m.q(y)))


def statistics_of(m, n, factors):
    """Of a BatchNormalization that multiplies by about these factors."""
    factor = m.const(F, [n], 'f', [factors[i % len(factors)] for i in range(n)])
    return [factor, m.floats(n), m.floats(n), m.floats(n, low=0.5, high=1.5)]


def channels(m):
    """A factor and a shift for each channel, some next to nothing or below 0; a Relu behind it;
    signals, too."""
    y = m.node(
        'BatchNormalization',
        m.q(conv_of(m, m.q('x'), 4, 6)),
        *statistics_of(m, 6, [0.9, -1.2, 0.0, 1e-9, 0.01, 2.5])
    )
    y = m.q(m.node('Relu', y))
    y = m.node('Reshape', y, m.ints(1, 6, 72))
    return IMAGE, m.q(
        m.node('BatchNormalization', y, *statistics_of(m, 6, [0.7, 1.1]), epsilon=0.1)
    )


def channels_of_rows(m):
    """The same behind products, as what is trained with it leaves them."""
    y = m.q(m.node('Gemm', m.q('x'), m.w(10, 6, channel=1), m.floats(6)))
    y = m.q(
        m.node('Relu', m.node('BatchNormalization', y, *statistics_of(m, 6, [0.9, -1.2, 0.0, 1.5])))
    )
    return [5, 10], m.q(m.node('BatchNormalization', y, *statistics_of(m, 6, [0.7, 1.1])), 0.04)


def channels_of_six_dimensions(m):
    """More than an image has."""
    return [1, 4, 1, 3, 1, 2], m.q(
        m.node('BatchNormalization', m.q('x'), *statistics_of(m, 4, [0.7, 1.1]))
    )


def multiplied(m):
    """Several results of each channel."""
    y = m.q(m.node('Relu', conv_of(m, m.q('x'), 4, 12, group=4)), 0.06)
    return IMAGE, m.q(conv_of(m, y, 12, 24, 5, group=12, strides=[2, 1]), 0.1)


def large_biases(m):
    """More bits than a float has, quantized with a zero point of 0 and without."""
    y = 'x'
    for zeros in ((), ([0],)):
        bias = m.const(
            I32,
            [4],
            'i',
            [m.r.randint(2**30, 2**31 - 1) * m.r.choice([-1, 1]) for _ in range(4)],
        )
        by = [m.number(STEP * 1e-9)] + [m.const(I32, [], 'i', z) for z in zeros]
        w = m.node(
            'DequantizeLinear',
            m.const(I8, [4, 4, 1, 1], 'b', [m.r.randint(-128, 127) for _ in range(16)]),
            m.number(1e-9),
            m.byte(I8, 0),
        )
        y = m.node('Conv', m.q(y), w, m.node('DequantizeLinear', bias, *by), kernel_shape=[1, 1])
    return IMAGE, m.q(y, 0.001)


def conv_bounds(m):
    """Clips that the range of the result does not imply, before the QuantizeLinear and behind
    it."""
    y = m.q(m.node('Relu', conv_of(m, m.q('x'), 4, 4)))
    y = m.q(m.node('Clip', m.q(conv_of(m, y, 4, 4)), m.number(-1.0), m.number(2.0)))
    y = m.q(
        m.node(
            'Relu',
            m.q(
                m.node(
                    'Transpose',
                    m.node('MatMul', m.node('Transpose', y, perm=[0, 2, 3, 1]), m.w(4, 3)),
                    perm=[0, 3, 1, 2],
                )
            ),
        )
    )
    return IMAGE, m.q(m.node('Relu', m.node('AveragePool', y, kernel_shape=[2, 2])), 0.03)


def qlinear(m):
    """Operators of com.microsoft whose integer form is another one's."""
    x = m.node('QuantizeLinear', 'x', *m.by())
    y = m.ms(
        'QLinearAveragePool',
        x,
        *m.by(),
        *m.by(0.0437),
        kernel_shape=[3, 2],
        pads=[1, 0, 1, 1],
        strides=[2, 1]
    )
    y = m.ms(
        'QLinearConcat',
        *m.by(0.04),
        y,
        *m.by(0.0437),
        m.ms('QLinearLeakyRelu', y, *m.by(0.0437), *m.by(0.03), alpha=0.1),
        *m.by(0.03),
        axis=1
    )
    y = m.ms('QLinearGlobalAveragePool', y, *m.by(0.04), *m.by(0.02), channels_last=0)
    y = m.node('Flatten', y)
    w = m.const(I8, [5, 8], 'b', [m.r.randint(-128, 127) for _ in range(40)])
    bias = m.const(I32, [5], 'i', [m.r.randint(-5000, 5000) for _ in range(5)])
    y = m.ms(
        'QGemm',
        y,
        *m.by(0.02),
        w,
        m.number(0.01),
        m.byte(I8, 3),
        bias,
        *m.by(0.06),
        transB=1,
        alpha=0.5
    )
    return IMAGE, m.node('DequantizeLinear', y, *m.by(0.06))


def whole_pool(m):
    """A pool whose window is the image is summed row by row."""
    y = m.node(
        'AveragePool', m.q(conv_of(m, m.q('x'), 4, 4)), kernel_shape=list(IMAGE[2:]), strides=[3, 2]
    )
    return IMAGE, m.q(
        m.node('Concat', m.q(y, 0.02), m.q(m.node('GlobalMaxPool', m.q('x')), 0.02), axis=1), 0.02
    )


def permuted(m):
    """Channels in another order, as runs of them."""
    y = m.node(
        'Gather',
        m.node('SpaceToDepth', conv_of(m, m.q('x'), 4, 4), blocksize=2),
        m.ints(*range(8, 16), -16, *range(1, 8)),
        axis=1,
    )
    return [1, 4, 8, 6], m.q(conv_of(m, m.q(y), 16, 4))


def gemm(m):
    x = m.q('x')
    return [3, 10], m.q(m.node('Gemm', x, m.w(7, 10, channel=0), m.floats(7), transB=1))


def gemm_flat(m):
    x = m.node('Flatten', m.q(conv_of(m, m.q('x'), 4, 6)))
    return IMAGE, m.q(m.node('Gemm', x, m.w(432, 5, kind=U8)), step=0.5)


def matmul(m):
    y = m.q(m.node('MatMul', m.q('x'), m.w(10, 6, channel=1)))
    return [2, 3, 10], m.q(m.node('MatMul', y, m.node('Transpose', y, perm=[0, 2, 1])))


def scores(m):
    """Attention: rows of scores are made one after the other."""
    x = m.q('x')
    y = m.q(
        m.node(
            'MatMul', x, m.node('Transpose', m.q(m.node('Tanh', x), 1 / 128), perm=[0, 1, 3, 2])
        ),
        0.1,
    )
    return [1, 2, 9, 6], m.q(
        m.node('MatMul', m.q(m.node('Softmax', y), 1 / 256, zero=-128 if m.kind == I8 else 0), x)
    )


def sums(m):
    a, b = m.q('x'), m.q(conv_of(m, m.q('x'), 4, 4), 0.03, U8)
    y = m.q(m.node('Relu', m.node('Add', a, b)))
    return IMAGE, m.q(m.node('Sub', y, m.q(m.node('GlobalAveragePool', b), 0.01)))


def products(m):
    a, b = m.q('x'), m.q(conv_of(m, m.q('x'), 4, 4), 0.03, U8)
    return IMAGE, m.q(m.node('Mul', a, m.q(m.node('GlobalAveragePool', b), 0.01)))


def tables(m):
    y = m.q(m.node('HardSwish', m.q('x')), 0.02, U8)
    y = m.q(m.node('Mul', y, m.q(m.node('Sigmoid', y), 1 / 256, U8, 0)), 0.03)
    y = m.q(m.node('LeakyRelu', m.node('Mul', y, m.number(1.5)), alpha=0.1))
    erf = m.node('Add', m.node('Erf', m.node('Div', y, m.number(2**0.5))), m.number(1.0))
    return [1, 4, 6, 5], m.q(m.node('Mul', m.node('Mul', y, m.number(0.5)), erf))


def pools(m):
    y = m.node('MaxPool', m.q('x'), kernel_shape=[3, 3], strides=[1, 2], pads=[1, 1, 1, 1])
    y = m.q(
        m.node('AveragePool', m.q(y), kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1]),
        0.0437,
    )
    return IMAGE, m.q(
        m.node('AveragePool', y, kernel_shape=[2, 2], pads=[0, 0, 1, 1], count_include_pad=1),
        0.0391,
    )


def means(m):
    y = m.q(m.node('ReduceMean', m.q('x'), axes=[2, 3], keepdims=0), 0.01)
    z = m.q(m.node('ReduceMean', m.q('x'), axes=[3]), 0.02)
    z = m.q(m.node('ReduceMean', z, axes=[0, 1, 2], keepdims=0), 0.01)
    return IMAGE, m.q(m.node('Add', y, z))


def softmax(m):
    y = m.q(m.node('Softmax', m.q('x'), axis=1), 1 / 256)
    return [2, 5, 4, 3], m.q(m.node('Softmax', m.q(y, 0.02), axis=-1), 1 / 256)


def wide_softmax(m):
    y = m.q(m.node('Softmax', m.q('x'), axis=1), 1 / 256)
    return [2, 20, 8, 9], m.q(m.node('Softmax', m.q(y, 0.02), axis=-1), 1 / 256)


def quotients(m):
    y = m.q(m.node('PRelu', m.q('x'), m.floats(4, 1, 1, low=0.1, high=0.4)), 0.04)
    d = m.q(m.node('Sigmoid', m.q(conv_of(m, y, 4, 4))), 1 / 200, U8, 0)
    return IMAGE, m.q(
        m.node(
            'Div',
            y,
            m.q(m.node('Add', d, m.q(m.node('GlobalMaxPool', d), 1 / 100, U8, 0)), 0.01, U8, 0),
        ),
        0.1,
    )


def norms(m):
    y = m.q(m.node('LayerNormalization', m.q('x'), m.floats(10), m.floats(10), epsilon=0.01), 0.02)
    y = m.q(m.node('LayerNormalization', y, m.floats(3, 10), axis=1), 0.02, U8)
    return [2, 3, 10], m.q(
        m.node('LayerNormalization', m.node('Reshape', y, m.ints(60)), m.floats(60), axis=0), 0.02
    )


def root_mean_squares(m):
    m.opset = 23
    return [2, 3, 10], m.q(m.node('RMSNormalization', m.q('x'), m.floats(10)), 0.02)


def mean_squares(m):
    """As ONNX Runtime's quantizer leaves RMSNormalization that is spelt out."""
    x = m.q('x')
    y = m.q(m.node('ReduceMean', m.node('Pow', x, m.number(2)), axes=[-1]), 0.1)
    y = m.q(
        m.node(
            'Mul',
            x,
            m.q(m.node('Reciprocal', m.node('Sqrt', m.node('Add', y, m.number(1e-5)))), 0.02),
        )
    )
    z = m.q(m.node('Relu', m.node('ReduceMean', m.node('Mul', x, x), axes=[1, 2])), 0.1)
    return [4, 3, 10], m.q(m.node('Add', y, z), 0.1)


def linear_sizes(m):
    def resized(x, scales=(), sizes=(), **attrs):
        by = [m.const(F, [len(scales)], 'f', scales)] if scales else ['', m.ints(*sizes)]
        return m.node('Resize', x, '', *by, mode='linear', **attrs)

    y = m.q(resized(m.q('x'), (1, 1, 2, 2)), 0.06, U8)
    y = m.q(
        conv_of(
            m,
            m.q(resized(y, sizes=(1, 4, 18, 29), coordinate_transformation_mode='align_corners')),
            4,
            4,
        )
    )
    y = m.q(resized(y, sizes=(7, 29), axes=[2, 3], coordinate_transformation_mode='asymmetric'))
    return IMAGE, m.q(
        resized(
            y,
            (1, 1, 1.5, 0.7),
            coordinate_transformation_mode='pytorch_half_pixel',
            exclude_outside=1,
        )
    )


def choices(m):
    a, b = m.q('x'), m.q(conv_of(m, m.q('x'), 4, 4), 0.03, U8)
    y = m.q(m.node('Max', a, b, m.floats(4, 1, 1)), 0.06)
    y = m.q(m.node('Min', y, m.q(m.node('GlobalAveragePool', b), 0.06)), 0.06)
    by = m.by(0.04)
    y = m.ms(
        'QLinearWhere',
        m.node('Less', a, b),
        m.node('QuantizeLinear', y, *m.by()),
        *m.by(),
        m.node('QuantizeLinear', b, *by),
        *by,
        *m.by(0.07)
    )
    return IMAGE, m.node('DequantizeLinear', y, *m.by(0.07))


def moves(m):
    x = m.q('x')
    y = m.node('Transpose', m.node('Pad', x, m.ints(0, 0, 1, 0, 0, 0, 0, 1)), perm=[0, 2, 3, 1])
    y = m.node(
        'Slice', m.q(m.node('Reshape', y, m.ints(1, 90, 4))), m.ints(3), m.ints(70), m.ints(1)
    )
    a, b = m.node('Split', y, axis=2, outs=2)
    y = m.node(
        'Concat',
        a,
        m.q(m.node('Squeeze', m.node('Unsqueeze', b, m.ints(0)), m.ints(0)), 0.07, U8),
        axis=1,
    )
    return [1, 4, 9, 8], m.q(y)


def paddings(m):
    """Channels last, as exporters of Keras write a signal: padded in front, then seen as an image
    of one row; and an image."""
    y = m.q(m.node('Pad', m.q('x'), m.ints(0, 4, 0, 0, 0, 0)))
    y = m.node('Transpose', m.node('Unsqueeze', y, m.ints(1)), perm=[0, 3, 1, 2])
    y = m.q(
        m.node(
            'Conv',
            y,
            m.w(6, 4, 1, 3, channel=0),
            m.floats(6),
            kernel_shape=[1, 3],
            dilations=[1, 2],
        )
    )
    y = m.q(m.node('Pad', y, m.ints(0, 0, 1, 2, 0, 0, 1, 0)))
    return [1, 20, 4], m.q(
        m.node('Conv', y, m.w(3, 6, 3, 3, channel=0), m.floats(3), kernel_shape=[3, 3])
    )


def padded_lines(m):
    """Rows of a product, which are pixels channels last: one more in front, then more columns,
    which are channels."""
    y = m.q(m.node('Pad', m.q('x'), m.ints(0, 0, 1, 0, 0, 0, 2, 0)))
    y = m.q(m.node('MatMul', y, m.w(6, 5, channel=1)))
    y = m.q(m.node('Pad', y, m.ints(0, 0, 0, 2, 0, 0, 0, 1)))
    return [1, 3, 4, 6], m.q(m.node('MatMul', y, m.w(8, 4, channel=1)))


def signs(m):
    """Codes of the other sign, of the same numbers, before and behind: as TFLite gives a network of
    int8 an input of uint8."""
    kind = U8 if m.kind == I8 else I8
    zero = ZERO[m.kind] + (128 if kind == U8 else -128)
    by = [m.number(STEP), m.byte(kind, zero)]
    y = m.node('Transpose', m.node('QuantizeLinear', m.q('x'), *by), perm=[0, 1, 3, 2])
    return IMAGE, m.q(
        m.q(conv_of(m, m.node('DequantizeLinear', y, *by), 4, 6), kind=kind, zero=zero)
    )


def sizes(m):
    y = m.q(conv_of(m, m.q('x'), 4, 4))
    y = m.node(
        'Resize',
        y,
        '',
        m.const(F, [4], 'f', [1, 1, 2, 2]),
        mode='nearest',
        coordinate_transformation_mode='asymmetric',
        nearest_mode='floor',
    )
    z = m.node('DepthToSpace', m.node('Tile', m.q('x'), m.ints(1, 2, 1, 1)), blocksize=2)
    y = m.node('Concat', y, m.q(z, 0.08), axis=1)
    return IMAGE, m.q(m.node('MaxPool', y, kernel_shape=[2, 2]))


def shared(m):
    """One DequantizeLinear, several readers; a result in float beside them."""
    x = m.q(conv_of(m, m.q('x'), 4, 4))
    a, b = m.q(conv_of(m, x, 4, 4)), m.q(m.node('Tanh', x), 1 / 128)
    return IMAGE, m.node('Identity', m.q(m.node('Add', m.q(m.node('Add', a, b)), x)))


def deconv_of(m, x, ic, oc, *taps, channel=1, kind=I8, **attrs):
    return m.node(
        'ConvTranspose',
        x,
        m.w(ic, oc, *taps, channel=channel, kind=kind),
        m.floats(oc),
        kernel_shape=list(taps),
        **attrs
    )


def deconvs(m):
    """Blocks that the taps fill and do not fill, cut and not cut; one stride, two, none."""
    y = m.q(deconv_of(m, m.q('x'), 4, 3, 2, 2, strides=[2, 2], kind=U8), 0.07)
    y = m.q(
        m.node(
            'Relu', deconv_of(m, y, 3, 2, 4, 4, strides=[2, 2], pads=[1, 1, 1, 1], channel=None)
        ),
        0.07,
    )
    y = m.q(
        deconv_of(m, y, 2, 2, 3, 3, strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1]), 0.07
    )
    y = m.q(deconv_of(m, y, 2, 3, 3, 2, strides=[1, 3], pads=[1, 0, 1, 0]), 0.07)
    y = m.q(deconv_of(m, y, 3, 2, 5, 3, strides=[2, 1], pads=[4, 1, 3, 1]), 0.07)
    return [1, 4, 3, 4], y


def deconv_groups(m):
    """Channels by themselves, as what makes images larger has them; two groups; one result of each,
    and several."""
    y = m.q(
        m.node(
            'ConvTranspose',
            m.q('x'),
            m.w(4, 1, 4, 4),
            m.floats(4),
            kernel_shape=[4, 4],
            strides=[2, 2],
            pads=[1] * 4,
            group=4,
        ),
        0.07,
    )
    y = m.q(
        m.node(
            'Relu',
            m.node(
                'ConvTranspose', y, m.w(4, 3, 2, 3, kind=U8), m.floats(6), strides=[2, 3], group=2
            ),
        ),
        0.07,
    )
    y = m.q(
        m.node(
            'ConvTranspose',
            y,
            m.w(6, 2, 3, 3),
            strides=[2, 2],
            pads=[1] * 4,
            output_padding=[1, 1],
            group=6,
        ),
        0.07,
    )
    return [2, 4, 3, 4], m.q(
        m.node('ConvTranspose', y, m.w(12, 1, 3, 3), m.floats(2), pads=[1] * 4, group=2), 0.1
    )


def deconv_fillers(m):
    """Blocks that the taps do not fill, where weights that stand for 0 are others."""
    y = m.q(deconv_of(m, m.q('x'), 4, 3, 3, 3, strides=[2, 2], kind=U8), 0.1)
    y = m.q(
        m.node('ConvTranspose', y, m.w(3, 2, 3, 2, channel=1, zeros=[-5, 30]), strides=[2, 3]), 0.1
    )
    return [2, 4, 3, 4], m.q(
        m.node('ConvTranspose', y, m.w(2, 1, 3, 3, zeros=[-9]), strides=[2, 2], group=2), 0.1
    )


def deconv_line(m):
    y = m.q(deconv_of(m, m.q('x'), 4, 3, 5, strides=[3], pads=[2, 1]), 0.07)
    return [2, 4, 9], m.q(
        m.node(
            'MaxPool',
            deconv_of(m, y, 3, 2, 4, strides=[2], auto_pad='SAME_UPPER'),
            kernel_shape=[2],
        ),
        0.07,
    )


def deconv_one(m):
    """One channel: its bias is that of all pixels of a block."""
    return [1, 4, 6], m.q(deconv_of(m, m.q('x'), 4, 1, 4, strides=[2]), 0.07)


def biases(m):
    """What is added to a product is its bias."""
    y = m.node('Add', m.node('MatMul', m.q('x'), m.w(10, 6, channel=1)), m.floats(6))
    y = m.q(m.node('Relu', y), 0.06)
    return [2, 3, 10], m.q(m.node('Add', m.floats(1, 7), m.node('MatMul', y, m.w(6, 7))), 0.1)


def weights_of_four_bits(m):
    """Convolutions, one of channels by themselves, and products, zero points anywhere."""
    w = m.few_bits('int4', 6, 4, 3, 3, channel=0)
    y = m.q(m.node('Conv', m.q('x'), w, m.floats(6), kernel_shape=[3, 3], pads=[1] * 4))
    w = m.few_bits('uint4', 6, 1, 3, 3, zeros=[8])
    y = m.q(m.node('Relu', m.node('Conv', y, w, kernel_shape=[3, 3], pads=[1] * 4, group=6)), 0.1)
    y = m.q(
        m.node(
            'ConvTranspose',
            y,
            m.few_bits('uint4', 6, 4, 2, 2, zeros=[7]),
            kernel_shape=[2, 2],
            strides=[2, 2],
        ),
        0.2,
    )
    y = m.q(
        m.node(
            'MatMul',
            m.node('Transpose', y, perm=[0, 2, 3, 1]),
            m.few_bits('uint4', 4, 8, zeros=[0, 15, 7, 3], channel=1),
        ),
        0.3,
    )
    w = m.few_bits('int4', 5, 8, zeros=[-8, 3, 7], channel=0)
    return IMAGE, m.q(
        m.node('Gemm', m.node('Reshape', y, m.ints(-1, 8)), w, m.floats(5), transB=1), 0.5
    )


def weights_of_microsoft(m):
    """What ONNX Runtime's quantizer writes into files of an opset that has no types of four bits,
    biases too."""
    given = {'domain': 'com.microsoft'}
    scale = m.const(F, [6], 'f', [STEP * 0.03] * 6)
    bias = m.ms(
        'DequantizeLinear',
        m.const(I32, [6], 'i', [m.r.randint(-900, 900) for _ in range(6)]),
        scale,
        axis=0,
    )
    y = m.q(
        m.node(
            'Conv', m.q('x'), m.few_bits('int4', 6, 4, 3, 3, channel=0, **given), bias, pads=[1] * 4
        ),
        0.2,
    )
    y = m.node(
        'MatMul',
        m.node('Transpose', y, perm=[0, 2, 3, 1]),
        m.few_bits('uint4', 6, 8, zeros=[7], channel=1, **given),
    )
    return IMAGE, m.q(
        m.node(
            'Add',
            y,
            m.ms(
                'DequantizeLinear',
                m.const(m.kind, [8], 'b' if m.kind == I8 else 'B', range(8)),
                *m.by()
            ),
        ),
        0.5,
    )


def weights_of_two_bits(m):
    """Several images; channels in odd numbers, and each by itself."""
    y = m.q(
        m.node(
            'Conv',
            m.q('x'),
            m.few_bits('int2', 7, 2, 3, 2, zeros=[-1], channel=0),
            m.floats(7),
            strides=[2, 1],
        ),
        0.03,
    )
    y = m.q(
        m.node(
            'Conv',
            y,
            m.few_bits('uint2', 7, 1, 2, 2, zeros=[3, 1], channel=0),
            m.floats(7),
            group=7,
            pads=[1, 0, 0, 1],
        ),
        0.03,
    )
    w = m.few_bits('uint2', 7, 5, zeros=[2])
    return [3, 2, 7, 6], m.q(m.node('MatMul', m.node('Transpose', y, perm=[0, 2, 3, 1]), w), 0.02)


def panels_of_few_bits(m):
    """Weights of which some channels at a time become bytes: of all rows of several images."""
    y = m.q(
        m.node(
            'Conv',
            m.q('x'),
            m.few_bits('int4', 37, 12, 3, 3, channel=0),
            m.floats(37),
            pads=[1] * 4,
        ),
        0.3,
    )
    return [2, 12, 9, 7], m.q(
        m.node('Conv', y, m.few_bits('uint4', 54, 37, 1, 1, zeros=[9]), m.floats(54)), 0.9
    )


def lines_of_few_bits(m):
    """The same of matrices: lines by themselves."""
    y = m.node(
        'Gemm', m.q('x'), m.few_bits('uint4', 253, 19, zeros=[8, 3], channel=1), m.floats(19)
    )
    return [3, 253], m.q(m.node('MatMul', m.q(y, 0.1), m.few_bits('int4', 19, 31, channel=1)), 0.2)


def groups_of_few_bits(m):
    y = m.node(
        'Conv',
        m.q('x'),
        m.few_bits('int4', 42, 18, 3, 3, zeros=[1, -3], channel=0),
        group=3,
        strides=[2, 2],
    )
    return [1, 54, 7, 9], m.q(m.node('Relu', y), 0.2)


def float_results(m):
    """Products that are not quantized: integers all the same."""
    x = m.q('x')
    a = m.node(
        'Add',
        conv_of(m, x, 4, 4),
        m.node('Conv', x, m.w(4, 1, 3, 3, kind=U8), pads=[1] * 4, group=4),
    )
    y = m.q(m.node('Relu', m.node('Add', a, deconv_of(m, x, 4, 4, 1, 1))), 0.3)
    y = m.node('MatMul', m.node('Transpose', y, perm=[0, 2, 3, 1]), m.w(4, 5))
    y = m.q(m.node('Add', m.node('Sigmoid', m.node('Add', y, m.floats(5))), y), 0.1)
    return IMAGE, m.q(
        m.node('Tanh', m.node('Gemm', m.node('Reshape', y, m.ints(72, 5)), m.w(5, 3), m.floats(3))),
        1 / 128,
    )


def float_tables(m):
    """Functions that are not quantized, of many elements: a table of floats. Sums by themselves are
    none."""
    y = m.node('Tanh', m.node('Mul', m.q(conv_of(m, m.q('x'), 4, 4), 0.3), m.number(0.7)))
    y = m.q(
        m.node('AveragePool', m.node('Mul', y, m.number(3.0)), kernel_shape=[2, 2], strides=[2, 2])
    )
    return [1, 4, 20, 18], m.q(
        m.node('Exp', m.node('Add', m.node('Mul', y, m.number(0.2)), m.number(0.1)))
    )


def sums_of(m, op, x, scale, *dims, channel, **attrs):
    """A product of x, quantized when it runs, and weights; scales of these for all or for each
    channel. Not an operator more."""
    x, by, zero = m.node('DynamicQuantizeLinear', x, outs=3)
    low, high = RANGE[m.kind]
    count = dims[0] * dims[1] * (dims[2] * dims[3] if len(dims) > 2 else 1)
    w = m.const(
        m.kind, dims, 'b' if m.kind == I8 else 'B', [m.r.randint(low, high) for _ in range(count)]
    )
    sums = m.node(op, x, w, zero, m.byte(m.kind, ZERO[m.kind]), **attrs)
    if scale != 1:
        by = m.node(
            'Mul', by, m.floats(*channel, low=0.002, high=0.004) if scale else m.number(0.003)
        )
    return m.node('Mul', *[m.node('Cast', sums, to=F), by][:: 1 if scale else -1])


def dynamic(m):
    y = sums_of(
        m,
        'ConvInteger',
        'x',
        0,
        6,
        4,
        3,
        3,
        channel=None,
        kernel_shape=[3, 3],
        pads=[1] * 4,
        strides=[2, 1],
    )
    y = sums_of(
        m,
        'ConvInteger',
        m.node('Add', y, m.floats(6, 1, 1)),
        6,
        6,
        1,
        3,
        3,
        channel=[6, 1, 1],
        group=6,
        kernel_shape=[3, 3],
    )
    y = m.node(
        'Add',
        m.floats(5),
        sums_of(m, 'MatMulInteger', m.node('Reshape', y, m.ints(1, 18, 6)), 1, 6, 5, channel=None),
    )
    return IMAGE, m.node(
        'Add', sums_of(m, 'MatMulInteger', y, 7, 5, 7, channel=[7]), m.floats(1, 1, 7)
    )


def rounded_weights(m):
    """Weights that the file holds as float."""
    w = m.q(m.floats(4, 4, 3, 3), 1 / 128, I8, 0)
    return IMAGE, m.q(m.node('Conv', m.q('x'), w, m.floats(4), kernel_shape=[3, 3]))


def other_types(m):
    """What stays float: a ConvTranspose of groups whose results have scales each, a pool of
    powers."""
    y = m.q(
        m.node(
            'ConvTranspose',
            m.q('x'),
            m.w(4, 2, 2, 2, channel=1),
            kernel_shape=[2, 2],
            strides=[2, 2],
            group=2,
        )
    )
    return IMAGE, m.q(m.node('LpPool', y, kernel_shape=[2, 2]))


CASES = [
    (conv, ()),
    (conv_relu, ()),
    (conv_clip, ()),
    (conv_bounds, ()),
    (channels, ()),
    (channels_of_rows, ()),
    (multiplied, ()),
    (large_biases, ()),
    (qlinear, ()),
    (whole_pool, ()),
    (permuted, ()),
    (gemm, ()),
    (weights_of_four_bits, ()),
    (weights_of_microsoft, ()),
    (weights_of_two_bits, ()),
    (panels_of_few_bits, ()),
    (lines_of_few_bits, ()),
    (groups_of_few_bits, ()),
    (gemm_flat, ()),
    (matmul, ()),
    (scores, ()),
    (sums, ()),
    (products, ()),
    (tables, ()),
    (pools, ()),
    (means, ()),
    (softmax, ()),
    (wide_softmax, ()),
    (moves, ()),
    (paddings, ()),
    (padded_lines, ()),
    (signs, ()),
    (sizes, ()),
    (shared, ()),
    (rounded_weights, ()),
    (deconvs, ()),
    (deconv_groups, ()),
    (deconv_fillers, ()),
    (deconv_line, ()),
    (deconv_one, ()),
    (biases, ()),
    (choices, ('Less',)),
    (dynamic, ()),
    (quotients, ()),
    (norms, ()),
    (root_mean_squares, ()),
    (mean_squares, ()),
    (linear_sizes, ()),
    (float_results, ('Add', 'Relu', 'Sigmoid', 'Tanh')),
    (float_tables, ('AveragePool',)),
    (channels_of_six_dimensions, ('BatchNormalization',)),
    (other_types, ('ConvTranspose', 'LpPool')),
]

# Weights may be narrow where the arithmetic is not.
FLOAT = re.compile('_f32|^(de)?conv')
NO_TABLES = (conv_relu, conv_clip, conv_bounds, signs)
# Kernels that take images as a whole, where others go row by row.
WHOLE = {whole_pool: 'qavgpool', permuted: 'gather'}
# Weights of few bits stay so, but where flash is the smaller worry; how many there are, and bytes
# that they are more then.
FEW_BITS = {
    weights_of_four_bits: (5, 219),
    weights_of_microsoft: (2, 132),
    weights_of_two_bits: (3, 110),
    groups_of_few_bits: (1, 3402),
    panels_of_few_bits: (2, 2997),
    lines_of_few_bits: (2, 2697),
}


def answer(inlay, work, model, x, *flags):
    out = os.path.join(work, 'out')
    status, text = host.run([inlay, 'run', model, '-o', out, '--input', x] + list(flags))
    if status:
        raise AssertionError('%s: status %d: %s' % (' '.join(flags) or 'all passes', status, text))
    return onnx.values(onnx.read_tensor(os.path.join(out, 'output_0.pb')))


def steps_of(inlay, work, model, flags):
    out = os.path.join(work, 'made')
    status, text = host.run([inlay, 'compile', model, '-o', out, '--name', 'm', *flags])
    if status:
        raise AssertionError(text)
    facts = host.manifest(out, 'm')
    steps = facts['steps']
    listed = {
        steps[i]['op']
        for island in facts.get('float_islands', [])
        for i in island['steps']
        if island['bytes'] > 0
    }
    integers = any(
        s['kernel'].startswith(('q', 'table')) and not s['kernel'].startswith(BETWEEN)
        for s in steps
    )
    assert not integers or floats_of(steps) <= listed <= floats_of(steps) | MOVES, (
        'listed as float: %s' % listed
    )
    return steps


def widened(inlay, model, flags):
    """How many constants are wider than in the file, and by how much, as the report says."""
    _, text = host.run([inlay, 'analyze', model, *flags])
    found = re.search(
        r'^ +(\d+) of fewer than 8 bits are bytes for the products of integers: (\d+) more$',
        text,
        re.M,
    )
    return found and tuple(map(int, found.groups()))


def check_few_bits(inlay, work, model, x, got, case):
    """Weights are as narrow as in the file, and results those of weights that are not, in each
    layout, in any order."""
    steps = steps_of(inlay, work, model, [])
    assert (
        sum(s['kernel'].endswith('_narrow') for s in steps) == FEW_BITS[case][0]
    ), 'weights are stored as bytes'
    stored = host.manifest(os.path.join(work, 'made'), 'm')['weights']['size']
    assert widened(inlay, model, []) is None, 'the report says that weights are wider'
    assert widened(inlay, model, ['--optimize=speed']) == FEW_BITS[case], 'speed: %s' % (
        widened(inlay, model, ['--optimize=speed']),
    )
    for flags in (
        ['--optimize=speed'],
        ['--weights-type=float32'],
        ['--plan=simple'],
        ['--plan=order'],
        ['--code-weights'],
        ['--threads=2'],
        *(
            ['--target=%s' % target]
            for target in (
                'portable',
                'cortex-m0',
                'cortex-m4',
                'cortex-m55',
                'x86-64',
                'aarch64',
                'rv32',
            )
        ),
    ):
        assert answer(inlay, work, model, x, *flags) == got, 'other results with %s' % flags[0]
    steps_of(inlay, work, model, ['--optimize=speed'])
    wide = host.manifest(os.path.join(work, 'made'), 'm')['weights']['size']
    assert wide - stored > 0.85 * FEW_BITS[case][1], '%d bytes of weights, %d as bytes' % (
        stored,
        wide,
    )


def floats_of(steps):
    """Operators of the steps that compute in float."""
    return {
        s['op'] for s in steps if FLOAT.search(s['kernel']) and not s['kernel'].startswith(BETWEEN)
    }


def written(work, m, dims, y, most):
    """The model, and numbers up to `most` for its input: two files."""
    model, x = os.path.join(work, 'model.onnx'), os.path.join(work, 'x.pb')
    with open(model, 'wb') as f:
        f.write(m.model(dims, y))
    numbers = [m.r.uniform(-most, most) for _ in range(math.prod(dims))]
    with open(x, 'wb') as f:
        f.write(onnx.make_tensor('x', F, dims, struct.pack('<%df' % len(numbers), *numbers)))
    return model, x


def check(inlay, case, floats, kind, seed):
    m = Island(seed, kind)
    dims, y = case(m)
    with host.Work() as work:
        model, x = written(work, m, dims, y, 5)
        got, want = answer(inlay, work, model, x), answer(
            inlay, work, model, x, '--without=quantize'
        )
        assert len(got) == len(want) and len(set(want)) > 2, 'the model says nothing'
        levels = sorted(set(want))
        step = min(b - a for a, b in zip(levels, levels[1:]))
        far = max(abs(a - b) for a, b in zip(got, want))
        assert far < 1.01 * step, 'differs by %.2f steps' % (far / step)
        off = sum(abs(a - b) > step / 2 for a, b in zip(got, want))
        assert off * 50 <= len(got), '%d of %d numbers are one step away' % (off, len(got))
        steps = steps_of(inlay, work, model, [])
        assert floats_of(steps) == set(floats), 'float: %s' % floats_of(steps)
        assert not any(s['kernel'] == WHOLE.get(case) for s in steps), 'the image stays whole'
        assert case is not paddings or not any(
            s['op'] == 'Pad' for s in steps
        ), 'a padding is a step'
        assert case is not scores or all(
            s['units'] > 1 for s in steps if s['kernel'] == 'qmatmul'
        ), 'scores stay whole'
        if case in FEW_BITS:
            check_few_bits(inlay, work, model, x, got, case)
        assert case not in NO_TABLES or not any(
            s['kernel'].startswith('table') for s in steps
        ), 'a clip, or codes of the other sign, are a step'


def wide(m, kind):
    """Codes of 16 bits between functions that have no integer form: a padding, a window, an image
    that is turned."""
    code, zero = onnx.CODES[kind], {'int16': -300, 'uint16': 33000}[kind]

    def q(x, step=0.0003):
        by = [m.number(step), m.const(code, [], 'h' if kind == 'int16' else 'H', [zero])]
        return m.node('DequantizeLinear', m.node('QuantizeLinear', x, *by), *by)

    m.opset = 21
    y = q(m.node('Exp', q(m.node('Tanh', q('x')))), 0.0002)
    padded = q(m.node('Pad', y, m.ints(0, 0, 1, 1, 0, 0, 1, 1)), 0.0002)
    z = q(m.node('LpPool', padded, kernel_shape=[3, 3]))
    return IMAGE, q(m.node('Transpose', q(m.node('Sigmoid', z), 0.0004), perm=[0, 2, 3, 1]), 0.0004)


def check_wide(inlay, kind):
    """The same numbers as with codes, which are not there."""
    m = Island(1, I8)
    dims, y = wide(m, kind)
    with host.Work() as work:
        model, x = written(work, m, dims, y, 12)
        got = answer(inlay, work, model, x)
        want = answer(inlay, work, model, x, '--without=quantize')
        assert got == want and len(set(want)) > 30, 'other numbers'
        ops = [s['op'] for s in steps_of(inlay, work, model, [])]
        assert not {'QuantizeLinear', 'DequantizeLinear'} & set(ops), ops


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    inlay = parser.parse_args().inlay
    t = tap.Tap()
    for case, floats in CASES:
        for kind, name in ((I8, 'int8'), (U8, 'uint8')):
            try:
                check(inlay, case, floats, kind, 1)
                t.ok('%s of %s' % (case.__name__, name))
            except AssertionError as e:
                t.fail('%s of %s' % (case.__name__, name), e)
    for kind in ('int16', 'uint16'):
        try:
            check_wide(inlay, kind)
            t.ok('codes of ' + kind)
        except AssertionError as e:
            t.fail('codes of ' + kind, e)
    t.done()


if __name__ == '__main__':
    main()
