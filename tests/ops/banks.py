# SPDX-License-Identifier: Apache-2.0
"""Channels that a convolution makes and depthwise ones filter are made some at a time (pass
`banks`) where the arena becomes smaller: the same bits from the C as without the pass, by a plan
that is proved. What only looks like such an expansion stays whole.

    banks.py --inlay INLAY"""
import json
import os

import float_nets
import host
import onnx

F, I8, I32 = (onnx.CODES[t] for t in ('float32', 'int8', 'int32'))
SIZE = 24


class Net(float_nets.Net):
    def conv(self, x, ic, oc, k=1, bias=True, **attrs):
        pads = [k // 2] * 4
        weights = [self.floats(oc, ic // attrs.get('group', 1), k, k)] + [self.floats(oc)] * bias
        return self.node('Conv', x, *weights, pads=pads, **attrs)

    def six(self, x):
        return self.node('Clip', x, self.constant(F, 'f', [], [0]), self.constant(F, 'f', [], [6]))

    def inverted(self, x, ic, wide, oc, stride=2, **attrs):
        """Many channels, each filtered, and few again."""
        wide_one = self.six(self.conv(x, ic, wide))
        return self.conv(
            self.six(self.conv(wide_one, wide, wide, 3, group=wide, strides=[stride] * 2, **attrs)),
            wide,
            oc,
        )

    def scale(self, value):
        return [self.constant(F, 'f', [], [value]), self.constant(I8, 'b', [], [-3])]

    def bytes(self, x, ic, oc, k=1, apart=True, **attrs):
        """QLinearConv, with scales of channels or one of all."""
        group = attrs.get('group', 1)
        n = oc * ic // group * k * k
        weights = self.constant(
            I8, 'b', [oc, ic // group, k, k], [self.random.randint(-127, 127) for _ in range(n)]
        )
        scales = [self.random.uniform(0.002, 0.006) for _ in range(oc)]
        by = (
            [self.constant(F, 'f', [oc], scales), self.constant(I8, 'b', [oc], [0] * oc)]
            if apart
            else [self.constant(F, 'f', [], scales[:1]), self.constant(I8, 'b', [], [0])]
        )
        bias = self.constant(I32, 'i', [oc], [self.random.randint(-999, 999) for _ in range(oc)])
        return self.node(
            'QLinearConv',
            x,
            *self.scale(0.05),
            weights,
            *by,
            *self.scale(0.05),
            bias,
            pads=[k // 2] * 4,
            **attrs
        )


def stem(n, channels=4):
    return n.conv('x', 3, channels)


def end(n, x):
    return n.node('GlobalAveragePool', x)


def inverted(n):
    return [1, 3, SIZE, SIZE], end(n, n.inverted(stem(n), 4, 48, 8))


def uneven(n):
    """Channels that are no whole eights, a window that skips pixels."""
    return [1, 3, SIZE, SIZE], end(n, n.inverted(stem(n), 4, 44, 6, dilations=[2, 2]))


def wide_window(n):
    """The first convolution has a window, too, and neither has a bias."""
    x = n.node('Relu', n.conv(stem(n), 4, 48, 3, False))
    return [1, 3, SIZE, SIZE], end(n, n.conv(x, 48, 48, 3, False, group=48, strides=[2, 2]))


def filtered_twice(n):
    x = n.conv(stem(n), 4, 48)
    x = n.node('Relu', n.conv(x, 48, 48, 3, group=48))
    return [1, 3, SIZE, SIZE], end(n, n.conv(n.conv(x, 48, 48, 3, group=48, strides=[2, 2]), 48, 8))


def twice(n):
    x = n.inverted(stem(n), 4, 48, 8, 1)
    return [1, 3, SIZE, SIZE], end(n, n.inverted(x, 8, 48, 8))


def integers(n, apart=True):
    x = n.node('QuantizeLinear', stem(n), *n.scale(0.05))
    x = n.bytes(x, 4, 48, apart=apart)
    x = n.bytes(x, 48, 48, 3, apart, group=48, strides=[2, 2])
    return [1, 3, SIZE, SIZE], end(
        n, n.node('DequantizeLinear', n.bytes(x, 48, 8, apart=apart), *n.scale(0.05))
    )


def one_scale(n):
    return integers(n, False)


TAKEN = [inverted, uneven, wide_window, filtered_twice, twice, integers, one_scale]


def read_again(n):
    """What lies between the two is needed besides."""
    x = n.conv(stem(n), 4, 48)
    y = n.conv(x, 48, 48, 3, group=48)
    return [1, 3, SIZE, SIZE], n.node('Add', y, x)


def few_groups(n):
    return [1, 3, SIZE, SIZE], end(
        n, n.conv(n.conv(stem(n), 4, 48), 48, 48, 3, group=4, strides=[2, 2])
    )


def several(n):
    """Each channel has two results."""
    return [1, 3, SIZE, SIZE], end(
        n, n.conv(n.conv(stem(n), 4, 48), 48, 96, 3, group=48, strides=[2, 2])
    )


def made_weights(n):
    """Weights that only a run knows."""
    x = n.conv(stem(n), 4, 48)
    taps = n.node('Mul', n.floats(48, 1, 3, 3), n.node('ReduceMean', 'x', keepdims=0))
    return [1, 3, SIZE, SIZE], end(
        n, n.node('Conv', x, taps, pads=[1] * 4, group=48, strides=[2, 2])
    )


LEFT = [read_again, few_groups, several, made_weights]


def banks(manifest):
    return manifest['options'].get('banks', [])


def refuses(model, work):
    """Is a plan of banks refused where the manifest says that they are others?"""
    path = os.path.join(work, 'out-m', 'm.json')
    with open(path) as f:
        text = json.load(f)
    text['options']['banks'] = [0 for _ in banks(text)]
    with open(path, 'w') as f:
        json.dump(text, f)
    return host.run([model.inlay, 'prove', path, model.file])[0] != 0


def check_taken(t, name, model, work):
    whole, banked = model.analyze('--without=banks'), model.analyze()
    t.ok(
        name + ', its arena',
        banked['arena']['size'] < whole['arena']['size'] and any(banks(banked)),
        (banked['arena'], whole['arena'], banks(banked)),
    )
    # `inlay run` has no banks.
    t.ok(name + ', its C', float_nets.results_of_c(model, work) == model.answer())
    t.ok(name + ', other banks are no proof', refuses(model, work))
    # Speed has none, and a limit that holds without them either.
    limit = '--arena-limit=%d' % whole['arena']['size']
    t.ok(
        name + ', where they are of no use',
        not any(banks(model.analyze(f)) for f in ('--optimize=speed', limit)),
    )
    limit = '--arena-limit=%d' % banked['arena']['size']
    t.ok(
        name + ', under a limit', model.analyze(limit)['totals']['macs'] == banked['totals']['macs']
    )


def check_left(t, name, model):
    found, whole = model.analyze(), model.analyze('--without=banks')
    t.ok(name + ', its steps', banks(found) == [] and found['steps'] == whole['steps'])


float_nets.judge_cases(Net, TAKEN, LEFT, check_taken, check_left)
