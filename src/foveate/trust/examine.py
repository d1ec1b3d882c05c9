"""Examine models: the six questions, all evidence, and verdicts, from labelled bags."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foveate.attention.paradigms import PARADIGMS, Paradigm
from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.metrics.ranks import from_the_top
from foveate.models.focus import AttentionModel
from foveate.training.stack import Stack
from foveate.trust.answers import answers_of
from foveate.trust.auditor import Audit, audit
from foveate.trust.class_evidence import Marks, marks_of
from foveate.trust.controls import seed_agreement
from foveate.trust.entries import (
    audited_counts,
    class_entries,
    model_entries,
    model_estimates,
    whole_ft,
)
from foveate.trust.error_modes import score
from foveate.trust.examination import Trust
from foveate.trust.examined_bags import bounded, chosen_kinds, must_fit
from foveate.trust.examples import examples_of
from foveate.trust.questions import Questions, ask, chosen_evidence
from foveate.trust.relevance import bag_values, known_bags, marked_empty, summarised, usual_count
from foveate.trust.segment_evidence import evidence_of, masks
from foveate.trust.subject import Reading, Subject, as_subject
from foveate.trust.summaries import by_class, curves_of, mean_of, quantities, unattended_probe
from foveate.trust.verdict import class_verdict, overall_verdict
from foveate.trust.visibility import FEW
from foveate.types import Array

__all__ = ["examine", "examined_marks"]


def examine(
    models: Subject | Stack | AttentionModel | Sequence[AttentionModel],
    paradigm: str | Paradigm,
    bag: Bag | Sequence[Bag],
    classes: Sequence[str],
    *,
    known: Any = None,
    absent: Sequence[str] = (),
    relevant: int | None = None,
    evidence: str | Mapping[str, str] | None = None,
    more: Bag | None = None,
    labels: Array | None = None,
    audited: Audit | None = None,
    tried: Sequence[str] = (),
    overfitted: bool = False,
    last_epochs: float = float("nan"),
    ids: Sequence[str] | None = None,
    probe: bool = True,
    name: str | None = None,
) -> Trust:
    """Say whether the attention of models can be trusted, from held-out labelled bags.

    Args:
        models: A stack, one model, several of one architecture (seeds), or any
            :class:`~foveate.trust.subject.Subject`; of cross-fitted folds a
            :class:`~foveate.trust.crossfitted.CrossFitted`.
        paradigm: Whose inference is theirs.
        bag: Held-out bags, for all members or one set each; z is read for measures only.
        classes: Names of the classes.
        known: Which bags' relevance is known, boolean (n,); None for all, if there is any.
        absent: Classes that mean that nothing is there; inferred unless given, or where 15 bags or
            more have known relevance and none of their segments is relevant.
        relevant: How many segments of a bag may be evidence; None: as many as bags with known
            relevance usually have, else as many as the auditor finds.
        evidence: Which kind of evidence is meant, "A" or "B", where there are two: for all classes
            or by class.
        more: Further labelled bags that the auditor may learn from, such as the training bags.
        labels: Labels known of the bags beside their class, boolean (n, L).
        audited: What :func:`~foveate.trust.auditor.audit` gave for the same bags, to use again.
        tried: Paradigms that were trained already, and options of training that were used or do
            not apply ("folds", "group", "seeds", "supervise-focus"): none of them is advised.
        overfitted: Whether held-out loss rose while training loss fell.
        last_epochs: What :func:`~foveate.trust.stability.last_epochs` gave of their training.
        ids: Names of the bags.
        probe: Whether to fit a fresh probe on what is not attended.
        name: What to call the paradigm, where it is an object.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> from foveate.models.focus import FCAM
        >>> with torch.random.fork_rng(devices=[]):
        ...     model = FCAM(nn.Linear(2, 1), nn.Linear(2, 2))
        >>> bag = Bag(torch.ones(4, 3, 2), torch.tensor([0, 1, 0, 1]))
        >>> examine(model, "soft", bag, ("no", "yes")).verdict.grade
        'cannot tell'
    """
    subject = as_subject(models, paradigm)
    sets, rows = bounded([bag] if isinstance(bag, Bag) else list(bag), len(classes))
    if rows is not None:
        subject, ids = subject.take(rows), None if ids is None else [ids[i] for i in rows]
        known, labels = (_some(values, rows) for values in (known, labels))
    kind_by_class = chosen_kinds(evidence, classes)
    must_fit(sets, subject.size, classes, (*absent, *kind_by_class))
    reading = subject.read(sets)
    known_ones = known_bags(sets, known)
    empty = marked_empty(sets, known, len(classes), FEW)
    absent = tuple(dict.fromkeys([*absent, *(classes[c] for c in empty)]))
    checked = audited or audit(sets, len(classes), more=more, labels=labels)
    order = from_the_top(reading.alpha, reading.s, np.broadcast_to(masks(sets), reading.s.shape))
    questions = Questions(
        subject, sets, reading, checked, order, tuple(classes), tuple(absent), kind_by_class,
        labels=labels is not None, overfitted=overfitted, last_epochs=last_epochs, tried=tried,
    )  # fmt: skip
    title = name or _name_of(paradigm)
    return _concluded(questions, title, relevant, known_ones, ids, probe=probe)


def _concluded(
    q: Questions,
    name: str,
    relevant: int | None,
    known: Array,
    ids: Sequence[str] | None,
    *,
    probe: bool,
) -> Trust:
    """Ask the questions and collect all that is found.

    Args:
        q: What is asked about.
        name: What to call the paradigm.
        relevant: How many segments of a bag may be evidence, where it was declared.
        known: Which bags' relevance is known, shape (1 or S, n).
        ids: Names of the bags.
        probe: Whether to fit a fresh probe on what is not attended.
    """
    sets, reading, size = q.bags, q.reading, len(q.classes)
    count, source = _count(relevant, sets, known, q.audit)
    segment_evidence = evidence_of(q.subject, sets, reading, count)
    same = _agreement(q.subject, sets, reading)
    marks = _with_seeds(marks_of(segment_evidence, size), same[0], sets[0], size)
    values, where = _localised(reading, sets, known, size)
    results = ask(q, marks, values, known)
    facts = [result.facts for result in results]
    tried = (*q.tried, "absent") if q.absent else q.tried
    verdicts = [class_verdict(fact, tried) for fact in facts]
    scores, model_scores = model_estimates(results), score(marks, tuple(q.empty))
    sure, whole, chance = whole_ft(where, scores, facts)
    chosen = chosen_evidence(q.audit, results)
    return Trust(
        paradigm=name,
        classes=q.classes,
        members=q.subject.size,
        bags=len(sets[0]),
        relevant=count,
        relevant_from=source,
        verdict=overall_verdict(verdicts, facts, whole, chance),
        score=mean_of(scores),
        chance=chance,
        scores=tuple(scores.tolist()),
        model_score=mean_of(model_scores),
        model_scores=tuple(model_scores.tolist()),
        by_class=class_entries(results, verdicts, marks, ids),
        by_model=model_entries(marks, scores, model_scores, values if sure else {}),
        answers=answers_of(facts, [result.amount.count for result in results]),
        examples=tuple(examples_of(reading, sets, q.audit, chosen, q.top, known, ids, facts)),
        audited=audited_counts(q.audit, sets),
        evidence=quantities(segment_evidence, same, len(sets) == 1) | _probed(sets, reading, probe),
        curves=curves_of(segment_evidence),
        attended=by_class(segment_evidence.attended, segment_evidence.y, size),
        unattended=by_class(segment_evidence.unattended, segment_evidence.y, size),
        localisation=where,
        notes=tuple(dict.fromkeys((*q.subject.notes, *(f.context for f in facts if f.context)))),
    )


def _probed(sets: Sequence[Bag], reading: Reading, probe: bool) -> dict[str, Any]:
    return unattended_probe(sets, reading) if probe else {}


def _localised(
    reading: Reading, sets: Sequence[Bag], known: Array, classes: int
) -> tuple[dict[str, Array], dict[str, Any] | None]:
    """Measures of bags whose relevance is known, and their summary; nothing if there are none."""
    if not known.any():
        return {}, None
    values = bag_values(reading, sets, known)
    return values, summarised(values, reading, sets, known, classes)


def _name_of(paradigm: str | Paradigm) -> str:
    if isinstance(paradigm, str):
        return paradigm
    kind = type(paradigm)
    return next((name for name, other in PARADIGMS.items() if other is kind), kind.__name__.lower())


def examined_marks(
    subject: Subject, bags: Sequence[Bag], classes: int, reading: Reading | None = None
) -> Marks:
    """The model-dependent marks of every member and class, agreement between members included."""
    seen = subject.read(bags) if reading is None else reading
    marks = marks_of(evidence_of(subject, bags, seen), classes)
    return _with_seeds(marks, _agreement(subject, bags, seen)[0], bags[0], classes)


def _some(values: Array | None, rows: Array) -> Array | None:
    return None if values is None else np.asarray(values)[rows]


def _count(
    relevant: int | None, bags: Sequence[Bag], known: Array, checked: Audit
) -> tuple[int, str]:
    """How many segments of a bag are evidence, and where that number comes from."""
    if relevant is not None:
        if relevant < 1:
            raise FoveateError(f"relevant must be at least 1 segment a bag, got {relevant}")
        return relevant, "declared"
    if known.any():
        return usual_count(bags, known), "known"
    seen = checked.cover >= 0.5
    count = checked.e.sum(-1)[seen]
    return (max(1, round(float(np.median(count)))), "inferred") if seen.any() else (1, "assumed")


def _agreement(subject: Subject, bags: Sequence[Bag], reading: Reading) -> tuple[Array, Array]:
    """How alike members attend, on the first set of bags: see :func:`seed_agreement`."""
    shared = reading if len(bags) == 1 else subject.read(bags[:1])
    return seed_agreement(shared, masks(bags[:1])[0])


def _with_seeds(marks: Marks, same: Array, bag: Bag, classes: int) -> Marks:
    y = bag.y.numpy()
    none = np.full(len(same), np.nan)
    columns = [same[:, y == c].mean(1) if (y == c).any() else none for c in range(classes)]
    return {**marks, "seeds": np.stack(columns, 1)}
