# SPDX-License-Identifier: Apache-2.0
"""Runs the compiler, and the C it makes through a host compiler. Shared by the test scripts."""
import glob
import json
import math
import os
import shutil
import struct
import subprocess
import tempfile

import onnx

STRICT = [
    '-std=c99',
    '-Wall',
    '-Wextra',
    '-Wpedantic',
    '-Wconversion',
    '-Wshadow',
    '-Wdouble-promotion',
    '-Wundef',
    '-Werror',
]
# For C that is there to be right, not quick: half of -O1's time to compile. -O0 takes gcc four
# times as long, since tiles are inlined at every level.
LEVEL = '-Og'
# Without vectors, for what is not about kernels: a third of the time. Floats may have other last
# bits than with them.
PLAIN = ['-DINLAY_VL=1', '-DINLAY_QL=1']
# What they find ends the program. AddressSanitizer sees null pointers and what lies beyond an
# object by itself; UBSan's checks of the same double the time that a tile takes to compile, and so
# do variables for the debugger beside lines. Sums of pointers, which double it once more, are left
# to clang (trial.sanitizing). These programs run for less time than they compile: gcc's checks of
# addresses are calls, which take it a third less than checks in line; undefined behaviour is an
# illegal instruction in place of a message, which takes a sixth less. ASAN_OPTIONS=handle_sigill=1
# shows the place.
SANITIZERS = [
    '-fsanitize=address,undefined',
    '-fno-sanitize=null,object-size,pointer-overflow',
    '-fno-sanitize-recover=all',
    '-fsanitize-undefined-trap-on-error',
    '-g1',
    '--param=asan-instrumentation-with-call-threshold=0',
]
DOCUMENTED = {0, 1, 64, 65, 66, 69, 70, 71, 73, 74, 78}

# Loads inN, runs the model in an arena full of rubbish between guard bytes, saves outN.
MAIN = r'''
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
%(headers)s
static void *volatile taken[1000];       /* so that none counts as a leak */
static size_t n_taken;

static void *take(size_t n)
{
    unsigned char *p = malloc(n + 128);
    if (!p || n_taken == 1000) exit(90);
    taken[n_taken++] = p;
    return p + (64 - (size_t)p %% 64);
}

void parts(void *context, int n, void (*work)(void *job, int k), void *job);
void parts(void *context, int n, void (*work)(void *job, int k), void *job)
{
    (void)context;
    while (n--) work(job, n);
}

static void load(const char *path, void *to, size_t n)
{
    FILE *f = fopen(path, "rb");
    if (!f || fread(to, 1, n, f) != n) exit(91);
    fclose(f);
}

static void save(const char *path, const void *from, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(from, 1, n, f) != n || fclose(f)) exit(92);
}
%(models)s
int main(void)
{
    (void)load;
    (void)save;
%(calls)s    return 0;
}
'''

MODEL = r'''
static int run_%(name)s(void)
{
    static const size_t size[] = { %(sizes)s };
    enum { GUARD = 64, REGIONS = sizeof size / sizeof *size };
    unsigned char *area[REGIONS];
    %(name)s_inputs in;
    %(name)s_outputs out;
    size_t i, k;
    int r;
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    for (k = 0; k < REGIONS; k++) {
        area[k] = (unsigned char *)take(size[k] + 2 * GUARD) + GUARD;
        memset(area[k] - GUARD, 0xA5, size[k] + 2 * GUARD);
    }
%(arena)s%(load)s%(run)s    if (r) {
        fprintf(stderr, "%(name)s_run returned %%d\n", r);
        return 93;
    }
    for (k = 0; k < REGIONS; k++)
        for (i = 0; i < GUARD; i++)
            if (area[k][size[k] + i] != 0xA5 || (area[k] - GUARD)[i] != 0xA5) return 94;
%(save)s    return 0;
}
'''


RUN = '''    r = %(name)s_run%(with)sarena, &in, &out);
'''

# Parts one after the other, the last first, as a caller without threads may.
THREADS = '''    r = %(name)s_run_mt%(with)sarena, &in, &out, parts, NULL);
'''

# Slices of all sizes; a run that was given up leaves nothing behind.
SLICES = '''    {
        int32_t units = 0;
        %(abort)s
        if (%(name)s_begin(arena)) return 93;
        do r = %(name)s_step%(with)sarena, &in, &out, units = units %% 7 + 1);
        while (r == %(upper)s_MORE);
        if (%(name)s_step%(with)sarena, &in, &out, 1) != %(upper)s_E_ARG) return 94;
    }
'''
ABORT = '''if (%(name)s_begin(arena)) return 92;
        r = %(name)s_step%(with)sarena, &in, &out, 3);
        if (r && r != %(upper)s_MORE) return 92;'''

STREAM = '''    source.context = fopen("%(name)s.blob", "rb");
    source.read = blob_read;
    source.start = blob_start;
    source.wait = blob_wait;
    if (!source.context || %(name)s_weights_open(&source)) return 99;
'''
# A read that is made as late as it may be: what looks at the bytes before finds others.
BLOB = '''static struct { void *file, *to; size_t offset, n; } late;
static int blob_read(void *file, size_t offset, size_t n, void *to)
{
    return fseek((FILE *)file, (long)offset, SEEK_SET) || fread(to, 1, n, (FILE *)file) != n;
}
static int blob_start(void *file, size_t offset, size_t n, void *to)
{
    if (late.file) return 1;
    late.file = file, late.offset = offset, late.n = n, late.to = to;
    memset(to, 0xff, n);
    return 0;
}
static int blob_wait(void *file)
{
    late.file = NULL;
    return blob_read(file, late.offset, late.n, late.to);
}
'''
ROWS = r'''    {
        unsigned char *frame = take(%(bytes)d);
        load("%(name)s_in%(slot)d", frame, %(bytes)d);
        r = %(name)s_start%(with)sarena, &in, &out);
        for (i = 0; r == %(upper)s_MORE && i < %(upper)s_IN%(slot)d_ROWS; i++) {
            void *row = %(name)s_input_row(arena);
            if (!row) return 97;
            memcpy(row, frame + i * %(upper)s_IN%(slot)d_ROW_SIZE, %(upper)s_IN%(slot)d_ROW_SIZE);
            r = %(name)s_push%(with)sarena, &in, &out);
        }
        if (!r && (i != %(upper)s_IN%(slot)d_ROWS || %(name)s_input_row(arena))) return 98;
        if (!r && %(name)s_push%(with)sarena, &in, &out) != %(upper)s_E_ARG) return 98;
    }
'''


class Work:
    """A temporary folder that goes at the end."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix='inlay-test-')

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def run(command, cwd=None, limit=300, env=None):
    """(status, text); a signal is a negative status, a time limit 124."""
    try:
        p = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=cwd,
            timeout=limit,
            env=dict(os.environ, **env) if env else None,
        )
    except subprocess.TimeoutExpired:
        return 124, 'time limit of %g s' % limit
    return p.returncode, p.stdout.decode('utf8', 'replace')


def written(path, data):
    """The path of a file of these bytes."""
    with open(path, 'wb') as f:
        f.write(data)
    return path


def model_of(folder):
    """The one model of a test's folder."""
    return next(os.path.join(folder, f) for f in sorted(os.listdir(folder)) if f.endswith('.onnx'))


def test_data(folder):
    """Inputs and expected outputs of folder/test_data_set_0 in order: ([(path, Tensor)],
    [Tensor])."""

    def numbered(kind):
        found = glob.glob(os.path.join(folder, 'test_data_set_0', kind + '_*.pb'))
        return sorted(found, key=lambda f: int(f.rsplit('_', 1)[1][:-3]))

    return [(f, onnx.read_tensor(f)) for f in numbered('input')], [
        onnx.read_tensor(f) for f in numbered('output')
    ]


def shape_flags(model, data):
    """--shape for inputs whose dimensions are open in the file."""
    flags = []
    for value, (_, tensor) in zip(onnx.read_io(model)[0], data):
        if (
            value.dims is None
            or None in value.dims
            or 0 in value.dims
            and value.dims != list(tensor.dims)
        ):
            flags += [
                '--shape',
                '%s=%s' % (value.name, 'x'.join(map(str, tensor.dims)) or 'scalar'),
            ]
    return flags


def manifest(out, name):
    with open(os.path.join(out, name + '.json')) as f:
        return json.load(f)


def sources(out):
    """What is compiled and linked: the C, and the object of --weights obj."""
    return sorted(
        glob.glob(os.path.join(out, 'src', '*.c')) + glob.glob(os.path.join(out, 'src', '*.o'))
    )


def turn(raw, dims, perm, inwards):
    """Row-major values of `dims` in the order of dimensions of an arena's layout, or back."""
    n = math.prod(dims)
    if list(perm) == sorted(perm) or not n:
        return raw
    size, to = len(raw) // n, bytearray(len(raw))
    stride = [math.prod(dims[k + 1 :]) * size for k in range(len(dims))]
    places = [0]
    for k in perm:
        places = [p + i * stride[k] for p in places for i in range(dims[k])]
    for i, p in enumerate(places):
        a, b = (i * size, p) if inwards else (p, i * size)
        to[a : a + size] = raw[b : b + size]
    return bytes(to)


def in_arena(io):
    return io.get('place') == 'arena'


def turned(io):
    """Does it have the arena's layout?"""
    return 'arena_perm' in io


def model_code(work, name, man, inputs):
    """The C that runs one model; its inputs are written beside it."""
    load, save, rows = [], [], None
    for i, io in enumerate(man['inputs']):
        raw = inputs[i].raw
        assert len(raw) == io['bytes'], 'input %d: manifest says %d bytes, the data has %d' % (
            i,
            io['bytes'],
            len(raw),
        )
        with open(os.path.join(work, '%s_in%d' % (name, i)), 'wb') as f:
            f.write(turn(raw, io['dims'], io['arena_perm'], True) if turned(io) else raw)
        if io.get('place') == 'rows':
            rows = (i, io['bytes'])
            continue
        if in_arena(io):
            load.append(
                '    load("%s_in%d", area[%d] + %s_IN%d_OFFSET, %d);\n'
                % (name, i, io.get('region', 0), name.upper(), i, io['bytes'])
            )
            continue
        load.append(
            '    { void *p = take(%d); load("%s_in%d", p, %d); in.in%d = p; }\n'
            % (io['bytes'], name, i, io['bytes'], i)
        )
    for i, io in enumerate(man['outputs']):
        if in_arena(io):
            save.append(
                '    save("%s_out%d", area[%d] + %s_OUT%d_OFFSET, %d);\n'
                % (name, i, io.get('region', 0), name.upper(), i, io['bytes'])
            )
        else:
            load.append('    out.out%d = take(%d);\n' % (i, io['bytes']))
            save.append('    save("%s_out%d", out.out%d, %d);\n' % (name, i, i, io['bytes']))
        if io.get('dynamic'):
            load.append('    out.out%d_dims = take(%d);\n' % (i, 8 * len(io['dims'])))
            save.append(
                '    save("%s_out%d_dims", out.out%d_dims, %d);\n'
                % (name, i, i, 8 * len(io['dims']))
            )
    weights = '('
    if man['weights']['size'] and man['weights']['form'] == 'bin':
        load.append(
            '    { void *p = take(%d); load("%s_weights.bin", p, %d); weights = p; }\n'
            % (man['weights']['size'], name, man['weights']['size'])
        )
        load.insert(0, '    const void *weights;\n')
        weights = '_with(weights, '
    if man['weights']['size'] and man['weights']['form'] == 'stream':
        load.append(STREAM % {'name': name})
        load.insert(
            0, '    inlay_source source;\n    const inlay_source *const weights = &source;\n'
        )
        weights = '_with(weights, '
    facts = {
        'name': name,
        'upper': name.upper(),
        'load': ''.join(load),
        'save': ''.join(save),
        'with': weights,
    }
    regions = man.get('regions')
    facts['sizes'] = (
        ', '.join('%s_ARENA_%s_SIZE' % (name.upper(), r['name'].upper()) for r in regions)
        if regions
        else name.upper() + '_ARENA_SIZE'
    )
    facts['arena'] = (
        '    const %s_arenas arenas = { %s }, *const arena = &arenas;\n'
        % (name, ', '.join('area[%d]' % k for k in range(len(regions))))
        if regions
        else '    unsigned char *const arena = area[0];\n'
    )
    facts['run'] = run_code(man, facts, rows)
    return MODEL % facts


def run_code(man, facts, rows):
    if rows:
        return ROWS % dict(facts, slot=rows[0], bytes=rows[1])
    if 'threads' in man['arena']:
        return THREADS % facts
    if 'run_state' not in man['arena']:
        return RUN % facts
    return SLICES % dict(
        facts, abort='' if any(in_arena(io) for io in man['inputs']) else ABORT % facts
    )


def write_main(work, models):
    """models: [(name, manifest, inputs)] -> main.c"""
    text = MAIN % dict(
        headers=''.join('#include "%s.h"\n' % n for n, _, _ in models),
        models=(BLOB if any(m['weights']['form'] == 'stream' for _, m, _ in models) else '')
        + ''.join(model_code(work, *m) for m in models),
        calls=''.join(
            '    { const int r = run_%s(); if (r) return r; }\n' % n for n, _, _ in models
        ),
    )
    with open(os.path.join(work, 'main.c'), 'w') as f:
        f.write(text)


def real_dims(work, name, i, io):
    """The dims of output i: where they are a bound, those that the model handed back."""
    if not io.get('dynamic'):
        return io['dims']
    with open(os.path.join(work, '%s_out%d_dims' % (name, i)), 'rb') as f:
        return list(struct.unpack('<%dq' % len(io['dims']), f.read()))


def results(work, name, man):
    got = []
    for i, io in enumerate(man['outputs']):
        dims, bound = real_dims(work, name, i, io), math.prod(io['dims'])
        with open(os.path.join(work, '%s_out%d' % (name, i)), 'rb') as f:
            raw = f.read()
        if in_arena(io):
            raw = turn(raw, io['dims'], io['arena_perm'], False)
        if io.get('dynamic'):
            used = len(raw) * math.prod(dims) // bound if bound else 0
            assert not any(raw[used:]), 'output %d: the rest is not zero' % i
            raw = raw[:used]
        got.append(onnx.Tensor('', onnx.CODES[io['dtype']], dims, raw))
    return got
