"""A user's own sentence pairs aligned, by IBM Model 1 or by a small model's attention."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from foveate.errors import FoveateError
from foveate.io.rows import lines
from foveate.jobs.read import frequent
from foveate.records.record import Array
from foveate.text.corpora import Pairs, SentencePairs
from foveate.text.loop import Course, follow, measurement_steps
from foveate.text.models.seq2seq import Seq2Seq
from foveate.text.probes.pairs import links_of, performance, read_attention
from foveate.text.statistics.ibm1 import fit_ibm1
from foveate.text.statistics.pair_tables import Tables
from foveate.text.statistics.symmetrisation import flipped, grow_diag_final_and, intersection
from foveate.text.translation import Translator, translation_course, translator

__all__ = ["AlignPlan", "Aligned", "Symmetry", "align_pairs", "read_gold"]

Symmetry = Literal["none", "intersection", "grow"]
Links = list[set[tuple[int, int]]]
Tell = Callable[[int, int], None]
SHOWN = 12  # pairs that a page shows
READABLE = (3, 16)  # words of source and target, where there are such pairs
LEAST = 2  # occurrences of a word that a network is told of
SMALL = 20_000  # pairs up to which the smaller model is trained


@dataclass(frozen=True)
class AlignPlan:
    """How to align.

    Args:
        method: "ibm1", or "attention" of a model trained on these pairs.
        symmetrise: Align both ways and keep what both say ("intersection"), or what grows from it
            ("grow", grow-diag-final-and); "none" gives every target word its source word.
        iterations: Of IBM Model 1.
        steps: Of training, for attention.
        seed: Decides weights and order, for attention.
    """

    method: Literal["ibm1", "attention"] = "ibm1"
    symmetrise: Symmetry = "none"
    iterations: int = 5
    steps: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("iterations", "steps"):
            if getattr(self, name) < 1:
                raise FoveateError(f"{name} must be at least 1, got {getattr(self, name)}")


@dataclass(frozen=True)
class Aligned:
    """What was found.

    Args:
        links: Links (l, t) of every pair.
        rows: The pairs that are shown.
        shown: α or posteriors of these, one for each moment.
        captions: What each moment is called.
    """

    links: Links
    rows: list[int]
    shown: list[Tables]
    captions: list[str]


def align_pairs(
    data: SentencePairs,
    plan: AlignPlan,
    report: Callable[[str, int, int], None] = lambda _part, _done, _total: None,
    *,
    watch: bool = False,
) -> Aligned:
    """Align all training pairs.

    Args:
        data: Pairs; what is aligned is learnt from.
        plan: How.
        report: Called as ``report(part, done, total)``.
        watch: Keep what a page shows of the way there.
    """
    pairs = data.train
    rows = _readable(pairs) if watch else []
    one_way = _by_ibm1 if plan.method == "ibm1" else _by_attention
    forward = one_way(data, plan, rows, partial(report, "aligning"))
    if plan.symmetrise == "none":
        return forward
    back = one_way(_turned(data), plan, [], partial(report, "backwards"))
    joined = intersection if plan.symmetrise == "intersection" else grow_diag_final_and
    links = joined(forward.links, flipped(back.links))
    return Aligned(links, rows, forward.shown, forward.captions)


def read_gold(path: Path, pairs: Pairs) -> tuple[Links, Links]:
    """Sure and possible links: ``0-1`` is sure, ``0?1`` and ``0-1?`` are possible.

    Args:
        path: A file with one line for each pair; an empty line has no links.
        pairs: The pairs, within which links must lie.
    """
    sure, possible = Links(), Links()
    sizes = pairs.lengths.tolist()
    for number, line in enumerate(lines(path), 1):
        if number > len(sizes):
            raise FoveateError(f"{path}, line {number}: there are only {len(sizes):,} pairs")
        sure.append(set())
        possible.append(set())
        for word in line.split():
            link, is_sure = _link(word, path, number)
            if link[0] >= sizes[number - 1][0] or link[1] >= sizes[number - 1][1]:
                L, T = sizes[number - 1]
                raise FoveateError(
                    f"{path}, line {number}: link {word} lies outside a pair of {L} and {T} words"
                )
            (sure if is_sure else possible)[-1].add(link)
    if len(sure) != len(sizes):
        raise FoveateError(
            f"{path} must have a line for each of {len(sizes):,} pairs, has {len(sure):,}"
        )
    return sure, possible


def _link(word: str, path: Path, number: int) -> tuple[tuple[int, int], bool]:
    plain = word.removesuffix("?").replace("?", "-", 1)
    i, dash, j = plain.partition("-")
    if not (dash and i.isascii() and i.isdigit() and j.isascii() and j.isdigit()):
        raise FoveateError(
            f"{path}, line {number}: links must be pairs like 0-1, or 0?1 if possible, got '{word}'"
        )
    return (int(i), int(j)), "?" not in word


def _by_ibm1(data: SentencePairs, plan: AlignPlan, rows: list[int], tell: Tell) -> Aligned:
    source, target = data.train.source, data.train.target
    size = len(data.source_vocabulary), len(data.target_vocabulary)
    some = data.train.take(torch.tensor(rows)) if rows else None
    shown, captions = list[Tables](), list[str]()
    # A page shows every iteration, and each is fitted from the start: cheap, and one code path.
    for k in range(1 if some else plan.iterations, plan.iterations + 1):
        model = fit_ibm1(source, target, size, iterations=k)
        if some:
            shown.append(model.posteriors(some.source, some.target))
            captions.append(f"iteration {k} of {plan.iterations}")
        tell(k, plan.iterations)
    return Aligned(model.align(source, target), rows, shown, captions)


def _by_attention(data: SentencePairs, plan: AlignPlan, rows: list[int], tell: Tell) -> Aligned:
    data = _known(data)
    pairs = data.train
    small = len(pairs) <= SMALL
    sizes = Translator(d=64 if small else 128, layers=1, dropout=0.0, lr=3e-3 if small else 1e-3)
    some = pairs.take(torch.tensor(rows or [0]))
    name = ("own pairs", plan.seed)
    model = translator(data, sizes, *name)
    few = pairs.take(torch.arange(min(len(pairs), 200)))

    def measure(model: Seq2Seq, _step: int) -> dict[str, Array]:
        alpha = read_attention(model, some.source, some.target).values
        reached = performance(model, few.source, few.target).accuracy
        return {"alpha": alpha, "accuracy": np.asarray(reached)}

    def course() -> Course:
        return translation_course(model, pairs, sizes, measure, *name)

    record = follow([course], measurement_steps(plan.steps), report=tell)
    form = Tables.blank(some.source.lengths.numpy(), some.target.lengths.numpy())
    shown = [form.filled(row) for row in record.values["alpha"][:, 0]] if rows else []
    captions = [
        f"step {step:,} of {plan.steps:,}: {100 * share:.0f} % of words right"
        for step, share in zip(record.t.tolist(), record.values["accuracy"][:, 0], strict=True)
    ]
    links = links_of(read_attention(model, pairs.source, pairs.target))
    return Aligned(links, rows, shown, captions)


def _known(data: SentencePairs) -> SentencePairs:
    """The pairs with rare words unknown: a network learns nothing of a word that it meets once."""
    source, of_source = frequent(data.train.source, data.source_vocabulary, LEAST)
    target, of_target = frequent(data.train.target, data.target_vocabulary, LEAST)
    return replace(
        data,
        train=Pairs(source, target),
        source_vocabulary=of_source,
        target_vocabulary=of_target,
    )


def _readable(pairs: Pairs) -> list[int]:
    """The first pairs of readable length; the first of all where there is none."""
    low, high = READABLE
    fine = ((pairs.lengths >= low) & (pairs.lengths <= high)).all(1).nonzero().flatten().tolist()
    return fine[:SHOWN] or list(range(min(len(pairs), 3)))


def _turned(data: SentencePairs) -> SentencePairs:
    """The same pairs the other way round."""
    train, validation, test = (
        Pairs(part.target, part.source) for part in (data.train, data.validation, data.test)
    )
    return replace(
        data,
        train=train,
        validation=validation,
        test=test,
        source_vocabulary=data.target_vocabulary,
        target_vocabulary=data.source_vocabulary,
        source_words=data.target_words,
        target_words=data.source_words,
    )
