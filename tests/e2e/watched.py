# SPDX-License-Identifier: Apache-2.0
"""Plans that watch themselves: at every level of planning the generated C gives the same bytes as `inlay run` of the plan of plain
lifetimes, and so it does with -DINLAY_CHECK: tags on every byte, rubbish in all that is not needed, and, under AddressSanitizer, nothing
open to a unit but its own rows. Damage to the generated tables is found.

    watched.py --inlay INLAY [--models MODELS] [--nodes FOLDER] [--corpus FOLDER] [--cc CC]
    watched.py --inlay INLAY --forms caller,arena,rows,regions [--only REGEX] [--cc CC] FOLDER|TAR...      all models, sanitized"""
import argparse
import os
import re
import shutil
import tempfile

import cases
import host
import onnx
import tap

LEVELS = ['simple', 'order', 'overlap', 'stream']
NODES = ['test_averagepool_2d_pads', 'test_concat_2d_axis_1', 'test_conv_with_strides_and_asymmetric_padding', 'test_convtranspose_2d', 'test_gru_defaults',
         'test_loop11', 'test_maxpool_2d_same_upper', 'test_resize_upsample_scales_nearest', 'test_softmax_axis_1', 'test_split_equal_parts_2d']
CORPUS = ['audio/mlperf-tiny-kws', 'cnn/mlperf-tiny-resnet8', 'cnn/mlperf-tiny-vww', 'misc/fpn', 'misc/gridsample-16', 'quant-qop/mnist-dynamic-quant',
          'recurrent/ort-tiny-loop']
SANITIZE = ['-O1', '-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all', '-ffp-contract=off']


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def all_files(folder):
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]


RUNS = {}       # many forms of a small model are the same C: it is built and run once


class Case:
    def __init__(self, o, work, folder, flags):
        self.o, self.work, self.out = o, work, os.path.join(work, 'out')
        self.model = next(os.path.join(folder, f) for f in sorted(os.listdir(folder)) if f.endswith('.onnx'))
        self.data = host.test_data(folder)[0]
        self.shape = host.shape_flags(self.model, self.data)
        self.flags = flags
        self.status, self.text = host.run([o.inlay, 'compile', self.model, '-o', self.out, '--name', 'm', '--weights', 'c'] + self.shape + flags)
        if not self.status:
            self.manifest = host.manifest(self.out, 'm')
            host.write_main(work, [('m', self.manifest, [t for _, t in self.data])])
            with open(os.path.join(self.out, 'src', 'm.c')) as f:
                self.source = f.read()

    def run(self, flags):
        """(status, text) of the program; 'cc' in front of the text where it is not built."""
        key = (self.model, *flags, *(read(path) for path in [os.path.join(self.work, 'main.c')] + all_files(os.path.join(self.out, 'src'))))
        if key not in RUNS:
            RUNS[key] = self.build_and_run(flags)
        status, text, self.made = RUNS[key]
        return status, text

    def build_and_run(self, flags):
        status, text = host.run([self.o.cc, '-std=c99'] + flags + ['-I', os.path.join(self.out, 'src'), 'main.c'] + host.sources(self.out) + ['-lm'], self.work)
        if status:
            return status, 'cc: ' + text, None
        status, text = host.run(['./a.out'], self.work)
        return status, text, None if status else [r.raw for r in host.results(self.work, 'm', self.manifest)]

    def results(self):
        return self.made

    def by_run(self, flags):
        into = os.path.join(self.work, 'run')
        status, text = host.run([self.o.inlay, 'run', self.model, '-o', into] + self.shape + flags + [x for path, _ in self.data for x in ('--input', path)])
        if status:
            raise RuntimeError(text)
        return [onnx.read_tensor(os.path.join(into, 'output_%d.pb' % i)).raw for i in range(len(self.manifest['outputs']))]

    def change(self, source):
        with open(os.path.join(self.out, 'src', 'm.c'), 'w') as f:
            f.write(source)


def clean(t, o, folder, name, sanitize):
    plain = None
    for level in LEVELS:
        with host.Work() as work:
            c = Case(o, work, folder, ['--plan=' + level])
            label = '%s, %s: ' % (name, level)
            if not t.ok(label + 'compiles', c.status == 0, c.text):
                return
            plain = plain or c.by_run(['--plan=simple'])
            t.ok(label + 'inlay run gives the same bytes', c.by_run(['--plan=' + level]) == plain)
            if level in ('simple', 'order'):
                continue
            status, text = c.run(['-O1', '-ffp-contract=off'])
            t.ok(label + 'C gives the same bytes', status == 0 and c.results() == plain, text)
            watch(t, label, c, sanitize, plain)


def watch(t, label, c, sanitize, plain):
    status, text = c.run(sanitize + ['-DINLAY_CHECK'])
    t.ok(label + 'it watches itself, and gives the same bytes', status == 0 and c.results() == plain, text[:2000])


def watch_forms(t, o, folder, name, sanitize, forms=('caller', 'arena', 'rows', 'rows out', 'regions', 'regions rows')):
    """Inputs and results in the arena, an input row by row, several memories."""
    with host.Work() as work:
        c = Case(o, work, folder, [])
        if c.status:
            t.skip(name, 'refused')
            return
        plain, size = c.by_run(['--plan=simple']), c.manifest['arena']['size']
    regions = ['--region', 'fast:%d' % max(16, size // 3), '--region', 'slow:%d:3' % (size + (1 << 20))]
    flags_of = {'caller': [], 'arena': ['--io=arena'], 'rows': ['--io=in0=rows'], 'rows out': ['--io=in0=rows', '--io=out=arena'], 'regions': regions,
                'regions rows': ['--io=in0=rows'] + regions}
    for form in forms:
        with host.Work() as work:
            c = Case(o, work, folder, flags_of[form])
            label = '%s, %s: ' % (name, form)
            if c.status in (1, 69, 78):
                t.skip(label, 'no such plan')
            elif t.ok(label + 'compiles', c.status == 0, c.text):
                watch(t, label, c, sanitize, plain)


def numbers(source, pattern):
    return [m for m in re.finditer(pattern, source, re.M)]


def replaced(source, m, text):
    return source[:m.start()] + text + source[m.end():]


def damages(source):
    """(what, source): one fact of the generated tables changed."""
    refs = r'^static const inlay_ref r(\d+)\[\] = \{(.*?)\};'
    for line in numbers(source, refs):
        for m in re.finditer(r'\{ (\d+)u, (\d+)u, (\d+), (\d+), 1 \}', line.group(2)):
            at = line.start(2)
            off, row, cap, pix = map(int, m.groups())
            for what, new in [('offset +16', (off + 16, row, cap, pix)), ('offset -16', (off - 16, row, cap, pix)), ('ring one row shorter', (off, row, cap - 1, pix))]:
                if new[0] >= 0 and new[2] > 0 and (what[0] == 'o' or cap > 1):
                    yield 'step %s: %s' % (line.group(1), what), source[:at + m.start()] + '{ %du, %du, %d, %d, 1 }' % new + source[at + m.end():]
    steps = numbers(source, r'^    \{ inlay_\w+, &p\d+, r\d+, \d+, [01] \},.*\n')
    for a, b in zip(steps, steps[1:]):
        if a.end() == b.start():
            yield 'steps swapped', source[:a.start()] + b.group() + a.group() + source[b.end():]
        flags = a.group().index('},') - 2
        yield 'a step turned', source[:a.start() + flags] + str(1 - int(source[a.start() + flags])) + source[a.start() + flags + 1:]
    for m in numbers(source, r'^static const uint8_t list\d+\[\] = \{ (.*?) \};'):
        entries = m.group(1).split(', ')
        for i in range(len(entries) - 1):
            if entries[i] != entries[i + 1]:
                yield 'list entries swapped', source[:m.start(1)] + ', '.join(entries[:i] + [entries[i + 1], entries[i]] + entries[i + 2:]) + source[m.end(1):]


def damaged(t, o, folder, name, form):
    """A changed plan is found, or gives the same bytes all the same: nothing wrong goes unseen."""
    with host.Work() as work:
        c = Case(o, work, folder, form)
        plain = c.by_run(['--plan=simple'])
        found = harmless = 0
        missed = []
        flags = ['-O0', '-ffp-contract=off', '-DINLAY_CHECK', '-w']
        for what, source in list(damages(c.source))[::o.every]:
            c.change(source)
            status, text = c.run(flags)
            if status == 93 and 'returned 6' in text:
                found += 1
            elif status == 0 and c.results() == plain:
                harmless += 1
            else:
                missed.append('%s: status %d %s' % (what, status, text[:100]))
        t.ok('%s %s: of %d damaged tables %d are found, %d do no harm' % (name, ' '.join(form), found + harmless + len(missed), found, harmless), not missed and found > harmless, missed)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', default='')
    p.add_argument('--nodes', default='')
    p.add_argument('--corpus', default='')
    p.add_argument('--cc', default='gcc')
    p.add_argument('--every', type=int, default=5)
    p.add_argument('--forms', default='')
    p.add_argument('--level', default='-O1')
    p.add_argument('--only', default='')
    p.add_argument('paths', nargs='*')
    o = p.parse_args()
    t, scratch = tap.Tap(), tempfile.mkdtemp(prefix='inlay-watched-')
    with host.Work() as work:
        with open(os.path.join(work, 'x.c'), 'w') as f:
            f.write('int main(void) { return 0; }\n')
        sanitize = SANITIZE if host.run([o.cc] + SANITIZE + ['x.c'], work)[0] == 0 else ['-O1', '-ffp-contract=off']
    if sanitize is not SANITIZE:
        t.skip('sanitizers', 'their library is not installed')
    if o.forms:
        sanitize = [f for f in sanitize if f not in ('-O1', '-g')] + [o.level]
        for name, folder in cases.find(o.paths, scratch):
            if re.search(o.only, name) and not cases.out_of_scope(name, folder):
                watch_forms(t, o, folder, name, sanitize, o.forms.split(','))
        shutil.rmtree(scratch, ignore_errors=True)
        t.done()
    folders = [os.path.join(kind, n) for kind, names in ((o.models, ('digits', 'sine')), (o.nodes, NODES), (o.corpus, CORPUS)) if kind for n in names]
    for folder in folders:
        if os.path.isdir(folder):
            clean(t, o, folder, os.path.basename(folder), sanitize)
            watch_forms(t, o, folder, os.path.basename(folder), sanitize, ('arena', 'rows', 'rows out', 'regions', 'regions rows'))
        else:
            t.skip(os.path.basename(folder), 'its folder is not here')
        RUNS.clear()
    for form in ([], ['--io=in0=rows'], ['--io=arena', '--region', 'a:4K', '--region', 'b:16K']) if o.models else ():
        damaged(t, o, os.path.join(o.models, 'digits'), 'digits', form)
    t.done()


main()
