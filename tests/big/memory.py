# SPDX-License-Identifier: Apache-2.0
"""Memory follows the graph, never the weights: models of up to 1 GB of float weights (sparse files)
are compiled under a cap of the address space, and their peak resident set is measured. Also: the C
compiler copes with the result. For the release build.

    memory.py --inlay INLAY"""
import argparse
import json
import os
import resource
import struct
import subprocess
import time

import host
import onnx
import tap
from onnx import make_node, make_tensor, make_value, put

F32 = 1
MIB = 1 << 20
LIMIT = 16 * MIB


def write_dense(path, width, layers):
    """A chain of Gemm and Relu whose weights are holes in the file itself, but for their first
    element: equal weights would be stored once."""
    nodes, weights, at = [], [], 'x'
    for i in range(layers):
        out = 'y' if i == layers - 1 else 'h%d' % i
        nodes.append(
            make_node('Gemm', [at, 'w%d' % i, 'b%d' % i], ['g%d' % i], 'gemm%d' % i, transB=1)
        )
        nodes.append(make_node('Relu', ['g%d' % i], [out], 'relu%d' % i))
        at = out
    size = width * width * 4
    head = onnx.put(1, 8) + put(8, put(2, 17))
    graph = (
        b''.join(put(1, n) for n in nodes)
        + put(2, 'g')
        + put(11, make_value('x', F32, [1, width]))
        + put(12, make_value('y', F32, [1, width]))
    )
    pieces = []
    for i in range(layers):
        bias = make_tensor('b%d' % i, F32, [width], struct.pack('<f', 0.5) * width)
        body = (
            put(1, width)
            + put(1, width)
            + put(2, F32)
            + put(8, 'w%d' % i)
            + onnx.varint(9 << 3 | 2)
            + onnx.varint(size)
        )
        pieces += [
            put(5, bias),
            onnx.varint(5 << 3 | 2) + onnx.varint(len(body) + size) + body,
            size,
        ]
    length = len(graph) + sum(p if isinstance(p, int) else len(p) for p in pieces)
    with open(path, 'wb') as f:
        f.write(head + onnx.varint(7 << 3 | 2) + onnx.varint(length) + graph)
        for p in pieces:
            if isinstance(p, int):
                f.write(struct.pack('<f', float(f.tell())))
                f.seek(p - 4, os.SEEK_CUR)
            else:
                f.write(p)
        f.truncate(f.tell())


def measured(command, cap):
    """(status, text, peak bytes, seconds) with at most `cap` bytes of address space. The peak is
    what the compiler says of itself: that of a child also counts what its parent held when it
    forked."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (cap, cap))

    began = time.monotonic()
    p = subprocess.run(
        command + ['--json', '--stats'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=limit,
    )
    seconds = time.monotonic() - began
    peak = 0 if p.returncode else json.loads(p.stdout)['stats']['peak_resident']
    return p.returncode, p.stderr.decode('utf8', 'replace'), peak, seconds


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--megabytes', type=int, nargs='*', default=[16, 1024])
    o = p.parse_args()
    t, peaks = tap.Tap(), []
    for mb in o.megabytes:
        width = 2048
        layers = max(1, mb * MIB // (width * width * 4))
        with host.Work() as work:
            model, out = os.path.join(work, 'm.onnx'), os.path.join(work, 'out')
            write_dense(model, width, layers)
            free = os.statvfs(work).f_bavail * os.statvfs(work).f_frsize
            if free < (mb + 64) * MIB:
                t.skip('%d MiB of weights' % mb, 'only %d MiB of disk are free' % (free // MIB))
                continue
            status, text, peak, seconds = measured(
                [o.inlay, 'compile', model, '-o', out, '--name', 'm', '--weights', 'incbin'],
                256 * MIB,
            )
            if not t.ok(
                '%d MiB of weights: compiles in 256 MiB of address space' % mb,
                status == 0,
                text[:1000],
            ):
                continue
            t.ok(
                '%d MiB of weights: peak resident set of at most 16 MiB' % mb,
                peak <= LIMIT,
                '%.1f MiB' % (peak / MIB),
            )
            peaks.append(peak)
            print(
                '# %d MiB of weights: peak %.1f MiB, %.2f s' % (mb, peak / MIB, seconds), flush=True
            )
            man = host.manifest(out, 'm')
            t.ok(
                '%d MiB of weights: all are written' % mb,
                os.path.getsize(os.path.join(out, 'src', 'm_weights.bin'))
                == man['weights']['size']
                >= layers * width * width * 4,
            )
            began = time.monotonic()
            status, text = host.run(
                [
                    'gcc',
                    '-std=c99',
                    '-O2',
                    '-I',
                    os.path.join(out, 'src'),
                    '-c',
                    os.path.join(out, 'src', 'm.c'),
                    '-o',
                    os.path.join(work, 'm.o'),
                ]
            )
            seconds = time.monotonic() - began
            t.ok(
                '%d MiB of weights: gcc -O2 takes at most 20 s' % mb,
                status == 0 and seconds <= 20,
                '%.1f s\n%s' % (seconds, text[:500]),
            )
    if len(peaks) > 1:
        t.ok(
            'the peak does not grow with the weights',
            max(peaks) <= min(peaks) + 2 * MIB,
            ', '.join('%.1f MiB' % (x / MIB) for x in peaks),
        )
    t.done()


main()
