# SPDX-License-Identifier: Apache-2.0
"""What the libFuzzer targets begin with, made from the repository's own models and small ones of
our own.

    seeds(target, folder, inlay, models)     writes the seeds of one target into a folder"""
import glob
import os
import struct

import host
import networks
import onnx
from onnx import make_graph_attr, make_model, make_node, make_tensor, make_value, put

F32, I64, BOOL, U8 = 1, 7, 9, 2


def floats(name, *dims):
    n = 1
    for d in dims:
        n *= d
    return make_tensor(name, F32, dims, struct.pack('<%df' % n, *((i % 7) / 4 for i in range(n))))


def ints(name, *values):
    return make_tensor(name, I64, [len(values)], struct.pack('<%dq' % len(values), *values))


def one(node, ins, outs=(('y', F32, None),), weights=(), opset=18, domains=()):
    values = [
        put(1, n) + put(2, put(1, put(1, c))) if d is None else make_value(n, c, d)
        for n, c, d in outs
    ]
    return make_model(
        node if isinstance(node, list) else [node],
        [make_value(*v) for v in ins],
        values,
        weights,
        opset,
        domains,
    )


def image(name='x'):
    return (name, F32, [1, 2, 5, 6])


def small_models():
    made = {}
    for op in (
        'Relu',
        'Sigmoid',
        'Softmax',
        'Flatten',
        'GlobalAveragePool',
        'Shape',
        'Transpose',
        'LpNormalization',
        'CumSum',
        'NonZero',
        'Size',
        'HardSwish',
    ):
        made[op] = one(
            make_node(op, ['x'] + (['axis'] if op == 'CumSum' else []), ['y']),
            [image()],
            weights=[ints('axis', 1)],
        )
    made['Conv'] = one(
        make_node(
            'Conv', ['x', 'w', 'b'], ['y'], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 1]
        ),
        [image()],
        weights=[floats('w', 3, 2, 3, 3), floats('b', 3)],
    )
    made['ConvTranspose'] = one(
        make_node('ConvTranspose', ['x', 'w'], ['y'], strides=[2, 2]),
        [image()],
        weights=[floats('w', 2, 3, 3, 3)],
    )
    made['MaxPool'] = one(
        make_node('MaxPool', ['x'], ['y', 'i'], kernel_shape=[2, 2], ceil_mode=1),
        [image()],
        [('y', F32, None), ('i', I64, None)],
    )
    made['Gemm'] = one(
        make_node('Gemm', ['x', 'w', 'b'], ['y'], transB=1, alpha=0.5),
        [('x', F32, [2, 4])],
        weights=[floats('w', 3, 4), floats('b', 3)],
    )
    made['MatMul'] = one(
        make_node('MatMul', ['x', 'z'], ['y']), [('x', F32, [2, 3, 4]), ('z', F32, [4, 5])]
    )
    made['Reshape'] = one(
        make_node('Reshape', ['x', 's'], ['y']), [image()], weights=[ints('s', 0, -1, 3)]
    )
    made['Split'] = one(
        make_node('Split', ['x', 's'], ['y', 'z'], axis=3),
        [image()],
        [('y', F32, None), ('z', F32, None)],
        [ints('s', 2, 4)],
    )
    made['Slice'] = one(
        make_node('Slice', ['x', 'b', 'e', 'a', 's'], ['y']),
        [image()],
        weights=[ints('b', 1), ints('e', -1), ints('a', 3), ints('s', 2)],
    )
    made['Gather'] = one(make_node('Gather', ['x', 'i'], ['y'], axis=2), [image(), ('i', I64, [3])])
    made['ScatterND'] = one(
        make_node('ScatterND', ['x', 'i', 'u'], ['y']),
        [('x', F32, [4, 4]), ('i', I64, [2, 1]), ('u', F32, [2, 4])],
    )
    made['TopK'] = one(
        make_node('TopK', ['x', 'k'], ['y', 'i'], axis=-1),
        [image()],
        [('y', F32, None), ('i', I64, None)],
        [ints('k', 2)],
    )
    made['Pad'] = one(
        make_node('Pad', ['x', 'p'], ['y'], mode='reflect'),
        [image()],
        weights=[ints('p', 0, 0, 1, 2, 0, 0, 1, 0)],
    )
    made['Resize'] = one(
        make_node('Resize', ['x', '', 's'], ['y'], mode='linear'),
        [image()],
        weights=[make_tensor('s', F32, [4], struct.pack('<4f', 1, 1, 2, 1.5))],
    )
    made['Einsum'] = one(
        make_node('Einsum', ['x', 'z'], ['y'], equation='bij,jk->bik'),
        [('x', F32, [2, 3, 4]), ('z', F32, [4, 5])],
    )
    made['LSTM'] = one(
        make_node('LSTM', ['x', 'w', 'r'], ['y'], hidden_size=2),
        [('x', F32, [3, 1, 2])],
        weights=[floats('w', 1, 8, 2), floats('r', 1, 8, 2)],
    )
    made['LayerNormalization'] = one(
        make_node('LayerNormalization', ['x', 's', 'b'], ['y'], axis=-1),
        [image()],
        weights=[floats('s', 6), floats('b', 6)],
    )
    made['BatchNormalization'] = one(
        make_node('BatchNormalization', ['x', 'a', 'b', 'c', 'd'], ['y']),
        [image()],
        weights=[floats(n, 2) for n in 'abcd'],
    )
    made['Quantize'] = one(
        [
            make_node('QuantizeLinear', ['x', 's', 'z'], ['q']),
            make_node('DequantizeLinear', ['q', 's', 'z'], ['y']),
        ],
        [image()],
        weights=[
            make_tensor('s', F32, [], struct.pack('<f', 0.5)),
            make_tensor('z', U8, [], b'\x80'),
        ],
    )
    made['QLinearMatMul'] = one(
        make_node('QLinearMatMul', ['x', 's', 'z', 'w', 's', 'z', 's', 'z'], ['y']),
        [('x', U8, [2, 4])],
        [('y', U8, None)],
        [
            make_tensor('s', F32, [], struct.pack('<f', 0.5)),
            make_tensor('z', U8, [], b'\x80'),
            make_tensor('w', U8, [4, 3], bytes(range(12))),
        ],
    )
    made['Attention'] = one(
        make_node('Attention', ['x', 'x', 'x'], ['y'], q_num_heads=2, kv_num_heads=2),
        [('x', F32, [1, 3, 4])],
        opset=23,
    )
    made['NonMaxSuppression'] = one(
        make_node('NonMaxSuppression', ['x', 's', 'k'], ['y']),
        [('x', F32, [1, 3, 4]), ('s', F32, [1, 1, 3])],
        [('y', I64, None)],
        [ints('k', 2)],
    )
    then = make_graph_attr(
        'then_branch', [make_node('Relu', ['x'], ['t'])], [], [make_value('t', F32, [2])]
    )
    other = make_graph_attr(
        'else_branch', [make_node('Neg', ['x'], ['e'])], [], [make_value('e', F32, [2])]
    )
    made['If'] = one(
        make_node('If', ['c'], ['y'], graphs=[then, other]), [('c', BOOL, []), ('x', F32, [2])]
    )
    body = make_graph_attr(
        'body',
        [
            make_node('Identity', ['go'], ['on']),
            make_node('Add', ['v', 'x'], ['w']),
            make_node('Relu', ['w'], ['scan']),
        ],
        [make_value('n', I64, []), make_value('go', BOOL, []), make_value('v', F32, [2])],
        [make_value('on', BOOL, []), make_value('w', F32, [2]), make_value('scan', F32, [2])],
    )
    made['Loop'] = one(
        make_node('Loop', ['n', '', 'x'], ['y', 'z'], graphs=[body]),
        [('x', F32, [2])],
        [('y', F32, None), ('z', F32, None)],
        [make_tensor('n', I64, [], struct.pack('<q', 3))],
    )
    function = (
        put(1, 'Twice')
        + put(10, 'own')
        + put(4, 'a')
        + put(5, 'b')
        + put(7, make_node('Add', ['a', 'a'], ['b']))
        + put(9, put(2, 18))
    )
    made['function'] = one(
        make_node('Twice', ['x'], ['y'], domain='own'), [('x', F32, [2])], domains=[('own', 1)]
    ) + put(25, function)
    sparse = (
        put(1, make_tensor('w', F32, [2], struct.pack('<2f', 1, 2)))
        + put(2, make_tensor('', I64, [2], struct.pack('<2q', 1, 5)))
        + put(3, 2)
        + put(3, 3)
    )
    made['sparse'] = one(
        make_node('Constant', [], ['y'])
        + put(5, put(1, 'sparse_value') + put(20, 11) + put(22, sparse)),
        [('x', F32, [2])],
    )
    net = networks.Net(2, 8)
    x = net.conv(net.conv(net.input, 4, 3, 2), 4, 3, 1, True)
    made['net'] = make_model(
        net.nodes,
        [make_value('in', F32, [1, 2, 8, 8])],
        [make_value(net.add(x, net.conv(x, 4))[0], F32, [1, 4, 4, 4])],
        net.weights,
        opset=13,
    )
    made['symbols'] = one(
        [make_node('Concat', ['x', 'x'], ['c'], axis=0), make_node('Tile', ['c', 'r'], ['y'])],
        [('x', F32, [1, 2])],
        weights=[ints('r', 2, 1)],
    )
    return made


def tensors():
    made = {}
    for code, (name, bits, _) in onnx.TYPES.items():
        made[name] = make_tensor('t', code, [2, 4], bytes(range(bits)))
    listed = put(1, 3) + put(8, 'listed')
    made['float_data'] = listed + put(2, F32) + put(4, struct.pack('<3f', 1, 2, 3))
    made['int64_data'] = listed + put(2, I64) + put(7, b'\1\2\3')
    made['int32_data'] = listed + put(2, 3) + b''.join(put(5, v) for v in (1, -1, 127))
    made['double_data'] = listed + put(2, 11) + put(10, struct.pack('<3d', 1, 2, 3))
    made['uint64_data'] = listed + put(2, 13) + put(11, b'\1\2\3')
    made['strings'] = put(1, 1) + put(2, 8) + put(6, 'text')
    return made


def externals():
    content = bytes(range(64, 128))
    made = {}
    for i, (location, offset, length) in enumerate(
        (
            ('w.bin', '0', '64'),
            ('./w.bin', '4', '16'),
            ('sub/w.bin', '0', '16'),
            ('link', '0', '16'),
            ('../secret', '0', '16'),
            ('pipe', '0', '4'),
            ('sub', '0', '4'),
            ('/proc/self/environ', '0', '4'),
            ('w.bin', '60', '8'),
            ('sub/../w.bin', '', ''),
            ('model/../../secret', '0', '16'),
        )
    ):
        made['e%d' % i] = (
            bytes([64])
            + content
            + onnx.make_external(
                'w', F32, [int(length or 64) // 4], location, offset or 0, length or 64
            )
        )
    return made


def problems():
    rows = {
        'plain': 'id,lower,upper,size\na,0,3,4\nb,1,5,8\nc,4,9,4\nd,2,6,16\n',
        'offsets': 'id,lower,upper,size,offset\na,0,3,4,\nb,3,9,4,4\nc,0,9,8,\n',
        'gaps': (
            'id,lower,upper,size,alignment,hint,gaps\n'
            'a,0,9,8,4,0,3-5\n'
            'b,3,5,8,8,8,\n'
            'c,1,7,16,1,-1,2-4@0:8 5-6@8:16\n'
        ),
        'ends': (
            'buffer,start,end,size\n'
            'x,-9223372036854775808,9223372036854775807,1\n'
            'y,0,0,4611686018427387904\n'
        ),
    }
    return {k: v.encode() for k, v in rows.items()}


def manifests(inlay, models):
    """The plain plan and a streamed one of each model, with the model's place in the order of names
    before it."""
    made = {}
    with host.Work() as work:
        for i, path in enumerate(sorted(glob.glob(os.path.join(models, '*.onnx')))):
            for plan in ('simple', 'stream'):
                for k, more in enumerate(
                    ([], ['--io', 'arena'], ['--region', 'a:4K', '--region', 'b:1M'])
                ):
                    out = os.path.join(work, '%d%s%d' % (i, plan, k))
                    status, _ = host.run(
                        [inlay, 'compile', path, '-o', out, '--name', 'm', '--plan', plan] + more
                    )
                    if not status:
                        made['%d%s%d' % (i, plan, k)] = (
                            bytes([48 + i]) + open(os.path.join(out, 'm.json'), 'rb').read()
                        )
    return made


def command_lines():
    lines = [
        'analyze m.onnx',
        'analyze m.onnx --json --curve',
        'analyze m.onnx --csv',
        'analyze m.onnx --html --optimize speed',
        'check m.onnx --max-arena 64K --max-weights 1M',
        'run m.onnx -i v.pb',
        'run m.onnx --input=v.pb --load mmap --plan simple',
        'dump m.onnx --after fuse_bn',
        'dump m.onnx --initializers',
        'ops --markdown',
        'ops',
        'prove m.json m.onnx',
        'place v.csv --capacity 4K',
        '--help',
        'help',
        'help analyze --json',
        '--version',
        'analyze m.onnx --shape x=1x2x8x8 --io in0=arena,out0=arena --preserve-input',
        'analyze m.onnx --region a:4K:1 --region b:1M:4 --pin y=b',
        'analyze m.onnx --io rows',
        'analyze m.onnx --const x=v.pb --stats',
        'analyze m.onnx --dim n=3 --without fuse_bn --arena-limit 100 --max-memory 64M',
        'analyze m.onnx --no-hash --hash-model --no-external-data --target cortex-m4',
        'analyze -- m.onnx',
    ]
    return {'c%d' % i: line.replace(' ', '\n').encode() for i, line in enumerate(lines)}


def write(folder, made, ending=''):
    os.makedirs(folder, exist_ok=True)
    for name, blob in made.items():
        with open(os.path.join(folder, name + ending), 'wb') as f:
            f.write(blob)


def proved_models(folder, models):
    """The models whose manifests are proved: small enough for thousands of runs a second."""
    chosen = {
        k: v
        for k, v in small_models().items()
        if k in ('Conv', 'Gemm', 'LSTM', 'Loop', 'MaxPool', 'Split', 'net', 'Resize', 'Attention')
    }
    chosen['zsine'] = open(os.path.join(models, 'sine', 'sine.onnx'), 'rb').read()
    write(folder, chosen, '.onnx')


def seeds(target, folder, inlay, models):
    if target == 'prove':
        write(folder, manifests(inlay, os.environ['INLAY_FUZZ_MODELS']))
        return
    made = {
        'model': small_models,
        'tensor': tensors,
        'external': externals,
        'place': problems,
        'options': command_lines,
    }[target]()
    if target == 'model':
        made['sine'] = open(os.path.join(models, 'sine', 'sine.onnx'), 'rb').read()
    write(folder, made)
