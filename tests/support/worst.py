# SPDX-License-Identifier: Apache-2.0
"""Models of as many nodes as are asked for, in the forms that ask most of a planner: wide fan-outs,
trees, random wires, deep chains, grids, U-Nets of signals.

    worst.py FORM NODES FILE"""
import random
import sys

import onnx

F32 = 1
SIGNAL = 64  # elements of a tensor where nothing says more


class Graph:
    """One input `t0`; a value is its number, made by name 't%d'."""

    def __init__(self, dims=(1, SIGNAL)):
        self.dims, self.nodes, self.weights, self.n, self.used = dims, [], [], 0, set()

    def add(self, op, *ins, **attrs):
        self.n += 1
        self.used.update(ins)
        self.nodes.append(
            onnx.make_node(
                op, ['t%d' % i if isinstance(i, int) else i for i in ins], ['t%d' % self.n], **attrs
            )
        )
        return self.n

    def weight(self, name, dims):
        elements = 1
        for d in dims:
            elements *= d
        self.weights.append(onnx.make_tensor(name, F32, dims, b'\0\0\0\x3f' * elements))
        return name

    def sum_up(self, values):
        """One after the other."""
        total = values[0]
        for v in values[1:]:
            total = self.add('Add', total, v)
        return total

    def join(self, values):
        """By a tree."""
        while len(values) > 1:
            values = [
                self.add('Add', *values[i : i + 2]) if i + 1 < len(values) else values[i]
                for i in range(0, len(values), 2)
            ]
        return values[0]

    def model(self, outputs, dims=None):
        return onnx.make_model(
            self.nodes,
            [onnx.make_value('t0', F32, self.dims)],
            [onnx.make_value('t%d' % o, F32, dims or self.dims) for o in outputs],
            self.weights,
        )


ONE_INPUT = ['Relu', 'Sigmoid', 'Tanh', 'Neg', 'Abs', 'Exp', 'Sin', 'Cos', 'Floor', 'Ceil']


def branches(g, n, source=0):
    """As many different values of one."""
    return [g.add('Elu', source, alpha=1.0 + i) for i in range(n)]


def fan_tree(n):
    g = Graph()
    return g.model([g.join(branches(g, (n + 1) // 2))])


def fan_chain(n):
    g = Graph()
    return g.model([g.sum_up(branches(g, (n + 1) // 2))])


def fan_back(n):
    """Joined in the order against that of making."""
    g = Graph()
    return g.model([g.sum_up(branches(g, (n + 1) // 2)[::-1])])


def fan_out(n):
    """Every branch is a result."""
    g = Graph()
    return g.model(branches(g, n))


def chain(n):
    g, v = Graph(), 0
    for i in range(n):
        v = g.add(ONE_INPUT[i % len(ONE_INPUT)], v)
    return g.model([v])


def residual(n):
    g, v = Graph(), 0
    for i in range(n // 2):
        v = g.add('Add', v, g.add(ONE_INPUT[i % len(ONE_INPUT)], v))
    return g.model([v])


def crossed(n):
    """Two lanes, each step of one takes both."""
    g = Graph()
    lanes = branches(g, 32)
    k = 0
    while g.n + len(lanes) < n:
        k += 1
        lanes = [g.add('Add', a, lanes[(i * 7 + k) % len(lanes)]) for i, a in enumerate(lanes)]
    return g.model([g.join(lanes)])


def ends(g):
    """The values that nothing takes."""
    return [v for v in range(1, g.n + 1) if v not in g.used]


def random_wires(n, reach=None, seed=1):
    """Adds of any two values before (of the last `reach`)."""
    g, rng = Graph(), random.Random(seed)
    v = g.add('Relu', 0)
    for i in range(n * 2 // 3):
        least = max(0, g.n - reach) if reach else 0
        a, b = rng.randint(least, g.n), rng.randint(least, g.n)
        v = g.add('Sub', a, b) if a != b else g.add('Relu', a)
    return g.model([g.join(ends(g))])


def random_near(n):
    return random_wires(n, 40)


def random_sizes(n):
    """Random wires between tensors of different lengths, through Pad and Slice-like MatMul."""
    g, rng = Graph((1, 8)), random.Random(2)
    sizes = [8, 16, 32, 64]
    for a in sizes:
        for b in sizes:
            g.weight('w%d_%d' % (a, b), [a, b])
    length = {0: 8}
    values = [0]
    for i in range(n * 2 // 3):
        v = rng.choice(values[-60:])
        to = rng.choice(sizes)
        m = g.add('MatMul', v, 'w%d_%d' % (length[v], to))
        length[m] = to
        same = [u for u in values[-60:] if length[u] == to]
        if same and rng.random() < 0.7:
            m = g.add('Add', m, rng.choice(same))
            length[m] = to
        values.append(m)
    left = [g.add('MatMul', v, 'w%d_8' % length[v]) if length[v] != 8 else v for v in ends(g)]
    return g.model([g.join(left)])


def grid(n):
    side = max(2, int(n**0.5))
    g = Graph()
    row = branches(g, side)
    for i in range(side - 1):
        new = [g.add('Relu', row[0])]
        for k in range(1, side):
            new.append(g.add('Add', new[-1], row[k]))
        row = new
    return g.model([g.join(ends(g))])


def ladder(n):
    """Everything stays alive to be used in reverse: the skips of a U-Net, without end."""
    g, v, skips = Graph(), 0, []
    for i in range(n // 2):
        v = g.add(ONE_INPUT[i % len(ONE_INPUT)], v)
        skips.append(v)
    for s in reversed(skips[:-1]):
        v = g.add('Add', v, s)
    return g.model([v])


def signal_net(n, channels=8, samples=512, levels=4):
    """A U-Net of 1-D signals: convolutions, pools, ConvTranspose and Concat, again and again."""
    g = Graph((1, channels, samples))
    w = g.weight('w', [channels, channels, 5])
    wide = g.weight('wide', [channels, 2 * channels, 5])
    up = g.weight('up', [channels, channels, 2])
    v = 0
    conv = lambda v, w: g.add('Relu', g.add('Conv', v, w, kernel_shape=[5], pads=[2, 2]))
    while not v or g.n + 9 * levels < n:
        skips = []
        for k in range(levels):
            v = conv(conv(v, w), w)
            skips.append(v)
            v = g.add('MaxPool', v, kernel_shape=[2], strides=[2])
        for s in reversed(skips):
            v = g.add('ConvTranspose', v, up, kernel_shape=[2], strides=[2])
            v = conv(g.add('Concat', v, s, axis=1), wide)
    return g.model([v])


def signal_blocks(n):
    """Long chains of 1-D convolutions, all of them streams."""
    g = Graph((1, 8, 512))
    w = g.weight('w', [8, 8, 3])
    v = 0
    while g.n + 2 <= n:
        v = g.add('Relu', g.add('Conv', v, w, kernel_shape=[3], pads=[1, 1]))
    return g.model([v])


def image_blocks(n):
    g = Graph((1, 4, 32, 32))
    w = g.weight('w', [4, 4, 3, 3])
    v = 0
    while g.n + 3 <= n:
        u = g.add('Conv', v, w, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        v = g.add('Add', g.add('Relu', u), v)
    return g.model([v])


def dense(n, channels=4):
    """Every layer takes all the layers before it in its block of at most 64."""
    g = Graph((1, channels, 16, 16))
    weights = {}
    v = 0
    while g.n + 4 < n:
        have = [v]
        while len(have) < 64 and g.n + 4 < n:
            c = channels * len(have)
            if c not in weights:
                weights[c] = g.weight('w%d' % c, [channels, c, 1, 1])
            x = g.add('Concat', *have, axis=1) if len(have) > 1 else have[0]
            have.append(g.add('Relu', g.add('Conv', x, weights[c], kernel_shape=[1, 1])))
        v = have[-1]
    return g.model([v])


def concat_all(n):
    """One Concat of everything."""
    g = Graph((1, 8))
    vs = branches(g, n - 1)
    return g.model([g.add('Concat', *vs, axis=1)], (1, 8 * len(vs)))


def split_all(n):
    g = Graph((1, 4 * n))
    outs = ['p%d' % i for i in range(n)]
    g.nodes.append(onnx.make_node('Split', ['t0'], outs, axis=1, num_outputs=n))
    return onnx.make_model(
        g.nodes,
        [onnx.make_value('t0', F32, g.dims)],
        [onnx.make_value(o, F32, [1, 4]) for o in outs],
        opset=18,
    )


def same_nodes(n):
    """Nodes that are all one value."""
    g = Graph()
    return g.model([g.join([g.add('Relu', 0) for _ in range(n // 2)])])


def reshapes(n):
    g = Graph((1, 64))
    g.weights.append(onnx.make_tensor('s', 7, [2], (8).to_bytes(8, 'little') * 2))
    g.weights.append(
        onnx.make_tensor('r', 7, [2], (1).to_bytes(8, 'little') + (64).to_bytes(8, 'little'))
    )
    v = 0
    for i in range(n // 3):
        v = g.add('Relu', g.add('Reshape', g.add('Reshape', v, 's'), 'r'))
    return g.model([v])


def transposes(n):
    g = Graph((8, 8))
    v = 0
    for i in range(n // 2):
        v = g.add(ONE_INPUT[i % 10], g.add('Transpose', v, perm=[1, 0]))
    return g.model([v])


FORMS = {
    f.__name__: f
    for f in (
        fan_tree,
        fan_chain,
        fan_back,
        fan_out,
        chain,
        residual,
        crossed,
        random_wires,
        random_near,
        random_sizes,
        grid,
        ladder,
        signal_net,
        signal_blocks,
        image_blocks,
        dense,
        concat_all,
        split_all,
        same_nodes,
        reshapes,
        transposes,
    )
}


# Nodes of these have several steps or a list of constants each, or some dozen operands: times the
# memory of others.
HEAVY = {'signal_net': 2, 'dense': 3}


def weight(form):
    return HEAVY.get(form, 1)


if __name__ == '__main__':
    with open(sys.argv[3], 'wb') as f:
        f.write(FORMS[sys.argv[1]](int(sys.argv[2])))
