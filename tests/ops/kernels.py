# SPDX-License-Identifier: Apache-2.0
"""Every kernel, and every operator of the table, is run by a test with a reference: the operator
tests that pass (known.txt lists the others), element_types.py, operators.py, domains.py, found.py,
or a program of tests/unit that names the kernel. Untested ones are listed in untested_kernels.txt;
operators there begin with "operator".

    kernels.py --inlay INLAY --root ROOT [--update] FOLDER|TAR..."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import cases
import domains
import element_types
import found
import host
import onnx
import operators
import run
import tap


def analyzed(inlay, model, *flags):
    """Names of the kernels of its steps."""
    p = subprocess.run(
        [inlay, 'analyze', model, '--json'] + list(flags),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    return (
        {step['kernel'] for step in json.loads(p.stdout)['steps']} if p.returncode == 0 else set()
    )


def of_test(inlay, folder):
    model = os.path.join(folder, 'model.onnx')
    return analyzed(inlay, model, *host.shape_flags(model, host.test_data(folder)[0]))


def of_types(inlay, scratch):
    """The kernels of the models with answers of our own, and (operator, type of the first
    operand)."""
    used, uses, path = set(), set(), os.path.join(scratch, 'types.onnx')
    for _, m in list(element_types.models(inlay)) + list(
        operators.models(operators.GROUPS + domains.GROUPS)
    ):
        m.write(path)
        used |= analyzed(inlay, path)
        uses |= onnx.read_uses(path)
    return used, uses


def page(rows, uses):
    """docs/TESTED_TYPES.md: each operator, the types that a test with a reference answer ran right,
    and the others it takes."""
    text = [
        '# Tested types\n',
        'Made by `tests/update.sh`; a test holds it current. For the first operand of each '
        'operator: the element types that a test with',
        'a reference answer runs right, and those that are taken without such a test. Types of '
        'values inside a graph are not counted.\n',
        '| operator | tested | taken, not tested |',
        '|---|---|---|',
    ]
    taken = {}
    for r in rows:
        name = (r['domain'] + '.' if r['domain'] != 'ai.onnx' else '') + r['name']
        taken.setdefault(name, {}).update(dict.fromkeys(r['types']))
    for name, types in sorted(taken.items()):
        ran = [t for t in types if (name, t) in uses]
        text.append(
            '| %s | %s | %s |' % (name, ', '.join(ran), ', '.join(t for t in types if t not in ran))
        )
    count = sum((n, t) in uses for n, types in taken.items() for t in types)
    return '\n'.join(text) + '\n\n%d of %d.\n' % (count, sum(map(len, taken.values())))


def held_by_us():
    return (
        set(element_types.operators())
        | operators.held(operators.GROUPS + domains.GROUPS)
        | {'%s.%s' % row[:2] for row in domains.REFUSED}
    )


def of_found(inlay, scratch, all_found):
    """The kernels of found.py."""
    used, path = set(), os.path.join(scratch, 'found.onnx')
    for case in all_found:
        with open(path, 'wb') as f:
            f.write(found.model_of(case)[0])
        used |= analyzed(inlay, path)
    return used


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--root', required=True)
    p.add_argument('--update', action='store_true')
    p.add_argument('paths', nargs='+')
    o = p.parse_args()
    t, root, scratch = tap.Tap(), pathlib.Path(o.root), tempfile.mkdtemp(prefix='inlay-kernels-')
    names = re.findall(r'^KERNEL\((\w+),', (root / 'runtime/kernels/kernels.def').read_text(), re.M)
    units = '\n'.join(f.read_text() for f in (root / 'tests/unit').rglob('*.[ch]'))
    known = {n.split('/', 1)[1] for n in run.read_known(root / 'tests/ops/known.txt')}
    tests = [
        f
        for n, f in cases.find([x for x in o.paths if os.path.exists(x)], scratch)
        if n not in known and not cases.out_of_scope(n, f)
    ]
    if any(not os.path.exists(path) for path in o.paths):
        t.skip('kernels', 'not all reference data is on this machine')
        t.done()
    all_found = found.read(root / 'tests/ops/found.txt')
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        own, uses = of_types(o.inlay, scratch)
        used = (own | of_found(o.inlay, scratch, all_found)).union(
            *pool.map(lambda f: of_test(o.inlay, f), tests)
        )
    uses = uses.union(*(onnx.read_uses(os.path.join(f, 'model.onnx')) for f in tests))
    held = (
        set().union(*(onnx.read_operators(os.path.join(f, 'model.onnx')) for f in tests))
        | held_by_us()
    )
    held |= {(c['domain'] + '.' if c.get('domain') else '') + c['op'] for c in all_found}
    shutil.rmtree(scratch, ignore_errors=True)
    words = set(re.findall(r'\w+', units))
    idle = [n for n in names if n not in used and 'inlay_' + n not in words and n not in words]
    rows = json.loads(subprocess.run([o.inlay, 'ops', '--json'], stdout=subprocess.PIPE).stdout)[
        'operators'
    ]
    full = {(r['domain'] + '.' if r['domain'] != 'ai.onnx' else '') + r['name'] for r in rows}
    idle += ['operator ' + n for n in full - held]
    path, types = root / 'tests/ops/untested_kernels.txt', root / 'docs/TESTED_TYPES.md'
    if o.update:
        head = [line for line in path.read_text().splitlines() if line.startswith('#')]
        types.write_text(page(rows, uses))
        path.write_text('\n'.join(head + sorted(idle)) + '\n')
        print(
            '%d kernels are run by reference tests, %d kernels and operators listed as untested'
            % (len(used), len(idle))
        )
        return
    with open(path) as f:
        listed = {line.strip() for line in f if line.strip() and not line.startswith('#')}
    t.ok(
        '%d kernels are run by %d reference tests, %d by unit tests'
        % (len(used), len(tests), len(set(names) - used - set(idle))),
        bool(used),
    )
    t.ok(
        'no kernel or operator without a test, but for those listed',
        not set(idle) - listed,
        '\n'.join(sorted(set(idle) - listed)),
    )
    t.ok(
        'docs/TESTED_TYPES.md is current',
        types.read_text() == page(rows, uses),
        'run tests/update.sh INLAY',
    )
    t.ok(
        'none is listed that has a test',
        not listed - set(idle),
        '\n'.join(sorted(listed - set(idle))),
    )
    t.done()


main()
