# SPDX-License-Identifier: Apache-2.0
"""Kernels on the ends of their types: NaN, infinities, integers' ends as values, indices and sizes.
The generated C runs under the sanitizers, conversions of floats included; each model ends with 0 or
a documented error, and in time.

    extremes.py --inlay INLAY"""
import argparse
import os
import re
import struct

import host
import onnx
import tap
from onnx import make_model, make_node, make_tensor, make_value

F32, I32, I64 = 1, 6, 7
LETTER = {F32: 'f', I32: 'i', I64: 'q'}
NAN, INF, BIG = float('nan'), float('inf'), 3e38
FLOATS = [NAN, INF, -INF, BIG, -BIG, 1e-45, -0.0, 0.5, -1.5, 2147483648.0, -9.3e18, 16777217.0]
INTS = [(1 << 63) - 1, -(1 << 63), -(1 << 63) + 1, 1 << 31, -1, 0, 1, 7]
SANITIZE = [
    '-std=c99',
    host.LEVEL,
    '-ffp-contract=off',
    '-fsanitize=float-cast-overflow',
] + host.SANITIZERS
INDEX, SHAPE = 4, 3  # what a run returns


def filled(dims, values):
    n = 1
    for d in dims:
        n *= d
    return [values[i % len(values)] for i in range(n)]


class Case:
    """A node, its operands (name: type, dims, values; constants begin with `c`), the dims of its
    results, what a run may return."""

    def __init__(self, op, ins, outs, allowed=(0,), opset=20, **attrs):
        self.op, self.ins, self.outs, self.allowed, self.opset, self.attrs = (
            op,
            ins,
            outs,
            allowed,
            opset,
            attrs,
        )

    def tensors(self):
        return [
            onnx.Tensor(
                n, t, d, struct.pack('<%d%s' % (len(filled(d, v)), LETTER[t]), *filled(d, v))
            )
            for n, (t, d, v) in self.ins.items()
        ]

    def model(self):
        tensors = self.tensors()
        node = make_node(
            self.op,
            list(self.ins),
            ['y%d' % i for i in range(len(self.outs))],
            self.op.lower(),
            **self.attrs
        )
        feeds = [make_value(x.name, x.code, x.dims) for x in tensors if x.name[:1] == 'x']
        consts = [make_tensor(*x) for x in tensors if x.name[:1] == 'c']
        outs = [make_value('y%d' % i, t, d) for i, (t, d) in enumerate(self.outs)]
        return make_model([node], feeds, outs, consts, self.opset)

    def inputs(self):
        return [x for x in self.tensors() if x.name[:1] == 'x']


def image(values=FLOATS):
    return (F32, [1, 1, 3, 4], values)


def cases():
    for mode in ('linear', 'nearest', 'cubic'):
        for edge in ('zeros', 'border', 'reflection'):
            yield Case(
                'GridSample',
                {'x': image(), 'xg': (F32, [1, 2, 6, 2], FLOATS)},
                [(F32, [1, 1, 2, 6])],
                mode=mode,
                padding_mode=edge,
            )
    for mode in ('avg', 'max'):
        for ratio in (0, 2):
            for space in ('half_pixel', 'output_half_pixel'):
                yield Case(
                    'RoiAlign',
                    {
                        'x': image(),
                        'xr': (
                            F32,
                            [6, 4],
                            FLOATS + [0.0, 0.0, 1e9, 1e9, -1e6, -1e6, 1e6, 1e6, 0.5, 0.5, 1e5, 2.0],
                        ),
                        'ci': (I64, [6], [0]),
                    },
                    [(F32, [6, 1, 2, 2])],
                    mode=mode,
                    sampling_ratio=ratio,
                    coordinate_transformation_mode=space,
                    output_height=2,
                    output_width=2,
                )
    yield Case(
        'MaxRoiPool',
        {
            'x': image(),
            'xr': (
                F32,
                [3, 5],
                [0.0, NAN, INF, -INF, BIG, 0.0, -BIG, -1.0, 2.0, 1.0, 0.0, 1.0, 1e9, 0.0, 0.0],
            ),
        },
        [(F32, [3, 1, 2, 2])],
        pooled_shape=[2, 2],
    )
    yield Case(
        'MaxRoiPool',
        {'x': image(), 'xr': (F32, [1, 5], [NAN])},
        [(F32, [1, 1, 2, 2])],
        (INDEX,),
        pooled_shape=[2, 2],
    )
    yield Case(
        'DeformConv',
        {'x': image(), 'cw': (F32, [1, 1, 2, 2], [1.0]), 'xo': (F32, [1, 8, 2, 3], FLOATS)},
        [(F32, [1, 1, 2, 3])],
        kernel_shape=[2, 2],
    )
    for k in INTS:
        for upper in (0, 1):
            yield Case(
                'Trilu',
                {'x': (F32, [3, 4], FLOATS), 'xk': (I64, [], [k])},
                [(F32, [3, 4])],
                upper=upper,
            )
        yield Case(
            'TensorScatter',
            {'x': (F32, [2, 3, 2], FLOATS), 'xu': (F32, [2, 2, 2], FLOATS), 'xi': (I64, [2], [k])},
            [(F32, [2, 3, 2])],
            (0, INDEX),
            opset=24,
            mode='circular',
        )
        yield Case(
            'TensorScatter',
            {
                'x': (F32, [2, 3, 2], FLOATS),
                'xu': (F32, [2, 2, 2], FLOATS),
                'xi': (I64, [2], [0, k]),
            },
            [(F32, [2, 3, 2])],
            (0, INDEX),
            opset=24,
        )
        for op in ('Gather', 'GatherElements'):
            yield Case(
                op, {'x': (F32, [4], FLOATS), 'xi': (I64, [2], [1, k])}, [(F32, [2])], (0, INDEX)
            )
        yield Case(
            'ScatterElements',
            {'x': (F32, [4], FLOATS), 'xi': (I64, [2], [1, k]), 'xu': (F32, [2], FLOATS)},
            [(F32, [4])],
            (0, INDEX),
        )
        yield Case(
            'OneHot',
            {'xi': (I64, [3], [k]), 'cd': (I64, [], [4]), 'xv': (F32, [2], FLOATS)},
            [(F32, [3, 4])],
        )
        yield Case(
            'Slice',
            {
                'x': (F32, [4], FLOATS),
                'xs': (I64, [1], [k]),
                'xe': (I64, [1], [k]),
                'xa': (I64, [1], [0]),
                'xt': (I64, [1], [-1]),
            },
            [(F32, [2])],
            (0, SHAPE, INDEX),
        )
        yield Case(
            'Slice',
            {
                'x': (F32, [4], FLOATS),
                'xs': (I64, [1], [1]),
                'xe': (I64, [1], [3]),
                'xa': (I64, [1], [0]),
                'xt': (I64, [1], [k]),
            },
            [(F32, [2])],
            (0, SHAPE, INDEX),
        )
        yield Case(
            'CumSum', {'x': (I64, [4], INTS), 'xa': (I64, [], [k])}, [(I64, [4])], (0, INDEX)
        )
        yield Case(
            'ReverseSequence',
            {'x': (F32, [4, 2], FLOATS), 'xl': (I64, [2], [k])},
            [(F32, [4, 2])],
            (0, INDEX, SHAPE),
        )
        for mode in ('constant', 'reflect', 'edge', 'wrap'):
            yield Case(
                'Pad',
                {'x': (F32, [4], FLOATS), 'xp': (I64, [2], [1, k])},
                [(F32, [6])],
                (0, SHAPE),
                mode=mode,
            )
            yield Case(
                'Pad',
                {'x': (F32, [4], FLOATS), 'xp': (I64, [2], [k, 1])},
                [(F32, [6])],
                (0, SHAPE),
                mode=mode,
            )
    for mode in ('nearest', 'linear', 'cubic'):
        for scale in FLOATS + [1.5]:
            yield Case(
                'Resize',
                {'x': (F32, [4], FLOATS), '': (F32, [0], []), 'xs': (F32, [1], [scale])},
                [(F32, [6])],
                (0, SHAPE),
                mode=mode,
            )
        for v in FLOATS:
            yield Case(
                'Resize',
                {'x': (F32, [4], FLOATS), 'xr': (F32, [2], [v, 1.0]), 'cs': (F32, [1], [1.5])},
                [(F32, [6])],
                mode=mode,
                coordinate_transformation_mode='tf_crop_and_resize',
            )
    for start in INTS:
        yield Case(
            'Range',
            {'xs': (I64, [], [start]), 'xl': (I64, [], [7]), 'xd': (I64, [], [start])},
            [(I64, [3])],
            (0, SHAPE),
        )
    for to in (2, 3, 4, 5, 6, 7, 9, 12, 13):
        yield Case('Cast', {'x': (F32, [12], FLOATS)}, [(to, [12])], to=to)
    for op in ('Div', 'Mod', 'Mul', 'Add', 'Sub', 'Max'):
        yield Case(op, {'x': (I64, [8, 1], INTS), 'xb': (I64, [1, 8], INTS)}, [(I64, [8, 8])])
        yield Case(
            op,
            {
                'x': (I32, [4, 1], [-(1 << 31), -1, 0, (1 << 31) - 1]),
                'xb': (I32, [1, 4], [-(1 << 31), -1, 0, (1 << 31) - 1]),
            },
            [(I32, [4, 4])],
        )
    for op in ('Neg', 'Abs', 'Sign'):
        yield Case(op, {'x': (I64, [8], INTS)}, [(I64, [8])])


def together(chosen):
    """The models of a program: (name, case)."""
    return [('m%d' % i, c) for i, c in enumerate(chosen)]


def arrange(o, t, work, named):
    """Compiles each; returns those that the compiler took."""
    taken = []
    for name, case in named:
        path = os.path.join(work, name + '.onnx')
        with open(path, 'wb') as f:
            f.write(case.model())
        status, text = host.run(
            [o.inlay, 'compile', path, '-o', os.path.join(work, name), '--name', name]
        )
        label = '%s %s %s' % (case.op, name, case.attrs or '')
        if t.ok(label + ': compiles', status == 0, 'status %d\n%s' % (status, text[:500])):
            taken.append((name, case, label))
    return taken


MAIN = '''
static int run_%(name)s(void)
{
    %(name)s_inputs in;
    %(name)s_outputs out;
    void *const arena = malloc(%(upper)s_ARENA_SIZE + 64);
    int r;
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
%(lines)s    r = %(name)s_run((void *)(((size_t)arena + 63) / 64 * 64), &in, &out);
%(free)s    free(arena);
    return r;
}
'''


def exact(name, size, raw=None):
    """C that makes a buffer of just that size, filled with `raw`."""
    data = (
        '        static const unsigned char raw[] = { %s };\n' % ', '.join(map(str, raw))
        if raw
        else ''
    )
    fill = '        memcpy(p, raw, sizeof raw);\n' if raw else ''
    return '    {\n%s        unsigned char *p = malloc(%d);\n%s        %s = (void *)p;\n    }\n' % (
        data,
        max(size, 1),
        fill,
        name,
    )


def program(work, taken):
    text = ['#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n'] + [
        '#include "%s.h"\n' % n for n, _, _ in taken
    ]
    calls = []
    for name, case, _ in taken:
        man = host.manifest(os.path.join(work, name), name)
        lines, free = [], []
        for i, x in enumerate(case.inputs()):
            lines.append(exact('in.in%d' % i, len(x.raw), x.raw))
            free.append('    free((void *)(size_t)in.in%d);\n' % i)
        for i, io in enumerate(man['outputs']):
            lines.append(exact('out.out%d' % i, io['bytes']))
            free.append('    free(out.out%d);\n' % i)
        text.append(
            MAIN % dict(name=name, upper=name.upper(), lines=''.join(lines), free=''.join(free))
        )
        calls.append('    printf("%s %%d\\n", run_%s());\n    fflush(stdout);\n' % (name, name))
    text.append('int main(void)\n{\n%s    return 0;\n}\n' % ''.join(calls))
    with open(os.path.join(work, 'main.c'), 'w') as f:
        f.write(''.join(text))


def own_names(model, path):
    """The file's text with the model's name before each of its static names."""
    with open(path) as f:
        text = f.read()
    names = set(re.findall(r'^static [\w ]*?\**(\w+)(?:\[\w*\])* *(?:=|\(|;)', text, re.M))
    names |= set(re.findall(r'^    (BASE\w*)', text, re.M))
    return re.sub(r'(?<![.>\w])(%s)\b' % '|'.join(sorted(names) or ['\0']), model + r'_\1', text)


def build(work, taken):
    """One translation unit: the runtime's headers are the same for all."""
    include = [x for n, _, _ in taken for x in ('-I', os.path.join(work, n, 'src'))]
    with open(os.path.join(work, 'all.c'), 'w') as f:
        for n, _, _ in taken:
            f.writelines(own_names(n, s) for s in host.sources(os.path.join(work, n)))
        f.write('#include "main.c"\n')
    return host.run(
        ['gcc', '-w'] + SANITIZE + include + ['all.c', '-o', 'a.out', '-lm'], work, limit=600
    )


def judge(o, t, work, named):
    taken = arrange(o, t, work, named)
    program(work, taken)
    status, text = build(work, taken)
    if not t.ok('the C of all builds', status == 0, text[:2000]):
        return
    status, text = host.run(['./a.out'], work, limit=60)
    got = {
        w[0]: int(w[1])
        for w in (line.split() for line in text.splitlines())
        if len(w) == 2 and w[0][:1] == 'm' and w[1].isdigit()
    }
    for name, case, label in taken:
        if name in got:
            t.ok(
                label,
                got[name] in case.allowed,
                'returned %d, may return %s' % (got[name], case.allowed),
            )
        else:
            t.fail(label, 'the program ended before: status %d\n%s' % (status, text[-2500:]))
            break


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--only', default='')
    o = p.parse_args()
    t = tap.Tap()
    with host.Work() as probe:
        with open(os.path.join(probe, 'x.c'), 'w') as f:
            f.write('int main(void) { return 0; }\n')
        if host.run(['gcc'] + SANITIZE + ['x.c'], probe)[0]:
            t.skip('extremes', 'gcc cannot build with its sanitizers here')
            t.done()
    with host.Work() as work:
        judge(o, t, work, together(c for c in cases() if o.only in c.op))
    t.done()


main()
