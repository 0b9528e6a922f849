# SPDX-License-Identifier: Apache-2.0
"""Applications of Zephyr, and a whole device that takes weights over its console."""
import os
import re
import select
import shutil
import struct
import subprocess
import time

from case import Absent, GOLDEN_MAIN, HERE, need, python_with, write

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
