# SPDX-License-Identifier: Apache-2.0
"""--palette: weights whose channels have no more values than that give the bits of weights as they
are, whatever the target and the window, in the flash that indices and palettes take. Others are
rounded as is best, and the report says how far. What is not decoded is not rounded; what does not
go with it is refused. Models of the corpus become so much smaller, and stay so near to their
results.

    palettes.py --inlay INLAY [CORPUS]"""
import argparse
import array
import math
import os
import random
import re
import struct

import host
import tap
import trial
from onnx import make_model, make_node, make_tensor, make_value

# Their layouts of weights: vectors of floats, pairs of channels in halves, sixteen inputs at a
# time, none of these.
TARGETS = (('x86-64', '4K'), ('cortex-m4', '4K'), ('cortex-m55', '1M'), ('cortex-m0', '1M'))
# Of the corpus: a window; bytes of weights with so many values for each byte without (most), and
# the root of the mean square of how far results are off, for that of the results (most).
CORPUS = {
    'quant-qdq/mlperf-tiny-ad-int8': ('16K', {16: (0.57, 0.35), 4: (0.3, 1.8)}),
    'quant-qdq/mlperf-tiny-kws-int8': ('16K', {16: (0.84, 0.05), 4: (0.48, 1)}),
    'quant-qdq/mlperf-tiny-resnet8-qdq': ('16K', {16: (0.61, 0.6), 4: (0.34, 1.5)}),
    'cnn/mlperf-tiny-vww': ('16K', {16: (0.3, 0.03), 4: (0.14, 0.03)}),
    'autoencoder/mlperf-tiny-ad': ('16K', {16: (0.23, 0.1), 4: (0.1, 0.5)}),
    'cnn/mlperf-tiny-resnet8': ('64K', {16: (0.3, 0.3), 4: (0.2, 2)}),
    'cnn/mobilenet-v2-035-128': ('64K', {16: (0.36, 0.6), 4: (0.16, 1.5)}),
}
# Runs the model on numbers, and prints the results as hexadecimal digits.
MAIN = r'''#include <stdio.h>
#include "m.h"
static _Alignas(64) uint64_t arena[M_ARENA_SIZE / 8 + 8];
static float in0[M_IN0_LENGTH], out0[M_OUT0_LENGTH];
int main(void)
{
    const m_inputs in = { in0 };
    const m_outputs out = { out0 };
    size_t i;
    int status;
    for (i = 0; i < M_IN0_LENGTH; i++) in0[i] = (float)(i * i % 23) / 11 - 1;
    status = m_run(arena, &in, &out);
    printf("%d", status);
    for (i = 0; i < M_OUT0_LENGTH; i++) printf(" %a", (double)out0[i]);
    printf("\n");
    return 0;
}
'''
FORMS = {1: 'f', 3: 'b', 10: 'e'}


class Numbers:
    """Weights of channels with so many values each."""

    def __init__(self, values, seed):
        self.values, self.of = values, random.Random(seed)

    def one(self, code):
        return (
            max(-127, min(127, round(self.of.gauss(0, 30))))
            if code == 3
            else struct.unpack('<f', struct.pack('<f', self.of.gauss(0, 0.2)))[0]
        )

    def channel(self, code, n, filled):
        """filled: zeros will lie among them."""
        palette = [self.one(code) for _ in range(self.values - filled)] + [0] * filled
        return [self.of.choice(palette) for _ in range(n)]

    def rows(self, name, code, dims, filled=False):
        """[channels][...]"""
        n = 1
        for d in dims[1:]:
            n *= d
        numbers = [x for _ in range(dims[0]) for x in self.channel(code, n, filled)]
        return make_tensor(
            name, code, dims, struct.pack('<%d%s' % (len(numbers), FORMS[code]), *numbers)
        )

    def columns(self, name, code, k, n):
        """[k][channels]"""
        channels = [self.channel(code, k, False) for _ in range(n)]
        numbers = [c[i] for i in range(k) for c in channels]
        return make_tensor(
            name, code, [k, n], struct.pack('<%d%s' % (k * n, FORMS[code]), *numbers)
        )


def floats(values):
    """Blocks of several widths, in groups; channels by turns, no whole fours of them; rows of a
    product; float16."""
    of = Numbers(values, 1)
    w = [
        of.rows('w1', 1, [20, 3, 5, 5]),
        of.rows('w2', 1, [40, 10, 3, 3]),
        of.rows('w3', 1, [10, 40, 1, 1]),
        of.rows('w4', 1, [10, 1, 7, 7]),
        of.columns('w5', 1, 640, 50),
        of.columns('w6', 10, 50, 48),
        of.columns('w7', 3, 48, 36),
        make_tensor('s', 1, [36], struct.pack('<36f', *[0.01 + i / 1000 for i in range(36)])),
        make_tensor('z', 3, [36], bytes(36)),
    ]
    nodes = [
        make_node('Conv', ['x', 'w1'], ['a'], 'first', pads=[2, 2, 2, 2]),
        make_node('Conv', ['a', 'w2'], ['b'], 'groups', group=2, pads=[1, 1, 1, 1]),
        make_node('Conv', ['b', 'w3'], ['c'], 'pixels'),
        make_node('Conv', ['c', 'w4'], ['d'], 'depthwise', group=10, pads=[1, 1, 1, 1]),
        make_node('Flatten', ['d'], ['e'], 'flat'),
        make_node('MatMul', ['e', 'w5'], ['f'], 'product'),
        make_node('Cast', ['w6'], ['w8'], 'cast', to=1),
        make_node('MatMul', ['f', 'w8'], ['g'], 'halves'),
        make_node('DequantizeLinear', ['w7', 's', 'z'], ['w9'], 'narrow', axis=1),
        make_node('MatMul', ['g', 'w9'], ['y'], 'bytes'),
    ]
    return make_model(nodes, [make_value('x', 1, [1, 3, 12, 12])], [make_value('y', 1, [1, 36])], w)


def integers(values, filled=True):
    """Windows that zeros fill up, and such as need none; channels by turns; a product of a row."""
    of = Numbers(values, 2)
    one, none = struct.pack('<f', 0.05), b'\0'
    w = [
        make_tensor('s', 1, [], one),
        make_tensor('z', 3, [], none),
        of.rows('w1', 3, [20, 3, 5, 5], filled),
        of.rows('w2', 3, [20, 1, 7, 8]),
        of.rows('w3', 3, [28, 20, 4, 4]),
        of.columns('w4', 3, 112, 44),
    ]
    q = lambda ins, out, name, **more: make_node(
        'QLinearConv', [ins[0], 's', 'z', ins[1], 's', 'z', 's', 'z'], [out], name, **more
    )
    nodes = [
        make_node('QuantizeLinear', ['x', 's', 'z'], ['a'], 'to bytes'),
        q(('a', 'w1'), 'b', 'filled'),
        q(('b', 'w2'), 'c', 'depthwise', group=20, pads=[3, 3, 3, 4]),
        q(('c', 'w3'), 'd', 'whole', strides=[4, 4]),
        make_node('Flatten', ['d'], ['e'], 'flat'),
        make_node('QLinearMatMul', ['e', 's', 'z', 'w4', 's', 'z', 's', 'z'], ['f'], 'product'),
        make_node('DequantizeLinear', ['f', 's', 'z'], ['y'], 'from bytes'),
    ]
    return make_model(nodes, [make_value('x', 1, [1, 3, 12, 12])], [make_value('y', 1, [1, 44])], w)


def recurrent(values):
    of = Numbers(values, 3)
    w = [of.rows('w', 1, [1 * 3 * 28, 96]), of.rows('r', 1, [3 * 28, 28])]
    w += [
        make_tensor('dw', 7, [3], struct.pack('<3q', 1, 84, 96)),
        make_tensor('dr', 7, [3], struct.pack('<3q', 1, 84, 28)),
    ]
    nodes = [
        make_node('Reshape', ['w', 'dw'], ['w3'], 'w'),
        make_node('Reshape', ['r', 'dr'], ['r3'], 'r'),
        make_node('GRU', ['x', 'w3', 'r3'], ['y'], 'gru', hidden_size=28),
    ]
    return make_model(
        nodes, [make_value('x', 1, [5, 1, 96])], [make_value('y', 1, [5, 1, 1, 28])], w
    )


NETS = {'floats': floats, 'integers': integers, 'recurrent': recurrent}


def read(path):
    with open(path, 'rb') as f:
        return f.read().decode()


def compiled(o, path, out, *options):
    return host.run([o.inlay, 'compile', path, '-o', out, '-n', 'm'] + list(options))


def executed(work, out, flags):
    """What the program prints."""
    host.written(os.path.join(work, 'main.c'), MAIN.encode())
    status, text = host.run(
        ['gcc']
        + host.STRICT
        + ['-std=gnu11', host.LEVEL, '-ffp-contract=off']
        + list(flags)
        + ['main.c', '-I' + out + '/src']
        + host.sources(out)
        + ['-lm', '-o', 'a.out'],
        work,
    )
    return text if status else host.run(['./a.out'], work)[1]


def coded(out):
    return [
        c for c in host.manifest(out, 'm')['constants'] if c['place'] == 'coded' and 'palette' in c
    ]


def check_few(t, o, work, name, values, target, window, flags):
    """Weights of few values are as they were, and take little room."""
    label = '%s of %d values, %s, %s: ' % (name, values, target, window)
    path = host.written(os.path.join(work, 'few.onnx'), NETS[name](values))
    plain, out = os.path.join(work, 'plain'), os.path.join(work, 'out')
    compiled(o, path, plain, '--target', target)
    status, text = compiled(
        o,
        path,
        out,
        '--target',
        target,
        '--code-weights',
        '--window=' + window,
        '--palette=%d' % values,
    )
    t.ok(label + 'compiles', status == 0, text)
    found = coded(out)
    t.ok(label + 'there are palettes', len(found) > (2 if window == '1M' else 0), found)
    t.ok(
        label + 'none is off',
        all(c['palette'] == {'values': values, 'error': 0, 'most': 0} for c in found),
        found,
    )
    status, text = host.run([o.inlay, 'prove', out + '/m.json', path])
    t.ok(label + 'the plan is proved', status == 0, text)
    want, got = executed(work, plain, []), executed(work, out, flags)
    t.ok(
        label + 'the same results', want.startswith('0 ') and got == want, (want[:300], got[:2000])
    )


def paired(values, apart, k=255, n=40):
    """A product whose channels have one value too many: two are so far apart. Each comes equally
    often."""
    numbers = []
    for i in range(k):
        own = i % (values + 1)
        numbers += [
            (own + 1.0 if own < values else values - apart) * (1 + channel) for channel in range(n)
        ]
    w = make_tensor('w', 1, [k, n], struct.pack('<%df' % (k * n), *numbers))
    return numbers, make_model(
        [make_node('MatMul', ['x', 'w'], ['y'], 'product')],
        [make_value('x', 1, [2, k])],
        [make_value('y', 1, [2, n])],
        [w],
    )


def check_near(t, o, work, values):
    """The two that are nearest become their mean, and the report says how far that is."""
    label = '%d values and one: ' % values
    apart = 2**-5
    numbers, model = paired(values, apart)
    mean = (
        lambda x, channel: (values - apart / 2) * (1 + channel)
        if x / (1 + channel) > values - 0.5
        else x
    )
    rounded = [mean(x, i % 40) for i, x in enumerate(numbers)]
    off = [abs(x - y) for x, y in zip(numbers, rounded)]
    size = math.sqrt(sum(x * x for x in numbers) / len(numbers))
    path, plain, out = (
        host.written(os.path.join(work, 'pair.onnx'), model),
        os.path.join(work, 'plain'),
        os.path.join(work, 'out'),
    )
    w = make_tensor('w', 1, [255, 40], struct.pack('<%df' % len(rounded), *rounded))
    like = host.written(
        os.path.join(work, 'like.onnx'),
        make_model(
            [make_node('MatMul', ['x', 'w'], ['y'], 'product')],
            [make_value('x', 1, [2, 255])],
            [make_value('y', 1, [2, 40])],
            [w],
        ),
    )
    compiled(o, like, plain)
    status, text = compiled(o, path, out, '--code-weights', '--window=1M', '--palette=%d' % values)
    found = coded(out)
    t.ok(label + 'it has palettes', status == 0 and len(found) == 1, text)
    t.ok(label + 'the mean in place of two', executed(work, out, []) == executed(work, plain, []))
    want = {'error': math.sqrt(sum(x * x for x in off) / len(off)) / size, 'most': max(off) / size}
    t.ok(
        label + 'how far it is off',
        all(abs(found[0]['palette'][k] - v) < 1e-6 * v for k, v in want.items()),
        (found, want),
    )
    all_of = host.manifest(out, 'm')['weights']['stream']['palette']
    t.ok(
        label + 'so are all',
        all_of['weights'] == 1
        and all(abs(all_of[k] - v) < 1e-6 * v for k, v in want.items())
        and all_of['bytes'] == found[0]['bytes'],
        all_of,
    )
    t.ok(label + 'in a line', '%d values a channel of 1 weights: ' % values in text, text)
    t.ok(
        label + 'in words',
        re.search(r'palette +%d values a channel, of 1 weights' % values, read(out + '/m.txt')),
    )


def paired_bytes(rounded):
    """The same of bytes whose zero point counts."""
    k, n = 272, 40
    numbers = []
    for i in range(k * n):
        own, channel = i // n % 17, i % n
        last = 1 if rounded else own % 2 * 2 if own > 14 else 0
        numbers.append(channel % 5 - 100 + (own * 12 if own < 15 else 180 + last))
    one, other = struct.pack('<f', 0.05), struct.pack('<f', 1.5)
    w = [
        make_tensor('s', 1, [], one),
        make_tensor('r', 1, [], other),
        make_tensor('z', 3, [], b'\7'),
        make_tensor('o', 3, [], b'\0'),
        make_tensor('w', 3, [k, n], struct.pack('<%db' % (k * n), *numbers)),
    ]
    nodes = [
        make_node('QuantizeLinear', ['x', 's', 'z'], ['a'], 'to bytes'),
        make_node('QLinearMatMul', ['a', 's', 'z', 'w', 's', 'o', 'r', 'z'], ['b'], 'product'),
        make_node('DequantizeLinear', ['b', 'r', 'z'], ['y'], 'from bytes'),
    ]
    return make_model(nodes, [make_value('x', 1, [1, k])], [make_value('y', 1, [1, n])], w)


def check_bytes(t, o, work, target):
    """Sums of weights that biases hold are those of the rounded ones."""
    plain, out = os.path.join(work, 'plain'), os.path.join(work, 'out')
    compiled(
        o,
        host.written(os.path.join(work, 'rounded.onnx'), paired_bytes(True)),
        plain,
        '--target',
        target,
    )
    status, text = compiled(
        o,
        host.written(os.path.join(work, 'bytes.onnx'), paired_bytes(False)),
        out,
        '--target',
        target,
        '--code-weights',
        '--window=1M',
        '--palette=16',
    )
    t.ok(
        'bytes, %s: it has palettes' % target,
        status == 0 and len(coded(out)) == 1 and coded(out)[0]['palette']['most'] > 0,
        text,
    )
    want, got = executed(work, plain, []), executed(work, out, [])
    t.ok(
        'bytes, %s: the mean in place of two' % target,
        len(set(want.split())) > 5 and got == want,
        (want, got),
    )


def check_left(t, o, work):
    """Weights that no window has room for, and such as zeros would be one value too many for, stay
    as they are."""
    out, plain = os.path.join(work, 'out'), os.path.join(work, 'plain')
    path = host.written(os.path.join(work, 'any.onnx'), floats(40))
    for words in (['--window=300'], []):
        status, text = compiled(o, path, out, '--code-weights', '--palette=16', *words)
        found = host.manifest(out, 'm')
        t.ok('left: %s: compiles' % words, status == 0, text)
        rounded = [c for c in found['constants'] if 'palette' in c]
        left = found['weights']['stream']['palette']['left']
        t.ok(
            'left: %s: some, and only what is decoded is rounded' % words,
            left and all(c['place'] == 'coded' for c in rounded),
            found['weights'],
        )
    path = host.written(os.path.join(work, 'large.onnx'), paired(16, 0.03, 2000)[1])
    compiled(o, path, plain, '--code-weights', '--window=1K')
    compiled(o, path, out, '--code-weights', '--window=1K', '--palette=16')
    same = [read(out + '/src/' + f) == read(plain + '/src/' + f) for f in ('m.c', 'm_weights.c')]
    t.ok('left: no room, so all is as it was', not coded(out) and all(same), same)
    path = host.written(os.path.join(work, 'filled.onnx'), integers(16, filled=False))
    compiled(o, path, plain)
    compiled(o, path, out, '--code-weights', '--palette=16', '--window=1M', '--target=cortex-m4')
    t.ok(
        'left: no value is free for zeros',
        len(host.manifest(out, 'm')['weights']['stream']['palette']['left']) == 1,
    )
    t.ok('left: so the results are the same', executed(work, out, []) == executed(work, plain, []))


def check_memory(t, o, work):
    """Four times as much as the compiler may have."""
    k, n = 2048, 2048
    of = random.Random(4)
    row = array.array('f', (of.gauss(0, 1) for _ in range(2 * n)))
    w = b''.join(row[of.randrange(n) :][:n].tobytes() for _ in range(k))
    model = make_model(
        [make_node('MatMul', ['x', 'w'], ['y'], 'product')],
        [make_value('x', 1, [1, k])],
        [make_value('y', 1, [1, n])],
        [make_tensor('w', 1, [k, n], w)],
    )
    path, out = host.written(os.path.join(work, 'large.onnx'), model), os.path.join(work, 'large')
    status, text = compiled(
        o,
        path,
        out,
        '--code-weights',
        '--palette=16',
        '--window=1M',
        '--max-memory=4M',
        '--weights=bin',
    )
    t.ok('memory: 16 MiB of weights in 4 MiB', status == 0 and len(coded(out)) == 1, text)


def off_by(model, got, want):
    forms = [
        {'float32': 'f', 'int8': 'b', 'uint8': 'B'}[value['dtype']]
        for value in model.analyze()['outputs']
    ]
    x, y = [
        [
            v
            for form, (_, raw) in zip(forms, results)
            for v in struct.unpack('<%d%s' % (len(raw) // struct.calcsize(form), form), raw)
        ]
        for results in (got, want)
    ]
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(x, y)) / sum(b * b for b in y))


def check_corpus(t, o, folder, window, values, most):
    name = os.path.basename(folder)
    model = trial.Trial(o.inlay, folder)
    size = lambda *flags: model.analyze(*flags)['weights']['size']
    flags = ['--code-weights', '--window=' + window, '--target=cortex-m4', '--palette=%d' % values]
    small = size(*flags) / size('--target=cortex-m4')
    off = off_by(model, model.answer(*flags), model.answer())
    print('# %s, %d values: %.3f of the bytes, results off by %.4f' % (name, values, small, off))
    t.ok(
        '%s, %d values: so much smaller, and so near' % (name, values),
        small <= most[0] and off <= most[1],
        (small, off, most),
    )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('corpus', nargs='?', default='')
    o = p.parse_args()
    t = tap.Tap()
    sanitized = trial.sanitizing('gcc') or []
    with host.Work() as work:
        for name in NETS:
            for values, targets in ((4, TARGETS[::2]), (16, TARGETS[1::2])):
                for target, window in targets:
                    check_few(
                        t,
                        o,
                        work,
                        name,
                        values,
                        target,
                        window,
                        sanitized if window == '4K' else [],
                    )
        for values in (4, 16):
            check_near(t, o, work, values)
        for target, _ in TARGETS:
            check_bytes(t, o, work, target)
        check_left(t, o, work)
        check_memory(t, o, work)
        path = host.written(os.path.join(work, 'a.onnx'), floats(4))
        for words in (
            ['--code-weights', '--palette=5'],
            ['--palette=16'],
            ['--code-weights', '--palette=16', '--weights=blob'],
            ['--palette=4', '--weights=stream', '--window=4K'],
            ['--code-weights', '--palette=4', '--threads=2'],
        ):
            status, text = compiled(o, path, os.path.join(work, 'no'), *words)
            t.ok('usage: ' + ' '.join(words), status == 64, text)
        compiled(o, path, os.path.join(work, 'out'), '--code-weights', '--palette=4', '--window=1M')
        status, text = host.run(
            [
                o.inlay,
                'weights',
                'pack',
                path,
                '--for',
                os.path.join(work, 'out', 'm.json'),
                '-o',
                os.path.join(work, 'no.blob'),
            ]
        )
        t.ok(
            'no blob for it',
            status in (64, 65, 78) and not os.path.exists(os.path.join(work, 'no.blob')),
            'status %d: %s' % (status, text),
        )
    for name, (window, of) in CORPUS.items():
        folder = os.path.join(o.corpus, name)
        if o.corpus and os.path.isdir(folder):
            for values, most in of.items():
                check_corpus(t, o, folder, window, values, most)
        else:
            t.skip(name, 'is not here')
    t.done()


main()
