"""Verdicts and sentences from numbers over seeds and data sets."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from foveate.jobs.experiment import Records
from foveate.metrics.intervals import Interval, mean_interval
from foveate.records.findings import Verdict
from foveate.records.record import Record
from foveate.studies.snell21.agreement.published import title

if TYPE_CHECKING:
    from foveate.studies.snell21.agreement import AgreementSettings

__all__ = ["count", "deviation", "low", "mean_over_seeds", "share_verdict", "short"]

FEW_SEEDS = 5  # seeds


def share_verdict(passed: Sequence[bool]) -> Verdict:
    """Holds if all pass, in part if at least half do."""
    if all(passed):
        return "holds"
    return "holds in part" if sum(passed) * 2 >= len(passed) else "does not hold"


def low(values: NDArray[np.float64]) -> float:
    """The lower end of the interval over seeds; −∞ for one seed."""
    end = mean_interval(values).low
    return -np.inf if end is None else end


def mean_over_seeds(records: Records, read: Callable[[Record], NDArray[np.float64]]) -> Interval:
    """The mean over data sets, with its interval over the seeds that all of them have."""
    series = [read(record) for record in records.values()]
    seeds = min(map(len, series))
    return mean_interval(np.mean([values[:seeds] for values in series], 0))


def short(value: float | NDArray[np.float64]) -> str:
    """A mean over seeds with two decimals, without the leading 0.

    Example:
        >>> short(0.254), short(np.array([-0.1, -0.2])), short(1.5)
        ('.25', '-.15', '1.50')
    """
    text = f"{float(np.mean(value)):.2f}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def count(passed: dict[str, bool]) -> str:
    """The number of data sets that pass, and the names of the others."""
    failed = [title(data) for data, passes in passed.items() if not passes]
    start = f"In {len(passed) - len(failed)} of {len(passed)} data sets"
    return f"{start} (not in {', '.join(failed)})." if failed else f"{start}."


def deviation(settings: "AgreementSettings", records: Records) -> str:
    """Differences from the paper in settings and data sets."""
    notes = ["checkpoints are chosen on one half of the validation texts and read on the other"]
    if (settings.d, settings.embedding, settings.steps) != (256, 300, 4000):
        sizes = (
            f"states of {settings.d}, embeddings of {settings.embedding}, {settings.steps} steps"
        )
        notes.append(f"{sizes} in place of 256, 300 and 4,000")
    if settings.seeds < FEW_SEEDS:
        notes.append(
            f"with {settings.seeds} seeds intervals are wide: what is not shown may hold with more"
        )
    if settings.vectors is None:
        notes.append("embeddings begin at random, as in the released code, not with GloVe")
    if settings.score == "linear":
        notes.append("attention has a linear score, as in the blog, in place of a hidden layer")
    if settings.longest is not None:
        notes.append(f"texts are cut after {settings.longest} words")
    if settings.train is not None:
        notes.append(f"at most {settings.train:,} training texts")
    if settings.proxy_epochs < 60:
        notes.append(
            f"proxy of {settings.proxy_d}: {settings.proxy_epochs} epochs at {settings.proxy_lr:g}"
        )
    if set(records) == {"keywords"}:
        notes.append("no data sets here (FOVEATE_DATA): made-up keyword sentences only")
    about = [f"{title(n)}: {r.meta['about']}" for n, r in records.items() if r.meta.get("about")]
    return "; ".join([*notes, *about])
