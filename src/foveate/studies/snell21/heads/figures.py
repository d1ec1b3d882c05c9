"""Figures of several heads: accuracy of every draw, and what the search found. [snell21] Fig. 2"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.studies.snell21.copying.figures import seed_curves

if TYPE_CHECKING:
    from foveate.studies.snell21.heads import HeadsSettings

__all__ = ["figures"]

LOOKS = {
    "all-bad": ("All heads bad", "#D55E00"),
    "one-good": ("One good head", "#0072B2"),
    "random": ("Random heads", "#009E73"),
}


def figures(settings: "HeadsSettings", records: Records) -> Mapping[str, Any]:
    """Accuracy over steps by scenario, and the best accuracies of single heads."""
    panels = [
        seed_curves(records[name], title, paint, what="draws").properties(width=230)
        for name, (title, paint) in LOOKS.items()
    ]
    curves = alt.hconcat(*panels).properties(
        description="Accuracy over steps for every draw of eight heads: all bad, one good, random."
    )
    return {"heads": curves, "search": _search(records)}


def _search(records: Records) -> alt.Chart:
    """Single heads: the best accuracy with each data seed that was tried."""
    best = records["search"].final["best"][0]
    rows = [
        {"x": int(k), "y": float(best[k, seed]), "seed": f"data seed {seed}"}
        for k, seed in np.argwhere(np.isfinite(best))
    ]
    seeds = [f"data seed {k}" for k in range(best.shape[1])]
    chart = (
        alt.Chart()
        .mark_point(filled=True, size=42, opacity=0.8)
        .encode(
            x=alt.X("x:Q", title="candidate head"),
            y=alt.Y("y:Q", title="best accuracy", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color(
                "seed:N",
                title=None,
                scale=alt.Scale(
                    domain=seeds, range=["#0072B2", "#E69F00", "#009E73"][: len(seeds)]
                ),
            ),
            shape=alt.Shape("seed:N", title=None, scale=alt.Scale(domain=seeds)),
        )
        .properties(
            width=760,
            height=200,
            title="Heads by themselves",
            description="Best accuracy of a model with one candidate head, by data seed.",
        )
    )
    return with_rows(chart, rows)
