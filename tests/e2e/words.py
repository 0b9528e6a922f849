# SPDX-License-Identifier: Apache-2.0
"""Strings of a model: on the device they are numbers. Models whose inputs, constants and results
are words, run on words, and their results compared with what the operator means, spelt here; then
the generated header, whose table must hold every word as the model has it.

    words.py --inlay INLAY"""
import argparse
import json
import os
import struct
import subprocess

import host
import tap
from onnx import make_model, make_node, make_value, put

F32, I64, TEXT, BOOL = 1, 7, 8, 9
FORM = {F32: 'f', I64: 'q', BOOL: '?'}
ML = ('ai.onnx.ml', 3)
# Values that no result consists of.
OTHER = {F32: 77.0, I64: 77, TEXT: 'something else', BOOL: True}
ODD = [
    '',
    'a "quoted" one',
    'back\\slash',
    'a??/trigraph',
    'new\nline',
    'äöü',
    '*/ #include "x"',
    '1',
]


def tensor(name, code, dims, values):
    head = b''.join(put(1, d) for d in dims) + put(2, code) + put(8, name)
    if code == TEXT:
        return head + b''.join(put(6, v.encode()) for v in values)
    return head + put(9, struct.pack('<%d%s' % (len(values), FORM[code]), *values))


def model(nodes, ins, outs, weights=()):
    value = lambda v: make_value(v[0], v[1], v[2])
    return make_model(
        nodes,
        [value(v) for v in ins],
        [value(v) for v in outs],
        [tensor(*w) for w in weights],
        20,
        [ML],
    )


def ml(op, ins, outs, **attrs):
    return make_node(op, ins, outs, 'it', 'ai.onnx.ml', **attrs)


def cases():
    """(name, model, inputs, results), each value as the words or numbers that it is."""
    x, labels = [('x', F32, [1, 2])], ['no', 'maybe', 'yes']
    linear = dict(coefficients=[1.0, 0.0, 0.0, 1.0, -1.0, -1.0], intercepts=[0.0, 0.0, 0.0])
    yield (
        'class labels',
        model(
            [ml('LinearClassifier', ['x'], ['y', 'z'], classlabels_strings=labels, **linear)],
            x,
            [('y', TEXT, [1]), ('z', F32, [1, 3])],
        ),
        [[1.0, 3.0]],
        [['maybe'], [1.0, 3.0, -4.0]],
    )
    yield (
        'a class chosen by its number',
        model(
            [ml('ArrayFeatureExtractor', ['classes', 'i'], ['y'])],
            [('i', I64, [1])],
            [('y', TEXT, [1, 1])],
            [('classes', TEXT, [3], labels)],
        ),
        [[2]],
        [['yes']],
    )
    tree = dict(
        classlabels_strings=labels,
        nodes_treeids=[0, 0, 0],
        nodes_nodeids=[0, 1, 2],
        nodes_featureids=[0, 0, 0],
        nodes_values=[0.5, 0.0, 0.0],
        nodes_modes=['BRANCH_LEQ', 'LEAF', 'LEAF'],
        nodes_truenodeids=[1, 0, 0],
        nodes_falsenodeids=[2, 0, 0],
        class_treeids=[0, 0],
        class_nodeids=[1, 2],
        class_ids=[0, 2],
        class_weights=[1.0, 1.0],
    )
    yield (
        'labels of a tree',
        model(
            [ml('TreeEnsembleClassifier', ['x'], ['y', 'z'], **tree)],
            x,
            [('y', TEXT, [1]), ('z', F32, [1, 3])],
        ),
        [[1.0, 0.0]],
        [['yes'], [0.0, 0.0, 1.0]],
    )
    word = [('x', TEXT, [4])]
    given = [['yes', 'no', 'other', 'yes']]
    for kind, code, values, want, default in (
        ('int64s', I64, [7, 8, 9], [9, 7, -1, 9], {}),
        ('floats', F32, [0.5, 1.5, 2.5], [2.5, 0.5, 9.0, 2.5], dict(default_float=9.0)),
        ('strings', TEXT, ['A', 'B', 'C'], ['C', 'A', '_Unused', 'C'], {}),
    ):
        node = ml(
            'LabelEncoder',
            ['x'],
            ['y'],
            keys_strings=labels,
            **{'values_' + kind: values},
            **default
        )
        yield 'words to ' + kind, model([node], word, [('y', code, [4])]), given, [want]
    node = ml(
        'LabelEncoder',
        ['x'],
        ['y'],
        keys_int64s=[5, 6, 7],
        values_strings=labels,
        default_string='none',
    )
    yield 'numbers to words', model([node], [('x', I64, [3])], [('y', TEXT, [3])]), [[6, 5, 1]], [
        ['maybe', 'no', 'none']
    ]
    for op, attrs in ('LabelEncoder', dict(classes_strings=labels)), (
        'CategoryMapper',
        dict(cats_strings=labels, cats_int64s=[0, 1, 2]),
    ):
        yield op + ', words in', model(
            [ml(op, ['x'], ['y'], default_int64=-5, **attrs)], word, [('y', I64, [4])]
        ), given, [[2, 0, -5, 2]]
        yield op + ', words out', model(
            [ml(op, ['x'], ['y'], default_string='?', **attrs)],
            [('x', I64, [3])],
            [('y', TEXT, [3])],
        ), [[2, 9, 0]], [['yes', '?', 'no']]
    yield (
        'one column for a word',
        model(
            [ml('OneHotEncoder', ['x'], ['y'], cats_strings=labels)],
            [('x', TEXT, [2, 1])],
            [('y', F32, [2, 1, 3])],
        ),
        [['yes', 'other']],
        [[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]],
    )
    yield (
        'words compared',
        model(
            [make_node('Equal', ['x', 'w'], ['y'])],
            word,
            [('y', BOOL, [4])],
            [('w', TEXT, [1], ['yes'])],
        ),
        given,
        [[True, False, False, True]],
    )
    yield (
        'words moved',
        model(
            [
                make_node('Concat', ['x', 'w'], ['a'], axis=0),
                make_node('Reshape', ['a', 's'], ['b']),
                make_node('Transpose', ['b'], ['c']),
                make_node('Cast', ['c'], ['y'], to=TEXT),
            ],
            word,
            [('y', TEXT, [3, 2])],
            [('w', TEXT, [2], ['p', 'q']), ('s', I64, [2], [2, 3])],
        ),
        given,
        [['yes', 'yes', 'no', 'p', 'other', 'q']],
    )
    node = make_node(
        'TfIdfVectorizer',
        ['x'],
        ['y'],
        max_gram_length=1,
        min_gram_length=1,
        max_skip_count=0,
        mode='TF',
        ngram_counts=[0],
        ngram_indexes=[0, 1, 2],
        pool_strings=labels,
    )
    yield 'words counted', model([node], word, [('y', F32, [3])]), given, [[1.0, 0.0, 2.0]]
    yield 'odd words', model(
        [make_node('Gather', ['w', 'x'], ['y'])],
        [('x', I64, [len(ODD)])],
        [('y', TEXT, [len(ODD)])],
        [('w', TEXT, [len(ODD)], ODD)],
    ), [list(range(len(ODD)))[::-1]], [ODD[::-1]]


def refused():
    """(name, model, what the message holds): words are no texts of numbers."""
    word, number = [('x', TEXT, [2])], [('x', F32, [2])]
    yield 'words to numbers', model(
        [make_node('Cast', ['x'], ['y'], 'it', to=F32)], word, [('y', F32, [2])]
    ), 69, 'casts string to float32'
    yield 'numbers to words', model(
        [make_node('Cast', ['x'], ['y'], 'it', to=TEXT)], number, [('y', TEXT, [2])]
    ), 69, 'casts float32 to string'
    yield 'words added', model(
        [make_node('Add', ['x', 'x'], ['y'], 'it')], word, [('y', TEXT, [2])]
    ), 69, 'holds strings'
    yield 'keys of another type', model(
        [ml('LabelEncoder', ['x'], ['y'], keys_strings=['a'], values_int64s=[1])],
        number,
        [('y', I64, [2])],
    ), 65, 'its keys string'
    yield 'categories of another type', model(
        [ml('OneHotEncoder', ['x'], ['y'], cats_strings=['a'])], number, [('y', F32, [2, 1])]
    ), 65, 'no categories'
    yield 'words and numbers compared', model(
        [make_node('Equal', ['x', 'n'], ['y'], 'it')],
        word,
        [('y', BOOL, [2])],
        [('n', I64, [1], [1])],
    ), 65, 'strings with numbers'
    yield 'a word as index', model(
        [make_node('Gather', ['x', 'w'], ['y'], 'it')],
        number,
        [('y', F32, [1])],
        [('w', TEXT, [1], ['a'])],
    ), 69, '"w" holds strings'
    for label, code, values in ('a number', F32, [1.0]), ('two words', TEXT, ['a', 'b']):
        node = ml(
            'LabelEncoder',
            ['x'],
            ['y'],
            keys_strings=['a'],
            values_strings=['b'],
            default_tensor=tensor('d', code, [len(values)], values),
        )
        yield label + ' for a word', model(
            [node], word, [('y', TEXT, [2])]
        ), 65, 'not one element of string'
    yield 'fewer words than elements', model(
        [make_node('Equal', ['x', 'w'], ['y'])], word, [('y', BOOL, [2])], [('w', TEXT, [2], ['a'])]
    ), 65, '"w"'


def write(path, data):
    with open(path, 'wb') as f:
        f.write(data)
    return path


def code_of(value):
    return (
        TEXT
        if isinstance(value, str)
        else BOOL
        if isinstance(value, bool)
        else I64
        if isinstance(value, int)
        else F32
    )


def files(work, kind, values):
    return [
        write(os.path.join(work, '%s%d.pb' % (kind, i)), tensor('v', code_of(v[0]), [len(v)], v))
        for i, v in enumerate(values)
    ]


def run(inlay, work, path, inputs, results):
    command = [inlay, 'run', path]
    for f in files(work, 'in', inputs):
        command += ['--input', f]
    for f in files(work, 'out', results):
        command += ['--expect', f]
    return host.run(command)


def table(inlay, work, path):
    """The words of out0 as the generated header has them, printed by a C program, and those of the
    manifest."""
    out = os.path.join(work, 'out')
    status, text = host.run([inlay, 'compile', path, '-n', 'm', '-o', out])
    if status:
        return text, None
    main = write(
        os.path.join(work, 'main.c'),
        (
            b'#include <stdio.h>\n'
            b'#include "m.h"\n'
            b'int main(void)\n'
            b'{\n'
            b'    for (int i = 0; i < M_OUT0_LABELS_COUNT; i++)\n'
            b'        fwrite(M_OUT0_LABELS[i], 1, __builtin_strlen(M_OUT0_LABELS[i]) + 1,\n'
            b'               stdout);\n'
            b'    return 0;\n'
            b'}\n'
        ),
    )
    program = os.path.join(work, 'words')
    status, text = host.run(
        [
            'cc',
            '-std=c99',
            '-Wall',
            '-Wextra',
            '-Werror',
            '-I' + os.path.join(out, 'src'),
            main,
            '-o',
            program,
        ]
    )
    if status:
        return text, None
    printed = subprocess.run([program], stdout=subprocess.PIPE).stdout.decode().split('\0')[:-1]
    with open(os.path.join(out, 'm.json')) as f:
        return printed, json.load(f)['outputs'][0]['labels']


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    o = p.parse_args()
    t = tap.Tap()
    for name, data, inputs, results in cases():
        with host.Work() as work:
            path = write(os.path.join(work, 'm.onnx'), data)
            status, text = run(o.inlay, work, path, inputs, results)
            t.ok(name, not status, text[:1000])
            status, text = run(
                o.inlay, work, path, inputs, [[OTHER[code_of(v[0])]] * len(v) for v in results]
            )
            t.ok(name + ', and no other', status == 1 and 'DIFFERS' in text, text[:1000])
            if name == 'odd words':
                printed, labels = table(o.inlay, work, path)
                t.ok('the table of the header', printed == ODD, repr(printed))
                t.ok('the labels of the manifest', labels == ODD, repr(labels))
    for name, data, want, words in refused():
        with host.Work() as work:
            status, text = host.run([o.inlay, 'analyze', write(os.path.join(work, 'm.onnx'), data)])
            t.ok(name, status == want and words in text, 'status %d: %s' % (status, text[:600]))
    t.done()


main()
