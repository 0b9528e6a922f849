# SPDX-License-Identifier: 0BSD
"""Turns kernels.def and the headers beside it into C: list.py KERNELS.DEF FOLDER DEPFILE

A family is the kernels of one translation unit: those of a header, or of several that share much of
their code. FOLDER gets kernels_<family>.c for each, with its kernels' rows, and kernels_table.c,
which lists the families. A row describes the fields of the kernel's parameters as the header
declares them: `typedef struct inlay_<params>_params { ... }`, in which a file of fields that
several share may be included.

list.py KERNELS.DEF: the names of these files, a line each, the light ones with a word behind it.
"""
import glob
import os
import re
import sys

# Headers that share the tiles of floats, which take longer to compile than all else that they have.
TOGETHER = {
    'tiles_f32': [
        'conv_f32',
        'conv1d_f32',
        'winograd_f32',
        'affine_f32',
        'deconv_f32',
        'recurrent',
    ],
    'tiles_narrow': ['conv_narrow', 'recurrent_narrow'],
    'depthwise_f32': ['dwconv_f32', 'dwmany_f32', 'dwpw_f32', 'pair_narrow'],
}
# Many kernels with loops of their own for each type, and little work in any model: they are
# compiled for little of the compiler's time, and functions are copied into their callers as it
# likes.
LIGHT = ['eltwise_integer', 'cast', 'reduce', 'scatter', 'select', 'order', 'logical']

FAMILY = '''/* Made from kernels.def. */
#include "ir/kernel.h"
%(inlining)s
%(headers)s
%(bounds)s%(rules)s
%(fields)s
static const KernelRow rows[] = {
%(rows)s};

const KernelFamily kernels_%(family)s = { rows, sizeof rows / sizeof *rows };
'''
INLINING = '''
#undef INLAY_INLINE
#define INLAY_INLINE static inline
'''
HEADER = '#include "kernels/%s.h"\n'
ROW = '''    {
        .name = "%(name)s",
        .params = "%(params)s",
        .file = "%(header)s.h",
        .run = inlay_%(name)s,
        .field = %(params)s_fields,
        .fields = (int)(sizeof %(params)s_fields / sizeof(FieldRow)) - 1,
        .params_size = sizeof(inlay_%(params)s_params),
        .bounds = %(bounds)s,
        .operands = %(operands)s,
        .rules = %(rules)s,
    },
'''
FIELDS = '''static const FieldRow %(params)s_fields[] = {
%(fields)s    { 0 },
};
'''
ENTRY = (
    '    { "%(type)s", "%(name)s", offsetof(inlay_%(params)s_params, %(name)s), '
    'sizeof(%(type)s), %(count)s },\n'
)
TABLE = '''/* Made from kernels.def. */
#include "ir/kernel.h"

%(declarations)s
const KernelFamily *const kernel_families[] = {
%(entries)s    NULL,
};
'''
STRUCTURE = re.compile(
    r'^typedef struct inlay_(\w+)_params \{\n(.*?)^\} inlay_\1_params;', re.M | re.S
)
SHARED = re.compile(r'^#include "kernels/(\w+\.inc\.h)"$', re.M)
FIELD = re.compile(r'(\w+)\s+(\w+)(?:\[(\w+)\])?;')


def unique(items):
    return list(dict.fromkeys(items))


def structures(headers):
    """{params: rows of the table of its fields}"""
    found = {}
    for header in headers:
        for name, body in STRUCTURE.findall(open(header).read()):
            folder = os.path.dirname(header)
            body = SHARED.sub(lambda m: open(os.path.join(folder, m.group(1))).read(), body)
            declarations = re.sub(r'/\*.*?\*/', '', body, flags=re.S)
            left = FIELD.sub('', declarations).strip()
            if left:
                sys.exit(
                    '%s: inlay_%s_params: a field is `type name;` or `type name[n];`, not `%s`'
                    % (header, name, left)
                )
            found[name] = ''.join(
                ENTRY % {'params': name, 'type': kind, 'name': field, 'count': n or 0}
                for kind, field, n in FIELD.findall(declarations)
            )
    return found


def family_of(header):
    return next((family for family, headers in TOGETHER.items() if header in headers), header)


def row_text(row):
    name, params, header, bounds, operands, rules = row
    return ROW % {
        'name': name,
        'params': params,
        'header': header,
        'bounds': bounds,
        'operands': operands,
        'rules': '&' + rules if rules else 'NULL',
    }


def family_text(family, rows, fields):
    return FAMILY % {
        'family': family,
        'inlining': INLINING if family in LIGHT else '',
        'headers': ''.join(HEADER % header for header in unique(row[2] for row in rows)),
        'bounds': ''.join(
            'KernelBounds %s;\n' % bounds for bounds in unique(row[3] for row in rows)
        ),
        'fields': ''.join(
            FIELDS % {'params': params, 'fields': fields[params]}
            for params in unique(row[1] for row in rows)
        ),
        'rules': ''.join(
            'extern const KernelRules %s;\n' % rules
            for rules in unique(row[5] for row in rows)
            if rules
        ),
        'rows': ''.join(row_text(row) for row in rows),
    }


def table_text(families):
    return TABLE % {
        'declarations': ''.join('extern const KernelFamily kernels_%s;\n' % f for f in families),
        'entries': ''.join('    &kernels_%s,\n' % f for f in families),
    }


def print_names(families):
    print('kernels_table.c')
    for family in families:
        print('kernels_%s.c%s' % (family, ' light' if family in LIGHT else ''))


def write_files(table, rows, families, folder, depfile):
    headers = sorted(glob.glob(os.path.join(os.path.dirname(table), '*.h')))
    fields = structures(headers)
    texts = {
        f: family_text(f, [row for row in rows if family_of(row[2]) == f], fields) for f in families
    }
    texts['table'] = table_text(families)
    for name, text in texts.items():
        path = os.path.join(folder, 'kernels_%s.c' % name)
        # What is the same is not written: its object file stays.
        if not os.path.exists(path) or open(path).read() != text:
            with open(path, 'w') as f:
                f.write(text)
    with open(depfile, 'w') as f:
        f.write('%s: %s\n' % (os.path.join(folder, 'kernels_table.c'), ' '.join(headers)))


def main():
    table = sys.argv[1]
    rows = re.findall(
        r'^KERNEL\((\w+), (\w+), "(\w+)\.h", (\w+), ("[^"]*")(?:, (\w+))?\)',
        open(table).read(),
        re.M,
    )
    families = unique(family_of(row[2]) for row in rows)
    if len(sys.argv) == 2:
        print_names(families)
    else:
        write_files(table, rows, families, *sys.argv[2:])


main()
