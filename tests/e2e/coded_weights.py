# SPDX-License-Identifier: Apache-2.0
"""--code-weights: code that decodes its weights gives the bytes of code that has them, in less
flash and in no more memory than is allowed; damaged weights are found by the check, and a run with
them stays within its memory; what does not go with it is refused.

    coded_weights.py --inlay INLAY"""
import argparse
import json
import os
import random
import re
import struct

import host
import tap
import trial
from onnx import make_model, make_node, make_tensor, make_value

CHANNELS, SIDE, WIDTH, RESULTS, WIDE = 8, 6, 64, 24, 100
# Runs m_weights.bin, then prints what the check says of it and the results as hexadecimal digits;
# each file that it is given.
MAIN = r'''#include <stdio.h>
#include <stdlib.h>
#include "m.h"
static uint64_t arena[M_ARENA_SIZE / 8 + 8];
static float in0[M_IN0_LENGTH], out0[M_OUT0_LENGTH];
int main(int n, char **name)
{
    int k;
    size_t i;
    for (i = 0; i < M_IN0_LENGTH; i++) in0[i] = (float)(i % 11) - 5;
    for (k = 1; k < n; k++) {
        const m_inputs in = { in0 };
        const m_outputs out = { out0 };
        FILE *file = fopen(name[k], "rb");
        void *weights = aligned_alloc(64, (M_WEIGHTS_SIZE + 63) / 64 * 64);
        if (!file || !weights) return 91;
        if (fread(weights, 1, M_WEIGHTS_SIZE, file) != M_WEIGHTS_SIZE) return 91;
        printf("%d ", m_weights_check(weights, M_WEIGHTS_SIZE));
        printf("%d", m_run_with(weights, arena, &in, &out));
        for (i = 0; i < M_OUT0_LENGTH; i++) printf(" %.9g", (double)out0[i]);
        printf("\n");
        free(weights);
        fclose(file);
    }
    return 0;
}
'''


def normal(n, seed):
    of = random.Random(seed)
    return struct.pack('<%df' % n, *(of.gauss(0, 0.1) for _ in range(n)))


def bytes_of(n, seed):
    """As normal(): bytes that are coded in pairs."""
    of = random.Random(seed)
    return struct.pack('<%db' % n, *(max(-127, min(127, round(of.gauss(0, 25)))) for _ in range(n)))


def quantized(last):
    """A product of bytes with `last`, whose result is y: (nodes, constants)."""
    one, none = struct.pack('<f', 0.05), b'\0'
    constants = [
        make_tensor('s', 1, [], one),
        make_tensor('z', 3, [], none),
        make_tensor('w5', 3, [RESULTS, WIDE], bytes_of(RESULTS * WIDE, 6)),
    ]
    nodes = [
        make_node('QuantizeLinear', [last, 's', 'z'], ['q'], 'to bytes'),
        make_node('QLinearMatMul', ['q', 's', 'z', 'w5', 's', 'z', 's', 'z'], ['p'], 'fourth'),
        make_node('DequantizeLinear', ['p', 's', 'z'], ['y'], 'from bytes'),
    ]
    return nodes, constants


def model():
    """A convolution, a product whose weights take several pieces, one of float16 weights, and one
    of bytes."""
    flat = CHANNELS * SIDE * SIDE
    of = random.Random(5)
    halves = struct.pack(
        '<%de' % (WIDTH * RESULTS), *(of.gauss(0, 0.1) for _ in range(WIDTH * RESULTS))
    )
    w = [
        make_tensor('w1', 1, [CHANNELS, CHANNELS, 3, 3], normal(CHANNELS * CHANNELS * 9, 1)),
        make_tensor('w2', 1, [flat, WIDTH], normal(flat * WIDTH, 2)),
        make_tensor('w3', 10, [WIDTH, RESULTS], halves),
    ]
    nodes = [
        make_node('Conv', ['x', 'w1'], ['c'], 'first', pads=[1, 1, 1, 1]),
        make_node('Relu', ['c'], ['r'], 'relu'),
        make_node('Flatten', ['r'], ['f'], 'flat'),
        make_node('MatMul', ['f', 'w2'], ['d'], 'second'),
        make_node('Cast', ['w3'], ['w4'], 'cast', to=1),
        make_node('MatMul', ['d', 'w4'], ['e'], 'third'),
    ]
    last = quantized('e')
    return make_model(
        nodes + last[0],
        [make_value('x', 1, [1, CHANNELS, SIDE, SIDE])],
        [make_value('y', 1, [1, WIDE])],
        w + last[1],
    )


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def executed(work, out, names, flags=()):
    """The lines that the program prints, and its status."""
    host.written(os.path.join(work, 'main.c'), MAIN.encode())
    status, text = host.run(
        ['gcc']
        + host.STRICT
        + ['-std=gnu11', host.LEVEL, '-ffp-contract=off']
        + list(flags)
        + ['main.c', '-I' + out + '/src']
        + host.sources(out)
        + ['-lm', '-o', 'a.out'],
        work,
    )
    status, text = (status, text) if status else host.run(['./a.out'] + names, work)
    return status, text, [line.split() for line in text.splitlines()]


def compiled(o, path, out, *options):
    return host.run(
        [o.inlay, 'compile', path, '-o', out, '-n', 'm', '--weights=bin'] + list(options)
    )


def check_bytes(t, o, work, path, window, flags):
    label = 'arena and %d bytes: ' % window
    plain, out = os.path.join(work, 'plain'), os.path.join(work, 'out')
    compiled(o, path, plain)
    status, text = compiled(o, path, out, '--code-weights', '--window=%d' % window)
    t.ok(label + 'compiles', status == 0, text)
    before, after = host.manifest(plain, 'm'), host.manifest(out, 'm')
    t.ok(
        label + 'no larger',
        after['arena']['size'] <= before['arena']['size'] + window,
        after['arena'],
    )
    coded = [c for c in after['constants'] if c['place'] == 'coded']
    t.ok(
        label + 'some are coded',
        len(coded) == 4 and after['weights']['size'] < before['weights']['size'] * 0.92,
        after['weights'],
    )
    t.ok(
        label + 'the bytes are in pairs',
        re.findall(r'\.low = ([1-9])', read(out + '/src/m.c').decode()) == ['5'],
    )
    t.ok(
        label + 'near their entropy',
        all(c['bound'] <= c['bytes'] <= c['bound'] * 1.03 + 64 for c in coded),
        coded,
    )
    status, text = host.run([o.inlay, 'prove', out + '/m.json', path])
    t.ok(label + 'the plan is proved', status == 0, text)
    names = [host.written(os.path.join(work, 'w0'), read(out + '/src/m_weights.bin'))]
    want = executed(
        work, plain, [host.written(os.path.join(work, 'p'), read(plain + '/src/m_weights.bin'))]
    )[2]
    of = random.Random(9)
    for i in range(12):
        bad = bytearray(read(names[0]))
        for _ in range(1 + of.randrange(30)):
            one = of.choice(coded)
            bad[one['at'] + of.randrange(one['bytes'] if i % 2 else 40)] = of.randrange(256)
        names.append(host.written(os.path.join(work, 'w%d' % (i + 1)), bytes(bad)))
    status, text, lines = executed(work, out, names, flags)
    t.ok(
        label + 'runs, damaged or not, within its memory',
        status == 0 and len(lines) == len(names),
        text[:2000],
    )
    t.ok(label + 'the bytes of weights as they are', lines[:1] == want, (lines[:1], want))
    t.ok(
        label + 'damage is found',
        all(line[:2] == ['7', '0'] for line in lines[1:]),
        [line[:2] for line in lines],
    )
    return out, after


def recurrent(halves):
    """A GRU, of float16 weights that are read as they are, or of float32."""
    of = random.Random(8)
    sizes = {'w': [1, 3 * WIDTH, 40], 'r': [1, 3 * WIDTH, WIDTH]}
    weights = [
        make_tensor(
            name,
            10 if halves else 1,
            dims,
            struct.pack(
                '<%d%s' % (dims[1] * dims[2], 'e' if halves else 'f'),
                *[of.gauss(0, 0.1) for _ in range(dims[1] * dims[2])]
            ),
        )
        for name, dims in sizes.items()
    ]
    casts = (
        [make_node('Cast', [name], [name + '32'], 'cast ' + name, to=1) for name in sizes]
        if halves
        else []
    )
    names = [name + ('32' if halves else '') for name in sizes]
    return make_model(
        casts + [make_node('GRU', ['x'] + names, ['y'], 'gru', hidden_size=WIDTH)],
        [make_value('x', 1, [4, 1, 40])],
        [make_value('y', 1, [4, 1, 1, WIDTH])],
        weights,
    )


def check_recurrent(t, o, work, halves, flags):
    """The steps with the most operands."""
    label = 'recurrent, %s: ' % ('float16' if halves else 'float32')
    path = host.written(os.path.join(work, 'r.onnx'), recurrent(halves))
    plain, out = os.path.join(work, 'plain'), os.path.join(work, 'out')
    compiled(o, path, plain)
    status, text = compiled(o, path, out, '--code-weights', '--window=1M')
    t.ok(label + 'compiles', status == 0, text)
    roles = sorted(c['role'] for c in host.manifest(out, 'm')['constants'] if c['place'] == 'coded')
    t.ok(label + 'its weights are coded', len([r for r in roles if 'weights' in r]) == 3, roles)
    weights = lambda folder, name: [
        host.written(os.path.join(work, name), read(folder + '/src/m_weights.bin'))
    ]
    want, got = executed(work, plain, weights(plain, 'p')), executed(
        work, out, weights(out, 'w'), flags
    )
    t.ok(
        label + 'the same results',
        got[0] == 0 and got[2] == want[2],
        (got[1][:2000], want[1][:200]),
    )


def check_claims(t, o, work, path, out, man):
    """Rooms that are not those of the plan."""
    rooms = man['weights']['stream']['room']
    used = next(c['step'] for c in man['constants'] if c['place'] == 'coded')
    for label, bent in (
        ('none', [0] * len(rooms)),
        ('one too few', rooms[1:]),
        ('less', [300 if i == used else r for i, r in enumerate(rooms)]),
        ('negative', [-1] + rooms[1:]),
    ):
        man['weights']['stream']['room'] = bent
        name = host.written(os.path.join(work, 'bent.json'), json.dumps(man).encode())
        status, text = host.run([o.inlay, 'prove', name, path])
        t.ok('not proved: rooms, ' + label, status in (1, 65), 'status %d: %s' % (status, text))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    o = p.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        path = host.written(os.path.join(work, 'a.onnx'), model())
        for window, flags in ((30000, trial.sanitizing('gcc') or []), (100000, [])):
            out, man = check_bytes(t, o, work, path, window, flags)
        check_claims(t, o, work, path, out, man)
        for halves in (False, True):
            check_recurrent(t, o, work, halves, trial.sanitizing('gcc') or [])
        for words in (
            ['--weights=blob'],
            ['--weights=stream', '--window=4K'],
            ['--threads=2'],
            ['--resident=4K', '--window=4K'],
        ):
            status, text = host.run(
                [o.inlay, 'compile', path, '-o', os.path.join(work, 'no'), '--code-weights'] + words
            )
            t.ok('usage: ' + ' '.join(words), status == 64, text)
    t.done()


main()
