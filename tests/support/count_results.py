# SPDX-License-Identifier: Apache-2.0
"""Adds up Meson's JUnit files and prints the last line of inlay-test; the status is 0 only where nothing failed.

    count_results.py [--failed WHAT | --skipped WHAT | FILE]..."""
import os
import sys
import xml.etree.ElementTree as tree

passed = failed = skipped = 0
arguments = iter(sys.argv[1:])
for path in arguments:
    if path == '--failed':
        failed += 1
        print('FAILED: ' + next(arguments))
    elif path == '--skipped':
        skipped += 1
        print('skipped: ' + next(arguments))
    elif not os.path.exists(path):
        print('no results at ' + path)
        failed += 1
    else:
        for case in tree.parse(path).getroot().iter('testcase'):
            kinds = {child.tag for child in case}
            if kinds & {'failure', 'error'}:
                failed += 1
                print('FAILED: %s: %s' % (case.get('classname'), case.get('name')))
            elif 'skipped' in kinds:
                skipped += 1
            else:
                passed += 1
if not passed:
    failed += 1
print('%d passed, %d failed, %d skipped' % (passed, failed, skipped))
sys.exit(1 if failed else 0)
