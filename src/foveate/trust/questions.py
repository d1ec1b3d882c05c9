"""Ask the six questions of every class, and gather the facts that its verdict rests on."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import torch

from foveate.bags.bag import Bag
from foveate.metrics.intervals import Interval
from foveate.metrics.ranks import from_the_top
from foveate.trust.amount import Amount, amounts
from foveate.trust.auditor import Audit
from foveate.trust.class_evidence import Marks
from foveate.trust.contextual import context_of
from foveate.trust.dependence import Dependence, dependence, untested
from foveate.trust.error_modes import estimate, flags_of
from foveate.trust.estimated_ft import EstimatedFT, estimate_ft, top_evidence
from foveate.trust.facts import ClassFacts
from foveate.trust.kinds import KIND_NAMES, Kinds, kind_of_segments, kinds, marked_kind
from foveate.trust.relevance import measured_ft
from foveate.trust.segment_evidence import masks
from foveate.trust.stability import Stability, by_fold, stability
from foveate.trust.subject import Reading, Subject
from foveate.trust.summaries import mean_of
from foveate.trust.visibility import FEW, Visibility, visibility
from foveate.types import Array

__all__ = ["ClassAnswers", "Questions", "ask", "chosen_evidence"]


@dataclass(frozen=True)
class Questions:
    """What is asked about: models, their bags, and what the auditor knows of them.

    Args:
        subject: The models.
        bags: One set for all members, or one each.
        reading: What the models make of them.
        audit: What the auditor knows.
        order: Segments from the most attended on, shape (S, n, m).
        classes: Names of the classes.
        absent: Classes that are declared to mean that nothing is there.
        evidence: The kind of evidence that is meant, "A" or "B", by class where declared.
        labels: Whether other labels of the bags were explained away.
        overfitted: Whether held-out loss rose while training loss fell.
        last_epochs: Share of bags whose top segment stays at the end of training; nan if unknown.
        tried: Paradigms and options of training that are not to be advised.
    """

    subject: Subject
    bags: Sequence[Bag]
    reading: Reading
    audit: Audit
    order: Array
    classes: tuple[str, ...]
    absent: tuple[str, ...] = ()
    evidence: Mapping[str, str] = field(default_factory=dict)
    labels: bool = False
    overfitted: bool = False
    last_epochs: float = float("nan")
    tried: Sequence[str] = ()

    @property
    def top(self) -> Array:
        """The most attended segment of every audited bag, shape (S, k)."""
        return self.order[:, self.audit.bag_index, 0]

    @property
    def empty(self) -> list[int]:
        """The classes that are declared to mean that nothing is there."""
        return [self.classes.index(name) for name in self.absent]


@dataclass(frozen=True)
class ClassAnswers:
    """The answers to all questions for one class, and its facts.

    ``chosen`` is the probability of being evidence of the kind that was declared to be meant, shape
    (K, k, m); None where all evidence is.
    """

    facts: ClassFacts
    amount: Amount
    ft: EstimatedFT
    depends: dict[str, Any]
    kinds: Kinds
    stable: Stability
    visible: Visibility
    chosen: Array | None = None

    def as_dict(self) -> dict[str, Any]:
        """The answers by question."""
        return {
            "evidence": asdict(self.amount),
            "looks": asdict(self.ft),
            "depends": self.depends,
            "kinds": asdict(self.kinds),
            "stable": asdict(self.stable),
            "visible": asdict(self.visible),
        }


def ask(
    questions: Questions, marks: Marks, values: dict[str, Array], known: Array
) -> list[ClassAnswers]:
    """The answers for every class.

    Args:
        questions: What is asked about.
        marks: The model-dependent marks by class, (S, C) each.
        values: Measures against known relevance, (S, n) each; empty where none is known.
        known: Which bags' relevance is known, shape (1 or S, n).
    """
    q, size = questions, len(questions.classes)
    estimates = amounts(q.audit, q.classes, q.empty)
    assigned = kind_of_segments(q.bags, q.audit, size)
    if q.subject.rereadable:
        depends = dependence(q.subject, q.bags, q.reading, q.audit, q.order, size)
        context = context_of(q.subject, q.bags[0])
    else:
        depends, context = untested(size), None
    tops = _shared_tops(q)
    answers = []
    for c in range(size):
        several = kinds(q.audit, assigned, q.top, c, _declared_kind(q, assigned, c, known))
        chosen = _chosen_a(q.audit, assigned, several)
        ft = estimate_ft(q.audit, q.top, c, chosen)
        seen = visibility(
            q.audit, c, q.classes[c], estimates[c], ft, model_accuracy=_accuracy(marks),
            labels=q.labels, context=context, tried=q.tried, external=q.subject.external,
        )  # fmt: skip
        a = top_evidence(q.audit, tops, None if chosen is None else chosen[:1], first=True)
        stable = stability(tops, a, q.audit.y[0] == c, np.array(ft.members), q.last_epochs)
        measured = measured_ft(q.bags, values, known, c, q.subject.size, FEW)
        estimated = _estimated_facts(ft, estimates[c], several, seen)
        folds = _folds(q, c, chosen, values, known if "worst" in measured else None)
        folds = folds if {"worst", "estimate"} & {*measured, *estimated} else []
        stable = replace(stable, folds=tuple(part.mean for part in folds))
        facts = ClassFacts(
            name=q.classes[c],
            flags=tuple(flags_of(marks, c)) if c not in q.empty else (),
            absent=c in q.empty,
            presence=estimates[c].presence,
            context="" if context is None else context.sentence,
            stability=stable.seeds,
            steady=_steady(stable, estimates[c]),
            worst_fold=min(folds, key=lambda part: part.high or 0.0, default=None),
            **_of_models(q, c, marks),
            **measured,
            **estimated,
            **_dependent(depends, c, q.classes, q.empty),
        )
        table = _depends(depends, q.classes, c)
        answers.append(ClassAnswers(facts, estimates[c], ft, table, several, stable, seen, chosen))
    return answers


def _of_models(q: Questions, c: int, marks: Marks) -> dict[str, Any]:
    """The facts of one class that no question is asked for."""
    return {
        "bags": int(marks["bags"][:, c].mean()),
        "members": q.subject.size,
        "accuracy": mean_of(marks["accuracy"][:, c]),
        "model_score": mean_of(estimate(marks)[:, c]),
        "unattended": mean_of(marks["unattended"][:, c]),
        "overfitted": q.overfitted,
        "reread": q.subject.rereadable,
        "external": q.subject.external,
        "auditors": len(q.audit.opinions),
    }


def _declared_kind(q: Questions, assigned: Array, c: int, known: Array) -> str | None:
    """Which kind of evidence is meant: as declared, else as the marked segments of bags say."""
    declared = q.evidence.get(q.classes[c])
    if declared is not None or not known.any():
        return declared
    z = np.stack([np.asarray(bag.z)[q.audit.bag_index] for bag in q.bags])
    return marked_kind(assigned, z & known[:, q.audit.bag_index, None], q.audit.y == c)


def _folds(
    q: Questions, c: int, chosen: Array | None, values: dict[str, Array], known: Array | None
) -> list[Interval]:
    """FT by the models of each fold: measured on bags that are known, else estimated if None."""
    if q.subject.fold is None:
        return []
    if known is not None:
        of = known[0] & (q.bags[0].y.numpy() == c)
        return by_fold(values["ft"][:, of].mean(0), q.subject.fold[of])
    of = q.audit.y[0] == c
    evidence_p = top_evidence(q.audit, q.top, chosen)[:, of].mean(0)
    return by_fold(evidence_p, q.subject.fold[q.audit.bag_index][of])


def chosen_evidence(checked: Audit, answers: Sequence[ClassAnswers]) -> Array:
    """Probability that a segment is evidence of the kind that is meant, shape (K, k, m)."""
    a = checked.a
    for c, answer in enumerate(answers):
        if answer.chosen is not None:
            a = np.where((checked.y == c)[..., None], answer.chosen, a)
    return a


def _accuracy(marks: Marks) -> float:
    """Accuracy of the models, mean over classes that have bags."""
    return mean_of(np.array([mean_of(column) for column in marks["accuracy"].T]))


def _steady(stable: Stability, amount: Amount) -> float:
    """Agreement over the last epochs, where a bag has one evidence segment.

    Among several the top may change without harm, and that is not told apart here.
    """
    return stable.epochs if amount.count < 1.5 else float("nan")


def _shared_tops(q: Questions) -> Array:
    """Top segments of all models on the audited bags of the first set."""
    if len(q.bags) == 1:
        return q.top
    few = q.bags[0].take(torch.from_numpy(q.audit.bag_index))
    return _tops(q.subject.read([few]), few)


def _tops(reading: Reading, bag: Bag) -> Array:
    mask = np.broadcast_to(masks([bag]), reading.alpha.shape)
    return from_the_top(reading.alpha, reading.s, mask)[..., 0]


def _chosen_a(checked: Audit, assigned: Array, several: Kinds) -> Array | None:
    """``a`` of the kind of evidence that is meant, None where all evidence is."""
    if not several.several or several.chosen is None:
        return None
    e = np.where(assigned == KIND_NAMES.index(several.chosen), checked.e, 0.0)
    cover = (1 - np.prod(1 - e, -1))[..., None]
    return np.divide(e, cover, out=np.zeros_like(e), where=cover > 1e-9)


def _estimated_facts(
    ft: EstimatedFT, amount: Amount, several: Kinds, seen: Visibility
) -> dict[str, Any]:
    """The facts of questions (b), (d) and (f); nothing is estimated where nothing is seen."""
    other = several.several and several.chosen is None
    facts: dict[str, Any] = {"other_kind": other, "visible": seen.visible, "reasons": seen.reasons}
    facts["needs"] = seen.needs
    if several.several and several.chosen is not None:
        facts["chosen_kind"] = several.chosen
    if not seen.visible or other or amount.presence != "some":
        return facts
    worst = float(np.nanmin(ft.members))
    facts |= {"estimate": ft.estimate, "low": ft.low, "high": ft.high}
    return facts | {"chance": ft.chance, "estimated_worst": worst}


def _dependent(
    depends: Dependence, c: int, classes: Sequence[str], empty: Sequence[int]
) -> dict[str, Any]:
    """The facts of question (c); a class without right answers has none to change."""
    if not depends.tested:
        return {"keep_only": float("nan"), "removal": float("nan")}
    removal = depends.removal[c] - depends.removal_random[c]
    others = {k: v for k, v in enumerate(depends.overridden_by[c]) if k != c}
    strongest = max(others, key=lambda k: others[k], default=None)
    return {
        "keep_only": depends.keep_only[c],
        "removal": 0.0 if np.isnan(removal) else removal,
        "background_flips": depends.background_flips[c],
        "repeat_flips": max(depends.repeat_flips),
        "overridden": 0.0 if strongest is None else others[strongest],
        "overrider": "" if strongest is None or strongest in empty else classes[strongest],
        "poisoned": max((depends.overturned_by[c][k] for k in empty if k != c), default=0.0),
    }


def _depends(depends: Dependence, classes: Sequence[str], c: int) -> dict[str, Any]:
    """The answer to question (c) for one class."""
    flips = dict(zip(classes, depends.overturned_by[c], strict=True))
    return {
        "keep_only": depends.keep_only[c],
        "removal": depends.removal[c],
        "removal_random": depends.removal_random[c],
        "background_flips": depends.background_flips[c],
        "repeat_flips": depends.repeat_flips[c],
        "overturned_by": {name: share for k, (name, share) in enumerate(flips.items()) if k != c},
        "receivers": depends.receivers[c],
    }
