# SPDX-License-Identifier: Apache-2.0
"""Optional passes leave the answer the same: our models and the converted PyTorch networks, with each of them left out.

    without.py --inlay INLAY --root ROOT [FOLDER]"""
import argparse
import concurrent.futures
import os
import re

import run
import tap


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--root', required=True)
    p.add_argument('folder', nargs='?', default='')
    o = p.parse_args()
    t = tap.Tap()
    with open(os.path.join(o.root, 'compiler/passes/passes.def')) as f:
        passes = re.findall(r'^PASS\((\w+),\s*\w+,\s*false', f.read(), re.M)
    known = {n.split('/')[-1] for n in run.read_known(os.path.join(o.root, 'tests/ops/known.txt'))}
    tests = [(os.path.join(o.root, 'models', n), n + '.onnx') for n in ('digits', 'sine')]
    if os.path.isdir(o.folder):
        tests += [(f, 'model.onnx') for n, f in run.find([o.folder], '') if os.path.basename(f) not in known and not run.out_of_scope(n, f)]
    t.ok('there are optional passes', len(passes) > 2)
    for name in passes + ['all of them']:
        flags = [x for q in (passes if name not in passes else [name]) for x in ('--without', q)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(lambda test: (test[0], run.judge(o.inlay, *test, flags)), tests))
        bad = ['%s: %s' % (os.path.basename(f), why) for f, why in found if why]
        t.ok('%d models without %s' % (len(tests), name), not bad, '\n'.join(bad))
    t.done()


main()
