# SPDX-License-Identifier: Apache-2.0
"""The generated C of many test models answers the same bytes as `inlay run`, and compiles without a warning.

    same_bytes.py --inlay INLAY [--every N] [--only REGEX] [--cc gcc] [--flags='-O1'] [--group N] [--jobs N] FOLDER|TAR...

Models are taken in groups that share one program, for the time that takes; where a group fails its models are tried one by
one. Every N-th model is taken (--every). Models that `inlay` refuses are the matter of tests/ops."""
import argparse
import concurrent.futures
import os
import re
import shlex
import shutil
import tempfile

import cases
import host
import onnx
import tap


class Model:
    """One model as C below `work`, under a name of its own."""
    def __init__(self, o, work, name, folder):
        self.name, self.work, self.data = name, work, host.test_data(folder)[0]
        model, out = os.path.join(folder, 'model.onnx'), os.path.join(work, 'out-' + name)
        shape = host.shape_flags(model, self.data)
        self.data = self.data[:len(onnx.read_io(model)[0])]
        self.status, self.text = host.run([o.inlay, 'compile', model, '-o', out, '--name', name, '--weights', 'c'] + shape)
        self.ran, self.said = host.run([o.inlay, 'run', model, '-o', os.path.join(work, 'run-' + name)] + shape +
                                       [x for path, _ in self.data for x in ('--input', path)])
        if not self.status:
            self.manifest = host.manifest(out, name)
            shutil.copytree(os.path.join(out, 'src'), os.path.join(work, 'src'), dirs_exist_ok=True)

    def other_data(self):
        """Some old tests hold data of another type or shape than their model says."""
        return self.ran == 65 and 'test_data_set_0' in self.said

    def differs(self):
        for i, got in enumerate(host.results(self.work, self.name, self.manifest)):
            want = onnx.read_tensor(os.path.join(self.work, 'run-' + self.name, 'output_%d.pb' % i))
            if list(got.dims) != list(want.dims) or got.raw != want.raw:
                return 'output %d: %s' % (i, onnx.difference(got, want, 0, 0) or 'other bytes')
        return ''


def build(o, work, models):
    """'' or what the C compiler or the program says."""
    host.write_main(work, [(m.name, m.manifest, [x for _, x in m.data]) for m in models])
    source = [f for m in models for f in (m.name + '.c', m.name + '_weights.c') if os.path.exists(os.path.join(work, 'src', f))]
    command = [o.cc] + host.STRICT + shlex.split(o.flags) + ['-I', 'src', '-o', 'a.out', 'main.c'] + ['src/' + f for f in source] + ['-lm']
    status, text = host.run(command, work, limit=900)
    if status:
        return o.cc + ': ' + text[:2000]
    status, text = host.run(['./a.out'], work)
    return 'exit %d\n%s' % (status, text[:2000]) if status else ''


def check(o, group):
    """{test: '' or what is wrong} of [(test, folder)]."""
    with host.Work() as work:
        made = {test: Model(o, work, 'm%d' % i, folder) for i, (test, folder) in enumerate(group)}
        found = {test: 'compiles, but does not run: ' + m.said for test, m in made.items() if not m.status and m.ran and not m.other_data()}
        found.update({test: 'runs, but does not compile: ' + m.text for test, m in made.items() if m.status and not m.ran})
        taken = {test: m for test, m in made.items() if not m.status and not m.ran}
        bad = build(o, work, list(taken.values())) if taken else ''
        if bad and len(group) > 1:
            for one in group:
                found.update(check(o, [one]))
            return found
        found.update({test: bad or m.differs() for test, m in taken.items()})
        return found


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--every', type=int, default=1)
    p.add_argument('--only', default='')
    p.add_argument('--cc', default='gcc')
    p.add_argument('--flags', default='-O1')
    p.add_argument('--group', type=int, default=16)
    p.add_argument('--jobs', type=int, default=1)
    p.add_argument('paths', nargs='+')
    o = p.parse_args()
    t, scratch = tap.Tap(), tempfile.mkdtemp(prefix='inlay-bytes-')
    if not shutil.which(o.cc):
        t.skip(o.cc, 'not installed')
        t.done()
    for path in o.paths:
        if not os.path.exists(path):
            t.skip(os.path.basename(path), 'not on this machine')
    tests = [x for x in cases.find([x for x in o.paths if os.path.exists(x)], scratch) if re.search(o.only, x[0]) and not cases.out_of_scope(*x)]
    tests = tests[::o.every]
    groups = [tests[i:i + o.group] for i in range(0, len(tests), o.group)]
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for group, found in zip(groups, pool.map(lambda g: check(o, g), groups)):
            for test, _ in group:
                if test in found:
                    t.ok(test, not found[test], found[test])
                else:
                    t.skip(test, 'refused')
    shutil.rmtree(scratch, ignore_errors=True)
    t.done()


if __name__ == '__main__':
    main()
