# SPDX-License-Identifier: Apache-2.0
"""Small graphs that were once refused or wrong, with answers worked out by hand: loops whose turns
differ, sizes known only at run time.

    graphs.py --inlay INLAY"""
import argparse
import itertools
import json
import math
import os
import struct

import host
import onnx
import tap
from onnx import make_graph_attr, make_model, make_node, make_sequence, make_tensor, make_value

F32, I32, I64, BOOL = (onnx.CODES[t] for t in ('float32', 'int32', 'int64', 'bool'))


def floats(name, dims, values):
    return make_tensor(name, F32, dims, struct.pack('<%df' % len(values), *values))


def ints(name, dims, values):
    return make_tensor(name, I64, dims, struct.pack('<%dq' % len(values), *values))


def growing_sequence():
    """A loop without a trip count gathers rows 0 and 2 in a sequence; its condition is known at
    each turn."""
    body = make_graph_attr(
        'body',
        [
            make_node('Gather', ['x', 'i'], ['row']),
            make_node('SequenceInsert', ['s', 'row'], ['s1']),
            make_node('Add', ['i', 'two'], ['i1']),
            make_node('Less', ['i1', 'four'], ['c1']),
        ],
        [
            make_value('turn', I64, []),
            make_value('c', BOOL, []),
            make_value('i', I64, []),
            make_sequence('s', F32),
        ],
        [make_value('c1', BOOL, []), make_value('i1', I64, []), make_sequence('s1', F32)],
    )
    model = make_model(
        [
            make_node('SequenceEmpty', [], ['s0']),
            make_node('Loop', ['', 'yes', 'zero', 's0'], ['end', 'rows'], graphs=[body]),
            make_node('ConcatFromSequence', ['rows'], ['y'], axis=0, new_axis=1),
        ],
        [make_value('x', F32, [4, 2])],
        [make_value('y', F32, [2, 2]), make_value('end', I64, [])],
        [
            make_tensor('yes', BOOL, [], b'\1'),
            ints('zero', [], [0]),
            ints('two', [], [2]),
            ints('four', [], [4]),
        ],
    )
    return (
        model,
        [floats('x', [4, 2], range(8))],
        [floats('y', [2, 2], [0, 1, 4, 5]), ints('end', [], [4])],
    )


def values_of_a_turn():
    """Turn i takes the first i + 1 elements: each turn has shapes of its own."""
    body = make_graph_attr(
        'body',
        [
            make_node('Add', ['i', 'one'], ['i1']),
            make_node('Reshape', ['i1', 'flat'], ['end']),
            make_node('Slice', ['x', 'zero', 'end'], ['part']),
            make_node('ReduceSum', ['part'], ['sum'], keepdims=0),
            make_node('Identity', ['c'], ['c1']),
        ],
        [make_value('i', I64, []), make_value('c', BOOL, [])],
        [make_value('c1', BOOL, []), make_value('sum', F32, [])],
    )
    model = make_model(
        [make_node('Loop', ['three', 'yes'], ['y'], graphs=[body])],
        [make_value('x', F32, [3])],
        [make_value('y', F32, [3])],
        [
            make_tensor('yes', BOOL, [], b'\1'),
            ints('three', [], [3]),
            ints('one', [], [1]),
            ints('zero', [1], [0]),
            ints('flat', [1], [1]),
        ],
    )
    return model, [floats('x', [3], [1, 10, 100])], [floats('y', [3], [1, 11, 111])]


def while_loop(first=True):
    """As Keras layers are exported: a `while` whose end its counters decide, with its weights
    carried along; of the rows that its turns make the last one is read."""
    body = make_graph_attr(
        'body',
        [
            make_node('Add', ['i', 'one'], ['i1']),
            make_node('Gather', ['x', 'i'], ['row']),
            make_node('MatMul', ['row', 'w'], ['part']),
            make_node('Add', ['part', 'h'], ['h1']),
            make_node('Identity', ['h1'], ['out']),
            make_node('Cast', ['i1'], ['time'], to=F32),
            make_node('Cast', ['turn'], ['now'], to=F32),
            make_node('Less', ['time', 'end'], ['a']),
            make_node('Less', ['now', 'end'], ['b']),
            make_node('And', ['a', 'b'], ['c1']),
        ],
        [
            make_value('turn', I64, []),
            make_value('c', BOOL, []),
            make_value('i', I64, []),
            make_value('w', F32, ['n', 'm']),
            make_value('h', F32, [1, 2]),
        ],
        [
            make_value('c1', BOOL, []),
            make_value('i1', I64, []),
            make_value('w', F32, ['n', 'm']),
            make_value('h1', F32, [1, 2]),
            make_value('out', F32, [1, 2]),
        ],
    )
    model = make_model(
        [
            make_node(
                'Loop',
                ['most', 'first', 'zero', 'weights', 'h0'],
                ['turns', 'same', 'sum', 'rows'],
                graphs=[body],
            ),
            make_node('Slice', ['rows', 'last', 'far', 'axis'], ['y']),
        ],
        [make_value('x', F32, [3, 1, 2]), make_value('h0', F32, [1, 2])],
        [
            make_value('y', F32, ['k', 1, 2]),
            make_value('turns', I64, []),
            make_value('same', F32, [2, 2]),
            make_value('sum', F32, [1, 2]),
        ],
        [
            make_tensor('first', BOOL, [], bytes([first])),
            ints('most', [], [9]),
            ints('zero', [], [0]),
            ints('one', [], [1]),
            floats('end', [], [3]),
            floats('weights', [2, 2], [1, 10, 100, 1000]),
            ints('last', [1], [-1]),
            ints('far', [1], [1 << 31]),
            ints('axis', [1], [0]),
        ],
    )
    end = [907, 9061] if first else [1, 1]
    rows = end if first else []
    return (
        model,
        [floats('x', [3, 1, 2], range(6)), floats('h0', [1, 2], [1, 1])],
        [
            floats('y', [len(rows) // 2, 1, 2], rows),
            ints('turns', [], [3 * first]),
            floats('same', [2, 2], [1, 10, 100, 1000]),
            floats('sum', [1, 2], end),
        ],
    )


def no_turn():
    return while_loop(False)


def carries_no_weights(inlay):
    """'' or what is wrong: the weights of a loop are read where they lie, all turns count, and the
    end is no question to the run."""
    with host.Work() as work:
        path = os.path.join(work, 'm.onnx')
        with open(path, 'wb') as f:
            f.write(while_loop()[0])
        status, text = host.run([inlay, 'analyze', path, '--json'])
    if status:
        return text
    found = json.loads(text)
    kernels = [step['kernel'] for step in found['steps']]
    in_arena = [t['bytes'] for t in found['tensors'] if t['storage'] == 'arena']
    if found['totals']['macs'] != 3 * 4:
        return '%d multiplications in three turns of four' % found['totals']['macs']
    return (
        'weights in the arena'
        if 16 in in_arena
        else 'it compares'
        if any('less' in k for k in kernels)
        else ''
    )


def detector():
    """The end of a detector: scores above a threshold, the best three of these, boxes that do not
    overlap, and the last candidate."""
    nodes = [
        make_node('Greater', ['scores', 'least'], ['good']),
        make_node('NonZero', ['good'], ['places']),
        make_node('Squeeze', ['places', 'first'], ['at']),
        make_node('Gather', ['scores', 'at'], ['s1'], axis=0),
        make_node('Gather', ['boxes', 'at'], ['b1'], axis=0),
        make_node('Shape', ['s1'], ['found']),
        make_node('Concat', ['most', 'found'], ['both'], axis=0),
        make_node('ReduceMin', ['both'], ['k'], keepdims=1),
        make_node('TopK', ['s1', 'k'], ['s2', 'best'], axis=0),
        make_node('Gather', ['b1', 'best'], ['b2'], axis=0),
        make_node('Unsqueeze', ['b2', 'first'], ['b3']),
        make_node('Unsqueeze', ['s2', 'two'], ['s3']),
        make_node('NonMaxSuppression', ['b3', 's3', 'each', 'overlap'], ['chosen']),
        make_node('Gather', ['chosen', 'box'], ['row'], axis=1),
        make_node('Gather', ['b2', 'row'], ['y'], axis=0),
        make_node('Gather', ['b2', 'end'], ['last'], axis=0),
    ]
    model = make_model(
        nodes,
        [make_value('scores', F32, [6]), make_value('boxes', F32, [6, 4])],
        [make_value('y', F32, ['n', 4]), make_value('last', F32, [1, 4])],
        [
            floats('least', [], [0.05]),
            ints('first', [1], [0]),
            ints('two', [2], [0, 1]),
            ints('most', [1], [3]),
            ints('each', [], [5]),
            floats('overlap', [], [0.5]),
            ints('box', [], [2]),
            ints('end', [1], [-1]),
        ],
        17,
    )
    boxes = [0, 0, 10, 10] + [1] * 4 + [0, 0, 10, 9] + [20, 20, 30, 30] + [2] * 4 + [40, 0, 50, 10]
    return (
        model,
        [floats('scores', [6], [0.9, 0.01, 0.8, 0.7, 0.02, 0.95]), floats('boxes', [6, 4], boxes)],
        [floats('y', [2, 4], [40, 0, 50, 10, 0, 0, 10, 10]), floats('last', [1, 4], [0, 0, 10, 9])],
    )


def detector_without_boxes():
    """The same where no score is above the threshold."""
    model, (_, boxes), _ = detector()
    return (
        model,
        [floats('scores', [6], [0.01] * 6), boxes],
        [floats('y', [0, 4], []), floats('last', [1, 4], [0] * 4)],
    )


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


def best_of_some(k):
    """As many as the model is told when it runs, of two rows of four: no more than there are."""
    model = make_model(
        [make_node('TopK', ['x', 'k'], ['v', 'i']), make_node('Neg', ['v'], ['y'])],
        [make_value('x', F32, [2, 4]), make_value('k', I64, [1])],
        [make_value('y', F32, [2, 'n']), make_value('i', I64, [2, 'n'])],
    )
    values, places, n = (
        [[-4, -3, -2, -1], [-8, -7, -6, -5]],
        [[1, 3, 0, 2], [3, 2, 1, 0]],
        min(max(k, 0), 4),
    )
    return (
        model,
        [floats('x', [2, 4], [2, 4, 1, 3, 5, 6, 7, 8]), ints('k', [1], [k])],
        [
            floats('y', [2, n], [v for row in values for v in row[:n]]),
            ints('i', [2, n], [i for row in places for i in row[:n]]),
        ],
    )


def copied_sequence():
    """The copy of a sequence; what is stacked has no elements in one of two results."""
    model = make_model(
        [
            make_node('SplitToSequence', ['x', 'sizes'], ['s'], axis=1),
            make_node('Identity', ['s'], ['t']),
            make_node('SequenceAt', ['t', 'first'], ['y']),
            make_node('SequenceErase', ['t', 'first'], ['u']),
            make_node('ConcatFromSequence', ['u'], ['z'], axis=0, new_axis=1),
        ],
        [make_value('x', F32, [2, 3])],
        [make_value('y', F32, [2, 3]), make_value('z', F32, [1, 2, 0])],
        [ints('sizes', [2], [3, 0]), ints('first', [], [0])],
    )
    return (
        model,
        [floats('x', [2, 3], range(6))],
        [floats('y', [2, 3], range(6)), floats('z', [1, 2, 0], [])],
    )


def joined_selections(scores=(1, -1, 3, 0.5), want=(10, 14, 16, 22), last=(3,)):
    """The end of torchvision's detectors: selections of two classes are joined, with a label for
    each row; where there is any row, its second number is moved by its label times the greatest
    number."""
    nothing = make_graph_attr(
        'then_branch', [make_node('Identity', ['none'], ['n'])], [], [make_value('n', F32, [0])]
    )
    moved = make_graph_attr(
        'else_branch',
        [
            make_node('ReduceMax', ['rows'], ['top'], keepdims=0),
            make_node('Mul', ['labels', 'top'], ['by']),
            make_node('Gather', ['rows', 'one'], ['second'], axis=1),
            make_node('Add', ['second', 'by'], ['m']),
        ],
        [],
        [make_value('m', F32, ['k'])],
    )
    nodes = []
    for i, least in enumerate(('zero', 'two')):
        a, b, c, d, e = ('%s%d' % (name, i) for name in ('good', 'rows', 'column', 'size', 'label'))
        nodes += [
            make_node('Greater', ['s', least], [a]),
            make_node('Compress', ['f', a], [b], axis=0),
            make_node('Gather', [b, 'one'], [c], axis=1),
            make_node('Shape', [c], [d]),
            make_node('ConstantOfShape', [d], [e + 'z']),
            make_node('Add', [e + 'z', 'class%d' % i], [e]),
        ]
    nodes += [
        make_node('Concat', ['rows0', 'rows1'], ['all'], axis=0),
        make_node('Concat', ['label0', 'label1'], ['labels'], axis=0),
        make_node('Unsqueeze', ['all', 'middle'], ['deep']),
        make_node('Flatten', ['deep'], ['flat'], axis=1),
        make_node('Shape', ['flat'], ['sizes']),
        make_node('Gather', ['sizes', 'first'], ['n'], axis=0),
        make_node('Concat', ['n', 'width'], ['form'], axis=0),
        make_node('Reshape', ['flat', 'form'], ['rows']),
        make_node('Greater', ['labels', 'class0'], ['second_class']),
        make_node('NonZero', ['second_class'], ['z']),
        make_node('Shape', ['rows'], ['shape']),
        make_node('ReduceProd', ['shape'], ['count'], keepdims=0),
        make_node('Equal', ['count', 'no'], ['empty']),
        make_node('If', ['empty'], ['y'], graphs=[nothing, moved]),
    ]
    model = make_model(
        nodes,
        [make_value('f', F32, [4, 2]), make_value('s', F32, [4])],
        [make_value('y', F32, ['k']), make_value('z', I64, [1, 'q'])],
        [
            floats('zero', [], [0]),
            floats('two', [], [2]),
            floats('class0', [], [1]),
            floats('class1', [], [2]),
            floats('none', [0], []),
            ints('one', [], [1]),
            ints('middle', [1], [1]),
            ints('first', [1], [0]),
            ints('width', [1], [2]),
            ints('no', [], [0]),
        ],
    )
    return (
        model,
        [floats('f', [4, 2], range(1, 9)), floats('s', [4], scores)],
        [floats('y', [len(want)], want), ints('z', [1, len(last)], last)],
    )


def joined_nothing():
    return joined_selections([-1] * 4, [], [])


def mask_of_scores():
    """Zero where a mask lets through and -inf elsewhere, as torch exports attention with a mask of
    booleans: no function of the mask is linear there."""
    model = make_model(
        [
            make_node('Greater', ['m', 'zero'], ['seen']),
            make_node('Where', ['seen', 'zero', 'never'], ['mask']),
            make_node('Add', ['x', 'mask'], ['y']),
        ],
        [make_value('x', F32, [4]), make_value('m', F32, [4])],
        [make_value('y', F32, [4])],
        [floats('zero', [], [0]), floats('never', [], [float('-inf')])],
    )
    return (
        model,
        [floats('x', [4], [1, 2, 3, 4]), floats('m', [4], [-2, 0.5, 0, 3])],
        [floats('y', [4], [float('-inf'), 2, float('-inf'), 4])],
    )


def wide_slope(dims):
    """A slope goes by the other operand: it makes nothing wider."""
    slope = floats('s', dims, [2] * 3)
    return make_model(
        [make_node('PRelu', ['x', 's'], ['y'])],
        [make_value('x', F32, [1, 3])],
        [make_value('y', F32, [1, 3])],
        [slope],
    )


def read_turned(op, perm, index, **attributes):
    """A Gather or GatherND of a table that a Transpose made of an input."""
    size, at = [5, 3, 4], [2, 1, 0, 1, 2, 0] * 2
    dims = [size[k] for k in perm]
    turned = {}
    for i in itertools.product(*[range(n) for n in size]):
        turned[tuple(i[k] for k in perm)] = float(i[0] * 12 + i[1] * 4 + i[2])
    if op == 'Gather':
        axis = attributes['axis']
        shape = dims[:axis] + index + dims[axis + 1 :]
        flat = at[: math.prod(index)]
        values = [
            turned[tuple(i[:axis]) + (flat[k],) + tuple(i[axis:])]
            for before in itertools.product(*[range(n) for n in dims[:axis]])
            for k in range(len(flat))
            for i in [
                before + after for after in itertools.product(*[range(n) for n in dims[axis + 1 :]])
            ]
        ]
    else:
        batch, depth, flat = attributes.get('batch_dims', 0), index[-1], at[: math.prod(index)]
        shape = index[:-1] + dims[batch + depth :]
        vectors = [flat[i : i + depth] for i in range(0, len(flat), depth)]
        of_batch = len(vectors) // (math.prod(dims[:batch]))
        values = [
            turned[((k // of_batch,) if batch else ()) + tuple(v) + rest]
            for k, v in enumerate(vectors)
            for rest in itertools.product(*[range(n) for n in dims[batch + depth :]])
        ]
    model = make_model(
        [
            make_node('Transpose', ['x'], ['t'], perm=perm),
            make_node(op, ['t', 'at'], ['y'], **attributes),
        ],
        [make_value('x', F32, size), make_value('at', I64, index)],
        [make_value('y', F32, shape)],
        [],
    )
    return (
        model,
        [floats('x', size, range(60)), ints('at', index, flat)],
        [floats('y', shape, values)],
    )


def grid_and_anchors():
    """A decoder: a number for each place, one for each anchor, one for each anchor's column,
    broadcast over rows of 5 pixels; the sum of rows streams, so that no image is held."""
    size = [1, 3, 4, 5, 2]
    x = [float(i % 23) for i in range(120)]
    grid, anchor, both = (
        [float(i) for i in range(20)],
        [1.0, 2.0, 4.0],
        [float(i % 5) for i in range(12)],
    )
    want = []
    for i, (_, a, r, c, _) in enumerate(itertools.product(*[range(n) for n in size])):
        v = (grid[r * 5 + c] - x[i]) * anchor[a] + both[a * 4 + r]
        want.append(-(v if v > 3.0 else x[i]))
    nodes = [
        make_node('Neg', ['x'], ['a']),
        make_node('Add', ['a', 'grid'], ['b']),
        make_node('Mul', ['b', 'anchor'], ['c']),
        make_node('Add', ['c', 'both'], ['d']),
        make_node('Greater', ['d', 'three'], ['e']),
        make_node('Neg', ['d'], ['f']),
        make_node('Where', ['e', 'f', 'a'], ['y']),
    ]
    model = make_model(
        nodes,
        [make_value('x', F32, size)],
        [make_value('y', F32, size)],
        [
            floats('grid', [4, 5, 1], grid),
            floats('anchor', [1, 3, 1, 1, 1], anchor),
            floats('both', [3, 4, 1, 1], both),
            floats('three', [], [3.0]),
        ],
        17,
    )
    return model, [floats('x', size, x)], [floats('y', size, want)]


def turned_while_made():
    """Keys of two heads, which are put one behind the other row by row, as they are made."""
    rows, depth = 64, 32
    x = [float(i * 7 % 5 - 2) for i in range(rows * depth)]
    double = [2.0 if i % (depth + 1) == 0 else 0.0 for i in range(depth * depth)]
    want = [
        2 * x[i * depth + h * 16 + k] + 1 for h in range(2) for i in range(rows) for k in range(16)
    ]
    nodes = [
        make_node('MatMul', ['x', 'w'], ['k']),
        make_node('Reshape', ['k', 'heads'], ['h']),
        make_node('Transpose', ['h'], ['t'], perm=[0, 2, 1, 3]),
        make_node('CumSum', ['t', 'axis'], ['s']),
        make_node('Add', ['t', 'one'], ['y']),
    ]
    model = make_model(
        nodes,
        [make_value('x', F32, [1, rows, depth])],
        [make_value('y', F32, [1, 2, rows, 16]), make_value('s', F32, [1, 2, rows, 16])],
        [
            floats('w', [depth, depth], double),
            ints('heads', [4], [1, rows, 2, 16]),
            ints('axis', [], [3]),
            floats('one', [], [1]),
        ],
    )
    sums = [sum(want[i // 16 * 16 : i + 1]) - (i % 16 + 1) for i in range(rows * depth)]
    return (
        model,
        [floats('x', [1, rows, depth], x)],
        [floats('y', [1, 2, rows, 16], want), floats('s', [1, 2, rows, 16], sums)],
    )


def turned_while_read():
    """A picture whose rows and columns change places, row by row as they are read: it lies with the
    caller as a whole."""
    rows, depth = 48, 64
    x = [float(i * 7 % 5 - 2) for i in range(rows * depth)]
    want = [2 * x[k * depth + i] + 1 for i in range(depth) for k in range(rows)]
    nodes = [
        make_node('Reshape', ['x', 'upright'], ['u']),
        make_node('Transpose', ['u'], ['t'], perm=[0, 2, 1, 3]),
        make_node('Reshape', ['t', 'flat'], ['f']),
        make_node('Conv', ['f', 'w'], ['c']),
        make_node('Add', ['c', 'one'], ['d']),
        make_node('GlobalMaxPool', ['d'], ['y']),
    ]
    model = make_model(
        nodes,
        [make_value('x', F32, [1, 1, rows, depth])],
        [make_value('y', F32, [1, 2, 1, 1])],
        [
            ints('upright', [4], [1, rows, depth, 1]),
            ints('flat', [4], [1, 1, depth, rows]),
            floats('w', [2, 1, 1, 1], [2, -2]),
            floats('one', [], [1]),
        ],
    )
    return (
        model,
        [floats('x', [1, 1, rows, depth], x)],
        [floats('y', [1, 2, 1, 1], [max(want), 2 - min(want)])],
    )


def gate_of_the_result_before():
    """Squeeze and excitation whose first Conv is read twice: the Relu in front of the second one
    takes what is channels last already, and no other node goes with the transposition that is not
    needed."""
    x, image = [1, 2, 3, -1], [1, 2, 3, 4]
    model = make_model(
        [
            make_node('Conv', ['x', 'w', 'b'], ['a']),
            make_node('Relu', ['a'], ['r']),
            make_node('Conv', ['r', 'v'], ['s']),
            make_node('HardSigmoid', ['s'], ['g'], alpha=1.0, beta=0.0),
            make_node('Conv', ['image', 'one'], ['i']),
            make_node('Mul', ['i', 'g'], ['y']),
        ],
        [make_value('x', F32, [2, 2, 1, 1]), make_value('image', F32, [2, 1, 1, 2])],
        [
            make_value('y', F32, [2, 2, 1, 2]),
            make_value('a', F32, [2, 1, 1, 1]),
            make_value('s', F32, [2, 2, 1, 1]),
        ],
        [
            floats('w', [1, 2, 1, 1], [1, 2]),
            floats('b', [1], [-4]),
            floats('v', [2, 1, 1, 1], [0.5, -1]),
            floats('one', [2, 1, 1, 1], [1, 1]),
        ],
    )
    return (
        model,
        [floats('x', [2, 2, 1, 1], x), floats('image', [2, 1, 1, 2], image)],
        [
            floats('y', [2, 2, 1, 2], [0.5, 1, 0, 0, 0, 0, 0, 0]),
            floats('a', [2, 1, 1, 1], [1, -3]),
            floats('s', [2, 2, 1, 1], [0.5, -1, 0, 0]),
        ],
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


def attention_by_heads():
    """Scores are made some queries at a time, keys and values from rows that are not kept, and
    results in the place of queries."""
    rows, heads, size = 64, 2, 16
    depth = heads * size
    x = [math.sin(i * 7 % 11) for i in range(rows * depth)]
    want = []
    for i in range(rows):
        for h in range(heads):
            part = [x[j * depth + h * size : j * depth + h * size + size] for j in range(rows)]
            score = [
                math.exp(0.5 * sum(a * b for a, b in zip(part[i], part[j])) + (j > i) * -1e9)
                for j in range(rows)
            ]
            want += [
                2 * sum(s * v[k] for s, v in zip(score, part)) / sum(score) + 1 for k in range(size)
            ]
    nodes, weights = [], [
        ints('heads', [4], [1, rows, heads, size]),
        ints('flat', [3], [1, rows, depth]),
        floats('one', [], [1]),
    ]
    weights.append(
        floats(
            'mask', [1, 1, rows, rows], [(j > i) * -1e9 for i in range(rows) for j in range(rows)]
        )
    )
    for name, by, perm in (
        ('q', 0.5, [0, 2, 1, 3]),
        ('k', 1, [0, 2, 3, 1]),
        ('v', 2, [0, 2, 1, 3]),
    ):
        weights.append(
            floats(
                'w' + name,
                [depth, depth],
                [by * (i % (depth + 1) == 0) for i in range(depth * depth)],
            )
        )
        nodes += [
            make_node('MatMul', ['x', 'w' + name], [name + '0']),
            make_node('Reshape', [name + '0', 'heads'], [name + '1']),
            make_node('Transpose', [name + '1'], [name], perm=perm),
        ]
    nodes += [
        make_node('MatMul', ['q', 'k'], ['s']),
        make_node('Add', ['s', 'mask'], ['m']),
        make_node('Softmax', ['m'], ['p'], axis=3),
        make_node('MatMul', ['p', 'v'], ['o']),
        make_node('Transpose', ['o'], ['t'], perm=[0, 2, 1, 3]),
        make_node('Reshape', ['t', 'flat'], ['f']),
        make_node('Add', ['f', 'one'], ['y']),
    ]
    model = make_model(
        nodes,
        [make_value('x', F32, [1, rows, depth])],
        [make_value('y', F32, [1, rows, depth])],
        weights,
    )
    return model, [floats('x', [1, rows, depth], x)], [floats('y', [1, rows, depth], want)]


# Equation, sizes of its labels; and whether it is a product of matrices.
EINSUMS = [
    ('bij,bjk->bik', {}, True),
    ('bhid,bhjd->bhij', {}, True),
    ('bnft,btnh->bfnh', {}, True),
    ('abc,cde->abde', {}, True),
    ('ij,jk->ki', {}, True),
    ('ij,bjk->bik', {}, True),
    ('abc,bcd->ad', {}, True),
    ('ba,ca', {}, True),
    ('...ij,...jk->...ik', {}, True),
    ('ij,j->i', {}, True),
    ('ij,jk->ik', {'j': 1}, True),
    ('i,i->', {}, False),
    ('ab,ab->ab', {}, False),
    ('ib,jb->bij', {}, False),
    ('aab,bc->ac', {}, False),
    ('ab,cd->ad', {}, False),
    ('ab,cd->abcd', {}, False),
]


def contracted(equation, given):
    """An Einsum, and what its definition says."""
    terms, _, result = equation.replace('...', 'YZ').partition('->')
    terms = terms.split(',')
    if '->' not in equation:
        result = ''.join(sorted(c for c in set(''.join(terms)) if ''.join(terms).count(c) == 1))
    size = {c: given.get(c, 2 + i % 4) for i, c in enumerate(sorted(set(''.join(terms))))}
    dims = [[size[c] for c in term] for term in (*terms, result)]
    operands = [[math.sin(i * (5 + k)) for i in range(math.prod(dims[k]))] for k in range(2)]

    def place(term, at):
        number = 0
        for c in term:
            number = number * size[c] + at[c]
        return number

    want = [0.0] * math.prod(dims[2])
    for numbers in itertools.product(*(range(n) for n in size.values())):
        at = dict(zip(size, numbers))
        want[place(result, at)] += (
            operands[0][place(terms[0], at)] * operands[1][place(terms[1], at)]
        )
    model = make_model(
        [make_node('Einsum', ['a', 'b'], ['y'], equation=equation)],
        [make_value(n, F32, d) for n, d in zip('ab', dims)],
        [make_value('y', F32, dims[2])],
    )
    return (
        model,
        [floats(n, d, v) for n, d, v in zip('ab', dims, operands)],
        [floats('y', dims[2], want)],
    )


def einsum_differs(inlay, equation, sizes, is_product):
    case = contracted(equation, sizes)
    kernels = [step['kernel'] for step in analyzed(inlay, case)['steps']]
    return judge(inlay, case) or ('' if ('einsum_f32' in kernels) != is_product else str(kernels))


def attention_by_einsum():
    """The same as by heads, as Keras and Flax write it."""
    model, given, want = attention_by_heads()
    rows, heads, size = 64, 2, 16
    depth = heads * size
    nodes, weights = [], [ints('flat', [3], [1, rows, depth]), floats('one', [], [1])]
    weights.append(
        floats(
            'mask', [1, 1, rows, rows], [(j > i) * -1e9 for i in range(rows) for j in range(rows)]
        )
    )
    for name, by in (('q', 0.5), ('k', 1), ('v', 2)):
        weights.append(
            floats(
                'w' + name,
                [depth, heads, size],
                [by * (i % (depth + 1) == 0) for i in range(depth * depth)],
            )
        )
        nodes.append(make_node('Einsum', ['x', 'w' + name], [name], equation='abc,cde->abde'))
    nodes += [
        make_node('Einsum', ['k', 'q'], ['s'], equation='aecd,abcd->acbe'),
        make_node('Add', ['s', 'mask'], ['m']),
        make_node('Softmax', ['m'], ['p'], axis=3),
        make_node('Einsum', ['p', 'v'], ['o'], equation='acbe,aecd->abcd'),
        make_node('Reshape', ['o', 'flat'], ['f']),
        make_node('Add', ['f', 'one'], ['y']),
    ]
    return (
        make_model(
            nodes,
            [make_value('x', F32, [1, rows, depth])],
            [make_value('y', F32, [1, rows, depth])],
            weights,
        ),
        given,
        want,
    )


def state_of(kind, constant):
    """A cell that sees only its biases, constants or of the caller."""
    gates, hidden = {'RNN': 1, 'GRU': 3, 'LSTM': 4}[kind], 62
    sigmoid = 1 / (1 + math.exp(-1))
    want = {
        'RNN': math.tanh(1),
        'GRU': (1 - sigmoid) * math.tanh(1),
        'LSTM': sigmoid * math.tanh(sigmoid * math.tanh(1)),
    }[kind]
    weights = [
        floats('w', [1, gates * hidden, 1], [0] * gates * hidden),
        floats('r', [1, gates * hidden, hidden], [0] * gates * hidden * hidden),
    ]
    bias = floats('b', [1, 2 * gates * hidden], [0.25] * gates * hidden + [0.75] * gates * hidden)
    x = make_value('x', F32, [1, 1, 1]), floats('x', [1, 1, 1], [9])
    b = make_value('b', F32, [1, 2 * gates * hidden]), bias
    given = [x] if constant else [x, b]
    model = make_model(
        [make_node(kind, ['x', 'w', 'r', 'b'], ['', 'y'], hidden_size=hidden)],
        [v for v, _ in given],
        [make_value('y', F32, [1, 1, hidden])],
        weights + [bias] * constant,
    )
    return model, [t for _, t in given], [floats('y', [1, 1, hidden], [want] * hidden)]


def best_by_box():
    """Scores by box, as a head of a detector gives them: turned for the suppression, and read again
    where it found them."""
    nodes = [
        make_node('Transpose', ['scores'], ['s1'], perm=[0, 2, 1]),
        make_node('NonMaxSuppression', ['boxes', 's1', 'each', 'overlap', 'least'], ['chosen']),
        make_node('GatherND', ['s1', 'chosen'], ['y']),
    ]
    model = make_model(
        nodes,
        [make_value('scores', F32, [1, 3, 2]), make_value('boxes', F32, [1, 3, 4])],
        [make_value('y', F32, ['n']), make_value('chosen', I64, ['n', 3])],
        [ints('each', [], [5]), floats('overlap', [], [0.5]), floats('least', [], [0.15])],
        17,
    )
    boxes = [0, 0, 10, 10] + [0, 0, 10, 9] + [20, 20, 30, 30]
    scores = [0.5, 0.2, 0.9, 0.1, 0.3, 0.8]
    return (
        model,
        [floats('scores', [1, 3, 2], scores), floats('boxes', [1, 3, 4], boxes)],
        [
            floats('y', [4], [0.9, 0.3, 0.8, 0.2]),
            ints('chosen', [4, 3], [0, 0, 1, 0, 0, 2, 0, 1, 2, 0, 1, 0]),
        ],
    )


def analyzed(inlay, case):
    """What the compiler says of a model, or why it does not."""
    with host.Work() as work:
        path = os.path.join(work, 'm.onnx')
        with open(path, 'wb') as f:
            f.write(case[0])
        status, text = host.run([inlay, 'analyze', path, '--json'], limit=60)
    assert not status, text
    return json.loads(text)


def holds_more(inlay, case, most):
    """Says which tensor of the arena has more than so many bytes, else ''."""
    held = [t['bytes'] for t in analyzed(inlay, case)['tensors'] if t['storage'] == 'arena']
    return '%d bytes are held' % max(held) if max(held, default=0) > most else ''


def arena_above(inlay, case, most):
    size = analyzed(inlay, case)['arena']['size']
    return 'an arena of %d bytes' % size if size > most else ''


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


def selected_images():
    """Images that a mask chose, as many as a run has: enlarged, normalized, pooled, each by
    itself."""
    nodes = [
        make_node('Greater', ['s', 'zero'], ['mask']),
        make_node('NonZero', ['mask'], ['places']),
        make_node('Squeeze', ['places', 'first'], ['at']),
        make_node('Gather', ['x', 'at'], ['images']),
        make_node('Resize', ['images', '', 'scales'], ['scaled']),
        make_node('Shape', ['images'], ['dims']),
        make_node('Slice', ['dims', 'first', 'second'], ['n']),
        make_node('Concat', ['n', 'one', 'wide'], ['sizes'], axis=0),
        make_node(
            'Resize',
            ['images', '', '', 'sizes'],
            ['sized'],
            mode='linear',
            coordinate_transformation_mode='align_corners',
        ),
        make_node('InstanceNormalization', ['images', 'ones', 'nulls'], ['normal']),
        make_node('SpaceToDepth', ['scaled'], ['deep'], blocksize=2),
        make_node('LpPool', ['images'], ['pooled'], kernel_shape=[1, 2]),
        make_node('LRN', ['images'], ['local'], size=1, alpha=0.0),
    ]
    wanted = {
        'scaled': ([2, 1, 2, 4], [1, 1, 3, 3] * 2 + [3, 3, 4, 4] * 2),
        'sized': ([2, 1, 1, 3], [1, 2, 3, 3, 3.5, 4]),
        'normal': ([2, 1, 1, 2], [-1, 1, -1, 1]),
        'deep': ([2, 4, 1, 2], [1, 3] * 4 + [3, 4] * 4),
        'pooled': ([2, 1, 1, 1], [10**0.5, 5]),
        'local': ([2, 1, 1, 2], [1, 3, 3, 4]),
    }
    outs = [make_value(name, F32, ['n'] + dims[1:]) for name, (dims, _) in wanted.items()]
    model = make_model(
        nodes,
        [make_value('x', F32, [4, 1, 1, 2]), make_value('s', F32, [4])],
        outs,
        [
            floats('zero', [], [0]),
            ints('first', [1], [0]),
            ints('second', [1], [1]),
            floats('scales', [4], [1, 1, 2, 2]),
            ints('one', [1], [1]),
            ints('wide', [2], [1, 3]),
            floats('ones', [1], [1]),
            floats('nulls', [1], [0]),
        ],
    )
    return (
        model,
        [floats('x', [4, 1, 1, 2], [1, 3, 7, 7, 3, 4, 9, 9]), floats('s', [4], [1, -1, 1, -1])],
        [floats(n, *w) for n, w in wanted.items()],
    )


def selected_regions():
    """RoiAlign over those regions that a score chose; the image is 7 everywhere."""
    nodes = [
        make_node('Greater', ['s', 'least'], ['mask']),
        make_node('NonZero', ['mask'], ['places']),
        make_node('Squeeze', ['places', 'first'], ['at']),
        make_node('Gather', ['boxes', 'at'], ['chosen']),
        make_node('Gather', ['image', 'at'], ['of']),
        make_node('RoiAlign', ['x', 'chosen', 'of'], ['y'], output_height=1, output_width=1),
    ]
    model = make_model(
        nodes,
        [
            make_value('x', F32, [1, 1, 4, 4]),
            make_value('boxes', F32, [3, 4]),
            make_value('s', F32, [3]),
        ],
        [make_value('y', F32, ['n', 1, 1, 1])],
        [floats('least', [], [0.5]), ints('first', [1], [0]), ints('image', [3], [0, 0, 0])],
    )
    given = [
        floats('x', [1, 1, 4, 4], [7] * 16),
        floats('boxes', [3, 4], [0, 0, 2, 2, 1, 1, 3, 3, 0, 1, 2, 3]),
    ]
    return model, given + [floats('s', [3], [0.9, 0.1, 0.8])], [floats('y', [2, 1, 1, 1], [7, 7])]


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


TURNED = (
    ('Gather', [2, 0, 1], [2], {'axis': 0}),
    ('Gather', [2, 0, 1], [2, 3], {'axis': 2}),
    ('Gather', [1, 2, 0], [3], {'axis': 1}),
    ('Gather', [0, 2, 1], [], {'axis': 1}),
    ('GatherND', [2, 0, 1], [2, 3], {}),
    ('GatherND', [1, 0, 2], [3, 2], {}),
    ('GatherND', [0, 2, 1], [5, 2], {'batch_dims': 1}),
)


def part_and_whole(part):
    """A part of a split that is a result, and the whole of the same parts: the part has two
    names."""
    model = make_model(
        [
            make_node('SplitToSequence', ['x', 'sizes'], ['q'], axis=0),
            make_node('SequenceAt', ['q', 'place'], ['a']),
            make_node('ConcatFromSequence', ['q'], ['y'], axis=0),
        ],
        [make_value('x', F32, [6])],
        [make_value('a', F32, ['n']), make_value('y', F32, [6])],
        [ints('sizes', [3], [1, 2, 3]), ints('place', [], [part])],
    )
    return (
        model,
        [floats('x', [6], range(6))],
        [
            floats('a', [3], range(6)[3:]) if part else floats('a', [1], [0]),
            floats('y', [6], range(6)),
        ],
    )


def handed_out_sequence():
    """A sequence among the results is as many results, in its place; one item is an input, one a
    constant, one of a size of its own."""
    model = make_model(
        [
            make_node('SplitToSequence', ['x', 'sizes'], ['parts'], axis=0),
            make_node('SequenceInsert', ['parts', 'x', 'first'], ['more']),
            make_node('SequenceInsert', ['more', 'seven'], ['q']),
            make_node('Neg', ['x'], ['y']),
            make_node('Compress', ['x', 'good'], ['some'], axis=0),
            make_node('SequenceConstruct', ['some'], ['r']),
        ],
        [make_value('x', F32, [4]), make_value('good', BOOL, [4])],
        [make_sequence('q', F32), make_value('y', F32, [4]), make_sequence('r', F32)],
        [ints('sizes', [2], [1, 3]), ints('first', [], [0]), floats('seven', [1], [7])],
    )
    return (
        model,
        [floats('x', [4], range(4)), make_tensor('good', BOOL, [4], bytes([0, 1, 0, 1]))],
        [
            floats('q[0]', [4], range(4)),
            floats('q[1]', [1], [0]),
            floats('q[2]', [3], [1, 2, 3]),
            floats('q[3]', [1], [7]),
            floats('y', [4], [0, -1, -2, -3]),
            floats('r[0]', [2], [1, 3]),
        ],
    )


def names_of_results(inlay, case):
    """'' or what is wrong: the results have these names."""
    model, _, want = case
    with host.Work() as work:
        path = os.path.join(work, 'm.onnx')
        with open(path, 'wb') as f:
            f.write(model)
        status, text = host.run([inlay, 'analyze', path, '--json'])
    if status:
        return text
    names = [o['name'] for o in json.loads(text)['outputs']]
    return '' if names == [onnx.parse_tensor(w).name for w in want] else 'results %s' % names


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


def loop_of_a_product():
    """A loop that only the data end, of a body whose matrices do not fit."""
    body = make_graph_attr(
        'body',
        [
            make_node('MatMul', ['v', 'w'], ['v1'], 'product'),
            make_node('ReduceSum', ['v1'], ['sum'], keepdims=0),
            make_node('Less', ['sum', 'most'], ['c1']),
        ],
        [make_value('i', I64, []), make_value('c', BOOL, []), make_value('v', F32, ['n', 'm'])],
        [make_value('c1', BOOL, []), make_value('v1', F32, ['n', 'k'])],
    )
    model = make_model(
        [make_node('Loop', ['', 'go', 'x'], ['y'], graphs=[body])],
        [make_value('x', F32, [1, 3]), make_value('go', BOOL, [])],
        [make_value('y', F32, ['n', 'k'])],
        [floats('w', [2, 2], range(4)), floats('most', [], [9])],
    )
    return model, [floats('x', [1, 3], range(3)), make_tensor('go', BOOL, [], b'\1')], []


def declared_otherwise(dims):
    """[2,3], of which the file says `dims`."""
    model = make_model(
        [make_node('Neg', ['x'], ['y'])],
        [make_value('x', F32, [2, 3])],
        [make_value('y', F32, dims)],
    )
    numbers = [1, 2, 3, 4, 5, 6]
    return model, [floats('x', [2, 3], numbers)], [floats('y', [2, 3], [-n for n in numbers])]


def judge(inlay, case):
    """'' or what is wrong."""
    model, given, want = case
    with host.Work() as work:
        command = [inlay, 'run', os.path.join(work, 'm.onnx'), '-o', work]
        for path, content in [(command[2], model)] + [
            (os.path.join(work, 'in%d.pb' % i), t) for i, t in enumerate(given)
        ]:
            with open(path, 'wb') as f:
                f.write(content)
        for i in range(len(given)):
            command += ['--input', os.path.join(work, 'in%d.pb' % i)]
        status, text = host.run(command, limit=60)
        if status:
            return 'status %d: %s' % (status, text)
        bad = [
            onnx.difference(
                onnx.read_tensor(os.path.join(work, 'output_%d.pb' % i)), onnx.parse_tensor(w)
            )
            for i, w in enumerate(want)
        ]
        return '; '.join('output %d %s' % (i, b) for i, b in enumerate(bad) if b)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    o = p.parse_args()
    t = tap.Tap()
    for case in (
        growing_sequence,
        while_loop,
        no_turn,
        values_of_a_turn,
        part_of_selection,
        detector,
        detector_without_boxes,
        copied_sequence,
        mask_of_scores,
        joined_selections,
        joined_nothing,
        selected_rows,
        told_sizes,
        selected_images,
        selected_regions,
        gate_of_the_result_before,
        windows_rounded_up,
        padded_channels_last,
        what_is_made_of_a_selection,
        rows_filled_up,
        taken_apart,
        as_many_bins,
        counted_constants,
        outer_difference,
        bias_of_rows,
    ):
        bad = judge(o.inlay, case())
        t.ok(case.__name__, not bad, bad)
    bad = judge(o.inlay, windows_rounded_up(False))
    t.ok('windows rounded up, of which the file says nothing', not bad, bad)
    for x in ((-1, -2, 1, -3, -4), (4, 3, 2, 1, -1)):
        bad = judge(o.inlay, what_is_made_of_a_selection(x))
        t.ok('what is made of %d numbers of five' % sum(v > 0 for v in x), not bad, bad)
    for x in ((3, -1, 4, -2, -5), (3, 1, 4, -2, 5)):
        bad = judge(o.inlay, taken_apart(x))
        t.ok('more or fewer than there were: the run fails', 'shape' in bad, bad)
    bad = carries_no_weights(o.inlay)
    t.ok(carries_no_weights.__name__, not bad, bad)
    for op, perm, index, attributes in TURNED:
        case = read_turned(op, perm, index, **attributes)
        bad = (
            judge(o.inlay, case)
            or (index != [2, 3] or op == 'GatherND')
            and holds_more(o.inlay, case, 200)
        )
        t.ok('%s of what is turned by %s, %s' % (op, perm, index), not bad, bad)
    bad = judge(o.inlay, grid_and_anchors()) or arena_above(o.inlay, grid_and_anchors(), 400)
    t.ok(grid_and_anchors.__name__, not bad, bad)
    bad = judge(o.inlay, turned_while_made()) or arena_above(
        o.inlay, turned_while_made(), 64 * 32 * 4 + 2048
    )
    t.ok(turned_while_made.__name__, not bad, bad)
    bad = judge(o.inlay, turned_while_read()) or arena_above(o.inlay, turned_while_read(), 6144)
    t.ok(turned_while_read.__name__, not bad, bad)
    bad = judge(o.inlay, attention_by_heads()) or arena_above(
        o.inlay, attention_by_heads(), 3 * 64 * 32 * 4 + 4096
    )
    t.ok(attention_by_heads.__name__, not bad, bad)
    bad = judge(o.inlay, attention_by_einsum()) or arena_above(
        o.inlay, attention_by_einsum(), 3 * 64 * 32 * 4 + 4096
    )
    t.ok(attention_by_einsum.__name__, not bad, bad)
    for equation, sizes, is_product in EINSUMS:
        bad = einsum_differs(o.inlay, equation, sizes, is_product)
        t.ok('Einsum ' + equation, not bad, bad)
    for kind, numbers in (('RNN', 2), ('GRU', 5), ('LSTM', 6)):
        bad = judge(o.inlay, state_of(kind, False))
        t.ok('a state of %s, biases of the caller' % kind, not bad, bad)
        bad = judge(o.inlay, state_of(kind, True)) or arena_above(
            o.inlay, state_of(kind, True), 64 * 4 * numbers
        )
        t.ok('a state of %s: scratch holds no biases and no zeros' % kind, not bad, bad)
    bad = judge(o.inlay, best_by_box())
    t.ok(best_by_box.__name__, not bad, bad)
    for k in (2, 4, 1, 0, 9, -3):
        bad = judge(o.inlay, best_of_some(k))
        t.ok('best %d of four' % k, not bad, bad)
    for producer, last in (('pytorch', 8), ('', 24 / 3.5)):
        bad = judge(o.inlay, kept_corners(producer, last))
        t.ok('corners by "%s"' % producer, not bad, bad)
    for start, end in ((0, 2), (1, 9), (-3, 3), (3, 1), (0, -1), (2, 1 << 40), (-9, 1)):
        bad = judge(o.inlay, cut_by_numbers(start, end))
        t.ok('elements %d to %d, known when it runs' % (start, end), not bad, bad)
    for place in (0, 1, 2):
        bad = judge(o.inlay, window_at(place))
        t.ok('a window at %d, known when it runs' % place, not bad, bad)
    bad = judge(o.inlay, window_at(3))
    t.ok('a window beyond the end, which is an error of the run', bad.startswith('status'), bad)
    for source in ([7, 8, 9, 10, 11, 12], [7, 8, 9]):
        bad = judge(o.inlay, scattered_by_mask(source))
        t.ok('%d numbers, of which a mask takes some' % len(source), not bad, bad)
    bad = judge(o.inlay, bags_of_rows())
    t.ok(bags_of_rows.__name__, not bad, bad)
    for dims, wanted in (([3], ''), ([1, 3], ''), ([3, 1], 'status 65'), ([1, 1, 3], 'status 65')):
        want = [floats('y', [1, 3], [-2, 0, 3])]
        bad = judge(o.inlay, (wide_slope(dims), [floats('x', [1, 3], [-1, 0, 3])], want))
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
        bad = judge(o.inlay, of_one_slope(x, slope, declared))
        t.ok('a slope of %s for %s, declared as %s' % (slope, x, declared), not bad, bad)
    bad = judge(o.inlay, handed_out_sequence()) or names_of_results(o.inlay, handed_out_sequence())
    t.ok(handed_out_sequence.__name__, not bad, bad)
    for part in (-1, 0):
        bad = judge(o.inlay, part_and_whole(part))
        t.ok('part %d of a sequence, and all of it' % part, not bad, bad)
    for case in (
        of_some_rows('MatMul', ['columns', 'w'], floats('w', [4, 3], range(12))),
        of_some_rows('GatherND', ['rows', 'at'], ints('at', [4, 1, 1], [0, 1, 1, 0]), batch_dims=1),
    ):
        bad = judge(o.inlay, case)
        t.ok(
            'what does not fit the most rows may fit those there are',
            bad.startswith('status 69') and 'at most' in bad,
            bad,
        )
    for dims in ([], [2, 1, 3], [1, 2, 3], [1, 'n', 3, 1]):
        bad = judge(o.inlay, declared_otherwise(dims))
        t.ok('declared as %s, which is no other shape' % dims, not bad, bad)
    for dims in ([3, 2], [6], [2, 1], [2, 3, 2], [1, 'n', 2]):
        bad = judge(o.inlay, declared_otherwise(dims))
        t.ok('declared as %s, which is another shape' % dims, bad.startswith('status 65'), bad)
    bad = judge(o.inlay, loop_of_a_product())
    t.ok(
        'why the turns of a loop are not alike',
        bad.startswith('status 69') and 'product' in bad and 'do not fit' in bad,
        bad,
    )
    t.done()


if __name__ == '__main__':
    main()
