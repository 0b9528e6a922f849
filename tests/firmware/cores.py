# SPDX-License-Identifier: Apache-2.0
"""The table of cores: how firmware is compiled, where it lies, what emulates it. One row a core."""
import collections
import re
import shutil

# target: what --target takes; fma: one rounding for a multiplication and an addition; code, const,
# ram: (address, log2 of the bytes) of the board's memories
Core = collections.namedtuple('Core', 'name target compiler flags fma qemu machine code const ram')

LEVELS = ['-Os', '-O2']  # of optimization, for which figures of stacks hold
ARM = ['-mthumb', '--specs=nano.specs']
RISCV = ['-misa-spec=2.2', '-mcmodel=medany', '--specs=picolibc.specs']
HARD = '-mfloat-abi=hard'


def arm(name, flags, machine, code, const, ram, fma=False):
    return Core(
        name,
        flags[0],
        'arm-none-eabi-',
        ['-mcpu=' + flags[0]] + ARM + flags[1:],
        fma,
        'qemu-system-arm',
        ['-M', machine],
        code,
        const,
        ram,
    )


def riscv(name, bits, abi, fma):
    return Core(
        name,
        'rv%d' % bits,
        'riscv64-unknown-elf-',
        ['-march=' + name, '-mabi=' + abi] + RISCV,
        fma,
        'qemu-system-riscv%d' % bits,
        ['-M', 'virt', '-m', '64M', '-bios', 'none'],
        (0x80000000, 22),
        (0x81000000, 24),
        (0x82000000, 24),
    )


LOW, PSRAM, SRAM = (0, 22), (0x21000000, 24), (0x20000000, 22)

CORES = [
    # mps2-an385 is a Cortex-M3, which runs the code of an M0 as well; the M0's own board has 16 KiB
    arm('m0', ['cortex-m0'], 'mps2-an385', LOW, PSRAM, SRAM),
    arm('microbit', ['cortex-m0'], 'microbit', (0, 17), (0x20000, 17), (0x20000000, 14)),
    arm('m3', ['cortex-m3'], 'mps2-an385', LOW, PSRAM, SRAM),
    arm('m4', ['cortex-m4', HARD, '-mfpu=fpv4-sp-d16'], 'mps2-an386', LOW, PSRAM, SRAM, fma=True),
    arm(
        'm7',
        ['cortex-m7', HARD, '-mfpu=fpv5-d16'],
        'mps2-an500',
        LOW,
        (0x60000000, 24),
        SRAM,
        fma=True,
    ),
    arm(
        'm33',
        ['cortex-m33', HARD, '-mfpu=fpv5-sp-d16'],
        'mps2-an505',
        (0x10000000, 22),
        (0x80000000, 24),
        (0x38000000, 21),
        fma=True,
    ),
    arm(
        'm55',
        ['cortex-m55', HARD],
        'mps3-an547',
        (0, 19),
        (0x60000000, 24),
        (0x21000000, 21),
        fma=True,
    ),
    riscv('rv32imac', 32, 'ilp32', False),
    riscv('rv32imafc', 32, 'ilp32f', True),
    riscv('rv64gc', 64, 'lp64d', True),
]


def missing(core):
    """Name of a tool that is not here, or None."""
    return next(
        (tool for tool in (core.compiler + 'gcc', core.qemu) if not shutil.which(tool)), None
    )


def host_flags(core):
    """The host's gcc for the same arithmetic: plain C, and one rounding where the core has one.
    None: this host can't."""
    flags = ['-DINLAY_VL=1', '-ffp-contract=off']
    if not core.fma:
        return flags
    try:
        with open('/proc/cpuinfo') as f:
            return flags + ['-mfma'] if re.search(r'^flags.*\bfma\b', f.read(), re.M) else None
    except OSError:
        return None
