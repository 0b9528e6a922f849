# SPDX-License-Identifier: Apache-2.0
"""Well-known architectures as ONNX files of a few KB (all weights are ConstantOfShape), from their
published descriptions: what the planner is measured on where no model file can be had.

    networks.py FOLDER [NAME..]      writes FOLDER/NAME.onnx"""
import os
import random
import struct
import sys

import onnx


class Net:
    """Grows node by node; a tensor is (name, channels, height, width)."""

    def __init__(self, channels, height, width=None):
        self.nodes, self.weights, self.shapes, self.n = [], [], {}, 0
        self.input = ('in', channels, height, width or height)

    def name(self, what):
        self.n += 1
        return '%s%d' % (what, self.n)

    def weight(self, *dims):
        """A constant of these dimensions; the shape's own tensor is shared."""
        if dims not in self.shapes:
            self.shapes[dims] = shape = self.name('shape')
            self.weights.append(
                onnx.make_tensor(
                    shape, onnx.CODES['int64'], [len(dims)], struct.pack('<%dq' % len(dims), *dims)
                )
            )
        out = self.name('w')
        self.nodes.append(onnx.make_node('ConstantOfShape', [self.shapes[dims]], [out]))
        return out

    def node(self, op, ins, channels, height, width, **attrs):
        out = self.name('t')
        self.nodes.append(onnx.make_node(op, ins, [out], **attrs))
        return (out, channels, height, width)

    def window(self, op, ins, x, channels, k, stride, **attrs):
        """'Same' padding, the smaller half before."""
        out, pads = [-(-d // stride) for d in x[2:]], []
        for d, o in zip(x[2:], out):
            total = max(0, (o - 1) * stride + k - d)
            pads.append((total // 2, total - total // 2))
        return self.node(
            op,
            ins,
            channels,
            out[0],
            out[1],
            kernel_shape=[k, k],
            strides=[stride, stride],
            pads=[p[0] for p in pads] + [p[1] for p in pads],
            **attrs
        )

    def conv(self, x, channels, k=1, stride=1, depthwise=False, relu=True):
        group = x[1] if depthwise else 1
        y = self.window(
            'Conv',
            [x[0], self.weight(channels, x[1] // group, k, k), self.weight(channels)],
            x,
            channels,
            k,
            stride,
            group=group,
        )
        return self.relu(y) if relu else y

    def relu(self, x):
        return self.node('Relu', [x[0]], *x[1:])

    def pool(self, op, x, k=3, stride=1):
        return self.window(op, [x[0]], x, x[1], k, stride)

    def add(self, x, y):
        return self.node('Add', [x[0], y[0]], *x[1:])

    def concat(self, parts):
        return self.node(
            'Concat', [p[0] for p in parts], sum(p[1] for p in parts), *parts[0][2:], axis=1
        )

    def resize(self, x, times):
        scales = self.name('scales')
        self.weights.append(
            onnx.make_tensor(
                scales, onnx.CODES['float32'], [4], struct.pack('<4f', 1, 1, times, times)
            )
        )
        return self.node(
            'Resize', [x[0], '', scales], x[1], x[2] * times, x[3] * times, mode='nearest'
        )

    def classify(self, x, classes=1000):
        y = self.node('GlobalAveragePool', [x[0]], x[1], 1, 1)
        y = self.node('Flatten', [y[0]], x[1], 1, 1)
        return self.node('Gemm', [y[0], self.weight(x[1], classes)], classes, 1, 1), [1, classes]

    def write(self, path, *outputs):
        """Outputs are (tensor, dimensions), or tensors."""
        named = [o if isinstance(o[0], tuple) else (o, [1] + list(o[1:])) for o in outputs]
        model = onnx.make_model(
            self.nodes,
            [onnx.make_value('in', 1, [1] + list(self.input[1:]))],
            [onnx.make_value(t[0], 1, dims) for t, dims in named],
            self.weights,
            opset=13,
        )
        with open(path, 'wb') as f:
            f.write(model)


def divisible(v, d=8):
    n = max(d, int(v + d / 2) // d * d)
    return n + d if n < 0.9 * v else n


def inverted(net, x, expand, channels, k, stride):
    """An inverted residual block."""
    y = net.conv(x, x[1] * expand) if expand != 1 else x
    y = net.conv(y, y[1], k, stride, True)
    y = net.conv(y, channels, relu=False)
    return net.add(x, y) if stride == 1 and x[1] == channels else y


def mobilenet_v2(width, size, last=1280):
    net = Net(3, size)
    x = net.conv(net.input, divisible(32 * width), 3, 2)
    for expand, channels, n, stride in (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ):
        for i in range(n):
            x = inverted(net, x, expand, divisible(channels * width), 3, 1 if i else stride)
    return net, [net.classify(net.conv(x, max(last, int(last * width))))]


def mobilenet_v1(width, size, classes=1000):
    net = Net(3, size)
    x = net.conv(net.input, int(32 * width), 3, 2)
    for channels, stride in (
        ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2))
        + ((512, 1),) * 5
        + ((1024, 2), (1024, 1))
    ):
        x = net.conv(net.conv(x, x[1], 3, stride, True), int(channels * width))
    return net, [net.classify(x, classes)]


def efficientnet_lite0(size):
    net = Net(3, size)
    x = net.conv(net.input, 32, 3, 2)
    for expand, k, stride, channels, n in (
        (1, 3, 1, 16, 1),
        (6, 3, 2, 24, 2),
        (6, 5, 2, 40, 2),
        (6, 3, 2, 80, 3),
        (6, 5, 1, 112, 3),
        (6, 5, 2, 192, 4),
        (6, 3, 1, 320, 1),
    ):
        for i in range(n):
            x = inverted(net, x, expand, channels, k, 1 if i else stride)
    return net, [net.classify(net.conv(x, 1280))]


def nasnet_a(size=224, filters=44, repeats=4):
    """NASNet-A (mobile): cells of separable convolutions and pools that read the two cells
    before."""
    net = Net(3, size)

    def separable(x, f, k, stride=1):
        y = net.relu(x)
        y = net.conv(net.conv(y, y[1], k, stride, True, False), f)
        return net.conv(net.conv(y, f, k, 1, True, False), f, relu=False)

    def fit(before, x, f):
        if before[2] != x[2]:
            before = net.pool('AveragePool', before, 1, 2)
        return net.conv(net.relu(before), f, relu=False)

    def normal(x, before, f):
        p, c = fit(before, x, f), net.conv(net.relu(x), f, relu=False)
        mean = lambda t: net.pool('AveragePool', t)
        pairs = [
            (separable(c, f, 5), separable(p, f, 3)),
            (separable(p, f, 5), separable(p, f, 3)),
            (mean(c), p),
            (mean(p), mean(p)),
            (separable(c, f, 3), c),
        ]
        return net.concat([p] + [net.add(a, b) for a, b in pairs])

    def reduction(x, before, f):
        p, c = fit(before, x, f), net.conv(net.relu(x), f, relu=False)
        b1 = net.add(separable(c, f, 5, 2), separable(p, f, 7, 2))
        b2 = net.add(net.pool('MaxPool', c, 3, 2), separable(p, f, 7, 2))
        b3 = net.add(net.pool('AveragePool', c, 3, 2), separable(p, f, 5, 2))
        b4 = net.add(net.pool('AveragePool', b1), b2)
        return net.concat([b2, b3, b4, net.add(separable(b1, f, 3), net.pool('MaxPool', c, 3, 2))])

    before = x = net.conv(net.input, 32, 3, 2, relu=False)
    for f in (filters // 4, filters // 2):
        before, x = x, reduction(x, before, f)
    for stage in range(3):
        f = filters << stage
        if stage:
            before, x = x, reduction(x, before, f)
        for _ in range(repeats):
            before, x = x, normal(x, before, f)
    return net, [net.classify(net.relu(x))]


def small_world(rng, nodes, neighbours=4, rewire=0.75):
    """Watts-Strogatz, edges from the smaller to the greater number."""
    ring = sorted(
        {(i, (i + d) % nodes) for i in range(nodes) for d in range(1, neighbours // 2 + 1)}
    )
    out = set()
    for u, v in ring:
        if rng.random() < rewire:
            w = rng.randrange(nodes)
            while w == u or (u, w) in out:
                w = rng.randrange(nodes)
            v = w
        out.add((u, v))
    return {(min(e), max(e)) for e in out if e[0] != e[1]}


def randwire(size=224, channels=78, nodes=32, seed=1):
    net, rng = Net(3, size), random.Random(seed)
    x = net.conv(net.conv(net.input, channels // 2, 3, 2), channels, 3, 2)

    def total(parts):
        y = parts[0]
        for z in parts[1:]:
            y = net.add(y, z)
        return y

    for stage in range(3):
        edges, made = small_world(rng, nodes), {}
        for v in range(nodes):
            ins = [made[a] for a, b in sorted(edges) if b == v]
            y = net.relu(total(ins or [x]))
            y = net.conv(y, y[1], 3, 1 if ins else 2, True, False)
            made[v] = net.conv(y, channels << stage, relu=False)
        x = total([made[v] for v in range(nodes) if not any(a == v for a, _ in edges)])
    return net, [net.classify(net.conv(x, 1280))]


def unet(size=96, channels=8, depth=4):
    """Skip connections across the whole net: two and more tensors cross every cut."""
    net, skips = Net(3, size), []
    x = net.input
    for level in range(depth):
        x = net.conv(net.conv(x, channels << level, 3), channels << level, 3)
        skips.append(x)
        x = net.pool('MaxPool', x, 2, 2)
    x = net.conv(x, channels << depth, 3)
    for level in reversed(range(depth)):
        x = net.conv(net.resize(x, 2), channels << level, 3)
        x = net.conv(net.concat([skips[level], x]), channels << level, 3)
    return net, [net.conv(x, 1, relu=False)]


def pyramid(size=256, width=16):
    """A backbone with three heads of a feature pyramid, SSD-like: several tensors cross each cut
    behind it."""
    net, levels = Net(3, size), []
    x = net.conv(net.input, width, 3, 2)
    for i in range(4):
        x = net.conv(net.conv(x, x[1], 3, 2, True), x[1] * 2)
        x = net.conv(net.conv(x, x[1], 3, 1, True), x[1])
        levels.append(x)
    top, heads = net.conv(levels[3], 64), []
    for level in (3, 2, 1):
        if level < 3:
            top = net.add(net.conv(levels[level], 64), net.resize(top, 2))
        y = net.conv(net.conv(top, 64, 3, 1, True), 64)
        heads += [net.conv(y, 24, relu=False), net.conv(y, 12, relu=False)]
    return net, heads


NETWORKS = {
    'syn_mbv2_10_224': lambda: mobilenet_v2(1.0, 224),
    'syn_mbv2_035_144': lambda: mobilenet_v2(0.35, 144),
    'syn_mbv2_035_224': lambda: mobilenet_v2(0.35, 224),
    'syn_mbv1_10_224': lambda: mobilenet_v1(1.0, 224),
    'syn_mbv1_025_96': lambda: mobilenet_v1(0.25, 96, 2),
    'syn_mbv1_025_128': lambda: mobilenet_v1(0.25, 128),
    'syn_mbv1_025_224': lambda: mobilenet_v1(0.25, 224),
    'syn_efflite0_224': lambda: efficientnet_lite0(224),
    'syn_nasnetA_mobile': nasnet_a,
    'syn_randwire_ws32': randwire,
    'syn_unet_96': unet,
    'syn_pyramid_256': pyramid,
}


def main():
    for name in sys.argv[2:] or NETWORKS:
        net, outputs = NETWORKS[name]()
        net.write(os.path.join(sys.argv[1], name + '.onnx'), *outputs)


if __name__ == '__main__':
    main()
