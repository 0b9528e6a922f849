# SPDX-License-Identifier: Apache-2.0
"""Adds up Meson's JUnit files and prints the last line of inlay-test; the status is 0 only where
nothing failed. A program that ended before it was through, of which JUnit knows the passed parts
only, fails by the list of programs beside the file.

    count_results.py [--failed WHAT | --skipped WHAT | FILE]..."""
import json
import os
import sys
import xml.etree.ElementTree as tree


def ended_badly(path):
    """Names of the programs that failed as a whole."""
    beside = path.replace('.junit.xml', '.json')
    if not os.path.exists(beside):
        return ['no list of programs at ' + beside]
    with open(beside) as lines:
        programs = [json.loads(line) for line in lines]
    return [p['name'] for p in programs if p['result'] not in ('OK', 'SKIP', 'EXPECTEDFAIL')]


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
        known = ''
        for case in tree.parse(path).getroot().iter('testcase'):
            kinds = {child.tag for child in case}
            if kinds & {'failure', 'error'}:
                failed += 1
                known += '%s\n%s\n' % (case.get('classname'), case.get('name'))
                print('FAILED: %s: %s' % (case.get('classname'), case.get('name')))
            elif 'skipped' in kinds:
                skipped += 1
            else:
                passed += 1
        for name in ended_badly(path):
            if name + '\n' not in known:
                failed += 1
                print('FAILED: %s did not end as it should' % name)
if not passed:
    failed += 1
print('%d passed, %d failed, %d skipped' % (passed, failed, skipped))
sys.exit(1 if failed else 0)
