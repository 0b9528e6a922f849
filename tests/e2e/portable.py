# SPDX-License-Identifier: Apache-2.0
"""The generated C where little is given: machines of the other byte order under qemu, whose answers
are the host's; no C library and none of its headers; a caller who says where weights and arena lie,
and how large the arena is.

    portable.py --inlay INLAY --models MODELS [--nodes FOLDER] [--every N]

--nodes: every N-th of the folder's tests on the other byte order, too."""
import argparse
import glob
import os
import shutil
import sys

import host
import onnx
import tap

BIG = [
    ('s390x', 's390x-linux-gnu-gcc', 'qemu-s390x-static'),
    ('ppc', 'powerpc-linux-gnu-gcc', 'qemu-ppc-static'),
]
PLAIN = ['-DINLAY_VL=1', '-ffp-contract=off']

INIT = r'''#include <stdalign.h>
#include "%(name)s.h"
static alignas(%(upper)s_ARENA_ALIGN) %(upper)s_ARENA_ATTR
    unsigned char arena[%(upper)s_ARENA_SIZE + 1];
int main(void)
{
    if (%(name)s_init(arena, sizeof arena) != %(upper)s_OK)
        return 1;
    if (%(name)s_init(arena, %(upper)s_ARENA_SIZE - 1) != %(upper)s_E_SIZE)
        return 2;
    if (%(name)s_init(NULL, sizeof arena) != %(upper)s_E_ARG)
        return 3;
    return %(name)s_init(arena + 1, sizeof arena) != %(upper)s_E_ALIGN;
}
'''
CHECK = r'''#include "%(name)s.h"
int main(void)
{
    return %(name)s_weights_check(NULL, 0);
}
'''


def swapped(raw, io):
    """The bytes of a value on a machine of the other byte order."""
    size = {'complex64': 4, 'complex128': 8}.get(io['dtype'], len(raw) // max(1, count(io)))
    if size < 2:
        return raw
    return b''.join(raw[i : i + size][::-1] for i in range(0, len(raw), size))


def count(io):
    n = 1
    for d in io['dims']:
        n *= d
    return n


class Net:
    def __init__(self, inlay, folder, name, work):
        self.data, self.want = host.test_data(folder)
        self.inputs = [tensor for _, tensor in self.data]
        self.name, self.work, self.out = name, work, os.path.join(work, 'out')
        model = host.model_of(folder)
        self.status, self.text = host.run(
            [
                inlay,
                'compile',
                model,
                '-o',
                self.out,
                '--name',
                name,
                '--target',
                'portable',
                '--weights',
                'c',
            ]
            + host.shape_flags(model, self.data)
        )
        self.man = host.manifest(self.out, name) if not self.status else None

    def answers(self, compiler, flags, runner, other_order):
        """(outputs, None) or (None, what went wrong)."""
        work = os.path.join(self.work, os.path.basename(compiler))
        os.makedirs(work, exist_ok=True)
        inputs = self.inputs
        if other_order:
            inputs = [
                onnx.Tensor('', t.code, t.dims, swapped(t.raw, io))
                for t, io in zip(inputs, self.man['inputs'])
            ]
        host.write_main(work, [(self.name, self.man, inputs)])
        status, text = host.run(
            [compiler, '-std=c99', host.LEVEL, '-static']
            + flags
            + ['-I', os.path.join(self.out, 'src'), '-o', 'program', 'main.c']
            + host.sources(self.out)
            + ['-lm'],
            work,
        )
        if status:
            return None, text
        status, text = host.run(runner + ['./program'], work)
        if status:
            return None, 'status %d: %s' % (status, text)
        found = []
        for i, io in enumerate(self.man['outputs']):
            with open(os.path.join(work, '%s_out%d' % (self.name, i)), 'rb') as f:
                raw = f.read()
            found.append(
                onnx.Tensor(
                    '',
                    onnx.CODES[io['dtype']],
                    io['dims'],
                    swapped(raw, io) if other_order else raw,
                )
            )
        return found, None


def judge_orders(t, net):
    want, why = net.answers('gcc', PLAIN, [], False)
    if want is None:
        t.ok(net.name + ': runs on the host', False, why)
        return
    for machine, compiler, runner in BIG:
        label = '%s on %s: the answer of the host' % (net.name, machine)
        if not shutil.which(compiler) or not shutil.which(runner):
            t.skip(label, compiler + ' or ' + runner + ' is not installed')
            continue
        got, why = net.answers(compiler, PLAIN, [runner], True)
        if got is None:
            t.ok(label, False, why)
            continue
        bad = [b for b in (onnx.difference(a, b, 1e-6, 1e-7) for a, b in zip(got, want)) if b]
        t.ok(label, not bad, bad)


def judge_check(t, net):
    """The seal holds on a machine of the other order; a value of another one breaks it."""
    text = CHECK % {'name': net.name}
    for machine, compiler, runner in BIG:
        label = '%s on %s: weights are found to be whole, and damaged' % (net.name, machine)
        if not shutil.which(compiler) or not shutil.which(runner):
            t.skip(label, compiler + ' or ' + runner + ' is not installed')
            continue
        weights = os.path.join(net.out, 'src', net.name + '_weights.c')
        with open(weights) as f:
            good = f.read()
        at = good.index('(0x') + 3
        bad = good[:at] + ('1' if good[at] == '0' else '0') + good[at + 1 :]
        statuses = []
        for number, content in enumerate((good, bad)):
            work = os.path.join(net.work, '%s-check%d' % (machine, number))
            os.mkdir(work)
            for name, source in (('main.c', text), ('weights.c', content)):
                with open(os.path.join(work, name), 'w') as f:
                    f.write(source)
            status, said = host.run(
                [
                    compiler,
                    '-std=c99',
                    host.LEVEL,
                    '-static',
                    '-I',
                    os.path.join(net.out, 'src'),
                    '-o',
                    'program',
                    'main.c',
                    'weights.c',
                    os.path.join(net.out, 'src', net.name + '.c'),
                    '-lm',
                ],
                work,
            )
            statuses.append(said if status else host.run([runner, './program'], work)[0])
        t.ok(label, statuses == [0, 7], statuses)


def judge_free(t, net):
    """-ffreestanding with the four headers that any C compiler has, and nothing of libm."""
    _, include = host.run(['gcc', '-print-file-name=include'])
    flags = [
        '-std=c99',
        '-Os',
        '-ffreestanding',
        '-nostdinc',
        '-isystem',
        include.strip(),
        '-Wall',
        '-Wextra',
        '-Wcast-qual',
        '-Werror',
        '-c',
    ]
    for source in host.sources(net.out):
        status, text = host.run(['gcc'] + flags + ['-o', os.path.join(net.work, 'free.o'), source])
        t.ok('%s without a C library: %s' % (net.name, os.path.basename(source)), status == 0, text)


def judge_places(t, net):
    facts = {'name': net.name, 'upper': net.name.upper()}
    with open(os.path.join(net.work, 'init.c'), 'w') as f:
        f.write(INIT % facts)
    section = '__attribute__((section(".slow")))'
    flags = [
        '-D%s_WEIGHTS_ATTR=%s' % (facts['upper'], section),
        '-D%s_ARENA_ATTR=__attribute__((section(".bss.fast")))' % facts['upper'],
    ]
    status, text = host.run(
        ['gcc', '-std=c11', '-Wall', '-Wextra', '-Werror']
        + flags
        + ['-I', os.path.join(net.out, 'src'), '-o', 'init', 'init.c']
        + host.sources(net.out)
        + ['-lm'],
        net.work,
    )
    t.ok(net.name + ': sections for weights and arena', status == 0, text)
    status, text = host.run(['./init'], net.work)
    t.ok(
        net.name + ': an arena is refused that is too small, missing or misaligned',
        status == 0,
        'status %d' % status,
    )
    _, text = host.run(['objdump', '-h', 'init'], net.work)
    t.ok(net.name + ': the section exists', '.slow' in text, text)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    p.add_argument('--nodes', default='')
    p.add_argument('--every', type=int, default=1)
    o = p.parse_args()
    t = tap.Tap()
    if not shutil.which('gcc'):
        t.skip('portable', 'there is no gcc')
        t.done()
    own = [os.path.join(o.models, name) for name in ('sine', 'digits')]
    nodes = sorted(glob.glob(os.path.join(o.nodes, '*')))[:: o.every] if o.nodes else []
    with host.Work() as top:
        for number, folder in enumerate(own + nodes):
            work = os.path.join(top, 'net%d' % number)
            os.mkdir(work)
            net = Net(os.path.abspath(o.inlay), folder, 'm%d' % number, work)
            if net.status:
                t.ok(folder + ': compiles', folder in nodes, net.text)
                continue
            judge_orders(t, net)
            if folder in own:
                judge_check(t, net)
                judge_places(t, net)
            if number == 0:
                judge_free(t, net)
            shutil.rmtree(work)
    t.done()


sys.exit(main())
