# SPDX-License-Identifier: Apache-2.0
"""Models on emulated bare cores: no start files, no allocator, constants in memory that faults on
writes where the board has such protection; the answer compared with the reference and, bit for bit,
with the same C on the host; the stack that a run takes compared with what the header states.

    run.py --inlay INLAY [--cores m4,m55] [--levels O2,Os] [--macs N] [--trusted]
    [--options=FLAG,...] FOLDER...

FOLDER holds a model, or folders of models. --macs: none with more multiplications, a twentieth of
them where floats are software's. --trusted: references are judged elsewhere; here the host's
answers count."""
import argparse
import glob
import os
import re
import shutil
import sys

import cores
import host
import image
import onnx
import tap


def compare_reference(t, label, net, got):
    bad = [b for b in (onnx.difference(a, b) for a, b in zip(got, net.want)) if b]
    t.ok(label + ': reference answer', not bad, bad)


def compare_host(t, label, core, work, net, got):
    """The bits of the host, where its arithmetic is the core's."""
    flags = cores.host_flags(core)
    if flags is None:
        compare_reference(t, label + ', as the host has no fused multiply-add', net, got)
        return
    rounded = image.inexact(core, work)
    want = net.on_host(flags)
    if rounded:
        bad = [b for b in (onnx.difference(a, b, 1e-4, 1e-5) for a, b in zip(got, want)) if b]
        t.ok(
            "%s: the host's answer, but for the last bits of %s" % (label, ', '.join(rounded)),
            not bad,
            bad,
        )
    else:
        t.ok(
            label + ": the host's answer bit for bit",
            all(a.raw == b.raw for a, b in zip(got, want)),
            [onnx.difference(a, b, 0, 0) for a, b in zip(got, want)],
        )


class Net:
    """A model's C for one target, and the host's answers to it."""

    def __init__(self, inlay, folder, name, work, target, options=(), answers=None):
        self.data, self.want = host.test_data(folder)
        self.inputs = [tensor for _, tensor in self.data]
        self.name, self.work, self.out = name, work, os.path.join(work, 'out')
        model = host.model_of(folder)
        status, self.text = host.run(
            [inlay, 'compile', model, '-o', self.out, '--name', name, '--target', target]
            + list(options)
            + host.shape_flags(model, self.data)
        )
        self.good = status == 0
        self.answers, self.made = {} if answers is None else answers, {}
        if self.good:
            self.man = host.manifest(self.out, name)

    def code(self):
        """All that is the model's own; what is beside it is the runtime's."""
        texts = []
        for path in sorted(glob.glob(os.path.join(self.out, 'src', self.name + '*'))):
            with open(path, 'rb') as f:
                texts.append(f.read())
        return b''.join(texts)

    def on_host(self, flags):
        """The same for all targets that have the same code."""
        key = (self.code(), tuple(flags))
        if key not in self.answers:
            folder = os.path.join(self.work, 'host%d' % len(self.answers))
            os.mkdir(folder)
            self.answers[key] = image.on_host(
                folder, self.name, self.man, self.inputs, self.out, flags
            )
        return self.answers[key]


def run_core(t, core, net, level, o):
    label = '%s %s %s' % (core.name, net.name, level)
    work = os.path.join(net.work, core.name + level)
    os.mkdir(work)
    image.write_case(work, net.name, net.man, net.inputs, net.out)
    try:
        text, data, bss = image.build(core, work, net.out, level, made=net.made)
        got = image.run(core, work, net.man)
    except image.Failed as e:
        if 'overflowed by' in str(e):
            t.skip(label, "more than the board's memory")
        else:
            t.ok(label + ': builds without a warning and runs', False, str(e))
        return
    names = image.symbols(core, work)
    t.ok(
        label + ': no allocator in the image',
        not image.ALLOCATOR.search(names),
        image.ALLOCATOR.findall(names),
    )
    if not o.trusted:
        compare_reference(t, label, net, got.outputs)
    compare_host(t, label, core, work, net, got.outputs)
    stated = net.man['ram'].get('stack', -1)
    if stated < 0:
        t.skip(label + ': stack', 'a kernel of it is not measured')
    elif level in cores.LEVELS:
        t.ok(
            '%s: %d bytes of stack, %d stated' % (label, got.stack, stated),
            got.stack <= stated < 4 * got.stack,
        )
    print(
        '# %s: %d bytes text, %d data, %d bss; stack %d bytes%s'
        % (label, text, data, bss, got.stack, '; read-only constants' if got.protected else ''),
        flush=True,
    )


def run_fault(t, core, net, level):
    """Proof of the test: a store into the weights ends the run where there is protection."""
    work = os.path.join(net.work, core.name + '-fault')
    os.mkdir(work)
    image.write_case(work, net.name, net.man, net.inputs, net.out)
    image.build(core, work, net.out, level, ['-DCASE_WRITES_WEIGHTS=case_in0'], made=net.made)
    status, text = image.emulate(core, work)
    if 'protected' in text:
        t.ok(
            core.name + ': a store into constants faults',
            status == 97 and 'written' not in text,
            text,
        )
    else:
        t.skip(core.name + ': a store into constants faults', 'no memory protection')


def run_selftest(t, core, inlay, folder, work, level):
    """The self-test on the core: its words are those of the manifest."""
    os.mkdir(work)
    net = Net(inlay, folder, 'm', work, core.target, ['--emit=selftest'])
    image.write_case(work, net.name, net.man, net.inputs, net.out)
    image.build(
        core,
        work,
        net.out,
        level,
        ['-DM_SELFTEST', '-DCASE_SELFTEST=m_selftest', '-DCASE_STEPS=M_STEPS'],
    )
    status, text = image.emulate(core, work)
    words = os.path.join(work, 'words.txt')
    with open(words, 'w') as f:
        f.write(text)
    compared, said = host.run([inlay, 'steps', os.path.join(net.out, 'm.json'), words])
    t.ok(
        core.name + ': self-test, the word of each step',
        not status and not compared and 'all right' in said,
        text + said,
    )


def ready_cores(t, names):
    """Those of `names` (empty: all) whose tools are here."""
    found = []
    for core in cores.CORES:
        if names and core.name not in names:
            continue
        if cores.missing(core):
            t.skip(core.name, cores.missing(core) + ' is not installed')
        else:
            found.append(core)
    return found


def model_folders(folders):
    found = []
    for folder in folders:
        found += [
            os.path.dirname(path)
            for path in sorted(
                glob.glob(os.path.join(folder, '*.onnx'))
                + glob.glob(os.path.join(folder, '*', '*.onnx'))
            )
        ]
    return found


def run_model(t, folder, work, ready, o, first):
    name = re.sub(r'\W', '_', os.path.basename(folder))
    nets, answers, macs = {}, {}, 0
    for core in ready:
        label = '%s %s' % (core.name, name)
        most = o.macs // (1 if core.fma else 20)
        if core.target not in nets and macs <= most:
            own = os.path.join(work, core.target)
            os.mkdir(own)
            nets[core.target] = Net(
                o.inlay,
                folder,
                name,
                own,
                core.target,
                [f for f in o.options.split(',') if f],
                answers,
            )
        net = nets.get(core.target)
        macs = net.man['totals']['macs'] if net and net.good else macs
        if macs > most:
            t.skip(label, 'more multiplications than --macs')
        elif not net.good and o.trusted:
            t.skip(label, net.text.strip().splitlines()[-1])
        elif not net.good:
            t.ok(label + ': compiles to C', False, net.text)
        else:
            levels = ['-' + level for level in o.levels.split(',')]
            for level in levels:
                run_core(t, core, net, level, o)
            if first:
                run_fault(t, core, net, levels[0])
                run_selftest(
                    t, core, o.inlay, folder, os.path.join(work, core.name + '-selftest'), levels[0]
                )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--cores', default='')
    p.add_argument('--levels', default='O2,Os')
    p.add_argument('--macs', type=int, default=10**12)
    p.add_argument('--trusted', action='store_true')
    p.add_argument('--options', default='', help='more flags of the compiler, with commas between')
    p.add_argument('folders', nargs='*')
    o = p.parse_args()
    t = tap.Tap()
    ready = ready_cores(t, [name for name in o.cores.split(',') if name])
    folders = model_folders(o.folders)
    if not folders:
        t.skip('firmware', 'no models')
    with host.Work() as top:
        for number, folder in enumerate(folders):
            work = os.path.join(top, 'net%d' % number)
            os.mkdir(work)
            run_model(t, folder, work, ready, o, number == 0)
            shutil.rmtree(work)
    t.done()


sys.exit(main())
