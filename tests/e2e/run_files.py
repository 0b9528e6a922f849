# SPDX-License-Identifier: Apache-2.0
"""`inlay run` on each format of values: the results are those of the same values as a TensorProto; what is damaged or does not fit is
refused with its name. `--expect` and `inlay test`: right, wrong, tolerances.

    run_files.py --inlay INLAY --models MODELS"""
import argparse
import math
import os
import shutil
import struct

import host
import onnx
import tap
from onnx import make_model, make_node, make_tensor, make_value

CODES = {'float32': (1, 'f', '<f4'), 'uint8': (2, 'B', '|u1'), 'int16': (5, 'h', '<i2'), 'int64': (7, 'q', '<i8'), 'float64': (11, 'd', '<f8')}


def write(path, data):
    with open(path, 'wb' if isinstance(data, bytes) else 'w') as f:
        f.write(data)
    return path


def npy(dtype, dims, values, order='False', version=1):
    head = "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }" % (CODES[dtype][2], order, ''.join('%d,' % d for d in dims))
    fixed = 10 if version == 1 else 12
    head += ' ' * (-(fixed + len(head) + 1) % 64) + '\n'
    return b'\x93NUMPY' + bytes([version, 0]) + struct.pack('<H' if version == 1 else '<I', len(head)) + head.encode() + struct.pack('<%d%s' % (len(values), CODES[dtype][1]), *values)


def wav(samples, bits=16):
    data = struct.pack('<%d%s' % (len(samples), 'h' if bits == 16 else 'f'), *samples)
    form = struct.pack('<HHIIHH', 1 if bits == 16 else 3, 1, 16000, 16000 * bits // 8, bits // 8, bits)
    body = b'WAVEfmt ' + struct.pack('<I', len(form)) + form + b'LIST\3\0\0\0abc\0' + b'data' + struct.pack('<I', len(data)) + data
    return b'RIFF' + struct.pack('<I', len(body)) + body


class Bench:
    def __init__(self, inlay, work):
        self.inlay, self.work = inlay, work

    def model(self, dtype, dims):
        """y = x, as a copy."""
        code = CODES[dtype][0]
        return write(os.path.join(self.work, '%s_%s.onnx' % (dtype, 'x'.join(map(str, dims)))), make_model(
            [make_node('Flatten', ['x'], ['y'], axis=0)], [make_value('x', code, dims)], [make_value("y", code, [1, math.prod(dims)])]))

    def run(self, dtype, dims, name, data, *more):
        """(status, text, the values that come out)"""
        path = name if data is None else write(os.path.join(self.work, name), data)
        out = os.path.join(self.work, 'out')
        shutil.rmtree(out, ignore_errors=True)
        status, text = host.run([self.inlay, 'run', self.model(dtype, dims), '--input', path, '-o', out] + list(more))
        if status:
            return status, text, None
        raw = onnx.read_tensor(os.path.join(out, 'output_0.pb')).raw
        return status, text, [v for v, in struct.iter_unpack('<' + CODES[dtype][1], raw)]


GOOD = [
    ('npy', 'float32', [2, 3], 'a.npy', npy('float32', [2, 3], [1, 2, 3, 4, 5, 6.5]), [1, 2, 3, 4, 5, 6.5]),
    ('npy of version 2', 'float32', [2], 'a.npy', npy('float32', [2], [1, 2], version=2), [1, 2]),
    ('npy of doubles for floats', 'float32', [2], 'a.npy', npy('float64', [2], [0.1, 2]), list(struct.unpack('<2f', struct.pack('<2f', 0.1, 2)))),
    ('npy of int64 for int16', 'int16', [2], 'a.npy', npy('int64', [2], [-5, 300]), [-5, 300]),
    ('npy of large int64', 'int64', [1], 'a.npy', npy('int64', [1], [2**62 + 1]), [2**62 + 1]),
    ('csv with a head', 'float32', [2, 2], 'a.csv', 'a,b\n1.5,-2\n3e2;4\n', [1.5, -2, 300, 4]),
    ('csv for integers', 'int64', [3], 'a.csv', '1 2\n3', [1, 2, 3]),
    ('wav for floats', 'float32', [3], 'a.wav', wav([-32768, 0, 16384]), [-1, 0, 0.5]),
    ('wav for integers', 'int16', [3], 'a.wav', wav([-32768, 0, 16384]), [-32768, 0, 16384]),
    ('wav of floats', 'float32', [2], 'a.wav', wav([0.25, -1], 32), [0.25, -1]),
    ('pgm', 'uint8', [1, 1, 2, 3], 'a.pgm', b'P5\n# made\n3 2\n255\n\0\1\2\3\4\5', [0, 1, 2, 3, 4, 5]),
    ('pgm for floats', 'float32', [1, 1, 1, 2], 'a.pgm', b'P5 2 1 255\n\0\xff', [0, 1]),
    ('ppm, channels first', 'uint8', [1, 3, 1, 2], 'a.ppm', b'P6 2 1 255\n\1\2\3\4\5\6', [1, 4, 2, 5, 3, 6]),
    ('ppm, channels last', 'uint8', [1, 1, 2, 3], 'a.ppm', b'P6 2 1 255\n\1\2\3\4\5\6', [1, 2, 3, 4, 5, 6]),
    ('zeros', 'int16', [3], 'zeros', None, [0, 0, 0]),
]
WHOLE = npy('float32', [2, 3], [1, 2, 3, 4, 5, 6.5])
BAD = [
    ('too many values', 'float32', [3], 'a.npy', npy('float32', [4], [1, 2, 3, 4]), 'has shape'),
    ('floats for integers', 'int64', [1], 'a.npy', npy('float32', [1], [1]), 'holds float32'),
    ('a number that is too large', 'int16', [1], 'a.npy', npy('int64', [1], [70000]), 'int16 has not'),
    ('a fraction for integers', 'int64', [1], 'a.csv', '1.5', 'int64 has not'),
    ("Fortran's order", 'float32', [1], 'a.npy', npy('float32', [1], [1], 'True'), "Fortran's order"),
    ('no numbers', 'float32', [2], 'a.csv', '1,x', 'no number'),
    ('a large shape', 'float32', [2], 'a.npy', npy('float32', [10**11, 10**11, 10**11], [1]), 'fewer values'),
    ('a short picture', 'uint8', [1, 1, 2, 3], 'a.pgm', b'P5 3 2 255\n\0\1', 'cut off'),
    ('a zip', 'float32', [1], 'a.npz', b'PK\3\4....', 'are not read'),
    ('a wav of other bits', 'float32', [1], 'a.wav', b'RIFF\0\0\0\0WAVEdata\0\0\0\0', 'no WAV file'),
]


def formats(t, b):
    for name, dtype, dims, path, data, want in GOOD:
        status, text, got = b.run(dtype, dims, path, data)
        t.ok(name, status == 0 and got == want, '%d %s %s' % (status, got, text))
    for name, dtype, dims, path, data, part in BAD:
        status, text, _ = b.run(dtype, dims, path, data)
        t.ok(name + ' is refused', status in (65, 69) and part in text and path in text, '%d %s' % (status, text))
    bad = [n for n in range(len(WHOLE)) if b.run('float32', [2, 3], 'a.npy', WHOLE[:n])[0] != 65]
    t.ok('a .npy that is cut off anywhere is refused', not bad, bad)
    first = b.run('float32', [1000], 'random:1', None)[2]
    t.ok('random:1 is the same each time', first == b.run('float32', [1000], 'random:1', None)[2] and 0 <= min(first) < 0.1 and 0.9 < max(first) < 1)
    t.ok('random:2 is another', first != b.run('float32', [1000], 'random:2', None)[2])
    t.ok('random: needs a seed', b.run('float32', [1000], 'random:', None)[0] == 64)


def written(t, b):
    """What --npy writes is read again."""
    for dtype in CODES:
        values = [0, 1, 100]
        out = os.path.join(b.work, 'npy')
        shutil.rmtree(out, ignore_errors=True)
        path = write(os.path.join(b.work, 'a.npy'), npy(dtype, [1, 3], values))
        status, text = host.run([b.inlay, 'run', b.model(dtype, [1, 3]), '-i', path, '-o', out, '--npy'])
        with open(os.path.join(out, 'output_0.npy'), 'rb') as f:
            t.ok('--npy: ' + dtype, status == 0 and f.read() == npy(dtype, [1, 3], values), text)


def expected(t, b):
    path = write(os.path.join(b.work, 'x.npy'), npy('float32', [2], [1, 100]))
    for name, want, more, status, part in [
            ('equal', [1, 100], [], 0, 'equal'), ('within the usual', [1.0005, 100.05], [], 0, 'right'), ('too far', [1, 101], [], 1, 'DIFFERS in 1 of 2 values, most at 1: 100 instead of 101'),
            ('within --rtol', [1, 101], ['--rtol', '0.01'], 0, 'right'), ('within --atol', [1, 101], ['--atol', '1'], 0, 'right'), ('not within 0', [1, 100.05], ['--rtol', '0'], 1, 'DIFFERS')]:
        file = write(os.path.join(b.work, 'y.npy'), npy('float32', [1, 2], want))
        got, text = host.run([b.inlay, 'run', b.model('float32', [2]), '-i', path, '--expect', file] + more)
        t.ok('--expect: ' + name, got == status and part in text, '%d %s' % (got, text))
    for text in ('', 'x', '-1', 'nan', '1x', ' 1'):
        t.ok('--rtol "%s" is refused' % text, host.run([b.inlay, 'run', b.model('float32', [2]), '-i', path, '--expect', path, '--rtol=' + text])[0] == 64)


def sets(t, b, models):
    for name in ('digits', 'sine'):
        folder = os.path.join(b.work, name)
        shutil.copytree(os.path.join(models, name), folder)
        model = os.path.join(folder, name + '.onnx')
        status, text = host.run([b.inlay, 'test', model])
        t.ok('test %s' % name, status == 0 and '1 of 1 sets are right' in text, text)
        shutil.copytree(os.path.join(folder, 'test_data_set_0'), os.path.join(folder, 'test_data_set_1'))
        output = os.path.join(folder, 'test_data_set_1', 'output_0.pb')
        tensor = onnx.read_tensor(output)
        write(output, make_tensor('y', 1, tensor.dims, struct.pack('<f', 7) + tensor.raw[4:]))
        status, text = host.run([b.inlay, 'test', model])
        t.ok('test %s with a wrong set' % name, status == 1 and '1 of 2 sets are right' in text and 'DIFFERS in 1 of' in text, text)
        os.remove(os.path.join(folder, 'test_data_set_1', 'input_0.pb'))
        t.ok('test %s without an input' % name, host.run([b.inlay, 'test', model])[0] == 66)
    status, text = host.run([b.inlay, 'test', b.model('float32', [2])])
    t.ok('test without a set', status == 66 and 'test_data_set_0' in text, text)


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
        sets(t, b, o.models)
    t.done()


main()
