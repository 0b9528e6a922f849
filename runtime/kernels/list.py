# SPDX-License-Identifier: 0BSD
"""Turns kernels.def into C: list.py KERNELS.DEF ALL.h FIELDS.h

ALL.h includes every header of the table once; FIELDS.h describes every parameter structure once.
"""
import re
import sys

table, all_h, fields_h = sys.argv[1:]
rows = re.findall(r'^KERNEL\((\w+),\s*(\w+),\s*"([^"]+)"\)', open(table).read(), re.M)
headers = list(dict.fromkeys(header for _, _, header in rows))
structures = list(dict.fromkeys(params for _, params, _ in rows))

with open(all_h, 'w') as f:
    f.writelines('#include "kernels/%s"\n' % h for h in headers)
with open(fields_h, 'w') as f:
    for p in structures:
        f.write('#define PARAMS inlay_%s_params\n' % p)
        f.write('static const FieldRow %s_fields[] = { INLAY_%s_FIELDS(FIELD_1, FIELD_N) { 0 } };\n' % (p, p))
        f.write('#undef PARAMS\n')
