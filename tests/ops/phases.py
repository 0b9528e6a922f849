# SPDX-License-Identifier: Apache-2.0
"""Convolutions of an image that was taken apart into phases (pass `phases`) read the image itself:
the same answers as without the pass but for the last digits. What only looks like it stays.

    phases.py --inlay INLAY"""
import float_nets
import onnx

I64 = onnx.CODES['int64']


class Net(float_nets.Net):
    def ints(self, *values):
        return self.constant(I64, 'q', [len(values)], values)

    def slice(self, x, axis, start, step):
        return self.node(
            'Slice', x, self.ints(start), self.ints(2**31 - 1), self.ints(axis), self.ints(step)
        )

    def phase(self, x, row, column, rows, columns):
        """By two Slices, one, or none where all is taken."""
        if rows > 1:
            x = self.slice(x, 2, row, rows)
        return self.slice(x, 3, column, columns) if columns > 1 else x

    def phases(self, rows, columns, by_column=False, x='x'):
        places = [(r, c) for r in range(rows) for c in range(columns)]
        if by_column:
            places.sort(key=lambda place: place[::-1])
        return self.node('Concat', *(self.phase(x, r, c, rows, columns) for r, c in places), axis=1)

    def conv(self, x, ic, oc, kh=3, kw=3, **attrs):
        return self.node(
            'Conv',
            x,
            self.floats(oc, ic // attrs.get('group', 1), kh, kw),
            self.floats(oc),
            **attrs
        )


def focus(n):
    """As YOLOX begins: rows first, by columns."""
    return [1, 3, 20, 16], n.conv(n.phases(2, 2, True), 12, 16, pads=[1] * 4)


def by_rows(n):
    return [2, 3, 12, 18], n.node(
        'Relu', n.conv(n.phases(2, 2), 12, 5, pads=[0, 1, 2, 1], strides=[2, 1])
    )


def wide(n):
    """Phases of columns alone, or more of rows than of columns."""
    return [1, 2, 10, 12], n.conv(n.phases(1, 3), 6, 8, 2, 3)


def uneven(n):
    return [1, 2, 12, 10], n.conv(
        n.phases(3, 2, True), 12, 7, 3, 1, strides=[1, 2], pads=[1, 0, 1, 0]
    )


def at_once(n):
    """One Slice of both axes."""
    parts = [
        n.node('Slice', 'x', n.ints(r, c), n.ints(14, 10), n.ints(2, 3), n.ints(2, 2))
        for r in (0, 1)
        for c in (0, 1)
    ]
    return [1, 3, 14, 10], n.conv(n.node('Concat', *parts, axis=1), 12, 8, 1, 1)


def block(n):
    return [1, 3, 12, 18], n.conv(n.node('SpaceToDepth', 'x', blocksize=3), 27, 8, pads=[1] * 4)


def cropped(n):
    """Phases of a part of the image."""
    part = n.node('Slice', 'x', n.ints(1, 2), n.ints(13, 14), n.ints(2, 3))
    return [1, 3, 14, 15], n.conv(n.phases(2, 2, x=part), 12, 4)


TAKEN = [focus, by_rows, wide, uneven, at_once, block, cropped]


def other_order(n):
    """No order of rows or columns."""
    places = [(0, 0), (1, 1), (0, 1), (1, 0)]
    return [1, 3, 8, 8], n.conv(
        n.node('Concat', *(n.phase('x', r, c, 2, 2) for r, c in places), axis=1), 12, 4
    )


def twice(n):
    places = [(0, 0), (0, 1), (1, 0), (1, 0)]
    return [1, 3, 8, 8], n.conv(
        n.node('Concat', *(n.phase('x', r, c, 2, 2) for r, c in places), axis=1), 12, 4
    )


def dilated(n):
    return [1, 3, 16, 16], n.conv(n.phases(2, 2), 12, 4, dilations=[2, 2])


def groups(n):
    return [1, 3, 8, 8], n.conv(n.phases(2, 2), 12, 8, group=4)


def read_again(n):
    parts = n.phases(2, 2)
    return [1, 3, 8, 8], n.node('Concat', n.conv(parts, 12, 4, pads=[1] * 4), parts, axis=1)


def odd(n):
    """A row is left over: it is no phase of whole blocks."""
    rows = [n.node('Slice', 'x', n.ints(r), n.ints(r + 7), n.ints(2), n.ints(2)) for r in (0, 1)]
    return [1, 3, 9, 8], n.conv(n.node('Concat', *rows, axis=1), 6, 4)


def along(n):
    """Parts of the rows, one below the other."""
    return [1, 3, 8, 8], n.conv(
        n.node('Concat', n.slice('x', 2, 0, 2), n.slice('x', 2, 1, 2), axis=2), 3, 4
    )


LEFT = [other_order, twice, dilated, groups, read_again, odd, along]


float_nets.judge_pass('phases', Net, TAKEN, LEFT)
