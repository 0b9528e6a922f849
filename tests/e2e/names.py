# SPDX-License-Identifier: Apache-2.0
"""Names of models: no file or identifier of a model is one of the runtime, of C or of the system.
Each hostile name is refused with status 64 and a proposal, or all that take it build together into
one program, each seeing the headers of all.

    names.py --inlay INLAY --models MODELS --runtime RUNTIME"""
import argparse
import glob
import os
import re
import shutil

import host
import onnx
import tap

KEYWORDS = '''
    auto break case char const continue default do double else enum extern for goto if inline int
    long register restrict return short signed sizeof static struct switch typedef union unsigned
    void volatile while'''.split()
WORDS = '''
    main exit abort malloc_ free printf_ sin expf fabsf floor null nan infinity true false bool size
    wint int8 uint64 step segment base arena weights params model kws_run kws_weights_data steps p0
    r0 list0 linux unix i386 std this class e o sig fe eof stdin
    a_h pool_h inlays inlayed'''.split()
SYSTEM = '''
    math string stdint stddef stdio stdlib stdbool errno assert limits float complex time signal
    ctype features endian alloca unistd fcntl search link values memory error wait arm_neon arm_mve
    emmintrin immintrin x r w f'''.split()
OURS = [
    'inlay',
    'inlay_check',
    'inlay_run',
    'inlay_act',
    'inlay_conv_f32',
    'inlay_model',
    'kws_weights',
]
MAIN = '''%(before)s
%(headers)s
%(after)s
int main(void)
{
    return %(calls)s ? 1 : 0;
}
'''
STANDARD = ''.join(
    '#include <%s.h>\n' % h
    for h in (
        'assert ctype errno float limits math signal stdio stdlib string time unistd fcntl'
    ).split()
)


def accepted(t, o, work, names):
    """Compiles under each name; those that end well."""
    good = []
    for name in names:
        model = os.path.join(o.models, 'digits' if name in o.runtime_names else 'sine')
        model = glob.glob(model + '/*.onnx')[0]
        out = os.path.join(work, 'out-' + name)
        status, text = host.run([o.inlay, 'compile', model, '-o', out, '--name', name])
        if status == 0:
            good.append(name)
            continue
        t.ok(
            '%s: refused with a proposal' % name,
            status == 64 and 'take another' in text and not os.path.exists(out),
            text,
        )
    return good


def shared_names(work, names):
    """Files of the runtime that have a name that a model's file could have."""
    found = set()
    for name in names:
        files = os.listdir(os.path.join(work, 'out-' + name, 'src'))
        own = {name + '.h', name + '.c', name + '_weights.c', name + '_golden.h'}
        found |= {
            f for f in files if f not in own and not re.match(r'inlay(_[a-z0-9_.]+)?\.(h|def)$', f)
        }
    return found


def objects(work, names, compiler, command):
    """The models' objects in a folder of the compiler's name, made once: they do not depend on the
    program. Headers of vectors are in the small models."""
    folder = os.path.join(work, compiler)
    if os.path.exists(folder):
        return 0, ''
    os.mkdir(folder)
    above = [os.path.join('..', word) if word.startswith('out-') else word for word in command]
    count = 0
    for some, more in ((names[0], []), (names[1], host.PLAIN)):
        sources = [
            os.path.relpath(f, folder)
            for n in some
            for f in host.sources(os.path.join(work, 'out-' + n))
        ]
        count += len(sources)
        status, text = host.run(above + more + ['-c'] + sources, folder)
        if status:
            return status, text
    return (0, '') if len(os.listdir(folder)) == count else (1, 'two sources have one name')


def together(t, work, small, large, compiler, label, before, after):
    """All models in one program, by one command that has the folders of all."""
    names = small + large
    headers = ''.join('#include "%s.h"\n' % n for n in names)
    calls = ' || '.join('(%s_run(NULL, NULL, NULL) != %s_E_ARG)' % (n, n.upper()) for n in names)
    with open(os.path.join(work, 'program.c'), 'w') as f:
        f.write(MAIN % dict(before=before, headers=headers, after=after, calls=calls))
    command = (
        [compiler]
        + host.STRICT
        + ['-O0' if compiler == 'clang' else host.LEVEL]
        + [word for n in names for word in ('-I', 'out-%s/src' % n)]
    )
    status, text = objects(work, (small, large), compiler, command)
    if not status:
        made = [os.path.join(compiler, f) for f in os.listdir(os.path.join(work, compiler))]
        status, text = host.run(command + ['-o', 'program', 'program.c'] + made + ['-lm'], work)
    if t.ok(
        '%d models in one program by %s, %s' % (len(names), compiler, label),
        status == 0,
        text[:3000],
    ):
        status, text = host.run(['./program'], work)
        t.ok('it runs (%s, %s)' % (compiler, label), status == 0, 'exit %d %s' % (status, text))


def answers(t, o, work, name):
    """A model under the name of a kernel's file gives the reference answer."""
    folder = os.path.join(o.models, 'digits')
    data, want = host.test_data(folder)
    host.write_main(
        work, [(name, host.manifest(os.path.join(work, 'out-' + name), name), [x for _, x in data])]
    )
    out = os.path.join(work, 'out-' + name)
    status, text = host.run(
        ['gcc']
        + host.STRICT
        + host.PLAIN
        + [host.LEVEL, '-I', out + '/src', '-o', 'one', 'main.c']
        + host.sources(out)
        + ['-lm'],
        work,
    )
    status, text = host.run(['./one'], work) if not status else (status, text)
    bad = (
        text
        if status
        else onnx.difference(host.results(work, name, host.manifest(out, name))[0], want[0])
    )
    t.ok('%s: the reference answer' % name, not bad, bad)


def derived(t, o, work, names):
    """A model's file may be called anything: a name that cannot be is changed."""
    for name in names:
        path, out = os.path.join(work, name + '.onnx'), os.path.join(work, 'derived-' + name)
        shutil.copy(glob.glob(os.path.join(o.models, 'sine', '*.onnx'))[0], path)
        status, text = host.run([o.inlay, 'compile', path, '-o', out])
        header = os.path.join(out, 'src', 'model_%s.h' % name)
        t.ok(
            '%s.onnx compiles as model_%s' % (name, name),
            status == 0 and os.path.exists(header),
            text,
        )
        status, text = host.run(
            ['gcc']
            + host.STRICT
            + ['-O0', '-c', '-I', out + '/src', out + '/src/model_%s.c' % name, '-o', 'x.o'],
            work,
        )
        t.ok('%s.onnx: its C compiles' % name, status == 0, text[:1000])


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    p.add_argument('--runtime', required=True)
    o = p.parse_args()
    t = tap.Tap()
    runtime = sorted(
        {
            os.path.basename(f).split('.')[0]
            for f in glob.glob(os.path.join(o.runtime, 'kernels', '*.h'))
        }
    )
    o.runtime_names = [
        n
        for n in (
            'act',
            'pool',
            'cast',
            'vec',
            'softmax',
            'conv_f32',
            'matmul',
            'tile_f32',
            'math_f32',
        )
        if n in runtime
    ]
    with host.Work() as work:
        names = accepted(
            t, o, work, sorted(set(KEYWORDS + WORDS + SYSTEM + OURS + o.runtime_names))
        )
        t.ok('most names are taken', len(names) >= 70, names)
        t.ok('names of kernel files are taken', set(o.runtime_names) <= set(names), names)
        t.ok(
            'files of the runtime have names that no model has',
            not shared_names(work, names),
            shared_names(work, names),
        )
        small, large = (
            [n for n in names if (n in o.runtime_names) == kind] for kind in (False, True)
        )
        for compiler in ('gcc', 'clang'):
            if not shutil.which(compiler):
                t.skip(compiler, 'not installed')
                continue
            posix = '#define _POSIX_C_SOURCE 200809L\n'
            together(
                t, work, small, large, compiler, 'headers of the system first', posix + STANDARD, ''
            )
        together(t, work, small, large, 'gcc', 'headers of the system last', posix, STANDARD)
        for name in o.runtime_names[:2]:
            answers(t, o, work, name)
        derived(t, o, work, ('math', 'inlay', 'x', 'inlay_run'))
    t.done()


main()
