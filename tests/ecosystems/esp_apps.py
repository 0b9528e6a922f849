# SPDX-License-Identifier: Apache-2.0
"""Applications of ESP-IDF."""
import os

import host
from case import Absent, HERE, need, write
from zephyr_apps import downloads, judge_device

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
