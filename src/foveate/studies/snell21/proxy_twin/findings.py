"""The finding on claim C10 from minima and trainings. [snell21] A.10"""

from typing import TYPE_CHECKING

import numpy as np

from foveate.jobs.experiment import Records
from foveate.metrics.intervals import mean_interval
from foveate.records.findings import Finding
from foveate.records.record import Record
from foveate.studies.snell21.agreement.comparison import CHOOSING, FAIR, REPORTING
from foveate.studies.snell21.agreement.published import title
from foveate.studies.verdicts import Outcome, at_least, combine, tally_text, within
from foveate.types import FloatArray

if TYPE_CHECKING:
    from foveate.studies.snell21.proxy_twin import ProxyTwinSettings

__all__ = ["chosen_strength", "correlation", "findings", "table_10"]

SAME, MIN_AGREEMENT, NEAR = 1e-3, 0.9, 0.05


def chosen_strength(record: Record) -> int:
    """Which C has the best validation accuracy, on the choosing half; the first of several."""
    return int(record.final["log_accuracy"][0, :, CHOOSING].argmax())


def correlation(record: Record) -> FloatArray:
    """Of the proxy at its best epoch with the chosen regression, shape (S,)."""
    values = record.final["correlation"]
    best = record.final["best"].astype(int)
    return np.asarray(values[np.arange(len(values)), best, chosen_strength(record)])


def table_10(record: Record) -> tuple[FloatArray, FloatArray]:
    """A(β_uf, β_px) and A(β_uf, β_log), each (S,), where β_uf's accuracy is best (other half)."""
    best = record.values["uniform_accuracy"][:, :, CHOOSING].argmax(0)
    seeds = np.arange(len(best))
    px, log = (record.values[k][best, seeds, REPORTING, FAIR] for k in ("uf_px", "uf_log"))
    return px, log


def findings(settings: "ProxyTwinSettings", records: Records) -> list[Finding]:
    """One finding for C10."""
    texts = {name: record for name, record in records.items() if record.meta["kind"] == "texts"}
    gap = records["minima"].values["gap"]
    outcomes: list[Outcome] = ["met" if bool((gap <= SAME).all()) else "missed"]
    for record in texts.values():
        px, log = table_10(record)
        outcomes.append(at_least(mean_interval(correlation(record)), MIN_AGREEMENT))
        outcomes.append(within(mean_interval(log - px), NEAR))
    seeds = mean_interval(np.mean([correlation(record) for record in texts.values()], 0))
    finding = Finding(
        "snell21:C10",
        combine(outcomes),
        seeds.mean,
        seeds.low,
        seeds.high,
        "correlation of the trained proxy's word weights with logistic regression's, mean over "
        "data sets",
        " ".join(
            [
                tally_text(outcomes),
                _minima_finding(records["minima"]),
                *(_summary(name, record) for name, record in texts.items()),
            ]
        ),
        "weights",
        _deviation(settings, texts),
    )
    return [finding]


def _minima_finding(record: Record) -> str:
    worst = record.values["gap"].max()
    within = record.t < 1
    above_largest = (
        f" Above λ_max the proxy is 0 (norm at most {record.values['norm'][~within].max():.0e})."
        if (~within).any()
        else ""
    )
    return (
        f"At their minima word weights differ by {worst:.1e} at most, relative, in "
        f"{record.values['gap'].shape[1]} corpora under {int(within.sum())} penalties below λ_max "
        f"(0 among them), each against ridge regression with C = √2‖δ‖/(nλ).{above_largest}"
    )


def _summary(name: str, record: Record) -> str:
    px, log = table_10(record)
    values = record.final["correlation"]
    best = record.final["best"].astype(int)
    path = values[np.arange(len(values)), best].mean(0)
    strengths = record.meta["strengths"]
    accuracy = record.final["log_accuracy"][0, chosen_strength(record), REPORTING]
    return (
        f"{title(name)}: trained weights correlate at {correlation(record).mean():.3f} with the "
        f"regression chosen (C = {strengths[chosen_strength(record)]:g}), at {path.max():.3f} with "
        f"the nearest (C = {strengths[int(path.argmax())]:g}); A(β_px, β_log) "
        f"{record.final['px_log'][:, REPORTING, FAIR].mean():.2f}; A(β_uf, β_px) {px.mean():.2f}, "
        f"A(β_uf, β_log) {log.mean():.2f}; accuracy of proxy "
        f"{record.final['proxy_accuracy'][:, REPORTING].mean():.3f}, regression {accuracy:.3f}."
    )


def _deviation(settings: "ProxyTwinSettings", texts: Records) -> str:
    notes = ["the comparison of minima is ours", "C is chosen on one half of the validation texts"]
    sizes = settings.texts
    if (sizes.proxy_epochs, sizes.proxy_d) != (60, 256):
        notes.append(
            f"proxies of {sizes.proxy_d}, {sizes.proxy_epochs} epochs at {sizes.proxy_lr:g}; "
            f"readers of {sizes.d}, {sizes.steps} steps"
        )
    if set(texts) == {"keywords"}:
        notes.append("no data sets here (FOVEATE_DATA): made-up keyword sentences only")
    return "; ".join(notes)
