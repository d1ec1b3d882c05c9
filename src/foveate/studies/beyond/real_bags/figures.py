"""Figure: AUC of the default minus that of the best baseline, set by set."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.studies.beyond.real_bags.sets import SETS
from foveate.studies.beyond.real_bags.summary import values_of
from foveate.userdata.baselines import BASELINES
from foveate.userdata.ensemble import MIXTURE

__all__ = ["figures"]

COLOURS = {"design": "#999999", "confirmation": "#0072B2", "fresh": "#D55E00"}


def figures(_: object, records: Records) -> Mapping[str, Any]:
    """One point per set; a line at −.01, below which the default loses to a baseline."""
    values = values_of(records)
    rows: list[dict[str, Any]] = []
    for name, real_set in SETS.items():
        auc = {
            method: float(np.mean(numbers))
            for (set_name, method, measure), numbers in values.items()
            if set_name == name and measure == "bag AUC"
        }
        baselines = [auc[method] for method in BASELINES if method in auc]
        if MIXTURE in auc and baselines:
            gap = auc[MIXTURE] - max(baselines)
            rows.append({"set": real_set.title, "gap": gap, "role": real_set.role})
    scale = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    dots = alt.Chart().mark_point(filled=True, size=90, opacity=1)
    dots = dots.encode(
        x=alt.X("gap:Q", title="AUC of the default minus AUC of the best baseline"),
        y=alt.Y("set:N", title=None, sort=[row["set"] for row in rows]),
        color=alt.Color("role:N", scale=scale, title=None),
    )
    rule = with_rows(alt.Chart().mark_rule(strokeDash=[4, 3]).encode(x="x:Q"), [{"x": -0.01}])
    chart = alt.layer(with_rows(dots, rows), rule).properties(width=380, height=22 * len(rows))
    return {"gap": chart.properties(description="AUC of the default minus the best baseline.")}
