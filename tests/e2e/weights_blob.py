# SPDX-License-Identifier: Apache-2.0
"""--weights=blob: NAME_weights_open() takes its own blob and others of the same layout, and nothing
else; `inlay weights pack` makes one for code in the field, or says what prevents it.

    weights_blob.py --inlay INLAY"""
import argparse
import os
import random
import shutil
import struct

import blobs
import host
import tap
from onnx import make_model, make_node, make_tensor, make_value

OK, ARG, ALIGN, WEIGHTS = 0, 1, 2, 7
INPUTS, RESULTS = 40, 72
# Reads m.blob and other.blob; prints a code for each question, then a sum over what was tried in
# loops: tried, taken.
MAIN = '''#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "m.h"
#define ROOM (M_BLOB_SIZE + 256u)
static unsigned char own[ROOM], other[ROOM];
static unsigned char *at; /* where blobs are opened: aligned */
static size_t load(const char *path, unsigned char *to)
{
    FILE *f = fopen(path, "rb");
    size_t n;
    if (!f) exit(91);
    n = fread(to, 1, ROOM, f);
    fclose(f);
    return n;
}
static unsigned long taken, tried;
static void try_it(size_t n)
{
    const void *w = at;
    const int code = m_weights_open(at, n, &w);
    tried++;
    if (code != M_E_WEIGHTS || w) taken++;
}
static void tell(const char *what)
{
    printf("%s %lu %lu\\n", what, tried, taken);
    tried = taken = 0;
}
static void run(const unsigned char *blob)
{
    static unsigned char arena[M_ARENA_SIZE + 64];
    static float in0[M_IN0_LENGTH], out0[M_OUT0_LENGTH];
    const void *w = NULL;
    m_inputs in;
    m_outputs out;
    size_t i;
    int code;
    for (i = 0; i < M_IN0_LENGTH; i++)
        in0[i] = (float)(i % 7) - 2;
    in.in0 = in0;
    out.out0 = out0;
    memcpy(at, blob, M_BLOB_SIZE);
    code = m_weights_open(at, M_BLOB_SIZE, &w);
    if (!code) code = m_run_with(w, arena + (64 - (size_t)arena % 64), &in, &out);
    printf("run %d", code);
    for (i = 0; i < M_OUT0_LENGTH; i++)
        printf(" %.9g", (double)out0[i]);
    printf("\\n");
}
int main(void)
{
    const size_t n = load("m.blob", own), k = load("other.blob", other);
    const size_t begin = n - M_WEIGHTS_SIZE;
    const void *w = NULL;
    unsigned char *all = malloc(ROOM + 64);
    size_t i, bit;
    if (!all) return 90;
    at = all + (64 - (size_t)all % 64);
    memcpy(at, own, n);
    printf("size %d\\n", n != M_BLOB_SIZE || k != n);
    printf("null %d\\n", m_weights_open(NULL, n, &w));
    printf("nowhere %d\\n", m_weights_open(at, n, NULL));
    printf("odd %d\\n", m_weights_open(at + 4, n, &w));
    printf("longer %d\\n", m_weights_open(at, n + 100, &w));
    printf("place %d\\n", w != at + begin);
    run(own);
    run(other);
    memcpy(at, own, n);
    for (i = 0; i < n; i++)
        try_it(i);
    tell("cut");
    for (bit = 0; bit < 8 * begin; bit++) {
        at[bit / 8] ^= (unsigned char)(1u << bit % 8);
        try_it(n);
        at[bit / 8] = own[bit / 8];
    }
    tell("head");
    for (i = begin; i < n; i += STEP) {
        at[i] = (unsigned char)~own[i];
        try_it(n);
        at[i] = (unsigned char)(own[i] + 1);
        try_it(n);
        at[i] = (unsigned char)(own[i] ^ 1u << i % 8);
        try_it(n);
        at[i] = own[i];
    }
    tell("values");
    for (i = 0; i < 4; i++) {
        memset(at, i == 0 ? 0 : i == 1 ? 255 : 0xa5, n);
        if (i == 3) memcpy(at, own, begin);
        try_it(n);
    }
    tell("noise");
    printf("again %d\\n", memcmp(own, at, 0) || (memcpy(at, own, n), m_weights_open(at, n, &w)));
    free(all);
    return 0;
}
'''


def floats(n, seed):
    of = random.Random(seed)
    return struct.pack('<%df' % n, *(of.uniform(-1, 1) for _ in range(n)))


def model(seed, rows=INPUTS, low=-2.0, places=(3, 1, 2), operator='MatMul'):
    """A product, bounds of a Clip (numbers of the code) and a Gather (its places are a constant of
    the code)."""
    w = make_tensor('w', 1, [rows, RESULTS], floats(rows * RESULTS, seed))
    p = make_tensor('p', 7, [len(places)], struct.pack('<%dq' % len(places), *places))
    nodes = [
        make_node(operator, ['x', 'w'], ['z'], 'product'),
        make_node('Clip', ['z', 'low', 'high'], ['c'], 'clip'),
        make_node('Gather', ['c', 'p'], ['y'], 'choice', axis=1),
    ]
    bounds = [
        make_tensor('low', 1, [], struct.pack('<f', low)),
        make_tensor('high', 1, [], struct.pack('<f', 2.0)),
    ]
    return make_model(
        nodes,
        [make_value('x', 1, [1, rows])],
        [make_value('y', 1, [1, len(places)])],
        [w, p] + bounds,
    )


class Folder:
    def __init__(self, inlay, work, name, source, options=()):
        self.path = os.path.join(work, name + '.onnx')
        self.out = os.path.join(work, name)
        with open(self.path, 'wb') as f:
            f.write(source)
        self.status, self.text = host.run(
            [inlay, 'compile', self.path, '-o', self.out, '--weights=blob', '-n', 'm']
            + list(options)
        )

    def blob(self):
        with open(os.path.join(self.out, 'm.blob'), 'rb') as f:
            return f.read()


def opened(t, work, folder, other, compiler, flags, step, label):
    """Asks the program; {question: words of the answer}."""
    for name, blob in (('m.blob', folder.blob()), ('other.blob', other)):
        with open(os.path.join(work, name), 'wb') as f:
            f.write(blob)
    with open(os.path.join(work, 'main.c'), 'w') as f:
        f.write(MAIN)
    status, text = host.run(
        [compiler]
        + host.STRICT
        + list(flags)
        + [
            '-O2',
            '-DSTEP=%d' % step,
            '-I',
            os.path.join(folder.out, 'src'),
            '-o',
            'program',
            'main.c',
        ]
        + host.sources(folder.out)
        + ['-lm'],
        work,
    )
    if not t.ok(label + ': compiles without a warning', status == 0, text):
        return None
    status, text = host.run(['./program'], work)
    if not t.ok(label + ': runs', status == 0, text):
        return None
    return [line.split() for line in text.splitlines()]


def check_open(t, o, work, compiler, flags, step, label):
    a, b = Folder(o.inlay, work, 'a', model(1)), Folder(o.inlay, work, 'b', model(2))
    if not t.ok(label + ': --weights=blob', a.status == b.status == 0, a.text + b.text):
        return
    answers = opened(t, work, a, b.blob(), compiler, flags, step, label)
    fresh = opened(t, work, b, a.blob(), compiler, flags, 10**6, label + ', the other')
    if not answers or not fresh:
        return
    said = {words[0]: [int(w) for w in words[1:]] for words in answers if words[0] != 'run'}
    runs = [words[1:] for words in answers if words[0] == 'run']
    t.ok(
        label + ': the file is as long as the header says; weights begin where the file does',
        said['size'] == said['place'] == [0],
        said,
    )
    t.ok(
        label + ': NULL, misaligned, longer memory',
        (said['null'], said['nowhere'], said['odd'], said['longer'])
        == ([ARG], [ARG], [ALIGN], [OK]),
        said,
    )
    t.ok(
        label + ': other weights give what code compiled with them gives',
        runs[1] == [w[1:] for w in fresh if w[0] == 'run'][0]
        and runs[0] != runs[1]
        and runs[0][0] == '0',
        runs,
    )
    at, n = blobs.begin(a.blob()), len(a.blob())
    t.ok(label + ': cut off at each byte', said['cut'] == [n, 0], said)
    t.ok(label + ': each bit of head, table and sums flipped', said['head'] == [8 * at, 0], said)
    t.ok(
        label + ': bytes of the weights changed three ways',
        said['values'] == [3 * len(range(at, n, step)), 0],
        said,
    )
    t.ok(
        label + ': erased memory, noise, a head without weights',
        said['noise'] == [4, 0] and said['again'] == [0],
        said,
    )
    t.ok(
        label + ': sums are where docs/UPDATES.md says',
        blobs.sealed(a.blob(), blobs.weights(a.blob())[: -blobs.SEAL]) == a.blob(),
    )


def check_pack(t, o, work):
    code = Folder(o.inlay, work, 'code', model(1), ['--optimize=speed'])
    field, packed = os.path.join(code.out, 'm.json'), os.path.join(work, 'new.blob')

    def pack(name, source, extra=()):
        path = os.path.join(work, name + '.onnx')
        with open(path, 'wb') as f:
            f.write(source)
        return host.run(
            [o.inlay, 'weights', 'pack', path, '--for', field, '-o', packed] + list(extra)
        )

    status, text = pack('same', model(1))
    with open(packed, 'rb') as f:
        t.ok(
            'pack: the same model gives the same blob',
            status == 0 and f.read() == code.blob(),
            text,
        )
    fresh = Folder(o.inlay, work, 'fresh', model(9), ['--optimize=speed'])
    status, text = pack('values', model(9))
    with open(packed, 'rb') as f:
        t.ok(
            'pack: other values give the blob of a fresh compile',
            status == 0 and f.read() == fresh.blob(),
            text,
        )
    os.remove(packed)
    for name, source, words in (
        ('a shape', model(1, rows=48), ['product', '40', '48']),
        ('a number of the code', model(1, low=-1.5), ['-2.0f', '-1.5f']),
        (
            'a constant of the code',
            model(1, places=(3, 1, 0)),
            ['choice', 'indices', 'constant of the code'],
        ),
        ('fewer results', model(1, places=(3, 1)), ['choice']),
    ):
        status, text = pack('other', source)
        t.ok(
            'pack: refuses %s, and names it' % name,
            status == 78 and all(w in text for w in words) and not os.path.exists(packed),
            text,
        )
    check_files(t, o, work, code, fresh, field)


def check_files(t, o, work, code, fresh, field):
    paths = [os.path.join(folder.out, 'm.blob') for folder in (code, fresh)]
    weights = [o.inlay, 'weights']
    t.ok('verify: a good one', host.run(weights + ['verify', paths[0], '--for', field])[0] == 0)
    man = host.manifest(code.out, 'm')
    places = {(c['node'], c.get('role')): c for c in man['constants']}
    t.ok(
        'the manifest says what is in the blob and what in the code',
        places['product', 'second factor' if ('product', 'second factor') in places else 'weights'][
            'place'
        ]
        == 'blob'
        and places['choice', 'indices']['place'] == 'code',
        man['constants'],
    )
    status, text = host.run(weights + ['info', paths[0], '--for', field])
    t.ok(
        'info: lists constants of both',
        status == 0
        and man['weights']['layout'] in text
        and 'product' in text
        and 'indices' in text,
        text,
    )
    status, text = host.run(weights + ['diff'] + paths + ['--for', field])
    t.ok(
        'diff: names what changed alone',
        status == 0 and 'product' in text and 'choice' not in text,
        text,
    )
    status, text = host.run(weights + ['diff', paths[0], paths[0], '--for', field])
    t.ok('diff: no difference', status == 0 and text == 'no difference\n', text)
    to = os.path.join(work, 'extracted')
    status, text = host.run(weights + ['extract', paths[1], '-o', to])
    with open(to, 'rb') as f:
        t.ok('extract: all weights', status == 0 and f.read() == blobs.weights(fresh.blob()), text)
    number = next(i for i, c in enumerate(man['constants']) if c['place'] == 'blob')
    one = man['constants'][number]
    status, text = host.run(weights + ['extract', paths[1], str(number), '--for', field, '-o', to])
    with open(to, 'rb') as f:
        t.ok(
            'extract: one constant',
            status == 0
            and f.read() == blobs.weights(fresh.blob())[one['at'] : one['at'] + one['bytes']],
            text,
        )
    check_damage(t, o, work, code.blob())


def check_damage(t, o, work, blob):
    """The compiler's own check finds what the device finds."""
    path, at = os.path.join(work, 'damaged.blob'), blobs.begin(blob)
    found, tried = 0, 0
    of = random.Random(5)
    damages = [
        (i, 1 << of.randrange(8)) for i in list(range(0, at)) + of.sample(range(at, len(blob)), 60)
    ]
    for place, bits in damages + [(k, 0) for k in of.sample(range(len(blob)), 40)]:
        bad = bytearray(blob)
        bad[place] ^= bits
        with open(path, 'wb') as f:
            f.write(bad if bits else bad[:place])
        found += host.run([o.inlay, 'weights', 'verify', path])[0] == 65
        tried += 1
    t.ok('verify: finds each damage of %d' % tried, found == tried, found)


def check_others(t, o, work):
    """What is no blob stays as it was, and a model without weights needs none."""
    plain = os.path.join(work, 'plain')
    path = os.path.join(work, 'a.onnx')
    status, text = host.run([o.inlay, 'compile', path, '-o', plain, '-n', 'm'])
    man = host.manifest(plain, 'm')
    t.ok(
        'other forms: no blob, no constants apart, nothing more in the manifest',
        status == 0
        and not os.path.exists(plain + '/src/inlay_blob.h')
        and not os.path.exists(plain + '/src/m_constants.h')
        and 'constants' not in man
        and 'options' not in man['weights'],
        text,
    )
    status, text = host.run(
        [o.inlay, 'weights', 'pack', path, '--for', plain + '/m.json', '-o', work + '/no.blob']
    )
    t.ok('pack: code of another form has no blob', status == 65 and '--weights=blob' in text, text)
    none = Folder(
        o.inlay,
        work,
        'none',
        make_model(
            [make_node('Relu', ['x'], ['y'], 'relu')],
            [make_value('x', 1, [4])],
            [make_value('y', 1, [4])],
        ),
    )
    with open(none.out + '/src/m.h') as f:
        t.ok(
            'a model without weights has no blob',
            none.status == 0
            and 'weights_open' not in f.read()
            and not os.path.exists(none.out + '/m.blob'),
            none.text,
        )
    pick = make_model(
        [make_node('Gather', ['x', 'i'], ['y'], 'pick', axis=1)],
        [make_value('x', 1, [1, 8])],
        [make_value('y', 1, [1, 3])],
        [make_tensor('i', 7, [3], struct.pack('<3q', 5, 0, 7))],
    )
    code = Folder(o.inlay, work, 'code', pick)
    status, text = (
        (code.status, code.text)
        if code.status
        else host.run(
            [
                'cc',
                '-std=c99',
                '-o',
                'code-example',
                code.out + '/examples/main.c',
                '-I' + code.out + '/src',
            ]
            + host.sources(code.out)
            + ['-lm'],
            work,
        )
    )
    status, text = (status, text) if status else host.run([os.path.join(work, 'code-example')])
    t.ok(
        'a model whose constants all stay in the code has no blob, and is right',
        status == 0 and 'right' in text and not os.path.exists(code.out + '/m.blob'),
        text,
    )
    for words in (
        ['weights', 'pack', path],
        ['weights', 'verify'],
        ['weights', 'wring', path],
        ['weights', 'extract', path],
        ['weights', 'diff', path, path],
    ):
        status, text = host.run([o.inlay] + words)
        t.ok('usage: ' + ' '.join(words[1:2]), status == 64, text)
    status, text = host.run([o.inlay, 'weights', 'verify', path])
    t.ok('verify: another file is no blob', status == 65, text)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    o = p.parse_args()
    t = tap.Tap()
    for compiler, flags, step in (
        ('gcc', [], 1),
        ('gcc', ['-DINLAY_CRC_SMALL'], 7),
        ('clang', [], 7),
    ):
        label = ' '.join([compiler] + flags)
        if not shutil.which(compiler):
            t.skip(label, 'not installed')
            continue
        with host.Work() as work:
            check_open(t, o, work, compiler, flags, step, label)
            if step == 1:
                check_pack(t, o, work)
                check_others(t, o, work)
    t.done()


main()
