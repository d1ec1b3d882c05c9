"""What to do next: the suggestions below the results of a page."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from foveate.charts.palette import label
from foveate.report.outcomes import Outcome
from foveate.report.sentences import join_words

__all__ = [
    "Step",
    "align_steps",
    "explain_steps",
    "fit_steps",
    "race_steps",
    "read_steps",
]

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


def fit_steps(
    manifest: Mapping[str, Any], name: str, *, done: bool, examined: bool = False
) -> list[Step]:
    """Suggestions below the results of a fit.

    Args:
        manifest: The manifest of the run.
        name: Name of the run.
        done: Whether the run is finished.
        examined: Whether it has a verdict on its attention.
    """
    if not done:
        return [Step("Finish this run.", f"foveate resume {name}")]
    trust = Step("Check whether the attention can be trusted.", f"foveate trust {name}")
    steps = [
        *(() if examined else (trust,)),
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


def read_steps(file: str, *, marked: bool, trained: bool) -> list[Step]:
    """Suggestions below the results of a reader of texts.

    Args:
        file: The file of texts.
        marked: Whether its attention was scored against rationales.
        trained: Whether the reader was trained here.
    """
    steps = []
    if trained:
        steps.append(Step("Read with another seed: one model shows one way to look.", "--seed 1"))
        steps.append(Step("Ask why attention is learnt here, or not.", f"foveate diagnose {file}"))
    if not marked:
        steps.append(Step("Score attention against marked words.", "--rationale COLUMN"))
    return steps


def align_steps(method: str, *, symmetrised: bool, gold: bool) -> list[Step]:
    """Suggestions below the results of an alignment.

    Args:
        method: How the words were aligned.
        symmetrised: Whether links of both directions were combined.
        gold: Whether the links were scored.
    """
    steps = []
    if method != "hmm":
        steps.append(Step("Align with the hidden Markov model and compare.", "--method hmm"))
    if not symmetrised:
        steps.append(Step("Align both ways and combine the links.", "--symmetrise grow"))
    if not gold:
        steps.append(Step("Score the links against links that people made.", "--gold LINKS"))
    return steps
