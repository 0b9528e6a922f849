# SPDX-License-Identifier: Apache-2.0
"""Very large models for next to nothing: payloads are holes of sparse files but for some known
values at known places (the first elements, the last, and others spread by a fixed rule), so that
content can be checked.

Each maker returns a list of Weight: what is in the file, for big.py to look for in the output."""
import os
import struct
from collections import namedtuple

from onnx import make_node, make_value, put, varint

F32 = 1
Weight = namedtuple('Weight', 'name rows cols marks')  # marks: {(row, column): float}


class Sparse:
    """A model file under construction: pieces of bytes, and payloads that are holes with marks."""

    def __init__(self):
        self.pieces, self.length = [], 0

    def add(self, data):
        self.pieces.append(data)
        self.length += len(data)

    def hole(self, weight):
        self.pieces.append(weight)
        self.length += weight.rows * weight.cols * 4

    def write(self, path, head):
        with open(path, 'wb') as f:
            f.write(head + varint(7 << 3 | 2) + varint(self.length))
            for p in self.pieces:
                if isinstance(p, Weight):
                    write_marks(f, f.tell(), p)
                else:
                    f.write(p)
            f.truncate(f.tell())


def write_marks(f, at, w):
    for (r, c), v in sorted(w.marks.items()):
        f.seek(at + (r * w.cols + c) * 4)
        f.write(struct.pack('<f', v))
    f.seek(at + w.rows * w.cols * 4)


def weight(name, number, rows, cols, marks=24):
    """Marks spread over rows and columns; every value occurs once in all weights of a model."""
    places = [(0, 0), (rows - 1, cols - 1), (0, cols - 1), (rows - 1, 0)]
    places += [
        ((i * 7919 + number * 13) % rows, (i * 104729 + number * 31) % cols) for i in range(marks)
    ]
    return Weight(
        name,
        rows,
        cols,
        {p: float(number * 64 + i + 1) for i, p in enumerate(dict.fromkeys(places))},
    )


def head():
    return put(1, 8) + put(8, put(2, 17))


def embedded(w):
    """A TensorProto up to its raw data, as an initializer of the graph."""
    body = (
        put(1, w.rows)
        + put(1, w.cols)
        + put(2, F32)
        + put(8, w.name)
        + varint(9 << 3 | 2)
        + varint(w.rows * w.cols * 4)
    )
    return varint(5 << 3 | 2) + varint(len(body) + w.rows * w.cols * 4) + body


def external(w, location, offset):
    entry = lambda key, value: put(13, put(1, key) + put(2, value))
    return put(
        5,
        put(1, w.rows)
        + put(1, w.cols)
        + put(2, F32)
        + put(8, w.name)
        + entry('location', location)
        + entry('offset', str(offset))
        + entry('length', str(w.rows * w.cols * 4))
        + put(14, 1),
    )


def frame(s, nodes, ins, outs):
    for n in nodes:
        s.add(put(1, n))
    s.add(put(2, 'g'))
    for name, dims in ins:
        s.add(put(11, make_value(name, F32, dims)))
    for name, dims in outs:
        s.add(put(12, make_value(name, F32, dims)))


def dense(path, mib, width=4096, files=0, transposed=False):
    """A chain of dense layers with `mib` MiB of weights, in the model or in that many files beside
    it. Transposed: the weights are stored [out][in] and go through a Transpose (PyTorch's exported
    Linear).
    """
    layers = max(1, mib * (1 << 20) // (width * width * 4))
    weights = [weight('w%d' % i, i, width, width) for i in range(layers)]
    nodes, at = [], 'x'
    for i in range(layers):
        operand = 'w%d' % i
        if transposed:
            nodes.append(make_node('Transpose', [operand], ['t%d' % i], 'turn%d' % i, perm=[1, 0]))
            operand = 't%d' % i
        out = 'y' if i == layers - 1 else 'h%d' % i
        nodes.append(make_node('MatMul', [at, operand], ['m%d' % i], 'dense%d' % i))
        nodes.append(make_node('Relu', ['m%d' % i], [out], 'relu%d' % i))
        at = out
    s = Sparse()
    frame(s, nodes, [('x', [1, width])], [('y', [1, width])])
    ends = [0] * files
    for i, w in enumerate(weights):
        if not files:
            s.add(embedded(w))
            s.hole(w)
            continue
        k = i % files
        name = 'w%d.data' % k
        with open(os.path.join(os.path.dirname(path), name), 'r+b' if ends[k] else 'wb') as f:
            write_marks(f, ends[k], w)
            s.add(external(w, name, ends[k]))
            ends[k] += w.rows * w.cols * 4
            f.truncate(ends[k])
    s.write(path, head())
    return weights


def transformer(path, blocks, width=1024, tokens=8):
    """Blocks of attention and a feed-forward net, every MatMul weight transposed: 12 * width^2
    weights each."""
    s, nodes, weights = Sparse(), [], []

    def linear(x, y, rows, cols, name):
        w = weight('w' + name, len(weights), rows, cols)
        weights.append(w)
        nodes.append(make_node('Transpose', [w.name], ['t' + name], 'turn' + name, perm=[1, 0]))
        nodes.append(make_node('MatMul', [x, 't' + name], [y], 'dense' + name))

    x = 'x'
    for b in range(blocks):
        n = lambda s: '%s%d' % (s, b)
        for v in 'qkv':
            linear(x, n(v), width, width, n(v))
        nodes.append(make_node('Transpose', [n('k')], [n('kt')], n('turn_k'), perm=[1, 0]))
        nodes.append(make_node('MatMul', [n('q'), n('kt')], [n('s')], n('scores')))
        nodes.append(make_node('Softmax', [n('s')], [n('p')], n('softmax'), axis=-1))
        nodes.append(make_node('MatMul', [n('p'), n('v')], [n('c')], n('context')))
        linear(n('c'), n('o'), width, width, n('o'))
        nodes.append(make_node('Add', [n('o'), x], [n('r')], n('residual')))
        linear(n('r'), n('f'), 4 * width, width, n('f'))
        nodes.append(make_node('Relu', [n('f')], [n('g')], n('relu')))
        linear(n('g'), n('h'), width, 4 * width, n('h'))
        out = 'y' if b == blocks - 1 else n('x')
        nodes.append(make_node('Add', [n('h'), n('r')], [out], n('sum')))
        x = out
    frame(s, nodes, [('x', [tokens, width])], [('y', [tokens, width])])
    for w in weights:
        s.add(embedded(w))
        s.hole(w)
    s.write(path, head())
    return weights


def nodes(path, count):
    """A chain of elementwise nodes with an addition of an earlier value now and then."""
    made = []
    for i in range(count):
        if i % 10 == 9:
            made.append(
                make_node('Add', ['v%d' % (i - 1), 'v%d' % (i - 5)], ['v%d' % i], 'n%d' % i)
            )
        else:
            made.append(
                make_node(
                    ('Sigmoid', 'Tanh', 'Sqrt')[i % 3],
                    ['v%d' % (i - 1) if i else 'x'],
                    ['v%d' % i],
                    'n%d' % i,
                )
            )
    s = Sparse()
    frame(s, made, [('x', [1, 64])], [('v%d' % (count - 1), [1, 64])])
    s.write(path, head())


def initializers(path, count, reads=1000):
    """`count` initializers of 4 floats each, every one different, and `reads` nodes that use some
    of them."""
    s, at = Sparse(), 'x'
    made = []
    for i in range(reads):
        out = 'y' if i == reads - 1 else 'a%d' % i
        made.append(
            make_node(
                'Add', [at, 'weight.of.layer.%d' % (i * (count // reads))], [out], 'add%d' % i
            )
        )
        at = out
    frame(s, made, [('x', [4])], [('y', [4])])
    for i in range(count):
        s.add(
            put(
                5,
                put(1, 4)
                + put(2, F32)
                + put(8, 'weight.of.layer.%d' % i)
                + put(9, struct.pack('<4f', i, i + 0.25, i + 0.5, i + 0.75)),
            )
        )
    s.write(path, head())


def convolutions(path, count, side=8, channels=4):
    """A chain of convolutions 3 x 3 and activations on images."""
    made, weights = [], []
    for i in range(count // 2):
        w = weight('w%d' % i, i, channels, channels * 9, marks=4)
        weights.append(w)
        made.append(
            make_node(
                'Conv',
                ['v%d' % (i - 1) if i else 'x', w.name],
                ['c%d' % i],
                'conv%d' % i,
                kernel_shape=[3, 3],
                pads=[1, 1, 1, 1],
            )
        )
        made.append(make_node('Relu', ['c%d' % i], ['v%d' % i], 'relu%d' % i))
    image_net(path, made, weights, 'v%d' % (count // 2 - 1), side, channels)


def residual(path, count, side=8, channels=4):
    """Blocks of two convolutions and the addition of what went in."""
    made, weights, at = [], [], 'x'
    for b in range(count // 6):
        inner = at
        for k in 'ab':
            w = weight('w%d%s' % (b, k), len(weights), channels, channels * 9, marks=4)
            weights.append(w)
            made.append(
                make_node(
                    'Conv',
                    [inner, w.name],
                    ['c%d%s' % (b, k)],
                    'conv%d%s' % (b, k),
                    kernel_shape=[3, 3],
                    pads=[1, 1, 1, 1],
                )
            )
            inner = 'c%d%s' % (b, k)
            if k == 'a':
                made.append(make_node('Relu', [inner], ['r%d' % b], 'relu%d' % b))
                inner = 'r%d' % b
        made.append(make_node('Add', [inner, at], ['s%d' % b], 'add%d' % b))
        made.append(make_node('Relu', ['s%d' % b], ['y%d' % b], 'out%d' % b))
        made.append(make_node('Sigmoid', ['y%d' % b], ['z%d' % b], 'gate%d' % b))
        at = 'z%d' % b
    image_net(path, made, weights, at, side, channels)


def image_net(path, made, weights, last, side, channels):
    s = Sparse()
    image = [1, channels, side, side]
    frame(s, made, [('x', image)], [(last, image)])
    for w in weights:
        body = (
            put(1, channels)
            + put(1, channels)
            + put(1, 3)
            + put(1, 3)
            + put(2, F32)
            + put(8, w.name)
            + varint(9 << 3 | 2)
            + varint(w.rows * w.cols * 4)
        )
        s.add(varint(5 << 3 | 2) + varint(len(body) + w.rows * w.cols * 4) + body)
        s.hole(w)
    s.write(path, head())


def wide(path, count, layers=20):
    """Layers of many branches side by side that end in one Sum each."""
    made, at, branches = [], 'x', count // layers // 2
    for k in range(layers):
        outs = []
        for b in range(branches):
            n = '%d_%d' % (k, b)
            made.append(make_node(('Sigmoid', 'Tanh')[b % 2], [at], ['a' + n], 'first' + n))
            made.append(
                make_node(('Exp', 'Softsign', 'Atan')[b % 3], ['a' + n], ['b' + n], 'second' + n)
            )
            outs.append('b' + n)
        made.append(make_node('Sum', outs, ['s%d' % k], 'sum%d' % k))
        at = 's%d' % k
    s = Sparse()
    frame(s, made, [('x', [1, 64])], [(at, [1, 64])])
    s.write(path, head())


def concats(path, count, per=16, channels=2):
    """Dense blocks: each convolution reads the concatenation of all before it in its block."""
    made, weights, at = [], [], 'x'
    width, image = 8, [1, channels, 4, 4]
    for b in range(max(1, count // (2 * per + 1))):
        parts = [at]
        for k in range(per):
            n = '%d_%d' % (b, k)
            joined = parts[0]
            if k:
                joined = 'j' + n
                made.append(make_node('Concat', parts, [joined], 'join' + n, axis=1))
            made.append(
                make_node(
                    'AveragePool',
                    [joined],
                    ['p' + n],
                    'pool' + n,
                    kernel_shape=[3, 3],
                    pads=[1, 1, 1, 1],
                )
            )
            made.append(
                make_node('Slice', ['p' + n, 'starts', 'ends', 'axes'], ['v' + n], 'slice' + n)
            )
            parts.append('v' + n)
        at = parts[-1]
    s = Sparse()
    frame(s, made, [('x', image)], [(at, image)])
    for name, value in (('starts', 0), ('ends', channels), ('axes', 1)):
        s.add(put(5, put(1, 1) + put(2, 7) + put(8, name) + put(9, struct.pack('<q', value))))
    s.write(path, head())
