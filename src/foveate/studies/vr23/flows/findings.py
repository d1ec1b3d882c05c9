"""Findings of the flows and descents on the theorems and laws. [vr23] Sec. 4"""

from itertools import combinations

import numpy as np

from foveate.dynamics import vr23
from foveate.jobs.experiment import Records
from foveate.records.findings import Finding
from foveate.records.record import Array, Record
from foveate.studies.verdicts import verdict_of

__all__ = ["findings"]

SOFT, HARD, LVML = range(3)
EXACT_BACKGROUND = "the background is its mean, zero, which is all the population flow sees of it"


def findings(settings: object, records: Records) -> list[Finding]:
    """One finding for each claim of the experiment.

    Args:
        settings: The experiment's settings.
        records: ``flow-…`` for each setting, ``descent``, ``laws``.
    """
    flows = {name: record for name, record in records.items() if name.startswith("flow-")}
    laws = records["laws"].final
    return [
        _theorem_2(records["descent"]),
        _fastest(flows),
        _one_hot(laws["one_hot"]),
        _jensen(laws["inside"]),
        _crossing(flows),
        _same_direction(records["descent"]),
    ]


def descent_errors(record: Record) -> Array:
    """Largest deviation from the flow relative to its largest value, (paradigms, steps)."""
    members = record.meta["members"]
    errors = []
    for name in ("mu", "nu"):
        exact = record.values[f"exact_{name}"]
        gap = np.abs(record.values[name] - exact).max(0)
        errors.append(gap / np.abs(exact).max(0))
    steps = len({lr for _, lr in members})
    return np.max(errors, 0).reshape(-1, steps)


def _theorem_2(record: Record) -> Finding:
    errors = descent_errors(record)
    ratios = errors[:, :-1] / errors[:, 1:]
    small, order = bool((errors[:, -1] < 0.01).all()), bool(((ratios > 1.7) & (ratios < 2.3)).all())
    return Finding(
        "vr23:C14",
        verdict_of([small, order]),
        float(errors[:, -1].max()),
        None,
        None,
        "largest relative deviation of (μ, ν) from the exact flow at the smallest step",
        f"Largest deviation {100 * errors[:, -1].max():.2f} % at the smallest step; halving the "
        f"step divides the error by {ratios.min():.2f} to {ratios.max():.2f}. Nothing is random "
        "here, so there is no interval.",
        "descent",
        EXACT_BACKGROUND,
    )


def _first_above(t: Array, curve: Array, level: float) -> float:
    above = np.flatnonzero(curve >= level)
    return float(t[above[0]]) if len(above) else np.inf


def _fastest(flows: Records) -> Finding:
    parts, words, gaps = [], [], []
    for record in flows.values():
        joint = record.values["alpha"] * record.values["beta"]
        times = [_first_above(record.t, joint[:, k], 0.9) for k in range(3)]
        nu = record.values["nu"][-1]
        parts += [times[LVML] < min(times[SOFT], times[HARD]), bool(nu.argmax() == HARD)]
        gaps.append(min(times[SOFT], times[HARD]) / times[LVML] if np.isfinite(times[LVML]) else 0)
        words.append(
            f"m = {record.meta['m']}, C = {record.meta['C']}: α·β reaches .9 at t = "
            f"{times[LVML]:.4g} (LVML), {times[SOFT]:.4g} (soft), {times[HARD]:.4g} (hard); ν ends "
            f"at {nu[LVML]:.2f}, {nu[SOFT]:.2f}, {nu[HARD]:.2f}"
        )
    return Finding(
        "vr23:C15",
        verdict_of(parts),
        float(min(gaps)),
        None,
        None,
        "time of the next fastest paradigm to α·β = .9, over LVML's (smaller setting counts)",
        ". ".join(words) + ".",
        "flow",
    )


def _one_hot(losses: Array) -> Finding:
    gap = float(np.ptp(losses, axis=0).max())
    return Finding(
        "vr23:C17",
        "holds" if gap < 1e-9 else "does not hold",
        gap,
        None,
        None,
        "largest difference between the three losses, nats",
        f"Over {losses.shape[1]:,} random models and bags.",
        "laws",
    )


def _jensen(losses: Array) -> Finding:
    gap = losses[HARD] - losses[LVML]
    parts = [bool(gap.min() > -1e-9), float((gap > 0).mean()) > 0.99]
    return Finding(
        "vr23:C18",
        verdict_of(parts),
        float(gap.mean()),
        float(np.quantile(gap, 0.025)),
        float(np.quantile(gap, 0.975)),
        "hard loss minus LVML loss, nats: mean and 95 % of draws",
        f"Smallest difference {gap.min():.2e} over {len(gap):,} random models and bags.",
        "laws",
    )


def _crossing(flows: Records) -> Finding:
    parts, words, gaps = [], [], []
    for record in flows.values():
        alpha, nu, rate = (record.values[k] for k in ("alpha", "nu", "nu_dot"))
        half = int(np.flatnonzero(alpha[:, SOFT] >= 0.5)[0]) if alpha[-1, SOFT] >= 0.5 else -1
        parts += [bool(alpha[half, HARD] < alpha[half, SOFT]) and half > 0]
        parts += [bool(nu[-1, HARD] > nu[-1, SOFT] and rate[-1, HARD] > rate[-1, SOFT])]
        gaps.append(float(alpha[half, SOFT] - alpha[half, HARD]))
        words.append(
            f"m = {record.meta['m']}, C = {record.meta['C']}: when soft attention has "
            f"{alpha[half, SOFT]:.2f} on the foreground, hard has {alpha[half, HARD]:.2f}; at the "
            f"horizon ν is {nu[-1, SOFT]:.2f} (soft) and {nu[-1, HARD]:.2f} (hard)"
        )
    return Finding(
        "vr23:C19",
        verdict_of(parts),
        min(gaps),
        None,
        None,
        "attention of soft minus hard when soft first reaches one half",
        ". ".join(words) + ".",
        "flow",
    )


def _same_direction(record: Record) -> Finding:
    members = record.meta["members"]
    smallest = min(lr for _, lr in members)
    last = [i for i, (_, lr) in enumerate(members) if lr == smallest]
    cosines = []
    for name in ("f", "g"):
        rows = record.final[name][last].reshape(len(last), -1)
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        cosines += [float(rows[a] @ rows[b]) for a, b in combinations(range(len(last)), 2)]
    ends = np.stack([record.values[k][-1, last] for k in ("mu", "nu")])
    spread = (ends.max(1) - ends.min(1)) / ends.max(1)
    return Finding(
        "vr23:C20",
        verdict_of([min(cosines) > 0.999, bool((spread > 0.01).all())]),
        min(cosines),
        None,
        None,
        "smallest cosine between the final weights of two paradigms",
        f"μ differs by {100 * spread[0]:.0f} % and ν by {100 * spread[1]:.0f} % between paradigms "
        f"at the end; {', '.join(vr23.PARADIGMS)} all point along the same vectors.",
        "descent",
        EXACT_BACKGROUND,
    )
