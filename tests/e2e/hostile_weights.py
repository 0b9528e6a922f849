# SPDX-License-Identifier: Apache-2.0
"""Whatever values a blob has, a run ends and keeps to its memory: models compiled with
--weights=blob and sanitizers, run on blobs of noise whose sums are all right, and on inputs of
noise.

    hostile_weights.py --inlay INLAY --models MODELS [--corpus CORPUS [--every N]]"""
import argparse
import os
import random
import struct

import blobs
import host
import tap

FLAGS = ['-std=c99', host.LEVEL] + host.SANITIZERS + ['-fno-sanitize=float-divide-by-zero']
# A run on each blob named; inputs are bytes of a small generator, integers of them small.
MAIN = '''#include <stdio.h>
#include <stdlib.h>
#include "m.h"
static void *take(size_t n)
{
    void *p = NULL;
    if (posix_memalign(&p, 64, n ? n : 1)) exit(90);
    return p;
}
static void fill(unsigned char *p, size_t n, int whole, unsigned seed)
{
    size_t i;
    for (i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        p[i] = (unsigned char)(whole ? (i % 4 ? 0 : seed >> 30) : i %% 4 == 3 ? 0x3f : seed >> 24);
    }
}
int main(int argc, char **argv)
{
    void *arena = take(M_ARENA_SIZE), *blob = take(M_BLOB_SIZE);
    m_inputs in;
    m_outputs out;
    int k;
%(values)s    for (k = 1; k < argc; k++) {
        FILE *f = fopen(argv[k], "rb");
        const void *w;
        if (!f || fread(blob, 1, M_BLOB_SIZE, f) != M_BLOB_SIZE) return 91;
        fclose(f);
        if (m_weights_open(blob, M_BLOB_SIZE, &w)) return 92;
        printf("%%d\\n", m_run_with(w, arena, &in, &out));
    }
    return 0;
}
'''.replace(
    'whole ? (i % 4', 'whole ? (i %% 4'
)
LARGEST = 4 << 20
CODES = {'0', '3', '4'}  # OK, and what a value read at run time may ask for


def values_code(man):
    lines = []
    for i, io in enumerate(man['inputs']):
        lines.append(
            '    { void *p = take(%d); fill(p, %d, %d, %du); in.in%d = p; }\n'
            % (io['bytes'], io['bytes'], 'float' not in io['dtype'], i + 1, i)
        )
    for i, io in enumerate(man['outputs']):
        lines.append('    out.out%d = take(%d);\n' % (i, io['bytes']))
        if io.get('dynamic'):
            lines.append('    out.out%d_dims = NULL;\n' % i)
    return ''.join(lines) + ('' if man['inputs'] else '    in.none = NULL;\n')


def patterns(n):
    """Bytes that are extreme as floats, integers and half floats."""
    of = random.Random(n)
    words = [
        b'\xff\xff\xff\x7f',
        b'\x00\x00\x00\x80',
        b'\x00\x00\x80\x7f',
        b'\x00\x00\x80\xff',
        b'\x00\x00\xc0\x7f',
        b'\xff\xff\x7f\x7f',
        b'\xff\xff\xff\xff',
        b'\x01\x00\x00\x00',
        b'\x80\x7f\x80\x7f',
    ]
    for word in words:
        yield (word * (n // 4 + 1))[:n]
    yield b''.join(of.choice(words) for _ in range(n // 4 + 1))[:n]
    yield of.randbytes(n)
    yield struct.pack('<f', 3e9) * (n // 4) + b'\0' * (n % 4)


def hold(t, o, label, model):
    with host.Work() as work:
        out = os.path.join(work, 'out')
        status, text = host.run(
            [o.inlay, 'compile', model, '-o', out, '-n', 'm', '--weights=blob', '--emit=src']
            + o.options
        )
        if status in (64, 69):
            t.skip(label, text)
            return
        if not t.ok(label + ': compiles', status == 0, text):
            return
        if not os.path.exists(out + '/m.blob'):
            t.skip(label, 'no weights')
            return
        with open(out + '/m.blob', 'rb') as f:
            own = f.read()
        if len(own) > LARGEST:
            t.skip(label, 'more than %d bytes of weights' % LARGEST)
            return
        man = host.manifest(out, 'm')
        with open(work + '/main.c', 'w') as f:
            f.write(MAIN % {'values': values_code(man)})
        status, text = host.run(
            ['gcc']
            + FLAGS
            + ['-D_POSIX_C_SOURCE=200112L', '-I', out + '/src', '-o', 'program', 'main.c']
            + host.sources(out)
            + ['-lm'],
            work,
            limit=900,
        )
        if not t.ok(label + ': builds', status == 0, text):
            return
        names = ['own']
        with open(work + '/own', 'wb') as f:
            f.write(own)
        for i, noise in enumerate(patterns(len(blobs.weights(own)) - blobs.SEAL)):
            names.append('noise%d' % i)
            with open(os.path.join(work, names[-1]), 'wb') as f:
                f.write(blobs.sealed(own, noise))
        status, text = host.run(
            ['./program'] + names, work, limit=900, env={'ASAN_OPTIONS': 'detect_leaks=0'}
        )
        t.ok(
            label + ': ends, and keeps to its memory, on %d blobs' % len(names),
            status == 0 and set(text.split()) <= CODES and len(text.split()) == len(names),
            text[-3000:],
        )


def models(folder):
    for path, folders, files in sorted(os.walk(folder)):
        folders.sort()
        yield from (
            os.path.join(path, f)
            for f in sorted(files)
            if f.endswith('.onnx') and os.path.getsize(os.path.join(path, f)) < 3 << 20
        )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    p.add_argument('--corpus')
    p.add_argument('--every', type=int, default=1)
    p.add_argument('--options', nargs='*', default=[])
    o = p.parse_args()
    t = tap.Tap()
    found = list(models(o.models))
    if o.corpus and os.path.isdir(o.corpus):
        found += list(models(o.corpus))[:: o.every]
    for model in found:
        hold(t, o, os.path.relpath(model, os.path.dirname(o.models)), model)
    t.done()


main()
