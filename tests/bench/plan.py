# SPDX-License-Identifier: Apache-2.0
"""Arenas of known architectures at each level of the planner against what is known to be possible
(plan_goals.tsv), in elements (bytes / 4), a line a stage: the arena and its lower bound; of it
scratch and row counters; of it what tiles of several pixels and alignment add, by a second plan
without; the rest against the goal, which counts tensors alone. The goal of f1 makes a pixel in sums
that it does not count and then stores it; ours makes it where it belongs, so the input lies one
pixel further away, which is told apart, too (`sums`). Within: not above the goal (e, f1), not above
it by more than a hundredth (f2, push). Inputs and results lie in the arena but for push. Status 1:
something is not within.

    plan.py --plan BENCH_PLAN [--only RE] [--rounds N] [--most MS] [--json] FOLDER..      FOLDERs
    hold model files; others are made"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import networks
import onnx

STAGES = [
    ('e', 'order', '--io=arena', 1.0),
    ('f1', 'overlap', '--io=arena', 1.0),
    ('f2', 'stream', '--io=arena', 1.01),
    ('push', 'stream', '--io=caller', 1.01),
]


def open_dims(model):
    """Flags that fix every open dimension of the inputs at 1."""
    ins, _ = onnx.read_io(model)
    return [
        f
        for v in ins
        if v.dims and None in v.dims
        for f in ('--shape', '%s=%s' % (v.name, 'x'.join(str(d or 1) for d in v.dims)))
    ]


def levels(program, model, flag, rounds):
    """{level: fields}; the milliseconds are the least of the rounds."""
    found = {}
    for _ in range(rounds):
        p = subprocess.run(
            [program, model, flag] + open_dims(model),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        if p.returncode:
            raise RuntimeError('%s: %s' % (model, p.stderr.strip()))
        for line in p.stdout.splitlines():
            f = line.split('\t')
            found[f[0]] = f[1:8] + [
                min(float(f[8]), found[f[0]][7] if f[0] in found else float(f[8]))
            ]
    return found


def find(folders, name):
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    return None


def rows(o, name, goals, model):
    by_flag = {
        flag: levels(o.plan, model, flag, o.rounds) for flag in ('--io=arena', '--io=caller')
    }
    for (stage, level, flag, factor), goal in zip(STAGES, goals):
        if goal == '-':
            continue
        arena, bound, state, net, bare, pixel, steps, ms = by_flag[flag][level]
        arena, bound, net, bare, pixel = (int(v) // 4 for v in (arena, bound, net, bare, pixel))
        tensors = min(net, bare)
        sums = max(0, min(pixel, tensors - int(goal))) if stage == 'f1' else 0
        yield dict(
            model=name,
            stage=stage,
            goal=int(goal),
            arena=arena,
            bound=bound,
            state=state,
            scratch=arena - net,
            tiles=net - tensors,
            sums=sums,
            counted=tensors - sums,
            ratio=round((tensors - sums) / int(goal), 4),
            steps=int(steps),
            ms=ms,
            within=tensors - sums <= factor * int(goal) and ms <= o.most,
        )


def line(r):
    return '%-19s %-4s %8d %8d %8d %-8s %7d %6d %5d %8d %7.4f %7.1f%s' % (
        r['model'],
        r['stage'],
        r['goal'],
        r['arena'],
        r['bound'],
        'optimal' if r['state'] == 'optimal' else '%.2f %%' % (100 * (r['arena'] / r['bound'] - 1)),
        r['scratch'],
        r['tiles'],
        r['sums'],
        r['counted'],
        r['ratio'],
        r['ms'],
        '' if r['within'] else '  *',
    )


def models(o, scratch):
    for text in open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'plan_goals.tsv')):
        f = text.rstrip('\n').split('\t')
        if text.startswith('#') or not re.search(o.only, f[0]):
            continue
        model = find(o.folder, f[5]) if len(f) == 6 else os.path.join(scratch, f[0] + '.onnx')
        if len(f) < 6:
            net, outputs = networks.NETWORKS[f[0]]()
            net.write(model, *outputs)
        if model:
            yield f[0], f[1:5], model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--plan', required=True)
    parser.add_argument('--only', default='')
    parser.add_argument('--rounds', type=int, default=1, help='the time is the least of so many')
    parser.add_argument(
        '--most', type=float, default=1e9, help='milliseconds of CPU time that a plan may take'
    )
    parser.add_argument('--json', action='store_true')
    parser.add_argument('folder', nargs='*')
    o = parser.parse_args()
    found = []
    if not o.json:
        print(
            '%-19s %-4s %8s %8s %8s %-8s %7s %6s %5s %8s %7s %7s'
            % (
                'model',
                '',
                'goal',
                'arena',
                'bound',
                'gap',
                'scratch',
                'tiles',
                'sums',
                'counted',
                'ratio',
                'ms',
            )
        )
    with tempfile.TemporaryDirectory() as scratch:
        for name, goals, model in models(o, scratch):
            for r in rows(o, name, goals, model):
                found.append(r)
                if not o.json:
                    print(line(r), flush=True)
    missed = [r for r in found if not r['within']]
    if o.json:
        print(json.dumps(found, indent=1))
    else:
        print(
            '%d of %d within; %d optimal; longest %.1f ms'
            % (
                len(found) - len(missed),
                len(found),
                sum(r['state'] == 'optimal' for r in found),
                max(r['ms'] for r in found),
            )
        )
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
