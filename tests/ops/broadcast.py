# SPDX-License-Identifier: Apache-2.0
"""An Expand is not made for operators that broadcast (pass `broadcast`): the same answers as
without the pass. Where it gives its result the shape, it stays.

    broadcast.py --inlay INLAY"""
import float_nets
import onnx

I64 = onnx.CODES['int64']
DIMS = [2, 3, 4, 5]


class Net(float_nets.Net):
    def expand(self, x, *dims):
        return self.node('Expand', x, self.constant(I64, 'q', [len(dims)], dims))

    def gate(self, axis):
        """A number of x for all that lie along the axis."""
        return self.node('ReduceMax', 'x', axes=[axis], keepdims=1)


def normalized(n):
    """As PyTorch's normalize()."""
    length = n.node('Clip', n.node('ReduceL2', 'x', axes=[3], keepdims=1), n.floats())
    return DIMS, n.node('Div', 'x', n.expand(length, *DIMS))


def both(n):
    return DIMS, n.node('Sub', n.expand(n.gate(1), *DIMS), n.expand(n.gate(2), *DIMS))


def fewer_dimensions(n):
    return DIMS, n.node(
        'Mul', n.expand(n.node('ReduceMax', 'x', axes=[0, 1], keepdims=0), *DIMS), 'x'
    )


def masked(n):
    mask = n.node('Greater', n.expand(n.gate(3), *DIMS), 'x')
    return DIMS, n.node('Where', mask, n.expand(n.gate(2), *DIMS), 'x')


def read_otherwise(n):
    """The sum broadcasts, what joins does not."""
    wide = n.expand(n.gate(3), *DIMS)
    return DIMS, n.node('Concat', n.node('Add', 'x', wide), wide, axis=1)


TAKEN = [normalized, both, fewer_dimensions, masked, read_otherwise]


def the_only_wide_one(n):
    return DIMS, n.node('Add', n.expand(n.gate(3), *DIMS), n.floats())


def joined(n):
    return DIMS, n.node('Concat', n.expand(n.gate(3), *DIMS), 'x', axis=0)


def one_operand(n):
    return DIMS, n.node('Erf', n.expand(n.gate(1), *DIMS))


LEFT = [the_only_wide_one, joined, one_operand]

float_nets.judge_pass('broadcast', Net, TAKEN, LEFT)
