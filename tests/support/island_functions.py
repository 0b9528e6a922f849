# SPDX-License-Identifier: Apache-2.0
"""Islands of all that is no product, a function each, as island_products.py."""
from island import conv_of, F, I8, IMAGE, STEP, U8, ZERO
from island_products import deconv_of


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
