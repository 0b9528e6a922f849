# SPDX-License-Identifier: Apache-2.0
"""The operators against test models with reference answers, by `inlay run`: no C compiler, a few
milliseconds each.

    run.py --inlay INLAY --known known.txt [--prefix NAME/] [--only REGEX] [--update] FOLDER|TAR...

A test is a folder with model.onnx and test_data_set_0/. known.txt lists those that are not right
yet, each with its reason; a listed test that is right, or goes wrong in another way, fails, and so
does an unlisted one that is not right. --update writes the list anew for the prefix in use; a
reason that a person wrote stays while the test fails in the same way. A listed test counts as
skipped."""
import argparse
import concurrent.futures
import os
import re
import shutil
import tempfile

import cases
import host
import onnx
import tap

MEASURED = re.compile(r'wrong: output \d+ ')  # as judge() words it


def reason(status, text):
    """The message without the file's place."""
    lines = (
        [line for line in text.splitlines() if 'error: ' in line]
        or text.strip().splitlines()
        or ['']
    )
    return 'status %d: %s' % (status, lines[0].split('error: ')[-1].strip()[:110])


def judge(inlay, folder, file='model.onnx', flags=()):
    """'' or what is not right."""
    model = os.path.join(folder, file)
    data, want = host.test_data(folder)
    n = len(onnx.read_io(model)[0])
    with host.Work() as out:
        command = [inlay, 'run', model, '-o', out] + list(flags) + host.shape_flags(model, data)
        for path, _ in data[:n]:
            command += ['--input', path]
        status, text = host.run(command, limit=120)
        if status:
            return reason(status, text)
        for i, w in enumerate(want):
            path = os.path.join(out, 'output_%d.pb' % i)
            if not os.path.exists(path):
                return 'wrong: output %d is missing' % i
            bad = onnx.difference(onnx.read_tensor(path), w)
            if bad:
                return 'wrong: output %d %s' % (i, bad)
    return ''


def read_known(path):
    with open(path) as f:
        rows = [
            line.rstrip('\n').split('\t', 1)
            for line in f
            if line.strip() and not line.startswith('#')
        ]
    return dict(rows)


def write_known(path, known):
    with open(path) as f:
        head = [line for line in f if line.startswith('#')]
    with open(path, 'w') as f:
        f.writelines(head + ['%s\t%s\n' % row for row in sorted(known.items())])


def kind(why):
    """What must stay the same of a reason: the status, or that the answer is wrong."""
    return why.split(':')[0]


def listed(name, why, known):
    """The reason to list: the one that stands there, unless it only tells a value."""
    stands = known.get(name, '')
    return stands if kind(stands) == kind(why) and not MEASURED.match(stands) else why


def report(t, name, why, known):
    if name in known and not why:
        t.fail(name, 'passes, but is listed in known.txt (%s): take it out' % known[name])
    elif name in known and kind(why) == kind(known[name]):
        t.skip(name, 'known: ' + known[name])
    else:
        t.ok(name, not why, why)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--known', required=True)
    p.add_argument('--prefix', default='')
    p.add_argument('--only', default='')
    p.add_argument('--jobs', type=int, default=os.cpu_count())
    p.add_argument('--update', action='store_true')
    p.add_argument('paths', nargs='+')
    o = p.parse_args()
    t, known, scratch = tap.Tap(), read_known(o.known), tempfile.mkdtemp(prefix='inlay-ops-')
    missing = [path for path in o.paths if not os.path.exists(path)]
    tests = [
        (o.prefix + n, f)
        for n, f in cases.find([x for x in o.paths if x not in missing], scratch)
        if re.search(o.only, o.prefix + n)
    ]
    scope = {name: cases.out_of_scope(name, folder) for name, folder in tests}
    inside = [(n, f) for n, f in tests if not scope[n]]
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        found = dict(
            zip((n for n, _ in inside), pool.map(lambda test: judge(o.inlay, test[1]), inside))
        )
    shutil.rmtree(scratch, ignore_errors=True)
    if o.update:
        kept = {
            n: why
            for n, why in known.items()
            if n not in scope and not n.startswith(o.prefix or '\0')
        }
        write_known(
            o.known, {**kept, **{n: listed(n, why, known) for n, why in found.items() if why}}
        )
        print(
            '%d right, %d listed'
            % (sum(not w for w in found.values()), sum(bool(w) for w in found.values()))
        )
        return
    for path in missing:
        t.skip(o.prefix + os.path.basename(path), 'not on this machine')
    for name, _ in tests:
        if scope[name]:
            t.skip(name, scope[name])
        else:
            report(t, name, found[name], known)
    t.done()


if __name__ == '__main__':
    main()
