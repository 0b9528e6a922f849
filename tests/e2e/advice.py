# SPDX-License-Identifier: Apache-2.0
"""Advice is what holds: each option that --advice names is given, and the plan takes what was said,
to the byte.

    advice.py --inlay INLAY --models MODELS [--corpus CORPUS [--all]]"""
import argparse
import json
import os
import shlex
import struct

import host
import tap
from onnx import make_model, make_node, make_tensor, make_value

F32 = 1
# Of the corpus, what has a large input, states, integers, no advice.
SOME = ('mlperf-tiny-vww', 'gtcrn-simple', 'mlperf-tiny-resnet8-qdq', 'mnist-pytorch')


def analyzed(inlay, model, *flags):
    status, text = host.run([inlay, 'analyze', model, '--json', *flags])
    return json.loads(text[text.index('{') :]) if status == 0 else text


def figures(manifest):
    return [manifest['ram']['total'], manifest['arena']['size'], manifest['totals']['macs']]


def check(t, inlay, name, model, *flags):
    """How much of it there is."""
    plain, told = analyzed(inlay, model, *flags), analyzed(inlay, model, '--advice', *flags)
    if isinstance(told, str):
        t.ok(name + ': --advice', isinstance(plain, str), told)
        return []
    t.ok(name + ': the plan is the same with advice', figures(plain) == figures(told))
    for advice in told['advice']:
        words = shlex.split(advice['options'])
        given = analyzed(
            inlay, model, *words, *[f for f in flags if f.split('=')[0] not in words[0]]
        )
        want = [advice['ram'], advice['arena'], advice['macs']]
        bad = (
            given
            if isinstance(given, str)
            else ''
            if figures(given) == want
            else 'said %s, is %s' % (want, figures(given))
        )
        t.ok('%s: %s' % (name, advice['options']), not bad, bad)
        t.ok(
            '%s: %s saves something' % (name, advice['options']),
            advice['ram'] < told['ram']['total'],
        )
    return told['advice']


def recurrent():
    """A state that comes back under another name, with letters that a shell reads, and an image
    beside it."""
    nodes = [
        make_node('Add', ['h in', 'h in'], ['h out'], 'twice'),
        make_node('Conv', ["it's x", 'w'], ['y'], 'conv'),
    ]
    values = [make_value("it's x", F32, [1, 3, 32, 32]), make_value('h in', F32, [1, 4096])]
    weights = make_tensor('w', F32, [4, 3, 3, 3], struct.pack('<108f', *[0.5] * 108))
    return make_model(
        nodes,
        values,
        [make_value('h out', F32, [1, 4096]), make_value('y', F32, [1, 4, 30, 30])],
        [weights],
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    parser.add_argument('--models', required=True)
    parser.add_argument('--corpus')
    parser.add_argument('--all', action='store_true')
    o = parser.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        net = os.path.join(work, 'net.onnx')
        with open(net, 'wb') as f:
            f.write(recurrent())
        named = ' '.join(a['options'] for a in check(t, o.inlay, 'a state and an image', net))
        for option in ('--io=in0=rows', '--preprocess=', '--state=', '--io=arena'):
            t.ok('a state and an image: %s is tried' % option, option in named, named)
        faster = [
            a['options']
            for a in check(
                t,
                o.inlay,
                'layer by layer',
                os.path.join(o.models, 'digits', 'digits.onnx'),
                '--optimize=speed',
            )
        ]
        t.ok('layer by layer: the smallest plan is advice', '--optimize=ram' in faster, faster)
        status, text = host.run([o.inlay, 'analyze', net])
        t.ok('without --advice none is given', status == 0 and 'advice' not in text, text)
        status, text = host.run([o.inlay, 'analyze', net, '--advice', '--max-memory=1M'])
        t.ok(
            'an attempt that lacks memory says so',
            status in (0, 71) and (status == 0 or 'memory' in text),
            text,
        )
    found = sorted(path for path, _, files in os.walk(o.corpus or '') if 'model.onnx' in files)
    for folder in found:
        if o.all or os.path.basename(folder) in SOME:
            check(t, o.inlay, os.path.basename(folder), os.path.join(folder, 'model.onnx'))
    if not found:
        t.skip('advice on the corpus', 'it is not here')
    t.done()


if __name__ == '__main__':
    main()
