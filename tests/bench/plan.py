# SPDX-License-Identifier: Apache-2.0
"""Arenas of known architectures at each level of the planner beside what is known to be possible (plan_goals.tsv), in
elements (bytes / 4): the goal is a peak of tensors alone, ours counts alignment, row counters and scratch, too. Inputs and results lie
in the arena but for push.

    plan.py --plan BENCH_PLAN [--only RE] FOLDER..      FOLDERs hold model files; others are made"""
import argparse
import os
import re
import subprocess
import tempfile

import networks
import onnx


def open_dims(model):
    """Flags that fix every open dimension of the inputs at 1."""
    ins, _ = onnx.read_io(model)
    return [f for v in ins if v.dims and None in v.dims for f in ('--shape', '%s=%s' % (v.name, 'x'.join(str(d or 1) for d in v.dims)))]


def levels(program, model, *flags):
    p = subprocess.run([program, model] + open_dims(model) + list(flags), stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    return {f[0]: f[1:] for f in (line.split('\t') for line in p.stdout.splitlines())}, p.stderr.strip()


def find(folders, name):
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    return None


def row(program, model, goals):
    """One line; what is more than a thousandth above its goal has a star."""
    inside, message = levels(program, model, '--io=arena')
    outside, _ = levels(program, model)
    if len(inside) < 4 or len(outside) < 4:
        return '%-19s%s' % (goals[0], message.splitlines()[0] if message else 'nothing')
    cells = []
    for goal, got in zip(goals[1:5], (inside['order'], inside['overlap'], inside['stream'], outside['stream'])):
        ours = int(got[0]) // 4
        cells += [goal, '%d%s' % (ours, ' ' if goal == '-' or ours <= 1.001 * int(goal) + 16 else '*')]
    state = ''.join(' %s: %s of %s' % (k, int(v[1]) // 4, int(v[0]) // 4) for k, v in inside.items() if v[2] != 'optimal')
    return '%-19s%9s%9s |%8s%9s |%8s%9s |%8s%9s |%8d%7s%s' % (goals[0], *cells, int(inside['stream'][3]) // 4, inside['stream'][5], state)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--plan', required=True)
    parser.add_argument('--only', default='')
    parser.add_argument('folder', nargs='*')
    args = parser.parse_args()
    print('%-19s%9s%9s |%8s%9s |%8s%9s |%8s%9s |%8s%7s' % ('model', 'e', 'ours', 'f1', 'ours', 'f2', 'ours', 'push', 'ours', 'scratch', 'ms'))
    with tempfile.TemporaryDirectory() as scratch:
        for line in open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'plan_goals.tsv')):
            f = line.rstrip('\n').split('\t')
            if line.startswith('#') or not re.search(args.only, f[0]):
                continue
            if len(f) == 6:
                model = find(args.folder, f[5])
            else:
                model = os.path.join(scratch, f[0] + '.onnx')
                net, outputs = networks.NETWORKS[f[0]]()
                net.write(model, *outputs)
            if model:
                print(row(args.plan, model, f))


if __name__ == '__main__':
    main()
