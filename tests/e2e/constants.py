# SPDX-License-Identifier: Apache-2.0
"""Constants of any size: expressions of weights are computed when compiling, piece by piece,
whatever their size. Each model here computes its weights from others. As constants they take no
RAM; their answer is that of the same model whose weights are inputs, computed when it runs. What
cannot be computed so is a step, and a warning names it.

    constants.py --inlay INLAY [--sizes KIB,KIB]"""
import argparse
import array
import json
import os
import random
import struct
from collections import namedtuple

import host
import onnx
import tap
from onnx import make_model, make_node, make_tensor, make_value

F32, I8, I64, BOOL, F16, INT4 = 1, 3, 7, 9, 10, 22
SPACE = 64 << 20  # of addresses, for the compiler

# Weights {name: (type, dims, raw)}; those of `small` stay constants where the others are inputs.
Case = namedtuple('Case', 'nodes weights small opset')


def floats(count, seed, low=-1.0, high=1.0):
    r = random.Random(seed)
    few = [r.uniform(low, high) for _ in range(4099)]  # a prime: rows differ
    return array.array('f', (few * (count // 4099 + 1))[:count]).tobytes()


def number(v):
    return F32, [], struct.pack('<f', v)


def ints(*v):
    return I64, [len(v)], struct.pack('<%dq' % len(v), *v)


class Maker:
    """Nodes one after the other; the last result is V, [k][n]."""

    def __init__(self, k, n):
        self.k, self.n, self.nodes = k, n, []
        self.weights = {'W': (F32, [k, n], floats(k * n, 1))}
        self.small = {}

    def __call__(self, op, ins, out, **attrs):
        self.nodes.append(make_node(op, ins.split(), [out], out, **attrs))

    def case(self, opset=21):
        return Case(self.nodes, self.weights, self.small, opset)


def scaled(m):
    m.small['s'] = number(0.37)
    m('Mul', 'W s', 'V')
    return m.case()


def lora(m):
    m.weights['A'] = F32, [m.k, 8], floats(m.k * 8, 2)
    m.weights['B'] = F32, [8, m.n], floats(m.n * 8, 3)
    m.small['s'] = number(0.25)
    m('MatMul', 'A B', 'ab')
    m('Mul', 's ab', 'sab')
    m('Add', 'W sab', 'V')
    return m.case()


def weight_norm(m):
    m.weights['g'] = F32, [1, m.n], floats(m.n, 2)
    m('ReduceL2', 'W', 'norm', axes=[0])
    m('Div', 'W norm', 'unit')
    m('Mul', 'unit g', 'V')
    return m.case(13)


def spelt_norm(m):
    m.weights['g'] = F32, [m.k, 1], floats(m.k, 2)
    m.small['axes'] = ints(-1)
    m('Mul', 'W W', 'squares')
    m('ReduceSum', 'squares axes', 'sum')
    m('Sqrt', 'sum', 'norm')
    m('Div', 'W norm', 'unit')
    m('Mul', 'g unit', 'V')
    return m.case()


def fake_quantized(m):
    m.small['s'], m.small['z'] = number(0.01), (I8, [], b'\3')
    m('QuantizeLinear', 'W s z', 'q')
    m('DequantizeLinear', 'q s z', 'V')
    return m.case()


def per_channel(m):
    m.weights['s'] = F32, [m.n], floats(m.n, 2, 0.01, 0.02)
    m.weights['z'] = I8, [m.n], bytes(m.n)
    m('QuantizeLinear', 'W s z', 'q', axis=1)
    m('DequantizeLinear', 'q s z', 'V', axis=1)
    return m.case()


def four_bits(m):
    m.small['s'] = number(0.2)
    m('QuantizeLinear', 'W s', 'q', output_dtype=INT4)
    m('DequantizeLinear', 'q s', 'V')
    return m.case()


def rounded(m):
    m.small.update(s=number(0.125), low=number(-7), high=number(6))
    m('Div', 'W s', 'd')
    m('Round', 'd', 'r')
    m('Clip', 'r low high', 'c')
    m('Mul', 'c s', 'V')
    return m.case()


def whole_mean(m):
    m('Abs', 'W', 'a')
    m('ReduceMean', 'a', 'mean', axes=[0, 1], keepdims=0)
    m('Sub', 'W mean', 'V')
    return m.case(13)


def turned(m):
    m.weights['W'] = F32, [m.n, m.k], m.weights['W'][2]
    m('Exp', 'W', 'e')
    m('Transpose', 'e', 'V', perm=[1, 0])
    return m.case()


def moved(m):
    m.weights['A'] = F32, [m.k, m.n], floats(m.k * m.n, 2)
    m.small.update(
        turned=ints(m.n, m.k), begin=ints(m.n // 2), end=ints(m.n // 2 + m.n), axis=ints(1)
    )
    m('Sin', 'A', 'sin')
    m('Reshape', 'sin turned', 'r')
    m('Transpose', 'r', 't', perm=[1, 0])
    m('Concat', 't W', 'both', axis=1)
    m('Slice', 'both begin end axis', 'V')
    return m.case()


def permuted(m, axis, size):
    order = list(range(size))
    random.Random(5).shuffle(order)
    m.weights['order'] = ints(*order)
    m('Gather', 'W order', 'V', axis=axis)
    return m.case()


def masked(m):
    m.weights['mask'] = BOOL, [m.k, m.n], bytes(random.Random(3).choices(b'\0\1', k=m.k * m.n))
    m.small['zero'] = number(0)
    m('Where', 'mask W zero', 'V')
    return m.case()


def product(m, **attrs):
    m.weights['A'] = F32, [m.k, m.k], floats(m.k * m.k, 2)
    m('Gemm' if attrs else 'MatMul', 'A W', 'V', **attrs)
    return m.case()


def normalized(m):
    m('Softmax', 'W', 's', axis=0)
    m.small['axis'] = I64, [], bytes(8)
    m('CumSum', 's axis', 'V')
    return m.case()


def standardized(m):
    """As PyTorch writes weight standardization before opset 14: channels are those of a batch of
    one."""
    m.small.update(
        {name: (F32, [m.k], floats(m.k, 3, 0.5)) for name in ('gain', 'shift', 'mean', 'var')}
    )
    m.small.update(batch=ints(1, m.k, m.n), matrix=ints(m.k, m.n))
    m('Reshape', 'W batch', 'w')
    m.nodes.append(
        make_node(
            'BatchNormalization',
            ['w', 'gain', 'shift', 'mean', 'var'],
            ['s', 'm1', 'v1', 'm2', 'v2'],
            'standard',
        )
    )
    m('Reshape', 's matrix', 'V')
    return m.case(9)


def outer(m):
    m.weights = {'a': (F32, [m.k, 1], floats(m.k, 1)), 'b': (F32, [1, m.n], floats(m.n, 2))}
    m('Mul', 'a b', 'V')
    return m.case()


def half(m):
    raw = struct.pack('<%de' % (m.k * m.n), *array.array('f', m.weights['W'][2]))
    m.weights['W'] = F16, [m.k, m.n], raw
    m('ReduceMax', 'W', 'most', axes=[1])
    m('Div', 'W most', 'd')
    m('Cast', 'd', 'V', to=F32)
    return m.case(13)


CASES = {
    'a scalar factor': scaled,
    'W + s(A @ B)': lora,
    'weight_norm': weight_norm,
    'weight_norm of single operators': spelt_norm,
    'Q and DQ': fake_quantized,
    'Q and DQ per channel': per_channel,
    'Q and DQ of 4 bits': four_bits,
    'rounded and clipped': rounded,
    'less the mean of all': whole_mean,
    'transposed': turned,
    'Reshape, Transpose, Concat, Slice': moved,
    'columns permuted': lambda m: permuted(m, 1, m.n),
    'rows permuted': lambda m: permuted(m, 0, m.k),
    'Where': masked,
    'a product': product,
    'a transposed product': lambda m: product(m, transA=1, alpha=0.5),
    'Softmax, CumSum': normalized,
    'an outer product': outer,
    'float16': half,
    'standardized': standardized,
}


def model(case, k, n, constant):
    """y = x @ V; the weights as constants or as inputs."""
    weights = dict(case.small, **(case.weights if constant else {}))
    ins = [make_value('x', F32, [1, k])]
    if not constant:
        ins += [make_value(name, w[0], w[1]) for name, w in case.weights.items()]
    nodes = case.nodes + [make_node('MatMul', ['x', 'V'], ['y'], 'last')]
    return make_model(
        nodes,
        ins,
        [make_value('y', F32, [1, n])],
        [make_tensor(name, *w) for name, w in weights.items()],
        case.opset,
    )


def write(path, data):
    with open(path, 'wb') as f:
        f.write(data)
    return path


def answer(o, work, name, data, tensors):
    files = [write(os.path.join(work, '%s%d.pb' % (name, i)), t) for i, t in enumerate(tensors)]
    out = os.path.join(work, name)
    status, text = host.run(
        [o.inlay, 'run', write(out + '.onnx', data), '-o', out]
        + [a for f in files for a in ('-i', f)]
    )
    if status:
        raise RuntimeError(text)
    return onnx.read_tensor(os.path.join(out, os.listdir(out)[0]))


def check(t, o, label, make, kib):
    n = int((kib * 256) ** 0.5) // 8 * 8 + 8  # not square, not a power of two
    k = n + 24
    case = make(Maker(k, n))
    x = make_tensor('x', F32, [1, k], floats(k, 9))
    with host.Work() as work:
        path = write(os.path.join(work, 'm.onnx'), model(case, k, n, True))
        command = [
            'sh',
            '-c',
            'ulimit -v %d; exec "$@"' % (SPACE >> 10),
            'sh',
            o.inlay,
            'analyze',
            path,
            '--json',
        ]
        status, text = host.run(command if not o.sanitized else command[4:])
        if not t.ok(
            '%s, %d KiB: compiles in 64 MiB of address space' % (label, kib),
            status == 0,
            text[:500],
        ):
            return
        found = json.loads(text[text.index('{') :])
        t.ok(
            '%s, %d KiB: takes no RAM' % (label, kib),
            found['arena']['size'] == 0 and 'warning' not in text,
            text[:500],
        )
        got = answer(o, work, 'got', model(case, k, n, True), [x])
        want = answer(
            o,
            work,
            'want',
            model(case, k, n, False),
            [x] + [make_tensor(name, *w) for name, w in case.weights.items()],
        )
        t.ok('%s, %d KiB: the answer' % (label, kib), *differs(got, want))


def differs(got, want):
    """(are they equal?, the greatest difference by the greatest value); sums are made in another
    order."""
    a, b = onnx.values(got), onnx.values(want)
    scale = max(map(abs, b))
    worst = max(abs(x - y) for x, y in zip(a, b)) / scale
    return len(a) == len(b) and worst <= 1e-5, worst


def too_large(t, o):
    """An operator without pieces stays a step, and the warning names it and its bytes."""
    m = Maker(1024, 1024)
    m('Trilu', 'W', 'V')
    with host.Work() as work:
        path = write(os.path.join(work, 'm.onnx'), model(m.case(), 1024, 1024, True))
        status, text = host.run([o.inlay, 'analyze', path])
        t.ok(
            'a warning names what is computed when it runs',
            status == 0 and 'warning' in text and '"V"' in text and '8388608' in text,
            text[:500],
        )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--sizes', default='256,8192')
    p.add_argument('--only', default='')
    p.add_argument('--sanitized', action='store_true')
    o = p.parse_args()
    t = tap.Tap()
    for kib in map(int, o.sizes.split(',')):
        for label, make in CASES.items():
            if o.only in label:
                check(t, o, label, make, kib)
    too_large(t, o)
    t.done()


main()
