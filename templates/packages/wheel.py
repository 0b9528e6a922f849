# SPDX-License-Identifier: Apache-2.0
"""A wheel: the program, linked with all libraries but the C library's own, and the Python call. The
same files give the same bytes.

    wheel.py --program INLAY --root SOURCE -o FOLDER      prints the wheel's path"""
import argparse
import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
GLIBC = {
    'libc.so.6',
    'libm.so.6',
    'libpthread.so.0',
    'libdl.so.2',
}  # what a manylinux wheel may take from the machine
METADATA = '''Metadata-Version: 2.1
Name: inlay
Version: %(version)s
Summary: Compiles ONNX models to C for firmware
License: Apache-2.0 AND 0BSD
Requires-Python: >=3.8
Provides-Extra: run
Requires-Dist: numpy; extra == 'run'
Description-Content-Type: text/markdown

%(readme)s'''
WHEEL = 'Wheel-Version: 1.0\nGenerator: inlay\nRoot-Is-Purelib: false\nTag: py3-none-%s\n'
ENTRIES = '[console_scripts]\ninlay = inlay.__main__:main\n'


def said(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()


def platform_tag(program):
    """manylinux by the newest symbol of glibc that the program takes (PEP 600)."""
    text = said('readelf', '-d', '-V', '-W', program)
    others = {
        name
        for name in re.findall(r'\(NEEDED\).*\[(.+)\]', text)
        if name not in GLIBC and not name.startswith('ld-linux')
    }
    if others:
        sys.exit('wheel.py: %s needs %s of the machine' % (program, ', '.join(sorted(others))))
    newest = max(tuple(map(int, v.split('.'))) for v in re.findall(r'GLIBC_(\d+\.\d+)', text))
    return 'manylinux_%d_%d_%s' % (*newest, sysconfig.get_platform().split('-')[-1])


def licences(root):
    """Our own, and those of the libraries within the program, where this system has their texts."""
    folder = os.path.join(root, 'LICENSES')
    files = {name: os.path.join(folder, name) for name in os.listdir(folder)}
    for path in (
        '/usr/share/doc/%s/copyright' % name
        for name in (
            'libjansson-dev',
            'libprotobuf-c-dev',
            'libssl-dev',
            'libpng-dev',
            'zlib1g-dev',
        )
    ):
        if os.path.exists(path):
            files[path.split('/')[-2] + '.txt'] = path
    return files


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def stripped(program, folder):
    """The program without what only debuggers read."""
    path = os.path.join(folder, 'inlay.stripped')
    subprocess.run(['strip', '--strip-unneeded', '-o', path, program], check=True)
    data = read(path)
    os.remove(path)
    return data


def content(o, version, tag):
    """Paths within the wheel, with their bytes; the program's last."""
    info = 'inlay-%s.dist-info/' % version
    package = os.path.join(HERE, 'inlay')
    facts = {'version': version, 'readme': read(os.path.join(o.root, 'README.md')).decode()}
    files = {
        'inlay/' + name: read(os.path.join(package, name))
        for name in sorted(os.listdir(package))
        if name.endswith('.py')
    }
    files['inlay/bin/inlay'] = stripped(o.program, o.output)
    for name, path in sorted(licences(o.root).items()):
        files[info + 'licenses/' + name] = read(path)
    files[info + 'METADATA'] = (METADATA % facts).encode()
    files[info + 'WHEEL'] = (WHEEL % tag).encode()
    files[info + 'entry_points.txt'] = ENTRIES.encode()
    return files, info


def record(files, info):
    """Each file with its digest, as installers check it."""
    lines = []
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()
        lines.append('%s,sha256=%s,%d\n' % (path, digest, len(data)))
    return ''.join(lines) + info + 'RECORD,,\n'


def write(path, files):
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if '/bin/' in name else 0o100644) << 16
            archive.writestr(entry, data)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--program', required=True)
    p.add_argument('--root', required=True)
    p.add_argument('-o', '--output', required=True)
    o = p.parse_args()
    os.makedirs(o.output, exist_ok=True)
    version, tag = said(o.program, 'version').split()[1], platform_tag(o.program)
    files, info = content(o, version, tag)
    files[info + 'RECORD'] = record(files, info).encode()
    path = os.path.join(o.output, 'inlay-%s-py3-none-%s.whl' % (version, tag))
    write(path, files)
    print(path)


main()
