#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small network to read printed digits and writes digits.onnx.

usage: make_digits.py [output folder]
Needs the Python packages jax, numpy, onnx, onnxruntime and pillow, and the
fonts that README.md lists.  Type families are either for training or for the
test, never for both.
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
import rendering
import training

SEED = 1
TRAIN_IMAGES, TEST_IMAGES = 40000, 10000
EPOCHS, BATCH, RATE = 12, 64, 0.004
SMOOTHING = 0.1  # scores of exactly 0 and 1 would hide an error in a test
STATISTICS_MOMENTUM = 0.95
EPSILON = 1e-5
SAMPLE = 7

# name, weight shape [out][in / group][height][width], group, batch norm?, pooled?
LAYERS = [
    ("conv1", (8, 1, 3, 3), 1, True, True),
    ("conv2", (16, 8, 3, 3), 1, True, True),
    ("conv3dw", (16, 1, 3, 3), 16, True, False),
    ("conv3pw", (32, 16, 1, 1), 1, False, True),
]
FEATURES = 32 * 3 * 3  # 28 rows are pooled to 14, 7 and 3


def initial_params(rng):
    params = {}
    for name, shape, _, normed, _ in LAYERS:
        params[f"{name}.weight"] = rng.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape)
        params[f"{name}.bias"] = np.zeros(shape[0])
        if normed:
            params[f"{name}.scale"] = np.ones(shape[0])
    params["fc.weight"] = rng.normal(0, np.sqrt(1 / FEATURES), (10, FEATURES))
    params["fc.bias"] = np.zeros(10)
    return {name: jnp.asarray(a, jnp.float32) for name, a in params.items()}


def initial_statistics():
    """Mean and variance of what goes into each batch normalisation."""
    return {
        name: (jnp.zeros(shape[0]), jnp.ones(shape[0]))
        for name, shape, _, normed, _ in LAYERS
        if normed
    }


def per_channel(vector):
    return vector[:, None, None]


def normalise(x, scale):
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
    x = (x - per_channel(mean)) * per_channel(scale / jnp.sqrt(variance + EPSILON))
    return x, (mean, variance)


def pool(x):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def forward(params, x):
    """Logits, and the statistics of this batch."""
    seen = {}
    for name, _, group, normed, pooled in LAYERS:
        x = jax.lax.conv_general_dilated(
            x, params[f"{name}.weight"], (1, 1), "SAME", feature_group_count=group
        )
        if normed:
            x, seen[name] = normalise(x, params[f"{name}.scale"])
        x = jnp.maximum(x + per_channel(params[f"{name}.bias"]), 0)
        x = pool(x) if pooled else x
    return x.reshape(len(x), -1) @ params["fc.weight"].T + params["fc.bias"], seen


def loss(params, images, labels):
    logits, seen = forward(params, images.astype(jnp.float32) / 255)
    wanted = (1 - SMOOTHING) * jax.nn.one_hot(labels, 10) + SMOOTHING / 10
    return -(wanted * jax.nn.log_softmax(logits)).sum(1).mean(), seen


@jax.jit
def step(params, moments, statistics, images, labels, count, rate):
    gradient, seen = jax.grad(loss, has_aux=True)(params, images, labels)
    params, moments = training.update(params, moments, gradient, count, rate)
    statistics = jax.tree.map(
        lambda old, new: STATISTICS_MOMENTUM * old + (1 - STATISTICS_MOMENTUM) * new,
        statistics,
        seen,
    )
    return params, moments, statistics


def train(rng, images, labels):
    params, statistics = initial_params(rng), initial_statistics()
    moments = training.start(params)
    batches = len(images) // BATCH
    for count in range(EPOCHS * batches):
        if count % batches == 0:
            order = rng.permutation(len(images))
        pick = order[count % batches * BATCH :][:BATCH]
        rate = training.cosine(count, EPOCHS * batches, RATE)
        params, moments, statistics = step(
            params, moments, statistics, images[pick], labels[pick], count, rate
        )
    return params, statistics


class Chain:
    """Nodes one after the other, each reading what the one before it wrote."""

    def __init__(self, value):
        self.value, self.nodes, self.weights = value, [], {}

    def add(self, op, name, weights=None, **attributes):
        named = {f"{name}.{key}": array for key, array in (weights or {}).items()}
        self.weights |= named
        self.nodes.append(helper.make_node(op, [self.value, *named], [name], name, **attributes))
        self.value = name


def add_layer(chain, params, statistics, name, shape, group, normed, pooled):
    size, edge = list(shape[2:]), shape[2] // 2
    weights = {"weight": params[f"{name}.weight"]}
    if not normed:
        weights["bias"] = params[f"{name}.bias"]
    chain.add("Conv", name, weights, kernel_shape=size, pads=[edge] * 4, group=group)
    if normed:
        mean, variance = statistics[name]
        chain.add(
            "BatchNormalization",
            f"{name}.norm",
            {
                "scale": params[f"{name}.scale"],
                "bias": params[f"{name}.bias"],
                "mean": mean,
                "variance": variance,
            },
            epsilon=EPSILON,
        )
    chain.add("Relu", f"{name}.relu")
    if pooled:
        chain.add("MaxPool", f"{name}.pool", kernel_shape=[2, 2], strides=[2, 2])


def build(params, statistics):
    chain = Chain("image")
    for layer in LAYERS:
        add_layer(chain, params, statistics, *layer)
    chain.add("Flatten", "flat")
    chain.add("Gemm", "fc", {"weight": params["fc.weight"], "bias": params["fc.bias"]}, transB=1)
    chain.add("Softmax", "scores", axis=1)
    return export.build_model(
        "digits", chain.nodes, chain.weights, ("image", [1, 1, 28, 28]), ("scores", [1, 10])
    )


def accuracy(model, images, labels):
    right = [
        reference.run(model, part / np.float32(255)).argmax(1) == truth
        for part, truth in zip(np.split(images, 20), np.split(labels, 20))
    ]
    return np.mean(right)


def save_samples(folder, model, images, labels):
    """The first test image of each digit; returns them as model inputs."""
    (folder / "samples").mkdir(exist_ok=True)
    inputs = []
    for digit in range(10):
        image = images[np.argmax(labels == digit)]
        (folder / "samples" / f"{digit}.pgm").write_bytes(b"P5\n28 28\n255\n" + image.tobytes())
        inputs.append(image[None] / np.float32(255))
        assert export.checked_answer(model, inputs[-1]).argmax() == digit
    return inputs


def main():
    folder, rng = export.output_folder(__file__), np.random.default_rng(SEED)
    train_set = rendering.render_set(rng, rendering.TRAIN_FAMILIES, TRAIN_IMAGES)
    test_set = rendering.render_set(rng, rendering.TEST_FAMILIES, TEST_IMAGES)
    model = build(*train(rng, *train_set))
    export.save(folder, model, save_samples(folder, model, *test_set)[SAMPLE])
    print(
        f"accuracy: {accuracy(model, *train_set):.2%} on the fonts of the training, "
        f"{accuracy(model, *test_set):.2%} on others"
    )


if __name__ == "__main__":
    main()
