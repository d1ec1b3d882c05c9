"""A page of alignment matrices: source words by target words, gold links marked, over steps."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import numpy as np

from foveate.errors import FoveateError
from foveate.records.record import Array
from foveate.report.next_steps import Step
from foveate.report.rendering import page_writer, render_page

__all__ = ["AlignedPair", "alignments_page", "write_alignment_page"]

FIRST = 2  # pairs above the results
Links = AbstractSet[tuple[int, int]]


@dataclass(frozen=True)
class AlignedPair:
    """A sentence pair and where its target words come from, at every step.

    Args:
        source: Source words, L of them.
        target: Target words, T of them.
        alpha: Attention or posterior of every target word over the source, shape (S, T, L).
        sure: Gold links (l, t) that hold.
        possible: Gold links that may hold.
        predicted: Links that were written.
        number: What the page calls the pair; its place unless given.
    """

    source: Sequence[str]
    target: Sequence[str]
    alpha: Array
    sure: Links = field(default_factory=frozenset)
    possible: Links = field(default_factory=frozenset)
    predicted: Links = field(default_factory=frozenset)
    number: int | None = None


def alignments_page(
    pairs: Sequence[AlignedPair],
    captions: Sequence[str],
    *,
    title: str,
    lead: str,
    what: str = "α, attention",
    axis: str = "Training step",
    results: Sequence[tuple[str, str, str]] = (),
    steps: Sequence[Step] = (),
    setup: Mapping[str, str] | None = None,
    command: str = "",
) -> str:
    """A matrix for each pair, with a slider over the steps where there are several.

    Args:
        pairs: What to show, one at least.
        captions: What each of the S steps is called.
        title: Heading of the page.
        lead: What it shows, in a sentence.
        what: What shades the cells.
        axis: What the slider goes over.
        results: Rows of name, value and meaning.
        steps: What to do next.
        setup: How it was made, by name.
        command: The command that repeats it.
    """
    if not pairs or not captions:
        raise FoveateError("a page of alignments needs a pair and a step")
    levels = [_levels(pair, len(captions), number) for number, pair in enumerate(pairs, 1)]
    return render_page(
        "alignments.html",
        title=title,
        lead=lead,
        what=what,
        axis=axis,
        first=FIRST,
        results=results,
        steps=steps,
        gold=any(pair.sure or pair.possible for pair in pairs),
        predicted=any(pair.predicted for pair in pairs),
        pairs=[
            {
                "number": number if pair.number is None else pair.number,
                "source": list(pair.source),
                "target": list(pair.target),
                "levels": pair_levels[-1].tolist(),
                "marks": _marks(pair),
            }
            for number, (pair, pair_levels) in enumerate(zip(pairs, levels, strict=True), 1)
        ],
        frames={
            "captions": list(captions),
            "levels": [
                [level for pair_levels in levels for level in pair_levels[k].ravel().tolist()]
                for k in range(len(captions))
            ],
            "says": [[]] * len(captions),
        },
        setup=setup or {},
        command=command,
    )


write_alignment_page = page_writer(alignments_page)


def _levels(pair: AlignedPair, steps: int, number: int) -> Array:
    """Percent, source by target, shape (S, L, T)."""
    alpha = np.asarray(pair.alpha)
    form = (steps, len(pair.target), len(pair.source))
    if alpha.shape != form:
        raise FoveateError(f"pair {number}: alpha must have shape {form}, got {alpha.shape}")
    if not np.isfinite(alpha).all():
        raise FoveateError(f"pair {number}: alpha has values that are no numbers")
    for links in (pair.sure, pair.possible, pair.predicted):
        for link in links:
            if not (0 <= link[0] < len(pair.source) and 0 <= link[1] < len(pair.target)):
                raise FoveateError(
                    f"pair {number}: link {link[0]}-{link[1]} lies outside its sentences"
                )
    return np.rint(100 * np.clip(alpha, 0, 1)).astype(int).transpose(0, 2, 1)


def _marks(pair: AlignedPair) -> list[list[str]]:
    """The classes of every cell, source by target."""

    def mark(link: tuple[int, int]) -> str:
        gold = "sure" if link in pair.sure else "possible" if link in pair.possible else ""
        return " ".join(filter(None, (gold, "predicted" if link in pair.predicted else "")))

    return [[mark((l, t)) for t in range(len(pair.target))] for l in range(len(pair.source))]  # noqa: E741
