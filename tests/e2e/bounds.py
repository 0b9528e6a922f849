# SPDX-License-Identifier: Apache-2.0
"""Models whose operands are of other sizes than their kernels go through: each is refused with
status 65, with the node and the operand named, or ends its run with a message where only values can
show it. None may read or write out of bounds: run it under AddressSanitizer.

    bounds.py --inlay INLAY"""
import argparse
import math
import os
import re
import struct

import host
import onnx
import tap
from onnx import make_graph_attr, make_model, make_node, make_tensor, make_value

F32, U8, I32, I64, BOOL = 1, 2, 6, 7, 9
FORM = {F32: 'f', U8: 'B', I32: 'i', I64: 'q', BOOL: 'B'}


def weight(name, code, dims, values):
    return make_tensor(name, code, dims, struct.pack('<%d%s' % (len(values), FORM[code]), *values))


def model(op, ins, outs, weights=(), opset=24, **attrs):
    """One node; ins and outs are (name, type, dims)."""
    names = attrs.pop('names', None) or [i[0] for i in ins] + [w for w, _ in weights]
    node = make_node(op, names, [o[0] for o in outs], 'it', **attrs)
    return make_model(
        [node],
        [make_value(*i) for i in ins],
        [make_value(*o) for o in outs],
        [w for _, w in weights],
        opset,
    )


def both(op, ins, outs, opset=24, **attrs):
    """The operands as inputs, and the same but for the first as constants."""
    yield op, model(op, ins, outs, opset=opset, **attrs)
    weights = []
    for name, code, dims in ins[1:]:
        weights.append((name, weight(name, code, dims, [1] * math.prod(dims))))
    yield op + ', constants', model(op, ins[:1], outs, weights, opset=opset, **attrs)


def loop_of_rows():
    """Each turn gives 8 floats, of which the declared result has room for 4."""
    body = make_graph_attr(
        'body',
        [make_node('Identity', ['c'], ['c2']), make_node('Add', ['x', 'x'], ['row'])],
        [make_value('i', I64, []), make_value('c', BOOL, [])],
        [make_value('c2', BOOL, []), make_value('row', F32, [4])],
    )
    return make_model(
        [make_node('Loop', ['n', ''], ['y'], 'it', graphs=[body])],
        [make_value('x', F32, [8])],
        [make_value('y', F32, [3, 4])],
        [weight('n', I64, [], [3])],
    )


def loop_on_numbers():
    """Its condition is a float."""
    body = make_graph_attr(
        'body',
        [make_node('Identity', ['c'], ['c2']), make_node('Add', ['v', 'v'], ['v2'])],
        [make_value('i', I64, []), make_value('c', F32, []), make_value('v', F32, [4])],
        [make_value('c2', F32, []), make_value('v2', F32, [4])],
    )
    return make_model(
        [make_node('Loop', ['n', 'k', 'x'], ['y'], 'it', graphs=[body])],
        [make_value('n', I64, []), make_value('k', F32, []), make_value('x', F32, [4])],
        [make_value('y', F32, [4])],
    )


def loop_to_numbers():
    """The condition that its body makes is a float."""
    body = make_graph_attr(
        'body',
        [make_node('ReduceSum', ['v'], ['c2'], keepdims=0), make_node('Add', ['v', 'v'], ['v2'])],
        [make_value('i', I64, []), make_value('c', BOOL, []), make_value('v', F32, [4])],
        [make_value('c2', F32, []), make_value('v2', F32, [4])],
    )
    return make_model(
        [make_node('Loop', ['n', '', 'x'], ['y'], 'it', graphs=[body])],
        [make_value('n', I64, []), make_value('x', F32, [4])],
        [make_value('y', F32, [4])],
    )


def if_of_two():
    """Its branches give one result, it hands on two; which branch is taken is known."""
    branch = [
        make_graph_attr(name, [make_node('Neg', ['x'], [name])], [], [make_value(name, F32, [4])])
        for name in ('then_branch', 'else_branch')
    ]
    return make_model(
        [make_node('If', ['c'], ['y', 'z'], 'it', graphs=branch)],
        [make_value('x', F32, [4])],
        [make_value('y', F32, [4]), make_value('z', F32, [4])],
        [weight('c', BOOL, [], [1])],
    )


def far_channel():
    """Of three channels behind a convolution the fifth is gathered."""
    nodes = [
        make_node('Conv', ['x', 'w'], ['a']),
        make_node('Relu', ['a'], ['b']),
        make_node('Gather', ['b', 'i'], ['y'], 'it', axis=1),
    ]
    return make_model(
        nodes,
        [make_value('x', F32, [1, 2, 5])],
        [onnx.put(1, 'y') + onnx.put(2, onnx.put(1, onnx.put(1, F32)))],
        [weight('w', F32, [3, 2, 1], [1] * 6), weight('i', I64, [3], [4, 0, 1])],
    )


def scales_behind(dims):
    """Channels behind a convolution are quantized by scales of such a shape; then they go by
    another one, in its order of axes."""
    nodes = [
        make_node('Conv', ['x', 'w'], ['a']),
        make_node('QuantizeLinear', ['a', 's', 'z'], ['q'], 'it'),
        make_node('DequantizeLinear', ['q', 's', 'z'], ['b']),
        make_node('Conv', ['b', 'w'], ['y']),
    ]
    return make_model(
        nodes,
        [make_value('x', F32, [1, 2, 5])],
        [make_value('y', F32, [1, 2, 5])],
        [
            weight('w', F32, [2, 2, 1], [1] * 4),
            weight('s', F32, dims, [1] * math.prod(dims)),
            weight('z', U8, [], [1]),
        ],
    )


def one_number(op, numbers):
    """The operand that says how many is a list."""
    count = ('k', weight('k', I64, [len(numbers)], numbers))
    if op == 'HannWindow':
        return model(op, [], [('y', F32, [4])], [count])
    if op == 'TopK':
        return model(op, [('x', F32, [8])], [('y', F32, [4]), ('i', I64, [4])], [count])
    return model(op, [('x', F32, [1, 8, 1])], [('y', F32, [1, 4, 2])], [count])


def short_operands():
    """(name, model, what the message calls the operand)"""
    rows = ('y', F32, [2, 8])
    for b in both(
        'LayerNormalization', [('x', F32, [2, 8]), ('s', F32, [8]), ('b', F32, [3])], [rows]
    ):
        yield b
    for dims in ([7, 1, 33, 0], [2, 3, 8], [0]):
        for b in both(
            'LayerNormalization', [('x', F32, [2, 8]), ('s', F32, [8]), ('b', F32, dims)], [rows]
        ):
            yield b
    for b in both('LayerNormalization', [('x', F32, [2, 8]), ('s', F32, [3])], [rows]):
        yield b
    for b in both('RMSNormalization', [('x', F32, [2, 8]), ('s', F32, [3])], [rows]):
        yield b
    for wrong in (3, 9):
        image = [('x', F32, [2, 8, 5]), ('s', F32, [8]), ('b', F32, [wrong])]
        for b in both('InstanceNormalization', image, [('y', F32, [2, 8, 5])]):
            yield b
        for b in both('GroupNormalization', image, [('y', F32, [2, 8, 5])], num_groups=2):
            yield b
    four = [('s', F32, [8]), ('b', F32, [8]), ('m', F32, [8]), ('v', F32, [8])]
    for short in range(4):
        channels = [(n, c, [3] if i == short else d) for i, (n, c, d) in enumerate(four)]
        for training in range(2):
            for b in both(
                'BatchNormalization',
                [('x', F32, [2, 8, 5])] + channels,
                [('y', F32, [2, 8, 5])] + [('rm', F32, [8]), ('rv', F32, [8])][: 2 * training],
                opset=17,
                training_mode=training,
            ):
                yield b
    quantized = [
        ('a', U8, [2, 4]),
        ('as', F32, []),
        ('az', U8, []),
        ('b', U8, [4, 8]),
        ('bs', F32, [8]),
        ('bz', U8, [8]),
        ('ys', F32, []),
        ('yz', U8, []),
    ]
    for i, dims in ((1, [0]), (2, [0]), (4, [3]), (5, [3]), (6, [0]), (7, [0])):
        ins = [(n, c, dims if k == i else d) for k, (n, c, d) in enumerate(quantized)]
        for b in both('QLinearMatMul', ins, [('y', U8, [2, 8])]):
            yield b
    conv = [
        ('x', U8, [1, 2, 5, 5]),
        ('xs', F32, []),
        ('xz', U8, []),
        ('w', U8, [8, 2, 3, 3]),
        ('ws', F32, [8]),
        ('wz', U8, [8]),
        ('ys', F32, []),
        ('yz', U8, []),
        ('b', I32, [8]),
    ]
    for i, dims in ((1, [0]), (2, [0]), (4, [3]), (5, [3]), (6, [0]), (7, [0]), (8, [3])):
        ins = [(n, c, dims if k == i else d) for k, (n, c, d) in enumerate(conv)]
        for b in both('QLinearConv', ins, [('y', U8, [1, 8, 3, 3])]):
            yield b
    for b in both(
        'MaxUnpool',
        [('x', F32, [1, 1, 2, 2]), ('i', I64, [1, 1, 1, 2])],
        [('y', F32, [1, 1, 4, 4])],
        kernel_shape=[2, 2],
        strides=[2, 2],
    ):
        yield b
    for op in 'NegativeLogLikelihoodLoss', 'SoftmaxCrossEntropyLoss':
        for b in both(op, [('x', F32, [6, 5]), ('t', I64, [2])], [('y', F32, [])]):
            yield b
        for b in both(op, [('x', F32, [6, 5]), ('t', I64, [6]), ('w', F32, [3])], [('y', F32, [])]):
            yield b
    for b in both(
        'NonMaxSuppression',
        [('boxes', F32, [1, 6, 4]), ('scores', F32, [1, 1, 3]), ('most', I64, [1])],
        [('y', I64, [3, 3])],
    ):
        yield b
    for b in both(
        'NonMaxSuppression',
        [('boxes', F32, [1, 6, 4]), ('scores', F32, [1, 1, 6]), ('most', I64, [0])],
        [('y', I64, [3, 3])],
    ):
        yield b
    yield 'Col2Im', model(
        'Col2Im',
        [('x', F32, [1, 4, 3])],
        [('y', F32, [1, 1, 4, 4])],
        [
            ('image', weight('image', I64, [2], [4, 4])),
            ('block', weight('block', I64, [2], [2, 2])),
        ],
    )
    yield 'Col2Im, sizes as inputs', model(
        'Col2Im',
        [('x', F32, [1, 4, 9]), ('image', I64, [1]), ('block', I64, [2])],
        [('y', F32, [1, 1, 4, 4])],
    )
    for op in ('CumProd', 'CumSum'):
        for b in both(
            op,
            [('x', F32, [2, 3]), ('axis', I64, [0])],
            [('y', F32, [2, 3])],
            opset=26 if op == 'CumProd' else 24,
        ):
            yield b
    for b in both('Trilu', [('x', F32, [3, 3]), ('k', I64, [0])], [('y', F32, [3, 3])]):
        yield b
    yield 'AffineGrid', model(
        'AffineGrid',
        [('theta', F32, [1, 2, 3])],
        [('y', F32, [4, 2, 2, 2])],
        [('size', weight('size', I64, [4], [4, 1, 2, 2]))],
    )
    yield 'AffineGrid, size as input', model(
        'AffineGrid', [('theta', F32, [1, 2, 3]), ('size', I64, [4])], [('y', F32, [4, 2, 2, 2])]
    )
    two = [
        (name, weight(name, I64, [2], values))
        for name, values in (('s', [0, 1]), ('e', [2, 3]), ('a', [0, 0]))
    ]
    yield 'Slice, an axis twice', model('Slice', [('x', F32, [4, 5])], [('y', F32, [2, 5])], two)
    quants = [
        ('q', weight('q', U8, [2, 4], range(8))),
        ('k', weight('k', F32, [2, 2], [1, 2, 3, 4])),
    ]
    yield 'DequantizeLinear, blocks of -2', model(
        'DequantizeLinear', [], [('y', F32, [2, 4])], quants, axis=1, block_size=-2
    )
    yield 'Slice of opset 8 without lists', model(
        'Slice', [('x', F32, [4, 5])], [('y', F32, [4, 5])], opset=8
    )
    square = [('a', F32, [4, 4]), ('b', F32, [4, 4]), ('c', F32, [4]), ('d', F32, [4, 4])]
    yield 'MatMul of three operands', model('MatMul', square[:3], [('y', F32, [4, 4])])
    yield 'Gemm of four operands', model('Gemm', square, [('y', F32, [4, 4])])
    yield 'Gather, a channel that is none', far_channel()
    for dims in ([3], [4, 2], [1, 4, 5]):
        yield 'QuantizeLinear, scales of another shape', scales_behind(dims)
    yield 'Upsample without scales', model(
        'Upsample', [('x', F32, [1, 2, 3, 4])], [('y', F32, [1, 2, 6, 8])], opset=7
    )
    for bound in ([3], [2, 1, 4]):
        for b in both(
            'Clip', [('x', F32, [2, 5, 3]), ('low', F32, bound)], [('y', F32, [2, 5, 3])]
        ):
            yield b
    yield 'AffineGrid, a size of floats', model(
        'AffineGrid', [('theta', F32, [1, 2, 3]), ('size', F32, [4])], [('y', F32, [1, 1, 1, 2])]
    )
    yield 'Loop, a scan output', loop_of_rows()
    yield 'Loop, a condition that is a float', loop_on_numbers()
    yield 'Loop, a condition made as a float', loop_to_numbers()
    yield 'If, more results than its branches', if_of_two()
    rows = ('y', F32, [1, 2, 3, 2])
    for size in [], [4, 2]:
        for at, name in enumerate(('step', 'length')):
            sizes = [('s', weight('s', I64, [], [4])), ('n', weight('n', I64, [], [4]))]
            sizes[at] = ('sn'[at], weight('sn'[at], I64, [len(size)], size))
            yield 'STFT, %s of %d numbers' % (name, len(size)), model(
                'STFT', [('x', F32, [1, 8, 1])], [rows], sizes, names=['x', 's', '', 'n']
            )
        sizes = [
            ('m', weight('m', I64, [], [4])),
            ('d', weight('d', I64, [], [4])),
            ('r', weight('r', I64, [], [8])),
            ('lo', weight('lo', F32, [], [0])),
            ('hi', weight('hi', F32, [], [4])),
        ]
        for at in range(2):
            some = list(sizes)
            some[at] = (sizes[at][0], weight(sizes[at][0], I64, [len(size)], size))
            yield 'MelWeightMatrix, operand %d of %d numbers' % (at, len(size)), model(
                'MelWeightMatrix', [], [('y', F32, [3, 4])], some
            )
        for op in 'HannWindow', 'TopK', 'DFT':
            yield '%s, %d numbers' % (op, len(size)), one_number(op, size)
        yield 'Dropout, ratios', model(
            'Dropout',
            [('x', F32, [2])],
            [('y', F32, [2])],
            [('r', weight('r', F32, [len(size)], size)), ('t', weight('t', BOOL, [], [1]))],
        )
    for dims in [1, 8], [3, 8], [8]:
        yield 'NonZero %s' % dims, model('NonZero', [('x', F32, [2, 4])], [('y', I64, dims)])
    outs = [('p', F32, [4, 2]), ('q', F32, [4, 2])]
    yield 'Split, sizes as input', model(
        'Split', [('x', F32, [6, 2]), ('s', I64, [2])], outs, axis=0
    )
    yield 'Split, declared', model('Split', [('x', F32, [6, 2])], outs, axis=0, num_outputs=2)
    yield 'Split, too many', model(
        'Split', [('x', F32, [6, 2])], outs, [('s', weight('s', I64, [2], [4, 4]))], axis=0
    )
    yield 'Split, negative', model(
        'Split', [('x', F32, [6, 2])], outs, [('s', weight('s', I64, [2], [8, -2]))], axis=0
    )


def asking_for(dims):
    """An input that asks for a shape, of which only the transposed one is declared; the channels
    that it names are of no use."""
    nodes = [
        make_node('Split', ['size'], ['h', 'c', 'w'], 'parts', num_outputs=3, axis=0),
        make_node('Concat', ['h', 'w'], ['hw'], 'two', axis=0),
        make_node('ConstantOfShape', ['hw'], ['zeros'], 'zeros'),
        make_node('Transpose', ['zeros'], ['turned'], 'turned'),
        make_node('Add', ['turned', 'x'], ['y'], 'add'),
    ]
    return make_model(
        nodes,
        [make_value('x', F32, []), make_value('size', I64, [3])],
        [make_value('y', F32, dims)],
        [],
        24,
    )


def wrong_values():
    yield 'an input that asks for another shape', asking_for([2, 3])
    yield 'NonZero, more than declared', model(
        'NonZero', [('x', F32, [2, 4])], [('y', I64, [2, 3])]
    )
    # Every value of these inputs is 1.
    yield 'AffineGrid, another size', model(
        'AffineGrid', [('theta', F32, [1, 2, 3]), ('size', I64, [4])], [('y', F32, [1, 2, 1, 2])]
    )
    yield 'AffineGrid, other images', model(
        'AffineGrid', [('theta', F32, [2, 2, 3]), ('size', I64, [4])], [('y', F32, [2, 1, 1, 2])]
    )
    yield 'Squeeze, another axis', model(
        'Squeeze', [('x', F32, [1, 3, 1]), ('axes', I64, [1])], [('y', F32, [3, 1])]
    )
    yield 'Unsqueeze, another axis', model(
        'Unsqueeze', [('x', F32, [2, 3]), ('axes', I64, [1])], [('y', F32, [1, 2, 3])]
    )
    yield 'Unsqueeze, an axis twice', model(
        'Unsqueeze', [('x', F32, [2]), ('axes', I64, [2])], [('y', F32, [2, 1, 1])]
    )
    yield 'MaxUnpool, another shape', model(
        'MaxUnpool',
        [('x', F32, [1, 1, 1, 1]), ('i', I64, [1, 1, 1, 1]), ('s', I64, [4])],
        [('y', F32, [1, 1, 4, 4])],
        kernel_shape=[2, 2],
        strides=[2, 2],
    )


def right_values():
    yield 'an input that asks for that shape', asking_for([1, 1])
    # Every value is 1.
    yield 'Squeeze, that axis', model(
        'Squeeze', [('x', F32, [2, 1, 3]), ('axes', I64, [1])], [('y', F32, [2, 3])]
    )
    yield 'Unsqueeze, that axis', model(
        'Unsqueeze', [('x', F32, [2, 3]), ('axes', I64, [1])], [('y', F32, [2, 1, 3])]
    )
    yield 'AffineGrid, that size', model(
        'AffineGrid', [('theta', F32, [1, 2, 3]), ('size', I64, [4])], [('y', F32, [1, 1, 1, 2])]
    )


def judge(inlay, data, work):
    """'' where it is refused, or its run ends with a message."""
    path = os.path.join(work, 'm.onnx')
    with open(path, 'wb') as f:
        f.write(data)
    status, text = host.run([inlay, 'analyze', path])
    if status == 65:
        named = re.search(r'node \d "it" \(\w+\): error: ', text)
        return '' if named and text.strip() else 'no node in: ' + text
    if status not in (0, 69):
        return 'status %d: %s' % (status, text[:500])
    if status == 69:
        return ''
    return 'is accepted'


def judge_run(inlay, data, work, fits):
    """'' where it is accepted, and a run ends with a message that values do not fit, or, where they
    do, well."""
    path = os.path.join(work, 'm.onnx')
    with open(path, 'wb') as f:
        f.write(data)
    inputs = []
    for i, value in enumerate(onnx.read_io(path)[0]):
        inputs += ['--input', os.path.join(work, '%d.pb' % i)]
        with open(inputs[-1], 'wb') as f:
            f.write(weight(value.name, value.code, value.dims, [1] * math.prod(value.dims)))
    status, text = host.run([inlay, 'run', path, '-o', work] + inputs)
    good = (
        not status
        if fits
        else status == 1 and ('asks for another shape' in text or 'lies outside' in text)
    )
    return '' if good else 'status %d: %s' % (status, text[:500])


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    o = p.parse_args()
    t = tap.Tap()
    for k, (name, data) in enumerate(short_operands()):
        with host.Work() as work:
            why = judge(o.inlay, data, work)
        t.ok('%d %s' % (k, name), not why, why)
    for fits, models in (False, wrong_values()), (True, right_values()):
        for name, data in models:
            with host.Work() as work:
                why = judge_run(o.inlay, data, work, fits)
            t.ok(name, not why, why)
    t.done()


main()
