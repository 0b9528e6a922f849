# SPDX-License-Identifier: Apache-2.0
"""compile --update: tensors are replaced while runs use them, at any point of the run and of the
writing (tests/update/interleave.c); no result of mixed weights comes unreported, by either policy.
With a part of the protocol left out they do.

    updates.py --inlay INLAY --models models --driver tests/update --most 400"""
import argparse
import json
import os
import random
import re
import shutil
import struct

import host
import tap
from onnx import make_model, make_node, make_tensor, make_value

POLICIES = ('dirty-tag', 'fence')
# What a protocol cannot do without: lines of inlay_update.h that are taken out.
NEEDED = {
    'dirty-tag': ('tag[k] = live->begun;', '(void)tag;'),
    'fence': ('live->writing = k + 1;', '(void)k;'),
}


class Values:
    def __init__(self, seed):
        self.random, self.weights = random.Random(seed), []

    def tensor(self, name, *dims):
        n = 1
        for d in dims:
            n *= d
        values = [self.random.uniform(-0.6, 0.6) for _ in range(n)]
        self.weights.append(make_tensor(name, 1, list(dims), struct.pack('<%df' % n, *values)))
        return name


def keyword():
    """A small net of spectrograms: convolution, depthwise and pointwise ones, a mean, a product."""
    v = Values(1)
    nodes = [
        make_node(
            'Conv',
            ['x', v.tensor('w0', 8, 1, 3, 3), v.tensor('b0', 8)],
            ['c0'],
            'first',
            kernel_shape=[3, 3],
            strides=[2, 2],
            pads=[1, 1, 1, 1],
        ),
        make_node('Relu', ['c0'], ['r0']),
    ]
    for i in (1, 2):
        nodes += [
            make_node(
                'Conv',
                ['r%d' % (i - 1), v.tensor('d%d' % i, 8, 1, 3, 3)],
                ['d%dy' % i],
                'depth%d' % i,
                kernel_shape=[3, 3],
                pads=[1, 1, 1, 1],
                group=8,
            ),
            make_node(
                'Conv',
                ['d%dy' % i, v.tensor('p%d' % i, 8, 8, 1, 1), v.tensor('pb%d' % i, 8)],
                ['p%dy' % i],
                'point%d' % i,
                kernel_shape=[1, 1],
            ),
            make_node('Relu', ['p%dy' % i], ['r%d' % i]),
        ]
    nodes += [
        make_node('GlobalAveragePool', ['r2'], ['g']),
        make_node('Flatten', ['g'], ['f']),
        make_node(
            'Gemm', ['f', v.tensor('wf', 4, 8), v.tensor('bf', 4)], ['y'], 'classes', transB=1
        ),
    ]
    return make_model(
        nodes, [make_value('x', 1, [1, 1, 12, 10])], [make_value('y', 1, [1, 4])], v.weights
    )


def gru():
    v = Values(2)
    nodes = [
        make_node(
            'GRU',
            ['x', v.tensor('w', 1, 15, 4), v.tensor('r', 1, 15, 5), v.tensor('b', 1, 30)],
            ['', 'h'],
            'cell',
            hidden_size=5,
        ),
        make_node('Flatten', ['h'], ['f']),
        make_node('Gemm', ['f', v.tensor('wf', 3, 5), v.tensor('bf', 3)], ['y'], 'last', transB=1),
    ]
    return make_model(
        nodes, [make_value('x', 1, [6, 1, 4])], [make_value('y', 1, [1, 3])], v.weights
    )


def write_models(models, work):
    paths = {'digits': os.path.join(models, 'digits', 'digits.onnx')}
    for name, make in (('keyword', keyword), ('gru', gru)):
        paths[name] = os.path.join(work, name + '.onnx')
        with open(paths[name], 'wb') as f:
            f.write(make())
    return paths


class Net:
    def __init__(self, t, o, folder, path, policy, options):
        self.t, self.o, self.folder, self.policy = t, o, folder, policy
        words = [
            o.inlay,
            'compile',
            path,
            '-o',
            folder,
            '-n',
            'm',
            '--weights=blob',
            '--update=' + policy,
        ] + options
        status, text = host.run(words)
        self.label = '%s, %s' % (os.path.basename(path), ' '.join([policy] + options))
        self.built = t.ok('%s: compile' % self.label, status == 0, text)

    def constants(self):
        with open(os.path.join(self.folder, 'm.json')) as f:
            found = json.load(f)['constants']
        for c in found:
            steps = c.get('steps')
            self.t.ok(
                '%s: the manifest has steps of %s' % (self.label, c['node']),
                bool(steps) and steps[0] <= c['step'] <= steps[1],
                c,
            )
        with open(os.path.join(self.folder, 'constants'), 'w') as f:
            f.writelines(
                '%d %d %d\n' % (i, c['at'], c['bytes'])
                for i, c in enumerate(found)
                if c['place'] == 'blob'
            )

    def report(self):
        with open(os.path.join(self.folder, 'm.txt')) as f:
            text = f.read()
        self.t.ok(
            '%s: the report lists uses' % self.label,
            'Weights that may be replaced' in text,
            text[-800:],
        )

    def program(self):
        own = [os.path.join(self.o.driver, name) for name in ('interleave.c', 'point.h')]
        flags = (
            ['-std=c11', host.LEVEL]
            + host.PLAIN
            + [
                '-Wall',
                '-Wextra',
                '-Werror',
                '-D_GNU_SOURCE',
                '-I',
                'src',
                '-I',
                self.o.driver,
                '-include',
                own[1],
            ]
        )
        fence = ['-DFENCE'] if self.policy == 'fence' else []
        status, text = host.run(
            ['gcc']
            + flags
            + fence
            + ['-o', 'interleave', own[0]]
            + host.sources(self.folder)
            + ['-lm'],
            self.folder,
        )
        return self.t.ok('%s: the driver compiles' % self.label, status == 0, text)

    def counts(self, most):
        status, text = host.run(['./interleave', str(most)], self.folder, limit=7200)
        found = (
            dict(zip(text.split()[::2], text.split()[1::2])) if text.startswith('reported') else {}
        )
        return status, text, {key: int(n) for key, n in found.items()}


def check_net(t, o, folder, path, policy, options):
    net = Net(t, o, folder, path, policy, options)
    if not net.built:
        return
    net.constants()
    net.report()
    if not net.program():
        return
    status, text, found = net.counts(o.most)
    t.ok(
        '%s: no mixed tensor is used unreported: %s' % (net.label, text.strip()),
        status == 0 and found.get('mixed') == 0,
        text,
    )
    met = found.get('reported') and found.get('kept') and (policy != 'fence' or found.get('busy'))
    t.ok('%s: both ends were met' % net.label, bool(met), text)
    if options:
        break_it(t, net)


def break_it(t, net):
    path = os.path.join(net.folder, 'src', 'inlay_update.h')
    with open(path) as f:
        text = f.read()
    line, instead = NEEDED[net.policy]
    t.ok('%s: the line is there' % net.label, text.count(line) == 1)
    with open(path, 'w') as f:
        f.write(text.replace(line, instead))
    if net.program():
        status, text, found = net.counts(net.o.most)
        t.ok(
            '%s: without its mark mixed tensors are used' % net.label,
            status == 1 and found.get('mixed', 0) > 0,
            text,
        )


def check_warnings(t, o, work, path):
    """The code compiles without a warning, as C99, with and without a hook of steps."""
    for policy in POLICIES:
        net = Net(t, o, os.path.join(work, 'w' + policy), path, policy, [])
        for cc in ('gcc', 'clang'):
            if not shutil.which(cc):
                continue
            for hook in ([], ['-DM_ON_STEP=hook']):
                status, text = host.run(
                    [cc]
                    + host.STRICT
                    + [host.LEVEL]
                    + host.PLAIN
                    + hook
                    + ['-c', 'src/m.c', '-o', 'm.o'],
                    net.folder,
                )
                t.ok('%s: %s %s' % (net.label, cc, ' '.join(hook)), status == 0, text)


def check_same(t, o, work, path):
    """Weights of another training fit the code; without a writer results are those of any run."""
    net = Net(t, o, os.path.join(work, 'same'), path, 'dirty-tag', [])
    status, text = host.run(
        [
            o.inlay,
            'weights',
            'pack',
            path,
            '--for',
            os.path.join(net.folder, 'm.json'),
            '-o',
            os.path.join(work, 'packed.blob'),
        ]
    )
    t.ok('pack for code with --update', status == 0, text)
    with open(os.path.join(work, 'packed.blob'), 'rb') as f, open(
        os.path.join(net.folder, 'm.blob'), 'rb'
    ) as g:
        t.ok('it is the blob of the compile', f.read() == g.read())


def check_usage(t, o, work, path):
    for words in (
        ['--update=fence'],
        ['--weights=c', '--update=fence'],
        ['--weights=blob', '--update=fence', '--slices'],
        ['--weights=blob', '--update=fence', '--threads=2'],
        ['--weights=blob', '--update=other'],
        ['--weights=blob', '--update=fence', '--io=in0=rows'],
    ):
        status, text = host.run([o.inlay, 'compile', path, '-o', os.path.join(work, 'no')] + words)
        t.ok('usage: ' + ' '.join(words), status == 64, text)
    out = os.path.join(work, 'plain')
    status, text = host.run([o.inlay, 'compile', path, '-o', out, '-n', 'm', '--weights=blob'])
    with open(os.path.join(out, 'src', 'm.c')) as f, open(os.path.join(out, 'src', 'm.h')) as g:
        code = f.read() + g.read()
    t.ok(
        'without --update nobody speaks of it',
        status == 0 and not re.search('m_live|inlay_update|updated|TENSORS', code),
    )
    t.ok(
        'and its file is not there', not os.path.exists(os.path.join(out, 'src', 'inlay_update.h'))
    )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    p.add_argument('--driver', required=True)
    p.add_argument('--most', type=int, default=400)
    o = p.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        paths = write_models(o.models, work)
        for name, path in paths.items():
            for policy in POLICIES:
                for k, options in enumerate(([], ['--plan=overlap'])):
                    check_net(
                        t,
                        o,
                        os.path.join(work, '%s-%s-%d' % (name, policy, k)),
                        path,
                        policy,
                        options,
                    )
        check_warnings(t, o, work, paths['keyword'])
        check_same(t, o, work, paths['digits'])
        check_usage(t, o, work, paths['digits'])
    t.done()


main()
