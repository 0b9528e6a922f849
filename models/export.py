# SPDX-License-Identifier: Apache-2.0
"""Writes a model, and a sample input with its expected answer, as ONNX files.

The answer is that of reference.py; onnxruntime must agree with it, so two
independent implementations stand behind every committed answer.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import reference

OPSET = 17
IR_VERSION = 8  # the file format of the ONNX release that brought opset 17
TOLERANCE = 1e-5


def output_folder(script):
    """The first argument, else the folder of the script."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(script).resolve().parent
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def build_model(name, nodes, weights, source, sink):
    """`weights` maps names to arrays; `source` and `sink` are (name, shape)."""
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info(source[0], TensorProto.FLOAT, source[1])],
        [helper.make_tensor_value_info(sink[0], TensorProto.FLOAT, sink[1])],
        [numpy_helper.from_array(np.asarray(a, np.float32), n) for n, a in weights.items()],
    )
    model = helper.make_model(
        graph,
        producer_name="inlay",
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET)],
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def run_onnxruntime(model, value):
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {model.graph.input[0].name: value})[0]


def checked_answer(model, value):
    answer = reference.run(model, value)
    difference = np.abs(answer - run_onnxruntime(model, value)).max()
    assert difference <= TOLERANCE, f"reference and onnxruntime differ by {difference}"
    return answer


def save_tensor(path, array, name):
    path.write_bytes(numpy_helper.from_array(array, name).SerializeToString())


def save(folder, model, sample):
    """The model as <graph name>.onnx and `sample` as its test data set 0."""
    graph = model.graph
    data = folder / "test_data_set_0"
    data.mkdir(exist_ok=True)
    (folder / f"{graph.name}.onnx").write_bytes(model.SerializeToString(deterministic=True))
    save_tensor(data / "input_0.pb", sample, graph.input[0].name)
    save_tensor(data / "output_0.pb", checked_answer(model, sample), graph.output[0].name)
