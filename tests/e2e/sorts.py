# SPDX-License-Identifier: Apache-2.0
"""Output does not depend on what a C library's qsort() does with elements that compare equal: each
model is compiled twice, once with a qsort() that turns those round, and all files have the same
bytes.

    sorts.py --inlay INLAY [--options WORDS].. FOLDER..

All models below the folders but those of more than 20 MB; folders that are not there are skipped.
The other qsort() is loaded before the system's (LD_PRELOAD): where that cannot be, as with
sanitizers, all is skipped."""
import argparse
import glob
import os
import shlex

import host
import tap

# A merge sort, of the elements from the last to the first.
SOURCE = r'''
#include <stdlib.h>
#include <string.h>

typedef int Compare(const void *, const void *);

static void merge(const char *from, char *to, size_t middle, size_t n, size_t size,
                  Compare *compare)
{
    size_t left = 0, right = middle;
    for (size_t k = 0; k < n; k++) {
        int first = left < middle;
        if (first && right < n)
            first = compare(from + left * size, from + right * size) <= 0;
        memcpy(to + k * size, from + (first ? left++ : right++) * size, size);
    }
}

void qsort(void *base, size_t n, size_t size, Compare *compare)
{
    char *at = base, *from = malloc(n * size + 1), *to = malloc(n * size + 1);
    if (!from || !to)
        abort();
    for (size_t i = 0; i < n; i++)
        memcpy(from + i * size, at + (n - 1 - i) * size, size);
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t a = 0; a < n; a += 2 * width) {
            size_t many = n - a < 2 * width ? n - a : 2 * width;
            merge(from + a * size, to + a * size, width < many ? width : many, many, size, compare);
        }
        char *other = from;
        from = to;
        to = other;
    }
    memcpy(at, from, n * size);
    free(from);
    free(to);
}
'''
# Ends with 0 where the other qsort() is in use: the system's may turn them round, too, which does
# no harm.
PROOF = r'''
#include <stdlib.h>

static int by_tens(const void *a, const void *b)
{
    return *(const int *)a / 10 - *(const int *)b / 10;
}

int main(void)
{
    int x[] = { 20, 21, 22, 10, 11, 12 };
    qsort(x, 6, sizeof *x, by_tens);
    return !(x[0] == 12 && x[1] == 11 && x[2] == 10 && x[3] == 22);
}
'''


MOST = 20 << 20


def models_below(folder):
    found = sorted(glob.glob(os.path.join(folder, '**', '*.onnx'), recursive=True))
    return [path for path in found if os.path.getsize(path) <= MOST]


def build(work, name, text, *flags):
    source, made = os.path.join(work, name + '.c'), os.path.join(work, name)
    with open(source, 'w') as f:
        f.write(text)
    status, said = host.run(['cc', '-O2', *flags, source, '-o', made])
    return None if status else made


def contents(folder):
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(at, name), 'rb') as f:
                found[os.path.relpath(os.path.join(at, name), folder)] = f.read()
    return found


def compiled(inlay, model, options, folder, env=None):
    status, said = host.run([inlay, 'compile', model, '-o', folder, '-q', *options], env=env)
    return (contents(folder) if status == 0 else {}), status, said


def check(t, inlay, model, options, other, work):
    usual, status, said = compiled(inlay, model, options, os.path.join(work, 'usual', 'out'))
    turned, turned_status, _ = compiled(
        inlay, model, options, os.path.join(work, 'turned', 'out'), other
    )
    differ = [name for name in sorted({*usual, *turned}) if usual.get(name) != turned.get(name)]
    if status != turned_status:
        return ['%s: status %d and %d: %s' % (model, status, turned_status, said[-300:])]
    return ['%s: %s' % (model, ', '.join(differ))] if differ else []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    parser.add_argument('--options', action='append', default=[''])
    parser.add_argument('folders', nargs='+')
    o = parser.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        library = build(work, 'turned.so', SOURCE, '-shared', '-fPIC')
        proof = build(work, 'proof', PROOF)
        other = {'LD_PRELOAD': library or ''}
        if (
            not library
            or not proof
            or host.run([proof], env=other)[0]
            or host.run([o.inlay, '--version'], env=other)[0]
        ):
            t.skip('sorts', 'no qsort() can be loaded before the system\'s')
            return t.done()
        models = [m for folder in o.folders for m in models_below(folder)]
        for words in o.options:
            bad = [b for m in models for b in check(t, o.inlay, m, shlex.split(words), other, work)]
            t.ok('%d models %s' % (len(models), words), not bad, '\n'.join(bad[:10]))
    return t.done()


if __name__ == '__main__':
    main()
