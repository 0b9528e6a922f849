# SPDX-License-Identifier: Apache-2.0
"""`inlay prove`: each thing that a manifest states of a model is compared with it; one that is not
so is refused, and the message says which.

    refused.py --inlay INLAY --models MODELS"""
import argparse
import copy
import json
import math
import os

import host
import onnx
import random_nets
import tap

f32 = onnx.CODES['float32']
GONE = object()
CONSTANT = {'access': 'read', 'weights': 0}


def joined_rows():
    """A concatenation, of which two pieces are copied and one is made in place."""
    nodes = [
        onnx.make_node('Relu', ['x'], ['a'], 'first'),
        onnx.make_node('Concat', ['x', 'a', 'x'], ['b'], 'all', axis=1),
        onnx.make_node('Softmax', ['b'], ['y'], axis=2),
    ]
    return onnx.make_model(
        nodes, [onnx.make_value('x', f32, [1, 1, 16])], [onnx.make_value('y', f32, [1, 3, 16])]
    )


def branches():
    """Steps that jump, and steps before them."""
    shape = [1, 6, 8, 32]
    branch = [
        onnx.make_graph_attr(
            name, [onnx.make_node(op, ['a'], [name])], [], [onnx.make_value(name, f32, shape)]
        )
        for name, op in (('then_branch', 'Relu'), ('else_branch', 'Neg'))
    ]
    nodes = [
        onnx.make_node('Abs', ['x'], ['a']),
        onnx.make_node('Less', ['c', 'c'], ['e']),
        onnx.make_node('If', ['e'], ['y'], graphs=branch),
    ]
    return onnx.make_model(
        nodes,
        [onnx.make_value('x', f32, shape), onnx.make_value('c', f32, [1])],
        [onnx.make_value('y', f32, shape)],
    )


def one_node(op, ins, shape, outs=('y',), result=None):
    """A model of a node, of which the later inputs may be left alone."""
    values = [onnx.make_value(name, f32, shape) for name in ins]
    return onnx.make_model(
        [onnx.make_node(op, list(ins[: 1 + (op != 'Relu')]), [outs[0]])],
        values,
        [onnx.make_value(outs[0], f32, result or shape)],
    )


def unread():
    """An input that no step touches."""
    return one_node('Relu', ['x', 'c'], [1, 16])


def state():
    """A result that is the next run's input."""
    return one_node('Add', ['x', 'h'], [1, 16])


def in_place():
    """Pieces of a concatenation that are all made where they belong, so that no step is left of
    it."""
    nodes = [
        onnx.make_node('Relu', ['x'], ['a']),
        onnx.make_node('Neg', ['x'], ['b']),
        onnx.make_node('Concat', ['a', 'b'], ['c'], axis=0),
        onnx.make_node('Softmax', ['c'], ['y'], axis=1),
    ]
    return onnx.make_model(
        nodes, [onnx.make_value('x', f32, [1, 16])], [onnx.make_value('y', f32, [2, 16])]
    )


def wide_rows():
    """Rows of int64 and of 100 bytes in one pool."""
    nodes = [
        onnx.make_node('Conv', ['x', 'w'], ['a'], pads=[1, 0, 1, 2], strides=[2, 2]),
        onnx.make_node('Round', ['a'], ['b']),
        onnx.make_node('ArgMin', ['b'], ['y'], axis=0),
    ]
    weights = [onnx.make_tensor('w', f32, [5, 2, 1, 3], bytes(120))]
    return onnx.make_model(
        nodes,
        [onnx.make_value('x', f32, [1, 2, 3, 10])],
        [
            onnx.make_value('b', f32, [1, 5, 3, 5]),
            onnx.make_value('y', onnx.CODES['int64'], [1, 5, 3, 5]),
        ],
        weights,
    )


def joined_channels():
    """The same of channels, of which the pieces are copied pixel by pixel."""
    nodes = [
        onnx.make_node('Relu', ['x'], ['a'], 'first'),
        onnx.make_node('Concat', ['x', 'a', 'x'], ['b'], 'all', axis=1),
        onnx.make_node('Conv', ['b', 'w'], ['y']),
    ]
    return onnx.make_model(
        nodes,
        [onnx.make_value('x', f32, [1, 3, 6, 8])],
        [onnx.make_value('y', f32, [1, 2, 6, 8])],
        [onnx.make_tensor('w', f32, [2, 9, 1, 1], bytes(72))],
    )


def read_beside():
    """Channels of a concatenation that are copied, for a step reads them by themselves."""
    shape = [1, 3, 6, 8]
    nodes = [
        onnx.make_node('Conv', ['x', 'v'], ['a']),
        onnx.make_node('Conv', ['x', 'w'], ['b']),
        onnx.make_node('Concat', ['a', 'b'], ['c'], axis=1),
        onnx.make_node('Conv', ['c', 'u'], ['y']),
        onnx.make_node('Softmax', ['a'], ['d'], axis=1),
        onnx.make_node('Conv', ['d', 't'], ['z']),
    ]
    sizes = [('v', [3, 3, 1, 1]), ('w', [3, 3, 1, 1]), ('u', [2, 6, 1, 1]), ('t', [1, 3, 1, 1])]
    weights = [
        onnx.make_tensor(name, f32, dims, bytes([i] * (4 * math.prod(dims))))
        for i, (name, dims) in enumerate(sizes)
    ]
    return onnx.make_model(
        nodes,
        [onnx.make_value('x', f32, shape)],
        [
            onnx.make_value('y', f32, [1, 2] + shape[2:]),
            onnx.make_value('z', f32, [1, 1] + shape[2:]),
        ],
        weights,
    )


def stream_behind():
    """A stream behind steps that jump."""
    shape = [1, 2, 16, 16]
    branch = [
        onnx.make_graph_attr(
            name, [onnx.make_node(op, ['x'], [name])], [], [onnx.make_value(name, f32, shape)]
        )
        for name, op in (('then_branch', 'Relu'), ('else_branch', 'Neg'))
    ]
    nodes = [
        onnx.make_node('Less', ['c', 'c'], ['e']),
        onnx.make_node('If', ['e'], ['a'], graphs=branch),
        onnx.make_node('Conv', ['a', 'w'], ['b'], pads=[1, 1, 1, 1]),
        onnx.make_node('Conv', ['b', 'v'], ['y'], pads=[1, 1, 1, 1]),
    ]
    weights = [
        onnx.make_tensor('w', f32, [8, 2, 3, 3], bytes(576)),
        onnx.make_tensor('v', f32, [1, 8, 3, 3], bytes(288)),
    ]
    return onnx.make_model(
        nodes,
        [onnx.make_value('x', f32, shape), onnx.make_value('c', f32, [1])],
        [onnx.make_value('y', f32, [1, 1, 16, 16])],
        weights,
    )


def sums():
    """A result that all rows are added to."""
    nodes = [
        onnx.make_node('Conv', ['x', 'w'], ['a'], pads=[1, 1, 1, 1]),
        onnx.make_node('GlobalAveragePool', ['a'], ['y']),
    ]
    return onnx.make_model(
        nodes,
        [onnx.make_value('x', f32, [1, 1, 8, 8])],
        [onnx.make_value('y', f32, [1, 2, 1, 1])],
        [onnx.make_tensor('w', f32, [2, 1, 3, 3], bytes(72))],
    )


def no_bytes():
    """A model without steps."""
    return one_node('Relu', ['x'], [0, 16])


def strips():
    """Strips and pairs, where the arena is as small as it may be."""
    return random_nets.Net(42).model


def second(man):
    """The number of a step that does in another strip what one before it does."""
    return next(i for i, s in enumerate(man['steps']) if s.get('strip', 0) > 1)


def in_first_strip(man):
    """A step of the second strip as one of the first, in which its own step is done."""
    return {'steps.%d.strip' % second(man): 1}


def last_of(man, key):
    return max(i for i, s in enumerate(man['steps']) if key in s)


def without_last(man):
    """One step less that makes columns of a result."""
    return {'steps.%d' % last_of(man, 'strip'): GONE}


def not_copied(man):
    """What is copied is made in place instead."""
    at = last_of(man, 'piece')
    copied = man['steps'][at]['operands'][1]['tensor']
    maker = next(i for i, s in enumerate(man['steps']) if s['operands'][0]['tensor'] == copied)
    return {'steps.%d.operands.0' % maker: man['steps'][at]['operands'][0], 'steps.%d' % at: GONE}


def of_update(man):
    return next(i for i, s in enumerate(man['steps']) if s['operands'][0]['access'] == 'update')


def larger_scratch(man):
    scratch = next(i for i, t in enumerate(man['tensors']) if t.get('scratch'))
    return {'tensors.%d.extent' % scratch: man['tensors'][scratch]['extent'] + 16}


def halved(man):
    """Slots counted in half as many bytes: they lie where they did."""
    return {
        'tensors.%d.slots'
        % i: {'unit': t['slots']['unit'] // 2, 'rows': [2 * r for r in t['slots']['rows']]}
        for i, t in enumerate(man['tensors'])
        if 'slots' in t
    }


def tall():
    """More rows than a stream counts."""
    return one_node('Relu', ['x'], [1, 1, 65536, 2])


def twice(man, place):
    """A tensor stated once more, at the end."""
    return {'tensors': man['tensors'] + [man['tensors'][place]]}


# A step of digits is steps.N; its tensors are 0: result of the first step, 1: the model's input, 7:
# input of the last but one.
DIGITS = [
    ({'steps.0.operands.4': CONSTANT}, 'operand 4: is left out in the model'),
    ({'steps.0.operands.2': None}, 'operand 2: is left out in the manifest'),
    ({'steps.0.operands.1': CONSTANT}, 'operand 1: is no constant'),
    (lambda m: {'steps.0.operands.2': m['steps'][0]['operands'][1]}, 'operand 2: is a constant'),
    ({'steps.1.operands.0.access': 'update'}, 'kind of access is '),
    ({'steps.1.operands.1.rule': 'all'}, 'kind of rule is '),
    (
        {'steps.0.operands.1.rule.stride': 2},
        'operand 1: stride is 2 in the manifest, 1 in the model',
    ),
    ({'steps.0.operands.1.rule.pad': 0}, 'operand 1: pad is 0 in the manifest, 1 in the model'),
    (
        {'steps.0.operands.1.rule.extent': 2},
        'operand 1: extent is 2 in the manifest, 3 in the model',
    ),
    (
        {'steps.0.operands.1.pixels.stride': 2},
        'stride of pixels is 2 in the manifest, 1 in the model',
    ),
    ({'steps.0.operands.1.pixels.pad': 0}, 'pad of pixels is 0 in the manifest, 1 in the model'),
    (
        {'steps.0.operands.1.pixels.extent': 4},
        'extent of pixels is 4 in the manifest, 3 in the model',
    ),
    ({'steps.0.operands.1.pixels.tile': 6}, 'tile of pixels is 6 in the manifest, 7 in the model'),
    ({'steps.0.operands.0.at': 16}, 'at is 16 in the manifest, 0 in the model'),
    ({'steps.0.operands.0.rows': 27}, 'rows is 27 in the manifest, 28 in the model'),
    ({'steps.0.operands.0.row': 912}, 'row is 912 in the manifest, 896 in the model'),
    ({'steps.0.operands.0.pixel': 4}, 'pixel is 4 in the manifest, 8 in the model'),
    (
        {'steps.0.operands.0.part': 4, 'steps.0.operands.0.pitch': 4},
        'part is 4 in the manifest, 0 in the model',
    ),
    ({'steps.0.operands.0.pitch': 8}, 'pitch is 8 in the manifest, 0 in the model'),
    ({'tensors.1.slot': 1}, 'slot is 1 in the manifest, 0 in the model'),
    ({'tensors.1.offset': 16}, 'offset is 16 in the manifest, 0 in the model'),
    ({'tensors.7.offset': 8}, 'offset 8 is not aligned'),
    ({'tensors.7.bytes': 1148}, 'bytes is 1148 in the manifest, 1152 in the model'),
    ({'tensors.7.extent': 1168}, 'extent is 1168 in the manifest, 1152 in the model'),
    ({'tensors.1.storage': 'output'}, 'lies in the input, not the output'),
    ({'tensors.7.storage': 'input'}, 'lies in the arena, not the input'),
    ({'tensors.9.storage': 'arena'}, 'lies in the output, not the arena'),
    ({'steps.2.operands.1.tensor': 0}, "names another step's tensor"),
    (
        lambda m: dict(twice(m, 0), **{'steps.1.operands.1.tensor': 10}),
        'names a tensor that other steps know by another place',
    ),
    ({'steps.0.units': 27}, 'units is 27 in the manifest, 28 in the model'),
    ({'steps.0.operands.4': GONE}, 'operands is 4 in the manifest, 5 in the model'),
    ({'steps.0.kernel': 'x'}, 'runs x in the manifest, conv_f32 in the model'),
    ({'steps.0.piece': 1}, 'copies a piece of what has no such piece'),
    ({'steps.0.piece': 1, 'steps.0.lowered': [0, 1]}, 'copies a piece of several steps'),
    ({'steps.1.lowered': [0]}, 'does what another step has done'),
    ({'steps.0.lowered': [0, 1], 'steps.1': GONE}, '(conv_f32, node "conv1"): '),
    ({'tensors.1.slots': {'unit': 4, 'rows': [0] * 28}}, 'has slots outside of the arena'),
    ({'tensors.0.slots.rows.27': GONE}, 'rows in slots is 27 in the manifest, 28 in the model'),
    ({'steps.0.operands.0.ring': 3}, 'is a ring and has slots'),
    ({'steps.0.operands.1.ring': 4}, 'is a ring outside of the arena'),
    ({'schedule': []}, 'the schedule runs no steps'),
    (
        {'steps.7.strip': 1, 'steps.7.columns': [0, 1]},
        'is made by a kernel that cannot make some columns',
    ),
    ({'schedule.0.steps': 10}, 'schedule[0] names steps that do not exist'),
    ({'arena.counters.bytes': 12}, 'schedule[0] has no room for its row counters'),
    ({'arena.counters.offset': 6209}, 'schedule[0] has no room for its row counters'),
    ({'arena.counters': GONE}, 'schedule[0] has no room for its row counters'),
    ({'inputs.0.place': 'arena', 'inputs.0.offset': 0}, "input 0 lies in the caller's buffer"),
    ({'outputs.0.place': 'arena', 'outputs.0.offset': 0}, "output 0 lies in the caller's buffer"),
    ({'inputs.0.place': 'rows'}, 'input 0 does not come row by row'),
    ({'steps.0.operands.1.reach': GONE}, 'operand 1: how far it reaches is not stated'),
    ({'steps.0.operands.1.reach': 3140}, 'it reaches 3136 bytes, the manifest states 3140'),
]
IN_ARENA = [
    ({'inputs.0.place': 'caller'}, 'input 0 lies in the arena'),
    (lambda m: {'inputs.0.offset': m['inputs'][0]['offset'] + 16}, 'input 0 does not lie at '),
    (lambda m: {'outputs.0.offset': m['outputs'][0]['offset'] + 16}, 'output 0 does not lie at '),
]
PIECES = [
    ({'steps.2.piece': 1}, 'copies a piece that another step has copied'),
    ({'steps.2.piece': 4}, 'copies a piece of what has no such piece'),
    ({'steps.2.piece': GONE}, 'is done as a whole and in pieces'),
    (
        {'steps.2': GONE, 'schedule': [{'first': 0, 'steps': 3}]},
        'step 1 before the plan (concat, node "all") ',
    ),
    (
        {'steps.0.operands.0.at': 32},
        '(relu_f32, node "first"), operand 0: at is 32 in the manifest, 64 in the model',
    ),
]
JUMPS = [
    (
        lambda m: {'steps.1': m['steps'][2], 'steps.2': m['steps'][1]},
        'is moved, though steps of the model jump',
    ),
    (
        lambda m: {'schedule': [dict(m['schedule'][0], steps=9)]},
        'schedule[0] is a stream where steps of the model jump',
    ),
    ({'arena.run_state.bytes': 12}, 'has no place for the state of a run that takes rows'),
    ({'arena.run_state': GONE}, 'has no place for the state of a run that takes rows'),
    ({'inputs.0.place': 'caller'}, 'input 0 comes row by row'),
    ({'steps.0.units': 5}, 'step 0 (input, node ""): units is 5 in the manifest, 6 in the model'),
    ({'steps.0': GONE}, 'step 0 before the plan (input, node "") '),
]
THREADS = [
    ({'arena.threads': GONE}, 'a step is split that no threads can share'),
    (
        lambda m: {
            'steps.%d.split' % next(i for i, s in enumerate(m['steps']) if s['units'] < 2): True
        },
        'a step is split that no threads can share',
    ),
]
CHANNELS = [({'steps.2.operands.0.part': 2}, 'part is 2 in the manifest, 3 in the model')]
SUMS = [
    (
        lambda m, access=access: {'steps.%d.operands.0.access' % of_update(m): access},
        'kind of access is ',
    )
    for access in ('write', 'scratch')
]
BESIDE = [(not_copied, 'is part of another tensor, which this step cannot follow')]
BEHIND = [
    (lambda m: {'schedule.1.first': 1}, 'schedule[1] is a stream where steps of the model jump')
]
STRIPS = [
    (in_first_strip, 'does what another step has done'),
    (without_last, 'is done for some columns twice, or not at all'),
    (
        lambda m: {'steps.%d.columns.1' % second(m): m['steps'][second(m)]['columns'][1] + 1},
        ' in the manifest, ',
    ),
    (lambda m: {'steps.%d.columns.1' % last_of(m, 'strip'): 1000}, 'has no such columns'),
    (larger_scratch, 'extent is '),
]
NO_BYTES = [({'schedule': [{'first': 0, 'steps': 1}]}, 'segments name steps that do not exist')]
UNREAD = [
    ({'inputs.1.offset': 8}, 'input 1 does not lie at 8'),
    ({'inputs.1.offset': 1 << 20}, 'input 1 does not lie at 1048576'),
]
REGIONS = [
    ({'inputs.0.region': 1}, 'input 0 does not lie at 0'),
    ({'inputs.1.region': 0, 'inputs.1.offset': 64}, 'input 1 does not lie at 64'),
]
STATE = [
    (
        lambda m: {'outputs.0.offset': m['outputs'][0]['offset'] + 16},
        "output 0 is a state and does not lie at its input's place",
    )
]
WIDE_ROWS = [(halved, 'has rows that are not aligned')]
IN_PLACE = [({'steps.1': GONE}, ' is not done')]
TALL = [
    (
        {
            'schedule': [
                {
                    'first': 0,
                    'steps': 1,
                    'prologue': 0,
                    'period': 1,
                    'repeats': 65536,
                    'epilogue': 0,
                    'list': [0],
                }
            ],
            'arena.counters': {'offset': 0, 'bytes': 2},
        },
        'step 0 has more rows than its counter counts',
    )
]


def edit(manifest, path, value):
    """The manifest with one place, as 'steps.0.units', in another form."""
    *way, last = [int(word) if word.isdigit() else word for word in path.split('.')]
    at = manifest
    for word in way:
        at = at[word]
    if value is GONE:
        del at[last]
    else:
        at[last] = copy.deepcopy(value)


def changed(manifest, change):
    m = copy.deepcopy(manifest)
    for path, value in (change(m) if callable(change) else change).items():
        edit(m, path, value)
    return m


def smallest(o, model):
    """The limit that only the smallest plan keeps."""
    status, text = host.run([o.inlay, 'analyze', model, '--curve', '--json'])
    return '--arena-limit=%d' % (json.loads(text)['curve'][-1]['arena'] if not status else 0)


def prove(o, work, manifest, model):
    path = os.path.join(work, 'changed.json')
    with open(path, 'w') as f:
        json.dump(manifest, f)
    return host.run([o.inlay, 'prove', path, model])


def refuse_all(t, o, model, label, flags, table):
    with host.Work() as work:
        status, text = host.run([o.inlay, 'compile', model, '-o', work, '--name', 'm'] + flags)
        if not t.ok('%s: compiles' % label, status == 0, text):
            return
        status, text = host.run([o.inlay, 'prove', os.path.join(work, 'm.json'), model])
        t.ok('%s: is proved' % label, status == 0, text)
        manifest, bad = host.manifest(work, 'm'), []
        for change, want in table:
            status, text = prove(o, work, changed(manifest, change), model)
            if status not in (1, 78) or want not in text:
                bad.append('%s: status %d, %s' % (want, status, text.strip()[:300]))
        t.ok('%s: of %d changes each is refused for its reason' % (label, len(table)), not bad, bad)


def no_schedule(t, o, model):
    """Where there are no steps there is nothing to run."""
    with host.Work() as work:
        status, text = host.run([o.inlay, 'compile', model, '-o', work, '--name', 'm'])
        if not status:
            status, text = prove(
                o, work, changed(host.manifest(work, 'm'), {'schedule': []}), model
            )
        t.ok('no steps: is proved without a schedule', status == 0, text)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    o = p.parse_args()
    t = tap.Tap()
    digits = os.path.join(o.models, 'digits', 'digits.onnx')
    refuse_all(t, o, digits, 'digits', [], DIGITS)
    refuse_all(t, o, digits, 'digits in the arena', ['--io=arena'], IN_ARENA)
    refuse_all(t, o, digits, 'digits by threads', ['--threads=2', '--plan=order'], THREADS)
    with host.Work() as work:
        for make, flags, table in (
            (joined_rows, [], PIECES),
            (branches, ['--io=x=rows'], JUMPS),
            (unread, ['--io=arena'], UNREAD),
            (state, ['--state=y=h'], STATE),
            (in_place, [], IN_PLACE),
            (wide_rows, [], WIDE_ROWS),
            (tall, [], TALL),
            (joined_channels, [], CHANNELS),
            (read_beside, [], BESIDE),
            (sums, [], SUMS),
            (stream_behind, [], BEHIND),
            (unread, ['--io=arena', '--region=a:64', '--region=b:1K'], REGIONS),
            (no_bytes, [], NO_BYTES),
            (strips, smallest, STRIPS),
        ):
            model = os.path.join(work, make.__name__ + '.onnx')
            with open(model, 'wb') as f:
                f.write(make())
            refuse_all(
                t, o, model, make.__name__, [flags(o, model)] if callable(flags) else flags, table
            )
        no_schedule(t, o, os.path.join(work, 'no_bytes.onnx'))
    t.done()


main()
