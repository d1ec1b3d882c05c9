"""Figures of several heads: accuracy of every draw, and results of the search. [snell21] Fig. 2"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.studies.snell21.copying.figures import seed_curves
from foveate.studies.snell21.heads.findings import WORDS
from foveate.studies.snell21.heads.scenarios import SCENARIOS

if TYPE_CHECKING:
    from foveate.studies.snell21.heads import HeadsSettings

__all__ = ["figures"]

COLOURS = {"all-bad": "#D55E00", "one-good": "#0072B2", "random": "#009E73"}
SEEDS = ["#0072B2", "#E69F00", "#009E73"]


def figures(settings: "HeadsSettings", records: Records) -> Mapping[str, Any]:
    """Accuracy over steps by variant and scenario, and the best accuracies of single heads."""
    charts: dict[str, Any] = {f"heads-{name}": _curves(records, name) for name in settings.variants}
    cells = dict.fromkeys(name.split("-")[0] for name in settings.variants)
    return charts | {f"search-{cell}": _search(records, cell) for cell in cells}


def _curves(records: Records, variant: str) -> alt.HConcatChart:
    panels = [
        seed_curves(records[f"{variant}-{name}"], SCENARIOS[name], colour, noun="draws").properties(
            width=230
        )
        for name, colour in COLOURS.items()
    ]
    return alt.hconcat(*panels).properties(
        title=WORDS[variant],
        description="Accuracy over steps for every draw of eight heads: all bad, one good, random.",
    )


def _search(records: Records, cell: str) -> alt.Chart:
    """Single heads: the best accuracy with each data seed that was tried."""
    best = records[f"{cell}-search"].final["best"][0]
    rows = [
        {"x": int(k), "y": float(best[k, seed]), "seed": f"data seed {seed}"}
        for k, seed in np.argwhere(np.isfinite(best))
    ]
    seeds = [f"data seed {k}" for k in range(best.shape[1])]
    colours = alt.Scale(domain=seeds, range=SEEDS[: len(seeds)])
    chart = (
        alt.Chart()
        .mark_point(filled=True, size=42, opacity=0.8)
        .encode(
            x=alt.X("x:Q", title="candidate head"),
            y=alt.Y("y:Q", title="best accuracy", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("seed:N", title=None, scale=colours),
            shape=alt.Shape("seed:N", title=None, scale=alt.Scale(domain=seeds)),
        )
        .properties(
            width=760,
            height=200,
            title=f"Single heads, {cell.upper()}",
            description="Best accuracy of a model with one candidate head, by data seed.",
        )
    )
    return with_rows(chart, rows)
