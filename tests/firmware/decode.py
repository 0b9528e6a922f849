# SPDX-License-Identifier: Apache-2.0
"""Coded weights on emulated Cortex-M4: instructions that decoding a byte takes, exact, for each
step of models; a step that takes more than the limit of its kind fails. The figures of
docs/UPDATES.md.

    decode.py --inlay INLAY [--window N] [--palette N] MODEL_FOLDER..."""
import argparse
import os
import re
import shutil

import cores
import host
import image
import tap

SOURCE = os.path.join(image.HERE, 'decode.c')
# Bytes of pairs, but for the escapes of small cells; of classes, and with the lower bytes of
# floats. Smaller constants have a table to make, too.
LIMITS = {'5': 6.2, '4': 6.0, '3': 8.5, '0': 12.7, '8': 6.0}
LEAST = 8192


def counted(work, core, out):
    """Instructions of each step that decodes."""
    shutil.copy(SOURCE, work)
    own = [os.path.join(image.HERE, f) for f in ('start.c', 'start_arm.c')]
    command = (
        [core.compiler + 'gcc', '-std=gnu99']
        + core.flags
        + ['-O2', '-ffp-contract=off', '-I', '.', '-I', image.HERE, '-I', os.path.join(out, 'src')]
    )
    command += ['-D%s=%s' % p for p in image.places(core)] + [
        '-Wl,--defsym=%s=%s' % p for p in image.places(core)
    ]
    command += [
        '-nostartfiles',
        '-Wl,--gc-sections',
        '-Wl,--defsym=STACK_SIZE=%d' % image.STACK,
        '-T',
        os.path.join(image.HERE, 'link.ld'),
        '-o',
        'app.elf',
    ]
    image.must(
        command
        + own
        + ['decode.c']
        + [s for s in host.sources(out) if not s.endswith('/net.c')]
        + ['-lm'],
        work,
    )
    status, text = image.emulate(core, work, image.plugin(work))
    if status:
        raise image.Failed('status %d: %s' % (status, text[:1000]))
    with open(os.path.join(work, 'counts.txt')) as f:
        return [int(n) for n in re.findall(r'instructions (\d+)', f.read())]


def check_model(t, inlay, core, folder, more):
    name = os.path.basename(os.path.abspath(folder))
    data, _ = host.test_data(folder)
    model = host.model_of(folder)
    with host.Work() as work:
        out = os.path.join(work, 'out')
        image.must(
            [
                inlay,
                'compile',
                model,
                '-o',
                out,
                '-n',
                'net',
                '--target',
                core.target,
                '--code-weights',
            ]
            + more
            + host.shape_flags(model, data)
        )
        with open(os.path.join(out, 'src', 'net.c')) as f:
            source = f.read()
        coded = [c for c in host.manifest(out, 'net')['constants'] if c['place'] == 'coded']
        steps = [int(n) for n in re.findall(r'inlay_decoded, .params = &decoding(\d+)', source)]
        all_bytes = all_count = 0
        for step, count in zip(steps, counted(work, core, out)):
            table = re.search(r'inlay_coded coded%d\[\] = \{(.*?)\n\};' % step, source, re.S).group(
                1
            )
            plain = sum(c['plain'] for c in coded if c['step'] == step)
            kinds = sorted(re.findall(r'\.low = (\d)', table))
            text = '%s step %d: %d bytes, low %s: %.2f instructions a byte' % (
                name,
                step,
                plain,
                ' '.join(kinds),
                count / plain,
            )
            all_bytes, all_count = all_bytes + plain, all_count + count
            t.ok(text, plain < LEAST or count <= plain * max(LIMITS[k] for k in kinds))
        print(
            '# %s: %d bytes, %.2f instructions a byte'
            % (name, all_bytes, all_count / max(1, all_bytes))
        )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--window', default='16K')
    p.add_argument('--palette', default='')
    p.add_argument('folders', nargs='+')
    o = p.parse_args()
    t = tap.Tap()
    core = next(c for c in cores.CORES if c.name == 'm4')
    if cores.missing(core):
        t.skip('decode', cores.missing(core) + ' is not installed')
        t.done()
        return
    for folder in o.folders:
        if os.path.isdir(folder):
            check_model(
                t,
                o.inlay,
                core,
                folder,
                ['--window', o.window] + (['--palette', o.palette] if o.palette else []),
            )
        else:
            t.skip(folder, 'is not here')
    t.done()


main()
