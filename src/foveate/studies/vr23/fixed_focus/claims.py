"""What the fixed-focus curves say of the paper's claims, by criteria set before they were seen.

A claim is a list of checks, one to three for each data set. All met: it holds; some met: it holds
in part; none: it does not hold. Losses are those on all training bags; "the end" is the last epoch.
"""

from collections.abc import Callable, Mapping

import numpy as np

from foveate.dynamics.vr23 import PARADIGMS, Paradigm, exact_fixed, losses
from foveate.jobs.experiment import Records
from foveate.records.findings import Finding
from foveate.records.record import Record
from foveate.studies.vr23.fixed_focus.checks import (
    Check,
    Judged,
    finding,
    held_to,
    largest,
    smallest,
)
from foveate.studies.vr23.fixed_focus.curves import SETS, alphas_of, curve, elapsed, moment
from foveate.studies.vr23.fixed_focus.losses import RULES as LOSSES
from foveate.types import FloatArray

__all__ = ["CRITERIA", "judge", "loss_errors", "theorem_errors"]


CRITERIA = {
    "vr23:C5": "On each data set, at equal learning rates, the largest soft loss over α ≥ .6 at "
    "the end, mean over seeds, is below 5 % of its start log C.",
    "vr23:C6": "On each data set, at equal rates, over hard and LVML and every α < 1, mean over "
    "seeds: (a) the loss at the end is above half of its limit for a g that is perfect on the "
    "foreground and uniform on the background, (1−α) log C and −log(α + (1−α)/C); (b) the last "
    "quarter of the training brings less than 10 % of the whole fall.",
    "vr23:C7": "On each data set, at equal rates (where all three start with the same slope), "
    "means over seeds: (a) after a tenth of the training the LVML loss is the lowest of the three "
    "by more than 1 % of log C for at least three quarters of the α < 1; (b) at the end it is "
    "below the hard loss for every α < 1.",
    "vr23:C8": "On each data set, at equal rates, the distance between the loss curves of α = .8 "
    "and α = 1, averaged over the second half of the training and over seeds, is (a) below 2 % of "
    "log C for soft, (b) above 5 % for hard and (c) above 5 % for LVML.",
    "vr23:C9": "On each data set, at equal rates, the hard loss at α = .2 falls by less than 10 % "
    "of its start within the first half of the training, mean over seeds.",
    "vr23:C10": "On each data set, at equal rates, after half of the training the soft incentive "
    "−dL/dα, mean over seeds, (a) falls strictly along the grid of α and (b) is at α = 1 below a "
    "tenth of its largest value over α.",
    "vr23:C11": "On each data set, at equal rates, after half of the training the hard incentive "
    "−dL/dα, mean over seeds, (a) rises strictly along the grid of α and (b) is at α = .2 below a "
    "tenth of its largest value over α.",
    "vr23:C12": "On each data set, at equal rates, after half of the training the LVML incentive "
    "−dL/dα, mean over seeds, (a) falls strictly along the grid of α and (b) is at α = 1 above a "
    "tenth of its largest value over α.",
    "vr23:C13": "Gradient descent from zero weights against Theorem 1 at t = step size × steps, "
    "every α and paradigm: (a) on the population (every label equally often, background mirrored) "
    "the relative error of the weights, largest over t up to the stated horizon, is below 1 % at "
    "the finest step, and (b) every halving of the step divides it by at least 1.8; (c) on sampled "
    "bags at equal rates the training loss, mean over seeds, stays within 5 % of the closed form "
    "at every measured time.",
}


def judge(records: Records, deviation: str) -> list[Finding]:
    """One finding for each claim in :data:`CRITERIA`."""
    sets = {name: records[name] for name in SETS if name in records}
    found = [
        finding(claim, rule(sets), deviation) for claim, rule in {**LOSSES, **INCENTIVES}.items()
    ]
    return [*found, finding("vr23:C13", _theorem(records["theorem"], sets), deviation)]


def _incentive(record: Record, paradigm: str, rates: str = "equal") -> FloatArray:
    """The incentive after half of the training, shape (A, S)."""
    return curve(record, "incentive", paradigm, rates)[moment(record, 0.5)]


def _profile(sets: Records, paradigm: str, sign: int, end: float, low: bool) -> Judged:
    """Checks of one paradigm's incentive over α.

    Args:
        sets: The records of the data sets.
        paradigm: Whose incentive.
        sign: 1 if it is to rise with α, −1 if to fall.
        end: The α at which its size is judged, against the largest.
        low: Whether it is to be below a tenth there, or above.
    """
    rows, checks, extra = {}, [], []
    for name, record in sets.items():
        place = record.meta["alphas"].index(end)
        values = _incentive(record, paradigm)
        mean = values.mean(1)
        rows[name] = values[place] / mean.max()
        size = f"{SETS[name]}, at α = {end:g} it is {rows[name].mean():.1%} of the largest"
        along = ", ".join(f"{value:.3g}" for value in mean)
        own = _incentive(record, paradigm, "authors").mean(1)
        extra.append(f"{SETS[name]} {', '.join(f'{value:.3g}' for value in own)}")
        word = "a rise" if sign > 0 else "a fall"
        checks += [
            Check(bool((sign * np.diff(mean) > 0).all()), f"{SETS[name]}, {word} with α ({along})"),
            held_to(rows[name], 0.1, below=low, said=size),
        ]
    measure = f"{paradigm} incentive at α = {end:g} over the largest, halfway, worst data set"
    said = f" At the authors' rates: {'; '.join(extra)}."
    effect = largest(rows) if low else smallest(rows)
    return Judged(checks, effect, measure, "incentive-profile", said)


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


def _theorem(record: Record, sets: Records) -> Judged:
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
        at = np.unravel_index(np.abs(mean).argmax(), mean.shape)
        effect = np.sign(mean[at]) * every[at]
        word = f"on {record.meta['n']} sampled bags the loss is off by at most {effect.mean():.1%}"
        checks.append(held_to(effect, 0.05, below=True, said=f"{word} ({PARADIGMS[at[0]]})"))
    return Judged(checks, effect, measure, "theorem")


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


INCENTIVES: Mapping[str, Callable[[Records], Judged]] = {
    "vr23:C10": lambda sets: _profile(sets, "soft", -1, 1.0, low=True),
    "vr23:C11": lambda sets: _profile(sets, "hard", 1, 0.2, low=True),
    "vr23:C12": lambda sets: _profile(sets, "lvml", -1, 1.0, low=False),
}
