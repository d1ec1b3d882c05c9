"""Multi-label bags: one fit per label on shared folds; their scores, predictions and evidence."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foveate.errors import FoveateError
from foveate.io.collection import Collection
from foveate.records.runs import Run, open_run
from foveate.trust.segment_maps import DEFAULT_MAP, MapKind, signed_map
from foveate.types import Array, PartProgress
from foveate.userdata.ensemble import load_fitted
from foveate.userdata.fitted import FittedModel
from foveate.userdata.predict import SEPARATOR, SPREAD, Answer, answer, contents_of_segments

__all__ = [
    "FIT",
    "KIND",
    "LabelScores",
    "label_folder",
    "label_runs",
    "labels_segments_table",
    "labels_table",
    "load_labels",
    "overall_scores",
    "read_labels",
]

KIND = "multi-label"
FIT = "fit"  # folder of a label's own fit, within the folder of its part
POSITIVE = 1  # class "yes" of a label's fit


class LabelScores(NamedTuple):
    """Decisions about all labels, out of fold.

    Args:
        has: Which labels the bags have, boolean, shape (n, L).
        called: Which labels are predicted, boolean, shape (n, L).
    """

    has: Array
    called: Array


def label_folder(number: int) -> str:
    """The name of the part that fits a label, counted from 0.

    Example:
        >>> label_folder(0)
        'label1'
    """
    return f"label{number + 1}"


def overall_scores(decided: LabelScores) -> dict[str, float]:
    r"""Scores over all labels.

    Micro-averaged F1 counts all pairs of bag and label together; macro-averaged F1 is the mean of
    the labels' F1 scores; the Hamming loss is the share of pairs that are wrong; subset accuracy is
    the share of bags whose labels are all right.

    Args:
        decided: Decisions about all labels.

    Example:
        >>> has = np.array([[True, False], [True, True]])
        >>> called = np.array([[True, False], [False, True]])
        >>> {k: round(v, 3) for k, v in overall_scores(LabelScores(has, called)).items()}
        {'micro_f1': 0.8, 'macro_f1': 0.833, 'hamming_loss': 0.25, 'subset_accuracy': 0.5}
    """
    has, called = decided
    f1 = f1_scores(decided)
    hits, both = float((has & called).sum()), float(has.sum() + called.sum())
    return {
        "micro_f1": 2 * hits / both if both else 1.0,
        "macro_f1": float(f1.mean()),
        "hamming_loss": float((has != called).mean()),
        "subset_accuracy": float((has == called).all(1).mean()),
    }


def f1_scores(decided: LabelScores) -> Array:
    """F1 of each label, shape (L,); 1 for a label that no bag has and none is given."""
    hits = (decided.has & decided.called).sum(0).astype(float)
    both = (decided.has.sum(0) + decided.called.sum(0)).astype(float)
    return np.divide(2 * hits, both, out=np.ones_like(hits), where=both > 0)


def label_runs(run: Run) -> dict[str, Run]:
    """The fit of each label of a multi-label run, by the name of the label."""
    names = run.manifest["labels"]
    return {name: open_run(run.path / label_folder(k) / FIT) for k, name in enumerate(names)}


def load_labels(path: Path | str) -> tuple[Run, dict[str, FittedModel]]:
    """A finished multi-label run, and the ensemble of each label.

    Args:
        path: The run directory, or its name under runs/.
    """
    run = open_run(path)
    run.must_be(KIND)
    if not run.done:
        raise FoveateError(f"{run.path} is not finished: 'foveate resume' continues it")
    return run, {name: load_fitted(label_run.path) for name, label_run in label_runs(run).items()}


def read_labels(
    models: Mapping[str, FittedModel],
    collection: Collection,
    report: PartProgress | None = None,
    *,
    with_evidence: bool = False,
) -> dict[str, Answer]:
    """Outputs of the models of all labels for the same bags.

    Args:
        models: The ensemble of each label.
        collection: The bags; their labels are not read.
        report: Called as ``report("reading", bags done, bags)``.
        with_evidence: Whether evidence is wanted too.
    """
    return {
        name: answer(model, collection, report, with_evidence=with_evidence)
        for name, model in models.items()
    }


def labels_table(
    models: Mapping[str, FittedModel], collection: Collection, answers: Mapping[str, Answer]
) -> Any:
    """One row a bag: its name, the predicted labels, and of every label its probability.

    ``low_LABEL`` and ``high_LABEL`` are quantiles over members as in
    :func:`~foveate.userdata.predict.bags_table`; a label is predicted from its own threshold on.
    """
    import pyarrow as pa

    called = {
        name: models[name].predicted(answer.p) == POSITIVE for name, answer in answers.items()
    }
    rows = [[name for name, answer in called.items() if answer[i]] for i in range(len(collection))]
    columns: dict[str, Any] = {"bag": list(collection.ids)}
    columns["predicted"] = [SEPARATOR.join(names) for names in rows]
    for name, label_answer in answers.items():
        columns[f"p_{name}"] = label_answer.p[:, POSITIVE].astype(np.float32)
        members = models[name].member_probabilities(label_answer.explained)[:, :, POSITIVE]
        low, high = np.quantile(members, SPREAD, axis=0).astype(np.float32)
        columns |= {f"low_{name}": low, f"high_{name}": high}
    return pa.table(columns)


def labels_segments_table(
    models: Mapping[str, FittedModel],
    collection: Collection,
    answers: Mapping[str, Answer],
    kind: MapKind = DEFAULT_MAP,
) -> Any:
    """One row a segment: bag, number from 0, text and place, and of every label its evidence.

    Args:
        models: The ensemble of each label.
        collection: The bags.
        answers: Answers with evidence.
        kind: Which map, of which what has a sign is the evidence.
    """
    import pyarrow as pa

    first = int(next(iter(models.values())).preparation.null)
    alpha = next(iter(answers.values())).explained.alpha
    lengths = [len(label_answer) - first for label_answer in alpha]
    columns: dict[str, Any] = {
        "bag": np.repeat(np.array(collection.ids, dtype=object), lengths),
        "segment": np.concatenate([np.arange(length) for length in lengths]),
        **contents_of_segments(collection),
    }
    for name, label_answer in answers.items():
        parts = [one[first:, POSITIVE] for one in signed_map(label_answer.explained, kind)]
        columns[f"evidence_{name}"] = np.concatenate(parts)
        columns[f"attention_{name}"] = np.concatenate(
            [one[first:] for one in label_answer.explained.alpha]
        )
    return pa.table(columns)
