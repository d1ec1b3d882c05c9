"""One part of the study: bags fitted as ``foveate fit`` does, and scored out of fold."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from foveate.io.collection import Collection
from foveate.jobs.fit import resume_fit, start_fit
from foveate.records.record import Record, load_arrays
from foveate.records.runs import Run, open_run
from foveate.studies.beyond.real_bags.label_fits import fit_labels, label_values
from foveate.studies.beyond.real_bags.scoring import map_values, score_values
from foveate.studies.beyond.real_bags.sets import SETS
from foveate.types import Array, StepProgress
from foveate.userdata.cross_fit import OUT_OF_FOLD
from foveate.userdata.ensemble import MIXTURE
from foveate.userdata.settings import FitSettings

if TYPE_CHECKING:
    from foveate.studies.beyond.real_bags import RealBagsSettings

__all__ = ["first_of_each_class", "fit_part"]


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
    FT, segment AUROC and the drop of the log-odds of the label when the top segment is removed; of
    multi-label bags means over labels, and scores of the decisions about all labels.

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
    folder = checkpoint.parent / "fit"
    meta = {"set": name, "role": SETS[name].role, "repeat": repeat, "bags": len(collection)}
    scored: dict[str, Any] = {}
    if collection.multi_label:
        run = fit_labels(collection, fit_settings, folder, progress)
        final = label_values(run)
    else:
        run = _fitted(collection, fit_settings, folder, progress)
        final, scored = _values(run, collection, fit_settings.paradigms, paradigms)
    meta |= {**scored, "cpu_seconds": run.manifest.get("cpu_seconds")}
    return Record(np.zeros(1), {}, final, meta)


def first_of_each_class(collection: Collection, n: int) -> Collection:
    """At most n bags, classes in turn; of multi-label bags the first n."""
    if collection.multi_label:
        return collection.take(slice(0, n))
    y = collection.bag.y.numpy()
    ranks = np.zeros(len(y), int)
    for c in np.unique(y):
        ranks[y == c] = np.arange((y == c).sum())
    return collection.take(np.sort(np.argsort(ranks, kind="stable")[:n]))


def _values(
    run: Run, collection: Collection, fitted: tuple[str, ...], asked: tuple[str, ...] | None
) -> tuple[dict[str, Array], dict[str, Any]]:
    """Scores of the models of a finished fit, and which models these are."""
    arrays = load_arrays(run.path / OUT_OF_FOLD)
    every = [key.removeprefix("p/") for key in arrays if key.startswith("p/")]
    names = list(asked or every)
    y = arrays["y"]
    final = {key: value for n in names for key, value in score_values(n, arrays[f"p/{n}"], y)}
    explained = list(fitted) if asked else [MIXTURE, *fitted]
    final |= map_values(run, collection, explained)
    with_map = explained if collection.known is not None else []
    return final, {"names": names, "explained": with_map, "weights": run.manifest["weights"]}


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
