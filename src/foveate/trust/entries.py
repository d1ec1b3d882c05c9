"""The entries of an examination: one for each class and each model, and FT of the whole."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from foveate.bags.bag import Bag
from foveate.trust.auditor import Audit
from foveate.trust.class_evidence import Marks
from foveate.trust.error_modes import detect
from foveate.trust.facts import ClassFacts
from foveate.trust.grades import grade_of
from foveate.trust.questions import ClassAnswers
from foveate.trust.summaries import column, mean_of
from foveate.trust.verdict import Verdict
from foveate.trust.visibility import FEW
from foveate.types import Array

__all__ = ["audited_counts", "class_entries", "model_entries", "model_estimates", "whole_ft"]


def class_entries(
    results: Sequence[ClassAnswers],
    verdicts: Sequence[Verdict],
    marks: Marks,
    ids: Sequence[str] | None,
) -> tuple[dict[str, Any], ...]:
    """All that is known of every class.

    Args:
        results: The answers to the questions.
        verdicts: One per class.
        marks: The model-dependent marks by class.
        ids: Names of the bags; their numbers where None.
    """
    return tuple(
        _class_entry(result, verdict, column(marks, c), ids)
        for c, (result, verdict) in enumerate(zip(results, verdicts, strict=True))
    )


def _class_entry(
    result: ClassAnswers, verdict: Verdict, marks: dict[str, float], ids: Sequence[str] | None
) -> dict[str, Any]:
    """All that is known of one class."""
    facts: ClassFacts = result.facts
    answers = result.as_dict()
    if ids is not None:
        examples = answers["kinds"]["examples"]
        named = {kind: [(ids[i], j) for i, j in rows] for kind, rows in examples.items()}
        answers["kinds"]["examples"] = named
    return {**asdict(facts), "verdict": asdict(verdict), "marks": marks, "answers": answers}


def model_entries(
    marks: Marks, scores: Array, model_scores: Array, values: dict[str, Array]
) -> tuple[dict[str, Any], ...]:
    """Every model in a few numbers.

    Args:
        marks: The model-dependent marks by class.
        scores: Estimated FT of each model.
        model_scores: The model-dependent score of each.
        values: Measures against known relevance; empty where too few bags are known.
    """
    return tuple(_model(marks, scores, model_scores, i, values) for i in range(len(scores)))


def _model(
    marks: Marks, scores: Array, model_scores: Array, i: int, values: dict[str, Array]
) -> dict[str, Any]:
    """One model in a few numbers."""
    weight = marks["bags"][i]
    known = ~np.isnan(marks["accuracy"][i])
    right = float((np.nan_to_num(marks["accuracy"][i]) * weight).sum())
    accuracy = right / float(weight[known].sum()) if known.any() else float("nan")
    measured = mean_of(values["ft"][i]) if values else None
    grade = grade_of(scores[i] if measured is None else measured)
    numbers: dict[str, Any] = {"score": float(scores[i]), "model_score": float(model_scores[i])}
    numbers |= {"accuracy": accuracy, "ft": measured, "grade": grade}
    return {**numbers, "modes": detect(marks)[i].tolist()}


def model_estimates(results: Sequence[ClassAnswers]) -> Array:
    """Estimated FT of every model over the classes that are judged, weighed by bags, shape (S,)."""
    estimated = [r for r in results if not np.isnan(r.facts.estimate)]
    size = results[0].facts.members
    if not estimated:
        return np.full(size, np.nan)
    weight = np.array([r.ft.bags for r in estimated], float)
    members = np.array([r.ft.members for r in estimated])
    return np.asarray(weight @ members / weight.sum())


def whole_ft(
    where: dict[str, Any] | None, scores: Array, facts: Sequence[ClassFacts]
) -> tuple[bool, float, float]:
    """Whether FT was measured on enough bags, FT of the whole, and FT of a random segment.

    Args:
        where: Measures against known relevance, None where none is known.
        scores: Estimated FT of each model.
        facts: Of every class.
    """
    if where is not None and where["bags"] >= FEW:
        return (
            True,
            float(where["ft"]["all"]["mean"]),
            _weighed([(f.measured_chance, f.known) for f in facts if f.known]),
        )
    estimated = [(f.chance, f.bags) for f in facts if not np.isnan(f.estimate)]
    return False, mean_of(scores), _weighed(estimated)


def _weighed(pairs: Sequence[tuple[float, int]]) -> float:
    """The mean of values weighed by bags; nan without any."""
    if not pairs:
        return float("nan")
    values, bags = np.array(pairs, float).T
    return float(values @ bags / bags.sum())


def audited_counts(audit: Audit, sets: Sequence[Bag]) -> dict[str, int]:
    """Bags and segments that the auditor looked at, of how many."""
    return {
        "bags": len(audit.bag_index),
        "of_bags": len(sets[0]),
        "segments": int(audit.mask.sum()),
        "of_segments": audit.segments,
    }
