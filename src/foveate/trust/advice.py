"""Advice across paradigms: which of equally accurate models to use, and who overfits."""

from collections.abc import Sequence

import numpy as np

from foveate.records.record import Record
from foveate.trust.examination import Trust
from foveate.trust.grades import GRADES

__all__ = ["compare", "overfits"]

CLOSE = 0.03  # of accuracy: closer paradigms count as equally accurate
BETTER = 0.05  # of FT that makes one of them worth naming
OVERFIT_RATIO = 1.1  # held-out loss at the end over its least


def overfits(record: Record) -> bool:
    """Whether held-out loss rose from its least while training loss went on falling.

    Args:
        record: With ``loss`` (held-out) and ``train_loss`` over time, shape (T, S) each.

    Example:
        >>> loss = np.array([[1.0], [0.5], [0.9]])
        >>> values = {"loss": loss, "train_loss": np.array([[1.0], [0.4], [0.1]])}
        >>> overfits(Record(np.arange(3.0), values, {}, {}))
        True
    """
    if not {"loss", "train_loss"} <= set(record.values):
        return False
    curves = np.stack([record.values[key] for key in ("loss", "train_loss")])
    measured = np.isfinite(curves).all((0, 2))  # training loss is not known before the first epoch
    if measured.sum() < 2:
        return False
    held_out, train = curves[:, measured].mean(2)
    least = int(held_out.argmin())
    has_risen = held_out[-1] > OVERFIT_RATIO * held_out[least] + 0.02
    return bool(has_risen and train[-1] < train[least])


def compare(trusts: Sequence[Trust], chosen: str | None = None) -> tuple[str, ...]:
    """What the comparison of paradigms advises, a sentence each.

    Args:
        trusts: What was found of each paradigm.
        chosen: The one that a fit chose, by accuracy.
    """
    if len(trusts) < 2:
        return ()
    best = max(_accuracy(t) for t in trusts)
    close = [t for t in trusts if _accuracy(t) >= best - CLOSE]
    seen = [t for t in close if not np.isnan(_ft(t))]
    if not seen:
        return ()
    top = max(seen, key=lambda t: (-GRADES.index(t.verdict.grade), _ft(t)))
    reference = next((t for t in trusts if t.paradigm == chosen), None) or max(close, key=_accuracy)
    if top.verdict.grade == "cannot tell":
        return ()
    if top.verdict.grade == "do not trust":
        names = ", ".join(t.paradigm for t in close)
        text = f"None of the accurate models can be trusted ({names})."
        return (text, *(_less_accurate(t, best) for t in trusts if _is_graded_better(t)))
    if top is reference or np.isnan(_ft(reference)) or _ft(top) < _ft(reference) + BETTER:
        return ()
    return (
        f"{top.paradigm} is as accurate ({100 * _accuracy(top):.0f} % against "
        f"{100 * _accuracy(reference):.0f} %) as {reference.paradigm} and looks at the evidence "
        f"more often (FT {100 * _ft(top):.0f} % against {100 * _ft(reference):.0f} %, chance "
        f"{100 * top.chance:.0f} %): use it.",
    )


def _is_graded_better(trust: Trust) -> bool:
    return trust.verdict.grade in ("trust", "trust with care")


def _less_accurate(trust: Trust, best: float) -> str:
    """A paradigm with a better grade than the accurate ones, and what it costs."""
    accuracy = f"{100 * _accuracy(trust):.0f} % against {100 * best:.0f} %"
    return f"{trust.paradigm} has '{trust.verdict.grade}', but is less accurate ({accuracy})."


def _accuracy(trust: Trust) -> float:
    return float(trust.evidence["accuracy"].mean)


def _ft(trust: Trust) -> float:
    """FT as measured where that is known, else as estimated."""
    where = trust.localisation
    known = where is not None and where["bags"] >= 15
    return float(where["ft"]["all"]["mean"]) if where and known else trust.score
