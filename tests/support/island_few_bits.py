# SPDX-License-Identifier: Apache-2.0
"""Islands whose weights have four bits or two, a function each, as island_products.py."""
from island import F, I32, I8, IMAGE, STEP


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
