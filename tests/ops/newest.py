# SPDX-License-Identifier: Apache-2.0
"""The node tests of the newest `onnx` package as judge: made in a virtual environment, run by
run.py.

    newest.py --inlay INLAY --known known.txt [--folder FOLDER]

--folder: take the tests that lie there, or make and leave them there. Skipped where the package
cannot be had."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

import host
import tap

# Run by the environment's Python. Tests whose values are no tensors are left out: nothing here
# could compare them.
MAKE = r'''
import os, sys
import numpy, onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

def save(path, value):
    proto = value
    if not isinstance(value, onnx.TensorProto):
        proto = numpy_helper.from_array(numpy.asarray(value))
    with open(path, 'wb') as f:
        f.write(proto.SerializeToString())

def is_tensor(info):
    return info.type.WhichOneof('value') == 'tensor_type'

count = 0
for case in collect_testcases():
    graph = case.model.graph
    folder = os.path.join(sys.argv[1], case.name)
    if case.kind != 'node' or not all(map(is_tensor, [*graph.input, *graph.output])):
        continue
    os.makedirs(os.path.join(folder, 'test_data_set_0'))
    with open(os.path.join(folder, 'model.onnx'), 'wb') as f:
        f.write(case.model.SerializeToString())
    for kind, values in zip(('input', 'output'), case.data_sets[0]):
        for i, value in enumerate(values):
            save(os.path.join(folder, 'test_data_set_0', '%s_%d.pb' % (kind, i)), value)
    count += 1
print('onnx %s: %d node tests of tensors' % (onnx.__version__, count))
'''


def make(folder):
    """'' or why the tests cannot be made."""
    with host.Work() as work:
        python = os.path.join(work, 'bin', 'python')
        # -I: our own tests/support/onnx.py, which PYTHONPATH names here, must not stand for the
        # package.
        for command in (
            [sys.executable, '-m', 'venv', work],
            [python, '-I', '-m', 'pip', '-q', 'install', 'onnx', 'pillow'],
            [python, '-I', '-c', MAKE, folder],
        ):
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=900)
            except (OSError, subprocess.TimeoutExpired) as e:
                return str(e)
            if done.returncode:
                return (done.stderr.strip().splitlines() or ['status %d' % done.returncode])[-1]
        print('# ' + done.stdout.strip(), flush=True)
    return ''


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--known', required=True)
    p.add_argument('--folder', default='')
    o = p.parse_args()
    scratch = tempfile.mkdtemp(prefix='inlay-newest-')
    folder = os.path.join(o.folder or scratch, 'node')
    why = '' if os.path.isdir(folder) else make(folder)
    if why:
        t = tap.Tap()
        t.skip('newest', 'the onnx package cannot be had: ' + why)
        shutil.rmtree(scratch, ignore_errors=True)
        t.done()
    run = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'run.py')
    status = subprocess.run(
        [sys.executable, run, '--inlay', o.inlay, '--known', o.known, '--prefix', 'newest/', folder]
    ).returncode
    shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(status)


main()
