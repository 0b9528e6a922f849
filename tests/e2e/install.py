# SPDX-License-Identifier: Apache-2.0
"""What `ninja install` brings: the program, a manual page and completions that know every command
and option, the CMake module, by which a project compiles its model, schemas, models as examples,
and what CI systems take, whose lines are run.

    install.py --build BUILD --models MODELS"""
import argparse
import itertools
import json
import os
import shutil

import host
import tap
import trial

PROJECT = '''cmake_minimum_required(VERSION 3.16)
project(use C)
find_package(Inlay REQUIRED)
inlay_add_model(net net.onnx --optimize=speed)
add_executable(use main.c)
target_link_libraries(use net::net)
'''
MAIN = (
    '#include <stdio.h>\n'
    '#include "net.h"\n'
    'int main(void) { printf("%u\\n", (unsigned)NET_ARENA_SIZE); return 0; }\n'
)


def find(root, name):
    return next(
        (os.path.join(path, name) for path, _, files in os.walk(root) if name in files), None
    )


def completed(script, words):
    """What bash proposes for the last word."""
    line = 'source %s; COMP_WORDS=(%s); COMP_CWORD=%d; _inlay; echo "${COMPREPLY[@]}"' % (
        script,
        ' '.join(w or '""' for w in words),
        len(words) - 1,
    )
    return set(host.run(['bash', '-c', line])[1].split())


def pages(t, root, table):
    with open(find(root, 'inlay.1')) as f:
        page = f.read().replace('\\-', '-')
    missing = [o['name'] for o in table['options'] if '--' + o['name'] not in page] + [
        c['name'] for c in table['commands'] if '.B ' + c['name'] not in page
    ]
    t.ok('the manual page has all options and commands', not missing, missing)
    if shutil.which('man'):
        status, text = host.run(
            ['man', '-l', '--warnings', find(root, 'inlay.1')],
            env={'MANPAGER': 'cat', 'MANROFFSEQ': ''},
        )
        t.ok('it is one that man reads', status == 0 and 'warning' not in text, text[:500])
    else:
        t.skip('it is one that man reads', 'man is not installed')


def completions(t, root, table):
    script = find(root, 'inlay.bash')
    commands = {c['name'] for c in table['commands']}
    t.ok(
        'bash: commands',
        completed(script, ['inlay', '']) >= commands,
        completed(script, ['inlay', '']),
    )
    for c in table['commands']:
        mine = {'--' + o['name'] for o in table['options'] if c['name'] in o['commands']}
        t.ok(
            'bash: options of ' + c['name'],
            completed(script, ['inlay', c['name'], '--']) == mine,
            completed(script, ['inlay', c['name'], '--']) ^ mine,
        )
    topics = completed(script, ['inlay', 'explain', ''])
    t.ok('bash: what explain knows', topics >= {'unsupported', 'open-dimension'}, topics)
    for o in table['options']:
        if 'values' in o:
            got = completed(script, ['inlay', o['commands'][0], '--' + o['name'], ''])
            t.ok('bash: values of --' + o['name'], got == set(o['values']), got)
    for shell, name in (('zsh', '_inlay'), ('fish', 'inlay.fish')):
        path = find(root, name)
        with open(path) as f:
            text = f.read()
        missing = [o['name'] for o in table['options'] if o['name'] not in text]
        t.ok('%s: all options' % shell, not missing, missing)
        if shutil.which(shell):
            status, text = host.run([shell, '-n', path])
            t.ok('%s: it reads it' % shell, status == 0, text)
        else:
            t.skip('%s: it reads it' % shell, shell + ' is not installed')


def cmake(t, root, model, work):
    if not shutil.which('cmake'):
        return t.skip('find_package(Inlay)', 'cmake is not installed')
    app = os.path.join(work, 'app')
    os.mkdir(app)
    shutil.copy(model, os.path.join(app, 'net.onnx'))
    for name, text in (('CMakeLists.txt', PROJECT), ('main.c', MAIN)):
        with open(os.path.join(app, name), 'w') as f:
            f.write(text)
    config = os.path.dirname(find(root, 'InlayConfig.cmake'))
    for command in (
        ['cmake', '-S', app, '-B', 'b', '-DInlay_DIR=' + config],
        ['cmake', '--build', 'b'],
    ):
        trial.must('cmake', command, work)
    text = trial.must('the program', ['./b/use'], work)
    t.ok('find_package(Inlay): inlay_add_model, with an option', text == '25120\n', text)
    again = trial.must('cmake', ['cmake', '--build', 'b'], work)
    t.ok('nothing changed: nothing is built', 'Building C' not in again, again)
    return None


def data(t, root, inlay, schemas):
    missing = [
        name for name in os.listdir(schemas) if name.endswith('.json') and not find(root, name)
    ]
    t.ok('schemas', not missing, missing)
    for name in ('digits', 'dtmf', 'sine'):
        model = find(root, name + '.onnx')
        status, text = host.run([inlay, 'test', model]) if model else (1, 'is not there')
        t.ok('examples: %s' % name, status == 0, text)


def script(path, head, mark):
    """The lines behind a head, without what marks them."""
    with open(path) as f:
        lines = f.read().splitlines()
    at = lines.index(head)
    deep = len(lines[at + 1]) - len(lines[at + 1].lstrip())
    block = itertools.takewhile(lambda line: line.startswith(' ' * deep), lines[at + 1 :])
    return '\n'.join(line[deep:].removeprefix(mark) for line in block)


def pipelines(t, root, inlay, model, work):
    """As a runner calls them: bash -e, with the variables that the files set."""
    github = script(find(root, 'action.yml'), '      run: |', '')
    gitlab = script(find(root, 'gitlab-ci.yml'), '  script:', '- ')
    at = os.path.join(work, 'ci')
    os.mkdir(at)
    shutil.copy(model, at)
    summary = os.path.join(at, 'summary.md')
    names = {
        'MODELS': '@budgets.json',
        'OPTIONS': '',
        'PROGRAM': inlay,
        'GITHUB_STEP_SUMMARY': summary,
        'INLAY': inlay,
        'INLAY_MODELS': '@budgets.json',
        'INLAY_OPTIONS': '',
    }
    for most, holds in ('64K', True), ('1K', False):
        with open(os.path.join(at, 'budgets.json'), 'w') as f:
            json.dump({'models': [{'model': os.path.basename(model), 'max_arena': most}]}, f)
        status, text = host.run(['bash', '-ec', github], at, env=names)
        t.ok(
            'the GitHub action, %s' % most,
            (status == 0) == holds and ('::error' in text) == (not holds),
            text,
        )
        with open(summary) as f:
            t.ok('its summary, %s' % most, ('holds' if holds else 'EXCEEDED') in f.read())
        status, text = host.run(['bash', '-ec', gitlab], at, env=names)
        with open(os.path.join(at, 'inlay-quality.json')) as f, open(
            os.path.join(at, 'inlay-junit.xml')
        ) as junit:
            faults = json.load(f)
            t.ok(
                "GitLab's job, %s" % most,
                (status == 0) == holds == (not faults) and ('<failure' in junit.read()) != holds,
                text,
            )


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--build', required=True)
    p.add_argument('--models', required=True)
    o = p.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        root = os.path.join(work, 'root')
        trial.must(
            'meson install', ['meson', 'install', '-C', o.build, '--no-rebuild', '--destdir', root]
        )
        inlay = find(root, 'inlay')
        table = json.loads(trial.must('help', [inlay, 'help', '--json']))
        pages(t, root, table)
        completions(t, root, table)
        model = os.path.join(o.models, 'digits', 'digits.onnx')
        cmake(t, root, model, work)
        data(t, root, inlay, os.path.join(o.models, '..', 'schemas'))
        pipelines(t, root, inlay, model, work)
    t.done()


main()
