# SPDX-License-Identifier: Apache-2.0
"""Cortex-M: frame pointers in user's builds, and the CMSIS pack."""
import os
import re
import struct
import xml.etree.ElementTree

import onnx
from case import GOLDEN_MAIN, need, write

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
