# SPDX-License-Identifier: Apache-2.0
"""What is changed in a model: each edit takes (rng, model, stock) and returns what it did, or None
where there is nothing of its kind. The stock holds what other models have: operators, and
attributes by operator."""
import math
import struct

import onnx
import tree

INTS = [
    0,
    1,
    -1,
    2,
    3,
    -2,
    4,
    5,
    7,
    8,
    16,
    255,
    256,
    65536,
    (1 << 31) - 1,
    1 << 31,
    -(1 << 31),
    1 << 32,
    1 << 62,
    (1 << 63) - 1,
    -(1 << 63),
]
FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    -2.0,
    1e-45,
    1e-7,
    1e9,
    -1e9,
    1e19,
    3.4e38,
    -3.4e38,
    math.inf,
    -math.inf,
    math.nan,
]
WORDS = [
    '',
    'x',
    'SAME_UPPER',
    'SAME_LOWER',
    'VALID',
    'NOTSET',
    'linear',
    'nearest',
    'cubic',
    'bilinear',
    'bicubic',
    'reflect',
    'edge',
    'constant',
    'wrap',
    'zeros',
    'border',
    'reflection',
    'CRD',
    'DCR',
    'none',
    'add',
    'mul',
    'max',
    'min',
    'mean',
    'sum',
    'forward',
    'reverse',
    'bidirectional',
    'align_corners',
    'asymmetric',
    'half_pixel',
    'half_pixel_symmetric',
    'pytorch_half_pixel',
    'tf_crop_and_resize',
    'floor',
    'ceil',
    'round_prefer_ceil',
    'stretch',
    'not_larger',
    'not_smaller',
    'Tanh',
    'Relu',
    'Sigmoid',
    'Affine',
    'HardSigmoid',
    'ij->ji',
    'ij,jk->ik',
    '...ii->...i',
    'ii',
    'avg',
    'circular',
    'linear',
]
DIMS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33]
EDGES = {'i': 1 << 31, 'q': 1 << 63, 'h': 1 << 15, 'b': 1 << 7}


def pick(rng, found):
    return rng.choice(found) if found else None


def other_int(rng, v):
    return rng.choice(
        [rng.choice(INTS), v + 1, v - 1, -v, v * 2, rng.choice(DIMS), rng.choice(DIMS)]
    )


def nodes(model):
    return [n for g in tree.graphs(model) for n in g.all(1)]


def attributes(model):
    return [(n, a) for n in nodes(model) for a in n.all(5)]


def bend(rng, values, other):
    """A list with one value changed, taken out, doubled or put in, or none left."""
    values, how = list(values), rng.randrange(8)
    if not values:
        return [other(rng, 0)]
    k = rng.randrange(len(values))
    if how < 4:
        values[k] = other(rng, values[k])
    elif how == 4:
        del values[k]
    elif how == 5:
        values.insert(k, values[k])
    elif how == 6:
        values = [other(rng, values[k])] * len(values)
    else:
        values = []
    return values


def attribute_value(rng, model, stock):
    found = pick(rng, [(n, a) for n, a in attributes(model) if a.get(20) in (1, 2, 3, 6, 7, 8)])
    if not found:
        return None
    node, a = found
    kind, name = a.get(20), node.text(4) + '.' + a.text(1)
    if kind == 1:
        a.set(2, rng.choice(FLOATS))
        return '%s = %r' % (name, a.floats(2)[0])
    if kind == 2:
        a.set(3, other_int(rng, onnx.signed(a.get(3, 0))))
        return '%s = %d' % (name, onnx.signed(a.get(3)))
    if kind == 3:
        a.set(4, rng.choice(WORDS + stock.words))
        return '%s = "%s"' % (name, a.text(4))
    number, now, other = {
        6: (7, a.floats(7), lambda r, v: r.choice(FLOATS)),
        7: (8, a.ints(8), other_int),
        8: (9, a.texts(9), lambda r, v: r.choice(WORDS + stock.words)),
    }[kind]
    now = bend(rng, now, other)
    a.set_all(number, now)
    return '%s = %s' % (name, now)


def attribute_gone(rng, model, stock):
    found = pick(rng, attributes(model))
    if not found:
        return None
    node, a = found
    node.fields = [f for f in node.fields if f[2] is not a]
    return '%s without %s' % (node.text(4), a.text(1))


def attribute_more(rng, model, stock):
    """An attribute that the operator has in another model."""
    node = pick(rng, [n for n in nodes(model) if stock.attributes.get(n.text(4))])
    if not node:
        return None
    blob = rng.choice(stock.attributes[node.text(4)])
    a = tree.decode('attr', blob)
    node.fields = [f for f in node.fields if not (f[0] == 5 and f[2].get(1) == a.get(1))]
    node.add(5, a)
    return '%s with %s as elsewhere' % (node.text(4), a.text(1))


def operator(rng, model, stock):
    node = pick(rng, nodes(model))
    count = len(node.all(1))
    node.set(4, rng.choice(stock.by_arity.get((node.text(7), count)) or [node.text(4)]))
    return 'operator %s' % node.text(4)


def values_of(model, numbers):
    return [(g, v) for g in tree.graphs(model) for n in numbers for v in g.all(n)]


def value_dim(rng, model, stock):
    found = pick(rng, [(v, d) for _, v in values_of(model, (11, 12, 13)) for d in tree.dims(v)])
    if not found:
        return None
    value, d = found
    if rng.random() < 0.1:
        d.fields = [[2, 2, b'n']]
        return '%s: a dimension is a symbol' % value.text(1)
    d.fields = []
    d.set(1, other_int(rng, rng.choice(DIMS)) if rng.random() < 0.2 else rng.choice(DIMS))
    return '%s: a dimension is %d' % (value.text(1), onnx.signed(d.get(1)))


def value_rank(rng, model, stock):
    found = pick(rng, [v for _, v in values_of(model, (11, 12, 13)) if tree.tensor_type(v)])
    if not found:
        return None
    inner = tree.tensor_type(found)
    shape = inner.get(2)
    if not shape or rng.random() < 0.2:
        inner.drop(2)
        if rng.random() < 0.5:
            inner.add(2, tree.Message('shape'))
        return '%s: no shape' % found.text(1)
    ds = shape.all(1)
    if ds and rng.random() < 0.5:
        ds.pop(rng.randrange(len(ds)))
    else:
        d = tree.Message('dim')
        d.set(1, rng.choice(DIMS))
        ds.insert(rng.randint(0, len(ds)), d)
    shape.set_all(1, ds)
    return '%s: rank %d' % (found.text(1), len(ds))


def same_dim(rng, model, stock):
    """One size becomes another everywhere: values and constants."""
    sizes = [
        d.get(1) for _, v in values_of(model, (11,)) for d in tree.dims(v) if d.get(1) is not None
    ]
    if not sizes:
        return None
    old, new = rng.choice(sizes), rng.choice(DIMS)
    for _, v in values_of(model, (11, 12, 13)):
        for d in tree.dims(v):
            if d.get(1) == old:
                d.set(1, new)
    for _, t in values_of(model, (5,)):
        if old in t.ints(1) and small(t):
            resize(rng, t, [new if d == old else d for d in t.ints(1)])
    return 'size %d becomes %d' % (old, new)


def input_dims(rng, model, stock):
    """An input of any shape; what is declared of results is forgotten."""
    value = pick(rng, [v for v in model.get(7).all(11) if tree.tensor_type(v)])
    if not value:
        return None
    new = [rng.choice(DIMS) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4, 5]))]
    declare(value, tree.tensor_type(value).get(1, 1), new)
    forget_results(rng, model, stock)
    return '%s: %s' % (value.text(1), new)


def declare(value, code, new):
    body = onnx.make_value('', code, new)
    value.set(2, tree.decode('value', body).get(2))


def forget_results(rng, model, stock):
    for g in tree.graphs(model)[:1]:
        g.drop(13)
        for v in g.all(12):
            if tree.tensor_type(v):
                tree.tensor_type(v).drop(2)
    return 'results declare no shapes'


def small(t):
    count = math.prod(max(d, 0) for d in t.ints(1))
    return count <= 4096 and t.get(2) in onnx.TYPES and t.get(14, 0) == 0


def raw_of(t):
    """The bytes of a small tensor, or None where they are text or elsewhere."""
    try:
        return onnx.parse_tensor(tree.encode(t)).raw if small(t) else None
    except (onnx.Unreadable, struct.error, OverflowError):
        return None


def fill(t, code, dims, raw):
    name = t.get(8)
    t.fields = []
    for d in dims:
        t.add(1, d)
    t.set(2, code)
    if name is not None:
        t.set(8, name)
    t.set(9, raw)


def resize(rng, t, dims):
    raw = raw_of(t)
    if raw is None:
        return
    bits = onnx.TYPES[t.get(2)][1]
    want = min((math.prod(max(d, 0) for d in dims) * bits + 7) // 8, 1 << 16)
    fill(t, t.get(2), dims, (raw * (want // len(raw) + 1) if raw else bytes(want))[:want])


def constants(model):
    return [t for _, t in values_of(model, (5,))] + [
        t for _, a in attributes(model) for t in a.all(5)
    ]


def constant_shape(rng, model, stock):
    t = pick(rng, [t for t in constants(model) if small(t)])
    if not t:
        return None
    dims = (
        bend(rng, t.ints(1), lambda r, v: r.choice(DIMS))
        if rng.random() < 0.7
        else [rng.choice(DIMS) for _ in range(rng.randrange(4))]
    )
    if rng.random() < 0.2:
        t.set_all(1, dims)
    else:
        resize(rng, t, dims)
    return 'constant %s has shape %s' % (t.text(8), dims)


def extreme(rng, code):
    """One element's bytes: an end of its type, or a small value."""
    name, bits, form = onnx.TYPES[code]
    if form and form[-1] in 'fde':
        v = rng.choice(FLOATS + [float(rng.choice(DIMS))])
        try:
            return struct.pack('<' + form[-1], v) * (bits // 8 // struct.calcsize(form[-1]))
        except OverflowError:
            return b'\xff' * (bits // 8)
    if form is None:
        return bytes(rng.choice([0, 1, 127, 128, 255]) for _ in range(max(bits // 8, 1)))
    v = rng.choice(
        [
            rng.choice(INTS),
            rng.choice(DIMS),
            -rng.choice(DIMS),
            EDGES.get(form, 0) - 1,
            -EDGES.get(form, 0),
        ]
    )
    if name == 'bool':
        v &= 1
    return (v & (1 << bits) - 1).to_bytes(bits // 8, 'little')


def constant_value(rng, model, stock):
    t = pick(rng, [t for t in constants(model) if raw_of(t)])
    if not t:
        return None
    raw, code = bytearray(raw_of(t)), t.get(2)
    one = extreme(rng, code)
    count = len(raw) // len(one)
    k = rng.randrange(max(count, 1)) if rng.random() < 0.8 else None
    for i in range(count):
        if k is None or i == k:
            raw[i * len(one) : (i + 1) * len(one)] = one
    fill(t, code, t.ints(1), bytes(raw))
    return 'constant %s: %s is %s' % (t.text(8), 'all' if k is None else '[%d]' % k, one.hex())


def element_type(rng, model, stock):
    """The type of one value or constant, or of all that have it."""
    found = [v for _, v in values_of(model, (11, 12, 13)) if tree.tensor_type(v)]
    v = pick(rng, found)
    if not v:
        return None
    old, new = tree.tensor_type(v).get(1, 0), rng.choice(list(onnx.TYPES))
    one = rng.random() < 0.2
    for w in [v] if one else found:
        if tree.tensor_type(w).get(1, 0) == old:
            tree.tensor_type(w).set(1, new)
    for t in [] if one else constants(model):
        if t.get(2) == old and raw_of(t) is not None:
            t.set(2, new)
            resize(rng, t, t.ints(1))
    for _, a in [] if one else attributes(model):
        if a.get(1) in (b'to', b'dtype', b'output_dtype') and a.get(3) == old:
            a.set(3, new)
    return '%s %s: type %d becomes %d' % ('only' if one else 'all like', v.text(1), old, new)


def wire(rng, model, stock):
    graph = pick(rng, [g for g in tree.graphs(model) if g.all(1)])
    node = pick(rng, graph.all(1)) if graph else None
    if not node:
        return None
    ins, how = node.texts(1), rng.randrange(6)
    if how == 0 and len(ins) > 1:
        i, k = rng.sample(range(len(ins)), 2)
        ins[i], ins[k] = ins[k], ins[i]
    elif how == 1 and ins:
        ins[rng.randrange(len(ins))] = ''
    elif how == 2 and ins:
        ins = ins[: rng.randrange(len(ins))]
    elif how == 3 and ins:
        ins[rng.randrange(len(ins))] = rng.choice(ins)
    elif how == 4:
        names = graph.all(11) + graph.all(12)
        known = (
            [v.text(1) for v in names]
            + [t.text(8) for t in graph.all(5)]
            + [o for n in graph.all(1) for o in n.texts(2)]
        )
        k = rng.randrange(len(ins) + 1)
        ins[k : k + 1] = [rng.choice(known)]
    else:
        outs = node.texts(2)
        outs = rng.choice(
            [outs[:-1], outs + ['more'], [''] + outs[1:], outs[::-1], outs + ['', 'more']]
        )
        node.set_all(2, outs)
        return '%s makes %s' % (node.text(4), outs)
    node.set_all(1, ins)
    return '%s reads %s' % (node.text(4), ins)


def constant_to_input(rng, model, stock):
    graph = model.get(7)
    t = pick(rng, [t for t in graph.all(5) if t.get(2) in onnx.TYPES])
    if not t:
        return None
    graph.fields = [
        f for f in graph.fields if f[2] is not t and not (f[0] == 11 and f[2].get(1) == t.get(8))
    ]
    graph.add(11, tree.decode('value', onnx.make_value(t.text(8), t.get(2), t.ints(1))))
    return 'constant %s is an input' % t.text(8)


def input_to_constant(rng, model, stock):
    graph = model.get(7)
    found = [
        v for v in graph.all(11) if tree.tensor_type(v) and tree.tensor_type(v).get(1) in onnx.TYPES
    ]
    found = [
        v
        for v in found
        if all(d.get(1) is not None for d in tree.dims(v))
        and math.prod(onnx.signed(d.get(1)) for d in tree.dims(v)) <= 4096
    ]
    v = pick(rng, found)
    if not v:
        return None
    code, dims = tree.tensor_type(v).get(1), [max(onnx.signed(d.get(1)), 0) for d in tree.dims(v)]
    count, calm = math.prod(dims), rng.random() < 0.6
    if onnx.TYPES[code][1] < 8:
        raw = bytes((count * onnx.TYPES[code][1] + 7) // 8)
    else:
        raw = b''.join(calm_value(rng, code) if calm else extreme(rng, code) for _ in range(count))
    graph.fields = [f for f in graph.fields if f[2] is not v]
    graph.add(5, tree.decode('tensor', onnx.make_tensor(v.text(1), code, dims, raw)))
    return 'input %s is a constant' % v.text(1)


def calm_value(rng, code):
    _, bits, form = onnx.TYPES[code]
    if form and form[-1] in 'fde':
        return struct.pack('<' + form[-1], rng.choice([0, 1, 2, -1, 0.5])) * (
            bits // 8 // struct.calcsize(form[-1])
        )
    return rng.choice([0, 0, 1, 1, 2, 3]).to_bytes(bits // 8, 'little')


def opset(rng, model, stock):
    found = pick(rng, model.all(8))
    if not found:
        return None
    found.set(2, rng.randint(1, 26))
    return 'opset %s' % found.get(2)


def extra_node(rng, model, stock):
    """Another operator behind a value that the model hands back."""
    graph = model.get(7)
    value = pick(rng, graph.all(12))
    if not value:
        return None
    op, more = rng.choice(
        [
            ('Relu', {}),
            ('Neg', {}),
            ('Identity', {}),
            ('Transpose', {}),
            ('Cast', {'to': rng.choice(list(onnx.TYPES))}),
            ('Flatten', {'axis': rng.randint(-2, 3)}),
            ('Softmax', {'axis': rng.randint(-2, 2)}),
            ('Shape', {}),
            ('Abs', {}),
            ('Add', {}),
            ('Concat', {'axis': rng.randint(-1, 2)}),
            ('Gather', {}),
            ('ReduceSum', {'keepdims': rng.randrange(2)}),
            ('ArgMax', {'axis': rng.randint(-1, 2)}),
            ('Clip', {}),
            ('Split', {'axis': rng.randint(-1, 2)}),
        ]
    )
    old = value.text(1)
    ins = [old, old] if op in ('Add', 'Concat', 'Gather') else [old]
    graph.add(1, tree.decode('node', onnx.make_node(op, ins, ['behind'], **more)))
    inner = tree.tensor_type(value)
    value.set(1, 'behind')
    if inner:
        inner.drop(2)
        if op in ('Cast', 'Shape', 'ArgMax'):
            inner.set(1, more.get('to', 7))
    return '%s behind %s' % (op, old)


EDITS = [
    (attribute_value, 5),
    (attribute_gone, 1),
    (attribute_more, 3),
    (operator, 1),
    (value_dim, 2),
    (value_rank, 1),
    (same_dim, 3),
    (input_dims, 3),
    (forget_results, 1),
    (constant_shape, 3),
    (constant_value, 3),
    (element_type, 2),
    (wire, 4),
    (constant_to_input, 3),
    (input_to_constant, 4),
    (opset, 1),
    (extra_node, 1),
]
