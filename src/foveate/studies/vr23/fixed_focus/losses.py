"""The claims about fixed-focus losses, C5 to C9, checked on every data set. [vr23] Sec. 3.1"""

from collections.abc import Callable, Mapping

import numpy as np

from foveate.dynamics.vr23 import PARADIGMS
from foveate.jobs.experiment import Records
from foveate.records.record import Record
from foveate.studies.vr23.fixed_focus.checks import (
    Check,
    CheckedClaim,
    compare_interval,
    compare_mean,
    largest,
    smallest,
)
from foveate.studies.vr23.fixed_focus.curves import (
    SETS,
    alphas_of,
    curve,
    limit,
    moment,
    start_of,
)
from foveate.types import FloatArray

__all__ = ["RULES", "half_time"]


def _loss(record: Record, paradigm: str, share: float = 1.0, rates: str = "equal") -> FloatArray:
    """Losses after a share of the training in units of log C, shape (A, S)."""
    values = curve(record, "set_loss", paradigm, rates)
    return values[moment(record, share)] / start_of(record)


def _soft_vanishes(sets: Records) -> CheckedClaim:
    rows, checks = {}, []
    for name, record in sets.items():
        rows[name] = _loss(record, "soft")[alphas_of(record) >= 0.6].max(0)
        text = f"{SETS[name]}, {rows[name].mean():.1%} of log C is left"
        checks.append(compare_mean(rows[name], 0.05, below=True, text=text))
    measure = "largest soft loss at the end over α ≥ .6, share of log C, worst data set"
    return CheckedClaim(checks, largest(rows), measure, "losses")


def _over_limit(record: Record, name: str, paradigm: str) -> FloatArray:
    """A loss at the end over its limit for each α < 1, shape (A', S)."""
    alphas = alphas_of(record)
    floor = limit(paradigm, alphas, record.meta["classes"])
    return (curve(record, name, paradigm)[-1][alphas < 1]) / floor[alphas < 1, None]


def _others_flatten(sets: Records) -> CheckedClaim:
    rows, checks, extra = {}, [], []
    for name, record in sets.items():
        partial, shares = alphas_of(record) < 1, []
        for paradigm in ("hard", "lvml"):
            start, at_75, end = (
                _loss(record, paradigm, s)[partial].mean(1) for s in (0.0, 0.75, 1.0)
            )
            shares.append(((at_75 - end) / (start - end)).max())
        both = np.concatenate([_over_limit(record, "set_loss", p) for p in ("hard", "lvml")])
        unseen = np.concatenate([_over_limit(record, "loss", p) for p in ("hard", "lvml")])
        rows[name] = both.min(0)
        extra.append(f"{SETS[name]} {unseen.mean(1).min():.2f}")
        text = f"{SETS[name]}, at least {rows[name].mean():.2f} of the limit remain"
        last = f"{SETS[name]}, the last quarter brings up to {max(shares):.1%} of the fall"
        checks += [
            compare_mean(rows[name], 0.5, below=False, text=text),
            Check(bool(max(shares) < 0.1), last),
        ]
    measure = "loss at the end over its limit, smallest over hard, LVML and α < 1, worst data set"
    extra_text = (
        " Below 1 g has memorised which label each background segment came with; on held-out bags "
        f"the smallest ratio is: {', '.join(extra)}."
    )
    return CheckedClaim(checks, smallest(rows), measure, "loss-profile", extra_text)


def _early_lead(record: Record, rates: str = "equal") -> FloatArray:
    """How far LVML is below the lower of the others after a tenth, in log C, shape (A', S)."""
    soft, hard, lvml = (_loss(record, p, 0.1, rates) for p in PARADIGMS)
    return (np.minimum(soft, hard) - lvml)[alphas_of(record) < 1]


def half_time(record: Record, paradigm: str) -> FloatArray:
    """Epochs until a loss has made half of its own fall, mean over α < 1, equal rates, shape (S,).

    Loss floors differ between the paradigms; each curve is compared with its own.
    """
    lines = [tuple(line) for line in record.meta["lines"]]
    index = lines.index((paradigm, record.meta["rates"]["equal"][paradigm]))
    alphas = alphas_of(record)
    curves = record.final["losses"].reshape(len(lines), len(alphas), -1, record.meta["epochs_run"])
    losses = curves[index][alphas < 1]
    start = curve(record, "set_loss", paradigm)[0][alphas < 1]
    halfway = (start + losses.min(-1)) / 2
    return np.asarray((losses <= halfway[..., None]).argmax(-1).mean(0) + 1.0)


def _marginal_leads(sets: Records) -> CheckedClaim:
    rows, checks, levels = {}, [], []
    for name, record in sets.items():
        times = {paradigm: half_time(record, paradigm) for paradigm in PARADIGMS}
        rows[name] = np.minimum(times["soft"], times["hard"]) / times["lvml"] - 1
        epochs = ", ".join(f"{k} {v.mean():.1f}" for k, v in times.items())
        lower = (_loss(record, "hard") - _loss(record, "lvml"))[alphas_of(record) < 1].mean(1)
        lead = f"{SETS[name]}, epochs to half of its own fall: {epochs}; LVML leads by "
        checks += [
            compare_interval(rows[name], 0.0, below=False, text=f"{lead}{rows[name].mean():.0%}"),
            Check(
                bool((lower > 0).all()),
                f"{SETS[name]}, at the end {lower.min():.1%} of log C or more below hard",
            ),
        ]
        levels.append(f"{SETS[name]} {_lowest_early(record)} (authors' rates "
                      f"{_lowest_early(record, 'authors')})")  # fmt: skip
    measure = "by what share the better other needs longer to half of its fall, worst data set"
    extra = (
        " By the earlier criterion, the level after a tenth of the training, LVML is lowest for: "
        f"{', '.join(levels)} of the α < 1."
    )
    return CheckedClaim(checks, smallest(rows), measure, "loss-profile", extra)


def _lowest_early(record: Record, rates: str = "equal") -> str:
    """For how many α < 1 LVML's loss is the lowest after a tenth of the training."""
    leads = _early_lead(record, rates).mean(1) > 0.01
    return f"{leads.sum()} of {len(leads)}"


def _large_alphas_coincide(sets: Records) -> CheckedClaim:
    rows, checks = {}, []
    for name, record in sets.items():
        pair = [record.meta["alphas"].index(alpha) for alpha in (0.8, 1.0)]
        for paradigm in PARADIGMS:
            values = curve(record, "set_loss", paradigm)[moment(record, 0.5) :][:, pair]
            gap = np.abs(values[:, 0] - values[:, 1]).mean(0) / start_of(record)
            soft, text = paradigm == "soft", f"{SETS[name]}, {paradigm} {gap.mean():.1%}"
            checks.append(compare_mean(gap, 0.02 if soft else 0.05, below=soft, text=text))
            if soft:
                rows[name] = gap
    measure = "distance of the soft loss curves of α = .8 and 1, second half, log C, worst data set"
    return CheckedClaim(checks, largest(rows), measure, "losses")


def _loss_fall(record: Record, share: float, rates: str = "equal") -> FloatArray:
    """Relative decrease of the hard loss at α = .2, shape (S,)."""
    index = record.meta["alphas"].index(0.2)
    start, later = (_loss(record, "hard", s, rates)[index] for s in (0.0, share))
    return np.asarray((start - later) / start)


def _hard_is_flat(sets: Records) -> CheckedClaim:
    rows, checks, extra = {}, [], []
    for name, record in sets.items():
        rows[name] = _loss_fall(record, 0.5)
        text = f"{SETS[name]}, it falls by {rows[name].mean():.1%}"
        checks.append(compare_mean(rows[name], 0.1, below=True, text=text))
        extra.append(f"{SETS[name]} {_loss_fall(record, 0.5, 'authors').mean():.1%}")
    measure = "fall of the hard loss at α = .2 in the first half, share of its start, worst set"
    extra_text = (
        " No classifier that is uniform on the background can bring more than 20 % there. "
        f"At the authors' rates: {', '.join(extra)}."
    )
    return CheckedClaim(checks, largest(rows), measure, "losses", extra_text)


RULES: Mapping[str, Callable[[Records], CheckedClaim]] = {
    "vr23:C5": _soft_vanishes,
    "vr23:C6": _others_flatten,
    "vr23:C7": _marginal_leads,
    "vr23:C8": _large_alphas_coincide,
    "vr23:C9": _hard_is_flat,
}
