"""Figures of the flows: μ, ν, attention and loss over time, descent beside theory, the laws."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.lines import curve_rows, line_chart
from foveate.charts.render import with_rows
from foveate.dynamics import vr23
from foveate.jobs.experiment import Records
from foveate.records.record import Record
from foveate.report.drawing.flow_charts import flow_panels
from foveate.studies.vr23.flows.findings import descent_errors

__all__ = ["figures"]


def figures(settings: object, records: Records) -> Mapping[str, Any]:
    """The charts by name: ``flow``, ``descent``, ``laws``.

    Args:
        settings: The experiment's settings.
        records: Its records.
    """
    flows = [record for name, record in records.items() if name.startswith("flow-")]
    return {
        "flow": alt.vconcat(*(flow_panels(record) for record in flows)).properties(
            description="Exact gradient flows in both settings of Figure 4 of vr23."
        ),
        "descent": _descent(records["descent"]),
        "laws": _laws(records["laws"]),
    }


def _descent(record: Record) -> alt.VConcatChart:
    members = record.meta["members"]
    largest = max(lr for _, lr in members)
    panels = []
    for key, title in (("mu", "μ"), ("nu", "ν")):
        columns = [i for i, (_, lr) in enumerate(members) if lr == largest]
        names = [members[i][0] for i in columns]
        rows = curve_rows(record.t, record.values[key][:, columns], names, exact=False)
        rows += curve_rows(record.t, record.values[f"exact_{key}"][:, columns], names, exact=True)
        panels.append(
            line_chart(
                rows,
                names,
                x="time = step size × steps",
                y=title,
                dashed="datum.exact",
                width=300,
                title=f"Descent with step {largest:g}; exact flow dashed" if key == "mu" else "",
            )
        )
    errors, steps = descent_errors(record), [lr for p, lr in members if p == members[0][0]]
    rows = [
        {"x": lr, "y": 100 * float(errors[k, i]), "name": name}
        for k, name in enumerate(vr23.PARADIGMS)
        for i, lr in enumerate(steps)
    ]
    order = line_chart(
        rows,
        vr23.PARADIGMS,
        x="step size",
        y="deviation, %",
        log_x=True,
        log_y=True,
        width=300,
        title="Largest deviation from the flow falls with the step",
    )
    top = alt.hconcat(*panels)
    return alt.vconcat(top, order).properties(
        description="Gradient descent beside the exact flow, and its error against the step size."
    )


def _laws(record: Record) -> alt.Chart:
    gap = record.final["inside"][1] - record.final["inside"][2]
    counts, edges = np.histogram(gap, bins=40, range=(0, float(np.quantile(gap, 0.99))))
    rows = [
        {"x": float(a), "x2": float(b), "y": int(n)}
        for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    bars = (
        alt.Chart()
        .mark_bar(color="#009E73", stroke="white")
        .encode(
            x=alt.X("x:Q", title="hard loss minus LVML loss, nats"),
            x2="x2:Q",
            y=alt.Y("y:Q", title="random models and bags"),
        )
    )
    corner = float(np.ptp(record.final["one_hot"], axis=0).max())
    return with_rows(
        bars.properties(
            width=520,
            height=200,
            title=f"Jensen's gap; one-hot losses differ by {corner:.0e}",
            description="Histogram of the hard loss minus the LVML loss over random draws.",
        ),
        rows,
    )
