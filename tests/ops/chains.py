# SPDX-License-Identifier: Apache-2.0
"""Chains of random operators (support/random_chains.py), each run in several ways: plans leave the
bytes as they are, passes the numbers but for rounding; none is refused, and every tenth's plans are
proved.

    chains.py --inlay INLAY [--count N] [--seed FIRST] [--peer PYTHON]

PYTHON: one that has onnxruntime and numpy, whose answers are compared, too."""
import argparse
import collections
import json
import math
import os
import random
import re
import subprocess

import host
import onnx
import random_chains
import tap
import trial
from chain_net import raw_of

# Options that change the plan alone: the bytes stay.
PLANS = [('--plan=simple',), ('--plan=order', '--effort=0')]
SPEED = ('--optimize=speed',)
PROVED, PERTURBED = 10, 4  # which chains' plans; runs with inputs a little off
MOST_ON_EDGE = 0.02  # of all chains
STEPS = 0.02  # of a result's numbers, which may be a step of the quantization off
TINY = 1e-30  # numbers below the least normal one have few digits
# What is refused with a reason: what the compiler says, why.
REFUSED = []


def left_out(inlay):
    """Without all passes that may be left out."""
    status, text = host.run([inlay, 'passes', '--json'])
    names = (
        [p['name'] for p in json.loads(text)['passes'] if not p['required']] if not status else []
    )
    return tuple('--without=' + name for name in names)


def tensors(made, answer):
    return [
        onnx.Tensor('', onnx.CODES[v.kind], dims, raw)
        for v, (dims, raw) in zip(made.results, answer)
    ]


class Edges:
    """How far each number of the results moves with inputs that are a little off. Made when it is
    asked for."""

    def __init__(self, inlay, made):
        self.inlay, self.made, self.moved = inlay, made, None

    def nudged(self, rng, tensor):
        """Floats that differ by no more than results may."""
        if not onnx.TYPES[tensor.code][0].startswith('float'):
            return tensor
        numbers, off = onnx.values(tensor), max(v.rounding for v in self.made.results) or 1e-5
        most = max(map(abs, numbers), default=0)
        moved = [v + off * rng.uniform(-1, 1) * max(abs(v), most / 10) for v in numbers]
        return tensor._replace(raw=b''.join(map(form_of(tensor), moved)))

    def runs(self):
        rng = random.Random(self.made.seed)
        for _ in range(PERTURBED):
            with host.Work() as work:
                folder = os.path.join(work, 'chain')
                inputs = [self.nudged(rng, t) for t in self.made.inputs]
                random_chains.save(self.made._replace(inputs=inputs), folder)
                yield tensors(self.made, trial.Trial(self.inlay, folder).answer())

    def of(self, k, want):
        """Of result k, a number for each of its places."""
        if self.moved is None:
            self.moved = list(self.runs())
        columns = zip(*[onnx.values(run[k]) for run in self.moved])
        return [max(distance(a, b) for b in column) for a, column in zip(want, columns)]


def form_of(tensor):
    name = onnx.TYPES[tensor.code][0]
    return lambda v: raw_of(name, [v])


def is_finite(tensor):
    """Peers overflow sooner: where they do, the rest says little."""
    return all(map(math.isfinite, onnx.values(tensor)))


def distance(a, b):
    if a == b or a != a and b != b:
        return 0
    return abs(a - b) if math.isfinite(a) and math.isfinite(b) else math.inf


class Judge:
    """Of one chain, against what is right."""

    def __init__(self, inlay, made, want):
        self.made, self.want, self.edges, self.on_edge = made, want, Edges(inlay, made), False

    def result(self, k, got, right, times):
        """Rounding may be so many times of what is usual."""
        if got.code != right.code or list(got.dims) != list(right.dims):
            return 'is %s %s, want %s %s' % (got.code, got.dims, right.code, right.dims)
        if got.raw == right.raw:
            return ''
        a, b = onnx.values(got), onnx.values(right)
        largest = max((abs(v) for v in b if math.isfinite(v)), default=0) + TINY
        inexact = onnx.TYPES[got.code][0].startswith('float')
        allowed = times * self.made.results[k].rounding * largest if inexact else 0
        apart = list(map(distance, a, b))
        off = [i for i, far in enumerate(apart) if far > allowed]
        if not off or self.few_steps(self.made.results[k].step, [apart[i] for i in off], len(a)):
            return ''
        moved = self.edges.of(k, onnx.values(self.want[k]))
        off = [i for i in off if apart[i] > allowed + 10 * moved[i]]
        if not off:
            self.on_edge = True
            return ''
        far = max(off, key=lambda i: apart[i])
        return '%d of %d are off: [%d] is %r, want %r' % (len(off), len(a), far, a[far], b[far])

    @staticmethod
    def few_steps(step, apart, count):
        """Of quantized numbers, some may be rounded to the one beside."""
        return len(apart) <= max(1, STEPS * count) and max(apart) <= 1.01 * step

    def results(self, got, want, times=1):
        said = [self.result(k, *pair, times) for k, pair in enumerate(zip(got, want))]
        return '; '.join('result %d %s' % (k, text) for k, text in enumerate(said) if text)


class Peer:
    """Another program's answers: one process for all chains."""

    def __init__(self, python):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'chains_peer.py')
        clean = {k: v for k, v in os.environ.items() if k != 'PYTHONPATH'}
        pipes = {'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE, 'text': True}
        self.process = subprocess.Popen([python, script], env=clean, **pipes)

    def answer(self, made):
        """[Tensor]; None where the peer has no such operator or type."""
        ins = [[t.name, onnx.TYPES[t.code][0], list(t.dims), t.raw.hex()] for t in made.inputs]
        self.process.stdin.write(json.dumps({'model': made.blob.hex(), 'inputs': ins}) + '\n')
        self.process.stdin.flush()
        outs = json.loads(self.process.stdout.readline())
        return outs and [
            onnx.Tensor('', onnx.CODES[kind], dims, bytes.fromhex(raw)) for kind, dims, raw in outs
        ]


class Campaign:
    def __init__(self, o, t):
        self.o, self.t, self.without = o, t, left_out(o.inlay)
        self.peer = Peer(o.peer) if o.peer else None
        self.counts, self.ops = collections.Counter(), collections.Counter()

    def prove(self, run):
        for form in [(), *PLANS, SPEED, self.without]:
            with host.Work() as work:
                run.compiled(work, *form).prove()

    def compare(self, made, run):
        """What is wrong with the ways to run it."""
        first = run.answer()
        if len(first) != len(made.results):
            return ['%d results, want %d' % (len(first), len(made.results))]
        judge, bad = Judge(self.o.inlay, made, tensors(made, first)), []
        for form in PLANS:
            if run.answer(*form) != first:
                bad.append('%s: other bytes' % ' '.join(form))
        for form, name in ((SPEED, SPEED[0]), (self.without, 'without passes')):
            said = judge.results(tensors(made, run.answer(*form)), judge.want)
            bad += ['%s: %s' % (name, said)] if said else []
        bad += self.against_peer(made, judge)
        self.counts['on an edge'] += judge.on_edge
        return bad

    def against_peer(self, made, judge):
        right = self.peer.answer(made) if self.peer else None
        if not right or not all(map(is_finite, right)):
            return []
        self.counts['compared with the peer'] += 1
        said = judge.results(judge.want, right, 10)
        return ['the peer differs: ' + said] if said else []

    def one(self, seed):
        made = random_chains.chain(seed)
        with host.Work() as work:
            folder = os.path.join(work, 'chain')
            random_chains.save(made, folder)
            run = trial.Trial(self.o.inlay, folder)
            try:
                bad = self.compare(made, run)
                if seed % PROVED == 0:
                    self.prove(run)
            except trial.Refused as e:
                bad = [] if any(re.search(said, str(e)) for said, _ in REFUSED) else [str(e)]
                self.counts['refused with a reason'] += not bad
        self.counts['chains'] += 1
        self.ops.update(made.ops)
        if bad:
            bad.append('opset %d: %s' % (made.opset, ', '.join(made.ops)))
            self.t.fail('chain %d' % seed, '\n'.join(bad))

    def run(self):
        for seed in range(self.o.seed, self.o.seed + self.o.count):
            self.one(seed)
        edges = self.counts['on an edge']
        few = edges <= max(2, MOST_ON_EDGE * self.o.count)
        self.t.ok('%d of them on an edge' % edges, few, 'too many to say that the rest agrees')
        counts = ', '.join('%s: %d' % row for row in sorted(self.counts.items()))
        self.t.ok('%s, operators: %d' % (counts, len(self.ops)))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--count', type=int, default=60)
    p.add_argument('--seed', type=int, default=0)
    p.add_argument('--peer', default='')
    o = p.parse_args()
    t = tap.Tap()
    Campaign(o, t).run()
    t.done()


if __name__ == '__main__':
    main()
