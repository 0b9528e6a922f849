# SPDX-License-Identifier: Apache-2.0
"""ScatterND with constant indices that name a box, or nearly: chains of them with readers of parts,
as exporters spell the caches of streaming networks. All results as worked out in Python; what
covers the whole needs neither its data nor a scattering step.

    boxes.py --inlay INLAY [--seeds N]"""
import argparse
import json
import os
import random
import struct

import host
import onnx
import tap
from arrays import A, build, places
from onnx import make_model, make_node, make_tensor, make_value

TYPES = {'float32': (1, 'f'), 'int64': (7, 'q'), 'uint8': (2, 'B'), 'float16': (10, 'e')}
I64 = 7


def packed(name, kind, a):
    code, letter = TYPES[kind]
    return make_tensor(name, code, a.dims, struct.pack('<%d%s' % (len(a.v), letter), *a.v))


def longs(name, dims, values):
    return make_tensor(name, I64, dims, struct.pack('<%dq' % len(values), *values))


class Net:
    """A model as it grows, and the values of its tensors."""

    def __init__(self, rng, kind):
        self.rng, self.kind = rng, kind
        self.nodes, self.constants, self.inputs, self.outputs, self.value = [], [], [], [], {}

    def fresh(self):
        return 't%d' % (len(self.value) + len(self.constants))

    def given(self, dims):
        name = self.fresh()
        self.value[name] = build(dims, lambda *_: self.rng.randrange(100))
        self.inputs.append(name)
        return name

    def constant(self, dims, values):
        name = self.fresh()
        self.constants.append(longs(name, dims, values))
        return name

    def made(self, op, operands, value, **attributes):
        name = self.fresh()
        self.value[name] = value
        self.nodes.append(make_node(op, operands, [name], **attributes))
        return name

    def declared(self, names):
        return [make_value(n, TYPES[self.kind][0], self.value[n].dims) for n in names]

    def model(self):
        return make_model(
            self.nodes, self.declared(self.inputs), self.declared(self.outputs), self.constants
        )


def scatter(net, data, depth, vectors, shape, **attributes):
    """Writes new values at those places of the data, in their order; `shape` of the indices but for
    the last dimension."""
    x = net.value[data]
    rest = x.dims[depth:]
    u = net.given(list(shape) + rest)
    y, run = A(x.dims, x.v), len(x.v) // max(1, len(build(x.dims[:depth], lambda *_: 0).v))
    for k, at in enumerate(vectors):
        place = 0
        for i, n in zip(at, x.dims):
            place = place * n + i
        y.v[place * run : (place + 1) * run] = net.value[u].v[k * run : (k + 1) * run]
    signs = [i - n if net.rng.random() < 0.2 else i for at in vectors for i, n in zip(at, x.dims)]
    return net.made(
        'ScatterND', [data, net.constant(list(shape) + [depth], signs), u], y, **attributes
    )


def box_of(net, data, start, size, depth, **attributes):
    vectors = [[a + b for a, b in zip(start, at)] for at in places(size[:depth])]
    return scatter(net, data, depth, vectors, size[:depth], **attributes)


def least_depth(dims, start, size):
    depth = len(dims)
    while depth > 1 and size[depth - 1] == dims[depth - 1]:
        depth -= 1
    return depth


def random_box(net, data):
    """A box, or places that are those of none; in one of the depths that it may be named in."""
    rng, dims = net.rng, net.value[data].dims
    size = [n if rng.random() < 0.5 else rng.randint(1, n) for n in dims]
    start = [rng.randint(0, n - s) for n, s in zip(dims, size)]
    depth = rng.randint(least_depth(dims, start, size), len(dims))
    vectors = [[a + b for a, b in zip(start, at)] for at in places(size[:depth])]
    trick = rng.random()
    if trick < 0.1:
        rng.shuffle(vectors)
    elif trick < 0.2 and len(vectors) > 2:
        vectors[1] = vectors[0]
    elif trick < 0.3 and len(vectors) > 1:
        vectors[0], vectors[-1] = vectors[-1], vectors[0]
    return scatter(net, data, depth, vectors, size[:depth])


def slabs(net, data, axis, cuts):
    """Boxes that cover the data along an axis, in any order, with readers of parts between them."""
    dims = net.value[data].dims
    for a, b in cuts:
        size, start = list(dims), [0] * len(dims)
        size[axis], start[axis] = b - a, a
        data = box_of(net, data, start, size, net.rng.randint(axis + 1, len(dims)))
        if net.rng.random() < 0.5:
            read(net, data)
    return data


def read(net, data):
    """A part of it, by Slice or by Gather, as a result."""
    rng, x = net.rng, net.value[data]
    axis = rng.randrange(len(x.dims))
    if rng.random() < 0.5:
        n = x.dims[axis]
        at = rng.randrange(n)
        part = [at] if rng.random() < 0.5 else sorted({at, min(at + 1, n - 1)})
        dims = [] if len(part) == 1 and rng.random() < 0.5 else [len(part)]
        whole = build(
            x.dims[:axis] + [len(part)] + x.dims[axis + 1 :],
            lambda *p: x[p[:axis] + (part[p[axis]],) + p[axis + 1 :]],
        )
        result = net.made(
            'Gather',
            [data, net.constant(dims, part)],
            A(x.dims[:axis] + dims + x.dims[axis + 1 :], whole.v),
            axis=axis,
        )
    else:
        start = [rng.randrange(n) for n in x.dims]
        end = [rng.randint(s + 1, n) for s, n in zip(start, x.dims)]
        step = [2 if rng.random() < 0.1 else 1 for _ in x.dims]
        size = [-(-(e - s) // t) for s, e, t in zip(start, end, step)]
        lists = [net.constant([len(x.dims)], v) for v in (start, end, range(len(x.dims)), step)]
        result = net.made(
            'Slice',
            [data] + lists,
            build(size, lambda *p: x[tuple(s + i * t for s, i, t in zip(start, p, step))]),
        )
    net.outputs.append(result)


def random_net(seed):
    rng = random.Random(seed)
    net = Net(rng, rng.choice(sorted(TYPES)))
    dims = [rng.randint(1, 5) for _ in range(rng.randint(1, 4))]
    data = net.given(dims)
    for _ in range(rng.randint(1, 4)):
        if rng.random() < 0.4:
            axis = rng.randrange(len(dims))
            n = dims[axis]
            middle = sorted(rng.sample(range(1, n), min(n - 1, rng.randint(0, 2))))
            cuts = list(zip([0] + middle, middle + [n]))
            rng.shuffle(cuts)
            data = slabs(net, data, axis, cuts[rng.random() < 0.2 :] or cuts)
        else:
            data = random_box(net, data)
        for _ in range(rng.randint(0, 2)):
            read(net, data)
        if rng.random() < 0.2:
            net.outputs.append(data)
    if data not in net.outputs:
        net.outputs.append(data)
    return net


def judge(inlay, net):
    """'' or what is wrong."""
    with host.Work() as work:
        files = [('m.onnx', net.model())] + [
            ('in%d.pb' % i, packed(n, net.kind, net.value[n])) for i, n in enumerate(net.inputs)
        ]
        for name, content in files:
            with open(os.path.join(work, name), 'wb') as f:
                f.write(content)
        command = [inlay, 'run', os.path.join(work, 'm.onnx'), '-o', work]
        for name, _ in files[1:]:
            command += ['--input', os.path.join(work, name)]
        status, text = host.run(command, limit=60)
        if status:
            return 'status %d: %s' % (status, text)
        bad = [
            onnx.difference(
                onnx.read_tensor(os.path.join(work, 'output_%d.pb' % i)),
                onnx.parse_tensor(packed(n, net.kind, net.value[n])),
            )
            for i, n in enumerate(net.outputs)
        ]
        return '; '.join('%s %s' % (n, b) for n, b in zip(net.outputs, bad) if b)


def analyzed(inlay, net):
    with host.Work() as work:
        path = os.path.join(work, 'm.onnx')
        with open(path, 'wb') as f:
            f.write(net.model())
        status, text = host.run([inlay, 'analyze', path, '--json'])
        assert status == 0, text
        return json.loads(text)


def covered(net):
    data = net.given([2, 16, 24])
    y = slabs(net, data, 1, [(4, 16), (0, 4)])
    net.outputs = [y]
    return net


def one_line(net):
    """A box of lines among others: indices of lines, not of elements."""
    net.outputs = [box_of(net, net.given([4, 16, 32]), [1, 3, 0], [2, 5, 32], 3)]
    return net


def summed(net):
    """What is added to is read: no part of a concatenation."""
    data = net.given([2, 16, 24])
    y = box_of(net, data, [0, 0, 0], [2, 16, 24], 2, reduction='add')
    net.value[y] = A([2, 16, 24], map(sum, zip(net.value[data].v, net.value[net.inputs[-1]].v)))
    net.outputs = [y]
    return net


def spared(t, inlay):
    for make, weights, scatters in (
        (covered, 0, 0),
        (one_line, 10 * 2 * 8, 1),
        (summed, 32 * 2 * 8, 1),
    ):
        net = make(Net(random.Random(1), 'float32'))
        bad = judge(inlay, net)
        t.ok('%s: answer' % make.__name__, not bad, bad)
        found = analyzed(inlay, net)
        kernels = [s['kernel'] for s in found['steps'] if s['kernel'].startswith('scatter')]
        size = found['weights']['size']
        t.ok(
            '%s: %d bytes of indices' % (make.__name__, weights),
            size <= weights + 63 and len(kernels) == scatters,
            '%d bytes, %s' % (size, kernels),
        )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--seeds', type=int, default=120)
    p.add_argument('--first', type=int, default=0)
    o = p.parse_args()
    t = tap.Tap()
    spared(t, o.inlay)
    for seed in range(o.first, o.first + o.seeds):
        bad = judge(o.inlay, random_net(seed))
        t.ok('seed %d' % seed, not bad, bad)
    t.done()


if __name__ == '__main__':
    main()
