# SPDX-License-Identifier: Apache-2.0
"""Small files that ask for much: deep nesting, empty fields, wide fans, long names, doubling, huge
dimensions and attributes, overlapping external data. None is larger than 1 MB.

    hostile.py FOLDER [EVERY]      writes every EVERY-th of them"""
import os
import struct
import sys

import worst
from onnx import (
    make_external,
    make_graph_attr,
    make_model,
    make_node,
    make_tensor,
    make_value,
    put,
    varint,
)

F32, I64, BOOL = 1, 7, 9


def ints(name, values):
    return make_tensor(name, I64, [len(values)], struct.pack('<%dq' % len(values), *values))


def one(node, x=(1, 4), y=(1, 4), weights=(), **more):
    return make_model(
        [node], [make_value('x', F32, list(x))], [make_value('y', F32, list(y))], weights, **more
    )


def nested_ifs(depth):
    body = [make_node('Relu', ['x'], ['r0'])]
    for i in range(depth):
        out = make_value('r%d' % i, F32, [4])
        body = [
            make_node(
                'If',
                ['c'],
                ['r%d' % (i + 1)],
                graphs=[
                    make_graph_attr('then_branch', body, [], [out]),
                    make_graph_attr(
                        'else_branch',
                        [make_node('Neg', ['x'], ['e%d' % i])],
                        [],
                        [make_value('e%d' % i, F32, [4])],
                    ),
                ],
            )
        ]
    return make_model(
        body,
        [make_value('c', BOOL, []), make_value('x', F32, [4])],
        [make_value('r%d' % depth, F32, [4])],
    )


def empty_nodes(n):
    return put(1, 8) + put(8, put(2, 17)) + put(7, (varint(1 << 3 | 2) + b'\0') * n)


def empty_fields(number, n):
    return put(1, 8) + put(8, put(2, 17)) + put(7, (varint(number << 3 | 2) + b'\0') * n)


def unknown_fields(n):
    return one(make_node('Relu', ['x'], ['y'])) + (varint(900 << 3) + b'\0') * n


def nested_messages(n):
    blob = b''
    for _ in range(n):
        blob = put(7, put(1, put(5, put(6, blob))))[:900000]
    return blob


def long_names(n, count):
    names = [chr(97 + i % 26) * n + str(i) for i in range(count + 1)]
    return make_model(
        [make_node('Relu', [names[i]], [names[i + 1]], names[i]) for i in range(count)],
        [make_value(names[0], F32, [4])],
        [make_value(names[-1], F32, [4])],
    )


def concats(n, constant=False):
    nodes = [make_node('Concat', ['t%d' % i] * 2, ['t%d' % (i + 1)], axis=0) for i in range(n)]
    nodes += [
        make_node('ReduceSum', ['t%d' % n], ['s'], keepdims=0),
        make_node('Add', ['s', 'x'], ['y']),
    ]
    given = [make_value('x', F32, [1])] + ([] if constant else [make_value('t0', F32, [4])])
    return make_model(
        nodes,
        given,
        [make_value('y', F32, [1])],
        [make_tensor('t0', F32, [4], b'\0' * 16)] if constant else [],
    )


def chained(op, n, second, constant):
    """A shape grows by every node."""
    nodes = [make_node(op, ['t%d' % i, 'k'], ['t%d' % (i + 1)]) for i in range(n)]
    nodes += [
        make_node('ReduceMax', ['t%d' % n], ['s'], keepdims=0),
        make_node('Add', ['s', 'x'], ['y']),
    ]
    given = [make_value('x', F32, [1])] + ([] if constant else [make_value('t0', F32, [2, 2])])
    return make_model(
        nodes,
        given,
        [make_value('y', F32, [1])],
        [ints('k', second)] + ([make_tensor('t0', F32, [2, 2], b'\0' * 16)] if constant else []),
    )


def additions(n):
    """x = x + x of a constant: nothing grows but the work."""
    nodes = [make_node('Add', ['t%d' % i] * 2, ['t%d' % (i + 1)]) for i in range(n)] + [
        make_node('Mul', ['t%d' % n, 'x'], ['y'])
    ]
    return make_model(
        nodes,
        [make_value('x', F32, [4])],
        [make_value('y', F32, [4])],
        [make_tensor('t0', F32, [4], b'\0\0\0\x3f' * 4)],
    )


def functions(depth, calls):
    blob = b''
    for i in range(depth):
        body = [
            make_node(
                'F%d' % (i + 1),
                ['a' if not k else 'v%d' % k],
                ['v%d' % (k + 1) if k + 1 < calls else 'c'],
                domain='l',
            )
            for k in range(calls)
        ]
        if i == depth - 1:
            body = [make_node('Relu', ['a'], ['c'])]
        blob += put(
            25,
            put(1, 'F%d' % i)
            + put(4, 'a')
            + put(5, 'c')
            + b''.join(put(7, n) for n in body)
            + put(9, put(2, 17))
            + put(9, put(1, 'l') + put(2, 1))
            + put(10, 'l'),
        )
    return one(make_node('F0', ['x'], ['y'], domain='l'), domains=[('l', 1)]) + blob


def dims(values):
    return one(make_node('Relu', ['x'], ['y']), values, values)


def claims(values):
    return one(
        make_node('Add', ['x', 'w'], ['y']), weights=[make_tensor('w', F32, values, b'\0' * 16)]
    )


def shapes(op, values, **attrs):
    return make_model(
        [
            make_node(op, ['k'] if op == 'ConstantOfShape' else ['x', 'k'], ['m'], **attrs),
            make_node('ReduceSum', ['m'], ['y'], keepdims=0),
        ],
        [make_value('x', F32, [1])],
        [make_value('y', F32, [])],
        [ints('k', values)],
    )


def ranges(last):
    return make_model(
        [
            make_node('Range', ['a', 'b', 'c'], ['m']),
            make_node('ReduceSum', ['m'], ['y'], keepdims=0),
        ],
        [make_value('x', F32, [1])],
        [make_value('y', I64, [])],
        [
            make_tensor(n, I64, [], struct.pack('<q', v))
            for n, v in (('a', 0), ('b', last), ('c', 1))
        ],
    )


def folded(op, dims, **attrs):
    """A constant of nothing but a shape, computed through."""
    ins = ['m', 'm'] if op == 'MatMul' else ['m']
    return make_model(
        [
            make_node('ConstantOfShape', ['k'], ['m']),
            make_node(op, ins, ['f'], **attrs),
            make_node('ReduceMax', ['f'], ['s'], keepdims=0),
            make_node('Add', ['s', 'x'], ['y']),
        ],
        [make_value('x', F32, [1])],
        [make_value('y', F32, [1])],
        [ints('k', dims)],
    )


def windows(op, k):
    weights = (
        [make_tensor('w', F32, [1, 1, 1, 1], b'\0' * 4)] if op in ('Conv', 'ConvTranspose') else []
    )
    return one(
        make_node(
            op,
            ['x'] + ['w'] * bool(weights),
            ['y'],
            kernel_shape=[k, k] if not weights else [1, 1],
            pads=[k - 1] * 4,
            strides=[1, 1],
            dilations=[k, k],
        ),
        (1, 1, 8, 8),
        (1, 1, 8, 8),
        weights,
    )


def strides(stride, dilation=1, images=1):
    """Far more places than taps: rows between those of a transposed convolution, or before the
    first."""
    weights = [make_tensor('w', F32, [2, 2, 3, 3], b'\0' * 144)]
    if images > 1:
        return one(
            make_node('Conv', ['x', 'w'], ['y'], pads=[stride, 0, 0, 0]),
            (images, 2, 5, 6),
            (images, 2, stride + 3, 4),
            weights,
        )
    return one(
        make_node('ConvTranspose', ['x', 'w'], ['y'], strides=[stride, 2], dilations=[dilation, 1]),
        (1, 2, 5, 6),
        (1, 2, 4 * stride + 2 * dilation + 1, 13),
        weights,
    )


def attributes(n):
    return one(make_node('Relu', ['x'], ['y'], **{'a%d' % i: i for i in range(n)}))


def lists(n):
    """An attribute that is longer than what is kept in memory."""
    return make_model(
        [
            make_node(
                'LabelEncoder',
                ['x'],
                ['y'],
                domain='ai.onnx.ml',
                keys_int64s=list(range(n)),
                values_floats=[1.0] * n,
            )
        ],
        [make_value('x', I64, [4])],
        [make_value('y', F32, [4])],
        domains=[('ai.onnx.ml', 2)],
    )


def transforms(n):
    return one(
        make_node('DFT', ['x', 'k'], ['y'], axis=1),
        (1, 4, 1),
        (1, n, 2),
        [make_tensor('k', I64, [], struct.pack('<q', n))],
    )


def symbols(n):
    return make_model(
        [make_node('Relu', ['x0'], ['y'])],
        [make_value('x%d' % i, F32, ['s%d' % i, 't%d' % i]) for i in range(n)],
        [make_value('y', F32, [None, None])],
    )


def unsupported(n):
    return make_model(
        [make_node('Frob%d' % i, ['x'], ['d%d' % i]) for i in range(n)],
        [make_value('x', F32, [4])],
        [make_value('d0', F32, [4])],
    )


def axes(n):
    return one(make_node('Unsqueeze', ['x', 'k'], ['y']), weights=[ints('k', list(range(n)))])


def trees(targets, nodes):
    zero = [0] * nodes
    return one(
        make_node(
            'TreeEnsembleRegressor',
            ['x'],
            ['y'],
            domain='ai.onnx.ml',
            n_targets=targets,
            nodes_treeids=list(range(nodes)),
            nodes_nodeids=zero,
            nodes_featureids=zero,
            nodes_modes=['LEAF'] * nodes,
            nodes_values=[0.0] * nodes,
            nodes_truenodeids=zero,
            nodes_falsenodeids=zero,
            target_ids=zero,
            target_nodeids=zero,
            target_treeids=list(range(nodes)),
            target_weights=[1.0] * nodes,
        ),
        y=(1, targets),
        domains=[('ai.onnx.ml', 3)],
    )


def einsum(n):
    return one(make_node('Einsum', ['x'] * n, ['y'], equation=','.join(['ab'] * n) + '->ab'))


def operands(op, n):
    more = {'axis': 0} if op == 'Concat' else {}
    return one(make_node(op, ['x'] * n, ['y'], **more), (4,), (None,))


def loops(trips):
    body = make_graph_attr(
        'body',
        [make_node('Identity', ['k'], ['more']), make_node('Add', ['v', 'v'], ['w'])],
        [make_value('i', I64, []), make_value('k', BOOL, []), make_value('v', F32, [4])],
        [make_value('more', BOOL, []), make_value('w', F32, [4]), make_value('w', F32, [4])],
    )
    return make_model(
        [make_node('Loop', ['m', '', 'x'], ['y', 'scan'], graphs=[body])],
        [make_value('x', F32, [4])],
        [make_value('scan', F32, [trips, 4])],
        [make_tensor('m', I64, [], struct.pack('<q', trips))],
    )


def spins(trips):
    """Turns that leave nothing behind but the last."""
    body = make_graph_attr(
        'body',
        [make_node('Identity', ['k'], ['more']), make_node('Add', ['v', 'v'], ['w'])],
        [make_value('i', I64, []), make_value('k', BOOL, []), make_value('v', F32, [4])],
        [make_value('more', BOOL, []), make_value('w', F32, [4])],
    )
    return make_model(
        [make_node('Loop', ['m', '', 'x'], ['y'], graphs=[body])],
        [make_value('x', F32, [4])],
        [make_value('y', F32, [4])],
        [make_tensor('m', I64, [], struct.pack('<q', trips))],
    )


def carried(n, turn):
    """Values that each turn hands on, to themselves or to the `turn`-th behind them, the first of
    which decides whether another follows."""
    names = ['v%d' % i for i in range(n)]
    body = make_graph_attr(
        'body',
        [],
        [make_value('i', I64, []), make_value('k', BOOL, [])]
        + [make_value(v, BOOL, []) for v in names],
        [make_value(names[0], BOOL, [])]
        + [make_value(names[(i + turn) % n], BOOL, []) for i in range(n)],
    )
    return make_model(
        [make_node('Loop', ['m', ''] + ['yes'] * n, ['y'], graphs=[body])],
        [],
        [make_value('y', BOOL, [])],
        [make_tensor('m', I64, [], struct.pack('<q', 9)), make_tensor('yes', BOOL, [], b'\1')],
    )


def counting(end):
    """A turn for each number below the end."""
    body = make_graph_attr(
        'body',
        [make_node('Add', ['c', 'one'], ['d']), make_node('Less', ['d', 'end'], ['more'])],
        [make_value('i', I64, []), make_value('k', BOOL, []), make_value('c', I64, [])],
        [make_value('more', BOOL, []), make_value('d', I64, [])],
    )
    return make_model(
        [make_node('Loop', ['', '', 'zero'], ['y'], graphs=[body])],
        [],
        [make_value('y', I64, [])],
        [
            make_tensor(name, I64, [], struct.pack('<q', n))
            for name, n in (('zero', 0), ('one', 1), ('end', end))
        ],
    )


def grown(turns, depth):
    """Loops in loops that append to a tensor: each turn is a copy of the body."""
    nodes = [make_node('Concat', ['v0', 'x'], ['w0'], axis=0)]
    for d in range(depth):
        body = make_graph_attr(
            'body',
            nodes + [make_node('Identity', ['k%d' % d], ['l%d' % d])],
            [
                make_value('i%d' % d, I64, []),
                make_value('k%d' % d, BOOL, []),
                make_value('v%d' % d, F32, [None]),
            ],
            [make_value('l%d' % d, BOOL, []), make_value('w%d' % d, F32, [None])],
        )
        nodes = [make_node('Loop', ['m', '', 'v%d' % (d + 1)], ['w%d' % (d + 1)], graphs=[body])]
    return make_model(
        [make_node('Neg', ['x'], ['v%d' % depth])] + nodes,
        [make_value('x', F32, [1])],
        [make_value('w%d' % depth, F32, [None])],
        [make_tensor('m', I64, [], struct.pack('<q', turns))],
    )


def joined(n, axis):
    """Each result is the one before and one part more."""
    nodes = [
        make_node('Concat', ['t%d' % i if i else 'x', 'x'], ['t%d' % (i + 1)], axis=axis)
        for i in range(n)
    ]
    return make_model(
        nodes, [make_value('x', F32, [1, 4])], [make_value('t%d' % n, F32, [None, None])]
    )


def rows(op, n, dims):
    """Many rows, each of which the proof of the plan follows."""
    window = {'kernel_shape': [3, 3], 'pads': [1, 1, 1, 1]} if op == 'MaxPool' else {}
    nodes = [
        make_node(op, ['t%d' % i if i else 'x'], ['t%d' % (i + 1)], **window) for i in range(n)
    ]
    return make_model(
        nodes, [make_value('x', F32, list(dims))], [make_value('t%d' % n, F32, list(dims))]
    )


def padded(images, pad):
    """Many rows of images, whose layouts are turned before and behind."""
    node = make_node('Conv', ['x', 'w', 'b'], ['y'], pads=[1, 1, pad, 1], strides=[2, 1])
    weights = [
        make_tensor('w', F32, [3, 2, 3, 3], bytes(216)),
        make_tensor('b', F32, [3], bytes(12)),
    ]
    return make_model(
        [node],
        [make_value('x', F32, [images, 2, 255, 6])],
        [make_value('y', F32, [None] * 4)],
        weights,
    )


def outside(count, length):
    """All of them the same bytes of this very file."""
    weights = [
        make_external(
            'w%d' % i, F32, [length // 4], 'outside_%d_%d.onnx' % (count, length), 0, length
        )
        for i in range(count)
    ]
    nodes = [
        make_node(
            'Add', ['t%d' % i if i else 'x', 'w%d' % i], ['t%d' % (i + 1) if i + 1 < count else 'y']
        )
        for i in range(count)
    ]
    return make_model(
        nodes, [make_value('x', F32, [length // 4])], [make_value('y', F32, [length // 4])], weights
    )


def doubling_loop(before, after):
    body = make_graph_attr(
        'body',
        [make_node('Identity', ['k'], ['more']), make_node('Add', ['v', 'v'], ['w'])],
        [make_value('i', I64, []), make_value('k', BOOL, []), make_value('v', F32, [4])],
        [make_value('more', BOOL, []), make_value('w', F32, [4])],
    )
    return make_node('Loop', ['m', '', before], [after], graphs=[body])


def many_loops(n, trips):
    """One after the other; the turns are known, or an input."""
    nodes = [doubling_loop('t%d' % i, 't%d' % (i + 1)) for i in range(n)]
    given = [make_value('t0', F32, [4])] + ([] if trips else [make_value('m', I64, [])])
    return make_model(
        nodes,
        given,
        [make_value('t%d' % n, F32, [4])],
        [make_tensor('m', I64, [], struct.pack('<q', trips))] if trips else [],
    )


def function_ifs(calls):
    """Calls of a function with an If: two bodies each."""
    branches = [
        make_graph_attr(name, [make_node(op, ['a'], [name])], [], [make_value(name, F32, [4])])
        for name, op in (('then_branch', 'Relu'), ('else_branch', 'Neg'))
    ]
    function = put(
        25,
        put(1, 'F')
        + put(4, 'a')
        + put(4, 'c')
        + put(5, 'b')
        + put(7, make_node('If', ['c'], ['b'], graphs=branches))
        + put(9, put(2, 17))
        + put(10, 'l'),
    )
    nodes = [make_node('F', ['t%d' % i, 'c'], ['t%d' % (i + 1)], domain='l') for i in range(calls)]
    return (
        make_model(
            nodes,
            [make_value('c', BOOL, []), make_value('t0', F32, [4])],
            [make_value('t%d' % calls, F32, [4])],
            domains=[('l', 1)],
        )
        + function
    )


def vectorized(n):
    return one(
        make_node(
            'FeatureVectorizer', ['x'] * n, ['y'], domain='ai.onnx.ml', inputdimensions=[1] * n
        ),
        (1, 1),
        (1, n),
        domains=[('ai.onnx.ml', 1)],
    )


def attribute_graphs(n):
    """An attribute that is a list of empty graphs."""
    return one(
        make_node('Relu', ['x'], ['y'])
        + put(5, put(1, 'g') + put(20, 10) + (varint(11 << 3 | 2) + b'\0') * n)
    )


def inputs(n):
    return make_model(
        [make_node('Relu', ['x0'], ['y'])],
        [make_value('x%d' % i, F32, [1]) for i in range(n)],
        [make_value('y', F32, [1])],
    )


def made_of_nothing(name, dims):
    return make_node('ConstantOfShape', [name + '_dims'], [name]), ints(name + '_dims', dims)


def summed_up(nodes, last, weights, integers=False):
    """x and the largest of a constant that the nodes compute."""
    cast = [make_node('Cast', [last], ['f'], to=F32)] if integers else []
    nodes = (
        nodes
        + cast
        + [
            make_node('ReduceMax', ['f' if integers else last], ['s'], keepdims=0),
            make_node('Add', ['s', 'x'], ['y']),
        ]
    )
    return make_model(nodes, [make_value('x', F32, [1])], [make_value('y', F32, [1])], weights)


def grams(n):
    """As many n-grams are looked for in as many words, all constant."""
    node = make_node(
        'TfIdfVectorizer',
        ['k'],
        ['m'],
        max_gram_length=10,
        max_skip_count=50,
        min_gram_length=1,
        mode='TF',
        ngram_counts=[0] + [n] * 9,
        ngram_indexes=list(range(n)),
        pool_int64s=list(range(n)),
    )
    return summed_up([node], 'm', [ints('k', list(range(n)))])


def looks(op, n):
    """A constant each of whose elements looks at all of another."""
    dims = {
        'MaxPool': [1, 1, n],
        'LRN': [1, n, 1],
        'NonMaxSuppression': [1, n, 4],
        'GRU': [n, 1, 1],
    }[op]
    node, weight = made_of_nothing('m', dims)
    if op == 'NonMaxSuppression':
        more, other = made_of_nothing('o', [1, 1, n])
        most = [
            make_tensor('most', I64, [], struct.pack('<q', n)),
            make_tensor('least', F32, [], struct.pack('<f', 1)),
        ]
        return summed_up(
            [node, more, make_node(op, ['m', 'o', 'most', 'least'], ['r'])],
            'r',
            [weight, other] + most,
            True,
        )
    if op == 'GRU':
        made = [made_of_nothing('w', [1, 750, 1]), made_of_nothing('r', [1, 750, 250])]
        return summed_up(
            [node]
            + [m[0] for m in made]
            + [make_node(op, ['m', 'w', 'r'], ['', 'h'], hidden_size=250)],
            'h',
            [weight] + [m[1] for m in made],
        )
    attrs = {'MaxPool': {'kernel_shape': [n // 2]}, 'LRN': {'size': n // 2 * 2 + 1}}[op]
    return summed_up([node, make_node(op, ['m'], ['r'], **attrs)], 'r', [weight])


def computed(op, n, elements):
    """Constants, each computed of the one before it."""
    node, weight = made_of_nothing('t0', [elements])
    ins = ['axis'] if op == 'CumSum' else []
    nodes = [node] + [make_node(op, ['t%d' % i] + ins, ['t%d' % (i + 1)]) for i in range(n)]
    return summed_up(
        nodes, 't%d' % n, [weight] + [make_tensor('axis', I64, [], b'\0' * 8)] * len(ins)
    )


def summands(n, elements):
    """A sum of constants, each of which is another part of one."""
    node, weight = made_of_nothing('t', [elements])
    nodes = (
        [node]
        + [make_node('CumSum', ['t', 'axis'], ['c'])]
        + [make_node('Pad', ['c', 'pads'], ['t%d' % i]) for i in range(n)]
    )
    nodes += [make_node('Sum', ['t%d' % i for i in range(n)], ['r'])]
    return summed_up(
        nodes, 'r', [weight, make_tensor('axis', I64, [], b'\0' * 8), ints('pads', [1, 0])]
    )


def many_values(n):
    return make_model(
        [make_node('Relu', ['x%d' % i], ['y%d' % i]) for i in range(n)],
        [make_value('x%d' % i, F32, [4]) for i in range(n)],
        [make_value('y%d' % i, F32, [4]) for i in range(n)],
    )


def many_weights(n):
    weights = [make_tensor('w%d' % i, F32, [1], struct.pack('<f', i)) for i in range(n)]
    return make_model(
        [make_node('Sum', ['x'] + ['w%d' % i for i in range(n)], ['y'])],
        [make_value('x', F32, [1])],
        [make_value('y', F32, [1])],
        weights,
    )


def files():
    """(name, function, its arguments)."""
    for form in worst.FORMS:
        for n in (250, 1000, 3000):
            yield form, worst.FORMS[form], (n // worst.weight(form),)
    for f, cases in CASES:
        for args in cases:
            yield f.__name__, f, args if isinstance(args, tuple) else (args,)


CASES = [
    (nested_ifs, [1, 10, 100, 1000, 5000]),
    (empty_nodes, [1000, 100000, 400000]),
    (unknown_fields, [1000, 250000]),
    (nested_messages, [10, 100, 1000, 10000]),
    (
        empty_fields,
        [
            (5, 100000),
            (5, 400000),
            (11, 100000),
            (11, 400000),
            (12, 400000),
            (13, 400000),
            (15, 400000),
        ],
    ),
    (long_names, [(1000, 100), (10000, 20), (100000, 2)]),
    (concats, [10, 20, 30, 40, 60, 200] + [(n, True) for n in (10, 12, 16, 24, 30, 40, 200)]),
    (
        chained,
        [
            (op, n, k, c)
            for op, k in (('Tile', [2, 2]), ('Tile', [1, 1000]))
            for n in (5, 20, 60)
            for c in (False, True)
        ],
    ),
    (additions, [100, 3000]),
    (
        functions,
        [
            (4, 2),
            (12, 2),
            (18, 2),
            (22, 2),
            (60, 2),
            (5, 10),
            (7, 100),
            (3, 1000),
            (2, 10000),
            (200, 1),
        ],
    ),
    (
        dims,
        [((1 << k, 4),) for k in (10, 20, 28, 31, 40, 62)]
        + [((1 << 20, 1 << 20, 1 << 20),), ((1,) * 8,), ((1,) * 60,)],
    ),
    (
        claims,
        [((1 << k,),) for k in (3, 20, 31, 40, 62)] + [((1 << 40, 1 << 40),), ((0, 1 << 62),)],
    ),
    (
        shapes,
        [('ConstantOfShape', [1 << k]) for k in (10, 20, 31, 40, 62)]
        + [('Expand', [1 << k, 2]) for k in (10, 20, 31, 40, 62)],
    ),
    (ranges, [10, 1 << 20, 1 << 31, 1 << 62]),
    (
        windows,
        [(op, k) for op in ('Conv', 'MaxPool', 'AveragePool') for k in (1, 100, 10000, 1 << 30)],
    ),
    (
        folded,
        [('ReduceSum', [1 << k]) for k in (20, 28, 29)]
        + [('MatMul', [1 << k] * 2) for k in (8, 10, 12, 14)]
        + [('Exp', [1 << 10, 1 << 19])],
    ),
    (attributes, [100, 10000]),
    (lists, [100, 30000]),
    (symbols, [100, 15000]),
    (transforms, [1 << k for k in (10, 18, 20, 24, 28)]),
    (unsupported, [10, 20000]),
    (axes, [1, 8, 1000, 100000]),
    (trees, [(1, 1), (1, 1000), (1000, 100), (1 << 20, 1), (1 << 30, 1), (1 << 31, 1), (1, 5000)]),
    (einsum, [2, 20, 1000]),
    (operands, [(op, n) for op in ('Sum', 'Max', 'Concat') for n in (1000, 10000, 300000)]),
    (loops, [1, 10, 1000, 1 << 20, 1 << 31, 1 << 62]),
    (spins, [10, 1 << 40]),
    (carried, [(10, 0), (10, 1), (2000, 1), (10000, 0)]),
    (counting, [10, 1000, 1 << 40]),
    (grown, [(100, 1), (1000, 1), (10, 2), (1000, 2), (2, 10), (1, 60)]),
    (joined, [(n, axis) for n in (100, 1000, 3000) for axis in (0, 1)]),
    (
        rows,
        [
            ('Neg', 4, (4000000, 2)),
            ('Softmax', 4, (4000000, 2)),
            ('MaxPool', 4, (1, 1, 1000000, 2)),
            ('MaxPool', 100, (1, 16, 16000, 20)),
        ],
    ),
    (padded, [(39, 65536), (10, 1 << 18)]),
    (outside, [(10, 1000), (1000, 10000), (4000, 100000)]),
    (many_values, [1000, 4000]),
    (
        many_loops,
        [
            (256, 2),
            (256, 1 << 40),
            (256, 0),
            (1000, 2),
            (1000, 1 << 40),
            (1000, 0),
            (3000, 2),
            (4500, 1 << 40),
        ],
    ),
    (function_ifs, [250, 2000, 8000]),
    (vectorized, [8192, 16384, 100000]),
    (attribute_graphs, [1000, 400000]),
    (inputs, [4096, 4097, 30000]),
    (grams, [1000, 30000]),
    (
        looks,
        [(op, n) for op in ('MaxPool', 'LRN', 'NonMaxSuppression', 'GRU') for n in (20000, 50000)],
    ),
    (
        computed,
        [
            (op, n, elements)
            for op in ('Exp', 'CumSum')
            for n in (100, 5000)
            for elements in (4000, 16000, 200000)
        ],
    ),
    (summands, [(100, 4000), (2500, 4000), (2500, 16000)]),
    (many_weights, [1000, 4000]),
    (strides, [50000, 65536, 80000, (65536, 65535), 1 << 20, (1 << 24, 1, 2), (1 << 28, 1, 2)]),
]


def label(name, args):
    return '_'.join(
        [name]
        + [str(a) if not isinstance(a, (tuple, list)) else 'x'.join(map(str, a))[:40] for a in args]
    )


if __name__ == '__main__':
    every = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    for k, (name, make, args) in enumerate(files()):
        if k % every:
            continue
        data = make(*args)
        assert len(data) <= 1 << 20, (name, args, len(data))
        with open(os.path.join(sys.argv[1], label(name, args) + '.onnx'), 'wb') as f:
            f.write(data)
