# SPDX-License-Identifier: Apache-2.0
"""Tokens that are the pixels of a Conv's image (pass `image_rows`): the same answers as without the
pass. Where tokens meet one another, or are no image's, they stay.

    image_rows.py --inlay INLAY"""
import float_nets
import onnx

I64 = onnx.CODES['int64']


class Net(float_nets.Net):
    """Of tokens [images][height * width][channels]."""

    images, height, width = 1, 10, 12

    def reshape(self, x, *dims):
        return self.node('Reshape', x, self.constant(I64, 'q', [len(dims)], dims))

    def tokens(self, x, channels):
        flat = self.reshape(x, self.images, channels, self.height * self.width)
        return self.node('Transpose', flat, perm=[0, 2, 1])

    def image(self, x, channels):
        planes = self.node('Transpose', x, perm=[0, 2, 1])
        return self.reshape(planes, self.images, channels, self.height, self.width)

    def linear(self, x, ic, oc):
        return self.node('Add', self.node('MatMul', x, self.floats(ic, oc)), self.floats(oc))

    def norm(self, x, channels, **attributes):
        return self.node(
            'LayerNormalization', x, self.floats(channels), self.floats(channels), **attributes
        )

    def filtered(self, x, channels):
        y = self.node(
            'Conv',
            self.image(x, channels),
            self.floats(channels, 1, 3, 3),
            self.floats(channels),
            group=channels,
            pads=[1] * 4,
        )
        return self.tokens(y, channels)

    def mlp(self, x, channels, hidden):
        y = self.filtered(self.linear(self.norm(x, channels), channels, hidden), hidden)
        return self.node('Add', x, self.linear(self.node('Relu', y), hidden, channels))


def begin(n, channels):
    """(dimensions of x, tokens that are no view of it)"""
    return [n.images, channels, n.height, n.width], n.node('Sigmoid', n.tokens('x', channels))


def mlp(n):
    dims, x = begin(n, 8)
    return dims, n.mlp(x, 8, 40)


def images(n):
    n.images = 2
    dims, x = begin(n, 6)
    return dims, n.mlp(x, 6, 24)


def blocks(n):
    """One after the other: sums are read by a normalization and a sum."""
    dims, x = begin(n, 8)
    return dims, n.mlp(n.mlp(x, 8, 32), 8, 32)


def gated(n):
    """Two products, of which one is filtered."""
    dims, x = begin(n, 8)
    gate = n.filtered(n.linear(x, 8, 24), 24)
    return dims, n.linear(n.node('Mul', gate, n.node('Tanh', n.linear(x, 8, 24))), 24, 8)


def scaled(n):
    """By a number for each channel, and by one for all."""
    dims, x = begin(n, 8)
    y = n.node('Mul', n.node('Mul', n.linear(x, 8, 16), n.floats(16)), n.floats())
    return dims, n.node('Softplus', n.filtered(y, 16))


def read_twice(n):
    """Tokens are an image and, beside that, tokens: what is filtered is the image all the same
    behind."""
    dims, x = begin(n, 8)
    y = n.linear(x, 8, 8)
    return dims, n.node(
        'Concat', n.linear(n.filtered(y, 8), 8, 8), n.node('Softmax', y, axis=1), axis=2
    )


def counted_from_the_front(n):
    """The axis of a normalization is that of tokens; of an image it is another."""
    dims, x = begin(n, 8)
    return dims, n.filtered(n.norm(n.linear(x, 8, 16), 16, axis=2), 16)


TAKEN = [mlp, images, blocks, gated, scaled, read_twice, counted_from_the_front]


def attention(n):
    """Tokens meet one another on both sides of the Conv."""
    dims, x = begin(n, 8)
    return dims, n.node('Softmax', n.filtered(n.node('Softmax', x, axis=1), 8), axis=1)


def products(n):
    """No weights: tokens by tokens."""
    dims, x = begin(n, 120)
    return dims, n.node('Softmax', n.filtered(n.node('MatMul', x, x), 120), axis=1)


def by_token(n):
    """A number for each token."""
    dims, x = begin(n, 8)
    y = n.node('Mul', x, n.node('ReduceMax', n.node('Softmax', x, axis=1), axes=[2], keepdims=1))
    return dims, n.node('Softmax', n.filtered(n.node('Softmax', y, axis=1), 8), axis=1)


LEFT = [attention, products, by_token]

float_nets.judge_pass('image_rows', Net, TAKEN, LEFT)
