# SPDX-License-Identifier: Apache-2.0
"""Valid models, changed: each that the compiler accepts becomes C, is built with sanitizers and run
on extreme inputs in buffers of exactly their size. A run may return 0, E_SHAPE or E_INDEX; the
compiler (a checked build) may end with any documented status but 70. With --inside the compiler's
own process runs the same steps by the same kernels: ten times as many in the time, and the C
compiler left out. Everything is made from a seed and a number: `--only NUMBER` replays one and
keeps it.

    mutants.py --compile MUTANTS-COMPILE --models MODELS [--seed S] [--count N] [--first N] [--only
    N,N] [--chains N] [--keep DIR] NODE-TESTS..."""
import argparse
import collections
import os
import random
import re
import shutil
import time

import bases
import edits
import host
import onnx
import tap
import tree

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = ['-Og', '-w', '-std=c99', '-fsanitize=float-cast-overflow'] + host.SANITIZERS
LEVELS = ['stream', 'stream', 'stream', 'overlap', 'order', 'simple']
PLACES = {'simple': 1, 'order': 2, 'overlap': 3, 'stream': 4}  # of PlanLevel
# Work that is not worth waiting for, and is no fault: bytes of one run, multiplications.
MOST_BYTES, MOST_MACS = 4 << 20, 20000000
GROUP = 40
OPTIONS = {
    'ASAN_OPTIONS': 'detect_leaks=0:allocator_may_return_null=1:handle_abort=1:handle_sigill=1:'
    'hard_rss_limit_mb=3000',
    'UBSAN_OPTIONS': 'print_stacktrace=1',
}
BAD_STATUS = {70: 'the compiler calls it its own fault (70)'}


class Mutant:
    def __init__(self, stock, seed, number, left_out=()):
        self.number, self.name, self.bad = number, 'm%d' % number, ''
        rng = random.Random('%d/%d' % (seed, number))
        self.base = stock.choose(rng)
        model = tree.decode('model', stock.blobs[self.base])
        self.count = rng.choice([1, 1, 1, 2, 2, 3, 4])
        self.did = []
        if rng.random() < 0.5:
            edits.forget_results(rng, model, stock)
        for k in range(self.count):
            mine = random.Random('%d/%d/%d' % (seed, number, k))
            if k not in left_out:
                self.did += self.change(mine, model, stock)
        self.level = rng.choice(LEVELS)
        self.blob = tree.encode(model)

    def change(self, rng, model, stock):
        functions, weights = zip(*edits.EDITS)
        for _ in range(8):
            did = rng.choices(functions, weights)[0](rng, model, stock)
            if did:
                return [did]
        return []

    def __str__(self):
        return 'number %d, %s, --plan %s: %s' % (
            self.number,
            self.base,
            self.level,
            '; '.join(self.did),
        )


def compile_all(o, work, mutants):
    """Sets .status, .said of each; {name: manifest} of those to run."""
    lines = ''
    for m in mutants:
        with open(os.path.join(work, m.name + '.onnx'), 'wb') as f:
            f.write(m.blob)
        lines += (
            '{0} {0}.log compile {0}.onnx -o out-{0} --name {0} --plan {1} --weights c '
            '--no-hash --max-memory 512M\n'
        ).format(m.name, m.level)
        if o.inside:
            lines += '{0}-run {0}.run run-extremes {0}.onnx {1} {2}\n'.format(
                m.name, PLACES[m.level], o.seed
            )
    with open(os.path.join(work, 'list'), 'w') as f:
        f.write(
            lines
            if not o.inside
            else ''.join(line + '\n' for line in lines.splitlines() if ' run-extremes ' in line)
        )
    status, text = host.run(
        ['sh', '-c', 'exec "$0" <list', o.compile], work, limit=3600, env=OPTIONS
    )
    ended = {
        line.split()[0]: line.split()[1:]
        for line in text.splitlines()
        if re.match(r'm\d+(-run)? -?\d+ \d+$', line)
    }
    if o.inside:
        return note_inside(work, mutants, ended)
    for m in mutants:
        m.status, m.cpu = map(int, ended.get(m.name, (-1, 0)))
        m.said = read_text(os.path.join(work, m.name + '.log'))
        if (
            m.status < 0
            or m.status not in host.DOCUMENTED
            or m.status in BAD_STATUS
            or 'Sanitizer' in m.said
            or 'runtime error:' in m.said
        ):
            m.bad = 'compiler: ' + (
                reason(m.said) or BAD_STATUS.get(m.status, 'ended with %d' % m.status)
            )
    return {
        m.name: host.manifest(os.path.join(work, 'out-' + m.name), m.name)
        for m in mutants
        if not m.status and not m.bad
    }


def note_inside(work, mutants, ended):
    """What was compiled and run in one process: there is nothing left to build."""
    for m in mutants:
        status, m.cpu = map(int, ended.get(m.name + '-run', (-1, 0)))
        m.said = read_text(os.path.join(work, m.name + '.run'))
        runs = re.findall(r'run \d+, .*', m.said)
        m.status, m.ran = (0 if status in (2, 3) or runs else status), bool(runs)
        if (
            status < 0
            or status == 2
            or status != 3
            and status not in host.DOCUMENTED
            or status in BAD_STATUS
            or 'Sanitizer' in m.said
            or 'runtime error:' in m.said
        ):
            m.bad = '%s: %s' % (
                'run' if runs else 'compiler',
                reason(m.said) or 'ended with %d' % status,
            )
            m.did += ['inputs: ' + runs[-1]] if runs else []
    return {}


def read_text(path):
    try:
        with open(path, errors='replace') as f:
            return f.read()
    except OSError:
        return ''


def reason(text):
    """One line that says what a sanitizer, an assertion or the driver saw; of a memory error also
    the function of ours where it happened."""
    for pattern in (
        r'(\S+\.[ch]:\d+)(?::\d+)?: (runtime error: .*)',
        r'()(\S+: \S+: Assertion .*)',
        r'()SUMMARY: (\w+: \S+)',
        r'()(?:m\d+: )?(returned \d+)',
        r'()(hard rss limit.*)',
    ):
        found = re.search(pattern, text)
        if found:
            frame = (
                re.search(r' in (?!_)(\w+) \S*?([\w.]+:\d+)', text[: found.start()])
                if 'SUMMARY' in found.group()
                else None
            )
            return re.sub(
                r'0x[0-9a-f]+|/\S*/|out-m\d+',
                '',
                ' '.join(found.groups() + (frame.groups() if frame else ())),
            ).strip()
    return ''


def large(man):
    values = man['inputs'] + man['outputs']
    return (
        man['arena']['size'] + sum(v['bytes'] for v in values) > MOST_BYTES
        or man['totals']['macs'] > MOST_MACS
        or len(values) > 60
    )


def value_row(v, longest):
    form = '?' if v['dtype'] == 'bool' else (onnx.TYPES[onnx.CODES[v['dtype']]][2] or 'x')[-1]
    return "{ '%s', %du, %d, %d }" % (
        form,
        v['bytes'],
        len(v['dims']) if v.get('dynamic') else -1,
        longest,
    )


def call_code(name, man):
    ins = ''.join('    i.in%d = in[%d];\n' % (k, k) for k in range(len(man['inputs'])))
    outs = ''.join('    o.out%d = out[%d];\n' % (k, k) for k in range(len(man['outputs'])))
    outs += ''.join(
        '    o.out%d_dims = dims[%d];\n' % (k, k)
        for k, v in enumerate(man['outputs'])
        if v.get('dynamic')
    )
    longest = min(max([1] + [d for v in man['inputs'] + man['outputs'] for d in v['dims']]), 100000)
    rows = {}
    for what in ('inputs', 'outputs'):
        rows[what] = ', '.join(value_row(v, longest) for v in man[what]) or "{ 'b', 0, -1, 0 }"
    return (
        (
            '#include "out-%s/src/%s.h"\n'
            'static const DrivenValue in_%s[] = { %s }, out_%s[] = { %s };\n'
        )
        % (name, name, name, rows['inputs'], name, rows['outputs'])
        + (
            'static int run_%s(void *arena, void *const *in, void *const *out, void *const *dims)\n'
            '{\n'
            '    %s_inputs i;\n'
            '    %s_outputs o;\n'
        )
        % (name, name, name)
        + (
            '    memset(&i, 0, sizeof i);\n'
            '    memset(&o, 0, sizeof o);\n'
            '    (void)dims;\n'
            '    (void)in;\n'
            '%s%s    return %s_run(arena, &i, &o);\n'
            '}\n'
        )
        % (ins, outs, name)
    )


def write_table(work, mans):
    text = (
        '#include <string.h>\n#include "drive.h"\n'
        + ''.join(call_code(n, m) for n, m in mans.items())
        + 'const Driven driven[] = {\n'
    )
    for n, m in mans.items():
        text += '    { "%s", %s_ARENA_SIZE, %s_ARENA_ALIGN, %d, %d, in_%s, out_%s, run_%s },\n' % (
            n,
            n.upper(),
            n.upper(),
            len(m['inputs']),
            len(m['outputs']),
            n,
            n,
            n,
        )
    with open(os.path.join(work, 'table.c'), 'w') as f:
        f.write(text + '};\nconst int driven_count = %d;\n' % len(mans))


def driver(o):
    """The objects that are the same for all mutants, compiled once."""
    objects = []
    for source in ('drive.c', 'fill.c'):
        objects.append(os.path.join(o.objects, source[:-1] + 'o'))
        if not os.path.exists(objects[-1]):
            words = ['-std=gnu11', '-c', os.path.join(HERE, source), '-o', objects[-1]]
            status, text = host.run([o.cc] + FLAGS + words)
            assert not status, text
    return objects


def joined(work, name):
    """One file with all sources of a mutant, which takes the C compiler a third less than each."""
    sources = host.sources(os.path.join(work, 'out-' + name))
    with open(os.path.join(work, name + '.c'), 'w') as f:
        f.write(''.join('#include "%s"\n' % os.path.relpath(s, work) for s in sources))
    return name + '.c'


def build(o, work, mans):
    write_table(work, mans)
    files = ['table.c'] + driver(o) + [joined(work, name) for name in mans]
    places = ['-I', HERE, '-I', '.', '-o', 'drive']
    status, text = host.run([o.cc] + FLAGS + places + files + ['-lm'], work, limit=1200)
    return text or 'the C compiler ended with %d' % status if status else ''


def build_and_run(o, work, by_name, mans):
    wrong = build(o, work, mans)
    if wrong and len(mans) == 1:
        name = next(iter(mans))
        by_name[name].bad = 'C compiler: ' + next(
            (line.strip() for line in wrong.splitlines() if 'error' in line), wrong[:200]
        )
        return
    if wrong:
        half = len(mans) // 2
        build_and_run(o, work, by_name, dict(list(mans.items())[:half]))
        build_and_run(o, work, by_name, dict(list(mans.items())[half:]))
        return
    _, text = host.run(['./drive', str(o.seed)], work, limit=3600, env=OPTIONS)
    ended = dict(line.split() for line in text.splitlines() if re.match(r'm\d+ -?\d+$', line))
    for name in mans:
        m, said = by_name[name], read_text(os.path.join(work, name + '.run'))
        m.ran = True
        if ended.get(name) != '0':
            runs = re.findall(r'run \d+, .*', said)
            m.bad = 'run: %s' % (reason(said) or 'ended with %s' % ended.get(name))
            m.said = said
            m.did.append('inputs: ' + (runs[-1] if runs else '?'))


def try_group(o, mutants):
    with host.Work() as work:
        for m in mutants:
            m.ran = False
        mans = compile_all(o, work, mutants)
        mans = {n: man for n, man in mans.items() if not large(man)}
        if mans:
            build_and_run(o, work, {m.name: m for m in mutants}, mans)
        if o.keep:
            shutil.copytree(work, o.keep, dirs_exist_ok=True)


def kind(m):
    """What two findings of one cause have in common."""
    return re.sub(r'\d{2,}|-\d+|nan|inf', 'N', m.bad)


def minimise(o, stock, m):
    """The same finding with as few edits as show it."""
    left_out = set()
    for k in range(m.count):
        trial = Mutant(stock, o.seed, m.number, left_out | {k})
        try_group(argparse.Namespace(**dict(vars(o), keep='')), [trial])
        if kind(trial) == kind(m):
            left_out.add(k)
            m.did = trial.did
    m.left_out = left_out
    return m


def read_known(path):
    """[(pattern, reason)]: findings that wait for their mend."""
    rows = [
        line.rstrip('\n').split('\t')
        for line in open(path)
        if line.strip() and not line.startswith('#')
    ]
    return [(re.compile(r[0]), r[1]) for r in rows]


class Campaign:
    def __init__(self, o, stock):
        self.o, self.stock, self.known = o, stock, read_known(o.known)
        self.status, self.found, self.ran, self.tried = collections.Counter(), {}, 0, 0

    def note(self, m):
        self.tried += 1
        self.status[m.status] += 1
        self.ran += m.ran
        if not m.bad:
            return
        rows = self.found.setdefault(kind(m), [])
        rows.append(m)
        if len(rows) == 1:
            waits = next((why for pattern, why in self.known if pattern.search(m.bad)), '')
            if not waits and not self.o.only:
                minimise(self.o, self.stock, m)
            print(
                '# %s%s\n#   %s' % ('(known: %s) ' % waits if waits else '', m.bad, m), flush=True
            )

    def run(self):
        o = self.o
        numbers = [int(x) for x in o.only.split(',')] if o.only else None
        first, began = o.first, time.time()
        while (numbers or not o.only) and (o.only or self.ran < o.count):
            take = numbers or list(range(first, first + GROUP))
            first, numbers = first + GROUP, []
            group = [
                Mutant(self.stock, o.seed, n, {int(x) for x in o.left_out.split(',') if x})
                for n in take
            ]
            try_group(o, group)
            for m in group:
                self.note(m)
            if o.progress:
                print(
                    '# %d tried, %d accepted, %d run, %d findings of %d kinds, %.0f s'
                    % (
                        self.tried,
                        self.status[0],
                        self.ran,
                        sum(map(len, self.found.values())),
                        len(self.found),
                        time.time() - began,
                    ),
                    flush=True,
                )
        self.next = first

    def report(self, t):
        waits = 0
        for name, rows in sorted(self.found.items(), key=lambda f: -len(f[1])):
            if any(p.search(rows[0].bad) for p, _ in self.known):
                waits += len(rows)
                continue
            t.fail(
                rows[0].bad,
                '%d mutants: %s\nreplay: --seed %d --chains %d --only %s%s\n%s'
                % (
                    len(rows),
                    rows[0],
                    self.o.seed,
                    self.o.chains,
                    rows[0].number,
                    ''.join(
                        ' --left-out ' + ','.join(map(str, rows[0].left_out))
                        for _ in [0]
                        if getattr(rows[0], 'left_out', None)
                    ),
                    rows[0].said[:1500],
                ),
            )
        text = ', '.join('%s: %d' % (s, n) for s, n in sorted(self.status.items()))
        t.ok(
            '%d mutants run of %d accepted (%d tried; by status %s), %d known findings'
            % (self.ran, self.status[0], self.tried, text, waits)
        )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--compile', required=True)
    p.add_argument('--models', required=True)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--count', type=int, default=300)
    p.add_argument('--first', type=int, default=0)
    p.add_argument('--only', default='')
    p.add_argument('--left-out', default='')
    p.add_argument('--chains', type=int, default=0)
    p.add_argument('--keep', default='')
    p.add_argument('--inside', action='store_true')
    p.add_argument('--progress', action='store_true')
    p.add_argument('--known', default=os.path.join(HERE, 'known.txt'))
    p.add_argument('--cc', default='gcc')
    p.add_argument('paths', nargs='*')
    o = p.parse_args()
    o.compile = os.path.abspath(o.compile)
    t = tap.Tap()
    with host.Work() as scratch:
        o.objects = scratch
        campaign = Campaign(o, bases.Stock(o.paths, o.models, scratch, o.chains))
        campaign.run()
        campaign.report(t)
    t.done()


if __name__ == '__main__':
    main()
