# SPDX-License-Identifier: Apache-2.0
"""3x3 convolutions by Winograd's algorithm (--optimize=speed): the same answers as without it but
for the last digits, by `inlay run` and through C; the plan is proved, with the manifest alone to
say so. Where it does not pay, or may not be, the kernel is another.

    winograd.py --inlay INLAY"""
import argparse
import json
import os

import float_nets
import host
import tap
import trial

SPEED = '--optimize=speed'


class Net(float_nets.Net):
    def conv(self, x, ic, oc, k=3, pads=(1, 1, 1, 1), **attrs):
        weights = self.floats(oc, ic // attrs.get('group', 1), k, k)
        return self.node(
            'Conv', x, weights, self.floats(oc), kernel_shape=[k, k], pads=list(pads), **attrs
        )


def plain(n):
    return [1, 32, 20, 17], n.conv('x', 32, 48)


def relu(n):
    return [2, 16, 13, 9], n.node('Relu', n.conv('x', 16, 80, pads=(0, 1, 2, 0)))


def swish(n):
    y = n.conv('x', 16, 32)
    return [1, 16, 16, 16], n.node('Mul', y, n.node('Sigmoid', y))


def residual(n):
    return [1, 64, 14, 14], n.node('Relu', n.node('Add', n.conv('x', 64, 64), 'x'))


def parts(n):
    """Two convolutions, each a part of the pixels of one tensor."""
    return [1, 32, 12, 12], n.node('Concat', n.conv('x', 32, 16), n.conv('x', 32, 32), axis=1)


def chain(n):
    return [1, 16, 24, 24], n.conv(n.node('Relu', n.conv('x', 16, 32)), 32, 16)


def small(n):
    return [1, 256, 7, 7], n.conv('x', 256, 96)


def scaled(n):
    """Weights that are a product of constants."""
    y = n.node(
        'Conv',
        'x',
        n.node('Mul', n.floats(32, 16, 3, 3), n.floats(32, 1, 1, 1)),
        kernel_shape=[3, 3],
        pads=[1] * 4,
    )
    return [1, 16, 15, 15], y


def uneven(n):
    """Channels that fill neither vectors nor blocks of weights."""
    y = n.node('Relu', n.conv('x', 20, 70))
    return [1, 20, 15, 14], n.node('Add', n.conv(y, 70, 70), y)


TAKEN = [plain, relu, swish, residual, parts, chain, small, scaled, uneven]
SANITIZED = [relu, residual, uneven]


def strides(n):
    return [1, 32, 16, 16], n.conv('x', 32, 32, strides=[2, 2])


def dilations(n):
    return [1, 32, 16, 16], n.conv('x', 32, 32, pads=(2, 2, 2, 2), dilations=[2, 2])


def groups(n):
    return [1, 32, 16, 16], n.conv('x', 32, 32, group=2)


def few_channels(n):
    return [1, 8, 16, 16], n.conv('x', 8, 32)


def one_pixel(n):
    return [1, 64, 1, 1], n.conv('x', 64, 64)


LEFT = [strides, dilations, groups, few_channels, one_pixel]


def kernels(manifest):
    return sum(step['kernel'].startswith('winograd') for step in manifest['steps'])


def taken(t, case, inlay):
    with host.Work() as work:
        m = float_nets.made(inlay, Net(case.__name__), case, work)
        want = m.answer()
        wrong = 'inlay run' if float_nets.differs(m.answer(SPEED), want) else ''
        if m.answer(SPEED, '--without=winograd') != want:
            wrong = wrong or '--without=winograd'
        c = m.compiled(work, SPEED)
        c.prove()
        trial.build(
            work, [c], flags=trial.STRICT + (case in SANITIZED and trial.sanitizing() or [])
        )
        trial.execute(work)
        if float_nets.differs(c.results(), want):
            wrong = wrong or 'C'
        t.ok(
            case.__name__,
            not wrong and kernels(c.manifest) >= 1 and 'winograd' in c.manifest['options'],
            wrong or 'no such kernel',
        )
        t.ok(case.__name__ + ', without it', forbidden(m) == 0)


def forbidden(m):
    """Where another goal or a small core stands against it."""
    return sum(
        kernels(m.analyze(*flags))
        for flags in ([], [SPEED, '--without=winograd'], [SPEED, '--target=cortex-m4'])
    )


def limited(inlay):
    """A limit of weights or of the arena: how many kernels there are all the same."""
    with host.Work() as work:
        m = float_nets.made(inlay, Net(plain.__name__), plain, work)
        return sum(
            kernels(m.compiled(work, SPEED, limit, name=name).manifest)
            for name, limit in (('a', '--max-weights=1G'), ('b', '--max-arena=1G'))
        )


def damaged(inlay):
    """A manifest that claims other steps, or other sizes of them, is refused."""
    with host.Work() as work:
        m = float_nets.made(inlay, Net(plain.__name__), plain, work)
        c = m.compiled(work, SPEED)
        path = os.path.join(c.out, 'wrong.json')
        for wrong in (
            dict(c.manifest['options'], winograd=False),
            dict(c.manifest['options'], winograd=3),
        ):
            with open(path, 'w') as f:
                json.dump(dict(c.manifest, options=wrong), f)
            if host.run([inlay, 'prove', path, m.file])[0] not in (1, 65, 78):
                return 'accepted: %s' % wrong
    return ''


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    inlay = parser.parse_args().inlay
    t = tap.Tap()
    for case in TAKEN:
        taken(t, case, inlay)
    for case in LEFT:
        with host.Work() as work:
            t.ok(
                case.__name__,
                kernels(float_nets.made(inlay, Net(case.__name__), case, work).analyze(SPEED)) == 0,
            )
    t.ok('limits', limited(inlay) == 0)
    wrong = damaged(inlay)
    t.ok('a manifest that says otherwise', not wrong, wrong)
    t.done()


main()
