# SPDX-License-Identifier: Apache-2.0
"""The generated folder as C: the same bytes each time, no allocator, no stdio and nothing writable
in it, two models in one program, a header for C++, nothing for valgrind to find. That answers are
right is the matter of forms.py.

    generated.py --inlay INLAY --models MODELS"""
import argparse
import os
import shutil
import struct

import host
import onnx
import tap
import trial

FORBIDDEN = {
    'malloc',
    'calloc',
    'realloc',
    'free',
    'alloca',
    'printf',
    'fprintf',
    'puts',
    'putchar',
    'fopen',
    'fwrite',
    'fread',
    'stderr',
    'stdout',
    'exit',
    'abort',
    'sbrk',
    'mmap',
    'pthread_create',
}


def tree(folder):
    found = {}
    for path, _, files in os.walk(folder):
        for f in files:
            with open(os.path.join(path, f), 'rb') as file:
                found[os.path.relpath(os.path.join(path, f), folder)] = file.read()
    return found


def repeated(t, name, model):
    with host.Work() as one, host.Work() as two:
        a, b = (tree(model.compiled(work).out) for work in (one, two))
        t.ok(
            name + ': two compiles are byte-identical',
            a == b,
            [f for f in a if a.get(f) != b.get(f)],
        )


def writable(sections):
    """Of `size -A`: lines of sections that a program may change, with bytes in them."""
    for line in sections.split('\n'):
        words = line.split()
        if (
            words
            and words[0].startswith(('.data', '.bss'))
            and not words[0].startswith('.data.rel.ro')
            and words[1] != '0'
        ):
            yield line


def objects(t, name, model):
    """No allocator, no stdio, nothing writable."""
    with host.Work() as work:
        made = model.compiled(work)
        bad, undefined = [], set()
        for source in host.sources(made.out):
            trial.must(
                'gcc',
                [
                    'gcc',
                    '-std=c99',
                    '-Os',
                    '-I',
                    os.path.join(made.out, 'src'),
                    '-c',
                    source,
                    '-o',
                    'x.o',
                ],
                work,
            )
            bad += [
                '%s: %s' % (os.path.basename(source), line)
                for line in writable(host.run(['size', '-A', 'x.o'], work)[1])
            ]
            undefined |= {
                line.split()[-1].strip('_')
                for line in host.run(['nm', '-u', 'x.o'], work)[1].splitlines()
                if line.split()
            }
    t.ok(name + ': .data and .bss are empty', not bad, bad)
    t.ok(name + ': no allocator, no stdio', not undefined & FORBIDDEN, undefined & FORBIDDEN)


def valgrind(t, name, model):
    if not shutil.which('valgrind'):
        return t.skip(name + ': valgrind', 'valgrind is not installed')
    with host.Work() as work:
        trial.build(work, [model.compiled(work)], flags=['-std=c99', host.LEVEL, '-g'])
        status, text = host.run(['valgrind', '-q', '--error-exitcode=99', './a.out'], work)
        t.ok(name + ': valgrind finds nothing', status == 0, text[:2000])


CXX = (
    '#include "m.h"\n'
    'int use(void *a, const m_inputs *i, const m_outputs *o) { return m_run(a, i, o); }\n'
)


def cxx(t, name, model):
    """The header serves C++ as well."""
    if not shutil.which('g++'):
        return t.skip(name + ': C++', 'g++ is not installed')
    with host.Work() as work:
        made = model.compiled(work)
        with open(os.path.join(work, 'use.cc'), 'w') as f:
            f.write(CXX)
        status, text = host.run(
            [
                'g++',
                '-Wall',
                '-Wextra',
                '-Werror',
                '-I',
                os.path.join(made.out, 'src'),
                '-c',
                'use.cc',
            ],
            work,
        )
        t.ok(name + ': header in C++', status == 0, text)


def test_program(t, name, model):
    """examples/main.c and the sketch's header are C and C++ without a warning, and say that the
    answer is right."""
    with host.Work() as work:
        made = model.compiled(work)
        for compiler, flags in (
            ('gcc', trial.STRICT),
            ('g++', ['-Wall', '-Wextra', '-Werror', '-fpermissive']),
        ):
            if not shutil.which(compiler):
                t.skip('%s: test program by %s' % (name, compiler), compiler + ' is not installed')
                continue
            objects = []
            for source in host.sources(made.out):
                objects.append(os.path.join(work, os.path.basename(source) + '.o'))
                trial.must(
                    'gcc',
                    [
                        'gcc',
                        '-std=c99',
                        host.LEVEL,
                        '-I',
                        os.path.join(made.out, 'src'),
                        '-c',
                        source,
                        '-o',
                        objects[-1],
                    ],
                )
            trial.must(
                compiler,
                [compiler]
                + flags
                + [
                    '-I',
                    os.path.join(made.out, 'src'),
                    os.path.join(made.out, 'examples', 'main.c'),
                ]
                + objects
                + ['-lm', '-o', 'x'],
                work,
            )
            text = trial.must('the test program', ['./x'], work)
            t.ok('%s: test program by %s' % (name, compiler), text == 'm: right (0)\n', text)
        header = os.path.join(made.out, 'src', 'm_golden.h')
        with open(header) as f:
            text = f.read()
        spoilt = text.replace('want0[] = {', 'want0[] = { 7,', 1)
        with open(header, 'w') as f:
            f.write(spoilt)
        trial.must(
            'gcc',
            [
                'gcc',
                '-std=c99',
                '-w',
                '-I',
                os.path.join(made.out, 'src'),
                os.path.join(made.out, 'examples', 'main.c'),
            ]
            + objects
            + ['-lm', '-o', 'x'],
            work,
        )
        status, text = host.run(['./x'], work)
        t.ok(name + ': another answer is found', status == 1 and text == 'm: WRONG (-1)\n', text)


def large_integers(t, inlay):
    """The test program compares integers of more digits than a float has."""
    i32 = onnx.CODES['int32']
    with host.Work() as work:
        model = os.path.join(work, 'model.onnx')
        with open(model, 'wb') as f:
            f.write(
                onnx.make_model(
                    [onnx.make_node('Add', ['x', 'large'], ['y'])],
                    [onnx.make_value('x', i32, [8])],
                    [onnx.make_value('y', i32, [8])],
                    [onnx.make_tensor('large', i32, [1], struct.pack('<i', -1234567891))],
                )
            )
        out = os.path.join(work, 'out')
        trial.must('compile', [inlay, 'compile', model, '-o', out, '--name', 'm'])
        trial.must(
            'gcc',
            ['gcc']
            + trial.STRICT
            + ['-I', os.path.join(out, 'src'), os.path.join(out, 'examples', 'main.c')]
            + host.sources(out)
            + ['-lm', '-o', 'x'],
            work,
        )
        status, text = host.run(['./x'], work)
        t.ok('a test program compares large integers', text == 'm: right (0)\n', text)


def folder_files(t, inlay, model):
    """What others wrote under a build file's name stays, with a note; what an earlier compile wrote
    goes."""
    with host.Work() as work:
        out = os.path.join(work, 'out')
        command = [inlay, 'compile', model.file, '-o', out, '--name', 'm']
        trial.must('compile', command + ['--emit=all'])
        everything = set(tree(out))
        with open(os.path.join(out, 'README.md'), 'a') as f:
            f.write('mine')
        text = trial.must('compile', command + ['--emit=src'])
        left = {f for f in tree(out) if not f.startswith('src/')}
        t.ok(
            '--emit=src: what --emit=all wrote is gone',
            left == {'m.json', 'm.txt', 'README.md'}
            and sorted(os.listdir(out)) == ['README.md', 'm.json', 'm.txt', 'src'],
            left,
        )
        with open(os.path.join(out, 'CMakeLists.txt'), 'w') as f:
            f.write('mine')
        text = trial.must('compile', command + ['--emit=all'])
        files = tree(out)
        t.ok(
            'files of others stay',
            files['CMakeLists.txt'] == b'mine'
            and files['README.md'].endswith(b'mine')
            and set(files) == everything,
            sorted(files),
        )
        t.ok(
            'and a note says so',
            all(f + ' was not written by Inlay' in text for f in ('CMakeLists.txt', 'README.md')),
            text,
        )


HOOK = '''
#include <stdio.h>
#include "m.h"
static long calls[M_STEPS];
static int order = 1, last = -1;
void on_step(int32_t step) { calls[step]++; order &= step >= last; last = step; }
__attribute__((destructor)) static void report(void)
{
    for (int i = 0; i < M_STEPS; i++)
        printf("%ld ", calls[i]);
    printf("%s\\n", order ? "in order" : "mixed");
}
'''


def hook(t, name, model):
    """-DM_ON_STEP: a call for each call of a step, all of them; without it nothing of it is
    there."""
    for flags in [[], ['--plan=overlap']] + ([['--io=rows']] if name == 'digits' else []):
        with host.Work() as work:
            made = model.compiled(work, *flags)
            trial.build(
                work,
                [made],
                flags=trial.STRICT
                + ['-Wno-missing-prototypes', '-DM_ON_STEP=on_step', '-include', 'stdint.h'],
                main=lambda path: open(path, 'a').write(HOOK),
            )
            counts = trial.must('the program', ['./a.out'], work).split()
            steps, streams = len(made.manifest['steps']), any(
                'list' in s for s in made.manifest['schedule']
            )
            calls = [int(c) for c in counts[:steps]]
            own = [s['units'] if streams else 1 for s in made.manifest['steps']]
            good = (
                len(calls) == steps
                and all(1 <= c <= most for c, most in zip(calls, own))
                and (streams or counts[steps:] == ['in', 'order'])
            )
            t.ok(
                '%s %s: a call for each step' % (name, ' '.join(flags)),
                good and made.results() == model.answer(),
                ' '.join(counts),
            )


def together(t, models):
    """All in one program."""
    with host.Work() as work:
        made = [model.compiled(work, name=name) for name, model in models.items()]
        trial.build(work, made, flags=trial.STRICT)
        trial.execute(work)
        bad = [c.name for c in made if c.results() != c.trial.answer()]
        t.ok('two models in one program', not bad, bad)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    o = p.parse_args()
    t = tap.Tap()
    models = {
        name: trial.Trial(o.inlay, os.path.join(o.models, name)) for name in ('digits', 'sine')
    }
    for check in (repeated, objects, valgrind, cxx, test_program, hook):
        for name, model in models.items():
            try:
                check(t, name, model)
            except trial.Refused as e:
                t.fail('%s: %s' % (name, check.__name__), str(e))
    together(t, models)
    large_integers(t, o.inlay)
    folder_files(t, o.inlay, models['sine'])
    t.done()


main()
