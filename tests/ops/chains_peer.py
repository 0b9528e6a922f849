# SPDX-License-Identifier: Apache-2.0
"""Answers of ONNX Runtime without its rewritings, for chains.py: a line of JSON for each model on
the standard input, one of its results on the standard output; null where it has no such operator or
type."""
import json
import sys

import numpy
import onnxruntime


def session(blob):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(blob, options, providers=['CPUExecutionProvider'])


def answer(asked):
    inputs = {
        name: numpy.frombuffer(bytes.fromhex(raw), kind).reshape(dims)
        for name, kind, dims, raw in asked['inputs']
    }
    outs = [numpy.asarray(v) for v in session(bytes.fromhex(asked['model'])).run(None, inputs)]
    return [[str(v.dtype), list(v.shape), v.tobytes().hex()] for v in outs]


def main():
    onnxruntime.set_default_logger_severity(4)
    for line in sys.stdin:
        try:
            said = answer(json.loads(line))
        except Exception as e:
            print(e, file=sys.stderr)
            said = None
        print(json.dumps(said), flush=True)


main()
