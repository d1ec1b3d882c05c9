"""Findings from the fixed-focus curves, by the criteria in ``criteria.py``.

A claim is a list of checks, one to three for each data set. Losses are those on all training bags;
"the end" is the last epoch.
"""

from collections.abc import Callable, Mapping

import numpy as np

from foveate.dynamics.vr23 import PARADIGMS, Paradigm, exact_fixed, losses
from foveate.jobs.experiment import Records
from foveate.records.findings import Finding
from foveate.records.record import Record
from foveate.studies.vr23.fixed_focus.checks import (
    Check,
    CheckedClaim,
    compare_interval,
    compare_mean,
    finding,
    largest,
    smallest,
)
from foveate.studies.vr23.fixed_focus.curves import SETS, alphas_of, curve, elapsed, moment
from foveate.studies.vr23.fixed_focus.losses import RULES as LOSSES
from foveate.types import FloatArray

__all__ = ["early_ratio", "evaluate_claims", "loss_errors", "theorem_errors"]


TOLERANCE = 0.05  # of the largest incentive, by which C12 allows a rise


def evaluate_claims(records: Records, deviation: str) -> list[Finding]:
    """One finding for each claim."""
    sets = {name: records[name] for name in SETS if name in records}
    findings = [
        finding(claim, rule(sets), deviation) for claim, rule in {**LOSSES, **INCENTIVES}.items()
    ]
    return [*findings, finding("vr23:C13", _theorem(records["theorem"], sets), deviation)]


def _incentive(record: Record, paradigm: str, rates: str = "equal") -> FloatArray:
    """The incentive after half of the training, shape (A, S)."""
    return curve(record, "incentive", paradigm, rates)[moment(record, 0.5)]


def _along(sets: Records, paradigm: str) -> tuple[dict[str, FloatArray], str]:
    """Incentives (A, S) by data set, and the same at the authors' rates as a sentence."""
    incentives = {name: _incentive(record, paradigm) for name, record in sets.items()}
    at_authors = [
        f"{SETS[name]} {_values_text(_incentive(record, paradigm, 'authors').mean(1))}"
        for name, record in sets.items()
    ]
    return incentives, f" At the authors' rates: {'; '.join(at_authors)}."


def _values_text(values: FloatArray) -> str:
    return ", ".join(f"{value:.3g}" for value in values)


def _monotone(name: str, values: FloatArray, sign: int) -> Check:
    """Whether the mean over seeds rises (sign 1) or falls (−1) strictly along the grid of α."""
    mean = values.mean(1)
    title = "a rise" if sign > 0 else "a fall"
    return Check(
        bool((sign * np.diff(mean) > 0).all()),
        f"{SETS[name]}, {title} with α ({_values_text(mean)})",
    )


def _ratio(record: Record, values: FloatArray, alpha: float) -> FloatArray:
    """The incentive at one α over the largest mean, shape (S,)."""
    index = record.meta["alphas"].index(alpha)
    return np.asarray(values[index] / values.mean(1).max())


def _soft_incentive(sets: Records) -> CheckedClaim:
    incentives, extra = _along(sets, "soft")
    rows, checks = {}, []
    for name, values in incentives.items():
        rows[name] = _ratio(sets[name], values, 1.0)
        text = f"{SETS[name]}, at α = 1 it is {rows[name].mean():.1%} of the largest"
        checks += [
            _monotone(name, values, -1),
            compare_mean(rows[name], 0.1, below=True, text=text),
        ]
    measure = "soft incentive at α = 1 over the largest, halfway, worst data set"
    return CheckedClaim(checks, largest(rows), measure, "incentive-profile", extra)


def early_ratio(record: Record) -> FloatArray:
    """The hard incentive at α = .2 over the largest, early in the training, shape (S,).

    Early is the first measurement at which the loss at α = 1, mean over seeds, is below half of
    its start; the last one if it never is.
    """
    fall = curve(record, "set_loss", "hard")[:, record.meta["alphas"].index(1.0)].mean(-1)
    halved = fall <= fall[0] / 2
    early = int(halved.argmax()) if halved.any() else len(fall) - 1
    return _ratio(record, curve(record, "incentive", "hard")[early], 0.2)


def _hard_incentive(sets: Records) -> CheckedClaim:
    incentives, extra = _along(sets, "hard")
    rows, checks = {}, []
    for name, values in incentives.items():
        rows[name] = early_ratio(sets[name])
        ratio = _ratio(sets[name], values, 0.2).mean()
        text = (
            f"{SETS[name]}, at α = .2 it is {rows[name].mean():.1%} of the largest early (halfway "
            f"{ratio:.1%})"
        )
        checks += [
            _monotone(name, values, 1),
            compare_interval(rows[name], 0.5, below=True, text=text),
        ]
    measure = "hard incentive at α = .2 over the largest, early, worst data set"
    return CheckedClaim(checks, largest(rows), measure, "incentive-profile", extra)


def _marginal_incentive(sets: Records) -> CheckedClaim:
    incentives, extra = _along(sets, "lvml")
    rows, checks = {}, []
    for name, values in incentives.items():
        rows[name] = _ratio(sets[name], values, 1.0)
        rise = np.diff(values, axis=0).max(0) / values.mean(1).max()
        along = f"{SETS[name]}, largest rise between neighbouring α {rise.mean():+.1%}"
        text = f"{SETS[name]}, at α = 1 it is {rows[name].mean():.1%} of the largest"
        checks += [
            compare_interval(
                rise, TOLERANCE, below=True, text=f"{along} ({_values_text(values.mean(1))})"
            ),
            compare_mean(rows[name], 0.1, below=False, text=text),
        ]
    measure = "LVML incentive at α = 1 over the largest, halfway, worst data set"
    return CheckedClaim(checks, smallest(rows), measure, "incentive-profile", extra)


def theorem_errors(record: Record) -> FloatArray:
    """The relative error of the weights against Theorem 1, worst up to the horizon.

    Args:
        record: Of gradient descent on the population.

    Returns:
        Shape (paradigms, steps, alphas), in the record's order.
    """
    meta = record.meta
    lines = meta["lines"]
    shape = (len(record.t), len(lines), len(meta["alphas"]))
    mu, off = (record.values[name].reshape(shape) for name in ("mu", "off"))
    worst = np.empty(shape[1:])
    for i, (paradigm, step) in enumerate(lines):
        t = elapsed(record, step)
        seen = (t > 0) & (t <= meta["until"] * (1 + 1e-9))
        exact = exact_fixed(paradigm, t[seen, None], alphas_of(record), meta["classes"])
        error = np.hypot(mu[seen, i] - exact, off[seen, i]) / exact
        worst[i] = error.max(0)
    return worst.reshape(len(PARADIGMS), -1, shape[2])


def _theorem(record: Record, sets: Records) -> CheckedClaim:
    errors = theorem_errors(record).max((0, 2))
    steps = [step for _, step in record.meta["lines"]][: len(errors)]
    # Where steps are not halves of one another, the order is judged per halving all the same.
    orders = np.diff(np.log(errors)) / np.diff(np.log(steps))
    named = ", ".join(f"{e:.2%} at h = {h:g}" for h, e in zip(steps, errors, strict=True))
    checks = [
        Check(bool(errors[-1] < 0.01), f"on the population the weights are off by {named}"),
        Check(
            bool((2**orders >= 1.8).all()),
            f"halving the step divides the error by {(2**orders).min():.2f} or more",
        ),
    ]
    effect, measure = errors[-1:], "largest relative error of the weights at the finest step"
    if "orthogonal" in sets:
        record = sets["orthogonal"]
        measure = "relative error of the training loss on sampled bags where it is largest"
        every = np.stack([loss_errors(record, paradigm) for paradigm in PARADIGMS])
        mean = every.mean(-1)
        index = np.unravel_index(np.abs(mean).argmax(), mean.shape)
        effect = np.sign(mean[index]) * every[index]
        word = f"on {record.meta['n']} sampled bags the loss is off by at most {effect.mean():.1%}"
        checks.append(
            compare_mean(effect, 0.05, below=True, text=f"{word} ({PARADIGMS[index[0]]})")
        )
    return CheckedClaim(checks, effect, measure, "theorem")


def loss_errors(record: Record, paradigm: Paradigm) -> FloatArray:
    """The relative error of the training loss against the closed form, shape (T, A, S).

    Args:
        record: Of the linear-orthogonal setting.
        paradigm: Whose loss, at equal rates.
    """
    alphas, classes = alphas_of(record), record.meta["classes"]
    t = elapsed(record, record.meta["rates"]["equal"][paradigm])
    mu = exact_fixed(paradigm, t[:, None], alphas, classes)
    exact = losses(paradigm, mu, alphas, classes)[..., None]
    return np.asarray((curve(record, "set_loss", paradigm) - exact) / exact)


INCENTIVES: Mapping[str, Callable[[Records], CheckedClaim]] = {
    "vr23:C10": _soft_incentive,
    "vr23:C11": _hard_incentive,
    "vr23:C12": _marginal_incentive,
}
