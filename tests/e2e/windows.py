# SPDX-License-Identifier: Apache-2.0
"""--stream: run for run, a model that is given only the new steps of a signal answers as the whole
model does to the window of the last ones, from the run on that it states; compiled and in `inlay
run`. Endless: as the model without padding along time does to a longer window. What depends on
where a window begins is refused by its reason.

    windows.py --inlay INLAY"""
import argparse
import json
import os
import random
import struct

import host
import onnx
import tap
import trial
from onnx import make_model, make_node, make_tensor, make_value

F32, I8, I64 = 1, 3, 7

MAIN = r'''#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "m.h"
static unsigned char room[M_ARENA_SIZE + 128];
static float in0[M_IN0_LENGTH], %(outs)s;
int main(int argc, char **argv)
{
    unsigned char *const arena = room + (64 - (size_t)room %% 64);
    m_inputs in;
    m_outputs out;
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    memset(room, 0x5A, sizeof room);
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    in.in0 = in0;
%(set)s
    if (!file) return 90;
    if (m_reset(arena)) return 91;
    while (fread(in0, sizeof in0, 1, file) == 1) {
        if (m_run(arena, &in, &out)) return 92;
%(put)s
    }
    fclose(file);
    return 0;
}
'''


# --- models, built in front of a signal of `steps` steps ---


class Net:
    """Nodes one behind the other; `dims` is the shape of what the last one makes, `axis` that of
    time."""

    def __init__(self, seed, dims, axis):
        self.r = random.Random(seed)
        self.first, self.first_axis = list(dims), axis
        self.dims, self.axis, self.last = list(dims), axis, 'x'
        self.nodes, self.weights, self.made = [], [], 0
        self.sizes = []  # of time, behind each node
        self.stride = 1  # of the signal, between two steps of the last node

    def name(self, what):
        self.made += 1
        return '%s%d' % (what, self.made)

    def weight(self, dims, scale=None):
        count = 1
        for n in dims:
            count *= n
        top = scale or (3.0 / max(1, count // dims[0])) ** 0.5
        name = self.name('w')
        self.weights.append(
            make_tensor(
                name,
                F32,
                dims,
                struct.pack('<%df' % count, *(self.r.uniform(-top, top) for _ in range(count))),
            )
        )
        return name

    def longs(self, *values):
        name = self.name('i')
        self.weights.append(
            make_tensor(name, I64, [len(values)], struct.pack('<%dq' % len(values), *values))
        )
        return name

    def put(self, op, ins, dims, **attrs):
        out = self.name('t')
        self.nodes.append(make_node(op, ins, [out], out + '_' + op, **attrs))
        self.last, self.dims = out, list(dims)
        self.sizes.append(dims[self.axis] if self.axis < len(dims) else 1)
        return out

    def window(self, size, pads, k, s, d):
        return (size + sum(pads) - (k - 1) * d - 1) // s + 1

    def conv(self, channels, k, s=1, d=1, pads=(0, 0), group=1, other=1):
        """Over time; over the other spatial axis with a window of 1, 'same' with 3."""
        spatial = len(self.dims) - 2
        at = self.axis - 2
        kernel, strides, dilations, before, after = (
            [1] * spatial,
            [1] * spatial,
            [1] * spatial,
            [0] * spatial,
            [0] * spatial,
        )
        for i in range(spatial):
            kernel[i] = k if i == at else other
            before[i] = after[i] = 0 if i == at else other // 2
        strides[at], dilations[at], before[at], after[at] = s, d, pads[0], pads[1]
        dims = [self.dims[0], channels] + self.dims[2:]
        dims[self.axis] = self.window(self.dims[self.axis], pads, k, s, d)
        w, b = self.weight([channels, self.dims[1] // group] + kernel), self.weight([channels], 0.3)
        self.stride *= s
        return self.put(
            'Conv',
            [self.last, w, b],
            dims,
            kernel_shape=kernel,
            strides=strides,
            dilations=dilations,
            pads=before + after,
            group=group,
        )

    def pool(self, op, k, s):
        kernel, strides = [1] * (len(self.dims) - 2), [1] * (len(self.dims) - 2)
        kernel[self.axis - 2], strides[self.axis - 2] = k, s
        dims = list(self.dims)
        dims[self.axis] = self.window(dims[self.axis], (0, 0), k, s, 1)
        self.stride *= s
        return self.put(op, [self.last], dims, kernel_shape=kernel, strides=strides)

    def same(self, op, *more, **attrs):
        return self.put(op, [self.last] + list(more), self.dims, **attrs)

    def cut(self, begin, end):
        """Steps begin to end of time; a negative end counts from behind."""
        size = self.dims[self.axis]
        dims = list(self.dims)
        dims[self.axis] = (end if end > 0 else size + end) - begin
        return self.put(
            'Slice', [self.last, self.longs(begin), self.longs(end), self.longs(self.axis)], dims
        )

    def turn(self, perm):
        dims = [self.dims[p] for p in perm]
        self.axis = list(perm).index(self.axis)
        return self.put('Transpose', [self.last], dims, perm=list(perm))

    def reshape(self, dims, axis):
        self.axis = axis
        return self.put('Reshape', [self.last, self.longs(*dims)], dims)

    def flatten_gemm(self, wide):
        count = 1
        for n in self.dims[1:]:
            count *= n
        self.put('Flatten', [self.last], [self.dims[0], count])
        self.put('Gemm', [self.last, self.weight([count, wide])], [self.dims[0], wide])

    def model(self, opset=17):
        return make_model(
            self.nodes,
            [make_value('x', F32, self.first)],
            [make_value(self.last, F32, self.dims)],
            self.weights,
            opset,
        )


def deep(seed, steps=None, padded=False, rank=3):
    """A random chain; `padded`: 'same' or in front, as endless signals may be; then `steps` is of
    the model. Valid else. Its end takes all."""
    r = random.Random(seed)
    steps = steps or r.randint(30, 44)
    dims = [1, 3, steps] if rank == 3 else [1, 2, steps, 5]
    net = Net(seed, dims, 2)
    for _ in range(r.randint(1, 4)):
        k, s, d = r.choice([1, 2, 3, 5]), r.choice([1, 1, 2]), r.choice([1, 1, 2])
        if (k - 1) * d + 1 > net.dims[net.axis] - 4 or net.stride * s > 4:
            k, s, d = 1, 1, 1
        width = (k - 1) * d
        pads = r.choice([(width, 0), (width // 2, width - width // 2)]) if padded else (0, 0)
        net.conv(r.choice([3, 4]), k, s, d, pads, other=r.choice([1, 3]))
        kind = r.randint(0, 6)
        if kind == 0:
            net.same('Relu')
        elif kind == 1:
            net.same('Mul', net.weight([net.dims[1]] + [1] * (len(net.dims) - 2)))
        elif kind == 2 and net.stride <= 2:
            net.pool(r.choice(['MaxPool', 'AveragePool']), 2, 2)
        elif kind == 3:
            net.pool(r.choice(['MaxPool', 'AveragePool']), 3, 1) if net.dims[
                net.axis
            ] > 6 else net.same('Tanh')
        elif kind == 4 and rank == 3:
            net.turn([0, 2, 1])
            net.put('MatMul', [net.last, net.weight([net.dims[2], 4])], net.dims[:2] + [4])
            net.turn([0, 2, 1])
        elif kind == 5:
            net.same('Softmax', axis=1)
        elif kind == 6 and not padded:
            whole, size = net.last, net.dims[net.axis]
            if size > 8:
                dims = list(net.dims)
                net.conv(dims[1], 3, other=1)
                made, made_dims = net.last, list(net.dims)
                net.last, net.dims = whole, dims
                net.cut(1, -1)
                net.put('Add', [net.last, made], made_dims)
    return net, r


def ending(net, r):
    kind = r.randint(0, 5)
    if kind == 0:
        net.flatten_gemm(3)
    elif kind == 1:
        net.put('GlobalAveragePool', [net.last], net.dims[:2] + [1] * (len(net.dims) - 2))
    elif kind == 2:
        net.put(
            'ReduceMax', [net.last], net.dims[:2], axes=list(range(2, len(net.dims))), keepdims=0
        )
    elif kind == 3:
        at = net.axis
        index = make_tensor(net.name('g'), I64, [], struct.pack('<q', -1))
        net.weights.append(index)
        net.put('Gather', [net.last, 'g%d' % net.made], net.dims[:at] + net.dims[at + 1 :], axis=at)
    elif kind == 4:
        net.same('Sigmoid')  # the steps themselves
    else:
        whole = net.last
        dims = list(net.dims)
        net.put(
            'ReduceMean',
            [whole],
            dims[:2] + [1] * (len(dims) - 2),
            axes=list(range(2, len(dims))),
            keepdims=1,
        )
        net.put('Sub', [whole, net.last], dims)
        net.put('ReduceSum', [net.last, net.longs(*range(1, len(dims)))], [1], keepdims=0)
    return kind == 4


def write(path, data):
    with open(path, 'wb') as f:
        f.write(data)
    return path


def signal(seed, dims, axis, steps):
    """Step by step, as a list of lists; a step is all elements at one place of the axis, outer ones
    first."""
    r = random.Random(seed)
    outer = inner = 1
    for n in dims[:axis]:
        outer *= n
    for n in dims[axis + 1 :]:
        inner *= n
    return outer, inner, [[r.uniform(-1, 1) for _ in range(outer * inner)] for _ in range(steps)]


def block(outer, inner, steps):
    """Steps as the tensor that they are."""
    return [
        value for o in range(outer) for step in steps for value in step[o * inner : (o + 1) * inner]
    ]


def tensor(path, dims, values, code=F32):
    return write(
        path,
        make_tensor(
            'x', code, dims, struct.pack('<%d%s' % (len(values), onnx.TYPES[code][2]), *values)
        ),
    )


def resized(dims, axis, size):
    return list(dims[:axis]) + [size] + list(dims[axis + 1 :])


def one_run(inlay, work, model, file, *flags):
    out = os.path.join(work, 'answer')
    trial.must('run', [inlay, 'run', model, '-i', file, '-o', out] + list(flags))
    return onnx.values(onnx.read_tensor(os.path.join(out, 'output_0.pb')))


def run_compiled(inlay, work, model, hops, flags, plan):
    """Of the compiled model the results of each hop."""
    out = os.path.join(work, 'out')
    trial.must(
        'compile', [inlay, 'compile', model, '-n', 'm', '-o', out, '-q', '--checks'] + flags + plan
    )
    trial.must('prove', [inlay, 'prove', os.path.join(out, 'm.json'), model])
    with open(os.path.join(out, 'm.json')) as f:
        man = json.load(f)
    own = [o for o in man['outputs'] if not host.in_arena(o)]
    text = MAIN % {
        'outs': ', '.join('out%d[M_OUT%d_LENGTH]' % (o['index'], o['index']) for o in own),
        'set': '\n'.join('    out.out%d = out%d;' % (o['index'], o['index']) for o in own),
        'put': '\n'.join(
            '        fwrite(out%d, sizeof out%d, 1, stdout);' % (o['index'], o['index'])
            for o in own
        ),
    }
    write(os.path.join(work, 'main.c'), text.encode())
    given = write(
        os.path.join(work, 'hops.bin'), b''.join(struct.pack('<%df' % len(h), *h) for h in hops)
    )
    program = os.path.join(work, 'program')
    trial.must(
        'cc',
        [
            'gcc',
            host.LEVEL,
            '-ffp-contract=off',
            '-DINLAY_CHECK',
            '-Wall',
            '-Wextra',
            '-Wno-type-limits',
            '-Werror',
            '-I' + os.path.join(out, 'src'),
            os.path.join(work, 'main.c'),
        ]
        + host.sources(out)
        + ['-lm', '-o', program],
    )
    printed = os.path.join(work, 'printed')
    trial.must('the program', ['sh', '-c', '%s %s > %s' % (program, given, printed)])
    with open(printed, 'rb') as f:
        data = f.read()
    each = len(data) // 4 // len(hops)
    return [
        struct.unpack('<%df' % each, data[4 * each * i : 4 * each * (i + 1)])
        for i in range(len(hops))
    ], man


def near(got, want):
    if len(got) != len(want):
        return '%d values, want %d' % (len(got), len(want))
    for i, (a, b) in enumerate(zip(got, want)):
        if not abs(a - b) <= 2e-5 + 2e-5 * abs(b):
            return '[%d] is %r, want %r' % (i, a, b)
    return ''


def last_steps(values, dims, axis, count):
    """Of a tensor with time the last steps."""
    outer = inner = 1
    for n in dims[:axis]:
        outer *= n
    for n in dims[axis + 1 :]:
        inner *= n
    size = dims[axis]
    return [
        values[(o * size + i) * inner + k]
        for o in range(outer)
        for i in range(size - count, size)
        for k in range(inner)
    ]


def differs(work, inlay, whole, steps, hop, results, first, shape, dims_out):
    """Where the runs from `first` on do not answer as the whole model does to the last steps; '':
    nowhere."""
    outer, inner = shape
    window = whole.first[whole.first_axis]
    judge = write(os.path.join(work, 'judge.onnx'), whole.model())
    for i in range(first - 1, len(results)):
        end = (i + 1) * hop
        if end < window:
            return 'run %d has %d steps, the window %d' % (i + 1, end, window)
        file = tensor(
            os.path.join(work, 'window.pb'),
            whole.first,
            block(outer, inner, steps[end - window : end]),
        )
        want = one_run(inlay, work, judge, file)
        if dims_out:
            want = last_steps(want, whole.dims, whole.axis, dims_out[whole.axis])
        off = near(results[i], want)
        if off:
            return 'run %d of %d: %s' % (i + 1, len(results), off)
    return ''


def follows(t, work, inlay, what, net, wholes, hop, plan=(), mark='', steps_out=False, extra=3):
    """One of `wholes` is the model that is right for windows of its length; `net` the one that is
    streamed."""
    axis, dims = net.first_axis, net.first
    model = write(os.path.join(work, 'model.onnx'), net.model())
    flags = ['--stream', 'x:%d:%d%s' % (axis, hop, mark)]
    runs = -(-max(w.first[w.first_axis] for w in wholes) // hop) + extra
    outer, inner, steps = signal(7, dims, axis, runs * hop)
    hops = [block(outer, inner, steps[i * hop : (i + 1) * hop]) for i in range(runs)]
    try:
        results, man = run_compiled(inlay, work, model, hops, flags, list(plan))
        full = man['stream']['runs']
        for whole in wholes:
            window = whole.first[whole.first_axis]
            first = full if mark else -(-window // hop)
            off = differs(
                work,
                inlay,
                whole,
                steps,
                hop,
                results,
                first,
                (outer, inner),
                man['outputs'][0]['dims'] if steps_out else None,
            )
            if not off:
                break
        off = off or (
            ''
            if full <= -(-window // hop) and (full == -(-window // hop) or not mark)
            else 'full after %d runs' % full
        )
        for upto in (max(1, full - 1), runs):
            file = tensor(
                os.path.join(work, 'signal.pb'),
                resized(dims, axis, upto * hop),
                block(outer, inner, steps[: upto * hop]),
            )
            off = off or near(one_run(inlay, work, model, file, *flags), results[upto - 1])
    except trial.Refused as e:
        off = str(e)
    t.ok('%s, hop %d%s%s' % (what, hop, mark, ''.join(' ' + p for p in plan)), not off, off)


PLANS = [
    ['--plan=simple'],
    ['--plan=order'],
    ['--optimize=speed'],
    ['--effort=3', '--target=cortex-m4'],
]


def valid_nets(t, work, inlay, count):
    for seed in range(count):
        net, r = deep(seed, rank=3 + seed % 2)
        steps_out = ending(net, r)
        hop = net.stride * r.choice([1, 1, 2, 3])
        follows(t, work, inlay, 'net %d' % seed, net, [net], hop, steps_out=steps_out)
    net, r = deep(3)
    net.flatten_gemm(3)
    for plan in PLANS:
        follows(t, work, inlay, 'net 3', net, [net], net.stride, plan)


# --- nets of one kind each ---


def causal(steps=40):
    """As exporters of dilated convolutions write it: padding at both ends, of which the last part
    is cut off; the last step is read."""
    net = Net(50, [1, 4, steps], 2)
    for d in (1, 2, 4):
        before = net.last
        net.conv(4, 3, 1, d, (2 * d, 2 * d))
        net.cut(0, -2 * d)
        net.same('Relu')
        net.put('Add', [net.last, before], net.dims)
    net.cut(steps - 1, steps)
    net.flatten_gemm(3)
    return net


def spread():
    """Sound as one row of samples: frames of 8, taken as an image."""
    net = Net(51, [1, 96], 1)
    net.reshape([1, 1, 12, 8], 2)
    net.conv(3, 3, 1, 1, (0, 0), other=3)
    net.turn([0, 2, 3, 1])
    net.reshape([1, net.dims[1] * 24], 1)
    net.same('Tanh')
    net.put('Gemm', [net.last, net.weight([net.dims[1], 3])], [1, 3])
    return net


def spectrum():
    """Frames of a signal, their power in bands, its logarithm, the mean of all frames."""
    net = Net(52, [1, 160, 1], 1)
    frames = (160 - 32) // 16 + 1
    net.weights += [
        make_tensor('step', I64, [], struct.pack('<q', 16)),
        make_tensor(
            'window', F32, [32], struct.pack('<32f', *(1 - abs(i - 15.5) / 16 for i in range(32)))
        ),
        make_tensor('one', F32, [1], struct.pack('<f', 1.0)),
    ]
    net.put('STFT', ['x', 'step', 'window'], [1, frames, 17, 2])
    net.stride = 16
    net.put('Mul', [net.last, net.last], net.dims)
    net.put('ReduceSum', [net.last, net.longs(3)], [1, frames, 17], keepdims=0)
    net.put('MatMul', [net.last, net.weight([17, 6], 0.2)], [1, frames, 6])
    net.put('Abs', [net.last], net.dims)
    net.put('Add', [net.last, 'one'], net.dims)
    net.put('Log', [net.last], net.dims)
    net.put('ReduceMean', [net.last], [1, 6], axes=[1], keepdims=0)
    return net


def gated(steps=20):
    """Squeeze-excite over time: each step is weighed by what all of them say."""
    net = Net(53, [1, 3, steps], 2)
    net.conv(3, 3)
    whole = net.last
    net.put('GlobalAveragePool', [whole], [1, 3, 1])
    net.same('Sigmoid')
    net.put('Mul', [whole, net.last], [1, 3, steps - 2])
    net.flatten_gemm(2)
    return net


def learnt(steps=18):
    """A constant of its own for each step of the window."""
    net = Net(54, [1, steps, 4], 1)
    net.put('MatMul', [net.last, net.weight([4, 5])], [1, steps, 5])
    net.put('Add', [net.last, net.weight([steps, 5], 1)], [1, steps, 5])
    net.put('LayerNormalization', [net.last, net.weight([5], 1)], [1, steps, 5], axis=-1)
    net.put('ReduceMax', [net.last], [1, 5], axes=[1], keepdims=0)
    return net


def two_ends(steps=24):
    """Two branches, of which one is cut."""
    net = Net(55, [1, 3, steps], 2)
    net.conv(3, 5)
    a, dims = net.last, list(net.dims)
    net.last, net.dims = 'x', [1, 3, steps]
    net.cut(0, -4)
    net.put('Concat', [net.last, a], [1, 6, dims[2]], axis=1)
    net.flatten_gemm(2)
    return net


def integers(steps=24):
    """QuantizeLinear and DequantizeLinear around each convolution."""
    net = Net(56, [1, 3, steps], 2)
    net.weights += [
        make_tensor('scale', F32, [], struct.pack('<f', 1 / 64)),
        make_tensor('zero', I8, [], struct.pack('<b', 3)),
    ]
    for k in (3, 4):
        net.put('QuantizeLinear', [net.last, 'scale', 'zero'], net.dims)
        net.put('DequantizeLinear', [net.last, 'scale', 'zero'], net.dims)
        net.conv(3, k)
    net.put('QuantizeLinear', [net.last, 'scale', 'zero'], net.dims)
    net.put('DequantizeLinear', [net.last, 'scale', 'zero'], net.dims)
    net.put('GlobalAveragePool', [net.last], [1, 3, 1])
    return net


KINDS = [
    (causal, 1),
    (causal, 3),
    (spread, 8),
    (spread, 16),
    (spectrum, 16),
    (spectrum, 32),
    (gated, 2),
    (learnt, 1),
    (learnt, 5),
    (two_ends, 1),
    (two_ends, 4),
    (integers, 2),
]


def kinds(t, work, inlay, every):
    for make, hop in KINDS[::every]:
        follows(t, work, inlay, make.__name__, make(), [make()], hop)


# --- endless signals ---


def same_net(steps, padded, rank=4):
    """As keyword nets are: 'same' convolutions, depthwise and 1x1, a mean over all."""
    net = Net(60, [1, 1, steps, 6][:rank] if rank == 4 else [1, 3, steps], 2)
    pads = lambda k, s: (((k - s) // 2, k - s - (k - s) // 2) if padded else (0, 0))
    net.conv(4, 6, 2, 1, pads(6, 2), other=3 if rank == 4 else 1)
    for _ in range(2):
        net.same('Relu')
        net.conv(4, 3, 1, 1, pads(3, 1), group=4, other=3 if rank == 4 else 1)
        net.conv(4, 1)
    net.put('GlobalAveragePool', [net.last], net.dims[:2] + [1] * (rank - 2))
    return net


def residual(steps, padded):
    """The sum waits for the branch that looks ahead."""
    net = Net(61, [1, 3, steps], 2)
    for k in (3, 5):
        before, size = net.last, net.dims[2]
        net.conv(3, k, 1, 1, (k // 2, k // 2) if padded else (0, 0))
        made, dims = net.last, list(net.dims)
        net.last, net.dims = before, [1, 3, size]
        if not padded:
            net.cut(k // 2, -(k // 2))
        net.put('Add', [net.last, made], dims)
    net.flatten_gemm(2)
    return net


def first_only(steps, padded):
    """Padding in front alone: nothing waits; steps as results."""
    net = Net(62, [1, 3, steps], 2)
    for d in (1, 2):
        net.conv(3, 3, 1, d, (2 * d, 0) if padded else (0, 0))
        net.same('Relu')
    return net


def wholes_of(make, net, hop, final):
    """The models without padding that have as many steps in the end: by where the strides fall,
    there are several."""
    found = []
    for steps in range(net.first[2], net.first[2] + 60):
        whole = make(steps, False)
        if whole.sizes[-1 - final] == net.sizes[-1 - final]:
            found.append(whole)
    return found


def endless(t, work, inlay):
    for make, steps, hop, final, steps_out in (
        (same_net, 24, 2, 1, False),
        (same_net, 25, 4, 1, False),
        (residual, 20, 1, 2, False),
        (residual, 20, 3, 2, False),
        (first_only, 16, 2, 0, True),
    ):
        net = make(steps, True)
        wholes = [make(8, False)] if steps_out else wholes_of(make, net, hop, final)
        follows(
            t, work, inlay, make.__name__, net, wholes, hop, mark=':endless', steps_out=steps_out
        )
    # From the first run on the net is the filter of all that was given.
    net = first_only(16, True)
    model = write(os.path.join(work, 'model.onnx'), net.model())
    outer, inner, steps = signal(3, net.first, 2, 16)
    file = tensor(os.path.join(work, 'window.pb'), net.first, block(outer, inner, steps))
    want = one_run(inlay, work, model, file)
    for runs in (1, 3, 8):
        file = tensor(
            os.path.join(work, 'begin.pb'), [1, 3, 2 * runs], block(outer, inner, steps[: 2 * runs])
        )
        got = one_run(inlay, work, model, file, '--stream', 'x:2:2:endless')
        expected = [want[c * 16 + i] for c in range(3) for i in range(2 * runs - 2, 2 * runs)]
        if runs > 1:
            t.ok(
                'first_only: run %d is of the signal from its beginning' % runs,
                not near(got, expected),
                near(got, expected),
            )


# --- what is refused ---


def refused(t, work, inlay):
    same = write(os.path.join(work, 'same.onnx'), same_net(24, True).model())
    front = write(os.path.join(work, 'front.onnx'), first_only(16, True).model())
    good = write(os.path.join(work, 'good.onnx'), causal().model())
    for model, status, text, says in (
        (
            same,
            69,
            'x:2:2',
            ['(Conv)', 'padding behind the window', 'where the window ends', ':endless'],
        ),
        (
            front,
            69,
            'x:2:14',
            ['(Conv)', 'padding in front of the window', 'where the window begins'],
        ),
        (same, 69, 'x:2:3:endless', ['a result of every 2 steps', 'a run has 3', 'multiple of 2']),
        (good, 64, 'x:3:1', ['3 dimensions, no axis 3']),
        (good, 64, 'x:-4:1', ['no axis -4']),
        (good, 64, 'x:2:41', ['a hop of 41', '40 long']),
        (good, 64, 'x:2:0', ['one step at least']),
        (good, 64, 'x:2', ['the axis is no number']),
        (good, 64, 'y:2:1', ['no input', '"y"']),
        (good, 64, '2', ['names no hop']),
        (good, 64, 'x:2:one', ['the hop is no number']),
        (good, 64, 'x:two:1', ['the axis is no number']),
        (good, 64, 'x:2:1:ending', ['the hop is no number']),
    ):
        code, said = host.run(
            [inlay, 'compile', model, '-o', os.path.join(work, 'none'), '--stream', text]
        )
        t.ok(
            '--stream %s: status %d' % (text, status),
            code == status and all(part in said for part in says),
            '%d %s' % (code, said),
        )
    code, said = host.run(
        [
            inlay,
            'compile',
            good,
            '-o',
            os.path.join(work, 'none'),
            '--stream',
            'x:2:1',
            '--stream',
            'x:2:2',
        ]
    )
    t.ok('a stream twice', code == 64 and 'given twice' in said, said)
    for text in ('2:1', 'x:-1:1'):
        code, said = host.run(
            [inlay, 'compile', good, '-q', '-o', os.path.join(work, 'fine'), '--stream', text]
        )
        t.ok('--stream %s' % text, code == 0, said)


def corpus(t, inlay, folder):
    """A hop costs its part of a window."""
    for name, text, most in (
        ('audio/mlperf-tiny-kws', 'input_1:1:2:endless', 115000),
        ('audio/yamnet-256', 'input_1:3:32:endless', 8000000),
        ('audio/micro-kws-m', '1:320:endless', 970000),
    ):
        if not folder or not os.path.isdir(os.path.join(folder, name)):
            t.skip(name, 'its data is not here')
            continue
        code, said = host.run(
            [
                inlay,
                'analyze',
                host.model_of(os.path.join(folder, name)),
                '--json',
                '--stream',
                text,
            ]
        )
        found = json.loads(said[said.index('{') :]) if code == 0 else {}
        t.ok(
            '%s: at most %d multiplications a hop' % (name, most),
            code == 0 and found['totals']['macs'] <= most,
            said[:300] if code else str(found['totals']),
        )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--corpus', default='')
    p.add_argument('--nets', type=int, default=16, help='random nets')
    p.add_argument('--every', type=int, default=1, help='of the nets of one kind each')
    o = p.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        valid_nets(t, work, o.inlay, o.nets)
        kinds(t, work, o.inlay, o.every)
        endless(t, work, o.inlay)
        refused(t, work, o.inlay)
    corpus(t, o.inlay, o.corpus)
    t.done()


if __name__ == '__main__':
    main()
