# SPDX-License-Identifier: Apache-2.0
"""Operators of com.microsoft and ai.onnx.ml, which ONNX's own tests leave out: models of many small
nodes, the answers worked out here from the formulas of their documentation.

    domains.py --inlay INLAY"""
import math

import operators
from arrays import (
    A,
    add,
    broadcast,
    build,
    by_line,
    concat,
    conv,
    gelu,
    gelu_tanh,
    lines,
    matmul,
    mul,
    norm,
    part,
    places,
    quantize,
    scalar,
    sigmoid,
    softmax,
    transpose,
)

MS, ML = 'com.microsoft', 'ai.onnx.ml'


def ms(m, op, ins, *outs, **attrs):
    m.case(op, ins, *outs, domain=MS, **attrs)


def ml(m, op, ins, *outs, **attrs):
    m.case(op, ins, *outs, domain=ML, **attrs)


def bytes_of(a, zero, scale):
    return a.map(lambda q: (q - zero) * scale)


def to_bytes(a, scale, zero, low=0, high=255):
    return a.map(lambda x: quantize(x, scale, zero, low, high))


# --- com.microsoft: activations, normalizations, products ---


def activations(m, r):
    x, b = r.floats(2, 6, low=-2, high=2), r.floats(6, low=-1, high=1)
    sums = add(x, b)
    ms(m, 'Gelu', [m.feed(x)], x.map(gelu))
    ms(m, 'BiasGelu', [m.feed(x), m.const(b)], sums.map(gelu))
    ms(m, 'FastGelu', [m.feed(x), m.const(b)], sums.map(gelu_tanh))
    ms(m, 'QuickGelu', [m.feed(x)], x.map(lambda v: v * sigmoid(1.5 * v)), alpha=1.5)
    ms(
        m,
        'BiasSplitGelu',
        [m.feed(x.reshape(1, 2, 6)), m.const(b)],
        broadcast(lambda p, q: p * gelu(q), part(sums, 1, 0, 3), part(sums, 1, 3, 6)).reshape(
            1, 2, 3
        ),
    )
    w = r.floats(6, 3, low=-1, high=1)
    ms(m, 'GemmFastGelu', [m.feed(x), m.const(w)], matmul(x, w).map(gelu_tanh))
    y = r.floats(2, 6)
    ms(
        m,
        'BiasAdd',
        [m.feed(x.reshape(1, 2, 6)), m.const(b), m.feed(y.reshape(1, 2, 6))],
        add(sums, y).reshape(1, 2, 6),
    )
    ms(
        m,
        'BiasSoftmax',
        [m.feed(x), m.feed(y)],
        by_line(add(x, y), softmax),
        axis=1,
        is_inner_broadcast=0,
    )


def normalizations(m, r):
    x, skip, g, b = r.floats(1, 3, 4), r.floats(1, 3, 4), r.floats(4), r.floats(4)
    ms(
        m,
        'SimplifiedLayerNormalization',
        [m.feed(x), m.const(g)],
        by_line(x, lambda v: norm(v, g.v, eps=1e-3, center=False)),
        epsilon=1e-3,
    )
    ms(
        m,
        'SkipLayerNormalization',
        [m.feed(x), m.feed(skip), m.const(g), m.const(b)],
        by_line(add(x, skip), lambda v: norm(v, g.v, b.v, 1e-3)),
        epsilon=1e-3,
    )
    ms(
        m,
        'SkipSimplifiedLayerNormalization',
        [m.feed(x), m.feed(skip), m.const(g)],
        by_line(add(x, skip), lambda v: norm(v, g.v, eps=1e-3, center=False)),
        epsilon=1e-3,
    )
    image, shift, extra = r.floats(2, 2, 2, 4), r.floats(2, 4), r.floats(4)

    def grouped(a):  # channels last, two groups of two channels
        first = transpose(a, [0, 3, 1, 2])
        flat = by_line(first.reshape(4, 8), lambda v: norm(v, [1] * 8, eps=1e-3))
        scaled = broadcast(
            lambda v, s, t: v * s + t,
            flat.reshape(2, 4, 2, 2),
            g.reshape(4, 1, 1),
            b.reshape(4, 1, 1),
        )
        return transpose(scaled, [0, 2, 3, 1])

    ms(
        m,
        'GroupNorm',
        [m.feed(image), m.const(g), m.const(b)],
        grouped(image).map(lambda v: v * sigmoid(v)),
        groups=2,
        activation=1,
        channels_last=1,
        epsilon=1e-3,
    )
    sums = add(add(image, shift.reshape(2, 1, 1, 4)), extra)
    ms(
        m,
        'SkipGroupNorm',
        [m.feed(image), m.const(g), m.const(b), m.feed(shift), m.const(extra)],
        grouped(sums),
        sums,
        groups=2,
        activation=0,
        channels_last=1,
        epsilon=1e-3,
    )


def products(m, r):
    a, b = r.floats(2, 3, 4), r.floats(2, 5, 4)
    turned = transpose(b, [0, 2, 1])
    ms(
        m,
        'FusedMatMul',
        [m.feed(a), m.feed(b)],
        matmul(a, turned).map(lambda v: 0.5 * v),
        transB=1,
        alpha=0.5,
    )
    ms(
        m,
        'TransposeMatMul',
        [m.feed(transpose(a, [0, 2, 1])), m.feed(turned)],
        matmul(a, turned),
        transA=1,
    )
    x, w, c = r.floats(3, 4), r.floats(4, 2), r.floats(2)
    ms(
        m,
        'FusedGemm',
        [m.feed(x), m.const(w), m.const(c)],
        add(matmul(x, w), c).map(lambda v: max(v, 0.25 * v)),
        activation='LeakyRelu',
        activation_alpha=0.25,
    )
    square = A([2, 2], [2, 1, 1, 1])
    ms(m, 'Inverse', [m.feed(square)], A([2, 2], [1, -1, -1, 2]))
    ms(
        m,
        'Inverse',
        [m.feed(A([1, 2, 2], [0, 2, 4, 0]), 'float64')],
        ('float64', A([1, 2, 2], [0, 0.25, 0.5, 0])),
        kind='float64',
    )
    p, q = r.floats(3, 2), r.floats(4, 2)
    squares = build([3, 4], lambda i, j: sum((p[i, k] - q[j, k]) ** 2 for k in range(2)))
    ms(m, 'CDist', [m.feed(p), m.feed(q)], squares, metric='sqeuclidean')
    ms(
        m,
        'CDist',
        [m.feed(p), m.feed(q)],
        squares.map(math.sqrt),
        metric='euclidean',
        kind='euclidean',
    )
    image, kernel, bias, z = (
        r.floats(1, 2, 4, 4),
        r.floats(3, 2, 3, 3),
        r.floats(3),
        r.floats(1, 3, 4, 4),
    )
    y = conv(image, kernel, bias, pad=1)
    last, shape = [0, 2, 3, 1], dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    relu = lambda v: max(v, 0)
    ms(
        m,
        'FusedConv',
        [m.feed(image), m.const(kernel), m.const(bias), m.feed(z)],
        add(y, z).map(relu),
        activation='Relu',
        **shape
    )
    ms(
        m,
        'NhwcFusedConv',
        [m.feed(transpose(image, last)), m.const(kernel), m.const(bias)],
        transpose(y, last).map(relu),
        activation='Relu',
        **shape
    )
    ms(
        m,
        'NhwcConv',
        [m.feed(transpose(image, last)), m.const(kernel), m.const(bias)],
        transpose(y, last),
        **shape
    )
    pooled = build(
        [1, 2, 2, 2],
        lambda n, h, w, c: max(image[n, c, 2 * h + i, 2 * w + k] for i, k in places([2, 2])),
    )
    ms(
        m,
        'NhwcMaxPool',
        [m.feed(transpose(image, last))],
        pooled,
        kernel_shape=[2, 2],
        strides=[2, 2],
    )


def moves(m, r):
    x = r.floats(2, 3)
    ms(m, 'ExpandDims', [m.feed(x), m.const(scalar(-1), 'int32')], x.reshape(2, 3, 1))
    ms(
        m,
        'GatherND',
        [m.feed(x), m.const(A([2, 2], [1, 0, 0, 2]), 'int64')],
        A([2], [x[1, 0], x[0, 2]]),
    )
    ms(
        m,
        'Pad',
        [m.feed(x), m.const(A([4], [0, 1, 1, 0]), 'int64'), m.const(scalar(9.0))],
        build([3, 4], lambda i, j: x[i, j - 1] if i < 2 and j else 9.0),
        mode='constant',
    )
    ms(
        m,
        'Range',
        [m.const(scalar(1.0)), m.const(scalar(3.0)), m.const(scalar(0.5))],
        A([4], [1, 1.5, 2, 2.5]),
    )
    ms(m, 'Trilu', [m.feed(x)], build([2, 3], lambda i, j: x[i, j] if j <= i else 0), upper=0)
    ms(
        m,
        'Unique',
        [m.const(A([6], [2, 1, 1, 3, 4, 3]))],
        A([4], [2, 1, 3, 4]),
        ('int64', A([6], [0, 1, 1, 2, 3, 2])),
        ('int64', A([4], [1, 2, 2, 1])),
    )


def embeddings(m, r):
    words, spots, kinds, g, b = (
        r.floats(5, 4),
        r.floats(3, 4),
        r.floats(2, 4),
        r.floats(4),
        r.floats(4),
    )
    ids, segment, mask = A([1, 2], [3, 1]), A([1, 2], [1, 0]), A([1, 2], [1, 0])

    def embed(words, spots, kinds, g, b):
        sums = build(
            [1, 2, 4], lambda n, s, i: words[ids[n, s], i] + spots[s, i] + kinds[segment[n, s], i]
        )
        return by_line(sums, lambda v: norm(v, g.v, b.v, 1e-3))

    names = [m.feed(ids, 'int32'), m.feed(segment, 'int32')]
    ms(
        m,
        'EmbedLayerNormalization',
        names + [m.const(a) for a in (words, spots, kinds, g, b)] + [m.feed(mask, 'int32')],
        embed(words, spots, kinds, g, b),
        ('int32', A([1], [1])),
        epsilon=1e-3,
    )
    tables = [r.ints(*a.dims) for a in (words, spots, kinds, g, b)]
    scales, zeros = [0.0625, 0.03125, 0.125, 0.0625, 0.03125], [100, 120, 140, 128, 110]
    plain = [bytes_of(t, z, s) for t, z, s in zip(tables, zeros, scales)]
    consts = [m.const(t, 'uint8') for t in tables]
    ms(
        m,
        'QEmbedLayerNormalization',
        names
        + consts
        + [m.feed(mask, 'int32')]
        + [m.const(scalar(s)) for s in scales]
        + [m.const(scalar(z), 'uint8') for z in zeros],
        embed(*plain),
        ('int32', A([1], [1])),
        epsilon=1e-3,
    )
    table, scale, zero = (
        r.ints(4, 16, high=15),
        A([4, 1], [0.5, 0.25, 2, 1]),
        A([4, 1], [8, 3, 0, 15]),
    )
    packed = A([4, 8], (table.v[i] | table.v[i + 1] << 4 for i in range(0, 64, 2)))
    at = A([2], [3, 1])
    ms(
        m,
        'GatherBlockQuantized',
        [m.const(packed, 'uint8'), m.feed(at, 'int64'), m.const(scale), m.const(zero, 'uint8')],
        build([2, 16], lambda i, j: (table[at.v[i], j] - (zero.v[at.v[i]])) * scale.v[at.v[i]]),
        bits=4,
        block_size=16,
        gather_axis=0,
        quantize_axis=1,
    )
    table, scale, spots = (
        r.ints(3, 40, high=255),
        A([3, 3], [0.5, 0.25, 2, 1, 0.125, 4, 0.75, 1.5, 0.0625]),
        A([4], [39, 3, 16, 15]),
    )
    ms(
        m,
        'GatherBlockQuantized',
        [m.const(table, 'uint8'), m.feed(spots, 'int64'), m.const(scale)],
        build([3, 4], lambda i, j: (table[i, spots.v[j]] - 128) * scale[i, spots.v[j] // 16]),
        bits=8,
        block_size=16,
        gather_axis=1,
        quantize_axis=1,
    )


def attention(m, r):
    batch, steps, heads, size = 1, 3, 2, 4
    q, k, v = (r.floats(batch, steps, heads * size, low=-1, high=1) for _ in range(3))
    by_head = lambda a, n: transpose(a.reshape(batch, a.dims[1], n, size), [0, 2, 1, 3])

    def attend(q, k, v, seen, extra=None):
        scores = matmul(q, transpose(k, [0, 1, 3, 2])).map(lambda x: x / math.sqrt(size))
        scores = build(
            scores.dims, lambda n, h, i, j: scores[n, h, i, j] if seen(i, j) else -math.inf
        )
        shares = by_line(
            scores, softmax if extra is None else lambda line: softmax(line + [extra])[:-1]
        )
        return transpose(matmul(shares, v), [0, 2, 1, 3]).reshape(batch, q.dims[2], heads * size)

    every = lambda i, j: True
    three = [by_head(a, heads) for a in (q, k, v)]
    ms(
        m,
        'MultiHeadAttention',
        [m.feed(q), m.feed(k), m.feed(v)],
        attend(*three, every),
        num_heads=heads,
    )
    x, w, b = (
        r.floats(1, 2, 4, low=-1, high=1),
        r.floats(4, 3 * heads * size, low=-1, high=1),
        r.floats(3 * heads * size, low=-1, high=1),
    )
    sums = add(matmul(x, w.reshape(1, 4, 24)), b)
    parts = [by_head(part(sums, 2, 8 * i, 8 * i + 8), heads) for i in range(3)]
    ms(
        m,
        'Attention',
        [m.feed(x), m.const(w), m.const(b)],
        attend(*parts, lambda i, j: j <= i),
        num_heads=heads,
        unidirectional=1,
    )
    ms(
        m,
        'Attention',
        [m.feed(x), m.const(w), m.const(b), m.feed(A([1, 1], [0]), 'int32')],
        attend(*parts, every),
        num_heads=heads,
        kind='a mask of one column',
    )
    xq, wq, sx, sw = r.ints(1, 2, 4), r.ints(4, 24, low=-100, high=100), 0.0078125, 0.015625
    sums = add(matmul(bytes_of(xq, 128, sx), bytes_of(wq, 3, sw).reshape(1, 4, 24)), b)
    parts = [by_head(part(sums, 2, 8 * i, 8 * i + 8), heads) for i in range(3)]
    ms(
        m,
        'QAttention',
        [
            m.feed(xq, 'uint8'),
            m.const(wq, 'int8'),
            m.const(b),
            m.const(scalar(sx)),
            m.const(scalar(sw)),
            '',
            m.const(scalar(128), 'uint8'),
            m.const(scalar(3), 'int8'),
        ],
        attend(*parts, every),
        num_heads=heads,
    )
    # One group of keys for both heads, two keys kept before, rotated by angles whose cosines and
    # sines are the caches.
    kg, vg, pk, pv = (
        r.floats(*d, low=-1, high=1) for d in ((1, 3, 4), (1, 3, 4), (1, 1, 2, 4), (1, 1, 2, 4))
    )
    twice = lambda a: build([1, 2, a.dims[2], 4], lambda n, h, s, i: a[n, 0, s, i])
    keys, values = concat([pk, by_head(kg, 1)], 2), concat([pv, by_head(vg, 1)], 2)
    lengths, total = m.feed(A([1], [4]), 'int32'), m.const(scalar(5), 'int32')
    ms(
        m,
        'GroupQueryAttention',
        [m.feed(q), m.feed(kg), m.feed(vg), m.feed(pk), m.feed(pv), lengths, total],
        attend(by_head(q, 2), twice(keys), twice(values), lambda i, j: j <= i + 2),
        keys,
        values,
        num_heads=2,
        kv_num_heads=1,
    )
    ms(
        m,
        'GroupQueryAttention',
        [m.feed(q), m.feed(kg), m.feed(vg), m.feed(pk), m.feed(pv), lengths, total],
        attend(by_head(q, 2), twice(keys), twice(values), lambda i, j: i + 1 <= j <= i + 2, 0),
        None,
        None,
        num_heads=2,
        kv_num_heads=1,
        local_window_size=2,
        smooth_softmax=1,
        kind='window',
    )
    cos, sin = r.floats(8, 2, low=-1, high=1), r.floats(8, 2, low=-1, high=1)

    def rotated(a, first):  # [1][heads][steps][4], halves paired
        return build(
            a.dims,
            lambda n, h, s, i: a[n, h, s, i] * cos[first + s, i % 2]
            + (a[n, h, s, i - 2] if i >= 2 else -a[n, h, s, i + 2]) * sin[first + s, i % 2],
        )

    keys = concat([pk, rotated(by_head(kg, 1), 2)], 2)
    packed = concat([q, kg, vg], 2)
    ms(
        m,
        'GroupQueryAttention',
        [
            m.feed(packed),
            '',
            '',
            m.feed(pk),
            m.feed(pv),
            lengths,
            total,
            m.const(cos),
            m.const(sin),
        ],
        attend(rotated(by_head(q, 2), 2), twice(keys), twice(values), lambda i, j: j <= i + 2),
        keys,
        values,
        num_heads=2,
        kv_num_heads=1,
        do_rotary=1,
        kind='rotary',
    )
    ms(
        m,
        'RotaryEmbedding',
        [m.feed(q), m.const(A([1, 3], [0, 1, 2]), 'int64'), m.const(cos), m.const(sin)],
        transpose(rotated(by_head(q, 2), 0), [0, 2, 1, 3]).reshape(1, 3, 8),
        num_heads=2,
    )


# --- com.microsoft: quantized ---


def quantized(m, r):
    sa, za, sb, zb, sy, zy = 0.0625, 120, 0.03125, 100, 0.125, 110
    sc = lambda v: m.const(scalar(v))
    zp = lambda v: m.const(scalar(v), 'uint8')
    a, b = r.ints(2, 3), r.ints(2, 3)
    fa, fb = bytes_of(a, za, sa), bytes_of(b, zb, sb)
    operands = [
        m.feed(a, 'uint8'),
        sc(sa),
        zp(za),
        m.feed(b, 'uint8'),
        sc(sb),
        zp(zb),
        sc(sy),
        zp(zy),
    ]
    u8 = lambda x: ('uint8', to_bytes(x, sy, zy))
    ms(m, 'QLinearAdd', operands, u8(add(fa, fb)))
    ties, half = (
        build([4, 64], lambda i, j: 64 * i + j),
        0.003921568859368563,
    )  # the middle between two codes, as of erf(x) + 1
    ms(
        m,
        'QLinearAdd',
        [
            m.feed(ties, 'uint8'),
            sc(2 * half),
            zp(128),
            m.const(A([1], [255]), 'uint8'),
            sc(half),
            zp(0),
            sc(2 * half),
            zp(0),
        ],
        ('uint8', ties.map(lambda v: round(v - 0.5))),
    )
    ms(m, 'QLinearMul', operands, u8(mul(fa, fb)))
    one = operands[:3] + operands[6:]
    ms(
        m,
        'QLinearSigmoid',
        operands[:3] + [sc(0.0078125), zp(2)],
        ('uint8', to_bytes(fa.map(sigmoid), 0.0078125, 2)),
    )
    ms(m, 'QLinearLeakyRelu', one, u8(fa.map(lambda v: max(v, 0.25 * v))), alpha=0.25)
    ms(
        m,
        'QLinearReduceMean',
        one,
        u8(A([2, 1], (sum(v) / 3 for v in lines(fa)))),
        axes=[1],
        keepdims=1,
    )
    ms(
        m,
        'QLinearSoftmax',
        operands[:3] + [sc(1 / 256), zp(0)],
        ('uint8', to_bytes(by_line(fa, softmax), 1 / 256, 0)),
        axis=1,
        opset=13,
    )
    ms(
        m,
        'QLinearWhere',
        [m.feed(A([3], [1, 0, 1]), 'bool')] + operands,
        u8(build([2, 3], lambda i, j: fb[i, j] if j == 1 else fa[i, j])),
    )
    ms(
        m,
        'QLinearConcat',
        operands[6:] + operands[:3] + operands[3:6],
        u8(concat([fa, fb], 1)),
        axis=1,
    )
    ms(m, 'QuantizeLinear', [m.feed(fa), sc(sy), zp(zy)], u8(fa))
    ms(m, 'DequantizeLinear', operands[:3], fa)
    image, kernel, bias = r.ints(1, 2, 3, 3), r.ints(2, 2, 2, 2), r.ints(2, low=-50, high=50)
    fi, fk, fbias = bytes_of(image, za, sa), bytes_of(kernel, zb, sb), bytes_of(bias, 0, sa * sb)
    weights = [m.const(kernel, 'uint8'), sc(sb), zp(zb), sc(2.0), zp(zy), m.const(bias, 'int32')]
    conv8 = lambda y: ('uint8', to_bytes(y, 2.0, zy))
    ms(
        m,
        'QLinearConv',
        [m.feed(transpose(image, [0, 2, 3, 1]), 'uint8'), sc(sa), zp(za)] + weights,
        conv8(transpose(conv(fi, fk, fbias), [0, 2, 3, 1])),
        channels_last=1,
    )
    pool = [m.feed(image, 'uint8'), sc(sa), zp(za), sc(sy), zp(zy)]
    mean = lambda y, k: build(
        [1, 2, 3 - k + 1, 3 - k + 1],
        lambda n, c, h, w: sum(y[n, c, h + i, w + j] for i, j in places([k, k])) / k**2,
    )
    ms(m, 'QLinearGlobalAveragePool', pool, u8(mean(fi, 3)), channels_last=0)
    ms(m, 'QLinearAveragePool', pool, u8(mean(fi, 2)), kernel_shape=[2, 2])
    x, w, c = r.ints(2, 3), r.ints(3, 2), r.ints(2, low=-50, high=50)
    fx, fw = bytes_of(x, za, sa), bytes_of(w, zb, sb)
    product, fc = matmul(fx, fw), bytes_of(c, 0, sa * sb)
    ms(
        m,
        'QGemm',
        [
            m.feed(x, 'uint8'),
            sc(sa),
            zp(za),
            m.const(w, 'uint8'),
            sc(sb),
            zp(zb),
            m.const(c, 'int32'),
            sc(2.0),
            zp(zy),
        ],
        conv8(add(product, fc)),
    )
    ms(
        m,
        'MatMulIntegerToFloat',
        [m.feed(x, 'uint8'), m.const(w, 'uint8'), sc(sa), sc(sb), zp(za), zp(zb)],
        product,
    )
    f = A([2, 3], [-1.5, 0.25, 6.0, 2.0, 0.0, 1.0])
    scale = 7.5 / 255
    zero = round(1.5 / scale)
    rounded = f.map(lambda v: (quantize(v, scale, zero) - zero) * scale)
    ms(
        m,
        'DynamicQuantizeMatMul',
        [m.feed(f), m.const(w, 'uint8'), sc(sb), zp(zb)],
        matmul(rounded, fw),
    )
    nbits(m, r)
    quantized_lstm(m, r)


def nbits(m, r):
    """Weights [N][K] in blocks of 16 along K."""
    a, q, scale, zero = (
        r.floats(2, 32),
        r.ints(3, 32, high=15),
        r.floats(3, 2, low=1),
        r.ints(3, 2, high=15),
    )
    packed = A([3, 2, 8], (q.v[i] | q.v[i + 1] << 4 for i in range(0, 96, 2)))
    zeros = A([3, 1], (zero.v[i] | zero.v[i + 1] << 4 for i in range(0, 6, 2)))
    attrs = dict(K=32, N=3, bits=4, block_size=16)
    product = lambda w: matmul(a, transpose(w, [1, 0]))
    ops = [m.feed(a), m.const(packed, 'uint8'), m.const(scale.reshape(6))]
    ms(
        m,
        'MatMulNBits',
        ops,
        product(build([3, 32], lambda n, k: (q[n, k] - 8) * scale[n, k // 16])),
        **attrs
    )
    ms(
        m,
        'MatMulNBits',
        ops + [m.const(zeros, 'uint8')],
        product(build([3, 32], lambda n, k: (q[n, k] - zero[n, k // 16]) * scale[n, k // 16])),
        kind='zero points',
        **attrs
    )
    floats = r.floats(3, 2)
    ms(
        m,
        'MatMulNBits',
        ops + [m.const(floats)],
        product(build([3, 32], lambda n, k: (q[n, k] - floats[n, k // 16]) * scale[n, k // 16])),
        kind='float zero points',
        **attrs
    )
    group = A([32], [1, 0] * 16)
    ms(
        m,
        'MatMulNBits',
        ops + ['', m.const(group, 'int32')],
        product(build([3, 32], lambda n, k: (q[n, k] - 8) * scale[n, group.v[k]])),
        kind='groups',
        **attrs
    )


def rounded_to_bytes(v):
    low, high = min(v + [0]), max(v + [0])
    scale = (high - low) / 255 if high > low else 1
    zero = round(-low / scale)
    return [(quantize(x, scale, zero) - zero) * scale for x in v]


def quantized_lstm(m, r):
    """Gates i o f c; x is rounded as a whole, h at each step."""
    steps, size, hidden = 3, 2, 2
    x, w, u, sw, su = (
        r.floats(steps, 1, size),
        r.ints(1, size, 8, low=-127, high=127),
        r.ints(1, hidden, 8, low=-127, high=127),
        0.0078125,
        0.015625,
    )
    xs, h, c, rows = rounded_to_bytes(x.v), [0.0] * hidden, [0.0] * hidden, []
    for s in range(steps):
        hr = rounded_to_bytes(h)
        g = [
            sum(xs[s * size + k] * w[0, k, j] * sw for k in range(size))
            + sum(hr[k] * u[0, k, j] * su for k in range(hidden))
            for j in range(8)
        ]
        i, o, f = ([sigmoid(v) for v in g[n : n + 2]] for n in (0, 2, 4))
        c = [f[n] * c[n] + i[n] * math.tanh(g[6 + n]) for n in range(2)]
        h = [o[n] * math.tanh(c[n]) for n in range(2)]
        rows += h
    quant = [
        m.const(A([1], [sw])),
        m.const(A([1], [0]), 'int8'),
        m.const(A([1], [su])),
        m.const(A([1], [0]), 'int8'),
    ]
    ms(
        m,
        'DynamicQuantizeLSTM',
        [m.feed(x), m.const(w, 'int8'), m.const(u, 'int8'), '', '', '', '', ''] + quant,
        A([steps, 1, 1, 2], rows),
        A([1, 1, 2], h),
        A([1, 1, 2], c),
        hidden_size=hidden,
    )


# --- ai.onnx.ml ---


def classical(m, r):
    x = A([2, 3], [1.0, -2.0, 3.0, 0.5, math.nan, 0.0])
    y = r.floats(2, 3)
    ml(m, 'Binarizer', [m.feed(y)], y.map(lambda v: float(v > 0.5)), threshold=0.5)
    ml(
        m,
        'Imputer',
        [m.feed(x)],
        x.map(lambda v: 7.0 if v != v else v),
        imputed_value_floats=[7.0],
        replaced_value_float=math.nan,
    )
    ml(
        m,
        'Scaler',
        [m.feed(y)],
        broadcast(
            lambda v, o, s: (v - o) * s, y, A([3], [1.0, 0.5, -1.0]), A([3], [2.0, 0.5, 4.0])
        ),
        offset=[1.0, 0.5, -1.0],
        scale=[2.0, 0.5, 4.0],
    )
    ml(
        m,
        'Normalizer',
        [m.feed(y)],
        by_line(y, lambda v: [a / math.sqrt(sum(b * b for b in v)) for a in v]),
        norm='L2',
    )
    ml(
        m,
        'Normalizer',
        [m.feed(y)],
        by_line(y, lambda v: [a / sum(map(abs, v)) for a in v]),
        norm='L1',
        kind='L1',
    )
    ml(
        m,
        'LabelEncoder',
        [m.feed(A([4], [3, 1, 9, 2]), 'int64')],
        A([4], [0.5, 1.5, -1.0, 2.5]),
        keys_int64s=[1, 2, 3],
        values_floats=[1.5, 2.5, 0.5],
        default_float=-1.0,
    )
    ml(
        m,
        'ArrayFeatureExtractor',
        [m.feed(y), m.const(A([2], [2, 0]), 'int64')],
        build([2, 2], lambda i, j: y[i, (2, 0)[j]]),
    )
    ml(
        m,
        'FeatureVectorizer',
        [m.feed(y), m.feed(part(y, 1, 0, 2))],
        concat([y, part(y, 1, 0, 2)], 1),
        inputdimensions=[3, 2],
    )
    ml(
        m,
        'OneHotEncoder',
        [m.feed(A([3], [7, 5, 6]), 'int64')],
        A([3, 2], [0, 1, 1, 0, 0, 0]),
        cats_int64s=[5, 7],
        zeros=1,
    )
    w, b = [0.5, -1.0, 2.0, 1.0, 0.25, -0.5], [0.125, -0.25]
    scores = build([2, 2], lambda i, k: sum(y[i, j] * w[3 * k + j] for j in range(3)) + b[k])
    labels = A([2], (11 if v[0] >= v[1] else 22 for v in lines(scores)))
    ml(
        m,
        'LinearClassifier',
        [m.feed(y)],
        ('int64', labels),
        by_line(scores, softmax),
        coefficients=w,
        intercepts=b,
        classlabels_ints=[11, 22],
        post_transform='SOFTMAX',
        multi_class=0,
    )
    ml(m, 'LinearRegressor', [m.feed(y)], scores, coefficients=w, intercepts=b, targets=2)
    ml(m, 'ZipMap', [m.feed(y)], y, classlabels_int64s=[1, 2, 3])
    supports, alphas = A([2, 3], [1.0, 0.0, -1.0, 0.5, 2.0, 1.0]), [1.0, -0.5]
    kernel = lambda v, s: math.exp(-0.5 * sum((p - q) ** 2 for p, q in zip(v, s)))
    decision = [
        sum(a * kernel(v, s) for a, s in zip(alphas, lines(supports))) + 0.1 for v in lines(y)
    ]
    attrs = dict(
        kernel_type='RBF', kernel_params=[0.5, 0.0, 3.0], support_vectors=supports.v, rho=[0.1]
    )
    ml(
        m,
        'SVMRegressor',
        [m.feed(y)],
        A([2, 1], decision),
        n_supports=2,
        coefficients=alphas,
        **attrs
    )
    ml(
        m,
        'SVMClassifier',
        [m.feed(y)],
        ('int64', A([2], (0 if d > 0 else 1 for d in decision))),
        A([2, 2], (v for d in decision for v in (-d, d))),
        coefficients=alphas,
        vectors_per_class=[1, 1],
        classlabels_ints=[0, 1],
        **attrs
    )
    tree(m)


def tree(m):
    """x0 <= 1 ? 5 : (x1 in {2, 4} ? 7 : 9), twice, summed: the second with other leaves."""

    def number(values, t, dims=None):
        return operators.tensor('', t, [len(values)] if dims is None else dims, values)

    x = A([3, 2], [0.0, 2.0, 2.0, 4.0, 3.0, 1.0])
    leaf = lambda a, b, c: [a if v[0] <= 1 else b if v[1] in (2, 4) else c for v in lines(x)]
    y = [p + q for p, q in zip(leaf(5, 7, 9), leaf(0.5, 0.25, 0.125))]
    one = lambda base: dict(
        feature=[0, 1],
        split=[1.0, 0.0],
        mode=[0, 6],
        yes=[base, base + 1],
        yes_leaf=[1, 1],
        no=[1, base + 2],
        no_leaf=[0, 1],
    )
    a, b = one(0), one(3)
    b['no'][0] = 3
    ml(
        m,
        'TreeEnsemble',
        [m.feed(x)],
        A([3, 1], y),
        n_targets=1,
        aggregate_function=1,
        post_transform=0,
        tree_roots=[0, 2],
        nodes_featureids=a['feature'] + b['feature'],
        nodes_splits=number(a['split'] + b['split'], 'float32'),
        nodes_modes=number(a['mode'] + b['mode'], 'uint8'),
        nodes_truenodeids=a['yes'] + b['yes'],
        nodes_trueleafs=a['yes_leaf'] + b['yes_leaf'],
        nodes_falsenodeids=a['no'] + b['no'],
        nodes_falseleafs=a['no_leaf'] + b['no_leaf'],
        membership_values=number([2.0, 4.0, math.nan, 2.0, 4.0, math.nan], 'float32'),
        leaf_targetids=[0] * 6,
        leaf_weights=number([5.0, 7.0, 9.0, 0.5, 0.25, 0.125], 'float32'),
    )


# What cannot run on a device.
REFUSED = [
    (
        '',
        'ImageDecoder',
        [('uint8', [9])],
        [('uint8', [2, 2, 3])],
        dict(pixel_format='RGB'),
        'decode before the model',
    )
]
GROUPS = [activations, normalizations, products, moves, embeddings, attention, quantized, classical]


if __name__ == '__main__':
    operators.main(GROUPS, REFUSED)
