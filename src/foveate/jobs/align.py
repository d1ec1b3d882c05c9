"""Word alignment of a user's sentence pairs, by counting models or by a network's attention."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, Protocol, get_args

import numpy as np
import torch

from foveate.errors import FoveateError
from foveate.jobs.read import frequent
from foveate.text.corpora import Pairs, SentencePairs
from foveate.text.loop import MemberTraining, follow, measurement_steps
from foveate.text.models.seq2seq import Seq2Seq
from foveate.text.probes.pairs import links_of, performance, read_attention
from foveate.text.statistics.diagonal import fit_diagonal
from foveate.text.statistics.hmm import HMM_ITERATIONS, fit_hmm
from foveate.text.statistics.ibm1 import fit_ibm1
from foveate.text.statistics.pair_tables import Tables
from foveate.text.statistics.symmetrisation import flipped, grow_diag_final_and, intersection
from foveate.text.tokens import Tokens
from foveate.text.translation import Translator, translation_training, translator
from foveate.types import Array, PartProgress, StepProgress

__all__ = ["METHODS", "AlignPlan", "Aligned", "Method", "Symmetry", "align_pairs"]

Method = Literal["ibm1", "ibm1-diagonal", "hmm", "attention"]
METHODS: tuple[Method, ...] = get_args(Method)
Symmetry = Literal["none", "intersection", "grow"]
Links = list[set[tuple[int, int]]]
EXAMPLES = 12  # pairs that a page shows
READABLE = (3, 16)  # words of source and target of these, where there are such pairs
MIN_COUNT = 2  # occurrences of a word that a network learns
SMALL = 20_000  # pairs up to which the smaller network is trained


@dataclass(frozen=True)
class AlignPlan:
    """How to align.

    Args:
        method: "ibm1", "ibm1-diagonal" (with a prior for the diagonal, as fast_align), "hmm", or
            "attention" of a network trained on these pairs.
        symmetrise: Align both ways and keep the links of both ("intersection"), or what grows from
            them ("grow", grow-diag-final-and); "none" gives every target word its source word.
        iterations: Of counting models; None for 5, or 4 of the HMM after 5 of IBM Model 1.
        null: Whether "ibm1" has a NULL word; the diagonal model and the HMM always have one.
        steps: Of training, for attention.
        seed: Decides weights and order, for attention.
        model: The folder of an encoder–decoder of the transformers library, for attention; None
            trains a network on these pairs.
        layer: Which of its decoder layers, from 0; the mean over all unless given.
        head: Which head, from 0; the mean over all unless given.
    """

    method: Method = "ibm1"
    symmetrise: Symmetry = "none"
    iterations: int | None = None
    null: bool = False
    steps: int = 1000
    seed: int = 0
    model: Path | None = None
    layer: int | None = None
    head: int | None = None

    def __post_init__(self) -> None:
        if self.model is not None and self.method != "attention":
            raise FoveateError("--model is for --method attention")
        if self.model is not None and self.symmetrise != "none":
            raise FoveateError(
                "--symmetrise needs both directions, and --model has one: align twice, with a "
                "model of each direction"
            )
        if self.model is None and (self.layer is not None or self.head is not None):
            raise FoveateError("--layer and --head are for --model")
        for name in ("iterations", "steps"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise FoveateError(f"{name} must be at least 1, got {value}")


@dataclass(frozen=True)
class Aligned:
    """The links of all pairs, and some pairs over the course of learning.

    Args:
        links: Links (l, t) of every pair.
        rows: The pairs that a page shows.
        tables: α or posteriors of these over the source words, one for each iteration or step.
        captions: The caption of each iteration or step.
    """

    links: Links
    rows: list[int]
    tables: list[Tables]
    captions: list[str]


class _Model(Protocol):
    def posteriors(self, source: Tokens, target: Tokens) -> Tables: ...

    def align(self, source: Tokens, target: Tokens) -> Links: ...


def align_pairs(
    data: SentencePairs,
    plan: AlignPlan,
    report: PartProgress = lambda _part, _done, _total: None,
    *,
    examples: bool = False,
) -> Aligned:
    """Align all training pairs.

    Args:
        data: Pairs; the model learns from what it aligns.
        plan: How.
        report: Called as ``report(part, done, total)``.
        examples: Keep what a page shows of the course of learning.
    """
    rows = _readable(data.train) if examples else []
    if plan.model is not None:
        return _by_transformer(data, plan, plan.model, rows)
    one_way = _by_attention if plan.method == "attention" else _by_counting
    forward = one_way(data, plan, rows, partial(report, "aligning"))
    if plan.symmetrise == "none":
        return forward
    backward = one_way(_reversed(data), plan, [], partial(report, "backwards"))
    combine = intersection if plan.symmetrise == "intersection" else grow_diag_final_and
    return replace(forward, links=combine(forward.links, flipped(backward.links)))


def _by_counting(
    data: SentencePairs, plan: AlignPlan, rows: list[int], progress: StepProgress
) -> Aligned:
    source, target = data.train.source, data.train.target
    subset = data.train.take(torch.tensor(rows)) if rows else None
    tables, captions = list[Tables](), list[str]()
    count = plan.iterations or (HMM_ITERATIONS if plan.method == "hmm" else 5)
    # A page shows every iteration, and each is fitted from the start: cheap, and one code path.
    for k in range(1 if subset else count, count + 1):
        model = _fitted(data, plan, k)
        if subset:
            values = model.posteriors(subset.source, subset.target)
            tables.append(values.without_last() if _has_null(plan) else values)
            captions.append(f"iteration {k} of {count}")
        progress(k, count)
    return Aligned(model.align(source, target), rows, tables, captions)


def _has_null(plan: AlignPlan) -> bool:
    return plan.null or plan.method != "ibm1"


def _fitted(data: SentencePairs, plan: AlignPlan, iterations: int) -> _Model:
    models: Mapping[str, Callable[..., _Model]] = {
        "ibm1": partial(fit_ibm1, null=plan.null),
        "ibm1-diagonal": fit_diagonal,
        "hmm": fit_hmm,
    }
    size = len(data.source_vocabulary), len(data.target_vocabulary)
    return models[plan.method](data.train.source, data.train.target, size, iterations=iterations)


def _by_attention(
    data: SentencePairs, plan: AlignPlan, rows: list[int], progress: StepProgress
) -> Aligned:
    data = _with_frequent_words(data)
    pairs = data.train
    small = len(pairs) <= SMALL
    sizes = Translator(d=64 if small else 128, layers=1, dropout=0.0, lr=3e-3 if small else 1e-3)
    subset = pairs.take(torch.tensor(rows or [0]))
    name = ("own pairs", plan.seed)
    model = translator(data, sizes, *name)
    few = pairs.take(torch.arange(min(len(pairs), 200)))

    def measure(model: Seq2Seq, _step: int) -> dict[str, Array]:
        alpha = read_attention(model, subset.source, subset.target).values
        accuracy = performance(model, few.source, few.target).accuracy
        return {"alpha": alpha, "accuracy": np.asarray(accuracy)}

    def course() -> MemberTraining:
        return translation_training(model, pairs, sizes, measure, *name)

    record = follow([course], measurement_steps(plan.steps), report=progress)
    form = Tables.blank(subset.source.lengths.numpy(), subset.target.lengths.numpy())
    tables = [form.filled(row) for row in record.values["alpha"][:, 0]] if rows else []
    captions = [
        f"step {step:,} of {plan.steps:,}: {100 * share:.0f} % of words right"
        for step, share in zip(record.t.tolist(), record.values["accuracy"][:, 0], strict=True)
    ]
    links = links_of(read_attention(model, pairs.source, pairs.target))
    return Aligned(links, rows, tables, captions)


def _by_transformer(data: SentencePairs, plan: AlignPlan, path: Path, rows: list[int]) -> Aligned:
    """Links by the cross-attention of an encoder–decoder, which is not trained."""
    from foveate.text.transformers.loading import load_translator
    from foveate.text.transformers.translation import piece_pairs, read_attention

    model, tokenizer = load_translator(path)
    sides = (data.train.source, data.source_vocabulary), (data.train.target, data.target_vocabulary)
    words = [[v.decode(tokens[i]) for i in range(len(tokens))] for tokens, v in sides]
    alpha = read_attention(model, piece_pairs(tokenizer, *words), plan.layer, plan.head)
    tables = [alpha.take(np.asarray(rows))] if rows else []
    which = (
        "all layers and heads, mean"
        if plan.layer is None and plan.head is None
        else (
            f"layer {'mean' if plan.layer is None else plan.layer}, "
            f"head {'mean' if plan.head is None else plan.head}"
        )
    )
    return Aligned(links_of(alpha), rows, tables, [f"attention of {path.name}: {which}"])


def _with_frequent_words(data: SentencePairs) -> SentencePairs:
    """The pairs with rare words unknown: a network learns nothing about a word it sees once."""
    source, source_vocabulary = frequent(data.train.source, data.source_vocabulary, MIN_COUNT)
    target, target_vocabulary = frequent(data.train.target, data.target_vocabulary, MIN_COUNT)
    return replace(
        data,
        train=Pairs(source, target),
        source_vocabulary=source_vocabulary,
        target_vocabulary=target_vocabulary,
    )


def _readable(pairs: Pairs) -> list[int]:
    """The first pairs of readable length; the first of all where there is none."""
    low, high = READABLE
    usable = ((pairs.lengths >= low) & (pairs.lengths <= high)).all(1).nonzero().flatten().tolist()
    return usable[:EXAMPLES] or list(range(min(len(pairs), 3)))


def _reversed(data: SentencePairs) -> SentencePairs:
    """The same pairs with source and target exchanged."""
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
