# SPDX-License-Identifier: Apache-2.0
"""Texts that the compiler prints for our own models, against the copies beside this file: the graph
as read and after the passes, the report, the header and the code. A difference is a change to look
at; --update accepts it.

    run.py --inlay INLAY --models MODELS [--update]"""
import argparse
import difflib
import os

import host
import tap

HERE = os.path.dirname(os.path.abspath(__file__))


def texts(o, name):
    """[(golden file, text)] of one model."""
    model = os.path.join(o.models, name, name + '.onnx')
    found = []
    for file, flags in [
        ('read', ['dump']),
        ('fused', ['dump', '--after', 'fuse_act']),
        ('final', ['dump', '--after', 'clean']),
        ('report', ['analyze']),
    ]:
        status, text = host.run([o.inlay, flags[0], model] + flags[1:])
        found.append(
            ('%s.%s.txt' % (name, file), text if status == 0 else 'status %d\n%s' % (status, text))
        )
    with host.Work() as work:
        status, text = host.run([o.inlay, 'compile', model, '-o', os.path.join(work, 'out')])
        if status == 0:
            for end in ('.h', '.c'):
                with open(os.path.join(work, 'out', 'src', name + end)) as f:
                    found.append((name + end + '.txt', f.read()))
        else:
            found.append((name + '.h.txt', text))
    return found


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    p.add_argument('--update', action='store_true')
    o = p.parse_args()
    t = tap.Tap()
    for name in ('sine', 'digits'):
        for file, text in texts(o, name):
            path = os.path.join(HERE, file)
            want = ''
            if os.path.exists(path):
                with open(path) as f:
                    want = f.read()
            if o.update:
                with open(path, 'w') as f:
                    f.write(text)
            difference = list(
                difflib.unified_diff(
                    want.splitlines(), text.splitlines(), 'expected', 'now', lineterm='', n=1
                )
            )
            t.ok(
                file,
                o.update or want == text,
                '\n'.join(difference[:40]) + '\n(accept it with tests/golden/run.py --update)',
            )
    t.done()


main()
