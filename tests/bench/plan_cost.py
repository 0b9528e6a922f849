# SPDX-License-Identifier: Apache-2.0
"""What streaming costs: each model planned layer by layer (--plan=order) and by the other plans
that are asked for, as instructions on an emulated core (Cortex-M4F) and as CPU time on this
machine, outputs compared bit for bit.

    plan_cost.py --inlay INLAY [--plans 'overlap;stream'] [--rounds 21] [--core m4] [--no-firmware]
    MODEL_DIR...

A plan is the options of a compile; `stream` is short for --plan=stream. Each MODEL_DIR holds
model.onnx and test_data_set_0."""
import argparse
import os
import re
import shlex
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'support'))
sys.path.insert(0, os.path.join(HERE, '..', 'firmware'))
sys.path.insert(0, HERE)
import cores  # noqa: E402
import host  # noqa: E402
import image  # noqa: E402
import peer  # noqa: E402


def options_of(plan):
    return ['--plan=' + plan] if re.fullmatch(r'\w+', plan) else shlex.split(plan)


def instructions(opt, model, options):
    """(instructions, bits of the outputs, manifest) of one inference on the emulated core."""
    onnx, (data, _) = host.model_of(model), host.test_data(model)
    core = next(c for c in cores.CORES if c.name == opt.core)
    with host.Work() as work:
        out = os.path.join(work, 'out')
        image.must(
            [opt.inlay, 'compile', onnx, '-o', out, '--name', 'net']
            + host.shape_flags(onnx, data)
            + options
        )
        man = host.manifest(out, 'net')
        image.write_case(work, 'net', man, [tensor for _, tensor in data])
        image.build(core, work, out)
        got = image.run(core, work, man, image.plugin(work))
        return got.instructions, [tensor.raw for tensor in got.outputs], man


class Timed:
    """A program that runs a round of inferences for each line it is given."""

    def __init__(self, opt, model, options, work):
        class Build:
            inlay, cc = opt.inlay, opt.cc

        Build.options = ' '.join(shlex.quote(o) for o in options)
        man, why = peer.build(Build, model, work)
        if not man:
            raise image.Failed(why)
        self.process = subprocess.Popen(
            ['./a.out'], cwd=work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

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
    return statistics.median(r[0] for r in rounds), [
        statistics.median(r[i] / r[0] for r in rounds) for i in range(len(plans))
    ]


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument('models', nargs='+')
    p.add_argument('--inlay', required=True)
    p.add_argument('--plans', default='overlap;stream')
    p.add_argument('--cc', default='cc -std=gnu99 -O2 -march=native')
    p.add_argument('--core', default='m4')
    p.add_argument('--rounds', type=int, default=21)
    p.add_argument('--no-firmware', action='store_true')
    p.add_argument('--no-host', action='store_true')
    opt = p.parse_args()
    opt.inlay = os.path.abspath(opt.inlay)
    plans = ['order'] + opt.plans.split(';')
    print(
        '%-22s %-12s %10s %14s %8s %10s %8s'
        % ('model', 'plan', 'arena', 'instructions', 'ratio', 'us', 'ratio')
    )
    for model in map(os.path.abspath, opt.models):
        try:
            counts = (
                [] if opt.no_firmware else [instructions(opt, model, options_of(x)) for x in plans]
            )
            micro, ratios = (0, [0] * len(plans)) if opt.no_host else host_ratios(opt, model, plans)
        except image.Failed as e:
            print('%-22s %s' % (os.path.basename(model), e))
            continue
        for i, plan in enumerate(plans):
            count, bits, man = counts[i] if counts else (0, [], None)
            odd = '' if not counts or bits == counts[0][1] else '  OTHER BITS'
            print(
                '%-22s %-12s %10d %14d %8.4f %10.1f %8.3f%s'
                % (
                    os.path.basename(model),
                    plan,
                    man['arena']['size'] if man else 0,
                    count,
                    count / counts[0][0] if counts else 0,
                    micro * ratios[i],
                    ratios[i],
                    odd,
                ),
                flush=True,
            )


if __name__ == '__main__':
    main()
