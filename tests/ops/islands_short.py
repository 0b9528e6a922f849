# SPDX-License-Identifier: Apache-2.0
"""Islands of codes of 16 bits become integer operators, as islands.py has it of bytes: small
networks of each, against the same model without the pass; and answers of ONNX Runtime, recorded.
Results differ by one step of the result's scale at most.

    islands_short.py --inlay INLAY"""
import argparse
import math
import os

import host
import island
import onnx
import tap

F, I8, U8, I16, U16, I32 = (
    onnx.CODES[t] for t in ('float32', 'int8', 'uint8', 'int16', 'uint16', 'int32')
)
FORM = {I8: 'b', U8: 'B', I16: 'h', U16: 'H'}
RANGE = {I8: (-128, 127), U8: (0, 255), I16: (-32768, 32767), U16: (0, 65535)}
ZERO = {I16: -3000, U16: 33000}
STEP = 0.0003
TARGETS = ('portable', 'cortex-m0', 'cortex-m55', 'rv32', 'rv64')
TARGET = '--target=cortex-m4'
FLOATS = ('x86-64', 'aarch64')  # that compute several at a time


class Island(island.Island):
    """Numbers between nodes have codes of 16 bits."""

    def __init__(self, seed, kind):
        super().__init__(seed, kind)
        self.opset, self.step, self.inputs = 21, STEP, 1

    def by(self, step=STEP, zero=None):
        return [
            self.number(step),
            self.const(self.kind, [], FORM[self.kind], [ZERO[self.kind] if zero is None else zero]),
        ]

    def q(self, x, step=STEP, zero=None):
        by, self.step = self.by(step, zero), step
        return self.node('DequantizeLinear', self.node('QuantizeLinear', x, *by), *by)

    def w(self, *dims, channel=None, kind=I8, zero=0, size=None, scale=None):
        """Weights up to a size, one scale or one for each place of an axis."""
        low, high = RANGE[kind]
        if size:
            low, high = zero - size, zero + size
        scales = 1 if channel is None else dims[channel]
        sizes = [] if channel is None else [scales]
        scale = scale or (0.003 if kind in (I8, U8) else 0.00001)
        by = [
            self.const(F, sizes, 'f', [self.r.uniform(0.7, 1.3) * scale for _ in range(scales)]),
            self.const(kind, sizes, FORM[kind], [zero] * scales),
        ]
        values = [self.r.randint(low, high) for _ in range(math.prod(dims))]
        return self.node(
            'DequantizeLinear',
            self.const(kind, dims, FORM[kind], values),
            *by,
            **({} if channel is None else {'axis': channel})
        )


IMAGE = [1, 4, 9, 8]


def conv_of(m, x, ic, oc, k=3, channel=0, kind=I8, **attrs):
    size = attrs.pop('size', None)
    return m.node(
        'Conv',
        x,
        m.w(oc, ic // attrs.get('group', 1), k, k, channel=channel, kind=kind, size=size),
        m.floats(oc),
        kernel_shape=[k, k],
        pads=[k // 2] * 4,
        **attrs
    )


def conv(m):
    return IMAGE, m.q(conv_of(m, m.q('x'), 4, 6))


def pointwise(m):
    """More channels than a block, and two layers."""
    y = m.q(conv_of(m, m.q('x'), 4, 37, 1, channel=None), 0.0001)
    return IMAGE, m.q(conv_of(m, y, 37, 5, 1, size=40), 0.0004)


def strided(m):
    return [2, 3, 11, 10], m.q(conv_of(m, m.q('x'), 3, 18, 3, strides=[2, 1], dilations=[1, 2]))


def groups(m):
    return [1, 6, 7, 5], m.q(m.node('Relu', conv_of(m, m.q('x'), 6, 9, group=3)))


def depthwise(m):
    return [1, 11, 9, 8], m.q(conv_of(m, m.q('x'), 11, 11, group=11, strides=[1, 2]))


def depthwise_wide(m):
    """Weights of 16 bits."""
    return [1, 11, 9, 8], m.q(conv_of(m, m.q('x'), 11, 11, group=11, kind=I16))


def conv_wide(m):
    y = m.q(conv_of(m, m.q('x'), 4, 18, kind=I16))
    return IMAGE, m.q(
        m.node(
            'Conv',
            y,
            m.w(5, 18, 1, 1, channel=0, kind=U16, zero=32768),
            m.floats(5),
            kernel_shape=[1, 1],
        ),
        0.001,
    )


def clipped(m):
    """Bounds that the result's range does not imply."""
    y = m.q(m.node('Clip', conv_of(m, m.q('x'), 4, 4), m.number(-1.0), m.number(2.0)))
    return IMAGE, m.q(m.node('Relu', conv_of(m, y, 4, 4, 1)))


def signal(m):
    y = m.node(
        'Conv', m.q('x'), m.w(7, 3, 5, channel=0), m.floats(7), kernel_shape=[5], pads=[2, 2]
    )
    return [1, 3, 31], m.q(y)


def zeros(m):
    """Weights without a sign: they take 16 bits where their zero point is far from the middle."""
    y = m.q(
        m.node(
            'Conv',
            m.q('x'),
            m.w(6, 4, 3, 3, channel=0, kind=U8, zero=128),
            m.floats(6),
            pads=[1] * 4,
        )
    )
    return IMAGE, m.q(m.node('Conv', y, m.w(6, 6, 1, 1, kind=U8, zero=9)), 0.001)


def gemm(m):
    return [3, 10], m.q(m.node('Gemm', m.q('x'), m.w(7, 10, channel=0), m.floats(7), transB=1))


def line(m):
    """One row, which is read where it lies; then weights of 16 bits."""
    y = m.q(m.node('Gemm', m.q('x'), m.w(12, 20, scale=0.0005), m.floats(20)), 0.001)
    return [1, 12], m.q(m.node('Gemm', y, m.w(20, 9, kind=I16, size=3000)), 0.002)


def long_line(m):
    """Sums that 32 bits do not hold."""
    return [1, 1300], m.q(
        m.node('Gemm', m.q('x'), m.w(1300, 6, channel=1, scale=0.00005), m.floats(6))
    )


def matmul(m):
    y = m.q(m.node('Add', m.node('MatMul', m.q('x'), m.w(10, 6, channel=1)), m.floats(6)))
    return [2, 3, 10], m.q(m.node('MatMul', y, m.w(6, 9)))


def large_scale(m):
    """Sums that are fewer than the result's steps."""
    y = m.node('Conv', m.q('x', 0.01), m.w(4, 4, 1, 1, size=3, scale=0.1), kernel_shape=[1, 1])
    return IMAGE, m.q(y, 0.0005, zero=0 if m.kind == I16 else 32768)


def moves(m):
    """Padding, another order, parts: nothing computes between two products."""
    y = m.q(conv_of(m, m.q('x'), 4, 4))
    y = m.node('Pad', y, m.ints(0, 0, 1, 1, 0, 0, 1, 1))
    a, b = m.node('Split', m.q(y), axis=1, outs=2, num_outputs=2)
    y = m.node('Concat', b, a, axis=1)
    return IMAGE, m.q(conv_of(m, m.q(m.node('Transpose', y, perm=[0, 1, 3, 2])), 4, 3, 1), 0.001)


def sums(m):
    a, b, m.inputs = m.q('x'), m.q('x', 0.0004, 7), 2
    y = m.q(m.node('Relu', m.node('Add', a, b)), 0.0005)
    return IMAGE, m.q(m.node('Sub', y, m.q(m.node('Relu', b), 0.0002)), 0.0004)


def products(m):
    """The second factor is one number for each channel."""
    a = m.q('x')
    return IMAGE, m.q(m.node('Mul', a, m.q(m.node('GlobalAveragePool', a), 0.0001)), 0.0005)


def means(m):
    y = m.q(m.node('ReduceMean', m.q('x'), m.ints(2, 3), keepdims=0), 0.0001)
    return [2, 9, 5, 4], m.q(m.node('Relu', y), 0.00005)


def rescaled(m):
    """A clip by itself, and other steps."""
    return IMAGE, m.q(
        m.q(
            m.node('Clip', m.q(conv_of(m, m.q('x'), 4, 4, 1)), m.number(-3.0), m.number(4.5)),
            0.0002,
        ),
        0.0004,
    )


CASES = [
    sums,
    products,
    means,
    rescaled,
    conv,
    pointwise,
    strided,
    groups,
    depthwise,
    depthwise_wide,
    conv_wide,
    clipped,
    signal,
    zeros,
    gemm,
    line,
    long_line,
    matmul,
    large_scale,
    moves,
]
# Steps of the last of some layers: how far the layers before it may have gone on.
LAYERS = {
    sums: 2,
    products: 2,
    means: 2,
    rescaled: 2,
    pointwise: 2,
    clipped: 2,
    conv_wide: 2,
    zeros: 2,
    line: 2,
    matmul: 2,
    moves: 2,
}


# The first results of those of int16, in steps, as ONNX Runtime 1.30 computes them without
# optimizations.
RECORDED = {
    sums: [0, 13898, 10552, 0, 0, 0, 6064, 11550, 0, 0, 13430, 0, 10492, 0, 0, 8862, 0, 17812],
    products: [
        3551,
        -3374,
        -2562,
        2379,
        44,
        491,
        -1472,
        -2804,
        3944,
        4581,
        -3261,
        653,
        -2547,
        4835,
        530,
        -2152,
        2634,
        -4325,
    ],
    means: [0, 0, 28810, 78, 35712, 0, 0, 0, 2324, 4682, 28048, 0, 6082, 0, 3550, 344, 0, 14856],
    conv: [
        8658,
        -14107,
        3507,
        16827,
        -7480,
        10459,
        11869,
        1965,
        6388,
        25882,
        -6985,
        -4393,
        -2946,
        -9174,
        8830,
        -13609,
        -24163,
        14009,
    ],
    depthwise: [
        -11407,
        -4190,
        7583,
        -4228,
        -10705,
        -12747,
        -16482,
        -2872,
        3246,
        -1053,
        5600,
        12515,
        14496,
        10581,
        -7565,
        2438,
        1238,
        -7833,
    ],
    conv_wide: [
        -647,
        273,
        -521,
        -435,
        -2639,
        1310,
        -4322,
        -2535,
        -1639,
        -747,
        2270,
        976,
        -4864,
        1576,
        2881,
        -4761,
        -4898,
        -9334,
    ],
    gemm: [
        1592,
        -29768,
        4585,
        -5047,
        8321,
        -9592,
        -6518,
        4162,
        7534,
        -3003,
        3044,
        -3582,
        -4157,
        -2302,
        6069,
        -13313,
        -11654,
        -1924,
    ],
    long_line: [-7608, -7196, 1056, 2506, -2676, 53],
}


def kernels_of(inlay, work, model, *flags):
    out = os.path.join(work, 'made')
    status, text = host.run([inlay, 'compile', model, '-o', out, '--name', 'm', *flags])
    assert not status, text
    status, text = host.run([inlay, 'prove', os.path.join(out, 'm.json'), model])
    assert not status, text
    return [s['kernel'] for s in host.manifest(out, 'm')['steps']]


def check(inlay, case, kind):
    m = Island(1, kind)
    dims, y = case(m)
    with host.Work() as work:
        model, x = island.written(work, m, dims, y, 8)
        got, want = island.answer(inlay, work, model, x, TARGET), island.answer(
            inlay, work, model, x, '--without=quantize'
        )
        assert len(got) == len(want) and len(set(want)) > 5, 'the model says nothing'
        far = max(abs(a - b) for a, b in zip(got, want)) / m.step
        assert far < LAYERS.get(case, 1) + 0.01, 'differs by %.2f steps' % far
        off = sum(abs(a - b) > m.step / 2 for a, b in zip(got, want))
        assert off * 10 <= len(got) + 10, '%d of %d numbers are one step away' % (off, len(got))
        recorded = RECORDED.get(case, []) if kind == I16 else []
        most = max([abs(v / m.step - r) for v, r in zip(got, recorded)] + [0])
        assert most < LAYERS.get(case, 1) + 0.01, (
            'differs by %.2f steps from what is recorded' % most
        )
        used = kernels_of(inlay, work, model, TARGET)
        floats = [k for k in used if k.endswith('_f32') or k.startswith(('conv', 'dwconv'))]
        assert not floats, 'float: %s' % floats
        between = [k[:-4] for k in used if 'quantize' in k]
        assert between == ['quantize'] * m.inputs + ['dequantize'], used
        for flags in (
            [TARGET, '--plan=simple'],
            [TARGET, '--plan=order'],
            [TARGET, '--optimize=speed'],
            *(['--target=' + target] for target in TARGETS),
        ):
            assert (
                island.answer(inlay, work, model, x, *flags) == got
            ), 'other results with %s' % ' '.join(flags)
        for target in FLOATS:
            used = kernels_of(inlay, work, model, '--target=' + target)
            assert not any('_short' in k for k in used), used


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    inlay = parser.parse_args().inlay
    t = tap.Tap()
    for case in CASES:
        for kind, name in ((I16, 'int16'), (U16, 'uint16')):
            try:
                check(inlay, case, kind)
                t.ok('%s of %s' % (case.__name__, name))
            except AssertionError as e:
                t.fail('%s of %s' % (case.__name__, name), e)
    t.done()


if __name__ == '__main__':
    main()
