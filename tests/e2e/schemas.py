# SPDX-License-Identifier: Apache-2.0
"""Manifests and the report of `check` are as schemas/*.schema.json say: of the models under several
options, and of the corpus.

    schemas.py --inlay INLAY --models MODELS --schemas FOLDER [--corpus CORPUS]"""
import argparse
import json
import os
import subprocess

import host
import tap

try:
    import jsonschema
except ImportError:
    jsonschema = None

OPTIONS = [
    [],
    ['--io=arena'],
    ['--io=rows'],
    ['--optimize=speed'],
    ['--region=a:64K', '--region=b:64K'],
    ['--target=cortex-m4'],
    ['--hash-model'],
    ['--advice'],
]


def models(folder, only=None):
    for path, _, files in sorted(os.walk(folder)):
        yield from (
            os.path.join(path, f)
            for f in sorted(files)
            if f.endswith('.onnx') and (not only or f == only)
        )


def printed(inlay, words):
    """What a command prints as JSON; None where it does not end with 0 or 1."""
    p = subprocess.run(
        [inlay] + words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    )
    return json.loads(p.stdout) if p.returncode in (0, 1) and p.stdout else None


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    p.add_argument('--schemas', required=True)
    p.add_argument('--corpus')
    o = p.parse_args()
    t = tap.Tap()
    if not jsonschema:
        t.skip('schemas', 'python3-jsonschema is not installed')
        t.done()
    judge = {}
    for name in ('manifest', 'check', 'group'):
        with open(os.path.join(o.schemas, name + '.schema.json')) as f:
            schema = json.load(f)
        jsonschema.Draft7Validator.check_schema(schema)
        judge[name] = jsonschema.Draft7Validator(schema)

    def holds(label, kind, document):
        faults = [
            '%s: %s' % (list(e.path), e.message[:200]) for e in judge[kind].iter_errors(document)
        ]
        t.ok(label, not faults, '\n'.join(faults[:5]))

    for model in models(o.models):
        for options in OPTIONS:
            document = printed(o.inlay, ['analyze', model, '--json'] + options)
            if document:
                holds(' '.join([os.path.basename(model)] + options), 'manifest', document)
        for form in ('auto', 'blob'):
            with host.Work() as work:
                host.run(
                    [
                        o.inlay,
                        'compile',
                        model,
                        '-o',
                        work,
                        '--name',
                        'm',
                        '--emit=all',
                        '--weights=' + form,
                    ]
                )
                holds(
                    '%s: the file, %s' % (os.path.basename(model), form),
                    'manifest',
                    host.manifest(work, 'm'),
                )
        for words in (['--max-arena=1K'], [os.path.join(o.models, 'none.onnx'), '--max-ram=1G']):
            holds(
                'check %s' % ' '.join(words[-1:]),
                'check',
                printed(o.inlay, ['check', model, '--json'] + words),
            )
    with host.Work() as work:
        several = [
            word
            for i, model in enumerate(models(o.models))
            for word in (model, '--name', 'm%d' % i)
        ]
        host.run(
            [o.inlay, 'compile', '-o', work, '--name', 'all', '--concurrent', 'm0,m1'] + several
        )
        holds('several models: the file of all', 'group', host.manifest(work, 'all'))
        holds('several models: the file of one', 'manifest', host.manifest(work, 'm0'))
    bad = {'schema_version': 1, 'name': '0'}
    t.ok('what is no manifest is found', any(judge['manifest'].iter_errors(bad)))
    for model in models(o.corpus, 'model.onnx') if o.corpus else ():
        document = printed(o.inlay, ['analyze', model, '--json'])
        if document:
            holds(os.path.relpath(model, o.corpus), 'manifest', document)
    t.done()


main()
