# SPDX-License-Identifier: Apache-2.0
"""Constant weights that are narrower than float stay so in flash for each operator that reads them:
the answers are those of weights stored as float32, the constants take no more bytes than in the
file.

    narrow.py --inlay INLAY"""
import argparse
import json
import math
import os
import random
import struct

import host
import onnx
import tap

F32 = onnx.CODES['float32']
BITS = {'int8': 8, 'uint8': 8, 'int4': 4, 'uint4': 4, 'int2': 2}
SPARE = 192  # bytes for alignment, and for how weights become floats


class Model:
    """Nodes and constants; the last node makes the result."""

    def __init__(self, seed):
        self.rnd = random.Random(seed)
        self.nodes, self.weights, self.bytes, self.most = [], [], 0, 1.02

    def name(self):
        return 't%d' % (len(self.nodes) + len(self.weights))

    def constant(self, code, dims, raw):
        name = self.name()
        self.weights.append(onnx.make_tensor(name, code, dims, raw))
        self.bytes += len(raw)
        return name

    def floats(self, dims, low=0.5, high=1.5, kind='float32'):
        form = 'e' if kind == 'float16' else 'f'
        n = math.prod(dims)
        return self.constant(
            onnx.CODES[kind],
            dims,
            struct.pack('<%d%s' % (n, form), *(self.rnd.uniform(low, high) for _ in range(n))),
        )

    def integers(self, kind, dims, low=0, high=255):
        bits = BITS[kind]
        n = math.prod(dims)
        return self.constant(
            onnx.CODES[kind],
            dims,
            onnx.pack_bits([self.rnd.randint(low, high) & (1 << bits) - 1 for _ in range(n)], bits),
        )

    def node(self, op, ins, domain='', **attrs):
        name = self.name()
        self.nodes.append(onnx.make_node(op, ins, [name], domain=domain, **attrs))
        return name

    def dequantized(self, kind, dims, scales, zeros=True, **attrs):
        """Weights of these dimensions, with scales of those."""
        ins = [self.integers(kind, dims), self.floats(scales, 0.01, 0.1)]
        if zeros:
            ins.append(self.integers(kind, scales, 0, 3))
        return self.node('DequantizeLinear', ins, **attrs)

    def padded(self, channels):
        """A bias takes fours of floats; one that the file lacks counts too."""
        self.bytes += 4 * ((channels + 3) // 4 * 4)

    def made(self, x):
        last = 't%d' % (len(self.nodes) + len(self.weights) - 1)
        return onnx.make_model(
            self.nodes,
            [onnx.make_value('x', F32, x)],
            [onnx.make_value(last, F32, [None] * len(x))],
            self.weights,
            21,
            [('com.microsoft', 1)],
        )


def depthwise(kind, channels, kernel, zeros=True, each=True, act=None):
    m = Model(channels)
    dims = [channels, 1, kernel, kernel]
    if kind == 'float16':
        w = m.node('Cast', [m.floats(dims, -1, 1, kind)], to=F32)
    else:
        w = m.dequantized(
            kind, dims, [channels] if each else [], zeros, **({'axis': 0} if each else {})
        )
    y = m.node(
        'Conv', ['x', w], group=channels, kernel_shape=[kernel, kernel], pads=[kernel // 2] * 4
    )
    m.padded(channels)
    if act:
        m.node(act, [y])
    return m, [1, channels, 9, 11]


def blocks(kind, k, n, block, axis=0, zeros=True, rows=3):
    """A product whose weights have a scale for each block of an axis."""
    m = Model(k)
    scales = [-(-k // block), n] if axis == 0 else [k, -(-n // block)]
    w = m.dequantized(kind, [k, n], scales, zeros, axis=axis, block_size=block)
    m.node('MatMul', ['x', w])
    m.padded(n)
    return m, [rows, k]


def gemm(kind, k, n, block, zeros=True):
    m = Model(k)
    w = m.dequantized(kind, [n, k], [n, -(-k // block)], zeros, axis=1, block_size=block)
    m.node('Gemm', ['x', w, m.floats([n])], transB=1, alpha=0.5)
    return m, [2, k]


def nbits(bits, k, n, block, zeros=True, rows=3):
    m = Model(k)
    count = -(-k // block)
    ins = [
        'x',
        m.integers('uint8', [n, count, block * bits // 8]),
        m.floats([n * count], 0.01, 0.1),
    ]
    if zeros:
        ins.append(m.integers('uint8', [n * -(-count * bits // 8)]))
    m.node('MatMulNBits', ins, 'com.microsoft', K=k, N=n, bits=bits, block_size=block)
    m.padded(n)
    return m, [rows, k]


def normalized(op, kind, group=1, each=True):
    """A convolution or product, and a factor and a summand for each channel of what it makes."""
    m = Model(3)
    ic, oc = 24 * group, 40 * group
    dims = {
        'Conv': [oc, 24, 3, 3],
        'ConvTranspose': [ic, 40, 2, 2],
        'Gemm': [oc, ic],
        'MatMul': [ic, oc],
    }[op]
    axis = {'Conv': 0, 'ConvTranspose': 1, 'Gemm': 0, 'MatMul': 1}[op]
    if kind == 'float16':
        w = m.node('Cast', [m.floats(dims, -1, 1, kind)], to=F32)
        m.bytes += 4 * oc
    else:
        w = m.dequantized(kind, dims, [dims[axis]] if each else [], axis=axis)
        m.bytes += 0 if each else 5 * oc
    attrs = {'Gemm': {'transB': 1}, 'MatMul': {}}.get(op, {'group': group})
    if op == 'ConvTranspose':
        attrs['strides'] = [2, 2]
    y = m.node(op, ['x', w], **attrs)
    if op == 'MatMul':
        m.node('Mul', [y, m.floats([oc])])
    else:
        m.node('BatchNormalization', [y] + [m.floats([oc]) for _ in range(4)])
    return m, [2, ic] if op in ('Gemm', 'MatMul') else [1, ic, 7, 5]


CASES = {}
for _kind in ('int8', 'uint8', 'int4', 'float16'):
    for _channels, _kernel in ((24, 3), (37, 5), (6, 1)):
        CASES['depthwise %s %d %d' % (_kind, _channels, _kernel)] = (
            depthwise,
            _kind,
            _channels,
            _kernel,
        )
for _kind in ('int8', 'int4', 'uint4'):
    for _k, _n, _block in ((24, 40, 16), (100, 64, 32), (33, 18, 32), (24, 40, 32)):
        CASES['blocks %s %d %d %d' % (_kind, _k, _n, _block)] = (blocks, _kind, _k, _n, _block)
        CASES['gemm %s %d %d %d' % (_kind, _k, _n, _block)] = (gemm, _kind, _k, _n, _block)
for _bits in (2, 4, 8):
    for _k, _n, _block in ((24, 40, 16), (100, 64, 32), (64, 24, 32), (48, 24, 32)):
        for _zeros in (False, True):
            CASES['nbits %d %d %d %d %s' % (_bits, _k, _n, _block, _zeros)] = (
                nbits,
                _bits,
                _k,
                _n,
                _block,
                _zeros,
            )
for _op in ('Conv', 'ConvTranspose', 'Gemm', 'MatMul'):
    for _kind in ('int8', 'int4', 'float16'):
        CASES['normalized %s %s' % (_op, _kind)] = (normalized, _op, _kind)
    CASES['normalized %s, one scale' % _op] = (normalized, _op, 'int8', 1, False)
CASES['normalized Conv in groups'] = (normalized, 'Conv', 'int8', 2)


def run(inlay, path, x, out, flags):
    status, text = host.run([inlay, 'run', path, '-o', out, '--input', x] + flags)
    assert not status, text
    return onnx.read_tensor(os.path.join(out, 'output_0.pb'))


def check(inlay, case):
    m, dims = case[0](*case[1:])
    model = m.made(dims)
    raw = struct.pack(
        '<%df' % math.prod(dims), *(m.rnd.uniform(-1, 1) for _ in range(math.prod(dims)))
    )
    with host.Work() as work:
        path, given = os.path.join(work, 'model.onnx'), os.path.join(work, 'x.pb')
        for name, data in ((path, model), (given, onnx.make_tensor('x', F32, dims, raw))):
            with open(name, 'wb') as f:
                f.write(data)
        answers = [
            run(inlay, path, given, os.path.join(work, 'out%d' % i), flags)
            for i, flags in enumerate(([], ['--weights-type=float32']))
        ]
        bad = onnx.difference(*answers, rtol=1e-5, atol=1e-5)
        assert not bad, bad
        status, text = host.run([inlay, 'analyze', '--json', path])
        assert not status, text
        size = json.loads(text)['weights']['size']
        assert size <= m.bytes * m.most + SPARE, 'the weights take %d bytes, the file %d' % (
            size,
            m.bytes,
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    inlay = parser.parse_args().inlay
    tap.Tap().checks(CASES.items(), lambda case: check(inlay, case))


main()
