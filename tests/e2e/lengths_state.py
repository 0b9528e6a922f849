# SPDX-License-Identifier: Apache-2.0
"""--dim T=1..64 together with --state: chunks of a signal, each of any length, in one arena. The
states stay in the arena from run to run at one place, whatever the length; results are those of
runs that are given the states as inputs, each compiled for its length. A state whose own size
follows the length is refused.

    lengths_state.py --inlay INLAY"""
import argparse
import copy
import json
import os
import struct
import subprocess

import host
import onnx
import sequences
import tap

CHUNKS = (7, 1, 64, 2, 1)
STEPS = sequences.C
HIDDEN = 8

MAIN = r'''#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "m.h"
int main(int argc, char **argv)
{
    unsigned char *arena = aligned_alloc(64, (M_ARENA_SIZE + 63) / 64 * 64);
    FILE *x = fopen("x", "rb"), *y = fopen("y", "wb"), *s = fopen("s", "wb");
    int i;
    if (!arena || !x || !y || !s) return 90;
    memset(arena, 0xA5, M_ARENA_SIZE);
    if (m_reset(arena)) return 91;
    for (i = 1; i < argc; i++) {
        const int32_t chunk = atoi(argv[i]);
        const size_t n = (size_t)chunk * %d;
        float *in0 = malloc(n * sizeof *in0), *out0 = malloc(n * sizeof *out0);
        m_inputs in;
        m_outputs out;
        int r;
        memset(&in, 0, sizeof in);
        memset(&out, 0, sizeof out);
        if (!in0 || !out0 || fread(in0, sizeof *in0, n, x) != n) return 92;
        in.in0 = in0;
        in.dim0 = chunk;
        out.out0 = out0;
        r = m_run(arena, &in, &out);
        if (r) return r;
        fwrite(out0, sizeof *out0, n, y);
        fwrite(arena + M_STATE0_OFFSET, 1, M_STATE0_SIZE, s);
        fwrite(arena + M_STATE1_OFFSET, 1, M_STATE1_SIZE, s);
        free(in0);
        free(out0);
    }
    free(arena);
    return fclose(x) | fclose(y) | fclose(s);
}
'''


def listener(net):
    """A causal convolution, whose last steps are kept, and a recurrent layer."""
    x, cache, h = net.input([1, 'T', STEPS]), net.input([1, 2, STEPS]), net.input([1, 1, HIDDEN])
    joined = net.op('Concat', cache, x, axis=1)
    kept = net.op('Slice', joined, net.ints(-2), net.ints(2**31), net.ints(1))
    y = net.op(
        'Conv',
        net.op('Transpose', joined, perm=[0, 2, 1]),
        net.weight(STEPS, STEPS, 3),
        net.weight(STEPS),
        kernel_shape=[3],
    )
    y = net.op('Transpose', y, perm=[2, 0, 1])
    ins = [
        y,
        net.weight(1, 3 * HIDDEN, STEPS),
        net.weight(1, 3 * HIDDEN, HIDDEN),
        net.weight(1, 6 * HIDDEN),
        '',
        h,
    ]
    steps, last = net.op('GRU', *ins, outs=2, hidden_size=HIDDEN, linear_before_reset=1)
    steps = net.op('Squeeze', steps, net.ints(1))
    steps = net.op('Transpose', steps, perm=[1, 0, 2])
    return [
        net.op('Add', net.op('Transpose', y, perm=[1, 0, 2]), net.linear(steps, STEPS, HIDDEN)),
        kept,
        last,
    ]


def attending(net):
    """The same before an encoder, whose steps for a single one are others."""
    y, kept, last = listener(net)
    return [net.block(y), kept, last]


def growing(net):
    """A cache that is as long as the chunk."""
    x, old = net.input([1, 'T', STEPS]), net.input([1, 'T', STEPS])
    return [net.op('Add', x, old), net.op('Mul', x, x)]


class Named(sequences.Model):
    """A model, and the names of its results."""

    def __init__(self, make):
        def remembering(net):
            self.results = make(net)
            return self.results

        remembering.__name__ = make.__name__
        super().__init__(remembering)

    def states(self):
        """The last results are the last inputs of the next run."""
        return [
            '--state=%s=%s' % (out, name)
            for out, (name, _, _) in zip(self.results[1:], self.inputs[1:])
        ]


class Bench:
    def __init__(self, inlay, work):
        self.inlay, self.work = inlay, work

    def file(self, name, data):
        path = os.path.join(self.work, name)
        with open(path, 'wb') as f:
            f.write(data)
        return path

    def read(self, name):
        with open(os.path.join(self.work, name), 'rb') as f:
            return f.read()

    def call(self, *words):
        p = subprocess.run(
            [self.inlay, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            timeout=600,
            cwd=self.work,
        )
        return p.returncode, p.stdout.decode()


def chained(b, model, chunks):
    """Results and states of runs, each compiled for its length and given the states of the one
    before."""
    tensors = [
        [onnx.Tensor(t.name, t.code, t.dims, bytes(len(t.raw))) for t in model.values({'T': 1})[1:]]
    ]
    xs, ys = [], []
    for n in chunks:
        x = model.values({'T': n}, seed=len(xs))[0]
        flags = []
        for i, tensor in enumerate([x] + tensors[-1]):
            flags += [
                '--input',
                b.file(
                    'in%d.pb' % i,
                    onnx.make_tensor(tensor.name, tensor.code, tensor.dims, tensor.raw),
                ),
            ]
        status, text = b.call('run', 'm.onnx', '--dim', 'T=%d' % n, *flags, '-o', 'one')
        assert not status, text
        got = [onnx.read_tensor(os.path.join(b.work, 'one', 'output_%d.pb' % i)) for i in range(3)]
        xs.append(x.raw)
        ys.append(got[0].raw)
        tensors.append(got[1:])
    return xs, ys, tensors[1:]


def near(got, want):
    a, b = (struct.unpack('<%df' % (len(raw) // 4), raw) for raw in (got, want))
    return len(a) == len(b) and all(abs(p - q) <= 1e-6 + 1e-5 * abs(q) for p, q in zip(a, b))


def listens(t, b, model, chunks):
    what = 'chunks of %s' % ', '.join(map(str, chunks))
    xs, ys, states = chained(b, model, chunks)
    b.file('x', b''.join(xs))
    status, text = host.run(['./run'] + [str(n) for n in chunks], b.work)
    t.ok(
        what + ': results',
        status == 0 and near(b.read('y'), b''.join(ys)),
        '%d: %s' % (status, text),
    )
    t.ok(what + ': states', near(b.read('s'), b''.join(s.raw for both in states for s in both)))


def listened(t, b, make, least):
    model = Named(make)
    b.file('m.onnx', model.blob)
    status, text = b.call(
        'compile', 'm.onnx', '-o', 'out', '--name', 'm', '-q', '--dim', 'T=1..64', *model.states()
    )
    if not t.ok('compiles', status == 0, text):
        return
    man = host.manifest(os.path.join(b.work, 'out'), 'm')
    variants = [man] + man.get('variants', [])
    places = [[s['offset'] for s in m['states']] for m in variants]
    t.ok('%s: variants with other steps' % model.name, len(variants) >= least, len(variants))
    t.ok('states have one place in all of them', all(p == places[0] for p in places), places)
    b.file('main.c', (MAIN % STEPS).encode())
    status, text = host.run(
        ['cc', '-std=c11', host.LEVEL, '-Wall', '-Wextra', '-Wconversion', '-Wshadow', '-Werror']
        + host.SANITIZERS
        + ['-Iout/src', 'main.c']
        + host.sources(os.path.join(b.work, 'out'))
        + ['-lm', '-o', 'run'],
        b.work,
    )
    if not t.ok('the C compiles', status == 0, text):
        return
    for chunks in (CHUNKS, (64, 64, 7)):
        listens(t, b, model, chunks)
    status, text = b.call('prove', 'out/m.json', 'm.onnx')
    t.ok('the plans are proved', status == 0, text)
    if least > 1:
        moved(t, b, man)


def moved(t, b, man):
    """A manifest whose second variant keeps its first state elsewhere is not proved."""
    other = copy.deepcopy(man)
    variant = other['variants'][0]
    old, new = variant['states'][0]['offset'], man['arena']['size'] + 64 - man['arena']['size'] % 64
    for part in (other, variant):
        part['arena'].update(size=new + variant['states'][0]['bytes'], optimal=False)
    for place in variant['states'] + variant['inputs'] + variant['outputs'] + variant['tensors']:
        if (
            place.get('offset') == old
            and place.get('place', place.get('storage', 'arena')) == 'arena'
            and ('bytes' not in place or place['bytes'] == variant['states'][0]['bytes'])
        ):
            place['offset'] = new
    b.file('moved.json', json.dumps(other).encode())
    status, text = b.call('prove', 'moved.json', 'm.onnx')
    t.ok(
        'a state at another place for other lengths is refused',
        status == 1 and 'state 0 at another place' in text,
        text,
    )


def refused(t, b):
    model = Named(growing)
    b.file('g.onnx', model.blob)
    status, text = b.call('compile', 'g.onnx', '-o', 'none', '--dim', 'T=1..64', *model.states())
    t.ok(
        'a state that is as long as the chunk is refused',
        status == 69 and 'state' in text and 'T=' in text and 'help:' in text,
        text,
    )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    o = p.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        b = Bench(o.inlay, work)
        listened(t, b, listener, 1)
        listened(t, b, attending, 2)
        refused(t, b)
    t.done()


main()
