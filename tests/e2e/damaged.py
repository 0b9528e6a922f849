# SPDX-License-Identifier: Apache-2.0
"""Damage to the tables of the generated C is found when it runs with -DINLAY_CHECK: it is reported,
or the answer is the same.

    damaged.py --inlay INLAY --models MODELS [--every N]"""
import argparse
import os
import re

import host
import tap
import trial

FLAGS = ['-std=c99', host.LEVEL, '-ffp-contract=off', '-DINLAY_CHECK', '-w']
FOUND = 'returned 6'  # NAME_E_CHECK
FORMS = [[], ['--io=in0=rows'], ['--io=arena', '--region', 'a:4K', '--region', 'b:16K']]


def numbers(source, pattern):
    return [m for m in re.finditer(pattern, source, re.M)]


def replaced(source, m, text):
    return source[: m.start()] + text + source[m.end() :]


def damages(source):
    """(what, source): one fact of the generated tables changed."""
    for table in numbers(
        source, r'^static const inlay_ref operands(\d+)\[\] = \{\n((?: .*\n)*)\};'
    ):
        step, at = table.group(1), table.start(2)
        for m in re.finditer(
            r'\{ (?:\.off = (\d+), )?(.*)\.cap = (\d+)(.*BASE_ARENA\w*) \}', table.group(2)
        ):
            off, cap = int(m.group(1) or 0), int(m.group(3))
            for what, to, rows in [
                ('offset +16', off + 16, cap),
                ('offset -16', off - 16, cap),
                ('ring one row shorter', off, cap - 1),
            ]:
                if to >= 0 and rows > 0:
                    row = '{ .off = %d, %s.cap = %d%s }' % (to, m.group(2), rows, m.group(4))
                    yield 'step %s: %s' % (step, what), source[: at + m.start()] + row + source[
                        at + m.end() :
                    ]
    steps = numbers(source, r'^    /\*.*\*/\n    \{ \.run = .*\}(?=,\n)')
    for a, b in zip(steps, steps[1:]):
        yield 'steps swapped', source[: a.start()] + b.group() + ',\n' + a.group() + source[
            b.end() :
        ]
        turned = re.sub(r', \.backward = \w+ \}$', ' }', a.group())
        if turned == a.group():
            turned = a.group()[:-2] + ', .backward = 1 }'
        yield 'a step turned', replaced(source, a, turned)
    for m in numbers(source, r'^static const uint8_t list\d+\[\] = \{\n    (.*)\n\};'):
        entries = m.group(1).split(', ')
        for i in range(len(entries) - 1):
            if entries[i] != entries[i + 1]:
                yield 'list entries swapped', source[: m.start(1)] + ', '.join(
                    entries[:i] + [entries[i + 1], entries[i]] + entries[i + 2 :]
                ) + source[m.end(1) :]


def judge(made, source):
    """'found', 'harmless', or what went wrong, with `source` in place of the generated file."""
    with open(made.source('m.c'), 'w') as f:
        f.write(source)
    trial.build(made.work, [made], flags=FLAGS)
    status, text = host.run(['./a.out'], made.work)
    if status == 93 and FOUND in text:
        return 'found'
    same = status == 0 and made.results() == made.trial.answer('--plan=simple')
    return 'harmless' if same else 'status %d %s' % (status, text[:100])


def damaged(t, model, every, flags):
    """A changed plan is found, or gives the same bytes all the same: nothing wrong goes unseen."""
    with host.Work() as work:
        made = model.compiled(work, '--weights=c', '--checks', *flags)
        with open(made.source('m.c')) as f:
            changed = list(damages(f.read()))[::every]
        verdicts = [(what, judge(made, source)) for what, source in changed]
    found = sum(v == 'found' for _, v in verdicts)
    missed = ['%s: %s' % x for x in verdicts if x[1] not in ('found', 'harmless')]
    t.ok(
        'digits %s: of %d damaged tables %d are found' % (' '.join(flags), len(verdicts), found),
        not missed and 2 * found > len(verdicts),
        missed,
    )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    p.add_argument('--every', type=int, default=4)
    o = p.parse_args()
    t = tap.Tap()
    model = trial.Trial(o.inlay, os.path.join(o.models, 'digits'))
    for flags in FORMS:
        damaged(t, model, o.every, flags)
    t.done()


main()
