# SPDX-License-Identifier: Apache-2.0
"""What strace saw: which paths were changed, and how often each byte of a file was read."""
import os
import re
import shutil

import host

CHANGES = (
    'open,openat,openat2,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir,link,'
    'linkat,symlink,symlinkat,truncate,chmod,fchmodat,mknod,mknodat,utimensat'
)
PATH = re.compile(r'(?:(?:AT_FDCWD|\d+)(?:<([^>]*)>)?, )?"((?:[^"\\]|\\.)*)"')


def traced(command, calls, work, env=None):
    """(status, text, lines), or None where strace is not installed or cannot trace here."""
    if not shutil.which('strace'):
        return None
    log = os.path.join(work, 'trace')
    if host.run(['strace', '-o', log, 'true'], work)[0]:
        return None
    status, text = host.run(
        ['strace', '-f', '-y', '-s', '4096', '-o', log, '-e', 'trace=' + calls] + command,
        work,
        env=env,
    )
    with open(log) as f:
        lines = [l for l in f if '(' in l and ') = ' in l and ' = -1 ' not in l]
    os.unlink(log)
    return status, text, lines


def changed(lines, work):
    """Absolute paths that calls made, opened for writing, moved or removed."""
    paths = []
    for l in lines:
        call = l.split('(')[0].split()[-1]
        if call.startswith('open') and not re.search(r'O_(WRONLY|RDWR|CREAT|TRUNC|TMPFILE)', l):
            continue
        paths += [
            os.path.normpath(os.path.join(work, folder or '', name))
            for folder, name in PATH.findall(l)
        ]
    return paths


def spans(lines, path):
    """(offset, length) of all reads of that file: pread64 with its offset, read in sequence."""
    at, out = 0, []
    for l in lines:
        m = re.match(
            r'(?:\d+ +)?(pread64|read)\(\d+<([^>]*)>.*?(?:, (\d+))?(?:, (\d+))?\) += (\d+)$',
            l.strip(),
        )
        if not m or os.path.realpath(m.group(2)) != os.path.realpath(path):
            continue
        n = int(m.group(5))
        if m.group(1) == 'pread64':
            out.append((int(m.group(4)), n))
        else:
            out.append((at, n))
            at += n
    return out


def times_read(reads, begin, end):
    """(least, most, bytes in all) of how often the bytes [begin, end) were read."""
    cuts = sorted({begin, end} | {x for at, n in reads for x in (at, at + n) if begin < x < end})
    delta = {}
    for at, n in reads:
        lo, hi = max(begin, at), min(end, at + n)
        if lo < hi:
            delta[lo] = delta.get(lo, 0) + 1
            delta[hi] = delta.get(hi, 0) - 1
    counts, now, total = [], 0, 0
    for k, c in enumerate(cuts[:-1]):
        now += delta.get(c, 0)
        counts.append(now)
        total += now * (cuts[k + 1] - c)
    return min(counts), max(counts), total
