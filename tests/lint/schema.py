# SPDX-License-Identifier: Apache-2.0
"""schemas/onnx.proto against the definition that the system's ONNX package installs: each of our
fields has the number, type and label that it has there. Ours leaves nothing out, and knows what is
newer.

    schema.py OURS SYSTEM"""
import os
import re
import sys

import tap

NEWER = re.compile(
    r'TensorProto\.DataType\.(FLOAT8|FLOAT6|UINT4|INT4|FLOAT4|UINT2|INT2)|'
    r'ModelProto\.configuration|DeviceConfiguration|'
    r'IntIntListEntry|ShardingSpec|ShardedDim|SimpleSharded|'
    r'NodeProto\.(overload|metadata_props|device_configurations)|'
    r'FunctionProto\.(overload|value_info|metadata_props|attribute_proto)|'
    r'(GraphProto|TensorProto|ValueInfoProto|ModelProto)\.metadata_props|'
    r'Version\.|TypeProto\.(Opaque|opaque_type)'
)


def strip(text):
    return re.sub(r'//[^\n]*|/\*.*?\*/', '', text, flags=re.S)


def members(text):
    """{'Message.field': ('repeated', 'int64', 3)} and {'Message.Enum.NAME': 5}; nesting by dots,
    oneof left out."""
    found, stack = {}, []
    for m in re.finditer(
        r'(message|enum|oneof)\s+(\w+)\s*\{|\}|'
        r'(?:(optional|repeated|required)\s+)?([\w.]+)\s+(\w+)\s*=\s*(\d+)[^;{]*;|'
        r'(\w+)\s*=\s*(-?(?:0x)?[0-9a-fA-F]+)[^;{]*;|'
        r'(?:reserved|syntax|package|option|import|extensions)[^;]*;',
        strip(text),
    ):
        if m.group(1):
            stack.append('' if m.group(1) == 'oneof' else m.group(2))
        elif m.group(0) == '}':
            stack.pop()
        elif m.group(5):
            found['.'.join([s for s in stack if s] + [m.group(5)])] = (
                m.group(3) or 'optional',
                m.group(4).split('.')[-1],
                int(m.group(6)),
            )
        elif m.group(7):
            found['.'.join([s for s in stack if s] + [m.group(7)])] = int(m.group(8), 0)
    return found


def main():
    t = tap.Tap()
    if not os.path.exists(sys.argv[2]):
        t.skip('schema', 'libonnx-dev is not installed')
        t.done()
    with open(sys.argv[1]) as a, open(sys.argv[2]) as b:
        ours, theirs = members(a.read()), members(b.read())
    t.ok(
        'both files have members',
        len(ours) > 50 and len(theirs) > 50,
        '%d and %d' % (len(ours), len(theirs)),
    )
    shared = [
        k for k in ours if k in theirs and k != 'Version.IR_VERSION'
    ]  # the newest version is not the system's
    bad = ['%s: %s, want %s' % (k, ours[k], theirs[k]) for k in shared if ours[k] != theirs[k]]
    t.ok('%d shared members are alike' % len(shared), len(shared) > 50 and not bad, '\n'.join(bad))
    missing = [k for k in theirs if k not in ours]
    t.ok('nothing is left out', not missing, '\n'.join(missing))
    alien = [k for k in ours if k not in theirs and not NEWER.search(k)]
    t.ok('nothing that the format does not have', not alien, '\n'.join(alien))
    t.done()


main()
