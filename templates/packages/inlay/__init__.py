# SPDX-License-Identifier: Apache-2.0
"""Inlay from Python: the program that this package brings, called with keywords in place of
options.

    import inlay
    figures = inlay.compile('kws.onnx', 'kws', optimize='balanced', dim={'T': 16})
    scores, = inlay.run('kws.onnx', sound)

A model is a path, bytes, or an object with SerializeToString() (onnx.ModelProto). An option is
called as on the command line, with _ for -: True is given as it stands, False and None are left
out, a list is given several times, a dictionary as NAME=VALUE, a tuple in it as the dimensions of a
shape: shape={'x': (1, 3, 224, 224)}. `inlay help compile` lists the options of a command."""
import contextlib
import json
import os
import subprocess
import tempfile

__all__ = ['Error', 'analyze', 'compile', 'program', 'run']


class Error(Exception):
    """The program failed: `status` as docs/TROUBLESHOOTING.md has it; the text is what it said."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def program():
    """The path of the program."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), 'bin', 'inlay')


def _text(value):
    if isinstance(value, tuple):
        return 'x'.join(map(str, value)) or 'scalar'
    if isinstance(value, list):
        return ','.join(map(str, value))
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _values(value):
    """An option's values, one for each time that it is given."""
    if isinstance(value, dict):
        return ['%s=%s' % (name, _text(v)) for name, v in value.items()]
    return [_text(v) for v in (value if isinstance(value, list) else [value])]


def _words(options):
    for name, value in options.items():
        option = '--' + name.replace('_', '-')
        if value is True:
            yield option
        elif value is not None and value is not False:
            for text in _values(value):
                yield '%s=%s' % (option, text)


def _call(*words):
    done = subprocess.run(
        [program(), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if done.returncode:
        raise Error(done.returncode, done.stderr.decode('utf8', 'replace').strip())
    return done.stdout.decode('utf8')


@contextlib.contextmanager
def _path(model):
    """The path of a model's file, which is made where there is none."""
    if isinstance(model, (str, os.PathLike)):
        yield os.fspath(model)
        return
    data = model if isinstance(model, (bytes, bytearray, memoryview)) else model.SerializeToString()
    with tempfile.TemporaryDirectory(prefix='inlay-') as folder:
        path = os.path.join(folder, 'model.onnx')
        with open(path, 'wb') as file:
            file.write(data)
        yield path


def _figures(command, model, words):
    with _path(model) as path:
        return json.loads(_call(command, '--json', *words, '--', path))


def compile(model, out, **options):
    """Compiles a model into the folder `out`; the manifest there, as a dictionary."""
    name = _figures('compile', model, ['--output=' + os.fspath(out), *_words(options)])['name']
    with open(os.path.join(out, name + '.json'), encoding='utf8') as manifest:
        return json.load(manifest)


def analyze(model, **options):
    """The manifest of a model that is not written."""
    return _figures('analyze', model, _words(options))


def _arrays(inputs):
    """Arrays by place, or by name."""
    if isinstance(inputs, dict):
        return inputs
    return dict(enumerate(inputs)) if isinstance(inputs, (list, tuple)) else {0: inputs}


def _save(folder, inputs):
    """Files for --input: one for each place, or an archive with all names."""
    import zipfile
    from numpy.lib import format as npy
    import numpy

    arrays = {name: numpy.asanyarray(value) for name, value in _arrays(inputs).items()}
    if isinstance(inputs, dict):
        path = os.path.join(folder, 'inputs.npz')
        with zipfile.ZipFile(path, 'w') as archive:
            for name, array in arrays.items():
                with archive.open(name + '.npy', 'w', force_zip64=True) as file:
                    npy.write_array(file, array, allow_pickle=False)
        return [path]
    paths = [os.path.join(folder, 'input_%d.npy' % i) for i in arrays]
    for path, array in zip(paths, arrays.values()):
        numpy.save(path, array, allow_pickle=False)
    return paths


def run(model, inputs, **options):
    """Runs a model here, by the kernels that its C would have, on NumPy arrays: one, a list, or a
    dictionary by the names of the inputs. A list with the results."""
    import numpy

    with _path(model) as path, tempfile.TemporaryDirectory(prefix='inlay-') as folder:
        words = ['--input=' + file for file in _save(folder, inputs)]
        out = os.path.join(folder, 'out')
        _call('run', '--npy', '--output=' + out, *words, *_words(options), '--', path)
        return [
            numpy.load(os.path.join(out, 'output_%d.npy' % i), allow_pickle=False)
            for i in range(len(os.listdir(out)))
        ]
