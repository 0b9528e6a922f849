# SPDX-License-Identifier: Apache-2.0
"""Arena limits and goals: for random networks of images (and models of the corpus, where it is) every point of the curve is asked for
by its own size. The plan must hold it, with the MACs that the curve says, and answer the same bytes as the plan without
a limit: by `inlay run`, and for some through C under the sanitizers. So must the plans of all levels. Below the smallest point the
exit status is 1.

    limit.py --inlay INLAY [--corpus FOLDER] [--nets N] [--first SEED]"""
import argparse
import json
import os
import random
import struct

import host
import onnx
import tap

FLOAT = 1
STRICT = host.STRICT + ['-O1', '-ffp-contract=off']
SANITIZE = ['-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all']
CORPUS = ['cnn/mlperf-tiny-vww', 'cnn/mlperf-tiny-resnet8', 'audio/mlperf-tiny-kws', 'cnn/mobilenet-v2-035-128']


def floats(rng, n):
    return struct.pack('<%df' % n, *(rng.uniform(-1, 1) for _ in range(n)))


KINDS = ['conv', 'conv', 'conv', 'depthwise', 'depthwise', 'pool', 'activation', 'join', 'add', 'scale']
MORE = ['deconv', 'resize', 'quantize', 'quantize', 'qconv', 'qconv', 'half', 'slice', 'shuffle', 'grouped']


class Net:
    """A random network: windows of all kinds, sums with what came before, branches that are joined. Of odd seeds there are
    integers, halves, transposed convolutions, shuffles and changes of size among them."""
    def __init__(self, seed):
        self.rng, self.nodes, self.weights = random.Random(seed), [], []
        rng = self.rng
        self.dims = {'x': [1, rng.choice([1, 3, 4]), rng.randrange(9, 25), rng.randrange(9, 33)]}
        top, earlier = 'x', []
        for _ in range(rng.randrange(3, 9)):
            same = [e for e in earlier if self.dims[e] == self.dims[top]]
            kind = rng.choice(KINDS + MORE if seed % 2 else KINDS)
            earlier.append(top)
            if kind == 'add' and same:
                top = self.add('Add', [top, rng.choice(same)], self.dims[top])
            elif kind == 'join':
                parts = [self.conv(top, rng.choice([1, 3]), 1, 'SAME') for _ in range(2)]
                top = self.add('Concat', parts, self.dims[top][:1] + [sum(self.dims[p][1] for p in parts)] + self.dims[top][2:], axis=1)
            elif kind == 'scale':
                top = self.add('Mul', [top, self.constant([self.dims[top][1], 1, 1])], self.dims[top])
            elif kind == 'activation':
                top = self.add(rng.choice(['Relu', 'Sigmoid', 'HardSwish', 'Tanh']), [top], self.dims[top])
            elif kind == 'pool':
                top = self.pool(top)
            elif kind in MORE:
                top = getattr(self, kind)(top)
            else:
                top = self.conv(top, rng.choice([1, 2, 3, 3, 5]), rng.choice([1, 1, 2]), None, kind == 'depthwise')
        if rng.random() < 0.4:
            top = self.add('GlobalAveragePool', [top], self.dims[top][:2] + [1, 1])
        self.model = onnx.make_model(self.nodes, [onnx.make_value('x', FLOAT, self.dims['x'])], [onnx.make_value(top, FLOAT, self.dims[top])], self.weights)

    def keep(self, code, dims, raw):
        self.weights.append(onnx.make_tensor('w%d' % len(self.weights), code, dims, raw))
        return 'w%d' % (len(self.weights) - 1)

    def constant(self, dims):
        n = 1
        for d in dims:
            n *= d
        return self.keep(FLOAT, dims, floats(self.rng, n))

    def add(self, op, ins, dims, **attrs):
        name = 't%d' % len(self.nodes)
        self.nodes.append(onnx.make_node(op, ins, [name], **attrs))
        self.dims[name] = list(dims)
        return name

    def window(self, x, kernel, stride, same, dilation=1):
        """(attributes, dims) of a window; the padding lopsided at times."""
        rng, extent = self.rng, (kernel - 1) * dilation + 1
        pads = [extent // 2] * 4 if same else [rng.randrange(0, max(1, min(kernel, extent // 2 + 1))) for _ in range(4)]
        size = [(self.dims[x][2 + i] + pads[i] + pads[2 + i] - extent) // stride + 1 for i in range(2)]
        return dict(kernel_shape=[kernel, kernel], strides=[stride, stride], pads=pads), size

    def grouped(self, x):
        return self.conv(x, self.rng.choice([1, 1, 3]), self.rng.choice([1, 1, 2]), None, groups=self.groups(x))

    def groups(self, x):
        return self.rng.choice([g for g in (1, 2, 4, 5) if self.dims[x][1] % g == 0])

    def shuffle(self, x):
        n, c, h, w = self.dims[x]
        g = self.groups(x)
        for dims in ([n, g, c // g, h, w], [n, c, h, w]):
            x = self.add('Reshape', [x, self.keep(onnx.CODES['int64'], [len(dims)], struct.pack('<%dq' % len(dims), *dims))], dims)
            if len(dims) == 5:
                x = self.add('Transpose', [x], [n, c // g, g, h, w], perm=[0, 2, 1, 3, 4])
        return x

    def conv(self, x, kernel, stride, same, depthwise=False, groups=1):
        rng, channels = self.rng, self.dims[x][1]
        dilation = rng.choice([1, 1, 1, 2]) if kernel == 3 else 1
        if min(self.dims[x][2:]) < (kernel - 1) * dilation + 1:
            kernel, dilation, stride = 1, 1, 1
        attrs, size = self.window(x, kernel, stride, same, dilation)
        groups = channels if depthwise else groups
        out = channels if depthwise else rng.choice([2, 4, 5, 8, 16, 20]) if groups == 1 else groups * rng.choice([1, 2, 3, 7])
        ins = [x, self.constant([out, channels // groups, kernel, kernel])]
        if rng.random() < 0.7:
            ins.append(self.constant([out]))
        return self.add('Conv', ins, [1, out] + size, group=groups, dilations=[dilation, dilation], **attrs)

    def number(self, code, form, value, dims=()):
        n = 1
        for d in dims:
            n *= d
        return self.keep(code, list(dims), struct.pack('<%d%s' % (n, form), *([value] * n)))

    def deconv(self, x):
        rng, kernel, channels = self.rng, self.rng.choice([2, 3, 4]), self.dims[x][1]
        stride, dilation = rng.choice([1, 2, 3]), rng.choice([1, 1, 2, 3])
        if max(self.dims[x][2:]) > 20:
            return x
        extent, out = (kernel - 1) * dilation + 1, rng.choice([2, 4, 6])
        pads = [rng.randrange(0, min(extent, 3)) for _ in range(4)]
        size = [(self.dims[x][2 + i] - 1) * stride + extent - pads[i] - pads[2 + i] for i in range(2)]
        return self.add('ConvTranspose', [x, self.constant([channels, out, kernel, kernel])], [1, out] + size, kernel_shape=[kernel, kernel],
                        strides=[stride, stride], dilations=[dilation, dilation], pads=pads) if min(size) > 0 else x

    def resize(self, x):
        factor, mode = self.rng.choice([.5, 1.5, 2]), self.rng.choice(['nearest', 'linear', 'cubic'])
        if max(self.dims[x][2:]) > 20:
            return x
        scales = self.keep(FLOAT, [4], struct.pack('<4f', 1, 1, factor, factor))
        return self.add('Resize', [x, '', scales], self.dims[x][:2] + [int(d * factor) for d in self.dims[x][2:]], mode=mode)

    def quantize(self, x):
        code, form = self.rng.choice([(2, 'B'), (3, 'b')])
        scale, zero = self.number(FLOAT, 'f', .07), self.number(code, form, self.rng.randrange(100))
        return self.add('DequantizeLinear', [self.add('QuantizeLinear', [x, scale, zero], self.dims[x]), scale, zero], self.dims[x])

    def qconv(self, x):
        rng, channels, depthwise = self.rng, self.dims[x][1], self.rng.random() < .4
        kernel = rng.choice([1, 3]) if min(self.dims[x][2:]) >= 3 else 1
        attrs, size = self.window(x, kernel, rng.choice([1, 2]), False)
        out = channels if depthwise else rng.choice([2, 5, 8])
        dims = [out, 1 if depthwise else channels, kernel, kernel]
        n = dims[0] * dims[1] * kernel * kernel
        weights = self.keep(3, dims, struct.pack('<%db' % n, *(rng.randrange(-127, 128) for _ in range(n))))
        scale, zero, small, none = self.number(FLOAT, 'f', .05), self.number(2, 'B', 101), self.number(FLOAT, 'f', .01), self.number(3, 'b', 0)
        q = self.add('QuantizeLinear', [x, scale, zero], self.dims[x])
        y = self.add('QLinearConv', [q, scale, zero, weights, small, none, scale, zero], [1, out] + size, group=channels if depthwise else 1, **attrs)
        return self.add('DequantizeLinear', [y, scale, zero], self.dims[y])

    def half(self, x):
        return self.add('Cast', [self.add('Cast', [x], self.dims[x], to=10)], self.dims[x], to=FLOAT)

    def slice(self, x):
        channels = self.dims[x][1]
        if channels < 2:
            return x
        first = self.rng.randrange(channels - 1)
        end = self.rng.randrange(first + 1, channels)
        return self.add('Slice', [x] + [self.number(7, 'q', v, [1]) for v in (first, end, 1)], self.dims[x][:1] + [end - first] + self.dims[x][2:])

    def pool(self, x):
        kernel = self.rng.choice([2, 3])
        if min(self.dims[x][2:]) < kernel:
            return x
        attrs, size = self.window(x, kernel, self.rng.choice([1, 2]), False)
        if self.rng.random() < 0.5:
            return self.add('MaxPool', [x], self.dims[x][:2] + size, **attrs)
        return self.add('AveragePool', [x], self.dims[x][:2] + size, count_include_pad=self.rng.randrange(2), **attrs)


class Model:
    def __init__(self, o, file, flags, inputs):
        self.o, self.file, self.flags, self.inputs = o, file, flags, inputs

    def analyze(self, *flags):
        status, text = host.run([self.o.inlay, 'analyze', self.file, '--json'] + self.flags + list(flags))
        if status:
            raise RuntimeError('exit %d: %s' % (status, text))
        return json.loads(text)

    def answer(self, *flags):
        """The bytes of all results by `inlay run`."""
        with host.Work() as work:
            command = [self.o.inlay, 'run', self.file, '-o', work] + self.flags + list(flags)
            for path in self.inputs:
                command += ['--input', path]
            status, text = host.run(command)
            if status:
                raise RuntimeError('run: exit %d: %s' % (status, text))
            return [onnx.read_tensor(os.path.join(work, f)).raw for f in sorted(os.listdir(work), key=lambda f: int("".join(c for c in f if c.isdigit()) or 0)) if f.endswith('.pb')]

    def compiled(self, limit):
        """The same through C, in an arena of just that size between guards."""
        with host.Work() as work:
            out = os.path.join(work, 'out')
            status, text = host.run([self.o.inlay, 'compile', self.file, '-o', out, '--name', 'm', '--arena-limit', str(limit)] + self.flags)
            if status:
                raise RuntimeError('compile: exit %d: %s' % (status, text))
            status, text = host.run([self.o.inlay, 'prove', os.path.join(out, 'm.json'), self.file])
            if status:
                raise RuntimeError('prove: exit %d: %s' % (status, text))
            manifest = host.manifest(out, 'm')
            self.damage(out, manifest)
            host.write_main(work, [('m', manifest, [onnx.read_tensor(p) for p in self.inputs])])
            for flags in ([STRICT + SANITIZE, STRICT] if self.o.sanitize else [STRICT]):
                status, text = host.run(['gcc'] + flags + ['-I', os.path.join(out, 'src'), 'main.c'] + host.sources(out) + ['-lm'], work)
                status, text = host.run(['./a.out'], work) if not status else (status, text)
                if status:
                    raise RuntimeError('C: exit %d: %s' % (status, text[:2000]))
            return [t.raw for t in host.results(work, 'm', manifest)]


    def damage(self, out, manifest):
        """Columns that are not those of the plan are seen."""
        cut = [i for i, s in enumerate(manifest['steps']) if 'strip' in s]
        for i in random.Random(len(cut)).sample(cut, min(3, len(cut))):
            for at, by in ((0, 1), (1, 1), (1, -1)):
                wrong = json.loads(json.dumps(manifest))
                wrong['steps'][i]['columns'][at] += by
                with open(os.path.join(out, 'wrong.json'), 'w') as f:
                    json.dump(wrong, f)
                status, text = host.run([self.o.inlay, 'prove', os.path.join(out, 'wrong.json'), self.file])
                if status not in (1, 65):
                    raise RuntimeError('step %d, columns %s: exit %d: %s' % (i, wrong['steps'][i]['columns'], status, text))


def curve_is_one(curve):
    """From the cheapest to the smallest: neither bytes nor MACs go the wrong way. (Strips may leave out columns that nobody reads.)"""
    for a, b in zip(curve, curve[1:]):
        if b['arena'] >= a['arena'] or max(1, b['mac_factor']) < max(1, a['mac_factor']):
            return '%s is followed by %s' % (a, b)
    return '' if sum(c.get('chosen', False) for c in curve) == 1 else 'not one point is chosen'


def holds(m, curve, i, want):
    """A limit of just the arena of point i takes point i."""
    limit = curve[i]['arena']
    found = m.analyze('--arena-limit', str(limit))
    taken = [c for c in found['curve'] if c.get('chosen')][0]
    if found['arena']['size'] != limit or taken['arena'] != limit:
        return 'limit %d: the arena has %d bytes' % (limit, found['arena']['size'])
    if found['totals']['macs'] != curve[i]['macs'] or len(found['steps']) != curve[i]['steps']:
        return 'limit %d: %d MACs in %d steps, the curve says %s' % (limit, found['totals']['macs'], len(found['steps']), curve[i])
    return '' if m.answer('--arena-limit', str(limit)) == want else 'limit %d: other bytes' % limit


def goals(m, curve, want):
    """The arenas of the three goals; only streams make them smaller, nothing is computed twice."""
    arenas = []
    for goal in ('ram', 'balanced', 'speed'):
        found = m.analyze('--optimize', goal)
        arenas.append(found['arena']['size'])
        if abs(found['totals']['macs'] - curve[0]['macs'] / curve[0]['mac_factor']) > 0.5 or m.answer('--optimize', goal) != want:
            return '%s: other MACs, or other bytes' % goal
        if goal == 'speed' and any('list' in s for s in found.get('segments', [])):
            return 'speed: row by row'
    return '' if arenas[0] == min(arenas) else 'arenas of ram, balanced and speed: %s' % arenas


def levels(m, want):
    return [level for level in ('simple', 'order', 'overlap') if m.answer('--plan', level) != want]


def regions(m, curve, want):
    """A region that holds the smallest plan alone, beside a small one: of all points one that fits is taken."""
    smallest = curve[-1]['arena']
    if smallest < 16:
        return ''
    flags = ['--region', 'fast:%d:1' % smallest, '--region', 'slow:16:9', '--arena-limit', str(smallest + 16)]
    found = m.analyze(*flags)
    over = [r for r in found['regions'] if r['size'] > r['capacity']]
    return 'regions: %s' % over if over else '' if m.answer(*flags) == want else 'regions: other bytes'


def check(t, what, m, some):
    try:
        curve = m.analyze('--curve')['curve']
        bad = curve_is_one(curve)
        taken, plain = [c['arena'] for c in curve if c.get('chosen')], m.analyze()['arena']['size']
        t.ok(what + ': the chosen point is the plan without a limit', taken == [plain], '%s, %d' % (taken, plain))
        t.ok('%s: %d points from %d to %d bytes, %.3f MACs' % (what, len(curve), curve[0]['arena'], curve[-1]['arena'], curve[-1]['mac_factor']), not bad, bad)
        want = m.answer()
        bad = [b for b in (holds(m, curve, i, want) for i in range(len(curve))) if b]
        t.ok(what + ': each point by its size, same bytes', not bad, bad[:3])
        bad = levels(m, want)
        t.ok(what + ': plans of all levels, same bytes', not bad, bad)
        bad = goals(m, curve, want)
        t.ok(what + ': --optimize', not bad, bad)
        bad = regions(m, curve, want)
        t.ok(what + ': the smallest in a region of its size', not bad, bad)
        for i in sorted({len(curve) - 1, len(curve) // 2} if some else {len(curve) - 1}):
            t.ok('%s: %d bytes through C, same bytes' % (what, curve[i]['arena']), m.compiled(curve[i]['arena']) == want)
        smallest = curve[-1]['arena']
        status, text = host.run([m.o.inlay, 'analyze', m.file, '--arena-limit', str(smallest - 1)] + m.flags)
        t.ok(what + ': one byte less is status 1', smallest == 1 or (status == 1 and str(smallest) in text and 'lower bound' in text and 'peak' in text), '%d: %s' % (status, text))
    except RuntimeError as e:
        t.fail(what, str(e))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--corpus', default='')
    p.add_argument('--nets', type=int, default=24)
    p.add_argument('--first', type=int, default=0)
    o = p.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        with open(os.path.join(work, 'x.c'), 'w') as f:
            f.write('int main(void) { return 0; }\n')
        o.sanitize = host.run(['gcc'] + SANITIZE + ['x.c'], work)[0] == 0
    for seed in range(o.first, o.first + o.nets):
        with host.Work() as work:
            net = Net(seed)
            n = 1
            for d in net.dims['x']:
                n *= d
            for file, data in (('net.onnx', net.model), ('x.pb', onnx.make_tensor('x', FLOAT, net.dims['x'], floats(net.rng, n)))):
                with open(os.path.join(work, file), 'wb') as f:
                    f.write(data)
            check(t, 'net %d' % seed, Model(o, os.path.join(work, 'net.onnx'), [], [os.path.join(work, 'x.pb')]), seed % 8 == 0)
    for name in CORPUS:
        folder = os.path.join(o.corpus, name)
        if not o.corpus or not os.path.isdir(folder):
            t.skip(name, 'not here')
            continue
        data, _ = host.test_data(folder)
        file = os.path.join(folder, 'model.onnx')
        check(t, name, Model(o, file, host.shape_flags(file, data), [path for path, _ in data]), False)
    t.done()


if __name__ == '__main__':
    main()
