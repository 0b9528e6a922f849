# SPDX-License-Identifier: Apache-2.0
"""Any size: very large models compile under a hard cap of memory, and what is written is right at
known places. For the release build.

    big.py --inlay INLAY [--full]

The form of CI is small, with the same cap; --full takes 1.9 GB embedded, 4 and 10 GB external, and
1 GB of transposed weights."""
import argparse
import filecmp
import json
import os
import struct
import subprocess

import expressions
import host
import link
import models
import narrow
import tap
import traces

MIB = 1 << 20
RESIDENT = 16 * MIB  # the promise
SPACE = 64 * MIB  # hard: address space, libraries included
WIDTH = 16  # columns of a packed panel


def run(command, cap=None):
    """(status, text, peak resident bytes, seconds of CPU). The peak is what the compiler says of
    itself: it is started by a fork of a shell, as a process begins with the peak of whatever called
    exec."""
    limit = 'ulimit -v %d; ' % (cap // 1024) if cap else ''
    measured = command[1] in ('compile', 'analyze')
    p = subprocess.Popen(
        ['sh', '-c', limit + '"$@"; exit $?', 'sh']
        + command
        + (['--json', '--stats'] if measured else []),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    text = p.stdout.read().decode('utf8', 'replace')
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    peak = json.loads(text)['stats']['peak_resident'] if measured and not p.returncode else 0
    return p.returncode, text, peak, usage.ru_utime + usage.ru_stime


def packed(rows, cols, r, c, transposed):
    """Where element [r][c] of a stored weight lies in its packed form: panels of 16 result columns,
    [N/16][K][16]."""
    k, n, depth = (c, r, cols) if transposed else (r, c, rows)
    return (n // WIDTH * depth + k) * WIDTH + n % WIDTH


def misplaced(path, weights, transposed):
    """The marks that are not where they belong: weights lie in the order of their use, aligned to
    64, with a bias of zeros before the first of its width (equal ones are stored once)."""
    bad, at, up = [], 0, lambda n: (n + 63) // 64 * 64
    with open(path, 'rb') as f:
        for w in weights:
            f.seek(at)
            if struct.unpack('<f', f.read(4))[0] != w.marks[0, 0]:
                at = up(at + 4 * (w.rows if transposed else w.cols))
            for (r, c), v in w.marks.items():
                f.seek(at + 4 * packed(w.rows, w.cols, r, c, transposed))
                (got,) = struct.unpack('<f', f.read(4))
                if got != v:
                    bad.append('%s[%d][%d] is %r, want %r' % (w.name, r, c, got, v))
            at = up(at + w.rows * w.cols * 4)
    return bad


def forms(t, o, label, make):
    """All forms of the weights hold the same cap."""
    for form in ('c', 'incbin', 'bin', 'obj'):
        large(t, o, '%s, --weights %s' % (label, form), make, form=form)


def flat(t, o, mib, times):
    """The same graph with weights `times` as large takes the same memory."""
    few = large(
        t,
        o,
        '%d MiB in 16 layers' % mib,
        lambda m: models.dense(m, mib, int((mib * MIB // 64) ** 0.5), files=2),
    )
    wide = int((mib * times * MIB // 64) ** 0.5) // 64 * 64
    many = large(
        t,
        o,
        '%d MiB in 16 layers' % (16 * wide * wide * 4 // MIB),
        lambda m: models.dense(m, 16 * wide * wide * 4 // MIB, wide, files=2),
    )
    if few and many:
        t.ok(
            'the peak grows by at most 5 %% with weights %d times as large' % times,
            many <= 1.05 * few,
            '%.2f and %.2f MiB' % (few / MIB, many / MIB),
        )


def room(work, need):
    s = os.statvfs(work)
    return s.f_bavail * s.f_frsize > need


def large(t, o, label, make, transposed=False, form='bin', arena=None, flags=()):
    """Compiles under the cap, into an arena of so many bytes; returns the peak."""
    with host.Work() as work:
        model, out = os.path.join(work, 'm.onnx'), os.path.join(work, 'out')
        weights = make(model)
        size = sum(w.rows * w.cols * 4 for w in weights)
        if not room(work, size * (4 if form == 'c' or arena is not None else 2) + 64 * MIB):
            t.skip(label, 'no disk space for %d MiB' % (size // MIB))
            return None
        status, text, peak, cpu = run(
            [
                o.inlay,
                'compile',
                model,
                '-o',
                out,
                '--name',
                'm',
                '--weights',
                form,
                '--no-hash',
                *flags,
            ],
            SPACE,
        )
        if not t.ok('%s: compiles in 64 MiB of address space' % label, status == 0, text[:1000]):
            return None
        print(
            '# %s: %d MiB, peak %.1f MiB, %.2f s of CPU' % (label, size // MIB, peak / MIB, cpu),
            flush=True,
        )
        t.ok(
            '%s: peak resident set of at most 16 MiB' % label,
            peak <= RESIDENT,
            '%.1f MiB' % (peak / MIB),
        )
        if arena is not None:
            t.ok(
                '%s: the arena has %d bytes' % (label, arena),
                json.loads(text)['arena']['size'] == arena,
                text[:300],
            )
        if form in ('bin', 'incbin'):
            bad = misplaced(os.path.join(out, 'src', 'm_weights.bin'), weights, transposed)
            t.ok('%s: every mark is in its place' % label, not bad, '\n'.join(bad[:8]))
        return peak


def small_types(t, o):
    """Narrow and hidden constants: scales by block, function bodies, lists that are attributes,
    sparse ones."""
    for label, make in narrow.cases(4 if o.full else 1):
        with host.Work() as work:
            model, out = os.path.join(work, 'm.onnx'), os.path.join(work, 'out')
            case = make(model)
            if not room(work, case.rows * case.cols * 8 + 64 * MIB):
                t.skip(label, 'no disk space')
                continue
            for kept in ('file', 'float32'):
                blob = small_type(
                    t,
                    o,
                    '%s, --weights-type=%s' % (label, kept),
                    model,
                    os.path.join(out, kept),
                    kept,
                )
                if not blob:
                    continue
                if kept == 'file' and case.narrow:
                    sizes = os.path.getsize(model), os.path.getsize(blob)
                    t.ok(
                        '%s: at most 1.02 of the file' % label,
                        sizes[1] <= 1.02 * sizes[0],
                        '%d bytes become %d' % sizes,
                    )
                elif kept == 'float32' and case.value:
                    bad = narrow.wrong(blob, case)
                    t.ok(
                        '%s: every element looked at is right' % label, not bad, '\n'.join(bad[:8])
                    )


def small_type(t, o, label, model, out, kept):
    """Compiles under the caps; the blob, None where it does not."""
    os.makedirs(out)
    status, text, peak, cpu = run(
        [
            o.inlay,
            'compile',
            model,
            '-o',
            out,
            '--name',
            'm',
            '--weights',
            'bin',
            '--no-hash',
            '--weights-type',
            kept,
        ],
        SPACE,
    )
    if not t.ok('%s: compiles in 64 MiB of address space' % label, status == 0, text[:1000]):
        return None
    blob = os.path.join(out, 'src', 'm_weights.bin')
    sizes = os.path.getsize(model) // MIB, os.path.getsize(blob) // MIB
    print(
        '# %s: %d MiB become %d, peak %.1f MiB, %.2f s of CPU' % (label, *sizes, peak / MIB, cpu),
        flush=True,
    )
    t.ok(
        '%s: peak resident set of at most 16 MiB' % label,
        peak <= RESIDENT,
        '%.1f MiB' % (peak / MIB),
    )
    return blob


def computed(t, o):
    """Weights that are computed from others take no RAM, at compile time nor at run time, whatever
    their size."""
    side = 16384 if o.full else 2048
    for label, form in expressions.CASES.items():
        label = '%d MiB, %s' % (side * side * 4 // MIB, label)
        large(
            t,
            o,
            label,
            lambda m: expressions.make(m, form, side),
            arena=0,
            flags=['--weights-type=float32'],
        )


def ways(t, o):
    """stream and eager write the same bytes."""
    with host.Work() as work:
        os.mkdir(os.path.join(work, 'x'))
        for label, model, make in [
            ('embedded', 'm.onnx', lambda p: models.dense(p, 16, 1024)),
            ('external', 'x/m.onnx', lambda p: models.dense(p, 16, 1024, files=3)),
            ('transposed', 't.onnx', lambda p: models.transformer(p, 1, 256)),
        ]:
            path, outs = os.path.join(work, model), []
            make(path)
            for way in ('stream', 'eager'):
                outs.append(os.path.join(work, label + '-' + way))
                status, text, _, _ = run(
                    [
                        o.inlay,
                        'compile',
                        path,
                        '-o',
                        outs[-1],
                        '--name',
                        'm',
                        '--load',
                        way,
                        '--weights',
                        'bin',
                    ]
                )
                t.ok('%s: --load=%s' % (label, way), status == 0, text[:500])
            for other in outs[1:]:
                files = [f for f in host.run(['find', '.', '-type', 'f'], outs[0])[1].split()]
                _, differ, missing = filecmp.cmpfiles(outs[0], other, files, shallow=False)
                t.ok(
                    '%s is %s byte for byte' % (os.path.basename(other), os.path.basename(outs[0])),
                    len(files) > 3 and not differ and not missing,
                    differ + missing,
                )


def linear(t, o, label, make, counts, factor):
    """Time and memory grow as the number of parts does."""
    times, peaks = [], []
    with host.Work() as work:
        for n in counts:
            model = os.path.join(work, 'm.onnx')
            make(model, n)
            status, text, peak, cpu = min(
                (run([o.inlay, 'analyze', model]) for _ in range(3)), key=lambda r: r[3]
            )
            if not t.ok('%s, %d' % (label, n), status == 0, text[-500:]):
                return
            times.append(cpu)
            peaks.append(peak)
    print(
        '# %s: %s'
        % (
            label,
            ', '.join(
                '%d in %.2f s, %.1f MiB' % (n, s, p / MIB) for n, s, p in zip(counts, times, peaks)
            ),
        ),
        flush=True,
    )
    t.ok(
        '%s: time is linear' % label,
        times[-1] <= factor * counts[-1] / counts[0] * max(times[0], 0.02),
        times,
    )
    t.ok(
        '%s: memory is linear' % label,
        peaks[-1] <= factor * counts[-1] / counts[0] * peaks[0],
        peaks,
    )
    return times, peaks


def writes_inside(t, o):
    """Files are made, changed and removed in the output folder, its own staging folder beside it,
    and TMPDIR only."""
    with host.Work() as work:
        for name in ('model', 'there', 'tmp'):
            os.mkdir(os.path.join(work, name))
        model, out, tmp = (
            os.path.join(work, 'model', 'm.onnx'),
            os.path.join(work, 'there', 'out'),
            os.path.join(work, 'tmp'),
        )
        models.dense(model, 4, 512)
        for form in ('c', 'bin'):
            command = [
                o.inlay,
                'compile',
                model,
                '-o',
                out,
                '--name',
                'm',
                '--weights',
                form,
                '--html',
            ]
            found = traces.traced(command, traces.CHANGES, work, {'TMPDIR': tmp})
            if found is None:
                return t.skip(
                    'nothing is written outside', 'strace is not installed, or cannot trace here'
                )
            status, text, lines = found
            paths = traces.changed(lines, work)
            stays = lambda p: any(
                (p + '/').startswith(folder)
                for folder in (out + '/', os.path.join(work, 'there', '.'), tmp + '/')
            )
            bad = [p for p in paths if not stays(p)]
            made = any(p.startswith(os.path.join(work, 'there')) for p in paths)
            t.ok(
                '--weights %s: nothing is written outside the output and TMPDIR' % form,
                status == 0 and made and not bad,
                bad[:5] or text[:300] or 'no call seen',
            )


def reads_at_most_twice(t, o):
    """Every byte of a payload is read once for the output and at most once more; its first 4 KiB
    also by the scanner, which reads a little beyond a tensor's head, and by the search for equal
    constants, which compares samples.
    """
    ahead = 4096
    with host.Work() as work:
        model, out = os.path.join(work, 'm.onnx'), os.path.join(work, 'out')
        for label, weights in [
            ('plain', models.dense(model, 16, 1024)),
            ('transposed', None),
            ('of a transformer', None),
        ]:
            weights = weights or (
                models.dense(model, 16, 1024, transposed=True)
                if label == 'transposed'
                else models.transformer(model, 1, 256)
            )
            status, text, _, _ = run([o.inlay, 'dump', '--initializers', model])
            rows = [l.split('\t') for l in text.splitlines()[1:]]
            for form in ('bin', 'c'):
                found = traces.traced(
                    [o.inlay, 'compile', model, '-o', out, '--name', 'm', '--weights', form],
                    'pread64,read',
                    work,
                )
                if found is None:
                    return t.skip(
                        'each byte of a payload is read at most twice',
                        'strace is not installed, or cannot trace here',
                    )
                reads = traces.spans(found[2], model)
                counts = {
                    r[0]: traces.times_read(reads, int(r[5]) + ahead, int(r[5]) + int(r[6]))
                    for r in rows
                }
                bad = [(name, c) for name, c in counts.items() if not 1 <= c[0] <= c[1] <= 2]
                heads = {r[0]: traces.times_read(reads, int(r[5]), int(r[5]) + ahead) for r in rows}
                bad += [(name, c) for name, c in heads.items() if c[0] < 1 or c[2] > 4 * ahead]
                t.ok(
                    'payloads, %s, --weights %s: each byte is read once or twice' % (label, form),
                    found[0] == 0 and len(counts) == len(weights) and not bad,
                    bad[:5] or found[1][:300],
                )


def budget(t, o):
    with host.Work() as work:
        model = os.path.join(work, 'm.onnx')
        models.nodes(model, 2000)
        status, text, _, _ = run([o.inlay, 'analyze', model, '--max-memory', '1000000'])
        t.ok(
            '--max-memory: status 71, and what needed it',
            status == 71 and 'needs' in text and 'budget' in text,
            text[:300],
        )


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
                if (
                    w.name not in rows
                    or struct.unpack('<f', f.read(4))[0] != w.marks[0, 0]
                    or int(rows[w.name][6]) != w.rows * w.cols * 4
                ):
                    bad.append(w.name)
        t.ok('dump --initializers: places and lengths', status == 0 and not bad, bad or text[:300])
        found = traces.traced([o.inlay, 'dump', '--initializers', model], 'pread64,read', work)
        if found is None:
            return t.skip(
                'dump --initializers reads no payload',
                'strace is not installed, or cannot trace here',
            )
        reads = traces.spans(found[2], model)
        bad = [
            (name, k)
            for name, k in (
                (n, traces.times_read(reads, int(r[5]), int(r[5]) + int(r[6])))
                for n, r in rows.items()
            )
            if k[2] > 4096
        ]
        t.ok(
            'dump --initializers: at most 4 KiB of each payload are read',
            reads and len(rows) == len(weights) and not bad,
            bad[:5] or 'no read seen',
        )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--full', action='store_true')
    o = p.parse_args()
    o.inlay = os.path.abspath(o.inlay)
    t = tap.Tap()
    full = [
        ('1.9 GB embedded', lambda m: models.dense(m, 1900), False),
        ('4 GB external', lambda m: models.dense(m, 4096, files=3), False),
        ('10 GB external', lambda m: models.dense(m, 10240, files=4), False),
        ('1 GB transposed', lambda m: models.transformer(m, 22), True),
    ]
    small = [
        ('64 MB embedded', lambda m: models.dense(m, 64, 2048), False),
        ('256 MB external', lambda m: models.dense(m, 256, 2048, files=3), False),
        ('48 MB transposed', lambda m: models.transformer(m, 4, 512), True),
        ('64 MB of transposed layers', lambda m: models.dense(m, 64, 1024, transposed=True), True),
    ]
    for case in full if o.full else small:
        large(t, o, *case)
    flat(t, o, 1024 if o.full else 64, 10 if o.full else 4)
    forms(
        t,
        o,
        '1.9 GB' if o.full else '32 MB',
        lambda m: models.dense(m, 1900 if o.full else 32, 4096 if o.full else 1024),
    )
    link.linked(t, o, '1 GB' if o.full else '4 MB', 1024 if o.full else 4, 8192 if o.full else 512)
    small_types(t, o)
    computed(t, o)
    ways(t, o)
    listing(t, o)
    budget(t, o)
    writes_inside(t, o)
    reads_at_most_twice(t, o)
    scale = 1 if o.full else 4
    found = linear(
        t, o, 'nodes', models.nodes, [20000 // scale, 40000 // scale, 80000 // scale], 1.6
    )
    if found and o.full:
        t.ok(
            '20,000 nodes: at most 2 s and 64 MiB',
            found[0][0] <= 2 and found[1][0] <= 64 * MIB,
            found,
        )
    for kind in (models.convolutions, models.residual, models.wide, models.concats):
        linear(
            t,
            o,
            kind.__name__,
            kind,
            [20000 // scale // 4, 20000 // scale // 2, 20000 // scale],
            1.8,
        )
    found = linear(
        t,
        o,
        'initializers',
        models.initializers,
        [100000 // scale, 200000 // scale, 400000 // scale],
        1.6,
    )
    if found and o.full:
        t.ok(
            '100,000 initializers: at most 2 s and 64 MiB',
            found[0][0] <= 2 and found[1][0] <= 64 * MIB,
            found,
        )
    t.done()


main()
