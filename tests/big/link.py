# SPDX-License-Identifier: Apache-2.0
"""The program with the weights in it, linked and run: .incbin, an object, a file that the caller
maps.

Layers of sparse matrices, each with a few marks, so that the answer is a sum of few products that
Python can form."""
import os
import struct

import host
import models

MAIN = r'''
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "m.h"

static _Alignas(64) unsigned char arena[M_ARENA_SIZE + 64];
static float x[WIDTH], y[WIDTH];

int main(int count, char **arg)
{
    m_inputs in = { 0 };
    m_outputs out = { 0 };
    FILE *f = fopen("x.bin", "rb");
    int r;
    if (!f || fread(x, sizeof *x, WIDTH, f) != WIDTH) return 90;
    fclose(f);
    in.in0 = x;
    out.out0 = y;
#ifdef MAPPED
    {
        const int fd = open(arg[1], O_RDONLY);
        const off_t n = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
        void *w = n > 0 ? mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
        if (w == MAP_FAILED) return 91;
        r = m_run_with(w, arena, &in, &out);
    }
#else
    (void)arg;
    r = m_run(arena, &in, &out);
#endif
    if (r || count > 2) return 92;
    f = fopen("y.bin", "wb");
    return !f || fwrite(y, sizeof *y, WIDTH, f) != WIDTH || fclose(f) ? 93 : 0;
}
'''


def answer(weights, x):
    """The chain of MatMul and Relu over the marks alone, {column: value}."""
    for w in weights:
        y = {}
        for (r, c), v in w.marks.items():
            if r in x:
                y[c] = y.get(c, 0.0) + x[r] * v
        x = {c: v for c, v in y.items() if v > 0}
    return x


def linked(t, o, label, mib, width):
    """Layers of width x width, `mib` MiB of them, in all three forms."""
    with host.Work() as work:
        model = os.path.join(work, 'm.onnx')
        weights = models.dense(model, mib, width)
        rows = [r for r, _ in weights[0].marks]
        x = {r: 0.5 + i % 3 for i, r in enumerate(rows)}
        want = answer(weights, x)
        with open(os.path.join(work, 'x.bin'), 'wb') as f:
            for r, v in x.items():
                f.seek(4 * r)
                f.write(struct.pack('<f', v))
            f.truncate(4 * width)
        with open(os.path.join(work, 'main.c'), 'w') as f:
            f.write(MAIN)
        for form in ('incbin', 'obj', 'bin'):
            one(t, o, work, model, '%s, %s' % (label, form), form, width, want)


def one(t, o, work, model, label, form, width, want):
    out, program = os.path.join(work, form), os.path.join(work, 'run-' + form)
    src = os.path.join(out, 'src')
    status, text = host.run(
        [o.inlay, 'compile', model, '-o', out, '--name', 'm', '--weights', form, '--no-hash'], work
    )
    if not t.ok(label + ': compiles', status == 0, text[:500]):
        return
    sources = [os.path.join(src, f) for f in sorted(os.listdir(src)) if f.endswith(('.c', '.o'))]
    command = (
        ['gcc', '-std=c11', '-O2', '-DWIDTH=%d' % width, '-I', src, 'main.c']
        + sources
        + ['-o', program, '-lm']
        + (['-DMAPPED'] if form == 'bin' else [])
    )
    status, text = host.run(command, work)
    if t.ok(label + ': links', status == 0, text[:1000]):
        status, text = host.run(
            [program] + ([os.path.join(src, 'm_weights.bin')] if form == 'bin' else []), work
        )
        got = []
        if status == 0:
            with open(os.path.join(work, 'y.bin'), 'rb') as f:
                got = struct.unpack('<%df' % width, f.read())
            os.unlink(os.path.join(work, 'y.bin'))
        bad = [
            (i, v, want.get(i, 0.0))
            for i, v in enumerate(got)
            if abs(v - want.get(i, 0.0)) > 1e-5 * abs(want.get(i, 0.0))
        ]
        t.ok(
            label + ': runs right',
            len(got) == width and want and not bad,
            bad[:5] or 'status %d %s' % (status, text[:200]),
        )
    host.run(['rm', '-rf', out, program], work)
