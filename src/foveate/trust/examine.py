"""Examine models: all evidence, a score, and verdicts, from labelled bags."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from foveate.attention.paradigms import Paradigm
from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.metrics.intervals import Interval
from foveate.models.focus import AttentionModel
from foveate.randomness import generator
from foveate.training.stack import Stack
from foveate.trust.class_evidence import Marks, marks_of
from foveate.trust.controls import seed_agreement
from foveate.trust.error_modes import detect, estimate, flags_of, score
from foveate.trust.relevance import bag_values, known_bags, summarised, usual_count
from foveate.trust.segment_evidence import evidence_of, masks
from foveate.trust.subject import Reading, Subject, as_subject
from foveate.trust.summaries import (
    by_class,
    column,
    curves_of,
    mean_of,
    plain,
    quantities,
    unattended_probe,
)
from foveate.trust.verdict import FEW, ClassFacts, Verdict, grade_of, judge, judge_all
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
        relevant: How many segments of a bag were taken to be evidence.
        verdict: On the whole.
        score: Estimated FT, mean over models; ``scores`` has each model's.
        by_class: A verdict, the facts behind it and all marks for each class.
        by_model: Score, accuracy, grade and error modes of each model.
        evidence: Quantities with intervals over bags; of ``probe_accuracy`` over members.
        curves: Probability of the predicted class with a share of segments kept or removed.
        attended: Mean prediction of g where attention is, by class of the bag, (C, C).
        unattended: The same where attention is not, (C, C).
        localisation: Measures against known relevance, None where none is known.
    """

    paradigm: str
    classes: tuple[str, ...]
    members: int
    bags: int
    relevant: int
    verdict: Verdict
    score: float
    scores: tuple[float, ...]
    by_class: tuple[dict[str, Any], ...]
    by_model: tuple[dict[str, Any], ...]
    evidence: dict[str, Interval]
    curves: dict[str, list[float]]
    attended: list[list[float]]
    unattended: list[list[float]]
    localisation: dict[str, Any] | None

    def to_json(self) -> dict[str, Any]:
        """As JSON holds it: numbers that do not exist are null."""
        found: dict[str, Any] = plain(asdict(self))
        return found


def examine(
    models: Subject | Stack | AttentionModel | Sequence[AttentionModel],
    paradigm: str | Paradigm,
    bag: Bag | Sequence[Bag],
    classes: Sequence[str],
    *,
    known: Any = None,
    absent: Sequence[str] = (),
    relevant: int | None = None,
    probe: bool = True,
    name: str | None = None,
) -> Trust:
    """Say whether the attention of models can be trusted, from held-out labelled bags.

    Args:
        models: A stack, one model, several of one architecture (seeds), or any
            :class:`~foveate.trust.subject.Subject`.
        paradigm: Whose inference is theirs.
        bag: Held-out bags, for all members or one set each; z is read for measures only.
        classes: Names of the classes.
        known: Which bags' relevance is known, boolean (n,); None for all, if there is any.
        absent: Classes that mean that nothing is there.
        relevant: How many segments of a bag may be evidence; None: as many as bags with known
            relevance usually have, else 1.
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
    sets, given = _bounded([bag] if isinstance(bag, Bag) else list(bag), known, len(classes))
    _must_fit(sets, subject.size, classes, absent)
    gone = tuple(list(classes).index(word) for word in absent)
    sight = subject.look(sets)
    known_ones = known_bags(sets, given)
    count = usual_count(sets, known_ones) if relevant is None else relevant
    if count < 1:
        raise FoveateError(f"relevant must be at least 1 segment a bag, got {count}")
    found = evidence_of(subject, sets, sight, count)
    same = _agreement(subject, sets, sight)
    marks = _with_seeds(marks_of(found, len(classes)), same[0], sets[0], len(classes))
    values = bag_values(sight, sets, known_ones) if known_ones.any() else {}
    where = summarised(values, sight, sets, known_ones, len(classes)) if values else None
    facts = [
        _facts(marks, c, classes, gone, where, known_ones, found.y) for c in range(len(classes))
    ]
    verdicts = [judge(fact) for fact in facts]
    scores = score(marks, gone)
    sure = where is not None and where["bags"] >= FEW
    whole = where["ft"]["all"]["mean"] if where and sure else mean_of(scores)
    return Trust(
        paradigm=name
        or (paradigm if isinstance(paradigm, str) else type(paradigm).__name__.lower()),
        classes=tuple(classes),
        members=subject.size,
        bags=len(sets[0]),
        relevant=count,
        verdict=judge_all(verdicts, facts, whole),
        score=mean_of(scores),
        scores=tuple(scores.tolist()),
        by_class=tuple(
            {**asdict(fact), "verdict": asdict(said), "marks": column(marks, c)}
            for c, (fact, said) in enumerate(zip(facts, verdicts, strict=True))
        ),
        by_model=tuple(
            _model(marks, scores, i, values if sure else {}) for i in range(subject.size)
        ),
        evidence=quantities(found, same, len(sets) == 1)
        | (unattended_probe(sets, sight) if probe else {}),
        curves=curves_of(found),
        attended=by_class(found.attended, found.y, len(classes)),
        unattended=by_class(found.unattended, found.y, len(classes)),
        localisation=where,
    )


def examined_marks(
    subject: Subject, bags: Sequence[Bag], classes: int, sight: Reading | None = None
) -> Marks:
    """The label-free marks of every member and class, agreement between members included."""
    seen = subject.look(bags) if sight is None else sight
    marks = marks_of(evidence_of(subject, bags, seen), classes)
    return _with_seeds(marks, _agreement(subject, bags, seen)[0], bags[0], classes)


def _must_fit(
    bags: Sequence[Bag], members: int, classes: Sequence[str], absent: Sequence[str]
) -> None:
    if len(bags) not in (1, members):
        raise FoveateError(f"{members} models need one set of bags, or one each; got {len(bags)}")
    for word in absent:
        if word not in classes:
            raise FoveateError(f"there is no class '{word}'; there are {', '.join(classes)}")
    top = max(int(bag.y.max()) for bag in bags)
    if top >= len(classes):
        raise FoveateError(f"labels must be below the number of classes {len(classes)}, got {top}")


def _bounded(bags: list[Bag], known: Any, classes: int) -> tuple[list[Bag], Any]:
    """At most so many bags that what is held of their segments stays bounded, drawn at random."""
    n, m = bags[0].shape
    most = max(1, CELLS // (m * classes))
    if n <= most:
        return bags, known
    rows = torch.randperm(n, generator=generator("trust", "bags"))[:most].sort().values
    given = None if known is None else np.asarray(known)[rows.numpy()]
    return [bag.take(rows) for bag in bags], given


def _agreement(subject: Subject, bags: Sequence[Bag], sight: Reading) -> tuple[Array, Array]:
    """How alike members attend, on the first set of bags: see :func:`seed_agreement`."""
    shared = sight if len(bags) == 1 else subject.look(bags[:1])
    return seed_agreement(shared, masks(bags[:1])[0])


def _with_seeds(marks: Marks, same: Array, bag: Bag, classes: int) -> Marks:
    y = bag.y.numpy()
    none = np.full(len(same), np.nan)
    columns = [same[:, y == c].mean(1) if (y == c).any() else none for c in range(classes)]
    return {**marks, "seeds": np.stack(columns, 1)}


def _facts(
    marks: Marks,
    c: int,
    classes: Sequence[str],
    absent: tuple[int, ...],
    where: dict[str, Any] | None,
    known: Array,
    y: Array,
) -> ClassFacts:
    of = (y[: len(known)] == c) & known
    return ClassFacts(
        name=classes[c],
        bags=int(marks["bags"][:, c].mean()),
        members=len(marks["bags"]),
        accuracy=mean_of(marks["accuracy"][:, c]),
        estimate=mean_of(estimate(marks)[:, c]),
        unattended=mean_of(marks["unattended"][:, c]),
        flags=tuple(flags_of(marks, c)) if c not in absent else (),
        measured=Interval(**where["ft"]["classes"][c]) if where and of.any() else None,
        known=int(of.sum() / len(known)),
        absent=c in absent,
    )


def _model(marks: Marks, scores: Array, i: int, values: dict[str, Array]) -> dict[str, Any]:
    """One model in a few numbers."""
    weight = marks["bags"][i]
    accuracy = float(np.nansum(marks["accuracy"][i] * weight) / weight.sum())
    measured = mean_of(values["ft"][i]) if values else None
    grade = grade_of(scores[i] if measured is None else measured)
    own: dict[str, Any] = {"score": float(scores[i]), "accuracy": accuracy, "ft": measured}
    return {**own, "grade": grade, "modes": detect(marks)[i].tolist()}
