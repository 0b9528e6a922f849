# SPDX-License-Identifier: Apache-2.0
"""An instruction that a core skips makes no bad blob a good one: in the code of NAME_weights_open()
2 and 4 bytes are replaced by instructions that do nothing, at each address, and a blob with one bit
changed is opened on an emulated core. One emulator runs them all, each after a reset (skips.c);
where a try ends the emulator, another one goes on behind it.

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

TAKEN, REFUSED, DIED, SECONDS = 'G', 'B', 'D', 1
DATA = '.section .rodata\n.balign 64\n.global case_blob\ncase_blob:\n.incbin "case.blob"\n'
# What the opening is made of, where compilers leave it functions of their own.
OPENING = re.compile(r'weights_open|inlay_crc|inlay_blob')


def changed(blob, at):
    return blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1 :]


def bad_blobs(blob):
    """Another layout, a weight, and the seal."""
    begin = struct.unpack('<I', blob[28:32])[0]
    return {
        'layout': changed(blob, 9),
        'weights': changed(blob, begin + 100),
        'seal': changed(blob, len(blob) - 20),
    }


def build(work, core, out, level, blob):
    with open(os.path.join(work, 'case.blob'), 'wb') as f:
        f.write(blob)
    own = [os.path.join(image.HERE, f) for f in ('start.c', 'start_arm.c', 'skips.c')]
    command = (
        [core.compiler + 'gcc', '-std=gnu99']
        + core.flags
        + [
            '-' + level,
            '-ffunction-sections',
            '-I',
            '.',
            '-I',
            image.HERE,
            '-I',
            os.path.join(out, 'src'),
        ]
    )
    command += ['-D%s=%s' % p for p in image.places(core)] + [
        '-Wl,--defsym=%s=%s' % p for p in image.places(core)
    ]
    command += [
        '-nostartfiles',
        '-Wl,--gc-sections',
        '-Wl,--defsym=STACK_SIZE=%d' % image.STACK,
        '-T',
        os.path.join(image.HERE, 'link.ld'),
        '-o',
        'app.elf',
    ]
    image.must(command + own + ['data.S'] + host.sources(out) + ['-lm'], work)


def places_of(work, core):
    """Addresses of the code of the opening."""
    found = []
    listed = image.must([core.compiler + 'nm', '-S', '--defined-only', 'app.elf'], work)
    for address, size, name in re.findall(r'^(\w+) (\w+) [tT] (\S+)$', listed, re.M):
        first = int(address, 16) & ~1
        if OPENING.search(name):
            found += range(first, first + int(size, 16), 2)
    return found


def results_of(work):
    try:
        with open(os.path.join(work, 'results')) as f:
            return f.read()
    except FileNotFoundError:
        return ''


def run(work, core, tries):
    """A letter for each try, (address, halfwords)."""
    with open(os.path.join(work, 'tries'), 'wb') as f:
        f.write(b''.join(struct.pack('<2I', *one) for one in tries))
    with open(os.path.join(work, 'results'), 'w'):
        pass
    command = (
        [core.qemu]
        + core.machine
        + [
            '-display',
            'none',
            '-serial',
            'none',
            '-monitor',
            'none',
            '-icount',
            'shift=3',
            '-semihosting-config',
            'enable=on,target=native',
            '-kernel',
            'app.elf',
        ]
    )
    while len(results_of(work)) < len(tries):
        emulate(command, work)
        if len(results_of(work)) < len(tries):
            with open(os.path.join(work, 'results'), 'a') as f:
                f.write(DIED)
    return results_of(work)


def emulate(command, work):
    """Until it ends, or there is no result for too long."""
    with subprocess.Popen(
        command,
        cwd=work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as emulator:
        before = -1
        while before < len(results_of(work)):
            before = len(results_of(work))
            try:
                emulator.wait(SECONDS)
                return
            except subprocess.TimeoutExpired:
                pass
        emulator.kill()


def check_core(t, o, core):
    with host.Work() as work:
        out = os.path.join(work, 'out')
        image.must(
            [
                o.inlay,
                'compile',
                o.model,
                '-o',
                out,
                '-n',
                'net',
                '--weights=blob',
                '--target',
                core.target,
            ]
        )
        with open(os.path.join(work, 'data.S'), 'w') as f:
            f.write(DATA)
        with open(os.path.join(out, 'net.blob'), 'rb') as f:
            blob = f.read()
        label = '%s -%s: ' % (core.name, o.level)
        build(work, core, out, o.level, blob)
        t.ok(label + 'the blob is taken', run(work, core, [(0, 0)]) == TAKEN)
        for kind, bad in bad_blobs(blob).items():
            build(work, core, out, o.level, bad)
            tries = [(at, n) for at in places_of(work, core) for n in (1, 2)]
            t.ok(
                label + 'another ' + kind + ' is not',
                tries and run(work, core, [(0, 0)]) == REFUSED,
            )
            results = run(work, core, tries)
            taken = [
                ('0x%x' % at, 2 * n) for (at, n), result in zip(tries, results) if result == TAKEN
            ]
            t.ok(
                label + 'another %s is not, whatever is skipped, %d ways' % (kind, len(tries)),
                REFUSED in results and not taken,
                taken,
            )
            print(
                '# '
                + ', '.join(
                    '%s %d' % (letter, results.count(letter)) for letter in sorted(set(results))
                ),
                flush=True,
            )


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
