"""Alignment error of attention over training, compared with IBM Model 1.

Both read the same pairs. A link goes from every target word to the source word with the largest
α (or β, or Δ, or Trans(y|x)), so that all of them make the same number of links.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from foveate.errors import FoveateError
from foveate.metrics.alignment import alignment_scores
from foveate.records.record import Array, Record
from foveate.text.corpora import Pairs, SentencePairs, load_pairs
from foveate.text.loop import MemberTraining, follow, measurement_steps
from foveate.text.models.seq2seq import Seq2Seq
from foveate.text.probes.pairs import (
    influence,
    links_of,
    performance,
    read_attention,
    read_evidence,
)
from foveate.text.statistics.ibm1 import fit_ibm1
from foveate.text.translation import (
    Translator,
    example_pair,
    joined,
    translation_training,
    translator,
)
from foveate.types import StepProgress

if TYPE_CHECKING:
    from foveate.studies.snell21.translation import TranslationSettings

__all__ = ["ITERATIONS", "SCORES", "ScoredLinks", "align_part", "diagonal", "to_align"]

SCORES = ("AER", "precision", "recall")
ITERATIONS = (1, 2, 5, 10)
"""Of IBM Model 1; after one it is the count table C of [snell21] Eq. 13."""

LinkSets = list[set[tuple[int, int]]]


class ScoredLinks:
    """Pairs with known links, and the scores of predicted links.

    Args:
        pairs: Pairs with links.
    """

    def __init__(self, pairs: Pairs) -> None:
        if pairs.links is None:
            raise FoveateError("alignments can be scored only where links are known")
        self.pairs = pairs
        self.sure, self.possible = pairs.links.sets(len(pairs))

    def __call__(self, links: LinkSets) -> Array:
        """AER, precision and recall, shape (3,)."""
        scores = alignment_scores(links, self.sure, self.possible)
        return np.array([scores.aer, scores.precision, scores.recall])


def to_align(
    settings: "TranslationSettings", name: str
) -> tuple[SentencePairs, Pairs, ScoredLinks]:
    """The data set, the training pairs, and the pairs to score.

    Links are not used in training, so small sets are trained on the scored pairs too.
    """
    data = load_pairs(name, unit="words", train=settings.align_train, least=settings.least)
    with_links = data.test if len(data.test) else data.validation
    scored = with_links.take(torch.arange(min(settings.scored, len(with_links))))
    train = data.train
    if name == "hansards":
        train = joined(data.train, data.validation, data.test)
    return data, train, ScoredLinks(scored)


def align_part(
    settings: "TranslationSettings", name: str, checkpoint: Path, progress: StepProgress
) -> Record:
    """Train the aligners of one data set, score them at every checkpoint, and IBM Model 1 once."""
    data, train, scored = to_align(settings, name)
    sizes = Translator(
        settings.align_d,
        settings.align_layers,
        settings.align_dropout,
        settings.align_batch,
        settings.align_lr,
    )
    steps = measurement_steps(settings.align_steps)

    def training(seed: int) -> MemberTraining:
        label = ("aligning", name, seed)
        model = translator(data, sizes, *label)
        measure = partial(_measured, scored, steps[-1])
        return translation_training(model, train, sizes, measure, *label)

    members = [partial(training, seed) for seed in range(settings.align_seeds)]
    record = follow(members, steps, checkpoint=checkpoint, report=progress)
    size = len(data.source_vocabulary), len(data.target_vocabulary)
    final = {"ibm1": _ibm1(train, scored, size), "diagonal": scored(diagonal(scored.pairs))}
    repeated = {k: np.repeat(v[None], settings.align_seeds, 0) for k, v in final.items()}
    return Record(record.t, record.values, repeated, _meta(name, data, train, scored))


def _measured(scored: ScoredLinks, last: int, model: Seq2Seq, step: int) -> dict[str, Array]:
    source, target = scored.pairs.source, scored.pairs.target
    alpha = read_attention(model, source, target)
    reached = performance(model, source, target)
    # Influence is expensive, so it is computed at the end only.
    delta = links_of(influence(model, source, target)) if step == last else None
    return {
        "attention": scored(links_of(alpha)),
        "evidence": scored(links_of(read_evidence(model, source, target))),
        "influence": scored(delta) if delta is not None else np.full(len(SCORES), np.nan),
        "accuracy": np.asarray(reached.accuracy),
        "loss": np.asarray(reached.loss),
        "example": alpha[example_pair(scored.pairs)].ravel(),
    }


def _ibm1(train: Pairs, scored: ScoredLinks, size: tuple[int, int]) -> Array:
    """Scores of IBM Model 1 after :data:`ITERATIONS` iterations, shape (K, 3)."""
    models = (fit_ibm1(train.source, train.target, size, iterations=k) for k in ITERATIONS)
    links = (model.align(scored.pairs.source, scored.pairs.target) for model in models)
    return np.stack([scored(aligned) for aligned in links])


def diagonal(pairs: Pairs) -> LinkSets:
    """Links along the diagonal: each target word to the source word at the same relative position.

    Example:
        >>> from foveate.text.tokens import Tokens
        >>> pair = Pairs(Tokens.of([[4, 5]]), Tokens.of([[4, 5, 6, 7]]))
        >>> sorted(diagonal(pair)[0])
        [(0, 0), (0, 1), (1, 2), (1, 3)]
    """
    sizes = pairs.lengths.tolist()
    return [{(int((t + 0.5) * L / T), t) for t in range(T)} for L, T in sizes]


def _meta(name: str, data: SentencePairs, train: Pairs, scored: ScoredLinks) -> dict[str, object]:
    number = example_pair(scored.pairs)
    source, target = scored.pairs.source[number], scored.pairs.target[number]
    sure, possible = scored.sure[number], scored.possible[number]
    return {
        "data": name,
        "about": data.about,
        "pairs": len(train),
        "scored": len(scored.pairs),
        "links": [len(s) for s in (_all(scored.sure), _all(scored.possible))],
        "source": data.source_vocabulary.decode(source),
        "target": data.target_vocabulary.decode(target),
        "sure": sorted(sure),
        "possible": sorted(possible),
    }


def _all(links: LinkSets) -> list[tuple[int, int]]:
    return [link for some in links for link in some]
