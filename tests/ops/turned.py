# SPDX-License-Identifier: Apache-2.0
"""What is turned, gathered or contracted, and how much of it is held: small graphs with answers
worked out by hand.

    turned.py --inlay INLAY"""
import itertools
import math

from by_hand import F32, I64, analyzed, arena_above, floats, holds_more, ints, judge, run
from onnx import make_model, make_node, make_value


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


TURNED = (
    ('Gather', [2, 0, 1], [2], {'axis': 0}),
    ('Gather', [2, 0, 1], [2, 3], {'axis': 2}),
    ('Gather', [1, 2, 0], [3], {'axis': 1}),
    ('Gather', [0, 2, 1], [], {'axis': 1}),
    ('GatherND', [2, 0, 1], [2, 3], {}),
    ('GatherND', [1, 0, 2], [3, 2], {}),
    ('GatherND', [0, 2, 1], [5, 2], {'batch_dims': 1}),
)


def check(t, inlay):
    for op, perm, index, attributes in TURNED:
        case = read_turned(op, perm, index, **attributes)
        bad = (
            judge(inlay, case)
            or (index != [2, 3] or op == 'GatherND')
            and holds_more(inlay, case, 200)
        )
        t.ok('%s of what is turned by %s, %s' % (op, perm, index), not bad, bad)
    bad = judge(inlay, turned_while_made()) or arena_above(
        inlay, turned_while_made(), 64 * 32 * 4 + 2048
    )
    t.ok(turned_while_made.__name__, not bad, bad)
    bad = judge(inlay, turned_while_read()) or arena_above(inlay, turned_while_read(), 6144)
    t.ok(turned_while_read.__name__, not bad, bad)
    bad = judge(inlay, attention_by_heads()) or arena_above(
        inlay, attention_by_heads(), 3 * 64 * 32 * 4 + 4096
    )
    t.ok(attention_by_heads.__name__, not bad, bad)
    bad = judge(inlay, attention_by_einsum()) or arena_above(
        inlay, attention_by_einsum(), 3 * 64 * 32 * 4 + 4096
    )
    t.ok(attention_by_einsum.__name__, not bad, bad)
    for equation, sizes, is_product in EINSUMS:
        bad = einsum_differs(inlay, equation, sizes, is_product)
        t.ok('Einsum ' + equation, not bad, bad)
    for kind, numbers in (('RNN', 2), ('GRU', 5), ('LSTM', 6)):
        bad = judge(inlay, state_of(kind, False))
        t.ok('a state of %s, biases of the caller' % kind, not bad, bad)
        bad = judge(inlay, state_of(kind, True)) or arena_above(
            inlay, state_of(kind, True), 64 * 4 * numbers
        )
        t.ok('a state of %s: scratch holds no biases and no zeros' % kind, not bad, bad)


if __name__ == '__main__':
    run(check)
