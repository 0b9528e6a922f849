# SPDX-License-Identifier: Apache-2.0
"""Bytes of stack that each kernel takes, for each family of targets: the table
compiler/ir/stack.def.

    stack.py --root ROOT [--update] [--families thumb,dsp] [--headers conv_f32,pool] [--jobs N]

Every header of kernels is compiled as gcc's -fcallgraph-info=su describes it: the deepest path from
a kernel, through calls of functions whose address its code takes, into the C library, whose
functions are read from their instructions. A row's figure is the largest over the cores of a family
and the levels of optimization. Without --update the rows are compared: what takes more than the
table says fails, and a kernel without a row. The figures are those of the compilers that stack.def
names; with others, or none, nothing is compared."""
import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

import cores
import host
import tap

# Frames that differ by how functions were inlined in another file: a part of the figure, and bytes.
PART, MORE = 8, 16
HOST_LEVELS = ['-O3']
OTHERS = [
    (
        'arm',
        'arm-none-eabi-',
        ['-mcpu=cortex-a7', '-mfpu=neon-vfpv4', '-mfloat-abi=hard', '--specs=nano.specs'],
    )
]
OTHERS += [('x86', '', ['-march=' + march]) for march in ('x86-64', 'x86-64-v3', 'x86-64-v4')]

# Slots of rows make frames larger, never smaller.
UNIT = (
    '#include <math.h>\n'
    '#define INLAY_ROW_SLOTS\n'
    '#include "inlay.h"\n'
    '#include "kernels/%s.h"\n'
    'inlay_kernel *const kernels[] = { %s };\n'
)
NODE = re.compile(r'^node: \{ title: "(?:[^"]*:)?([^":]+)" label: "([^"]*)"', re.M)
EDGE = re.compile(
    r'^edge: \{ sourcename: "(?:[^"]*:)?([^":]+)" targetname: "(?:[^"]*:)?([^":]+)"', re.M
)
INDIRECT = '__indirect_call'
CALLS = re.compile(r'CALL|JUMP|PLT|JAL|PC24|BRANCH')


class Failed(Exception):
    pass


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise Failed('%s\n%s' % (' '.join(command), done.stderr[:2000]))
    return done.stdout


class Graph:
    """Of one object: the bytes of each function's frame, what it calls, and what its code takes the
    address of."""

    def __init__(self, description, relocations):
        self.frame, self.calls, self.refers, self.taken = {}, {}, {}, set()
        for name, label in NODE.findall(description):
            bytes_ = re.search(r'(\d+) bytes \((\w+)', label)
            if bytes_:
                assert bytes_.group(2) != 'dynamic', 'no bound of the frame of ' + name
                self.frame[name] = int(bytes_.group(1))
        for caller, called in EDGE.findall(description):
            self.calls.setdefault(caller, set()).add(called)
        self.read_relocations(relocations)

    def read_relocations(self, text):
        section = None
        for line in text.splitlines():
            head = re.match(r"Relocation section '\.rela?(\.\S+)'", line)
            if head:
                section = head.group(1)
                continue
            row = re.match(r'^[0-9a-f]+ +[0-9a-f]+ +(R_\w+) +[0-9a-f]+ +(\S+)', line)
            if not row or not section:
                continue
            target = row.group(2)
            self.refers.setdefault(section, set()).add(target)
            if (
                section.startswith('.text')
                and not CALLS.search(row.group(1))
                or not section.startswith('.text')
            ):
                self.taken.add(self.plain(target))

    @staticmethod
    def plain(target):
        """A function's name of that of its section."""
        return target[len('.text.') :] if target.startswith('.text.') else target

    def reachable(self, name):
        seen, todo = set(), [name]
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            targets = set(self.calls.get(at, ()))
            for section in ('.text.' + at, at):
                targets |= {self.plain(target) for target in self.refers.get(section, ())}
            todo += targets
        return seen

    def deepest(self, name, library):
        indirect = {
            f for f in self.reachable(name) if f in self.taken and f in self.frame and f != name
        }
        return self.walk(name, indirect, library, (), {})

    def walk(self, name, indirect, library, trail, memo):
        if name in memo:
            return memo[name]
        if name not in self.frame:
            return library.get(name, 0)
        below = 0
        for called in self.calls.get(name, ()):
            for target in indirect if called == INDIRECT else (called,):
                if target != name and target not in trail:
                    below = max(below, self.walk(target, indirect, library, trail + (name,), memo))
        memo[name] = self.frame[name] + below
        return memo[name]

    def outside(self):
        called = set().union(*self.calls.values()) if self.calls else set()
        return called - set(self.frame) - {INDIRECT}


# What an instruction takes of the stack.
TAKES = [
    (re.compile(pattern), size)
    for pattern, size in (
        (r'^(?:push|stmdb\s+sp!,|stmfd\s+sp!,)\S*\s*\{(.*)\}', 'words'),
        (r'^v(?:push|stmdb\s+sp!,)\S*\s*\{(.*)\}', 'doubles'),
        (r'^subs?(?:\.w|w)?\s+sp,\s*(?:sp,\s*)?#(\d+)', 'bytes'),
        (r'^str\S*\s.*\[sp,\s*#-(\d+)\]!', 'bytes'),
        (r'^(?:c\.)?addi?(?:16sp)?\s+sp,(?:sp,)?-(\d+)', 'bytes'),
    )
]
SPREAD = re.compile(r'([a-z]+)(\d+)-[a-z]+(\d+)')


def registers(text):
    return sum(
        int(m.group(3)) - int(m.group(2)) + 1 if m else 1
        for m in (SPREAD.search(part) for part in text.split(','))
    )


def taken_by(instruction):
    for pattern, size in TAKES:
        found = pattern.search(instruction)
        if found and size == 'bytes':
            return int(found.group(1))
        if found:
            each = 8 if size == 'doubles' and 's' not in found.group(1) else 4
            return each * registers(found.group(1))
    return 0


def by_register(instruction, held, words):
    """Of a stack pointer moved by a register, bytes; `held` follows what registers hold."""
    load = re.match(r'ldr (r\d+), \[pc.*[@;] \(([0-9a-f]+)', instruction)
    if load:
        held[load.group(1)] = words.get(int(load.group(2), 16), 0)
    upper = re.match(r'lui (\w+),0x([0-9a-f]+)$', instruction)
    if upper:
        held[upper.group(1)] = int(upper.group(2), 16) << 12
    more = re.match(r'addi? (\w+),\1,(-?\d+)$', instruction)
    if more and more.group(1) in held:
        held[more.group(1)] += int(more.group(2))
    moved = re.match(r'(add|sub) sp, ?(?:sp, ?)?([a-z]\d+)$', instruction)
    if not moved:
        return 0
    value = held.get(moved.group(2), 0)
    value -= (value & 1 << 31) << 1
    return max(-value if moved.group(1) == 'add' else value, 0)


def disassembled(text):
    """{address: [bytes of its frame, addresses that it calls or goes on with]} of each function"""
    found, at, held = {}, None, {}
    pointer = 8 if 'elf64' in text else 4
    words = {
        int(place, 16): int(value, 16)
        for place, value in re.findall(r'^ *([0-9a-f]+):\t\.word\t0x([0-9a-f]+)', text, re.M)
    }
    for line in text.splitlines():
        head = re.match(r'^([0-9a-f]+) <[^>]+>:', line)
        if head:
            at = int(head.group(1), 16)
            found[at] = [0, set()]
            continue
        parts = line.split('\t', 1)
        if at is None or len(parts) < 2:
            continue
        instruction = parts[1].replace('\t', ' ')
        found[at][0] += taken_by(instruction) + by_register(instruction, held, words)
        target = re.search(r'\b([0-9a-f]+) <[^>+]+>', instruction)
        saved = re.search(r'<__riscv_save_(\d+)>', instruction)
        if saved:
            found[at][0] += (int(saved.group(1)) * pointer + pointer + 15) // 16 * 16
        elif target:
            found[at][1].add(int(target.group(1), 16))
    return found


def deepest_from(at, found, trail, memo):
    if at not in memo:
        own, called = found[at]
        below = [
            deepest_from(c, found, trail + (at,), memo)
            for c in called
            if c in found and c not in trail and c != at
        ]
        memo[at] = own + max(below or [0])
    return memo[at]


def library_depths(compiler, flags, names, work):
    """{function: the deepest path from it} of the C library's."""
    if not compiler or not names:
        return {}
    path = os.path.join(work, 'library%d' % id(names))
    with open(path + '.c', 'w') as f:
        f.write('void start(void)\n{\n}\n')
    run(
        [compiler + 'gcc']
        + flags
        + [
            '-nostartfiles',
            '-Wl,-e,start',
            '-Wl,--unresolved-symbols=ignore-all',
            '-o',
            path + '.elf',
            path + '.c',
        ]
        + ['-Wl,-u,' + name for name in sorted(names)]
        + ['-lm', '-lc', '-lgcc']
    )
    found = disassembled(run([compiler + 'objdump', '-d', '--no-show-raw-insn', path + '.elf']))
    symbols = run([compiler + 'nm', '--defined-only', path + '.elf'])
    address = {
        name: int(at, 16) & ~1 for at, name in re.findall(r'^(\w+) [TtWw] (\S+)$', symbols, re.M)
    }
    lost = sorted(name for name in names if address.get(name) not in found)
    if lost:
        sys.exit('%sgcc: not in its libraries: %s' % (compiler, ', '.join(lost)))
    memo = {}
    return {name: deepest_from(address[name], found, (), memo) for name in names}


class Setting:
    """One compiler with its flags."""

    def __init__(self, family, compiler, flags, level):
        self.family, self.compiler, self.flags, self.level = family, compiler, list(flags), level

    def compile(self, source, root, work, more=()):
        name = os.path.splitext(os.path.basename(source))[0]
        path = os.path.join(work, '%s-%d' % (name, id(self)))
        run(
            [
                self.compiler + 'gcc',
                '-std=c99',
                '-fcallgraph-info=su',
                '-fno-ipa-icf',
                '-ffunction-sections',
                '-fdata-sections',
                '-I',
                os.path.join(root, 'runtime'),
                '-I',
                os.path.join(root, 'templates'),
                '-c',
                '-o',
                path + '.o',
                source,
                self.level,
            ]
            + self.flags
            + list(more)
        )
        with open(path + '.ci') as f:
            description = f.read()
        graph = Graph(description, run([self.compiler + 'readelf', '-rW', path + '.o']))
        os.unlink(path + '.o')
        os.unlink(path + '.ci')
        return graph


def family_of(root, target):
    rows = dict(
        re.findall(
            r'^TARGET\("([^"]+)", (\w+)\)',
            open(os.path.join(root, 'compiler', 'ir', 'family.def')).read(),
            re.M,
        )
    )
    return rows[target]


def settings(root, families):
    known = [
        (family_of(root, core.target), core.compiler, core.flags)
        for core in cores.CORES
        if core.name != 'microbit'
    ] + OTHERS
    found = [
        Setting(family, compiler, flags, level)
        for family, compiler, flags in known
        for level in (cores.LEVELS if compiler else HOST_LEVELS)
    ]
    return [s for s in found if not families or s.family in families]


def kernels(root):
    """{header: its kernels}"""
    found = {}
    text = open(os.path.join(root, 'runtime', 'kernels', 'kernels.def')).read()
    for name, header in re.findall(r'^KERNEL\((\w+), \w+, "(\w+)\.h"', text, re.M):
        found.setdefault(header, []).append(name)
    return found


def pointer_of(family):
    return 8 if family in ('x86', 'rv64') else 4


def frame_of_run(setting, root, work, streams):
    """The path from a generated function to a kernel's call, less what of its frame the model's
    values take."""
    bytes_ = 0
    for by_rows in '01':
        for regions in '01':
            flags = [
                '-DMODEL_HAS_SEGMENTS=' + streams,
                '-DMODEL_BY_ROWS=' + by_rows,
                '-DMODEL_WAITS=' + by_rows,
                '-DMODEL_HAS_REGIONS=' + regions,
            ]
            graph = setting.compile(os.path.join(root, 'templates', 'model.c'), root, work, flags)
            runs = [
                f
                for f in graph.frame
                if re.fullmatch('model_(run|run_with|start|start_with|push|push_with)', f)
            ]
            bytes_ = max([bytes_] + [graph.deepest(f, {}) for f in runs])
    return bytes_ - 5 * pointer_of(setting.family) - 16


def frame_of_fetch(setting, root, work, name):
    """The path from a step that fetches or decodes its constants to its kernel's call."""
    source = os.path.join(work, '%s-%d.c' % (name, id(setting)))
    with open(source, 'w') as f:
        f.write(
            (
                '#include "inlay_coded.h"\n'
                'extern inlay_kernel *const fetches;\n'
                'inlay_kernel *const fetches = inlay_%s;\n'
            )
            % name
        )
    return setting.compile(source, root, work).deepest('inlay_' + name, {})


def measure(setting, root, work, headers):
    """{kernel: bytes}, and 'run', 'run_streams', 'fetch' and 'decode' for what is around them."""
    graphs, outside, found = [], set(), {}
    for header, names in kernels(root).items():
        if headers and header not in headers:
            continue
        source = os.path.join(work, '%s-%d.c' % (header, id(setting)))
        with open(source, 'w') as f:
            f.write(UNIT % (header, ', '.join('inlay_' + name for name in names)))
        try:
            graphs.append((names, setting.compile(source, root, work)))
        except Failed as e:
            print(
                '# %s: not measured on %s: %s' % (header, setting.family, str(e)[-300:]),
                file=sys.stderr,
            )
            found.update((name, None) for name in names)
            continue
        outside |= graphs[-1][1].outside()
    library = library_depths(setting.compiler, setting.flags, outside, work)
    found.update(
        (name, graph.deepest('inlay_' + name, library)) for names, graph in graphs for name in names
    )
    found['run'] = frame_of_run(setting, root, work, '0')
    found['run_streams'] = frame_of_run(setting, root, work, '1')
    found['fetch'] = frame_of_fetch(setting, root, work, 'fetched')
    found['decode'] = frame_of_fetch(setting, root, work, 'decoded')
    return found


def rounded(bytes_):
    if bytes_ < 0:
        return -1
    return (bytes_ + bytes_ // PART + MORE + 7) // 8 * 8


def described(family, compiler):
    """What the header says of the figure."""
    levels = ' or '.join(cores.LEVELS if compiler else HOST_LEVELS)
    apart = '' if compiler else ", the C library's functions apart"
    return 'gcc %s, %s%s' % (run([compiler + 'gcc', '-dumpfullversion']).strip(), levels, apart)


HEAD = '''/* SPDX-License-Identifier: Apache-2.0
 * THE TABLE OF STACKS, made by tests/firmware/stack.py --update; do not edit.
 *
 * STACK_FAMILY(family, bytes of a pointer, how it was measured): a column.
 * STACK(kernel, bytes of each column): what a call takes on the family's cores, all that it calls
 * included; -1: not measured. `run` and, with streams, `run_streams` is what generated functions
 * take before the kernel, without their table of pointers. It is what gcc says of each frame, along
 * the call graph, the largest of all cores and levels, and an eighth and 16 bytes more for what
 * another file's inlining changes. */
'''


def read_table(path):
    """{family: how}, {kernel: {family: bytes}}"""
    if not os.path.exists(path):
        return {}, {}
    with open(path) as f:
        text = f.read()
    how = dict(re.findall(r'^STACK_FAMILY\((\w+), \d, "([^"]*)"\)', text, re.M))
    rows = re.findall(r'^STACK\((\w+), ([-\d, ]+)\)', text, re.M)
    return how, {name: dict(zip(how, map(int, values.split(',')))) for name, values in rows}


def write_table(path, how, rows):
    with open(path, 'w') as f:
        f.write(HEAD)
        for family, text in how.items():
            f.write('STACK_FAMILY(%s, %d, "%s")\n' % (family, pointer_of(family), text))
        for name in sorted(rows):
            f.write(
                'STACK(%s, %s)\n' % (name, ', '.join('%d' % rows[name].get(c, -1) for c in how))
            )


def measure_all(todo, root, jobs, headers):
    """{kernel: {family: bytes}}"""
    found = {}
    with host.Work() as work, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for setting, rows in zip(todo, pool.map(lambda s: measure(s, root, work, headers), todo)):
            for name, bytes_ in rows.items():
                row = found.setdefault(name, {})
                had = row.get(setting.family, 0)
                row[setting.family] = -1 if bytes_ is None or had < 0 else max(had, bytes_)
    return found


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--root', required=True)
    p.add_argument('--update', action='store_true')
    p.add_argument('--families', default='')
    p.add_argument('--headers', default='', help='of kernels, the others as they stand')
    p.add_argument('--jobs', type=int, default=2)
    o = p.parse_args()
    t = tap.Tap()
    table = os.path.join(o.root, 'compiler', 'ir', 'stack.def')
    how, had = read_table(table)
    todo = settings(o.root, o.families.split(',') if o.families else [])
    absent = {s.compiler + 'gcc' for s in todo if not shutil.which(s.compiler + 'gcc')}
    if absent:
        t.skip('stack', ', '.join(sorted(absent)) + ' is not installed')
        t.done()
    here = {s.family: described(s.family, s.compiler) for s in todo}
    other = [family for family in here if how.get(family) != here[family]]
    if other and not o.update:
        t.skip('stack', 'another compiler than the table is of: ' + ', '.join(other))
        t.done()
    found = measure_all(todo, o.root, o.jobs, o.headers.split(',') if o.headers else [])
    if o.update:
        rounded_rows = {
            name: {family: rounded(bytes_) for family, bytes_ in row.items()}
            for name, row in found.items()
        }
        how, had = read_table(table)
        rows = {name: dict(had.get(name, {}), **row) for name, row in rounded_rows.items()}
        write_table(table, dict(how, **here), dict(had, **rows) if o.headers else rows)
        return 0
    for name in sorted(found):
        bad = {
            family: bytes_
            for family, bytes_ in found[name].items()
            if bytes_ > had.get(name, {}).get(family, -1)
        }
        t.ok(
            '%s takes no more stack than its row says' % name,
            not bad,
            '%s, not %s' % (bad, had.get(name)),
        )
    t.done()


sys.exit(main())
