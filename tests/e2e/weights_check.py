# SPDX-License-Identifier: Apache-2.0
"""Blobs of weights from elsewhere: NAME_weights_check() and a run refuse what is not the model's
own, in every form; what is of the same layout with other values is taken.

    weights_check.py --inlay INLAY"""
import argparse
import os
import shutil
import struct
import zlib

import host
import tap
from onnx import make_model, make_node, make_tensor, make_value

OK, ARG, ALIGN, WEIGHTS = 0, 1, 2, 7
SEAL = 32
# Reads commands "check N" or "run N" with blob N; prints what the call returns, and of a run the
# result.
MAIN = '''#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "m.h"
static size_t load(const char *path, unsigned char *to, size_t room)
{
    FILE *f = fopen(path, "rb");
    size_t n;
    if (!f) exit(91);
    n = fread(to, 1, room, f);
    fclose(f);
    return n;
}
int main(void)
{
    static unsigned char arena[M_ARENA_SIZE + 64];
    static const float in0[4] = { 1, 2, 3, 4 };
    static float out0[4];
    size_t room = M_WEIGHTS_SIZE + 4096;
    unsigned char *all = malloc(room + 64), *blob = all + (64 - (size_t)all % 64);
    unsigned char *at = arena + (64 - (size_t)arena % 64);
    char verb[16], path[64];
    m_inputs in;
    m_outputs out;
    in.in0 = in0;
    out.out0 = out0;
    while (scanf("%15s %63s", verb, path) == 2) {
        const size_t n = strcmp(path, "-") ? load(path, blob, room) : 0;
        if (!strcmp(verb, "check"))
            printf("%d\\n", m_weights_check(strcmp(path, "-") ? blob : NULL, n));
        else if (!strcmp(verb, "odd"))
            printf("%d\\n", m_weights_check(blob + 4, n));
        else {
            const int code = m_run_with(strcmp(path, "-") ? blob : NULL, at, &in, &out);
            printf("%d %.9g\\n", code, (double)out0[0]);
        }
    }
    free(all);
    return 0;
}
'''


def model(factor, rows=4):
    w = make_tensor(
        'w',
        1,
        [rows, 4],
        struct.pack('<%df' % (4 * rows), *(factor * (i + 1) for i in range(4 * rows))),
    )
    return make_model(
        [make_node('MatMul', ['x', 'w'], ['y'], 'product')],
        [make_value('x', 1, [1, rows])],
        [make_value('y', 1, [1, 4])],
        [w],
    )


class Program:
    """The model compiled and linked, and the content of its blob."""

    def __init__(self, o, work, label, source, form, compiler='gcc', flags=()):
        self.work = os.path.join(work, label)
        os.makedirs(self.work)
        path, self.out = os.path.join(self.work, 'm.onnx'), os.path.join(self.work, 'out')
        with open(path, 'wb') as f:
            f.write(source)
        self.error = ''
        status, text = host.run([o.inlay, 'compile', path, '-o', self.out, '--weights', form])
        if status:
            self.error = text
            return
        with open(os.path.join(self.work, 'main.c'), 'w') as f:
            f.write(MAIN)
        self.blob = self.read() if form in ('bin', 'incbin') else b''
        self.link(compiler, list(flags))

    def read(self):
        with open(os.path.join(self.out, 'src', 'm_weights.bin'), 'rb') as f:
            return f.read()

    def link(self, compiler='gcc', flags=()):
        status, text = host.run(
            [compiler]
            + host.STRICT
            + list(flags)
            + [host.LEVEL, '-I', os.path.join(self.out, 'src'), '-o', 'program', 'main.c']
            + host.sources(self.out)
            + ['-lm'],
            self.work,
        )
        self.error = text if status else ''

    def ask(self, questions):
        """[(verb, blob or None)] -> [(code, answer or None)]"""
        lines = []
        for i, (verb, blob) in enumerate(questions):
            if blob is not None:
                with open(os.path.join(self.work, 'blob%d' % i), 'wb') as f:
                    f.write(blob)
            lines.append('%s %s\n' % (verb, '-' if blob is None else 'blob%d' % i))
        with open(os.path.join(self.work, 'questions'), 'w') as f:
            f.writelines(lines)
        status, text = host.run(['sh', '-c', './program < questions'], self.work)
        answers = (
            [(int(s.split()[0]), s.split()[1] if ' ' in s else None) for s in text.splitlines()]
            if not status
            else []
        )
        return answers or [(status, text)] * len(questions)


def flipped(blob, bit):
    damaged = bytearray(blob)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def resealed(blob):
    return blob[:-4] + struct.pack('<I', zlib.crc32(blob[:-4]))


def binary(t, o, work, compiler, flags, label):
    p = Program(o, work, 'bin-' + label, model(1), 'bin', compiler, flags)
    other = Program(o, work, 'other-' + label, model(2), 'bin', compiler, flags)
    if not t.ok(label + ': compiles', not p.error and not other.error, p.error + other.error):
        return
    blob, n = p.blob, len(p.blob)
    man = host.manifest(p.out, 'm')
    t.ok(
        label + ': the file is as long as the header and the manifest say',
        man['weights']['size'] == n,
    )
    t.ok(
        label + ': magic, layout, length and CRC are where they are documented',
        blob[-32:-24] == b'INLAYW\0\1'
        and struct.unpack('<QQ', blob[-24:-8]) == (int(man['weights']['layout'], 16), n - SEAL)
        and blob == resealed(blob),
    )
    good = p.ask(
        [
            ('check', blob),
            ('check', blob + b'\0' * 100),
            ('run', blob),
            ('check', None),
            ('run', None),
            ('odd', blob),
            ('check', other.blob),
            ('run', other.blob),
        ]
    )
    t.ok(
        label + ': its own blob, longer memory, and other values of the same layout are taken',
        [good[i][0] for i in (0, 1, 2, 6, 7)] == [OK] * 5,
        good,
    )
    t.ok(
        label + ': other values give another answer',
        good[2][1] == '90' and good[7][1] == '180',
        good,
    )
    t.ok(
        label + ': NULL and misaligned ones have their codes',
        [good[i][0] for i in (3, 4, 5)] == [ARG, ARG, ALIGN],
        good,
    )
    cut = p.ask([('check', blob[:k]) for k in range(n)])
    t.ok(label + ': cut off at every byte', all(c == WEIGHTS for c, _ in cut), cut)
    bits = p.ask([('check', flipped(blob, i)) for i in range(8 * n)])
    t.ok(
        label + ': every bit flipped',
        all(c == WEIGHTS for c, _ in bits),
        [i for i, (c, _) in enumerate(bits) if c != WEIGHTS][:9],
    )
    seal = p.ask([('run', flipped(blob, i)) for i in range(8 * (n - SEAL), 8 * (n - 8))])
    t.ok(
        label + ': a run refuses another magic, layout or length',
        all(c == WEIGHTS for c, _ in seal),
        seal,
    )
    strange = Program(o, work, 'strange-' + label, model(1, 8), 'bin', compiler, flags).blob
    foreign = p.ask(
        [(v, b) for v in ('check', 'run') for b in (strange, b'\0' * n, b'\xff' * n, os.urandom(n))]
    )
    t.ok(
        label + ': blobs of other models, erased memory and noise',
        all(c == WEIGHTS for c, _ in foreign),
        foreign,
    )


def linked(t, o, work, form):
    p = Program(o, work, form, model(1), form)
    if not t.ok(form + ': compiles', not p.error, p.error):
        return
    t.ok(form + ': those linked into the program are whole', p.ask([('check', None)])[0][0] == OK)
    with open(os.path.join(p.out, 'README.md')) as f:
        t.ok(
            form + ': the folder says what the form is for',
            ('`.incbin`' in f.read()) == (form == 'incbin'),
        )
    if form != 'incbin':
        return
    with open(os.path.join(p.out, 'src', 'm_weights.bin'), 'wb') as f:
        f.write(flipped(p.blob, 77))
    p.link()
    t.ok(
        'incbin: a damaged file that was linked is found',
        not p.error and p.ask([('check', None)])[0][0] == WEIGHTS,
        p.error,
    )


def without(t, o, work):
    """A model without weights has nothing to check."""
    path, out = os.path.join(work, 'none.onnx'), os.path.join(work, 'none')
    with open(path, 'wb') as f:
        f.write(
            make_model(
                [make_node('Relu', ['x'], ['y'], 'relu')],
                [make_value('x', 1, [4])],
                [make_value('y', 1, [4])],
            )
        )
    status, text = host.run([o.inlay, 'compile', path, '-o', out])
    with open(os.path.join(out, 'src', 'none.h')) as f:
        header = f.read()
    t.ok(
        'a model without weights has no check',
        status == 0
        and 'weights_check' not in header
        and not os.path.exists(out + '/src/inlay_weights.h'),
        text,
    )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    o = p.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        for compiler in ('gcc', 'clang'):
            if shutil.which(compiler):
                binary(t, o, work, compiler, [], compiler)
            else:
                t.skip(compiler, 'not installed')
        binary(t, o, work, 'gcc', ['-DINLAY_CRC_SMALL'], 'gcc, as on a small machine')
        for form in ('c', 'incbin', 'obj'):
            linked(t, o, work, form)
        without(t, o, work)
    t.done()


main()
