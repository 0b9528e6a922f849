# SPDX-License-Identifier: Apache-2.0
"""Every allocation fails, on many models: runs the program `faults` on models of the folders, taken
at equal distances.

    faults.py --inlay INLAY --faults PROGRAM --count 30 FOLDER..."""
import argparse
import os
import tempfile

import cases
import host
import tap

LARGEST = 1 << 20


def command(folder):
    """The model, and the words for its run; None: too large, or nothing to run it on."""
    path = os.path.join(folder, 'model.onnx')
    if os.path.getsize(path) > LARGEST or cases.out_of_scope(folder, folder):
        return None
    data = host.test_data(folder)[0]
    flags = host.shape_flags(path, data)
    return (
        [path]
        + ['--input=' + file for file, _ in data]
        + ['%s=%s' % pair for pair in zip(flags[::2], flags[1::2])]
    )


def judge(t, name, words, every):
    with host.Work() as work:
        status, text = host.run(words, cwd=work, limit=7200, env={'INLAY_EVERY': str(every)})
    lines = text.splitlines()
    done = sum(line.startswith('ok ') for line in lines)
    t.ok(name, status == 0 and done and lines[0] == '1..%d' % done, text[-2000:])


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--faults', required=True)
    p.add_argument('--count', type=int, default=30)
    p.add_argument('--every', type=int, default=101, help="of the arenas' pieces")
    p.add_argument('folder', nargs='+')
    o = p.parse_args()
    t = tap.Tap()
    with tempfile.TemporaryDirectory() as scratch:
        models = cases.find([f for f in o.folder if os.path.exists(f)], scratch)
        step = max(len(models) // o.count, 1)
        for at in range(0, len(models), step):
            for name, folder in models[at : at + step]:
                words = command(folder)
                if words and host.run([o.inlay, 'run'] + words)[0] == 0:
                    judge(t, name, [o.faults] + words, o.every)
                    break
    t.done()


main()
