# SPDX-License-Identifier: Apache-2.0
"""Single operators with attributes, opsets, types and shapes that were drawn at random, and those
that were once wrong. Each line of found.txt is one, with the answer that ONNX Runtime or, where
that does not follow the standard, the standard's text gives.

    found.py --inlay INLAY [--only REGEX] FOUND.TXT"""
import argparse
import json
import os
import re
import struct

import host
import onnx
import tap


def tensor(name, t):
    number = onnx.TYPES[onnx.CODES[t['type']]][2]
    values = [float(v) if number in 'efd' else v for v in t['data']]
    return onnx.make_tensor(
        name,
        onnx.CODES[t['type']],
        t['dims'],
        struct.pack('<%d%s' % (len(values), number), *values),
    )


def value(name, t):
    return onnx.make_value(name, onnx.CODES[t['type']], t['dims'])


def read(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def model_of(case):
    """The model, [(name, tensor)] of its inputs, of its outputs."""
    ins = [('i%d' % i if t else '', t) for i, t in enumerate(case['inputs'])]
    outs = [('o%d' % i if t else '', t) for i, t in enumerate(case['outputs'])]
    node = onnx.make_node(
        case['op'],
        [n for n, _ in ins],
        [n for n, _ in outs],
        domain=case.get('domain', ''),
        **case['attributes']
    )
    given = [(n, t) for n, t in ins if t and not t.get('constant')]
    model = onnx.make_model(
        [node],
        [value(n, t) for n, t in given],
        [value(n, t) for n, t in outs if t],
        [tensor(n, t) for n, t in ins if t and t.get('constant')],
        case['opset'],
    )
    if case.get('domain'):
        model += onnx.put(8, onnx.put(1, case['domain']) + onnx.put(2, 1))
    return model, given, [(n, t) for n, t in outs if t]


def judge(inlay, case):
    """'' or what is wrong."""
    model, given, outs = model_of(case)
    with host.Work() as work:
        command = [inlay, 'run', os.path.join(work, 'm.onnx'), '-o', work]
        with open(command[2], 'wb') as f:
            f.write(model)
        for n, t in given:
            command += ['--input', os.path.join(work, n + '.pb')]
            with open(command[-1], 'wb') as f:
                f.write(tensor(n, t))
        status, text = host.run(command, limit=60)
        if status:
            return 'status %d: %s' % (status, text)
        wanted = [onnx.parse_tensor(tensor(n, t)) for n, t in outs]
        bad = [
            onnx.difference(onnx.read_tensor(os.path.join(work, 'output_%d.pb' % i)), w)
            for i, w in enumerate(wanted)
        ]
        return '; '.join('output %d %s' % (i, b) for i, b in enumerate(bad) if b)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--inlay', required=True)
    p.add_argument('--only', default='')
    p.add_argument('list')
    o = p.parse_args()
    t = tap.Tap()
    for case in read(o.list):
        if re.search(o.only, case['name']):
            bad = judge(o.inlay, case)
            t.ok('%s, opset %d' % (case['name'], case['opset']), not bad, bad)
    t.done()


if __name__ == '__main__':
    main()
