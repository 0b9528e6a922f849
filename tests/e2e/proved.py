# SPDX-License-Identifier: Apache-2.0
"""No false alarm, and the same bits: what is compiled is proved again from its manifest, and run (--run), for every model and every way to ask
for a plan: levels, goals, inputs and results in the arena or by rows, regions, a point of the curve, open dimensions of 1 and 2. It answers
the same bytes as the plan of plain lifetimes.

    proved.py --inlay INLAY [--run] [--every N] [--only REGEX] [--jobs N] FOLDER|TAR..."""
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
        self.inlay, self.model, self.work, self.n, self.bad = inlay, model, work, 0, []
        self.out, self.inputs, self.plain = os.path.join(work, 'out'), [], None

    def run(self, flags):
        """The bytes of all results."""
        into = os.path.join(self.work, 'run')
        status, text = host.run([self.inlay, 'run', self.model, '-o', into] + flags + self.inputs, limit=900)
        if status:
            return 'status %d, %s' % (status, text[:500])
        return [open(os.path.join(into, f), 'rb').read() for f in sorted(os.listdir(into))]

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
        if self.plain is not None:
            got = self.run(flags)
            if got != self.plain:
                self.bad.append('%s: run: %s' % (' '.join(flags), got if isinstance(got, str) else 'other bytes'))
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


def check(o, name, folder):
    """(how many plans were proved, what is wrong)"""
    model = os.path.join(folder, 'model.onnx')
    with host.Work() as work:
        p = Prover(o.inlay, model, work)
        try:
            data = host.test_data(folder)[0]
            shapes = [host.shape_flags(model, data)] + [open_shapes(model, n) for n in (1, 2)]
        except (onnx.Unreadable, IndexError):
            shapes = [[]]
        if o.run and not cases.out_of_scope(name, folder):
            p.inputs = [x for path, _ in data[:len(onnx.read_io(model)[0])] for x in ('--input', path)]
            p.plain = p.run(shapes[0] + ['--plan=simple'])
            p.plain = None if isinstance(p.plain, str) else p.plain     # data of another type or shape than the model says
        for i, shape in enumerate(shapes):
            if shape not in shapes[:i]:
                p.prove_all(shape)
            p.plain = None
        return p.n, p.bad


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--run', action='store_true')
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
        for (name, _), (n, bad) in zip(tests, pool.map(lambda x: check(o, *x), tests)):
            plans += n
            if n or bad:
                t.ok('%s: %d plans' % (name, n), not bad, '\n'.join(bad))
            else:
                t.skip(name, 'refused')
    print('# %d plans' % plans)
    shutil.rmtree(scratch, ignore_errors=True)
    t.done()


if __name__ == '__main__':
    main()
