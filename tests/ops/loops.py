# SPDX-License-Identifier: Apache-2.0
"""Loops whose turns differ, sequences and branches: small graphs with answers worked out by hand.

    loops.py --inlay INLAY"""
import json
import os

import host
import onnx
from by_hand import BOOL, F32, I64, floats, ints, judge, run
from onnx import make_graph_attr, make_model, make_node, make_sequence, make_tensor, make_value


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


CASES = (
    growing_sequence,
    while_loop,
    no_turn,
    values_of_a_turn,
    copied_sequence,
    gate_of_the_result_before,
)


def check(t, inlay):
    bad = carries_no_weights(inlay)
    t.ok(carries_no_weights.__name__, not bad, bad)
    bad = judge(inlay, handed_out_sequence()) or names_of_results(inlay, handed_out_sequence())
    t.ok(handed_out_sequence.__name__, not bad, bad)
    for part in (-1, 0):
        bad = judge(inlay, part_and_whole(part))
        t.ok('part %d of a sequence, and all of it' % part, not bad, bad)
    bad = judge(inlay, loop_of_a_product())
    t.ok(
        'why the turns of a loop are not alike',
        bad.startswith('status 69') and 'product' in bad and 'do not fit' in bad,
        bad,
    )


if __name__ == '__main__':
    run(check, CASES)
