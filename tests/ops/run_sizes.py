# SPDX-License-Identifier: Apache-2.0
"""Sizes that only a run knows: what is selected by values, and what is made of it. Small graphs
with answers worked out by hand.

    run_sizes.py --inlay INLAY"""
import itertools
import struct

from by_hand import BOOL, F32, I32, I64, floats, ints, judge, run
from onnx import make_graph_attr, make_model, make_node, make_tensor, make_value


def part_of_selection():
    """Rows 1 to 3 of those whose score is positive, times a matrix: two rows are left of three."""
    model = make_model(
        [
            make_node('Greater', ['s', 'none'], ['good']),
            make_node('Compress', ['f', 'good'], ['rows'], axis=0),
            make_node('Slice', ['rows', 'from', 'to', 'axis'], ['some']),
            make_node('MatMul', ['some', 'w'], ['y']),
        ],
        [make_value('f', F32, [4, 2]), make_value('s', F32, [4])],
        [make_value('y', F32, ['n', 1])],
        [
            floats('none', [], [0]),
            ints('from', [1], [1]),
            ints('to', [1], [4]),
            ints('axis', [1], [0]),
            floats('w', [2, 1], [1, 10]),
        ],
    )
    return (
        model,
        [floats('f', [4, 2], range(8)), floats('s', [4], [1, -1, 2, 3])],
        [floats('y', [2, 1], [54, 76])],
    )


def what_is_made_of_a_selection(x=(3, -1, 4, -2, 5)):
    """Of the positive numbers, as converters write what stands behind a NonMaxSuppression: filled
    up to four, with a number at both ends, put where they were, some of them, the place of the
    greatest, their indices twice side by side, each by its own index.
    """
    picked, places = [v for v in x if v > 0], [i for i, v in enumerate(x) if v > 0]
    n = len(picked)
    nodes = [
        make_node('Greater', ['x', 'none'], ['mask']),
        make_node('NonZero', ['mask'], ['where']),
        make_node('Transpose', ['where'], ['at']),
        make_node('GatherND', ['x', 'at'], ['v']),
        make_node('Shape', ['v'], ['n']),
        make_node('Sub', ['four', 'n'], ['rest']),
        make_node('Concat', ['begin', 'rest'], ['pads'], axis=0),
        make_node('Pad', ['v', 'pads'], ['filled']),
        make_node('Pad', ['v', 'one_each', 'nine'], ['ends']),
        make_node('ScatterND', ['zeros', 'at', 'v'], ['back']),
        make_node('Greater', ['v', 'three'], ['large']),
        make_node('Compress', ['v', 'large'], ['some'], axis=0),
        make_node('ArgMax', ['v'], ['best'], axis=0, keepdims=0),
        make_node('Tile', ['at', 'twice'], ['pairs']),
        make_node('Unsqueeze', ['v', 'axis'], ['column']),
        make_node('Mul', ['at', 'nothing'], ['first']),
        make_node('GatherND', ['column', 'first'], ['own'], batch_dims=1),
    ]
    model = make_model(
        nodes,
        [make_value('x', F32, [len(x)])],
        [
            make_value('filled', F32, [None]),
            make_value('ends', F32, [None]),
            make_value('back', F32, [5]),
            make_value('some', F32, [None]),
            make_value('best', I64, []),
            make_value('pairs', I64, [None, 2]),
            make_value('own', F32, [None]),
        ],
        [
            floats('none', [], [0]),
            floats('nine', [], [9]),
            floats('three', [], [3]),
            floats('zeros', [5], [0] * 5),
            ints('four', [1], [4]),
            ints('begin', [1], [0]),
            ints('one_each', [2], [1, 1]),
            ints('twice', [2], [1, 2]),
            ints('axis', [1], [1]),
            ints('nothing', [], [0]),
        ],
        17,
    )
    large = [v for v in picked if v > 3]
    return (
        model,
        [floats('x', [len(x)], x)],
        [
            floats('filled', [4], picked + [0] * (4 - n)),
            floats('ends', [n + 2], [9] + picked + [9]),
            floats('back', [5], [max(v, 0) for v in x]),
            floats('some', [len(large)], large),
            ints('best', [], [picked.index(max(picked))]),
            ints('pairs', [n, 2], [i for i in places for _ in range(2)]),
            floats('own', [n], picked),
        ],
    )


def rows_filled_up(x=(3, -1, 4, -2, 5)):
    """Rows of the positive numbers, flattened, as many as are missing to four filled with zeros by
    what torch makes of F.pad: pairs, the last axis first, turned around and side by side (YOLO with
    its suppression, of ultralytics).
    """
    picked = [v for v in x if v > 0]
    nodes = [
        make_node('Greater', ['x', 'none'], ['mask']),
        make_node('NonZero', ['mask'], ['where']),
        make_node('Transpose', ['where'], ['at']),
        make_node('GatherND', ['x', 'at'], ['v']),
        make_node('Reshape', ['v', 'column'], ['c']),
        make_node('Concat', ['c', 'c'], ['rows'], axis=1),
        make_node('Shape', ['rows'], ['s']),
        make_node('Gather', ['s', 'zero'], ['n']),
        make_node('Gather', ['s', 'one'], ['wide']),
        make_node('Sub', ['four', 'n'], ['rest']),
        make_node('Mul', ['rest', 'wide'], ['more']),
        make_node('Reshape', ['rows', 'flat'], ['f']),
        make_node('Unsqueeze', ['more', 'flat'], ['m1']),
        make_node('Concat', ['begin', 'm1'], ['pair'], axis=0),
        make_node('Reshape', ['pair', 'pairs'], ['p2']),
        make_node('Slice', ['p2', 'last', 'first', 'begin', 'last'], ['turned']),
        make_node('Transpose', ['turned'], ['side']),
        make_node('Reshape', ['side', 'flat'], ['pads']),
        make_node('Pad', ['f', 'pads'], ['filled']),
        make_node('Reshape', ['filled', 'pairs'], ['y']),
    ]
    model = make_model(
        nodes,
        [make_value('x', F32, [len(x)])],
        [make_value('y', F32, [4, 2])],
        [
            floats('none', [], [0]),
            ints('column', [2], [-1, 1]),
            ints('zero', [], [0]),
            ints('one', [], [1]),
            ints('four', [], [4]),
            ints('flat', [1], [-1]),
            ints('begin', [1], [0]),
            ints('pairs', [2], [-1, 2]),
            ints('last', [1], [-1]),
            ints('first', [1], [-(1 << 63)]),
        ],
        17,
    )
    return (
        model,
        [floats('x', [len(x)], x)],
        [floats('y', [4, 2], [v for v in picked for _ in range(2)] + [0] * (8 - 2 * len(picked)))],
    )


def taken_apart(x=(3, -1, 4, -2, 5)):
    """The places of the positive numbers, one by one, as many as there were when the model was
    traced."""
    model = make_model(
        [
            make_node('Greater', ['x', 'none'], ['mask']),
            make_node('NonZero', ['mask'], ['where']),
            make_node('Transpose', ['where'], ['at']),
            make_node('Split', ['at', 'ones'], ['a', 'b', 'c'], axis=0),
            make_node('Gather', ['x', 'b'], ['y']),
        ],
        [make_value('x', F32, [5])],
        [make_value('a', I64, [1, 1]), make_value('c', I64, [1, 1]), make_value('y', F32, [1, 1])],
        [floats('none', [], [0]), ints('ones', [3], [1] * 3)],
        17,
    )
    at = [i for i, v in enumerate(x) if v > 0]
    return (
        model,
        [floats('x', [5], x)],
        [ints('a', [1, 1], [at[0]]), ints('c', [1, 1], [at[-1]]), floats('y', [1, 1], [x[at[1]]])],
    )


def as_many_bins():
    """min(5, max(5, most + 1)) zeros, of which one is set, and max(2, min(1, most)) of another
    kind."""
    nodes = [
        make_node('ReduceMax', ['x'], ['most'], keepdims=1),
        make_node('Add', ['most', 'one'], ['more']),
        make_node('Max', ['five', 'more'], ['least']),
        make_node('Min', ['least', 'bound'], ['bins']),
        make_node('Cast', ['bins'], ['size'], to=7),
        make_node('ConstantOfShape', ['size'], ['none']),
        make_node('Cast', ['x'], ['at'], to=7),
        make_node('ScatterElements', ['none', 'at', 'w'], ['y'], axis=0),
        make_node('Min', ['one', 'most'], ['few']),
        make_node('Max', ['few', 'two'], ['pair']),
        make_node('Cast', ['pair'], ['pairs'], to=7),
        make_node('ConstantOfShape', ['pairs'], ['z']),
    ]
    model = make_model(
        nodes,
        [make_value('x', I32, [1])],
        [make_value('y', F32, [5]), make_value('z', F32, [2])],
        [
            make_tensor('one', I32, [1], struct.pack('<i', 1)),
            make_tensor('two', I32, [1], struct.pack('<i', 2)),
            make_tensor('five', I32, [1], struct.pack('<i', 5)),
            make_tensor('bound', I32, [1], struct.pack('<i', 5)),
            floats('w', [1], [7]),
        ],
        16,
    )
    return (
        model,
        [make_tensor('x', I32, [1], struct.pack('<i', 3))],
        [floats('y', [5], [0, 0, 0, 7, 0]), floats('z', [2], [0, 0])],
    )


def counted_constants():
    """What Unique and NonZero count in constants is known when the model is compiled: sizes are
    made of it."""
    model = make_model(
        [
            make_node('Unique', ['c'], ['u', '', '', 'times']),
            make_node('ReduceMax', ['times', 'zero'], ['most'], keepdims=1),
            make_node('ConstantOfShape', ['most'], ['none']),
            make_node('Concat', ['x', 'none'], ['a'], axis=0),
            make_node('NonZero', ['c'], ['at']),
            make_node('Split', ['at'], ['b', 'd'], axis=1, num_outputs=2),
        ],
        [make_value('x', F32, [1])],
        [make_value('a', F32, [3]), make_value('b', I64, [1, 1]), make_value('d', I64, [1, 1])],
        [ints('c', [3], [2, 0, 2]), ints('zero', [1], [0])],
        18,
    )
    return (
        model,
        [floats('x', [1], [7])],
        [floats('a', [3], [7, 0, 0]), ints('b', [1, 1], [0]), ints('d', [1, 1], [2])],
    )


def selected_rows():
    """A mask is looked up anew for each tensor that it selects from; what is selected is added up,
    averaged, multiplied, normalized."""
    nodes = [
        make_node('Gather', ['x', 'first'], ['column'], axis=1),
        make_node('Greater', ['column', 'zero'], ['mask']),
    ]
    for data in 'xs':
        nodes += [
            make_node('NonZero', ['mask'], ['places' + data]),
            make_node('Transpose', ['places' + data], ['at' + data], perm=[1, 0]),
            make_node('GatherND', [data, 'at' + data], [data + '1']),
        ]
    nodes += [
        make_node('Unsqueeze', ['s1', 'second'], ['s2']),
        make_node('Add', ['x1', 's2'], ['sum']),
        make_node('ReduceMean', ['x1'], ['mean'], axes=[0], keepdims=0),
        make_node('Softmax', ['s1'], ['parts'], axis=0),
        make_node('CumSum', ['s1', 'first'], ['steps']),
        make_node('Transpose', ['x1'], ['turned'], perm=[1, 0]),
        make_node('MatMul', ['x1', 'turned'], ['products']),
        make_node('LayerNormalization', ['x1', 'ones'], ['norm']),
        make_node('Cast', ['s1'], ['kind'], to=I64),
        make_node('OneHot', ['kind', 'depth', 'values'], ['kinds']),
        make_node('GatherND', ['x1', 'last'], ['end']),
        make_node('Neg', ['kind'], ['below']),
        make_node('ReduceMax', ['below'], ['top'], keepdims=0),
        make_node('Cast', ['top'], ['greatest'], to=F32),
    ]
    wanted = {
        'sum': ([2, 2], [2, 3, 4, 5]),
        'mean': ([2], [2, 3]),
        'parts': ([2], [0.5, 0.5]),
        'steps': ([2], [1, 2]),
        'products': ([2, 2], [5, 11, 11, 25]),
        'norm': ([2, 2], [-1, 1, -1, 1]),
        'kinds': ([2, 3], [0, 1, 0, 0, 1, 0]),
        'end': ([1, 2], [3, 4]),
        'greatest': ([], [-1]),
    }
    outs = [
        make_value(name, F32, dims if name in ('mean', 'end', 'greatest') else ['n'] + dims[1:])
        for name, (dims, _) in wanted.items()
    ]
    outs[4] = make_value('products', F32, ['n', 'n'])
    model = make_model(
        nodes,
        [make_value('x', F32, [4, 2]), make_value('s', F32, [4])],
        outs,
        [
            ints('first', [], [0]),
            floats('zero', [], [0]),
            ints('second', [1], [1]),
            floats('ones', [2], [1, 1]),
            ints('depth', [], [3]),
            floats('values', [2], [0, 1]),
            ints('last', [1, 1], [-1]),
        ],
    )
    return (
        model,
        [floats('x', [4, 2], [1, 2, -1, 5, 3, 4, -2, 0]), floats('s', [4], [1, 9, 1, 9])],
        [floats(n, *w) for n, w in wanted.items()],
    )


def told_sizes():
    """The number of rows that a mask chose is part of lists of sizes: made, repeated, counted,
    scattered, cut and reshaped by it."""

    def rows(data, mask, at):
        return [
            make_node('NonZero', [mask], [mask + 'n']),
            make_node('Squeeze', [mask + 'n', 'first'], [at]),
            make_node('Gather', [data, at], [mask + 'r']),
        ]

    nodes = [
        make_node('Gather', ['x', 'one'], ['c'], axis=1),
        make_node('Greater', ['c', 'two'], ['m']),
    ] + rows('x', 'm', 'at')
    nodes += [
        make_node('Shape', ['mr'], ['dims']),
        make_node('Gather', ['dims', 'zero'], ['n']),
        make_node('Unsqueeze', ['n', 'first'], ['n1']),
        make_node('Concat', ['n1', 'three'], ['list'], axis=0),
        make_node('ConstantOfShape', ['list'], ['none']),
        make_node('Add', ['none', 'five'], ['filled']),
        make_node('Expand', ['row', 'list'], ['rows']),
        make_node('Range', ['zero', 'n', 'one'], ['numbers']),
        make_node('Gather', ['mr', 'zero'], ['c2'], axis=1),
        make_node('Greater', ['c2', 'three1'], ['q']),
    ] + rows('mr', 'q', 'at2')
    nodes += [
        make_node('Concat', ['n1', 'pair'], ['list2'], axis=0),
        make_node('ConstantOfShape', ['list2'], ['none2']),
        make_node('Unsqueeze', ['at2', 'last'], ['at3']),
        make_node('Shape', ['at2'], ['m1']),
        make_node('Concat', ['m1', 'pair'], ['list3'], axis=0),
        make_node('Expand', ['at3', 'list3'], ['at4']),
        make_node('ScatterElements', ['none2', 'at4', 'qr'], ['scattered'], axis=0),
        make_node('Reshape', ['mr', 'open'], ['flat']),
        make_node('Concat', ['n1', 'open'], ['list4'], axis=0),
        make_node('Reshape', ['mr', 'list4'], ['back']),
        make_node('Slice', ['mr', 'first', 'n1', 'first'], ['whole']),
        make_node('Reshape', ['mr', 'image'], ['images']),
        make_node('Conv', ['images', 'w'], ['conv']),
        make_node('Gather', ['dims', 'one'], ['width']),
    ]
    want = {
        'filled': ([2, 3], [5] * 6),
        'rows': ([2, 3], [1, 2, 3] * 2),
        'scattered': ([2, 2], [0, 0, 7, 4]),
        'flat': ([4], [1, 5, 7, 4]),
        'back': ([2, 2], [1, 5, 7, 4]),
        'whole': ([2, 2], [1, 5, 7, 4]),
        'conv': ([2, 1, 1, 2], [10, 50, 70, 40]),
    }
    outs = [make_value(n, F32, ['n'] + dims[1:]) for n, (dims, _) in want.items()]
    model = make_model(
        nodes,
        [make_value('x', F32, [4, 2])],
        outs + [make_value('numbers', I64, ['n']), make_value('width', I64, [])],
        [
            ints('one', [], [1]),
            ints('zero', [], [0]),
            floats('two', [], [2]),
            floats('three1', [], [3]),
            floats('five', [], [5]),
            ints('first', [1], [0]),
            ints('last', [1], [1]),
            ints('three', [1], [3]),
            ints('pair', [1], [2]),
            ints('open', [1], [-1]),
            ints('image', [4], [-1, 1, 1, 2]),
            floats('row', [1, 3], [1, 2, 3]),
            floats('w', [1, 1, 1, 1], [10]),
        ],
    )
    return (
        model,
        [floats('x', [4, 2], [1, 5, 3, 1, 7, 4, 9, 0])],
        [floats(n, *w) for n, w in want.items()]
        + [ints('numbers', [2], [0, 1]), ints('width', [], [2])],
    )


def cut_by_numbers(start, end):
    """x[start:end, :end], of which only a run knows the numbers; what is cut off another tensor at
    the same places is as long."""
    numbers = list(range(1, 13))
    rows = [numbers[i * 3 : i * 3 + 3][:end] for i in range(4)][start:end]
    flat = sum(rows, [])
    width = len(range(3)[:end])
    nodes = [
        make_node('Concat', ['none', 'end'], ['columns'], axis=0),
        make_node('Concat', ['start', 'none'], ['starts'], axis=0),
        make_node('Concat', ['end', 'end'], ['ends'], axis=0),
        make_node('Slice', ['x', 'starts', 'ends'], ['y']),
        make_node('Slice', ['w', 'start', 'end'], ['part']),
        make_node('Slice', ['x', 'start', 'end'], ['wide']),
        make_node('Unsqueeze', ['part', 'second'], ['factor']),
        make_node('Mul', ['wide', 'factor'], ['product']),
        make_node('ReduceSum', ['product', 'none'], ['sum'], keepdims=0),
        make_node('Slice', ['x', 'none', 'end', 'second', 'second'], ['z']),
    ]
    model = make_model(
        nodes,
        [
            make_value('x', F32, [4, 3]),
            make_value('start', I64, [1]),
            make_value('end', I64, [1]),
            make_value('w', F32, [4]),
        ],
        [
            make_value('y', F32, ['n', 'm']),
            make_value('sum', F32, [3]),
            make_value('z', F32, [4, 'k']),
        ],
        [ints('none', [1], [0]), ints('second', [1], [1])],
    )
    weights = [1, 10, 100, 1000]
    sums = [sum(numbers[i * 3 + k] * weights[i] for i in range(4)[start:end]) for k in range(3)]
    return (
        model,
        [
            floats('x', [4, 3], numbers),
            ints('start', [1], [start]),
            ints('end', [1], [end]),
            floats('w', [4], weights),
        ],
        [
            floats('y', [len(rows), width], flat),
            floats('sum', [3], sums),
            floats(
                'z', [4, width], [v for i in range(4) for v in numbers[i * 3 : i * 3 + 3][:end]]
            ),
        ],
    )


def window_at(place):
    """As tf.slice() is exported: lists of places and sizes of which one entry is known only when it
    runs; -1 is all that is left."""
    nodes = [
        make_node('Concat', ['none', 'place', 'none'], ['begin'], axis=0),
        make_node('Equal', ['size', 'all'], ['is_all']),
        make_node('Cast', ['is_all'], ['number'], to=I64),
        make_node('Mul', ['number', 'far'], ['more']),
        make_node('Add', ['size', 'more'], ['whole']),
        make_node('Add', ['begin', 'whole'], ['end']),
        make_node('Slice', ['x', 'begin', 'end'], ['y']),
        make_node('Split', ['y'], ['a', 'b'], axis=1),
    ]
    model = make_model(
        nodes,
        [make_value('x', F32, [2, 6, 1]), make_value('place', I64, [1])],
        [make_value('a', F32, ['n', 'm', 1]), make_value('b', F32, ['n', 'm', 1])],
        [
            ints('none', [1], [0]),
            ints('all', [1], [-1]),
            ints('size', [3], [-1, 4, 1]),
            ints('far', [1], [(1 << 31) - 1]),
        ],
    )
    row = [list(range(6))[place : place + 4], list(range(6, 12))[place : place + 4]]
    return (
        model,
        [floats('x', [2, 6, 1], range(12)), ints('place', [1], [place])],
        [
            floats('a', [2, 2, 1], row[0][:2] + row[1][:2]),
            floats('b', [2, 2, 1], row[0][2:] + row[1][2:]),
        ],
    )


def scattered_by_mask(source):
    """As masked_scatter() is exported: of the source as many numbers as the mask has places; the
    source may have fewer."""
    nodes = [
        make_node('NonZero', ['mask'], ['places']),
        make_node('Transpose', ['places'], ['at'], perm=[1, 0]),
        make_node('Shape', ['at'], ['dims']),
        make_node('Gather', ['dims', 'zero'], ['n']),
        make_node('Unsqueeze', ['n', 'first'], ['end']),
        make_node('Slice', ['source', 'first', 'end', 'first'], ['some']),
        make_node('ScatterND', ['x', 'at', 'some'], ['y']),
    ]
    model = make_model(
        nodes,
        [
            make_value('x', F32, [2, 3]),
            make_value('mask', BOOL, [2, 3]),
            make_value('source', F32, [len(source)]),
        ],
        [make_value('y', F32, [2, 3])],
        [ints('zero', [], [0]), ints('first', [1], [0])],
    )
    mask = make_tensor('mask', BOOL, [2, 3], bytes([0, 1, 0, 1, 0, 0]))
    return (
        model,
        [floats('x', [2, 3], range(6)), mask, floats('source', [len(source)], source)],
        [floats('y', [2, 3], [0, source[0], 2, source[1], 4, 5])],
    )


def bags_of_rows():
    """As EmbeddingBag is exported: each turn of a loop adds up the rows between two offsets."""
    body = make_graph_attr(
        'body',
        [
            make_node('Gather', ['offsets', 'i'], ['a']),
            make_node('Add', ['i', 'one'], ['next']),
            make_node('Gather', ['offsets', 'next'], ['b']),
            make_node('Unsqueeze', ['a', 'first'], ['start']),
            make_node('Unsqueeze', ['b', 'first'], ['end']),
            make_node('Slice', ['index', 'start', 'end', 'first'], ['of']),
            make_node('Gather', ['table', 'of'], ['rows']),
            make_node('ReduceSum', ['rows', 'first'], ['bag'], keepdims=0),
            make_node('Identity', ['c'], ['c1']),
        ],
        [make_value('i', I64, []), make_value('c', BOOL, [])],
        [make_value('c1', BOOL, []), make_value('bag', F32, [2])],
    )
    model = make_model(
        [make_node('Loop', ['three', 'yes'], ['y'], graphs=[body])],
        [make_value('index', I64, [5]), make_value('offsets', I64, [4])],
        [make_value('y', F32, [3, 2])],
        [
            make_tensor('yes', BOOL, [], b'\1'),
            ints('three', [], [3]),
            ints('one', [], [1]),
            ints('first', [1], [0]),
            floats('table', [4, 2], [1, 2, 10, 20, 100, 200, 1000, 2000]),
        ],
    )
    return (
        model,
        [ints('index', [5], [3, 1, 1, 0, 2]), ints('offsets', [4], [0, 2, 2, 5])],
        [floats('y', [3, 2], [1010, 2020, 0, 0, 111, 222])],
    )


def outer_difference():
    """x turned, minus x by columns: the rows of one operand are taken again and again while the
    result streams."""
    nodes = [
        make_node('Transpose', ['x'], ['turned'], perm=[2, 1, 0, 3]),
        make_node('Neg', ['x'], ['minus']),
        make_node('Add', ['turned', 'minus'], ['sum']),
        make_node('Relu', ['sum'], ['y']),
    ]
    model = make_model(
        nodes, [make_value('x', F32, [1, 5, 15, 14])], [make_value('y', F32, [15, 5, 15, 14])], []
    )
    values = [i * 7 % 31 for i in range(5 * 15 * 14)]
    at = lambda c, h, w: values[(c * 15 + h) * 14 + w]
    want = [
        max(0, at(c, n, w) - at(c, h, w))
        for n, c, h, w in itertools.product(range(15), range(5), range(15), range(14))
    ]
    return model, [floats('x', [1, 5, 15, 14], values)], [floats('y', [15, 5, 15, 14], want)]


def of_some_rows(op, ins, constant, results=1, **attributes):
    """An operator whose constant fits the four rows that a mask leaves of six, and not the six."""
    out = ['y', 'z'][:results]
    nodes = [
        make_node('Greater', ['s', 'none'], ['good']),
        make_node('Compress', ['x', 'good'], ['rows'], axis=0),
        make_node('Transpose', ['rows'], ['columns'], perm=[1, 0]),
        make_node(op, ins, out, **attributes),
    ]
    model = make_model(
        nodes,
        [make_value('x', F32, [6, 2]), make_value('s', F32, [6])],
        [make_value(n, F32, ['n', 'm']) for n in out],
        [floats('none', [], [0]), constant],
    )
    return model, [floats('x', [6, 2], range(12)), floats('s', [6], [1, -1, 1, 1, -1, 1])], []


CASES = (
    part_of_selection,
    selected_rows,
    told_sizes,
    what_is_made_of_a_selection,
    rows_filled_up,
    taken_apart,
    as_many_bins,
    counted_constants,
    outer_difference,
)


def check(t, inlay):
    for x in ((-1, -2, 1, -3, -4), (4, 3, 2, 1, -1)):
        bad = judge(inlay, what_is_made_of_a_selection(x))
        t.ok('what is made of %d numbers of five' % sum(v > 0 for v in x), not bad, bad)
    for x in ((3, -1, 4, -2, -5), (3, 1, 4, -2, 5)):
        bad = judge(inlay, taken_apart(x))
        t.ok('more or fewer than there were: the run fails', 'shape' in bad, bad)
    for start, end in ((0, 2), (1, 9), (-3, 3), (3, 1), (0, -1), (2, 1 << 40), (-9, 1)):
        bad = judge(inlay, cut_by_numbers(start, end))
        t.ok('elements %d to %d, known when it runs' % (start, end), not bad, bad)
    for place in (0, 1, 2):
        bad = judge(inlay, window_at(place))
        t.ok('a window at %d, known when it runs' % place, not bad, bad)
    bad = judge(inlay, window_at(3))
    t.ok('a window beyond the end, which is an error of the run', bad.startswith('status'), bad)
    for source in ([7, 8, 9, 10, 11, 12], [7, 8, 9]):
        bad = judge(inlay, scattered_by_mask(source))
        t.ok('%d numbers, of which a mask takes some' % len(source), not bad, bad)
    bad = judge(inlay, bags_of_rows())
    t.ok(bags_of_rows.__name__, not bad, bad)
    for case in (
        of_some_rows('MatMul', ['columns', 'w'], floats('w', [4, 3], range(12))),
        of_some_rows('GatherND', ['rows', 'at'], ints('at', [4, 1, 1], [0, 1, 1, 0]), batch_dims=1),
    ):
        bad = judge(inlay, case)
        t.ok(
            'what does not fit the most rows may fit those there are',
            bad.startswith('status 69') and 'at most' in bad,
            bad,
        )


if __name__ == '__main__':
    run(check, CASES)
