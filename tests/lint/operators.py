# SPDX-License-Identifier: Apache-2.0
"""docs/OPERATORS.md is what `inlay ops --markdown` prints: operators.py INLAY PAGE [--update]"""
import subprocess
import sys

import tap

inlay, page = sys.argv[1:3]
text = subprocess.run([inlay, 'ops', '--markdown'], stdout=subprocess.PIPE, check=True).stdout
if '--update' in sys.argv:
    with open(page, 'wb') as f:
        f.write(text)
with open(page, 'rb') as f:
    current = f.read() == text
report = tap.Tap()
report.ok('docs/OPERATORS.md is current', current, 'run: inlay ops --markdown > docs/OPERATORS.md')
report.done()
