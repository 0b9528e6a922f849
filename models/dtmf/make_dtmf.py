#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes dtmf.onnx, which hears the tones of a telephone's keys, and recordings of such tones.

usage: make_dtmf.py [output folder] Needs the Python packages numpy, onnx and onnxruntime. Nothing
is trained: the weights are worked out.
"""

import sys
import wave
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from onnx import helper

import export
import reference

RATE = 8000  # samples a second
WINDOW, FRAME, HOP = 800, 240, 80
KEYS = "123A456B789C*0#D"  # row by row of the keypad
ROWS, COLUMNS = [697, 770, 852, 941], [1209, 1336, 1477, 1633]  # Hz, ITU-T Q.23
QUIET = 0.02  # the amplitude of a tone below which there is none
SURE = 2.0  # of the softmax: how much a louder tone counts
CALL = "159"


def filters():
    """[tone, cosine or sine][1][FRAME]: an amplitude of 1 at a tone makes squares that add up to
    1."""
    time = np.arange(FRAME) / RATE
    hann = np.hanning(FRAME + 1)[:-1]
    angles = 2 * np.pi * np.array(ROWS + COLUMNS)[:, None] * time
    waves = np.stack([np.cos(angles), np.sin(angles)], axis=1).reshape(-1, 1, FRAME)
    return waves * hann * 2 / hann.sum()


def classes():
    """Weights [17][8] and bias [17]: a key counts the logarithms of its two tones, silence is a
    constant."""
    weight, bias = np.zeros((len(KEYS) + 1, 8)), np.zeros(len(KEYS) + 1)
    for i in range(len(KEYS)):
        weight[i, [i // 4, 4 + i % 4]] = SURE
    bias[-1] = 2 * SURE * np.log(QUIET**2)
    return weight, bias


def build():
    pairs = np.repeat(np.eye(8), 2, axis=1).reshape(8, 16, 1)
    weight, bias = classes()
    weights = {
        "filters": filters(),
        "pairs": pairs,
        "least": [1e-8],
        "classes.weight": weight,
        "classes.bias": bias,
    }
    node = helper.make_node
    nodes = [
        node(
            "Conv",
            ["sound", "filters"],
            ["waves"],
            name="waves",
            kernel_shape=[FRAME],
            strides=[HOP],
        ),
        node("Mul", ["waves", "waves"], ["squares"], name="squares"),
        node("Conv", ["squares", "pairs"], ["energy"], name="energy", kernel_shape=[1]),
        node("ReduceMean", ["energy"], ["mean"], name="mean", axes=[2], keepdims=0),
        node("Add", ["mean", "least"], ["positive"], name="positive"),
        node("Log", ["positive"], ["level"], name="level"),
        node(
            "Gemm",
            ["level", "classes.weight", "classes.bias"],
            ["classes"],
            name="classes",
            transB=1,
        ),
        node("Softmax", ["classes"], ["scores"], name="scores", axis=1),
    ]
    return export.build_model(
        "dtmf", nodes, weights, ("sound", [1, 1, WINDOW]), ("scores", [1, len(KEYS) + 1])
    )


def tone(key, seconds):
    """Both tones of a key, each with an amplitude of 0.3; the ends are soft."""
    time = np.arange(round(RATE * seconds)) / RATE
    row, column = divmod(KEYS.index(key), 4)
    sound = 0.3 * (
        np.sin(2 * np.pi * ROWS[row] * time) + np.sin(2 * np.pi * COLUMNS[column] * time + 1)
    )
    return sound * np.minimum(1, np.minimum(time, time[::-1]) * 500)


def recording(rng, keys):
    """A tenth of a second of each key, with silence between, and noise in all."""
    silence = np.zeros(RATE // 20)
    parts = [tone(keys[0], WINDOW / RATE)]
    for key in keys[1:]:
        parts += [silence, tone(key, WINDOW / RATE)]
    sound = np.concatenate(parts)
    return np.round((sound + rng.normal(0, 0.01, len(sound))) * 32767).astype("<i2")


def save_wav(path, samples):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples.tobytes())


def heard(model, samples):
    """The keys of all windows, one a key's length; the last class is silence."""
    sound = (samples / 32768).astype(np.float32)
    steps = range(0, len(sound) - WINDOW + 1, HOP)
    best = [reference.run(model, sound[None, None, s : s + WINDOW]).argmax() for s in steps]
    names = [(KEYS + ".")[i] for i in best]
    return "".join(n for i, n in enumerate(names) if n != "." and (i == 0 or names[i - 1] != n))


def main():
    folder = export.output_folder(__file__)
    model = build()
    rng = np.random.default_rng(1)
    samples = folder / "samples"
    samples.mkdir(exist_ok=True)
    for key in KEYS:
        assert heard(model, recording(rng, key)) == key
    five, call = recording(rng, "5"), recording(rng, CALL)
    assert heard(model, call) == CALL
    save_wav(samples / "5.wav", five)
    save_wav(samples / "159.wav", call)
    (folder / "keys.txt").write_text("\n".join([*KEYS, "silence"]) + "\n")
    export.save(folder, model, (five / 32768).astype(np.float32).reshape(1, 1, WINDOW))


if __name__ == "__main__":
    main()
