# SPDX-License-Identifier: Apache-2.0
"""Operators and kernels of ai.onnx that ONNX's own tests leave out: models of many small nodes, the
answers worked out here from the standard's formulas.

    operators.py --inlay INLAY"""
import argparse
import math
import os
import struct

import element_types
import host
import onnx
import tap
from arrays import (
    A,
    Random,
    build,
    by_line,
    conv,
    lines,
    matmul,
    norm,
    places,
    scalar,
    sigmoid,
    softmax,
    transpose,
)
from element_types import tensor, wrap

LOW = (1 << 64) - 1


class Nodes(element_types.Model):
    opset, domains = 28, (('com.microsoft', 1), ('ai.onnx.ml', 5), ('ai.onnx.preview', 1))

    def feed(self, a, t='float32'):
        return self.input(t, a.dims, a.v)

    def const(self, a, t='float32'):
        return self.constant(t, a.dims, a.v)

    def case(self, op, ins, *outs, **attrs):
        """A node and its answers: arrays of float32, (type, array) for others, None where a result
        is left out."""
        named = [(o if isinstance(o, tuple) else ('float32', o)) for o in outs if o is not None]
        kept = [i for i, o in enumerate(outs) if o is not None]
        names = ['' for _ in outs]
        kind, domain = attrs.pop('kind', ''), attrs.get('domain', '')
        for i, (t, a) in zip(kept, named):
            names[i] = 'y%d' % len(self.want)
            self.want.append(
                (
                    '%s%s %s' % (domain + '.' if domain else '', op, kind or t),
                    names[i],
                    t,
                    a.dims,
                    a.v,
                )
            )
        self.nodes.append(
            onnx.make_node(op, ins, names, (op + '_' + kind).lower().replace(' ', '_'), **attrs)
        )


def models(groups):
    for g in groups:
        m = Nodes([])
        g(m, Random(1))
        yield g.__name__, m


def held(groups):
    """The operators that have an answer here."""
    return {label.split(' ')[0] for _, m in models(groups) for label, _, _, _, _ in m.want}


# --- what is new in the standard ---


def standard(m, r):
    """What the reference data leaves out of operators that it has."""
    m.case(
        'LpNormalization',
        [m.feed(A([3, 2], [3.0, -4.0, 0.0, -0.0, 0.0, 2.0]))],
        A([3, 2], [0.6, -0.8, 0, 0, 0, 1]),
        p=2,
    )
    m.case(
        'LpNormalization',
        [m.feed(A([2, 2], [1.0, 0.0, -3.0, 0.0]), 'float64')],
        ('float64', A([2, 2], [0.25, 0, -0.75, 0])),
        p=1,
        axis=0,
    )
    # Regions of 2e9 elements, one whose corner is no number, one of 100,000 columns of which two
    # lie in the image.
    x = A([1, 1, 2, 2], [1.0, 2.0, 3.0, 4.0])
    huge = A(
        [4, 4],
        [0.0, 0.0, 2e9, 2e9, -1e9, -1e9, 1e9, 1e9, math.nan, 0.0, 1.0, 1.0, 0.5, 0.5, 1e5, 1.5],
    )
    for mode, last in (('avg', (2.5 + 3) / 100000), ('max', 2.0)):
        m.case(
            'RoiAlign',
            [m.feed(x), m.feed(huge), m.const(A([4], [0] * 4), 'int64')],
            A([4, 1, 1, 1], [0, 0, 0, last]),
            mode=mode,
            kind='huge ' + mode,
        )


def trained_on_nothing(m, r):
    """The mean of no elements is no number, and so is what it is mixed with."""
    x, nan = A([2, 3, 0, 5], []), A([3], [math.nan] * 3)
    numbers = [m.feed(r.floats(3, low=0.5, high=1)) for _ in range(4)]
    m.case('BatchNormalization', [m.feed(x)] + numbers, x, nan, nan, training_mode=1)


def capped_attention(m, r):
    """The cap bends the scores before the mask is added: a key that the mask hides is not seen."""
    q, k, v = (r.floats(1, 1, n, 4, low=-2, high=2) for n in (2, 3, 3))
    mask = A([2, 3], [0.0, -math.inf, 1.0, -math.inf, 0.0, 0.0])
    scores = matmul(q, transpose(k, [0, 1, 3, 2])).map(lambda s: 2 * math.tanh(s / 2 / 2))
    masked = A([1, 1, 2, 3], (s + b for s, b in zip(scores.v, mask.v)))
    shares = by_line(masked, softmax)
    for mode, stage in ((1, scores), (2, masked), (3, shares)):
        m.case(
            'Attention',
            [m.feed(q), m.feed(k), m.feed(v), m.feed(mask)],
            matmul(shares, v),
            None,
            None,
            stage,
            softcap=2.0,
            qk_matmul_output_mode=mode,
            kind='capped %d' % mode,
        )


def capped_attention_23(m, r):
    m.opset = 23
    capped_attention(m, r)


def gated(m, r):
    a, b = r.floats(2, 3, low=-2, high=2), r.floats(2, 3)
    swish = lambda alpha: a.map(lambda v: v * sigmoid(alpha * v))
    m.case('Swish', [m.feed(a)], swish(1.5), alpha=1.5)
    m.case('Swish', [m.feed(a, 'float64')], ('float64', swish(0.5)), alpha=0.5)
    m.case('SwiGLU', [m.feed(a), m.feed(b)], A(a.dims, (p * q for p, q in zip(swish(1).v, b.v))))
    x, w, c, past = r.floats(1, 2, 4), r.floats(2, 1, 3), r.floats(2), r.floats(1, 2, 2)
    full = build([1, 2, 6], lambda n, k, t: past[n, k, t] if t < 2 else x[n, k, t - 2])
    y = build(
        [1, 2, 4], lambda n, k, t: c.v[k] + sum(w[k, 0, i] * full[n, k, t + i] for i in range(3))
    )
    m.case(
        'CausalConvWithState',
        [m.feed(x), m.const(w), m.const(c), m.feed(past)],
        y.map(lambda v: v * sigmoid(v)),
        build([1, 2, 2], lambda n, k, t: full[n, k, t + 4]),
        activation='silu',
    )
    linear_attention(m, r)


def linear_attention(m, r):
    """One head, two steps, the rule with both decay and rate."""
    d, e = 2, 3
    q, k, v, past = (
        r.floats(1, 2, d, low=-1, high=1),
        r.floats(1, 2, d, low=-1, high=1),
        r.floats(1, 2, e),
        r.floats(1, 1, d, e),
    )
    decay, rate = A([1, 2, 1], [-0.5, -0.25]), A([1, 2, 1], [0.5, 0.75])
    s, rows = [[past[0, 0, i, j] for j in range(e)] for i in range(d)], []
    for t in range(2):
        s = [[math.exp(decay.v[t]) * x for x in row] for row in s]
        u = [
            rate.v[t] * (v[0, t, j] - sum(s[i][j] * k[0, t, i] for i in range(d))) for j in range(e)
        ]
        s = [[s[i][j] + k[0, t, i] * u[j] for j in range(e)] for i in range(d)]
        rows += [0.5 * sum(q[0, t, i] * s[i][j] for i in range(d)) for j in range(e)]
    m.case(
        'LinearAttention',
        [m.feed(q), m.feed(k), m.feed(v), m.feed(past), m.feed(decay), m.feed(rate)],
        A([1, 2, e], rows),
        A([1, 1, d, e], sum(s, [])),
        q_num_heads=1,
        kv_num_heads=1,
        scale=0.5,
    )
    a, b, c = r.floats(1, 1, 2, 2), r.floats(1, 1, 3, 2), r.floats(1, 1, 3, 2)
    body = onnx.make_graph_attr(
        'score_mod',
        [onnx.make_node('Mul', ['s', 'two'], ['t'])],
        [onnx.make_value('s', 1, [1, 1, 2, 3])],
        [onnx.make_value('t', 1, [1, 1, 2, 3])],
        [tensor('two', 'float32', [], [2.0])],
    )
    shares = by_line(
        matmul(a, transpose(b, [0, 1, 3, 2])).map(lambda x: 2 * x / math.sqrt(2)), softmax
    )
    m.case(
        'FlexAttention',
        [m.feed(a), m.feed(b), m.feed(c)],
        matmul(shares, c),
        domain='ai.onnx.preview',
        graphs=[body],
    )


def bits(m, r):
    m.case(
        'BitCast',
        [m.feed(A([2], [1.0, -2.0]))],
        ('int32', A([2], [0x3F800000, -0x40000000])),
        to=onnx.CODES['int32'],
    )
    m.case(
        'BitCast',
        [m.feed(A([2], [1.5, -0.0]), 'float64')],
        ('uint64', A([2], [0x3FF8 << 48, 1 << 63])),
        to=onnx.CODES['uint64'],
    )
    for width in (8, 16, 32, 64):
        t = 'int%d' % width
        a, s = A([4], [-100, 77, -1, 3]), A([4], [2, 1, width, -1])
        m.case(
            'BitShift',
            [m.feed(a, t), m.feed(s, t)],
            (t, A([4], [wrap(v << k, t) if 0 <= k < width else 0 for v, k in zip(a.v, s.v)])),
            direction='LEFT',
        )
        m.case(
            'BitShift',
            [m.feed(a, t), m.feed(s, t)],
            (t, A([4], [v >> k if 0 <= k < width else -(v < 0) for v, k in zip(a.v, s.v)])),
            direction='RIGHT',
        )
    x, y = A([4], [1, 0, 1, 0]), A([4], [1, 1, 0, 0])
    m.case('Equal', [m.feed(x, 'bool'), m.feed(y, 'bool')], ('bool', A([4], [1, 0, 0, 1])))
    m.case(
        'Cast',
        [m.feed(A([4], [1.0, 3.0, 0.25, 1e30]))],
        ('float8e8m0', A([4], [127, 129, 125, 227])),
        to=onnx.CODES['float8e8m0'],
        kind='float8e8m0',
    )
    m.case('OptionalGetElement', [m.feed(A([2], [4.0, 5.0]))], A([2], [4.0, 5.0]))


# --- double, and integers, where the reference data has float32 ---


def doubles(m, r):
    t = 'float64'
    x, w = r.floats(1, 2, 4, 4), r.floats(3, 2, 3, 3)
    m.case('Conv', [m.feed(x, t), m.const(w, t)], (t, conv(x, w, pad=1)), pads=[1, 1, 1, 1])
    up = build(
        [1, 1, 5, 5],
        lambda n, c, i, k: sum(
            x[0, k2, h, v] * w[0, k2, i - h, k - v] if 0 <= i - h < 2 and 0 <= k - v < 2 else 0
            for k2, h, v in places([2, 4, 4])
        ),
    )
    kernel = build([2, 1, 2, 2], lambda k2, o, i, k: w[0, k2, i, k])
    m.case('ConvTranspose', [m.feed(x, t), m.const(kernel, t)], (t, up))
    two = dict(kernel_shape=[2, 2], strides=[2, 2])
    pool = lambda a, f: build(
        [1, 2, 2, 2],
        lambda n, c, h, v: f([a[n, c, 2 * h + i, 2 * v + k] for i, k in places([2, 2])]),
    )
    m.case('MaxPool', [m.feed(x, t)], (t, pool(x, max)), **two)
    m.case('AveragePool', [m.feed(x, t)], (t, pool(x, lambda v: sum(v) / 4)), **two)
    m.case(
        'LpPool', [m.feed(x, t)], (t, pool(x, lambda v: math.sqrt(sum(a * a for a in v)))), **two
    )
    m.case(
        'GlobalLpPool',
        [m.feed(x)],
        A([1, 2, 1, 1], (math.sqrt(sum(a * a for a in v)) for v in lines(x.reshape(2, 16)))),
        p=2,
    )
    for u, low in (('int8', -128), ('uint8', 0)):
        i = r.ints(1, 2, 4, 4, low=low, high=low + 255)
        m.case('MaxPool', [m.feed(i, u)], (u, pool(i, max)), **two)
        shifted = build(
            [1, 2, 4, 4],
            lambda n, c, h, v: max(
                i[n, c, h + a, v + b] for a, b in places([3, 3]) if h + a < 4 and v + b < 4
            ),
        )
        m.case(
            'MaxPool',
            [m.feed(i, u)],
            (u, shifted),
            kernel_shape=[3, 3],
            pads=[0, 0, 2, 2],
            kind=u + ' padded',
        )
        best = [
            max(places([2, 2]), key=lambda p: i[0, c, 2 * h + p[0], 2 * v + p[1]])
            for c, h, v in places([2, 2, 2])
        ]
        index = A(
            [1, 2, 2, 2],
            (
                16 * c + 4 * (2 * h + p) + 2 * v + q
                for (c, h, v), (p, q) in zip(places([2, 2, 2]), best)
            ),
        )
        m.case(
            'MaxPool',
            [m.feed(i, u)],
            (u, pool(i, max)),
            ('int64', index),
            kind=u + ' places',
            **two
        )
    around = lambda c: range(max(0, c - 1), min(2, c + 2))
    m.case(
        'LRN',
        [m.feed(x, t)],
        (
            t,
            build(
                x.dims,
                lambda n, c, h, v: x[n, c, h, v]
                / (1 + 0.5 / 3 * sum(x[n, k, h, v] ** 2 for k in around(c))) ** 0.75,
            ),
        ),
        size=3,
        alpha=0.5,
        beta=0.75,
        bias=1.0,
    )
    y, g, b = r.floats(2, 4), r.floats(4), r.floats(4)
    m.case(
        'LayerNormalization',
        [m.feed(y, t), m.const(g, t), m.const(b, t)],
        (t, by_line(y, lambda v: norm(v, g.v, b.v, 0.0009765625))),
        epsilon=0.0009765625,
    )
    m.case(
        'Gelu',
        [m.feed(y, t)],
        (
            t,
            y.map(
                lambda v: 0.5
                * v
                * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)))
            ),
        ),
        approximate='tanh',
    )
    m.case('Det', [m.feed(A([2, 2], [1.0, 2.0, 3.0, 5.0]), t)], (t, scalar(-1.0)))
    m.case(
        'ReduceLogSumExp',
        [m.feed(y, t), m.const(A([1], [1]), 'int64')],
        (t, A([2], (math.log(sum(map(math.exp, v))) for v in lines(y)))),
        keepdims=0,
    )
    m.case(
        'ReduceLogSumExp',
        [m.feed(y, t), m.feed(A([1], [0]), 'int64')],
        (t, A([4], (math.log(sum(map(math.exp, v))) for v in lines(transpose(y, [1, 0]))))),
        keepdims=0,
        kind='axes as values',
    )
    losses(m, r)
    sampling(m, r)


def losses(m, r):
    t, scores, labels = 'float64', r.floats(3, 4), A([3], [2, 0, 3])
    picked = [-scores[i, k] for i, k in enumerate(labels.v)]
    m.case(
        'NegativeLogLikelihoodLoss',
        [m.feed(scores, t), m.feed(labels, 'int64')],
        (t, scalar(sum(picked) / 3)),
    )
    logs = by_line(scores, lambda v: [x - math.log(sum(map(math.exp, v))) for x in v])
    m.case(
        'SoftmaxCrossEntropyLoss',
        [m.feed(scores, t), m.feed(labels, 'int64')],
        (t, A([3], (-logs[i, k] for i, k in enumerate(labels.v)))),
        (t, logs),
        reduction='none',
    )


def sampling(m, r):
    t, x = 'float64', r.floats(1, 1, 3, 3)
    grid = A([1, 1, 3, 2], [0.0, 0.0, 1.0, -1.0, 0.5, 0.5])

    def bilinear(h, v):
        a, b = math.floor(h), math.floor(v)
        at = lambda i, k: x[0, 0, i, k] if 0 <= i < 3 and 0 <= k < 3 else 0
        return sum(
            at(a + i, b + k) * (h - a if i else 1 - h + a) * (v - b if k else 1 - v + b)
            for i, k in places([2, 2])
        )

    m.case(
        'GridSample',
        [m.feed(x, t), m.feed(grid, t)],
        (t, A([1, 1, 1, 3], (bilinear(g[1] + 1, g[0] + 1) for g in lines(grid)))),
        align_corners=1,
    )
    whole = A([1, 1, 3, 3], range(1, 10))
    m.case(
        'GridSample',
        [m.feed(whole, 'int32'), m.feed(grid)],
        ('int32', A([1, 1, 1, 3], [5, 3, 9])),
        mode='nearest',
        align_corners=1,
    )
    theta = r.floats(1, 2, 3)
    place = lambda i: -1 + 2 * i / 2
    m.case(
        'AffineGrid',
        [m.feed(theta, t), m.const(A([4], [1, 1, 3, 3]), 'int64')],
        (
            t,
            build(
                [1, 3, 3, 2],
                lambda n, h, v, k: theta[0, k, 0] * place(v)
                + theta[0, k, 1] * place(h)
                + theta[0, k, 2],
            ),
        ),
        align_corners=1,
    )
    columns = r.floats(1, 4, 4)
    # Blocks of 2 x 2 over an image of 3 x 3: element (i, k) of the block at (h, v) lies at (h + i,
    # v + k).
    image = build(
        [1, 1, 3, 3],
        lambda n, c, h, v: sum(
            columns[0, 2 * i + k, 2 * (h - i) + v - k]
            for i, k in places([2, 2])
            if 0 <= h - i < 2 and 0 <= v - k < 2
        ),
    )
    shapes = [m.const(A([2], [3, 3]), 'int64'), m.const(A([2], [2, 2]), 'int64')]
    m.case('Col2Im', [m.feed(columns, t)] + shapes, (t, image))
    m.case(
        'Col2Im',
        [m.feed(columns.map(lambda v: int(v * 16)), 'int16')] + shapes,
        ('int16', image.map(lambda v: int(v * 16))),
    )
    m.case(
        'MaxUnpool',
        [m.feed(A([1, 1, 1, 2], [3.0, 4.0]), t), m.const(A([1, 1, 1, 2], [5, 2]), 'int64')],
        (t, A([1, 1, 2, 4], [0, 0, 4, 0, 0, 3, 0, 0])),
        kernel_shape=[2, 2],
        strides=[2, 2],
    )
    w, move = r.floats(1, 1, 2, 2), r.floats(1, 8, 2, 2, low=-1, high=1)
    m.case(
        'DeformConv',
        [m.feed(x, t), m.const(w, t), m.feed(move, t)],
        (
            t,
            build(
                [1, 1, 2, 2],
                lambda n, o, h, v: sum(
                    w[0, 0, i, k]
                    * bilinear(
                        h + i + move[0, 4 * i + 2 * k, h, v],
                        v + k + move[0, 4 * i + 2 * k + 1, h, v],
                    )
                    for i, k in places([2, 2])
                ),
            ),
        ),
        kernel_shape=[2, 2],
    )
    # Two samples a cell and axis, 1.0 apart in a region of 2 x 2 that is one cell: at 0.5 and 1.5,
    # and half an element less.
    m.case(
        'RoiAlign',
        [m.feed(x, t), m.feed(A([1, 4], [0.5, 0.5, 2.5, 2.5]), t), m.feed(A([1], [0]), 'int64')],
        (t, A([1, 1, 1, 1], [sum(bilinear(h, v) for h in (0.5, 1.5) for v in (0.5, 1.5)) / 4])),
        output_height=1,
        output_width=1,
        sampling_ratio=2,
    )
    roi_pool(m, r)
    m.case(
        'Resize',
        [m.feed(A([1, 1, 1, 2], [1.0, 3.0]), t), '', '', m.const(A([4], [1, 1, 1, 4]), 'int64')],
        (t, A([1, 1, 1, 4], [1.0, 1.5, 2.5, 3.0])),
        mode='linear',
    )
    n = 5
    m.case(
        'HannWindow',
        [m.feed(scalar(n), 'int64')],
        (t, A([n], (0.5 - 0.5 * math.cos(2 * math.pi * i / n) for i in range(n)))),
        output_datatype=onnx.CODES[t],
        kind='float64',
    )


def roi_pool(m, r):
    """Regions with corners on and between elements, of one element, reversed, partly and wholly
    outside of the image."""
    x = r.floats(2, 3, 6, 8)
    regions = [
        [0, 0, 0, 7, 5],
        [1, 2, 1, 5, 3],
        [1, 1.25, 0.75, 4.5, 4.75],
        [0, 3, 2, 3, 2],
        [0, 5, 4, 2, 1],
        [1, -3, -2, 2, 1],
        [0, 6, 4, 12, 9],
        [1, 20, 20, 24, 22],
    ]

    def cell(first, last, i, cells, size):
        first, last = (math.floor(v + 0.5) if v >= 0 else math.ceil(v - 0.5) for v in (first, last))
        length = max(last - first + 1, 1)
        return range(
            max(first + length * i // cells, 0), min(first - (-length * (i + 1) // cells), size)
        )

    def answer(scale, ph, pw):
        at = lambda k, c, i, j: [
            x[regions[k][0], c, h, v]
            for h in cell(regions[k][2] * scale, regions[k][4] * scale, i, ph, 6)
            for v in cell(regions[k][1] * scale, regions[k][3] * scale, j, pw, 8)
        ]
        return build([len(regions), 3, ph, pw], lambda *p: max(at(*p), default=0))

    for t in ('float32', 'float64', 'float16'):
        for scale, ph, pw in ((1.0, 2, 4), (0.5, 3, 1)):
            m.case(
                'MaxRoiPool',
                [m.feed(x, t), m.feed(A([len(regions), 5], sum(regions, [])), t)],
                (t, answer(scale, ph, pw)),
                pooled_shape=[ph, pw],
                spatial_scale=scale,
                kind='%s %dx%d' % (t, ph, pw),
            )


# --- integers ---


def integers(m, r):
    for t in ('int32', 'int64', 'int8', 'uint16'):
        a, b = r.ints(2, 3, high=9), r.ints(3, 2, high=9)
        m.case('Einsum', [m.feed(a, t), m.feed(b, t)], (t, matmul(a, b)), equation='ij,jk->ik')
    a, b = r.ints(2, 3), r.ints(3, 2)
    m.case('MatMul', [m.feed(a, 'uint32'), m.feed(b, 'uint32')], ('uint32', matmul(a, b)))
    for t in ('float32', 'int64', 'uint32', 'uint64'):
        x = r.ints(2, 3, low=1, high=5)
        m.case(
            'CumProd',
            [m.feed(x, t), m.const(scalar(1), 'int64')],
            (t, by_line(x, lambda v: [v[0], v[0] * v[1], v[0] * v[1] * v[2]])),
        )
    for t in ('float32', 'float64'):
        p, q = A([4], [5.5, -5.5, 5.5, -5.5]), A([4], [2.0, 2.0, -2.0, -2.0])
        m.case(
            'Mod',
            [m.feed(p, t), m.feed(q, t)],
            (t, A([4], (x - y * math.floor(x / y) for x, y in zip(p.v, q.v)))),
            fmod=0,
        )
    for t in ('float64', 'uint16', 'uint32', 'uint64'):
        m.case(
            'NonZero',
            [m.const(A([2, 2], [0, 3, 1, 0]), t)],
            ('int64', A([2, 2], [0, 1, 1, 0])),
            kind='folded ' + t,
        )
        m.case(
            'NonZero',
            [m.feed(A([2, 2], [0, 3, 1, 7]), t)],
            ('int64', A([2, 3], [0, 1, 1, 1, 0, 1])),
        )
    for t in ('float64', 'int8', 'int16', 'int32', 'uint8', 'uint16', 'uint32', 'uint64'):
        m.case(
            'Unique',
            [m.feed(A([5], [3, 1, 3, 2, 1]), t)],
            (t, A([3], [1, 2, 3])),
            ('int64', A([3], [1, 3, 0])),
            ('int64', A([5], [2, 0, 2, 1, 0])),
            ('int64', A([3], [2, 1, 2])),
            sorted=1,
        )
    for t in ('float64', 'int16', 'int64'):
        m.case(
            'Range',
            [m.feed(scalar(7), t), m.feed(scalar(1), t), m.feed(scalar(-2), t)],
            (t, A([3], [7, 5, 3])),
        )
    for t in ('uint8', 'int16', 'int64', 'complex64', 'complex128'):
        v = A([2, 3], (complex(i, -i) if t.startswith('c') else i for i in range(6)))
        m.case(
            'Pad',
            [m.feed(v, t), m.const(A([4], [0, 1, 0, 1]), 'int64')],
            (t, build([2, 5], lambda i, j: v[i, (1, 0, 1, 2, 1)[j]])),
            mode='reflect',
        )
        other = v.map(lambda x: x + 1)
        m.case(
            'Where',
            [m.feed(A([3], [1, 0, 1]), 'bool'), m.feed(v, t), m.feed(other, t)],
            (t, build([2, 3], lambda i, j: v[i, j] + (j == 1))),
        )
    m.case(
        'DequantizeLinear',
        [
            m.feed(A([3], [0, 32768, 65535]), 'uint16'),
            m.const(scalar(0.5)),
            m.const(scalar(32768), 'uint16'),
        ],
        A([3], [-16384, 0, 16383.5]),
        kind='uint16',
    )
    e5m2 = {
        1.0: 0x3C,
        -2.0: 0xC0,
        0.0: 0,
        100.0: 0x56,
        1e6: 0x7B,
    }  # 100 is between 96 and 112; 1e6 saturates
    m.case(
        'QuantizeLinear',
        [m.feed(A([5], list(e5m2))), m.const(scalar(1.0)), m.const(scalar(0), 'float8e5m2')],
        ('float8e5m2', A([5], e5m2.values())),
        kind='float8e5m2',
    )


# --- random numbers: splitmix64, counted ---


def drawn(m, r):
    def unit(seed, i, bits):
        z = struct.unpack('<I', struct.pack('<f', seed))[0] + (i + 1) * 0x9E3779B97F4A7C15 & LOW
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & LOW
        z = (z ^ z >> 27) * 0x94D049BB133111EB & LOW
        return ((z ^ z >> 31) >> 64 - bits) / 2**bits

    normal = lambda i, bits: math.sqrt(-2 * math.log(1 - unit(2.5, 2 * i, bits))) * math.cos(
        2 * math.pi * unit(2.5, 2 * i + 1, bits)
    )
    like = m.feed(r.ints(2, 3), 'int32')
    for t, bits in (('float32', 24), ('float64', 53), ('float16', 24)):
        dtype = onnx.CODES[t]
        flat, bell = A([2, 3], (1 + 4 * unit(2.5, i, bits) for i in range(6))), A(
            [2, 3], (0.5 + 2 * normal(i, bits) for i in range(6))
        )
        m.case(
            'RandomUniform', [], (t, flat), shape=[2, 3], dtype=dtype, low=1.0, high=5.0, seed=2.5
        )
        m.case('RandomUniformLike', [like], (t, flat), dtype=dtype, low=1.0, high=5.0, seed=2.5)
        m.case(
            'RandomNormal', [], (t, bell), shape=[2, 3], dtype=dtype, mean=0.5, scale=2.0, seed=2.5
        )
        m.case('RandomNormalLike', [like], (t, bell), dtype=dtype, mean=0.5, scale=2.0, seed=2.5)
        p = A([2, 3], [0.0, 1.0, 0.5, 0.25, 0.75, 0.5])
        for u in (t, 'bool', 'int64'):
            m.case(
                'Bernoulli',
                [m.feed(p, t)],
                (u, A([2, 3], (int(unit(2.5, i, bits) < v) for i, v in enumerate(p.v)))),
                dtype=onnx.CODES[u],
                seed=2.5,
                kind='%s to %s' % (t, u),
            )
        x = A([2, 3], [0.0, 1.0, 2.0, 3.0, 0.0, -1.0])
        pick = lambda line, u: next((k for k in range(2) if sum(softmax(line)[: k + 1]) > u), 2)
        for u in ('int32', 'int64'):
            m.case(
                'Multinomial',
                [m.feed(x, t)],
                (u, build([2, 9], lambda b, i: pick(lines(x)[b], unit(2.5, 9 * b + i, bits)))),
                sample_size=9,
                dtype=onnx.CODES[u],
                seed=2.5,
                kind='%s to %s' % (t, u),
            )


GROUPS = [
    standard,
    trained_on_nothing,
    capped_attention,
    capped_attention_23,
    gated,
    bits,
    doubles,
    integers,
    drawn,
]


def judge_refused(t, inlay, domain, op, ins, outs, attrs, words):
    """Status 69 with advice. ins, outs: (type, dims)."""
    with host.Work() as work:
        path = os.path.join(work, 'm.onnx')
        value = lambda letter, all_: [
            onnx.make_value('%s%d' % (letter, i), onnx.CODES.get(t, onnx.STRING), d)
            for i, (t, d) in enumerate(all_)
        ]
        node = onnx.make_node(
            op,
            ['x%d' % i for i in range(len(ins))],
            ['y%d' % i for i in range(len(outs))],
            domain=domain,
            **attrs
        )
        with open(path, 'wb') as f:
            f.write(
                onnx.make_model(
                    [node], value('x', ins), value('y', outs), (), Nodes.opset, Nodes.domains
                )
            )
        status, text = host.run([inlay, 'analyze', path])
        t.ok(
            '%s.%s is refused with advice' % (domain, op),
            status == 69 and words in text,
            'status %d\n%s' % (status, text[:500]),
        )


def main(groups, refused=()):
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    o = p.parse_args()
    t = tap.Tap()
    for title, m in models(groups):
        m.judge(t, o.inlay, title)
    for row in refused:
        judge_refused(t, o.inlay, *row)
    t.done()


if __name__ == '__main__':
    main(GROUPS)
