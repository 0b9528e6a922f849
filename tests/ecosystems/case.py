# SPDX-License-Identifier: Apache-2.0
"""A model compiled to a folder with all build files, and what its program must say."""
import os
import re
import shutil
import struct
import sys

import host
import trial

GOLDEN_MAIN = (
    '#include <stdio.h>\n'
    '#include "%s_golden.h"\n'
    'int main(void) { printf("golden %%d\\n", %s_golden()); return 0; }\n'
)

# Programs of this host, for which most systems choose no level: -O0 takes gcc four times as long.
HOST_ENV = {'CFLAGS': ' '.join([host.LEVEL] + host.PLAIN)}

HERE = os.path.dirname(os.path.abspath(__file__))


class Absent(Exception):
    """Why a system cannot be tried here."""


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as f:
        f.write(text)


def python_with(*modules):
    """A Python that has them: the one of INLAY_PYTHON, this one, or the system's."""
    known = [os.environ.get('INLAY_PYTHON'), sys.executable, '/usr/bin/python3']
    for python in filter(None, known):
        if (
            os.path.exists(python)
            and host.run([python, '-c', 'import ' + ', '.join(modules)])[0] == 0
        ):
            return python
    raise Absent('no Python here has %s (INLAY_PYTHON names another)' % ', '.join(modules))


def need(*programs):
    for p in programs:
        if not shutil.which(p):
            raise Absent('%s is not installed' % p)


def close(got, want):
    """Equal but for the last bits of floats."""
    pairs = zip(struct.iter_unpack('<f', got), struct.iter_unpack('<f', want))
    return len(got) == len(want) and all(abs(a - b) <= 1e-6 + 1e-5 * abs(b) for (a,), (b,) in pairs)


class Case:
    """A model compiled to a folder called as it is, with all build files, in a working folder of
    its own."""

    def __init__(self, o, name, work, env):
        self.o, self.name, self.work, self.env = o, name, work, env
        self.folder = os.path.join(work, name)
        self.compile()

    def compile(self, *flags):
        """The folder, anew where there is one."""
        shutil.rmtree(self.folder, ignore_errors=True)
        model = trial.Trial(self.o.inlay, os.path.join(self.o.models, self.name))
        self.compiled = model.compiled(self.work, '--emit', 'all', *flags, name=self.name)
        os.rename(self.compiled.out, self.folder)
        self.compiled.out = self.folder

    def must(self, *command, cwd=None, env=None):
        status, text = host.run(
            [str(c) for c in command], cwd or self.work, 900, dict(self.env, **(env or {}))
        )
        if status:
            raise RuntimeError('%s: status %d\n%s' % (command[0], status, text[-3000:]))
        return text

    def main(self, path):
        """A program that reads inputs and writes results."""
        host.write_main(self.work, [self.compiled.part()])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.replace(os.path.join(self.work, 'main.c'), path)

    def judge(self, program):
        """Its results are those of `inlay run`, but for the last bits."""
        self.must(program)
        for (dims, got), (want_dims, want) in zip(
            self.compiled.results(), self.compiled.trial.answer()
        ):
            assert dims == want_dims and close(got, want), 'other results than inlay run'

    def judge_text(self, text):
        assert re.search(r'golden 0\b', text), 'the golden test fails: ' + text[-500:]

    def archive(self, name):
        """Links to what is in an archive, which is unpacked once for all cases."""
        path = os.path.join(self.o.ecosystems or '', name)
        if not self.o.ecosystems or not os.path.exists(path):
            raise Absent('%s is not at hand' % name)
        folder = os.path.join(self.o.unpacked, name)
        if not os.path.exists(folder):
            os.mkdir(folder)
            self.must('tar', '-xf', path, '-C', folder)
        for entry in os.listdir(folder):
            link = os.path.join(self.work, entry)
            if not os.path.islink(link):
                os.symlink(os.path.join(folder, entry), link)
