"""What makes a training's numbers hard to believe: it ran away, or its focus fell silent."""

from collections.abc import Callable, Mapping

import numpy as np

from foveate.records.record import Record

__all__ = ["diverged", "divergence", "faults", "silence", "silent"]

SAME = 1e-6  # of the largest score: what rounding makes of equal ones


def diverged(record: Record) -> list[int]:
    """The seeds of a record that answer some held-out bag with what is not a number."""
    answers = zip(record.meta["seeds"], record.final["log_p"], strict=True)
    return [seed for seed, log_p in answers if np.isnan(log_p).any()]


def silent(record: Record) -> list[int]:
    """The seeds of a record whose focus gives every segment of every held-out bag one score."""
    if not record.meta.get("uses_attention", True):
        return []
    s = record.final["s"]
    there = np.broadcast_to(record.final.get("mask", np.True_), s.shape)
    scores = [row[seen] for row, seen in zip(s, there, strict=True)]
    return [
        seed
        for seed, own in zip(record.meta["seeds"], scores, strict=True)
        if np.ptp(own) <= SAME * np.abs(own).max()
    ]


def faults(records: Mapping[str, Record]) -> list[str]:
    """All that is wrong with the trainings of some paradigms, a sentence each."""
    return [sentence for sentence in (divergence(records), silence(records)) if sentence]


def divergence(records: Mapping[str, Record]) -> str:
    """Which paradigms diverged and what may help, in a sentence; empty if none did."""
    if not (lost := _counted(records, diverged)):
        return ""
    rate = min(float(np.min(r.meta["plan"]["lr"])) for r in records.values() if diverged(r))
    return (
        f"training diverged for {lost}: what they answer is no number any more; a learning rate "
        f"below {rate:g} may help"
    )


def silence(records: Mapping[str, Record]) -> str:
    """Which paradigms have a focus that fell silent, in a sentence; empty if none has."""
    if not (lost := _counted(records, silent)):
        return ""
    return (
        f"the focus fell silent for {lost}: every segment has the same score, and attention says "
        "nothing; its hidden units died, which other seeds, a lower learning rate or networks with "
        "biases may spare"
    )


def _counted(records: Mapping[str, Record], fault: Callable[[Record], list[int]]) -> str:
    """The paradigms that have a fault, each with how many of its seeds."""
    lost = {name: len(fault(record)) for name, record in records.items()}
    seeds = {name: len(record.meta["seeds"]) for name, record in records.items()}
    return ", ".join(f"{name} ({n} of {seeds[name]} seeds)" for name, n in lost.items() if n)
