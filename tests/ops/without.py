# SPDX-License-Identifier: Apache-2.0
"""Optional passes leave the answer as it is: the reference tests again with each pass left out, and
with all of them.

    without.py --inlay INLAY --passes passes.def [--only REGEX] FOLDER...

A test is a folder with model.onnx and test_data_set_0/; those that are not right with all passes
are skipped."""
import argparse
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases  # noqa: E402
import host  # noqa: E402
import onnx  # noqa: E402
import run  # noqa: E402
import tap  # noqa: E402

ROW = re.compile(r'^PASS\((\w+),\s*\w+,\s*(true|false),', re.M)


def optional_passes(path):
    with open(path) as f:
        return [name for name, required in ROW.findall(f.read()) if required == 'false']


def wrong(inlay, folder, without):
    """'' or what is not right."""
    model = os.path.join(folder, 'model.onnx')
    data, want = host.test_data(folder)
    with host.Work() as out:
        command = [inlay, 'run', model, '-o', out] + host.shape_flags(model, data)
        for name in without:
            command += ['--without', name]
        for path, _ in data[: len(onnx.read_io(model)[0])]:
            command += ['--input', path]
        status, text = host.run(command, limit=120)
        if status:
            return run.reason(status, text)
        for i, w in enumerate(want):
            bad = onnx.difference(onnx.read_tensor(os.path.join(out, 'output_%d.pb' % i)), w)
            if bad:
                return 'output %d %s' % (i, bad)
    return ''


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--passes', required=True)
    p.add_argument('--only', default='')
    p.add_argument('paths', nargs='+')
    o = p.parse_args()
    t, passes = tap.Tap(), optional_passes(o.passes)
    t.ok('there are optional passes', bool(passes), o.passes)
    for name, folder in cases.find([x for x in o.paths if os.path.isdir(x)], None):
        if (
            not re.search(o.only, name)
            or cases.out_of_scope(name, folder)
            or wrong(o.inlay, folder, [])
        ):
            continue
        why = [
            (what, wrong(o.inlay, folder, left))
            for what, left in [(x, [x]) for x in passes] + [('all', passes)]
        ]
        t.ok(
            name,
            not any(w for _, w in why),
            '; '.join('without %s: %s' % row for row in why if row[1]),
        )
    t.done()


if __name__ == '__main__':
    main()
