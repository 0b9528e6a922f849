# SPDX-License-Identifier: Apache-2.0
"""Instructions of a run of each model on each core, exact, against the checked-in table counts.tsv;
bytes of stack, and of code at -O2 and at -Os (`small`), too. More of any fails; fewer ask for a new
table.

    counts.py --inlay INLAY [--corpus CORPUS] [--models MODELS] [--update] [--print] [--cores
    m4,m55] [--only REGEX]

--update writes the table anew (rows of what is not here stay). --print: the table for
docs/FIGURES.md. The figures are those of one compiler, whose versions the table names; with another
one the test is skipped."""
import argparse
import os
import re
import sys

import cores
import host
import image
import tap

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, 'counts.tsv')
# The repository's models on every core, the corpus's where integers or an FPU make them bearable.
OWN = ['digits', 'sine']
CORPUS = [
    'quant-qdq/mlperf-tiny-resnet8-qdq',
    'quant-qdq/mlperf-tiny-kws-int8',
    'quant-qdq/mlperf-tiny-ad-int8',
    'quant-qop/micro-kws-m-qoperator',
    'cnn/mlperf-tiny-resnet8',
    'audio/mlperf-tiny-kws',
    'cnn/mlperf-tiny-vww',
    'autoencoder/mlperf-tiny-ad',
]
FIELDS = 'core model gcc macs instructions cycles stack code small'.split()
TEXTS = 3  # fields that are no numbers


def cycles(core, got):
    """A model, not a measurement, and without the waits of flash. Cortex-M4: an instruction takes a
    cycle, a load one more. Cortex-M55: loads of vectors take two beats and overlap with arithmetic;
    an instruction takes 1.3 cycles.
    """
    if core.name == 'm4':
        return got.instructions + got.loads
    return got.instructions * 13 // 10 if core.name == 'm55' else 0


def measure(inlay, core, folder, name):
    """A row of the table."""
    data, _ = host.test_data(folder)
    model = host.model_of(folder)
    with host.Work() as work:
        out = os.path.join(work, 'out')
        image.must(
            [inlay, 'compile', model, '-o', out, '--name', 'net', '--target', core.target]
            + host.shape_flags(model, data)
        )
        man = host.manifest(out, 'net')
        image.write_case(work, 'net', man, [tensor for _, tensor in data])
        image.build(core, work, out, '-O2')
        got = image.run(core, work, man, image.plugin(work), core.name == 'm4')
        code = image.code_bytes(core, work)
        image.build(core, work, out, '-Os')
        return {
            'core': core.name,
            'model': name,
            'gcc': compiler_of(core),
            'macs': man['totals']['macs'],
            'instructions': got.instructions,
            'cycles': cycles(core, got),
            'stack': got.stack,
            'code': code,
            'small': image.code_bytes(core, work),
        }


def compiler_of(core):
    return image.must([core.compiler + 'gcc', '-dumpfullversion']).strip()


def read_table():
    if not os.path.exists(TABLE):
        return {}
    with open(TABLE) as f:
        lines = f.read().splitlines()[2:]
    rows = [dict(zip(FIELDS, line.split('\t'))) for line in lines]
    for row in rows:
        for field in FIELDS[TEXTS:]:
            row[field] = int(row[field])
    return {(r['core'], r['model']): r for r in rows}


def write_table(rows):
    order = [c.name for c in cores.CORES]
    with open(TABLE, 'w') as f:
        f.write('# SPDX-License-Identifier: Apache-2.0\n' + '\t'.join(FIELDS) + '\n')
        for row in sorted(rows.values(), key=lambda r: (r['model'], order.index(r['core']))):
            f.write('\t'.join(str(row[field]) for field in FIELDS) + '\n')


def judge(t, old, row):
    label = '%s %s' % (row['core'], row['model'])
    if not old:
        t.ok(label + ': has a row in counts.tsv', False, 'counts.py --update')
        return
    if old['gcc'] != row['gcc']:
        t.skip(label, 'the table is of gcc %s' % old['gcc'])
        return
    for field in ('instructions', 'stack', 'code', 'small'):
        t.ok(
            '%s: %s' % (label, field),
            row[field] <= old[field],
            '%d, the table says %d' % (row[field], old[field]),
        )
    if row['instructions'] < old['instructions']:
        print(
            '# %s: %d instructions, the table says %d: counts.py --update'
            % (label, row['instructions'], old['instructions'])
        )


def show(row):
    per = row['instructions'] / row['macs'] if row['macs'] else 0
    print(
        '| %s | %s | %s | %.3f | %s | %d | %d | %d |'
        % (
            row['model'],
            row['core'],
            format(row['instructions'], ','),
            per,
            '%.2f' % (row['cycles'] / row['macs']) if row['cycles'] else '',
            row['stack'],
            row['code'],
            row['small'],
        ),
        flush=True,
    )


def cases(o):
    """(core, folder, name) of all that is here."""
    wanted = [name for name in o.cores.split(',') if name]
    for core in cores.CORES:
        if core.name == 'microbit' or cores.missing(core) or wanted and core.name not in wanted:
            continue
        for name in OWN:
            yield core, os.path.join(o.models, name), name
        for name in CORPUS:
            folder = os.path.join(o.corpus, name)
            if os.path.isdir(folder) and (core.fma or name.startswith('quant')):
                yield core, folder, name


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', default=os.path.join(HERE, '..', '..', 'models'))
    p.add_argument('--corpus', default=os.path.join(HERE, '..', '..', '..', 'shared', 'corpus'))
    p.add_argument('--cores', default='')
    p.add_argument('--only', default='')
    p.add_argument('--update', action='store_true')
    p.add_argument('--print', action='store_true')
    o = p.parse_args()
    t = tap.Tap()
    table = read_table()
    if o.print:
        print(
            (
                '| model | core | instructions | per MAC | cycles per MAC (model) | stack '
                '| code -O2 | code -Os |\n'
                '|---|---|---|---|---|---|---|---|'
            )
        )
    for core, folder, name in cases(o):
        if o.only and not re.search(o.only, name):
            continue
        row = measure(os.path.abspath(o.inlay), core, os.path.abspath(folder), name)
        if o.print:
            show(row)
        if not o.update and not o.print:
            judge(t, table.get((core.name, name)), row)
        table[core.name, name] = row
    if o.update:
        write_table(table)
    elif not o.print:
        t.done()


sys.exit(main())
