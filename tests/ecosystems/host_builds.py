# SPDX-License-Identifier: Apache-2.0
"""The folder in build systems of hosts: CMake, Meson, pkg-config, cargo, PlatformIO, the Pico SDK,
and what the descriptions of packages say."""
import json
import os
import re
import shutil

import host
from case import Absent, GOLDEN_MAIN, need, python_with, write

CMAKE_USE = (
    'cmake_minimum_required(VERSION 3.13)\n'
    'project(use C)\n'
    '%s\n'
    'add_executable(use main.c)\n'
    'target_link_libraries(use %s::%s)\n'
)


def cmake_subdirectory(c):
    need('cmake')
    app = os.path.join(c.work, 'app')
    write(
        os.path.join(app, 'CMakeLists.txt'),
        CMAKE_USE % ('add_subdirectory(%s model)' % c.folder, c.name, c.name),
    )
    c.main(os.path.join(app, 'main.c'))
    c.must('cmake', '-S', app, '-B', 'build')
    c.must('cmake', '--build', 'build')
    c.judge('build/use')


def cmake_install(c):
    need('cmake')
    prefix, app = os.path.join(c.work, 'prefix'), os.path.join(c.work, 'app')
    c.must('cmake', '-S', c.folder, '-B', 'own', '-DCMAKE_INSTALL_PREFIX=' + prefix)
    c.must('cmake', '--build', 'own')
    c.must('ctest', '--output-on-failure', cwd=os.path.join(c.work, 'own'))
    c.must('cmake', '--install', 'own')
    write(
        os.path.join(app, 'CMakeLists.txt'),
        CMAKE_USE % ('find_package(%s CONFIG REQUIRED)' % c.name, c.name, c.name),
    )
    c.main(os.path.join(app, 'main.c'))
    c.must('cmake', '-S', app, '-B', 'build', '-DCMAKE_PREFIX_PATH=' + prefix)
    c.must('cmake', '--build', 'build')
    c.judge('build/use')


def pkg_config(c, prefix, app):
    paths = [path for path, _, files in os.walk(prefix) if c.name + '.pc' in files]
    flags = c.must(
        'pkg-config', '--cflags', '--libs', c.name, env={'PKG_CONFIG_PATH': paths[0]}
    ).split()
    c.must('cc', os.path.join(app, 'main.c'), '-o', 'by-pkg-config', *flags)
    c.judge('./by-pkg-config')


def meson_install(c):
    need('meson', 'ninja', 'pkg-config')
    prefix, app = os.path.join(c.work, 'prefix'), os.path.join(c.work, 'app')
    c.must('meson', 'setup', 'own', c.folder, '--prefix', prefix)
    c.must('meson', 'test', '-C', 'own')
    c.must('meson', 'install', '-C', 'own')
    c.main(os.path.join(app, 'main.c'))
    pkg_config(c, prefix, app)


def cmake_pkg_config(c):
    need('cmake', 'pkg-config')
    prefix, app = os.path.join(c.work, 'prefix'), os.path.join(c.work, 'app')
    c.must('cmake', '-S', c.folder, '-B', 'own', '-DCMAKE_INSTALL_PREFIX=' + prefix)
    c.must('cmake', '--build', 'own')
    c.must('cmake', '--install', 'own')
    c.main(os.path.join(app, 'main.c'))
    pkg_config(c, prefix, app)


def meson_subproject(c):
    need('meson', 'ninja')
    app = os.path.join(c.work, 'app')
    shutil.copytree(c.folder, os.path.join(app, 'subprojects', c.name))
    c.main(os.path.join(app, 'main.c'))
    write(
        os.path.join(app, 'meson.build'),
        (
            "project('use', 'c')\n"
            "executable('use', 'main.c', dependencies: dependency('%s', fallback: '%s'))\n"
        )
        % (c.name, c.name),
    )
    c.must('meson', 'setup', 'build', app)
    c.must('ninja', '-C', 'build')
    c.judge('build/use')


RUST = '''use std::fs;

fn main() {
    let bytes = fs::read("%(name)s_in0").unwrap();
    let number = |b: &[u8]| f32::from_le_bytes(b.try_into().unwrap());
    let input: Vec<f32> = bytes.chunks(4).map(number).collect();
    assert_eq!(input.len(), %(name)s::IN0_LENGTH);
    let mut arena = %(name)s::Arena([0; %(name)s::ARENA_SIZE]);
    let mut out = [0f32; %(name)s::OUT0_LENGTH];
    let status = unsafe {
        %(name)s::%(name)s_run(
            arena.0.as_mut_ptr().cast(),
            &%(name)s::Inputs { in0: input.as_ptr() },
            &%(name)s::Outputs { out0: out.as_mut_ptr() },
        )
    };
    assert_eq!(status, 0);
    let bytes: Vec<u8> = out.iter().flat_map(|x| x.to_le_bytes()).collect();
    fs::write("%(name)s_out0", bytes).unwrap();
}
'''


def rust_cc(c):
    need('cargo')
    app = os.path.join(c.work, 'app')
    write(
        os.path.join(app, 'Cargo.toml'),
        (
            '[package]\n'
            'name = "use"\n'
            'version = "0.1.0"\n'
            'edition = "2021"\n'
            '[dependencies]\n'
            '%s = { path = "%s" }\n'
        )
        % (c.name, c.folder),
    )
    write(os.path.join(app, 'src', 'main.rs'), RUST % {'name': c.name})
    c.main(os.path.join(c.work, 'unused', 'main.c'))  # writes the inputs
    status, text = host.run(['cargo', 'fetch'], app, 120)
    if status:
        raise Absent('cargo cannot fetch the crate cc: ' + (text.strip().splitlines() or ['?'])[-1])
    c.must('cargo', 'build', '--offline', cwd=app)
    c.judge(os.path.join(app, 'target', 'debug', 'use'))


def platformio(c):
    python = python_with('platformio', 'SCons')
    core, app = os.path.join(c.work, 'core'), os.path.join(c.work, 'app')
    c.archive('platformio-native.tar.xz')
    os.makedirs(os.path.join(core, 'platforms'))
    os.rename(os.path.join(c.work, 'native'), os.path.join(core, 'platforms', 'native'))
    scons = os.path.join(core, 'packages', 'tool-scons')
    where = c.must(python, '-c', 'import SCons, os; print(os.path.dirname(SCons.__file__))').strip()
    wanted = c.must(
        python,
        '-c',
        'from platformio.dependencies import get_core_dependencies as d; '
        'print(d()["tool-scons"].strip("~"))',
    ).strip()
    shutil.copytree(where, os.path.join(scons, 'SCons'))
    write(
        os.path.join(scons, 'scons.py'),
        (
            'import os, sys\n'
            'sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))\n'
            'import SCons.Script\n'
            'SCons.Script.main()\n'
        ),
    )
    about = {'name': 'tool-scons', 'version': wanted, 'description': 'SCons', 'system': '*'}
    write(os.path.join(scons, 'package.json'), json.dumps(about))
    write(
        os.path.join(scons, '.piopm'),
        json.dumps(
            {
                'type': 'tool',
                'name': 'tool-scons',
                'version': wanted,
                'spec': {
                    'owner': 'platformio',
                    'id': 8192,
                    'name': 'tool-scons',
                    'requirements': None,
                    'uri': None,
                },
            }
        ),
    )
    write(os.path.join(app, 'platformio.ini'), '[env:native]\nplatform = native\n')
    shutil.copytree(c.folder, os.path.join(app, 'lib', c.name))
    c.main(os.path.join(app, 'src', 'main.c'))
    c.must(
        python,
        '-m',
        'platformio',
        'run',
        '-d',
        app,
        env={'PLATFORMIO_CORE_DIR': core, 'PLATFORMIO_SETTING_ENABLE_TELEMETRY': 'no'},
    )
    c.judge(os.path.join(app, '.pio', 'build', 'native', 'program'))


PICO = '''cmake_minimum_required(VERSION 3.13)
include(%s/pico-sdk/pico_sdk_init.cmake)
project(use C CXX ASM)
pico_sdk_init()
add_subdirectory(%s model)
add_executable(use main.c)
target_link_libraries(use pico_stdlib %s::%s)
'''


def pico_sdk(c):
    """Links for the Cortex-M0+; there is no machine to run it on."""
    need('cmake', 'arm-none-eabi-g++')
    if host.run(
        ['arm-none-eabi-g++', '-fsyntax-only', '-x', 'c++', '-include', 'cstdlib', '/dev/null']
    )[0]:
        raise Absent('libstdc++-arm-none-eabi-newlib is not installed')
    c.archive('pico-sdk-rp2040.tar.xz')
    app = os.path.join(c.work, 'app')
    write(os.path.join(app, 'CMakeLists.txt'), PICO % (c.work, c.folder, c.name, c.name))
    write(os.path.join(app, 'main.c'), GOLDEN_MAIN % (c.name, c.name))
    c.must('cmake', '-S', app, '-B', 'build', '-DPICO_NO_PICOTOOL=1', '-DPICO_BOARD=pico')
    c.must('cmake', '--build', 'build')
    symbols = c.must('arm-none-eabi-nm', 'build/use.elf')
    assert re.search(r'\b%s_run(_with)?\b' % c.name, symbols), 'the model is not in the image'


def properties(path):
    with open(path) as f:
        return dict(
            line.rstrip('\n').split('=', 1)
            for line in f
            if '=' in line and not line.startswith('#')
        )


def metadata(c):
    """What PlatformIO, the Arduino library manager and ESP-IDF require of their files, by their
    schemas."""
    with open(os.path.join(c.folder, 'library.json')) as f:
        library = json.load(f)
    assert not set(':;/,@<>') & set(library['name']) and re.fullmatch(
        r'\d+\.\d+\.\d+', library['version']
    )
    assert os.path.isdir(os.path.join(c.folder, library['build']['srcDir']))
    arduino = properties(os.path.join(c.folder, 'library.properties'))
    for key in (
        'name',
        'version',
        'author',
        'maintainer',
        'sentence',
        'paragraph',
        'category',
        'url',
        'architectures',
    ):
        assert arduino.get(key), 'library.properties lacks ' + key
    assert re.fullmatch(r'[A-Za-z0-9][\w .-]{0,62}', arduino['name']) and not arduino[
        'name'
    ].lower().startswith('arduino')
    assert os.path.exists(os.path.join(c.folder, 'src', arduino['includes']))
    assert os.path.exists(os.path.join(c.folder, 'examples', c.name, c.name + '.ino'))
    with open(os.path.join(c.folder, 'idf_component.yml')) as f:
        assert re.search(r'^version: "\d+\.\d+\.\d+"$', f.read(), re.M)
    with open(os.path.join(c.folder, 'zephyr', 'module.yml')) as f:
        text = f.read()
    kconfig = re.search(r'kconfig: (\S+)', text).group(1)
    assert os.path.exists(os.path.join(c.folder, kconfig)) and re.search(r'cmake: \.$', text, re.M)
