# SPDX-License-Identifier: Apache-2.0
"""Branches of the compiler that the tests take, by gcov: overall, by folder, and on wish the lines
with branches never taken.

    meson setup build-cover --buildtype=debug -Db_coverage=true && ninja -C build-cover meson test
    -C build-cover --suite unit          (base/ and onnx/; prove/ with prove, refused and threads of
    e2e; the others need all suites but big and campaign) coverage.py --build build-cover [--lines
    FOLDER] [--least PERCENT] [--full FOLDER[,FOLDER...]]

--least, --full: status 1 where fewer are taken overall, or not all in a folder or file. Left out by
rule: lines with assert( or STATUS_INTERNAL, which only faults of ours reach, and those of NOT_HERE,
which says why; what no C of ours states, as the kernels' headers, counts where it is compiled."""
import argparse
import collections
import gzip
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LEFT_OUT = re.compile(r'assert\(|STATUS_INTERNAL')
# Branches that no test can take here, by file and what the line holds: why.
NOT_HERE = {
    'base/crc32.c': {'__builtin_cpu_supports': 'the processor decides'},
    'base/folder.c': {'MOST_PASSES': 'a file system that lists what is gone, 10,000 times'},
    'base/io.c': {'SIZE_MAX / 2': 'machines of 32 bits'},
    'base/output.c': {'errno == ENOMEM': 'realpath() without memory'},
    'base/output_examine.c': {
        'if (k == 0)': 'a file of ours that shrinks while it is read',
        'if (!describe(output, output->build': 'a file of ours that another removes',
    },
    'base/output_swap.c': {
        'a->st_dev == b->st_dev': 'folders on two devices with one number',
        '!io_calls()->fstat(output->target': 'fault loops of tests/fuzz/calls.c',
        'rescue->o->former': 'a file that comes between two system calls',
    },
    'base/signals.c': {
        'guarded.set': 'the process ends by the signal, and its counts with it',
        'ENDING': 'as above',
        'sigaction(': 'as above',
    },
}


def gcov(path):
    """The reports on the files of one object."""
    with tempfile.TemporaryDirectory(prefix='inlay-gcov-') as work:
        subprocess.run(
            ['gcov', '--json-format', '--branch-probabilities', path],
            cwd=work,
            capture_output=True,
            check=True,
        )
        for report in glob.glob(os.path.join(work, '*.gz')):
            with gzip.open(report) as f:
                yield json.load(f)


def read(build):
    """{file: {(line, number of its branch): times taken}} of the compiler's own files."""
    taken = collections.defaultdict(lambda: collections.defaultdict(int))
    paths = []
    for library in 'libinlay', 'libinlay-fast':
        paths += glob.glob(
            os.path.join(build, 'compiler', library + '.a.p', '**', '*.gcda'), recursive=True
        )
    paths += glob.glob(
        os.path.join(build, 'tests', 'unit', 'unit-*.p', '*.gcda')
    )  # headers that a test includes
    for path in paths:
        for report in gcov(os.path.abspath(path)):
            for file in report['files']:
                name = os.path.relpath(
                    os.path.normpath(
                        os.path.join(report['current_working_directory'], file['file'])
                    ),
                    os.path.join(ROOT, 'compiler'),
                )
                if name.startswith('..'):
                    continue
                for line in file['lines']:
                    for i, branch in enumerate(line['branches']):
                        taken[name][line['line_number'], i] += branch['count']
    return taken


def without_faults(taken):
    for name, branches in taken.items():
        with open(os.path.join(ROOT, 'compiler', name)) as f:
            text = f.read().split('\n')
        known = NOT_HERE.get(name, {})
        pushed = {
            line for (line, _), n in branches.items() if n and 'VEC_PUSH(' in text[line - 1]
        }  # growth is base/vec.h's
        for part in known:
            if not any(part in line for line in text):
                sys.exit('%s has no line with "%s" any more: mend NOT_HERE' % (name, part))
        yield name, {
            at: n
            for at, n in branches.items()
            if not LEFT_OUT.search(text[at[0] - 1])
            and (n or at[0] not in pushed and not any(part in text[at[0] - 1] for part in known))
        }


def inside(name, folder):
    return name == folder or name.startswith(folder + '/')


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--build', required=True)
    p.add_argument('--lines', default='')
    p.add_argument('--least', type=float, default=0)
    p.add_argument('--full', default='')
    o = p.parse_args()
    taken = dict(without_faults(read(o.build)))
    if not taken:
        sys.exit('no counts below %s: is it built with -Db_coverage=true, and tested?' % o.build)
    rows = collections.defaultdict(lambda: [0, 0])
    for name, branches in taken.items():
        for row in ('all', name.split('/')[0] if '/' in name else '.', name):
            rows[row][0] += sum(n > 0 for n in branches.values())
            rows[row][1] += len(branches)
    for row in sorted(rows, key=lambda r: (r != 'all', '.' in r, r)):
        print(
            '%6.1f %%  %6d of %6d  %s'
            % (100 * rows[row][0] / max(1, rows[row][1]), *rows[row], row)
        )
    for name in sorted(taken):
        if o.lines and inside(name, o.lines):
            missed = sorted({line for (line, _), n in taken[name].items() if not n})
            print('%s: not all branches taken: %s' % (name, ' '.join(map(str, missed))))
    bad = ['overall'] if 100 * rows['all'][0] < o.least * rows['all'][1] else []
    bad += [f for f in o.full.split(',') if f and rows[f][0] < rows[f][1]]
    sys.exit(('too few branches: ' + ' '.join(bad)) if bad else 0)


main()
