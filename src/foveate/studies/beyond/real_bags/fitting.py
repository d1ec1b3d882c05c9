"""One part: bags fitted as ``foveate fit`` does, scored, and their maps compared with relevance."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from foveate.bags.bag import Bag
from foveate.io.collection import Collection
from foveate.jobs.fit import resume_fit, start_fit
from foveate.metrics.localisation import pointing_game, segment_auroc
from foveate.records.record import Record, load_arrays
from foveate.records.runs import Run, open_run
from foveate.studies.beyond.real_bags.sets import SETS
from foveate.trust.segment_maps import MAP_KINDS, segment_map
from foveate.types import Array, StepProgress
from foveate.userdata.cross_fit import OUT_OF_FOLD
from foveate.userdata.ensemble import MIXTURE, open_ensemble
from foveate.userdata.fitted import FittedModel
from foveate.userdata.folds import load_folds
from foveate.userdata.scores import scores
from foveate.userdata.settings import FitSettings

if TYPE_CHECKING:
    from foveate.studies.beyond.real_bags import RealBagsSettings

__all__ = ["MEASURES", "first_of_each_class", "fit_part", "score_values"]

MEASURES = ("auroc", "accuracy", "log_loss")
POINTS = ("ft", "segment_auroc", "removal")


def fit_part(
    settings: "RealBagsSettings",
    name: str,
    repeat: int,
    paradigms: tuple[str, ...] | None,
    checkpoint: Path,
    progress: StepProgress,
) -> Record:
    """Scores of every paradigm, baseline and the mixture of one set and one draw of folds.

    ``final`` has for each of them its AUC, accuracy and log loss, and for each map of each model
    FT, segment AUROC and the drop of the log-odds of the label when the top segment is removed.

    Args:
        settings: Changes of the settings of a fit.
        name: The set.
        repeat: Decides the folds.
        paradigms: What is fitted; None for the default of ``foveate fit``.
        checkpoint: A file in the folder of the part.
        progress: Called as ``progress(done, total)``.
    """
    collection = SETS[name].load()
    if settings.bags:
        collection = first_of_each_class(collection, settings.bags)
    changes = {"paradigms": paradigms} if paradigms else {}
    fit_settings = FitSettings(split_seed=repeat, **{**settings.fit_changes(), **changes})
    run = _fitted(collection, fit_settings, checkpoint.parent / "fit", progress)
    arrays = load_arrays(run.path / OUT_OF_FOLD)
    y = arrays["y"]
    every = [key.removeprefix("p/") for key in arrays if key.startswith("p/")]
    names = every if paradigms is None else list(paradigms)
    final = {key: value for n in names for key, value in score_values(n, arrays[f"p/{n}"], y)}
    explained = (
        [MIXTURE, *fit_settings.paradigms] if paradigms is None else list(fit_settings.paradigms)
    )
    final |= _map_values(run, collection, explained)
    meta = {
        "set": name,
        "role": SETS[name].role,
        "repeat": repeat,
        "names": names,
        "explained": explained if collection.known is not None else [],
        "weights": run.manifest["weights"],
        "bags": len(y),
        "cpu_seconds": run.manifest.get("cpu_seconds"),
    }
    return Record(np.zeros(1), {}, final, meta)


def score_values(name: str, p: Array, y: Array) -> list[tuple[str, Array]]:
    """AUC, accuracy and log loss of probabilities (n, 2), as entries of a record."""
    values = scores(p, y)
    return [(f"{name}/{measure}", np.array(values[measure].mean)) for measure in MEASURES]


def first_of_each_class(collection: Collection, n: int) -> Collection:
    """At most n bags, classes in turn."""
    y = collection.bag.y.numpy()
    ranks = np.zeros(len(y), int)
    for c in np.unique(y):
        ranks[y == c] = np.arange((y == c).sum())
    return collection.take(np.sort(np.argsort(ranks, kind="stable")[:n]))


def _fitted(
    collection: Collection, settings: FitSettings, folder: Path, progress: StepProgress
) -> Run:
    """The fit in a folder, started, continued or finished already."""
    done: dict[str, float] = {}

    def report(part: str, epoch: int, epochs: int) -> None:
        done[part] = epoch / max(1, epochs)
        parts = len(settings.paradigms) * settings.folds + 1
        progress(round(100 * sum(done.values()) / parts), 100)

    if (folder / "manifest.json").exists():
        run = open_run(folder)
        return run if run.done else resume_fit(run, report, collection)
    return start_fit(collection, settings, folder, report=report)


def _map_values(run: Run, collection: Collection, names: list[str]) -> dict[str, Array]:
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
