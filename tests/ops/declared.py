# SPDX-License-Identifier: Apache-2.0
"""What the file says of shapes and operands, and what holds: small graphs with answers worked out
by hand.

    declared.py --inlay INLAY"""
import math
import struct

import onnx
from by_hand import F32, I64, floats, judge, run
from onnx import make_model, make_node, make_tensor, make_value


def wide_slope(dims):
    """A slope goes by the other operand: it makes nothing wider."""
    slope = floats('s', dims, [2] * 3)
    return make_model(
        [make_node('PRelu', ['x', 's'], ['y'])],
        [make_value('x', F32, [1, 3])],
        [make_value('y', F32, [1, 3])],
        [slope],
    )


def windows_rounded_up(told=True):
    """ONNX's own inference, before opset 22, counts a window that would begin in the padding behind
    the image; values that it declared so, and those behind them (told: not these alone), are
    smaller."""
    model = make_model(
        [
            make_node(
                'AveragePool', ['x'], ['a'], kernel_shape=[2], strides=[2], pads=[1, 1], ceil_mode=1
            ),
            make_node('Neg', ['a'], ['y']),
        ],
        [make_value('x', F32, [1, 1, 3])],
        [make_value('y', F32, [1, 1, 3]), make_value('a', F32, [1, 1, 3])][: 1 + told],
        [],
        19,
    )
    return (
        model,
        [floats('x', [1, 1, 3], [1, 2, 4])],
        [floats('y', [1, 1, 2], [-1, -3]), floats('a', [1, 1, 2], [1, 3])][: 1 + told],
    )


def padded_channels_last():
    """Rows and columns, another number on each side, before the image is reshaped and turned: the
    Conv pads where they were."""
    model = make_model(
        [
            make_node('Pad', ['x', 'p'], ['a']),
            make_node('Reshape', ['a', 's'], ['b']),
            make_node('Transpose', ['b'], ['c'], perm=[1, 0, 3, 2]),
            make_node('Conv', ['c', 'w'], ['y']),
        ],
        [make_value('x', F32, [1, 2, 2, 1])],
        [make_value('y', F32, [1, 1, 3, 4])],
        [
            make_tensor('p', I64, [8], struct.pack('<8q', 0, 1, 0, 0, 0, 2, 2, 0)),
            make_tensor('s', I64, [4], struct.pack('<4q', 1, 1, 5, 4)),
            floats('w', [1, 1, 2, 2], [1, 10, 100, 1000]),
        ],
    )
    return (
        model,
        [floats('x', [1, 2, 2, 1], [1, 2, 3, 4])],
        [floats('y', [1, 1, 3, 4], [2010, 4231, 403, 0, 20, 42, 4, 0, 0, 0, 0, 0])],
    )


def kept_corners(producer, last):
    """A scale of one half makes 4 of 9: frameworks keep the corner, the standard's own data goes by
    4.5."""
    resize = make_node(
        'Resize',
        ['x', '', 'half'],
        ['y'],
        mode='linear',
        coordinate_transformation_mode='align_corners',
    )
    model = make_model(
        [resize],
        [make_value('x', F32, [1, 1, 9])],
        [make_value('y', F32, [1, 1, 4])],
        [floats('half', [3], [1, 1, 0.5])],
    )
    return (
        model + onnx.put(2, producer),
        [floats('x', [1, 1, 9], range(9))],
        [floats('y', [1, 1, 4], [last * i / 3 for i in range(4)])],
    )


def centred(nearest, want):
    """Places that fall on elements, where numbers as they are rounded decide which it is."""
    resize = make_node(
        'Resize',
        ['x', '', 'scales'],
        ['y'],
        mode='nearest',
        nearest_mode=nearest,
        coordinate_transformation_mode='half_pixel_symmetric',
    )
    model = make_model(
        [resize],
        [make_value('x', F32, [1, 1, 5])],
        [make_value('y', F32, [1, 1, 12])],
        [floats('scales', [3], [1, 1, 2.5])],
        19,
    )
    return model, [floats('x', [1, 1, 5], range(5))], [floats('y', [1, 1, 12], want)]


def of_one_slope(x, slope, declared):
    """A slope of one number, with any dimensions of length 1, serves any operand."""
    count = math.prod(x)
    model = make_model(
        [make_node('PRelu', ['x', 's'], ['y'])],
        [make_value('x', F32, x)],
        [make_value('y', F32, declared)],
        [floats('s', slope, [2])],
    )
    return (
        model,
        [floats('x', x, [-1, 3, -2][:count])],
        [floats('y', declared, [-2, 3, -4][:count])],
    )


def bias_of_rows():
    """A square product whose bias is of its rows, and a factor for each column: no bias of columns
    is made of them."""
    model = make_model(
        [make_node('Gemm', ['x', 'w', 'rows'], ['p']), make_node('Mul', ['p', 'columns'], ['y'])],
        [make_value('x', F32, [2, 2])],
        [make_value('y', F32, [2, 2])],
        [
            floats('w', [2, 2], [1, 0, 0, 1]),
            floats('rows', [2, 1], [10, 20]),
            floats('columns', [2], [1, 10]),
        ],
    )
    return model, [floats('x', [2, 2], [1, 2, 3, 4])], [floats('y', [2, 2], [11, 120, 23, 240])]


def declared_otherwise(dims):
    """[2,3], of which the file says `dims`."""
    model = make_model(
        [make_node('Neg', ['x'], ['y'])],
        [make_value('x', F32, [2, 3])],
        [make_value('y', F32, dims)],
    )
    numbers = [1, 2, 3, 4, 5, 6]
    return model, [floats('x', [2, 3], numbers)], [floats('y', [2, 3], [-n for n in numbers])]


CASES = (windows_rounded_up, padded_channels_last, bias_of_rows)


def check(t, inlay):
    bad = judge(inlay, windows_rounded_up(False))
    t.ok('windows rounded up, of which the file says nothing', not bad, bad)
    for producer, last in (('pytorch', 8), ('', 24 / 3.5)):
        bad = judge(inlay, kept_corners(producer, last))
        t.ok('corners by "%s"' % producer, not bad, bad)
    for nearest, want in (
        ('floor', [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4]),
        ('ceil', [0, 1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 4]),
    ):
        bad = judge(inlay, centred(nearest, want))
        t.ok('the middle of both images, ' + nearest, not bad, bad)
    for dims, wanted in (([3], ''), ([1, 3], ''), ([3, 1], 'status 65'), ([1, 1, 3], 'status 65')):
        want = [floats('y', [1, 3], [-2, 0, 3])]
        bad = judge(inlay, (wide_slope(dims), [floats('x', [1, 3], [-1, 0, 3])], want))
        t.ok(
            'a slope of %s' % dims,
            bad[:9] == wanted and (not wanted or 'does not broadcast' in bad),
            bad,
        )
    for x, slope, declared in (
        ([], [1], [1]),
        ([], [1], []),
        ([], [1, 1], [1, 1]),
        ([1], [1, 1], [1]),
        ([3], [1, 1], [1, 3]),
        ([3], [], [3]),
    ):
        bad = judge(inlay, of_one_slope(x, slope, declared))
        t.ok('a slope of %s for %s, declared as %s' % (slope, x, declared), not bad, bad)
    for dims in ([], [2, 1, 3], [1, 2, 3], [1, 'n', 3, 1]):
        bad = judge(inlay, declared_otherwise(dims))
        t.ok('declared as %s, which is no other shape' % dims, not bad, bad)
    for dims in ([3, 2], [6], [2, 1], [2, 3, 2], [1, 'n', 2]):
        bad = judge(inlay, declared_otherwise(dims))
        t.ok('declared as %s, which is another shape' % dims, bad.startswith('status 65'), bad)


if __name__ == '__main__':
    run(check, CASES)
