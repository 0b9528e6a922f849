# SPDX-License-Identifier: Apache-2.0
"""Chains of two to six random operators, each from a seed: valid models with shared operands and
several results, small tensors of odd sizes, attributes in all combinations.

    random_chains.py FOLDER SEED..        writes FOLDER/SEED/model.onnx and its inputs"""
import os
import random
import sys
from collections import namedtuple

import chain_images as images
import chain_math as maths
import chain_moves as moves
import chain_narrow as narrow
import onnx
from chain_net import Net, Unfit

# Bytes of the model; [Tensor] of its inputs; [Value] of its results; the operators' names.
Chain = namedtuple('Chain', 'seed blob inputs results ops opset')

# How often, the first opset, what adds the operator.
TABLE = [
    (6, 7, images.conv),
    (3, 7, images.deconv),
    (3, 7, images.pool),
    (1, 7, images.global_pool),
    (2, 9, images.batch_norm),
    (1, 7, images.instance_norm),
    (1, 21, images.group_norm),
    (2, 17, images.layer_norm),
    (4, 23, images.rms_norm),
    (1, 7, images.response_norm),
    (1, 7, images.length_norm),
    (1, 9, images.variance_norm),
    (3, 7, images.resize),
    (5, 7, images.depth_to_space),
    (5, 7, images.space_to_depth),
    (1, 7, images.excite),
    (2, 7, images.residual),
    (1, 7, images.shuffle),
    (4, 7, moves.transpose),
    (1, 7, moves.flatten),
    (2, 7, moves.unsqueeze),
    (2, 7, moves.squeeze),
    (3, 7, moves.reshape),
    (3, 7, moves.concat),
    (3, 7, moves.split),
    (4, 7, moves.cut_out),
    (4, 7, moves.pad),
    (2, 7, moves.gather),
    (2, 11, moves.gather_elements),
    (1, 12, moves.gather_places),
    (1, 11, moves.scatter_elements),
    (1, 11, moves.scatter_places),
    (1, 7, moves.tile),
    (1, 8, moves.expand),
    (1, 14, moves.triangle),
    (1, 10, moves.reverse),
    (1, 7, moves.same),
    (6, 7, maths.unary),
    (2, 7, maths.spelt),
    (2, 7, maths.spelt_norm),
    (5, 7, maths.binary),
    (1, 8, maths.several),
    (1, 7, maths.quotient),
    (1, 7, maths.power),
    (1, 7, maths.slopes),
    (2, 7, maths.scale_and_shift),
    (2, 7, maths.integers),
    (2, 7, maths.clip),
    (2, 9, maths.choice),
    (3, 9, maths.cast),
    (2, 7, maths.softmax),
    (4, 7, maths.reduce),
    (2, 7, maths.extreme),
    (1, 11, maths.largest),
    (1, 11, maths.running_sum),
    (4, 9, maths.matmul),
    (3, 7, maths.gemm),
    (2, 12, maths.einsum),
    (1, 9, maths.attention),
    (2, 10, narrow.rounded),
    (3, 13, narrow.island),
    (5, 7, narrow.recurrent),
]
SINCE = {link: since for _, since, link in TABLE}
OF_FLOAT32 = (narrow.rounded, narrow.island)


def wide_dims(rng):
    """More channels, or longer rows, than kernels take at once, and some beside."""
    return rng.choice(
        [
            [rng.randint(1, 9), rng.choice([15, 16, 31, 33, 64, 100, 129])],
            [1, rng.randint(3, 20), rng.choice([16, 31, 33, 64])],
            [1, rng.choice([8, 15, 16, 17, 31, 33]), rng.randint(5, 12), rng.randint(5, 12)],
        ]
    )


def first_dims(rng):
    rank = rng.choice([1, 2, 2, 3, 3, 4, 4, 4, 4, 5])
    if rng.random() < 0.12:
        return wide_dims(rng)
    if rank < 3:
        return [rng.randint(1, 17) for _ in range(rank)]
    most = 6 if rank == 5 else 11
    return [rng.choice([1, 1, 1, 2, 3]), rng.randint(1, 8)] + [
        rng.randint(1, most) for _ in range(rank - 2)
    ]


# What networks have one behind the other, and passes make one of; half of the time it follows.
TOGETHER = {
    images.conv: [
        images.batch_norm,
        images.batch_norm,
        images.pool,
        maths.unary,
        maths.binary,
        maths.slopes,
        maths.scale_and_shift,
        maths.clip,
        maths.spelt,
        moves.transpose,
        narrow.rounded,
    ],
    images.deconv: [images.batch_norm, maths.unary, moves.cut_out, moves.concat],
    images.pool: [moves.flatten, moves.pad, images.conv, images.pool],
    images.resize: [images.conv, moves.concat, maths.binary],
    images.batch_norm: [images.conv, maths.unary, maths.binary, images.batch_norm],
    moves.pad: [images.conv, images.conv, images.deconv, images.pool, moves.pad, moves.transpose],
    moves.transpose: [
        moves.transpose,
        moves.reshape,
        maths.matmul,
        images.conv,
        maths.reduce,
        moves.gather,
        maths.softmax,
        narrow.recurrent,
    ],
    moves.reshape: [moves.transpose, moves.reshape, maths.matmul, maths.gemm, images.conv],
    moves.flatten: [maths.gemm, maths.gemm, maths.matmul],
    moves.concat: [images.conv, moves.split, moves.cut_out, maths.unary, maths.matmul],
    moves.split: [moves.concat, moves.concat, maths.binary, maths.unary],
    moves.cut_out: [moves.cut_out, moves.concat, images.conv, moves.gather],
    moves.squeeze: [moves.unsqueeze, maths.gemm, maths.matmul],
    moves.unsqueeze: [images.conv, moves.expand, moves.tile, maths.binary, moves.squeeze],
    moves.expand: [maths.binary, maths.choice, maths.matmul],
    maths.matmul: [
        maths.binary,
        maths.scale_and_shift,
        maths.unary,
        moves.reshape,
        maths.softmax,
        maths.matmul,
        images.layer_norm,
    ],
    maths.gemm: [maths.unary, images.batch_norm, maths.scale_and_shift, moves.reshape],
    maths.unary: [maths.binary, images.conv, narrow.island],
    maths.scale_and_shift: [images.conv, maths.gemm, maths.matmul, images.batch_norm],
    maths.cast: [maths.cast, maths.choice, moves.gather],
    narrow.rounded: [images.conv, narrow.rounded, narrow.island],
    narrow.island: [narrow.island, narrow.rounded],
    narrow.recurrent: [moves.transpose, moves.reshape, narrow.recurrent, maths.matmul],
}


def next_link(net, last):
    """An operator that the opset has."""
    if last in TOGETHER and net.maybe(0.5):
        links = TOGETHER[last]
        weights = [1] * len(links)
    else:
        weights, _, links = zip(*TABLE)
    link = net.random.choices(links, weights)[0]
    fits = SINCE[link] <= net.opset and (net.main == 'float32' or link not in OF_FLOAT32)
    return link if fits else None


def grow(net, link):
    """False where nothing fits: the chain is as before."""
    kept = [list(part) for part in (net.nodes, net.weights, net.inputs)]
    try:
        made = link(net)
    except Unfit:
        net.nodes, net.weights, net.inputs = kept
        return False
    net.live += made if isinstance(made, list) else [made]
    return True


def finished(net, seed):
    """What nobody reads is a result, at times a value within; nodes and inputs that lead to none of
    them go."""
    read = {name for _, ins, _ in net.nodes for name in ins}
    made = {name for _, _, outs in net.nodes for name in outs}
    ends = [v for v in net.live if v.name in made and v.name not in read]
    inner = [v for v in net.live if v.name in made and v.name in read]
    results = ends[-3:] + ([net.one(*inner)] if inner and net.maybe(0.3) else [])
    results = net.shuffled(results)
    needed, nodes = {v.name for v in results}, []
    for node, ins, outs in reversed(net.nodes):
        if needed & set(outs):
            nodes.insert(0, node)
            needed |= set(ins)
    weights = [row for row in net.weights if row[0] in needed]
    inputs = [t for t in net.inputs if t.name in needed]
    values = [onnx.make_value(t.name, t.code, t.dims) for t in inputs]
    if net.maybe(0.04):  # as old exporters wrote them
        values += [onnx.make_value(name, onnx.CODES[kind], dims) for name, kind, dims, _ in weights]
    outs = [onnx.make_value(v.name, onnx.CODES[v.kind], v.dims) for v in results]
    blob = onnx.make_model(nodes, values, outs, [row[3] for row in weights], net.opset)
    ops = [n for node in nodes for number, _, n in onnx.fields(node) if number == 4]
    return Chain(seed, blob, inputs, results, [op.decode() for op in ops], net.opset)


def attempt(rng, seed):
    net = Net(rng)
    dims = first_dims(rng)
    net.live = [net.input(net.main, dims) for _ in range(2 if net.maybe(0.25) else 1)]
    wanted, links = rng.randint(2, 6), [None]
    for _ in range(40):
        link = next_link(net, links[-1])
        if link and len(links) <= wanted and grow(net, link):
            links.append(link)
    made = finished(net, seed) if len(links) > wanted else None
    return made if made and made.results and made.inputs else None


def chain(seed):
    """The same for the same seed."""
    made, tries = None, 0
    while not made:
        made = attempt(random.Random('%s/%d' % (seed, tries)), seed)
        tries += 1
    return made


def save(made, folder):
    """As a test's folder, with its inputs."""
    data = os.path.join(folder, 'test_data_set_0')
    os.makedirs(data)
    blobs = {os.path.join(folder, 'model.onnx'): made.blob}
    for i, tensor in enumerate(made.inputs):
        blobs[os.path.join(data, 'input_%d.pb' % i)] = onnx.make_tensor(*tensor)
    for path, blob in blobs.items():
        with open(path, 'wb') as f:
            f.write(blob)


def main():
    for seed in map(int, sys.argv[2:]):
        save(chain(seed), os.path.join(sys.argv[1], str(seed)))


if __name__ == '__main__':
    main()
