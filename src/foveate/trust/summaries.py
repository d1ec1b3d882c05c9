"""What was found, as plain numbers: means with intervals, curves, tables, and JSON."""

from collections.abc import Sequence

import numpy as np

from foveate.bags.bag import Bag
from foveate.metrics.intervals import Interval, mean_interval
from foveate.metrics.localisation import over_bags
from foveate.trust.class_evidence import Marks
from foveate.trust.controls import left_over
from foveate.trust.segment_evidence import SHARES, Evidence
from foveate.trust.subject import Reading
from foveate.types import Array

__all__ = ["by_class", "column", "curves_of", "mean_of", "quantities", "unattended_probe"]


def quantities(evidence: Evidence, same: tuple[Array, Array], shared: bool) -> dict[str, Interval]:
    """Quantities over all bags, with intervals over bags."""
    numbers = {
        "accuracy": evidence.right,
        "top_accuracy": evidence.top_right,
        "mixed_accuracy": evidence.mixed_right,
        "even_accuracy": evidence.even_right,
        "gap": evidence.gap,
        "entropy": evidence.entropy,
        "sufficiency": evidence.sufficiency,
        "comprehensiveness": evidence.comprehensiveness,
        "deletion": evidence.deletion(),
        "deletion_random": evidence.deletion(random=True),
        "insertion": evidence.insertion(),
        "insertion_random": evidence.insertion(random=True),
        "agreement": evidence.agreement,
        "agreement_random": evidence.chance,
        "unattended_accuracy": np.where(
            np.isnan(evidence.unattended).any(-1),
            np.nan,
            np.nan_to_num(evidence.unattended).argmax(-1) == evidence.y,
        ),
    }
    flat = {k: v.mean(0) if shared else v.ravel() for k, v in numbers.items()}
    flat |= {"seeds_top": same[0].mean(0), "seeds_rank": same[1].mean(0)}
    return {name: over_bags(np.asarray(value, float)) for name, value in flat.items()}


def unattended_probe(bags: Sequence[Bag], reading: Reading) -> dict[str, Interval]:
    """How much of the label a fresh probe reads off unattended segments, and guessing for scale."""
    usual = [np.bincount(bag.y.numpy()).max() / len(bag) for bag in bags]
    values = left_over(bags, reading.alpha)
    read = values[~np.isnan(values)]
    nothing = Interval(float("nan"), None, None)
    return {
        "probe_accuracy": mean_interval(read, within=(0.0, 1.0)) if len(read) else nothing,
        "guess_accuracy": Interval(float(np.mean(usual)), None, None),
    }


def curves_of(evidence: Evidence) -> dict[str, list[float]]:
    """Mean curves over members and bags; the whole bag stands beside them."""
    rows = ~np.isnan(evidence.curves.kept).any((0, 2))  # bags that were read again
    curves = {k: v[:, rows] for k, v in evidence.curves._asdict().items()}
    none = [float("nan")] * len(SHARES)
    means = {k: v.mean((0, 1)).tolist() if rows.any() else none for k, v in curves.items()}
    return {"shares": list(SHARES), **means, "whole": [float(evidence.predicted.mean())]}


def by_class(values: Array, y: Array, classes: int) -> list[list[float]]:
    """Means over the bags of each class, (S, n, C) → C rows."""
    rows = []
    for c in range(classes):
        of_class = values[y == c]
        of_class = of_class[~np.isnan(of_class).any(1)]
        rows.append(of_class.mean(0).tolist() if len(of_class) else [float("nan")] * classes)
    return rows


def column(marks: Marks, c: int) -> dict[str, float]:
    """All marks of one class, means over members."""
    return {name: mean_of(value[:, c]) for name, value in marks.items()}


def mean_of(values: Array) -> float:
    """The mean of what is a number; nan where nothing is."""
    present = values[~np.isnan(values)]
    return float(present.mean()) if len(present) else float("nan")
