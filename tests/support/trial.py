# SPDX-License-Identifier: Apache-2.0
"""A test model under any options of the compiler: its results by `inlay run`, by the C that it
becomes, its plan by `inlay prove`."""
import json
import os
import shutil

import host
import onnx

STRICT = host.STRICT + [host.LEVEL, '-ffp-contract=off']
SANITIZE = host.SANITIZERS + ['-ffp-contract=off']


class Refused(RuntimeError):
    """A command that did not end with 0."""

    def __init__(self, what, status, text):
        super().__init__('%s: status %d\n%s' % (what, status, text[:2000]))
        self.status = status


def must(what, command, cwd=None, limit=900):
    status, text = host.run(command, cwd, limit)
    if status:
        raise Refused(what, status, text)
    return text


def sanitizing(compiler='gcc'):
    """The flags for its sanitizers; None where their library is not installed."""
    with host.Work() as work:
        with open(os.path.join(work, 'x.c'), 'w') as f:
            f.write('int main(void) { return 0; }\n')
        flags = SANITIZE + (
            ['-fsanitize=pointer-overflow', '-Wno-unused-command-line-argument']
            if compiler == 'clang'
            else []
        )
        return flags if host.run([compiler] + flags + ['x.c'], work)[0] == 0 else None


class Trial:
    """A model with inputs: FOLDER/*.onnx, FOLDER/test_data_set_0. `shape`: flags, where the inputs'
    own dimensions are not meant; such a trial has no inputs."""

    def __init__(self, inlay, folder, shape=None):
        self.inlay, self.file = inlay, host.model_of(folder)
        self.data, self.want = host.test_data(folder) if shape is None else ([], [])
        self.data = self.data[: len(onnx.read_io(self.file)[0])]
        self.shape = host.shape_flags(self.file, self.data) if shape is None else shape
        self.kept = {}

    def once(self, *key, make):
        """Many forms are compared with the same one: it is made once."""
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    def answer(self, *flags):
        """[(dims, bytes)] of all results by `inlay run`."""
        return self.once('answer', *flags, make=lambda: self.run(flags))

    def run(self, flags):
        with host.Work() as work:
            inputs = [x for path, _ in self.data for x in ('--input', path)]
            must(
                'inlay run',
                [self.inlay, 'run', self.file, '-o', work] + self.shape + list(flags) + inputs,
            )
            count = len([f for f in os.listdir(work) if f.endswith('.pb')])
            return [
                plain(onnx.read_tensor(os.path.join(work, 'output_%d.pb' % i)))
                for i in range(count)
            ]

    def analyze(self, *flags):
        """The manifest as `inlay analyze --json` prints it, behind warnings."""

        def make():
            text = must(
                'inlay analyze',
                [self.inlay, 'analyze', self.file, '--json'] + self.shape + list(flags),
            )
            return json.loads(text[text.index('{') :])

        return self.once('analyze', *flags, make=make)

    def compiled(self, work, *flags, name='m'):
        return Compiled(self, work, name, flags)


def plain(tensor):
    return list(tensor.dims), tensor.raw


class Compiled:
    """A trial's folder of C: `out` below `work`."""

    def __init__(self, trial, work, name, flags):
        self.trial, self.work, self.name, self.out = (
            trial,
            work,
            name,
            os.path.join(work, 'out-' + name),
        )
        must(
            'inlay compile',
            [trial.inlay, 'compile', trial.file, '-o', self.out, '--name', name]
            + trial.shape
            + list(flags),
        )
        self.manifest = host.manifest(self.out, name)

    def prove(self):
        must(
            'inlay prove',
            [
                self.trial.inlay,
                'prove',
                os.path.join(self.out, self.name + '.json'),
                self.trial.file,
            ],
        )

    def source(self, file):
        return os.path.join(self.out, 'src', file)

    def part(self):
        """Its part of main.c, for host.write_main()."""
        return self.name, self.manifest, [tensor for _, tensor in self.trial.data]

    def results(self):
        return [plain(t) for t in host.results(self.work, self.name, self.manifest)]


def build(work, compiled, compiler='gcc', flags=(), main=None):
    """One program of all; `main` may change the text of main.c. Raises Refused."""
    host.write_main(work, [c.part() for c in compiled])
    if main:
        main(os.path.join(work, 'main.c'))
    command = [compiler] + list(flags) + ['main.c']
    for c in compiled:
        command += ['-I', os.path.join(c.out, 'src')] + host.sources(c.out)
        if c.manifest['weights']['form'] == 'bin' and c.manifest['weights']['size']:
            shutil.copy(c.source(c.name + '_weights.bin'), work)
        if c.manifest['weights']['form'] == 'stream' and c.manifest['weights']['size']:
            shutil.copy(os.path.join(c.out, c.name + '.blob'), work)
    must(compiler, command + ['-lm'], work)


def execute(work):
    """Runs what build() made. Raises Refused."""
    must('the program', ['./a.out'], work)
