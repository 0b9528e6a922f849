# SPDX-License-Identifier: Apache-2.0
"""Random networks of images, each from a seed: `Net(seed).save(folder)` writes a test folder with
an input."""
import os
import random
import struct

import onnx

FLOAT = 1


def floats(rng, n):
    return struct.pack('<%df' % n, *(rng.uniform(-1, 1) for _ in range(n)))


KINDS = [
    'conv',
    'conv',
    'conv',
    'depthwise',
    'depthwise',
    'pool',
    'activation',
    'join',
    'add',
    'scale',
]
MORE = [
    'deconv',
    'resize',
    'quantize',
    'quantize',
    'qconv',
    'qconv',
    'half',
    'slice',
    'shuffle',
    'grouped',
]


class Net:
    """A random network: windows of all kinds, sums with what came before, branches that are joined.
    Of odd seeds there are integers, halves, transposed convolutions, shuffles and changes of size
    among them."""

    def __init__(self, seed):
        self.rng, self.nodes, self.weights = random.Random(seed), [], []
        rng = self.rng
        self.dims = {'x': [1, rng.choice([1, 3, 4]), rng.randrange(9, 25), rng.randrange(9, 33)]}
        top, earlier = 'x', []
        for _ in range(rng.randrange(3, 9)):
            same = [e for e in earlier if self.dims[e] == self.dims[top]]
            kind = rng.choice(KINDS + MORE if seed % 2 else KINDS)
            earlier.append(top)
            if kind == 'add' and same:
                top = self.add('Add', [top, rng.choice(same)], self.dims[top])
            elif kind == 'join':
                parts = [self.conv(top, rng.choice([1, 3]), 1, 'SAME') for _ in range(2)]
                top = self.add(
                    'Concat',
                    parts,
                    self.dims[top][:1] + [sum(self.dims[p][1] for p in parts)] + self.dims[top][2:],
                    axis=1,
                )
            elif kind == 'scale':
                top = self.add(
                    'Mul', [top, self.constant([self.dims[top][1], 1, 1])], self.dims[top]
                )
            elif kind == 'activation':
                top = self.add(
                    rng.choice(['Relu', 'Sigmoid', 'HardSwish', 'Tanh']), [top], self.dims[top]
                )
            elif kind == 'pool':
                top = self.pool(top)
            elif kind in MORE:
                top = getattr(self, kind)(top)
            else:
                top = self.conv(
                    top,
                    rng.choice([1, 2, 3, 3, 5]),
                    rng.choice([1, 1, 2]),
                    None,
                    kind == 'depthwise',
                )
        if rng.random() < 0.4:
            top = self.add('GlobalAveragePool', [top], self.dims[top][:2] + [1, 1])
        self.model = onnx.make_model(
            self.nodes,
            [onnx.make_value('x', FLOAT, self.dims['x'])],
            [onnx.make_value(top, FLOAT, self.dims[top])],
            self.weights,
        )

    def keep(self, code, dims, raw):
        self.weights.append(onnx.make_tensor('w%d' % len(self.weights), code, dims, raw))
        return 'w%d' % (len(self.weights) - 1)

    def constant(self, dims):
        n = 1
        for d in dims:
            n *= d
        return self.keep(FLOAT, dims, floats(self.rng, n))

    def add(self, op, ins, dims, **attrs):
        name = 't%d' % len(self.nodes)
        self.nodes.append(onnx.make_node(op, ins, [name], **attrs))
        self.dims[name] = list(dims)
        return name

    def window(self, x, kernel, stride, same, dilation=1):
        """(attributes, dims) of a window; the padding lopsided at times."""
        rng, extent = self.rng, (kernel - 1) * dilation + 1
        pads = (
            [extent // 2] * 4
            if same
            else [rng.randrange(0, max(1, min(kernel, extent // 2 + 1))) for _ in range(4)]
        )
        size = [
            (self.dims[x][2 + i] + pads[i] + pads[2 + i] - extent) // stride + 1 for i in range(2)
        ]
        return dict(kernel_shape=[kernel, kernel], strides=[stride, stride], pads=pads), size

    def grouped(self, x):
        return self.conv(
            x, self.rng.choice([1, 1, 3]), self.rng.choice([1, 1, 2]), None, groups=self.groups(x)
        )

    def groups(self, x):
        return self.rng.choice([g for g in (1, 2, 4, 5) if self.dims[x][1] % g == 0])

    def shuffle(self, x):
        n, c, h, w = self.dims[x]
        g = self.groups(x)
        for dims in ([n, g, c // g, h, w], [n, c, h, w]):
            x = self.add(
                'Reshape',
                [
                    x,
                    self.keep(
                        onnx.CODES['int64'], [len(dims)], struct.pack('<%dq' % len(dims), *dims)
                    ),
                ],
                dims,
            )
            if len(dims) == 5:
                x = self.add('Transpose', [x], [n, c // g, g, h, w], perm=[0, 2, 1, 3, 4])
        return x

    def conv(self, x, kernel, stride, same, depthwise=False, groups=1):
        rng, channels = self.rng, self.dims[x][1]
        dilation = rng.choice([1, 1, 1, 2]) if kernel == 3 else 1
        if min(self.dims[x][2:]) < (kernel - 1) * dilation + 1:
            kernel, dilation, stride = 1, 1, 1
        attrs, size = self.window(x, kernel, stride, same, dilation)
        groups = channels if depthwise else groups
        out = (
            channels
            if depthwise
            else rng.choice([2, 4, 5, 8, 16, 20])
            if groups == 1
            else groups * rng.choice([1, 2, 3, 7])
        )
        ins = [x, self.constant([out, channels // groups, kernel, kernel])]
        if rng.random() < 0.7:
            ins.append(self.constant([out]))
        return self.add(
            'Conv', ins, [1, out] + size, group=groups, dilations=[dilation, dilation], **attrs
        )

    def number(self, code, form, value, dims=()):
        n = 1
        for d in dims:
            n *= d
        return self.keep(code, list(dims), struct.pack('<%d%s' % (n, form), *([value] * n)))

    def deconv(self, x):
        rng, kernel, channels = self.rng, self.rng.choice([2, 3, 4]), self.dims[x][1]
        stride, dilation = rng.choice([1, 2, 3]), rng.choice([1, 1, 2, 3])
        if max(self.dims[x][2:]) > 20:
            return x
        extent, out = (kernel - 1) * dilation + 1, rng.choice([2, 4, 6])
        pads = [rng.randrange(0, min(extent, 3)) for _ in range(4)]
        size = [
            (self.dims[x][2 + i] - 1) * stride + extent - pads[i] - pads[2 + i] for i in range(2)
        ]
        return (
            self.add(
                'ConvTranspose',
                [x, self.constant([channels, out, kernel, kernel])],
                [1, out] + size,
                kernel_shape=[kernel, kernel],
                strides=[stride, stride],
                dilations=[dilation, dilation],
                pads=pads,
            )
            if min(size) > 0
            else x
        )

    def resize(self, x):
        factor, mode = self.rng.choice([0.5, 1.5, 2]), self.rng.choice(
            ['nearest', 'linear', 'cubic']
        )
        if max(self.dims[x][2:]) > 20:
            return x
        scales = self.keep(FLOAT, [4], struct.pack('<4f', 1, 1, factor, factor))
        return self.add(
            'Resize',
            [x, '', scales],
            self.dims[x][:2] + [int(d * factor) for d in self.dims[x][2:]],
            mode=mode,
        )

    def quantize(self, x):
        code, form = self.rng.choice([(2, 'B'), (3, 'b')])
        scale, zero = self.number(FLOAT, 'f', 0.07), self.number(
            code, form, self.rng.randrange(100)
        )
        return self.add(
            'DequantizeLinear',
            [self.add('QuantizeLinear', [x, scale, zero], self.dims[x]), scale, zero],
            self.dims[x],
        )

    def qconv(self, x):
        rng, channels, depthwise = self.rng, self.dims[x][1], self.rng.random() < 0.4
        kernel = rng.choice([1, 3]) if min(self.dims[x][2:]) >= 3 else 1
        attrs, size = self.window(x, kernel, rng.choice([1, 2]), False)
        out = channels if depthwise else rng.choice([2, 5, 8])
        dims = [out, 1 if depthwise else channels, kernel, kernel]
        n = dims[0] * dims[1] * kernel * kernel
        weights = self.keep(
            3, dims, struct.pack('<%db' % n, *(rng.randrange(-127, 128) for _ in range(n)))
        )
        scale, zero, small, none = (
            self.number(FLOAT, 'f', 0.05),
            self.number(2, 'B', 101),
            self.number(FLOAT, 'f', 0.01),
            self.number(3, 'b', 0),
        )
        q = self.add('QuantizeLinear', [x, scale, zero], self.dims[x])
        y = self.add(
            'QLinearConv',
            [q, scale, zero, weights, small, none, scale, zero],
            [1, out] + size,
            group=channels if depthwise else 1,
            **attrs
        )
        return self.add('DequantizeLinear', [y, scale, zero], self.dims[y])

    def half(self, x):
        return self.add(
            'Cast', [self.add('Cast', [x], self.dims[x], to=10)], self.dims[x], to=FLOAT
        )

    def slice(self, x):
        channels = self.dims[x][1]
        if channels < 2:
            return x
        first = self.rng.randrange(channels - 1)
        end = self.rng.randrange(first + 1, channels)
        return self.add(
            'Slice',
            [x] + [self.number(7, 'q', v, [1]) for v in (first, end, 1)],
            self.dims[x][:1] + [end - first] + self.dims[x][2:],
        )

    def pool(self, x):
        kernel = self.rng.choice([2, 3])
        if min(self.dims[x][2:]) < kernel:
            return x
        attrs, size = self.window(x, kernel, self.rng.choice([1, 2]), False)
        if self.rng.random() < 0.5:
            return self.add('MaxPool', [x], self.dims[x][:2] + size, **attrs)
        return self.add(
            'AveragePool',
            [x],
            self.dims[x][:2] + size,
            count_include_pad=self.rng.randrange(2),
            **attrs
        )

    def save(self, folder):
        n = 1
        for d in self.dims['x']:
            n *= d
        data = os.path.join(folder, 'test_data_set_0')
        os.makedirs(data)
        for path, blob in (
            (os.path.join(folder, 'model.onnx'), self.model),
            (
                os.path.join(data, 'input_0.pb'),
                onnx.make_tensor('x', FLOAT, self.dims['x'], floats(self.rng, n)),
            ),
        ):
            with open(path, 'wb') as f:
                f.write(blob)
