# SPDX-License-Identifier: Apache-2.0
"""If and Loop whose results have sizes that only a run knows, with answers worked out by hand.

    branches.py --inlay INLAY"""
import argparse

import onnx
import tap
from graphs import BOOL, F32, I64, floats, ints, judge
from onnx import make_graph_attr, make_model, make_node, make_tensor, make_value

ROWS = [[1, 2], [3, 4], [5, 6]]


def flat(rows):
    return [v for row in rows for v in row]


def branch(name, nodes, results, rank=2):
    return make_graph_attr(name, nodes, [], [make_value(r, F32, [None] * rank) for r in results])


def chosen(yes, then, other, results, after=(), constants=()):
    """A model whose If takes the branch `then` where c is true; x is [3, 2]."""
    names = ['y%d' % i for i in range(len(then[1]))]
    nodes = [make_node('If', ['c'], names, graphs=[branch('then_branch', *then), branch('else_branch', *other)])] + list(after)
    lists = [ints('none', [1], [0]), ints('one', [1], [1]), ints('two', [1], [2]), floats('zero', [], [0])]
    model = make_model(nodes, [make_value('x', F32, [3, 2]), make_value('c', BOOL, [])],
                       [make_value(n, t, [None] * rank) for n, t, rank in results], lists + list(constants), 17)
    return model, [floats('x', [3, 2], flat(ROWS)), make_tensor('c', BOOL, [], bytes([yes]))]


FIRST_TWO = ([make_node('Slice', ['x', 'none', 'two', 'none'], ['a'])], ['a'])
TWICE = ([make_node('Concat', ['x', 'x'], ['b'], axis=0)], ['b'])


def rows_of_either(yes):
    """The first two rows, or all twice; what comes after reads as many as there are."""
    after = [make_node('MatMul', ['y0', 'w'], ['z']), make_node('ReduceMax', ['y0'], ['top'], keepdims=0), make_node('Shape', ['y0'], ['n'])]
    model, given = chosen(yes, FIRST_TWO, TWICE, [('y0', F32, 2), ('z', F32, 2), ('top', F32, 0), ('n', I64, 1)], after, [floats('w', [2, 1], [-10, -1])])
    rows = ROWS[:2] if yes else ROWS * 2
    return model, given, [floats('y0', [len(rows), 2], flat(rows)), floats('z', [len(rows), 1], [-10 * a - b for a, b in rows]),
                          floats('top', [], [4 if yes else 6]), ints('n', [2], [len(rows), 2])]


def both_axes(yes):
    """One element, or all rows turned: both sizes differ."""
    corner = ([make_node('Slice', ['x', 'none', 'one', 'none'], ['p']), make_node('Slice', ['p', 'none', 'one', 'one'], ['a'])], ['a'])
    turned = ([make_node('Transpose', ['x'], ['b'], perm=[1, 0])], ['b'])
    model, given = chosen(yes, corner, turned, [('y0', F32, 2)])
    return model, given, [floats('y0', [1, 1], [1]) if yes else floats('y0', [2, 3], [1, 3, 5, 2, 4, 6])]


def one_size_of_two_results(yes):
    """Two results are as long as each other in either branch: their sum is of that length."""
    then = (FIRST_TWO[0] + [make_node('Neg', ['a'], ['a2'])], ['a', 'a2'])
    other = ([make_node('Greater', ['x', 'zero'], ['g']), make_node('Identity', ['x'], ['b']), make_node('Mul', ['x', 'x'], ['b2'])], ['b', 'b2'])
    model, given = chosen(yes, then, other, [('sum', F32, 2)], [make_node('Add', ['y0', 'y1'], ['sum'])])
    rows = [[0, 0]] * 2 if yes else [[v + v * v for v in row] for row in ROWS]
    return model, given, [floats('sum', [len(rows), 2], flat(rows))]


def selections(yes):
    """What each branch selects is counted when it runs."""
    then = ([make_node('Greater', ['x', 'four'], ['g']), make_node('Compress', ['x', 'g'], ['a'])], ['a'], 1)
    other = ([make_node('Less', ['x', 'four'], ['h']), make_node('Compress', ['x', 'h'], ['b'])], ['b'], 1)
    model, given = chosen(yes, then, other, [('q', F32, 1)], [make_node('Neg', ['y0'], ['q'])], [floats('four', [], [4])])
    values = [5, 6] if yes else [1, 2, 3]
    return model, given, [floats('q', [len(values)], [-v for v in values])]


def inner_choice(yes):
    """An If in a branch, of rows that differ again."""
    inner = make_node('If', ['d'], ['a'], graphs=[branch('then_branch', [make_node('Slice', ['x', 'none', 'one', 'none'], ['p'])], ['p']),
                                                  branch('else_branch', [make_node('Identity', ['x'], ['q'])], ['q'])])
    then = ([make_node('ReduceSum', ['x'], ['s'], keepdims=0), make_node('Less', ['s', 'limit'], ['d']), inner], ['a'])
    model, given = chosen(yes, then, TWICE, [('y0', F32, 2)], (), [floats('limit', [], [30])])
    rows = ROWS[:1] if yes else ROWS * 2
    return model, given, [floats('y0', [len(rows), 2], flat(rows))]


def ranks_differ(yes):
    """One branch hands on what there is, the other one adds a dimension: a run may take the first only."""
    other = ([make_node('Identity', ['x'], ['b'])], ['b'])
    model, given = chosen(yes, ([make_node('Unsqueeze', ['x', 'none'], ['a'])], ['a'], 3), other, [('z', F32, 2)], [make_node('Neg', ['y0'], ['z'])])
    return model, given, [floats('z', [3, 2], [-v for v in flat(ROWS)])]


def best_of_rows(least):
    """Of each row that is chosen the greatest element, by TopK and by its index."""
    nodes = [make_node('Greater', ['s', 'least'], ['g']), make_node('Compress', ['x', 'g'], ['rows'], axis=0), make_node('TopK', ['rows', 'one'], ['v', 'i']),
             make_node('Neg', ['rows'], ['minus']), make_node('GatherElements', ['minus', 'i'], ['m'], axis=1), make_node('Hardmax', ['rows'], ['h'])]
    model = make_model(nodes, [make_value('x', F32, [3, 2]), make_value('s', F32, [3])],
                       [make_value('v', F32, ['n', 1]), make_value('i', I64, ['n', 1]), make_value('m', F32, ['n', 1]), make_value('h', F32, ['n', 2])],
                       [floats('least', [], [least]), ints('one', [1], [1])], 17)
    x, s = [[1, 2], [4, 3], [5, 6]], [0.5, 0.9, 0.7]
    rows = [row for row, score in zip(x, s) if score > least]
    n = len(rows)
    best = [row.index(max(row)) for row in rows]
    return model, [floats('x', [3, 2], flat(x)), floats('s', [3], s)], [
        floats('v', [n, 1], [max(row) for row in rows]), ints('i', [n, 1], best), floats('m', [n, 1], [-max(row) for row in rows]),
        floats('h', [n, 2], [float(k == b) for b in best for k in range(2)])]


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
    t.ok('the branch of another rank ends the run', bad.startswith('status 1') and 'ended with code' in bad, bad)
    for least in (0.6, 0.8, 1):
        bad = judge(o.inlay, best_of_rows(least))
        t.ok('the best of rows above %g' % least, not bad, bad)
    t.done()


if __name__ == '__main__':
    main()
