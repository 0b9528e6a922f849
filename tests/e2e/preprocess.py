# SPDX-License-Identifier: Apache-2.0
"""--preprocess: a model that is given raw frames answers as it does to (raw - mean) * scale in
floats, and holds no frame of floats.

    preprocess.py --inlay INLAY"""
import argparse
import json
import os
import random
import struct

import host
import onnx
import tap
from onnx import make_model, make_node, make_tensor, make_value

F32, I8, I32, F16 = 1, 3, 6, 10
RANGE = {
    'uint8': (0, 255),
    'int8': (-128, 127),
    'uint16': (0, 65535),
    'int16': (-32768, 32767),
    'float32': (-3, 3),
}


def write(path, data):
    with open(path, 'wb') as f:
        f.write(data)
    return path


def as_float(value):
    return struct.unpack('<f', struct.pack('<f', value))[0]


def convolution(path, code=F32, size=8):
    """[1][3][size][size + 2] -> Conv 3x3 -> Relu."""
    r = random.Random(1)
    letter = onnx.TYPES[code][2]
    weights = [
        make_tensor(
            'w',
            code,
            [4, 3, 3, 3],
            struct.pack('<108' + letter, *(r.uniform(-1, 1) for _ in range(108))),
        ),
        make_tensor('b', code, [4], struct.pack('<4' + letter, 0.1, 0.2, 0.3, 0.4)),
    ]
    nodes = [
        make_node('Conv', ['x', 'w', 'b'], ['c'], 'conv', pads=[1, 1, 1, 1]),
        make_node('Relu', ['c'], ['y'], 'relu'),
    ]
    return write(
        path,
        make_model(
            nodes,
            [make_value('x', code, [1, 3, size, size + 2])],
            [make_value('y', code, [1, 4, size, size + 2])],
            weights,
        ),
    )


def last(path):
    """[1][8][10][3], channels last as other frameworks have them, -> Transpose ->
    GlobalAveragePool."""
    nodes = [
        make_node('Transpose', ['x'], ['t'], 'turn', perm=[0, 3, 1, 2]),
        make_node('GlobalAveragePool', ['t'], ['y'], 'mean'),
    ]
    return write(
        path,
        make_model(
            nodes, [make_value('x', F32, [1, 8, 10, 3])], [make_value('y', F32, [1, 3, 1, 1])]
        ),
    )


def integers(path):
    """int8 [1][3][8][10] -> DequantizeLinear -> GlobalAveragePool: a network that takes no
    floats."""
    nodes = [
        make_node('DequantizeLinear', ['x', 's', 'z'], ['d'], 'floats'),
        make_node('GlobalAveragePool', ['d'], ['y'], 'mean'),
    ]
    weights = [
        make_tensor('s', F32, [], struct.pack('<f', 0.5)),
        make_tensor('z', I8, [], struct.pack('<b', -3)),
    ]
    return write(
        path,
        make_model(
            nodes,
            [make_value('x', I8, [1, 3, 8, 10])],
            [make_value('y', F32, [1, 3, 1, 1])],
            weights,
        ),
    )


def sound(path):
    nodes = [
        make_node('Abs', ['x'], ['a'], 'abs'),
        make_node('ReduceMean', ['a'], ['y'], 'level', axes=[1]),
    ]
    return write(
        path,
        make_model(
            nodes, [make_value('x', F32, [1, 40])], [make_value('y', F32, [1, 1])], opset=13
        ),
    )


def places(dims, hwc):
    """Of each element that is given, its place in the model's order and its channel; channels are
    dimension 1 of the model."""
    channels, pixels = dims[1], 1
    for n in dims[2:]:
        pixels *= n
    for i in range(channels * pixels):
        channel = i % channels if hwc else i // pixels
        pixel = i // channels if hwc else i % pixels
        yield channel * pixels + pixel, channel


def agrees(
    t, work, inlay, what, model, dims, kind, hwc, mean, scale, text, code=F32, channel_of=None
):
    """`dims` are the model's. Both ways of running it, and the manifest proved."""
    r = random.Random(len(text))
    low, high = RANGE[kind]
    count = 1
    for n in dims:
        count *= n
    draw = r.uniform if kind == 'float32' else r.randint
    given = [as_float(draw(low, high)) for _ in range(count)]
    floats = [0.0] * count
    for i, (place, channel) in enumerate(places(dims, hwc)):
        if channel_of:
            channel = channel_of(i)
        value = as_float(given[i] - as_float(mean[channel % len(mean)]))
        floats[place] = as_float(value * as_float(scale[channel % len(scale)]))
    letter = onnx.TYPES[onnx.CODES[kind]][2]
    if letter != 'f':
        given = [int(value) for value in given]
    turned = [dims[0]] + dims[2:] + [dims[1]] if hwc else dims
    raw = write(
        os.path.join(work, 'raw.pb'),
        make_tensor('x', onnx.CODES[kind], turned, struct.pack('<%d%s' % (count, letter), *given)),
    )
    if code == I8:
        floats = [max(-128, min(127, round(value))) for value in floats]
    fine = write(
        os.path.join(work, 'fine.pb'),
        make_tensor('x', code, dims, struct.pack('<%d%s' % (count, onnx.TYPES[code][2]), *floats)),
    )
    one, two, out = (os.path.join(work, name) for name in ('one', 'two', 'out'))
    status, said = host.run([inlay, 'run', model, '-i', fine, '-o', one])
    code_of, more = host.run([inlay, 'run', model, '--preprocess', text, '-i', raw, '-o', two])
    off = said + more
    if not status and not code_of:
        off = onnx.difference(
            onnx.read_tensor(os.path.join(two, 'output_0.pb')),
            onnx.read_tensor(os.path.join(one, 'output_0.pb')),
            1e-5,
            1e-5,
        )
    t.ok(what, not off, off)
    status, said = host.run([inlay, 'compile', model, '-n', 'm', '-o', out, '--preprocess', text])
    proved, more = host.run([inlay, 'prove', os.path.join(out, 'm.json'), model])
    with open(os.path.join(out, 'm.json')) as f:
        man = json.load(f)
    t.ok(what + ': compiled and proved', status == proved == 0, said + more)
    t.ok(
        what + ': the input is as given',
        man['inputs'][0]['dtype'] == kind
        and man['inputs'][0]['dims'] == turned
        and man['inputs'][0]['name'] == 'x',
        man['inputs'],
    )


def answers(t, inlay, work):
    conv = convolution(os.path.join(work, 'conv.onnx'))
    dims = [1, 3, 8, 10]
    means, scales = [123.675, 116.28, 103.53], [1 / 58.395, 1 / 57.12, 1 / 57.375]
    texts = 'mean=123.675:116.28:103.53,scale=1/58.395:1/57.12:1/57.375'
    agrees(
        t,
        work,
        inlay,
        'pixels with channels last',
        conv,
        dims,
        'uint8',
        True,
        means,
        scales,
        'uint8,hwc,' + texts,
    )
    agrees(
        t,
        work,
        inlay,
        'channels first',
        conv,
        dims,
        'uint8',
        False,
        means,
        scales,
        'x=uint8,' + texts,
    )
    agrees(
        t,
        work,
        inlay,
        'one number for all',
        conv,
        dims,
        'int8',
        True,
        [-3],
        [0.5],
        'int8,hwc,scale=.5,mean=-3',
    )
    agrees(t, work, inlay, 'only the type', conv, dims, 'uint8', False, [0], [1], 'uint8')
    agrees(t, work, inlay, 'only the layout', conv, dims, 'float32', True, [0], [1], 'float32,hwc')
    agrees(t, work, inlay, 'nothing at all', conv, dims, 'float32', False, [0], [1], 'float32')
    agrees(
        t,
        work,
        inlay,
        '16 bits',
        conv,
        dims,
        'uint16',
        True,
        [32768],
        [1 / 32768],
        'uint16,hwc,mean=32768,scale=1/32768',
    )
    agrees(
        t,
        work,
        inlay,
        'sound',
        sound(os.path.join(work, 'sound.onnx')),
        [1, 40],
        'int16',
        False,
        [0],
        [1 / 32768],
        'int16,scale=1/32768',
    )
    half = convolution(os.path.join(work, 'half.onnx'), F16)
    agrees(
        t,
        work,
        inlay,
        'a model of float16',
        half,
        dims,
        'uint8',
        True,
        [127.5],
        [1 / 127.5],
        'uint8,hwc,mean=127.5,scale=1/127.5',
        F16,
    )
    agrees(
        t,
        work,
        inlay,
        'bytes to bytes',
        integers(os.path.join(work, 'integers.onnx')),
        dims,
        'uint8',
        True,
        [128],
        [1],
        'uint8,hwc,mean=128',
        I8,
    )
    agrees(
        t,
        work,
        inlay,
        'bytes, rounded and clipped',
        integers(os.path.join(work, 'integers.onnx')),
        dims,
        'int16',
        True,
        [128.25, 0, 3],
        [0.75],
        'int16,hwc,mean=128.25:0:3,scale=.75',
        I8,
    )
    # [1][8][10][3]: of elements as they are, channel i % 3
    agrees(
        t,
        work,
        inlay,
        'a model with channels last',
        last(os.path.join(work, 'last.onnx')),
        [1, 8, 10, 3],
        'uint8',
        False,
        means,
        scales,
        'uint8,hwc,' + texts,
        channel_of=lambda i: i % 3,
    )


def memory(t, inlay, work):
    """Neither a frame of floats nor one in the other order: rows."""

    def arena(model, *more):
        status, text = host.run([inlay, 'analyze', model, '--json'] + list(more))
        return json.loads(text[text.index('{') :])['arena']['size'] if not status else text

    model = convolution(os.path.join(work, 'large.onnx'), size=96)
    plain = arena(model)
    raw = arena(model, '--preprocess', 'uint8,hwc,mean=127.5,scale=1/127.5')
    frame = 4 * 3 * 96 * 98
    t.ok(
        'the arena holds rows of the frame only',
        isinstance(raw, int) and raw - plain < frame / 8,
        '%s, %s before' % (raw, plain),
    )


def refused(t, inlay, work):
    model = convolution(os.path.join(work, 'conv.onnx'))
    for text, part in (
        ('uint7', 'the type is none of'),
        ('uint8,hcw', '"hcw" is nothing known'),
        ('uint8,mean=', 'a number is none'),
        ('uint8,mean=1;2', 'a colon'),
        ('uint8,scale=1/0', 'a number is none'),
        ('uint8,mean=1:2', '2 numbers for 3 channels'),
        ('y=uint8', 'has no input'),
        ('uint8,mean=nan', 'a number is none'),
    ):
        status, said = host.run([inlay, 'analyze', model, '--preprocess', text])
        t.ok('%s is refused' % text, status == 64 and part in said, said)
    whole = write(
        os.path.join(work, 'i.onnx'),
        make_model(
            [make_node('Neg', ['x'], ['y'], 'neg')],
            [make_value('x', I32, [1, 3])],
            [make_value('y', I32, [1, 3])],
        ),
    )
    status, said = host.run([inlay, 'analyze', whole, '--preprocess', 'uint8'])
    t.ok('an input of integers', status == 64 and 'can be made' in said, said)
    flat = sound(os.path.join(work, 'sound.onnx'))
    status, said = host.run([inlay, 'analyze', flat, '--preprocess', 'uint8,hwc'])
    t.ok('hwc of what has no pixels', status == 64 and 'pixels' in said, said)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('--inlay', required=True)
    a = ap.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        answers(t, a.inlay, work)
        memory(t, a.inlay, work)
        refused(t, a.inlay, work)
    t.done()


main()
