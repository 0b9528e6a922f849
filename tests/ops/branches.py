# SPDX-License-Identifier: Apache-2.0
"""If and Loop whose results have sizes that only a run knows, with answers worked out by hand.

    branches.py --inlay INLAY"""
import argparse

import tap
from by_hand import BOOL, F32, I64, floats, ints, judge
from onnx import make_graph_attr, make_model, make_node, make_tensor, make_value

ROWS = [[1, 2], [3, 4], [5, 6]]


def flat(rows):
    return [v for row in rows for v in row]


def branch(name, nodes, results, rank=2):
    return make_graph_attr(name, nodes, [], [make_value(r, F32, [None] * rank) for r in results])


def chosen(yes, then, other, results, after=(), constants=()):
    """A model whose If takes the branch `then` where c is true; x is [3, 2]."""
    names = ['y%d' % i for i in range(len(then[1]))]
    nodes = [
        make_node(
            'If', ['c'], names, graphs=[branch('then_branch', *then), branch('else_branch', *other)]
        )
    ] + list(after)
    lists = [
        ints('none', [1], [0]),
        ints('one', [1], [1]),
        ints('two', [1], [2]),
        floats('zero', [], [0]),
    ]
    model = make_model(
        nodes,
        [make_value('x', F32, [3, 2]), make_value('c', BOOL, [])],
        [make_value(n, t, [None] * rank) for n, t, rank in results],
        lists + list(constants),
        17,
    )
    return model, [floats('x', [3, 2], flat(ROWS)), make_tensor('c', BOOL, [], bytes([yes]))]


FIRST_TWO = ([make_node('Slice', ['x', 'none', 'two', 'none'], ['a'])], ['a'])
TWICE = ([make_node('Concat', ['x', 'x'], ['b'], axis=0)], ['b'])


def rows_of_either(yes):
    """The first two rows, or all twice; what comes after reads as many as there are."""
    after = [
        make_node('MatMul', ['y0', 'w'], ['z']),
        make_node('ReduceMax', ['y0'], ['top'], keepdims=0),
        make_node('Shape', ['y0'], ['n']),
    ]
    model, given = chosen(
        yes,
        FIRST_TWO,
        TWICE,
        [('y0', F32, 2), ('z', F32, 2), ('top', F32, 0), ('n', I64, 1)],
        after,
        [floats('w', [2, 1], [-10, -1])],
    )
    rows = ROWS[:2] if yes else ROWS * 2
    return (
        model,
        given,
        [
            floats('y0', [len(rows), 2], flat(rows)),
            floats('z', [len(rows), 1], [-10 * a - b for a, b in rows]),
            floats('top', [], [4 if yes else 6]),
            ints('n', [2], [len(rows), 2]),
        ],
    )


def both_axes(yes):
    """One element, or all rows turned: both sizes differ."""
    corner = (
        [
            make_node('Slice', ['x', 'none', 'one', 'none'], ['p']),
            make_node('Slice', ['p', 'none', 'one', 'one'], ['a']),
        ],
        ['a'],
    )
    turned = ([make_node('Transpose', ['x'], ['b'], perm=[1, 0])], ['b'])
    model, given = chosen(yes, corner, turned, [('y0', F32, 2)])
    return (
        model,
        given,
        [floats('y0', [1, 1], [1]) if yes else floats('y0', [2, 3], [1, 3, 5, 2, 4, 6])],
    )


def one_size_of_two_results(yes):
    """Two results are as long as each other in either branch: their sum is of that length."""
    then = (FIRST_TWO[0] + [make_node('Neg', ['a'], ['a2'])], ['a', 'a2'])
    other = (
        [
            make_node('Greater', ['x', 'zero'], ['g']),
            make_node('Identity', ['x'], ['b']),
            make_node('Mul', ['x', 'x'], ['b2']),
        ],
        ['b', 'b2'],
    )
    model, given = chosen(
        yes, then, other, [('sum', F32, 2)], [make_node('Add', ['y0', 'y1'], ['sum'])]
    )
    rows = [[0, 0]] * 2 if yes else [[v + v * v for v in row] for row in ROWS]
    return model, given, [floats('sum', [len(rows), 2], flat(rows))]


def selections(yes):
    """What each branch selects is counted when it runs."""
    then = (
        [make_node('Greater', ['x', 'four'], ['g']), make_node('Compress', ['x', 'g'], ['a'])],
        ['a'],
        1,
    )
    other = (
        [make_node('Less', ['x', 'four'], ['h']), make_node('Compress', ['x', 'h'], ['b'])],
        ['b'],
        1,
    )
    model, given = chosen(
        yes,
        then,
        other,
        [('q', F32, 1)],
        [make_node('Neg', ['y0'], ['q'])],
        [floats('four', [], [4])],
    )
    values = [5, 6] if yes else [1, 2, 3]
    return model, given, [floats('q', [len(values)], [-v for v in values])]


def inner_choice(yes):
    """An If in a branch, of rows that differ again."""
    inner = make_node(
        'If',
        ['d'],
        ['a'],
        graphs=[
            branch('then_branch', [make_node('Slice', ['x', 'none', 'one', 'none'], ['p'])], ['p']),
            branch('else_branch', [make_node('Identity', ['x'], ['q'])], ['q']),
        ],
    )
    then = (
        [
            make_node('ReduceSum', ['x'], ['s'], keepdims=0),
            make_node('Less', ['s', 'limit'], ['d']),
            inner,
        ],
        ['a'],
    )
    model, given = chosen(yes, then, TWICE, [('y0', F32, 2)], (), [floats('limit', [], [30])])
    rows = ROWS[:1] if yes else ROWS * 2
    return model, given, [floats('y0', [len(rows), 2], flat(rows))]


def ranks_differ(yes):
    """One branch hands on what there is, the other one adds a dimension: a run may take the first
    only."""
    other = ([make_node('Identity', ['x'], ['b'])], ['b'])
    model, given = chosen(
        yes,
        ([make_node('Unsqueeze', ['x', 'none'], ['a'])], ['a'], 3),
        other,
        [('z', F32, 2)],
        [make_node('Neg', ['y0'], ['z'])],
    )
    return model, given, [floats('z', [3, 2], [-v for v in flat(ROWS)])]


def best_of_rows(least):
    """Of each row that is chosen the greatest element, by TopK and by its index."""
    nodes = [
        make_node('Greater', ['s', 'least'], ['g']),
        make_node('Compress', ['x', 'g'], ['rows'], axis=0),
        make_node('TopK', ['rows', 'one'], ['v', 'i']),
        make_node('Neg', ['rows'], ['minus']),
        make_node('GatherElements', ['minus', 'i'], ['m'], axis=1),
        make_node('Hardmax', ['rows'], ['h']),
    ]
    model = make_model(
        nodes,
        [make_value('x', F32, [3, 2]), make_value('s', F32, [3])],
        [
            make_value('v', F32, ['n', 1]),
            make_value('i', I64, ['n', 1]),
            make_value('m', F32, ['n', 1]),
            make_value('h', F32, ['n', 2]),
        ],
        [floats('least', [], [least]), ints('one', [1], [1])],
        17,
    )
    x, s = [[1, 2], [4, 3], [5, 6]], [0.5, 0.9, 0.7]
    rows = [row for row, score in zip(x, s) if score > least]
    n = len(rows)
    best = [row.index(max(row)) for row in rows]
    return (
        model,
        [floats('x', [3, 2], flat(x)), floats('s', [3], s)],
        [
            floats('v', [n, 1], [max(row) for row in rows]),
            ints('i', [n, 1], best),
            floats('m', [n, 1], [-max(row) for row in rows]),
            floats('h', [n, 2], [float(k == b) for b in best for k in range(2)]),
        ],
    )


X4 = [[0, 1], [2, 3], [4, 5], [6, 7]]


def looped(body, first, inputs, carried=(), before=(), after=(), results=('y',)):
    """A model whose Loop makes rows for turns of which only a run knows how many; x is [4, 2]."""
    names = [r[0] for r in carried]
    turn = make_graph_attr(
        'body',
        body,
        [make_value('i', I64, []), make_value('c', BOOL, [])]
        + [make_value(n, t, []) for n, _, t in carried],
        [make_value('c1', BOOL, [])]
        + [make_value(n + '1', t, []) for n, _, t in carried]
        + [make_value('r', F32, [2])],
    )
    ends = ['end_' + n for n in names]
    nodes = (
        list(before)
        + [
            make_node(
                'Loop', first + [start for _, start, _ in carried], ends + ['y'], graphs=[turn]
            )
        ]
        + list(after)
    )
    return make_model(
        nodes,
        [make_value('x', F32, [4, 2])] + inputs,
        [make_value(n, F32, ['n', 2][:rank]) for n, rank in results],
        [
            make_tensor('yes', BOOL, [], bytes([1])),
            ints('three', [], [3]),
            ints('zero', [], [0]),
            ints('one', [], [1]),
            floats('none', [], [0]),
            ints('far', [], [1 << 62]),
            ints('first', [1], [0]),
            ints('wide', [1], [2]),
        ],
        17,
    )


def rows_by_turn(n):
    """As many rows as the caller says: each turn reads one of four, so that there are no more."""
    body = [make_node('Identity', ['c'], ['c1']), make_node('Gather', ['x', 'i'], ['r'])]
    after = [make_node('ReduceSum', ['y', 'first'], ['sum'], keepdims=0)]
    model = looped(
        body, ['n', 'yes'], [make_value('n', I64, [])], after=after, results=(('y', 2), ('sum', 1))
    )
    return (
        model,
        [floats('x', [4, 2], flat(X4)), ints('n', [], [n])],
        [
            floats('y', [n, 2], flat(X4[:n])),
            floats('sum', [2], [sum(row[k] for row in X4[:n]) for k in range(2)]),
        ],
    )


def no_condition(left_out):
    """A Loop that names nothing but its trip count, with the condition left out in either way."""
    body = [make_node('Identity', ['c'], ['c1']), make_node('Gather', ['x', 'i'], ['r'])]
    return (
        looped(body, ['three'] + left_out, [], results=(('y', 2),)),
        [floats('x', [4, 2], flat(X4))],
        [floats('y', [3, 2], flat(X4[:3]))],
    )


def least_of_counts(n):
    """No more turns than three, whatever the caller says."""
    body = [
        make_node('Identity', ['c'], ['c1']),
        make_node('Cast', ['i'], ['f'], to=F32),
        make_node('ReduceMax', ['x'], ['m'], axes=[0], keepdims=0),
        make_node('Add', ['m', 'f'], ['r']),
    ]
    model = looped(
        body,
        ['k', 'yes'],
        [make_value('n', I64, [])],
        before=[make_node('Min', ['n', 'three'], ['k'])],
        results=(('y', 2),),
    )
    turns = min(n, 3)
    return (
        model,
        [floats('x', [4, 2], flat(X4)), ints('n', [], [n])],
        [floats('y', [turns, 2], [v + t for t in range(turns) for v in (6, 7)])],
    )


def rows_of_selection(least):
    """A turn for each element that is selected: at most as many as there are, and rows of them."""
    before = [
        make_node('Greater', ['x', 'least'], ['g']),
        make_node('Compress', ['x', 'g'], ['v']),
        make_node('Size', ['v'], ['k']),
    ]
    body = [
        make_node('Identity', ['c'], ['c1']),
        make_node('Gather', ['v', 'i'], ['e']),
        make_node('Expand', ['e', 'wide'], ['r']),
    ]
    model = looped(
        body, ['k', 'yes'], [make_value('least', F32, [])], before=before, results=(('y', 2),)
    )
    values = [v for v in flat(X4) if v > least]
    return (
        model,
        [floats('x', [4, 2], flat(X4)), floats('least', [], [least])],
        [floats('y', [len(values), 2], [v for v in values for _ in range(2)])],
    )


def while_it_sums(limit):
    """A `while` that reads a row by a counter of its own, with a trip count that is no limit."""
    body = [
        make_node('Gather', ['x', 'k'], ['r']),
        make_node('Add', ['k', 'one'], ['k1']),
        make_node('ReduceSum', ['r'], ['s'], keepdims=0),
        make_node('Add', ['a', 's'], ['a1']),
        make_node('Less', ['a1', 'limit'], ['c1']),
    ]
    model = looped(
        body,
        ['far', 'yes'],
        [make_value('limit', F32, [])],
        (('k', 'zero', I64), ('a', 'none', F32)),
        results=(('y', 2),),
    )
    rows, total = [], 0
    while not rows or total < limit:
        rows.append(X4[len(rows)])
        total += sum(rows[-1])
    return (
        model,
        [floats('x', [4, 2], flat(X4)), floats('limit', [], [limit])],
        [floats('y', [len(rows), 2], flat(rows))],
    )


def mapped_sequence():
    """A body for each item of a sequence, beside the items of another one and a tensor; two
    results."""
    body = make_graph_attr(
        'body',
        [
            make_node('Mul', ['p', 'q'], ['pq']),
            make_node('Add', ['pq', 'w'], ['u']),
            make_node('Shape', ['p'], ['v']),
        ],
        [make_value(n, F32, [None]) for n in 'pqw'],
        [make_value('u', F32, [None]), make_value('v', I64, [None])],
    )
    nodes = [
        make_node('SplitToSequence', ['x', 'sizes'], ['s'], axis=0),
        make_node('Neg', ['x'], ['z']),
        make_node('SplitToSequence', ['z', 'sizes'], ['t'], axis=0),
        make_node('SequenceMap', ['s', 't', 'w'], ['us', 'vs'], graphs=[body]),
        make_node('ConcatFromSequence', ['us'], ['y'], axis=0),
        make_node('ConcatFromSequence', ['vs'], ['n'], axis=0),
    ]
    model = make_model(
        nodes,
        [make_value('x', F32, [3]), make_value('w', F32, [1])],
        [make_value('y', F32, [3]), make_value('n', I64, [2])],
        [ints('sizes', [2], [1, 2])],
        17,
    )
    return (
        model,
        [floats('x', [3], [1, 2, 3]), floats('w', [1], [10])],
        [floats('y', [3], [9, 6, 1]), ints('n', [2], [1, 2])],
    )


def mapped_in_itself(depth):
    """A body that maps the sequence again, and so on: ten items to the power of the depth."""
    nodes, out = [make_node('Neg', ['p'], ['o'])], 'o'
    for d in range(depth):
        body = make_graph_attr(
            'body', nodes, [make_value('p', F32, [None])], [make_value(out, F32, [None])]
        )
        out = 'o%d' % d
        nodes = [
            make_node('SequenceMap', ['s'], ['t%d' % d], graphs=[body]),
            make_node('ConcatFromSequence', ['t%d' % d], [out], axis=0),
        ]
    model = make_model(
        [make_node('SplitToSequence', ['x'], ['s'], axis=0)] + nodes,
        [make_value('x', F32, [10])],
        [make_value(out, F32, [None])],
        [],
        17,
    )
    return model, [floats('x', [10], range(10))], []


def appended(times):
    """An item more than the last list in each: all lists together grow with the square."""
    nodes = [make_node('SplitToSequence', ['x'], ['s0'], axis=0)]
    nodes += [
        make_node('SequenceInsert', ['s%d' % i, 'one'], ['s%d' % (i + 1)]) for i in range(times)
    ]
    nodes += [make_node('ConcatFromSequence', ['s%d' % times], ['y'], axis=0)]
    model = make_model(
        nodes,
        [make_value('x', F32, [1000])],
        [make_value('y', F32, [None])],
        [floats('one', [1], [1])],
        17,
    )
    values = list(range(1000))
    return model, [floats('x', [1000], values)], [floats('y', [1000 + times], values + [1] * times)]


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    o = p.parse_args()
    t = tap.Tap()
    for case in (rows_of_either, both_axes, one_size_of_two_results, selections, inner_choice):
        for yes in (1, 0):
            bad = judge(o.inlay, case(yes))
            t.ok('%s, condition %d' % (case.__name__, yes), not bad, bad)
    bad = judge(o.inlay, ranks_differ(0))
    t.ok(ranks_differ.__name__, not bad, bad)
    bad = judge(o.inlay, ranks_differ(1))
    t.ok(
        'the branch of another rank ends the run',
        bad.startswith('status 1') and 'ended with code' in bad,
        bad,
    )
    for least in (0.6, 0.8, 1):
        bad = judge(o.inlay, best_of_rows(least))
        t.ok('the best of rows above %g' % least, not bad, bad)
    for case in (rows_by_turn, least_of_counts):
        for n in (0, 1, 4) if case is rows_by_turn else (0, 2, 9):
            bad = judge(o.inlay, case(n))
            t.ok('%s, %d turns' % (case.__name__, n), not bad, bad)
    for left_out in ([], ['']):
        bad = judge(o.inlay, no_condition(left_out))
        t.ok('a trip count and %d names behind it' % len(left_out), not bad, bad)
    bad = judge(o.inlay, rows_by_turn(5))
    t.ok(
        'a turn that reads beyond the rows ends the run',
        bad.startswith('status 1') and 'ended with code' in bad,
        bad,
    )
    for least in (-1, 4, 9):
        bad = judge(o.inlay, rows_of_selection(least))
        t.ok('a turn for each element above %d' % least, not bad, bad)
    for limit in (0, 6, 28):
        bad = judge(o.inlay, while_it_sums(limit))
        t.ok('rows until they sum to %d' % limit, not bad, bad)
    bad = judge(o.inlay, mapped_sequence())
    t.ok(mapped_sequence.__name__, not bad, bad)
    bad = judge(o.inlay, mapped_in_itself(9))
    t.ok(
        'bodies within bodies have a limit', bad.startswith('status 69') and 'more than' in bad, bad
    )
    bad = judge(o.inlay, appended(20))
    t.ok('lists of a thousand items', not bad, bad)
    bad = judge(o.inlay, appended(1000))
    t.ok('all lists together have a limit', bad.startswith('status 69') and 'more than' in bad, bad)
    t.done()


if __name__ == '__main__':
    main()
