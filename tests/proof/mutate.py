# SPDX-License-Identifier: Apache-2.0
"""Mutation test: changes one operator, constant or condition of a C file at a time, and asks its
unit tests whether they see it.

    mutate.py --build BUILD [--cases N] [--sample N] [--seed N] [--explained FILE] [--least PERCENT]
    [--whole FOLDER,...]
              [--checked BUILD] FILE=TEST[,TEST...]...

FILE is below compiler/, TEST one of tests/unit: prove/bound.c=prove/bound,plan/stream. Only the
file is compiled anew, with the flags of BUILD; its object stands before the library of the others
when the test is linked. A mutant is caught where a test fails, crashes or takes ten times as long
as without it. Not counted: asserts and what only documented faults of ours reach
(`STATUS_INTERNAL`), mutants of which the compiler makes the same object, and those that --explained
lists: FILE, mutant, its line and why no test can tell, between tabs. --checked: what survives is
tried once more with the sanitizers of that build. --least: status 1 where fewer are caught;
--whole: or where a file of the folder is not among those given, or a line of the list is of
none."""
import argparse
import concurrent.futures
import contextlib
import functools
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SWAPS = {
    '<': ['<='],
    '<=': ['<'],
    '>': ['>='],
    '>=': ['>'],
    '==': ['!='],
    '!=': ['=='],
    '&&': ['||'],
    '||': ['&&'],
    '+': ['-'],
    '-': ['+'],
    '*': ['+'],
    '/': ['*'],
    '%': ['/'],
    '+=': ['-='],
    '-=': ['+='],
    '|=': ['&='],
    '&=': ['|='],
    '++': ['--'],
    'true': ['false'],
    'false': ['true'],
    'continue': ['break'],
    'i64_max': ['i64_min'],
    'i64_min': ['i64_max'],
}
TOKEN = re.compile(
    r'//.*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|0x[0-9a-fA-F]+|\d[\w.]*'
    r'|<<=|>>=|->|\+\+|--|<<|>>|[-+*/%&|^=!<>]=|&&|\|\||[-+*/%<>!&|^~?:=;,.(){}\[\]#]',
    re.S,
)
LEFT_OUT = re.compile(r'assert\(|STATUS_INTERNAL|^\s*#|^static const|^ \*')
SAME = re.compile(
    r'NEW_ARRAY\(|\.(byte|node) = -1'
)  # room that nothing uses; no place, whichever number says so
LEAST = re.compile(
    r'(\S+) [<>] (\S.*?) \? (?:\(\w+\))?\1 : \2'
)  # where both are equal, either will do


def is_binary(before):
    """Does an operand stand before the operator?"""
    return (
        bool(before)
        and (re.match(r'[\w\])]', before[-1]) is not None)
        and before not in ('return', 'case', 'const', 'sizeof')
    )


def is_type(text):
    return (
        text in ('int', 'void', 'char', 'float', 'double', 'bool', 'size_t', 'const')
        or text.endswith('_t')
        or text[:1].isupper()
        and text[1:2].islower()
    )


def mutants(source):
    """[(line, what, the changed source)]"""
    lines, found, before = source.split('\n'), [], ''
    body = source.find('\n{') % (len(source) + 1)  # declarations hold nothing to mutate
    for m in TOKEN.finditer(source):
        token, line = m.group(), source.count('\n', 0, m.start())
        if token[:2] in ('/*', '//'):
            continue
        last, before = before, token
        if m.start() < body or LEFT_OUT.search(lines[line]):
            continue
        new = []
        if token in SWAPS and (
            token not in '+-*' or is_binary(last) and not (token == '*' and is_type(last))
        ):
            new = [] if token in '<>' and LEAST.search(lines[line]) else SWAPS[token]
        elif (
            re.fullmatch(r'0|[1-9]\d*', token)
            and last not in ('[', 'case')
            and int(token) < 1000
            and not SAME.search(lines[line])
        ):
            new = [str(int(token) + 1)]
        elif token == '!':
            new = ['']
        for text in new:
            found.append(
                (
                    line + 1,
                    '%s -> %s' % (token, text or 'nothing'),
                    source[: m.start()] + text + source[m.end() :],
                )
            )
    for m in re.finditer(r'\b(if|while) \((?=(.))', source):
        if m.start() >= body and not LEFT_OUT.search(lines[source.count('\n', 0, m.start())]):
            end = closing(source, m.end() - 1)
            found.append(
                (
                    source.count('\n', 0, m.start()) + 1,
                    'condition turned',
                    source[: m.end()] + '!(' + source[m.end() : end] + ')' + source[end:],
                )
            )
    return sorted(found, key=lambda mutant: mutant[0])


def closing(source, at):
    depth = 0
    for i in range(at, len(source)):
        depth += {'(': 1, ')': -1}.get(source[i], 0)
        if not depth:
            return i
    raise ValueError('a parenthesis that does not close')


class File:
    def __init__(self, o, build, work, file, tests):
        self.o, self.build, self.work, self.file, self.tests = o, build, work, file, tests
        with open(os.path.join(ROOT, 'compiler', file)) as f:
            self.source = f.read()
        with open(os.path.join(build, 'compile_commands.json')) as f:
            commands = json.load(f)
        self.command = next(
            c
            for c in commands
            if os.path.normpath(os.path.join(c['directory'], c['file']))
            == os.path.join(ROOT, 'compiler', file)
        )
        self.links = [self.link_of(test) for test in tests]
        self.plain = self.compile(self.source, 'plain')
        self.seconds = [self.measure(i) for i in range(len(tests))]
        self.order = sorted(
            range(len(tests)), key=lambda i: self.seconds[i]
        )  # most are caught by the quickest

    def link_of(self, test):
        """The words that link a unit test, without the result."""
        target = 'tests/unit/unit-' + test.replace('/', '_')
        lines = subprocess.run(
            ['ninja', '-C', self.build, '-t', 'commands', '-s', target],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        words = shlex.split(lines[-1])
        at = words.index('-o')
        return words[:at], words[at + 2 :]

    def compile(self, source, name):
        """The bytes of its object, in which no name of a mutant stands."""
        folder = os.path.join(self.work, name)
        os.mkdir(folder)
        path = os.path.join(folder, os.path.basename(self.file))
        with open(path, 'w') as f:
            f.write(source)
        words = [
            w for w in shlex.split(self.command['command']) if w not in ('-MD', '-g', 'ccache')
        ]
        for option in ('-MQ', '-MF', '-o', '-c'):
            at = words.index(option)
            del words[at : at + 2]
        words += [
            '-w',
            '-O1',
            '-ffile-prefix-map=%s=.' % folder,
            '-c',
            path,
            '-o',
            os.path.join(folder, 'o.o'),
        ]
        if subprocess.run(words, cwd=self.command['directory'], capture_output=True).returncode:
            return None
        with open(words[-1], 'rb') as f:
            return f.read()

    def run(self, i, name, limit):
        """Does test i pass?"""
        program = os.path.join(self.work, '%s-%d' % (name, i))
        head, tail = self.links[i]
        subprocess.run(
            head + ['-o', program, os.path.join(self.work, name, 'o.o')] + tail,
            cwd=self.build,
            check=True,
            capture_output=True,
        )
        env = dict(
            os.environ,
            INLAY_SOURCE=ROOT,
            ASAN_OPTIONS='allocator_may_return_null=1:detect_leaks=0',
            **({'INLAY_CASES': str(self.o.cases)} if self.o.cases else {})
        )
        try:
            return (
                subprocess.run([program], env=env, capture_output=True, timeout=limit).returncode
                == 0
            )
        except subprocess.TimeoutExpired:
            return False
        finally:
            os.remove(program)

    def measure(self, i):
        begin = time.time()
        if not self.run(i, 'plain', 600):
            sys.exit('%s fails before anything is changed' % self.tests[i])
        return time.time() - begin

    def judge(self, k, mutant):
        """'caught', 'survived', 'same' or 'no C'."""
        name = 'm%d' % k
        made = self.compile(mutant[2], name)
        if made is None:
            verdict = 'no C'
        elif made == self.plain:
            verdict = 'same'
        else:
            caught = any(not self.run(i, name, 2 + 10 * self.seconds[i]) for i in self.order)
            verdict = 'caught' if caught else 'survived'
        shutil.rmtree(os.path.join(self.work, name))
        return verdict


def judge(builds, k, mutant):
    """The first build's verdict, but where a mutant survives there the others'."""
    verdict = 'survived'
    for file in builds:
        if verdict == 'survived':
            verdict = file.judge(k, mutant)
    return verdict if verdict != 'same' or file is builds[0] else 'survived'


def read_explained(path):
    """{file: {(mutant, line)}}; each is of a line that there is."""
    explained = {}
    if path:
        with open(path) as f:
            rows = [
                line.rstrip('\n').split('\t')
                for line in f
                if line.strip() and not line.startswith('#')
            ]
        for file, what, text, why in rows:
            with open(os.path.join(ROOT, 'compiler', file)) as f:
                if text not in (line.strip() for line in f) or not why:
                    sys.exit('%s: %s has no such line: %s' % (path, file, text))
            explained.setdefault(file, set()).add((what, text))
    return explained


def absent(folders, given):
    """C files of the folders that nobody tests."""
    files = [
        os.path.join(folder, name)
        for folder in folders
        for name in os.listdir(os.path.join(ROOT, 'compiler', folder))
        if name.endswith('.c')
    ]
    return sorted(set(files) - {g.partition('=')[0] for g in given})


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--build', required=True, type=os.path.abspath)
    p.add_argument('--cases', type=int, default=0)
    p.add_argument('--sample', type=int, default=0)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--jobs', type=int, default=os.cpu_count())
    p.add_argument('--checked', type=os.path.abspath)
    p.add_argument('--explained')
    p.add_argument('--least', type=float, default=0)
    p.add_argument('--whole', default='')
    p.add_argument('files', nargs='+')
    o = p.parse_args()
    missing = absent([f for f in o.whole.split(',') if f], o.files)
    if missing:
        sys.exit('no tests are given for ' + ', '.join(missing))
    explained = read_explained(o.explained)
    caught = counted = 0
    for given in o.files:
        name, _, tests = given.partition('=')
        builds = [o.build] + ([o.checked] if o.checked else [])
        for build in builds:
            subprocess.run(
                ['ninja', '-C', build]
                + ['tests/unit/unit-' + t.replace('/', '_') for t in tests.split(',')],
                check=True,
                capture_output=True,
            )
        with contextlib.ExitStack() as stack:
            made = [
                File(
                    o,
                    build,
                    stack.enter_context(tempfile.TemporaryDirectory(prefix='inlay-mutants-')),
                    name,
                    tests.split(','),
                )
                for build in builds
            ]
            known, lines = explained.get(name, set()), made[0].source.split('\n')
            chosen = [
                m for m in mutants(made[0].source) if (m[1], lines[m[0] - 1].strip()) not in known
            ]
            if o.sample and o.sample < len(chosen):
                chosen = sorted(random.Random(o.seed).sample(chosen, o.sample), key=lambda m: m[0])
            with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
                verdicts = list(
                    pool.map(functools.partial(judge, made), range(len(chosen)), chosen)
                )
        for (line, what, _), verdict in zip(chosen, verdicts):
            if verdict == 'survived':
                print('%s:%d: survived: %s' % (name, line, what))
        n = [verdicts.count(v) for v in ('caught', 'survived', 'same', 'no C')]
        print(
            '%s: %d caught of %d, %.1f %% (%d the same object, %d no C)'
            % (name, n[0], n[0] + n[1], 100 * n[0] / max(1, n[0] + n[1]), n[2], n[3]),
            flush=True,
        )
        caught, counted = caught + n[0], counted + n[0] + n[1]
    print('%d caught of %d, %.1f %%' % (caught, counted, 100 * caught / max(1, counted)))
    sys.exit(100 * caught < o.least * counted)


main()
