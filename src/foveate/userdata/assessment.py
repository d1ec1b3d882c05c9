"""Assessment of out-of-fold predictions: scores, mixture, comparison with baselines, decisions."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from foveate.metrics.calibration import calibrated, temperature
from foveate.types import Array
from foveate.userdata.abstention import abstention_entry
from foveate.userdata.baselines import BASELINES, LINEAR
from foveate.userdata.ensemble import MIXTURE
from foveate.userdata.mixture import (
    cross_calibrate,
    cross_mix,
    mix,
    part_weights,
)
from foveate.userdata.scores import auroc_difference, scores
from foveate.userdata.settings import FitSettings
from foveate.userdata.thresholds import threshold_entry

__all__ = ["OutOfFold", "assess", "score_lists"]


class OutOfFold(NamedTuple):
    """Out-of-fold predictions of several models for the same bags.

    Args:
        p: Probabilities (n, C) of every paradigm and baseline.
        y: Labels, shape (n,).
        fold: Fold of each bag, shape (n,).
        group: Groups, shape (n,), or None.
    """

    p: Mapping[str, Array]
    y: Array
    fold: Array
    group: Array | None


def assess(
    out_of_fold: OutOfFold, settings: FitSettings
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Scores of every model and of the mixture; every number comes from other folds.

    Args:
        out_of_fold: Out-of-fold predictions, before calibration.
        settings: Settings of the fit.

    Returns:
        Entries of the manifest, and arrays to store: calibrated probabilities of each model as
        ``p/NAME``, those of the mixture before calibration as ``uncalibrated``.
    """
    p, y, fold = out_of_fold.p, out_of_fold.y, out_of_fold.fold
    temperatures = {name: temperature(value, y) for name, value in p.items()}
    honest = {name: cross_calibrate(value, y, fold) for name, value in p.items()}
    mixed = list(p)
    weigh = partial(part_weights, linear=np.array([name in LINEAR for name in mixed]))
    final = np.stack([calibrated(p[name], temperatures[name]) for name in mixed])
    weights = weigh(final, y)
    raw = cross_mix(np.stack(list(p.values())), y, fold, weigh)
    honest[MIXTURE] = cross_mix(np.stack(list(honest.values())), y, fold, weigh)
    temperatures[MIXTURE] = temperature(mix(weights, final), y)
    order = [MIXTURE, *settings.paradigms, *BASELINES]
    entries: dict[str, Any] = {
        "chosen": MIXTURE,
        "weights": dict(zip(mixed, weights.tolist(), strict=True)),
        "scores": {
            name: _entry(name, honest[name], temperatures[name], out_of_fold)
            for name in sorted(honest, key=order.index)
        },
        "comparison": _comparison(honest, out_of_fold, settings),
        "recall": _recall(honest[MIXTURE], y),
    }
    if settings.threshold != "none":
        entries["threshold"] = threshold_entry(honest[MIXTURE], y, fold, settings.threshold)
    if settings.abstain is not None:
        entries["abstention"] = abstention_entry(honest[MIXTURE], y, fold, settings.abstain)
    arrays = {f"p/{name}": value for name, value in honest.items()}
    return entries, {**arrays, "y": y, "uncalibrated": raw}


def score_lists(p: Array, y: Array, group: Array | None) -> dict[str, list[float | None]]:
    """All measures with their intervals, as a manifest stores them."""
    return {name: list(value) for name, value in scores(p, y, group).items()}


def _entry(name: str, p: Array, t: float, out_of_fold: OutOfFold) -> dict[str, Any]:
    kind = "baseline" if name in BASELINES else MIXTURE if name == MIXTURE else "attention"
    numbers = score_lists(p, out_of_fold.y, out_of_fold.group)
    return {"kind": kind, "temperature": t, "out_of_fold": numbers}


def _comparison(
    p: Mapping[str, Array], out_of_fold: OutOfFold, settings: FitSettings
) -> dict[str, Any]:
    """The best attention model, and the mixture, against baselines by out-of-fold AUROC.

    ``of_mixture`` has the difference between the mixture and each baseline, the best one first.
    """
    area = {name: scores(value, out_of_fold.y)["auroc"].mean for name, value in p.items()}
    attention = max((n for n in p if n in settings.paradigms), key=lambda n: area[n])
    baselines = sorted((n for n in p if n in BASELINES), key=lambda n: -area[n])
    baseline = baselines[0]
    difference = auroc_difference(p[attention], p[baseline], out_of_fold.y, out_of_fold.group)
    gaps = {
        n: auroc_difference(p[MIXTURE], p[n], out_of_fold.y, out_of_fold.group) for n in baselines
    }
    as_good = difference.low is None or difference.low <= 0
    return {
        "attention": attention,
        "baseline": baseline,
        "difference": list(difference),
        "as_good": as_good,
        "of_mixture": {name: list(gap) for name, gap in gaps.items()},
    }


def _recall(p: Array, y: Array) -> list[float | None]:
    """The share of each class that the most probable class gets right."""
    right = p.argmax(1) == y
    return [float(right[y == c].mean()) if (y == c).any() else None for c in range(p.shape[1])]
