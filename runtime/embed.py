# SPDX-License-Identifier: Apache-2.0
"""Embeds text files in C: embed.py OUT.c OUT.d SYMBOL PATH...

Makes `const EmbeddedFile SYMBOL[]` (name, text, length; ended by a NULL name); a folder stands for
all its .h and .c files and the tables that these include. String literals are split: C99 promises
no more than 4095 bytes each.
"""
import os
import sys

# Tables that headers include; the others are the compiler's own.
INCLUDED = ('act.def',)

out, depfile, symbol, *paths = sys.argv[1:]


def expand(path):
    if not os.path.isdir(path):
        return [path]
    return [
        os.path.join(path, f)
        for f in sorted(os.listdir(path))
        if f.endswith(('.h', '.c')) or f in INCLUDED
    ]


def literal(data):
    for at in range(0, len(data), 64):
        text = ''.join(
            chr(c) if 32 <= c < 127 and chr(c) not in '"\\?' else '\\%03o' % c
            for c in data[at : at + 64]
        )
        yield '    "%s"\n' % text


files = [f for p in paths for f in expand(p)]
with open(out, 'w') as o:
    o.write('#include "emit/embedded.h"\nconst EmbeddedFile %s[] = {\n' % symbol)
    for f in files:
        data = open(f, 'rb').read()
        o.write(
            '  { "%s",\n%s    "", %d },\n'
            % (os.path.basename(f), ''.join(literal(data)), len(data))
        )
    o.write('  { 0, 0, 0 },\n};\n')
# A folder itself too: its time changes with each file that comes or goes.
folders = [p for p in paths if os.path.isdir(p)]
with open(depfile, 'w') as d:
    d.write('%s: %s\n' % (out, ' '.join(folders + files)))
