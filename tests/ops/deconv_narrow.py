# SPDX-License-Identifier: Apache-2.0
"""Transposed convolutions whose constant weights are dequantized: the weights stay in flash as the
file has them, whatever the strides leave of the taps, and the answers are those of weights stored
as float32.

    deconv_narrow.py --inlay INLAY [--count N] [--seed S]"""
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
BITS = {'int8': 8, 'uint8': 8, 'int4': 4}


class Case:
    """A model with one scale, or with one for each channel and a zero point of 0 or, where each
    phase has all of its taps, of any value."""

    def __init__(self, rnd):
        image, kind, group = rnd.choice([1, 2]), rnd.choice(list(BITS)), rnd.choice([1, 1, 2])
        ic, oc = group * rnd.randint(1, 6), rnd.choice([1, 3, 8, 13, 20, 70])
        strides = [rnd.randint(1, 3) for _ in range(image)]
        whole = kind == 'uint8' or rnd.random() < 0.4
        k = [s * rnd.randint(1, 2) if whole else rnd.randint(1, 4) for s in strides]
        channels = group == 1 and rnd.random() < 0.6
        scales = oc if channels else 1
        dims, bits = [ic, oc] + k, BITS[kind]
        count = math.prod(dims)
        zeros = [
            rnd.randint(-3, 3) + (100 if kind == 'uint8' else 0) if whole else 0
            for _ in range(scales)
        ]
        code, sizes = onnx.CODES[kind], [oc] if channels else []
        self.x = [1, ic] + [rnd.randint(2, 6) for _ in k]
        weights = [
            onnx.make_tensor(
                'q',
                code,
                dims,
                onnx.pack_bits([rnd.randrange(1 << bits) for _ in range(count)], bits),
            ),
            onnx.make_tensor(
                's',
                F32,
                sizes,
                struct.pack('<%df' % scales, *(rnd.uniform(0.01, 0.1) for _ in range(scales))),
            ),
            onnx.make_tensor('z', code, sizes, onnx.pack_bits(zeros, bits)),
        ]
        nodes = [
            onnx.make_node(
                'DequantizeLinear', ['q', 's', 'z'], ['w'], **({'axis': 1} if channels else {})
            ),
            onnx.make_node(
                'ConvTranspose', ['x', 'w'], ['y'], group=group, strides=strides, kernel_shape=k
            ),
        ]
        self.model = onnx.make_model(
            nodes,
            [onnx.make_value('x', F32, self.x)],
            [onnx.make_value('y', F32, [None] * len(dims))],
            weights,
            21,
        )
        self.name = '%s %s %s group %d strides %s zero points %s' % (
            kind,
            self.x,
            dims,
            group,
            strides,
            zeros[:3],
        )
        self.kernel = 'deconv_' + {'int8': 'i8', 'uint8': 'u8', 'int4': 'i4'}[kind]


def check(inlay, case, rnd):
    raw = struct.pack(
        '<%df' % math.prod(case.x), *(rnd.uniform(-1, 1) for _ in range(math.prod(case.x)))
    )
    with host.Work() as work:
        path, given = os.path.join(work, 'model.onnx'), os.path.join(work, 'x.pb')
        for name, data in ((path, case.model), (given, onnx.make_tensor('x', F32, case.x, raw))):
            with open(name, 'wb') as f:
                f.write(data)
        answers = []
        for flags in ([], ['--weights-type=float32']):
            out = os.path.join(work, 'out%d' % len(flags))
            status, text = host.run([inlay, 'run', path, '-o', out, '--input', given] + flags)
            assert not status, text
            answers.append(onnx.read_tensor(os.path.join(out, 'output_0.pb')))
        bad = onnx.difference(*answers, rtol=1e-6, atol=1e-6)
        assert not bad, bad
        status, text = host.run([inlay, 'analyze', '--json', path])
        assert not status, text
        kernels = [s['kernel'] for s in json.loads(text)['steps']]
        assert case.kernel in kernels, kernels


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    parser.add_argument('--count', type=int, default=60)
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_args()
    rnd, t = random.Random(options.seed), tap.Tap()
    for _ in range(options.count):
        case = Case(rnd)
        try:
            check(options.inlay, case, rnd)
            t.ok(case.name)
        except AssertionError as e:
            t.fail(case.name, str(e))
    t.done()


main()
