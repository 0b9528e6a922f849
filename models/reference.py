# SPDX-License-Identifier: Apache-2.0
"""Answers of an ONNX model, worked out in float64 with numpy alone.

It reads the exported file, not the trained parameters, so a mistake of the
export shows up here.  Only the operators of our own models are known, and of
their attributes only those that these models use.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from onnx import helper, numpy_helper


def conv(x, weight, bias=0.0, *, group=1, pads=None, strides=None, kernel_shape=None):
    """x is [N][C][...], weight [M][C/group][...], with as many dimensions of space as one likes;
    dilation 1."""
    rank = x.ndim - 2
    pads, strides = pads or [0] * 2 * rank, strides or [1] * rank
    padded = np.pad(x, [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:])])
    windows = sliding_window_view(padded, weight.shape[2:], axis=tuple(range(2, 2 + rank)))
    windows = windows[(..., *(slice(None, None, s) for s in strides), *[slice(None)] * rank)]
    summed = [1, *range(-rank, 0)]
    sums = [
        np.moveaxis(np.tensordot(part, kernels, (summed, summed)), -1, 1)
        for part, kernels in zip(np.split(windows, group, axis=1), np.split(weight, group))
    ]
    return np.concatenate(sums, axis=1) + np.reshape(bias, (1, -1, *[1] * rank))


def batch_norm(x, scale, bias, mean, variance, *, epsilon=1e-5):
    scale, bias, mean, variance = (v[:, None, None] for v in (scale, bias, mean, variance))
    return (x - mean) / np.sqrt(variance + epsilon) * scale + bias


def max_pool(x, *, kernel_shape, strides):
    """Windows that would hang over the edge are left out (ceil_mode 0)."""
    windows = sliding_window_view(x, kernel_shape, axis=(2, 3))
    return windows[:, :, :: strides[0], :: strides[1]].max(axis=(4, 5))


def reduce_mean(x, *, axes, keepdims=1):
    return x.mean(axis=tuple(axes), keepdims=bool(keepdims))


def gemm(a, b, c=0.0, *, transB=0):
    return a @ (b.T if transB else b) + c


def softmax(x, *, axis=-1):
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


OPERATORS = {
    "Add": np.add,
    "BatchNormalization": batch_norm,
    "Conv": conv,
    "Flatten": lambda x: x.reshape(len(x), -1),
    "Gemm": gemm,
    "Log": np.log,
    "MaxPool": max_pool,
    "Mul": np.multiply,
    "ReduceMean": reduce_mean,
    "Relu": lambda x: np.maximum(x, 0),
    "Softmax": softmax,
}


def run(model, value):
    """The only output of `model` for its only input."""
    graph = model.graph
    values = {t.name: numpy_helper.to_array(t).astype(np.float64) for t in graph.initializer}
    values[graph.input[0].name] = value.astype(np.float64)
    for node in graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        operands = [values[name] for name in node.input]
        values[node.output[0]] = OPERATORS[node.op_type](*operands, **attributes)
    return values[graph.output[0].name].astype(np.float32)
