# SPDX-License-Identifier: Apache-2.0
"""AVR, whose constants lie in another address space, under simavr."""
import os
import shutil
import struct

import host
import onnx
from case import need, write

AVR_MAIN = '''#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
%s
static void put(const char *text)
{
    for (; *text; text++) {
        while (!(UCSR0A & (1 << UDRE0))) continue;
        UDR0 = (unsigned char)*text;
    }
}
int main(void)
{
    UBRR0 = 0;
    UCSR0B = 1 << TXEN0;
    put(%s ? "golden 1\\n" : "golden 0\\n");
    cli();
    sleep_enable();
    sleep_cpu();
    return 0;
}
'''

AVR_FLAGS = [
    '-mmcu=atmega2560',
    '-Os',
    '-std=gnu99',
    '-Wall',
    '-Wextra',
    '-Werror',
    '-ffunction-sections',
    '-fdata-sections',
    '-Wl,--gc-sections',
]


def avr_runs(c, before, test):
    """The folder in a program that prints what test, an expression, says."""
    need('avr-gcc', 'simavr')
    write(os.path.join(c.work, 'main.c'), AVR_MAIN % (before, test))
    c.must(
        'avr-gcc',
        *AVR_FLAGS,
        '-I' + os.path.join(c.folder, 'src'),
        *host.sources(c.folder),
        'main.c',
        '-lm',
        '-o',
        'avr.elf'
    )
    c.judge_text(c.must('simavr', '-m', 'atmega2560', '-f', '16000000', 'avr.elf'))


def avr(c):
    """An Arduino Mega's processor, of 8 bits and with 16-bit pointers, emulated."""
    avr_runs(c, '#include "%s_golden.h"' % c.name, c.name + '_golden()')


# The text of docs/GENERATED.md, "Weights in the flash of an AVR".
AVR_FLASH = '''#include <avr/pgmspace.h>
#include "sine.h"

__asm__(".pushsection .progmem.data,\\"a\\",@progbits\\n"
        "blob: .incbin \\"sine/sine.blob\\"\\n"
        ".popsection\\n");
extern const char blob[];

static int read_flash(void *context, size_t offset, size_t n, void *to)
{
    (void)context;
    memcpy_PF(to, pgm_get_far_address(blob) + offset, n);
    return 0;
}

/* 0: it gives the sine of 1, which is 0.8421 to this network. */
static int sine_of_one(void)
{
    static const inlay_source weights = { .read = read_flash };
    static _Alignas(SINE_ARENA_ALIGN) unsigned char arena[SINE_ARENA_SIZE];
    float x = 1, y = 0;
    const sine_inputs in = { &x };
    const sine_outputs out = { &y };
    if (sine_weights_open(&weights) || sine_run_with(&weights, arena, &in, &out))
        return 1;
    return !(y > 0.842f && y < 0.8423f);
}
'''


def avr_flash(c):
    """Weights stay in flash, where constants of C would take RAM."""
    c.compile('--weights', 'stream', '--window', '256')
    avr_runs(c, AVR_FLASH, 'sine_of_one()')


# What avr-libc has not, by the operators that use it, and for which numbers they are tried.
AVR_FUNCTIONS = [
    ('Softplus', -3, 4),
    ('Elu', -2, 2),
    ('Asinh', -9, 9),
    ('Acosh', 1, 9),
    ('Atanh', -0.9, 0.9),
    ('Round', -2.5, 3),
    ('Erf', -2, 2),
    ('Gelu', -3, 3),
]


def avr_functions(c):
    """Functions of <math.h> that its library lacks."""
    f32, n = onnx.CODES['float32'], 32
    nodes, weights, outs = [], [], []
    for op, low, high in AVR_FUNCTIONS:
        for name, number in (('half', (high - low) / 2), ('middle', (high + low) / 2)):
            weights.append(onnx.make_tensor(op + name, f32, [], struct.pack('<f', number)))
        nodes += [
            onnx.make_node('Mul', ['x', op + 'half'], [op + 'part']),
            onnx.make_node('Add', [op + 'part', op + 'middle'], [op + 'x']),
        ]
        nodes.append(onnx.make_node(op, [op + 'x'], [op]))
        outs.append(onnx.make_value(op, f32, [n]))
    model = os.path.join(c.work, 'functions.onnx')
    with open(model, 'wb') as f:
        f.write(onnx.make_model(nodes, [onnx.make_value('x', f32, [n])], outs, weights, opset=20))
    shutil.rmtree(c.folder)
    c.must(c.o.inlay, 'compile', model, '-o', c.folder, '--name', c.name)
    avr(c)
