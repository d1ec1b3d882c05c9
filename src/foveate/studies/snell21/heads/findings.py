"""What combined heads say of claim C7. [snell21] Sec. 5.2"""

from typing import TYPE_CHECKING

import numpy as np

from foveate.jobs.experiment import Records
from foveate.metrics.intervals import mean_interval
from foveate.records.findings import Finding, Verdict
from foveate.studies.snell21.copying.findings import first_above
from foveate.studies.snell21.heads.search import bad_heads, good_heads

if TYPE_CHECKING:
    from foveate.studies.snell21.heads import HeadsSettings

__all__ = ["findings"]


def findings(settings: "HeadsSettings", records: Records) -> list[Finding]:
    """The one finding: which combinations of heads learn."""
    learnt = {
        name: np.isfinite(first_above(records[name], settings.good, settings.steps))
        for name in ("all-bad", "one-good", "random")
    }
    bad, one, any_ = (float(learnt[name].mean()) for name in ("all-bad", "one-good", "random"))
    gap = mean_interval(learnt["one-good"].astype(float) - learnt["all-bad"])
    return [
        Finding(
            claim="snell21:C7",
            verdict=_verdict(bad, one, any_),
            effect=gap.mean,
            low=gap.low,
            high=gap.high,
            measure="share of draws that learn with one good head, minus with none",
            said=f"Learnt within {settings.steps} steps: {bad:.0%} of draws "
            f"with {settings.heads} bad heads, "
            f"{one:.0%} with one good head among them, {any_:.0%} with random heads "
            f"({settings.draws} draws each). {_search(settings, records)}",
            figure="heads",
            deviation=_deviation(settings),
        )
    ]


def _verdict(bad: float, one: float, any_: float) -> Verdict:
    met = [bad <= 0.5, one >= 0.9, any_ >= 0.9]
    if all(met):
        return "holds"
    if sum(met) == 2 or min(one, any_) - bad >= 0.25:
        return "holds in part"
    return "does not hold"


def _search(settings: "HeadsSettings", records: Records) -> str:
    best = records["search"].final["best"][0]
    good, bad = (len(sort(settings.search(), best)) for sort in (good_heads, bad_heads))
    short = "" if good and bad else "; where none was found, the nearest candidate stands in"
    return f"The search tried {len(best)} heads and kept {good} good and {bad} bad ones{short}."


def _deviation(settings: "HeadsSettings") -> str:
    if (settings.d, settings.batch, settings.length, settings.heads) == (256, 128, 40, 8):
        if (settings.draws, settings.wanted) == (20, 20):
            return "none in sizes"
        return (
            f"{settings.draws} draws a scenario and {settings.wanted} heads of "
            f"either sort in place of 20"
        )
    return (
        f"smaller: states of {settings.d}, batches of {settings.batch}, "
        f"{settings.heads} heads, {settings.draws} draws "
        f"a scenario, {settings.wanted} heads wanted of either sort"
    )
