# SPDX-License-Identifier: Apache-2.0
"""A compiled model as a whole program for a bare core, run by qemu: no start files, no allocator,
constants in memory that faults on writes. Shared by the firmware suite, the table of counts and the
benchmarks."""
import collections
import os
import re
import shutil

import host
import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
STACK = 32768
C_TYPES = {
    'bool': 'uint8_t',
    'float32': 'float',
    'float64': 'double',
    'float16': 'uint16_t',
    'bfloat16': 'uint16_t',
}
ALLOCATOR = re.compile(r'\b_?(malloc|calloc|realloc|free|sbrk|_sbrk_r|_malloc_r|_free_r)\b')
# Functions of which two C libraries may give other last bits; floor, sqrt, fma and the like are
# exact.
ROUNDED = re.compile(
    r'\b[TtWw] ((?:exp|exp2|expm1|log|log2|log10|log1p|pow|sin|cos|tan|asin|acos|atan|atan2|'
    r'sinh|cosh|tanh|asinh|acosh|atanh|erf|erfc|cbrt|tgamma|lgamma)f?)$',
    re.M,
)

Run = collections.namedtuple('Run', 'outputs stack instructions loads stores text protected')


class Failed(Exception):
    pass


def must(command, cwd=None, limit=600):
    status, text = host.run(command, cwd, limit)
    if status:
        raise Failed(
            '%s: status %d: %s' % (os.path.basename(command[0]), status, text.strip()[-1500:])
        )
    return text


def c_type(io):
    return C_TYPES.get(
        io['dtype'],
        io['dtype'] + '_t' if re.fullmatch(r'u?int(8|16|32|64)', io['dtype']) else 'uint8_t',
    )


def structure(kind, ios, name, slots):
    """The constant structure of what the caller gives."""
    fields = ', '.join(
        '.%s%d = %s' % (kind, i, slots % i) for i, io in enumerate(ios) if not host.in_arena(io)
    )
    return 'static const %s_%sputs case_%s = { %s };\n' % (name, kind, kind, fields or '0')


# Weights that the code cannot point to: a flash behind a function that hands out at most a page at
# a time, in memory or a file.
STREAM = '''#include <string.h>
#include "semihosting.h"
%(flash)s
static int case_read(void *context, size_t at, size_t n, void *to)
{
    enum { PAGE = 256 };
    size_t done, k;
    (void)context;
    for (done = 0; done < n; done += k) {
        k = PAGE - (at + done) %% PAGE;
        k = k < n - done ? k : n - done;
        if (!case_page((unsigned char *)to + done, at + done, k))
            return 1;
    }
    return 0;
}
static inline int case_run(void *arena, const %(name)s_inputs *in, const %(name)s_outputs *out)
{
    const inlay_source source = { case_read, NULL, NULL, NULL };
    const int error = %(name)s_weights_open(&source);
    return error ? error : %(name)s_run_with(&source, arena, in, out);
}
'''


IN_MEMORY = '''extern const unsigned char case_blob[];
static int case_page(void *to, size_t at, size_t n)
{
    memcpy(to, case_blob + at, n);
    return 1;
}
'''
IN_FILE = '''static int case_page(void *to, size_t at, size_t n)
{
    static uintptr_t file;
    if (!file)
        file = semi_open("case.blob", 9);
    return semi_read(file, at, to, n);
}
'''


def put_run(work, name, man, out, text, data, in_file):
    """How a run is called."""
    if man['weights'].get('form') != 'stream' or not man['weights']['size']:
        text.append('#define case_run %s_run\n' % name)
        return
    shutil.copy(os.path.join(out, name + '.blob'), os.path.join(work, 'case.blob'))
    text.append(STREAM % {'name': name, 'flash': IN_FILE if in_file else IN_MEMORY})
    if not in_file:
        data.append('.balign 16\n.global case_blob\ncase_blob:\n.incbin "case.blob"\n')


def write_case(work, name, man, inputs, out=None, in_file=False):
    """case.h, and case.S with the bytes of the inputs; `out` is needed where weights are streamed,
    from a file of the host on wish."""
    text, data = ['#include "%s.h"\n' % name], ['.section .rodata\n']
    for macro in ('ARENA_SIZE', 'ARENA_ALIGN'):
        text.append('#define CASE_%s %s_%s\n' % (macro, name.upper(), macro))
    put_run(work, name, man, out, text, data, in_file)
    for i, (io, tensor) in enumerate(zip(man['inputs'], inputs)):
        with open(os.path.join(work, 'in%d.bin' % i), 'wb') as f:
            f.write(tensor.raw)
        text.append('extern const %s case_in%d[];\n' % (c_type(io), i))
        data.append(
            '.balign 16\n.global case_in%d\ncase_in%d:\n.incbin "in%d.bin"\n.byte 0\n' % (i, i, i)
        )
    saves = []
    for i, io in enumerate(man['outputs']):
        text.append(
            'static union { unsigned char bytes[%d]; double align; } case_out%d;\n'
            % (max(io['bytes'], 1), i)
        )
        saves.append(
            'semi_save("out%d", %d, case_out%d.bytes, %d)' % (i, len('out%d' % i), i, io['bytes'])
        )
    text.append(structure('in', man['inputs'], name, 'case_in%d'))
    text.append(structure('out', man['outputs'], name, '(void *)case_out%d.bytes'))
    text.append(
        '#include "semihosting.h"\nstatic inline int case_save(void)\n{\n    return %s;\n}\n'
        % (' && '.join(saves) or '1')
    )
    for file, lines in (('case.h', text), ('case.S', data)):
        with open(os.path.join(work, file), 'w') as f:
            f.write(''.join(lines))


def places(core):
    """The board's memories, for the link script and for protection."""
    found = []
    for name, (base, log2) in (('CODE', core.code), ('CONST', core.const), ('RAM', core.ram)):
        found += [
            (name + '_BASE', '0x%x' % base),
            (name + '_LOG2', '%d' % log2),
            (name + '_SIZE', '0x%x' % (1 << log2)),
        ]
    return found


def model_code(core, work, out, command, made):
    """Objects of the sources in out/src; `made` has those of other images by the same command,
    which names none of case.h."""
    key = (out, tuple(word for word in command if not word.startswith('-DCASE_')))
    if made is None or key not in made:
        objects = []
        for k, source in enumerate(host.sources(out)):
            objects.append(source if source.endswith('.o') else os.path.join(work, 'model%d.o' % k))
            if objects[-1] != source:
                must(command + ['-c', '-o', objects[-1], source], work)
        if made is None:
            return objects
        made[key] = objects
    return made[key]


def build(core, work, out, level='-O2', flags=(), warnings=True, made=None):
    """work/app.elf of the sources in out/src and of case.h in work. Returns the size of its
    sections: (text, data, bss)."""
    own = [
        os.path.join(HERE, f)
        for f in ('main.c', 'start.c', 'start_arm.c' if 'arm' in core.compiler else 'start_riscv.c')
    ]
    compiler = core.compiler + 'gcc'
    common = (
        core.flags
        + [
            level,
            '-ffp-contract=off',
            '-ffunction-sections',
            '-fdata-sections',
            '-I',
            '.',
            '-I',
            HERE,
            '-I',
            os.path.join(out, 'src'),
        ]
        + list(flags)
    )
    objects = model_code(
        core, work, out, [compiler] + common + (host.STRICT if warnings else ['-std=c99']), made
    )
    common += ['-D%s=%s' % p for p in places(core)]
    stack = min(STACK, 1 << core.ram[1] - 3)
    link = [
        '-nostartfiles',
        '-Wl,--gc-sections',
        '-Wl,--defsym=STACK_SIZE=%d' % stack,
        '-T',
        os.path.join(HERE, 'link.ld'),
        '-o',
        'app.elf',
        '-lm',
    ]
    link += ['-Wl,--defsym=%s=%s' % p for p in places(core)]
    must([compiler, '-std=gnu99', '-DCASE'] + common + own + ['case.S'] + objects + link, work)
    sizes = must([core.compiler + 'size', 'app.elf'], work).splitlines()[-1].split()
    return tuple(int(n) for n in sizes[:3])


def code_bytes(core, work):
    """Bytes of the functions that the generated source became, in the image."""
    listed = must([core.compiler + 'nm', '--defined-only', '-S', 'app.elf'], work)
    own = set(
        re.findall(
            r' [Tt] (\S+)$',
            must([core.compiler + 'nm', '--defined-only'] + model_objects(work), work),
            re.M,
        )
    )
    return sum(
        int(size, 16)
        for size, name in re.findall(r'^\w+ (\w+) [Tt] (\S+)$', listed, re.M)
        if name in own
    )


def model_objects(work):
    return sorted(f for f in os.listdir(work) if re.fullmatch(r'model\d+\.o', f))


def symbols(core, work):
    return must([core.compiler + 'nm', 'app.elf'], work)


def inexact(core, work):
    """Functions of libm in the image whose last bit is a matter of the library."""
    return sorted(set(ROUNDED.findall(symbols(core, work))))


def plugin(folder):
    """The counting plugin, built with the host's compiler. None: there is none."""
    path = os.path.join(folder, 'icount.so')
    if not shutil.which('gcc'):
        return None
    must(
        [
            'gcc',
            '-std=c11',
            '-O2',
            '-Wall',
            '-Wextra',
            '-Werror',
            '-shared',
            '-fPIC',
            '-o',
            path,
            os.path.join(HERE, 'icount.c'),
        ]
    )
    return path


def emulate(core, work, counter=None, memory=False, limit=300):
    """(status, text) of work/app.elf; counts.txt gets what was counted."""
    command = (
        [core.qemu]
        + core.machine
        + [
            '-display',
            'none',
            '-serial',
            'none',
            '-monitor',
            'none',
            '-semihosting-config',
            'enable=on,target=native',
            '-kernel',
            'app.elf',
        ]
    )
    if counter:
        command += [
            '-plugin',
            'file=' + counter + (',memory=on' if memory else ''),
            '-d',
            'plugin',
            '-D',
            'counts.txt',
        ]
    return host.run(command, work, limit)


def read_outputs(work, man):
    found = []
    for i, io in enumerate(man['outputs']):
        with open(os.path.join(work, 'out%d' % i), 'rb') as f:
            found.append(onnx.Tensor('', onnx.CODES[io['dtype']], io['dims'], f.read()))
    return found


def run(core, work, man, counter=None, memory=False):
    status, text = emulate(core, work, counter, memory)
    found = re.search(r'stack ([0-9a-f]{8})', text)
    if status or not found:
        raise Failed('status %d: %s' % (status, text[:1000]))
    counts = [0, 0, 0]
    if counter:
        with open(os.path.join(work, 'counts.txt')) as f:
            counts = [int(n) for n in re.findall(r' (\d+)', f.read())]
    return Run(
        read_outputs(work, man),
        int(found.group(1), 16),
        counts[0],
        counts[1],
        counts[2],
        text,
        'protected' in text,
    )


def on_host(work, name, man, inputs, out, flags):
    """The outputs of the same C, compiled by the host's gcc."""
    host.write_main(work, [(name, man, inputs)])
    if man['weights'].get('form') == 'stream' and man['weights']['size']:
        shutil.copy(os.path.join(out, name + '.blob'), work)
    must(
        ['gcc', '-std=c99', host.LEVEL]
        + flags
        + ['-I', os.path.join(out, 'src'), '-o', 'host', 'main.c']
        + host.sources(out)
        + ['-lm'],
        work,
    )
    must(['./host'], work)
    return host.results(work, name, man)
