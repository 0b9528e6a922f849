# SPDX-License-Identifier: Apache-2.0
"""Rules that hold for every file of the repository.

    lint.py ROOT"""
import os
import re
import shutil
import subprocess
import sys

import host
import tap

# A folder may include its own floor's files and those of lower floors; neighbours on a floor never meet.
FLOORS = {'base': 0, 'ir': 1, 'bounds': 2, 'ops': 3, 'onnx': 4, 'passes': 4, 'plan': 4, 'prove': 4, 'eval': 4, 'emit': 5, 'cli': 6}
# What reaches across, each with its reason.
ACROSS = {
    ('passes', 'eval'): 'constants are folded by running the kernels',
}
LICENCES = {'runtime': '0BSD', 'templates': '0BSD', 'tests/firmware': '0BSD'}
NO_SPDX = re.compile(r'^LICENSES/|\.(pb|onnx|pgm|md|txt|png)$|^\.gitignore$|(^|/)\.gitattributes$|^tests/golden/')
C_FILE = re.compile(r'\.[ch]$')
LONGEST_FUNCTION, LONGEST_FILE, LONGEST_LINE, LONGEST_TEST = 90, 700, 100, 1100
FORMATTER = 14


def tracked(root):
    """Files of the repository; where there is no git, all that lie here outside of build folders."""
    if os.path.exists(os.path.join(root, '.git')) and shutil.which('git'):
        p = subprocess.run(['git', '-c', 'safe.directory=*', '-C', root, 'ls-files', '-z'], stdout=subprocess.PIPE)
        if p.returncode == 0:
            return [f for f in p.stdout.decode().split('\0') if f and os.path.isfile(os.path.join(root, f))]
    found = []
    for path, folders, files in os.walk(root):
        folders[:] = [d for d in folders if not d.startswith(('build', '.git', '__pycache__'))]
        found += [os.path.relpath(os.path.join(path, f), root) for f in files if not (path == root and f.startswith('build')) and not f.endswith('.o')]
    return found


def floors(files):
    bad = []
    for f, text in files.items():
        parts = f.split('/')
        if parts[0] != 'compiler' or len(parts) != 3 or not C_FILE.search(f):
            continue
        here = parts[1]
        for there in re.findall(r'^#include "(\w+)/', text, re.M):
            if there not in FLOORS or there == here or (here, there) in ACROSS:
                continue
            if FLOORS[there] >= FLOORS[here]:
                bad.append('%s includes %s/' % (f, there))
    return bad


def runtime_includes(files):
    """The runtime needs five standard headers and itself."""
    bad = []
    for f, text in files.items():
        if f.startswith('runtime/') and C_FILE.search(f):
            bad += ['%s includes <%s>' % (f, h) for h in re.findall(r'^#include <([^>]+)>', text, re.M)
                    if h not in ('stdint.h', 'stddef.h', 'float.h', 'string.h', 'math.h')]
    return bad


def licences(files):
    bad = []
    for f, text in files.items():
        if NO_SPDX.search(f):
            continue
        want = next((v for k, v in LICENCES.items() if f.startswith(k + '/')), None)
        found = re.search(r'SPDX-License-Identifier: (Apache-2\.0|0BSD)(?: \*/| -->)?$', '\n'.join(text.split('\n')[:4]), re.M)
        if not found:
            bad.append(f + ': no SPDX line')
        elif want == '0BSD' and C_FILE.search(f) and found.group(1) != want:
            bad.append('%s: %s, want %s' % (f, found.group(1), want))
    return bad


def machine_paths(files, root):
    """Where this checkout and its user's files lie is told by the machine, so that no path stands here."""
    places = [os.path.abspath(root), os.path.expanduser('~')]
    known = [re.escape(p) + '/' for p in places if p.count('/') and p != '/']
    machine = re.compile('|'.join(known + [r'/home/\w', 'local' + 'host']))
    return ['%s: %s' % (f, machine.search(text).group()) for f, text in files.items() if f != 'tests/lint/lint.py' and machine.search(text)]


def long_functions(files):
    """By the layout of the code: a function's brace opens and closes in column 0."""
    bad = []
    for f, text in files.items():
        if not C_FILE.search(f):
            continue
        start = None
        lines = text.split('\n')
        for i, line in enumerate(lines):
            if line == '{':
                start = i
            elif line == '}' and start is not None:
                name = next((re.match(r'.*?(\w+)\(', lines[k]).group(1) for k in range(start - 1, max(start - 8, 0), -1) if re.match(r'^\w.*?(\w+)\(', lines[k])), '?')
                if i - start - 1 > LONGEST_FUNCTION:
                    bad.append('%s: %s has %d lines' % (f, name, i - start - 1))
                start = None
    return bad


def shape(files):
    bad = []
    for f, text in files.items():
        if not C_FILE.search(f):
            continue
        lines = text.split('\n')
        if len(lines) - 1 > (LONGEST_TEST if f.startswith('tests/') else LONGEST_FILE):
            bad.append('%s has %d lines' % (f, len(lines) - 1))
        for i, line in enumerate(lines):
            if '\t' in line or line != line.rstrip() or len(line) > LONGEST_LINE:
                bad.append('%s:%d: tab, trailing space or more than %d columns' % (f, i + 1, LONGEST_LINE))
        if not text.endswith('\n') or text.endswith('\n\n'):
            bad.append(f + ': does not end in one newline')
    return bad


def head_comments(files):
    """A C file of the compiler or runtime begins with what it is; the licence alone only where a header beside it says so."""
    bad = []
    for f, text in files.items():
        if not C_FILE.search(f) or not f.startswith(('compiler/', 'runtime/')):
            continue
        first = text.split('*/')[0]
        if '\n' not in first and not (f.endswith('.c') and f[:-1] + 'h' in files):
            bad.append(f + ': no head comment')
    return bad


def tables(files, root):
    """Every kernel of kernels.def exists in its header, once; every operator row names functions that exist."""
    bad, seen = [], set()
    source = '\n'.join(text for f, text in files.items() if f.startswith('runtime/kernels/'))
    bounds = files.get('compiler/bounds/families.h', '')
    for name, params, header, function in re.findall(r'^KERNEL\((\w+), (\w+), "([^"]+)", (\w+), "[^"]*"\)', files.get('runtime/kernels/kernels.def', ''), re.M):
        if name in seen:
            bad.append('kernel %s is listed twice' % name)
        seen.add(name)
        if 'runtime/kernels/' + header not in files:
            bad.append('kernel %s: no file %s' % (name, header))
        if not re.search(r'INLAY_%s_FIELDS' % params, source):
            bad.append('kernel %s: no fields for %s' % (name, params))
        if 'KernelBounds %s;' % function not in bounds:
            bad.append('kernel %s: no bounds %s' % (name, function))
    rows = re.findall(r'^OP\((.*)\)$', files.get('compiler/ops/ops.def', ''), re.M)
    ops = '\n'.join(text for f, text in files.items() if f.startswith('compiler/ops/') and f.endswith('.c'))
    for row in rows:
        cells = [c.strip() for c in row.split(',')]
        for function in cells[-4:-1]:
            if function not in ('no_constant', 'NULL', '0') and not re.search(r'\b%s\(' % function, ops):
                bad.append('operator %s: no function %s' % (cells[0], function))
    return bad if rows and seen else bad + ['a table is empty']


def kernels_used(files):
    """Each kernel's name can come out of a lower function or the plan: whole, or as a stem to which a type is added."""
    lower = '\n'.join(text for f, text in files.items() if f.startswith(('compiler/ops/', 'compiler/passes/', 'compiler/plan/', 'runtime/kernels/act.def')))
    words = set(re.findall(r'"([\w%]+)"', lower)) | set(re.findall(r'\b(\w+)\b', lower))
    bad = []
    for name in re.findall(r'^KERNEL\((\w+),', files.get('runtime/kernels/kernels.def', ''), re.M):
        stems = {name}
        parts = name.split('_')
        for cut in range(1, len(parts)):
            stems |= {'_'.join(parts[:cut]), '_'.join(parts[:cut]) + '_'}
        if not stems & words:
            bad.append('kernel %s is never lowered to' % name)
    return bad


def standalone(files, root):
    """Each kernel header compiles on its own, in the dialect and with the warnings of generated code."""
    bad = []
    for compiler in ('gcc', 'clang', 'arm-none-eabi-gcc'):
        if not shutil.which(compiler):
            continue
        flags = ['-mcpu=cortex-m4', '-mthumb', '-mfloat-abi=hard', '-mfpu=fpv4-sp-d16'] if compiler.startswith('arm') else []
        for f in sorted(files):
            if f.startswith('runtime/kernels/') and f.endswith('.h') and not f.endswith('.inc.h'):
                status, text = host.run([compiler] + flags + host.STRICT + ['-Wsign-conversion', '-Wno-unused-function', '-fsyntax-only', '-I', os.path.join(root, 'runtime'),
                                        '-include', 'inlay.h', '-x', 'c', os.path.join(root, f)], root)
                if status:
                    bad.append('%s under %s: %s' % (f, compiler, text[:300]))
    return bad


def formatter():
    """clang-format of the one version whose output is the law: other versions break lines elsewhere."""
    for name in ('clang-format-%d' % FORMATTER, 'clang-format'):
        if shutil.which(name) and 'version %d.' % FORMATTER in host.run([name, '--version'], '.')[1]:
            return name
    return None


def clang_format(files, root):
    tool = formatter()
    if not tool:
        return None
    # Templates are filled in by the compiler: their marks are no C yet.
    sources = [f for f in sorted(files) if C_FILE.search(f) and not f.startswith('templates/')]
    status, text = host.run([tool, '--dry-run', '-Werror'] + sources, root)
    return [text[:2000]] if status else []


def main():
    root = os.path.abspath(sys.argv[1])
    files = {}
    for f in tracked(root):
        with open(os.path.join(root, f), 'rb') as file:
            data = file.read()
        files[f] = '' if b'\0' in data[:4096] else data.decode('utf8', 'replace')
    files = {f: text for f, text in files.items() if text}
    t = tap.Tap()
    for name, bad in [
            ('floors of the compiler', floors(files)),
            ('the runtime includes five standard headers', runtime_includes(files)),
            ('licence lines', licences(files)),
            ('no path of one machine', machine_paths(files, root)),
            ('functions of at most %d lines' % LONGEST_FUNCTION, long_functions(files)),
            ('files, lines and spaces', shape(files)),
            ('head comments', head_comments(files)),
            ('tables name what exists', tables(files, root)),
            ('every kernel is lowered to', kernels_used(files)),
            ('kernel headers stand alone', standalone(files, root)),
            ('what clang-format %d makes of it' % FORMATTER, clang_format(files, root))]:
        if bad is None:
            t.skip(name, 'the tool is not installed')
        else:
            t.ok(name, not bad, '\n'.join(bad))
    t.done()


main()
