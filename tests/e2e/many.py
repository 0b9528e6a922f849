# SPDX-License-Identifier: Apache-2.0
"""Several models in one folder: each gives the bits that it gives alone, in one arena of the stated
size, one after the other or, where that was asked for, by turns; kernels stand once; errors name
the model.

Programs are plain C but for the examples, which have vectors.

    many.py --inlay INLAY --models MODELS"""
import argparse
import json
import os
import shutil
import struct

import host
import tap
from onnx import make_model, make_node, make_tensor, make_value

F32 = 1
ARM = 'arm-none-eabi-gcc'
CORE = ['-std=c99', '-Os', '-mcpu=cortex-m4', '-mthumb', '-mfpu=fpv4-sp-d16', '-mfloat-abi=hard']

HEAD = r'''#include <stdio.h>
#include <stdint.h>
#include <string.h>
%(headers)s
enum { GUARD = 64 };
static unsigned char room[%(size)s + 2 * GUARD + 64];
static FILE *out;

static void guard(unsigned char *arena, size_t size)
{
    memset(arena - GUARD, 0xA5, size + 2 * GUARD);
}

static int is_whole(const unsigned char *arena, size_t size)
{
    size_t i;
    for (i = 0; i < GUARD; i++)
        if (arena[size + i] != 0xA5 || arena[-1 - (long)i] != 0xA5) return 0;
    return 1;
}

static void fill(float *to, size_t n, uint32_t *r)
{
    while (n--) {
        *r = *r * 1664525u + 1013904223u;
        *to++ = (float)(int32_t)(*r >> 8) / 16777216.0f;
    }
}
'''
MODEL = r'''
static float %(name)s_x[%(upper)s_IN0_LENGTH], %(name)s_y[%(upper)s_OUT0_LENGTH];
static uint32_t %(name)s_r = %(seed)d;

static int %(name)s_go(unsigned char *arena, int steps)
{
    %(name)s_inputs in;
    %(name)s_outputs to;
    in.in0 = %(name)s_x;
    to.out0 = %(name)s_y;
    (void)steps;
    return %(call)s;
}

static void %(name)s_fill(void)
{
    fill(%(name)s_x, %(upper)s_IN0_LENGTH, &%(name)s_r);
}

static void %(name)s_save(void)
{
    fwrite(%(name)s_y, sizeof *%(name)s_y, %(upper)s_OUT0_LENGTH, out);
}
'''
RUN = '''%(name)s_run(arena, &in, &to)'''
STEP = '''%(name)s_step(arena, &in, &to, steps)'''


def upper(name):
    return name.upper()


def main_text(names, seeds, headers, size, form, body):
    models = ''.join(
        MODEL % dict(name=n, upper=upper(n), seed=seeds[n], call=form % dict(name=n)) for n in names
    )
    return (
        HEAD % dict(headers=''.join('#include "%s"\n' % h for h in headers), size=size)
        + models
        + (
            'int main(void)\n'
            '{\n'
            '    unsigned char *arena = room + GUARD;\n'
            '    int round;\n'
            '    out = fopen("answers", "wb");\n'
            '    while ((uintptr_t)arena % 64) arena++;\n'
        )
        + '    guard(arena, %s);\n' % size
        + body
        + (
            '    if (!is_whole(arena, %s)) return 94;\n'
            '    fclose(out);\n'
            '    (void)round;\n'
            '    return 0;\n'
            '}\n'
        )
        % size
    )


def built(work, text, sources, folders, flags=()):
    """What the program writes; or a text that says why there is none."""
    with open(os.path.join(work, 'main.c'), 'w') as f:
        f.write(text)
    command = (
        ['cc']
        + host.STRICT
        + host.PLAIN
        + [host.LEVEL, '-o', 'program', 'main.c']
        + sources
        + ['-I' + os.path.join(f, 'src') for f in folders]
        + list(flags)
    )
    status, said = host.run(command + ['-lm'], work)
    if status:
        return said
    status, said = host.run(['./program'], work)
    if status:
        return 'exit %d %s' % (status, said)
    with open(os.path.join(work, 'answers'), 'rb') as f:
        return f.read()


def floats(count, seed):
    values = []
    for _ in range(count):
        seed = (seed * 1103515245 + 12345) % (1 << 31)
        values.append(seed / (1 << 31) - 0.5)
    return struct.pack('<%df' % count, *values)


def weight(name, dims, seed):
    count = 1
    for d in dims:
        count *= d
    return make_tensor(name, F32, dims, floats(count, seed))


def conv_net(size, channels, shared):
    """A small network of images; `shared` decides the values of its second weights."""
    nodes = [
        make_node('Conv', ['x', 'w1'], ['a'], 'first', pads=[1, 1, 1, 1]),
        make_node('Relu', ['a'], ['b'], 'relu'),
        make_node('Conv', ['b', 'w2'], ['c'], 'second', pads=[1, 1, 1, 1]),
        make_node('GlobalAveragePool', ['c'], ['y'], 'pool'),
    ]
    weights = [weight('w1', [channels, 3, 3, 3], size), weight('w2', [16, channels, 3, 3], shared)]
    return make_model(
        nodes,
        [make_value('x', F32, [1, 3, size, size])],
        [make_value('y', F32, [1, 16, 1, 1])],
        weights,
    )


def state_net(count=96):
    """A sum of all inputs so far, which is what survives, and a product of it."""
    value = lambda name: make_value(name, F32, [1, count])
    nodes = [
        make_node('Add', ['x', 'h'], ['t'], 'sum'),
        make_node('Identity', ['t'], ['hn'], 'keep'),
        make_node('MatMul', ['t', 'w'], ['y'], 'product'),
    ]
    return make_model(
        nodes,
        [value('x'), value('h')],
        [make_value('y', F32, [1, 16]), value('hn')],
        [weight('w', [count, 16], 7)],
    )


class Bench:
    def __init__(self, t, o, work):
        self.t, self.inlay, self.work = t, o.inlay, work
        self.model = {n: os.path.join(o.models, n, n + '.onnx') for n in ('digits', 'sine')}
        for name, data in (
            ('small', conv_net(12, 8, 3)),
            ('large', conv_net(24, 8, 3)),
            ('sums', state_net()),
        ):
            self.write(name + '.onnx', data)
            self.model[name] = name + '.onnx'
        self.options = {'sums': ['--state', 'hn=h']}

    def write(self, name, data):
        with open(os.path.join(self.work, name), 'wb') as f:
            f.write(data)

    def there(self, *parts):
        return os.path.exists(os.path.join(self.work, *parts))

    def call(self, words):
        return host.run([self.inlay] + words, self.work)

    def models(self, names):
        return [w for n in names for w in [self.model[n]] + self.options.get(n, [])]

    def compile(self, names, out, options=()):
        status, text = self.call(['compile', '-o', out] + list(options) + self.models(names))
        self.t.ok('%s: %s' % (out, ' '.join(list(options) + list(names))), status == 0, text)

    def manifest(self, out, name):
        return host.manifest(os.path.join(self.work, out), name)

    def alone(self, names, rounds, options=()):
        """Of each model its answers, round by round, in an arena of its own."""
        answers = {}
        for i, n in enumerate(names):
            out = 'alone-' + n
            shutil.rmtree(os.path.join(self.work, out), ignore_errors=True)
            self.compile([n], out, options)
            reset = '    if (%s_reset(arena)) return 95;\n' % n if n in self.options else ''
            body = reset + (
                '    for (round = 0; round < %d; round++) {\n'
                '        %s_fill();\n'
                '        if (%s_go(arena, 0)) return 93;\n'
                '        %s_save();\n'
                '    }\n'
            ) % (rounds, n, n, n)
            text = main_text([n], {n: i + 1}, [n + '.h'], upper(n) + '_ARENA_SIZE', RUN, body)
            answers[n] = built(self.work, text, host.sources(os.path.join(self.work, out)), [out])
            self.t.ok('%s alone' % n, isinstance(answers[n], bytes), answers[n])
        return answers

    def wanted(self, names, rounds, options=()):
        """The same, as models that take turns write them."""
        alone = self.alone(names, rounds, options)
        cut = lambda n, r: alone[n][len(alone[n]) // rounds * r : len(alone[n]) // rounds * (r + 1)]
        return (
            b''.join(cut(n, r) for r in range(rounds) for n in names)
            if all(isinstance(a, bytes) for a in alone.values())
            else None
        )

    def together(self, names, out, form, body, flags=()):
        seeds = {n: i + 1 for i, n in enumerate(names)}
        text = main_text(names, seeds, [out + '.h'], upper(out) + '_ARENA_SIZE', form, body)
        return built(self.work, text, host.sources(os.path.join(self.work, out)), [out], flags)


def place(out, name):
    return 'arena + %s_%s_OFFSET' % (upper(out), upper(name))


def by_turns(out, names, resets=()):
    """Each model once, in each of three rounds."""
    lines = ['    if (%s_reset(%s)) return 95;\n' % (n, place(out, n)) for n in resets] + [
        '    for (round = 0; round < 3; round++) {\n'
    ]
    lines += [
        '        %s_fill();\n        if (%s_go(%s, 0)) return 93;\n        %s_save();\n'
        % (n, n, place(out, n), n)
        for n in names
    ]
    return ''.join(lines) + '    }\n'


def interleaved(out, names):
    """Slices of all models in turn until none has more to do."""
    lines = [
        '    for (round = 0; round < 3; round++) {\n        int %s;\n'
        % ', '.join('%s_is = %s_MORE' % (n, upper(n)) for n in names)
    ]
    lines += [
        '        %s_fill();\n        if (%s_begin(%s)) return 92;\n' % (n, n, place(out, n))
        for n in names
    ]
    lines += [
        '        while (%s) {\n' % ' || '.join('%s_is == %s_MORE' % (n, upper(n)) for n in names)
    ]
    lines += [
        '            if (%s_is == %s_MORE) %s_is = %s_go(%s, %d);\n'
        % (n, upper(n), n, n, place(out, n), i + 1)
        for i, n in enumerate(names)
    ]
    lines += ['        }\n'] + [
        '        if (%s_is) return 93;\n        %s_save();\n' % (n, n) for n in names
    ]
    return ''.join(lines) + '    }\n'


def test_exclusive(bench):
    t = bench.t
    for names, out in ((['digits', 'sine'], 'pair'), (['digits', 'small', 'sine'], 'trio')):
        bench.compile(names, out)
        want = bench.wanted(names, 3)
        got = bench.together(names, out, RUN, by_turns(out, names))
        t.ok(
            '%s: the bits of each alone, by turns in one arena' % out,
            got == want,
            got if isinstance(got, str) else 'other bits',
        )
        sizes = [bench.manifest(out, n)['arena']['size'] for n in names]
        whole = bench.manifest(out, out)
        t.ok(
            '%s: its arena is the largest' % out,
            whole['arena']['size'] == max(sizes) == whole['arena']['lower_bound'],
            whole['arena'],
        )
        for n in names:
            status, text = bench.call(['prove', os.path.join(out, n + '.json'), bench.model[n]])
            t.ok('%s: the plan of %s is proved' % (out, n), status == 0, text)
        status, text = host.run(
            [
                'cc',
                '-std=c99',
                host.LEVEL,
                '-Wall',
                '-Wextra',
                '-Werror',
                '-o',
                'example',
                out + '/examples/main.c',
                '-I' + out + '/src',
            ]
            + host.sources(os.path.join(bench.work, out))
            + ['-lm'],
            bench.work,
        )
        status, text = host.run(['./example'], bench.work) if status == 0 else (status, text)
        t.ok('%s: its example' % out, status == 0 and text.count('right') == len(names), text)
    shutil.rmtree(os.path.join(bench.work, 'pair'))
    bench.compile(['digits', 'sine'], 'pair', ['--checks'])
    got = bench.together(
        ['digits', 'sine'], 'pair', RUN, by_turns('pair', ['digits', 'sine']), ['-DINLAY_CHECK']
    )
    t.ok('pair: plans watched as it runs', isinstance(got, bytes), got)


def test_concurrent(bench):
    t = bench.t
    names = ['digits', 'small', 'sine']
    options = ['--slices', '--concurrent', 'digits,small', '--concurrent', 'small,sine']
    bench.compile(names, 'live', options)
    want = bench.wanted(names[:2], 3, ['--slices'])
    got = bench.together(names[:2], 'live', STEP, interleaved('live', names[:2]))
    t.ok(
        'live: two at once, slice by slice',
        got == want,
        got if isinstance(got, str) else 'other bits',
    )
    whole = bench.manifest('live', 'live')
    size = {m['name']: m['arena'] for m in whole['models']}
    at = {m['name']: m['offset'] for m in whole['models']}
    t.ok(
        'live: the arena is the larger sum',
        whole['arena']['size'] == max(size['digits'] + size['small'], size['small'] + size['sine']),
        whole,
    )
    apart = lambda a, b: at[a] + size[a] <= at[b] or at[b] + size[b] <= at[a]
    t.ok('live: their arenas lie apart', apart('digits', 'small') and apart('small', 'sine'), whole)
    t.ok(
        'live: the sets are in the manifest',
        whole['concurrent'] == [['digits', 'small'], ['small', 'sine']],
        whole['concurrent'],
    )
    bench.compile(names, 'circle', options + ['--concurrent', 'digits,sine'])
    whole = bench.manifest('circle', 'circle')
    t.ok('circle: all apart', whole['arena']['size'] == sum(size.values()), whole)


def test_states(bench):
    t = bench.t
    names = ['sums', 'large', 'sine']
    bench.compile(names, 'kept')
    want = bench.wanted(names, 3)
    got = bench.together(names, 'kept', RUN, by_turns('kept', names, ['sums']))
    t.ok(
        'kept: a state survives what others do',
        got == want,
        got if isinstance(got, str) else 'other bits',
    )
    whole = bench.manifest('kept', 'kept')
    own = bench.manifest('kept', 'sums')
    state = sum(s['bytes'] for s in own['states'])
    largest = max(m['arena'] for m in whole['models'])
    t.ok(
        'kept: the rest of its arena is shared',
        whole['arena']['size'] <= largest + state + 64,
        whole,
    )


def test_weights(bench):
    t = bench.t
    names = ['small', 'large', 'twin', 'sums', 'again']
    for name, of in (('twin', 'small'), ('again', 'sums')):
        bench.write(name + '.onnx', conv_net(12, 8, 3) if of == 'small' else state_net())
        bench.model[name] = name + '.onnx'
    bench.options['again'] = bench.options['sums']
    want = bench.wanted(names, 3)
    alone = {n: bench.manifest('alone-' + n, n)['weights']['size'] for n in names}
    for form in ('c', 'incbin', 'obj'):
        bench.compile(names, 'shared', ['--weights=' + form])
        got = bench.together(names, 'shared', RUN, by_turns('shared', names, ['sums', 'again']))
        t.ok(
            'shared, %s: the bits of each alone' % form,
            got == want,
            got if isinstance(got, str) else 'other bits',
        )
        whole = bench.manifest('shared', 'shared')
        size = {m['name']: m['weights'] for m in whole['models']}
        second = 16 * 8 * 9 * 4
        t.ok(
            'shared, %s: equal weights once' % form,
            size['small'] == alone['small']
            and size['large'] <= alone['large'] - second
            and size['twin'] < 200
            and size['again'] == 0
            and whole['totals']['shared'] >= 2 * second + alone['sums'] - 32,
            whole,
        )
        lent = {
            o['place']
            for s in bench.manifest('shared', 'large')['steps']
            for o in s['operands']
            if o and 'place' in o
        }
        t.ok('shared, %s: the manifest says whose they are' % form, lent == {'small'}, lent)
    for n in names:
        status, text = bench.call(['prove', 'shared/%s.json' % n, bench.model[n]])
        t.ok('shared: the plan of %s is proved' % n, status == 0, text)
    bench.compile(['small', 'twin'], 'apart', ['--weights=bin'])
    sizes = [bench.manifest('apart', n)['weights']['size'] for n in ('small', 'twin')]
    t.ok('weights that callers bring stay whole', sizes == [alone['small'], alone['twin']], sizes)


def test_build_systems(bench):
    t = bench.t
    ways = {
        'cmake': [
            ['cmake', '-S', 'pack', '-B', 'by-cmake'],
            ['cmake', '--build', 'by-cmake'],
            ['./by-cmake/pack_example'],
        ],
        'meson': [['meson', 'setup', 'by-meson', 'pack'], ['meson', 'test', '-C', 'by-meson']],
    }
    for form in ('c', 'incbin', 'obj'):
        shutil.rmtree(os.path.join(bench.work, 'pack'), ignore_errors=True)
        bench.compile(['digits', 'small'], 'pack', ['--weights=' + form])
        for tool, commands in ways.items():
            if not shutil.which(tool):
                t.skip('pack: %s, %s' % (tool, form), 'not installed')
                continue
            shutil.rmtree(os.path.join(bench.work, 'by-' + tool), ignore_errors=True)
            results = [
                host.run(c, bench.work, env={'CFLAGS': ' '.join([host.LEVEL] + host.PLAIN)})
                for c in commands
            ]
            t.ok('pack: %s, %s' % (tool, form), not any(status for status, _ in results), results)


def test_folder(bench):
    t = bench.t
    path = lambda *parts: os.path.join(bench.work, *parts)
    words = [
        'compile',
        bench.model['digits'],
        bench.model['sine'],
        '-o',
        'net',
        '--depfile',
        'net.d',
    ]
    status, text = bench.call(words + ['-q'])
    t.ok('-q says nothing', status == 0 and not text, text)
    with open(path('net.d')) as f:
        rule = f.read()
    t.ok(
        '--depfile has all models',
        rule.startswith('net/net.json:') and 'digits.onnx' in rule and 'sine.onnx' in rule,
        rule,
    )
    before = {f: os.stat(path('net', 'src', f)).st_ino for f in os.listdir(path('net', 'src'))}
    status, text = bench.call(words + ['--json'])
    t.ok(
        '--json is the manifest of all',
        status == 0 and [m['name'] for m in json.loads(text)['models']] == ['digits', 'sine'],
        text,
    )
    t.ok(
        'files that did not change stay',
        before
        == {f: os.stat(path('net', 'src', f)).st_ino for f in os.listdir(path('net', 'src'))},
    )
    status, text = bench.call(['compile', bench.model['digits'], 'small.onnx', '-o', 'net', '-q'])
    left = [
        f for f in os.listdir(path('net')) + os.listdir(path('net', 'src')) if f.startswith('sine')
    ]
    t.ok(
        'what is of the set no more goes',
        status == 0 and not left and bench.there('net', 'src', 'small.inc.h'),
        left,
    )
    bench.call(['compile', bench.model['sine'], '-o', 'grown', '-q'])
    status, text = bench.call(['compile', bench.model['sine'], 'small.onnx', '-o', 'grown', '-q'])
    with open(path('grown', 'CMakeLists.txt')) as f:
        lists = f.read()
    t.ok(
        'the folder of one becomes that of two',
        status == 0
        and not text
        and 'src/grown.c' in lists
        and not bench.there('grown', 'src', 'sine.c'),
        text,
    )
    for again in ('first', 'second'):
        shutil.rmtree(path('net'), ignore_errors=True)
        status, text = bench.call(
            ['compile', bench.model['digits'], 'small.onnx', '-o', 'net', '--cache', 'kept-files']
        )
        t.ok(
            '--cache, %s' % again,
            status == 0 and 'net: 2 models' in text and bench.there('net', 'src', 'net.c'),
            text,
        )
    status, text = bench.call(
        [
            'compile',
            'small.onnx',
            '--name',
            'one',
            '--shape',
            'x=1x3x12x12',
            'small.onnx',
            '--name',
            'two',
            '-o',
            'twice',
            '--name',
            'x',
        ]
    )
    t.ok('a name is given once', status == 64 and 'twice' in text, text)
    status, text = bench.call(
        [
            'compile',
            '--name',
            'all',
            'small.onnx',
            '--name',
            'one',
            '--io=arena',
            'small.onnx',
            '--name',
            'two',
            '-o',
            'twice',
        ]
    )
    forms = (
        [bench.manifest('twice', n)['inputs'][0]['place'] for n in ('one', 'two')]
        if status == 0
        else []
    )
    t.ok(
        'what stands behind a model is for that one',
        forms == ['arena', 'caller'] and bench.there('twice', 'all.json'),
        text,
    )


def test_faults(bench):
    t = bench.t
    unknown = lambda op: make_model(
        [make_node(op, ['x'], ['y'], 'odd')],
        [make_value('x', F32, [1])],
        [make_value('y', F32, [1])],
    )
    bench.write('odd.onnx', unknown('Oddity'))
    bench.write('strange.onnx', unknown('Strangeness'))
    bench.write('broken.onnx', b'\xff' * 40)
    two = [bench.model['sine'], 'small.onnx']

    def refused(label, words, status, *texts):
        got, text = bench.call(['compile'] + words)
        t.ok(
            '%s: %d' % (label, status),
            got == status and all(x in text for x in texts) and not bench.there('no'),
            'exit %d\n%s' % (got, text),
        )

    refused(
        'unsupported operators of all',
        ['odd.onnx', bench.model['sine'], 'strange.onnx', '-o', 'no'],
        69,
        'Oddity',
        'Strangeness',
        'odd.onnx',
        'strange.onnx',
    )
    refused('a damaged model', [bench.model['sine'], 'broken.onnx', '-o', 'no'], 65, 'broken.onnx')
    refused(
        'no such model',
        [bench.model['sine'], 'none.onnx', 'odd.onnx', '-o', 'no'],
        66,
        'none.onnx',
        'Oddity',
    )
    refused(
        'one name twice',
        ['small.onnx', 'large.onnx', '--name', 'small', '-o', 'no'],
        64,
        'small.onnx and large.onnx are both called small',
    )
    refused('the name of the folder', two + ['-o', 'no/small'], 64, 'small')
    refused(
        '--concurrent of no model', two + ['-o', 'no', '--concurrent', 'sine,smal'], 64, 'small'
    )
    refused('--concurrent of one', two + ['-o', 'no', '--concurrent', 'sine'], 64, 'two models')
    refused(
        '--concurrent with one model',
        ['small.onnx', '-o', 'no', '--concurrent', 'a,b'],
        64,
        'one model',
    )
    refused('no folder', two, 64, '-o DIR')
    refused('more arena than allowed', two + ['-o', 'no', '--max-arena=1K'], 1, 'arena')
    for option in (
        '--region=a:64K',
        '--weights=blob',
        '--stats',
        '--max-ram=1M',
        '--max-stack=1M',
        '--emit=rust',
        '--emit=arduino',
    ):
        refused(option, two + ['-o', 'no', option], 64, option.split('=')[0])


def test_size(bench):
    t = bench.t
    if not shutil.which(ARM):
        t.skip('size of the code', 'no ' + ARM)
        return

    def text_of(out, name):
        host.run(
            [ARM]
            + CORE
            + ['-I' + out + '/src', '-c', '%s/src/%s.c' % (out, name), '-o', out + '.o'],
            bench.work,
        )
        status, said = host.run(['arm-none-eabi-size', out + '.o'], bench.work)
        return int(said.splitlines()[1].split()[0]) if status == 0 else 0

    names = ['digits', 'small', 'large']
    options = ['--target=cortex-m4', '--emit=src']
    for n in names:
        bench.compile([n], 'code-' + n, options)
    bench.compile(names, 'code', options)
    alone = [text_of('code-' + n, n) for n in names]
    all_of_them = text_of('code', 'code')
    # More than half of the sum is the largest of them, of which the others have only a part.
    t.ok(
        'code of three: %d of %d bytes alone' % (all_of_them, sum(alone)),
        all(alone) and 0 < all_of_them <= 0.65 * sum(alone),
        alone,
    )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    o = p.parse_args()
    o.inlay, o.models = os.path.abspath(o.inlay), os.path.abspath(o.models)
    t = tap.Tap()
    with host.Work() as work:
        bench = Bench(t, o, work)
        for test in (
            test_exclusive,
            test_concurrent,
            test_states,
            test_weights,
            test_build_systems,
            test_folder,
            test_faults,
            test_size,
        ):
            test(bench)
    t.done()


main()
