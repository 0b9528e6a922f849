# SPDX-License-Identifier: Apache-2.0
"""Runs on threads: the examples of docs/THREADS.md drive models whose large steps are shared. The
bytes are those of one thread, and ThreadSanitizer sees no two threads at one byte; vectors are in
the programs of plain pthreads.

    threads.py --inlay INLAY [--cc CC] [--most N] [FOLDER]      FOLDER: the corpus; N: models of
    it"""
import argparse
import os
import re

import host
import tap

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, '..', '..', 'docs', 'THREADS.md')
MODELS = os.path.join(HERE, '..', '..', 'models')
# Convolutions with and without scratch, depthwise ones, a pool, transposed ones, attention.
CORPUS = [
    'cnn/mlperf-tiny-resnet8',
    'audio/mlperf-tiny-kws',
    'imaging/super-resolution-10',
    'detector/ultraface-rfb-320',
    'transformer/vit-tracker',
    'quant-qdq/mlperf-tiny-resnet8-qdq',
]

MAIN = r'''#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "%(name)s.h"
%(example)s
static unsigned char memory[%(upper)s_ARENA_SIZE + 64];

int main(void)
{
    void *arena = memory + (64 - (size_t)memory %% 64);
    static __attribute__((aligned(64))) unsigned char value[%(inputs)d];
    static __attribute__((aligned(64))) unsigned char one[%(outputs)d], many[%(outputs)d];
    %(name)s_inputs in;
    %(name)s_outputs out;
    size_t i;
    int run;
    %(start)s
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    for (i = 0; i < sizeof value / 4; i++) {
        const float x = (float)(i * 7919 %% 2003) / 1001.0f - 1.0f;
        memcpy(value + 4 * i, &x, 4);
    }
%(load)s%(to_one)s    memset(one, 0x5A, sizeof one);
    if (%(name)s_run(arena, &in, &out)) return 90;
%(to_many)s    for (run = 0; run < 3; run++) {
        memset(memory, 0xA5, sizeof memory);
        memset(many, 0x5A, sizeof many);
        if (%(name)s_run_mt(arena, &in, &out, %(parallel)s)) return 91;
        if (memcmp(one, many, sizeof one)) return 92;
    }
    return 0;
}
'''
WAYS = {
    'pthreads': (
        'static Pool pool;\n',
        'if (start_pool(&pool, 3)) return 89;',
        'in_pool, &pool',
        ['-pthread'],
    ),
    'OpenMP': ('', '', 'in_team, NULL', ['-fopenmp']),
}


def example(page, title):
    return re.search(r'## %s\n.*?```c\n(.*?)```' % title, page, re.S).group(1)


def places(man, buffer):
    """Each result where the one before it ends, at a multiple of 64 bytes."""
    text, end = '', 0
    for k, v in enumerate(man['outputs']):
        text += '    out.out%d = (void *)(%s + %d);\n' % (k, buffer, end)
        end += (v['bytes'] + 63) // 64 * 64
    return text, end


def load(man):
    """Floats of all kinds; nothing but zeros where an input has another type."""
    clear = any(v['dtype'] != 'float32' for v in man['inputs'])
    text = '    memset(value, 0, sizeof value);\n' if clear else ''
    return text + ''.join('    in.in%d = (void *)value;\n' % k for k in range(len(man['inputs'])))


def main_of(man, name, text, way):
    static, start, parallel, _ = WAYS[way]
    return MAIN % dict(
        name=name,
        upper=name.upper(),
        example=text + static,
        start=start,
        parallel=parallel,
        load=load(man),
        to_one=places(man, 'one')[0],
        to_many=places(man, 'many')[0],
        outputs=places(man, 'one')[1],
        inputs=max(v['bytes'] for v in man['inputs']),
    )


def shared(args, model, page, way, sanitize):
    """'' where all is well, what is wrong, or None where the compiler has no such way."""
    with host.Work() as work:
        out = os.path.join(work, 'm')
        flags = [
            '--name',
            'm',
            '--no-hash',
            '--weights=c',
            '--optimize=speed',
            '--threads=4:1000',
            '-q',
        ]
        status, text = host.run([args.inlay, 'compile', model, '-o', out] + flags)
        if status:
            return 'compile: ' + text
        man = host.manifest(out, 'm')
        if not any(s.get('split') for s in man['steps']):
            return 'no step is shared'
        status, text = host.run([args.inlay, 'prove', os.path.join(out, 'm.json'), model])
        if status:
            return 'prove: ' + text
        with open(os.path.join(work, 'main.c'), 'w') as f:
            f.write(main_of(man, 'm', example(page, way), way))
        command = (
            [
                args.cc,
                '-std=gnu99',
                host.LEVEL,
                '-Wall',
                '-Wextra',
                '-Werror',
                '-Wno-unused-function',
                '-I',
                os.path.join(out, 'src'),
            ]
            + sanitize
            + WAYS[way][3]
        )
        command += [os.path.join(work, 'main.c')] + host.sources(out)
        if sanitize or way != 'pthreads':
            command += host.PLAIN
        status, text = host.run(command + ['-lm', '-o', os.path.join(work, 'run')])
        if status:
            return text
        status, text = host.run([os.path.join(work, 'run')])
        return '' if status == 0 and not text else 'status %d: %s' % (status, text[-2000:])


def links(args, flags):
    with host.Work() as work:
        with open(os.path.join(work, 'a.c'), 'w') as f:
            f.write('int main(void) { return 0; }\n')
        return (
            host.run(
                [args.cc] + flags + [os.path.join(work, 'a.c'), '-o', os.path.join(work, 'a')]
            )[0]
            == 0
            and host.run([os.path.join(work, 'a')])[0] == 0
        )


def models_of(folder, most):
    found = [('digits', os.path.join(MODELS, 'digits', 'digits.onnx'))]
    for name in CORPUS[:most] if folder and os.path.isdir(folder) else []:
        found.append((name, os.path.join(folder, name, 'model.onnx')))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    parser.add_argument('--cc', default='cc')
    parser.add_argument('--most', type=int, help='models of the corpus')
    parser.add_argument('corpus', nargs='?')
    args = parser.parse_args()
    with open(PAGE) as f:
        page = f.read()
    t = tap.Tap()
    sanitizer = ['-fsanitize=thread', '-g1']
    for name, model in models_of(args.corpus, args.most):
        for way, sanitize in (('pthreads', sanitizer), ('pthreads', []), ('OpenMP', [])):
            what = '%s, %s%s' % (name, way, ', ThreadSanitizer' if sanitize else '')
            if not links(args, sanitize + WAYS[way][3]):
                t.skip(what, 'the compiler has no such library')
                continue
            why = shared(args, model, page, way, sanitize)
            t.ok(what, not why, why)
    return t.done()


if __name__ == '__main__':
    raise SystemExit(main())
