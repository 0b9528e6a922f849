# SPDX-License-Identifier: Apache-2.0
"""The Adam optimiser with a cosine learning rate, over any tree of arrays."""

import os

import jax
import jax.numpy as jnp

# A sum split over threads rounds differently: one core, however many there are.
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

MOMENTUM, DECAY, TINY = 0.9, 0.999, 1e-8


def start(params):
    """First and second moments of the gradient, nothing seen yet."""
    zeros = jax.tree.map(jnp.zeros_like, params)
    return zeros, zeros


def cosine(step, steps, peak):
    """Falls from `peak` to 0, so that the last steps settle."""
    return peak * 0.5 * (1 + jnp.cos(jnp.pi * step / steps))


def update(params, moments, gradient, step, rate):
    """One step; `step` counts from 0."""
    mean = jax.tree.map(lambda m, g: MOMENTUM * m + (1 - MOMENTUM) * g, moments[0], gradient)
    square = jax.tree.map(lambda s, g: DECAY * s + (1 - DECAY) * g * g, moments[1], gradient)
    # Both moments start at 0; this undoes the pull of that start.
    rate *= jnp.sqrt(1 - DECAY ** (step + 1)) / (1 - MOMENTUM ** (step + 1))
    params = jax.tree.map(lambda p, m, s: p - rate * m / (jnp.sqrt(s) + TINY), params, mean, square)
    return params, (mean, square)
