# SPDX-License-Identifier: Apache-2.0
"""A generated folder, unedited, in real build systems: each builds a program with it, and the
program's results are compared, with the reference answer where it can read files, else by the test
that goes with the code (NAME_golden.h).

    run.py --inlay INLAY --models MODELS [--ecosystems FOLDER] [--only NAME,...]

FOLDER holds archives of systems that no package brings. What is not at hand is skipped, by name and
with the reason."""
import argparse
import json
import os
import re
import select
import shutil
import struct
import subprocess
import sys
import time
import xml.etree.ElementTree

import host
import onnx
import tap
import trial

GOLDEN_MAIN = (
    '#include <stdio.h>\n'
    '#include "%s_golden.h"\n'
    'int main(void) { printf("golden %%d\\n", %s_golden()); return 0; }\n'
)


# Programs of this host, for which most systems choose no level: -O0 takes gcc four times as long.
HOST_ENV = {'CFLAGS': ' '.join([host.LEVEL] + host.PLAIN)}


class Absent(Exception):
    """Why a system cannot be tried here."""


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as f:
        f.write(text)


def python_with(*modules):
    """A Python that has them: the one of INLAY_PYTHON, this one, or the system's."""
    known = [os.environ.get('INLAY_PYTHON'), sys.executable, '/usr/bin/python3']
    for python in filter(None, known):
        if (
            os.path.exists(python)
            and host.run([python, '-c', 'import ' + ', '.join(modules)])[0] == 0
        ):
            return python
    raise Absent('no Python here has %s (INLAY_PYTHON names another)' % ', '.join(modules))


def need(*programs):
    for p in programs:
        if not shutil.which(p):
            raise Absent('%s is not installed' % p)


def close(got, want):
    """Equal but for the last bits of floats."""
    pairs = zip(struct.iter_unpack('<f', got), struct.iter_unpack('<f', want))
    return len(got) == len(want) and all(abs(a - b) <= 1e-6 + 1e-5 * abs(b) for (a,), (b,) in pairs)


class Case:
    """A model compiled to a folder called as it is, with all build files, in a working folder of
    its own."""

    def __init__(self, o, name, work, env):
        self.o, self.name, self.work, self.env = o, name, work, env
        self.folder = os.path.join(work, name)
        self.compile()

    def compile(self, *flags):
        """The folder, anew where there is one."""
        shutil.rmtree(self.folder, ignore_errors=True)
        model = trial.Trial(self.o.inlay, os.path.join(self.o.models, self.name))
        self.compiled = model.compiled(self.work, '--emit', 'all', *flags, name=self.name)
        os.rename(self.compiled.out, self.folder)
        self.compiled.out = self.folder

    def must(self, *command, cwd=None, env=None):
        status, text = host.run(
            [str(c) for c in command], cwd or self.work, 900, dict(self.env, **(env or {}))
        )
        if status:
            raise RuntimeError('%s: status %d\n%s' % (command[0], status, text[-3000:]))
        return text

    def main(self, path):
        """A program that reads inputs and writes results."""
        host.write_main(self.work, [self.compiled.part()])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.replace(os.path.join(self.work, 'main.c'), path)

    def judge(self, program):
        """Its results are those of `inlay run`, but for the last bits."""
        self.must(program)
        for (dims, got), (want_dims, want) in zip(
            self.compiled.results(), self.compiled.trial.answer()
        ):
            assert dims == want_dims and close(got, want), 'other results than inlay run'

    def judge_text(self, text):
        assert re.search(r'golden 0\b', text), 'the golden test fails: ' + text[-500:]

    def archive(self, name):
        """Links to what is in an archive, which is unpacked once for all cases."""
        path = os.path.join(self.o.ecosystems or '', name)
        if not self.o.ecosystems or not os.path.exists(path):
            raise Absent('%s is not at hand' % name)
        folder = os.path.join(self.o.unpacked, name)
        if not os.path.exists(folder):
            os.mkdir(folder)
            self.must('tar', '-xf', path, '-C', folder)
        for entry in os.listdir(folder):
            link = os.path.join(self.work, entry)
            if not os.path.islink(link):
                os.symlink(os.path.join(folder, entry), link)


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


ZEPHYR_APP = '''cmake_minimum_required(VERSION 3.13)
include($ENV{ZEPHYR_BASE}/cmake/app/boilerplate.cmake NO_POLICY_SCOPE)
project(app)
target_sources(app PRIVATE src/main.c)
'''


# The example of docs/THREADS.md, in this older tree's words, makes the runs of the golden test on
# two threads.
ZEPHYR_THREADS = '''#include <stdio.h>
#include <zephyr.h>
#define k_work_queue_start(queue, stack, size, priority, config) \\
    k_work_q_start(queue, stack, size, priority)
%(example)s
#include "%(name)s.h"
static int shared;
static void count(void *context, int n, void (*work)(void *job, int k), void *job)
{
    shared += n > 1;
    in_queues(context, n, work, job);
}
#define %(name)s_run(arena, in, out) %(name)s_run_mt(arena, in, out, count, NULL)
#include "%(name)s_golden.h"
int main(void)
{
    start_queues();
    printf("golden %%d\\n", %(name)s_golden());
    printf("shared %%d\\n", shared);
    return 0;
}
'''


def zephyr_threads():
    with open(
        os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'docs', 'THREADS.md')
    ) as f:
        text = re.search(r'## Zephyr\n.*?```c\n(.*?)```', f.read(), re.S).group(1)
    return text.replace('#include <zephyr/kernel.h>\n', '')


def zephyr_golden(c, main, last):
    app = os.path.join(c.work, 'app')
    write(os.path.join(app, 'CMakeLists.txt'), ZEPHYR_APP)
    write(
        os.path.join(app, 'prj.conf'),
        'CONFIG_INLAY_%s=y\nCONFIG_NEWLIB_LIBC=y\nCONFIG_MAIN_STACK_SIZE=4096\n' % c.name.upper(),
    )
    write(os.path.join(app, 'src', 'main.c'), main)
    text = boot_zephyr(c, app, lambda text: re.search(last + r' \d+\s', text))
    c.judge_text(text)
    return text


def listen(p, ended, seconds=10):
    """What the process says in these seconds, or until all is said and half a second more."""
    text, end = '', time.monotonic() + seconds
    while time.monotonic() < end:
        more = (
            os.read(p.stdout.fileno(), 4096) if select.select([p.stdout], [], [], 0.1)[0] else b''
        )
        text += more.decode('utf8', 'replace')
        if more and ended(text):
            end = min(end, time.monotonic() + 0.5)
    return text


def boot_zephyr(c, app, ended, console=b''):
    """Builds the application, and gives what it says with these bytes on its console."""
    need('cmake', 'ninja', 'arm-none-eabi-gcc', 'qemu-system-arm', 'dtc', 'runuser')
    python = python_with('elftools', 'pykwalify.core', 'yaml', 'dateutil', 'docopt')
    if os.getuid():
        raise Absent('this becomes nobody, and needs root for it')
    c.archive('zephyr-1.14-qemu-cortex-m3.tar.xz')
    for folder in (c.work, c.o.unpacked):
        os.chmod(folder, 0o755)
    c.must('chown', '-R', 'nobody', c.work)  # as root, this old tree's scripts remove /dev/null
    env = [
        'HOME=' + c.work,
        'ZEPHYR_BASE=' + os.path.join(c.work, 'zephyr'),
        'ZEPHYR_TOOLCHAIN_VARIANT=cross-compile',
        'CROSS_COMPILE=' + shutil.which('arm-none-eabi-gcc')[:-3],
    ]
    nobody = ['runuser', '-u', 'nobody', '--', 'env'] + env
    c.must(
        *nobody,
        'cmake',
        '-GNinja',
        '-S',
        app,
        '-B',
        'build',
        '-DBOARD=qemu_cortex_m3',
        '-DZEPHYR_MODULES=' + c.folder,
        '-DPYTHON_EXECUTABLE=' + python
    )
    c.must(*nobody, 'ninja', '-C', 'build')
    p = subprocess.Popen(
        [
            'qemu-system-arm',
            '-M',
            'lm3s6965evb',
            '-display',
            'none',
            '-monitor',
            'none',
            '-serial',
            'stdio',
            '-kernel',
            'build/zephyr/zephyr.elf',
        ],
        cwd=c.work,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    p.stdin.write(console)
    p.stdin.flush()
    text = listen(p, ended)
    p.kill()
    p.communicate()
    return text


def zephyr(c):
    """As it is; then large steps are shared between the caller and a work queue, in the same build
    of the system."""
    zephyr_golden(c, GOLDEN_MAIN % (c.name, c.name), 'golden')
    c.compile('--optimize=speed', '--threads', '2:1')
    text = zephyr_golden(
        c, ZEPHYR_THREADS % {'name': c.name, 'example': zephyr_threads()}, 'shared'
    )
    assert int(re.search(r'shared (\d+)', text).group(1)) > 0, 'no step was shared'


# Weights that a device in the field gets over its console, and what it is to say of them. Golden
# bytes of `bad` do not come out.
DOWNLOADS = (
    ('good', 'download 0', 'slot 0, trial 1, error 0'),
    ('delta', 'download 0', 'slot 1, trial 1, error 0'),
    (
        'bad',
        'download 0',
        'slot 0, trial 1, error 0',
        'not good: the old ones come back',
        'slot 1, trial 0, error 0',
    ),
    ('cut', 'download 3', 'slot 1, trial 0, error 0'),
)


def packed(c, name, golden, *options):
    """A blob, or with --against a delta, whose golden bytes are these."""
    with open(os.path.join(c.work, 'golden'), 'wb') as f:
        f.write(golden)
    c.must(
        c.o.inlay,
        'weights',
        'pack',
        c.compiled.trial.file,
        '--for',
        os.path.join(c.folder, c.name + '.json'),
        '--golden',
        'golden',
        '-o',
        name,
        *options
    )
    with open(os.path.join(c.work, name), 'rb') as f:
        return f.read()


def downloads(c):
    """The bytes on the console: each download behind its length."""
    trial_ = c.compiled.trial
    golden = b''.join(tensor.raw for _, tensor in trial_.data) + b''.join(
        raw for _, raw in trial_.answer()
    )
    made = {
        'good': packed(c, 'good', golden),
        'bad': packed(c, 'bad', golden[:-4] + struct.pack('<f', 1e6)),
    }
    made['delta'] = packed(c, 'delta', golden, '--counter', '1', '--against', 'good')
    made['cut'] = made['good'][:-40]
    return b''.join(struct.pack('<I', len(made[name])) + made[name] for name, *_ in DOWNLOADS)


DEVICE_SAYS = ['no weights yet'] + [line for _, *lines in DOWNLOADS for line in lines]


def device_said(text):
    return [line.strip() for line in text.splitlines() if re.match('download|slot|no', line)]


def judge_device(text):
    """Each download as it is to be: on trial, kept or given up."""
    assert device_said(text) == DEVICE_SAYS, 'the device says %s' % device_said(text)


HERE = os.path.dirname(os.path.abspath(__file__))


def zephyr_device(c):
    """Weights as one blob, then streamed, in the same build of the system."""
    zephyr_slots(c, '--weights=blob')
    zephyr_slots(c, '--weights=stream', '--window=1K')


def zephyr_slots(c, *weights):
    """The example for Zephyr with slots in a partition of its flash map: the flash is emulated, the
    rest is unedited."""
    c.compile('--slots', *weights)
    app = os.path.join(c.work, 'app')
    device = os.path.join(c.folder, 'examples', 'device')
    for name in (
        'kernel.h',
        'device.h',
        'sys/printk.h',
        'drivers/uart.h',
        'drivers/flash.h',
        'storage/flash_map.h',
    ):
        write(os.path.join(app, 'today', 'zephyr', name), '#include "words.h"\n')
    for name in ('flash.c', 'words.h'):
        shutil.copy(os.path.join(HERE, 'zephyr', name), app)
    shutil.copytree(
        os.path.join(device, 'zephyr', 'src'), os.path.join(app, 'src'), dirs_exist_ok=True
    )
    write(
        os.path.join(app, 'CMakeLists.txt'),
        ZEPHYR_APP
        + (
            'target_sources(app PRIVATE flash.c)\n'
            'target_include_directories(app PRIVATE . today %s)\n'
        )
        % device,
    )
    write(
        os.path.join(app, 'Kconfig'),
        (
            'config RAM_FLASH\n'
            '\tbool\n'
            '\tdefault y\n'
            '\tselect FLASH_HAS_DRIVER_ENABLED\n'
            '\tselect FLASH_HAS_PAGE_LAYOUT\n'
            '\n'
            'source "$ZEPHYR_BASE/Kconfig.zephyr"\n'
        ),
    )
    with open(os.path.join(device, 'zephyr', 'prj.conf')) as f:
        write(
            os.path.join(app, 'prj.conf'),
            f.read() + 'CONFIG_NEWLIB_LIBC=y\nCONFIG_FLASH_MAP_CUSTOM=y\n',
        )
    judge_device(boot_zephyr(c, app, lambda text: device_said(text) == DEVICE_SAYS, downloads(c)))


ESP_IDF = '''cmake_minimum_required(VERSION 3.16)
set(EXTRA_COMPONENT_DIRS %s)
include($ENV{IDF_PATH}/tools/cmake/project.cmake)
project(use)
'''


def esp_idf_linux(c):
    """The folder as a component of an application for the target that is the host itself."""
    if not os.environ.get('IDF_PATH'):
        raise Absent('no SDK of ESP-IDF is at hand (IDF_PATH, with idf.py on the path)')
    need('idf.py')
    app = os.path.join(c.work, 'app')
    c.main(os.path.join(app, 'main', 'main.c'))
    write(os.path.join(app, 'CMakeLists.txt'), ESP_IDF % c.folder)
    write(
        os.path.join(app, 'main', 'CMakeLists.txt'),
        'idf_component_register(SRCS main.c REQUIRES %s)\n'
        'target_compile_definitions(${COMPONENT_LIB} PRIVATE main=app_main)\n' % c.name,
    )
    c.must('idf.py', '--preview', '-C', app, 'set-target', 'linux')
    c.must('idf.py', '-C', app, 'build')
    c.judge(os.path.join(app, 'build', 'use.elf'))


def esp_idf_device(c, *weights):
    """The example for ESP-IDF, with esp_partition in memory (tests/ecosystems/esp_idf), as a
    program of the host."""
    need('gcc')
    c.compile('--slots', *(weights or ['--weights=blob']))
    device, stubs = os.path.join(c.folder, 'examples', 'device'), os.path.join(HERE, 'esp_idf')
    files = [
        os.path.join(device, 'esp-idf', 'main', 'main.c'),
        os.path.join(stubs, 'partition.c'),
    ] + host.sources(c.folder)
    warnings = [flag for flag in host.STRICT if flag != '-std=c99'] + [
        '-std=gnu11',
        '-Wno-missing-prototypes',
    ]
    c.must(
        'gcc',
        *warnings,
        host.LEVEL,
        '-I',
        stubs,
        '-I',
        device,
        '-I',
        os.path.join(c.folder, 'src'),
        '-o',
        'device',
        *files,
        '-lm'
    )
    with open(os.path.join(c.work, 'console'), 'wb') as f:
        f.write(downloads(c))
    judge_device(c.must('sh', '-c', './device < console'))
    check_partitions(
        os.path.join(device, 'esp-idf', 'partitions.csv'),
        2 * (c.compiled.manifest['weights']['size'] + 5120),
    )


def esp_idf_device_stream(c):
    esp_idf_device(c, '--weights=stream', '--window=8K')


def check_partitions(path, needed):
    """Application partitions begin at 64 KiB, others at 4 KiB; the weights have room for two
    slots."""
    sizes = {}
    with open(path) as f:
        for line in f:
            if line.strip() and not line.startswith('#'):
                name, kind, _, offset, size = [word.strip() for word in line.split(',')]
                assert not offset or int(offset, 0) % (65536 if kind == 'app' else 4096) == 0, line
                assert int(size, 0) % 4096 == 0, line
                sizes[name] = int(size, 0)
    assert sizes['weights'] >= needed, sizes


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


ARM_FLAGS = '-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard -fno-omit-frame-pointer'
ARM_CMAKE = """set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_FLAGS "%s")
set(CMAKE_BUILD_TYPE MinSizeRel)
"""
ARM_MESON = """[binaries]
c = 'arm-none-eabi-gcc'
ar = 'arm-none-eabi-ar'
[built-in options]
c_args = %s
buildtype = 'minsize'
[host_machine]
system = 'none'
cpu_family = 'arm'
cpu = 'cortex-m4'
endian = 'little'
"""


def quantized(path):
    """A convolution of bytes, 8 channels to 8."""
    float_, unsigned, signed = 1, 2, 3
    kept = [
        ('s', float_, [], struct.pack('<f', 0.05)),
        ('z', unsigned, [], b'\x65'),
        ('n', signed, [], b'\0'),
        ('w', signed, [8, 8, 1, 1], bytes(range(64))),
    ]
    node = onnx.make_node('QLinearConv', ['x', 's', 'z', 'w', 's', 'n', 's', 'z'], ['y'])
    ends = [onnx.make_value(name, unsigned, [1, 8, 6, 6]) for name in 'xy']
    with open(path, 'wb') as f:
        f.write(
            onnx.make_model(
                [node], ends[:1], ends[1:], [onnx.make_tensor(*facts) for facts in kept]
            )
        )


def frame_pointers(c):
    """A firmware whose flags keep frame pointers; 8-bit kernels take all registers."""
    need('arm-none-eabi-gcc', 'cmake', 'meson', 'ninja')
    folder, model = os.path.join(c.work, 'quantized'), os.path.join(c.work, 'model.onnx')
    quantized(model)
    c.must(c.o.inlay, 'compile', model, '-o', folder, '--target=cortex-m4')
    write(os.path.join(c.work, 'arm.cmake'), ARM_CMAKE % ARM_FLAGS)
    c.must(
        'cmake',
        '-S',
        folder,
        '-B',
        'by-cmake',
        '-DCMAKE_TOOLCHAIN_FILE=' + os.path.join(c.work, 'arm.cmake'),
    )
    c.must('cmake', '--build', 'by-cmake', '--target', 'model')
    write(os.path.join(c.work, 'arm.ini'), ARM_MESON % ARM_FLAGS.split())
    c.must('meson', 'setup', 'by-meson', folder, '--cross-file', 'arm.ini')
    c.must('ninja', '-C', 'by-meson', 'libmodel.a')


def cmsis_pack(c):
    """The description names all sources: what it names links for a Cortex-M4, with nothing else."""
    need('arm-none-eabi-gcc')
    path = os.path.join(c.folder, 'Inlay.%s.pdsc' % c.name)
    package = xml.etree.ElementTree.parse(path).getroot()
    order = ['vendor', 'name', 'description', 'url', 'releases', 'components']
    assert [e.tag for e in package] == order, 'the schema has them in this order'
    component = package.find('components/component')
    assert re.fullmatch(r'\d+\.\d+\.\d+', component.get('Cversion')) and component.get(
        'Cversion'
    ) == package.find('releases/release').get('version')
    files = {
        kind: [
            os.path.join(c.folder, e.get('name'))
            for e in component.findall('files/file')
            if e.get('category') == kind
        ]
        for kind in ('source', 'header', 'include', 'doc')
    }
    assert all(os.path.exists(f) for group in files.values() for f in group), files
    assert sorted(files['source'] + files['header']) == sorted(
        os.path.join(c.folder, 'src', f)
        for f in os.listdir(os.path.join(c.folder, 'src'))
        if f.endswith(('.c', '.h'))
    )
    write(os.path.join(c.work, 'use.c'), GOLDEN_MAIN % (c.name, c.name))
    c.must(
        'arm-none-eabi-gcc',
        '-mcpu=cortex-m4',
        '-mthumb',
        '-Os',
        '-Wall',
        '-Werror',
        *['-I' + f for f in files['include']],
        *files['source'],
        'use.c',
        '--specs=nosys.specs',
        '-Wl,--no-warnings',
        '-lm',
        '-o',
        'use.elf'
    )


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


# By what runs for the model's second name too; the others take one.
QUICK = [
    cmake_subdirectory,
    cmake_install,
    cmake_pkg_config,
    meson_subproject,
    meson_install,
    metadata,
    cmsis_pack,
    esp_idf_device,
    esp_idf_device_stream,
]
REST = [
    avr,
    avr_flash,
    avr_functions,
    frame_pointers,
    rust_cc,
    platformio,
    pico_sdk,
    esp_idf_linux,
    zephyr,
    zephyr_device,
]


def models_of(system):
    if system in QUICK:
        return ['digits', 'sine']
    return ['sine' if system in (avr, avr_flash, avr_functions, zephyr_device) else 'digits']


def attempt(t, o, system, name):
    label = '%s: %s' % (system.__name__.replace('_', ' '), name)
    try:
        with host.Work() as work:
            system(Case(o, name, work, HOST_ENV if system in QUICK else {}))
        t.ok(label)
    except Absent as why:
        t.skip(label, str(why))
    except (RuntimeError, AssertionError, OSError) as why:
        t.fail(label, why)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    p.add_argument('--ecosystems')
    p.add_argument('--only', help='quick, rest, or names of systems')
    o = p.parse_args()
    t = tap.Tap()
    only = (o.only or 'quick,rest').split(',')
    chosen = [
        x for x in QUICK + REST if x.__name__ in only or ('quick' if x in QUICK else 'rest') in only
    ]
    with host.Work() as o.unpacked:
        for system, name in [(system, name) for system in chosen for name in models_of(system)]:
            attempt(t, o, system, name)
    t.done()


main()
