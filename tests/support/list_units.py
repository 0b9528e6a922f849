# SPDX-License-Identifier: Apache-2.0
"""Prints every tests/unit/FOLDER/FILE.c as FOLDER/FILE, for tests/unit/meson.build: list_units.py
FOLDER"""
import pathlib
import sys

root = pathlib.Path(sys.argv[1])
for path in sorted(root.glob('*/*.c')):
    print(path.relative_to(root).with_suffix('').as_posix())
