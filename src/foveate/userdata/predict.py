"""Predictions and explanations of new bags, as tables."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foveate.bags.bag import Bag
from foveate.errors import DataWarning, FoveateError
from foveate.io.collection import Collection
from foveate.records.record import Array, write_atomically
from foveate.trust.explanation import Explained
from foveate.trust.segment_maps import DEFAULT_MAP, MapKind, ranking, signed_map
from foveate.types import PartProgress
from foveate.userdata.fitted import Explainer, FittedModel
from foveate.userdata.shift import compare, load_summary

__all__ = [
    "SEPARATOR",
    "SPREAD",
    "Answer",
    "answer",
    "bags_table",
    "check_format",
    "contents_of_segments",
    "read_new_bags",
    "segments_table",
    "warn_of_shift",
    "write_table",
]

FORMATS = (".csv", ".parquet")
PLACES = {1: ("position",), 2: ("x", "y"), 3: ("x", "y", "z"), 4: ("x", "y", "width", "height")}
WINDOW = ("start", "end")
KNOWN_IN_TRAINING = {"label", "labels", "relevance", "group", "split"}  # new data may do without
SPREAD = (0.05, 0.95)  # quantiles over members
SEPARATOR = "|"  # between the classes of a prediction set


class Answer(NamedTuple):
    """Predictions of a fitted model for a collection.

    Args:
        bag: The bags as the models read them.
        explained: Attention, evidence and log-probabilities, the null segment included.
        p: Calibrated probabilities, shape (n, C).
    """

    bag: Bag
    explained: Explained
    p: Array


def read_new_bags(
    fitted: FittedModel,
    data: Path,
    columns: Mapping[str, Any] | None = None,
    report: PartProgress | None = None,
) -> Collection:
    """New bags, read as those of the fit were.

    Args:
        fitted: The models.
        data: Bags laid out like those of the fit; labels, relevance and groups may be absent.
        columns: Keywords of :func:`foveate.io.read_bags` that differ from those of the fit.
        report: Called as ``report("reading", done, total)``.
    """
    from foveate.io.check import require_sound
    from foveate.userdata.source import Origin

    origin = fitted.run.manifest["data"].get("origin") or {"columns": {}}
    options = dict(columns or {})
    new = Origin(data, {**origin["columns"], **options})
    features = [name.partition("[")[0] for name in fitted.preparation.columns]
    keywords = {"classes": fitted.classes, "report": report, "features": features}
    try:
        collection = new.read(labelled=True if "label" in options else None, **keywords)
    except FoveateError as error:
        if options.keys() & KNOWN_IN_TRAINING or "has no column" not in str(error):
            raise
        collection = new.read(labelled=False, **keywords)
    require_sound(collection, learning=False)
    return collection


def answer(
    fitted: FittedModel,
    collection: Collection,
    report: PartProgress | None = None,
    *,
    with_evidence: bool = True,
) -> Answer:
    """Read a collection, labelled or not.

    Args:
        fitted: The models.
        collection: The bags.
        report: Called as ``report("reading", bags done, bags)``.
        with_evidence: Whether what each segment says is wanted too.
    """
    bag = fitted.bags(collection, report)
    explained = fitted.explain(bag, report, with_evidence=with_evidence)
    return Answer(bag, explained, fitted.probabilities(explained))


def warn_of_shift(fitted: FittedModel, collection: Collection) -> tuple[str, ...] | None:
    """Warn of differences from the training bags.

    Args:
        fitted: The models.
        collection: New bags.

    Returns:
        What is unusual in each bag; None if the run is of an older version and cannot tell.
    """
    summary = load_summary(fitted.run.path)
    if summary is None:
        return None
    shift = compare(summary, collection, fitted.preparation.vocabulary)
    for sentence in shift.warnings:
        warnings.warn(f"{collection.source}, {sentence}", DataWarning, stacklevel=2)
    return shift.unusual


def bags_table(
    fitted: FittedModel,
    collection: Collection,
    answers: Answer,
    unusual: Sequence[str] | None = None,
) -> Any:
    """One row a bag: name, label where known, predicted class, calibrated probabilities.

    ``low_CLASS`` and ``high_CLASS`` are the 5 % and 95 % quantiles of the probability over the
    members of the ensemble: how much members differ, not a confidence interval. Where the run
    abstains, ``predicted`` is empty for a bag whose ``prediction_set`` has not exactly one class.
    ``top_segment`` is the segment with most attention, counted from 0, ``top_attention`` how much
    it has, ``null_attention`` what rests on the null segment where there is one, ``unusual`` what
    differs from the training bags.
    """
    import pyarrow as pa

    first = int(fitted.preparation.null)
    alpha = [member_alpha[first:] for member_alpha in answers.explained.alpha]
    columns: dict[str, Any] = {"bag": list(collection.ids)}
    if collection.labelled:
        known = collection.label_known
        sure = [True] * len(collection) if known is None else known.tolist()
        columns["label"] = [
            fitted.classes[c] if is_known else None
            for c, is_known in zip(answers.bag.y.tolist(), sure, strict=True)
        ]
    columns |= _decisions(fitted, answers.p)
    p = answers.p.astype(np.float32)  # digits that mean something
    columns |= {f"p_{name}": p[:, c] for c, name in enumerate(fitted.classes)}
    columns |= _spreads(fitted, answers.explained)
    columns["segments"] = [len(member_alpha) for member_alpha in alpha]
    columns["top_segment"] = [int(member_alpha.argmax()) for member_alpha in alpha]
    columns["top_attention"] = np.array([member_alpha.max() for member_alpha in alpha], np.float32)
    if first:
        columns["null_attention"] = [
            float(member_alpha[0]) for member_alpha in answers.explained.alpha
        ]
    if unusual is not None:
        columns["unusual"] = list(unusual)
    return pa.table(columns)


def _decisions(fitted: FittedModel, p: Array) -> dict[str, Any]:
    """The predicted class of each bag, and its prediction set if the run abstains."""
    sets = fitted.answered(p)
    if sets is None:
        return {"predicted": [fitted.classes[c] for c in fitted.predicted(p)]}
    names = [[fitted.classes[c] for c in np.flatnonzero(row)] for row in sets]
    return {
        "predicted": [
            prediction_set[0] if len(prediction_set) == 1 else None for prediction_set in names
        ],
        "prediction_set": [SEPARATOR.join(prediction_set) for prediction_set in names],
    }


def _spreads(fitted: FittedModel, explained: Explained) -> dict[str, Any]:
    """Quantiles of each class's probability over the members, if there are several."""
    members = fitted.member_probabilities(explained)
    if len(members) < 2:
        return {}
    low, high = np.quantile(members, SPREAD, axis=0).astype(np.float32)
    columns: dict[str, Any] = {}
    for c, name in enumerate(fitted.classes):
        columns |= {f"low_{name}": low[:, c], f"high_{name}": high[:, c]}
    return columns


def segments_table(
    fitted: Explainer,
    collection: Collection,
    answers: Answer,
    unusual: Sequence[str] | None = None,
    kind: MapKind = DEFAULT_MAP,
) -> Any:
    """One row a segment: bag, number from 0, text and place, attention, rank, signed evidence.

    Rank 1 has the segment that is highest in the map for the predicted class
    (:mod:`foveate.trust.segment_maps`); equals share the better rank. Signed evidence is the map
    if it has a sign; else evidence for the posterior, and the product for attention.
    """
    import pyarrow as pa

    first = int(fitted.null)
    alpha = [member_alpha[first:] for member_alpha in answers.explained.alpha]
    lengths = [len(member_alpha) for member_alpha in alpha]
    columns: dict[str, Any] = {
        "bag": np.repeat(np.array(collection.ids, dtype=object), lengths),
        "segment": np.concatenate([np.arange(length) for length in lengths]),
    }
    columns |= contents_of_segments(collection)
    columns["attention"] = np.concatenate(alpha)
    order = ranking(answers.explained, fitted.predicted(answers.p), kind)
    columns["rank"] = np.concatenate([_ranks(member_alpha[first:]) for member_alpha in order])
    evidence = np.concatenate(
        [member_alpha[first:] for member_alpha in signed_map(answers.explained, kind)]
    )
    columns |= {f"evidence_{name}": evidence[:, c] for c, name in enumerate(fitted.classes)}
    if unusual is not None:
        columns["unusual"] = np.repeat(np.array(unusual, dtype=object), lengths)
    return pa.table(columns)


def contents_of_segments(collection: Collection) -> dict[str, Any]:
    """Texts, places and relevance of all segments, bag after bag."""
    bag = collection.bag
    columns: dict[str, Any] = {}
    rows = (bag.index.flatten() if bag.mask is None else bag.index[bag.mask]).tolist()
    if collection.words is not None:
        columns["text"] = [collection.words[row] for row in rows]
    if collection.places is not None:
        places = collection.places[rows].numpy()
        series = collection.kind == "series" and places.shape[1] == 2
        names = WINDOW if series else PLACES.get(places.shape[1], ())
        columns |= {name: places[:, k] for k, name in enumerate(names)}
    if bag.z is not None:
        known = np.ones(len(bag), bool) if collection.known is None else collection.known.numpy()
        mask = np.ones(bag.shape, bool) if bag.mask is None else bag.mask.numpy()
        z = np.where(known[:, None], bag.z.numpy(), None)  # type: ignore[call-overload]
        columns["relevant"] = z[mask].tolist()
    return columns


def _ranks(values: Array) -> Array:
    """1 for the largest value; equals share the better rank.

    Example:
        >>> _ranks(np.array([0.2, 0.6, 0.2])).tolist()
        [2, 1, 2]
    """
    above = -np.sort(-values)
    ranks: Array = np.searchsorted(-above, -values) + 1
    return ranks


def write_table(path: Path, table: Any) -> Path:
    """Write a table atomically as CSV or Parquet, by its suffix."""
    from pyarrow import csv, parquet

    check_format(path)
    writing = csv.write_csv if path.suffix.lower() == ".csv" else parquet.write_table
    write_atomically(path, lambda file: writing(table, file))
    return path


def check_format(path: Path) -> None:
    """Check that a table can be written to a path, before any computation."""
    if path.suffix.lower() not in FORMATS:
        raise FoveateError(f"tables are written as .csv or .parquet, got '{path.name}'")
