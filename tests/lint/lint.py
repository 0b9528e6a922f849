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

# A folder may include its own floor's files and those of lower floors; neighbours on a floor never
# meet.
FLOORS = {
    'base': 0,
    'ir': 1,
    'place': 1,
    'bounds': 2,
    'rules': 2,
    'ops': 3,
    'onnx': 4,
    'passes': 4,
    'forms': 4,
    'schedule': 4,
    'prove': 4,
    'eval': 4,
    'plan': 5,
    'emit': 5,
    'pipeline': 6,
    'cli': 7,
}
# What reaches across, each with its reason.
ACROSS = {('passes', 'eval'): 'constants are folded by running the kernels'}
# The proof shares no code with what it proves.
APART = {('prove', 'place')}
LICENCES = {'runtime': '0BSD', 'templates': '0BSD', 'tests/firmware': '0BSD'}
NO_SPDX = re.compile(
    r'^LICENSES/|\.(pb|onnx|pgm|wav|md|txt|png|json)$|^\.gitignore$|(^|/)\.gitattributes$|'
    r'^tests/golden/'
)
C_FILE = re.compile(r'\.[ch]$')
PLAIN_LINES = re.compile(r'\.([ch]|py)$|(^|/)meson\.build$')
# In lines; of the compiler and the runtime, and of tests.
LONGEST_LINE, LONGEST_FUNCTION, LONGEST_FILE = 100, 60, 660
LONGEST_TEST_FUNCTION, LONGEST_TEST = 91, 1130
FORMATTER = 14
BLACK = 23


def tracked(root):
    """Files of the repository; where there is no git, all that lie here outside of build
    folders."""
    if os.path.exists(os.path.join(root, '.git')) and shutil.which('git'):
        p = subprocess.run(
            ['git', '-c', 'safe.directory=*', '-C', root, 'ls-files', '-z'], stdout=subprocess.PIPE
        )
        if p.returncode == 0:
            return [
                f
                for f in p.stdout.decode().split('\0')
                if f and os.path.isfile(os.path.join(root, f))
            ]
    found = []
    for path, folders, files in os.walk(root):
        folders[:] = [d for d in folders if not d.startswith(('build', '.git', '__pycache__'))]
        found += [
            os.path.relpath(os.path.join(path, f), root)
            for f in files
            if not (path == root and f.startswith('build')) and not f.endswith('.o')
        ]
    return found


# What a clone shows at first sight.
TOP = {
    'compiler',
    'runtime',
    'schemas',
    'templates',
    'tests',
    'models',
    'docs',
    'LICENSES',
    'meson.build',
    'meson_options.txt',
    'README.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'inlay-demo',
    'inlay-test',
}


def top_level(files):
    """Binary files among them."""
    names = {f.split('/')[0] for f in files}
    return [
        '%s does not belong at the top' % name
        for name in sorted(names - TOP)
        if not name.startswith('.')
    ]


def floors(files):
    bad = []
    for f, text in files.items():
        parts = f.split('/')
        if parts[0] != 'compiler' or len(parts) < 3 or not C_FILE.search(f):
            continue
        here = parts[1]
        for there in re.findall(r'^#include "(\w+)/', text, re.M):
            if there not in FLOORS or there == here or (here, there) in ACROSS:
                continue
            if FLOORS[there] >= FLOORS[here] or (here, there) in APART:
                bad.append('%s includes %s/' % (f, there))
    return bad


# tests/unit/FOLDER/FILE.c tests compiler/FOLDER/FILE.c in these folders, but for files that another
# one's test covers: which, and why.
MIRRORED = ('base', 'ir', 'onnx')
ELSEWHERE = {
    'base/folder.c': ('base/output', 'hidden folders are those of outputs'),
    'base/signals.c': ('base/output', 'they guard an output folder'),
    'base/output_examine.c': ('base/output', 'what is in the folders it makes'),
    'base/output_place.c': ('base/output', 'one of two ways to end'),
    'base/output_swap.c': ('base/output', 'the other way'),
    'base/io_calls.c': ('base/io', 'a table of calls'),
    'base/ticks.c': ('base/progress', 'its clock'),
    'base/io_calls_windows.c': (None, 'no Windows here; tests/packages/hosts.py compiles it'),
    'base/process_windows.c': (None, 'as above'),
    'base/signals_windows.c': (None, 'as above'),
    'base/ticks_windows.c': (None, 'as above'),
    'base/json_memory.c': (
        None,
        'two calls that hand on; tests/fuzz/faults.c fails each allocation',
    ),
    'onnx/message.c': ('onnx/wire', 'a table'),
    'onnx/link.c': ('onnx/reader', 'names are linked when a whole graph is read'),
    'onnx/read_function.c': ('onnx/read_node', 'functions and graphs hold nodes'),
    'onnx/read_graph.c': ('onnx/read_node', 'as above'),
    'onnx/read_tensor.c': ('onnx/read_data', 'a tensor is its data'),
    'ir/recipe_make.c': ('ir/recipe', 'recipes are compared as wholes with a plain model of them'),
    'ir/recipe_move.c': ('ir/recipe', 'as above'),
    'ir/recipe_concat.c': ('ir/recipe', 'as above'),
    'ir/recipe_form.c': ('ir/recipe', 'as above'),
    'ir/recipe_guard.c': ('ir/recipe', 'as above'),
    'ir/recipe_key.c': ('ir/recipe', 'as above'),
    'ir/recipe_permute.c': ('ir/recipe', 'as above'),
    'ir/recipe_read.c': ('ir/recipe', 'as above'),
    'ir/recipe_run.c': ('ir/recipe', 'as above'),
    'ir/recipe_write.c': ('ir/recipe', 'as above'),
    'ir/recipe_sparse.c': ('onnx/values', 'sparse tensors as they are read'),
    'ir/recipe_values.c': ('ir/recipe_change', 'changes by operands'),
    'ir/follow.c': (None, 'whole models only: tests/e2e/lengths.py'),
    'ir/clone.c': (None, 'whole models only: tests/golden, tests/ops'),
    'ir/graph.c': (None, 'as above'),
    'ir/node.c': (None, 'as above'),
    'ir/sort.c': (None, 'as above'),
    'ir/shape.c': (None, 'as above'),
    'ir/live.c': ('emit/peak', 'bytes in use are what the report shows'),
    'ir/dtype.c': ('ir/convert', 'a table'),
    'ir/kernel.c': (None, 'a table; tests/unit/kernels'),
}


def mirrors(files):
    bad = []
    for f in files:
        part = f[len('compiler/') :]
        if (
            not f.startswith('compiler/')
            or not f.endswith('.c')
            or part.split('/')[0] not in MIRRORED
        ):
            continue
        own = 'tests/unit/' + part in files
        if own == (part in ELSEWHERE):
            bad.append(
                '%s: %s'
                % (
                    part,
                    'has a test of its own, and stands in ELSEWHERE'
                    if own
                    else 'has no tests/unit/%s' % part,
                )
            )
    for part, (test, _) in ELSEWHERE.items():
        if 'compiler/' + part not in files or (test and 'tests/unit/%s.c' % test not in files):
            bad.append('%s: ELSEWHERE names what is not there' % part)
    return bad


# Files whose thread-local variables are the compiler's only mutable globals. On Windows what a
# console tells the program comes in a thread of its own.
MUTABLE = {
    'compiler/base/' + f
    for f in (
        'diag.c',
        'io.c',
        'json_memory.c',
        'progress.c',
        'signals.c',
        'ticks.c',
        'ticks_windows.c',
    )
}
SHARED = {'compiler/base/io_calls_windows.c', 'compiler/base/signals_windows.c'}


def mutable_globals(files):
    bad = []
    for f, text in files.items():
        if not f.startswith('compiler/') or not C_FILE.search(f):
            continue
        for i, line in enumerate(text.split('\n')):
            variable = re.match(
                r'\s*(static|_Thread_local)\s[^()]*(;|=|\{)', line
            ) and not re.search(r'\bconst\b|_Static_assert', line)
            if variable and f not in SHARED and not (f in MUTABLE and '_Thread_local' in line):
                bad.append('%s:%d: a mutable global' % (f, i + 1))
    return bad


def runtime_includes(files):
    """The runtime needs five standard headers and itself; vectors also those of the compilers'
    vector functions."""
    bad = []
    vectors = {
        'runtime/kernels/qvec.h': ('emmintrin.h', 'immintrin.h', 'arm_neon.h', 'arm_mve.h'),
        'runtime/kernels/vec.h': ('arm_mve.h',),
    }
    for f, text in files.items():
        if f.startswith('runtime/') and C_FILE.search(f):
            bad += [
                '%s includes <%s>' % (f, h)
                for h in re.findall(r'^#include <([^>]+)>', text, re.M)
                if h
                not in ('stdint.h', 'stddef.h', 'float.h', 'string.h', 'math.h')
                + vectors.get(f, ())
            ]
    return bad


def licences(files):
    bad = []
    for f, text in files.items():
        if NO_SPDX.search(f):
            continue
        want = next((v for k, v in LICENCES.items() if f.startswith(k + '/')), None)
        found = re.search(
            r'SPDX-License-Identifier: (Apache-2\.0|0BSD)(?: \*/| -->)?$',
            '\n'.join(text.split('\n')[:4]),
            re.M,
        )
        if not found:
            bad.append(f + ': no SPDX line')
        elif want == '0BSD' and C_FILE.search(f) and found.group(1) != want:
            bad.append('%s: %s, want %s' % (f, found.group(1), want))
    return bad


def machine_paths(files, root):
    """Where this checkout and its user's files lie is told by the machine, so that no path stands
    here."""
    places = [os.path.abspath(root), os.path.expanduser('~')]
    known = [re.escape(p) + '/' for p in places if p.count('/') and p != '/']
    machine = re.compile('|'.join(known + [r'/home/\w', 'local' + 'host']))
    return [
        '%s: %s' % (f, machine.search(text).group())
        for f, text in files.items()
        if f != 'tests/lint/lint.py' and machine.search(text)
    ]


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
                name = next(
                    (
                        re.match(r'.*?(\w+)\(', lines[k]).group(1)
                        for k in range(start - 1, max(start - 8, 0), -1)
                        if re.match(r'^\w.*?(\w+)\(', lines[k])
                    ),
                    '?',
                )
                if i - start - 1 > (
                    LONGEST_TEST_FUNCTION if f.startswith('tests/') else LONGEST_FUNCTION
                ):
                    bad.append('%s: %s has %d lines' % (f, name, i - start - 1))
                start = None
    return bad


def shape(files):
    bad = []
    for f, text in files.items():
        if not PLAIN_LINES.search(f):
            continue
        lines = text.split('\n')
        if C_FILE.search(f) and len(lines) - 1 > (
            LONGEST_TEST if f.startswith('tests/') else LONGEST_FILE
        ):
            bad.append('%s has %d lines' % (f, len(lines) - 1))
        for i, line in enumerate(lines):
            if '\t' in line or line != line.rstrip() or len(line) > LONGEST_LINE:
                bad.append(
                    '%s:%d: tab, trailing space or more than %d columns' % (f, i + 1, LONGEST_LINE)
                )
        if not text.endswith('\n') or text.endswith('\n\n'):
            bad.append(f + ': does not end in one newline')
    return bad


def head_comments(files):
    """A C file of the compiler or runtime begins with what it is; the licence alone only where a
    header beside it says so."""
    bad = []
    for f, text in files.items():
        if not C_FILE.search(f) or not f.startswith(('compiler/', 'runtime/')):
            continue
        first = text.split('*/')[0]
        if '\n' not in first and not (f.endswith('.c') and f[:-1] + 'h' in files):
            bad.append(f + ': no head comment')
    return bad


def tables(files, root):
    """Every kernel of kernels.def exists in its header, once; every operator row names functions
    that exist."""
    bad, seen = [], set()
    source = '\n'.join(text for f, text in files.items() if f.startswith('runtime/kernels/'))
    bounds = files.get('compiler/bounds/families.h', '')
    known_rules = files.get('compiler/rules/families.h', '')
    for name, params, header, function, rules in re.findall(
        r'^KERNEL\((\w+), (\w+), "([^"]+)", (\w+), "[^"]*"(?:, (\w+))?\)',
        files.get('runtime/kernels/kernels.def', ''),
        re.M,
    ):
        if name in seen:
            bad.append('kernel %s is listed twice' % name)
        seen.add(name)
        if 'runtime/kernels/' + header not in files:
            bad.append('kernel %s: no file %s' % (name, header))
        if not re.search(r'\} inlay_%s_params;' % params, source):
            bad.append('kernel %s: no fields for %s' % (name, params))
        if 'KernelBounds %s;' % function not in bounds:
            bad.append('kernel %s: no bounds %s' % (name, function))
        if rules and 'KernelRules %s;' % rules not in known_rules:
            bad.append('kernel %s: no rules %s' % (name, rules))
    rows = re.findall(
        r'^OP\((\w+), (\w+), (\w+),(.*?)\)$', files.get('compiler/ops/ops.def', ''), re.M | re.S
    )
    ops = '\n'.join(
        text for f, text in files.items() if f.startswith('compiler/ops/') and f.endswith('.c')
    )
    for name, infer, lower, fields in rows:
        for function in [infer, lower] + re.findall(
            r'\.(?:constant|axes|cut|scalar) = (\w+)', fields
        ):
            if not re.search(r'\b%s\(' % function, ops):
                bad.append('operator %s: no function %s' % (name, function))
    return bad if rows and seen else bad + ['a table is empty']


def stacks(files):
    """Every kernel compiled for each family when the table of stacks was made: what it takes is
    known."""
    rows = dict(
        re.findall(r'^STACK\((\w+), ([-\d, ]+)\)', files.get('compiler/ir/stack.def', ''), re.M)
    )
    kernels = re.findall(r'^KERNEL\((\w+),', files.get('runtime/kernels/kernels.def', ''), re.M)
    bad = ['kernel %s: no row in stack.def' % name for name in kernels if name not in rows]
    return (
        bad
        + ['kernel %s: not measured on a family' % name for name, row in rows.items() if '-' in row]
        if rows
        else ['no rows']
    )


def operator_names(files):
    """What is known about an operator by its name stands in its row of ops.def: no other table has
    the names."""
    names = set(re.findall(r'^OP\((\w+),', files.get('compiler/ops/ops.def', ''), re.M))
    bad = []
    for f, text in files.items():
        if f.startswith('compiler/') and C_FILE.search(f):
            for table in re.findall(
                r'^\s*static const (?:struct \{[^{}]*\})?[^;{}]*=\s*\{(.*?)\};', text, re.M | re.S
            ):
                bad += ['%s: "%s"' % (f, s) for s in re.findall(r'"(\w+)"', table) if s in names]
    return bad if names else ['no operators']


def kernels_used(files):
    """Each kernel's name can come out of a lower function or the plan: whole, or as a stem to which
    a type is added."""
    lower = '\n'.join(
        text
        for f, text in files.items()
        if f.startswith(
            ('compiler/ops/', 'compiler/passes/', 'compiler/rules/', 'runtime/kernels/act.def')
        )
    )
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


# A kernel by its name, header or parameters; what prints all kernels alike may read their tables.
BY_NAME = (
    r'#include "kernels/|strn?cmp\([^;]*->kernel->\w+\s*,\s*"|strn?cmp\(\s*"[^;]*->kernel->|'
    r'kernel_find\("'
)
KNOWS_KERNEL = {
    re.compile(BY_NAME): ('emit',),
    re.compile(BY_NAME + r'|kernel->params\b|kernel->field|->bounds\('): (
        'place',
        'forms',
        'schedule',
        'plan',
        'prove',
    ),
}


def kernels_by_name(files):
    """Planner, proof and emitter know the facts that a kernel states in its row (rules/, bounds/),
    and none by name."""
    bad = []
    for known, folders in KNOWS_KERNEL.items():
        for f, text in files.items():
            if f.startswith(tuple('compiler/%s/' % folder for folder in folders)):
                bad += ['%s: %s' % (f, ' '.join(m.group().split())) for m in known.finditer(text)]
    return bad


def standalone(files, root):
    """Each kernel header compiles on its own, in the dialect and with the warnings of generated
    code."""
    bad = []
    for compiler in ('gcc', 'clang', 'arm-none-eabi-gcc'):
        if not shutil.which(compiler):
            continue
        flags = (
            ['-mcpu=cortex-m4', '-mthumb', '-mfloat-abi=hard', '-mfpu=fpv4-sp-d16']
            if compiler.startswith('arm')
            else []
        )
        for f in sorted(files):
            if f.startswith('runtime/kernels/') and f.endswith('.h') and not f.endswith('.inc.h'):
                status, text = host.run(
                    [compiler]
                    + flags
                    + host.STRICT
                    + [
                        '-Wsign-conversion',
                        '-Wno-unused-function',
                        '-fsyntax-only',
                        '-I',
                        os.path.join(root, 'runtime'),
                        '-include',
                        'inlay.h',
                        '-x',
                        'c',
                        os.path.join(root, f),
                    ],
                    root,
                )
                if status:
                    bad.append('%s under %s: %s' % (f, compiler, text[:300]))
    return bad


def formatter():
    """clang-format of the one version whose output is the law: other versions break lines
    elsewhere."""
    for name in ('clang-format-%d' % FORMATTER, 'clang-format'):
        if (
            shutil.which(name)
            and 'version %d.' % FORMATTER in host.run([name, '--version'], '.')[1]
        ):
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


def black(files, root):
    """What the formatter of Python makes of it, by the year whose style is the law."""
    version = ['black', '--required-version', str(BLACK)]
    if not shutil.which('black') or host.run(version + ['--code', ''], root)[0]:
        return None
    sources = [f for f in sorted(files) if f.endswith('.py')]
    config = ['--config', '.black.toml', '--quiet', '--diff', '--check']
    status, text = host.run(['black'] + config + sources, root)
    return [text[:2000]] if status else []


TILES_MADE = re.compile(
    r'\binlay_(?:tile_pixels|rows_run|steps_run|conv_by|conv1d_by|deconv_by|mm_tiles)\('
)


def tiles_stated(files):
    """Kernels that make tiles say in their rules which: else the generated file has no fast code
    for them."""
    rules = {}
    for f, text in files.items():
        if f.startswith('compiler/rules/'):
            rules.update(re.findall(r'^const KernelRules (\w+) = \{(.*?)^\};', text, re.M | re.S))
    rows = re.findall(
        r'^KERNEL\(\w+, \w+, "([\w.]+)", \w+, "[^"]*"(?:, (\w+))?\)',
        files['runtime/kernels/kernels.def'],
        re.M,
    )
    stated = {header for header, rule in rows if '.tiles' in rules.get(rule, '')}
    return [
        '%s: no rules of its kernels state tiles' % header
        for header in sorted({header for header, _ in rows} - stated)
        if TILES_MADE.search(files['runtime/kernels/' + header])
    ]


def main():
    root = os.path.abspath(sys.argv[1])
    files = {}
    names = tracked(root)
    for f in names:
        with open(os.path.join(root, f), 'rb') as file:
            data = file.read()
        files[f] = '' if b'\0' in data[:4096] else data.decode('utf8', 'replace')
    files = {f: text for f, text in files.items() if text}
    t = tap.Tap()
    for name, bad in [
        ('what lies at the top', top_level(names)),
        ('floors of the compiler', floors(files)),
        ('the runtime includes five standard headers', runtime_includes(files)),
        ('licence lines', licences(files)),
        ('no path of one machine', machine_paths(files, root)),
        ('functions of at most %d lines' % LONGEST_FUNCTION, long_functions(files)),
        ('files, lines and spaces', shape(files)),
        ('head comments', head_comments(files)),
        ('unit tests mirror base, ir and onnx', mirrors(files)),
        ('no mutable globals but those of base', mutable_globals(files)),
        ('tables name what exists', tables(files, root)),
        ('stacks of all kernels', stacks(files)),
        ('operator names in tables outside ops.def: 0', operator_names(files)),
        ('every kernel is lowered to', kernels_used(files)),
        ('no kernel by name in planner, proof and emitter', kernels_by_name(files)),
        ('kernels of tiles say which', tiles_stated(files)),
        ('kernel headers stand alone', standalone(files, root)),
        ('what clang-format %d makes of it' % FORMATTER, clang_format(files, root)),
        ('what black %d makes of it' % BLACK, black(files, root)),
    ]:
        if bad is None:
            t.skip(name, 'the tool is not installed')
        else:
            t.ok(name, not bad, '\n'.join(bad))
    t.done()


main()
