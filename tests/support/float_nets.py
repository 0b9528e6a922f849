# SPDX-License-Identifier: Apache-2.0
"""Small networks of random weights, one case each, and their answers compared but for the last
digits."""
import argparse
import os
import random
import struct

import host
import onnx
import tap
import trial

F = onnx.CODES['float32']


class Net:
    """Grows node by node, of random weights."""

    def __init__(self, seed):
        self.random, self.nodes, self.weights = random.Random(seed), [], []

    def constant(self, dtype, form, dims, values):
        name = 'w%d' % len(self.weights)
        self.weights.append(
            onnx.make_tensor(name, dtype, dims, struct.pack('<%d%s' % (len(values), form), *values))
        )
        return name

    def floats(self, *dims):
        count = 1
        for d in dims:
            count *= d
        return self.constant(F, 'f', dims, [self.random.uniform(-1, 1) for _ in range(count)])

    def node(self, op, *ins, **attrs):
        out = 't%d' % len(self.nodes)
        self.nodes.append(onnx.make_node(op, ins, [out], **attrs))
        return out


def made(inlay, net, case, work):
    """The model of case(net), which gives the dimensions of its input x and its result."""
    dims, y = case(net)
    folder = os.path.join(work, 'test_data_set_0')
    os.makedirs(folder)
    count = dims[0] * dims[1] * dims[2] * dims[3]
    x = struct.pack('<%df' % count, *(net.random.uniform(-1, 1) for _ in range(count)))
    result = onnx.put(1, y) + onnx.put(2, onnx.put(1, onnx.put(1, F)))  # of any shape
    with open(os.path.join(work, 'model.onnx'), 'wb') as f:
        f.write(onnx.make_model(net.nodes, [onnx.make_value('x', F, dims)], [result], net.weights))
    with open(os.path.join(folder, 'input_0.pb'), 'wb') as f:
        f.write(onnx.make_tensor('x', F, dims, x))
    return trial.Trial(inlay, work)


def results_of_c(model, work, *flags):
    """Of the C that is compiled with these; its plan is proved."""
    compiled = model.compiled(work, *flags)
    compiled.prove()
    trial.build(work, [compiled], flags=trial.STRICT)
    trial.execute(work)
    return compiled.results()


def differs(got, want):
    """By more than 1e-5 of the largest value?"""
    a, b = ([v for v, in struct.iter_unpack('<f', raw)] for raw in (got[0][1], want[0][1]))
    most = max(abs(v) for v in b)
    return (
        got[0][0] != want[0][0]
        or len(a) != len(b)
        or not all(abs(v - w) <= 1e-5 * most for v, w in zip(a, b))
    )


def judge_cases(net, taken, left, check_taken, check_left):
    """Each case by check(tap, name, model): those taken with their folder besides. The program's
    arguments: --inlay INLAY."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    inlay = parser.parse_args().inlay
    t = tap.Tap()
    for case in taken + left:
        with host.Work() as work:
            model = made(inlay, net(case.__name__), case, work)
            if case in taken:
                check_taken(t, case.__name__, model, work)
            else:
                check_left(t, case.__name__, model)
    t.done()


def judge_pass(name, net, taken, left):
    """The pass changes the steps of the cases `taken`, not those `left`, and no answer. The
    program's arguments: --inlay INLAY."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    inlay = parser.parse_args().inlay
    without = '--without=' + name
    t = tap.Tap()
    for case in taken + left:
        with host.Work() as work:
            m = made(inlay, net(case.__name__), case, work)
            steps = m.analyze()['steps']
            same = steps == m.analyze(without)['steps']
            t.ok(
                case.__name__ + ', its steps',
                same == (case in left),
                [step['kernel'] for step in steps],
            )
            t.ok(case.__name__ + ', its answer', not differs(m.answer(), m.answer(without)))
    t.done()
