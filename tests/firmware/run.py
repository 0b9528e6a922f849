# SPDX-License-Identifier: Apache-2.0
"""Models on an emulated Cortex-M4F: built without start files and without an allocator, run by qemu, the answer
compared with the host's and with the reference.

    run.py --inlay INLAY --models MODELS --firmware FOLDER"""
import argparse
import os
import re
import shutil
import struct

import host
import onnx
import tap

CC = 'arm-none-eabi-gcc'
QEMU = 'qemu-system-arm'
CPU = ['-mcpu=cortex-m4', '-mthumb', '-mfloat-abi=hard', '-mfpu=fpv4-sp-d16']
WARN = host.STRICT[1:] + ['-std=c99']
ALLOCATOR = re.compile(r'\b_?(malloc|calloc|realloc|free|sbrk|_sbrk_r|_malloc_r|_free_r)\b')


def write_case(work, name, man, value):
    raw = [w for w, in struct.iter_unpack('<I', value.raw)]
    floats = ', '.join('%sf' % struct.unpack('<f', struct.pack('<I', w))[0].hex() for w in raw)
    n = name.upper()
    with open(os.path.join(work, 'case.h'), 'w') as f:
        f.write('#include "%s.h"\n#define CASE_ARENA_SIZE %s_ARENA_SIZE\n#define CASE_ARENA_ALIGN %s_ARENA_ALIGN\n' % (name, n, n))
        f.write('#define CASE_OUT %du\n#define case_run %s_run\ntypedef %s_inputs case_inputs;\ntypedef %s_outputs case_outputs;\n' %
                (man['outputs'][0]['bytes'] // 4, name, name, name))
        f.write('static const float case_input[] = { %s };\n' % floats)


def has_fma():
    """Can the host multiply and add in one rounding, as the Cortex-M4 does? Only then can the bits be the same."""
    try:
        with open('/proc/cpuinfo') as f:
            return re.search(r'^flags.*\bfma\b', f.read(), re.M) is not None
    except OSError:
        return False


def firmware(t, o, name, level, form='auto'):
    label = '%s %s%s' % (name, level, '' if form == 'auto' else ' ' + form)
    folder = os.path.join(o.models, name)
    data, want = host.test_data(folder)
    with host.Work() as work:
        out = os.path.join(work, 'out')
        status, text = host.run([o.inlay, 'compile', os.path.join(folder, name + '.onnx'), '-o', out, '--name', name, '--weights', form, '--target', 'cortex-m4'])
        if not t.ok(label + ': compiles to C', status == 0, text):
            return
        man = host.manifest(out, name)
        write_case(work, name, man, data[0][1])
        sources = [os.path.join(o.firmware, 'start.c'), os.path.join(o.firmware, 'main.c')]
        flags = CPU + [level, '-ffp-contract=off', '-ffunction-sections', '-fdata-sections', '-I', work, '-I', o.firmware, '-I', os.path.join(out, 'src')]
        status, text = host.run([CC, '-std=c99', '-O2'] + flags + WARN + ['-c', '-o', os.path.join(work, 'model.o'), os.path.join(out, 'src', name + '.c')], work)
        if not t.ok(label + ': no warning', status == 0, text[:2000]):
            return
        link = ['-nostartfiles', '--specs=nano.specs', '-Wl,--gc-sections', '-T', os.path.join(o.firmware, 'm4.ld'), '-o', 'app.elf']
        status, text = host.run([CC, '-std=gnu99'] + flags + sources + host.sources(out) + link + ['-lm'], work)
        if not t.ok(label + ': links', status == 0, text[:2000]):
            return
        symbols = host.run(['arm-none-eabi-nm', 'app.elf'], work)[1]
        t.ok(label + ': no allocator in the image', not ALLOCATOR.search(symbols), ALLOCATOR.findall(symbols))
        sizes = host.run(['arm-none-eabi-size', 'app.elf'], work)[1].splitlines()[-1].split()
        qemu = [QEMU, '-M', 'mps2-an386', '-display', 'none', '-serial', 'none', '-monitor', 'none',
                '-semihosting-config', 'enable=on,target=native', '-kernel', 'app.elf']
        status, text = host.run(qemu, work, 120)
        if not t.ok(label + ': runs', status == 0 and 'result' in text, 'status %d\n%s' % (status, text[:1000])):
            return
        words = re.search(r'result((?: [0-9a-f]{8})+)', text).group(1).split()
        got = onnx.Tensor('', onnx.CODES['float32'], want[0].dims, struct.pack('<%dI' % len(words), *(int(w, 16) for w in words)))
        bad = onnx.difference(got, want[0])
        t.ok(label + ': reference answer', not bad, bad)
        if form == 'obj':
            return
        host.write_main(work, [(name, man, [data[0][1]])])
        fma = has_fma()
        flags = ['-std=c99', '-O2', '-ffp-contract=off', '-DINLAY_VL=1'] + (['-mfma'] if fma else [])
        status, text2 = host.run(['gcc'] + flags + ['-I', os.path.join(out, 'src'), 'main.c'] + host.sources(out) + ['-lm'], work)
        status, text2 = host.run(['./a.out'], work) if not status else (status, text2)
        same = not status and host.results(work, name, man)[0].raw == got.raw
        bad = text2 if status else onnx.difference(got, host.results(work, name, man)[0], 1e-5, 1e-6)
        t.ok(label + ": the host's answer, %s" % ('bit for bit' if fma else 'within 1e-5'), same if fma else not bad, bad or 'the bits differ')
        stack = int(re.search(r'stack ([0-9a-f]{8})', text).group(1), 16)
        t.ok(label + ': stack below 2 KiB', stack < 2048, 'stack %d bytes' % stack)
        print('# %s: image %s bytes text, %s data, %s bss; stack %d bytes' % (label, sizes[0], sizes[1], sizes[2], stack), flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    p.add_argument('--firmware', required=True)
    o = p.parse_args()
    o.firmware = os.path.abspath(o.firmware)
    t = tap.Tap()
    for tool in (CC, QEMU):
        if not shutil.which(tool):
            t.skip('firmware', tool + ' is not installed')
            t.done()
    for name in ('sine', 'digits'):
        for level in ('-O2', '-Os'):
            firmware(t, o, name, level)
        firmware(t, o, name, '-O2', 'obj')
    t.done()


main()
