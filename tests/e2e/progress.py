# SPDX-License-Identifier: Apache-2.0
"""The line that says what takes long: on a terminal, after half a second, gone before a message and
at the end; nowhere else, and not with -q.

    progress.py --inlay INLAY"""
import argparse
import os
import pty
import re
import select
import subprocess
import time

import host
import tap
import worst
from onnx import make_model, make_node, make_value

CLEAR = '\r\x1b[K'
EFFORTS = (40, 150, 600)  # machines differ: one of them takes a second


def on_terminal(command):
    """(status, standard output, stderr as a terminal got it)"""
    master, slave = pty.openpty()
    p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    text, out, end = b'', b'', time.monotonic() + 250
    waiting = {master, p.stdout.fileno()}
    while waiting and time.monotonic() < end:
        for fd in select.select(list(waiting), [], [], 1)[0]:
            try:
                got = os.read(fd, 4096)
            except OSError:  # what a terminal says whose other side is closed
                got = b''
            if not got:
                waiting.discard(fd)
            elif fd == master:
                text += got
            else:
                out += got
    p.kill()
    os.close(master)
    return p.wait(), out.decode(), text.decode().replace('\r\n', '\n')


def left(text):
    """What stands on the screen, line by line, at the end."""
    return [line.rsplit(CLEAR, 1)[-1] for line in text.split('\n')]


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    o = p.parse_args()
    t = tap.Tap()
    try:
        for fd in pty.openpty():
            os.close(fd)
    except OSError as e:
        t.skip('progress', 'no terminals here: %s' % e)
        return t.done()
    with host.Work() as work:
        model, quick = os.path.join(work, 'hard.onnx'), os.path.join(work, 'quick.onnx')
        with open(model, 'wb') as f:
            f.write(worst.FORMS['crossed'](300))
        with open(quick, 'wb') as f:
            f.write(
                make_model(
                    [make_node('Relu', ['x'], ['y'], 'relu')],
                    [make_value('x', 1, ['N', 4])],
                    [make_value('y', 1, ['N', 4])],
                )
            )
        for effort in EFFORTS:
            command = [
                o.inlay,
                'compile',
                model,
                '-o',
                os.path.join(work, 'out'),
                '--effort',
                str(effort),
                '--arena-limit',
                '1',
            ]
            status, out, text = on_terminal(command)
            if 'planning' in text:
                break
        t.ok(
            'the stage and its seconds',
            status == 1 and re.search(re.escape(CLEAR) + r'planning, \d+ s ', text),
            text,
        )
        t.ok(
            'a message stands alone, and nothing is left of the line',
            left(text)[0].startswith('inlay: error: the smallest arena') and left(text)[-1] == '',
            left(text),
        )
        t.ok('not with -q', 'planning' not in on_terminal(command + ['-q'])[2])
        status, text = host.run(command)
        t.ok(
            'not where nobody looks',
            status == 1 and 'planning' not in text and '\x1b' not in text,
            text,
        )
        status, out, text = on_terminal([o.inlay, 'analyze', quick])
        t.ok(
            'what is quick has none',
            status == 0 and '\x1b' not in text and 'taken as 1' in text,
            text,
        )
    return t.done()


main()
