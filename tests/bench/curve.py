# SPDX-License-Identifier: Apache-2.0
"""What each point of a model's curve costs: curve.py --inlay BIN [--instructions] MODEL_DIR...

Each MODEL_DIR holds model.onnx and test_data_set_0. Every plan of `analyze --curve` (--once: those
that compute nothing twice) is compiled by asking for its size; thread CPU time is the median ratio
to the first point over --rounds interleaved rounds; --instructions counts those of one inference by
valgrind's callgrind (machine code of --count-cc)."""
import argparse
import glob
import json
import os
import re
import shlex
import statistics
import subprocess

import peer
import host

ONCE = (
    r'''#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "m.h"
'''
    + peer.LOADER
    + r'''int main(void)
{
    unsigned char *arena = take(M_ARENA_SIZE);
    m_inputs in;
    m_outputs out;
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
%(load)s
    return m_run(arena, &in, &out);
}
'''
)


def instructions(opt, work):
    """Of m_run() and what it calls."""
    with open(os.path.join(work, 'main.c')) as f:
        load = '\n'.join(
            line
            for line in f.read().split('\n')
            if re.match(r'    (\{ void \*p = take|out\.out)', line)
        )
    with open(os.path.join(work, 'once.c'), 'w') as f:
        f.write(ONCE % dict(load=load))
    out = os.path.join(work, 'out')
    status, text = host.run(
        shlex.split(opt.count_cc)
        + ['-I', os.path.join(out, 'src'), '-o', 'once', 'once.c']
        + host.sources(out)
        + ['-lm'],
        work,
    )
    if status:
        raise RuntimeError(text)
    status, text = host.run(
        [
            'valgrind',
            '--tool=callgrind',
            '--toggle-collect=m_run',
            '--callgrind-out-file=/dev/null',
            './once',
        ],
        work,
        3600,
    )
    return int(re.search(r'Collected : (\d+)', text).group(1))


def curve_of(opt, model):
    data, _ = host.test_data(model)
    onnx = os.path.join(model, 'model.onnx')
    p = subprocess.run(
        [opt.inlay, 'analyze', onnx, '--curve', '--json']
        + host.shape_flags(onnx, data)
        + shlex.split(opt.options),
        stdout=subprocess.PIPE,
    )
    if p.returncode:
        return None
    curve = json.loads(p.stdout)['curve']
    return [c for c in curve if not opt.once or c['strips'] == 0]


def pick(points, most):
    """At most so many, the ends among them."""
    if len(points) <= most:
        return points
    return [points[round(i * (len(points) - 1) / (most - 1))] for i in range(most)]


def measure(opt, model):
    name, points = os.path.basename(model), curve_of(opt, model)
    if not points:
        print('%-28s cannot be planned' % name, flush=True)
        return
    works, counts, runs = [host.Work() for _ in pick(points, opt.most)], [], []
    points = pick(points, opt.most)
    options = opt.options
    for c, work in zip(points, works):
        opt.options = options + ' --arena-limit %d' % c['arena']
        man, why = peer.build(opt, model, work.path)
        if not man or man['arena']['size'] != c['arena']:
            raise SystemExit('%s: %s' % (name, why or 'another arena than the curve says'))
        counts.append(instructions(opt, work.path) if opt.instructions else 0)
        runs.append(
            subprocess.Popen(
                ['./a.out'], cwd=work.path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        )
    opt.options = options
    times = [[] for _ in points]
    for _ in range(opt.rounds):
        for run, t in zip(runs, times):
            run.stdin.write('\n')
            run.stdin.flush()
            t.append(float(run.stdout.readline()))
    for run in runs:
        run.stdin.close()
        run.wait()
    for i, c in enumerate(points):
        ratio = statistics.median(a / b for a, b in zip(times[i], times[0]))
        work = ' %13d %7.4f' % (counts[i], counts[i] / counts[0]) if opt.instructions else ''
        print(
            '%-28s %10d %7.3f %9d %7d %11d %11.1f %7.3f%s'
            % (
                name if i == 0 else '',
                c['arena'],
                c['mac_factor'],
                c['streamed_steps'],
                c['strips'],
                c['cost'],
                statistics.median(times[i]),
                ratio,
                work,
            ),
            flush=True,
        )
    for work in works:
        work.__exit__()


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument('models', nargs='+')
    p.add_argument('--inlay', required=True)
    p.add_argument('--cc', default='cc -std=gnu99 -O3 -march=native')
    p.add_argument('--count-cc', default='cc -std=gnu99 -O2')
    p.add_argument('--options', default='')
    p.add_argument('--rounds', type=int, default=5)
    p.add_argument('--most', type=int, default=8, help='points of a model')
    p.add_argument('--once', action='store_true', help='leave out what is computed twice')
    p.add_argument('--instructions', action='store_true')
    opt = p.parse_args()
    opt.inlay = os.path.abspath(opt.inlay)
    print(
        '%-28s %10s %7s %9s %7s %11s %11s %7s%s'
        % (
            'model',
            'arena',
            'MACs',
            'streamed',
            'strips',
            'cost',
            'us',
            'ratio',
            '  instructions   ratio' if opt.instructions else '',
        )
    )
    for folder in opt.models:
        for model in sorted(
            os.path.dirname(f)
            for f in glob.glob(os.path.join(folder, '**', 'model.onnx'), recursive=True)
        ):
            measure(opt, os.path.abspath(model))


main()
