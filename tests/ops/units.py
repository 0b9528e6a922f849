# SPDX-License-Identifier: Apache-2.0
"""Kernels keep to the rows and pixels that their steps state: units.c, or tight.c, on every test
model, as it is lowered and with what the planner makes of the steps (pairs, parts of wider tensors,
strips of columns).

    units.py --inlay INLAY --units PROGRAM [--every N] [--only REGEX] [--jobs N] FOLDER|TAR..."""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import tempfile

import cases
import host
import onnx
import tap

LONG = 900


def smallest(o, model, flags):
    """--arena-limit for the smallest arena of the curve, where that computes something twice."""
    status, text = host.run([o.inlay, 'analyze', model, '--json', '--curve'] + flags)
    curve = json.loads(text[text.index('{') :])['curve'] if not status else []
    return [['--arena-limit=%d' % curve[-1]['arena']]] if curve and curve[-1].get('strips') else []


def check(o, folder):
    """(how many runs there were, '' or what is wrong)"""
    model, data = os.path.join(folder, 'model.onnx'), host.test_data(folder)[0]
    data = data[: len(onnx.read_io(model)[0])]
    flags = host.shape_flags(model, data)
    units, bad = 0, ''
    for plan in [['--plan=simple'], ['--plan=stream']] + smallest(o, model, flags):
        status, text = host.run(
            [o.units, 'run', model]
            + flags
            + plan
            + [x for path, _ in data for x in ('--input', path)],
            limit=LONG,
        )
        found = re.search(r'(\d+) runs, (\d+) faults', text)
        units += int(found.group(1)) if found else 0
        if (
            status not in (0, 1, 65, 69, 78) or 'Sanitizer' in text or 'runtime error:' in text
        ):  # sanitizers, too, end with 1
            bad += '%s: status %d: %s\n' % (' '.join(plan), status, text[:1500])
    return units, bad


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--units', required=True)
    p.add_argument('--every', type=int, default=1)
    p.add_argument('--only', default='')
    p.add_argument('--jobs', type=int, default=1)
    p.add_argument('paths', nargs='+')
    o = p.parse_args()
    t, scratch = tap.Tap(), tempfile.mkdtemp(prefix='inlay-units-')
    for path in o.paths:
        if not os.path.exists(path):
            t.skip(os.path.basename(path), 'not on this machine')
    tests = [
        x
        for x in cases.find([x for x in o.paths if os.path.exists(x)], scratch)
        if re.search(o.only, x[0]) and not cases.out_of_scope(*x)
    ][:: o.every]
    total = 0
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for (name, _), (units, bad) in zip(tests, pool.map(lambda x: check(o, x[1]), tests)):
            total += units
            if units or bad:
                t.ok('%s: %d runs' % (name, units), not bad, bad)
            else:
                t.skip(name, 'refused')
    print('# %d runs' % total)
    shutil.rmtree(scratch, ignore_errors=True)
    t.done()


if __name__ == '__main__':
    main()
