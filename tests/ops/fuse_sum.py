# SPDX-License-Identifier: Apache-2.0
"""Convolutions of one image that are added become one (pass `fuse_sum`): the same answers as
without the pass but for the last digits. What only looks like it stays.

    fuse_sum.py --inlay INLAY"""
import float_nets
import onnx

F16 = onnx.CODES['float16']


class Net(float_nets.Net):
    def conv(self, x, ic, oc, kh=3, kw=3, bias=True, **attrs):
        """Of as large a result as its image, where strides are 1."""
        dilations = attrs.get('dilations', [1, 1])
        around = [d * (k - 1) // 2 for d, k in zip(dilations, (kh, kw))] * 2
        weights = self.floats(oc, ic // attrs.get('group', 1), kh, kw)
        return self.node(
            'Conv',
            x,
            weights,
            *([self.floats(oc)] if bias else []),
            **dict({'pads': around}, **attrs)
        )

    def norm(self, x, channels):
        values = [self.floats(channels) for _ in range(3)]
        variance = self.constant(
            float_nets.F, 'f', [channels], [self.random.uniform(0.5, 2) for _ in range(channels)]
        )
        return self.node('BatchNormalization', x, *values, variance)

    def sum(self, *terms):
        y = terms[0]
        for term in terms[1:]:
            y = self.node('Add', y, term)
        return y


def repvgg(n):
    return [2, 6, 9, 11], n.node(
        'Relu', n.sum(n.conv('x', 6, 6), n.conv('x', 6, 6, 1, 1), n.norm('x', 6))
    )


def with_strides(n):
    at = {'strides': [2, 2]}
    return [1, 4, 9, 12], n.node(
        'Relu', n.sum(n.conv('x', 4, 8, 1, 1, **at), n.conv('x', 4, 8, **at))
    )


def depthwise(n):
    """As MobileOne: several of one window, a smaller one, a normalization."""
    terms = [n.conv('x', 8, 8, group=8, bias=k > 0) for k in range(3)]
    return [1, 8, 10, 10], n.node(
        'Relu', n.sum(n.norm('x', 8), *terms, n.conv('x', 8, 8, 1, 1, group=8))
    )


def points(n):
    return [1, 5, 6, 7], n.node(
        'Relu', n.sum(n.norm('x', 5), n.conv('x', 5, 5, 1, 1), n.conv('x', 5, 5, 1, 1, bias=False))
    )


def large_window(n):
    return [1, 4, 20, 20], n.node(
        'Relu',
        n.sum(
            n.conv('x', 4, 4, 13, 13, group=4, bias=False),
            n.conv('x', 4, 4, 5, 3, group=4, bias=False),
        ),
    )


def position(n):
    """The image itself, and groups of more than one channel."""
    return [1, 8, 7, 7], n.node(
        'Relu', n.sum('x', n.conv('x', 8, 8, group=2), n.conv('x', 8, 8, 1, 1, group=2))
    )


def wide_taps(n):
    """Taps that lie apart, the smaller window's as far."""
    apart = {'dilations': [2, 2]}
    return [1, 3, 14, 14], n.node(
        'Relu',
        n.sum(
            n.conv('x', 3, 5, 5, 5, **apart), n.conv('x', 3, 5, **apart), n.conv('x', 3, 5, 1, 1)
        ),
    )


def at_a_corner(n):
    """Padding in front alone: the smaller window lies at the end of the larger one."""
    return [1, 3, 8, 8], n.node(
        'Relu',
        n.sum(n.conv('x', 3, 4, pads=[2, 2, 0, 0]), n.conv('x', 3, 4, 2, 1, pads=[1, 0, 0, 0])),
    )


TAKEN = [repvgg, with_strides, depthwise, points, large_window, position, wide_taps, at_a_corner]


def across(n):
    """Neither window lies within the other."""
    return [1, 3, 8, 8], n.sum(n.conv('x', 3, 4, 1, 3), n.conv('x', 3, 4, 3, 1))


def between_taps(n):
    return [1, 3, 14, 14], n.sum(n.conv('x', 3, 4, dilations=[2, 2]), n.conv('x', 3, 4))


def other_groups(n):
    return [1, 4, 8, 8], n.sum(n.conv('x', 4, 4, group=4), n.conv('x', 4, 4, 1, 1))


def other_image(n):
    return [1, 4, 8, 8], n.sum(n.conv('x', 4, 4), n.conv(n.node('Sigmoid', 'x'), 4, 4, 1, 1))


def activated(n):
    return [1, 4, 8, 8], n.sum(n.conv('x', 4, 4), n.node('Tanh', n.conv('x', 4, 4, 1, 1)))


def read_again(n):
    y = n.conv('x', 4, 4)
    return [1, 4, 8, 8], n.node(
        'Concat', n.sum(y, n.conv('x', 4, 4, 1, 1)), n.sum(y, n.norm('x', 4)), axis=1
    )


def twice(n):
    """A convolution and itself."""
    y = n.conv('x', 4, 4)
    return [1, 4, 8, 8], n.sum(y, y)


def spread(n):
    """A sum of one column of pixels and of a whole image."""
    return [1, 4, 8, 8], n.sum(n.conv('x', 4, 4), n.conv('x', 4, 4, 3, 8, pads=[1, 0, 1, 0]))


def narrow(n):
    """Weights of 16 bits would become wider."""
    halves = n.constant(F16, 'e', [4, 4, 3, 3], [n.random.uniform(-1, 1) for _ in range(144)])
    y = n.node('Conv', 'x', n.node('Cast', halves, to=float_nets.F), pads=[1] * 4)
    return [1, 4, 8, 8], n.sum(y, n.conv('x', 4, 4, 1, 1))


LEFT = [
    across,
    between_taps,
    other_groups,
    other_image,
    activated,
    read_again,
    twice,
    spread,
    narrow,
]

float_nets.judge_pass('fuse_sum', Net, TAKEN, LEFT)
