# SPDX-License-Identifier: Apache-2.0
"""No false alarm: what is compiled is proved again from its manifest, for every model and every way to ask for a plan: levels, goals,
inputs and results in the arena or by rows, regions, a point of the curve, open dimensions of 1 and 2.

    proved.py --inlay INLAY [--every N] [--only REGEX] [--jobs N] FOLDER|TAR..."""
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

PLANS = [['--plan=simple'], ['--plan=order'], ['--plan=overlap'], ['--plan=stream']]
FORMS = PLANS + [['--optimize=speed'], ['--optimize=balanced'], ['--io=arena'], ['--io=arena', '--preserve-input'], ['--io=in0=rows'],
                 ['--io=in0=rows', '--io=out=arena'], ['--io=arena', '--plan=simple'], ['--io=arena', '--plan=overlap']]
FAULTS = {70}                   # of ours; the others say what the model or the options cannot have


def open_shapes(model, size):
    """--shape with every open dimension `size`; [] where all are fixed."""
    return [f for v in onnx.read_io(model)[0] if v.dims is not None and None in v.dims
            for f in ('--shape', '%s=%s' % (v.name, 'x'.join(str(size if d is None else d) for d in v.dims)))]


class Prover:
    def __init__(self, inlay, model, work):
        self.inlay, self.model, self.out, self.n, self.bad = inlay, model, os.path.join(work, 'out'), 0, []

    def analyze(self, flags):
        status, text = host.run([self.inlay, 'analyze', self.model, '--json', '--curve'] + flags)
        return json.loads(text[text.index('{'):]) if not status else None        # warnings come first

    def prove(self, flags):
        """Does it compile?"""
        status, text = host.run([self.inlay, 'compile', self.model, '-o', self.out, '--name', 'm', '--weights=bin', '--no-hash'] + flags)
        if status in FAULTS or status not in host.DOCUMENTED:
            self.bad.append('%s: compile: status %d, %s' % (' '.join(flags), status, text[:500]))
        if status:
            return False
        status, text = host.run([self.inlay, 'prove', os.path.join(self.out, 'm.json'), self.model])
        self.n += 1
        if status:
            self.bad.append('%s: prove: status %d, %s' % (' '.join(flags), status, text[:500]))
        return True

    def prove_all(self, shape):
        if not self.prove(shape):
            return
        for flags in FORMS:
            self.prove(shape + flags)
        for io in ([], ['--io=arena']):
            found = self.analyze(shape + io)
            size = found['arena']['size'] if found else 0
            for fast in {max(16, size // 4), max(16, size // 2)}:
                self.prove(shape + io + ['--region=fast:%d' % fast, '--region=slow:%d:4' % (size + (1 << 20))])
            for point in found['curve'][-3:] if found else []:
                self.prove(shape + io + ['--arena-limit=%d' % point['arena']])


def check(o, folder):
    """(how many plans were proved, what is wrong)"""
    model = os.path.join(folder, 'model.onnx')
    with host.Work() as work:
        p = Prover(o.inlay, model, work)
        try:
            shapes = [host.shape_flags(model, host.test_data(folder)[0])] + [open_shapes(model, n) for n in (1, 2)]
        except (onnx.Unreadable, IndexError):
            shapes = [[]]
        for i, shape in enumerate(shapes):
            if shape not in shapes[:i]:
                p.prove_all(shape)
        return p.n, p.bad


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--every', type=int, default=1)
    p.add_argument('--only', default='')
    p.add_argument('--jobs', type=int, default=1)
    p.add_argument('paths', nargs='+')
    o = p.parse_args()
    t, scratch = tap.Tap(), tempfile.mkdtemp(prefix='inlay-proved-')
    for path in o.paths:
        if not os.path.exists(path):
            t.skip(os.path.basename(path), 'not on this machine')
    tests = [x for x in cases.find([x for x in o.paths if os.path.exists(x)], scratch) if re.search(o.only, x[0])][::o.every]
    plans = 0
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for (name, _), (n, bad) in zip(tests, pool.map(lambda x: check(o, x[1]), tests)):
            plans += n
            if n or bad:
                t.ok('%s: %d plans are proved' % (name, n), not bad, '\n'.join(bad))
            else:
                t.skip(name, 'refused')
    print('# %d plans' % plans)
    shutil.rmtree(scratch, ignore_errors=True)
    t.done()


if __name__ == '__main__':
    main()
