"""Trained models of a fit, with bags on which they can be examined."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch

from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.io.check import require_sound
from foveate.io.collection import Collection
from foveate.jobs.job import NewBags, TrainedPart
from foveate.records.runs import Run
from foveate.types import PartProgress
from foveate.userdata.ensemble import load_fitted, open_ensemble
from foveate.userdata.fitted import Fitted
from foveate.userdata.folds import load_folds
from foveate.userdata.predict import warn_of_shift
from foveate.userdata.source import Origin, fingerprint, read_again
from foveate.userdata.split import held_out, trained_on

if TYPE_CHECKING:
    from foveate.training.stack import Stack
    from foveate.trust.subject import Subject

__all__ = ["trained_fit_parts"]


def trained_fit_parts(
    run: Run, names: Sequence[str], new: NewBags | None, progress: PartProgress | None
) -> Iterator[TrainedPart]:
    """Trained models of a fit with labelled bags that they were not trained on.

    Args:
        run: A finished fit.
        names: Which paradigms.
        new: Bags to examine them on; the fit's held-out bags if None.
        progress: Called as ``progress(part, done, total)``.
    """
    if new is None:
        whole = _all_bags(run)
        collection, other = _held_out_bags(run, whole), _training_bags(run, whole)
    else:
        collection, other = _read_new(run, new), None
        require_sound(collection, learning=False)
        warn_of_shift(load_fitted(run.path, names[0]), collection)
    known = None if collection.known is None else collection.known.numpy()
    bag: Bag | None = None
    more: Bag | None = None
    for name in names:
        fitted = load_fitted(run.path, name)
        assert isinstance(fitted, Fitted)  # names are those of model_records
        if bag is None:
            bag = fitted.bags(collection, progress)
            more = None if other is None else fitted.bags(other, progress)
        models = fitted.stack if new is not None else _held_out_models(run, name, fitted)
        ids, labels = collection.ids, _other_labels(collection)
        yield TrainedPart(name, models, bag, fitted.classes, known, ids, more, labels)


def _all_bags(run: Run) -> Collection:
    """The bags of a fit, read again from where they came."""
    data = run.manifest["data"]
    collection = read_again(data.get("origin"), run, classes=run.manifest["classes"])
    if fingerprint(collection) != data["fingerprint"]:
        raise FoveateError(
            f"{data['source']} is not what it was when {run.name} was fitted: give --data"
        )
    return collection


def _other_labels(collection: Collection) -> Any:
    """Labels of the bags other than their class, boolean (n, L); None if there are none."""
    labels = collection.labels
    return None if labels is None or not labels.shape[1] else labels.numpy()


def _held_out_bags(run: Run, collection: Collection) -> Collection:
    """Bags on which the models were not trained.

    They are the test part; in a cross-fitted run without one, all bags, each of which is read by
    the models of the fold that held it out.
    """
    folds = load_folds(run.path)
    if folds is None:
        return held_out(collection, run.path)
    return collection.take(torch.from_numpy(folds.test if len(folds.test) else folds.rows))


def _training_bags(run: Run, collection: Collection) -> Collection | None:
    """Further bags with labels, which the auditor may learn from; None if there are none."""
    folds = load_folds(run.path)
    if folds is None:
        return trained_on(collection, run.path)
    return collection.take(torch.from_numpy(folds.rows)) if len(folds.test) else None


def _held_out_models(run: Run, name: str, fitted: Fitted) -> "Stack | Subject":
    """The models of a paradigm that were not trained on the bags of :func:`_held_out_bags`."""
    from foveate.trust.crossfitted import CrossFitted
    from foveate.trust.subject import as_subject

    folds = load_folds(run.path)
    if folds is None or len(folds.test):
        return fitted.stack
    parts = []
    for k in range(folds.inner.shape[1]):
        models = open_ensemble(run, name, [(0, k)])
        assert isinstance(models, Fitted)
        parts.append((as_subject(models.stack, name), folds.held_out(0, k)))
    return CrossFitted(parts)


def _read_new(run: Run, new: NewBags) -> Collection:
    """New labelled bags, read with the fit's columns except those that are given."""
    columns = (run.manifest["data"].get("origin") or {"columns": {}})["columns"]
    origin = Origin(new.path, {**columns, **new.columns})
    features = [name.partition("[")[0] for name in run.manifest["columns"]]
    return origin.read(labelled=True, classes=run.manifest["classes"], features=features)
