"""The first screen of a report: three example bags (right, lucky, wrong)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = [
    "LEVELS",
    "LUCKY",
    "RIGHT",
    "WRONG",
    "Example",
    "bag_examples",
    "confidence_examples",
    "race_examples",
]

RIGHT, LUCKY, WRONG = "Right", "Lucky", "Wrong"
LEVELS = {RIGHT: "good", LUCKY: "warn", WRONG: "bad"}
MEANINGS = {
    RIGHT: "correct prediction, top segment relevant",
    LUCKY: "correct prediction, top segment not relevant",
    WRONG: "wrong prediction",
}
UNKNOWN = "correct prediction; which segment is relevant is not known"
EMPTY = "correct prediction; no segment is relevant"
Item = TypeVar("Item")


@dataclass(frozen=True)
class Example:
    """One bag at the top of a page.

    Args:
        outcome: Right, Lucky or Wrong.
        meaning: The outcome in words.
        level: Its CSS class.
        id: The bag's id.
        item: What the template draws.
    """

    outcome: str
    meaning: str
    level: str
    id: str
    item: Any


def outcome_of(correct: bool, focused: bool | None) -> str:
    """The outcome of one prediction.

    Example:
        >>> outcome_of(True, False), outcome_of(True, None), outcome_of(False, True)
        ('Lucky', 'Right', 'Wrong')
    """
    if not correct:
        return WRONG
    return LUCKY if focused is False else RIGHT


def race_examples(rows: Sequence[Any]) -> list[Example]:
    """One view per outcome from the gallery of a race, from different bags if possible.

    Args:
        rows: From :func:`foveate.report.drawing.gallery.gallery`.
    """
    pairs = [(row, view) for row in rows for view in row.views]
    return _pick(
        pairs,
        outcome=lambda pair: outcome_of(pair[1].correct, pair[1].focused),
        known=lambda pair: pair[1].focused is not None,
        name=lambda pair: str(pair[0].bag),
    )


def bag_examples(views: Sequence[Any]) -> list[Example]:
    """One bag per outcome of a fitted model; bags without a label have none.

    Args:
        views: From :func:`foveate.report.drawing.bag_panels.bag_view`.
    """
    return _pick(
        [view for view in views if view["correct"] is not None],
        outcome=lambda view: outcome_of(view["correct"], view["focused"]),
        known=lambda view: view["focused"] is not None,
        name=lambda view: str(view["id"]),
        empty=lambda view: bool(view.get("empty")),
    )


def confidence_examples(views: Sequence[Any]) -> list[Example]:
    """Bags without labels: the most confident, the median and the least confident prediction.

    Args:
        views: From :func:`foveate.report.drawing.bag_panels.bag_view`.
    """
    order = sorted(views, key=lambda view: -view["probabilities"][0][1])
    chosen = {0: "Most confident", len(order) // 2: "Median", len(order) - 1: "Least confident"}
    return [
        Example(name, "label not known", "none", str(order[k]["id"]), order[k])
        for k, name in sorted(chosen.items())
    ]


def _pick(
    items: Sequence[Item],
    *,
    outcome: Callable[[Item], str],
    known: Callable[[Item], bool],
    name: Callable[[Item], str],
    empty: Callable[[Item], bool] = lambda _: False,
) -> list[Example]:
    """The first item of each outcome whose bag is not used yet, else the first item."""
    examples: dict[str, Example] = {}
    for kind in (LUCKY, RIGHT, WRONG):  # the rarest first, so that it can choose its bag
        candidates = [item for item in items if outcome(item) == kind]
        candidates.sort(key=lambda item: not known(item))  # known relevance first
        used = {example.id for example in examples.values()}
        item = next((c for c in candidates if name(c) not in used), None)
        if item is None and candidates:
            item = candidates[0]
        if item is not None:
            unknown = EMPTY if empty(item) else UNKNOWN
            meaning = MEANINGS[kind] if kind == WRONG or known(item) else unknown
            examples[kind] = Example(kind, meaning, LEVELS[kind], name(item), item)
    return [examples[kind] for kind in (RIGHT, LUCKY, WRONG) if kind in examples]
