# SPDX-License-Identifier: Apache-2.0
"""Weights that are computed from a very large one: y = x @ f(W), where f is what exporters leave in
a file. W is a hole with marks; each maker returns the Weight whose marks are those of f(W), for
big.py to look for in the blob."""
import struct

from models import F32, Sparse, embedded, frame, head, weight
from onnx import make_node, make_tensor, put

I8 = 3


def number(name, v):
    return make_tensor(name, F32, [], struct.pack('<f', v))


def scaled(w):
    return [make_node('Mul', ['w', 's'], ['v'])], [number('s', 2.0)], 2


def merged(w):
    """A is zero: nothing is added, after all of the product was made."""
    a = make_tensor('a', F32, [w.rows, 1], struct.pack('<%df' % w.rows, *[0.0] * w.rows))
    b = make_tensor('b', F32, [1, w.cols], struct.pack('<%df' % w.cols, *[1.0] * w.cols))
    nodes = [
        make_node('MatMul', ['a', 'b'], ['ab']),
        make_node('Mul', ['ab', 's'], ['sab']),
        make_node('Add', ['w', 'sab'], ['v']),
    ]
    return nodes, [a, b, number('s', 0.5)], 1


def normalized(w):
    """Less zero, which comes from the greatest of all and the sums of columns."""
    nodes = [
        make_node('ReduceMax', ['w'], ['most'], axes=[0, 1], keepdims=0),
        make_node('Sub', ['most', 'most'], ['zero']),
        make_node('ReduceSum', ['w'], ['sums'], axes=[0], keepdims=1),
        make_node('Mul', ['sums', 'zero'], ['none']),
        make_node('Abs', ['w'], ['abs']),
        make_node('Sub', ['abs', 'none'], ['d']),
        make_node('Floor', ['d'], ['v']),
    ]
    return nodes, [], 1


def quantized(w):
    """Marks are whole numbers of at most 127."""
    zero = make_tensor('z', I8, [], b'\0')
    nodes = [
        make_node('QuantizeLinear', ['w', 's', 'z'], ['q']),
        make_node('DequantizeLinear', ['q', 's', 'z'], ['v']),
    ]
    return nodes, [number('s', 1.0), zero], 1


def rounded(w):
    nodes = [
        make_node('Div', ['w', 's'], ['d']),
        make_node('Round', ['d'], ['r']),
        make_node('Clip', ['r', 'low', 'high'], ['c']),
        make_node('Mul', ['c', 's'], ['v']),
    ]
    return nodes, [number('s', 0.5), number('low', -1000.0), number('high', 1000.0)], 1


CASES = {
    'a scalar factor': scaled,
    'W + s(A @ B)': merged,
    'sums over all': normalized,
    'Q and DQ': quantized,
    'rounded': rounded,
}


def make(path, form, side):
    w = weight('w', 0, side, side)
    nodes, weights, factor = form(w)
    s = Sparse()
    frame(
        s,
        nodes + [make_node('MatMul', ['x', 'v'], ['y'], 'dense')],
        [('x', [1, side])],
        [('y', [1, side])],
    )
    for other in weights:
        s.add(put(5, other))
    s.add(embedded(w))
    s.hole(w)
    s.write(path, head() if form is not normalized else put(1, 8) + put(8, put(2, 12)))
    return [w._replace(marks={place: factor * v for place, v in w.marks.items()})]
