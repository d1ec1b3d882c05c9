"""Findings of the word counts. [snell21]"""

import numpy as np

from foveate.jobs.experiment import Records
from foveate.metrics.intervals import mean_interval
from foveate.records.findings import Finding, Verdict
from foveate.records.record import Array, Record

__all__ = ["findings", "slopes"]


def findings(_: object, records: Records) -> list[Finding]:
    """C8, C9 and C13."""
    return [
        _derivative(records["derivative"]),
        _counts(records["counts"]),
        _example(records["example"]),
    ]


def slopes(record: Record, name: str) -> Array:
    """Slope of log deviation against log d for each seed, shape (S,)."""
    return np.polyfit(np.log(record.t), np.log(record.values[name]), 1)[0]


def _approached(record: Record, name: str) -> bool:
    decreases = bool((np.diff(record.values[name].mean(1)) < 0).all())
    return decreases and -0.6 < slopes(record, name).mean() < -0.4


def _derivative(record: Record) -> Finding:
    gamma, theta = (_approached(record, name) for name in ("gamma", "theta"))
    ends = {name: values.mean(1)[[0, -1]] for name, values in record.values.items()}
    wrong = bool(ends["printed"][1] > 0.5)
    verdict: Verdict = (
        "does not hold" if not gamma else "holds" if theta and wrong else "holds in part"
    )
    slope = mean_interval(slopes(record, "gamma"))
    first, last = (f"{int(d):,}" for d in record.t[[0, -1]])
    return Finding(
        "snell21:C8",
        verdict,
        slope.mean,
        slope.low,
        slope.high,
        "slope of log relative deviation of ∂γ/∂τ from its limit against log d (theory: −½)",
        f"From d = {first} to {last} the deviation falls from {ends['gamma'][0]:.3f} to "
        f"{ends['gamma'][1]:.3f} for the logits and from {ends['theta'][0]:.3f} to "
        f"{ends['theta'][1]:.3f} for θ with 1/|O| (slope {slopes(record, 'theta').mean():.2f}). "
        f"Eq. 12 as printed, without 1/|O| (|O| = {record.meta['outputs']}), stays off by "
        f"{ends['printed'][1]:.2f}.",
        "deviation",
        "the limit of θ is divided by |O|, which the paper leaves out",
    )


def _counts(record: Record) -> Finding:
    relative = record.values["difference"][0] / record.values["largest"][0]
    parts = [
        f"{name} ({pairs:,} pairs, {entries:,.0f} entries): {gap:.0e}"
        for name, pairs, entries, gap in zip(
            record.meta["corpora"],
            record.meta["pairs"],
            record.values["entries"][0],
            relative,
            strict=True,
        )
    ]
    return Finding(
        "snell21:C9",
        "holds" if bool((relative < 1e-12).all()) else "does not hold",
        float(relative.max()),
        None,
        None,
        "largest difference between the two tables, relative to the largest entry",
        f"The difference is rounding: {'; '.join(parts)}.",
        "tables",
    )


def _example(record: Record) -> Finding:
    final = {name: value[0] for name, value in record.final.items()}
    beta, alpha = final["beta"], final["alpha"]
    gap, loss = float(final["gap"]), float(final["loss"])
    largest_error = float(np.abs(alpha - np.array([0, 0.5, 0.5])).max())
    right = [
        int(beta.argmax()) == 0,
        largest_error < 1e-3,
        gap < 1e-6,
        bool(final["grid_loss"].min() >= loss - gap - 1e-12),
    ]
    return Finding(
        "snell21:C13",
        "holds" if all(right) else "does not hold",
        largest_error,
        None,
        None,
        "largest distance of the optimal α from (0, ½, ½)",
        f"β = ({', '.join(f'{b:.3f}' for b in beta)}), and yet α = "
        f"({', '.join(f'{a:.4f}' for a in alpha)}) with a loss of {loss:.4f} nats, at most "
        f"{gap:.0e} from the minimum; attention on the largest β alone costs {np.log(3):.4f}.",
        "example",
    )
