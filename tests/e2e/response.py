# SPDX-License-Identifier: Apache-2.0
"""Words of the command line from files (@FILE), in every command.

    response.py --inlay INLAY --models MODELS"""
import argparse
import os

import host
import tap


class Bench:
    def __init__(self, t, inlay, work):
        self.t, self.inlay, self.work = t, inlay, work

    def put(self, name, text):
        with open(os.path.join(self.work, name), 'w') as f:
            f.write(text)

    def run(self, *words):
        return host.run([self.inlay] + list(words), self.work)

    def same(self, what, words, plain):
        got, want = self.run(*words), self.run(*plain)
        self.t.ok(what, got == want and got[0] == 0, '%s\n%s' % (got, want))

    def refused(self, what, words, status, *said):
        got, text = self.run(*words)
        self.t.ok(what, got == status and all(s in text for s in said), '%d %s' % (got, text))


def words(b, digits):
    b.put('all', 'analyze\n%s\t--json\r\n' % digits)
    b.same('all words', ['@all'], ['analyze', digits, '--json'])
    b.put('inner', '--effort 0 --json')
    b.put('outer', '"%s" @inner' % digits)
    b.same(
        'a file names another',
        ['analyze', '@outer'],
        ['analyze', digits, '--effort', '0', '--json'],
    )
    b.put('empty', ' \n ')
    b.same('no word', ['ops', '@empty'], ['ops'])
    for command in 'help', 'version', 'passes', 'explain':
        b.put('command', command)
        b.same('the command ' + command, ['@command'], [command])
    for text in "'a b'", '"a b"', 'a\\ b', "a' 'b", '"a\\ b"':
        b.put('quoted', '--name ' + text)
        b.refused('quoted: ' + text, ['analyze', digits, '@quoted'], 64, '"a b"')
    b.put('backslash', "--name 'a\\b'")
    b.refused('a backslash in single quotes', ['analyze', digits, '@backslash'], 64, '"a\\b"')


def refusals(b, digits):
    b.refused('no such file', ['analyze', '@none'], 66, 'none')
    b.put('itself', '@itself')
    b.refused('a file that names itself', ['analyze', '@itself'], 64, 'itself', 'too deep')
    for k in range(9):
        b.put('level%d' % k, '@level%d' % (k + 1) if k < 8 else 'version')
    b.same('eight files in each other', ['@level1'], ['version'])
    b.refused('nine', ['@level0'], 64, 'too deep')
    b.put('open', "analyze 'x")
    b.refused('an open quote', ['@open'], 64, 'open', 'not closed')
    b.put('nul', 'analyze\0x')
    b.refused('a byte 0', ['@nul'], 64, 'nul')
    b.put('many', 'x ' * 33000)
    b.refused('too many words', ['@many'], 64, 'more than 32768 words')
    b.put('@odd', 'x')
    b.refused('words behind -- are operands', ['analyze', '--', '@odd'], 65, '@odd')
    b.refused('a list is no file of words', ['analyze', '@list.json'], 66, '@list.json')
    b.put('wrong', '--efort 0')
    b.refused(
        'an option of a file is checked like any',
        ['analyze', digits, '@wrong'],
        64,
        'did you mean --effort',
    )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    o = p.parse_args()
    t, digits = tap.Tap(), os.path.abspath(os.path.join(o.models, 'digits', 'digits.onnx'))
    with host.Work() as work:
        b = Bench(t, o.inlay, work)
        words(b, digits)
        refusals(b, digits)
    t.done()


main()
