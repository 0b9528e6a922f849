# SPDX-License-Identifier: Apache-2.0
"""`inlay prove`: what the compiler writes is proved at every level of planning; what is damaged is
refused, for the right reason.

    prove.py --inlay INLAY --models MODELS"""
import argparse
import copy
import json
import math
import os
import struct

import host
import onnx
import tap

f32 = onnx.CODES['float32']
LEVELS = [
    [],
    ['--plan=simple'],
    ['--plan=order'],
    ['--plan=overlap'],
    ['--plan=stream'],
    ['--io=arena'],
    ['--io=arena', '--preserve-input'],
]


class Case:
    def __init__(self, o, work, name, flags):
        self.o, self.work, self.name = o, work, name
        self.model = os.path.join(o.models, name, name + '.onnx')
        self.status, text = host.run(
            [
                o.inlay,
                'compile',
                self.model,
                '-o',
                os.path.join(work, 'out'),
                '--name',
                name,
                '--weights',
                'bin',
            ]
            + flags
        )
        self.text = text
        if not self.status:
            self.manifest = host.manifest(os.path.join(work, 'out'), name)

    def prove(self, manifest, *flags, model=None):
        path = os.path.join(self.work, 'm.json')
        with open(path, 'w') as f:
            f.write(manifest if isinstance(manifest, str) else json.dumps(manifest))
        return host.run([self.o.inlay, 'prove', path, model or self.model] + list(flags))


def levels(t, o, name, forms=LEVELS):
    for flags in forms:
        with host.Work() as work:
            c = Case(o, work, name, flags)
            label = '%s %s' % (name, ' '.join(flags))
            if not t.ok(label + ': compiles', c.status == 0, c.text):
                continue
            status, text = c.prove(c.manifest)
            t.ok(
                label + ': is proved',
                status == 0
                and text.startswith('arena %d bytes, lower bound ' % c.manifest['arena']['size']),
                text,
            )
            status, text = c.prove(c.manifest, '--json')
            verdict = json.loads(text) if not status else {}
            t.ok(
                label + ': the bound is below the arena',
                0 <= verdict.get('lower_bound', -1) <= verdict.get('arena', -2),
                text,
            )


def streams(man):
    return [
        i
        for s in man['schedule']
        if 'list' in s
        for i in range(s['first'], s['first'] + s['steps'])
    ]


def operands_on(man, tensor):
    return [op for s in man['steps'] for op in s['operands'] if op and op.get('tensor') == tensor]


def shorter_rings(man):
    """Each ring, one row shorter."""
    for t in man['tensors']:
        rings = {op['ring'] for op in operands_on(man, t['index']) if 'ring' in op}
        if rings and min(rings) > 1:
            m = copy.deepcopy(man)
            for op in operands_on(m, t['index']):
                op['ring'] -= 1
            op = operands_on(m, t['index'])[0]
            m['tensors'][t['index']]['extent'] = op['ring'] * op['row']
            yield 'the ring of tensor %d one row shorter' % t['index'], m


def slots_beyond(man):
    """A row of each pool behind its end, slots of a size that kernels do not know, and a pool
    larger than its rows need."""
    for t in man['tensors']:
        if 'slots' in t:
            m = copy.deepcopy(man)
            m['tensors'][t['index']]['slots']['rows'][-1] = 65535
            yield 'a slot of tensor %d beyond its pool' % t['index'], m
            m = copy.deepcopy(man)
            m['tensors'][t['index']]['slots']['unit'] = 2
            yield 'slots of tensor %d of two bytes' % t['index'], m
            m = copy.deepcopy(man)
            m['tensors'][t['index']]['extent'] += 16
            yield 'the pool of tensor %d larger' % t['index'], m


def moved_slots(man):
    """A row in the slot of the row before it."""
    for t in man['tensors']:
        rows = t.get('slots', {}).get('rows', [])
        for r in range(1, len(rows)):
            if rows[r] != rows[r - 1]:
                m = copy.deepcopy(man)
                m['tensors'][t['index']]['slots']['rows'][r] = rows[r - 1]
                yield 'row %d of tensor %d in another slot' % (r, t['index']), m


def moved(man, by):
    for t in man['tensors']:
        if t['storage'] == 'arena' and t['offset'] + by >= 0 and not t.get('scratch'):
            m = copy.deepcopy(man)
            m['tensors'][t['index']]['offset'] += by
            yield 'tensor %d moved by %d' % (t['index'], by), m


def turned(man):
    for i in range(len(man['steps'])):
        m = copy.deepcopy(man)
        m['steps'][i]['backward'] = not m['steps'][i]['backward']
        yield 'step %d turned' % i, m


def swapped(man):
    for i in range(len(man['steps']) - 1):
        m = copy.deepcopy(man)
        m['steps'][i], m['steps'][i + 1] = m['steps'][i + 1], m['steps'][i]
        yield 'steps %d and %d swapped' % (i, i + 1), m


def left_out(man):
    for i in range(len(man['steps'])):
        m = copy.deepcopy(man)
        del m['steps'][i]
        m['schedule'] = [{'first': 0, 'steps': len(m['steps'])}]
        yield 'step %d left out' % i, m


def reordered_lists(man):
    for k, s in enumerate(man['schedule']):
        for i in range(len(s.get('list', [])) - 1):
            if s['list'][i] != s['list'][i + 1]:
                m = copy.deepcopy(man)
                entry = m['schedule'][k]['list']
                entry[i], entry[i + 1] = entry[i + 1], entry[i]
                yield 'entries %d and %d of list %d swapped' % (i, i + 1, k), m


def edit_reach(man, by):
    """Of a step that is done as it was lowered."""
    step = next(
        s for s in man['steps'] if len(s['lowered']) == 1 and 'piece' not in s and 'strip' not in s
    )
    step['operands'][0]['reach'] += by


def facts(man):
    """Statements that are wrong by themselves."""
    for what, change in [
        (
            'the arena one unit smaller',
            lambda m: m['arena'].update(size=m['arena']['size'] - 16, optimal=False, lower_bound=0),
        ),
        (
            'a lower bound above the arena',
            lambda m: m['arena'].update(lower_bound=m['arena']['size'] + 16),
        ),
        (
            'optimal without a reason',
            lambda m: m['arena'].update(lower_bound=m['arena']['lower_bound'] - 16, optimal=True),
        ),
        (
            'a window one row smaller',
            lambda m: next(
                op
                for s in m['steps']
                for op in s['operands']
                if op and isinstance(op.get('rule'), dict)
            )['rule'].update(extent=0),
        ),
        (
            'a step done twice',
            lambda m: (
                m['steps'].append(m['steps'][0]),
                m.update(schedule=[{'first': 0, 'steps': len(m['steps'])}]),
            ),
        ),
        ('a reach one byte further', lambda m: edit_reach(m, 1)),
        ('a reach one byte shorter', lambda m: edit_reach(m, -1)),
        ('a reach left out', lambda m: m['steps'][0]['operands'][0].pop('reach')),
        (
            'a pixel stride',
            lambda m: next(
                op for s in m['steps'] for op in s['operands'] if op and 'pixel' in op
            ).update(pixel=1000),
        ),
        ('steps that no range runs', lambda m: m['schedule'].pop()),
        ('a tensor that is shorter', lambda m: m['tensors'][-1].update(bytes=4)),
    ]:
        m = copy.deepcopy(man)
        change(m)
        yield what, m


def damages(t, o, name, flags):
    with host.Work() as work:
        c = Case(o, work, name, flags)
        man = c.manifest
        label = '%s %s: ' % (name, ' '.join(flags))
        must = [
            ('rings', shorter_rings),
            ('slots', slots_beyond),
            ('order', swapped),
            ('missing steps', left_out),
            ('facts', facts),
        ]
        may = [
            ('offset +', lambda m: moved(m, 16)),
            ('offset -', lambda m: moved(m, -16)),
            ('direction', turned),
            ('slots', moved_slots),
            ('lists', reordered_lists),
        ]
        for kind, make in must:
            bad = []
            n = 0
            for what, m in make(man):
                n += 1
                status, text = c.prove(m)
                if status != 1:
                    bad.append('%s: status %d, %s' % (what, status, text.strip()[:200]))
            t.ok('%s%s, %d damaged manifests are refused' % (label, kind, n), not bad, bad)
        caught = total = 0
        odd = []
        for kind, make in may:
            for what, m in make(man):
                status, text = c.prove(m)
                total += 1
                caught += status == 1
                if status not in (0, 1):
                    odd.append('%s: status %d, %s' % (what, status, text.strip()[:200]))
        t.ok(
            '%sof %d small changes %d are refused, the others are as good' % (label, total, caught),
            not odd and caught,
            odd,
        )


def strangers(t, o):
    with host.Work() as work:
        c = Case(o, work, 'digits', [])
        man = c.manifest
        for what, m, want in [
            ('no JSON', '{"schema_version": 1', 65),
            ('not an object', '[]', 65),
            ('an empty object', '{}', 65),
            ('nothing', '', 65),
            ('deep nesting', '[' * 100000, 65),
            ('a key twice', '{"schema_version": 1, "schema_version": 1}', 65),
            ('another schema', dict(man, schema_version=2), 65),
            ('text for a number', dict(man, arena=dict(man['arena'], size='8')), 65),
            ('a huge number', dict(man, arena=dict(man['arena'], size=1 << 62)), 65),
            ('a tensor that is not there', dict(man, tensors=[]), 65),
            ('an input more', dict(man, inputs=man['inputs'] * 2), 78),
            (
                'a constant that is not given',
                dict(man, options=dict(man['options'], const=['image'])),
                78,
            ),
            (
                'a shape that does not fit',
                dict(man, options=dict(man['options'], shape=['image=1x1x7x7'])),
                78,
            ),
            (
                'another number of steps',
                dict(
                    man,
                    options=dict(man['options'], lowered_steps=man['options']['lowered_steps'] + 1),
                ),
                78,
            ),
        ]:
            status, text = c.prove(m)
            t.ok(
                '%s: status %d' % (what, want),
                status == want and 'error' in text,
                'status %d: %s' % (status, text[:300]),
            )
        sine = os.path.join(o.models, 'sine', 'sine.onnx')
        status, text = c.prove(man, model=sine)
        t.ok("another model's manifest: status 78", status == 78, text)
        status, text = c.prove(man, '--shape', 'image=1x1x28x28')
        t.ok('--shape beside a manifest: status 64', status == 64, text)
        status, text = host.run([o.inlay, 'prove', os.path.join(work, 'none.json'), c.model])
        t.ok('no manifest: status 66', status == 66, text)
        status, text = host.run([o.inlay, 'prove', c.model])
        t.ok('one operand: status 64', status == 64, text)


def joined_rows():
    """A concatenation of single rows, of which the input's is copied and the others are made in
    place."""
    return (
        [
            onnx.make_node('Relu', ['x'], ['a']),
            onnx.make_node('Concat', ['x', 'a', 'x'], ['b'], axis=1),
            onnx.make_node('Softmax', ['b'], ['y'], axis=2),
        ],
        [1, 1, 16],
        [1, 3, 16],
    )


def split_input():
    """Channels of the input are read where they lie."""
    return (
        [
            onnx.make_node('Split', ['x'], ['a', 'b'], axis=3),
            onnx.make_node('Less', ['a', 'b'], ['c']),
            onnx.make_node('Cast', ['c'], ['y'], to=f32),
        ],
        [1, 5, 64, 2],
        [1, 5, 64, 1],
    )


def branches():
    """Steps that jump, behind an input that may come by rows."""
    branch = [
        onnx.make_graph_attr(
            name,
            [onnx.make_node(op, ['a'], [name])],
            [],
            [onnx.make_value(name, f32, [1, 6, 8, 32])],
        )
        for name, op in (('then_branch', 'Relu'), ('else_branch', 'Neg'))
    ]
    return (
        [
            onnx.make_node('Abs', ['x'], ['a']),
            onnx.make_node('Less', ['c', 'c'], ['e']),
            onnx.make_node('If', ['e'], ['y'], graphs=branch),
        ],
        [1, 6, 8, 32],
        [1, 6, 8, 32],
    )


def answers(t, o, model, name, inputs, forms):
    """`inlay run` gives the same bytes in all forms."""
    want = None
    for flags in forms:
        with host.Work() as work:
            status, text = host.run(
                [o.inlay, 'run', model, '-o', work]
                + flags
                + [x for path in inputs for x in ('--input', path)]
            )
            got = onnx.read_tensor(os.path.join(work, 'output_0.pb')).raw if not status else None
            want = want or got
            t.ok(
                '%s %s: the same bytes' % (name, ' '.join(flags)), status == 0 and got == want, text
            )


def small(t, o):
    for make, forms in (
        (joined_rows, LEVELS),
        (split_input, LEVELS),
        (branches, LEVELS + [['--io=x=rows'], ['--io=x=rows', '--io=out=arena']]),
    ):
        with host.Work() as work:
            name = make.__name__
            nodes, x, y = make()
            ins = [('x', x), ('c', [1])][: 1 + (make is branches)]
            files = [
                (
                    name + '.onnx',
                    onnx.make_model(
                        nodes,
                        [onnx.make_value(n, f32, d) for n, d in ins],
                        [onnx.make_value('y', f32, y)],
                    ),
                )
            ]
            files += [
                (
                    n + '.pb',
                    onnx.make_tensor(
                        n,
                        f32,
                        d,
                        struct.pack(
                            '<%df' % math.prod(d), *(i % 7 - 3 for i in range(math.prod(d)))
                        ),
                    ),
                )
                for n, d in ins
            ]
            os.mkdir(os.path.join(work, name))
            for file, data in files:
                with open(os.path.join(work, name, file), 'wb') as f:
                    f.write(data)
            levels(t, argparse.Namespace(inlay=o.inlay, models=work), name, forms)
            answers(
                t,
                o,
                os.path.join(work, name, name + '.onnx'),
                name,
                [os.path.join(work, name, n + '.pb') for n, _ in ins],
                forms,
            )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    o = p.parse_args()
    t = tap.Tap()
    for name in ('digits', 'sine'):
        levels(t, o, name)
    small(t, o)
    for flags in ([], ['--plan=overlap'], ['--io=arena']):
        damages(t, o, 'digits', flags)
    strangers(t, o)
    t.done()


main()
