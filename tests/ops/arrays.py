# SPDX-License-Identifier: Apache-2.0
"""Arrays in plain Python, as far as the formulas of the standard need them: dimensions and a flat
list."""
import itertools
import math
import random


class A:
    def __init__(self, dims, v):
        self.dims, self.v = list(dims), list(v)
        assert len(self.v) == math.prod(self.dims), (self.dims, len(self.v))

    def __getitem__(self, at):
        k = 0
        for i, n in zip(at, self.dims):
            k = k * n + i
        return self.v[k]

    def map(self, f):
        return A(self.dims, map(f, self.v))

    def reshape(self, *dims):
        return A(dims, self.v)


def places(dims):
    return itertools.product(*map(range, dims))


def build(dims, f):
    """The array of f(index...)."""
    return A(dims, (f(*at) for at in places(dims)))


def broadcast(f, *arrays):
    rank = max(len(a.dims) for a in arrays)
    dims = [max([a.dims[d - rank] for a in arrays if len(a.dims) >= rank - d]) for d in range(rank)]
    pick = lambda a, at: a[
        tuple(0 if n == 1 else i for n, i in zip(a.dims, at[rank - len(a.dims) :]))
    ]
    return build(dims, lambda *at: f(*(pick(a, at) for a in arrays)))


def add(a, b):
    return broadcast(lambda x, y: x + y, a, b)


def mul(a, b):
    return broadcast(lambda x, y: x * y, a, b)


def scalar(v):
    return A([], [v])


def transpose(a, perm):
    back = [perm.index(i) for i in range(len(perm))]
    return build([a.dims[p] for p in perm], lambda *at: a[tuple(at[b] for b in back)])


def matmul(a, b):
    """Of matrices, or of stacks of them."""
    rows, inner, columns = a.dims[-2], a.dims[-1], b.dims[-1]
    return build(
        a.dims[:-1] + [columns],
        lambda *at: sum(
            a[at[:-1] + (k,)] * b[at[:-2] * (len(b.dims) > 2) + (k, at[-1])] for k in range(inner)
        ),
    )


def lines(a):
    n = a.dims[-1]
    return [a.v[i : i + n] for i in range(0, len(a.v), n)]


def by_line(a, f):
    """f of each line along the last axis."""
    return A(a.dims, (x for line in lines(a) for x in f(line)))


def softmax(line):
    m = max(line)
    e = [math.exp(x - m) for x in line]
    return [x / sum(e) for x in e]


def part(a, axis, start, stop):
    dims = list(a.dims)
    dims[axis] = stop - start
    return build(dims, lambda *at: a[at[:axis] + (at[axis] + start,) + at[axis + 1 :]])


def concat(arrays, axis):
    """Along an axis; the arrays have the same other dimensions."""
    moved = [transpose(a, [axis] + [i for i in range(len(a.dims)) if i != axis]) for a in arrays]
    joined = A([sum(a.dims[0] for a in moved)] + moved[0].dims[1:], (x for a in moved for x in a.v))
    rank = len(joined.dims)
    return transpose(joined, [i + 1 if i < axis else 0 if i == axis else i for i in range(rank)])


def conv(x, w, b=None, stride=1, pad=0):
    """x [N][C][H][W], w [O][C][KH][KW]."""
    kh, kw = w.dims[2:]
    oh, ow = ((n + 2 * pad - k) // stride + 1 for n, k in zip(x.dims[2:], (kh, kw)))
    at = lambda n, c, h, v: x[n, c, h, v] if 0 <= h < x.dims[2] and 0 <= v < x.dims[3] else 0
    return build(
        [x.dims[0], w.dims[0], oh, ow],
        lambda n, o, h, v: (b.v[o] if b else 0)
        + sum(
            w[o, c, i, k] * at(n, c, h * stride - pad + i, v * stride - pad + k)
            for c, i, k in places(w.dims[1:])
        ),
    )


def norm(line, scale, bias=None, eps=1e-5, center=True):
    mean = sum(line) / len(line) if center else 0
    var = sum((x - mean) ** 2 for x in line) / len(line)
    return [
        (x - mean) / math.sqrt(var + eps) * s + b
        for x, s, b in zip(line, scale, bias or [0] * len(line))
    ]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def gelu(x):
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def quantize(x, scale, zero, low=0, high=255):
    return min(max(round(x / scale) + zero, low), high)


class Random:
    """Numbers of a few binary digits: sums and products of few of them are exact."""

    def __init__(self, seed):
        self.r = random.Random(seed)

    def floats(self, *dims, low=-4, high=4):
        return A(dims, (self.r.randint(low * 16, high * 16) / 16 for _ in range(math.prod(dims))))

    def ints(self, *dims, low=0, high=255):
        return A(dims, (self.r.randint(low, high) for _ in range(math.prod(dims))))
