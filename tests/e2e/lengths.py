# SPDX-License-Identifier: Apache-2.0
"""--dim T=1..64: one compile, any length within the bounds at each run. Networks over sequences, as
exporters write them, give at each length what a compile for that length gives; nothing behind the
real length is read or written (of some, AddressSanitizer watches buffers that end there); what is
out of bounds is refused; a manifest that says otherwise is not proved.

    lengths.py --inlay INLAY [--only NAME,..] [--all-sane]

--all-sane: all with AddressSanitizer."""
import argparse
import json
import os
import struct
import subprocess

import host
import onnx
import sequences
import tap

LENGTHS = (1, 7, 64)
SMALL = (1, 3, 8)  # of two lengths at once
WATCHED = ('encoder_mask', 'decoder_cache', 'conv_half', 'lstm_both', 'relative', 'two_lengths')

# Runs of several lengths in one arena: argv has a folder for each.
MAIN = r'''#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "m.h"
static void *load(const char *folder, const char *name)
{
    char path[1000];
    long n;
    void *p;
    FILE *f;
    snprintf(path, sizeof path, "%%s/%%s", folder, name);
    f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) || (n = ftell(f)) < 0) exit(91);
    rewind(f);
    p = malloc((size_t)n + !n);
    if (!p || fread(p, 1, (size_t)n, f) != (size_t)n) exit(91);
    fclose(f);
    return p;
}
static void save(const char *folder, const char *name, const void *from, size_t n)
{
    char path[1000];
    FILE *f;
    snprintf(path, sizeof path, "%%s/%%s", folder, name);
    f = fopen(path, "wb");
    if (!f || fwrite(from, 1, n, f) != n || fclose(f)) exit(92);
}
int main(int argc, char **argv)
{
    unsigned char *arena = aligned_alloc(64, (M_ARENA_SIZE + 63) / 64 * 64 + 64);
    int i;
    if (!arena) return 90;
    memset(arena, 0xA5, M_ARENA_SIZE + 64);
    for (i = 1; i < argc; i++) {
        const char *to = argv[i];
        int32_t *dim = load(to, "dim");
        size_t *size = load(to, "size");
        m_inputs in;
        m_outputs out;
        int r;
        memset(&in, 0, sizeof in);
        memset(&out, 0, sizeof out);
%(load)s
        r = m_run(arena, &in, &out);
        if (r) {
            fprintf(stderr, "m_run returned %%d\n", r);
            return 93;
        }
%(save)s
        in.dim0 = M_DIM0_MOST + 1;
        if (m_run(arena, &in, &out) != M_E_SHAPE) return 94;
        in.dim0 = M_DIM0_LEAST - 1;
        if (m_run(arena, &in, &out) != M_E_SHAPE) return 95;
        free(dim);
        free(size);
%(free)s
    }
    free(arena);
    return 0;
}
'''


def write_main(path, man):
    load, save, free = [], [], []
    for i in range(len(man['lengths']['dims'])):
        load.append('        in.dim%d = dim[%d];' % (i, i))
    for i, _ in enumerate(man['inputs']):
        load.append('        void *p%d = load(to, "in%d"); in.in%d = p%d;' % (i, i, i, i))
        free.append('        free(p%d);' % i)
    for i, io in enumerate(man['outputs']):
        load.append('        int64_t d%d[8] = { 0 };' % i)
        load.append('        void *q%d = malloc(size[%d] + 1); out.out%d = q%d;' % (i, i, i, i))
        if io.get('dynamic'):
            load.append('        out.out%d_dims = d%d;' % (i, i))
        save.append(
            '        save(to, "out%d", q%d, size[%d]); save(to, "dims%d", d%d, sizeof d%d);'
            % (i, i, i, i, i, i)
        )
        free.append('        free(q%d);' % i)
    with open(path, 'w') as f:
        f.write(MAIN % {'load': '\n'.join(load), 'save': '\n'.join(save), 'free': '\n'.join(free)})


def call(o, *words):
    p = subprocess.run(
        [o.inlay, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        timeout=600,
    )
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def write_inputs(folder, tensors):
    flags = []
    for i, tensor in enumerate(tensors):
        with open(os.path.join(folder, 'in%d.pb' % i), 'wb') as f:
            f.write(onnx.make_tensor(tensor.name, tensor.code, tensor.dims, tensor.raw))
        with open(os.path.join(folder, 'in%d' % i), 'wb') as f:
            f.write(tensor.raw)
        flags += ['--input', os.path.join(folder, 'in%d.pb' % i)]
    return flags


def outputs(folder, n):
    return [onnx.read_tensor(os.path.join(folder, 'output_%d.pb' % i)) for i in range(n)]


class Case:
    def __init__(self, o, model, work):
        self.o, self.model, self.work = o, model, work
        self.path, self.out = os.path.join(work, model.name + '.onnx'), os.path.join(work, 'out')
        self.symbols = model.lengths()
        self.sizes = (
            [{s: n for s in self.symbols} for n in LENGTHS]
            if len(self.symbols) == 1
            else [dict(zip(self.symbols, pair)) for pair in [(a, b) for a in SMALL for b in SMALL]]
        )
        self.least = 1
        self.most = LENGTHS[-1] if len(self.symbols) == 1 else SMALL[-1]
        with open(self.path, 'wb') as f:
            f.write(model.blob)

    def bounds(self):
        return [
            w for s in self.symbols for w in ('--dim', '%s=%d..%d' % (s, self.least, self.most))
        ]

    def wanted(self, sizes):
        """A folder with the inputs, and what a compile for these lengths gives."""
        folder = os.path.join(self.work, '_'.join('%s%d' % s for s in sorted(sizes.items())))
        os.mkdir(folder)
        flags = write_inputs(folder, self.model.values(sizes))
        fixed = [w for s, n in sizes.items() for w in ('--dim', '%s=%d' % (s, n))]
        status, _, messages = call(
            self.o, 'run', self.path, *fixed, *flags, '-o', os.path.join(folder, 'want')
        )
        return folder, flags, status, messages

    def compile(self, t):
        status, _, messages = call(
            self.o, 'compile', self.path, '-o', self.out, '--name', 'm', '-q', *self.bounds()
        )
        if not t.ok(self.model.name + ': compiles', status == 0, messages):
            return None
        man = host.manifest(self.out, 'm')
        with open(os.path.join(self.out, 'm.txt')) as f:
            t.ok(self.model.name + ': the report says so', 'length    0 ' in f.read())
        write_main(os.path.join(self.work, 'main.c'), man)
        status, text = host.run(
            [
                'cc',
                '-std=c11',
                host.LEVEL,
                '-Wall',
                '-Wextra',
                '-Wconversion',
                '-Wshadow',
                '-Werror',
            ]
            + (host.SANITIZERS if self.o.all_sane or self.model.name in WATCHED else [])
            + ['-I' + self.out + '/src', os.path.join(self.work, 'main.c')]
            + host.sources(self.out)
            + ['-lm', '-o', os.path.join(self.work, 'run')]
        )
        return man if t.ok(self.model.name + ': the C compiles', status == 0, text) else None

    def compare(self, t, man, sizes, folder):
        what = '%s at %s' % (self.model.name, ', '.join('%s=%d' % s for s in sorted(sizes.items())))
        want = outputs(os.path.join(folder, 'want'), len(man['outputs']))
        for i, (io, tensor) in enumerate(zip(man['outputs'], want)):
            with open(os.path.join(folder, 'out%d' % i), 'rb') as f:
                raw = f.read()
            with open(os.path.join(folder, 'dims%d' % i), 'rb') as f:
                dims = (
                    list(struct.unpack('<8q', f.read()))[: len(tensor.dims)]
                    if io.get('dynamic')
                    else list(io['dims'])
                )
            got = onnx.Tensor('', tensor.code, dims, raw)
            t.ok(
                '%s: result %d' % (what, i),
                dims == list(tensor.dims) and not onnx.difference(got, tensor, 1e-5, 1e-6),
                '%s, not %s; %s'
                % (dims, list(tensor.dims), onnx.difference(got, tensor, 1e-5, 1e-6)),
            )

    def run(self, t):
        man = self.compile(t)
        if not man:
            return
        folders = []
        for sizes in self.sizes:
            folder, flags, status, messages = self.wanted(sizes)
            if not t.ok(
                '%s: runs when compiled for %s' % (self.model.name, sizes), status == 0, messages
            ):
                return
            want = outputs(os.path.join(folder, 'want'), len(man['outputs']))
            with open(os.path.join(folder, 'dim'), 'wb') as f:
                f.write(
                    struct.pack(
                        '<%di' % len(self.symbols),
                        *[sizes[d['symbol']] for d in man['lengths']['dims']]
                    )
                )
            with open(os.path.join(folder, 'size'), 'wb') as f:
                f.write(struct.pack('<%dQ' % len(want), *[len(w.raw) for w in want]))
            folders.append((sizes, folder, flags))
        status, text = host.run([os.path.join(self.work, 'run')] + [f for _, f, _ in folders])
        if not t.ok(self.model.name + ': the C runs', status == 0, '%d: %s' % (status, text)):
            return
        for sizes, folder, _ in folders:
            self.compare(t, man, sizes, folder)
        self.by_the_tool(t, man, folders[1])

    def by_the_tool(self, t, man, run):
        sizes, folder, flags = run
        own = os.path.join(folder, 'own')
        status, _, messages = call(self.o, 'run', self.path, *self.bounds(), *flags, '-o', own)
        same = status == 0 and [(w.dims, w.raw) for w in outputs(own, len(man['outputs']))] == [
            (w.dims, w.raw) for w in outputs(os.path.join(folder, 'want'), len(man['outputs']))
        ]
        t.ok('%s: inlay run takes the length from the files' % self.model.name, same, messages)
        status, text, messages = call(self.o, 'prove', os.path.join(self.out, 'm.json'), self.path)
        t.ok('%s: is proved' % self.model.name, status == 0, messages)


def model(nodes, *inputs):
    return onnx.make_model(
        nodes,
        [onnx.make_value(n, 1, dims) for n, dims in inputs],
        [onnx.put(1, 'y')],
        [onnx.make_tensor('four', onnx.CODES['int64'], [2], struct.pack('<2q', -1, 4))],
    )


def refused(t, o, work):
    add = model([onnx.make_node('Add', ['a', 'b'], ['y'])], ('a', [1, 'T', 4]), ('b', [1, 'T', 4]))
    fours = model([onnx.make_node('Reshape', ['a', 'four'], ['y'])], ('a', ['batch', 'T', 2]))
    paths = {}
    for name, blob in (('add', add), ('fours', fours)):
        paths[name] = os.path.join(work, name + '.onnx')
        with open(paths[name], 'wb') as f:
            f.write(blob)
    for name, what, flags, status, text in (
        ('add', 'bounds that are none', ['--dim', 'T=8..4'], 64, 'no bounds of a length'),
        ('add', 'half of the bounds', ['--dim', 'T=1..'], 64, 'no bounds of a length'),
        ('add', 'bounds twice', ['--dim', 'T=1..4', '--dim', 'T=1..8'], 64, 'given before'),
        ('add', 'too many lengths', ['--dim', 'T=1..5000'], 69, '5000 combinations'),
        ('add', 'an unknown symbol', ['--dim', 'S=1..4'], 64, '"S"'),
        (
            'add',
            'inputs in the arena',
            ['--dim', 'T=1..4', '--io', 'arena'],
            64,
            '--io does not go',
        ),
        ('add', 'threads', ['--dim', 'T=1..4', '--threads', '2'], 64, '--threads does not go'),
        (
            'fours',
            'a length at which it does not compile',
            ['--dim', 'T=2..4'],
            65,
            'this is at T=3; bounds that',
        ),
    ):
        got, _, messages = call(o, 'compile', paths[name], '-o', os.path.join(work, 'none'), *flags)
        once = messages.count(': note: the batch') < 2
        t.ok(
            'refused: ' + what,
            got == status
            and text in messages
            and once
            and not os.path.exists(os.path.join(work, 'none')),
            '%d: %s' % (got, messages),
        )
    got, _, messages = call(o, 'run', paths['fours'], '-i', 'zeros', '--dim', 'T=3..5')
    t.ok(
        'refused: no length of these',
        got == 65 and 'this is at T=5; at T=3 it does not compile either' in messages,
        '%d: %s' % (got, messages),
    )
    files = []
    for n in (3, 4, 9):
        files.append(os.path.join(work, '%d.pb' % n))
        with open(files[-1], 'wb') as f:
            f.write(onnx.make_tensor('', 1, [1, n, 4], bytes(16 * n)))
    for what, pair, text in (
        ('files that disagree', files[:2], 'T is 4 in it, and 3'),
        ('a length out of bounds', [files[2]] * 2, 'not from 1 to 8'),
    ):
        got, _, messages = call(
            o, 'run', paths['add'], '--dim', 'T=1..8', '--input', pair[0], '--input', pair[1]
        )
        t.ok('refused by run: ' + what, got == 65 and text in messages, '%d: %s' % (got, messages))


def empty(t, o, work):
    """A cache that is empty at first."""
    model = sequences.Model(sequences.decoder_cache)
    case = Case(o, model, work)
    case.sizes, case.least, case.most = [{'T': 0}, {'T': 1}, {'T': 5}], 0, 5
    case.run(t)


def damaged(t, o, work):
    """Manifests that say of other lengths what does not hold."""
    path, out = os.path.join(work, 'm.onnx'), os.path.join(work, 'out')
    with open(path, 'wb') as f:
        f.write(sequences.Model(sequences.encoder_mask).blob)
    call(o, 'compile', path, '-o', out, '--name', 'm', '-q', '--dim', 'T=1..9')

    def tried(what, change):
        man = host.manifest(out, 'm')
        change(man)
        with open(os.path.join(work, 'bad.json'), 'w') as f:
            json.dump(man, f)
        status, _, messages = call(o, 'prove', os.path.join(work, 'bad.json'), path)
        t.ok(
            'not proved: ' + what, status in (1, 65, 78) and messages, '%d: %s' % (status, messages)
        )

    def move(man):
        """Two results of the other variant at one place."""
        arena = [x for x in man['variants'][0]['tensors'] if x['storage'] == 'arena']
        for x in arena:
            x['offset'] = arena[0]['offset']

    def all_alike(man):
        man['lengths']['variant_of'] = [0] * 9

    def other(man):
        man['lengths']['variant_of'][3] = 1

    tried('two results at one place', move)
    tried('all lengths of one variant', all_alike)
    tried('a length of the other variant', other)
    tried('a length too few', lambda man: man['lengths']['variant_of'].pop())
    tried('other bounds', lambda man: man['lengths']['dims'][0].update(most=8))
    tried('no variants', lambda man: man['variants'].clear())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    parser.add_argument('--only')
    parser.add_argument('--every', type=int, default=1, help='of the networks')
    parser.add_argument('--all-sane', action='store_true')
    o = parser.parse_args()
    t = tap.Tap()
    if not o.only:
        for more in (refused, empty, damaged):
            with host.Work() as work:
                more(t, o, work)
    for make in sequences.ALL[:: o.every]:
        if o.only and make.__name__ not in o.only.split(','):
            continue
        with host.Work() as work:
            Case(o, sequences.Model(make), work).run(t)
    t.done()


if __name__ == '__main__':
    main()
