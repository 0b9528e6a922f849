# SPDX-License-Identifier: Apache-2.0
"""Constant weights against the same weights as inputs: packed kernels and fused activations against
plain ones.

    weights.py --inlay INLAY [--count N] [--seed S]

Random Conv, ConvTranspose, Gemm and MatMul nodes, most with an activation or an addition behind
them. As inputs the weights leave no choice but the plain kernels, which the reference tests of ONNX
cover."""
import argparse
import math
import os
import random
import struct

import host
import onnx
import tap

ACTS = [
    None,
    None,
    'Relu',
    'Sigmoid',
    'LeakyRelu',
    'HardSwish',
    'Tanh',
    'Elu',
    'Softplus',
    'residual',
    'residual+Relu',
]


def floats(rnd, dims):
    return struct.pack(
        '<%df' % math.prod(dims), *(rnd.uniform(-1, 1) for _ in range(math.prod(dims)))
    )


def image_case(rnd, op):
    spatial = rnd.choice([1, 2, 2, 2, 3])
    group = rnd.choice([1, 1, 1, 2, 3])
    ic, oc = group * rnd.randint(1, 9), group * rnd.choice([1, 2, 5, 8, 16, 20, 30, 37])
    if rnd.random() < 0.25:
        group = ic = oc = rnd.choice([4, 13, 24, 32])
    k = [rnd.randint(1, 4) for _ in range(spatial)]
    attrs = {
        'group': group,
        'strides': [rnd.randint(1, 3) for _ in k],
        'dilations': [rnd.choice([1, 1, 1, 2]) for _ in k],
    }
    x = [rnd.choice([1, 1, 2]), ic] + [
        rnd.randint((n - 1) * d + 1, (n - 1) * d + 12) for n, d in zip(k, attrs['dilations'])
    ]
    pad = rnd.choice(['pads', 'pads', 'SAME_UPPER', 'SAME_LOWER', 'VALID'])
    if pad == 'pads':
        attrs['pads'] = (
            [rnd.randint(0, n - 1) for n in k] * 2
            if op == 'ConvTranspose'
            else [rnd.randint(0, n) for n in k + k]
        )
        attrs['pads'] = [min(p, 1) if op == 'ConvTranspose' else p for p in attrs['pads']]
    elif op == 'Conv' or attrs['dilations'] == [1] * spatial:
        attrs['auto_pad'] = pad
    w = [oc, ic // group] + k if op == 'Conv' else [ic, oc // group] + k
    return x, [('w', w)] + ([('b', [oc])] if rnd.random() < 0.7 else []), attrs


def matrix_case(rnd, op):
    m, k, n = rnd.choice([1, 1, 3, 20]), rnd.randint(1, 70), rnd.choice([1, 7, 16, 40, 64, 130])
    if op == 'MatMul':
        return [rnd.randint(1, 3)] * rnd.randint(0, 2) + [m, k], [('w', [k, n])], {}
    t = rnd.randint(0, 1)
    weights = [('w', [n, k] if t else [k, n])]
    if rnd.random() < 0.8:
        weights.append(('b', rnd.choice([[n], [1, n], [m, n], [1], [m, 1]])))
    return (
        [m, k],
        weights,
        {'transB': t, 'alpha': rnd.choice([1.0, 0.5]), 'beta': rnd.choice([1.0, 2.0])},
    )


def model(op, x, weights, attrs, act, constant, blobs):
    """The node, then what follows it; `r` is added as an input of the result's shape by way of a
    second node."""
    last, nodes = 'y0', [onnx.make_node(op, ['x'] + [n for n, _ in weights], ['y0'], **attrs)]
    if act and act.startswith('residual'):
        extra = dict(attrs)
        nodes.insert(0, onnx.make_node(op, ['x', 'w'], ['r0'], **extra))
        nodes.insert(1, onnx.make_node('Neg', ['r0'], ['r']))
        nodes.append(onnx.make_node('Add', ['y0', 'r'], ['y1']))
        last, act = 'y1', act.partition('+')[2]
    if act:
        nodes.append(onnx.make_node(act, [last], ['z']))
        last = 'z'
    ins = [onnx.make_value('x', 1, x)] + (
        [] if constant else [onnx.make_value(n, 1, d) for n, d in weights]
    )
    inits = [onnx.make_tensor(n, 1, d, blobs[n]) for n, d in weights] if constant else []
    rank = len(x) if op != 'Gemm' else 2
    return onnx.make_model(
        nodes, ins, [onnx.make_value(last, 1, ['d%d' % i for i in range(rank)])], inits
    )


def run(inlay, folder, data, inputs):
    path = os.path.join(folder, 'model.onnx')
    with open(path, 'wb') as f:
        f.write(data)
    command = [inlay, 'run', path, '-o', os.path.join(folder, 'out')]
    for name, dims, raw in inputs:
        pb = os.path.join(folder, name + '.pb')
        with open(pb, 'wb') as f:
            f.write(onnx.make_tensor(name, 1, dims, raw))
        command += ['--input', pb]
    status, text = host.run(command)
    if status:
        return None, 'status %d: %s' % (status, text.strip()[-300:])
    return onnx.read_tensor(os.path.join(folder, 'out', 'output_0.pb')), ''


def one(t, inlay, rnd, i, folder):
    op = rnd.choice(['Conv', 'Conv', 'Conv', 'ConvTranspose', 'Gemm', 'MatMul'])
    x, weights, attrs = (image_case if op.startswith('Conv') else matrix_case)(rnd, op)
    act, blobs = rnd.choice(ACTS), {n: floats(rnd, d) for n, d in weights}
    name = '%d %s %s %s %s %s' % (i, op, x, weights, attrs, act)
    given = [('x', x, floats(rnd, x))]
    want, why = run(
        inlay,
        folder,
        model(op, x, weights, attrs, act, False, blobs),
        given + [(n, d, blobs[n]) for n, d in weights],
    )
    got, other = run(inlay, folder, model(op, x, weights, attrs, act, True, blobs), given)
    if want is None or got is None:
        return t.fail(name, why or other)
    return t.ok(name, *(lambda d: (not d, d))(onnx.difference(got, want)))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--count', type=int, default=150)
    p.add_argument('--seed', type=int, default=1)
    a = p.parse_args()
    t, rnd = tap.Tap(), random.Random(a.seed)
    with host.Work() as folder:
        for i in range(a.count):
            one(t, a.inlay, rnd, i, folder)
    t.done()


main()
