"""Stored values of a training on an error mode, as the figures need them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.data.error_modes import Boxes
from foveate.metrics.focus import ACCURATE, FOCUSED, QUADRANTS, entropy_bits, focus_true, nonzeros
from foveate.models.focus import AttentionModel
from foveate.records.record import Array, Record
from foveate.training.stack import Stack

__all__ = [
    "CELLS",
    "SPREAD_BITS",
    "STORED_BAGS",
    "accurate",
    "epochs_to_accuracy",
    "final_values",
    "misfocused",
    "split_by_quadrant",
    "window",
]

CELLS = 60  # cells of the plane along each side, for decision regions
STORED_BAGS = 150  # bags of each member whose attended point is kept
SPREAD_BITS = 1.0  # entropy from which attention counts as spread: two equal segments have it


def window(boxes: Boxes) -> tuple[float, float, float, float]:
    """The part of the plane to show (left, right, low, high): all boxes with a margin."""
    every = np.array([*boxes.foreground, boxes.background])
    left, right = every[:, 0].min(), every[:, 1].max()
    low, high = every[:, 2].min(), every[:, 3].max()
    air_x, air_y = 0.08 * (right - left), 0.08 * (high - low)
    return left - air_x, right + air_x, low - air_y, high + air_y


def final_values(record: Record, before: Stack, test: Sequence[Bag], boxes: Boxes) -> Record:
    """The record with weights and attended points in place of all scores and attention.

    Args:
        record: The record of :func:`~foveate.training.loop.fit`, with the trained stack.
        before: The same members before training.
        test: Their held-out bags.
        boxes: The base distributions.

    Returns:
        ``final`` has, for each member: ``f_w0``, ``f_w`` (S, 2) and, for a linear g, ``g_w0``,
        ``g_w`` (S, k, 2), ``g_b0``, ``g_b`` (S, k); ``region`` (S, cells, cells), the class that g
        gives to each cell of the window, rows upwards; ``point`` (S, b, 2), ``label``, ``focused``
        (S, b) of the first b bags; and what :func:`split_by_quadrant` gives.
    """
    alpha, y = record.final["alpha"], record.final["y"]
    focused = focus_true(record.final["s"], record.final["z"])
    correct = record.final["log_p"].argmax(-1) == y
    x = np.stack([_points(bag)[:STORED_BAGS] for bag in test])
    final = {
        **_weights(before, "0"),
        **_weights(record.trained, ""),
        "region": _regions(record.trained, boxes),
        "point": np.einsum("snm,snmd->snd", alpha[:, :STORED_BAGS], x).astype(np.float32),
        "label": y[:, :STORED_BAGS].astype(np.int8),
        "focused": focused[:, :STORED_BAGS],
        **split_by_quadrant(alpha, focused, correct),
    }
    return Record(record.t, record.values, final, record.meta)


def split_by_quadrant(alpha: Array, focused: Array, correct: Array) -> Mapping[str, Array]:
    """Attention entropy on the bags of each quadrant, NaN where a member has none.

    Args:
        alpha: Attention, shape (S, n, m).
        focused: Whether the focus is right, shape (S, n).
        correct: Whether the prediction is right, shape (S, n).

    Returns:
        In the order of ``QUADRANTS``, each (S, 4): ``split_count`` of bags; means of ``split_ent``
        in bits and ``split_nnz``; ``split_spread``, the share with at least 1 bit. [pvr22] Sec. 5
    """
    ent = entropy_bits(alpha)
    measures = {"ent": ent, "nnz": nonzeros(alpha), "spread": ent >= SPREAD_BITS}
    inside = np.stack(
        [
            (focused if q[1] == "t" else ~focused) & (correct if q[3] == "t" else ~correct)
            for q in QUADRANTS
        ],
        1,
    )  # (S, 4, n)
    count = inside.sum(-1)
    safe = np.where(count == 0, 1, count)
    split = {
        f"split_{name}": np.where(count == 0, np.nan, (inside * value[:, None]).sum(-1) / safe)
        for name, value in measures.items()
    }
    return {"split_count": count, **split}


def _weights(stack: Stack, suffix: str) -> dict[str, Array]:
    """The small weights by name: all of f's, and g's where it is linear."""
    tensors = {k: v.numpy() for k, v in stack.tensors().items()}
    g = [k for k in tensors if k.startswith("g.")]
    f_w, f_b = (v for k, v in tensors.items() if k.startswith("f."))
    values = {f"f_w{suffix}": f_w[:, 0], f"f_b{suffix}": f_b[:, 0]}
    if len(g) == 2:
        values |= {f"g_w{suffix}": tensors[g[0]], f"g_b{suffix}": tensors[g[1]]}
    return values


@torch.no_grad()
def _regions(stack: Stack, boxes: Boxes) -> Array:
    left, right, low, high = window(boxes)
    middle = (torch.arange(CELLS) + 0.5) / CELLS
    y, x = torch.meshgrid(
        low + (high - low) * middle, left + (right - left) * middle, indexing="ij"
    )
    grid = torch.stack([x, y], -1).flatten(0, 1).to(stack.dtype)
    chosen: Tensor = stack.run(_classes, grid.expand(len(stack), -1, -1))
    return chosen.view(len(stack), CELLS, CELLS).numpy().astype(np.int8)


def _classes(model: AttentionModel, x: Tensor) -> Any:
    return model.g(x).argmax(-1)


def _points(bag: Bag) -> Array:
    if not isinstance(bag.x, Tensor):
        raise TypeError("the error modes have points for segments, not mosaics")
    return bag.x.numpy()


def accurate(record: Record) -> Array:
    """Which members end accurate, shape (S,)."""
    return record.last("accuracy") >= ACCURATE


def misfocused(record: Record) -> Array:
    """Which members ended in the error mode: accurate, with low FT, shape (S,)."""
    return accurate(record) & (record.last("ft") < FOCUSED)


def epochs_to_accuracy(record: Record) -> Array:
    """Epochs until accuracy is first measured at .95 or more, NaN where it never is, shape (S,)."""
    reached = record.values["accuracy"] >= ACCURATE
    return np.where(reached.any(0), record.t[reached.argmax(0)].astype(float), np.nan)
