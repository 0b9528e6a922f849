# SPDX-License-Identifier: Apache-2.0
"""Unit tests of kernels on emulated bare cores: the forms for a core's own instructions against
plain sums.

    unit.py [--cores m4,m55] [--rounds N] [--apart] FILE...

Each FILE of tests/unit/kernels is compiled for each core, with every set of flags that chooses a
form of the core's, and once more small, where undefined behaviour is a trap; --apart: small without
traps, and traps at -O2. --rounds: random cases of each test."""
import argparse
import os
import sys

import cores
import host
import image
import tap

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..')
UNIT = os.path.join(HERE, 'unit')
# Undefined behaviour ends the program: a trap needs no library.
TRAPS = [
    '-fsanitize=undefined',
    '-fno-sanitize=null,object-size',
    '-fsanitize-undefined-trap-on-error',
]
SMALL, APART = [['-Os'] + TRAPS], [['-Os'], TRAPS]
FORMS = {
    'm0': [[]],
    'm3': [[]],
    'm4': [[]],
    'rv32imac': [[]],
    'm55': [[], ['-DINLAY_MVE_CLIPS=0'], ['-mcpu=cortex-m55+nomve.fp'], ['-mcpu=cortex-m55+nomve']],
}
OF_THEIR_OWN = ('m4', 'm55')  # cores with instructions for which kernels have forms


def forms(core, apart):
    """Lists of flags."""
    more = APART if apart else SMALL
    return FORMS[core] + (more if core in OF_THEIR_OWN else [])


def build(core, work, source, flags, rounds):
    own = [
        os.path.join(HERE, f)
        for f in ('start.c', 'start_arm.c' if 'arm' in core.compiler else 'start_riscv.c')
    ] + [os.path.join(UNIT, 'heap.c'), source]
    folders = [
        UNIT,
        HERE,
        os.path.join(ROOT, 'runtime'),
        os.path.join(ROOT, 'tests', 'unit', 'kernels'),
    ]
    command = (
        [core.compiler + 'gcc', '-std=gnu11']
        + core.flags
        + ['-O2']
        + flags
        + ['-ffp-contract=off', '-DROUNDS=%d' % rounds]
    )
    command += [f for folder in folders for f in ('-I', folder)]
    command += ['-D%s=%s' % p for p in image.places(core)] + [
        '-nostartfiles',
        '-Wl,--gc-sections',
        '-Wl,--defsym=STACK_SIZE=%d' % image.STACK,
    ]
    command += ['-Wl,--defsym=%s=%s' % p for p in image.places(core)] + [
        '-T',
        os.path.join(HERE, 'link.ld'),
        '-o',
        'app.elf',
    ]
    image.must(command + own + ['-lm'], work)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--cores', default='')
    p.add_argument('--rounds', type=int, default=40)
    p.add_argument('--apart', action='store_true')
    p.add_argument('files', nargs='+')
    o = p.parse_args()
    t = tap.Tap()
    wanted = [name for name in o.cores.split(',') if name]
    for core in cores.CORES:
        if core.name not in FORMS or wanted and core.name not in wanted:
            continue
        if cores.missing(core):
            t.skip(core.name, cores.missing(core) + ' is not installed')
            continue
        for source in o.files:
            for flags in forms(core.name, o.apart):
                label = ' '.join([core.name, os.path.basename(source)] + flags)
                with host.Work() as work:
                    try:
                        build(core, work, os.path.abspath(source), flags, o.rounds)
                        status, text = image.emulate(core, work)
                        t.ok(label, status == 0 and 'passed' in text, text)
                    except image.Failed as e:
                        t.ok(label, False, str(e))
    t.done()


sys.exit(main())
