# SPDX-License-Identifier: Apache-2.0
"""Weights of narrow types at size, and constants that hide in other places than initializers: none
may be held in memory. Payloads repeat with a prime period, so that any element is known without
keeping them.

Each maker writes a model of one product and returns Case: what weight it multiplies with, element
by element."""
import struct
from collections import namedtuple

from onnx import make_node, make_value, put, varint

F32, U8, I8, I64, F16, BF16 = 1, 2, 3, 7, 10, 16
F8, U4, I4, U2, I2 = 17, 21, 22, 25, 26
MS = 'com.microsoft'
PERIOD = 251

# value(r, c): of the weight as float32; None: not checked. narrow: the blob is no larger than the
# file.
Case = namedtuple('Case', 'rows cols value narrow', defaults=(False,))


def repeated(piece, length):
    return (piece * (length // len(piece) + 1))[:length]


def tensor(name, code, dims, raw):
    """A TensorProto with raw data, made without a second copy of them."""
    head = (
        b''.join(put(1, d) for d in dims)
        + put(2, code)
        + put(8, name)
        + varint(9 << 3 | 2)
        + varint(len(raw))
    )
    return head + raw


BYTES = bytes((i * 37 + 11) % 256 for i in range(PERIOD))
SCALES = [(1 + i % 13) / 64 for i in range(241)]
SCALE_BYTES = struct.pack('<241f', *SCALES)


def number(i, bits, signed):
    """Element i of the repeated bytes, read as numbers of that many bits, the lowest first."""
    per = 8 // bits
    v = BYTES[i // per % PERIOD] >> i % per * bits & (1 << bits) - 1
    return v - (1 << bits) if signed and v >> bits - 1 else v


def product(
    path, nodes, weights, rows, cols, opset, domains=(), more=b'', functions=b'', takes=F32
):
    """A model of x [1][rows] and y [1][cols]; `more` are other fields of the graph."""
    io = put(11, make_value('x', takes, [1, rows])) + put(12, make_value('y', F32, [1, cols]))
    pieces = [put(1, n) for n in nodes] + [put(2, 'g'), io, more]
    for w in weights:
        pieces += [varint(5 << 3 | 2) + varint(len(w)), w]
    with open(path, 'wb') as f:
        f.write(
            put(1, 8)
            + put(8, put(2, opset))
            + b''.join(put(8, put(1, d) + put(2, v)) for d, v in domains)
            + functions
        )
        f.write(varint(7 << 3 | 2) + varint(sum(map(len, pieces))))
        f.writelines(pieces)


def wrong(path, case, width=16, marks=400):
    """Places of the packed weight in the blob that hold something else; a bias of zeros may lie
    before it."""
    full = case.cols // width * width
    with open(path, 'rb') as f:

        def bad_from(at):
            bad = []
            for k in range(marks):
                r, c = (
                    k * 7919 % case.rows,
                    (case.cols - 1 - k) if k < 8 else k * 104729 % case.cols,
                )
                place = (
                    (c // width * case.rows + r) * width + c % width
                    if c < full
                    else full * case.rows + r * 4 + c - full
                )
                f.seek(at + 4 * place)
                got, want = struct.unpack('<f', f.read(4))[0], case.value(r, c)
                if got != want and (got == got or want == want):
                    bad.append('[%d][%d] is %r, want %r' % (r, c, got, want))
            return bad

        return min((bad_from(at) for at in (0, (case.cols * 4 + 63) // 64 * 64)), key=len)


def blocks(path, rows, cols, bits, block=16):
    """MatMulNBits: [cols][rows / block][bytes of a block], a scale and a zero point for each
    block."""
    each = rows // block
    row = (each * bits + 7) // 8
    weights = [
        tensor('b', U8, [cols, each, block * bits // 8], repeated(BYTES, cols * rows * bits // 8)),
        tensor('s', F32, [cols * each], repeated(SCALE_BYTES, cols * each * 4)),
        tensor('z', U8, [cols * row], repeated(BYTES, cols * row)),
    ]
    product(
        path,
        [
            make_node(
                'MatMulNBits',
                ['x', 'b', 's', 'z'],
                ['y'],
                'quantized',
                MS,
                K=rows,
                N=cols,
                bits=bits,
                block_size=block,
            )
        ],
        weights,
        rows,
        cols,
        21,
        ((MS, 1),),
    )
    zero = lambda c, k: number(c * row * (8 // bits) + k, bits, False)
    return Case(
        rows,
        cols,
        lambda r, c: (number(c * rows + r, bits, False) - zero(c, r // block))
        * SCALES[(c * each + r // block) % 241],
        True,
    )


def gathered(path, rows, cols, block=16):
    """GatherBlockQuantized: a table of 4 bits that stays as it is."""
    weights = [
        tensor('t', U8, [rows, cols // 2], repeated(BYTES, rows * cols // 2)),
        tensor('s', F32, [rows, cols // block], repeated(SCALE_BYTES, rows * cols // block * 4)),
    ]
    node = make_node(
        'GatherBlockQuantized',
        ['t', 'x', 's'],
        ['z'],
        'rows',
        MS,
        gather_axis=0,
        quantize_axis=1,
        block_size=block,
        bits=4,
    )
    product(
        path,
        [node, make_node('Squeeze', ['z', 'axis'], ['y'], 'flat')],
        weights + [tensor('axis', I64, [1], struct.pack('<q', 0))],
        1,
        cols,
        21,
        ((MS, 1),),
        takes=I64,
    )
    return Case(rows, cols, None, True)


def dequantized(path, rows, cols, code, bits, block=8):
    """DequantizeLinear with blocks along the rows of [rows][cols]."""
    weights = [
        tensor('w', code, [rows, cols], repeated(BYTES, rows * cols * bits // 8)),
        tensor('s', F32, [rows // block, cols], repeated(SCALE_BYTES, rows // block * cols * 4)),
    ]
    product(
        path,
        [
            make_node('DequantizeLinear', ['w', 's'], ['d'], 'numbers', axis=0, block_size=block),
            make_node('MatMul', ['x', 'd'], ['y'], 'product'),
        ],
        weights,
        rows,
        cols,
        25,
    )
    signed = code in (I8, I4, I2)
    return Case(
        rows,
        cols,
        lambda r, c: number(r * cols + c, bits, signed) * SCALES[(r // block * cols + c) % 241],
        True,
    )


def float_of(code, i):
    if code == F8:
        b = BYTES[i % PERIOD]
        sign, e, m = -1.0 if b >> 7 else 1.0, b >> 3 & 15, b & 7
        return (
            float('nan')
            if e == 15 and m == 7
            else sign * (m / 8 * 2.0**-6 if not e else (1 + m / 8) * 2.0 ** (e - 7))
        )
    raw = bytes((BYTES[2 * i % PERIOD], BYTES[(2 * i + 1) % PERIOD]))
    return struct.unpack('<e', raw)[0] if code == F16 else struct.unpack('<f', b'\0\0' + raw)[0]


def small_floats(path, rows, cols, code):
    size = 1 if code == F8 else 2
    product(
        path,
        [
            make_node('Cast', ['w'], ['d'], 'numbers', to=F32),
            make_node('MatMul', ['x', 'd'], ['y'], 'product'),
        ],
        [tensor('w', code, [rows, cols], repeated(BYTES, rows * cols * size))],
        rows,
        cols,
        21,
    )
    return Case(rows, cols, lambda r, c: float_of(code, r * cols + c), True)


def sparse(path, rows, cols, every=7):
    """A sparse initializer, every seventh element set."""
    n = (rows * cols + every - 1) // every
    values = tensor('w', F32, [n], repeated(SCALE_BYTES, n * 4))
    indices = tensor('', I64, [n], b''.join(struct.pack('<q', i * every) for i in range(n)))
    body = put(1, values) + put(2, indices) + put(3, rows) + put(3, cols)
    product(
        path,
        [make_node('MatMul', ['x', 'w'], ['y'], 'product')],
        [],
        rows,
        cols,
        17,
        more=put(15, body),
    )
    return Case(
        rows,
        cols,
        lambda r, c: 0.0 if (r * cols + c) % every else SCALES[(r * cols + c) // every % 241],
    )


def in_function(path, rows, cols):
    """A constant in the body of a function that is called twice."""
    value = put(
        5,
        put(1, 'value')
        + put(5, tensor('', F32, [rows, cols], repeated(SCALE_BYTES, rows * cols * 4)))
        + put(20, 4),
    )
    constant = put(2, 'w') + put(4, 'Constant') + value
    body = (
        put(1, 'dense')
        + put(4, 'a')
        + put(5, 'b')
        + put(7, constant)
        + put(7, make_node('MatMul', ['a', 'w'], ['b'], 'product'))
    )
    body += put(9, put(1, '') + put(2, 17)) + put(10, 'own')
    product(
        path,
        [
            make_node('dense', ['x'], ['h'], 'first', 'own'),
            make_node('Relu', ['h'], ['r'], 'between'),
            make_node('dense', ['r'], ['y'], 'second', 'own'),
        ],
        [],
        rows,
        cols,
        17,
        (('own', 1),),
        functions=put(25, body),
    )
    return Case(rows, cols, lambda r, c: SCALES[(r * cols + c) % 241])


def listed(path, rows, cols, kind):
    """Constant with value_floats or value_ints."""
    if kind == 'value_floats':
        data, field, code = repeated(SCALE_BYTES, rows * cols * 4), 7, 6
        value = lambda i: SCALES[i % 241]
    else:
        data, field, code = repeated(bytes(i % 128 for i in range(PERIOD)), rows * cols), 8, 7
        value = lambda i: float(i % PERIOD % 128)
    attr = put(5, put(1, kind) + varint(field << 3 | 2) + varint(len(data)) + data + put(20, code))
    nodes = [
        put(2, 'v') + put(3, 'list') + put(4, 'Constant') + attr,
        make_node('Cast', ['v'], ['f'], 'numbers', to=F32),
        make_node('Reshape', ['f', 'dims'], ['w'], 'shaped'),
        make_node('MatMul', ['x', 'w'], ['y'], 'product'),
    ]
    product(path, nodes, [tensor('dims', I64, [2], struct.pack('<2q', rows, cols))], rows, cols, 17)
    return Case(rows, cols, lambda r, c: value(r * cols + c))


def cases(scale):
    """(label, maker) of all; scale multiplies the columns."""
    n = lambda cols: cols * scale
    yield 'MatMulNBits of 4 bits', lambda p: blocks(p, 4096, n(4096), 4)
    yield 'MatMulNBits of 2 bits', lambda p: blocks(p, 4096, n(4096), 2)
    yield 'MatMulNBits of 8 bits', lambda p: blocks(p, 4096, n(2048), 8)
    yield 'GatherBlockQuantized', lambda p: gathered(p, n(32768), 1024)
    for label, code, bits in [('int4', I4, 4), ('uint4', U4, 4), ('int2', I2, 2), ('int8', I8, 8)]:
        yield '%s in blocks' % label, lambda p, code=code, bits=bits: dequantized(
            p, 4096, n(4096), code, bits
        )
    for label, code in [('float8', F8), ('float16', F16), ('bfloat16', BF16)]:
        yield label, lambda p, code=code: small_floats(p, 4096, n(4100), code)
    yield 'sparse', lambda p: sparse(p, 2048, n(4096))
    yield 'a constant of a function', lambda p: in_function(p, n(3072), n(3072))
    yield 'value_floats', lambda p: listed(p, 2048, n(4096), 'value_floats')
    yield 'value_ints', lambda p: listed(p, 2048, n(4096), 'value_ints')
