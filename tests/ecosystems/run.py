# SPDX-License-Identifier: Apache-2.0
"""A generated folder, unedited, in real build systems: each builds a program with it, and the
program's results are compared, with the reference answer where it can read files, else by the test
that goes with the code (NAME_golden.h).

    run.py --inlay INLAY --models MODELS [--ecosystems FOLDER] [--only NAME,...]

FOLDER holds archives of systems that no package brings. What is not at hand is skipped, by name and
with the reason."""
import argparse

import host
import tap
from arm_apps import cmsis_pack, frame_pointers
from avr_apps import avr, avr_flash, avr_functions
from case import Absent, Case, HOST_ENV
from esp_apps import esp_idf_device, esp_idf_device_stream, esp_idf_linux
from host_builds import (
    cmake_install,
    cmake_pkg_config,
    cmake_subdirectory,
    meson_install,
    meson_subproject,
    metadata,
    pico_sdk,
    platformio,
    rust_cc,
)
from zephyr_apps import zephyr, zephyr_device

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
