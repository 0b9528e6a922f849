# SPDX-License-Identifier: Apache-2.0
"""Arena limits and goals: for random networks of images (and models of the corpus, where it is)
every point of the curve is asked for by its own size. The plan must hold it, with the MACs that the
curve says, and answer the same bytes as the plan without a limit: by `inlay run`, and for some
through C under the sanitizers. So must the plans of all levels. Below the smallest point the exit
status is 1.

    limit.py --inlay INLAY [--corpus FOLDER] [--nets N] [--first SEED]"""
import argparse
import copy
import json
import os
import random

import host
import networks
import random_nets
import tap
import trial

CORPUS = [
    'cnn/mlperf-tiny-vww',
    'cnn/mlperf-tiny-resnet8',
    'audio/mlperf-tiny-kws',
    'cnn/mobilenet-v2-035-128',
]


def through_c(model, limit, sanitize):
    """The results through C, in an arena of just that size between guards; the plan is proved."""
    with host.Work() as work:
        made = model.compiled(work, '--arena-limit=%d' % limit)
        made.prove()
        damaged_columns(made)
        damaged_reaches(made)
        for flags in ([trial.STRICT + sanitize] if sanitize else []) + [trial.STRICT]:
            trial.build(work, [made], flags=flags)
            trial.execute(work)
        return made.results()


def refused(made, wrong, what):
    path = os.path.join(made.out, 'wrong.json')
    with open(path, 'w') as f:
        json.dump(wrong, f)
    status, text = host.run([made.trial.inlay, 'prove', path, made.trial.file])
    if status not in (1, 65):
        raise RuntimeError('%s: exit %d: %s' % (what, status, text))


def damaged_columns(made):
    """Columns that are not those of the plan are seen."""
    cut = [i for i, s in enumerate(made.manifest['steps']) if 'strip' in s]
    for i in random.Random(len(cut)).sample(cut, min(3, len(cut))):
        for at, by in ((0, 1), (1, 1), (1, -1)):
            wrong = copy.deepcopy(made.manifest)
            wrong['steps'][i]['columns'][at] += by
            refused(made, wrong, 'step %d, columns %s' % (i, wrong['steps'][i]['columns']))


def damaged_reaches(made):
    """Nor are reaches of strips, pairs and pieces, which no step as lowered has."""
    steps = [
        i
        for i, s in enumerate(made.manifest['steps'])
        if 'strip' in s or 'piece' in s or len(s['lowered']) > 1
    ]
    for i in random.Random(len(steps)).sample(steps, min(3, len(steps))):
        k = next(
            k
            for k, operand in enumerate(made.manifest['steps'][i]['operands'])
            if operand and operand['reach'] > 1
        )
        for by in (None, 1, -1):
            wrong = copy.deepcopy(made.manifest)
            operand = wrong['steps'][i]['operands'][k]
            operand['reach'] += by or 0
            if by is None:
                del operand['reach']
            refused(made, wrong, 'step %d, operand %d, reach %s' % (i, k, operand.get('reach')))


def curve_is_one(curve):
    """From the cheapest to the smallest: neither bytes nor MACs go the wrong way. (Strips may leave
    out columns that nobody reads.)"""
    for a, b in zip(curve, curve[1:]):
        if b['arena'] >= a['arena'] or max(1, b['mac_factor']) < max(1, a['mac_factor']):
            return '%s is followed by %s' % (a, b)
    return '' if sum(c.get('chosen', False) for c in curve) == 1 else 'not one point is chosen'


def holds(m, curve, i, want):
    """A limit of just the arena of point i takes point i."""
    limit = curve[i]['arena']
    found = m.analyze('--arena-limit', str(limit))
    taken = [c for c in found['curve'] if c.get('chosen')][0]
    if found['arena']['size'] != limit or taken['arena'] != limit:
        return 'limit %d: the arena has %d bytes' % (limit, found['arena']['size'])
    if found['totals']['macs'] != curve[i]['macs'] or len(found['steps']) != curve[i]['steps']:
        return 'limit %d: %d MACs in %d steps, the curve says %s' % (
            limit,
            found['totals']['macs'],
            len(found['steps']),
            curve[i],
        )
    return '' if m.answer('--arena-limit', str(limit)) == want else 'limit %d: other bytes' % limit


def goals(m, curve, want):
    """The arenas of the three goals; only streams make them smaller, nothing is computed twice."""
    arenas = []
    for goal in ('ram', 'balanced', 'speed'):
        options = ['--optimize', goal, '--without=winograd']
        found = m.analyze(*options)
        arenas.append(found['arena']['size'])
        if (
            abs(found['totals']['macs'] - curve[0]['macs'] / curve[0]['mac_factor']) > 0.5
            or m.answer(*options) != want
        ):
            return '%s: other MACs, or other bytes' % goal
        if goal == 'speed' and any('list' in s for s in found.get('segments', [])):
            return 'speed: row by row'
    return '' if arenas[0] == min(arenas) else 'arenas of ram, balanced and speed: %s' % arenas


def rows_of_one_pixel(t, inlay):
    """Weights of 1 MB, which a result that lies over its input reads anew for each row: only the
    goal `ram` takes that."""
    channels, rows, one = 512, 24, 512 * 24 * 4
    net = networks.Net(channels, rows, 1)
    x = net.input
    for _ in range(3):
        x = net.conv(x, channels)
    with host.Work() as work:
        net.write(os.path.join(work, 'model.onnx'), x)
        m = trial.Trial(inlay, work, shape=[])
        arenas = {
            goal: m.analyze('--optimize', goal)['arena']['size']
            for goal in ('ram', 'balanced', 'speed')
        }
        limit = m.analyze('--optimize', 'speed', '--arena-limit', str(2 * one - 1))['arena']['size']
    t.ok(
        'large weights and short rows: results apart but for the goal ram',
        arenas['ram'] < 2 * one == arenas['balanced'] == arenas['speed'],
        arenas,
    )
    t.ok('large weights and short rows: a limit counts more than the goal', limit < 2 * one, limit)


def larger_than_caches(t, inlay):
    """What no cache holds goes row by row for speed, too, where there are no weights; next to a
    product it stays by layers."""
    for size, weighted in ((2048, False), (512, False), (2048, True)):
        net = networks.Net(1, size)
        x = (
            net.node('Conv', [net.input[0], net.weight(1, 1, 1, 1)], *net.input[1:])
            if weighted
            else net.node('Exp', [net.input[0]], *net.input[1:])
        )
        total = net.node('Softmax', [x[0]], *x[1:])
        y = net.node('Add', [total[0], net.node('Neg', [x[0]], *x[1:])[0]], *x[1:])
        with host.Work() as work:
            net.write(os.path.join(work, 'model.onnx'), y)
            m = trial.Trial(inlay, work, shape=[])
            arenas = {
                goal: m.analyze('--optimize', goal)['arena']['size'] for goal in ('ram', 'speed')
            }
        whole = size * size * 4
        right = arenas['ram'] < whole / 8 and (
            arenas['speed'] <= arenas['ram']
            if whole > 8 << 20 and not weighted
            else arenas['speed'] >= whole
        )
        t.ok(
            '%dx%d numbers%s: streams for speed'
            % (size, size, ' of a product' if weighted else ''),
            right,
            arenas,
        )


def branches(net, x, channels):
    y = net.conv(x, 8)
    return net.conv(net.concat([net.conv(x, 8, 3), y, net.conv(net.conv(y, 8, 3), 8, 3)]), channels)


def pairs_beside_sums(t, inlay):
    """Pairs pay only once sums lie in the place of what they are made of: no goal, and no level,
    needs less than `ram`."""
    net = networks.Net(3, 32)
    x = branches(net, net.conv(net.input, 8, 3, 2), 32)
    for _ in range(2):
        x = net.conv(net.conv(x, 32, 3, 1, True), 32)
    x = branches(net, net.add(net.conv(net.conv(x, 32, 3, 1, True), 32), x), 16)
    with host.Work() as work:
        net.write(os.path.join(work, 'model.onnx'), x)
        m = trial.Trial(inlay, work, shape=[])
        arenas = [
            m.analyze(*flags)['arena']['size']
            for flags in (
                [],
                ['--optimize', 'balanced'],
                ['--plan', 'order'],
                ['--plan', 'overlap'],
            )
        ]
    t.ok('pairs beside sums: the goal ram needs least', arenas[0] == min(arenas), arenas)


def levels(m, want):
    return [level for level in ('simple', 'order', 'overlap') if m.answer('--plan', level) != want]


def regions(m, want):
    """A region that holds the smallest plan for regions alone, beside a small one: of all points
    one that fits is taken."""
    smallest = m.analyze('--curve', '--region', 'fast:256M:1', '--region', 'slow:16:9')['curve'][
        -1
    ]['arena']
    if smallest < 16:
        return ''
    flags = [
        '--region',
        'fast:%d:1' % smallest,
        '--region',
        'slow:16:9',
        '--arena-limit',
        str(smallest + 16),
    ]
    found = m.analyze(*flags)
    over = [r for r in found['regions'] if r['size'] > r['capacity']]
    return (
        'regions: %s' % over if over else '' if m.answer(*flags) == want else 'regions: other bytes'
    )


def check(t, what, m, some, sanitize):
    curve = m.analyze('--curve')['curve']
    bad = curve_is_one(curve)
    taken, plain = [c['arena'] for c in curve if c.get('chosen')], m.analyze()['arena']['size']
    t.ok(
        what + ': the chosen point is the plan without a limit',
        taken == [plain],
        '%s, %d' % (taken, plain),
    )
    t.ok(
        '%s: %d points from %d to %d bytes, %.3f MACs'
        % (what, len(curve), curve[0]['arena'], curve[-1]['arena'], curve[-1]['mac_factor']),
        not bad,
        bad,
    )
    want = m.answer()
    bad = [b for b in (holds(m, curve, i, want) for i in range(len(curve))) if b]
    t.ok(what + ': each point by its size, same bytes', not bad, bad[:3])
    bad = levels(m, want)
    t.ok(what + ': plans of all levels, same bytes', not bad, bad)
    bad = goals(m, curve, want)
    t.ok(what + ': --optimize', not bad, bad)
    bad = regions(m, want)
    t.ok(what + ': the smallest in a region of its size', not bad, bad)
    for i in sorted({len(curve) - 1, len(curve) // 2} if some else {len(curve) - 1}):
        t.ok(
            '%s: %d bytes through C, same bytes' % (what, curve[i]['arena']),
            through_c(m, curve[i]['arena'], sanitize) == want,
        )
    smallest = curve[-1]['arena']
    status, text = host.run(
        [m.inlay, 'analyze', m.file, '--arena-limit', str(smallest - 1)] + m.shape
    )
    said = status == 1 and str(smallest) in text and 'lower bound' in text and 'peak' in text
    t.ok(what + ': one byte less is status 1', smallest == 1 or said, '%d: %s' % (status, text))


def attempt(t, what, *arguments):
    try:
        check(t, what, *arguments)
    except RuntimeError as e:
        t.fail(what, str(e))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--corpus', default='')
    p.add_argument('--nets', type=int, default=24)
    p.add_argument('--first', type=int, default=0)
    o = p.parse_args()
    t = tap.Tap()
    sanitize = trial.sanitizing()
    rows_of_one_pixel(t, o.inlay)
    pairs_beside_sums(t, o.inlay)
    larger_than_caches(t, o.inlay)
    for seed in range(o.first, o.first + o.nets):
        with host.Work() as work:
            random_nets.Net(seed).save(work)
            attempt(t, 'net %d' % seed, trial.Trial(o.inlay, work), seed % 8 == 0, sanitize)
    for name in CORPUS:
        folder = os.path.join(o.corpus, name)
        if o.corpus and os.path.isdir(folder):
            attempt(t, name, trial.Trial(o.inlay, folder), False, sanitize)
        else:
            t.skip(name, 'not here')
    t.done()


if __name__ == '__main__':
    main()
