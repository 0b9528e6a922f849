# SPDX-License-Identifier: Apache-2.0
"""An instruction that a core skips makes no bad blob a good one: in the code of NAME_weights_open() 2 and 4 bytes are replaced by
instructions that do nothing, at each address, and a blob with one bit changed is opened on an emulated core.

    skips.py --inlay INLAY [--cores m3,m33] [--level Os] MODEL"""
import argparse
import os
import re
import struct
import subprocess

import cores
import host
import image
import tap

GOOD, BAD, NOTHING, SECONDS = 42, 7, b'\x00\xbf', 1
MAIN = '''#include "net.h"
extern const unsigned char case_blob[];
int main(void)
{
    const void *weights;
    return net_weights_open(case_blob, NET_BLOB_SIZE, &weights) == 0 && weights ? %d : %d;
}
''' % (GOOD, BAD)
DATA = '.section .rodata\n.balign 64\n.global case_blob\ncase_blob:\n.incbin "case.blob"\n'
# What the opening is made of, where compilers leave it functions of their own.
OPENING = re.compile(r'weights_open|inlay_crc|inlay_blob')


def changed(blob, at):
    return blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1:]


def bad_blobs(blob):
    """Another layout, a weight, and the seal."""
    begin = struct.unpack('<I', blob[28:32])[0]
    return {'layout': changed(blob, 9), 'weights': changed(blob, begin + 100), 'seal': changed(blob, len(blob) - 20)}


def build(work, core, out, level, blob):
    with open(os.path.join(work, 'case.blob'), 'wb') as f:
        f.write(blob)
    own = [os.path.join(image.HERE, f) for f in ('start.c', 'start_arm.c')]
    command = [core.compiler + 'gcc', '-std=gnu99'] + core.flags + ['-' + level, '-ffunction-sections', '-I', '.', '-I', image.HERE, '-I', os.path.join(out, 'src')]
    command += ['-D%s=%s' % p for p in image.places(core)] + ['-Wl,--defsym=%s=%s' % p for p in image.places(core)]
    command += ['-nostartfiles', '-Wl,--gc-sections', '-Wl,--defsym=STACK_SIZE=%d' % image.STACK, '-T', os.path.join(image.HERE, 'link.ld'), '-o', 'app.elf']
    image.must(command + own + ['main.c', 'data.S'] + host.sources(out) + ['-lm'], work)
    with open(os.path.join(work, 'app.elf'), 'rb') as f:
        return f.read()


def places_of(work, core, program):
    """Bytes of the file that are the code of the opening."""
    start, count = struct.unpack('<I', program[28:32])[0], struct.unpack('<H', program[44:46])[0]
    segments = [struct.unpack('<5I', program[start + 32 * i:start + 32 * i + 20]) for i in range(count)]
    found = []
    listed = image.must([core.compiler + 'nm', '-S', '--defined-only', 'app.elf'], work)
    for address, size, name in re.findall(r'^(\w+) (\w+) [tT] (\S+)$', listed, re.M):
        first = int(address, 16) & ~1
        for _, offset, at, _, length in segments:
            if OPENING.search(name) and at <= first < at + length:
                found += range(first - at + offset, first - at + offset + int(size, 16), 2)
    return found


def run(work, core, program):
    """The status, or None: it never ends."""
    with open(os.path.join(work, 'app.elf'), 'wb') as f:
        f.write(program)
    command = [core.qemu] + core.machine + ['-display', 'none', '-serial', 'none', '-monitor', 'none', '-semihosting-config', 'enable=on,target=native', '-kernel', 'app.elf']
    try:
        return subprocess.run(command, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SECONDS, check=False).returncode
    except subprocess.TimeoutExpired:
        return None


def check_core(t, o, core):
    with host.Work() as work:
        out = os.path.join(work, 'out')
        image.must([o.inlay, 'compile', o.model, '-o', out, '-n', 'net', '--weights=blob', '--target', core.target])
        for name, text in (('main.c', MAIN), ('data.S', DATA)):
            with open(os.path.join(work, name), 'w') as f:
                f.write(text)
        with open(os.path.join(out, 'net.blob'), 'rb') as f:
            blob = f.read()
        label = '%s -%s: ' % (core.name, o.level)
        t.ok(label + 'the blob is taken', run(work, core, build(work, core, out, o.level, blob)) == GOOD)
        for kind, bad in bad_blobs(blob).items():
            program = build(work, core, out, o.level, bad)
            places = places_of(work, core, program)
            t.ok(label + 'another ' + kind + ' is not', places and run(work, core, program) == BAD)
            tries = [(at, n) for at in places for n in (1, 2)]
            taken = [(at - places[0], 2 * n) for at, n in tries if run(work, core, program[:at] + n * NOTHING + program[at + 2 * n:]) == GOOD]
            t.ok(label + 'another %s is not, whatever is skipped, %d ways' % (kind, len(tries)), not taken, taken)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--cores', default='m3,m33')
    p.add_argument('--level', default='Os')
    p.add_argument('model')
    o = p.parse_args()
    t = tap.Tap()
    for core in cores.CORES:
        if core.name not in o.cores.split(','):
            continue
        if cores.missing(core):
            t.skip(core.name, cores.missing(core) + ' is not installed')
        else:
            check_core(t, o, core)
    t.done()


main()
