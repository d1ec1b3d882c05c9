"""Trained models on the released split: test mosaics that are cut from the training images."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from foveate.attention.paradigms import Paradigm
from foveate.bags.bag import Bag
from foveate.data.image_mosaics import relevant_seen
from foveate.metrics.focus import focus_and_prediction
from foveate.records.record import Array, Record
from foveate.training.evaluation import read_stack
from foveate.training.stack import MemberBags

__all__ = [
    "RELEASED",
    "mosaic_scores",
    "percentages_by_images",
    "read_released",
    "released_record",
]

RELEASED = "released split"
PREFIX = "released_"
TAU = 0.8  # [vr23] Sec. 2.4


def read_released(
    record: Record, train: Sequence[Bag], test: Sequence[Bag], rule: Paradigm
) -> Record:
    """A record whose ``final`` has what its models give on the released split too.

    Scores, attention, predictions, labels and relevance have the names of the clean split after
    ``released_``; ``seen`` (S, n) is whether the relevant image of a mosaic was trained on.

    Args:
        record: Of a training that has just ended, with its models.
        train: The training mosaics of each seed.
        test: The mosaics of each seed to read, cut from the same images.
        rule: Whose inference.
    """
    bags = MemberBags(list(test), len(test))
    reading = read_stack(record.trained, bags, rule)
    seen = [relevant_seen(*both).numpy() for both in zip(train, test, strict=True)]
    values = {
        "s": reading.s.numpy(),
        "alpha": reading.alpha.numpy(),
        "log_p": reading.log_p.numpy(),
        "y": bags.y.numpy(),
        "z": np.stack([bag.z.numpy() for bag in test if bag.z is not None]),
    }
    released = {f"{PREFIX}{name}": value for name, value in values.items()}
    return replace(record, final={**record.final, **released, "seen": np.stack(seen)})


def released_record(record: Record) -> Record:
    """The record as if it had been measured on the released split.

    Args:
        record: From :func:`read_released`.
    """
    final = {
        name.removeprefix(PREFIX): value
        for name, value in record.final.items()
        if name.startswith(PREFIX)
    }
    return replace(record, final=final)


def mosaic_scores(record: Record) -> dict[str, Array]:
    """Which bags count for SAIF, and which are predicted right, each (S, n)."""
    a_z, p_y = focus_and_prediction(record)
    right = record.final["log_p"].argmax(-1) == record.final["y"]
    return {"SAIF": (a_z >= TAU) & (p_y >= TAU), "accuracy": right}


def percentages_by_images(flags: Mapping[str, Array], seen: Array) -> dict[str, Array]:
    """Shares of bags in percent by seed, over all and apart by whether an image was trained on.

    Args:
        flags: By name, for example "accuracy": whether it holds for each bag, shape (S, n).
        seen: Whether the relevant image of each bag was trained on, shape (S, n).

    Example:
        >>> flags = {"accuracy": np.array([[True, False, True, True]])}
        >>> seen = np.array([[True, True, False, False]])
        >>> {name: float(v[0]) for name, v in percentages_by_images(flags, seen).items()}
        {'accuracy %': 75.0, 'accuracy, seen images %': 50.0, 'accuracy, unseen images %': 100.0,\
 'images seen %': 50.0}
    """
    parts = {"": np.ones_like(seen), ", seen images": seen, ", unseen images": ~seen}
    shares = {
        f"{name}{title} %": 100 * (values & where).sum(-1) / where.sum(-1)
        for title, where in parts.items()
        if where.any(-1).all()
        for name, values in flags.items()
    }
    return {**shares, "images seen %": 100 * seen.mean(-1)}
