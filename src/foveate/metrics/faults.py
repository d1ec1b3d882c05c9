"""Failed trainings: divergence, and dead focus networks whose scores are constant."""

from collections.abc import Callable, Mapping

import numpy as np

from foveate.records.record import Record

__all__ = ["dead_focus", "dead_focus_warning", "diverged", "divergence", "faults"]

TOLERANCE = 1e-6  # of the largest score: equal scores differ by rounding


def diverged(record: Record) -> list[int]:
    """The seeds of a record whose prediction for some held-out bag is not a number."""
    predictions = zip(record.meta["seeds"], record.final["log_p"], strict=True)
    return [seed for seed, log_p in predictions if np.isnan(log_p).any()]


def dead_focus(record: Record) -> list[int]:
    """The seeds of a record whose focus network gives all segments of all bags the same score."""
    if not record.meta.get("uses_attention", True):
        return []
    s = record.final["s"]
    mask = np.broadcast_to(record.final.get("mask", np.True_), s.shape)
    scores = [row[valid] for row, valid in zip(s, mask, strict=True)]
    return [
        seed
        for seed, values in zip(record.meta["seeds"], scores, strict=True)
        if np.ptp(values) <= TOLERANCE * np.abs(values).max()
    ]


def faults(records: Mapping[str, Record]) -> list[str]:
    """Warnings about the trainings of some paradigms, a sentence each."""
    return [sentence for sentence in (divergence(records), dead_focus_warning(records)) if sentence]


def divergence(records: Mapping[str, Record]) -> str:
    """Which paradigms diverged and what may help, in a sentence; empty if none did."""
    if not (affected := _count_text(records, diverged)):
        return ""
    rate = min(float(np.min(r.meta["plan"]["lr"])) for r in records.values() if diverged(r))
    return (
        f"training diverged for {affected}: their predictions are not numbers; a learning rate "
        f"below {rate:g} may help"
    )


def dead_focus_warning(records: Mapping[str, Record]) -> str:
    """Which paradigms have a dead focus network, in a sentence; empty if none has."""
    if not (affected := _count_text(records, dead_focus)):
        return ""
    return (
        f"the focus network is dead for {affected}: every segment has the same score, so attention "
        "carries no information; other seeds, a lower learning rate or networks with biases may "
        "avoid it"
    )


def _count_text(records: Mapping[str, Record], fault: Callable[[Record], list[int]]) -> str:
    """The paradigms that have a fault, each with how many of its seeds."""
    affected = {name: len(fault(record)) for name, record in records.items()}
    seeds = {name: len(record.meta["seeds"]) for name, record in records.items()}
    return ", ".join(f"{name} ({n} of {seeds[name]} seeds)" for name, n in affected.items() if n)
