# SPDX-License-Identifier: Apache-2.0
"""Each row of `inlay explain` by a command line that ends so: the status is the row's, its words
are in the message, and the message as it was printed leads to the row. docs/TROUBLESHOOTING.md is
what `inlay explain --markdown` prints.

    explain.py --inlay INLAY --models MODELS --page PAGE --header templates/model.h [--update]"""
import argparse
import json
import os
import re
import struct

import host
import onnx
import tap
from onnx import make_model, make_node, make_tensor, make_value

F32, I64 = 1, 7
HUGE = 1 << 31
NEVER = {'bug': 'it would be one'}


class Bench:
    """Files that are wrong, each in its own way; `data(name)` is written once it is asked for."""

    def __init__(self, models, work):
        self.work, self.digits = work, os.path.join(models, 'digits', 'digits.onnx')

    def put(self, name, data):
        path = os.path.join(self.work, name)
        with open(path, 'wb') as f:
            f.write(data)
        return path

    def model(self, name, nodes, inputs, outputs, constants=(), **more):
        value = lambda v: make_value(v[0], v[1], v[2:])
        return self.put(
            name + '.onnx',
            make_model(
                nodes,
                [value(v) for v in inputs],
                [value(v) for v in outputs],
                list(constants),
                **more
            ),
        )

    def relu(self, dims, name='relu', **more):
        return self.model(
            name,
            [make_node('Relu', ['x'], ['y'], 'relu')],
            [('x', F32, *dims)],
            [('y', F32, *dims)],
            **more
        )

    def far(self, name, location, dims=(4,), size=16):
        constant = onnx.make_external('w', F32, dims, location, 0, size)
        return self.model(
            name,
            [make_node('Add', ['x', 'w'], ['y'], 'add')],
            [('x', F32, *dims)],
            [('y', F32, *dims)],
            [constant],
        )


def huge(b):
    """Weights of 2 GiB that are a hole in a file."""
    path = b.put('huge.bin', b'')
    os.truncate(path, HUGE)
    return b.far('huge', 'huge.bin', (HUGE // 4,), HUGE)


def linked(b):
    b.put('here.bin', bytes(16))
    os.symlink('here.bin', os.path.join(b.work, 'link.bin'))
    return b.far('linked', 'link.bin')


def reshape(b):
    return b.model(
        'reshape',
        [make_node('Reshape', ['x', 's'], ['y'], 'r')],
        [('x', F32, 1, 4), ('s', I64, 2)],
        [('y', F32, None, None)],
    )


def mixed(b):
    return b.model(
        'mixed',
        [make_node('Add', ['x', 'w'], ['y'], 'add')],
        [('x', F32, 4)],
        [('y', F32, 4)],
        [make_tensor('w', I64, [4], bytes(32))],
    )


def product(b):
    return b.model(
        'product',
        [make_node('MatMul', ['x', 'w'], ['y'], 'product')],
        [('x', F32, 1, 4)],
        [('y', F32, 1, 4)],
        [make_tensor('w', F32, [3, 4], bytes(48))],
    )


def declared(b):
    return b.model(
        'declared',
        [make_node('Relu', ['x'], ['y'], 'relu')],
        [('x', F32, 1, 4)],
        [('y', F32, 1, 5)],
    )


def strange(b):
    return b.model(
        'strange', [make_node('Frobnicate', ['x'], ['y'], 'f')], [('x', F32, 4)], [('y', F32, 4)]
    )


def out(b, name='out'):
    return ['-o', os.path.join(b.work, name)]


def wrong_result(b):
    return [
        'run',
        b.relu([1, 4]),
        '-i',
        'zeros',
        '--expect',
        b.put('want.pb', make_tensor('y', F32, [1, 4], struct.pack('<4f', 0, 0, 7, 0))),
    ]


# The row's name: a command line that brings it about.
CASES = {
    'done': lambda b: ['analyze', b.digits],
    'limit': lambda b: ['check', b.digits, '--max-arena', '100'],
    'usage': lambda b: ['analyze'],
    'malformed': lambda b: ['analyze', b.put('empty.onnx', b'')],
    'no-input': lambda b: ['analyze', os.path.join(b.work, 'none.onnx')],
    'unsupported': lambda b: ['analyze', strange(b)],
    'memory': lambda b: ['analyze', b.digits, '--max-memory', '2K'],
    'cannot-create': lambda b: ['compile', b.digits, '-o', os.path.join(b.put('file', b''), 'out')],
    'io': lambda b: ['compile', b.digits, '--depfile', '/dev/full'] + out(b),
    'config': lambda b: ['check', '@' + b.put('list.json', b'1,2,3')],
    'open-dimension': lambda b: ['analyze', b.relu([1, 'T'])],
    'open-shape': lambda b: ['analyze', b.relu([1, None])],
    'batch': lambda b: ['analyze', b.relu(['N', 4])],
    'shape-at-run-time': lambda b: ['analyze', reshape(b)],
    'operator': lambda b: ['analyze', strange(b)],
    'new-opset': lambda b: ['analyze', b.relu([1, 4], opset=999)],
    'types-differ': lambda b: ['analyze', mixed(b)],
    'shapes-differ': lambda b: ['analyze', product(b)],
    'declared-shape': lambda b: ['analyze', declared(b)],
    'not-a-model': lambda b: ['analyze', b.put('text.onnx', b'hello, this is no model\n')],
    'git-lfs': lambda b: [
        'analyze',
        b.put('lfs.onnx', b'version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 12\n'),
    ],
    'external-data': lambda b: ['analyze', b.far('far', 'none.bin')],
    'external-link': lambda b: ['analyze', linked(b)],
    'file-missing': lambda b: ['analyze', os.path.join(b.work, 'none.onnx')],
    'output-folder': lambda b: ['compile', b.digits],
    'output-place': lambda b: ['compile', b.digits, '-o', os.path.join(b.put('file', b''), 'out')],
    'name': lambda b: ['compile', b.digits, '--name', 'My Net'] + out(b),
    'nearest-name': lambda b: ['analyse', b.digits],
    'input-count': lambda b: ['run', b.digits],
    'input-shape': lambda b: ['run', b.digits, '-i', b.put('three.csv', b'1,2,3\n')],
    'differs': wrong_result,
    'arena-limit': lambda b: ['analyze', b.digits, '--arena-limit', '100'],
    'over-limit': lambda b: ['compile', b.digits, '--max-ram', '100'] + out(b),
    'regions': lambda b: ['analyze', b.digits, '--region', 'a:100'],
    'memory-budget': lambda b: ['analyze', b.digits, '--max-memory', '2K'],
    'rows': lambda b: ['compile', b.relu([1, 4]), '--io', 'rows'] + out(b),
    'large-weights': lambda b: ['compile', huge(b), '--weights', 'c'] + out(b),
}


def ask(inlay, *words):
    status, text = host.run([inlay, 'explain'] + list(words))
    return text if status == 0 else 'status %d: %s' % (status, text)


def row(t, inlay, r, models):
    name = r['name']
    if name in NEVER:
        return t.skip(name, NEVER[name])
    with host.Work() as work:
        status, text = host.run([inlay] + CASES[name](Bench(models, work)), work)
        text = text.replace(work, '')
    t.ok(
        '%s: a command ends with %d' % (name, r['status']),
        status == r['status'],
        'status %d: %s' % (status, text),
    )
    by_name = ask(inlay, name)
    t.ok(
        name + ': by its name',
        by_name.startswith('%s (exit status %d)\n' % (name, r['status'])),
        by_name,
    )
    if 'says' not in r:
        by_number = ask(inlay, str(r['status']))
        return t.ok('%s: by its number' % name, by_number == by_name, by_number)
    found = [
        line
        for line in text.split('\n')
        if '%s (exit status %d)' % (name, r['status']) in ask(inlay, line)
    ]
    return t.ok(name + ': by the message', found, text)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    p.add_argument('--page', required=True)
    p.add_argument('--header', required=True)
    p.add_argument('--update', action='store_true')
    o = p.parse_args()
    t = tap.Tap()
    table = json.loads(ask(o.inlay, '--json'))
    rows = table['statuses'] + table['messages']
    names = [r['name'] for r in rows]
    t.ok(
        'names are those of the cases, each once',
        sorted(names) == sorted(list(CASES) + list(NEVER)),
        sorted(set(names) ^ set(CASES)),
    )
    t.ok(
        'statuses are those of the contract',
        {r['status'] for r in table['statuses']} == host.DOCUMENTED,
    )
    t.ok('a message has one of them', all(r['status'] in host.DOCUMENTED for r in rows))
    for r in rows:
        row(t, o.inlay, r, os.path.abspath(o.models))
    listed = ask(o.inlay)
    t.ok('all are listed', all(n in listed for n in names), listed)
    t.ok(
        'what is not known',
        'did you mean open-dimension?' in ask(o.inlay, 'open-dimensoin')
        and 'status 64' in ask(o.inlay, ''),
        ask(o.inlay, ''),
    )
    wide = [
        line for line in '\n'.join(ask(o.inlay, n) for n in names).split('\n') if len(line) > 80
    ]
    t.ok('lines of 80 columns', not wide, wide)
    with open(o.header) as f:
        returned = {(m[0], int(m[1])) for m in re.findall(r'MODEL_(E_\w+|MORE) = (\d+)', f.read())}
    runs = {(r['name'], r['number']) for r in table['runs']}
    t.ok('what generated code returns', len(returned) > 8 and runs == returned, runs ^ returned)
    for name, number in sorted(runs):
        text = ask(o.inlay, 'KWS_' + name)
        t.ok(
            'KWS_%s' % name,
            text.startswith('NAME_%s (%d,' % (name, number))
            and text == ask(o.inlay, name)
            and name in listed,
            text,
        )
    page = ask(o.inlay, '--markdown')
    if o.update:
        with open(o.page, 'w') as f:
            f.write(page)
    with open(o.page) as f:
        t.ok('the page is current', f.read() == page, 'explain.py --update writes it')
    t.done()


main()
