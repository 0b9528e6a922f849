# SPDX-License-Identifier: Apache-2.0
"""Models x ways to compile x checks: whatever the options, each model has the answer of the
plainest plan, bit for bit.

    forms.py --inlay INLAY --options NAME,... --checks NAME,... [--set NAME | --every N] [--only
    REGEX] [--cc CC] [--level=-Og]
             [--vectors N] [--group N] [--jobs N] FOLDER|TAR...

OPTIONS and CHECKS below are the tables. Every N-th model is taken, or the models of one of SETS.
Models that a C compiler sees are built in groups that share one program, for the time that takes;
where a group fails they are tried one by one. With --vectors the first N plans of a model are built
as users get them; all others as plain C, without vectors, whose tiles compile in a third of the
time: there the plainest plan built in the same way is what the others are compared with."""
import argparse
import concurrent.futures
import os
import re
import shutil
import tempfile

import cases
import host
import onnx
import tap
import trial

# Statuses by which the compiler says that the model cannot have these options, or cannot be had at
# all; others are faults.
NOT_POSSIBLE = (1, 69, 78)
REFUSED = NOT_POSSIBLE + (65, 71)


def one(*flags):
    return lambda _: [list(flags)]


def with_input(make):
    """The same for models that have an input."""
    return lambda model: make(model) if model.analyze()['inputs'] else []


def regions(*more):
    """Two memories, the fast one a third of the arena."""

    def flags(model):
        size = model.analyze(*more)['arena']['size']
        return [
            [
                '--region',
                'fast:%d' % max(16, size // part),
                '--region',
                'slow:%d:4' % (size + (1 << 20)),
            ]
            + list(more)
            for part in (2, 3)
        ]

    return flags


def limits(*more):
    """The three smallest points of the curve, each asked for by its size."""

    def flags(model):
        return [
            ['--arena-limit=%d' % point['arena']] + list(more)
            for point in model.analyze('--curve', *more)['curve'][-3:]
        ]

    return flags


def windows(*more):
    """Weights through windows of several sizes; small ones not all models can have."""
    return lambda _: [['--window=%d' % size] + list(more) for size in (320, 2048, 20000)] + [
        ['--window=2K', '--resident=3K'] + list(more)
    ]


def coded(*more):
    """Weights that are decoded into what is free, or into more."""
    return lambda _: [['--code-weights'] + list(more)] + [
        ['--code-weights', '--window=%d' % size] + list(more) for size in (700, 3000, 1 << 20)
    ]


OPTIONS = {
    'caller': one(),
    'simple': one('--plan=simple'),
    'order': one('--plan=order'),
    'overlap': one('--plan=overlap'),
    'speed': one('--optimize=speed', '--without=winograd'),
    'balanced': one('--optimize=balanced'),
    'arena': one('--io=arena'),
    'in': one('--io=in=arena'),
    'out': one('--io=out0=arena'),
    'preserved': one('--io=arena', '--preserve-input'),
    'onnx-layout': one('--io=arena', '--without=io_layout'),
    'arena-simple': one('--io=arena', '--plan=simple'),
    'arena-overlap': one('--io=arena', '--plan=overlap'),
    'slices': one('--slices'),
    'slices-arena': one('--slices', '--io=arena', '--plan=simple'),
    'threads': one('--threads=3:1', '--optimize=speed', '--without=winograd'),
    'threads-arena': one('--threads=2:1', '--io=arena'),
    'rows': with_input(one('--io=in0=rows')),
    'rows-arena': with_input(one('--io=in0=rows', '--io=out=arena')),
    'regions': regions(),
    'regions-arena': regions('--io=arena'),
    'regions-rows': with_input(regions('--io=in0=rows')),
    'window': windows(),
    'window-slices': windows('--slices', '--io=arena'),
    'limits': limits(),
    'limits-arena': limits('--io=arena'),
}
# These matter to a C compiler alone, or take many plans each, and are not among `all`.
WEIGHTS = {
    'coded': coded(),
    'coded-slices': coded('--slices', '--io=arena'),
    'array': one('--weights=c'),
    'incbin': one('--weights=incbin'),
    'obj': one('--weights=obj'),
    'bin': one('--weights=bin'),
    'stream': lambda _: [['--weights=stream', '--window=%d' % size] for size in (2048, 20000)],
}
CHECKS = {
    'run': 'inlay run',
    'prove': 'inlay prove',
    'c': 'C, no warning',
    'watched': 'C that watches itself, under sanitizers',
}

MODELS = ['digits', 'sine']
NODES = [
    'test_averagepool_2d_pads',
    'test_concat_2d_axis_1',
    'test_conv_with_strides_and_asymmetric_padding',
    'test_convtranspose_2d',
    'test_gru_defaults',
    'test_loop11',
    'test_maxpool_2d_same_upper',
    'test_resize_upsample_scales_nearest',
    'test_softmax_axis_1',
    'test_split_equal_parts_2d',
]
MORE_NODES = [
    'test_basic_conv_with_padding',
    'test_add_bcast',
    'test_relu',
    'test_identity',
    'test_nonzero_example',
    'test_split_variable_parts_2d',
    'test_transpose_all_permutations_3',
    'test_lstm_defaults',
]
CORPUS = [
    'audio/mlperf-tiny-kws',
    'cnn/mlperf-tiny-resnet8',
    'cnn/mlperf-tiny-vww',
    'misc/fpn',
    'misc/gridsample-16',
    'quant-qop/mnist-dynamic-quant',
    'recurrent/ort-tiny-loop',
]
MORE_CORPUS = [
    'cnn/mobilenet-v2-035-128',
    'quant-qdq/mlperf-tiny-kws-int8',
    'imaging/espcn-nn-resize',
    'detector/ultraface-rfb-320',
    'quant-qop/micro-kws-m-qoperator',
    'quant-qdq/conv-qdq-perchannel',
    'fp16/mlperf-tiny-resnet8-fp16',
]
SETS = {'few': MODELS + NODES + CORPUS, 'more': MORE_NODES + MORE_CORPUS}


class Way:
    """A model with one list of options."""

    def __init__(self, model, label, flags):
        self.model, self.label, self.flags = model, ' '.join([label] + flags), flags

    def refused(self):
        """Has the model no such plan? A fault of ours is none of these."""
        try:
            self.model.analyze(
                *[f for f in self.flags if not f.startswith('--weights')]
            )  # which `compile` alone has
        except trial.Refused as e:
            if e.status in NOT_POSSIBLE:
                return True
            raise
        return False

    def want(self):
        return self.model.answer('--plan=simple')

    def run(self):
        return '' if self.model.answer(*self.flags) == self.want() else 'other bytes by inlay run'

    def prove(self):
        with host.Work() as work:
            streamed = (
                any(f.startswith('--window') for f in self.flags)
                and '--code-weights' not in self.flags
            )
            form = 'stream' if streamed else 'bin'
            self.model.compiled(work, '--weights=' + form, '--no-hash', *self.flags).prove()
        return ''


def open_shapes(file, size):
    """--shape with every open dimension `size`; [] where all are fixed."""
    return [
        flag
        for v in onnx.read_io(file)[0]
        if v.dims is not None and None in v.dims
        for flag in (
            '--shape',
            '%s=%s' % (v.name, 'x'.join(str(size if d is None else d) for d in v.dims)),
        )
    ]


def trials(o, name, folder):
    """The model with its data, and without where its dimensions are open."""
    if not cases.out_of_scope(name, folder):
        yield trial.Trial(o.inlay, folder)
    for size in (1, 2):
        shape = open_shapes(host.model_of(folder), size)
        if shape or cases.out_of_scope(name, folder) and size == 1:
            yield trial.Trial(o.inlay, folder, shape)


def ways(o, model):
    for name in o.options:
        try:
            for flags in dict(OPTIONS, **WEIGHTS)[name](model):
                yield Way(model, name, flags)
        except trial.Refused as e:
            if e.status not in NOT_POSSIBLE:
                raise


def in_process(o, name, folder):
    """(plans, what is wrong) of the checks that need no C compiler."""
    count, bad = 0, []
    for model in trials(o, name, folder):
        try:
            model.analyze()
            runs = bool(model.data or model.want) and bool(model.answer('--plan=simple'))
        except trial.Refused as e:
            if e.status not in REFUSED:
                bad.append(str(e))
            continue
        checks = [
            check for check in ('prove', 'run') if check in o.checks and (runs or check == 'prove')
        ]
        for way in ways(o, model):
            faults = attempt(way, checks)
            count += faults is not None
            bad += ['%s: %s' % (way.label, fault) for fault in faults or [] if fault]
    return count, bad


def attempt(way, checks):
    """What is wrong, '' for each check that holds; None where the model has no such plan."""
    try:
        return None if way.refused() else [getattr(way, check)() for check in checks]
    except trial.Refused as e:
        return [str(e)]


def with_compiler(o, group, check, plain):
    """{way: '' or what is wrong} of the group as one program."""
    with host.Work() as work:
        try:
            more = ['--checks'] if check == 'watched' else []
            made = [
                way.model.compiled(work, *way.flags, *more, name='m%d' % i)
                for i, way in enumerate(group)
            ]
            models = list(dict.fromkeys(way.model for way in group)) if plain else []
            others = [
                model.compiled(work, '--plan=simple', *more, name='plain%d' % i)
                for i, model in enumerate(models)
            ]
            trial.build(work, made + others, o.cc, o.flags[check] + (host.PLAIN if plain else []))
            trial.execute(work)
            wanted = {model: c.results() for model, c in zip(models, others)}
            return {
                way: '' if c.results() == wanted.get(way.model, way.want()) else 'other bytes'
                for way, c in zip(group, made)
            }
        except trial.Refused as e:
            if len(group) == 1:
                return {group[0]: str(e)}
    return {
        way: bad for each in group for way, bad in with_compiler(o, [each], check, plain).items()
    }


def all_ways(o, tests):
    """[(test, Way)] of the models that can be run."""
    found = []
    for name, folder in tests:
        if cases.out_of_scope(name, folder):
            continue
        model = trial.Trial(o.inlay, folder)
        try:
            model.answer('--plan=simple')
            found += [(name, way) for way in ways(o, model) if not way.refused()]
        except trial.Refused as e:
            if e.status not in REFUSED:
                found.append((name, Way(model, 'refused', [])))
    return found


def in_groups(o, found):
    """[(ways, are they plain C?)]"""
    plain = [number_of(found, i) >= o.vectors for i in range(len(found))]
    parts = [
        ([way for (_, way), p in zip(found, plain) if p == kind], kind) for kind in (False, True)
    ]
    return [
        (ways[i : i + o.group], kind) for ways, kind in parts for i in range(0, len(ways), o.group)
    ]


def number_of(found, i):
    """The how manieth plan of its model it is."""
    return sum(name == found[i][0] for name, _ in found[:i])


def by_compiler(t, o, pool, tests, check):
    found = all_ways(o, tests)
    bad = {}
    for group in pool.map(lambda g: with_compiler(o, g[0], check, g[1]), in_groups(o, found)):
        bad.update(group)
    for name in dict.fromkeys(name for name, _ in found):
        mine = [way for n, way in found if n == name]
        t.ok(
            '%s: %s: %d plans' % (name, CHECKS[check], len(mine)),
            not any(bad[w] for w in mine),
            ['%s: %s' % (w.label, bad[w]) for w in mine if bad[w]],
        )


def taken(o, t, scratch):
    for path in o.paths:
        if not os.path.exists(path):
            t.skip(os.path.basename(path), 'not on this machine')
    tests = [
        x
        for x in cases.find([x for x in o.paths if os.path.exists(x)], scratch)
        if re.search(o.only, x[0])
    ]
    names = SETS.get(o.set)
    return [x for x in tests if x[0].split('/', 1)[1] in names] if names else tests[:: o.every]


def options():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--options', required=True, type=lambda s: s.split(','))
    p.add_argument('--checks', required=True, type=lambda s: s.split(','))
    p.add_argument('--set', default='')
    p.add_argument('--every', type=int, default=1)
    p.add_argument('--only', default='')
    p.add_argument('--cc', default='gcc')
    p.add_argument('--level', default=host.LEVEL)
    p.add_argument('--sanitize', action='store_true')
    p.add_argument('--vectors', type=int, default=1000000)
    p.add_argument('--group', type=int, default=16)
    p.add_argument('--jobs', type=int, default=1)
    p.add_argument('paths', nargs='+')
    return p.parse_args()


def main():
    o = options()
    o.options = list(OPTIONS) if o.options == ['all'] else o.options
    t, scratch = tap.Tap(), tempfile.mkdtemp(prefix='inlay-forms-')
    sanitize = trial.sanitizing(o.cc) if shutil.which(o.cc) else None
    base = host.STRICT + [o.level, '-ffp-contract=off']
    o.flags = {
        'c': base + (sanitize or [] if o.sanitize else []),
        'watched': ['-std=c99', o.level, '-DINLAY_CHECK'] + (sanitize or []),
    }
    if not shutil.which(o.cc):
        t.skip(o.cc, 'not installed')
        t.done()
    tests = taken(o, t, scratch)
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        if {'run', 'prove'} & set(o.checks):
            for (name, _), (count, bad) in zip(tests, pool.map(lambda x: in_process(o, *x), tests)):
                t.ok(
                    '%s: %d plans' % (name, count), not bad, '\n'.join(bad)
                ) if count or bad else t.skip(name, 'refused')
        for check in ('c', 'watched'):
            if check in o.checks:
                by_compiler(t, o, pool, tests, check)
    shutil.rmtree(scratch, ignore_errors=True)
    t.done()


if __name__ == '__main__':
    main()
