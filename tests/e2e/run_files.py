# SPDX-License-Identifier: Apache-2.0
"""`inlay run` on each format of values: the results are those of the same values as a TensorProto;
what is damaged or does not fit is refused with its name. `--expect` and `inlay test`: right, wrong,
tolerances.

    run_files.py --inlay INLAY --models MODELS"""
import argparse
import io
import math
import os
import shutil
import struct
import zipfile
import zlib

import host
import onnx
import tap
from onnx import make_model, make_node, make_tensor, make_value

CODES = {
    'float32': (1, 'f', '<f4'),
    'float16': (10, 'e', '<f2'),
    'uint8': (2, 'B', '|u1'),
    'int16': (5, 'h', '<i2'),
    'int64': (7, 'q', '<i8'),
    'float64': (11, 'd', '<f8'),
}


def write(path, data):
    with open(path, 'wb' if isinstance(data, bytes) else 'w') as f:
        f.write(data)
    return path


def npy(dtype, dims, values, order='False', version=1):
    head = "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }" % (
        CODES[dtype][2],
        order,
        ''.join('%d,' % d for d in dims),
    )
    fixed = 10 if version == 1 else 12
    head += ' ' * (-(fixed + len(head) + 1) % 64) + '\n'
    return (
        b'\x93NUMPY'
        + bytes([version, 0])
        + struct.pack('<H' if version == 1 else '<I', len(head))
        + head.encode()
        + struct.pack('<%d%s' % (len(values), CODES[dtype][1]), *values)
    )


def wav(samples, bits=16):
    data = struct.pack('<%d%s' % (len(samples), 'h' if bits == 16 else 'f'), *samples)
    form = struct.pack(
        '<HHIIHH', 1 if bits == 16 else 3, 1, 16000, 16000 * bits // 8, bits // 8, bits
    )
    body = (
        b'WAVEfmt '
        + struct.pack('<I', len(form))
        + form
        + b'LIST\3\0\0\0abc\0'
        + b'data'
        + struct.pack('<I', len(data))
        + data
    )
    return b'RIFF' + struct.pack('<I', len(body)) + body


def png(width, kind, rows, depth=8, palette=b'', clear=b''):
    """kind: 0 grey, 2 colours, 3 palette, 4 grey and alpha, 6 colours and alpha."""
    chunk = (
        lambda name, data: struct.pack('>I', len(data))
        + name
        + data
        + struct.pack('>I', zlib.crc32(name + data))
    )
    body = chunk(b'IHDR', struct.pack('>IIBBBBB', width, len(rows), depth, kind, 0, 0, 0)) + chunk(
        b'gAMA', struct.pack('>I', 100000)
    )
    body += (chunk(b'PLTE', palette) if palette else b'') + (
        chunk(b'tRNS', clear) if clear else b''
    )
    return (
        b'\x89PNG\r\n\x1a\n'
        + body
        + chunk(b'IDAT', zlib.compress(b''.join(b'\0' + bytes(r) for r in rows)))
        + chunk(b'IEND', b'')
    )


def npz(members, packed=True):
    to = io.BytesIO()
    with zipfile.ZipFile(to, 'w', zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as z:
        for name, data in members.items():
            with z.open(
                zipfile.ZipInfo(name + '.npy'), 'w', force_zip64=True
            ) if not packed else z.open(name + '.npy', 'w') as f:
                f.write(data)
    return to.getvalue()


def texts(dims, words, order='False'):
    """A .npy of words."""
    longest = max(map(len, words)) or 1
    head = "{'descr': '<U%d', 'fortran_order': %s, 'shape': (%s), }" % (
        longest,
        order,
        ''.join('%d,' % d for d in dims),
    )
    head += ' ' * (-(11 + len(head)) % 64) + '\n'
    return (
        b'\x93NUMPY\1\0'
        + struct.pack('<H', len(head))
        + head.encode()
        + b''.join(w.encode('utf-32-le').ljust(4 * longest, b'\0') for w in words)
    )


class Bench:
    def __init__(self, inlay, work):
        self.inlay, self.work = inlay, work

    def model(self, dtype, dims):
        """y = x, as a copy."""
        code = CODES[dtype][0]
        return write(
            os.path.join(self.work, '%s_%s.onnx' % (dtype, 'x'.join(map(str, dims)))),
            make_model(
                [make_node('Flatten', ['x'], ['y'], axis=0)],
                [make_value('x', code, dims)],
                [make_value("y", code, [1, math.prod(dims)])],
            ),
        )

    def run(self, dtype, dims, name, data, *more):
        """(status, text, the values that come out)"""
        path = name if data is None else write(os.path.join(self.work, name), data)
        out = os.path.join(self.work, 'out')
        shutil.rmtree(out, ignore_errors=True)
        status, text = host.run(
            [self.inlay, 'run', self.model(dtype, dims), '--input', path, '-o', out] + list(more)
        )
        if status:
            return status, text, None
        raw = onnx.read_tensor(os.path.join(out, 'output_0.pb')).raw
        return status, text, [v for v, in struct.iter_unpack('<' + CODES[dtype][1], raw)]


GOOD = [
    (
        'npy',
        'float32',
        [2, 3],
        'a.npy',
        npy('float32', [2, 3], [1, 2, 3, 4, 5, 6.5]),
        [1, 2, 3, 4, 5, 6.5],
    ),
    ('npy without values', 'float32', [2, 0, 5], 'a.npy', npy('float32', [2, 0, 5], []), []),
    ('npy of version 2', 'float32', [2], 'a.npy', npy('float32', [2], [1, 2], version=2), [1, 2]),
    (
        'npy of doubles for floats',
        'float32',
        [2],
        'a.npy',
        npy('float64', [2], [0.1, 2]),
        list(struct.unpack('<2f', struct.pack('<2f', 0.1, 2))),
    ),
    ('npy of int64 for int16', 'int16', [2], 'a.npy', npy('int64', [2], [-5, 300]), [-5, 300]),
    ('npy of large int64', 'int64', [1], 'a.npy', npy('int64', [1], [2**62 + 1]), [2**62 + 1]),
    ('csv with a head', 'float32', [2, 2], 'a.csv', 'a,b\n1.5,-2\n3e2;4\n', [1.5, -2, 300, 4]),
    ('csv for integers', 'int64', [3], 'a.csv', '1 2\n3', [1, 2, 3]),
    ('wav for floats', 'float32', [3], 'a.wav', wav([-32768, 0, 16384]), [-1, 0, 0.5]),
    ('wav for integers', 'int16', [3], 'a.wav', wav([-32768, 0, 16384]), [-32768, 0, 16384]),
    ('wav of floats', 'float32', [2], 'a.wav', wav([0.25, -1], 32), [0.25, -1]),
    (
        "npy in Fortran's order",
        'int16',
        [2, 3, 2],
        'a.npy',
        npy('int16', [2, 3, 2], [1, 7, 3, 9, 5, 11, 2, 8, 4, 10, 6, 12], 'True'),
        list(range(1, 13)),
    ),
    (
        "npy of a line in Fortran's order",
        'float32',
        [3],
        'a.npy',
        npy('float32', [3], [1, 2, 3], 'True'),
        [1, 2, 3],
    ),
    (
        'pgm',
        'uint8',
        [1, 1, 2, 3],
        'a.pgm',
        b'P5\n# made\n3 2\n255\n\0\1\2\3\4\5',
        [0, 1, 2, 3, 4, 5],
    ),
    ('pgm for floats', 'float32', [1, 1, 1, 2], 'a.pgm', b'P5 2 1 255\n\0\xff', [0, 1]),
    (
        'ppm, channels first',
        'uint8',
        [1, 3, 1, 2],
        'a.ppm',
        b'P6 2 1 255\n\1\2\3\4\5\6',
        [1, 4, 2, 5, 3, 6],
    ),
    (
        'ppm, channels last',
        'uint8',
        [1, 1, 2, 3],
        'a.ppm',
        b'P6 2 1 255\n\1\2\3\4\5\6',
        [1, 2, 3, 4, 5, 6],
    ),
    ('zeros', 'int16', [3], 'zeros', None, [0, 0, 0]),
    (
        'npz by name',
        'float32',
        [2],
        'a.npz',
        npz({'other': b'', 'x': npy('float32', [2], [1, 2])}),
        [1, 2],
    ),
    ('npz in order', 'float32', [2], 'a.npz', npz({'arr_0': npy('float32', [2], [1, 2])}), [1, 2]),
    (
        'npz as numpy.savez writes it',
        'float32',
        [500],
        'a.npz',
        npz({'x': npy('float32', [500], range(500))}, False),
        list(range(500)),
    ),
    (
        'png',
        'uint8',
        [1, 1, 2, 3],
        'a.png',
        png(3, 0, [[0, 1, 2], [3, 4, 255]]),
        [0, 1, 2, 3, 4, 255],
    ),
    ('png for floats', 'float32', [1, 1, 1, 2], 'a.png', png(2, 0, [[0, 255]]), [0, 1]),
    (
        'png of colours, channels first',
        'uint8',
        [1, 3, 1, 2],
        'a.png',
        png(2, 2, [[1, 2, 3, 4, 5, 6]]),
        [1, 4, 2, 5, 3, 6],
    ),
    (
        'png of colours, channels last',
        'uint8',
        [1, 1, 2, 3],
        'a.png',
        png(2, 2, [[1, 2, 3, 4, 5, 6]]),
        [1, 2, 3, 4, 5, 6],
    ),
    (
        'png with alpha',
        'uint8',
        [1, 3, 1, 2],
        'a.png',
        png(2, 6, [[1, 2, 3, 9, 4, 5, 6, 9]]),
        [1, 4, 2, 5, 3, 6],
    ),
    (
        'png with alpha for four channels',
        'uint8',
        [1, 4, 1, 2],
        'a.png',
        png(2, 6, [[1, 2, 3, 9, 4, 5, 6, 8]]),
        [1, 4, 2, 5, 3, 6, 9, 8],
    ),
    (
        'png, grey for colours',
        'uint8',
        [1, 3, 1, 2],
        'a.png',
        png(2, 0, [[7, 8]]),
        [7, 8, 7, 8, 7, 8],
    ),
    (
        'png of 16 bits',
        'uint8',
        [1, 1, 1, 2],
        'a.png',
        png(2, 0, [[255, 255, 128, 128]], 16),
        [255, 128],
    ),
    (
        'png of 1 bit',
        'uint8',
        [1, 1, 1, 8],
        'a.png',
        png(8, 0, [[0b10100001]], 1),
        [255, 0, 255, 0, 0, 0, 0, 255],
    ),
    (
        'png with a palette',
        'uint8',
        [1, 3, 1, 2],
        'a.png',
        png(2, 3, [[1, 0]], 8, b'\1\2\3\4\5\6', b'\0'),
        [4, 1, 5, 2, 6, 3],
    ),
]
WHOLE = npy('float32', [2, 3], [1, 2, 3, 4, 5, 6.5])
BAD = [
    ('too many values', 'float32', [3], 'a.npy', npy('float32', [4], [1, 2, 3, 4]), 'has shape'),
    ('floats for integers', 'int64', [1], 'a.npy', npy('float32', [1], [1]), 'holds float32'),
    (
        'a number that is too large',
        'int16',
        [1],
        'a.npy',
        npy('int64', [1], [70000]),
        'int16 has not',
    ),
    ('a fraction for integers', 'int64', [1], 'a.csv', '1.5', 'int64 has not'),
    (
        "words in Fortran's order",
        'int64',
        [2],
        'a.npy',
        texts([2], ['a', 'b'], 'True'),
        "Fortran's order",
    ),
    ('no numbers', 'float32', [2], 'a.csv', '1,x', 'no number'),
    (
        'a large shape',
        'float32',
        [2],
        'a.npy',
        npy('float32', [10**11, 10**11, 10**11], [1]),
        'fewer values',
    ),
    ('a short picture', 'uint8', [1, 1, 2, 3], 'a.pgm', b'P5 3 2 255\n\0\1', 'cut off'),
    ('a zip without an end', 'float32', [1], 'a.npz', b'PK\3\4....', 'cut off'),
    (
        'an archive without the input',
        'float32',
        [1],
        'a.npz',
        npz({'a': b'', 'b': b''}),
        'there is no "x"',
    ),
    (
        'what is no .npy in an archive',
        'float32',
        [1],
        'a.npz',
        npz({'x': b'some text'}),
        'a.npz(x)',
    ),
    (
        'a large member of an archive',
        'float32',
        [1],
        'a.npz',
        npz({'x': npy('float32', [100000], [0] * 100000)}),
        'larger than the values',
    ),
    ('a JPEG', 'float32', [1], 'a.jpg', b'\xff\xd8\xff\xe0', 'JPEG'),
    (
        'a png of another size',
        'uint8',
        [1, 1, 2, 2],
        'a.png',
        png(3, 0, [[1, 2, 3]]),
        'scale and crop',
    ),
    ('a large png', 'uint8', [1, 1, 2, 2], 'a.png', png(1 << 20, 0, [[1]]), 'no PNG'),
    ('words for numbers', 'int64', [1], 'a.npy', texts([1], ['a']), 'holds string'),
    (
        'a wav of other bits',
        'float32',
        [1],
        'a.wav',
        b'RIFF\0\0\0\0WAVEdata\0\0\0\0',
        'no WAV file',
    ),
]


def good_or_refused(b, data, values):
    status, _, got = b.run('float32', [2, 3], 'a.npz', data)
    return not (status in (65, 69) or (status == 0 and got == values))


def formats(t, b):
    for name, dtype, dims, path, data, want in GOOD:
        status, text, got = b.run(dtype, dims, path, data)
        t.ok(name, status == 0 and got == want, '%d %s %s' % (status, got, text))
    for name, dtype, dims, path, data, part in BAD:
        status, text, _ = b.run(dtype, dims, path, data)
        t.ok(
            name + ' is refused',
            status in (65, 69) and part in text and path in text,
            '%d %s' % (status, text),
        )
    bad = [n for n in range(len(WHOLE)) if b.run('float32', [2, 3], 'a.npy', WHOLE[:n])[0] != 65]
    t.ok('a .npy that is cut off anywhere is refused', not bad, bad)
    good = npz({'x': WHOLE})
    bad = [
        n
        for n in range(len(good))
        if b.run('float32', [2, 3], 'a.npz', good[:n])[0] != 65 and n > 3
    ]
    t.ok('a .npz that is cut off anywhere is refused', not bad, bad)
    wrong = [
        n
        for n in range(len(good))
        if good_or_refused(
            b, good[:n] + bytes([good[n] ^ 0x55]) + good[n + 1 :], [1, 2, 3, 4, 5, 6.5]
        )
    ]
    t.ok('a .npz with a byte changed gives its values or is refused', not wrong, wrong)
    picture = png(3, 0, [[0, 1, 2], [3, 4, 255]])
    bad = [
        n
        for n in range(4, len(picture) - 12)
        if b.run('uint8', [1, 1, 2, 3], 'a.png', picture[:n])[0] != 65
    ]
    t.ok('a .png that is cut off anywhere is refused', not bad, bad)
    first = b.run('float32', [1000], 'random:1', None)[2]
    t.ok(
        'random:1 is the same each time',
        first == b.run('float32', [1000], 'random:1', None)[2]
        and 0 <= min(first) < 0.1
        and 0.9 < max(first) < 1,
    )
    t.ok('random:2 is another', first != b.run('float32', [1000], 'random:2', None)[2])
    for word, meant in (('zeroes', 'zeros'), ('random', 'random:1'), ('zero', 'zeros')):
        status, text, _ = b.run('float32', [2], word, None)
        t.ok(
            '%s: %s was meant' % (word, meant),
            status == 64 and 'did you mean %s?' % meant in text,
            text,
        )
    t.ok('random: needs a seed', b.run('float32', [1000], 'random:', None)[0] == 64)


def written(t, b):
    """What --npy writes is read again."""
    for dtype in CODES:
        values = [0, 1, 100]
        out = os.path.join(b.work, 'npy')
        shutil.rmtree(out, ignore_errors=True)
        path = write(os.path.join(b.work, 'a.npy'), npy(dtype, [1, 3], values))
        status, text = host.run(
            [b.inlay, 'run', b.model(dtype, [1, 3]), '-i', path, '-o', out, '--npy']
        )
        with open(os.path.join(out, 'output_0.npy'), 'rb') as f:
            t.ok('--npy: ' + dtype, status == 0 and f.read() == npy(dtype, [1, 3], values), text)


def expected(t, b):
    path = write(os.path.join(b.work, 'x.npy'), npy('float32', [2], [1, 100]))
    for name, want, more, status, part in [
        ('equal', [1, 100], [], 0, 'equal'),
        ('within the usual', [1.0005, 100.05], [], 0, 'right'),
        ('too far', [1, 101], [], 1, 'DIFFERS in 1 of 2 values, most at 1: 100 instead of 101'),
        ('within --rtol', [1, 101], ['--rtol', '0.01'], 0, 'right'),
        ('within --atol', [1, 101], ['--atol', '1'], 0, 'right'),
        ('not within 0', [1, 100.05], ['--rtol', '0'], 1, 'DIFFERS'),
    ]:
        file = write(os.path.join(b.work, 'y.npy'), npy('float32', [1, 2], want))
        got, text = host.run(
            [b.inlay, 'run', b.model('float32', [2]), '-i', path, '--expect', file] + more
        )
        t.ok('--expect: ' + name, got == status and part in text, '%d %s' % (got, text))
    halves = [
        write(os.path.join(b.work, name), npy('float16', [2], values))
        for name, values in (('x16.npy', [1, 100]), ('y16.npy', [1, 100.5]))
    ]
    for name, more, status, part in [
        ('within the usual', [], 0, 'right'),
        ('beyond --rtol', ['--rtol', '0.001'], 1, 'DIFFERS in 1'),
    ]:
        got, text = host.run(
            [b.inlay, 'run', b.model('float16', [2]), '-i', halves[0], '--expect', halves[1]] + more
        )
        t.ok('--expect of float16: ' + name, got == status and part in text, '%d %s' % (got, text))
    for text in ('', 'x', '-1', 'nan', '1x', ' 1'):
        t.ok(
            '--rtol "%s" is refused' % text,
            host.run(
                [
                    b.inlay,
                    'run',
                    b.model('float32', [2]),
                    '-i',
                    path,
                    '--expect',
                    path,
                    '--rtol=' + text,
                ]
            )[0]
            == 64,
        )


def several(t, b):
    """Inputs and results of one archive."""
    add = write(
        os.path.join(b.work, 'add.onnx'),
        make_model(
            [make_node('Sub', ['a', 'b'], ['c']), make_node('Neg', ['c'], ['d'])],
            [make_value('a', 1, [2]), make_value('b', 1, [2])],
            [make_value('c', 1, [2]), make_value('d', 1, [2])],
        ),
    )
    value = lambda *v: npy('float32', [2], v)
    run = lambda members, want: host.run(
        [
            b.inlay,
            'run',
            add,
            '-i',
            write(os.path.join(b.work, 'in.npz'), npz(members)),
            '--expect',
            write(os.path.join(b.work, 'out.npz'), npz(want)),
        ]
    )
    right = {'d': value(-1, -2), 'c': value(1, 2)}
    for name, members in (
        ('names', {'b': value(3, 4), 'a': value(4, 6)}),
        ('order', {'arr_0': value(4, 6), 'arr_1': value(3, 4)}),
    ):
        status, text = run(members, right)
        t.ok(
            'two inputs and results of archives by ' + name,
            status == 0 and text.count('equal') == 2,
            text,
        )
    status, text = run({'b': value(3, 4), 'a': value(4, 6)}, dict(right, d=value(-1, 2)))
    t.ok(
        'a wrong result of an archive',
        status == 1 and 'd: DIFFERS in 1 of 2' in text and 'c: equal' in text,
        text,
    )
    status, text = run({'b': value(3, 4)}, right)
    t.ok('an archive that lacks an input', status == 65 and 'there is no "a"' in text, text)
    status, text = run({'b': value(3, 4), 'a': value(4, 6)}, {'c': value(1, 2)})
    t.ok('an archive that lacks a result', status == 65 and 'there is no "d"' in text, text)


def best(t, b):
    """--top and --labels."""
    model = b.model('float32', [5])
    path = write(os.path.join(b.work, 'x.npy'), npy('float32', [5], [3, float('nan'), 7, -1, 7]))
    labels = write(os.path.join(b.work, 'labels.txt'), 'a\nb\ntwo words\nd\r\ne')
    lines = lambda *more: host.run([b.inlay, 'run', model, '-i', path] + list(more))
    status, text = lines('--top', '3')
    t.ok(
        '--top',
        status == 0
        and [line.split() for line in text.splitlines()[1:]]
        == [['1.', '7', '2'], ['2.', '7', '4'], ['3.', '3', '0']],
        text,
    )
    status, text = lines('--labels', labels)
    t.ok(
        '--labels',
        status == 0
        and (
            '  1. 7            two words (2)\n'
            '  2. 7            e (4)\n'
            '  3. 3            a (0)\n'
            '  4. -1           d (3)\n'
            '  5. nan          b (1)\n'
        )
        in text,
        text,
    )
    status, text = lines('--labels', write(os.path.join(b.work, 'few.txt'), 'a\nb\n'))
    t.ok('labels of another number', status == 64 and 'has 2 lines' in text, text)
    t.ok('--top 0 is refused', lines('--top', '0')[0] == 64)


def per_step(t, b):
    """The first step whose value is not the recorded one; images are turned on the way."""
    weights = struct.pack('<4f', 2, 0, 0, 3)
    model = write(
        os.path.join(b.work, 'steps.onnx'),
        make_model(
            [
                make_node('Conv', ['x', 'w'], ['c'], 'scale'),
                make_node('MaxPool', ['c'], ['p'], 'pool', kernel_shape=[2, 2]),
                make_node('Reshape', ['p', 's'], ['f'], 'flat'),
                make_node('Sin', ['f'], ['y'], 'wave'),
            ],
            [make_value('x', 1, [1, 2, 2, 3])],
            [make_value('y', 1, [4])],
            [
                make_tensor('w', 1, [2, 2, 1, 1], weights),
                make_tensor('s', 7, [1], struct.pack('<q', 4)),
            ],
        ),
    )
    x = [5, 1, 4, 2, 3, 0, 7, 6, 8, 9, 11, 10]
    c = [2 * v for v in x[:6]] + [3 * v for v in x[6:]]
    p = [max(c[k + j], c[k + j + 1], c[k + j + 3], c[k + j + 4]) for k in (0, 6) for j in (0, 1)]
    right = {'x': x, 'c': c, 'p': p, 'f': p, 'y': [math.sin(v) for v in p], 'other': [1]}
    dims = {'x': [1, 2, 2, 3], 'c': [1, 2, 2, 3], 'p': [1, 2, 1, 2]}
    write(os.path.join(b.work, 'in.npz'), npz({'x': npy('float32', dims['x'], x)}))

    def run(**changed):
        values = {name: list(v) for name, v in right.items()}
        for name, at in changed.items():
            values[name][at] += 1
        data = npz(
            {name: npy('float32', dims.get(name, [len(v)]), v) for name, v in values.items()}
        )
        return host.run(
            [
                b.inlay,
                'run',
                model,
                '-i',
                os.path.join(b.work, 'in.npz'),
                '--per-step',
                '--expect',
                write(os.path.join(b.work, 'v.npz'), data),
            ]
        )

    status, text = run()
    t.ok('--per-step, all right', status == 0 and '4 of 6 values compared, all right' in text, text)
    for name, changed, parts in (
        (
            'a convolution',
            {'c': 4, 'p': 0},
            (
                'Conv "scale", is the first',
                'c: DIFFERS in 1 of 12 values, most at 4: 6 instead of 7',
                '2 differ',
            ),
        ),
        (
            'a pool',
            {'p': 3, 'y': 1},
            (
                'MaxPool "pool", is the first',
                'p: DIFFERS in 1 of 4 values, most at 3: 33 instead of 34',
            ),
        ),
        ('the last step', {'y': 2}, ('Sin "wave", is the first', '1 differ')),
    ):
        status, text = run(**changed)
        t.ok('--per-step finds ' + name, status == 1 and all(part in text for part in parts), text)
    status, text = host.run(
        [
            b.inlay,
            'run',
            model,
            '-i',
            os.path.join(b.work, 'in.npz'),
            '--per-step',
            '--expect',
            os.path.join(b.work, 'in.npz'),
        ]
    )
    t.ok(
        '--per-step without a value of a step',
        status == 65 and 'no name is that of one' in text,
        text,
    )


def other_codes(t, b):
    """Bytes that a pass keeps as codes of the other sign are not those that the model names."""
    number = lambda name, code, form, v: make_tensor(name, code, [], struct.pack(form, v))
    model = write(
        os.path.join(b.work, 'codes.onnx'),
        make_model(
            [
                make_node('QuantizeLinear', ['x', 's', 'low'], ['a']),
                make_node('DequantizeLinear', ['a', 's', 'low'], ['b']),
                make_node('QuantizeLinear', ['b', 's', 'zero'], ['c']),
                make_node('Reshape', ['c', 'dims'], ['d']),
                make_node('DequantizeLinear', ['d', 's', 'zero'], ['e']),
                make_node('Sin', ['e'], ['y']),
            ],
            [make_value('x', 1, [4])],
            [make_value('y', 1, [2, 2])],
            [
                number('s', 1, '<f', 0.5),
                number('low', 3, 'b', -128),
                number('zero', 2, 'B', 0),
                make_tensor('dims', 7, [2], struct.pack('<2q', 2, 2)),
            ],
        ),
    )
    x = [1, 2.5, 4, 100]
    codes = [int(2 * v) for v in x]
    values = npz(
        {
            'x': npy('float32', [4], x),
            'c': npy('uint8', [4], codes),
            'd': npy('uint8', [2, 2], codes),
            'y': npy('float32', [2, 2], [math.sin(v) for v in x]),
        }
    )
    path = write(os.path.join(b.work, 'codes.npz'), values)
    status, text = host.run([b.inlay, 'run', model, '-i', path, '--per-step', '--expect', path])
    t.ok('--per-step with codes of the other sign', status == 0 and 'all right' in text, text)


def words(t, b):
    """Words in and out in each format."""
    given, out = ['one', 'a "b", c', 'äöü€\U0001f600', ''], os.path.join(b.work, 'words')
    model = write(
        os.path.join(b.work, 'words.onnx'),
        make_model(
            [make_node('Reshape', ['x', 'shape'], ['y'])],
            [make_value('x', 8, [4])],
            [make_value('y', 8, [2, 2])],
            [make_tensor('shape', 7, [2], struct.pack('<2q', 2, 2))],
        ),
    )
    text_pb = b''.join(b'\x32' + bytes([len(w.encode())]) + w.encode() for w in given)
    for name, data in (
        ('w.npy', texts([4], given)),
        ('w.csv', 'one,"a ""b"", c"\näöü€\U0001f600;""\r\n'),
        ('w.npz', npz({'x': texts([4], given)})),
        ('w.pb', b'\x08\4\x10\x08' + text_pb),
    ):
        path = write(os.path.join(b.work, name), data)
        shutil.rmtree(out, ignore_errors=True)
        status, text = host.run([b.inlay, 'run', model, '-i', path, '-o', out, '--npy'])
        written = open(os.path.join(out, 'output_0.npy'), 'rb').read() if not status else b''
        t.ok(
            'words of ' + name,
            written == texts([2, 2], given),
            '%d %s %r' % (status, text, written),
        )
        status, text = host.run([b.inlay, 'run', model, '-i', path, '-o', out])
        written = open(os.path.join(out, 'output_0.pb'), 'rb').read() if not status else b''
        t.ok(
            'words of %s, written as .pb' % name,
            text_pb in written and b'\x10\x08' in written,
            '%d %s %r' % (status, text, written),
        )
        status, text = host.run(
            [b.inlay, 'run', model, '-i', path, '--expect', os.path.join(out, 'output_0.pb')]
        )
        t.ok('words of %s, read again' % name, status == 0 and 'equal' in text, text)
    status, text = host.run(
        [b.inlay, 'run', model, '-i', write(os.path.join(b.work, 'w.npy'), texts([4], given))]
    )
    t.ok('words are printed', status == 0 and 'y: string [2,2] "one"' in text, text)
    for name, letters in ('half a pair', 0xD800), ('beyond the last letter', 0x110000):
        data = texts([4], given)
        status, text = host.run(
            [
                b.inlay,
                'run',
                model,
                '-i',
                write(os.path.join(b.work, 'bad.npy'), data[:-4] + struct.pack('<I', letters)),
            ]
        )
        t.ok('%s is no text' % name, status == 65 and 'bad.npy' in text, text)


def sets(t, b, models):
    for name in ('digits', 'sine'):
        folder = os.path.join(b.work, name)
        shutil.copytree(os.path.join(models, name), folder)
        model = os.path.join(folder, name + '.onnx')
        status, text = host.run([b.inlay, 'test', model])
        t.ok('test %s' % name, status == 0 and '1 of 1 sets are right' in text, text)
        shutil.copytree(
            os.path.join(folder, 'test_data_set_0'), os.path.join(folder, 'test_data_set_1')
        )
        output = os.path.join(folder, 'test_data_set_1', 'output_0.pb')
        tensor = onnx.read_tensor(output)
        write(output, make_tensor('y', 1, tensor.dims, struct.pack('<f', 7) + tensor.raw[4:]))
        status, text = host.run([b.inlay, 'test', model])
        t.ok(
            'test %s with a wrong set' % name,
            status == 1 and '1 of 2 sets are right' in text and 'DIFFERS in 1 of' in text,
            text,
        )
        os.remove(os.path.join(folder, 'test_data_set_1', 'input_0.pb'))
        t.ok('test %s without an input' % name, host.run([b.inlay, 'test', model])[0] == 66)
    status, text = host.run([b.inlay, 'test', b.model('float32', [2])])
    t.ok('test without a set', status == 66 and 'test_data_set_0' in text, text)


def open_dims(t, b):
    """What the model leaves open is what the files have."""
    dims = ['batch', 'T']
    both = write(
        os.path.join(b.work, 'both.onnx'),
        make_model(
            [make_node('Add', ['x', 'm'], ['y'])],
            [make_value('x', 1, dims), make_value('m', 1, dims)],
            [make_value('y', 1, dims)],
        ),
    )
    file = lambda name, shape: write(
        os.path.join(b.work, name), npy('float32', shape, range(math.prod(shape)))
    )
    run = lambda model, *more: host.run(
        [b.inlay, 'run', model]
        + [w for m in more for w in ((m,) if m.startswith('--') else ('-i', m))]
    )
    for name, files, want in (
        (
            'by both files',
            [file('x.npy', [2, 3]), file('x.npy', [2, 3])],
            'y: float32 [2,3] 0 2 4 6 8 10',
        ),
        ('by one of two', ['zeros', file('m.npy', [1, 4])], 'y: float32 [1,4] 0 1 2 3'),
        (
            'by a .npz',
            [
                write(
                    os.path.join(b.work, 'xm.npz'),
                    npz({n: npy('float32', [1, 2], [1, 2]) for n in 'xm'}),
                )
            ],
            'y: float32 [1,2] 2 4',
        ),
    ):
        status, text = run(both, *files)
        t.ok('open dimensions ' + name, status == 0 and want in text and 'note' not in text, text)
    status, text = run(both, file('x.npy', [2, 3]), file('m.npy', [2, 4]))
    t.ok('files that disagree', status == 65 and 'm.npy' in text, text)
    status, text = run(both, 'zeros', file('x.npy', [2, 3]), '--batch=1')
    t.ok('--batch goes before the files', status == 69 and '"T" of' in text, text)
    for name, shape, data, want in (
        ('numbers as text', ['batch', 'T'], ('a.csv', '1 2 3'), 'y: float32 [1,3]'),
        (
            'an array without the batch',
            ['batch', 3],
            ('a.npy', npy('float32', [3], [1, 2, 3])),
            'y: float32 [1,3]',
        ),
        (
            'an array of other dimensions',
            ['batch', 3],
            ('a.npy', npy('float32', [3, 1], [1, 2, 3])),
            'y: float32 [1,3]',
        ),
        ('a sound', [1, 'T'], ('a.wav', wav([1, 2])), 'y: float32 [1,2]'),
    ):
        model = write(
            os.path.join(b.work, 'open.onnx'),
            make_model(
                [make_node('Flatten', ['x'], ['y'], axis=0)],
                [make_value('x', 1, shape)],
                [make_value('y', 1, [1, 'n'])],
            ),
        )
        status, text = run(model, write(os.path.join(b.work, data[0]), data[1]))
        t.ok('open dimensions by ' + name, status == 0 and want in text, text)
    model = write(
        os.path.join(b.work, 'open.onnx'),
        make_model(
            [make_node('Relu', ['x'], ['y'])],
            [make_value('x', 1, [1, 1, 'H', 'W'])],
            [make_value('y', 1, [1, 1, 'H', 'W'])],
        ),
    )
    status, text = run(model, write(os.path.join(b.work, 'a.pgm'), b'P5 2 1 255\n\0\xff'))
    t.ok(
        'a picture has the size that the model has',
        status == 69 and '--dim H=N --dim W=N' in text,
        text,
    )
    folder = os.path.join(b.work, 'sets')
    for i, shape in enumerate(([1, 2], [3, 4])):
        at = os.path.join(folder, 'test_data_set_%d' % i)
        os.makedirs(at)
        for name, times in (('input_0', 1), ('input_1', 1), ('output_0', 2)):
            values = [times * k for k in range(math.prod(shape))]
            write(
                os.path.join(at, name + '.pb'),
                make_tensor(name, 1, shape, struct.pack('<%df' % len(values), *values)),
            )
    status, text = host.run([b.inlay, 'test', shutil.copy(both, folder)])
    t.ok('test: each set has its own', status == 0 and '2 of 2 sets are right' in text, text)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    o = p.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        b = Bench(o.inlay, work)
        formats(t, b)
        written(t, b)
        expected(t, b)
        several(t, b)
        best(t, b)
        per_step(t, b)
        other_codes(t, b)
        words(t, b)
        sets(t, b, o.models)
        open_dims(t, b)
    t.done()


main()
