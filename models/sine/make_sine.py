#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a 1-16-16-1 network on sin(x), 0 <= x <= 2 pi, and writes sine.onnx.

usage: make_sine.py [output folder]
Needs the Python packages jax, numpy, onnx and onnxruntime.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jax
import jax.numpy as jnp
import numpy as np
from onnx import helper

import export
import reference
import training

SIZES = [1, 16, 16, 1]
SEED = 1
STEPS = 40000
RATE = 0.01
END = 2 * np.pi
SAMPLE = np.array([[1.0]], np.float32)


def initial_params(rng):
    """Layers of (weight [out][in], bias [out])."""
    layers = [
        (rng.normal(0, np.sqrt(2 / i), (o, i)), np.zeros(o)) for i, o in zip(SIZES, SIZES[1:])
    ]
    # Spread the kinks of the first layer over the interval, or units stay idle.
    weight = layers[0][0]
    layers[0] = weight, -weight[:, 0] * rng.uniform(0, END, SIZES[1])
    return jax.tree.map(lambda a: jnp.asarray(a, jnp.float32), layers)


def predict(params, x):
    for weight, bias in params[:-1]:
        x = jnp.maximum(x @ weight.T + bias, 0)
    weight, bias = params[-1]
    return x @ weight.T + bias


def loss(params, x):
    return jnp.mean((predict(params, x) - jnp.sin(x)) ** 2)


@jax.jit
def train(params):
    x = jnp.linspace(0, END, 1024).reshape(-1, 1)

    def step(i, state):
        gradient = jax.grad(loss)(state[0], x)
        return training.update(*state, gradient, i, training.cosine(i, STEPS, RATE))

    return jax.lax.fori_loop(0, STEPS, step, (params, training.start(params)))[0]


def build(params):
    nodes, weights, value = [], {}, "x"
    for i, (weight, bias) in enumerate(params, 1):
        last = i == len(params)
        weights |= {f"fc{i}.weight": weight, f"fc{i}.bias": bias}
        nodes.append(
            helper.make_node(
                "Gemm",
                [value, f"fc{i}.weight", f"fc{i}.bias"],
                ["y" if last else f"fc{i}"],
                name=f"fc{i}",
                transB=1,
            )
        )
        if not last:
            nodes.append(helper.make_node("Relu", [f"fc{i}"], [f"relu{i}"], name=f"relu{i}"))
            value = f"relu{i}"
    return export.build_model("sine", nodes, weights, ("x", [1, 1]), ("y", [1, 1]))


def main():
    model = build(train(initial_params(np.random.default_rng(SEED))))
    export.save(export.output_folder(__file__), model, SAMPLE)
    x = np.linspace(0, END, 100001, dtype=np.float32).reshape(-1, 1)
    print(f"largest error: {np.abs(reference.run(model, x) - np.sin(x)).max():.5f}")


if __name__ == "__main__":
    main()
