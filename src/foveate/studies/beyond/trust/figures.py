"""Figures of the study: estimates and grades against FT."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.studies.beyond.trust.summary import ROLES, by_role
from foveate.trust.grades import GRADES

__all__ = ["figures"]

COLOURS = {
    "trust": "#009E73",
    "trust with care": "#E69F00",
    "cannot tell": "#999999",
    "do not trust": "#D55E00",
}
SIDE = 330


def figures(_: object, records: Records) -> Mapping[str, Any]:
    """Estimated against true FT of every case, coloured by its grade."""
    panels = [_panel(records, role) for role in ROLES if by_role(records, role)]
    return {"estimates": alt.hconcat(*panels).properties(description="Estimated FT against FT.")}


def _panel(records: Records, role: str) -> Any:
    """A point a case: its FT and the auditor's estimate."""
    rows = [
        {"x": 100 * float(e), "y": 100 * float(t), "set": name, "grade": GRADES[int(g)]}
        for name, record in by_role(records, role).items()
        for e, t, g in zip(*(record.final[k] for k in ("auditor", "ft", "grade")), strict=True)
        if not np.isnan(e) and not np.isnan(t)
    ]
    scale = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    dots = alt.Chart().mark_point(size=46, opacity=0.75, strokeWidth=1.6)
    dots = dots.encode(
        x=alt.X("x:Q", title="estimated FT, %", scale=alt.Scale(domain=[0, 100])),
        y=alt.Y("y:Q", title="FT, % (needs locations)", scale=alt.Scale(domain=[0, 100])),
        color=alt.Color("grade:N", scale=scale, title="graded"),
    ).properties(width=SIDE, height=SIDE, title=f"{ROLES[role]} sets")
    return with_rows(dots, rows)
