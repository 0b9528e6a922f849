# SPDX-License-Identifier: Apache-2.0
"""`--emit=selftest` and `inlay steps`: a word for what each step wrote, on other compilers within
what the manifest allows, of whole numbers the same bits; a changed weight is found at the step that
reads it; without -DNAME_SELFTEST not a byte of it.

    selftest.py --inlay INLAY --models MODELS [--corpus FOLDER]"""
import argparse
import json
import os
import re
import struct

import host
import onnx
import tap
import trial
from onnx import make_node, make_value

# Plans and forms whose code differs.
PLANS = [[], ['--plan=simple', '--threads=2'], ['--slices', '--weights=incbin']]
COMPILERS = [['gcc', host.LEVEL], ['clang', '-O1', '-march=native', '-ffp-contract=fast']]
WHOLE = ['quant-qop/micro-kws-m-qop-add-shape', 'quant-qdq/mlperf-tiny-resnet8-qdq']


class Bench:
    def __init__(self, inlay, work):
        self.inlay, self.work = inlay, work

    def inlay_run(self, *words):
        return host.run([self.inlay] + list(words), self.work)

    def compile(self, model, *flags):
        out = os.path.join(self.work, 'out')
        host.run(['rm', '-rf', out])
        return out, self.inlay_run('compile', model, '-o', out, '--name', 'm', '-q', *flags)

    def words(self, out, compiler):
        """What the folder's program prints, as a file."""
        flags = host.STRICT + [
            '-ffp-contract=off',
            '-DM_SELFTEST',
            '-I',
            os.path.join(out, 'src'),
            '-o',
            'selftest',
            os.path.join(out, 'examples', 'main.c'),
        ]
        trial.must(
            compiler[0],
            compiler[:1] + flags + compiler[1:] + host.sources(out) + ['-lm'],
            self.work,
        )
        status, text = host.run(['./selftest'], self.work)
        path = os.path.join(self.work, 'words.txt')
        with open(path, 'w') as f:
            f.write(text)
        return path, status, re.findall(r'^[0-9a-f]{8}$', text, re.M)

    def steps(self, out, words, *flags):
        return self.inlay_run('steps', os.path.join(out, 'm.json'), words, *flags)


def manifest_of(out):
    with open(os.path.join(out, 'm.json')) as f:
        return json.load(f)


def right(t, b, name, model):
    for flags in PLANS:
        out, (status, text) = b.compile(model, '--emit=example,selftest', *flags)
        for compiler in COMPILERS[: 1 if flags else 2]:
            path, failed, _ = b.words(out, compiler)
            status, said = b.steps(out, path)
            steps = len(manifest_of(out)['steps'])
            t.ok(
                '%s %s, %s: all steps right' % (name, ' '.join(flags), compiler[0]),
                not failed
                and not status
                and said.startswith('%d of %d steps compared, all right' % (steps, steps)),
                said,
            )


def whole_numbers(t, b, corpus):
    for name in WHOLE:
        model = os.path.join(corpus or '', name, 'model.onnx')
        if not corpus or not os.path.exists(model):
            t.skip(name, 'no corpus')
            continue
        out, _ = b.compile(model, '--emit=example,selftest')
        words = [b.words(out, compiler)[2] for compiler in COMPILERS]
        sums = [s['sum'] for s in manifest_of(out)['steps']]
        exact = [i for i, s in enumerate(sums) if s and 'allowed' not in s]
        bad = [i for i in exact for w in words if int(w[i], 16) != sums[i]['word']]
        t.ok(
            name + ': steps of whole numbers have the same word',
            len(exact) > len(sums) // 2 and not bad,
            [exact, bad],
        )


def damage(out, step):
    """Changes a weight that the step reads, in the array of the code; the bytes of the seal at its
    end stay."""
    places = [o['weights'] for o in step['operands'] if o and 'weights' in o]
    file = os.path.join(out, 'src', 'm_weights.c')
    with open(file) as f:
        text = f.read()
    words = list(re.finditer(r'0x([0-9a-f]{16})\),', text))
    m = words[min(places) // 8]
    changed = int(m.group(1), 16) ^ 0x4000000040000000
    with open(file, 'w') as f:
        f.write(text[: m.start(1)] + '%016x' % changed + text[m.end(1) :])


def found(t, b, model):
    """The first step that differs is the one whose weight was changed."""
    out, _ = b.compile(model, '--emit=example,selftest')
    with_weights = [
        s['index']
        for s in manifest_of(out)['steps']
        if any(o and 'weights' in o for o in s['operands'])
    ]
    for index in with_weights[::2]:
        out, _ = b.compile(model, '--emit=example,selftest')
        damage(out, manifest_of(out)['steps'][index])
        path, _, _ = b.words(out, COMPILERS[0] + host.PLAIN)
        status, said = b.steps(out, path)
        _, text = b.steps(out, path, '--json')
        first = json.JSONDecoder().raw_decode(text[text.index('{') :])[0]['first']
        t.ok(
            'a changed weight of step %d is found there' % index,
            status == 1 and 'step %d, ' % index in said and first == index,
            said,
        )


def free(t, b, model):
    """Without -DM_SELFTEST the object is that of a compile without --emit=selftest, byte for
    byte."""
    objects = []
    for flags in ([], ['--emit=example,selftest']):
        out, _ = b.compile(model, *flags)
        made = os.path.join(b.work, 'm.o')
        trial.must(
            'gcc',
            [
                'gcc',
                host.LEVEL,
                '-c',
                '-I',
                os.path.join(out, 'src'),
                os.path.join(out, 'src', 'm.c'),
                '-o',
                made,
            ],
            b.work,
        )
        with open(made, 'rb') as f:
            objects.append(f.read())
    t.ok('without -DM_SELFTEST: 0 bytes', objects[0] == objects[1], [len(o) for o in objects])


def forms_of_words(t, b, model):
    """A log with other lines, 0x before the digits, and bytes of memory are read; other numbers of
    words are not."""
    out, _ = b.compile(model, '--emit=example,selftest')
    _, _, words = b.words(out, COMPILERS[0] + host.PLAIN)
    texts = {
        'a log': (
            'boot 12\r\n' + ''.join('  0x%s\r\n' % w.upper() for w in words) + 'done\r\n'
        ).encode(),
        'bytes of memory': struct.pack('<%dI' % len(words), *[int(w, 16) for w in words]),
    }
    wrong = {'one word less': ''.join(w + '\n' for w in words[1:]).encode(), 'nothing': b''}
    for name, content in list(texts.items()) + list(wrong.items()):
        path = os.path.join(b.work, 'other')
        with open(path, 'wb') as f:
            f.write(content)
        status, said = b.steps(out, path)
        if name in texts:
            t.ok('words as %s' % name, status == 0 and 'all right' in said, said)
        else:
            t.ok(
                'words: %s' % name,
                status == 65 and 'the model has %d steps' % len(words) in said,
                said,
            )


def refused(t, b, model):
    cases = [
        (model, ['--weights=bin']),
        (model, ['--weights=blob']),
        (model, ['--io=arena']),
        (model, ['--io=rows']),
    ]
    for file, flags in cases:
        _, (status, said) = b.compile(file, '--emit=selftest', *flags)
        t.ok(
            '%s: refused' % flags[0],
            status == 78 and '--emit=selftest does not go with' in said and 'help:' in said,
            said,
        )
    _, (status, said) = b.compile(model, model, '--name', 'other', '--emit=selftest')
    t.ok('several models: refused', status == 64, said)
    out, _ = b.compile(model)
    status, said = b.steps(out, os.path.join(out, 'm.json'))
    t.ok('a manifest without words', status == 78 and '--emit=selftest' in said, said)


def product_by_turns(work, turns, size=200):
    """A Loop whose turns each multiply by the same matrix."""
    f32, i64, yes_no = 1, 7, 9
    body = onnx.make_graph_attr(
        'body',
        [make_node('Identity', ['k'], ['more']), make_node('MatMul', ['v', 'm'], ['w'])],
        [make_value('i', i64, []), make_value('k', yes_no, []), make_value('v', f32, [2, size])],
        [make_value('more', yes_no, []), make_value('w', f32, [2, size])],
    )
    weights = [
        onnx.make_tensor('n', i64, [], struct.pack('<q', turns)),
        onnx.make_tensor('m', f32, [size, size], struct.pack('<f', 1 / size) * size * size),
    ]
    path = os.path.join(work, 'turns.onnx')
    with open(path, 'wb') as f:
        f.write(
            onnx.make_model(
                [make_node('Loop', ['n', '', 'x'], ['y'], graphs=[body])],
                [make_value('x', f32, [2, size])],
                [make_value('y', f32, [2, size])],
                weights,
            )
        )
    return path


def loops(t, b):
    """A few turns are run when compiling, turns without end are not."""
    right(t, b, '100 turns', product_by_turns(b.work, 100))
    endless = product_by_turns(b.work, 1 << 40)
    _, (status, said) = b.compile(endless, '--emit=selftest')
    t.ok('turns without end: no words', status == 78 and 'turn too often' in said, said)
    for turns, known in ((100, True), (1 << 40, False)):
        out, (status, said) = b.compile(product_by_turns(b.work, turns))
        t.ok(
            '%d turns: an example %s results' % (turns, 'with' if known else 'without'),
            not status and os.path.exists(os.path.join(out, 'src', 'm_golden.h')) == known,
            said,
        )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    p.add_argument('--corpus', default='')
    o = p.parse_args()
    t = tap.Tap()
    digits, sine = (os.path.join(o.models, n, n + '.onnx') for n in ('digits', 'sine'))
    with host.Work() as work:
        b = Bench(o.inlay, work)
        for name, model in (('digits', digits), ('sine', sine)):
            right(t, b, name, model)
        whole_numbers(t, b, o.corpus)
        found(t, b, digits)
        free(t, b, digits)
        forms_of_words(t, b, digits)
        refused(t, b, digits)
        loops(t, b)
    t.done()


main()
