# SPDX-License-Identifier: Apache-2.0
"""Each kernel in a file by itself, as models with one of its kind have it, compiled and assembled
for each core: compilers make other code of functions that have one caller. gcc for Cortex-M55
writes conversions under a condition that its assembler does not take, and assembly may need more
registers than some level of optimization leaves.

    alone.py --root ROOT [--cores m55] [--levels s,1] [--headers pool,quant]"""
import argparse
import os
import re
import shutil
import subprocess
import sys

import cores
import host
import tap

UNIT = (
    '#include <math.h>\n'
    '#include "inlay.h"\n'
    '#include "kernels/%s.h"\n'
    'inlay_kernel *const kernels[] = { inlay_%s };\n'
)


def kernels(root):
    """(header, kernel) of each row of the table."""
    with open(os.path.join(root, 'runtime', 'kernels', 'kernels.def')) as f:
        return [
            (header, name)
            for name, header in re.findall(r'^KERNEL\((\w+), \w+, "(\w+)\.h"', f.read(), re.M)
        ]


def assemble(core, level, root, work, header, name):
    """What the compiler says of a kernel, or nothing."""
    files = [
        '-I',
        os.path.join(root, 'runtime'),
        '-c',
        '-xc',
        '-',
        '-o',
        os.path.join(work, 'kernel.o'),
    ]
    command = [core.compiler + 'gcc', '-std=gnu99', level] + core.flags + files
    done = subprocess.run(command, input=UNIT % (header, name), stderr=subprocess.PIPE, text=True)
    return done.stderr[:2000]


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--root', required=True)
    p.add_argument('--cores', default='m55')
    p.add_argument('--headers', default='')
    p.add_argument('--levels', default='s', help='of optimization: s,1,2')
    o = p.parse_args()
    t = tap.Tap()
    wanted = [header for header in o.headers.split(',') if header]
    for core in cores.CORES:
        if core.name not in o.cores.split(','):
            continue
        if not shutil.which(core.compiler + 'gcc'):
            t.skip(core.name, core.compiler + 'gcc is not installed')
            continue
        with host.Work() as work:
            for header, name in kernels(o.root):
                for level in o.levels.split(',') if not wanted or header in wanted else []:
                    said = assemble(core, '-O' + level, o.root, work, header, name)
                    t.ok('%s -O%s %s' % (core.name, level, name), not said, said)
    t.done()


sys.exit(main())
