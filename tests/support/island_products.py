# SPDX-License-Identifier: Apache-2.0
"""Islands of convolutions and products, a function each: grows the network, returns the dimensions
of x and the name of the result."""
from island import conv_of, F, I32, I8, IMAGE, RANGE, STEP, U8, ZERO


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
