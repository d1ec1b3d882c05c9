"""The finding on claim C11 from the keyword sentences. [snell21] Sec. 6.1"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foveate.jobs.experiment import Records
from foveate.metrics.intervals import mean_interval
from foveate.records.findings import Finding, Verdict
from foveate.records.record import Record

if TYPE_CHECKING:
    from foveate.studies.snell21.locality import LocalitySettings

__all__ = ["QUANTITIES", "early_at", "findings", "local", "spread_out"]

QUANTITIES = {
    "keyword": "γ at the keyword, l*",
    "after": "γ after it, l* + 1",
    "mean": "mean of γ over positions",
    "last": "γ at the last position",
    "first": "γ at the first position",
}
MIN_SHARE = 0.9  # share of seeds
ACCURATE = 0.9  # accuracy at which the order is read once more, for comparison
NAMES = {
    "both": "Both directions, N(0, 1)",
    "forward": "Forward only",
    "quiet": "Embeddings N(0, .1²)",
}


def early_at(record: Record, level: float) -> NDArray[np.int64]:
    """Index at which each seed's loss first falls below ``level`` log 2; the last if never."""
    return _first(record.values["loss"] < level * np.log(2))


def _first(reached: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.where(reached.any(0), reached.argmax(0), len(reached) - 1)


def local(record: Record) -> NDArray[np.bool_]:
    """Whether γ_{l*} > γ_{l*+1} > max(γ̄, γ_L), at each time for each seed, (T, S). Eq. 19"""
    v = record.values
    return (v["keyword"] > v["after"]) & (v["after"] > np.maximum(v["mean"], v["last"]))


def spread_out(record: Record) -> NDArray[np.bool_]:
    """Whether γ_L > γ_{l*+1} > max(γ̄, γ_{l*}), at each time for each seed, (T, S). Eq. 21"""
    v = record.values
    return (v["last"] > v["after"]) & (v["after"] > np.maximum(v["mean"], v["keyword"]))


class _Orders(NamedTuple):
    """Shares of seeds.

    Args:
        early: Local when the loss begins to fall.
        accurate: Still local when accuracy passes .9.
        late: Spread out at the end, in the paper's order.
        last_above: With γ_L > γ_{l*} at the end.
    """

    early: float
    accurate: float
    late: float
    last_above: float


def findings(settings: "LocalitySettings", records: Records) -> list[Finding]:
    """One finding for C11, judged on the paper's classifier."""
    record = records["both"]
    verdict = _verdict(_orders(settings, record))
    gap = mean_interval(record.last("last") - record.last("keyword"))
    details = " ".join(
        _summary(settings, records[name], title) for name, title in NAMES.items() if name in records
    )
    finding = Finding(
        "snell21:C11",
        verdict,
        *gap,
        measure=f"γ_L − γ_{{l*}} after {settings.steps} steps, a difference of log-odds",
        summary=details,
        figure="curves",
        deviation=_deviation(settings),
    )
    return [finding]


def _verdict(orders: _Orders) -> Verdict:
    if orders.early >= MIN_SHARE and orders.late >= MIN_SHARE:
        return "holds"
    return (
        "holds in part"
        if orders.early >= MIN_SHARE and orders.last_above >= 0.5
        else "does not hold"
    )


def _orders(settings: "LocalitySettings", record: Record) -> _Orders:
    seeds = np.arange(record.values["mean"].shape[1])
    last_above = record.last("last") > record.last("keyword")
    accurate = _first(record.values["accuracy"] > ACCURATE)
    return _Orders(
        float(local(record)[early_at(record, settings.early), seeds].mean()),
        float(local(record)[accurate, seeds].mean()),
        float(spread_out(record)[-1].mean()),
        float(last_above.mean()),
    )


def _summary(settings: "LocalitySettings", record: Record, title: str) -> str:
    """The shares of seeds that show each order, and the means at the end."""
    orders = _orders(settings, record)
    seeds = record.values["mean"].shape[1]
    v = {name: float(record.last(name).mean()) for name in QUANTITIES}
    end = ", ".join(f"{short} {v[name]:.1f}" for name, short in _SHORT.items())
    return (
        f"{title}: {_verdict(orders)}. Local (γ_l* > γ_l*+1 > γ̄, γ_L) when the loss begins to "
        f"fall in {orders.early:.0%} of {seeds} seeds (median step "
        f"{np.median(record.t[early_at(record, settings.early)]):.0f}) and when accuracy passes "
        f"{ACCURATE} in {orders.accurate:.0%} (median step "
        f"{np.median(record.t[_first(record.values['accuracy'] > ACCURATE)]):.0f}); at the end the "
        f"paper's order (γ_L > γ_l*+1 > γ̄, γ_l*) in {orders.late:.0%}, γ_L > γ_l* in "
        f"{orders.last_above:.0%}; means at the end: {end}."
    )


_SHORT = {"keyword": "γ_l*", "after": "γ_l*+1", "mean": "γ̄", "last": "γ_L", "first": "γ_1"}


def _deviation(settings: "LocalitySettings") -> str:
    details = (
        f"{settings.steps} steps, where the paper gives no number; fresh sentences "
        f"at every step; the "
        "variants and γ_1 are ours"
    )
    if (settings.d, settings.embedding, settings.length) == (256, 300, 40):
        return details
    return (
        f"smaller: states of {settings.d} in place of 256, embeddings of "
        f"{settings.embedding} in place of "
        f"300, sentences of {settings.length}, learning rate {settings.lr:g}; {details}"
    )
