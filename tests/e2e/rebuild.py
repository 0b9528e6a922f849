# SPDX-License-Identifier: Apache-2.0
"""A model as a part of a build, with the installed CMake module, and as docs/GENERATED.md says for
Meson and make (its very lines are used): the program has the answers of the model, nothing is done
where nothing changed, and a change of the model, of its external data or of a constant arrives in
the program.

    rebuild.py --build BUILD --docs docs/GENERATED.md"""
import argparse
import os
import shutil
import struct
import tempfile
import time

import host
import onnx
import tap
import trial
from onnx import make_model, make_node, make_tensor, make_value

F32 = 1
LENGTH = 4
ODD = 'my $odd #1 model.onnx'
MAIN = '''#include <stdio.h>
#include "kws.h"
static uint64_t arena[KWS_ARENA_SIZE / 8 + 1];
int main(void)
{
    const float x[4] = { 1, 2, 3, 4 };
    float y[4];
    const kws_inputs in = { x };
    const kws_outputs out = { y };
    if (kws_run(arena, &in, &out)) return 1;
    printf("%g %g %g %g\\n", (double)y[0], (double)y[1], (double)y[2], (double)y[3]);
    return 0;
}
'''
CMAKE = '''cmake_minimum_required(VERSION 3.16)
project(use C)
'''
MESON = "project('use', 'c', meson_version: '>= 0.56')\n"
MAKE = '''program: main.c kws/kws.json
\t$(CC) -o $@ -Ikws/src main.c kws/src/*.c -lm
'''


def write(path, data):
    with open(path, 'wb' if isinstance(data, bytes) else 'w') as f:
        f.write(data)
    return path


def vector(*v):
    return struct.pack('<4f', *v)


class Project:
    """y = op(x * weights, k): the weights are external data, k an input that becomes a constant."""

    def __init__(self, folder, model='kws.onnx'):
        self.folder, self.model = folder, model
        os.makedirs(folder)
        self.put('main.c', MAIN)
        self.change('Add')
        self.weights(1, 2, 3, 4)
        self.constant(0.5)

    def put(self, name, data):
        return write(os.path.join(self.folder, name), data)

    def change(self, op):
        io = [make_value(n, F32, [LENGTH]) for n in 'xky']
        self.put(
            self.model,
            make_model(
                [make_node('Mul', ['x', 'w'], ['p']), make_node(op, ['p', 'k'], ['y'])],
                io[:2],
                io[2:],
                [onnx.make_external('w', F32, [LENGTH], 'far.bin', 0, 16)],
            ),
        )

    def weights(self, *v):
        self.put('far.bin', vector(*v))

    def constant(self, v):
        self.put('k.pb', make_tensor('k', F32, [LENGTH], vector(v, v, v, v)))


def judge(t, name, project, build, program):
    """Each change is later than what was built: file systems may count time in 10 ms."""

    def made(want):
        text = build()
        return trial.must('the program', [program]) == want, text

    t.ok(name + ': the answers', *made('1.5 4.5 9.5 16.5\n'))
    for what, change, want in (
        ('external data', lambda: project.weights(2, 2, 2, 2), '2.5 4.5 6.5 8.5\n'),
        ('a constant', lambda: project.constant(1), '3 5 7 9\n'),
        ('the model', lambda: project.change('Sub'), '1 3 5 7\n'),
    ):
        time.sleep(0.05)
        change()
        t.ok('%s: %s changed' % (name, what), *made(want))
    build()  # a clock that was read before the files were written
    before = os.stat(program).st_mtime_ns
    text = build()
    t.ok(
        name + ': nothing changed, nothing is done',
        os.stat(program).st_mtime_ns == before
        and 'inlay compile' not in text
        and 'onfiguring' not in text,
        text,
    )


def lines_of(docs, first, last, model):
    """The lines of the page from one that begins so to one that begins so, for our model and
    constant."""
    with open(docs) as f:
        lines = f.read().split('\n')
    begin = next(i for i, line in enumerate(lines) if line.startswith('    ' + first))
    end = next(i for i in range(begin, len(lines)) if lines[i].startswith('    ' + last))
    return '\n'.join(line[4:] for line in lines[begin : end + 1]).replace('firmware', 'use') + '\n'


def cmake(t, o, root, work):
    if not shutil.which('cmake'):
        return t.skip('CMake', 'it is not installed')
    config = next(path for path, _, names in os.walk(root) if 'InlayConfig.cmake' in names)
    makers = ['Unix Makefiles'] + (['Ninja'] if shutil.which('ninja') else [])
    for maker in makers:
        project = Project(os.path.join(work, maker), ODD)
        text = lines_of(o.docs, 'find_package(Inlay', 'target_link_libraries', ODD)
        text = text.replace('kws.onnx', '"%s"' % ODD.replace('$', '\\$')).replace(
            '--arena-limit=64K', '--const "k=k.pb"'
        )
        project.put(
            'CMakeLists.txt',
            CMAKE + text.replace('target_link', 'add_executable(use main.c)\ntarget_link'),
        )
        b = os.path.join(project.folder, 'b')
        trial.must(
            'cmake',
            ['cmake', '-S', project.folder, '-B', b, '-G', maker, '-DInlay_DIR=' + config],
            work,
        )
        judge(
            t,
            'CMake, ' + maker,
            project,
            lambda: trial.must('cmake', ['cmake', '--build', b]),
            os.path.join(b, 'use'),
        )
    return None


def meson(t, o, root):
    """Files below /dev, where TMPDIR may be, are none for Meson."""
    with tempfile.TemporaryDirectory(prefix='inlay-test-', dir='/var/tmp') as work:
        in_meson(t, o, root, work)


def in_meson(t, o, root, work):
    project = Project(os.path.join(work, 'meson project'))
    text = lines_of(o.docs, "configure_file(input: 'kws.onnx'", 'executable(', 'kws.onnx')
    text = text.replace(
        "'--arena-limit=64K'",
        "'--weights=incbin', '--const', 'k=' + meson.current_source_dir() / 'k.pb'",
    )
    project.put('meson.build', MESON + text)
    b = os.path.join(project.folder, 'b')
    os.environ['PATH'] = os.path.dirname(find(root, 'inlay')) + os.pathsep + os.environ['PATH']
    trial.must('meson', ['meson', 'setup', b, project.folder])
    judge(
        t, 'Meson', project, lambda: trial.must('meson', ['ninja', '-C', b]), os.path.join(b, 'use')
    )


def make(t, o, root, work):
    if not shutil.which('make'):
        return t.skip('make', 'it is not installed')
    project = Project(os.path.join(work, 'make'))
    text = lines_of(o.docs, 'kws/kws.json: kws.onnx', '-include', 'kws.onnx').replace(
        '--arena-limit=64K', '--const k=k.pb'
    )
    project.put('Makefile', MAKE + text)
    judge(
        t,
        'make',
        project,
        lambda: trial.must('make', ['make', '-C', project.folder]),
        os.path.join(project.folder, 'program'),
    )
    return None


def find(root, name):
    return next(os.path.join(path, name) for path, _, names in os.walk(root) if name in names)


def rules(t, inlay, work):
    """The rule itself, by make: all files, each once, whatever their names; and its target."""
    project = Project(os.path.join(work, 'rules'), ODD)
    out, rule = os.path.join(project.folder, 'out'), os.path.join(project.folder, 'r.d')
    command = [
        inlay,
        'compile',
        ODD,
        '-o',
        'out//',
        '-n',
        'kws',
        '-q',
        '--const',
        'k=k.pb',
        '--depfile',
        rule,
    ]
    for more, target in (
        ([], 'out/kws.json'),
        (['--depfile-target', 'a b'], 'a\\ b'),
        (['--from', 'p', '--shape', 'p=4'], 'out/kws.json'),
    ):
        trial.must('inlay', command + more, project.folder)
        with open(rule) as f:
            text = f.read()
        t.ok('the target is ' + target, text.startswith(target + ': \\\n'), text)
        files = [line.strip(' \\') for line in text.split('\n')[1:-1]]
        t.ok(
            'each file once' + ''.join(more[:1]),
            files
            == [
                ODD.replace('$', '$$').replace(' ', '\\ ').replace('#', '\\#'),
                './far.bin',
                'k.pb',
            ],
            text,
        )
    project.put('words', '--const k=k.pb')
    trial.must(
        'inlay',
        [inlay, 'compile', ODD, '-o', 'out', '-q', '@words', '--depfile', rule],
        project.folder,
    )
    with open(rule) as f:
        t.ok('a file of words is among them', f.read().endswith('words\n'))
    status, text = host.run(
        [inlay, 'compile', ODD, '-o', 'other', '--const', 'k=1', '--depfile', 'none/r.d'],
        project.folder,
    )
    t.ok(
        'a depfile that cannot be written: 73, and no folder',
        status == 73 and not os.path.exists(os.path.join(project.folder, 'other')),
        text,
    )
    status, text = host.run(command + ['--depfile-target', 'a\nb'], project.folder)
    t.ok('a line break in it is refused', status == 64 and 'line break' in text, text)
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--build', required=True)
    p.add_argument('--docs', required=True)
    o = p.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        root = os.path.join(work, 'root')
        trial.must(
            'meson install', ['meson', 'install', '-C', o.build, '--no-rebuild', '--destdir', root]
        )
        rules(t, find(root, 'inlay'), work)
        cmake(t, o, root, work)
        meson(t, o, root)
        make(t, o, root, work)
    t.done()


main()
