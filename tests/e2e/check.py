# SPDX-License-Identifier: Apache-2.0
"""`inlay check` over many models, and `inlay diff`: budgets in a file, a baseline, each form of the
report read as its readers do, what is malformed; the corpus within a time.

    check.py --inlay INLAY --models MODELS [--corpus CORPUS]"""
import argparse
import json
import os
import re
import resource
import shutil
import xml.etree.ElementTree as tree

import host
import onnx
import tap
from onnx import make_model, make_node, make_value

MOST_SECONDS = 20


class Bench:
    def __init__(self, o, work):
        self.inlay, self.work = o.inlay, work
        for name in ('digits', 'sine'):
            shutil.copy(os.path.join(o.models, name, name + '.onnx'), work)
        self.write(
            'open.onnx',
            make_model(
                [make_node('Relu', ['x'], ['y'])],
                [make_value('x', 1, ['T', 4])],
                [make_value('y', 1, ['T', 4])],
            ),
        )
        self.write(
            'odd.onnx',
            make_model(
                [make_node('Relu', ['x'], ['y'])],
                [make_value('x', 1, [4])],
                [make_value('y', 1, [4])],
            ),
        )
        self.write(
            '<odd>&"name.onnx',
            make_model(
                [make_node('Relu', ['x'], ['y'])],
                [make_value('x', 1, [4])],
                [make_value('y', 1, [4])],
            ),
        )

    def write(self, name, data):
        with open(os.path.join(self.work, name), 'wb' if isinstance(data, bytes) else 'w') as f:
            f.write(data)

    def run(self, *words):
        """(status, standard output); messages are left out."""
        return host.run(
            ['sh', '-c', 'exec "$@" 2>messages', 'sh', self.inlay] + list(words), self.work
        )

    def messages(self):
        with open(os.path.join(self.work, 'messages')) as f:
            return f.read()

    def budgets(self, *models):
        self.write('budgets.json', json.dumps({'models': list(models)}))


# Bytes of the arena of digits: the smallest, and the one for speed.
LEAST, FAST = 6224, 25120


def lists(t, b):
    b.budgets(
        {'model': 'digits.onnx', 'max_arena': '64K', 'max_weights': 30000},
        {'model': 'sine.onnx', 'max_ram': '1M'},
        {'model': 'open.onnx', 'dim': ['T=3'], 'max_arena': 0},
    )
    status, text = b.run('check', '@budgets.json', '--json')
    found = json.loads(text)
    by_name = {os.path.basename(m['model']): m for m in found['models']}
    t.ok('a list that holds', status == 0 and found['holds'] and len(by_name) == 3, text)
    t.ok(
        'its options are used',
        by_name['open.onnx'].get('ram', {}).get('bytes') == 96,
        by_name['open.onnx'],
    )
    t.ok(
        'its limits are told',
        by_name['digits.onnx']['arena']['most'] == 65536
        and by_name['digits.onnx']['weights']['most'] == 30000,
        by_name['digits.onnx'],
    )
    b.budgets(
        {'model': 'digits.onnx', 'without': ['fuse_act'], 'arena_limit': '1M'},
        {'model': 'sine.onnx', 'to': ['none']},
        {'model': 'digits.onnx', 'arena_limit': 100},
    )
    status, text = b.run('check', '@budgets.json', '--json')
    cut = json.loads(text)['models']
    t.ok('a pass is left out', cut[0].get('arena', {}).get('bytes', 0) > LEAST, cut[0])
    t.ok(
        'a part that is none, and a limit that no plan keeps',
        [m['status'] for m in cut] == [0, 64, 1],
        text,
    )
    b.budgets({'model': 'digits.onnx', 'without': ['fuse_acts']})
    t.ok(
        'values are those of the options',
        b.run('check', '@budgets.json')[0] == 64 and 'fuse_act' in b.messages(),
        b.messages(),
    )
    b.budgets(
        {'model': 'digits.onnx', 'max_arena': LEAST - 1},
        {'model': 'sine.onnx'},
        {'model': 'none.onnx'},
    )
    status, text = b.run('check', '@budgets.json')
    t.ok(
        'a list that does not',
        status == 1
        and '1 of 3 models hold' in text
        and 'arena %15d bytes of %12d: EXCEEDED' % (LEAST, LEAST - 1) in text,
        text,
    )
    t.ok(
        'the others are checked all the same',
        'sine.onnx: holds' in text and 'status 66' in text,
        text,
    )
    status, text = b.run('check', '@budgets.json', '--max-weights', '10')
    t.ok('limits of the command line are for all', '0 of 3 models hold' in text, text)
    for name, data in [
        ('no JSON', '{'),
        ('no list', '{}'),
        ('no model', '{"models": [{}]}'),
        ('an unknown key', '{"models": [{"model": "x", "max_aren": 1}]}'),
        ('a limit that is none', '{"models": [{"model": "x", "max_arena": "64Q"}]}'),
        ('no texts', '{"models": [{"model": "x", "dim": [1]}]}'),
    ]:
        b.write('bad.json', data)
        status, text = b.run('check', '@bad.json')
        t.ok(
            '%s is refused' % name,
            status == 78 and 'bad.json' in b.messages() and not text,
            '%d %s' % (status, b.messages()),
        )
    t.ok('a list that is not there', b.run('check', '@none.json')[0] == 66)
    t.ok('one model keeps its status', b.run('check', 'none.onnx', '--max-arena=1M')[0] == 66)


def entries(t, b):
    """Options of one model: each kind of them, as the same model by itself has them."""
    for key, value, words in [
        ('optimize', 'speed', ['--optimize=speed']),
        ('target', 'cortex-m4', ['--target=cortex-m4']),
        ('threads', 2, ['--threads=2']),
        ('code_weights', True, ['--code-weights']),
        ('code_weights', False, []),
        ('region', ['a:8K', 'b:64K:2'], ['--region=a:8K', '--region=b:64K:2']),
        ('effort', '0', ['--effort=0']),
    ]:
        b.budgets({'model': 'digits.onnx', key: value})
        alone = json.loads(b.run('check', 'digits.onnx', '--json', *words)[1])
        listed = json.loads(b.run('check', '@budgets.json', '--json')[1])
        t.ok('%s: %s' % (key, value), alone['status'] == 0 and listed == alone, listed)
    for key, value, status, part in [
        ('optimize', 'sped', 64, 'did you mean speed'),
        ('target', 'banana', 64, 'banana'),
        ('slices', 1, 78, 'true or false'),
        ('target', ['cortex-m4'], 78, 'expected a text'),
        ('json', True, 78, 'nothing is known'),
        ('cc', 'gcc', 78, 'nothing is known'),
    ]:
        b.budgets({'model': 'digits.onnx', key: value})
        got, text = b.run('check', '@budgets.json')
        t.ok(
            '%s: %s is refused' % (key, value),
            got == status and part in b.messages() and not text,
            b.messages(),
        )
    b.write('list.toml', '[[models]]\nmodel = "digits.onnx"\nmax_arena = "1K"\n')
    got, text = b.run('check', '@list.toml')
    t.ok('TOML: how it becomes JSON', got == 64 and 'tomllib' in b.messages(), b.messages())


def junit(text):
    suite = tree.fromstring(text)
    failed = {c.get('name') for c in suite.iter('testcase') if c.find('failure') is not None}
    assert int(suite.get('failures')) == len(failed) and int(suite.get('tests')) == 3
    return failed


def sarif(text):
    run = json.loads(text)['runs'][0]
    rules = {r['id'] for r in run['tool']['driver']['rules']}
    assert all(r['ruleId'] in rules and r['message']['text'] for r in run['results'])
    return {
        r['locations'][0]['physicalLocation']['artifactLocation']['uri'] for r in run['results']
    }


def github(text):
    lines = [line for line in text.splitlines() if line]
    assert all(line.startswith('::error ') for line in lines)
    return {line.split('file=')[1].split('::')[0] for line in lines}


def gitlab(text):
    issues = json.loads(text)
    assert len({i['fingerprint'] for i in issues}) == len(issues) and all(
        i['severity'] == 'major' and i['location']['lines']['begin'] == 1 for i in issues
    )
    return {i['location']['path'] for i in issues}


def as_json(text):
    return {m['model'] for m in json.loads(text)['models'] if not m['holds']}


def stack(t, b):
    """A limit of what is not known does not hold."""
    for target, most, status, part in (
        ([], '1M', 1, 'not known for this target'),
        (['--target=cortex-m4'], '1M', 0, 'holds'),
        (['--target=cortex-m4'], '16', 1, 'are needed'),
    ):
        got, text = b.run('check', 'digits.onnx', '--max-stack', most, *target)
        t.ok(
            '--max-stack %s %s' % (most, ' '.join(target)),
            got == status and part in text + b.messages(),
            text,
        )
        got, text = b.run('compile', 'digits.onnx', '-o', 'stacked', '--max-stack', most, *target)
        t.ok(
            'compile --max-stack %s %s' % (most, ' '.join(target)),
            got == status and (not got or part in b.messages()),
            b.messages(),
        )
    for target, known in ([], False), (['--target=cortex-m4'], True):
        got, text = b.run('check', 'digits.onnx', '--json', *target)
        t.ok(
            'the stack in --json %s' % ' '.join(target),
            got == 0 and ('stack' in json.loads(text)) == known,
            text,
        )
    got, text = b.run('check', 'digits.onnx', '--max-macs', '1K')
    t.ok(
        '--max-macs',
        got == 1 and 'macs: 327824 MACs are needed, 1024 are allowed' in b.messages(),
        text,
    )


def traffic(t, b):
    """Four floats are read, four are written."""
    for most, status in ((32, 0), (31, 1)):
        got, text = b.run('check', 'odd.onnx', '--max-traffic', str(most))
        t.ok('--max-traffic %d' % most, got == status and 'traffic' in text, text)
    found = json.loads(b.run('check', 'odd.onnx', '--json')[1])
    t.ok('the traffic in --json', found['traffic'] == {'bytes': 32}, found)


def section_bytes(path):
    """Bytes of the sections of an object of the host that lie in flash, by binutils."""
    sections = re.findall(
        r'PROGBITS +\w+ \w+ (\w+) \w+ +(\w*)', host.run(['readelf', '-SW', path])[1]
    )
    return sum(int(size, 16) for size, flags in sections if 'A' in flags)


def code(t, b):
    """The objects of --cc as binutils see them; nothing of them stays."""
    cc = '%s -Os' % os.environ.get('CC', 'cc')
    b.run('compile', 'digits.onnx', '-o', 'out')
    host.run(['sh', '-c', '%s -c out/src/digits.c -o digits.o' % cc], b.work)
    size = section_bytes(os.path.join(b.work, 'digits.o'))
    os.environ['TMPDIR'] = temporary = os.path.join(b.work, "a folder's name")
    os.mkdir(temporary)
    words = ['--cc', cc]
    got, text = b.run('check', 'digits.onnx', '--json', *words)
    t.ok(
        'the code in --json',
        got == 0 and json.loads(text)['code'] == {'bytes': size} and size > 1000,
        '%s\n%s' % (size, text),
    )
    for most, status in ((size, 0), (size - 1, 1)):
        got, text = b.run('check', 'digits.onnx', '--max-code', str(most), *words)
        t.ok('--max-code %d' % most, got == status and 'code' in text, text)
    got, text = b.run('check', 'digits.onnx', '--max-code', '1M')
    t.ok(
        '--max-code without --cc',
        got == 1 and 'not known without --cc' in b.messages(),
        b.messages(),
    )
    for bad, part in (
        ('false', 'failed'),
        ('true', 'makes no object'),
        ('./no-such-cc', 'failed'),
        (cc + ' -flto', 'makes no code'),
    ):
        got, text = b.run('check', 'digits.onnx', '--max-code', '1M', '--cc', bad)
        t.ok('--cc=%s' % bad, got == 78 and part in b.messages(), text + b.messages())
    b.write('cc', '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done; echo none >"$2"\n')
    os.chmod(os.path.join(b.work, 'cc'), 0o755)
    got, text = b.run('check', 'digits.onnx', '--max-code', '1M', '--cc', './cc')
    t.ok('an object that is none', got == 65 and 'no ELF' in b.messages(), b.messages())
    t.ok('nothing is left', not os.listdir(temporary), os.listdir(temporary))


def forms(t, b):
    odd = '<odd>&"name.onnx'
    b.budgets(
        {'model': 'digits.onnx', 'max_arena': 1, 'max_macs': 1},
        {'model': odd, 'max_ram': 1},
        {'model': 'sine.onnx', 'max_arena': '1M'},
    )
    for name, read in [
        ('json', as_json),
        ('junit', junit),
        ('sarif', sarif),
        ('github', github),
        ('gitlab', gitlab),
    ]:
        status, text = b.run('check', '@budgets.json', '--format=' + name)
        try:
            t.ok('--format=' + name, status == 1 and read(text) == {'digits.onnx', odd}, text)
        except (AssertionError, ValueError, KeyError, tree.ParseError) as e:
            t.fail('--format=' + name, '%r\n%s' % (e, text))


def baselines(t, b):
    text = b.run('check', 'digits.onnx', 'sine.onnx', '--json')[1]
    b.write('base.json', text)
    t.ok(
        'nothing grew',
        b.run('check', 'digits.onnx', 'sine.onnx', '--baseline', 'base.json')[0] == 0,
    )
    status, text = b.run(
        'check', 'digits.onnx', 'sine.onnx', '--baseline', 'base.json', '--optimize=speed'
    )
    t.ok('the arena grew', status == 1 and 'arena' in text and 'EXCEEDED' in text, text)
    b.write('none.json', '{}')
    t.ok('no baseline', b.run('check', 'digits.onnx', '--baseline', 'none.json')[0] == 78)


def differences(t, b):
    for name, words in [('old', []), ('new', ['--optimize=speed'])]:
        b.write(name + '.json', b.run('analyze', 'digits.onnx', '--json', *words)[1])
    status, text = b.run('diff', 'old.json', 'new.json', '--json')
    found = json.loads(text)
    arena = {c['name']: c for c in found['totals']}['arena']
    t.ok(
        'diff: the arena', status == 0 and (arena['before'], arena['after']) == (LEAST, FAST), text
    )
    t.ok(
        'diff: its tensors, those that grew most first',
        found['tensors']
        and sorted(found['tensors'], key=lambda c: c['before'] - c['after']) == found['tensors'],
        text,
    )
    t.ok(
        'diff: for people',
        '+%d' % (FAST - LEAST) in b.run('diff', 'old.json', 'new.json')[1].replace(' ', '')
        and b.run('diff', 'old.json', 'old.json') == (0, 'no difference\n'),
    )
    b.write('bad.json', '[]')
    t.ok('diff: no manifest', b.run('diff', 'old.json', 'bad.json')[0] == 65)


def corpus(t, b, folder):
    """All models of the corpus in one call."""
    if not folder or not os.path.isdir(folder):
        return t.skip('the corpus in %d s' % MOST_SECONDS, 'the corpus is not beside the sources')
    models = []
    for path, _, files in sorted(os.walk(folder)):
        if 'model.onnx' in files:
            model = os.path.join(path, 'model.onnx')
            try:
                shape = host.shape_flags(model, host.test_data(path)[0])[1::2]
            except onnx.Unreadable:
                shape = []
            models.append(
                dict({'model': model, 'max_arena': '4G'}, **({'shape': shape} if shape else {}))
            )
    b.budgets(*models)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    status, text = b.run('check', '@budgets.json', '--json')
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    good = sum(m['holds'] for m in json.loads(text)['models']) if status in (0, 1) else 0
    print('# %d of %d models in %.1f s of CPU' % (good, len(models), seconds))
    t.ok(
        'the corpus: all but a few compile',
        good >= 0.95 * len(models),
        [m for m in json.loads(text)['models'] if not m['holds']],
    )
    t.ok('the corpus in %d s of CPU' % MOST_SECONDS, seconds <= MOST_SECONDS, seconds)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--models', required=True)
    p.add_argument('--corpus')
    o = p.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        b = Bench(o, work)
        lists(t, b)
        entries(t, b)
        stack(t, b)
        traffic(t, b)
        code(t, b)
        forms(t, b)
        baselines(t, b)
        differences(t, b)
        if o.corpus:
            corpus(t, b, o.corpus)
    t.done()


main()
