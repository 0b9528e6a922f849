# SPDX-License-Identifier: Apache-2.0
"""Just enough of the ONNX format for the tests, in the standard library: reads TensorProto files
and a model's inputs and outputs, writes small models, compares tensors. Knows nothing of
operators."""
import math
import struct
from collections import namedtuple

# ONNX's number: name, bits, struct code of a whole element
TYPES = {
    1: ('float32', 32, 'f'),
    2: ('uint8', 8, 'B'),
    3: ('int8', 8, 'b'),
    4: ('uint16', 16, 'H'),
    5: ('int16', 16, 'h'),
    6: ('int32', 32, 'i'),
    7: ('int64', 64, 'q'),
    9: ('bool', 8, 'B'),
    10: ('float16', 16, 'e'),
    11: ('float64', 64, 'd'),
    12: ('uint32', 32, 'I'),
    13: ('uint64', 64, 'Q'),
    14: ('complex64', 64, '2f'),
    15: ('complex128', 128, '2d'),
    16: ('bfloat16', 16, None),
    17: ('float8e4m3fn', 8, None),
    18: ('float8e4m3fnuz', 8, None),
    19: ('float8e5m2', 8, None),
    20: ('float8e5m2fnuz', 8, None),
    21: ('uint4', 4, None),
    22: ('int4', 4, None),
    23: ('float4e2m1', 4, None),
    24: ('float8e8m0', 8, None),
    25: ('uint2', 2, None),
    26: ('int2', 2, None),
}
CODES = {name: code for code, (name, _, _) in TYPES.items()}
STRING = 8

Tensor = namedtuple('Tensor', 'name code dims raw')
Value = namedtuple(
    'Value', 'name kind code dims'
)  # kind: which field of TypeProto; 1 is a tensor; dims None: no shape


class Unreadable(Exception):
    """The file holds something these tests do not compare (strings, sequences, maps)."""


# --- reading ---


def read_varint(b, i):
    value = shift = 0
    while True:
        byte = b[i]
        value |= (byte & 127) << shift
        shift += 7
        i += 1
        if byte < 128:
            return value, i


def fields(b):
    """(number, wire type, value) of a message; values of wire type 2 are bytes."""
    i = 0
    while i < len(b):
        key, i = read_varint(b, i)
        wire = key & 7
        if wire == 0:
            value, i = read_varint(b, i)
        elif wire == 2:
            length, i = read_varint(b, i)
            value, i = b[i : i + length], i + length
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
            value, i = b[i : i + length], i + length
        else:
            raise Unreadable('wire type %d' % wire)
        yield key >> 3, wire, value


def signed(v):
    return v - (1 << 64) if v >> 63 else v


def packed(wire, value):
    """The varints of a repeated field, packed or not."""
    if wire == 0:
        return [signed(value)]
    out, i = [], 0
    while i < len(value):
        v, i = read_varint(value, i)
        out.append(signed(v))
    return out


def raw_from_scalars(code, floats, ints):
    name, bits, form = TYPES[code]
    if floats:
        return floats
    if form and form not in 'fde' and len(form) == 1:
        return b''.join((v & ((1 << bits) - 1)).to_bytes(bits // 8, 'little') for v in ints)
    return b''.join(
        struct.pack('<H' if bits == 16 else '<B', v & ((1 << max(bits, 8)) - 1)) for v in ints
    )


def parse_tensor(blob):
    name, code, dims, raw, floats, ints = '', 0, [], None, b'', []
    for number, wire, value in fields(blob):
        if number == 1:
            dims += packed(wire, value)
        elif number == 2:
            code = value
        elif number == 8:
            name = value.decode('utf8', 'replace')
        elif number == 9:
            raw = value
        elif number in (4, 10):
            floats += value
        elif number in (5, 7, 11):
            ints += packed(wire, value)
    if code not in TYPES:
        raise Unreadable('element type %d' % code)
    return Tensor(
        name, code, dims, raw if raw is not None else raw_from_scalars(code, floats, ints)
    )


def read_tensor(path):
    with open(path, 'rb') as f:
        return parse_tensor(f.read())


def parse_value(blob):
    name, kind, code, dims = '', 0, 0, None
    for number, _, value in fields(blob):
        if number == 1:
            name = value.decode('utf8', 'replace')
        if number != 2:
            continue
        for kind_number, wire, body in fields(value):
            if wire != 2 or kind_number == 6:
                continue
            kind = kind_number
            for part, _, v in fields(body) if kind == 1 else ():
                if part == 1:
                    code = v
                else:
                    dims = [
                        next((signed(x) for n, w, x in fields(d) if n == 1), None)
                        for _, _, d in fields(v)
                    ]
    return Value(name, kind, code, dims)


def read_io(path):
    """Inputs that are not initializers, and outputs."""
    with open(path, 'rb') as f:
        graph = b''.join(v for number, wire, v in fields(f.read()) if number == 7 and wire == 2)
    known, ins, outs = set(), [], []
    for number, _, v in fields(graph):
        if number == 11:
            ins.append(parse_value(v))
        elif number == 12:
            outs.append(parse_value(v))
        elif number == 5:
            known |= {x.decode('utf8', 'replace') for n, _, x in fields(v) if n == 8}
    return [v for v in ins if v.name not in known], outs


def read_operators(path):
    """The operators of the graph's own nodes; those of other domains as domain.Name."""
    with open(path, 'rb') as f:
        graph = b''.join(v for number, wire, v in fields(f.read()) if number == 7 and wire == 2)
    found = set()
    for number, _, node in fields(graph):
        if number == 1:
            text = {n: v.decode('utf8', 'replace') for n, w, v in fields(node) if n in (4, 7)}
            found.add(
                (text[7] + '.' if text.get(7, '') not in ('', 'ai.onnx') else '') + text.get(4, '')
            )
    return found


def read_uses(path):
    """(operator, element type of its first operand) of the graph's own nodes, where that is an
    input or a constant."""
    with open(path, 'rb') as f:
        graph = b''.join(v for number, wire, v in fields(f.read()) if number == 7 and wire == 2)
    types, found = {}, set()
    for number, _, v in fields(graph):
        if number == 11:
            value = parse_value(v)
            types[value.name] = value.code if value.kind == 1 else 0
        elif number == 5:
            head = {n: x for n, _, x in fields(v) if n in (2, 8)}
            types[head.get(8, b'').decode('utf8', 'replace')] = head.get(2, 0)
    for number, _, node in fields(graph):
        if number == 1:
            text = [(n, v.decode('utf8', 'replace')) for n, w, v in fields(node) if n in (1, 4, 7)]
            named, first = dict(text), next((v for n, v in text if n == 1), '')
            code = types.get(first, 0)
            if code in TYPES:
                found.add(
                    (
                        (named[7] + '.' if named.get(7, '') not in ('', 'ai.onnx') else '')
                        + named.get(4, ''),
                        TYPES[code][0],
                    )
                )
    return found


# --- writing ---


def varint(v):
    v &= (1 << 64) - 1
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out) + bytes([v])


def put(number, value):
    """One field: int -> varint, str and bytes -> length-delimited, float -> 32 bit."""
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack('<f', value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def pack_bits(values, bits):
    """Numbers of less than a byte as ONNX has them, the first in the lowest bits."""
    raw = bytearray((len(values) * bits + 7) // 8)
    for i, v in enumerate(values):
        raw[i * bits // 8] |= (v & (1 << bits) - 1) << i * bits % 8
    return bytes(raw)


def make_tensor(name, code, dims, raw):
    return b''.join(put(1, d) for d in dims) + put(2, code) + put(8, name) + put(9, raw)


def make_external(name, code, dims, location, offset, length):
    entry = lambda key, value: put(13, put(1, key) + put(2, value))
    return (
        b''.join(put(1, d) for d in dims)
        + put(2, code)
        + put(8, name)
        + put(14, 1)
        + entry('location', location)
        + entry('offset', str(offset))
        + entry('length', str(length))
    )


def make_value(name, code, dims):
    """A dimension is a number, a symbol, or None: open, without a name."""
    shape = b''.join(
        put(1, b'' if d is None else put(2, d) if isinstance(d, str) else put(1, d)) for d in dims
    )
    return put(1, name) + put(2, put(1, put(1, code) + put(2, shape)))


def make_sequence(name, code):
    return put(1, name) + put(2, put(4, put(1, put(1, put(1, code)))))


def make_attr(name, value):
    if isinstance(value, int):
        return put(1, name) + put(20, 2) + put(3, value)
    if isinstance(value, float):
        return put(1, name) + put(20, 1) + put(2, value)
    if isinstance(value, str):
        return put(1, name) + put(20, 3) + put(4, value)
    if isinstance(value, bytes):  # a tensor
        return put(1, name) + put(20, 4) + put(5, value)
    if value and isinstance(value[0], float):
        return put(1, name) + put(20, 6) + b''.join(put(7, v) for v in value)
    if value and isinstance(value[0], str):
        return put(1, name) + put(20, 8) + b''.join(put(9, v) for v in value)
    return put(1, name) + put(20, 7) + b''.join(put(8, v) for v in value)


def make_node(op, ins, outs, name='', domain='', graphs=(), **attrs):
    return (
        b''.join(put(1, i) for i in ins)
        + b''.join(put(2, o) for o in outs)
        + put(3, name)
        + put(4, op)
        + b''.join(put(5, make_attr(k, v)) for k, v in attrs.items())
        + b''.join(put(5, g) for g in graphs)
        + (put(7, domain) if domain else b'')
    )


def make_graph_attr(name, nodes, ins, outs, weights=()):
    """An attribute that is a subgraph."""
    graph = (
        b''.join(put(1, n) for n in nodes)
        + put(2, 'body')
        + b''.join(put(5, w) for w in weights)
        + b''.join(put(11, i) for i in ins)
        + b''.join(put(12, o) for o in outs)
    )
    return put(1, name) + put(20, 5) + put(6, graph)


def make_model(nodes, ins, outs, weights=(), opset=17, domains=()):
    graph = (
        b''.join(put(1, n) for n in nodes)
        + put(2, 'g')
        + b''.join(put(5, w) for w in weights)
        + b''.join(put(11, i) for i in ins)
        + b''.join(put(12, o) for o in outs)
    )
    sets = [put(2, opset)] if opset else []
    sets += [put(1, d) + put(2, v) for d, v in domains]
    return put(1, 8) + b''.join(put(8, s) for s in sets) + put(7, graph)


# --- comparison ---


def values(t):
    name, bits, form = TYPES[t.code]
    if name == 'bfloat16':
        return [struct.unpack('<f', b'\0\0' + t.raw[i : i + 2])[0] for i in range(0, len(t.raw), 2)]
    if form is None:
        return None
    letter, size = form[-1], struct.calcsize('<' + form[-1])
    return struct.unpack('<%d%s' % (len(t.raw) // size, letter), t.raw)


def difference(got, want, rtol=1e-3, atol=1e-4):
    """'' where equal within the tolerance of the type, else what differs. Integers are exact."""
    if got.code != want.code:
        return 'is %s, want %s' % (TYPES[got.code][0], TYPES[want.code][0])
    if list(got.dims) != list(want.dims):
        return 'has shape %s, want %s' % (got.dims, want.dims)
    if got.raw == want.raw:
        return ''
    if len(got.raw) != len(want.raw):
        return 'has %d bytes, want %d' % (len(got.raw), len(want.raw))
    name, a, b = TYPES[want.code][0], values(got), values(want)
    if b is None:
        return 'bytes differ'
    inexact = name.startswith(('float', 'bfloat', 'complex'))
    loose = 10 if name in ('float16', 'bfloat16') else 1
    least = (
        max(atol * loose, 1e-5 * loose * max((abs(y) for y in b if math.isfinite(y)), default=0))
        if inexact
        else 0
    )
    for i, (x, y) in enumerate(zip(a, b)):
        if x == y or (x != x and y != y):
            continue
        if (
            not inexact
            or not math.isfinite(x)
            or not math.isfinite(y)
            or abs(x - y) > least + rtol * loose * abs(y)
        ):
            return '[%d] is %r, want %r' % (i, x, y)
    return ''
