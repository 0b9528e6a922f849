# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 with random weights on an emulated Cortex-M7 with 16 MB of RAM: its weights of 102 MB
lie in a serial flash, here a file that is read page by page. At most 256 KiB of them are resident,
each byte is read once a run, and the results are the bits of the same C on the host.

    serial_flash.py --inlay INLAY"""
import argparse
import array
import os
import random

import cores
import host
import image
import onnx
import tap
from onnx import make_model, make_node, make_tensor, make_value

WINDOW = 256 << 10
STAGES = ((64, 256, 3), (128, 512, 4), (256, 1024, 6), (512, 2048, 3))
# Code and constants share the memory at 0; all of the external RAM is for the arena.
CORE = next(c for c in cores.CORES if c.name == 'm7')._replace(
    code=(0, 21), const=(0x200000, 21), ram=(0x60000000, 24)
)


class Network:
    """Convolutions with a bias, as exporters leave them behind BatchNormalization."""

    def __init__(self):
        self.nodes, self.weights = [], []
        draw = random.Random(5)
        self.numbers = array.array('f', (draw.gauss(0, 1) for _ in range(1 << 16)))

    def weight(self, dims, size):
        count = 1
        for d in dims:
            count *= d
        begin = 977 * len(self.weights) % 4096
        some = array.array('f', (size * v for v in self.numbers[begin:] + self.numbers[:begin]))
        name = 'w%d' % len(self.weights)
        self.weights.append(
            make_tensor(name, 1, dims, (some * (count // len(some) + 1))[:count].tobytes())
        )
        return name

    def node(self, op, inputs, **attributes):
        name = 'v%d' % len(self.nodes)
        self.nodes.append(make_node(op, inputs, [name], name, **attributes))
        return name

    def conv(self, x, into, out, side, stride):
        w = self.weight([out, into, side, side], (2 / (into * side * side)) ** 0.5)
        pad = side // 2
        return self.node(
            'Conv', [x, w, self.weight([out], 0.1)], strides=[stride, stride], pads=[pad] * 4
        )

    def relu(self, x):
        return self.node('Relu', [x])

    def block(self, x, into, middle, out, stride):
        y = self.relu(self.conv(x, into, middle, 1, 1))
        y = self.relu(self.conv(y, middle, middle, 3, stride))
        y = self.conv(y, middle, out, 1, 1)
        beside = self.conv(x, into, out, 1, stride) if into != out else x
        return self.relu(self.node('Add', [y, beside]))

    def model(self):
        x = self.node(
            'MaxPool',
            [self.relu(self.conv('x', 3, 64, 7, 2))],
            kernel_shape=[3, 3],
            strides=[2, 2],
            pads=[1] * 4,
        )
        into = 64
        for number, (middle, out, blocks) in enumerate(STAGES):
            for i in range(blocks):
                x = self.block(x, into, middle, out, 2 if number and not i else 1)
                into = out
        x = self.node('Flatten', [self.node('GlobalAveragePool', [x])])
        self.nodes.append(
            make_node(
                'Gemm',
                [x, self.weight([1000, into], 0.02), self.weight([1000], 0.1)],
                ['y'],
                'y',
                transB=1,
            )
        )
        return make_model(
            self.nodes,
            [make_value('x', 1, [1, 3, 224, 224])],
            [make_value('y', 1, [1, 1000])],
            self.weights,
        )


def check(t, inlay, work):
    model, out = os.path.join(work, 'model.onnx'), os.path.join(work, 'out')
    with open(model, 'wb') as f:
        f.write(Network().model())
    image.must(
        [
            inlay,
            'compile',
            model,
            '-o',
            out,
            '-n',
            'net',
            '-q',
            '--target',
            CORE.target,
            '--weights=stream',
            '--window=%d' % WINDOW,
        ]
    )
    man = host.manifest(out, 'net')
    stream = man['weights']['stream']
    draw = random.Random(6)
    picture = array.array('f', (draw.uniform(-2, 2) for _ in range(3 * 224 * 224)))
    inputs = [onnx.Tensor('x', 1, [1, 3, 224, 224], picture.tobytes())]
    resident = stream['window_used'] + stream['resident_used']
    size = man['weights']['size']
    t.ok('%d bytes of %d are resident' % (resident, size), resident <= WINDOW < size)
    t.ok('each is read once: %d bytes a run' % stream['traffic'], stream['traffic'] <= size)
    image.write_case(work, 'net', man, inputs, out, True)
    image.build(CORE, work, out, '-O2')
    status, text = image.emulate(CORE, work, limit=7200)
    if not t.ok('it runs', status == 0, text):
        return
    flags = cores.host_flags(CORE)
    if flags is None:
        return t.skip("the host's answer bit for bit", 'no fused multiply-add here')
    there = os.path.join(work, 'host')
    os.mkdir(there)
    want = image.on_host(there, 'net', man, inputs, out, flags)
    t.ok(
        "the host's answer bit for bit",
        [a.raw for a in image.read_outputs(work, man)] == [b.raw for b in want],
    )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    o = p.parse_args()
    t = tap.Tap()
    if cores.missing(CORE):
        t.skip('ResNet-50 from a serial flash', cores.missing(CORE) + ' is not here')
        return t.done()
    with host.Work() as work:
        check(t, o.inlay, work)
    t.done()


main()
