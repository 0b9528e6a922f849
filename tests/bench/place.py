# SPDX-License-Identifier: Apache-2.0
"""The offset planner on the instances of planner-bench, processor seconds of `inlay place` with
reading and printing: MiniMalloc's at their capacity in file order and with rows shuffled, the least
heights known, idealloc's at their bound. Each placement is checked here: items alive together must
not share bytes.

    place.py --inlay INLAY [--shuffles N] PLANNER-BENCH"""
import argparse
import csv
import os
import random
import resource
import subprocess
import tempfile

LEAST = {'C': 1039360, 'D': 998400, 'J': 1008640}  # C at its lower bound; D and J open
IDEALLOC = {'somas_resnet50': 1515472556, 'iopddl_G_1': 3030937746}


def cpu():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def clash(rows):
    """Two rows that share bytes while both are alive, or None."""
    items = sorted(
        (
            (int(r['lower']), int(r['upper']), int(r['offset']), int(r['offset']) + int(r['size']))
            for r in rows
            if int(r['size'])
        )
    )
    alive = []
    for item in items:
        alive = [a for a in alive if a[1] > item[0]]
        for a in alive:
            if a[2] < item[3] and item[2] < a[3]:
                return a, item
        alive.append(item)
    return None


def place(inlay, path, capacity):
    """Seconds and height of a placement within the capacity; height None: none was found."""
    before = cpu()
    p = subprocess.run(
        [inlay, 'place', path, '--capacity=%d' % capacity],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    seconds = cpu() - before
    rows = list(csv.DictReader(p.stdout.splitlines()))
    if p.returncode:
        return seconds, None
    assert rows and clash(rows) is None, path
    return seconds, max(int(r['offset']) + int(r['size']) for r in rows)


def shuffled(path, folder, rng):
    with open(path) as f:
        lines = f.read().splitlines()
    body = lines[1:]
    rng.shuffle(body)
    out = os.path.join(folder, 'shuffled.csv')
    with open(out, 'w') as f:
        f.write('\n'.join([lines[0]] + body) + '\n')
    return out


def report(inlay, name, path, capacity):
    seconds, height = place(inlay, path, capacity)
    print(
        '%-24s %11d  %-11s %7.3f s'
        % (name, capacity, height if height is not None else 'not found', seconds),
        flush=True,
    )
    return seconds, height is not None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    parser.add_argument('--shuffles', type=int, default=3)
    parser.add_argument('folder')
    args = parser.parse_args()
    hard = os.path.join(args.folder, 'minimalloc-challenging')
    paths = {letter: os.path.join(hard, letter + '.1048576.csv') for letter in 'ABCDEFGHIJK'}
    print('%-24s %11s  %-11s %9s' % ('instance', 'capacity', 'height', 'CPU'))
    total = sum(report(args.inlay, letter, path, 1048576)[0] for letter, path in paths.items())
    print('sum of A to K, in file order: %.2f s' % total)
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as scratch:
        for turn in range(args.shuffles):
            done = [
                place(args.inlay, shuffled(path, scratch, rng), 1048576) for path in paths.values()
            ]
            print(
                'sum of A to K, shuffle %d: %.2f s, %d of 11 placed'
                % (turn + 1, sum(s for s, _ in done), sum(h is not None for _, h in done)),
                flush=True,
            )
    for letter, capacity in LEAST.items():
        report(args.inlay, letter + ', least known', paths[letter], capacity)
    for name, capacity in IDEALLOC.items():
        report(args.inlay, name, os.path.join(args.folder, 'idealloc', name + '.csv'), capacity)


if __name__ == '__main__':
    main()
