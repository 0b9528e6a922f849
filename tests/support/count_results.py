# SPDX-License-Identifier: Apache-2.0
"""Adds up Meson's JUnit files and prints the last line of inlay-test; the status is 0 only where nothing failed.

    count_results.py FILE..."""
import os
import sys
import xml.etree.ElementTree as tree

passed = failed = skipped = 0
for path in sys.argv[1:]:
    if not os.path.exists(path):
        print('no results at ' + path)
        failed += 1
        continue
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
