# SPDX-License-Identifier: Apache-2.0
"""--weights=stream: code that reads its weights through a window gives the bytes of code that has
them, reads each once, and ends with a code where a read fails; what fits no window is refused, and
the window that is named as the smallest does.

    weights_stream.py --inlay INLAY"""
import argparse
import json
import os
import random
import re
import shutil
import struct

import host
import onnx
import tap
from onnx import make_model, make_node, make_tensor, make_value

CHANNELS, SIDE, RESULTS = 24, 6, 30
# Prints what opening says, then for sources that do and do not wait a run's code, bytes and reads,
# and its results; then how many of runs in which the n-th read fails end with another code than
# M_E_READ.
MAIN = r'''#include <stdio.h>
#include <string.h>
#include "m.h"
typedef struct { FILE *file; size_t bytes, reads, fails, at, n; void *to; } blob;
static int now(void *context, size_t at, size_t n, void *to)
{
    blob *b = context;
    b->bytes += n;
    if (b->to || ++b->reads == b->fails) return 1;
    return fseek(b->file, (long)at, SEEK_SET) || fread(to, 1, n, b->file) != n;
}
static int start(void *context, size_t at, size_t n, void *to)
{
    blob *b = context;
    if (b->to) return 1;
    memset(to, 0xff, n);
    b->at = at, b->n = n, b->to = to;
    return 0;
}
static int wait(void *context)
{
    blob *b = context;
    void *to = b->to;
    b->to = NULL;
    return to ? now(context, b->at, b->n, to) : 1;
}
static uint64_t arena[M_ARENA_SIZE / 8 + 8];
static float in0[M_IN0_LENGTH], out0[M_OUT0_LENGTH];
static int run(const inlay_source *source)
{
    const m_inputs in = { in0 };
    const m_outputs out = { out0 };
    memset(out0, 0, sizeof out0);
    return m_run_with(source, arena, &in, &out);
}
int main(void)
{
    blob b = { 0 };
    inlay_source source = { now, 0, 0, 0 };
    size_t i, k, reads, other = 0;
    int code;
    source.context = &b;
    b.file = fopen("m.blob", "rb");
    if (!b.file) return 91;
    for (i = 0; i < M_IN0_LENGTH; i++) in0[i] = (float)(i % 11) - 5;
    code = m_weights_open(&source);
    printf("open %d %d\n", code, m_weights_open(NULL));
    for (k = 0; k < 2; k++) {
        b.bytes = b.reads = 0;
        code = run(&source);
        printf("run %d %lu", code, (unsigned long)b.bytes);
        for (i = 0; i < M_OUT0_LENGTH; i++) printf(" %.9g", (double)out0[i]);
        printf("\n");
        reads = b.reads;
        for (b.fails = 2; b.fails <= reads; b.fails++) {
            b.reads = 0;
            other += run(&source) != M_E_READ || b.to;
        }
        b.fails = 0;
        source.start = start;
        printf("half %d\n", run(&source));
        source.wait = wait;
    }
    printf("failed %lu %d\n", (unsigned long)other, run(&source));
    return 0;
}
'''


def floats(n, seed):
    of = random.Random(seed)
    return struct.pack('<%df' % n, *(of.uniform(-1, 1) for _ in range(n)))


def model(seed):
    """Two convolutions with a sum, the second of channels that no block is full of, and a
    product."""
    flat = RESULTS * 4
    w = [
        make_tensor('w1', 1, [CHANNELS, CHANNELS, 3, 3], floats(CHANNELS * CHANNELS * 9, seed)),
        make_tensor('b1', 1, [CHANNELS], floats(CHANNELS, seed + 1)),
        make_tensor('w2', 1, [RESULTS, CHANNELS, 1, 1], floats(RESULTS * CHANNELS, seed + 2)),
        make_tensor('b2', 1, [RESULTS], floats(RESULTS, seed + 3)),
        make_tensor('w3', 1, [flat, 19], floats(flat * 19, seed + 4)),
    ]
    nodes = [
        make_node('Conv', ['x', 'w1', 'b1'], ['c'], 'first', pads=[1, 1, 1, 1]),
        make_node('Add', ['c', 'x'], ['s'], 'sum'),
        make_node('Relu', ['s'], ['r'], 'relu'),
        make_node('Conv', ['r', 'w2', 'b2'], ['d'], 'second'),
        make_node('MaxPool', ['d'], ['p'], 'pool', kernel_shape=[3, 3], strides=[3, 3]),
        make_node('Flatten', ['p'], ['f'], 'flat'),
        make_node('MatMul', ['f', 'w3'], ['y'], 'product'),
    ]
    return make_model(
        nodes, [make_value('x', 1, [1, CHANNELS, SIDE, SIDE])], [make_value('y', 1, [1, 19])], w
    )


def answers(inlay, work, path):
    """The results by `inlay run`, on the numbers of MAIN."""
    n = CHANNELS * SIDE * SIDE
    x = host.written(
        os.path.join(work, 'x.pb'),
        onnx.make_tensor(
            'x',
            1,
            [1, CHANNELS, SIDE, SIDE],
            struct.pack('<%df' % n, *((i % 11) - 5.0 for i in range(n))),
        ),
    )
    status, text = host.run([inlay, 'run', path, '--input', x, '-o', work])
    assert not status, text
    raw = onnx.read_tensor(os.path.join(work, 'output_0.pb')).raw
    return struct.unpack('<%df' % (len(raw) // 4), raw)


def compiled(inlay, work, path, *options):
    out = os.path.join(work, 'out')
    return (
        host.run(
            [inlay, 'compile', path, '-o', out, '-n', 'm', '--weights=stream'] + list(options)
        ),
        out,
    )


def executed(work, out, blob, flags):
    """{first word: [the others of each line]} of what the program prints."""
    with open(os.path.join(work, 'm.blob'), 'wb') as f:
        f.write(blob)
    host.written(os.path.join(work, 'main.c'), MAIN.encode())
    status, text = host.run(
        ['gcc']
        + host.STRICT
        + [host.LEVEL, '-ffp-contract=off']
        + flags
        + ['main.c', '-I' + out + '/src']
        + host.sources(out)
        + ['-lm', '-o', 'a.out'],
        work,
    )
    status, text = (status, text) if status else host.run(['./a.out'], work)
    lines = {}
    for line in text.splitlines():
        lines.setdefault(line.split()[0], []).append(line.split()[1:])
    return status, text, lines


def close(got, want):
    """The bytes of a result as text of nine digits."""
    return [float(x) for x in got] == [float('%.9g' % x) for x in want]


def check_window(t, o, work, window, flags):
    label = 'window of %d bytes' % window
    path = host.written(os.path.join(work, 'a.onnx'), model(1))
    (status, text), out = compiled(o.inlay, work, path, '--window=%d' % window)
    t.ok(label + ': compiles', status == 0, text)
    if status:
        return
    man = host.manifest(out, 'm')
    stream = man['weights']['stream']
    t.ok(label + ': no window is larger', 0 < stream['window_used'] <= window, stream)
    with open(os.path.join(out, 'm.blob'), 'rb') as f:
        blob = f.read()
    status, text, lines = executed(work, out, blob, flags)
    t.ok(label + ': runs', status == 0 and lines['open'] == [['0', '1']], text)
    want = answers(o.inlay, work, path)
    runs = lines.get('run', [])
    t.ok(
        label + ': the bytes of weights that are there',
        len(runs) == 2 and all(r[0] == '0' and close(r[2:], want) for r in runs),
        text,
    )
    t.ok(
        label + ': each byte is read once, and the seal',
        all(int(r[1]) == stream['traffic'] + 24 for r in runs),
        (runs, stream),
    )
    t.ok(label + ': start() without wait() is refused', lines.get('half') == [['1'], ['0']], text)
    t.ok(label + ': a read that fails ends the run', lines.get('failed') == [['0', '0']], text)
    status, text = host.run([o.inlay, 'prove', out + '/m.json', path])
    t.ok(label + ': the plan is proved', status == 0, text)
    man['weights']['stream']['window'] = stream['window_used'] - 16
    with open(os.path.join(work, 'bent.json'), 'w') as f:
        json.dump(man, f)
    status, text = host.run([o.inlay, 'prove', os.path.join(work, 'bent.json'), path])
    t.ok(label + ': and not for another window', status != 0, text)
    other = host.written(os.path.join(work, 'b.onnx'), model(77))
    status, text = host.run(
        [o.inlay, 'weights', 'pack', other, '--for', out + '/m.json', '-o', work + '/new.blob']
    )
    t.ok(label + ': pack makes other weights', status == 0, text)
    with open(work + '/new.blob', 'rb') as f:
        status, text, lines = executed(work, out, f.read(), flags)
    want = answers(o.inlay, work, other)
    t.ok(
        label + ': which are taken',
        status == 0 and all(r[0] == '0' and close(r[2:], want) for r in lines['run']),
        text,
    )
    bad = bytearray(blob)
    bad[-100] ^= 4
    status, text, lines = executed(work, out, bytes(bad), flags)
    t.ok(label + ': a damaged blob is refused', status == 0 and lines['open'] == [['7', '1']], text)


def check_limits(t, o, work):
    path = host.written(os.path.join(work, 'a.onnx'), model(1))
    (status, text), _ = compiled(o.inlay, work, path, '--window=700')
    found = re.search(r'--window=(\d+); or let it stay: --resident=(\d+)', text)
    t.ok(
        'a window that is too small is refused, and the smallest named',
        status == 69 and found,
        text,
    )
    if not found:
        return
    least, stays = int(found.group(1)), int(found.group(2))
    t.ok('the smallest does', compiled(o.inlay, work, path, '--window=%d' % least)[0][0] == 0)
    t.ok(
        'one byte less does not',
        compiled(o.inlay, work, path, '--window=%d' % (least - 1))[0][0] == 69,
    )
    (status, text), out = compiled(
        o.inlay, work, path, '--window=%d' % least, '--resident=%d' % stays
    )
    stream = host.manifest(out, 'm')['weights']['stream']
    t.ok(
        'constants that stay are not read',
        status == 0
        and 0 < stream['resident_used'] <= stays
        and 'code_constants' in open(out + '/src/m_constants.h').read(),
        text,
    )
    (status, text), out = compiled(o.inlay, work, path, '--window=1000', '--resident=1M')
    if status == 0:
        shutil.copy(out + '/src/m.h', work)
        status, text = host.run(
            ['gcc']
            + host.STRICT
            + [host.LEVEL, '-c', out + '/src/m.c', '-o', os.path.join(work, 'm.o')]
        )
    t.ok(
        'code whose weights all stay is C',
        status == 0 and not os.path.exists(out + '/m.blob'),
        text,
    )
    for words in (
        ['--window=4K'],
        ['--weights=stream'],
        ['--weights=blob', '--window=4K'],
        ['--weights=stream', '--resident=4K'],
        ['--weights=stream', '--window=4K', '--threads=2'],
    ):
        status, text = host.run([o.inlay, 'compile', path, '-o', os.path.join(work, 'no')] + words)
        t.ok('usage: ' + ' '.join(words), status == 64, text)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    o = p.parse_args()
    t = tap.Tap()
    for window, flags in ((4400, []), (9000, ['-DINLAY_CRC_SMALL']), (20000, []), (1 << 20, [])):
        with host.Work() as work:
            check_window(t, o, work, window, flags)
    with host.Work() as work:
        check_limits(t, o, work)
    t.done()


main()
