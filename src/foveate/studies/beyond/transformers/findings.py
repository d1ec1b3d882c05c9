"""Findings of the transformer trainings for each claim."""

from typing import TYPE_CHECKING

import numpy as np

from foveate.jobs.experiment import Records
from foveate.metrics.intervals import Interval, mean_interval
from foveate.records.findings import Finding, Verdict
from foveate.records.record import Record
from foveate.studies.snell21.copying.findings import first_above
from foveate.types import Array

if TYPE_CHECKING:
    from foveate.studies.beyond.transformers import TransformerSettings

__all__ = ["findings", "first_half"]

HALF = 0.5
NOTHING = Interval(float("nan"), None, None)  # where no seed has learnt


def findings(settings: "TransformerSettings", records: Records) -> list[Finding]:
    """One finding for each claim."""
    return [
        _tasks(settings, records),
        _order(settings, records),
        _agreement(settings, records),
        _heads(settings, records),
        _cancelling_errors(settings, records),
        _pairs(settings, records),
    ]


def first_half(record: Record, name: str) -> Array:
    """The first step at which a quantity of each seed is at least one half, infinite if never."""
    above = record.values[name] >= HALF
    return np.where(above.any(0), record.t[above.argmax(0)].astype(float), np.inf)


def _steps_to_learn(settings: "TransformerSettings", record: Record) -> Array:
    return first_above(record, settings.learnt, settings.steps)


def _tasks(settings: "TransformerSettings", records: Records) -> Finding:
    one = settings.heads[0]
    easy, hard = (
        _steps_to_learn(settings, records[f"{kind}-{one}"]) for kind in ("subset", "permutation")
    )
    failed = np.isinf(hard)
    share = mean_interval(failed.astype(float), within=(0, 1))
    all_easy, slower = bool(np.isfinite(easy).all()), np.median(hard) >= 1.5 * np.median(easy)
    verdict: Verdict = "does not hold"
    if all_easy and failed.any():
        verdict = "holds"
    elif all_easy and slower:
        verdict = "holds in part"
    return Finding(
        "transformers:C1",
        verdict,
        *share,
        measure=f"share of seeds that do not learn permutations within {settings.steps} steps",
        summary=f"40-of-60: learnt after {_steps_text(easy)} steps; "
        f"permutations: {_steps_text(hard)}.",
        figure="order",
        deviation=_deviation(settings),
    )


def _order(settings: "TransformerSettings", records: Records) -> Finding:
    leads = []
    for kind in ("subset", "permutation"):
        record = records[f"{kind}-{settings.heads[0]}"]
        done = np.isfinite(_steps_to_learn(settings, record))
        beta, alpha = first_half(record, "knows"), first_half(record, "on")
        both = done & (np.isfinite(beta) | np.isfinite(alpha))
        capped = [np.where(np.isfinite(v), v, settings.steps + settings.every)[both]
                  for v in (alpha, beta)]  # fmt: skip
        leads.append(capped[0] - capped[1])
    gap = np.concatenate(leads)
    verdict: Verdict = "does not hold"
    if len(gap) and (gap > 0).all():
        verdict = "holds"
    elif len(gap) and (gap > 0).mean() > HALF and not (gap < 0).any():
        verdict = "holds in part"
    mean = mean_interval(gap) if len(gap) else NOTHING
    return Finding(
        "transformers:C2",
        verdict,
        *mean,
        measure="steps by which β reaches one half before α does",
        summary=f"{int((gap > 0).sum())} of {len(gap)} seeds that learnt: β first; "
        f"{int((gap < 0).sum())}: α first; {int((gap == 0).sum())}: at the same measurement "
        f"(every {settings.every} steps).",
        figure="order",
        deviation=_deviation(settings),
    )


def _agreement(settings: "TransformerSettings", records: Records) -> Finding:
    record = records[f"subset-{settings.heads[0]}"]
    done = np.isfinite(_steps_to_learn(settings, record))
    a, chance = record.values["agreement"][:, done], record.values["chance"][:, done]
    end = a[-1]
    verdict: Verdict = "does not hold"
    if len(end) and (end >= 0.9).all() and (np.abs(a[0] - chance[0]) <= 0.1).all():
        verdict = "holds"
    elif len(end) and end.mean() >= HALF:
        verdict = "holds in part"
    mean = mean_interval(end, within=(0, 1)) if len(end) else NOTHING
    starts = ", ".join(f"{value:.2f}" for value in a[0])
    ends = ", ".join(f"{value:.2f}" for value in end)
    level = f"{record.values['chance'][0].mean():.2f}"
    return Finding(
        "transformers:C3",
        verdict,
        *mean,
        measure="fair A(α, β) at the end, 40-of-60 with one head",
        summary=f"A(α, β) of {int(done.sum())} of {len(done)} seeds that learnt: {starts} at step "
        f"0, {ends} at the end; chance {level}.",
        figure="agreement",
        deviation=_deviation(settings),
    )


def _heads(settings: "TransformerSettings", records: Records) -> Finding:
    one, many = (_steps_to_learn(settings, records[f"permutation-{h}"]) for h in settings.heads)
    counts = int(np.isfinite(one).sum()), int(np.isfinite(many).sum())
    # Steps of seeds that never learn count as the next measurement after the end.
    medians = [float(np.median(np.minimum(v, settings.steps + settings.every)))
               for v in (one, many)]  # fmt: skip
    more, faster = counts[1] > counts[0], medians[1] <= 0.8 * medians[0]
    verdict: Verdict = "does not hold"
    if counts[1] >= counts[0] and (more or faster):
        verdict = "holds"
    elif counts[1] >= counts[0] and medians[1] < medians[0]:
        verdict = "holds in part"
    share = mean_interval(np.isfinite(many).astype(float) - np.isfinite(one))
    smaller, larger = settings.heads
    return Finding(
        "transformers:C4",
        verdict,
        *share,
        measure=f"share of seeds that learn permutations with {larger} heads, minus with {smaller}",
        summary=f"Permutations with {smaller} head: learnt after {_steps_text(one)} steps; "
        f"with {larger}: {_steps_text(many)}.",
        figure="order",
        deviation=_deviation(settings),
    )


def _cancelling_errors(settings: "TransformerSettings", records: Records) -> Finding:
    lines, trained = [], 0
    for name, record in records.items():
        if name == "pairs":
            continue
        end = {k: record.values[k][-1] for k in ("accuracy", "on", "knows")}
        right = end["accuracy"] > settings.learnt
        trained += int(right.sum())
        wrong = right & (end["on"] < HALF) & (end["knows"] < HALF)
        lines += [
            f"{name} seed {k} (accuracy {end['accuracy'][k]:.2f}, α {end['on'][k]:.2f}, β "
            f"{end['knows'][k]:.2f})"
            for k in np.flatnonzero(wrong)
        ]
    return Finding(
        claim="transformers:C5",
        verdict="holds" if lines else "does not hold",
        effect=float(len(lines)),
        low=None,
        high=None,
        measure="seeds that copy right with neither α nor β on the word",
        summary=f"{len(lines)} of {trained} seeds that copy right"
        + (f": {'; '.join(lines)}." if lines else "."),
        figure="ends",
        deviation=_deviation(settings),
    )


def _pairs(settings: "TransformerSettings", records: Records) -> Finding:
    record = records["pairs"]
    a, chance = record.values["agreement"], record.values["chance"]
    gain = a[-1] - chance[-1]
    rises = bool((a[-1] > a[0]).all())
    verdict: Verdict = "does not hold"
    if rises and (gain >= 0.2).all():
        verdict = "holds"
    elif rises and (gain >= 0.1).all():
        verdict = "holds in part"
    mean = mean_interval(a[-1], within=(0, 1))
    accuracy = record.values["accuracy"][-1].mean()
    return Finding(
        "transformers:C6",
        verdict,
        *mean,
        measure=f"fair A(α, β) on held-out pairs after {settings.pair_steps} steps",
        summary=f"{settings.pairs}: A(α, β) from {a[0].mean():.2f} to {a[-1].mean():.2f}, chance "
        f"{chance[0].mean():.2f}; {100 * accuracy:.0f} % of words right.",
        figure="agreement",
        deviation=_deviation(settings),
    )


def _steps_text(steps: Array) -> str:
    return ", ".join(f"{int(s)}" if np.isfinite(s) else "never" for s in steps)


def _deviation(settings: "TransformerSettings") -> str:
    return (
        f"a transformer of {settings.d} numbers a state, {settings.seeds} seeds; the spread of "
        "initial weights was chosen on a pilot with other weights"
    )
