# SPDX-License-Identifier: Apache-2.0
"""Images that an average and its product read are computed twice (pass `recompute`) where a limit
of the arena asks for it: the same bits, proved; and on the curve.

    recompute.py --inlay INLAY"""
import json
import os

import float_nets
import host

SIZE, THIN, WIDE = 24, 4, 32


class Net(float_nets.Net):
    def conv(self, x, ic, oc, size=1, group=1, **attrs):
        weights = self.floats(oc, ic // group, size, size)
        return self.node(
            'Conv', x, weights, self.floats(oc), pads=[size // 2] * 4, group=group, **attrs
        )

    def factors(self, summary):
        return self.conv(self.node('Relu', self.conv(summary, WIDE, 8)), 8, WIDE)

    def mean(self, x):
        return self.node('ReduceMean', x, axes=[2, 3], keepdims=1)

    def filtered(self, x, **attrs):
        """The wide image."""
        y = self.node('HardSwish', self.conv(x, THIN, WIDE))
        return self.node('HardSwish', self.conv(y, WIDE, WIDE, 3, group=WIDE, **attrs))

    def gated(self, image):
        return self.node('Mul', image, self.node('HardSigmoid', self.factors(self.mean(image))))

    def block(self, x, **attrs):
        return self.conv(self.gated(self.filtered(x, **attrs)), WIDE, THIN)

    def stem(self):
        return self.node('Relu', self.conv('x', 3, THIN, 3))


DIMS = [1, 3, SIZE, SIZE]


def excited(n):
    return DIMS, n.block(n.stem())


def added(n):
    """What the image is computed from is needed besides."""
    x = n.stem()
    return DIMS, n.node('Add', x, n.block(x))


def pooled(n):
    image = n.filtered(n.stem())
    y = n.node('Mul', n.node('Sigmoid', n.factors(n.node('GlobalAveragePool', image))), image)
    return DIMS, n.conv(y, WIDE, THIN)


def halved(n):
    return DIMS, n.block(n.stem(), strides=[2, 2])


def from_input(n):
    image = n.conv(n.conv('x', 3, WIDE, 3), WIDE, WIDE, 3, group=WIDE)
    return DIMS, n.conv(n.gated(image), WIDE, THIN)


def two_summaries(n):
    image = n.filtered(n.stem())
    factors = n.node('Add', n.factors(n.mean(image)), n.factors(n.node('GlobalMaxPool', image)))
    return DIMS, n.conv(n.node('Mul', image, n.node('Sigmoid', factors)), WIDE, THIN)


def twice(n):
    return DIMS, n.block(n.block(n.stem()))


TAKEN = [excited, added, pooled, halved, from_input, two_summaries, twice]


def read_besides(n):
    """The image is needed as a whole for another reason."""
    image = n.filtered(n.stem())
    y = n.conv(n.node('Mul', image, n.node('Sigmoid', n.factors(n.mean(image)))), WIDE, THIN)
    return DIMS, n.node('Add', y, n.conv(n.conv(image, WIDE, WIDE, 3), WIDE, THIN))


def other_gate(n):
    """The factors are another image's."""
    x = n.stem()
    image, other = n.filtered(x), n.filtered(x)
    y = n.node('Mul', image, n.node('Sigmoid', n.factors(n.mean(other))))
    return DIMS, n.node('Add', n.conv(y, WIDE, THIN), n.conv(n.mean(image), WIDE, THIN))


def of_two(n):
    """The image is computed from two others."""
    x = n.stem()
    return DIMS, n.conv(n.gated(n.node('Mul', n.filtered(x), n.filtered(x))), WIDE, THIN)


LEFT = [read_besides, other_gate, of_two]


def recomputed(manifest):
    return manifest['options'].get('recompute', 0)


def refuses(model, work):
    """Is the plan refused where the manifest says that nothing is computed twice?"""
    path = os.path.join(work, 'out-m', 'm.json')
    with open(path) as f:
        text = json.load(f)
    del text['options']['recompute']
    with open(path, 'w') as f:
        json.dump(text, f)
    return host.run([model.inlay, 'prove', path, model.file])[0] != 0


def check_taken(t, name, model, work):
    plain, curve = model.analyze(), model.analyze('--curve')['curve']
    point = next(p for p in curve if p['arena'] < plain['arena']['size'] and not p['strips'])
    limit = '--arena-limit=%d' % point['arena']
    under = model.analyze(limit)
    t.ok(name + ', not without a limit', not recomputed(plain), plain['options'])
    t.ok(
        name + ', its arena',
        recomputed(under) and under['arena']['size'] <= point['arena'],
        (under['arena'], under['options']),
    )
    t.ok(name + ', its work', under['totals']['macs'] == point['macs'], (under['totals'], point))
    t.ok(name + ', its C', float_nets.results_of_c(model, work, limit) == model.answer())
    t.ok(name + ', nothing twice is no proof', refuses(model, work))
    most = '--arena-limit=%d' % plain['arena']['size']
    t.ok(name + ', not where the limit holds without', not recomputed(model.analyze(most)))


def check_left(t, name, model):
    arena = min(point['arena'] for point in model.analyze('--curve')['curve'])
    under = model.analyze('--arena-limit=%d' % arena)
    t.ok(name + ', left', not recomputed(under), under['options'])


float_nets.judge_cases(Net, TAKEN, LEFT, check_taken, check_left)
