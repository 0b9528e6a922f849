# SPDX-License-Identifier: Apache-2.0
"""The inner loops of float32 tiles keep their sums in registers: spills.py --runtime DIR [--cc CC]
[--print]

Compiles the tiles for each width of vectors of x86-64, disassembles them, and fails where a loop
without loops inside that multiplies and adds moves a vector to or from the stack, where one of an
elementwise kernel takes numbers one by one instead of a vector, and where the compiler sees a write
beyond an object. Skipped (77) without objdump or on another machine.
"""
import argparse
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

SOURCE = '''#include "inlay.h"
#include "kernels/matmul.h"
#include "kernels/conv_f32.h"
#include "kernels/winograd_f32.h"
#include "kernels/eltwise_float.h"
#include "kernels/pool.h"
inlay_kernel *const kernels[] = { inlay_conv_f32, inlay_matmul_f32, inlay_winograd_f32 };
inlay_kernel *const each[] = { inlay_add_f32, inlay_mul_f32, inlay_sub_f32 };
inlay_kernel *const pools[] = { inlay_maxpool_i8, inlay_maxpool_u8 };
'''
FLAGS = {'avx512': ['-march=x86-64-v4'], 'avx2': ['-mavx2', '-mfma'], 'sse2': []}
SUM = re.compile(r'vfmadd\w+ps|addps')
EACH = re.compile(r'inlay_(add|mul|sub)_f32')
SINGLE = re.compile(r'v?(add|sub|mul)ss')
VECTOR = re.compile(r'v|\w+ps$|mova|movu')
INSTRUCTION = re.compile(r'\s*([0-9a-f]+):\t(\S+)\s*(.*)')
FUNCTION = re.compile(r'[0-9a-f]+ <(.*)>:')
LEAST_SUMS = 8  # a tile of fewer is short of work, not of registers
MOST_SINGLES = 4  # a loop over what is left behind the last vector


def functions(text):
    """{name: [(address, instruction, operands)]}"""
    found, body = {}, []
    for line in text.splitlines():
        head, one = FUNCTION.match(line), INSTRUCTION.match(line)
        if head:
            body = found.setdefault(head.group(1), [])
        elif one:
            body.append((int(one.group(1), 16), one.group(2), one.group(3)))
    return found


def loops(body):
    """The loops without another jump inside."""
    place = {address: i for i, (address, _, _) in enumerate(body)}
    for i, (address, name, operands) in enumerate(body):
        target = re.match(r'[0-9a-f]+\b', operands)
        if not name.startswith('j') or not target or int(target.group(), 16) not in place:
            continue
        begin = place[int(target.group(), 16)]
        if begin <= i and not any(n.startswith(('j', 'call')) for _, n, _ in body[begin:i]):
            yield body[begin : i + 1]


def spilled(loop, framed):
    """Instructions on vectors in the stack frame, which %rbp holds in a function that says so."""
    frame = re.compile(r'\(%r[sb]p' if framed else r'\(%rsp')
    return [one for one in loop if VECTOR.match(one[1]) and frame.search(one[2])]


def check(opt, width, folder):
    """The number of loops looked at, and the faults."""
    source, made = os.path.join(folder, 'tiles.c'), os.path.join(folder, width + '.o')
    with open(source, 'w') as f:
        f.write(SOURCE)
    subprocess.run(
        shlex.split(opt.cc)
        + [
            '-std=c99',
            '-O3',
            '-Werror=stringop-overflow',
            '-I',
            opt.runtime,
            *FLAGS[width],
            '-c',
            source,
            '-o',
            made,
        ],
        check=True,
    )
    text = subprocess.run(
        ['objdump', '-d', '--no-show-raw-insn', made], check=True, capture_output=True, text=True
    ).stdout
    seen, faults = 0, []
    for name, body in functions(text).items():
        framed = any(one[1] == 'mov' and one[2] == '%rsp,%rbp' for one in body)
        for loop in loops(body):
            singles = sum(bool(SINGLE.fullmatch(one[1])) for one in loop)
            if singles > MOST_SINGLES and EACH.match(name):
                faults.append(
                    '%s: %s: %x: %d numbers one by one' % (width, name, loop[0][0], singles)
                )
            sums = sum(bool(SUM.fullmatch(one[1])) for one in loop)
            if sums < LEAST_SUMS:
                continue
            seen += 1
            if opt.print:
                print(
                    '%s %s %x: %d instructions, %d sums'
                    % (width, name, loop[0][0], len(loop), sums)
                )
            faults += ['%s: %s: %x: %s %s' % (width, name, *one) for one in spilled(loop, framed)]
    return seen, faults


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument('--runtime', required=True)
    p.add_argument('--cc', default='cc')
    p.add_argument('--print', action='store_true')
    opt = p.parse_args()
    if platform.machine() != 'x86_64' or not shutil.which('objdump'):
        return 77
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        for width in FLAGS:
            seen, found = check(opt, width, folder)
            if seen < 5:
                found.append('%s: only %d loops found' % (width, seen))
            faults += found
    print('\n'.join(faults))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
