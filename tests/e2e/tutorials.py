# SPDX-License-Identifier: Apache-2.0
"""docs/TUTORIALS.md does what it says: each line behind `$` is run by the shell, and prints the
lines below it.

    tutorials.py --inlay INLAY --models MODELS --page PAGE"""
import argparse
import os
import re
import shutil

import host
import tap


def commands(page):
    """[(section, command, lines that it prints)] of the blocks of the page."""
    section = ''
    with open(page) as f:
        for line in f.read().split('\n'):
            if line.startswith('## '):
                section = line[3:]
            elif line.startswith('    $ '):
                yield section, line[6:], []
            elif line.startswith('    '):
                yield section, None, [line[4:]]


def joined(page):
    """Each command with all its lines."""
    found = []
    for section, command, lines in commands(page):
        if command:
            found.append((section, command, lines))
        else:
            found[-1][2].extend(lines)
    return found


def pattern(lines):
    """A line of dots is any number of lines, dots within one are any text; blanks may be more."""
    parts = [
        r'(?:.*\n)*?'
        if line == '...'
        else re.sub(r'(\\ )+', r' +', re.escape(line)).replace(r'\.\.\.', '.*') + r'\n'
        for line in lines
    ]
    return re.compile(''.join(parts))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    p.add_argument('--page', required=True)
    o = p.parse_args()
    t = tap.Tap()
    path = {'PATH': os.path.dirname(os.path.abspath(o.inlay)) + os.pathsep + os.environ['PATH']}
    with host.Work() as work:
        shutil.copytree(o.models, os.path.join(work, 'models'))
        for section, command, lines in joined(o.page):
            name = '%s: %s' % (section, command.replace('#', ''))
            if command.startswith('arm-') and not shutil.which(command.split()[0]):
                t.skip(name, 'its compiler is not installed')
                continue
            status, text = host.run(['/bin/sh', '-c', command], work, env=path)
            refused = any('error' in line for line in lines)
            t.ok(
                name,
                (status == 1 if refused else status == 0) and pattern(lines).fullmatch(text),
                'status %d\n%s' % (status, text),
            )
    t.done()


main()
