# SPDX-License-Identifier: Apache-2.0
"""Every operator with optional results, by the operator table: each result absent, with an empty
name, named and read by nobody, and read. Optimizers name results that nobody reads. What is read
has the same bytes in every form.

    optional_outputs.py --inlay INLAY"""
import argparse
import json
import os
import struct

import host
import onnx
import tap
from onnx import make_graph_attr, make_model, make_node, make_tensor, make_value, put

F32, U8, I8, I32, I64, BOOL = 1, 2, 3, 6, 7, 9
LETTERS = {F32: 'f', U8: 'B', I8: 'b', I32: 'i', I64: 'q', BOOL: 'B'}


class Feed:
    """An operand given when the model runs; Const: one that the file holds."""

    def __init__(self, dims, code=F32, value=None):
        self.dims, self.code, self.value = dims, code, value

    def tensor(self, name, seed):
        n = 1
        for d in self.dims:
            n *= d
        values = [
            self.value
            if self.value is not None
            else ((i * 7 + seed) % 11 - 5) / 4
            if self.code == F32
            else (i + seed) % 5
            for i in range(n)
        ]
        return make_tensor(
            name, self.code, self.dims, struct.pack('<%d%s' % (n, LETTERS[self.code]), *values)
        )


class Const(Feed):
    pass


def branch():
    """Two results, made of a value of the outer graph."""
    nodes = [make_node('Relu', ['i0'], ['a']), make_node('Neg', ['i0'], ['b'])]
    out = [make_value('a', F32, [2]), make_value('b', F32, [2])]
    return nodes, [], out


def loop_body():
    nodes = [
        make_node('Identity', ['go'], ['more']),
        make_node('Relu', ['state'], ['next']),
        make_node('Neg', ['state'], ['row']),
    ]
    return (
        nodes,
        [make_value('k', I64, []), make_value('go', BOOL, []), make_value('state', F32, [2])],
        [make_value('more', BOOL, []), make_value('next', F32, [2]), make_value('row', F32, [2])],
    )


def scan_body():
    nodes = [make_node('Add', ['state', 'x'], ['next']), make_node('Neg', ['x'], ['row'])]
    return (
        nodes,
        [make_value('state', F32, [2]), make_value('x', F32, [2])],
        [make_value('next', F32, [2]), make_value('row', F32, [2])],
    )


def item_body():
    nodes = [make_node('Relu', ['x'], ['a']), make_node('Add', ['x', 'more'], ['b'])]
    return (
        nodes,
        [make_value('x', F32, [2]), make_value('more', F32, [2])],
        [make_value('a', F32, [2]), make_value('b', F32, [2])],
    )


def bodies(**graphs):
    return tuple(make_graph_attr(name, *parts) for name, parts in graphs.items())


POOL = dict(kernel_shape=[2, 2])
RECURRENT = dict(hidden_size=3)
ONE, SCALE, ZERO = Const([], F32, 0.5), Const([1], F32, 0.05), Const([1], U8, 3)
HEADS = [Feed([1, 3, 8]), Feed([1, 3, 8]), Feed([1, 3, 8])]
NORM = [Feed([2, 4]), Const([4]), Const([4]), Const([4]), Const([4], F32, 2.0)]
EMBED = [
    Feed([1, 2], I32),
    Feed([1, 2], I32),
    Const([5, 4]),
    Const([5, 4]),
    Const([5, 4]),
    Const([4]),
    Const([4]),
    Feed([1, 2], I32),
]
QEMBED = (
    EMBED[:2]
    + [Const(x.dims, U8) for x in EMBED[2:7]]
    + [EMBED[7]]
    + [Const([], F32, 0.05)] * 5
    + [Const([], U8, 3)] * 5
)
# (domain, operator, first opset): operands, results, attributes, subgraphs
CASES = {
    ('ai.onnx', 'MaxPool', 1): ([Feed([1, 1, 4, 4])], 2, POOL),
    ('ai.onnx', 'BatchNormalization', 1): (NORM, 5, dict(is_test=1)),
    ('ai.onnx', 'BatchNormalization', 7): (NORM, 5, {}),
    ('ai.onnx', 'BatchNormalization', 14): (NORM, 3, dict(training_mode=1)),
    ('ai.onnx', 'LayerNormalization', 1): ([Feed([2, 4]), Const([4]), Const([4])], 3, {}),
    ('ai.onnx', 'Split', 2): ([Feed([4, 2])], 2, {}),
    ('ai.onnx', 'Unique', 11): ([Feed([5], F32)], 4, {}),
    ('ai.onnx', 'Dropout', 7): ([Feed([3])], 2, {}),
    ('ai.onnx', 'Dropout', 10): ([Feed([3])], 2, {}),
    ('ai.onnx', 'If', 1): (
        [Feed([2]), Feed([], BOOL)],
        2,
        {},
        bodies(then_branch=branch(), else_branch=branch()),
    ),
    ('ai.onnx', 'Loop', 1): (
        [Const([], I64, 3), Const([], BOOL, 1), Feed([2])],
        2,
        {},
        bodies(body=loop_body()),
    ),
    ('ai.onnx', 'Scan', 8): (
        [None, Feed([1, 2]), Feed([1, 3, 2])],
        2,
        dict(num_scan_inputs=1),
        bodies(body=scan_body()),
    ),
    ('ai.onnx', 'Scan', 9): (
        [Feed([2]), Feed([3, 2])],
        2,
        dict(num_scan_inputs=1),
        bodies(body=scan_body()),
    ),
    ('ai.onnx', 'SequenceMap', 17): ([Feed([2]), Feed([2])], 2, {}, bodies(body=item_body())),
    ('ai.onnx', 'DynamicQuantizeLinear', 11): ([Feed([3])], 3, {}),
    ('ai.onnx', 'RNN', 7): ([Feed([2, 1, 4]), Const([1, 3, 4]), Const([1, 3, 3])], 2, RECURRENT),
    ('ai.onnx', 'GRU', 7): ([Feed([2, 1, 4]), Const([1, 9, 4]), Const([1, 9, 3])], 2, RECURRENT),
    ('ai.onnx', 'LSTM', 7): ([Feed([2, 1, 4]), Const([1, 12, 4]), Const([1, 12, 3])], 3, RECURRENT),
    ('ai.onnx', 'SoftmaxCrossEntropyLoss', 12): ([Feed([2, 5]), Feed([2], I64)], 2, {}),
    ('ai.onnx', 'Attention', 23): (HEADS, 4, dict(q_num_heads=2, kv_num_heads=2)),
    ('ai.onnx', 'Attention', 24): (HEADS, 4, dict(q_num_heads=2, kv_num_heads=2)),
    ('ai.onnx', 'LinearAttention', 27): (
        HEADS,
        2,
        dict(q_num_heads=2, kv_num_heads=2, update_rule='linear'),
    ),
    ('ai.onnx', 'CausalConvWithState', 27): ([Feed([1, 2, 5]), Const([2, 1, 3])], 2, {}),
    ('com.microsoft', 'LinearAttention', 1): (
        HEADS,
        2,
        dict(q_num_heads=2, kv_num_heads=2, update_rule='linear'),
    ),
    ('com.microsoft', 'LinearAttentionGate', 1): (
        [Feed([1, 2, 3]), Const([3]), Const([3]), Feed([1, 2, 3])],
        2,
        {},
    ),
    ('com.microsoft', 'CausalConvWithState', 1): (
        [Feed([1, 2, 5]), Const([2, 1, 3])],
        2,
        dict(ndim=1),
    ),
    ('ai.onnx', 'SimplifiedLayerNormalization', 1): ([Feed([2, 4]), Const([4])], 2, {}),
    ('com.microsoft', 'SimplifiedLayerNormalization', 1): ([Feed([2, 4]), Const([4])], 2, {}),
    ('com.microsoft', 'SkipLayerNormalization', 1): (
        [Feed([1, 2, 4]), Feed([1, 2, 4]), Const([4])],
        4,
        {},
    ),
    ('com.microsoft', 'SkipSimplifiedLayerNormalization', 1): (
        [Feed([1, 2, 4]), Feed([1, 2, 4]), Const([4])],
        4,
        {},
    ),
    ('com.microsoft', 'EmbedLayerNormalization', 1): (EMBED, 3, {}),
    ('com.microsoft', 'QEmbedLayerNormalization', 1): (QEMBED, 2, {}),
    ('com.microsoft', 'Attention', 1): (
        [Feed([1, 2, 4]), Const([4, 24]), Const([24]), None, Feed([2, 1, 2, 2, 4])],
        2,
        dict(num_heads=2),
    ),
    ('com.microsoft', 'QAttention', 1): (
        [
            Feed([1, 2, 4], U8),
            Const([4, 24], I8),
            Const([24]),
            ONE,
            ONE,
            None,
            Const([], U8, 3),
            Const([], I8, 2),
            Feed([2, 1, 2, 2, 4]),
        ],
        2,
        dict(num_heads=2),
    ),
    ('com.microsoft', 'MultiHeadAttention', 1): (HEADS, 4, dict(num_heads=2)),
    ('com.microsoft', 'Unique', 1): ([Feed([5], F32)], 3, {}),
    ('com.microsoft', 'SkipGroupNorm', 1): (
        [Feed([1, 2, 2, 4]), Const([4]), Const([4]), Feed([1, 2, 2, 4])],
        2,
        dict(groups=2, activation=0),
    ),
    ('com.microsoft', 'DynamicQuantizeLSTM', 1): (
        [
            Feed([2, 1, 4]),
            Const([1, 4, 12], I8),
            Const([1, 3, 12], I8),
            None,
            None,
            None,
            None,
            None,
            SCALE,
            Const([1], I8, 0),
            SCALE,
            Const([1], I8, 0),
        ],
        3,
        RECURRENT,
    ),
    ('com.microsoft', 'GroupQueryAttention', 1): (
        [
            Feed([1, 3, 8]),
            Feed([1, 3, 4]),
            Feed([1, 3, 4]),
            Feed([1, 1, 2, 4]),
            Feed([1, 1, 2, 4]),
            Const([1], I32, 4),
            Const([], I32, 5),
        ],
        4,
        dict(num_heads=2, kv_num_heads=1),
    ),
}
TRAINED = [
    Const([], F32, 0.1),
    Const([], I64, 1),
    Feed([2]),
    Feed([2]),
    Feed([2], F32, 0.5),
    Feed([2], F32, 0.25),
]
for name, operands, results in (('Adagrad', 5, 2), ('Adam', 6, 3), ('Momentum', 5, 2)):
    attrs = (
        dict(alpha=0.9, beta=0.9, mode='standard', norm_coefficient=0.0)
        if name == 'Momentum'
        else {}
    )
    CASES['ai.onnx.preview.training', name, 1] = (TRAINED[:operands], results, attrs)
# A mean that ONNX Runtime never writes either; the scores; what a backward pass would read.
REFUSED = {
    ('com.microsoft', 'SkipSimplifiedLayerNormalization', 1): {1},
    ('com.microsoft', 'MultiHeadAttention', 1): {3},
    ('ai.onnx', 'BatchNormalization', 1): {1, 2, 3, 4},
    ('ai.onnx', 'BatchNormalization', 7): {3, 4},
}
# The number of results is part of what these say: fewer are another model, or none. A
# BatchNormalization before opset 14 trains where it has more than one.
COUNTED = ('If', 'Loop', 'Scan', 'SequenceMap', 'Split', 'Adagrad', 'Adam', 'Momentum')
COUNTED_ONCE = ('ai.onnx', 'BatchNormalization', 7)


class Case:
    def __init__(self, key, row, operands, results, attrs, graphs=()):
        self.key, self.operands, self.results, self.attrs, self.graphs = (
            key,
            operands,
            results,
            attrs,
            graphs,
        )
        self.least = row['outputs'][0]
        self.opset = row['until'] or max(row['since'], 21)

    def names(self):
        return ['' if x is None else 'i%d' % k for k, x in enumerate(self.operands)]

    def forms(self):
        """For each form its name and the results: '' absent or empty, 'u' unread, 'y' read."""
        n = self.results
        refused = REFUSED.get(self.key, set())
        full = ['u%d' % i if i in refused else 'y%d' % i for i in range(n)]
        yield 'all read', full
        for i in range(self.least, n):
            swap = lambda name: full[:i] + [name] + full[i + 1 :]
            yield 'result %d empty' % i, swap('')
            yield 'result %d unread' % i, swap('u%d' % i)
            yield 'results from %d absent' % i, full[:i]
        keep = max(self.least, 1)
        yield 'all optional unread', full[:keep] + ['u%d' % i for i in range(keep, n)]
        yield 'all optional empty', full[:keep] + [''] * (n - keep)

    def model(self, results):
        domain, op, version = self.key
        own = domain != 'ai.onnx'
        ins = self.names()
        if op == 'If':
            ins = ins[1:]
        before = []
        if op == 'SequenceMap':
            before, ins = [make_node('SequenceConstruct', ins[:1], ['items'])], ['items'] + ins[1:]
        node = make_node(op, ins, results, 'node', domain if own else '', self.graphs, **self.attrs)
        given = [(n, x) for n, x in zip(self.names(), self.operands) if x is not None]
        feeds = [make_value(n, x.code, x.dims) for n, x in given if not isinstance(x, Const)]
        consts = [x.tensor(n, k) for k, (n, x) in enumerate(given) if isinstance(x, Const)]
        return make_model(
            before + [node],
            feeds,
            [put(1, r) for r in results if r.startswith('y')],
            consts,
            self.opset,
            ((domain, version),) if own else (),
        )

    def run(self, inlay, work, results):
        """Status, text, and what was read by name."""
        path = os.path.join(work, 'm.onnx')
        with open(path, 'wb') as f:
            f.write(self.model(results))
        command = [inlay, 'run', path, '-o', os.path.join(work, 'out')]
        for k, (n, x) in enumerate(zip(self.names(), self.operands)):
            if x is not None and not isinstance(x, Const):
                with open(os.path.join(work, n), 'wb') as f:
                    f.write(x.tensor(n, k))
                command += ['--input', os.path.join(work, n)]
        status, text = host.run(command, limit=60)
        read = [r for r in results if r.startswith('y')]
        return (
            status,
            text,
            {
                r: onnx.read_tensor(os.path.join(work, 'out', 'output_%d.pb' % i))
                for i, r in enumerate(read)
            }
            if not status
            else {},
        )


def another_model(case, form):
    return (case.key[1] in COUNTED or case.key == COUNTED_ONCE) and (
        'absent' in form or 'empty' in form
    )


def judge(t, inlay, case):
    title = '.'.join(str(k) for k in case.key)
    with host.Work() as work:
        reference = {}
        for name, results in case.forms():
            if not any(r.startswith('y') for r in results):
                continue
            status, text, got = case.run(inlay, work, results)
            reference = reference or got
            if another_model(case, name):
                t.ok(
                    '%s: %s' % (title, name),
                    status in (0, 65, 69),
                    'status %d\n%s' % (status, text[:600]),
                )
                continue
            wrong = [
                r
                for r, x in got.items()
                if (x.code, x.dims, x.raw)
                != (reference[r].code, reference[r].dims, reference[r].raw)
            ]
            t.ok(
                '%s: %s' % (title, name),
                status == 0 and not wrong,
                'status %d, differs: %s\n%s' % (status, wrong, text[:600]),
            )
        refused = REFUSED.get(case.key, set())
        for i in sorted(refused):
            status, text, _ = case.run(
                inlay,
                work,
                [
                    'y%d' % k if k == i or k not in refused else 'u%d' % k
                    for k in range(case.results)
                ],
            )
            t.ok(
                '%s: result %d read' % (title, i),
                status == 69 and 'result %d' % i in text,
                'status %d\n%s' % (status, text[:600]),
            )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    o = p.parse_args()
    t = tap.Tap()
    rows = json.loads(host.run([o.inlay, 'ops', '--json'])[1])['operators']
    optional = {
        (r['domain'], r['name'], r['since']): r for r in rows if r['outputs'][0] != r['outputs'][1]
    }
    t.ok(
        'every operator with optional results has a model here',
        set(optional) == set(CASES),
        sorted(set(optional) ^ set(CASES)),
    )
    for key in sorted(set(optional) & set(CASES)):
        judge(t, o.inlay, Case(key, optional[key], *CASES[key]))
    t.done()


main()
