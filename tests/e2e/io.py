# SPDX-License-Identifier: Apache-2.0
"""Inputs and results elsewhere than in the caller's buffers, through the C compiler: the same bytes as with the
caller's buffers, whatever the arena held before, and nothing written beside it.

    io.py --inlay INLAY [--models MODELS] [--nodes FOLDER] [--corpus FOLDER]"""
import argparse
import os

import host
import onnx
import tap

STRICT = host.STRICT + ['-O1', '-ffp-contract=off']
NODES = ['test_basic_conv_with_padding', 'test_maxpool_2d_same_upper', 'test_concat_2d_axis_1', 'test_add_bcast', 'test_relu', 'test_identity',
         'test_nonzero_example', 'test_split_variable_parts_2d', 'test_loop11', 'test_transpose_all_permutations_3', 'test_lstm_defaults', 'test_resize_upsample_scales_nearest']
CORPUS = ['cnn/mlperf-tiny-vww', 'cnn/mlperf-tiny-resnet8', 'audio/mlperf-tiny-kws', 'cnn/mobilenet-v2-035-128', 'quant-qdq/mlperf-tiny-kws-int8',
          'imaging/espcn-nn-resize', 'detector/ultraface-rfb-320']
BY_ROWS = ['quant-qop/micro-kws-m-qoperator', 'quant-qdq/conv-qdq-perchannel', 'fp16/mlperf-tiny-resnet8-fp16',
                       'quant-qop/mnist-dynamic-quant'] + CORPUS
REGIONS = {'cnn/mlperf-tiny-vww': 16384, 'cnn/mlperf-tiny-resnet8': 16384, 'audio/mlperf-tiny-kws': 4096, 'cnn/mobilenet-v2-035-128': 65536, 'detector/ultraface-rfb-320': 65536}
CORPUS += BY_ROWS[:4]
FORMS = [['--io', 'arena'], ['--io', 'in=arena'], ['--io', 'out0=arena'], ['--io', 'arena', '--preserve-input'], ['--io', 'arena', '--without', 'io_layout'],
         ['--io', 'arena', '--without', 'layout']]


def model_of(folder):
    return next(os.path.join(folder, f) for f in sorted(os.listdir(folder)) if f.endswith('.onnx'))


class Model:
    """A model with its inputs, and what it answers from the caller's buffers."""
    def __init__(self, o, folder, name):
        self.inlay, self.name, self.file = o.inlay, name, model_of(folder)
        self.data, self.want = host.test_data(folder)
        self.shape = host.shape_flags(self.file, self.data)
        self.made = {}

    def once(self, what, flags, make):
        """Most forms are compared with the same one: it is made once."""
        key = (what, *flags)
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def run(self, flags, change=None):
        """(manifest, [bytes of each result]); RuntimeError says what went wrong."""
        return self.build(flags, change) if change else self.once('C', flags, lambda: self.build(flags))

    def build(self, flags, change=None):
        with host.Work() as work:
            out = os.path.join(work, 'out')
            status, text = host.run([self.inlay, 'compile', self.file, '-o', out, '--name', self.name] + self.shape + flags)
            if status:
                raise RuntimeError('compile: exit %d\n%s' % (status, text))
            manifest = host.manifest(out, self.name)
            host.write_main(work, [(self.name, manifest, [t for _, t in self.data])])
            if change:
                change(os.path.join(work, 'main.c'), manifest)
            status, text = host.run(['gcc'] + STRICT + ['-I', os.path.join(out, 'src'), 'main.c'] + host.sources(out) + ['-lm'], work)
            status, text = host.run(['./a.out'], work) if not status else (status, text)
            if status:
                raise RuntimeError('exit %d\n%s' % (status, text[:2000]))
            return manifest, [(t.dims, t.raw) for t in host.results(work, self.name, manifest)]

    def evaluate(self, flags):
        """The same by `inlay run`."""
        return self.once('run', flags, lambda: self.by_run(flags))

    def by_run(self, flags):
        with host.Work() as work:
            options = [f for i, f in enumerate(flags) if f != '--weights' and flags[i - 1:i] != ['--weights']]
            command = [self.inlay, 'run', self.file, '-o', work] + self.shape + options
            for path, _ in self.data:
                command += ['--input', path]
            status, text = host.run(command)
            if status:
                raise RuntimeError('run: exit %d\n%s' % (status, text))
            return [(t.dims, t.raw) for t in (onnx.read_tensor(os.path.join(work, 'output_%d.pb' % i)) for i in range(len(self.want)))]


def attempt(t, what, f):
    try:
        why = f()
    except (RuntimeError, AssertionError) as e:
        why = str(e)
    return t.ok(what, not why, why)


def inside(manifest, flags):
    """Are the inputs and results in the arena that the flags name, and only those?"""
    which = flags[1].split('=')[0]
    for kind, short in (('inputs', 'in'), ('outputs', 'out')):
        for i, io in enumerate(manifest[kind]):
            named = which in ('arena', short, '%s%d' % (short, i))
            if named != host.in_arena(io):
                return '%s %d lies in the %s' % (kind, i, io['place'])
            if named and io['offset'] + io['bytes'] > manifest['arena']['size']:
                return '%s %d leaves the arena' % (kind, i)
    return ''


def arena_forms(t, m, forms=FORMS):
    for flags in forms:
        def same():
            manifest, got = m.run(flags)
            plain = m.run([f for f in flags if f == '--without' or f == 'layout'] if 'layout' in flags else [])[1]
            if got != plain:
                return 'other bytes than from the caller\'s buffers'
            if m.evaluate(flags) != m.evaluate([f for f in flags if f in ('--without', 'layout')] if 'layout' in flags else []):
                return 'inlay run: other bytes than from buffers'
            return inside(manifest, flags)
        attempt(t, '%s: %s' % (m.name, ' '.join(flags)), same)


def rows(t, m, flags=['--io', 'rows']):
    """Handed in row by row: the same bytes, in an arena that holds the caller's-buffer plan and a ring of the input."""
    def same():
        manifest, got = m.run(flags)
        plain, want = m.run([])
        if got != want:
            return 'other bytes than from the caller\'s buffers'
        if m.evaluate(flags) != m.evaluate([]):
            return 'inlay run: other bytes than from buffers'
        io = next(i for i in manifest['inputs'] if i['place'] == 'rows')
        most = plain['arena']['size'] + io['rows_held'] * io['row_bytes'] + 64
        return '' if manifest['arena']['size'] <= most else '%d bytes of arena, at most %d were to be' % (manifest['arena']['size'], most)
    attempt(t, '%s: %s' % (m.name, ' '.join(flags)), same)


def no_rows(t, m, flags, want, says):
    with host.Work() as work:
        status, text = host.run([m.inlay, 'compile', m.file, '-o', os.path.join(work, 'out')] + m.shape + flags)
        t.ok('%s: %s: status %d' % (m.name, ' '.join(flags), want), status == want and says in text and not os.listdir(work), '%d %s' % (status, text))


def proved(t, m, flags):
    with host.Work() as work:
        out = os.path.join(work, 'out')
        status, text = host.run([m.inlay, 'compile', m.file, '-o', out, '--name', m.name] + m.shape + flags)
        status, text = host.run([m.inlay, 'prove', os.path.join(out, m.name + '.json'), m.file]) if not status else (status, text)
        t.ok('%s: %s: proved again from the manifest' % (m.name, ' '.join(flags)), status == 0, text)


def regions(t, m, sizes, flags=()):
    """Several memories, each a buffer of its own between guard bytes: the same bytes, and none larger than it may be."""
    given = [f for place in sizes for f in ('--region', ':'.join(map(str, place)))] + list(flags)

    def same():
        manifest, got = m.run(given)
        if got != m.run([])[1]:
            return 'other bytes than from one arena'
        if m.evaluate(given) != m.evaluate([]):
            return 'inlay run: other bytes than from one arena'
        for r, place in zip(manifest['regions'], sizes):
            if r['size'] > place[1] or r['lower_bound'] > r['size']:
                return '%s: %d bytes of %d, bound %d' % (r['name'], r['size'], place[1], r['lower_bound'])
        if sum(r['size'] for r in manifest['regions']) != manifest['arena']['size']:
            return 'the sizes are not those of the sum'
        if manifest['regions_cost']['cost'] < manifest['regions_cost']['lower_bound']:
            return 'it costs less than the bound'
        return '' if all(r['size'] for r in manifest['regions']) else 'a region is empty'
    attempt(t, '%s: %s' % (m.name, ' '.join(given)), same)


def no_regions(t, m):
    """What cannot be done says so: a bad option is 64, a pin of nothing 78, a model that does not fit 1."""
    for status, says, flags in ((64, 'no size', ['--region', 'dtcm']), (64, 'no number of bytes', ['--region', 'dtcm:x']), (64, 'is taken', ['--region', 'a:1K', '--region', 'A:1K']),
                                (64, 'no name', ['--region', '7a:1K']), (64, 'no such region', ['--region', 'a:64K', '--pin', 'image=b']),
                                (78, 'does not lie in the arena', ['--region', 'a:64K', '--pin', 'nothing=a']), (1, 'bytes are missing', ['--region', 'a:1K', '--region', 'b:2K'])):
        no_rows(t, m, flags, status, says)


def pinned(t, m):
    def same():
        flags = ['--io', 'arena', '--region', 'fast:4K', '--region', 'slow:64K', '--pin', 'image=slow']
        manifest, got = m.run(flags)
        return 'other bytes' if got != m.run([])[1] else '' if manifest['inputs'][0]['region'] == 1 else 'it lies elsewhere'
    attempt(t, m.name + ': --pin', same)


def run_call(m):
    return '    r = %s_run(arena, &in, &out);\n' % m.name


def edit(path, old, new):
    with open(path) as f:
        text = f.read()
    assert old in text
    with open(path, 'w') as f:
        f.write(text.replace(old, new))


def preserved(t, m):
    """--preserve-input: a second run from the same arena answers the same."""
    def twice(main, manifest):
        call = run_call(m)
        edit(main, call, call + call)

    def same():
        return '' if m.run(['--io', 'arena', '--preserve-input'], twice)[1] == m.run([])[1] else 'the second run answers other bytes'
    attempt(t, m.name + ': the input is there for a second run', same)


def strict_pointers(t, m):
    """A pointer for a value in the arena is refused: it would not be read."""
    def pointers(main, manifest):
        edit(main, run_call(m), '    { %s_inputs wrong = in; wrong.in0 = (const void *)arena; if (%s_run(arena, &wrong, &out) != %s_E_ARG) return 95; }\n'
             '    if (%s_run(NULL, &in, &out) != %s_E_ARG) return 96;\n    r = %s_run(arena, NULL, NULL);\n'
             % (m.name, m.name, m.name.upper(), m.name, m.name.upper(), m.name))

    def same():
        return '' if m.run(['--io', 'arena'], pointers)[1] == m.run([])[1] else 'other bytes'
    attempt(t, m.name + ': pointers beside the arena are refused, none are needed', same)


def refused(t, o, m):
    for flag in ('inside', 'in9=arena', 'nowhere=arena', 'in0=there', '=arena', 'in0x=arena'):
        status, text = host.run([o.inlay, 'analyze', m.file] + m.shape + ['--io', flag])
        t.ok('--io %s: status 64' % flag, status == 64, '%d %s' % (status, text))


def own_models(t, o):
    digits, sine = (Model(o, os.path.join(o.models, n), n) for n in ('digits', 'sine'))
    for m in (digits, sine):
        arena_forms(t, m)
        preserved(t, m)
        strict_pointers(t, m)
    rows(t, digits)
    rows(t, digits, ['--io', 'in0=rows', '--io', 'out=arena'])
    rows(t, digits, ['--io', 'rows', '--weights', 'incbin'])
    no_rows(t, sine, ['--io', 'rows'], 69, 'reads it as a whole')
    no_rows(t, digits, ['--io', 'out0=rows'], 78, 'only an input')
    for flags in (['--io', 'arena'], ['--io', 'rows'], ['--io', 'in0=rows', '--io', 'out=arena'], ['--io', 'arena', '--preserve-input']):
        proved(t, digits, flags)
    small, large = ('DTCM', 4096), ('sram', 1 << 20)
    for flags in ([], ['--io', 'arena'], ['--io', 'rows'], ['--io', 'rows', '--weights', 'c']):
        regions(t, digits, (small, large), flags)
    regions(t, digits, (('a', 3000), ('b', 5000), ('c', 8000)), ['--io', 'arena'])
    for flags in ([], ['--io', 'arena'], ['--io', 'rows']):
        proved(t, digits, flags + ['--region', 'a:4K', '--region', 'b:16K'])
    no_regions(t, digits)
    pinned(t, digits)
    refused(t, o, digits)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', default='')
    p.add_argument('--nodes', default='')
    p.add_argument('--corpus', default='')
    o = p.parse_args()
    t = tap.Tap()
    if o.models:
        own_models(t, o)
    for folder, names, forms in ((o.nodes, NODES, FORMS), (o.corpus, CORPUS, FORMS[:1])):
        for name in names if folder else []:
            path = os.path.join(folder, name)
            if os.path.isdir(path):
                m = Model(o, path, os.path.basename(name).replace('-', '_'))
                arena_forms(t, m, forms)
                if name in BY_ROWS:
                    rows(t, m, ['--io', 'in0=rows'])
                if name in REGIONS:
                    regions(t, m, (('dtcm', REGIONS[name]), ('sram', 1 << 24)))
                    regions(t, m, (('sram', 1 << 24, 4), ('dtcm', REGIONS[name], 1)), ['--io', 'arena'])
                if name == 'test_add_bcast':
                    no_rows(t, m, ['--io', 'rows'], 78, 'name it')
            else:
                t.skip(name, 'its data is not here')
    t.done()


main()
