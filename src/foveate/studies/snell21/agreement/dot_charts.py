"""Tables as dots: agreement by data set, with intervals and the random level. [snell21]"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.metrics.intervals import mean_interval
from foveate.studies.snell21.agreement.comparison import FAIR, PAPER, TRAINING
from foveate.studies.snell21.agreement.published import COLUMNS, RECORDED, title
from foveate.studies.snell21.agreement.record_values import frozen_best, number, random
from foveate.types import FloatArray

__all__ = ["frozen_dots", "interval", "table_dots", "training_dots"]

Rows = list[dict[str, Any]]

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#767676"
UNIT = alt.Scale(domain=[0, 1])


def interval(values: FloatArray) -> dict[str, float]:
    """Mean over seeds and the ends of its interval, as fields of a row."""
    mean, low, high = mean_interval(values)
    return {"y": mean, "low": mean if low is None else low, "high": mean if high is None else high}


def _dots(
    rows: Rows, colours: Mapping[str, str], *, names: Sequence[str], width: int, heading: str
) -> alt.LayerChart:
    """Dots with intervals by data set, one colour a kind; ticks for the random level."""
    kinds = [kind for kind in colours if any(row["kind"] == kind for row in rows)]
    colour_encoding = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=list(colours), range=list(colours.values())),
        legend=alt.Legend(columns=4, labelLimit=260, values=kinds, symbolOpacity=1, symbolSize=90),
    )
    axis = alt.Y("data:N", title=None, sort=list(names), scale=alt.Scale(paddingInner=0.4))
    offset = alt.YOffset("kind:N", sort=list(colours))
    x = alt.X("y:Q", title="agreement, share of texts or words", scale=UNIT)
    rule = alt.Chart().mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q")
    dot = alt.Chart().mark_point(filled=True, size=46, opacity=1).encode(x=x)
    layers = [part.encode(y=axis, yOffset=offset, color=colour_encoding) for part in (rule, dot)]
    size = {"width": width, "height": (14 + 8 * len(kinds)) * len(names)}
    return with_rows(alt.layer(*layers).properties(title=heading, **size), rows)


KINDS = {"fair ties": BLUE, "paper's form": "#56B4E9", "recorded": ORANGE, "random level": GREY}


def table_dots(records: Records) -> alt.VConcatChart:
    """Each column of the table in a panel: fair ties, the paper's form, recorded, random."""
    panels = []
    names = [title(name) for name in records]
    for column, heading in COLUMNS.items():
        rows: Rows = []
        for name, record in records.items():
            for kind, measure in (("fair ties", FAIR), ("paper's form", PAPER)):
                values = number(record, column, measure=measure)
                rows.append({"data": title(name), "kind": kind, **interval(values)})
            rows.append({"data": title(name), "kind": "random level", **interval(random(record))})
            if column in RECORDED.get(name, {}):
                published = RECORDED[name][column]
                extra = {"y": published, "low": published, "high": published}
                rows.append({"data": title(name), "kind": "recorded", **extra})
        panels.append(_dots(rows, KINDS, names=names, width=180, heading=heading))
    lines = [alt.hconcat(*panels[k : k + 3]) for k in range(0, len(panels), 3)]
    return alt.vconcat(*lines).properties(
        description="Agreement by data set: A(u, v) says how often the top of u is in the top 5 % "
        "of v; dots are means over seeds with 95 % intervals, beside the random level."
    )


FROZEN = {
    "A(α_A, α_B), all trained": BLUE,
    "A(α, β_uf)": GREEN,
    "A(α_fr, α), attention only": ORANGE,
    "random level": GREY,
}


def frozen_dots(records: Records) -> alt.LayerChart:
    """Attention trained alone against attention trained with all else. [snell21] Table 9"""
    rows: Rows = []
    for name, record in records.items():
        values = (
            number(record, "alpha_alpha"),
            number(record, "alpha_uf"),
            frozen_best(record),
            random(record),
        )
        for kind, value in zip(FROZEN, values, strict=True):
            rows.append({"data": title(name), "kind": kind, **interval(value)})
    names = [title(name) for name in records]
    chart = _dots(rows, FROZEN, names=names, width=560, heading="Attention trained alone")
    return chart.properties(description="Agreement of attention trained with all else frozen.")


TRAINING_KINDS = {"validation texts": BLUE, "training texts": GREEN, "random level": GREY}


def training_dots(records: Records) -> alt.VConcatChart:
    """The paper's four columns on validation and on training data. [snell21] Table 6"""
    panels = []
    for column in ("alpha_uf", "uf_px", "delta_uf", "alpha_beta"):
        rows: Rows = []
        for name, record in records.items():
            values = (
                number(record, column),
                number(record, column, TRAINING),
                random(record, TRAINING),
            )
            for kind, value in zip(TRAINING_KINDS, values, strict=True):
                rows.append({"data": title(name), "kind": kind, **interval(value)})
        names = [title(name) for name in records]
        panels.append(_dots(rows, TRAINING_KINDS, names=names, width=290, heading=COLUMNS[column]))
    return alt.vconcat(alt.hconcat(*panels[:2]), alt.hconcat(*panels[2:])).properties(
        description="The agreement table on validation data and on training data."
    )
