# SPDX-License-Identifier: Apache-2.0
"""Any size: very large models compile under a hard cap of memory, and what is written is right at known places.
For the release build.

    big.py --inlay INLAY [--full]

The form of CI is small, with the same cap; --full takes 1.9 GB embedded, 4 and 10 GB external, and 1 GB of
transposed weights."""
import argparse
import filecmp
import json
import os
import shutil
import struct
import subprocess

import host
import models
import tap

MIB = 1 << 20
RESIDENT = 16 * MIB         # the promise
SPACE = 64 * MIB            # hard: address space, libraries included
WIDTH = 16                  # columns of a packed panel


def run(command, cap=None):
    """(status, text, peak resident bytes, seconds of CPU). The peak is what the compiler says of itself: it is
    started by a fork of a shell, as a process begins with the peak of whatever called exec."""
    limit = 'ulimit -v %d; ' % (cap // 1024) if cap else ''
    measured = command[1] in ('compile', 'analyze')
    p = subprocess.Popen(['sh', '-c', limit + '"$@"; exit $?', 'sh'] + command + (['--json', '--stats'] if measured else []), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = p.stdout.read().decode('utf8', 'replace')
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    peak = json.loads(text)['stats']['peak_resident'] if measured and not p.returncode else 0
    return p.returncode, text, peak, usage.ru_utime + usage.ru_stime


def packed(rows, cols, r, c, transposed):
    """Where element [r][c] of a stored weight lies in its packed form: panels of 16 result columns, [N/16][K][16]."""
    k, n, depth = (c, r, cols) if transposed else (r, c, rows)
    return (n // WIDTH * depth + k) * WIDTH + n % WIDTH


def misplaced(path, weights, transposed):
    """The marks that are not where they belong: weights lie in the order of their use, aligned to 64, with a bias of
    zeros before the first of its width (equal ones are stored once)."""
    bad, at, up = [], 0, lambda n: (n + 63) // 64 * 64
    with open(path, 'rb') as f:
        for w in weights:
            f.seek(at)
            if struct.unpack('<f', f.read(4))[0] != w.marks[0, 0]:
                at = up(at + 4 * (w.rows if transposed else w.cols))
            for (r, c), v in w.marks.items():
                f.seek(at + 4 * packed(w.rows, w.cols, r, c, transposed))
                got, = struct.unpack('<f', f.read(4))
                if got != v:
                    bad.append('%s[%d][%d] is %r, want %r' % (w.name, r, c, got, v))
            at = up(at + w.rows * w.cols * 4)
    return bad


def room(work, need):
    s = os.statvfs(work)
    return s.f_bavail * s.f_frsize > need


def large(t, o, label, make, transposed=False):
    """Compiles under the cap; returns the peak."""
    with host.Work() as work:
        model, out = os.path.join(work, 'm.onnx'), os.path.join(work, 'out')
        weights = make(model)
        size = sum(w.rows * w.cols * 4 for w in weights)
        if not room(work, size + 64 * MIB):
            t.skip(label, 'no disk space for %d MiB' % (size // MIB))
            return None
        status, text, peak, cpu = run([o.inlay, 'compile', model, '-o', out, '--name', 'm', '--weights', 'bin', '--no-hash'], SPACE)
        if not t.ok('%s: compiles in 64 MiB of address space' % label, status == 0, text[:1000]):
            return None
        print('# %s: %d MiB, peak %.1f MiB, %.2f s of CPU' % (label, size // MIB, peak / MIB, cpu), flush=True)
        t.ok('%s: peak resident set of at most 16 MiB' % label, peak <= RESIDENT, '%.1f MiB' % (peak / MIB))
        bad = misplaced(os.path.join(out, 'src', 'm_weights.bin'), weights, transposed)
        t.ok('%s: every mark is in its place' % label, not bad, '\n'.join(bad[:8]))
        return peak


def ways(t, o):
    """stream, mmap and eager write the same bytes."""
    with host.Work() as work:
        os.mkdir(os.path.join(work, 'x'))
        for label, model, make in [('embedded', 'm.onnx', lambda p: models.dense(p, 16, 1024)),
                                   ('external', 'x/m.onnx', lambda p: models.dense(p, 16, 1024, files=3)),
                                   ('transposed', 't.onnx', lambda p: models.transformer(p, 1, 256))]:
            path, outs = os.path.join(work, model), []
            make(path)
            for way in ('stream', 'mmap', 'eager'):
                outs.append(os.path.join(work, label + '-' + way))
                status, text, _, _ = run([o.inlay, 'compile', path, '-o', outs[-1], '--name', 'm', '--load', way, '--weights', 'bin'])
                t.ok('%s: --load=%s' % (label, way), status == 0, text[:500])
            for other in outs[1:]:
                files = [f for f in host.run(['find', '.', '-type', 'f'], outs[0])[1].split()]
                _, differ, missing = filecmp.cmpfiles(outs[0], other, files, shallow=False)
                t.ok('%s is %s byte for byte' % (os.path.basename(other), os.path.basename(outs[0])), len(files) > 3 and not differ and not missing, differ + missing)


def linear(t, o, label, make, counts, factor):
    """Time and memory grow as the number of parts does."""
    times, peaks = [], []
    with host.Work() as work:
        for n in counts:
            model = os.path.join(work, 'm.onnx')
            make(model, n)
            status, text, peak, cpu = min((run([o.inlay, 'analyze', model]) for _ in range(3)), key=lambda r: r[3])
            if not t.ok('%s, %d' % (label, n), status == 0, text[-500:]):
                return
            times.append(cpu)
            peaks.append(peak)
    print('# %s: %s' % (label, ', '.join('%d in %.2f s, %.1f MiB' % (n, s, p / MIB) for n, s, p in zip(counts, times, peaks))), flush=True)
    t.ok('%s: time is linear' % label, times[-1] <= factor * counts[-1] / counts[0] * max(times[0], 0.02), times)
    t.ok('%s: memory is linear' % label, peaks[-1] <= factor * counts[-1] / counts[0] * peaks[0], peaks)
    return times, peaks


def writes_inside(t, o):
    """Files are created in the output folder's parent, its own staging folder, and TMPDIR only."""
    if not shutil.which('strace'):
        return t.skip('nothing is written outside', 'strace is not installed')
    with host.Work() as work:
        model, out, tmp, log = (os.path.join(work, n) for n in ('m.onnx', 'there', 'tmp', 'log'))
        os.mkdir(tmp)
        models.dense(model, 4, 512)
        status, text = host.run(['strace', '-f', '-y', '-o', log, '-e', 'trace=open,openat,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,link,linkat',
                                 o.inlay, 'compile', model, '-o', out, '--name', 'm', '--weights', 'c'], work, env={'TMPDIR': tmp})
        if status:
            return t.skip('nothing is written outside', 'strace cannot trace here: ' + text[:80])
        with open(log) as f:
            calls = [l for l in f if ('O_CREAT' in l or 'O_RDWR' in l or 'O_WRONLY' in l or not l.split('(')[0].split()[-1].startswith('open')) and ') = -1' not in l and '(' in l]
        bad = [l for l in calls if out not in l and tmp not in l and '.there' not in l and work not in l]
        t.ok('nothing is written outside the output and TMPDIR', calls and not bad, bad[:5] or 'no call seen')


def budget(t, o):
    with host.Work() as work:
        model = os.path.join(work, 'm.onnx')
        models.nodes(model, 2000)
        status, text, _, _ = run([o.inlay, 'analyze', model, '--max-memory', '1000000'])
        t.ok('--max-memory: status 71, and what needed it', status == 71 and 'needs' in text and 'budget' in text, text[:300])


def listing(t, o):
    """dump --initializers says where each payload is, and reads none."""
    with host.Work() as work:
        model = os.path.join(work, 'm.onnx')
        weights = models.dense(model, 64, 1024)
        status, text, _, _ = run([o.inlay, 'dump', '--initializers', model])
        rows = {l.split('\t')[0]: l.split('\t') for l in text.splitlines()[1:]}
        bad = []
        with open(model, 'rb') as f:
            for w in weights:
                f.seek(int(rows[w.name][5]))
                if w.name not in rows or struct.unpack('<f', f.read(4))[0] != w.marks[0, 0] or int(rows[w.name][6]) != w.rows * w.cols * 4:
                    bad.append(w.name)
        t.ok('dump --initializers: places and lengths', status == 0 and not bad, bad or text[:300])
        if shutil.which('strace'):
            log = os.path.join(work, 'log')
            if host.run(['strace', '-o', log, '-e', 'trace=pread64,read', '-y', o.inlay, 'dump', '--initializers', model])[0] == 0:
                with open(log) as f:
                    read = sum(int(l.rsplit('= ', 1)[1]) for l in f if 'm.onnx' in l)
                t.ok('dump --initializers: at most 4 KiB a tensor are read', 0 < read <= 4096 * (len(weights) + 4), '%d bytes' % read)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--full', action='store_true')
    o = p.parse_args()
    t = tap.Tap()
    full = [('1.9 GB embedded', lambda m: models.dense(m, 1900), False), ('4 GB external', lambda m: models.dense(m, 4096, files=3), False),
            ('10 GB external', lambda m: models.dense(m, 10240, files=4), False), ('1 GB transposed', lambda m: models.transformer(m, 22), True)]
    small = [('64 MB embedded', lambda m: models.dense(m, 64, 2048), False), ('256 MB external', lambda m: models.dense(m, 256, 2048, files=3), False),
             ('48 MB transposed', lambda m: models.transformer(m, 4, 512), True), ('64 MB of transposed layers', lambda m: models.dense(m, 64, 1024, transposed=True), True)]
    peaks = [large(t, o, *case) for case in (full if o.full else small)]
    peaks = [x for x in peaks if x]
    if len(peaks) > 1:
        t.ok('the peak is flat', max(peaks) - min(peaks) <= 2 * MIB, ['%.1f MiB' % (x / MIB) for x in peaks])
    ways(t, o)
    listing(t, o)
    budget(t, o)
    writes_inside(t, o)
    scale = 1 if o.full else 4
    linear(t, o, 'nodes', models.nodes, [20000 // scale, 40000 // scale, 80000 // scale], 1.6)
    found = linear(t, o, 'initializers', models.initializers, [100000 // scale, 200000 // scale, 400000 // scale], 1.6)
    if found and o.full:
        t.ok('100,000 initializers: at most 2 s and 64 MiB', found[0][0] <= 2 and found[1][0] <= 64 * MIB, found)
    t.done()


main()
