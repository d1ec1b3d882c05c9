"""Findings of the copy tasks on claims C5, C6 and C12. [snell21]"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from foveate.jobs.experiment import Records
from foveate.metrics.intervals import mean_interval
from foveate.records.findings import Finding, Verdict
from foveate.records.record import Record

if TYPE_CHECKING:
    from foveate.studies.snell21.copying import CopyingSettings

__all__ = ["findings", "first_above"]

FULL_ACCURACY = 0.99
NAMES = {"permutation": "permutations", "mixture": "the mixture"}


def first_above(record: Record, level: float, until: int) -> NDArray[np.float64]:
    """The first step at which each seed's accuracy exceeds ``level``, infinite where it never does.

    Args:
        record: Of one task, with ``accuracy`` (T, S).
        level: Accuracy to pass.
        until: Last step that counts.
    """
    above = (record.values["accuracy"] > level) & (record.t <= until)[:, None]
    return np.where(above.any(0), record.t[above.argmax(0)].astype(float), np.inf)


def findings(settings: "CopyingSettings", records: Records) -> list[Finding]:
    """One finding for each of the three claims."""
    return [
        _late_learning(settings, records, "permutation", "snell21:C5"),
        _late_learning(settings, records, "mixture", "snell21:C6"),
        _function(settings, records),
    ]


def _late_learning(settings: "CopyingSettings", records: Records, kind: str, claim: str) -> Finding:
    steps = first_above(records[kind], settings.learnt, settings.steps)
    easy = first_above(records["subset"], settings.learnt, settings.steps)
    failed, easy_failed = np.isinf(steps), np.isinf(easy)
    slower = float(np.median(steps)) >= 2 * float(np.median(easy))
    share = mean_interval(failed.astype(float), within=(0, 1))
    verdict: Verdict = "does not hold"
    if failed.any() and not easy_failed.any():
        verdict = "holds"
    elif (slower or failed.any()) and easy_failed.mean() <= 0.1:
        verdict = "holds in part"
    return Finding(
        claim=claim,
        verdict=verdict,
        effect=share.mean,
        low=share.low,
        high=share.high,
        measure=f"share of seeds in which {NAMES[kind]} are not learnt "
        f"within {settings.steps} steps",
        summary=f"{NAMES[kind]}: {int(failed.sum())} of {len(steps)} seeds not learnt, median "
        f"{_steps(steps)}; 40-of-60: {int(easy_failed.sum())} of {len(easy)} not learnt, median "
        f"{_steps(easy)}.",
        figure="curves",
        deviation=_deviation(settings),
    )


def _function(settings: "CopyingSettings", records: Records) -> Finding:
    copied = first_above(records["subset"], FULL_ACCURACY, settings.long_steps)
    permuted = records["permutation-function"].values["accuracy"]
    unlearnt = np.isinf(
        first_above(records["permutation-function"], settings.learnt, settings.long_steps)
    )
    best = mean_interval(permuted.max(0), within=(0, 1))
    perfect = bool(np.isfinite(copied).all())
    verdict: Verdict = "does not hold"
    if perfect and unlearnt.all():
        verdict = "holds"
    elif perfect and unlearnt.mean() >= 0.5:
        verdict = "holds in part"
    return Finding(
        "snell21:C12",
        verdict,
        *best,
        measure=f"best accuracy of the permutation function within {settings.long_steps} steps",
        summary=f"Copying 40-of-60 exceeds {FULL_ACCURACY} in {int(np.isfinite(copied).sum())} of "
        f"{len(copied)} seeds (median {_steps(copied)}); the permutation function never exceeds "
        f"{settings.learnt} in {int(unlearnt.sum())} of {len(unlearnt)}.",
        figure="curves",
        deviation=_deviation(settings),
    )


def _steps(first: NDArray[np.float64]) -> str:
    middle = float(np.median(first))
    return f"{middle:.0f} steps" if np.isfinite(middle) else "never"


def _deviation(settings: "CopyingSettings") -> str:
    if (settings.d, settings.batch, settings.length) == (256, 128, 40):
        return "none in sizes; accuracy is read with the true words before each place"
    return (
        f"smaller: states of {settings.d} in place of 256, batches of "
        f"{settings.batch} in place of 128, "
        f"{settings.seeds} seeds in place of 20, sequences of {settings.length}"
    )
