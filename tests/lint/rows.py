# SPDX-License-Identifier: Apache-2.0
"""How much code an operator has of its own: for each row of the operator table the lines of those
of its functions that no other operator's row names. rows.py ROOT [--list]"""
import pathlib
import re
import statistics
import sys

import tap

root = pathlib.Path(sys.argv[1])
ROW = re.compile(r'^OP\((\w+), (\w+), (\w+),(.*?)\)$', re.M | re.S)
DOMAIN, CONSTANT = re.compile(r'\.domain = ("[^"]*"|\w+)'), re.compile(r'\.constant = (\w+)')
HEAD = re.compile(r'^(?:void|Recipe \*)\s*(\w+)\([^;]*$|^(?:void|Recipe \*)\s*(\w+)\(.*\}$')


def functions(text):
    """(name, lines) of the functions that other files see."""
    name, first = None, 0
    for i, line in enumerate(text.splitlines()):
        m = HEAD.match(line)
        if m:
            name, first = m.group(1) or m.group(2), i
        if name and (line == '}' or (m and line.endswith('}'))):
            yield name, i - first + 1
            name = None


length = {}
for path in (root / 'compiler/ops').rglob('*.c'):
    length.update(functions(path.read_text()))
rows = []
for name, infer, lower, fields in ROW.findall((root / 'compiler/ops/ops.def').read_text()):
    domain = DOMAIN.search(fields)
    rows.append(
        (
            (domain.group(1) if domain else 'AI') + '.' + name,
            {infer, lower, *CONSTANT.findall(fields)},
        )
    )
users = {}
for name, named in rows:
    for f in named:
        users.setdefault(f, set()).add(name)
own = {}
for name, named in rows:
    own.setdefault(name, set()).update(f for f in named if len(users[f]) == 1)
lines = {name: sum(length[f] for f in named if f in length) for name, named in own.items()}
if '--list' in sys.argv:
    for name, n in sorted(lines.items(), key=lambda p: p[1]):
        print('%4d %s' % (n, name))
missing = sorted(f for f in users if f not in length)
t = tap.Tap()
median = statistics.median(lines.values())
t.ok('every function of the table is found', not missing, ' '.join(missing))
t.ok(
    '%d operators, median %g lines of their own, most %d'
    % (len(lines), median, max(lines.values())),
    median < 20,
    'the median is to stay below 20',
)
t.done()
