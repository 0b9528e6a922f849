# SPDX-License-Identifier: Apache-2.0
"""Random networks of images whose sums, products and concatenations take any earlier values of the
same size: results that go to the place of what they are made of, where others still read it. Every
plan is checked when it is made: none may be unsound.

    sums.py --inlay INLAY [--nets N] [--first SEED]"""
import argparse
import os
import random
import struct

import host
import onnx
import tap

F = onnx.CODES['float32']
FORMS = [[], ['--optimize=balanced'], ['--optimize=speed'], ['--io=arena'], ['--io=rows']]
ACTIVATIONS = ['Relu', 'Sigmoid', 'Tanh', 'HardSwish', 'Abs', 'Neg']
SUMS = ['Add', 'Add', 'Mul', 'Sub', 'Max']


class Net:
    """Values are (name, channels, rows, columns)."""

    def __init__(self, seed):
        self.random, self.nodes, self.weights = random.Random(seed), [], []
        self.images = self.random.choice([1, 1, 2])
        self.values = [
            (
                'x',
                self.random.choice([2, 4, 8, 16]),
                self.random.randint(4, 14),
                self.random.randint(1, 12),
            )
        ]
        for _ in range(self.random.randint(3, 14)):
            self.grow(
                self.random.choice(self.values[-4:] if self.random.random() < 0.8 else self.values)
            )

    def constant(self, *dims):
        count = 1
        for d in dims:
            count *= d
        name = 'w%d' % len(self.weights)
        raw = struct.pack('<%df' % count, *(self.random.uniform(-1, 1) for _ in range(count)))
        self.weights.append(onnx.make_tensor(name, F, list(dims), raw))
        return name

    def node(self, op, inputs, size, **attributes):
        name = 't%d' % len(self.nodes)
        self.nodes.append(onnx.make_node(op, inputs, [name], **attributes))
        self.values.append((name,) + size)

    def grow(self, value):
        kinds, often = [
            self.conv,
            self.depthwise,
            self.sum,
            self.activation,
            self.pool,
            self.join,
            self.softmax,
        ], [7, 2, 6, 3, 1, 1, 1]
        self.random.choices(kinds, often)[0](*value)

    def conv(self, name, channels, rows, columns):
        kernel, stride = self.random.choice([1, 3, 5]), self.random.choice([1, 1, 1, 2])
        made, pad = self.random.choice([channels, channels, 8]), kernel // 2
        size = [(n + 2 * pad - kernel) // stride + 1 for n in (rows, columns)]
        self.node(
            'Conv',
            [name, self.constant(made, channels, kernel, kernel), self.constant(made)],
            (made, *size),
            kernel_shape=[kernel, kernel],
            pads=[pad] * 4,
            strides=[stride, stride],
        )

    def depthwise(self, name, channels, rows, columns):
        self.node(
            'Conv',
            [name, self.constant(channels, 1, 3, 3)],
            (channels, rows, columns),
            kernel_shape=[3, 3],
            pads=[1] * 4,
            group=channels,
        )

    def sum(self, name, *size):
        other = self.random.choice([value[0] for value in self.values if value[1:] == size])
        self.node(self.random.choice(SUMS), self.random.sample([name, other], 2), size)

    def activation(self, name, *size):
        self.node(self.random.choice(ACTIVATIONS), [name], size)

    def pool(self, name, *size):
        self.node('MaxPool', [name], size, kernel_shape=[3, 3], pads=[1] * 4)

    def join(self, name, channels, *size):
        other = self.random.choice([value for value in self.values if value[2:] == tuple(size)])
        self.node('Concat', [name, other[0]], (channels + other[1], *size), axis=1)

    def softmax(self, name, *size):
        self.node('Softmax', [name], size, axis=1)

    def model(self):
        results = dict.fromkeys(
            [self.values[-1][0]]
            + ([self.random.choice(self.values[1:])[0]] if self.random.random() < 0.3 else [])
        )
        outputs = [
            onnx.put(1, name) + onnx.put(2, onnx.put(1, onnx.put(1, F))) for name in results
        ]  # of any shape
        return onnx.make_model(
            self.nodes,
            [onnx.make_value('x', F, [self.images, *self.values[0][1:]])],
            outputs,
            self.weights,
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    parser.add_argument('--nets', type=int, default=150)
    parser.add_argument('--first', type=int, default=0)
    o = parser.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        path = os.path.join(work, 'net.onnx')
        for form in FORMS:
            wrong = []
            for seed in range(o.first, o.first + o.nets):
                with open(path, 'wb') as f:
                    f.write(Net(seed).model())
                status, text = host.run([o.inlay, 'analyze', path] + form)
                if status not in (0, 69):
                    wrong.append('seed %d: status %d: %s' % (seed, status, text[-400:]))
            t.ok(
                '%d networks %s' % (o.nets, ' '.join(form) or 'as they come'),
                not wrong,
                '\n'.join(wrong[:5]),
            )
    t.done()


main()
