# SPDX-License-Identifier: Apache-2.0
"""Graphs under different plans: the bits are those of the plainest plan, and `inlay prove` finds
each plan sound. First graphs that once crashed the planner or were wrong, then random ones:
branches, views, several results, operators of all kinds.

    plans.py --inlay INLAY [--seeds N]"""
import argparse
import json
import os
import random
import struct

import host
import onnx
import tap
from onnx import make_graph_attr, make_model, make_node, make_tensor, make_value

F32, I64, U8, BOOL = (onnx.CODES[t] for t in ('float32', 'int64', 'uint8', 'bool'))
PLANS = [
    (),
    ('--io=arena',),
    ('--optimize=balanced',),
    ('--optimize=balanced', '--io=arena'),
    ('--plan=order',),
    ('--plan=overlap', '--io=arena'),
]
PLAINEST = ('--plan=simple', '--optimize=speed')


def count(dims):
    n = 1
    for d in dims:
        n *= d
    return n


def floats(name, dims, seed=0):
    r = random.Random('%s%s' % (name, seed))
    values = [r.uniform(-1, 1) for _ in range(count(dims))]
    return make_tensor(name, F32, dims, struct.pack('<%df' % len(values), *values))


def ints(name, *values):
    return make_tensor(name, I64, [len(values)], struct.pack('<%dq' % len(values), *values))


def value(name):
    """Of a shape that is not declared."""
    return onnx.put(1, name) + onnx.put(2, onnx.put(1, onnx.put(1, F32)))


def product_near_its_input():
    """All rows of a product are one call, which reads them more than once: its result may not lie
    over them."""
    nodes = [
        make_node('Reshape', ['x', 'three'], ['a']),
        make_node('Slice', ['x', 'zero', 'eleven', 'axis'], ['b']),
        make_node('Neg', ['a'], ['n']),
        make_node('Add', ['n', 'c'], ['s']),
        make_node('Transpose', ['s'], ['t'], perm=[0, 2, 1]),
        make_node('MatMul', ['s', 't'], ['y']),
    ]
    weights = [
        ints('three', 4, 11, 12),
        ints('zero', 0),
        ints('eleven', 11),
        ints('axis', 3),
        floats('c', []),
    ]
    return make_model(
        nodes, [make_value('x', F32, [2, 2, 11, 12])], [value(n) for n in 'yab'], weights, 17
    ), {'x': [2, 2, 11, 12]}


def scale_beside_a_part():
    """What is seen in parts has all its rows wherever it lies."""
    nodes = [
        make_node(
            'Resize',
            ['x', 'none', 'by'],
            ['a'],
            mode='nearest',
            coordinate_transformation_mode='asymmetric',
        ),
        make_node('Split', ['a', 'sizes'], ['p', 'q'], axis=0),
        make_node('BatchNormalization', ['a', 's', 'b', 'm', 'v'], ['y']),
    ]
    square = make_tensor('v', F32, [3], struct.pack('<3f', 0.9, 1.3, 2))
    by = make_tensor('by', F32, [4], struct.pack('<4f', 1, 1, 2, 2))
    weights = [make_tensor('none', F32, [0], b''), by, ints('sizes', 1, 1), square] + [
        floats(n, [3]) for n in 'sbm'
    ]
    return make_model(
        nodes, [make_value('x', F32, [2, 3, 3, 7])], [value('q'), value('y')], weights, 20
    ), {'x': [2, 3, 3, 7]}


def part_of_a_part():
    """What reads the end of a part of a concatenation reads no further than the part goes."""
    nodes = [
        make_node('Softmax', ['x'], ['s'], axis=1),
        make_node('Slice', ['s', 'two', 'five', 'zero'], ['y']),
        make_node('Concat', ['x', 's', 'x'], ['z'], axis=0),
    ]
    return make_model(
        nodes,
        [make_value('x', F32, [5, 4])],
        [value(n) for n in 'yz'],
        [ints('two', 2), ints('five', 5), ints('zero', 0)],
        17,
    ), {'x': [5, 4]}


def branches():
    """Jumps have no operands."""
    then = make_graph_attr(
        'then_branch',
        [make_node('Relu', ['x'], ['r']), make_node('Max', ['r', 'e'], ['t'])],
        [],
        [value('t')],
    )
    other = make_graph_attr('else_branch', [make_node('Neg', ['x'], ['f'])], [], [value('f')])
    nodes = [
        make_node('Softmax', ['x'], ['e'], axis=-1),
        make_node('ReduceMax', ['x'], ['most'], keepdims=0),
        make_node('Greater', ['most', 'e0'], ['c']),
        make_node('If', ['c'], ['i'], graphs=[then, other]),
        make_node('Add', ['i', 'x'], ['y']),
    ]
    return make_model(
        nodes, [make_value('x', F32, [3, 4, 2, 4])], [value('y')], [floats('e0', [])], 17
    ), {'x': [3, 4, 2, 4]}


def nothing():
    """Steps before a result without elements are made for nothing."""
    nodes = [
        make_node('Relu', ['x'], ['a']),
        make_node('MatMul', ['a', 'w'], ['b']),
        make_node('Tanh', ['b'], ['c']),
        make_node('Mul', ['c', 'c'], ['d']),
        make_node('Slice', ['d', 'zero', 'zero', 'axis'], ['e']),
        make_node('Exp', ['e'], ['f']),
        make_node('Neg', ['x'], ['y']),
    ]
    weights = [floats('w', [6, 5]), ints('zero', 0), ints('axis', 1)]
    return make_model(
        nodes, [make_value('x', F32, [2, 9, 6])], [value('f'), value('y')], weights, 17
    ), {'x': [2, 9, 6]}


def spectra():
    """Frames of a signal, all but the last: their power in bands. Spectra, powers and bands are
    made frame by frame."""
    nodes = [
        make_node('STFT', ['x', 'hop', 'window'], ['s']),
        make_node('Slice', ['s', 'zero', 'minus', 'axis'], ['some']),
        make_node('ReduceSumSquare', ['some'], ['p'], axes=[3], keepdims=0),
        make_node('MatMul', ['p', 'bands'], ['m']),
        make_node('Relu', ['m'], ['r']),
        make_node('MatMul', ['r', 'few'], ['y']),
    ]
    hop = make_tensor('hop', I64, [], struct.pack('<q', 16))
    weights = [
        hop,
        floats('window', [64]),
        ints('zero', 0),
        ints('minus', -1),
        ints('axis', 1),
        floats('bands', [33, 12]),
        floats('few', [12, 2]),
    ]
    return make_model(nodes, [make_value('x', F32, [1, 1680])], [value('y')], weights, 17), {
        'x': [1, 1680]
    }


def transforms():
    """Rows of an image, each less its mean, to the lengths of their spectra."""
    nodes = [
        make_node('ReduceMean', ['x'], ['m'], axes=[3]),
        make_node('Sub', ['x', 'm'], ['d']),
        make_node('Reshape', ['d', 'apart'], ['r']),
        make_node('DFT', ['r'], ['s'], axis=2, onesided=1),
        make_node('ReduceL2', ['s'], ['l'], axes=[3]),
        make_node('ReduceMax', ['l'], ['y'], axes=[2, 3]),
    ]
    return make_model(
        nodes,
        [make_value('x', F32, [1, 1, 50, 40])],
        [value('y')],
        [ints('apart', 1, 50, 40, 1)],
        17,
    ), {'x': [1, 1, 50, 40]}


def classes():
    """The class of each pixel: no image of all classes' scores."""
    nodes = [
        make_node('Conv', ['x', 'w'], ['s'], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        make_node('ArgMax', ['s'], ['c'], axis=1, keepdims=0),
        make_node('Cast', ['c'], ['y'], to=U8),
    ]
    return make_model(
        nodes,
        [make_value('x', F32, [1, 2, 24, 20])],
        [make_value('y', U8, [1, 24, 20])],
        [floats('w', [21, 2, 3, 3])],
        17,
    ), {'x': [1, 2, 24, 20]}


def around_jumps():
    """Rows before a branch and behind a loop: what jumps runs step by step, all else row by row."""
    then = make_graph_attr('then_branch', [make_node('Neg', ['m'], ['t'])], [], [value('t')])
    other = make_graph_attr('else_branch', [make_node('Abs', ['m'], ['e'])], [], [value('e')])
    flag = make_value('on2', BOOL, [])
    scalar = (
        make_value('i', I64, []),
        make_value('on', BOOL, []),
        make_value('v', F32, [1, 1, 1, 1]),
    )
    body = make_graph_attr(
        'body',
        [make_node('Mul', ['v', 'v'], ['v2']), make_node('Identity', ['on'], ['on2'])],
        list(scalar),
        [flag, value('v2')],
    )
    nodes = [
        make_node('Conv', ['x', 'w'], ['a'], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        make_node('Relu', ['a'], ['b']),
        make_node('ReduceMean', ['b'], ['r'], axes=[1]),
        make_node('ReduceMax', ['r'], ['m'], axes=[2, 3]),
        make_node('Squeeze', ['m'], ['s']),
        make_node('Greater', ['s', 'half'], ['c']),
        make_node('If', ['c'], ['f'], graphs=[then, other]),
        make_node('Cast', ['s'], ['n'], to=I64),
        make_node('Loop', ['n', '', 'f'], ['g'], graphs=[body]),
        make_node('Add', ['x', 'g'], ['h']),
        make_node('Conv', ['h', 'w'], ['k'], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        make_node('Tanh', ['k'], ['l']),
        make_node('ReduceMax', ['l'], ['o'], axes=[1]),
        make_node('ReduceMean', ['o'], ['y'], axes=[3]),
    ]
    half = make_tensor('half', F32, [], struct.pack('<f', 0.5))
    return make_model(
        nodes,
        [make_value('x', F32, [1, 2, 24, 20])],
        [value('y')],
        [half, floats('w', [16, 2, 3, 3])],
        17,
    ), {'x': [1, 2, 24, 20]}


def margins():
    """Units of the window whose rows lie in the padding alone, above and below: between them it
    moves."""
    nodes = [
        make_node('Relu', ['x'], ['a']),
        make_node('Conv', ['a', 'w'], ['b'], pads=[5, 0, 4, 0]),
        make_node('MaxPool', ['b'], ['y'], kernel_shape=[1, 1]),
    ]
    return make_model(
        nodes, [make_value('x', F32, [1, 2, 3, 4])], [value('y')], [floats('w', [2, 2, 1, 1])], 13
    ), {'x': [1, 2, 3, 4]}


def strided_margins():
    nodes = [
        make_node('Neg', ['x'], ['a']),
        make_node('Pad', ['a', 'by'], ['b']),
        make_node('Conv', ['b', 'w'], ['c'], strides=[2, 1], group=2),
        make_node('MaxPool', ['c'], ['y'], kernel_shape=[2, 2]),
    ]
    weights = [ints('by', 0, 0, 7, 1, 0, 0, 9, 1), floats('w', [2, 1, 3, 3])]
    return make_model(nodes, [make_value('x', F32, [1, 2, 2, 4])], [value('y')], weights, 13), {
        'x': [1, 2, 2, 4]
    }


def wide_beside_narrow():
    """Rows of 100 bytes and rows of int64 in one pool: these lie aligned."""
    nodes = [
        make_node('Conv', ['x', 'w'], ['a'], pads=[1, 0, 1, 2], strides=[2, 2]),
        make_node('Round', ['a'], ['b']),
        make_node('ArgMin', ['b'], ['y'], axis=0, select_last_index=1),
    ]
    out = onnx.put(1, 'y') + onnx.put(2, onnx.put(1, onnx.put(1, I64)))
    return make_model(
        nodes,
        [make_value('x', F32, [1, 2, 3, 10])],
        [value('b'), out],
        [floats('w', [5, 2, 1, 3])],
        17,
    ), {'x': [1, 2, 3, 10]}


def unread_part():
    """A part that nobody reads is made in a stream, too."""
    nodes = [
        make_node('Mul', ['x', 'c'], ['a']),
        make_node('Reshape', ['a', 'dims'], ['e']),
        make_node('Split', ['e', 'sizes'], ['p', 'q', 'r'], axis=-2),
        make_node('BatchNormalization', ['r', 's', 'b', 'm', 'v'], ['y']),
    ]
    square = make_tensor('v', F32, [2], struct.pack('<2f', 0.9, 1.3))
    weights = [floats('c', [4, 1, 1]), ints('dims', -1, 8, 4), ints('sizes', 3, 3, 2), square] + [
        floats(n, [2]) for n in 'sbm'
    ]
    return make_model(
        nodes, [make_value('x', F32, [2, 4, 8, 4])], [value('q'), value('y')], weights, 13
    ), {'x': [2, 4, 8, 4]}


class Mixed:
    """A random graph; its results are the last value and some of the others."""

    def __init__(self, seed):
        self.r, self.nodes, self.weights, self.values = random.Random(seed), [], [], []
        self.x = [
            self.r.choice([1, 1, 2]),
            self.r.choice([1, 2, 3, 4]),
            self.r.randint(2, 12),
            self.r.randint(2, 12),
        ]
        self.values.append(('x', self.x))
        for _ in range(self.r.randint(4, 14)):
            name, dims = self.r.choice(self.values[-3:] if self.r.random() < 0.7 else self.values)
            if count(dims) <= 4000:
                self.r.choice(self.KINDS)(self, name, dims)
        names = [n for n, _ in self.values[1:]]
        self.results = sorted(set(names[-1:] + [n for n in names if self.r.random() < 0.2]))

    def add(self, op, ins, dims, outs=1, **attrs):
        names = ['v%d_%d' % (len(self.nodes), i) for i in range(outs)]
        self.nodes.append(make_node(op, ins, names, **attrs))
        for n, d in zip(names, [dims] if outs == 1 else dims):
            self.values.append((n, d))

    def keep(self, make, *args):
        name = 'w%d' % len(self.weights)
        self.weights.append(make(name, *args))
        return name

    def like(self, dims):
        return self.r.choice([n for n, d in self.values if d == dims])

    def unary(self, x, dims):
        self.add(
            self.r.choice(
                ['Relu', 'Sigmoid', 'Tanh', 'Neg', 'Abs', 'HardSwish', 'LeakyRelu', 'Floor']
            ),
            [x],
            dims,
        )

    def binary(self, x, dims):
        other = (
            self.like(dims)
            if self.r.random() < 0.6
            else self.keep(
                floats, [self.r.choice([d, 1]) for d in dims[self.r.randrange(len(dims)) :]]
            )
        )
        self.add(
            self.r.choice(['Add', 'Mul', 'Sub', 'Max']), [x, other][:: self.r.choice([1, -1])], dims
        )

    def conv(self, x, dims):
        if len(dims) == 4:
            k, step = self.r.choice([1, 3, 3, 5]), self.r.choice([1, 1, 2])
            group = self.r.choice([1, dims[1]])
            made = dims[1] if group > 1 else self.r.choice([1, 2, 4, 5])
            w = self.keep(floats, [made, dims[1] // group, k, k])
            self.add(
                'Conv',
                [x, w],
                [dims[0], made] + [(d - 1) // step + 1 for d in dims[2:]],
                pads=[k // 2] * 4,
                strides=[step, step],
                group=group,
            )

    def pool(self, x, dims):
        if len(dims) == 4:
            self.add(
                self.r.choice(['MaxPool', 'AveragePool']),
                [x],
                dims,
                kernel_shape=[3, 3],
                pads=[1] * 4,
            )

    def transpose(self, x, dims):
        perm = self.r.sample(range(len(dims)), len(dims))
        self.add('Transpose', [x], [dims[i] for i in perm], perm=perm)

    def reshape(self, x, dims):
        at = self.r.randrange(len(dims) - 1) if len(dims) > 1 else 0
        to = dims[:at] + [count(dims[at : at + 2])] + dims[at + 2 :]
        self.add('Reshape', [x, self.keep(ints, *to)], to)

    def concat(self, x, dims):
        axis = self.r.randrange(len(dims))
        self.add(
            'Concat',
            [x, self.like(dims)],
            dims[:axis] + [2 * dims[axis]] + dims[axis + 1 :],
            axis=axis,
        )

    def split(self, x, dims):
        axis = self.r.randrange(len(dims))
        if dims[axis] > 1:
            n = self.r.randint(1, dims[axis] - 1)
            parts = [dims[:axis] + [k] + dims[axis + 1 :] for k in (n, dims[axis] - n)]
            self.add('Split', [x, self.keep(ints, n, dims[axis] - n)], parts, 2, axis=axis)

    def reduce(self, x, dims):
        axis = self.r.randrange(len(dims))
        self.add(
            self.r.choice(['ReduceMean', 'ReduceMax']),
            [x],
            dims[:axis] + [1] + dims[axis + 1 :],
            axes=[axis],
        )

    def softmax(self, x, dims):
        self.add('Softmax', [x], dims, axis=self.r.randrange(len(dims)))

    def product(self, x, dims):
        if len(dims) > 1 and self.r.random() < 0.5:
            n = self.r.choice([1, 3, 8])
            self.add('MatMul', [x, self.keep(floats, [dims[-1], n])], dims[:-1] + [n])
        elif len(dims) > 1:
            perm = list(range(len(dims) - 2)) + [len(dims) - 1, len(dims) - 2]
            self.add('Transpose', [x], [dims[i] for i in perm], perm=perm)
            self.add('MatMul', [x, self.values[-1][0]], dims[:-1] + [dims[-2]])

    def scale(self, x, dims):
        if len(dims) > 2:
            square = self.keep(
                lambda name: make_tensor(name, F32, [dims[1]], struct.pack('<f', 1.5) * dims[1])
            )
            self.add(
                'BatchNormalization',
                [x] + [self.keep(floats, [dims[1]]) for _ in range(3)] + [square],
                dims,
            )

    def resize(self, x, dims):
        if len(dims) == 4:
            by = self.keep(lambda name: make_tensor(name, F32, [4], struct.pack('<4f', 1, 1, 2, 2)))
            self.add(
                'Resize',
                [x, '', by],
                dims[:2] + [2 * d for d in dims[2:]],
                mode=self.r.choice(['nearest', 'linear']),
            )

    KINDS = [
        unary,
        unary,
        binary,
        binary,
        conv,
        conv,
        pool,
        transpose,
        reshape,
        concat,
        split,
        reduce,
        softmax,
        product,
        product,
        scale,
        resize,
    ]

    def case(self):
        return make_model(
            self.nodes,
            [make_value('x', F32, self.x)],
            [value(n) for n in self.results],
            self.weights,
            17,
        ), {'x': self.x}


def run(inlay, work, model, given, flags):
    command = [inlay, 'run', model, '-o', work] + list(flags)
    for name in given:
        command += ['--input', os.path.join(work, name + '.pb')]
    status, text = host.run(command, limit=60)
    assert status == 0, '%s: status %d: %s' % (' '.join(flags), status, text)
    made = []
    while os.path.exists(os.path.join(work, 'output_%d.pb' % len(made))):
        with open(os.path.join(work, 'output_%d.pb' % len(made)), 'rb') as f:
            made.append(f.read())
    assert made, 'no results'
    return made


def prove(inlay, work, model, flags):
    out = os.path.join(work, 'made')
    for command in (
        [inlay, 'compile', model, '-o', out, '--name', 'm', '--emit=src', '-q'] + list(flags),
        [inlay, 'prove', os.path.join(out, 'm.json'), model],
    ):
        status, text = host.run(command, limit=60)
        assert status == 0, '%s: status %d: %s' % (
            ' '.join(command[1:2] + list(flags)),
            status,
            text,
        )


def judge(inlay, case, plans):
    """'' or what is wrong."""
    model, given = case
    with host.Work() as work:
        path = os.path.join(work, 'm.onnx')
        with open(path, 'wb') as f:
            f.write(model)
        for name, dims in given.items():
            with open(os.path.join(work, name + '.pb'), 'wb') as f:
                f.write(floats(name, dims))
        try:
            want = run(inlay, work, path, given, PLAINEST)
            for flags in plans:
                assert run(inlay, work, path, given, flags) == want, '%s: other bits than %s' % (
                    ' '.join(flags),
                    ' '.join(PLAINEST),
                )
                prove(inlay, work, path, flags)
        except AssertionError as e:
            return str(e)
    return ''


def arena(inlay, case, *flags):
    with host.Work() as work:
        path = os.path.join(work, 'm.onnx')
        with open(path, 'wb') as f:
            f.write(case[0])
        status, text = host.run([inlay, 'analyze', path, '--json'] + list(flags), limit=60)
        assert status == 0, text
        return json.loads(text)['arena']['size']


def streams(t, inlay):
    """What is made by rows takes a fraction of what it takes whole."""
    for case in (spectra, transforms, classes, around_jumps):
        bad = judge(inlay, case(), PLANS)
        rows, whole = arena(inlay, case()), arena(inlay, case(), '--plan=overlap')
        t.ok(
            case.__name__,
            not bad and rows * 4 < whole,
            bad or '%d bytes by rows, %d whole' % (rows, whole),
        )


def alignment(t, inlay):
    """Rows in slots: elements lie where their size divides the address."""
    with host.Work() as work:
        path = os.path.join(work, 'm.onnx')
        with open(path, 'wb') as f:
            f.write(wide_beside_narrow()[0])
        status, text = host.run([inlay, 'compile', path, '-q', '-o', work], limit=60)
        with open(os.path.join(work, 'm.json')) as f:
            wide = [x for x in json.load(f)['tensors'] if x['dtype'] == 'int64' and 'slots' in x]
        bad = [x for x in wide if x['slots']['unit'] % 8]
        t.ok('int64 in slots', not status and wide and not bad, text or bad)


def status_of(inlay, command, model):
    with host.Work() as work:
        path = os.path.join(work, 'm.onnx')
        with open(path, 'wb') as f:
            f.write(model)
        return host.run([inlay, command, path, '-o', work], limit=60)


def refusals(t, inlay):
    """Models that mean nothing, which were once no clean status."""
    nan = [
        make_tensor('s', F32, [], struct.pack('<f', float('nan'))),
        make_tensor('z', U8, [], b'\3'),
    ]
    model = make_model(
        [make_node('QuantizeLinear', ['x', 's', 'z'], ['y'])],
        [make_value('x', F32, [4])],
        [make_value('y', U8, [4])],
        nan,
        17,
    )
    status, text = status_of(inlay, 'compile', model)
    t.ok('a scale that is no number', status == 0, text)
    model = make_model(
        [make_node('Resize', ['x', '', '', 'to'], ['y'], mode='cubic')],
        [make_value('x', F32, [1, 2, 3, 0])],
        [value('y')],
        [ints('to', 1, 2, 6, 1)],
        19,
    )
    status, text = status_of(inlay, 'compile', model)
    t.ok('an image made of nothing', status == 65 and 'has scale inf' in text, text)
    body = make_graph_attr(
        'body',
        [make_node('Identity', ['on'], ['on2']), make_node('Concat', ['v', 'v'], ['v2'], axis=0)],
        [make_value('i', I64, []), make_value('on', BOOL, []), value('v')],
        [value('on2'), value('v2')],
    )
    model = make_model(
        [make_node('Loop', ['n', '', 'x'], ['y'], graphs=[body])],
        [make_value('x', F32, [4])],
        [value('y')],
        [ints('n', 9)],
        17,
    )
    status, text = status_of(inlay, 'compile', model)
    t.ok(
        'a body of another type, said once', status == 65 and text.count('error:') == 1, text[:500]
    )
    node = make_node('ReorderInput', ['x'], ['y'], domain='com.microsoft.nchwc')
    model = make_model(
        [node],
        [make_value('x', F32, [1, 8, 2, 2])],
        [value('y')],
        [],
        17,
        [('com.microsoft.nchwc', 1)],
    )
    status, text = status_of(inlay, 'compile', model)
    t.ok('a layout of one processor', status == 69 and 'ORT_ENABLE_EXTENDED' in text, text)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--seeds', type=int, default=60)
    o = p.parse_args()
    t = tap.Tap()
    for case in (
        product_near_its_input,
        scale_beside_a_part,
        part_of_a_part,
        branches,
        nothing,
        margins,
        strided_margins,
        wide_beside_narrow,
        unread_part,
    ):
        bad = judge(o.inlay, case(), PLANS)
        t.ok(case.__name__, not bad, bad)
    streams(t, o.inlay)
    alignment(t, o.inlay)
    refusals(t, o.inlay)
    for seed in range(o.seeds):
        bad = judge(o.inlay, Mixed(seed).case(), random.Random(seed).sample(PLANS, 2))
        t.ok('mixed %d' % seed, not bad, bad)
    t.done()


if __name__ == '__main__':
    main()
