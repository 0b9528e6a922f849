# SPDX-License-Identifier: Apache-2.0
"""python -m inlay, and the command `inlay` of the package: the program in place of this process."""
import os
import sys

from . import program


def main():
    os.execv(program(), ['inlay', *sys.argv[1:]])


if __name__ == '__main__':
    main()
