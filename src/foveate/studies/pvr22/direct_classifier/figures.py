"""Figure of the direct classifier."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from foveate.charts.palette import TEXT_COLOUR
from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.metrics.intervals import mean_interval
from foveate.studies.pvr22.direct_classifier import DirectSettings, part_name
from foveate.studies.pvr22.direct_classifier.findings import data_title
from foveate.studies.pvr22.error_modes.statistics import as_row

__all__ = ["figures"]


def figures(settings: DirectSettings, records: Records) -> Mapping[str, Any]:
    """The chart ``accuracy``: on training and on held-out mosaics, by data set and size."""
    return {"accuracy": _accuracy(settings, records)}


def _accuracy(settings: DirectSettings, records: Records) -> alt.HConcatChart:
    """Accuracy of the classifier without attention on training mosaics and on others."""
    panels = []
    names = ("training mosaics", "held-out mosaics")
    scale = alt.Scale(domain=[*names], range=["#9aa1a8", "#D55E00"])
    for n in settings.n:
        rows: list[dict[str, Any]] = []
        for name in settings.sets:
            if part_name(name, n) not in records:  # CIFAR-10 where its files are not here
                continue
            record = records[part_name(name, n)]
            for key, split in zip(("train", "test"), names, strict=True):
                value = mean_interval(100 * record.final[f"{key}_accuracy"], within=(0, 100))
                chance = 100 / record.meta["classes"]
                row = {"set": data_title(name), "what": split, "chance": chance}
                rows.append({**row, **as_row(value)})
        panels.append(_panel(rows, n, scale))
    return (
        alt.hconcat(*panels)
        .resolve_scale(color="shared", shape="shared")
        .properties(
            description="Accuracy of a classifier of the concatenated mosaic, on training and on "
            "held-out mosaics, against chance."
        )
    )


def _panel(rows: Sequence[Mapping[str, Any]], n: int, scale: alt.Scale) -> Any:
    x = alt.X("mean:Q", title="accuracy, %", scale=alt.Scale(domain=[0, 102], nice=False))
    y = alt.Y("set:N", title=None, sort=None)
    legend = alt.Legend(columns=2, labelLimit=200)
    shapes = alt.Scale(domain=scale.domain, range=["square", "circle"])
    shift = alt.YOffset("what:N", scale=alt.Scale(domain=scale.domain))
    colour_encoding = alt.Color("what:N", scale=scale, legend=legend)
    base = alt.Chart().encode(y=y, yOffset=shift, color=colour_encoding)
    bars = base.mark_rule(strokeWidth=3).encode(x=alt.X("low:Q"), x2="high:Q")
    dots = base.mark_point(filled=True, size=110, opacity=1).encode(
        x=x, shape=alt.Shape("what:N", scale=shapes, legend=legend)
    )
    chance = (
        alt.Chart().mark_tick(thickness=2, size=26, color=TEXT_COLOUR).encode(x="chance:Q", y=y)
    )
    title = alt.Title(f"{n:,} training mosaics", subtitle="black tick: chance")
    return with_rows(
        alt.layer(chance, bars, dots).properties(width=300, height=170, title=title), rows
    )
