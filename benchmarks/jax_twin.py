"""Soft attention in JAX: seeds under ``vmap``, an epoch as one ``jit``-compiled ``scan``."""

import os
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax
import jax.numpy as jnp
import numpy as np

from foveate.bags.bag import Bag


def _net(layers: Any, x: Any) -> Any:
    for weight, bias in layers[:-1]:
        x = jax.nn.relu(x @ weight + bias)
    return x @ layers[-1][0] + layers[-1][1]


def _loss(parameters: Any, x: Any, y: Any) -> Any:
    f, g = parameters
    alpha = jax.nn.softmax(_net(f, x)[..., 0], axis=-1)
    log_p = jax.nn.log_softmax(_net(g, jnp.einsum("bm,bmd->bd", alpha, x)))
    return -jnp.take_along_axis(log_p, y[:, None], 1).mean()


def _layers(sizes: Sequence[int], chance: np.random.Generator) -> list[Any]:
    return [
        (chance.uniform(-1, 1, (i, o)).astype("float32") / np.sqrt(i), np.zeros(o, "float32"))
        for i, o in pairwise(sizes)
    ]


def _step(optimizer: str, lr: float) -> Callable[..., Any]:
    def sgd(p: Any, m: Any, v: Any, t: Any, grad: Any) -> Any:
        m = jax.tree.map(lambda m, g: 0.9 * m + g, m, grad)
        return jax.tree.map(lambda p, m: p - lr * m, p, m), m, v

    def adam(p: Any, m: Any, v: Any, t: Any, grad: Any) -> Any:
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grad)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, grad)
        return (
            jax.tree.map(
                lambda p, m, v: p - lr * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8),
                p,
                m,
                v,
            ),
            m,
            v,
        )

    update = sgd if optimizer == "sgd" else adam

    def step(state: Any, rows: Any, x: Any, y: Any) -> Any:
        p, m, v, t = state
        loss, grad = jax.value_and_grad(_loss)(p, x[rows], y[rows])
        return (*update(p, m, v, t + 1, grad), t + 1), loss

    return step


def epoch(
    bags: Sequence[Bag],
    hidden: Sequence[int],
    classes: int,
    *,
    batch: int,
    lr: float,
    optimizer: str,
) -> Callable[[], None]:
    """A function that trains one epoch of one member per set of bags; compiled when it returns."""
    x = jnp.asarray(np.stack([bag.dense().flatten(2).numpy() for bag in bags]))
    y = jnp.asarray(np.stack([bag.y.numpy() for bag in bags]))
    chance = np.random.default_rng(0)
    members = [
        (
            _layers((x.shape[-1], *hidden, 1), chance),
            _layers((x.shape[-1], *hidden, classes), chance),
        )
        for _ in bags
    ]
    parameters = jax.tree.map(lambda *parts: jnp.stack(parts), *members)
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    state = [(parameters, zeros, zeros, jnp.zeros(len(bags)))]
    step, n = _step(optimizer, lr), x.shape[1]

    def scan(state: Any, rows: Any, x: Any, y: Any) -> Any:
        return jax.lax.scan(lambda carry, some: step(carry, some, x, y), state, rows)

    compiled = jax.jit(jax.vmap(scan))

    def run() -> None:
        orders = [chance.permutation(n)[: n - n % batch].reshape(-1, batch) for _ in bags]
        state[0], losses = compiled(state[0], np.stack(orders), x, y)
        losses.block_until_ready()

    run()
    return run
