# SPDX-License-Identifier: Apache-2.0
"""--state: a model that keeps its states in the arena gives, run for run, the bytes of one whose
caller hands them on, in any plan, by slices too, whatever happens to the rest of the arena between
two runs; reset() begins anew; the plan is proved; what is no state is refused.

    state.py --inlay INLAY [--corpus FOLDER]"""
import argparse
import json
import os
import struct

import host
import onnx
import tap
import trial
from onnx import make_model, make_node, make_tensor, make_value

F32, I64 = 1, 7
RUNS = 12

MAIN = r'''#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "m.h"
static unsigned seed = 1;
static unsigned char number(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (unsigned char)(seed >> 24);
}
static void fill(float *x, size_t n)
{
    size_t i;
    for (i = 0; i < n; i++) x[i] = (float)((int)number() - 128) / 64.0f;
}
static void put(const void *from, size_t n)
{
    if (n && fwrite(from, 1, n, stdout) != n) exit(91);
}
int main(void)
{
    m_inputs in;
    m_outputs out;
    int run;
    size_t i = 0;
%(areas)s
    (void)i;
    (void)fill;
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
%(pointers)s
    for (run = 0; run < %(runs)d; run++) {
        const int anew = run %% %(part)d == 0;
        int r;
%(before)s
        if (r) return r;
%(after)s
    }
    return 0;
}
'''


class Program:
    """The C around a compiled model; `states`: places of (result, input)."""

    def __init__(self, manifest, states, kept, flags):
        self.manifest, self.states, self.kept, self.flags = manifest, states, kept, flags
        self.regions = manifest.get('regions', [])

    def areas(self):
        sizes = ['M_ARENA_%s_SIZE' % r['name'].upper() for r in self.regions] or ['M_ARENA_SIZE']
        lines = ['    static unsigned char room%d[%s + 128];' % (i, s) for i, s in enumerate(sizes)]
        lines += [
            '    unsigned char *const area%d = room%d + (64 - (size_t)room%d %% 64);' % (i, i, i)
            for i in range(len(sizes))
        ]
        lines += ['    memset(room%d, 0x5A, sizeof room%d);' % (i, i) for i in range(len(sizes))]
        where = ', '.join('area%d' % i for i in range(len(sizes)))
        lines.insert(
            2 * len(sizes),
            '    const m_arenas arenas = { %s }, *const arena = &arenas;' % where
            if self.regions
            else '    void *const arena = area0;',
        )
        return lines

    def place(self, kind, i):
        """Where the C finds a value."""
        io = self.manifest[kind + 'puts'][i]
        if host.in_arena(io):
            return 'area%d + M_%s%d_OFFSET' % (io.get('region', 0), kind.upper(), i)
        return '%s%d' % (kind, i)

    def pointers(self):
        lines = []
        for kind in ('in', 'out'):
            for i, io in enumerate(self.manifest[kind + 'puts']):
                if host.in_arena(io):
                    continue
                lines += [
                    '    static %s %s%d[M_%s%d_LENGTH + 1];'
                    % (
                        {'float32': 'float', 'int64': 'int64_t'}[io['dtype']],
                        kind,
                        i,
                        kind.upper(),
                        i,
                    )
                ]
                lines += ['    %s.%s%d = %s%d;' % (kind, kind, i, kind, i)]
        return sorted(lines, key=lambda line: 'static' not in line)

    def before(self):
        lines = ['        if (anew && m_reset(arena)) return 95;'] if self.kept else []
        lines += [
            '        if (anew) memset(%s, 0, M_IN%d_SIZE);' % (self.place('in', i), i)
            for _, i in self.states
            if not self.kept
        ]
        for i, io in enumerate(self.manifest['inputs']):
            if i in [s for _, s in self.states]:
                continue
            if io['dtype'] == 'int64':
                lines += ['        *(int64_t *)(void *)(%s) = run %% 5;' % self.place('in', i)]
            else:
                lines += [
                    '        fill((float *)(void *)(%s), M_IN%d_LENGTH);' % (self.place('in', i), i)
                ]
        if not self.kept or '--slices' not in self.flags:
            return lines + ['        r = m_run(arena, &in, &out);']
        return lines + [
            '        if (m_begin(arena)) return 96;',
            '        do r = m_step(arena, &in, &out, 1 + run); while (r == M_MORE);',
        ]

    def after(self):
        """All results; then the states go on, and all that is none becomes rubbish."""
        lines = [
            '        put(%s, M_OUT%d_SIZE);' % (self.place('out', i), i)
            for i in range(len(self.manifest['outputs']))
        ]
        if not self.kept:
            return lines + [
                '        memcpy(%s, %s, M_IN%d_SIZE);'
                % (self.place('in', i), self.place('out', o), i)
                for o, i in self.states
            ]
        for k in range(max(1, len(self.regions))):
            size = (
                'M_ARENA_%s_SIZE' % self.regions[k]['name'].upper()
                if self.regions
                else 'M_ARENA_SIZE'
            )
            mine = [n for n, s in enumerate(self.manifest['states']) if s.get('region', 0) == k]
            other = (
                ' && '.join(
                    '(i < M_STATE%d_OFFSET || i >= M_STATE%d_OFFSET + M_STATE%d_SIZE)' % (n, n, n)
                    for n in mine
                )
                or '1'
            )
            lines += [
                '        for (i = 0; i < %s; i++) if (%s) area%d[i] = 0xC3;' % (size, other, k)
            ]
        return lines

    def text(self):
        parts = {k: '\n'.join(getattr(self, k)()) for k in ('areas', 'pointers', 'before', 'after')}
        return MAIN % dict(parts, runs=RUNS, part=RUNS // 2)


def compiled(inlay, model, out, flags):
    trial.must('compile', [inlay, 'compile', model, '-o', out, '-n', 'm', '-q'] + flags)
    return host.manifest(out, 'm')


def place_of(values, name):
    return next(v['index'] for v in values if v['name'] == name)


def answer(work, inlay, model, states, kept, flags, build=()):
    """What the program prints: all results of all runs."""
    flags = list(flags) + ([w for s in states for w in ('--state', s)] if kept else [])
    manifest = compiled(inlay, model, os.path.join(work, 'out'), flags)
    if kept:
        trial.must(
            'prove',
            [inlay, 'prove', os.path.join(work, 'out', 'm.json'), model]
            + [w for i, f in enumerate(flags) if f == '--const' for w in flags[i : i + 2]],
        )
    pairs = [s.rsplit('=', 1) for s in states]
    places = [(place_of(manifest['outputs'], o), place_of(manifest['inputs'], i)) for o, i in pairs]
    with open(os.path.join(work, 'main.c'), 'w') as f:
        f.write(Program(manifest, places, kept, flags).text())
    program = os.path.join(work, 'program')
    trial.must(
        'cc',
        ['gcc', host.LEVEL]
        + host.PLAIN
        + [
            '-ffp-contract=off',
            '-Wall',
            '-Wextra',
            '-Wno-type-limits',
            '-Werror',
            '-I' + os.path.join(work, 'out', 'src'),
        ]
        + list(build)
        + [os.path.join(work, 'main.c')]
        + host.sources(os.path.join(work, 'out'))
        + ['-lm', '-o', program],
    )
    printed = os.path.join(work, 'printed')
    trial.must('the program', ['sh', '-c', '%s > %s' % (program, printed)])
    with open(printed, 'rb') as f:
        return f.read(), manifest


# --- models ---


def floats(*values):
    return struct.pack('<%df' % len(values), *values)


def weight(name, dims):
    count = 1
    for n in dims:
        count *= n
    return make_tensor(
        name, F32, dims, floats(*[((i * 37 + 11) % 64 - 32) / 64 for i in range(count)])
    )


def longs(name, *values):
    return make_tensor(name, I64, [len(values)], struct.pack('<%dq' % len(values), *values))


def cell():
    """h' = tanh(x W + h R): read by a product that cannot be in place."""
    nodes = [
        make_node('MatMul', ['x', 'w'], ['a']),
        make_node('MatMul', ['h', 'r'], ['b']),
        make_node('Add', ['a', 'b'], ['c']),
        make_node('Tanh', ['c'], ['hn']),
        make_node('MatMul', ['hn', 'v'], ['y']),
    ]
    return make_model(
        nodes,
        [make_value('x', F32, [1, 8]), make_value('h', F32, [1, 16])],
        [make_value('y', F32, [1, 4]), make_value('hn', F32, [1, 16])],
        [weight('w', [8, 16]), weight('r', [16, 16]), weight('v', [16, 4])],
    ), ['hn=h']


def running():
    """A sum, read once more after its new value is there in the file's order."""
    nodes = [
        make_node('Add', ['s', 'x'], ['sn']),
        make_node('Mul', ['s', 'x'], ['late']),
        make_node('Sub', ['sn', 'late'], ['y']),
    ]
    return make_model(
        nodes,
        [make_value('s', F32, [1, 40]), make_value('x', F32, [1, 40])],
        [make_value('y', F32, [1, 40]), make_value('sn', F32, [1, 40])],
    ), ['sn=s']


def bound_to_old():
    """The old value is needed for what needs the new one."""
    nodes = [
        make_node('Add', ['s', 'x'], ['sn']),
        make_node('Relu', ['sn'], ['a']),
        make_node('Mul', ['s', 'a'], ['y']),
    ]
    return make_model(
        nodes,
        [make_value('s', F32, [1, 40]), make_value('x', F32, [1, 40])],
        [make_value('y', F32, [1, 40]), make_value('sn', F32, [1, 40])],
    ), ['sn=s']


def swapped():
    nodes = [
        make_node('Identity', ['p'], ['qn']),
        make_node('Add', ['q', 'x'], ['pn']),
        make_node('Sub', ['p', 'q'], ['y']),
    ]
    values = [make_value(n, F32, [1, 12]) for n in 'pqx']
    return make_model(nodes, values, [make_value(n, F32, [1, 12]) for n in ('y', 'pn', 'qn')]), [
        'pn=p',
        'qn=q',
    ]


def kept():
    """One that stays as it is, one that is nothing but the input, and no other result."""
    nodes = [
        make_node('Identity', ['a'], ['an']),
        make_node('Identity', ['x'], ['bn']),
        make_node('Neg', ['b'], ['cn']),
    ]
    return make_model(
        nodes,
        [make_value(n, F32, [1, 12]) for n in 'abcx'],
        [make_value(n, F32, [1, 12]) for n in ('an', 'bn', 'cn')],
    ), ['an=a', 'bn=b', 'cn=c']


def window():
    """A causal convolution over time: the last frames and a new one; an image beside it, in
    streams."""
    nodes = [
        make_node('Concat', ['old', 'x'], ['all'], axis=2),
        make_node('Slice', ['all', 'from', 'to', 'axis'], ['new']),
        make_node('Conv', ['all', 'k'], ['c'], pads=[0, 1, 0, 1]),
        make_node('Relu', ['c'], ['d']),
        make_node('Conv', ['d', 'k2'], ['y'], pads=[1, 1, 1, 1]),
    ]
    return make_model(
        nodes,
        [make_value('x', F32, [1, 2, 1, 24]), make_value('old', F32, [1, 2, 12, 24])],
        [make_value('y', F32, [1, 4, 11, 24]), make_value('new', F32, [1, 2, 12, 24])],
        [
            weight('k', [4, 2, 3, 3]),
            weight('k2', [4, 4, 3, 3]),
            longs('from', 1),
            longs('to', 13),
            longs('axis', 2),
        ],
    ), ['new=old']


def cache():
    """Rows of a cache, one of them new: ScatterElements by an index of the caller."""
    nodes = [
        make_node('Add', ['kv', 'one'], ['see']),
        make_node('ReduceMean', ['see'], ['m'], axes=[0], keepdims=1),
        make_node('Mul', ['x', 'm'], ['row']),
        make_node('Unsqueeze', ['at', 'zero'], ['i']),
        make_node('ScatterND', ['kv', 'i', 'row'], ['kvn']),
        make_node('ReduceSum', ['kvn', 'zero'], ['y'], keepdims=1),
    ]
    return make_model(
        nodes,
        [make_value('x', F32, [1, 6]), make_value('kv', F32, [5, 6]), make_value('at', I64, [1])],
        [make_value('y', F32, [1, 6]), make_value('kvn', F32, [5, 6])],
        [weight('one', [1]), longs('zero', 0)],
    ), ['kvn=kv']


def stacked():
    """States of two cells in one tensor: each half is read before its own new one is there, where
    the file has them crosswise."""
    nodes = [
        make_node('Gather', ['h', 'zero'], ['h0']),
        make_node('Gather', ['h', 'one'], ['h1']),
        make_node('Mul', ['x', 'h0'], ['a']),
        make_node('Tanh', ['a'], ['n0']),
        make_node('Add', ['n0', 'h1'], ['b']),
        make_node('Tanh', ['b'], ['n1']),
        make_node('Sub', ['h0', 'x'], ['late']),
        make_node('Add', ['late', 'n1'], ['y']),
        make_node('Concat', ['n0', 'n1'], ['hn'], axis=0),
    ]
    return make_model(
        nodes,
        [make_value('x', F32, [1, 20]), make_value('h', F32, [2, 20])],
        [make_value('y', F32, [1, 20]), make_value('hn', F32, [2, 20])],
        [longs('zero', 0), longs('one', 1)],
    ), ['hn=h']


def exchanged():
    """Halves that need each other's old bytes; and one half twice, another from outside."""
    nodes = [
        make_node('Gather', ['h', 'zero'], ['h0']),
        make_node('Gather', ['h', 'one'], ['h1']),
        make_node('Neg', ['h1'], ['n0']),
        make_node('Add', ['h0', 'n0'], ['n1']),
        make_node('Concat', ['n0', 'n1'], ['hn'], axis=0),
        make_node('Gather', ['g', 'one'], ['g1']),
        make_node('Mul', ['g1', 'x'], ['m']),
        make_node('Concat', ['m', 'x', 'm'], ['gn'], axis=0),
    ]
    return make_model(
        nodes,
        [
            make_value('x', F32, [1, 20]),
            make_value('h', F32, [2, 20]),
            make_value('g', F32, [3, 20]),
        ],
        [make_value('hn', F32, [2, 20]), make_value('gn', F32, [3, 20])],
        [longs('zero', 0), longs('one', 1)],
    ), ['hn=h', 'gn=g']


def in_loop():
    """New bytes that a loop makes of the old ones: its steps jump."""
    body = onnx.make_graph_attr(
        'body',
        [make_node('Add', ['u', 'x'], ['v']), make_node('Identity', ['go'], ['on'])],
        [make_value('n', I64, []), make_value('go', 9, []), make_value('u', F32, [1, 8])],
        [make_value('on', 9, []), make_value('v', F32, [1, 8])],
    )
    nodes = [
        make_node('ReduceMax', ['at'], ['times'], keepdims=0),
        make_node('Loop', ['times', '', 's'], ['sn'], graphs=[body]),
        make_node('Mul', ['s', 'sn'], ['y']),
    ]
    return make_model(
        nodes,
        [make_value('x', F32, [1, 8]), make_value('s', F32, [1, 8]), make_value('at', I64, [1])],
        [make_value('y', F32, [1, 8]), make_value('sn', F32, [1, 8])],
    ), ['sn=s']


THOROUGH = [running, swapped, stacked]
MODELS = [cell, running, bound_to_old, swapped, kept, window, cache, stacked, exchanged, in_loop]
PLANS = [
    [],
    ['--plan=simple'],
    ['--plan=order'],
    ['--plan=overlap'],
    ['--optimize=speed'],
    ['--optimize=balanced', '--preserve-input'],
    ['--io=arena'],
    ['--io=arena', '--preserve-input'],
    ['--region', 'fast:600', '--region', 'slow:64K'],
    ['--effort=3', '--target=cortex-m4'],
    ['--slices'],
    ['--slices', '--plan=simple', '--io=arena'],
]
CORPUS = {
    'audio/gtcrn-simple': (
        ['conv_cache_out=conv_cache', 'tra_cache_out=tra_cache', 'inter_cache_out=inter_cache'],
        [],
    ),
    'recurrent/dtln-1': (['tf_op_layer_stack_2=input_3'], []),
    'recurrent/silero-vad-op18-ifless': (
        ['stateN=state'],
        ['--shape', 'input=1x512', '--shape', 'state=2x1x128', '--const', 'sr=16000'],
    ),
}


def by_hand(work, inlay, model, states, base=(), known={}):
    """It is the same for all plans."""
    if model not in known:
        known[model] = answer(work, inlay, model, states, False, base)[0]
    return known[model]


def same(t, work, inlay, name, model, states, flags, base=()):
    try:
        want = by_hand(work, inlay, model, states, base)
        got, manifest = answer(
            work, inlay, model, states, True, list(base) + flags + ['--checks'], ['-DINLAY_CHECK']
        )
    except trial.Refused as e:
        t.fail('%s %s' % (name, ' '.join(flags)), str(e))
        return None
    t.ok('%s %s' % (name, ' '.join(flags)), len(want) > 0 and got == want, 'the runs differ')
    return manifest


def models(t, work, inlay):
    for make in MODELS:
        data, states = make()
        model = os.path.join(work, make.__name__ + '.onnx')
        with open(model, 'wb') as f:
            f.write(data)
        for flags in PLANS if make in THOROUGH else PLANS[:2]:
            same(t, work, inlay, make.__name__, model, states, flags)


def in_place(t, work, inlay):
    """The new bytes need no second place where they need none."""
    for make, bytes_of_state in ((running, 160), (stacked, 160)):
        model = os.path.join(work, make.__name__ + '.onnx')
        found = json.loads(
            trial.must('analyze', [inlay, 'analyze', model, '--json', '--state', make()[1][0]])
        )
        copies = [s for s in found['steps'] if s['kernel'] in ('copy', 'concat')]
        t.ok(
            '%s: in place' % make.__name__,
            not copies and found['states'][0]['bytes'] == bytes_of_state,
            str(found['states']),
        )


def refused(t, work, inlay):
    model = os.path.join(work, 'cell.onnx')
    for status, says, flags in (
        (64, 'no result', ['--state', 'nothing=h']),
        (64, 'no input', ['--state', 'hn=nothing']),
        (64, 'of two states', ['--state', 'hn=h', '--state', 'y=h']),
        (64, 'of two states', ['--state', 'hn=h', '--state', 'hn=x']),
        (78, '"y" is float32 [1,4], input "h" is float32 [1,16]', ['--state', 'y=h']),
        (78, 'is a state', ['--state', 'hn=h', '--io', 'h=arena']),
        (78, 'is a state', ['--state', 'hn=h', '--io', 'out1=caller']),
    ):
        got, text = host.run([inlay, 'compile', model, '-o', os.path.join(work, 'none')] + flags)
        t.ok(
            '%s: status %d' % (' '.join(flags), status),
            got == status and says in text,
            '%d %s' % (got, text),
        )


def corpus(t, work, inlay, folder):
    for name, (states, base) in sorted(CORPUS.items()):
        if not folder or not os.path.isdir(os.path.join(folder, name)):
            t.skip(name, 'its data is not here')
            continue
        model = host.model_of(os.path.join(folder, name))
        for flags in ([], ['--plan=simple']):
            same(t, work, inlay, name, model, states, flags, base)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--corpus', default='')
    o = p.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        models(t, work, o.inlay)
        in_place(t, work, o.inlay)
        refused(t, work, o.inlay)
        corpus(t, work, o.inlay, o.corpus)
    t.done()


if __name__ == '__main__':
    main()
