"""Figures of the signatures: bags by (focus, prediction), and gains of the hybrid."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.palette import colour, label
from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.metrics.intervals import mean_interval
from foveate.report.drawing.race_charts import Bins, heat_map_chart
from foveate.studies.vr23.signatures import RULES, SignatureSettings

__all__ = ["figures"]

CELL = 30  # pixels


def figures(settings: SignatureSettings, records: Records) -> Mapping[str, Any]:
    """The charts by name: ``heat-maps``, ``gains``, and the heat maps of the released script.

    Args:
        settings: The experiment's settings.
        records: One per paradigm and length, ``soft-m5``.
    """
    return {
        "heat-maps": _heat_maps(settings, records, "fixed"),
        "gains": _gains(settings.lengths, records),
        "released-heat-maps": _heat_maps(settings, records, "data range"),
    }


def _heat_maps(settings: SignatureSettings, records: Records, bins: Bins) -> alt.VConcatChart:
    rows = [
        alt.hconcat(
            *(
                heat_map_chart(records[f"{rule}-m{m}"], f"{label(rule)}, m = {m}", CELL, bins)
                for rule in RULES
            )
        )
        for m in settings.lengths
    ]
    return alt.vconcat(*rows).properties(
        description="Share of held-out bags by focus score and by probability of the true class, "
        f"{bins} bins."
    )


def _gains(lengths: Sequence[int], records: Records) -> alt.LayerChart:
    rows = []
    for m in lengths:
        for rule in RULES:
            mean, low, high = mean_interval(
                100 * records[f"{rule}-m{m}"].last("saif"), within=(0, 100)
            )
            ends = (mean if low is None else low, mean if high is None else high)
            rows.append(
                {
                    "m": f"m = {m}",
                    "name": label(rule),
                    "mean": mean,
                    "low": ends[0],
                    "high": ends[1],
                }
            )
    names = [label(rule) for rule in RULES]
    colour_encoding = alt.Color(
        "name:N", scale=alt.Scale(domain=names, range=[colour(r) for r in RULES]), legend=None
    )
    base = alt.Chart().encode(
        y=alt.Y("name:N", sort=names, title=None),
        x=alt.X("mean:Q", title="SAIF, % of held-out bags", scale=alt.Scale(zero=False)),
        color=colour_encoding,
    )
    bars = base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q")
    dots = base.mark_point(filled=True, size=70)
    numbers = base.mark_text(dy=-11, fontSize=11).encode(text=alt.Text("mean:Q", format=".1f"))
    chart = alt.layer(bars, dots, numbers).properties(width=260, height=170)
    spread = float(np.ptp([row["mean"] for row in rows]))
    return with_rows(chart, rows).facet(column=alt.Column("m:N", title=None)).properties(
        description=f"SAIF with its 95 % interval over seeds; the means span {spread:.1f} points."
    )  # fmt: skip
