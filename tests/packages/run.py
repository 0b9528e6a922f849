# SPDX-License-Identifier: Apache-2.0
"""The wheel and the Debian package: built, installed where nothing of Inlay is, and the
demonstration is run with them.

    run.py --build BUILD --root SOURCE [--program INLAY]      INLAY has its libraries within

What is not at hand (pip, NumPy, dpkg-dev, static libraries) is skipped, by name and with the
reason."""
import argparse
import base64
import csv
import glob
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import zipfile

import host
import tap
import trial

# Run by the Python of an environment that holds the wheel alone.
COMPILES = '''import inlay, json, sys
model, out = sys.argv[1:]
whole = inlay.compile(model, out, name='digits', emit=['example'])
assert whole == json.load(open(out + '/digits.json')), 'another manifest'
shape = {'image': (1, 1, 28, 28)}
part = inlay.analyze(open(model, 'rb').read(), optimize='speed', to=['flat'], shape=shape)
assert part['arena']['size'] > whole['arena']['size'], part['arena']
assert part['options']['to'] == ['flat'], part['options']
class Proto:
    def SerializeToString(self):
        return open(model, 'rb').read()
assert inlay.analyze(Proto(), csv=False, name=None)['weights']['size'] == whole['weights']['size']
try:
    inlay.compile(model, out, shape={'nope': (1,)})
except inlay.Error as e:
    assert e.status == 64 and '"nope"' in str(e), e
else:
    raise AssertionError('no error')
assert 'numpy' not in sys.modules
print('compiled')
'''
# And with NumPy beside it.
RUNS = '''import inlay, numpy, sys
model, picture = sys.argv[1:]
data = open(picture, 'rb').read()
x = numpy.frombuffer(data[-784:], numpy.uint8).astype(numpy.float32).reshape(1, 1, 28, 28) / 255
by_place, = inlay.run(model, x)
by_list, = inlay.run(model, [x], optimize='speed')
by_name, = inlay.run(open(model, 'rb').read(), {'image': x})
assert by_place.shape == (1, 10) and by_place.dtype == numpy.float32, by_place
assert (by_place == by_list).all() and (by_place == by_name).all()
first, second = inlay.run(model, x, to=['flat', 'scores'])
assert (second == by_place).all() and first.size > 10
print('it is a', by_place.argmax())
'''


class Bench:
    def __init__(self, t, o, work):
        self.t, self.o, self.work = t, o, work
        digits = os.path.join(o.root, 'models', 'digits')
        self.model, self.picture = os.path.join(digits, 'digits.onnx'), os.path.join(
            digits, 'samples', '7.pgm'
        )

    def built(self, script, *options):
        """The package, which is the same bytes the second time."""
        command = [
            sys.executable,
            os.path.join(self.o.root, 'templates', 'packages', script),
            '--root',
            self.o.root,
            *options,
            '-o',
        ]
        paths = [
            trial.must('the package', command + [os.path.join(self.work, name)]).split('\n')[-2]
            for name in ('one', 'two')
        ]
        data = [open(path, 'rb').read() for path in paths]
        self.t.ok('the same bytes again: ' + os.path.basename(paths[0]), data[0] == data[1])
        return paths[0]

    def demo(self, what, inlay):
        """C that a compiler takes, with the results that it says."""
        out = os.path.join(self.work, 'demo of ' + what.replace('/', ' '))
        trial.must(what, [inlay, 'compile', self.model, '-o', out, '-q'])
        program = os.path.join(out, 'demo')
        sources = glob.glob(os.path.join(out, 'src', '*.c'))
        trial.must(
            'cc',
            [
                'cc',
                '-O2',
                '-I' + os.path.join(out, 'src'),
                *sources,
                os.path.join(out, 'examples', 'main.c'),
                '-lm',
                '-o',
                program,
            ],
        )
        text = trial.must('the demonstration', [program])
        self.t.ok(what + ': the demonstration', 'right' in text, text)


def wheel_is_sound(b, path):
    """Each file has the digest that RECORD states, and no file of ours is left out."""
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        table = next(n for n in names if n.endswith('/RECORD'))
        rows = {row[0]: row[1] for row in csv.reader(io.StringIO(archive.read(table).decode()))}
        wrong = [
            n
            for n in names - {table}
            if rows.get(n)
            != 'sha256='
            + base64.urlsafe_b64encode(hashlib.sha256(archive.read(n)).digest())
            .rstrip(b'=')
            .decode()
        ]
    b.t.ok('the digests of the wheel', set(rows) == names and not wrong, wrong)


def beside_numpy(python):
    """A folder with the NumPy of the Python that runs the tests, for one like it."""
    text = (
        'import numpy, os, sys; '
        'print(sys.version_info[:2], os.path.dirname(os.path.dirname(numpy.__file__)), sep="\\n")'
    )
    status, ours = host.run([sys.executable, '-c', text])
    same = host.run([python, '-c', 'import sys; print(sys.version_info[:2])'])[1].strip()
    if status or ours.split('\n')[0] != same:
        return None
    return ours.split('\n')[1]


def wheel(b):
    if not b.o.program:
        return b.t.skip('wheel', 'the libraries are not all there to be linked into the program')
    if host.run([sys.executable, '-c', 'import venv, ensurepip'])[0] or not shutil.which('readelf'):
        return b.t.skip('wheel', 'no venv with pip here, or no binutils')
    path = b.built('wheel.py', '--program', b.o.program)
    wheel_is_sound(b, path)
    home = os.path.join(b.work, 'environment')
    trial.must('venv', [sys.executable, '-m', 'venv', home])
    python, inlay = os.path.join(home, 'bin', 'python'), os.path.join(home, 'bin', 'inlay')
    trial.must(
        'pip',
        [
            python,
            '-m',
            'pip',
            'install',
            '--no-index',
            '--no-deps',
            '--disable-pip-version-check',
            path,
        ],
    )
    b.t.ok('pip has nothing against it', host.run([python, '-m', 'pip', 'check'])[0] == 0)
    for command in [inlay], [python, '-m', 'inlay']:
        status, text = host.run(command + ['version'])
        b.t.ok(
            os.path.basename(command[-1]) + ' version',
            status == 0 and text.startswith('inlay '),
            text,
        )
    b.t.ok('its status is the program\'s', host.run([inlay, 'analyze', 'nothing.onnx'])[0] == 66)
    status, text = host.run(
        [python, '-c', COMPILES, b.model, os.path.join(b.work, 'compiled')], b.work
    )
    b.t.ok('inlay.compile, without NumPy', status == 0 and 'compiled' in text, text)
    b.demo('the wheel', inlay)
    numpy = beside_numpy(python)
    if not numpy:
        return b.t.skip('inlay.run', 'no NumPy here')
    status, text = host.run(
        [python, '-c', RUNS, b.model, b.picture], b.work, env={'PYTHONPATH': numpy}
    )
    page = os.path.join(b.o.root, 'docs', 'TUTORIALS.md')
    with open(page) as f:
        example = re.search(r'(?s)```python\n(.*?)```', f.read()).group(1)
    os.symlink(os.path.join(b.o.root, 'models'), os.path.join(b.work, 'models'))
    got = host.run([python, '-c', example], b.work, env={'PYTHONPATH': numpy})
    b.t.ok('the example of the tutorial', got[0] == 0 and got[1].strip().isdigit(), got[1])
    b.t.ok('inlay.run: arrays in, arrays out', status == 0 and 'it is a 7' in text, text)
    return None


def deb_installed(b, path):
    """By dpkg, into a folder, with a database of its own that has the packages of this system:
    dependencies are checked."""
    root, database = os.path.join(b.work, 'root'), os.path.join(b.work, 'database')
    for folder in (root, os.path.join(database, 'info'), os.path.join(database, 'updates')):
        os.makedirs(folder)
    shutil.copy('/var/lib/dpkg/status', database)
    open(os.path.join(database, 'available'), 'w').close()
    command = [
        'dpkg',
        '--admindir=' + database,
        '--instdir=' + root,
        '--force-not-root',
        '--force-script-chrootless',
        '--log=/dev/null',
    ]
    fake = ['fakeroot'] if os.getuid() and shutil.which('fakeroot') else []
    if os.getuid() and not fake:
        trial.must('dpkg-deb', ['dpkg-deb', '-x', path, root])
        b.t.skip('dpkg installs it', 'not root, and fakeroot is not installed')
        return root
    trial.must('dpkg', fake + command + ['--install', path])
    status = trial.must('dpkg', command + ['--status', 'inlay'])
    b.t.ok(
        'dpkg installs it',
        'Status: install ok installed' in status
        and re.search(r'Depends: .*libc6 \(>= .*libjansson4', status),
        status,
    )
    b.t.ok(
        'dpkg finds all of it',
        host.run(command + ['--verify', 'inlay']) == (0, ''),
        host.run(command + ['--verify', 'inlay']),
    )
    return root


def deb(b):
    missing = [p for p in ('dpkg', 'dpkg-deb', 'dpkg-shlibdeps', 'strip') if not shutil.which(p)]
    if missing or not os.path.exists('/var/lib/dpkg/status'):
        return b.t.skip('deb', 'no dpkg-dev here: %s' % ', '.join(missing))
    path = b.built('deb.py', '--build', b.o.build)
    listing = subprocess.run(
        ['dpkg-deb', '-c', path], check=True, stdout=subprocess.PIPE
    ).stdout.decode()
    wanted = [
        '/usr/bin/inlay',
        '/man1/inlay.1.gz',
        '/bash-completion/completions/inlay.bash',
        '/zsh/site-functions/_inlay',
        '/vendor_completions.d/inlay.fish',
        '/cmake/Inlay/InlayConfig.cmake',
        '/inlay/manifest.schema.json',
        '/doc/inlay/copyright',
        '/doc/inlay/changelog.gz',
        '/doc/inlay/docs/GENERATED.md',
    ]
    lacking = [w for w in wanted if w not in listing]
    b.t.ok(
        'what the package has',
        not lacking and ' root/root ' in listing,
        '%s\n%s' % (lacking, listing),
    )
    root = deb_installed(b, path)
    b.demo('the package', os.path.join(root, 'usr', 'bin', 'inlay'))
    return None


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--build', required=True)
    p.add_argument('--root', required=True)
    p.add_argument('--program')
    o = p.parse_args()
    t = tap.Tap()
    with host.Work() as work:
        b = Bench(t, o, work)
        wheel(b)
        deb(b)
    t.done()


main()
