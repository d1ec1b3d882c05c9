"""Scores of one part: AUC, accuracy and log loss, and how well maps of segments point."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from foveate.bags.bag import Bag
from foveate.io.collection import Collection
from foveate.metrics.localisation import pointing_game, segment_auroc
from foveate.records.runs import Run
from foveate.trust.segment_maps import MAP_KINDS, segment_map
from foveate.types import Array
from foveate.userdata.ensemble import open_ensemble
from foveate.userdata.fitted import FittedModel
from foveate.userdata.folds import load_folds
from foveate.userdata.scores import scores

__all__ = ["MEASURES", "map_values", "score_values"]

MEASURES = ("auroc", "accuracy", "log_loss")


def score_values(name: str, p: Array, y: Array) -> list[tuple[str, Array]]:
    """AUC, accuracy and log loss of probabilities (n, 2), as entries of a record."""
    values = scores(p, y)
    return [(f"{name}/{measure}", np.array(values[measure].mean)) for measure in MEASURES]


def map_values(run: Run, collection: Collection, names: list[str]) -> dict[str, Array]:
    """FT, segment AUROC and removal of every map of the named models, mean over bags.

    Each bag is read by the models of the fold that held it out.
    """
    folds = load_folds(run.path)
    if collection.known is None or collection.bag.z is None or folds is None:
        return {}
    known = collection.known.numpy() & collection.bag.z.any(1).numpy()
    scores: dict[str, list[Array]] = {}
    for name in names:
        for repeat, fold in folds.parts:
            rows = folds.rows[folds.held_out(repeat, fold)]
            rows = rows[known[rows]]
            if not len(rows):
                continue
            model = open_ensemble(run, name, [(repeat, fold)])
            part = collection.take(torch.from_numpy(rows))
            for key, value in _measured(model, part).items():
                scores.setdefault(f"{name}/{key}", []).append(value)
    return {key: np.array(np.nanmean(np.concatenate(value))) for key, value in scores.items()}


def _measured(model: FittedModel, collection: Collection) -> dict[str, Array]:
    """Of each bag with known relevance, by map: FT, segment AUROC and removal, shape (n,)."""
    bag = model.bags(collection)
    explained = model.explain(bag)
    raw = collection.bag
    assert raw.z is not None
    mask = np.ones(raw.shape, bool) if raw.mask is None else raw.mask.numpy()
    y, before = raw.y.numpy(), _log_odds(model, bag, raw.y.numpy())
    values: dict[str, Array] = {}
    for kind in MAP_KINDS:
        scored = np.full(mask.shape, -np.inf)
        for row, part in enumerate(segment_map(explained, kind)):
            scored[row, mask[row]] = part[:, y[row]]
        z = raw.z.numpy() & mask
        values[f"{kind}/ft"] = pointing_game(scored, z, mask)
        values[f"{kind}/segment_auroc"] = segment_auroc(scored, z, mask)
        without = mask.copy()
        without[np.arange(len(y)), scored.argmax(1)] = False
        several = mask.sum(1) > 1
        drop = np.full(len(y), np.nan)
        if several.any():
            rest = replace(
                bag.take(torch.from_numpy(several)), mask=torch.from_numpy(without[several])
            )
            drop[several] = before[several] - _log_odds(model, rest, y[several])
        values[f"{kind}/removal"] = drop
    return values


def _log_odds(model: FittedModel, bag: Bag, y: Array) -> Array:
    """Log-odds of the label, shape (n,)."""
    p: Any = model.probabilities(model.explain(bag, with_evidence=False))
    label_p = np.clip(p[np.arange(len(y)), y], 1e-6, 1 - 1e-6)
    odds: Array = np.log(label_p) - np.log1p(-label_p)
    return odds
