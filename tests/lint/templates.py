# SPDX-License-Identifier: Apache-2.0
"""The templates are C as they stand, under each combination of the conditions that a model can
have.

    templates.py ROOT"""
import itertools
import os
import shutil
import sys

import host
import tap

WEIGHTS = {
    'no weights': ['HAS_WEIGHTS=0'],
    'linked weights': [],
    'weights apart': ['WEIGHTS_APART=1'],
}
FREE = ['HAS_REGIONS', 'HAS_SEGMENTS', 'HAS_BUFFERS']
WAITS = [[], ['SHARED=1'], ['BY_ROWS=1', 'WAITS=1'], ['SLICED=1', 'WAITS=1', 'SHARED=1']]


def main():
    root = os.path.abspath(sys.argv[1])
    command = [
        '-std=c99',
        '-fsyntax-only',
        '-Wall',
        '-Wextra',
        '-Wpedantic',
        '-Wconversion',
        '-Wshadow',
        '-Wdouble-promotion',
        '-Werror',
        '-I',
        os.path.join(root, 'runtime'),
        '-I',
        os.path.join(root, 'templates'),
        os.path.join(root, 'templates', 'model.c'),
    ]
    t = tap.Tap()
    compiler = next((c for c in ('gcc', 'clang', 'cc') if shutil.which(c)), None)
    for name, given in WEIGHTS.items():
        if not compiler:
            t.skip(name, 'there is no C compiler')
            continue
        bad = []
        for *values, waits in itertools.product(*['01'] * len(FREE), WAITS):
            flags = [
                '-DMODEL_' + d
                for d in given + waits + ['%s=%s' % pair for pair in zip(FREE, values)]
            ]
            for watched in ([], ['-DINLAY_CHECK']):
                status, text = host.run([compiler] + flags + watched + command)
                if status:
                    bad.append(' '.join(flags + watched) + '\n' + text[:500])
        t.ok('templates, %s' % name, not bad, '\n'.join(bad[:3]))
    t.done()


main()
