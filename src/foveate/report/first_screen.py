"""The first screen of a report: three example bags (right, lucky, wrong) and next steps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from foveate.charts.palette import label
from foveate.report.outcomes import Outcome
from foveate.report.sentences import join_words

__all__ = [
    "LUCKY",
    "RIGHT",
    "WRONG",
    "Example",
    "Step",
    "bag_examples",
    "confidence_examples",
    "explain_steps",
    "fit_steps",
    "race_examples",
    "race_steps",
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


FEW_SEEDS = 5
FEW_BAGS = 50
CLOSE = 2.0  # points of accuracy within which paradigms count as equally accurate


class Step(NamedTuple):
    """One suggestion.

    Args:
        text: A sentence.
        command: A command that does it; empty if there is none.
    """

    text: str
    command: str = ""


def race_steps(outcomes: Sequence[Outcome], name: str, *, done: bool) -> list[Step]:
    """Suggestions below the results of a race.

    Args:
        outcomes: The finished paradigms.
        name: Name of the run.
        done: Whether the run is finished.
    """
    steps = [] if done else [Step("Finish this run.", f"foveate resume {name}")]
    if (choice := _recommended(outcomes)) is not None:
        steps.append(Step(choice))
    seeds = min((o.seeds for o in outcomes), default=0)
    if 0 < seeds < FEW_SEEDS:
        steps.append(Step(f"Repeat with more seeds: {seeds} leave wide intervals (--seeds 10)."))
    if outcomes:
        steps.append(Step("Examine the attention class by class.", f"foveate trust {name}"))
    return steps


def _recommended(outcomes: Sequence[Outcome]) -> str | None:
    """Of the paradigms with about the best accuracy, the one with the highest SAIF."""
    measured = [o for o in outcomes if o.share("saif") is not None]
    if len(measured) < 2:
        return None
    best = max(o.summary["accuracy"].mean for o in measured)
    close = [o for o in measured if o.summary["accuracy"].mean >= best - CLOSE]
    chosen = max(close, key=lambda o: o.summary["saif"].mean)
    others = [label(o.paradigm) for o in close if o is not chosen]
    if not others:
        return f"Use {label(chosen.paradigm)}: it is the most accurate here."
    return (
        f"Use {label(chosen.paradigm)} here: about as accurate as {join_words(others)}, and it "
        "looks at the relevant segment most often."
    )


def fit_steps(manifest: Mapping[str, Any], name: str, *, done: bool) -> list[Step]:
    """Suggestions below the results of a fit.

    Args:
        manifest: The manifest of the run.
        name: Name of the run.
        done: Whether the run is finished.
    """
    if not done:
        return [Step("Finish this run.", f"foveate resume {name}")]
    steps = [
        Step("Check whether the attention can be trusted.", f"foveate trust {name}"),
        Step("Predict new bags.", f"foveate predict {name} NEW --out predictions.csv"),
        Step(
            "Draw the evidence in new bags.",
            f"foveate explain {name} NEW --out segments.csv --page explanations.html",
        ),
    ]
    parts = manifest["sizes"]["parts"]
    kind, tested = (
        ("test bags", parts["test"]) if "test" in parts else ("bags", sum(parts.values()))
    )
    if tested < FEW_BAGS:
        steps.append(Step(f"Collect more {kind}: {tested} leave wide intervals."))
    return steps


def explain_steps(labelled: bool, examined_by: str) -> list[Step]:
    """Suggestions below explanations of new bags.

    Args:
        labelled: Whether the bags have labels.
        examined_by: The command that examines the attention.
    """
    steps = [Step("Check whether the attention can be trusted.", examined_by)]
    if not labelled:
        steps.append(Step("Add a label column to see which predictions are correct."))
    return steps
