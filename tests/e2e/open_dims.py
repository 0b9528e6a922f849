# SPDX-License-Identifier: Apache-2.0
"""Open dimensions of inputs: a batch is 1, with one note, or what --batch says; what else is open
is reported once for each symbol, with the command to type next, and that command, with numbers,
succeeds.

    open_dims.py --inlay INLAY"""
import argparse
import json
import os
import re
import shlex
import subprocess

import host
import tap
from onnx import make_model, make_node, make_value

F32 = 1


def model(*inputs):
    """The sum of all inputs, each a list of dimensions."""
    names = ['x%d' % i for i in range(len(inputs))]
    nodes = [make_node('Sum', names, ['y'], 'sum')]
    return make_model(
        nodes,
        [make_value(n, F32, dims) for n, dims in zip(names, inputs)],
        [make_value('y', F32, inputs[0])],
    )


# name, inputs, options, shapes that the manifest states
SETTLED = [
    ('a batch by name', [['batch', 3]], [], [[1, 3]]),
    ('its other names', [['N', 3], ['batch_size', 3]], [], [[1, 3], [1, 3]]),
    ('any dimension 0', [['rows', 3]], [], [[1, 3]]),
    ('one without a name', [[None, 3]], [], [[1, 3]]),
    ('a batch that comes second', [[3, 'batch']], [], [[3, 1]]),
    ('--batch', [['batch', 3], [None, 3]], ['--batch', '4'], [[4, 3], [4, 3]]),
    ('--dim goes before', [['batch', 3]], ['--dim', 'batch=5'], [[5, 3]]),
    (
        'a symbol that --shape gives elsewhere',
        [['batch', 'T'], ['batch', 'T']],
        ['--shape', 'x0=2x7'],
        [[2, 7], [2, 7]],
    ),
    (
        'a sum of others',
        [[1, 'past', 1], [1, 1, 'past + 1']],
        ['--dim', 'past=7', '--shape', 'x1=1x1xN'],
        [[1, 7, 1], [1, 1, 8]],
    ),
    (
        'a sum by an option',
        [[1, 'past', 'S'], [1, 1, 1, 'total', 1, 1]],
        ['--dim', 'total=past+2*S-1', '--dim', 'past=7', '--dim', 'S=3'],
        [[1, 7, 3], [1, 1, 1, 12, 1, 1]],
    ),
    (
        'another name by an option',
        [[1, 'T', 'past'], [1, 'U', 1]],
        ['--dim', 'past=4', '--dim', 'U=T', '--dim', 'T=3'],
        [[1, 3, 4], [1, 3, 1]],
    ),
    ('heads of a batch', [['batch', 3], ['batch * 4', 3]], [], [[1, 3], [4, 3]]),
    ('a rounded part', [[1, 'T', 1], [1, 1, 'T // 2']], ['--dim', 'T=7'], [[1, 7, 1], [1, 1, 3]]),
    (
        'a number goes before a sum',
        [[1, 'T', 1], [1, 1, 'T + 1']],
        ['--dim', 'T=7', '--dim', 'T + 1=9'],
        [[1, 7, 1], [1, 1, 9]],
    ),
    (
        'a name by --shape',
        [[1, None], [1, 'T']],
        ['--shape', 'x0=1xLONG_1', '--dim', 'LONG_1=4', '--dim', 'T=LONG_1'],
        [[1, 4], [1, 4]],
    ),
    (
        'another name by --shape',
        [[1, 'T', 'T']],
        ['--shape', '1xAxN', '--dim', 'A=1', '--dim', 'T=3'],
        [[1, 1, 3]],
    ),
    ('--shape of the only input', [['batch', 'T']], ['--shape', '2x9'], [[2, 9]]),
]
# name, inputs, options, symbols and inputs that the errors name
OPEN = [
    ('a symbol', [['batch', 'T']], [], ['T']),
    ('a symbol of several inputs', [['batch', 'T'], ['batch', 'T'], ['batch', 'T']], [], ['T']),
    ('N behind a batch', [['batch_size', 'N'], ['batch_size']], [], ['N']),
    ('two symbols', [['batch', 'T', 'C']], [], ['T', 'C']),
    ('a dimension 0 that stands inside elsewhere', [['T', 3], [3, 'T']], [], ['T']),
    ('one without a name', [[1, None]], [], ['x0']),
    ('one that got a name', [[1, None]], ['--shape', '1xL'], ['L']),
    ('"?" is no name', [[1, '?', '?']], [], ['x0']),
    ('a sum of what is open', [[1, 'past', 1], [1, 1, 'past + 1']], [], ['past']),
    (
        'a sum that is no size',
        [[1, 'past', 1], [1, 1, 'past - 9']],
        ['--dim', 'past=7'],
        ['past - 9'],
    ),
    (
        'a sum of what no input has',
        [[1, 'past', 1], [1, 1, 'past + S']],
        ['--dim', 'past=7'],
        ['past + S'],
    ),
    ('both', [['batch', 'T'], ['batch', None]], [], ['T', 'x1']),
    ('a symbol that a shell would take apart', [['batch', "T '$x"]], [], ["T '$x"]),
]


def run(o, words):
    """(status, standard output, messages)"""
    p = subprocess.run(
        [o.inlay] + words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def settled(t, o, path, name, flags, want):
    status, text, messages = run(o, ['analyze', path, '--json'] + flags)
    got = [v['dims'] for v in json.loads(text)['inputs']] if status == 0 else status
    t.ok(name, got == want, '%s, not %s\n%s' % (got, want, messages))
    notes = messages.count(': note: ')
    silent = bool(flags)
    t.ok(
        name + ': one note, or none where an option says it',
        notes == (0 if silent else 1),
        messages,
    )


def proved(t, o, path, work, options=('--batch', '3')):
    """The manifest holds what was settled, so that the proof needs no option."""
    out = os.path.join(work, 'out')
    status, _, messages = run(o, ['compile', path, '-o', out, '--name', 'm', *options])
    if t.ok('compiles', status == 0, messages):
        status, _, messages = run(o, ['prove', os.path.join(out, 'm.json'), path])
        t.ok('is proved', status == 0 and not messages, messages)


def refused(t, o, path, name, flags, named):
    status, text, messages = run(o, ['analyze', path] + flags)
    errors = re.findall(r'error: .*', messages)
    every = all(any('"%s"' % n in e for e in errors) for n in named)
    t.ok(
        name + ': an error for each symbol',
        status == 69 and len(errors) == len(named) and every and not text,
        messages,
    )
    command = re.search(r'help: .*?: inlay (.*)', messages)
    if t.ok(name + ': the command to type next', command is not None, messages):
        words = [re.sub(r'(?<=[=x])N(?=x|$)', '3', w) for w in shlex.split(command.group(1))]
        status, _, messages = run(o, words)
        t.ok(name + ': it succeeds', status == 0, '%s\n%s' % (words, messages))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    o = p.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        path = os.path.join(work, 'm.onnx')

        def write(inputs):
            with open(path, 'wb') as f:
                f.write(model(*inputs))

        for name, inputs, flags, want in SETTLED:
            write(inputs)
            settled(t, o, path, name, flags, want)
        write([['batch', 3], [None, 3]])
        proved(t, o, path, work)
        for name, inputs, flags, named in OPEN:
            write(inputs)
            refused(t, o, path, name, flags, named)
        write([[1, None, 'T']])
        for way in ('--shape', '1xLxN', '--dim', 'L=1..4', '--dim', 'T=1..3'), (
            '--shape',
            '1xLxM',
            '--dim',
            'L=1..4',
            '--dim',
            'M=1..3',
        ):
            status, text, messages = run(o, ['analyze', path, '--json', *way])
            t.ok(
                'bounds by a name, %s' % way[1],
                status == 0 and json.loads(text)['inputs'][0]['dims'] == [1, 4, 3],
                messages,
            )
            proved(t, o, path, work, way)
        write([[2, 3], [2, 3]])
        for flags, word in [
            (['--shape', 'x0=2xL'], 'is fixed to 3'),
            (['--shape', 'x0=2xl'], 'no dimension'),
            (['--shape', 'x0=2xL '], 'cannot read'),
            (['--batch', '2'], 'open batch'),
            (['--shape', '2x3'], '2 inputs'),
            (['--batch', '0'], 'batch of 0'),
            (['--batch', 'x'], 'dimension'),
            (['--dim', 'T=U+1'], '"U+1" is no dimension'),
            (['--dim', 'T=x'], 'no dimension'),
        ]:
            status, text, messages = run(o, ['analyze', path] + flags)
            t.ok(
                '%s is refused' % ' '.join(flags),
                status == 64 and word in messages and not text,
                messages,
            )
    t.done()


main()
