# SPDX-License-Identifier: Apache-2.0
"""What is not a good model, and places that cannot be written: each ends with its documented status
and a message that names the place, and leaves the output folder as it was.

    bad_input.py --inlay INLAY --models MODELS"""
import argparse
import os
import shlex
import stat
import struct

import host
import onnx
import tap
from onnx import make_attr, make_model, make_node, make_tensor, make_value, put

F32, I64, BOOL, F16 = 1, 7, 9, 10


def floats(name, dims, n):
    return make_tensor(name, F32, dims, struct.pack('<%df' % n, *range(n)))


def good():
    return make_model(
        [make_node('Relu', ['x'], ['y'], 'relu')],
        [make_value('x', F32, [2])],
        [make_value('y', F32, [2])],
    )


def cyclic():
    return make_model(
        [make_node('Add', ['x', 'b'], ['a'], 'first'), make_node('Relu', ['a'], ['b'], 'second')],
        [make_value('x', F32, [2])],
        [make_value('b', F32, [2])],
    )


def unknown(twice=False):
    nodes = [make_node('Frobnicate', ['x'], ['y'], 'strange')]
    if twice:
        nodes = [
            make_node('Frobnicate', ['x'], ['m'], 'strange'),
            make_node('Defenestrate', ['m'], ['y'], 'stranger'),
        ]
    return make_model(nodes, [make_value('x', F32, [2])], [make_value('y', F32, [2])])


def symbolic():
    return make_model(
        [make_node('Relu', ['x'], ['y'], 'relu')],
        [make_value('x', F32, ['batch', 'tokens'])],
        [make_value('y', F32, ['batch', 'tokens'])],
    )


def short_weight():
    return make_model(
        [make_node('Add', ['x', 'w'], ['y'], 'add')],
        [make_value('x', F32, [8])],
        [make_value('y', F32, [8])],
        [floats('w', [8], 5)],
    )


def missing_value():
    return make_model(
        [make_node('Add', ['x', 'nowhere'], ['y'], 'add')],
        [make_value('x', F32, [2])],
        [make_value('y', F32, [2])],
    )


def made_twice():
    return make_model(
        [make_node('Relu', ['x'], ['y'], 'one'), make_node('Neg', ['x'], ['y'], 'two')],
        [make_value('x', F32, [2])],
        [make_value('y', F32, [2])],
    )


def bad_shapes():
    return make_model(
        [make_node('Add', ['x', 'w'], ['y'], 'add')],
        [make_value('x', F32, [4])],
        [make_value('y', F32, [4])],
        [floats('w', [3], 3)],
    )


def few_operands():
    return make_model(
        [make_node('Add', ['x'], ['y'], 'add')],
        [make_value('x', F32, [2])],
        [make_value('y', F32, [2])],
    )


def negative_dims():
    return make_model(
        [make_node('Add', ['x', 'w'], ['y'], 'add')],
        [make_value('x', F32, [2])],
        [make_value('y', F32, [2])],
        [make_tensor('w', F32, [-1, -2], b'\0' * 8)],
    )


def huge_dims():
    return make_model(
        [make_node('Add', ['x', 'w'], ['y'], 'add')],
        [make_value('x', F32, [2])],
        [make_value('y', F32, [2])],
        [make_tensor('w', F32, [1 << 62, 1 << 62], b'\0' * 8)],
    )


def huge_result():
    """Asks for more memory than there can be."""
    return make_model(
        [make_node('Expand', ['x', 's'], ['y'], 'expand')],
        [make_value('x', F32, [1])],
        [make_value('y', F32, [1 << 40, 1 << 20])],
        [make_tensor('s', I64, [2], struct.pack('<2q', 1 << 40, 1 << 20))],
    )


def wrong_attribute():
    node = make_node('Flatten', ['x'], ['y'], 'flat') + put(5, make_attr('axis', 'one'))
    return make_model([node], [make_value('x', F32, [2, 2])], [make_value('y', F32, [2, 2])])


def negative_grid():
    """Found by a mutant: an assertion in the count of a shape."""
    return make_model(
        [make_node('AffineGrid', ['x', 's'], ['y'], 'grid')],
        [make_value('x', F32, [1, 2, 3])],
        [make_value('y', F32, [1, 2, 2, 2])],
        [make_tensor('s', I64, [4], struct.pack('<4q', 1, 1, -2, 2))],
        opset=20,
    )


def long_unpool():
    """Found by a mutant: more dimensions than a shape holds."""
    return make_model(
        [
            make_node(
                'MaxUnpool', ['x', 'i', 's'], ['y'], 'unpool', kernel_shape=[2, 2], strides=[2, 2]
            )
        ],
        [make_value('x', F32, [1, 1, 2, 2]), make_value('i', I64, [1, 1, 2, 2])],
        [make_value('y', F32, [1, 1, 4, 4])],
        [make_tensor('s', I64, [51], struct.pack('<51q', *[1] * 51))],
        opset=11,
    )


def unpool_of_values():
    """Found by a mutant: dimensions that are read when the model runs, more than there are."""
    unpool = make_node('MaxUnpool', ['x', 'i', 's'], ['y'], 'unpool', kernel_shape=[2, 2])
    image = [1, 1, 2, 2]
    return make_model(
        [unpool],
        [make_value('x', F32, image), make_value('i', I64, image), make_value('s', I64, [200])],
        [make_value('y', F32, [1, 1, 4, 4])],
        opset=11,
    )


def depth_of_two():
    return make_model(
        [make_node('OneHot', ['i', 'd', 'v'], ['y'], 'hot')],
        [make_value('i', I64, [2]), make_value('d', I64, [2]), make_value('v', F32, [2])],
        [make_value('y', F32, [2, 3])],
    )


def complex_cast():
    """Found by a mutant: there is no such kernel."""
    return make_model(
        [make_node('CastLike', ['x', 'z'], ['y'], 'cast')],
        [make_value('x', 2, [2]), make_value('z', 15, [2])],
        [make_value('y', 15, [2])],
        opset=19,
    )


def complex_constant():
    return make_model(
        [make_node('Cast', ['z'], ['y'], 'cast', to=F32)],
        [],
        [make_value('y', F32, [2])],
        [make_tensor('z', 15, [2], bytes(32))],
    )


def complex_scales():
    """Found by a mutant: complex numbers were read as reals."""
    return make_model(
        [make_node('Resize', ['x', '', 's'], ['y'], 'resize')],
        [make_value('x', F32, [1, 1, 2, 2])],
        [make_value('y', F32, [1, 1, 2, 2])],
        [make_tensor('s', 15, [4], struct.pack('<8d', *[1] * 8))],
        opset=13,
    )


def ends(op, ins, weights, opset=18, shape=None, **attrs):
    """Ends of integers in constants and attributes, found by mutants."""
    return make_model(
        [make_node(op, ins, ['y'], 'node', **attrs)],
        [make_value('x', F32, shape or [1, 4, 2, 2])],
        [put(1, 'y') + put(2, put(1, put(1, F32)))],
        weights,
        opset,
    )


def ninth_dimension():
    """Eight are all that a shape holds."""
    return make_model(
        [make_node('ExpandDims', ['x', 's'], ['y'], 'wider', domain='com.microsoft')],
        [make_value('x', F32, [1] * 8)],
        [make_value('y', F32, [])],
        [make_tensor('s', 6, [], struct.pack('<i', 0))],
        domains=[('com.microsoft', 1)],
    )


def dequantized(zero):
    """Found by the fuzzer: a zero point of NaN became an integer. `zero`: its type; bytes are
    float8e4m3fnuz."""
    return make_model(
        [
            make_node('Cast', ['x'], ['q'], 'cast', to=18),
            make_node('DequantizeLinear', ['q', 's', 'z'], ['y'], 'wide'),
        ],
        [make_value('x', F32, [2])],
        [make_value('y', F32, [2])],
        [make_tensor('s', F32, [], struct.pack('<f', 0.5)), make_tensor('z', zero, [], b'\x80')],
        opset=19,
    )


def longest_frame():
    """An STFT whose step is an input and whose frames are longer than anything."""
    return make_model(
        [make_node('STFT', ['x', 's', '', 'n'], ['y'], 'stft')],
        [make_value('x', F32, [1, 16, 1]), make_value('s', I64, [])],
        [make_value('y', F32, [1, 2, 5, 2])],
        [make_tensor('n', I64, [], struct.pack('<q', (1 << 63) - 1))],
    )


def scan_of(rank):
    """Found by a generated file: one dimension more than a shape holds was written behind it."""
    body = onnx.make_graph_attr(
        'body',
        [make_node('Add', ['s', 'e'], ['t']), make_node('Identity', ['t'], ['u'])],
        [make_value('s', F32, [1] * rank), make_value('e', F32, [1])],
        [make_value('t', F32, [1] * rank), make_value('u', F32, [1] * rank)],
    )
    return make_model(
        [make_node('Scan', ['w', 'x'], ['s', 'y'], 'turns', graphs=[body], num_scan_inputs=1)],
        [make_value('x', F32, [3, 1])],
        [put(1, 'y') + put(2, put(1, put(1, F32)))],
        [floats('w', [1] * rank, 1)],
    )


def out_of_range():
    return make_model(
        [
            make_node('ConstantOfShape', ['s'], ['w'], 'wide'),
            make_node('Add', ['x', 'w'], ['y'], 'add'),
        ],
        [make_value('x', F32, [1])],
        [make_value('y', F32, [1])],
        [make_tensor('s', I64, [1], struct.pack('<q', 1 << 62))],
    )


def many_constants():
    """A thousand million bytes of them."""
    return make_model(
        [
            make_node('ConstantOfShape', ['s'], ['w'], 'wide'),
            make_node('Bernoulli', ['w'], ['b'], 'draw'),
            make_node('ReduceMax', ['b'], ['y'], 'max', keepdims=0),
        ],
        [make_value('x', F32, [1])],
        [make_value('y', F32, [])],
        [make_tensor('s', I64, [1], struct.pack('<q', 1 << 28))],
    )


def loop_of(rank):
    """The same of a Loop."""
    body = onnx.make_graph_attr(
        'body',
        [make_node('Identity', ['c'], ['d']), make_node('Neg', ['w'], ['u'])],
        [make_value('i', I64, []), make_value('c', BOOL, [])],
        [make_value('d', BOOL, []), make_value('u', F32, [1] * rank)],
    )
    return make_model(
        [make_node('Loop', ['n', ''], ['y'], 'turns', graphs=[body])],
        [make_value('w', F32, [1] * rank)],
        [put(1, 'y') + put(2, put(1, put(1, F32)))],
        [make_tensor('n', I64, [], struct.pack('<q', 3))],
    )


def packed_blocks():
    return make_model(
        [make_node('DepthToSpace', ['x'], ['y'], 'node', blocksize=2)],
        [make_value('x', 23, [1, 4, 2, 2])],
        [make_value('y', 23, [1, 1, 4, 4])],
        [],
        13,
    )


def least(name):
    return make_tensor(name, I64, [1], struct.pack('<q', -1 << 63))


def no_outputs():
    return make_model([make_node('Relu', ['x'], ['y'], 'relu')], [make_value('x', F32, [2])], [])


def strings():
    return make_model(
        [make_node('StringConcat', ['x', 'x'], ['y'], 'join')],
        [make_value('x', onnx.STRING, [2])],
        [make_value('y', onnx.STRING, [2])],
        opset=20,
    )


def external(location):
    weight = onnx.make_external('w', F32, [2], location, 0, 8)
    return make_model(
        [make_node('Add', ['x', 'w'], ['y'], 'add')],
        [make_value('x', F32, [2])],
        [make_value('y', F32, [2])],
        [weight],
    )


def deep():
    """A subgraph in a subgraph, ten thousand deep."""
    graph = b''
    for i in range(10000):
        attribute = put(1, 'body') + put(20, 5) + put(6, graph)
        graph = put(1, put(4, 'Loop') + put(5, attribute))
    return put(1, 8) + put(8, put(2, 17)) + put(7, graph)


def declared(op, dims, *results, length=1, opset=20, **attrs):
    """A node whose second operand, a list read when the model runs, decides the shape that the file
    declares."""
    names = ['y%d' % i for i in range(len(results))]
    return make_model(
        [make_node(op, ['x', 's'], names, 'odd', **attrs)],
        [make_value('x', F32, dims), make_value('s', I64, [length])],
        [make_value(n, F32, d) for n, d in zip(names, results)],
        opset=opset,
    )


def branched():
    """An If whose branches have inputs of their own, as no node gives them: of the name of a value
    outside."""
    x, y = make_value('x', F32, [4]), make_value('y', F32, [4])
    graphs = [
        onnx.make_graph_attr(name, [make_node(op, ['x'], ['y'])], [x], [y])
        for name, op in (('then_branch', 'Relu'), ('else_branch', 'Neg'))
    ]
    return make_model(
        [make_node('If', ['c'], ['r'], 'odd', graphs=graphs)],
        [make_value('c', 9, []), x],
        [make_value('r', F32, [4])],
    )


def lies(true, result, between=None):
    """Relu and Neg, whose values are declared as it pleases."""
    infos = [put(13, make_value('m', F32, between))] if between else []
    nodes = [make_node('Relu', ['x'], ['m'], 'relu0'), make_node('Relu', ['m'], ['y'], 'relu')]
    graph = (
        b''.join(put(1, n) for n in nodes)
        + put(2, 'g')
        + put(11, make_value('x', F32, true))
        + put(12, make_value('y', F32, result))
        + b''.join(infos)
    )
    return put(1, 8) + put(8, put(2, 17)) + put(7, graph)


def mistyped(result, between=None):
    """Relu and Neg of floats, of which the file says that they are of another type."""
    infos = [put(13, make_value('m', between, [4]))] if between else []
    nodes = [make_node('Relu', ['x'], ['m'], 'relu'), make_node('Neg', ['m'], ['y'], 'neg')]
    graph = (
        b''.join(put(1, n) for n in nodes)
        + put(2, 'g')
        + put(11, make_value('x', F32, [4]))
        + put(12, make_value('y', result, [4]))
        + b''.join(infos)
    )
    return put(1, 8) + put(8, put(2, 17)) + put(7, graph)


def mistyped_weight():
    """Floats, which the file declares to be float16, as converters do that leave some as they
    are."""
    weight = make_tensor('w', F32, [1], struct.pack('<f', 2))
    graph = (
        put(1, make_node('Mul', ['x', 'w'], ['y'], 'mul'))
        + put(2, 'g')
        + put(5, weight)
        + put(11, make_value('x', F32, [4]))
        + put(12, make_value('y', F32, [4]))
        + put(13, make_value('w', 10, [1]))
    )
    return put(1, 8) + put(8, put(2, 17)) + put(7, graph)


def pooled(**attrs):
    return make_model(
        [make_node('MaxPool', ['x'], ['y'], 'pool', kernel_shape=[3, 3], **attrs)],
        [make_value('x', F32, [1, 1, 5, 5])],
        [make_value('y', F32, [1, 1, 3, 3])],
    )


def no_opset():
    graph = (
        put(1, make_node('Relu', ['x'], ['y'], 'relu'))
        + put(2, 'g')
        + put(11, make_value('x', F32, [2]))
        + put(12, make_value('y', F32, [2]))
    )
    return put(1, 8) + put(7, graph)


# name, bytes, allowed statuses, what the message must hold
MODELS = [
    ('empty', lambda: b'', {65}, ['m.onnx']),
    ('one-byte', lambda: b'\x08', {65}, ['m.onnx']),
    ('zeros', lambda: bytes(1000), {65}, ['m.onnx']),
    ('text', lambda: b'This is no model.\n' * 100, {65}, ['m.onnx']),
    ('cyclic', cyclic, {65}, ['first', 'second']),
    ('unknown-operator', unknown, {69}, ['strange', 'Frobnicate']),
    (
        'two-unknown-operators',
        lambda: unknown(True),
        {69},
        ['Frobnicate', 'Defenestrate', 'stranger'],
    ),
    ('open-dimension', symbolic, {69}, ['"tokens"', '--dim tokens=N']),
    ('short-weight', short_weight, {65}, ['"w"']),
    ('missing-value', missing_value, {65}, ['nowhere']),
    ('made-twice', made_twice, {65}, ['y']),
    ('shapes-do-not-fit', bad_shapes, {65}, ['add']),
    ('few-operands', few_operands, {65}, ['add']),
    ('negative-dims', negative_dims, {65}, ['"w"']),
    ('huge-dims', huge_dims, {65, 69, 71}, ['m.onnx']),
    ('huge-result', huge_result, {65, 69, 71}, ['error']),
    ('wrong-attribute', wrong_attribute, {65}, ['axis']),
    ('negative-grid', negative_grid, {65}, ['-2']),
    ('long-unpool', long_unpool, {65}, ['output_shape']),
    ('unpool-of-values', unpool_of_values, {65}, ['"unpool"', '200 elements']),
    ('depth-of-two', depth_of_two, {65}, ['"hot"', '2 elements']),
    ('complex-cast', complex_cast, {69}, ['complex128']),
    ('complex-constant', complex_constant, {69}, ['m.onnx', '"cast"', 'complex128']),
    ('complex-scales', complex_scales, {65, 69}, ['resize']),
    ('ninth-dimension', ninth_dimension, {69}, ['"wider"', 'more than 8 dimensions']),
    ('ninth-dimension-of-a-scan', lambda: scan_of(8), {69}, ['"turns"', 'more than 8 dimensions']),
    ('size-out-of-range', out_of_range, {65}, ['m.onnx', '"wide"', 'out of range']),
    ('many-constants', many_constants, {69}, ['m.onnx', 'constants of 10737418']),
    ('ninth-dimension-of-a-loop', lambda: loop_of(8), {69}, ['"turns"', 'more than 8 dimensions']),
    ('packed-blocks', packed_blocks, {69}, ['float4e2m1']),
    (
        'large-block',
        lambda: ends('DepthToSpace', ['x'], [], blocksize=(1 << 63) - 1),
        {65},
        ['size'],
    ),
    (
        'least-crop',
        lambda: ends('CenterCropPad', ['x', 's'], [least('s')], axes=[0]),
        {65},
        ['dimension of -9223372036854775808'],
    ),
    ('zero-of-another-type', lambda: dequantized(2), {65}, ['"wide"', 'float8e4m3fnuz', 'uint8']),
    ('longest-frame', longest_frame, {65}, ['frames']),
    ('pad-by-nothing', lambda: ends('Pad', ['x'], [], opset=8), {65}, ['"node"', 'pads']),
    ('mean-left-out', lambda: ends('Mean', ['x', '', 'x'], []), {65}, ['input 1 is left out']),
    ('no-outputs', no_outputs, {65}, ['output']),
    ('texts', strings, {69}, ['"join"', 'StringConcat']),
    ('external-missing', lambda: external('nowhere.bin'), {65, 66}, ['nowhere.bin']),
    ('external-outside', lambda: external('../../../etc/passwd'), {65}, ['passwd']),
    ('external-absolute', lambda: external('/etc/passwd'), {65}, ['passwd']),
    ('external-nested', lambda: external('a/../../x'), {65}, ['upwards']),
    ('external-backslash', lambda: external('..\\x'), {65}, ['backslash']),
    ('external-nul', lambda: external('w\0.bin'), {65}, ['NUL']),
    ('external-proc', lambda: external('/proc/self/mem'), {65}, ['absolute']),
    ('external-device', lambda: external('/dev/zero'), {65}, ['absolute']),
    ('deep', deep, {65, 69, 71}, ['m.onnx']),
    ('no-opset', no_opset, {65, 69}, ['no version']),
    (
        'reshape-larger',
        lambda: declared('Reshape', [2, 3], [4, 4], length=2),
        {65},
        ['"odd"', '[4,4]', '[2,3]'],
    ),
    ('reshape-smaller', lambda: declared('Reshape', [2, 3], [5], opset=12), {65}, ['"odd"', '[5]']),
    (
        'reshape-of-nothing',
        lambda: declared('Reshape', [0, 3], [3, 3], length=2),
        {65},
        ['"odd"', '[3,3]'],
    ),
    ('squeeze-larger', lambda: declared('Squeeze', [1, 2, 3], [4, 4]), {65}, ['"odd"', '[4,4]']),
    (
        'squeeze-of-nothing',
        lambda: declared('Squeeze', [0, 3, 1], [3, 2]),
        {65},
        ['"odd"', '[3,2]'],
    ),
    (
        'unsqueeze-larger',
        lambda: declared('Unsqueeze', [2, 3], [4, 4, 1]),
        {65},
        ['"odd"', '[4,4,1]'],
    ),
    (
        'split-larger',
        lambda: declared('Split', [2, 3], [1, 3], [3, 3], length=2),
        {65},
        ['"odd"', '4 elements'],
    ),
    (
        'split-smaller',
        lambda: declared('Split', [4, 3], [1, 3], [2, 3], length=2),
        {65},
        ['"odd"', '3 elements'],
    ),
    (
        'split-wider',
        lambda: declared('Split', [2, 3], [1, 3], [1, 7], length=2),
        {65},
        ['"odd"', '[1,7]'],
    ),
    (
        'split-of-nothing',
        lambda: declared('Split', [3, 0], [3, 1], [1, 2], length=2, axis=1),
        {65},
        ['"odd"', '[1,2]'],
    ),
    (
        'tile-of-nothing',
        lambda: declared('Tile', [0, 3], [3, 3], length=2),
        {65},
        ['"odd"', '[3,3]'],
    ),
    ('tile-of-less', lambda: declared('Tile', [2, 3], [3, 3], length=2), {65}, ['"odd"', '[3,3]']),
    (
        'expand-of-other',
        lambda: declared('Expand', [2, 3], [4, 3], length=2),
        {65},
        ['"odd"', '[4,3]'],
    ),
    (
        'negative-result',
        lambda: make_model(
            [make_node('RoiAlign', ['x', 'r', 'i'], ['y'], 'odd', output_width=-(1 << 63))],
            [
                make_value('x', F32, [1, 1, 4, 4]),
                make_value('r', F32, [1, 4]),
                make_value('i', I64, [1]),
            ],
            [make_value('y', F32, [])],
            opset=16,
        ),
        {65},
        ['"odd"', '-9223372036854775808'],
    ),
    ('branches-with-inputs', branched, {65}, ['"odd"', 'has inputs']),
    ('declared-otherwise', lambda: lies([2, 3], [2, 4]), {65}, ['"y"', '[2,4]', '[2,3]', '"relu"']),
    ('declared-of-another-rank', lambda: lies([2, 3], [6]), {65}, ['"y"', '[6]', '[2,3]']),
    (
        'declared-otherwise-inside',
        lambda: lies([2, 3], [2, 3], [7, 3]),
        {65},
        ['"m"', '[7,3]', '[2,3]'],
    ),
    ('declared-of-another-type', lambda: mistyped(I64), {65}, ['"y"', 'int64', 'float32', '"neg"']),
    (
        'declared-of-another-type-inside',
        lambda: mistyped(F32, F16),
        {65},
        ['"m"', 'float16', 'float32', '"relu"'],
    ),
    (
        'both-declared-otherwise',
        lambda: lies([2, 3], [1, 3], [7, 3]),
        {65},
        ['"m"', '[7,3]', '"y"', '[1,3]'],
    ),
    (
        'misspelt-attribute',
        lambda: pooled(auto_padd='SAME_UPPER'),
        {65},
        ['"pool"', 'MaxPool', '"auto_padd"', '"auto_pad"'],
    ),
    (
        'attribute-of-none',
        lambda: make_model(
            [make_node('Sin', ['x'], ['y'], 'sine', alpha=0.1)],
            [make_value('x', F32, [2])],
            [make_value('y', F32, [2])],
        ),
        {65},
        ['"sine"', '"alpha"', 'it has none'],
    ),
    (
        'bad-attributes-and-operators',
        lambda: make_model(
            [
                make_node('Relu', ['x'], ['a'], 'first', alpha=0.1),
                make_node('Frobnicate', ['a'], ['b'], 'second'),
                make_node('Elu', ['b'], ['y'], 'third', alfa=0.1, gamma=1.0),
            ],
            [make_value('x', F32, [2])],
            [make_value('y', F32, [2])],
        ),
        {65, 69},
        ['"first"', 'Frobnicate', '"alfa"', '"alpha"', '"gamma"'],
    ),
    (
        'slice-of-less',
        lambda: make_model(
            [make_node('Slice', ['x', 's', 's'], ['y'], 'odd')],
            [make_value('x', F32, [2]), make_value('s', I64, [1])],
            [make_value('y', F32, [3])],
        ),
        {65},
        ['"odd"', '[3]'],
    ),
    # 2^66: bytes of a row of x times its pixels
    (
        'rows-without-end',
        lambda: make_model(
            [make_node('Slice', ['x', 'from', 'to', 'axis'], ['y'], 'part')],
            [make_value('x', F32, [1, 2, 5, 2**31 - 1])],
            [make_value('y', F32, [1, 2, 5, 2**31 - 2])],
            [
                make_tensor(name, I64, [1], struct.pack('<q', value))
                for name, value in (('from', 1), ('to', 2**31 - 1), ('axis', 3))
            ],
        ),
        {65},
        ['out of range'],
    ),
]


def listing(folder):
    """Every path below with its bytes; hidden ones too."""
    found = {}
    for path, folders, files in os.walk(folder):
        for f in folders:
            found[os.path.relpath(os.path.join(path, f), folder)] = None
        for f in files:
            full = os.path.join(path, f)
            if stat.S_ISREG(os.lstat(full).st_mode):
                with open(full, 'rb') as file:
                    found[os.path.relpath(full, folder)] = file.read()
    return found


def expect(t, name, work, command, statuses, words):
    """Runs the command: status, words in the message, and nothing in `work` has changed."""
    before = listing(work)
    status, text = host.run(command, limit=120)
    why = []
    if status not in statuses:
        why.append('status %d, want %s' % (status, sorted(statuses)))
    if not text.startswith('inlay: '):
        why.append('no message of ours')
    why += ['the message lacks %s' % w for w in words if w not in text]
    if listing(work) != before:
        why.append('left behind: %s' % sorted(set(listing(work)) ^ set(before)))
    t.ok(name, not why, '\n'.join(why + [text[:1000]]))


def write(path, data):
    with open(path, 'wb') as f:
        f.write(data)
    return path


def models(t, o):
    for name, make, statuses, words in MODELS:
        with host.Work() as work:
            model = write(os.path.join(work, 'm.onnx'), make())
            expect(
                t,
                name,
                work,
                [o.inlay, 'compile', model, '-o', os.path.join(work, 'out')],
                statuses,
                words,
            )
    with host.Work() as work:
        model = write(os.path.join(work, 'm.onnx'), unknown())
        out = os.path.join(work, 'out')
        host.run([o.inlay, 'compile', write(os.path.join(work, 'good.onnx'), good()), '-o', out])
        names = ['x'] + ['v%d' % i for i in range(29)] + ['y']
        nodes = [
            make_node('Frobnicate', [i], [o], 'strange %s' % i) for i, o in zip(names, names[1:])
        ]
        many = write(
            os.path.join(work, 'many.onnx'),
            make_model(nodes, [make_value('x', F32, [2])], [make_value('y', F32, [2])]),
        )
        status, text = host.run([o.inlay, 'analyze', many])
        t.ok(
            'an operator is unknown once',
            status == 69
            and text.count('error:') == 1
            and '"strange x"' in text
            and 'here and at 29 more nodes' in text,
            text,
        )
        expect(
            t,
            'a failure leaves the old output',
            work,
            [o.inlay, 'compile', model, '-o', out],
            {69},
            ['strange'],
        )


def tolerated(t, o):
    """What looks odd and is taken."""
    foreign = make_model(
        [make_node('FastGelu', ['x'], ['y'], domain='com.microsoft')],
        [make_value('x', F16, [4])],
        [make_value('y', F16, [4])],
        opset=None,
        domains=[('com.microsoft', 1)],
    )
    twice = make_model(
        [make_node('Relu', ['x'], ['y'])],
        [make_value('x', F32, [2])],
        [make_value('y', F32, [2])],
        opset=13,
        domains=[('', 17)],
    )
    nothing = make_model(
        [make_node('NonZero', ['x'], ['y'])],
        [make_value('x', F32, [0, 2])],
        [make_value('y', I64, [2, 3])],
    )
    again = make_model(
        [make_node('Relu', ['x'], ['y'])],
        [make_value('x', F32, [2])],
        [make_value('y', F32, [2])] * 2,
    )
    for name, model, flags, words in (
        ('nothing that is not zero', nothing, [], []),
        ('a zero point of NaN', dequantized(18), [], []),
        ('a weight declared of another type', mistyped_weight(), [], ['"w"', 'float16', 'float32']),
        ('private attributes', pooled(__note='mine'), [], []),
        ('a result given twice', again, [], []),
        ('no operator set of ai.onnx', foreign, [], []),
        ('operator set imported twice', twice, [], ['imported twice', '13', '17']),
        (
            'declared for other sizes than the user gives',
            lies(['n', 3], [1, 3], [1, 3]),
            ['--dim', 'n=2'],
            ['"m"', '[1,3]', '[2,3]'],
        ),
    ):
        with host.Work() as work:
            path = write(os.path.join(work, 'm.onnx'), model)
            status, text = host.run(
                [o.inlay, 'compile', path, '-o', os.path.join(work, 'out')] + flags
            )
            t.ok(
                name,
                status == 0 and all(w in text for w in words),
                'status %d\n%s' % (status, text[:1000]),
            )


def inputs(t, o):
    with host.Work() as work:
        expect(
            t,
            'missing-file',
            work,
            [o.inlay, 'compile', os.path.join(work, 'none.onnx'), '-o', os.path.join(work, 'out')],
            {66},
            ['none.onnx'],
        )
        expect(
            t,
            'directory',
            work,
            [o.inlay, 'compile', work, '-o', os.path.join(work, 'out')],
            {65, 66},
            [work],
        )
        os.mkfifo(os.path.join(work, 'pipe'))
        expect(
            t,
            'named-pipe',
            work,
            [o.inlay, 'compile', os.path.join(work, 'pipe'), '-o', os.path.join(work, 'out')],
            {65, 66},
            ['pipe'],
        )


def usage(t, o, digits):
    with host.Work() as work:
        out = os.path.join(work, 'out')
        for name, args in [
            ('no command', []),
            ('unknown command', ['frob']),
            ('no model', ['compile']),
            ('no output', ['compile', digits]),
            ('unknown option', ['compile', digits, '-o', out, '--frob']),
            ('two models', ['compile', digits, digits, '-o', out]),
            ('bad shape', ['compile', digits, '-o', out, '--shape', 'image=axb']),
            ('no such input', ['compile', digits, '-o', out, '--shape', 'nope=1']),
            ('no such symbol', ['compile', digits, '-o', out, '--dim', 'nope=1']),
            ('bad name', ['compile', digits, '-o', out, '--name', '1x']),
            ('bad form', ['compile', digits, '-o', out, '--weights', 'clay']),
            ('no limit', ['check', digits]),
            ('no input', ['run', digits]),
            ('negative limit', ['analyze', digits, '--arena-limit=-5']),
            ('no number', ['analyze', digits, '--arena-limit', '64Q']),
            ('too large', ['check', digits, '--max-arena', '9999999G']),
        ]:
            before = listing(work)
            status, text = host.run([o.inlay] + args)
            t.ok(
                'usage: ' + name,
                status == 64 and 'inlay: ' in text and listing(work) == before,
                'status %d\n%s' % (status, text[:1000]),
            )
        status, text = host.run([o.inlay, 'compile', digits, '--optimize', 'speed'])
        t.ok(
            'no output: the command to type next',
            'help: inlay compile %s --optimize speed -o digits\n' % shlex.quote(digits) in text,
            text,
        )
        expect(
            t,
            'check: arena over the limit',
            work,
            [o.inlay, 'check', digits, '--max-arena', '100'],
            {1},
            [],
        )
        expect(
            t,
            'arena limit',
            work,
            [o.inlay, 'compile', digits, '-o', out, '--arena-limit', '100'],
            {1},
            ['arena'],
        )
        expect(
            t,
            'no byte of arena',
            work,
            [o.inlay, 'compile', digits, '-o', out, '--arena-limit', '0'],
            {1},
            ['the limit is 0', 'lower bound'],
        )
        status, text = host.run(
            [o.inlay, 'check', digits, '--max-arena', '1M', '--max-weights', '1024K']
        )
        t.ok('K and M', status == 0 and text.count('of      1048576: holds') == 2, text)
        status, text = host.run([o.inlay, 'analyze', digits, '--dim', 'Q=3'])
        t.ok(
            'a symbol where none is',
            status == 64
            and '--dim Q: no dimension of the inputs has a name' in text
            and '--shape image=1x1x28x28' in text,
            text,
        )
        expect(
            t,
            'memory budget',
            work,
            [o.inlay, 'compile', digits, '-o', out, '--max-memory', '10000'],
            {71},
            [],
        )


def places(t, o, digits):
    with host.Work() as work:
        write(os.path.join(work, 'file'), b'')
        expect(
            t,
            'output under a file',
            work,
            [o.inlay, 'compile', digits, '-o', os.path.join(work, 'file', 'out')],
            {73},
            ['out'],
        )
        expect(
            t,
            'output is a file',
            work,
            [o.inlay, 'compile', digits, '-o', os.path.join(work, 'file')],
            {73},
            ['file'],
        )
        deep = os.path.join(work, 'some', 'where', 'out')
        expect(
            t,
            'folders on the way to the output stay unmade',
            work,
            [o.inlay, 'compile', digits, '-o', deep, '--max-weights', '1'],
            {1},
            [],
        )
        status, text = host.run([o.inlay, 'compile', digits, '-o', deep, '-q'])
        t.ok(
            'folders on the way to the output are made',
            status == 0 and os.path.exists(os.path.join(deep, 'digits.json')),
            text,
        )
        expect(
            t,
            'output on /proc',
            work,
            [o.inlay, 'compile', digits, '-o', '/proc/inlay-out'],
            {73},
            ['/proc/inlay-out'],
        )
        status, text = host.run(['sh', '-c', '"$0" analyze "$1" >/dev/full', o.inlay, digits])
        t.ok(
            'standard output is full',
            status == 74 and 'standard output' in text,
            'status %d\n%s' % (status, text),
        )


def small_disk(t, o, digits):
    """A file system with less room than the output needs, where we may mount one."""
    with host.Work() as work:
        disk = os.path.join(work, 'disk')
        os.mkdir(disk)
        if os.getuid() or host.run(['mount', '-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', disk])[0]:
            return t.skip('full disk', 'no right to mount a tmpfs here')
        try:
            before = listing(disk)
            status, text = host.run([o.inlay, 'compile', digits, '-o', os.path.join(disk, 'out')])
            t.ok(
                'full disk',
                status in (73, 74) and 'No space left' in text and listing(disk) == before,
                'status %d\n%s\n%s' % (status, text, listing(disk).keys()),
            )
        finally:
            host.run(['umount', disk])


def no_rights(t, o, digits):
    if os.getuid() == 0:
        return t.skip('output folder without the right to write', 'root may write everywhere')
    with host.Work() as work:
        closed = os.path.join(work, 'closed')
        os.mkdir(closed, 0o555)
        expect(
            t,
            'output folder without the right to write',
            work,
            [o.inlay, 'compile', digits, '-o', os.path.join(closed, 'out')],
            {73},
            ['closed'],
        )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    o = p.parse_args()
    t, digits = tap.Tap(), os.path.join(o.models, 'digits', 'digits.onnx')
    models(t, o)
    tolerated(t, o)
    inputs(t, o)
    usage(t, o, digits)
    places(t, o, digits)
    small_disk(t, o, digits)
    no_rights(t, o, digits)
    t.done()


main()
