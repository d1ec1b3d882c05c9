"""Trainings that ran away: members whose answers are not numbers any more."""

from collections.abc import Mapping

import numpy as np

from foveate.record import Record

__all__ = ["diverged", "divergence"]


def diverged(record: Record) -> list[int]:
    """The seeds of a record that answer some held-out bag with what is not a number."""
    answers = zip(record.meta["seeds"], record.final["log_p"], strict=True)
    return [seed for seed, log_p in answers if np.isnan(log_p).any()]


def divergence(records: Mapping[str, Record]) -> str:
    """Which paradigms diverged and what may help, in a sentence; empty if none did."""
    lost = {name: record for name, record in records.items() if diverged(record)}
    if not lost:
        return ""
    counts = [f"{k} ({len(diverged(r))} of {len(r.meta['seeds'])} seeds)" for k, r in lost.items()]
    rate = min(float(np.min(record.meta["plan"]["lr"])) for record in lost.values())
    return (
        f"training diverged for {', '.join(counts)}: what they answer is no number any more; "
        f"a learning rate below {rate:g} may help"
    )
