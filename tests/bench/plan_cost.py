# SPDX-License-Identifier: Apache-2.0
"""What streaming costs: each model planned layer by layer (--plan=order) and by the other plans that are asked for, as
instructions on an emulated Cortex-M4F and as CPU time on this machine, outputs compared bit for bit.

    plan_cost.py --inlay INLAY [--plans 'overlap;stream'] [--rounds 21] [--no-firmware] MODEL_DIR...

A plan is the options of a compile; `stream` is short for --plan=stream. Each MODEL_DIR holds model.onnx and test_data_set_0."""
import argparse
import os
import re
import shlex
import statistics
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'support'))
sys.path.insert(0, HERE)
import host  # noqa: E402
import peer  # noqa: E402

FIRMWARE = os.path.join(HERE, '..', 'firmware')
CPU = ['-mcpu=cortex-m4', '-mthumb', '-mfloat-abi=hard', '-mfpu=fpv4-sp-d16', '-ffp-contract=off']
TICK = 40       # instructions


def options_of(plan):
    return ['--plan=' + plan] if re.fullmatch(r'\w+', plan) else shlex.split(plan)


class Failed(Exception):
    pass


def must(command, cwd=None, limit=600):
    status, text = host.run(command, cwd, limit)
    if status:
        raise Failed('%s: status %d: %s' % (os.path.basename(command[0]), status, text.strip()[-500:]))
    return text


def instructions(opt, model, options):
    """(instructions, sum of the outputs' bits) of one inference on the emulated core."""
    onnx, (data, _) = os.path.join(model, 'model.onnx'), host.test_data(model)
    with host.Work() as work:
        out = os.path.join(work, 'out')
        must([opt.inlay, 'compile', onnx, '-o', out, '--name', 'm', '--target', 'cortex-m4'] + host.shape_flags(onnx, data) + options)
        man = host.manifest(out, 'm')
        floats = ', '.join('%sf' % v.hex() for v, in struct.iter_unpack('<f', data[0][1].raw))
        with open(os.path.join(work, 'case.h'), 'w') as f:
            f.write('#include "m.h"\n#define CASE_ARENA_SIZE M_ARENA_SIZE\n#define CASE_ARENA_ALIGN M_ARENA_ALIGN\n#define CASE_OUT %du\n' % (man['outputs'][0]['bytes'] // 4))
            f.write('#define case_run m_run\ntypedef m_inputs case_inputs;\ntypedef m_outputs case_outputs;\nstatic const float case_input[] = { %s };\n' % floats)
        must(['arm-none-eabi-gcc', '-std=gnu99', '-O2'] + CPU + ['-ffunction-sections', '-fdata-sections', '-I', work, '-I', FIRMWARE, '-I', os.path.join(out, 'src'),
              os.path.join(FIRMWARE, 'start.c'), os.path.join(FIRMWARE, 'count.c')] + host.sources(out) +
             ['-nostartfiles', '--specs=nano.specs', '-Wl,--gc-sections', '-T', os.path.join(FIRMWARE, 'm4_large.ld'), '-o', 'app.elf', '-lm'], work)
        text = must(['qemu-system-arm', '-M', 'mps2-an386', '-icount', 'shift=0', '-display', 'none', '-serial', 'none', '-monitor', 'none',
                     '-semihosting-config', 'enable=on,target=native', '-kernel', 'app.elf'], work)
        found = re.search(r'sum ([0-9a-f]{8}) ticks ([0-9a-f]{8}) stack ([0-9a-f]{8})', text)
        if not found:
            raise Failed('no result: ' + text[:300])
        return int(found.group(2), 16) * TICK, found.group(1), man


class Timed:
    """A program that runs a round of inferences for each line it is given."""
    def __init__(self, opt, model, options, work):
        class Build:
            inlay, cc = opt.inlay, opt.cc
        Build.options = ' '.join(shlex.quote(o) for o in options)
        man, why = peer.build(Build, model, work)
        if not man:
            raise Failed(why)
        self.process = subprocess.Popen(['./a.out'], cwd=work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def round(self):
        self.process.stdin.write('\n')
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def host_ratios(opt, model, plans):
    """Microseconds of the first plan, and the median of each plan's ratio to it, round by round."""
    works = [host.Work() for _ in plans]
    try:
        programs = [Timed(opt, model, options_of(p), w.path) for p, w in zip(plans, works)]
        rounds = [[p.round() for p in programs] for _ in range(opt.rounds)]
        for p in programs:
            p.close()
    finally:
        for w in works:
            w.__exit__()
    return statistics.median(r[0] for r in rounds), [statistics.median(r[i] / r[0] for r in rounds) for i in range(len(plans))]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('models', nargs='+')
    p.add_argument('--inlay', required=True)
    p.add_argument('--plans', default='overlap;stream')
    p.add_argument('--cc', default='cc -std=gnu99 -O2 -march=native')
    p.add_argument('--rounds', type=int, default=21)
    p.add_argument('--no-firmware', action='store_true')
    p.add_argument('--no-host', action='store_true')
    opt = p.parse_args()
    opt.inlay = os.path.abspath(opt.inlay)
    plans = ['order'] + opt.plans.split(';')
    print('%-22s %-12s %10s %14s %8s %10s %8s' % ('model', 'plan', 'arena', 'instructions', 'ratio', 'us', 'ratio'))
    for model in map(os.path.abspath, opt.models):
        try:
            counts = [] if opt.no_firmware else [instructions(opt, model, options_of(x)) for x in plans]
            micro, ratios = (0, [0] * len(plans)) if opt.no_host else host_ratios(opt, model, plans)
        except Failed as e:
            print('%-22s %s' % (os.path.basename(model), e))
            continue
        for i, plan in enumerate(plans):
            count, bits, man = counts[i] if counts else (0, '', None)
            odd = '' if not counts or bits == counts[0][1] else '  OTHER BITS'
            print('%-22s %-12s %10d %14d %8.4f %10.1f %8.3f%s' % (os.path.basename(model), plan, man['arena']['size'] if man else 0, count,
                  count / counts[0][0] if counts else 0, micro * ratios[i], ratios[i], odd), flush=True)


if __name__ == '__main__':
    main()
