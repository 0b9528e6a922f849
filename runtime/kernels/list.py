# SPDX-License-Identifier: 0BSD
"""Turns kernels.def into C: list.py KERNELS.DEF FOLDER

A family is the kernels of one header. FOLDER gets kernels_<family>.c for each, a translation unit with its
kernels' rows, and kernels_table.c, which lists the families.
"""
import os
import re
import sys

FAMILY = '''/* Made from kernels.def. */
#include "ir/kernel_family.h"

#include "kernels/%(family)s.h"

%(bounds)s
%(fields)s
static const KernelRow rows[] = {
%(rows)s};

const KernelFamily kernels_%(family)s = { rows, sizeof rows / sizeof *rows };
'''
FIELDS = '''#define PARAMS inlay_%(params)s_params
static const FieldRow %(params)s_fields[] = { INLAY_%(params)s_FIELDS(FIELD, FIELDS){ 0 } };
#undef PARAMS
'''
TABLE = '''/* Made from kernels.def. */
#include "ir/kernel_family.h"

%(declarations)s
const KernelFamily *const kernel_families[] = {
%(entries)s    NULL,
};
'''


def unique(items):
    return list(dict.fromkeys(items))


def family_text(family, rows):
    structures = unique(row[1] for row in rows)
    return FAMILY % {
        'family': family,
        'bounds': ''.join('KernelBounds %s;\n' % bounds for bounds in unique(row[3] for row in rows)),
        'fields': ''.join(FIELDS % {'params': params} for params in structures),
        'rows': ''.join('    KERNEL_ROW(%s, %s, "%s.h", %s, %s),\n' % row for row in rows)}


def table_text(families):
    return TABLE % {
        'declarations': ''.join('extern const KernelFamily kernels_%s;\n' % f for f in families),
        'entries': ''.join('    &kernels_%s,\n' % f for f in families)}


def main():
    table, folder = sys.argv[1:]
    rows = re.findall(r'^KERNEL\((\w+), (\w+), "(\w+)\.h", (\w+), ("[^"]*")\)', open(table).read(), re.M)
    families = unique(row[2] for row in rows)
    texts = {f: family_text(f, [row for row in rows if row[2] == f]) for f in families}
    texts['table'] = table_text(families)
    for name, text in texts.items():
        path = os.path.join(folder, 'kernels_%s.c' % name)
        # What is the same is not written: its object file stays.
        if not os.path.exists(path) or open(path).read() != text:
            with open(path, 'w') as f:
                f.write(text)


main()
