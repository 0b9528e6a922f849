# SPDX-License-Identifier: Apache-2.0
"""Small networks that grow node by node, whose numbers between nodes are quantized: islands of
QuantizeLinear and DequantizeLinear, what they answer, and the steps that they become."""
import math
import os
import random
import re
import struct

import host
import onnx

F, I8, U8, I32, I64 = (onnx.CODES[t] for t in ('float32', 'int8', 'uint8', 'int32', 'int64'))
RANGE = {I8: (-128, 127), U8: (0, 255)}
STEP, ZERO = 0.05, {I8: -7, U8: 113}
BETWEEN = ('quantize_', 'dequantize_', 'table_f32')
MOVES = {'Transpose', 'Reshape'}
# Weights may be narrow where the arithmetic is not.
FLOAT = re.compile('_f32|^(de)?conv')
IMAGE = [1, 4, 9, 8]


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
