# SPDX-License-Identifier: Apache-2.0
"""Folders of test models with their data, in the form of ONNX's own tests."""
import os
import re
import tarfile
import tempfile

import host
import onnx

RANDOM = re.compile(
    r'bernoulli|multinomial|random_?(uniform|normal)|training_dropout(?!.*zero_ratio)'
)


def find(paths, scratch):
    """[(name, folder)] of all tests below the paths."""
    tests = []
    for path in paths:
        if os.path.isfile(path):
            folder = tempfile.mkdtemp(dir=scratch)
            with tarfile.open(path) as tar:
                tar.extractall(folder)
            path, inside = folder, ''
        else:
            inside = os.path.basename(path.rstrip('/')) + '/'
        for folder, folders, files in os.walk(path):
            if 'model.onnx' in files or 'test_data_set_0' in folders:
                tests.append((inside + os.path.relpath(folder, path), folder))
    return sorted(tests)


def out_of_scope(name, folder):
    """Why no fixed tensors are to be compared; '' where they are."""
    if RANDOM.search(name):
        return 'random values have no fixed answer'
    try:
        ins, outs = onnx.read_io(host.model_of(folder))
        data, want = host.test_data(folder)
    except (onnx.Unreadable, IndexError) as e:
        return 'no plain tensors (%s)' % e
    if any(v.kind != 1 or v.code == onnx.STRING for v in ins + outs):
        return 'no plain tensors'
    if not want or len(data) < len(ins):
        return 'the test has no data'
    return ''
