# SPDX-License-Identifier: Apache-2.0
"""The two programs that the Burn project measured against PyTorch in an article on memory, as
models for peer.py: article.py FOLDER

softmax: exp(x - log(sum(exp(x)))) of 4096 x 4096 numbers, operator by operator. mlp: four layers of
2048, a batch of 64."""
import math
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import onnx  # noqa: E402

F32, I64 = onnx.CODES['float32'], onnx.CODES['int64']
SIDE, WIDTH, LAYERS, BATCH = 4096, 2048, 4, 64


def numbers(count, most, seed=0):
    """count floats of -most to most, in no order; 4096 different ones are enough."""
    rng = random.Random(seed)
    some = struct.pack('<4096f', *(rng.uniform(-most, most) for _ in range(4096)))
    return (some * (4 * count // len(some) + 1))[: 4 * count]


def softmax():
    nodes = [
        onnx.make_node('Exp', ['x'], ['exp']),
        onnx.make_node('ReduceSum', ['exp', 'axes'], ['sum']),
        onnx.make_node('Log', ['sum'], ['log']),
        onnx.make_node('Sub', ['x', 'log'], ['difference']),
        onnx.make_node('Exp', ['difference'], ['y']),
    ]
    return nodes, [onnx.make_tensor('axes', I64, [1], struct.pack('<q', 1))], [SIDE, SIDE]


def mlp():
    nodes, weights, x = [], [], 'x'
    for i in range(LAYERS):
        y = 'y' if i == LAYERS - 1 else 'relu%d' % i
        weights += [
            onnx.make_tensor('w%d' % i, F32, [WIDTH, WIDTH], numbers(WIDTH * WIDTH, 0.05, i)),
            onnx.make_tensor('b%d' % i, F32, [WIDTH], numbers(WIDTH, 0.05, i)),
        ]
        nodes += [
            onnx.make_node('Gemm', [x, 'w%d' % i, 'b%d' % i], ['gemm%d' % i]),
            onnx.make_node('Relu', ['gemm%d' % i], [y]),
        ]
        x = y
    return nodes, weights, [BATCH, WIDTH]


def in_torch(name):
    """The same program for PyTorch: a function, and what it takes."""
    import torch

    def tensor(dims, most, seed=0):
        return torch.frombuffer(
            bytearray(numbers(math.prod(dims), most, seed)), dtype=torch.float32
        ).reshape(dims)

    def exp_of_difference(x):
        return (x - x.exp().sum(1, keepdim=True).log()).exp()

    weights = [
        (tensor([WIDTH, WIDTH], 0.05, i), tensor([WIDTH], 0.05, i))
        for i in range(LAYERS if name == 'mlp' else 0)
    ]

    def layers(x):
        for weight, bias in weights:
            x = torch.relu(torch.addmm(bias, x, weight))
        return x

    return {
        'softmax': (exp_of_difference, tensor([SIDE, SIDE], 1)),
        'mlp': (layers, tensor([BATCH, WIDTH], 1)),
    }[name]


def write(folder, made):
    nodes, weights, dims = made
    data = os.path.join(folder, 'test_data_set_0')
    os.makedirs(data, exist_ok=True)
    count = dims[0] * dims[1]
    with open(os.path.join(folder, 'model.onnx'), 'wb') as f:
        f.write(
            onnx.make_model(
                nodes, [onnx.make_value('x', F32, dims)], [onnx.make_value('y', F32, dims)], weights
            )
        )
    with open(os.path.join(data, 'input_0.pb'), 'wb') as f:
        f.write(onnx.make_tensor('x', F32, dims, numbers(count, 1)))


if __name__ == '__main__':
    write(os.path.join(sys.argv[1], 'softmax'), softmax())
    write(os.path.join(sys.argv[1], 'mlp'), mlp())
