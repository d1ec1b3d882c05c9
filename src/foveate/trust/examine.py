"""Examine models: the six questions, all evidence, and verdicts, from labelled bags."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from foveate.attention.paradigms import PARADIGMS, Paradigm
from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.metrics.intervals import Interval
from foveate.metrics.ranks import from_the_top
from foveate.models.focus import AttentionModel
from foveate.randomness import generator
from foveate.records import json_values
from foveate.training.stack import Stack
from foveate.trust.answers import Answer, answers_of, examples_of
from foveate.trust.auditor import Audit, audit
from foveate.trust.class_evidence import Marks, marks_of
from foveate.trust.controls import seed_agreement
from foveate.trust.error_modes import detect, score
from foveate.trust.facts import ClassFacts
from foveate.trust.kinds import KIND_NAMES
from foveate.trust.questions import ClassAnswers, Questions, ask
from foveate.trust.relevance import bag_values, known_bags, summarised, usual_count
from foveate.trust.segment_evidence import evidence_of, masks
from foveate.trust.subject import Reading, Subject, as_subject
from foveate.trust.summaries import (
    by_class,
    column,
    curves_of,
    mean_of,
    quantities,
    unattended_probe,
)
from foveate.trust.verdict import FEW, Verdict, grade_of, judge, judge_all
from foveate.types import Array

__all__ = ["Trust", "examine", "examined_marks"]

CELLS = 2**24  # probabilities of segments held for a member: beyond, some of the bags are examined


@dataclass(frozen=True)
class Trust:
    """What was found of some models with one paradigm, in plain numbers.

    Args:
        paradigm: Whose inference was read.
        classes: Names of the classes.
        members: Number of models.
        bags: Bags that each was examined on.
        relevant: How many segments of a bag were taken to be evidence by the model-dependent score.
        relevant_from: Where that number comes from: "declared", "known", "inferred", or "assumed"
            where the auditor sees no evidence.
        verdict: On the whole.
        score: Estimated FT, mean over models, of the classes that can be judged; nan (null in JSON)
            where nothing is said.
        scores: The same of each model.
        model_score: The model-dependent score, which does not decide; ``model_scores`` has each
            model's.
        by_class: A verdict, the facts behind it, the answers and all marks for each class.
        by_model: Score, accuracy, grade and error modes of each model.
        answers: The six questions, each with a mark and a sentence.
        examples: Bags that are right for the right reason, right by luck, and wrong.
        audited: How many bags and segments the auditor scored, and of how many.
        evidence: Quantities with intervals over bags; of ``probe_accuracy`` over members.
        curves: Probability of the predicted class with a share of segments kept or removed.
        attended: Mean prediction of g where attention is, by class of the bag, (C, C).
        unattended: The same where attention is not, (C, C).
        localisation: Measures against known relevance, None where none is known.
        notes: What was recognised of a model from elsewhere, and what was not tested.

    Example:
        >>> from torch import nn
        >>> from foveate.models.focus import FCAM
        >>> with torch.random.fork_rng(devices=[]):
        ...     model = FCAM(nn.Linear(2, 1), nn.Linear(2, 2))
        >>> bag = Bag(torch.ones(4, 3, 2), torch.tensor([0, 1, 0, 1]))
        >>> trust = examine(model, "soft", bag, ("no", "yes"))
        >>> trust.members, trust.bags, list(trust.answers)[:2]
        (1, 4, ['evidence', 'looks'])
    """

    paradigm: str
    classes: tuple[str, ...]
    members: int
    bags: int
    relevant: int
    relevant_from: str
    verdict: Verdict
    score: float
    scores: tuple[float, ...]
    model_score: float
    model_scores: tuple[float, ...]
    by_class: tuple[dict[str, Any], ...]
    by_model: tuple[dict[str, Any], ...]
    answers: dict[str, Answer]
    examples: tuple[dict[str, Any], ...]
    audited: dict[str, int]
    evidence: dict[str, Interval]
    curves: dict[str, list[float]]
    attended: list[list[float]]
    unattended: list[list[float]]
    localisation: dict[str, Any] | None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As JSON holds it: numbers that do not exist are null."""
        values: dict[str, Any] = json_values.to_json(asdict(self))
        return values


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
        absent: Classes that mean that nothing is there; inferred unless given.
        relevant: How many segments of a bag may be evidence; None: as many as bags with known
            relevance usually have, else as many as the auditor finds.
        evidence: Which kind of evidence is meant, "A" or "B", where there are two: for all classes
            or by class.
        more: Further labelled bags that the auditor may learn from, such as the training bags.
        labels: Labels known of the bags beside their class, boolean (n, L).
        audited: What :func:`~foveate.trust.auditor.audit` gave for the same bags, to use again.
        tried: Paradigms that were trained already, which are not advised again.
        overfitted: Whether held-out loss rose while training loss fell.
        last_epochs: What :func:`~foveate.trust.stability.last_epochs` gave of their training.
        ids: Names of the bags.
        probe: Whether to fit a fresh probe on what is not attended.
        name: What to call the paradigm, where it is an object.

    Example:
        >>> from torch import nn
        >>> from foveate.models.focus import FCAM
        >>> with torch.random.fork_rng(devices=[]):
        ...     model = FCAM(nn.Linear(2, 1), nn.Linear(2, 2))
        >>> bag = Bag(torch.ones(4, 3, 2), torch.tensor([0, 1, 0, 1]))
        >>> examine(model, "soft", bag, ("no", "yes")).verdict.grade
        'cannot tell'
    """
    subject = as_subject(models, paradigm)
    sets, rows = _bounded([bag] if isinstance(bag, Bag) else list(bag), len(classes))
    if rows is not None:
        subject, ids = subject.taken(rows), None if ids is None else [ids[i] for i in rows]
        known, labels = (_some(values, rows) for values in (known, labels))
    meant = _kinds_meant(evidence, classes)
    _must_fit(sets, subject.size, classes, (*absent, *meant))
    reading = subject.look(sets)
    known_ones = known_bags(sets, known)
    checked = audited or audit(sets, len(classes), more=more, labels=labels)
    order = from_the_top(reading.alpha, reading.s, np.broadcast_to(masks(sets), reading.s.shape))
    questions = Questions(
        subject, sets, reading, checked, order, tuple(classes), tuple(absent), meant,
        labels=labels is not None, overfitted=overfitted, last_epochs=last_epochs,
    )  # fmt: skip
    count, source = _count(relevant, sets, known_ones, checked)
    segment_evidence = evidence_of(subject, sets, reading, count)
    same = _agreement(subject, sets, reading)
    marks = _with_seeds(marks_of(segment_evidence, len(classes)), same[0], sets[0], len(classes))
    values, where = _localised(reading, sets, known_ones, len(classes))
    results = ask(questions, marks, values, known_ones)
    facts = [result.facts for result in results]
    verdicts = [judge(fact, tried) for fact in facts]
    scores = _scores(results)
    sure, whole = _whole_score(where, scores)
    model_scores = score(marks, tuple(list(classes).index(word) for word in absent))
    return Trust(
        paradigm=name or _name_of(paradigm),
        classes=tuple(classes),
        members=subject.size,
        bags=len(sets[0]),
        relevant=count,
        relevant_from=source,
        verdict=judge_all(verdicts, facts, whole),
        score=mean_of(scores),
        scores=tuple(scores.tolist()),
        model_score=mean_of(model_scores),
        model_scores=tuple(model_scores.tolist()),
        by_class=_by_class(results, verdicts, marks, ids),
        by_model=_by_model(marks, scores, model_scores, values if sure else {}),
        answers=answers_of(facts, [result.amount.count for result in results]),
        examples=tuple(examples_of(reading, sets, checked, questions.top, ids, facts)),
        audited=_audited_counts(checked, sets),
        evidence=quantities(segment_evidence, same, len(sets) == 1) | _probed(sets, reading, probe),
        curves=curves_of(segment_evidence),
        attended=by_class(segment_evidence.attended, segment_evidence.y, len(classes)),
        unattended=by_class(segment_evidence.unattended, segment_evidence.y, len(classes)),
        localisation=where,
        notes=subject.notes,
    )


def _kinds_meant(
    evidence: str | Mapping[str, str] | None, classes: Sequence[str]
) -> Mapping[str, str]:
    """The kind of evidence that is meant, by class."""
    meant = dict.fromkeys(classes, evidence) if isinstance(evidence, str) else evidence or {}
    _must_be_kinds(meant)
    return meant


def _by_model(
    marks: Marks, scores: Array, model_scores: Array, values: dict[str, Array]
) -> tuple[Any, ...]:
    return tuple(_model(marks, scores, model_scores, i, values) for i in range(len(scores)))


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


def _whole_score(where: dict[str, Any] | None, scores: Array) -> tuple[bool, float]:
    """Whether FT was measured on enough bags, and FT of the whole, measured or estimated."""
    if where is not None and where["bags"] >= FEW:
        return True, float(where["ft"]["all"]["mean"])
    return False, mean_of(scores)


def _name_of(paradigm: str | Paradigm) -> str:
    if isinstance(paradigm, str):
        return paradigm
    kind = type(paradigm)
    return next((name for name, other in PARADIGMS.items() if other is kind), kind.__name__.lower())


def _by_class(
    results: Sequence[Any], verdicts: Sequence[Verdict], marks: Marks, ids: Sequence[str] | None
) -> tuple[Any, ...]:
    return tuple(
        _class_entry(result, verdict, column(marks, c), ids)
        for c, (result, verdict) in enumerate(zip(results, verdicts, strict=True))
    )


def _audited_counts(audit: Audit, sets: Sequence[Bag]) -> dict[str, int]:
    """Bags and segments that the auditor looked at, of how many."""
    return {
        "bags": len(audit.picked),
        "of_bags": len(sets[0]),
        "segments": int(audit.there.sum()),
        "of_segments": audit.segments,
    }


def examined_marks(
    subject: Subject, bags: Sequence[Bag], classes: int, reading: Reading | None = None
) -> Marks:
    """The model-dependent marks of every member and class, agreement between members included."""
    seen = subject.look(bags) if reading is None else reading
    marks = marks_of(evidence_of(subject, bags, seen), classes)
    return _with_seeds(marks, _agreement(subject, bags, seen)[0], bags[0], classes)


def _must_fit(
    bags: Sequence[Bag],
    members: int,
    classes: Sequence[str],
    named: Sequence[str],
) -> None:
    if len(bags) not in (1, members):
        raise FoveateError(f"{members} models need one set of bags, or one each; got {len(bags)}")
    for word in named:
        if word not in classes:
            raise FoveateError(f"there is no class '{word}'; there are {', '.join(classes)}")
    top = max(int(bag.y.max()) for bag in bags)
    if top >= len(classes):
        raise FoveateError(f"labels must be below the number of classes {len(classes)}, got {top}")


def _must_be_kinds(meant: Mapping[str, str]) -> None:
    for kind in meant.values():
        if kind not in KIND_NAMES:
            raise FoveateError(f"evidence must be the kind A or B, got '{kind}'")


def _bounded(bags: list[Bag], classes: int) -> tuple[list[Bag], Array | None]:
    """At most so many bags that what is held of their segments stays bounded, drawn at random."""
    if all(bag is bags[0] for bag in bags):  # the same bags twice would be in and out of a fold
        bags = bags[:1]
    n, m = bags[0].shape
    most = max(1, CELLS // (m * classes))
    if n <= most:
        return bags, None
    rows = torch.randperm(n, generator=generator("trust", "bags"))[:most].sort().values
    return [bag.take(rows) for bag in bags], rows.numpy()


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
    shared = reading if len(bags) == 1 else subject.look(bags[:1])
    return seed_agreement(shared, masks(bags[:1])[0])


def _with_seeds(marks: Marks, same: Array, bag: Bag, classes: int) -> Marks:
    y = bag.y.numpy()
    none = np.full(len(same), np.nan)
    columns = [same[:, y == c].mean(1) if (y == c).any() else none for c in range(classes)]
    return {**marks, "seeds": np.stack(columns, 1)}


def _scores(results: Sequence[ClassAnswers]) -> Array:
    """Estimated FT of every model over the classes that are judged, weighed by bags, shape (S,)."""
    estimated = [r for r in results if not np.isnan(r.facts.estimate)]
    size = results[0].facts.members
    if not estimated:
        return np.full(size, np.nan)
    weight = np.array([r.looks.bags for r in estimated], float)
    members = np.array([r.looks.members for r in estimated])
    return np.asarray(weight @ members / weight.sum())


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
