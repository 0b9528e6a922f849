# SPDX-License-Identifier: Apache-2.0
"""A Debian package of what `ninja install` brings, with the dependencies that dpkg-shlibdeps finds.
The same files give the same bytes.

    deb.py --build BUILD --root SOURCE -o FOLDER      prints the package's path"""
import argparse
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile

HOME = 'Inlay <inlay@example.invalid>'
CONTROL = '''Package: inlay
Version: %(version)s
Section: devel
Priority: optional
Architecture: %(machine)s
Maintainer: %(home)s
Installed-Size: %(kib)d
Depends: %(depends)s
Description: compiles ONNX models to C for firmware
 Inlay turns an ONNX model into C99 with a memory plan that is made and
 proved when compiling: no heap, no library, no interpreter on the device.
'''
SOURCE = 'Source: inlay\n\nPackage: inlay\nArchitecture: any\nDescription: none\n'
RIGHTS = '''Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: inlay

Files: *
Copyright: the authors of Inlay
License: Apache-2.0
 The text is in /usr/share/common-licenses/Apache-2.0.

Files: runtime/* templates/*
Copyright: the authors of Inlay
License: 0BSD
%s
'''


def said(*command, cwd=None):
    return subprocess.run(
        command, check=True, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ).stdout.decode()


def installed(build, stage):
    """What is installed, below /usr whatever the build's own prefix is: nothing in it names a
    place."""
    apart = stage + '.own'
    said('meson', 'install', '-C', build, '--no-rebuild', '--destdir', apart)
    options = {
        o['name']: o['value']
        for o in json.loads(said('meson', 'introspect', '--buildoptions', build))
    }
    os.makedirs(stage)
    os.rename(apart + options['prefix'], os.path.join(stage, 'usr'))
    shutil.rmtree(apart)
    return options


def squeezed(path, data):
    """With gzip, without a time."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(gzip.compress(data, 9, mtime=0))


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def documents(stage, root, options, version):
    page = os.path.join(stage, 'usr', options['mandir'], 'man1', 'inlay.1')
    squeezed(page + '.gz', read(page))
    os.remove(page)
    folder = os.path.join(stage, 'usr', options['datadir'], 'doc', 'inlay')
    squeezed(os.path.join(folder, 'changelog.gz'), read(os.path.join(root, 'CHANGELOG.md')))
    text = re.sub(
        r'(?m)^',
        ' ',
        re.sub(
            r'\n\n+', '\n.\n', read(os.path.join(root, 'LICENSES', '0BSD.txt')).decode().strip()
        ),
    )
    with open(os.path.join(folder, 'copyright'), 'w') as f:
        f.write(RIGHTS % text)
    for name in ('README.md', 'docs'):
        path = os.path.join(root, name)
        if os.path.isdir(path):
            shutil.copytree(path, os.path.join(folder, name))
        else:
            shutil.copy(path, folder)


def files_of(stage):
    return sorted(
        os.path.relpath(os.path.join(path, name), stage)
        for path, _, names in os.walk(stage)
        for name in names
    )


def depends(stage, folder):
    """The packages of the libraries that the program is linked with, with the least versions of its
    symbols."""
    os.makedirs(os.path.join(folder, 'debian'))
    with open(os.path.join(folder, 'debian', 'control'), 'w') as f:
        f.write(SOURCE)
    text = said('dpkg-shlibdeps', '-O', os.path.join(stage, 'usr', 'bin', 'inlay'), cwd=folder)
    return text.strip().partition('=')[2]


def control(stage, facts):
    names = files_of(stage)
    folder = os.path.join(stage, 'DEBIAN')
    os.mkdir(folder)
    with open(os.path.join(folder, 'md5sums'), 'w') as f:
        f.writelines(
            '%s  %s\n' % (hashlib.md5(read(os.path.join(stage, n))).hexdigest(), n) for n in names
        )
    with open(os.path.join(folder, 'control'), 'w') as f:
        f.write(
            CONTROL
            % dict(
                facts, kib=sum(os.path.getsize(os.path.join(stage, n)) // 1024 + 1 for n in names)
            )
        )


def rights(stage):
    for path, folders, names in os.walk(stage):
        for name in folders + names:
            whole = os.path.join(path, name)
            os.chmod(whole, 0o755 if name in folders or path.endswith('/bin') else 0o644)
            os.utime(whole, (0, 0))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--build', required=True)
    p.add_argument('--root', required=True)
    p.add_argument('-o', '--output', required=True)
    o = p.parse_args()
    os.makedirs(o.output, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix='inlay-deb-') as work:
        stage = os.path.join(work, 'stage')
        options = installed(o.build, stage)
        program = os.path.join(stage, 'usr', options['bindir'], 'inlay')
        version, machine = (
            said(program, 'version').split()[1],
            said('dpkg', '--print-architecture').strip(),
        )
        facts = {
            'version': version,
            'machine': machine,
            'home': HOME,
            'depends': depends(stage, work),
        }
        subprocess.run(['strip', '--strip-unneeded', program], check=True)
        documents(stage, o.root, options, version)
        control(stage, facts)
        rights(stage)
        os.environ['SOURCE_DATE_EPOCH'] = '0'
        path = os.path.join(o.output, 'inlay_%s_%s.deb' % (version, machine))
        said('dpkg-deb', '--root-owner-group', '-Zxz', '--build', stage, path)
        print(path)


main()
