# SPDX-License-Identifier: Apache-2.0
"""TAP, the form in which Meson takes the results of a script with many tests."""
import sys


class Tap:
    def __init__(self):
        self.n = self.failures = 0

    def _line(self, ok, name, directive=''):
        self.n += 1
        print(
            '%sok %d - %s%s' % ('' if ok else 'not ', self.n, name.replace('#', '/'), directive),
            flush=True,
        )

    def ok(self, name, holds=True, why=''):
        self._line(holds, name)
        if not holds:
            self.failures += 1
            print('%s:' % name, file=sys.stderr)
            for line in str(why).strip().splitlines() or ['failed']:
                print('#   ' + line, file=sys.stderr, flush=True)
        return holds

    def fail(self, name, why):
        return self.ok(name, False, why)

    def skip(self, name, why):
        self._line(True, name, ' # SKIP ' + why.replace('\n', ' '))

    def checks(self, cases, check):
        """Of each (name, case) what check(case) asserts; prints the plan and leaves."""
        for name, case in cases:
            try:
                check(case)
                self.ok(name)
            except AssertionError as e:
                self.fail(name, str(e))
        self.done()

    def done(self):
        """Prints the plan and leaves."""
        print('1..%d' % self.n if self.n else '1..0 # SKIP nothing to test', flush=True)
        sys.exit(1 if self.failures else 0)
