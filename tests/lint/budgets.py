# SPDX-License-Identifier: Apache-2.0
"""How plain the code is, in tokens, since lines can be squeezed and tokens cannot.

    budgets.py ROOT            holds compiler/ and runtime/ to the limits below
    budgets.py ROOT --list     prints each figure, and the files and functions beyond a limit

Comments do not count. A limit is what was reached: it goes down with the code, never up."""
import os
import re
import sys

import tap

# Reached so far, and what is aimed at.
LIMITS = {
    'tokens a line, all files': (8.19, 9.0),
    'files with more than 9 tokens a line': (0, 0),
    'functions with more than 250 tokens': (0, 0),
    'identifiers of one letter, %': (13.9, 20.0),
    'lines with ?: inside ?:': (0, 0),
    'lines of macros that end in \\, kernels': (31, 200),
    'circles of included files': (0, 0),
}
TOKEN = re.compile(
    r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|\d[\w.]*'
    r'|<<=|>>=|->|\+\+|--|<<|>>|[<>=!]=|&&|\|\||[-+*/%&|^]=|\S'
)


def code_of(text):
    """The text without comments, on the same lines."""
    return re.sub(r'/\*.*?\*/', lambda m: '\n' * m.group().count('\n'), text, flags=re.S)


def functions(code):
    """(name, tokens of head and body); a function's braces stand in column 0."""
    start = None
    lines = code.split('\n')
    for i, line in enumerate(lines):
        if line == '{':
            start = i
            while start and lines[start - 1].strip() and lines[start - 1][:1] not in '}#':
                start -= 1
        elif line == '}' and start is not None:
            text = '\n'.join(lines[start : i + 1])
            name = re.search(r'(\w+)\(', text)
            yield name.group(1) if name else '?', len(TOKEN.findall(text))
            start = None


def conditionals(code):
    """Statements with a ?: inside another."""
    return [
        s.strip()
        for s in re.split(r'[;{}]', re.sub(r'"(?:\\.|[^"\\])*"|\'.\'', '""', code))
        if nested(s)
    ]


def nested(statement):
    """Two question marks that no comma at the depth of the first one parts."""
    depth, open_at = 0, []
    for c in statement:
        if c in '([':
            depth += 1
        elif c in ')]':
            depth -= 1
            open_at = [d for d in open_at if d <= depth]
        elif c == ',':
            open_at = [d for d in open_at if d < depth]
        elif c == '?':
            if open_at:
                return True
            open_at.append(depth)
    return False


def circles(files):
    """Files that include themselves through others, by the groups that hang together."""
    known = {
        f: [h for h in re.findall(r'^#include "([^"]+)"', text, re.M)] for f, text in files.items()
    }
    place = {}
    for f in files:
        for folder in ('compiler/', 'runtime/', 'runtime/kernels/'):
            if f.startswith(folder):
                place.setdefault(f[len(folder) :], f)
    # A header and its source are one file.
    owner = {f: (f[:-1] + 'h' if f.endswith('.c') and f[:-1] + 'h' in files else f) for f in files}
    edges = {}
    for f, included in known.items():
        edges.setdefault(owner[f], set()).update(owner[place[h]] for h in included if h in place)
    return [sorted(group) for group in strong(edges) if len(group) > 1]


def strong(edges):
    """Groups of files of which each reaches each other one."""

    def reach(start, next_of):
        seen, todo = {start}, [start]
        while todo:
            for there in next_of.get(todo.pop(), ()):
                if there not in seen:
                    seen.add(there)
                    todo.append(there)
        return seen

    back = {}
    for here, there in edges.items():
        for f in there:
            back.setdefault(f, set()).add(here)
    left = set(edges)
    while left:
        f = min(left)
        group = reach(f, edges) & reach(f, back)
        left -= group
        yield group


def measure(files):
    """{limit: (figure, what is beyond)}"""
    lines = tokens = names = letters = macros = 0
    crowded, long, inside = [], [], []
    for f, text in sorted(files.items()):
        code = code_of(text)
        rows = [r for r in code.split('\n') if r.strip()]
        found = TOKEN.findall(code)
        lines, tokens = lines + len(rows), tokens + len(found)
        words = [w for w in found if w[0].isalpha() or w[0] == '_']
        names, letters = names + len(words), letters + sum(len(w) == 1 for w in words)
        if len(found) > 9 * len(rows):
            crowded.append('%s: %.1f' % (f, len(found) / len(rows)))
        long += ['%s: %s has %d' % (f, name, n) for name, n in functions(code) if n > 250]
        inside += ['%s: %s' % (f, ' '.join(s.split())[:80]) for s in conditionals(code)]
        if f.startswith('runtime/kernels/'):
            macros += sum(r.endswith('\\') for r in rows)
    groups = circles(files)
    return {
        'tokens a line, all files': (tokens / lines, []),
        'files with more than 9 tokens a line': (len(crowded), crowded),
        'functions with more than 250 tokens': (len(long), long),
        'identifiers of one letter, %': (100 * letters / names, []),
        'lines with ?: inside ?:': (len(inside), inside),
        'lines of macros that end in \\, kernels': (macros, []),
        'circles of included files': (len(groups), [' '.join(g) for g in groups]),
    }


def main():
    root = os.path.abspath(sys.argv[1])
    files = {}
    for top in ('compiler', 'runtime'):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                if name.endswith(('.c', '.h')):
                    path = os.path.join(folder, name)
                    files[os.path.relpath(path, root)] = open(path, encoding='utf8').read()
    figures = measure(files)
    if sys.argv[2:] == ['--list']:
        for name, (figure, beyond) in figures.items():
            print('%s: %.4g (aim %g)' % (name, figure, LIMITS[name][1]), *beyond, sep='\n    ')
        return
    t = tap.Tap()
    for name, (figure, beyond) in figures.items():
        t.ok(
            '%s: %.4g of %g' % (name, figure, LIMITS[name][0]),
            figure <= LIMITS[name][0],
            '\n'.join(beyond[:40]),
        )
    t.done()


main()
