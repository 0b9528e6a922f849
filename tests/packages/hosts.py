# SPDX-License-Identifier: Apache-2.0
"""Other hosts: the compiler itself and a generated folder for macOS and Windows, by a cross
compiler (zig: of the PATH, the Python module ziglang, or fetched with pip). Objects only: their
libraries are not here.

    hosts.py --inlay INLAY --models MODELS --build BUILD_FOLDER [--link]"""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import shlex
import shutil
import sys

import host
import tap

# Headers of the libraries that the compiler uses, which are the same everywhere.
HEADERS = [
    'jansson.h',
    'jansson_config.h',
    'png.h',
    'pngconf.h',
    'pnglibconf.h',
    'zlib.h',
    'zconf.h',
    'openssl',
    'protobuf-c',
]
PLACES = ['/usr/include', '/usr/include/libpng16', *glob.glob('/usr/include/*-linux-gnu')]


def find_zig(work):
    """The command; None: there is none, and none can be fetched."""
    if shutil.which('zig'):
        return ['zig']
    if host.run([sys.executable, '-m', 'ziglang', 'version'])[0] == 0:
        return [sys.executable, '-m', 'ziglang']
    python = os.path.join(work, 'venv', 'bin', 'python')
    for command in (
        [sys.executable, '-m', 'venv', os.path.join(work, 'venv')],
        [python, '-I', '-m', 'pip', '-q', 'install', 'ziglang'],
    ):
        if host.run(command)[0]:
            return None
    return [python, '-I', '-m', 'ziglang']


def library_headers(work):
    """A folder with these headers and none of this system."""
    folder = os.path.join(work, 'include')
    os.makedirs(folder)
    for place in PLACES:
        for name in HEADERS:
            path, to = os.path.join(place, name), os.path.join(folder, name)
            if os.path.isdir(path):
                shutil.copytree(path, to, dirs_exist_ok=True)
            elif os.path.exists(path):
                shutil.copy(path, to)
    return folder


def sources(build):
    """[(source, its own flags)] of the compiler, as the build has them; kernels are in generated
    folders."""
    with open(os.path.join(build, 'compile_commands.json')) as f:
        rows = json.load(f)
    found = {}
    for row in rows:
        if re.match(r'(compiler/libinlay(-fast)?|schemas/lib\w+)\.a\.p/', row['output']):
            words = shlex.split(row['command'])
            found[row['file']] = [
                w for w in words if w.startswith(('-I', '-D', '-std=')) and not w.startswith('-I/')
            ]
    return sorted(found.items())


def of_windows(source, build):
    """The file that stands for this one there, if one does: base/signals.c,
    base/signals_windows.c."""
    other = source[: -len('.c')] + '_windows.c'
    return other if os.path.exists(os.path.join(build, other)) else source


def check_compiler(t, zig, build, headers, work, target):
    rows = sources(build)

    def failed(row):
        source, flags = row
        if 'windows' in target:
            source = of_windows(source, build)
        out = os.path.join(work, re.sub(r'\W', '_', source) + '.o')
        status, text = host.run(
            [
                *zig,
                'cc',
                '-target',
                target,
                '-Wno-everything',
                '-O0',
                '-fno-sanitize=undefined',
                *flags,
                '-I' + headers,
                '-c',
                source,
                '-o',
                out,
            ],
            cwd=build,
        )
        return (
            ''
            if status == 0
            else '%s: %s' % (source, '\n'.join(re.findall(r'.*error:.*', text)[:3]) or text[-300:])
        )

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        bad = [b for b in pool.map(failed, rows) if b]
    t.ok(
        'the compiler for %s: %d files' % (target, len(rows)),
        len(rows) > 300 and not bad,
        '\n'.join(bad[:10]),
    )


def check_folder(t, o, zig, work):
    """For Windows a linker first makes all of its libraries, which takes minutes: without --link
    objects do."""
    folder = os.path.join(work, 'digits')
    status, text = host.run(
        [o.inlay, 'compile', os.path.join(o.models, 'digits', 'digits.onnx'), '-o', folder]
    )
    t.ok('a folder', status == 0, text)
    files = sorted(glob.glob(os.path.join(folder, 'src', '*.c'))) + [
        os.path.join(folder, 'examples', 'main.c')
    ]
    for target, more in (('aarch64-macos', []), ('x86_64-windows-gnu', ['-lm'])):
        linked = o.link or 'windows' not in target
        out = os.path.join(work, 'digits-' + target)
        command = [
            *zig,
            'cc',
            '-target',
            target,
            '-std=c99',
            '-O1',
            '-Wall',
            '-Wextra',
            '-Werror',
            '-I' + os.path.join(folder, 'src'),
        ]
        rest = (
            [[*files, *more, '-o', out]] if linked else [['-c', f, '-o', out + '.o'] for f in files]
        )
        said = [host.run(command + words) for words in rest]
        bad = [text[-2000:] for status, text in said if status]
        t.ok(
            'a generated folder and its example, %s %s'
            % ('linked for' if linked else 'objects for', target),
            not bad,
            '\n'.join(bad),
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--inlay', required=True)
    parser.add_argument('--models', required=True)
    parser.add_argument('--build', required=True)
    parser.add_argument('--link', action='store_true')
    o = parser.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        os.environ['ZIG_GLOBAL_CACHE_DIR'] = os.environ['ZIG_LOCAL_CACHE_DIR'] = os.path.join(
            work, 'cache'
        )
        zig = find_zig(work)
        if not zig:
            t.skip('other hosts', 'no zig here, and pip cannot fetch it')
            return t.done()
        headers = library_headers(work)
        for target in ('aarch64-macos', 'x86_64-windows-gnu'):
            check_compiler(t, zig, o.build, headers, work, target)
        check_folder(t, o, zig, work)
    return t.done()


if __name__ == '__main__':
    main()
