"""Figure of the released split: decomposition of the published numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from foveate.charts.palette import label
from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.records.published import Cell
from foveate.studies.image_splits import RELEASED
from foveate.studies.vr23.released_split import ReleasedSplit, ReleasedSplitSettings
from foveate.studies.vr23.released_split.cells import CLEAN, released_split_cells

__all__ = ["decomposition", "figures"]

SERIES = {
    "test images (clean)": ("#0072B2", "circle"),
    "training images, not trained on": ("#56B4E9", "triangle-up"),
    "training images, trained on": ("#D55E00", "triangle-down"),
    "released split, all": ("#000000", "square"),
    "published": ("#767676", "diamond"),
}


def figures(settings: ReleasedSplitSettings, records: Records) -> Mapping[str, Any]:
    """The chart ``decomposition``: clean, unseen, seen, released and published, by paradigm."""
    return {"decomposition": decomposition(released_split_cells(settings, records))}


def decomposition(cells: Sequence[Cell]) -> Any:
    """Accuracy and SAIF on each kind of test image beside the published numbers.

    Args:
        cells: The table as measured, or read from a stored result.
    """
    groups = list(dict.fromkeys(c.group for c in cells))
    rows = [
        alt.hconcat(*(_panel(group, measure, cells) for measure in ("accuracy", "SAIF")))
        for group in groups
    ]
    return alt.vconcat(*rows).properties(description=_description(cells))


def _series(measure: str, cells: Sequence[Cell]) -> dict[str, Cell]:
    """The cells of one paradigm by the name of their series."""
    by_setting = {(c.setting, c.measure): c for c in cells}
    keys = {
        "test images (clean)": (CLEAN, f"{measure} %"),
        "training images, not trained on": (RELEASED, f"{measure}, unseen images %"),
        "training images, trained on": (RELEASED, f"{measure}, seen images %"),
        "released split, all": (RELEASED, f"{measure} %"),
    }
    return {name: by_setting[key] for name, key in keys.items() if key in by_setting}


def _panel(group: str, measure: str, cells: Sequence[Cell]) -> Any:
    rules = list(dict.fromkeys(c.name for c in cells if c.group == group))
    rows: list[dict[str, Any]] = []
    for rule in rules:
        rule_cells = [c for c in cells if (c.group, c.name) == (group, rule)]
        for series, c in _series(measure, rule_cells).items():
            rows.append({"rule": label(rule), "series": series, "value": c.mean})
        published = ReleasedSplit.published.numbers.get((group, rule, f"{measure} %"))
        if published is not None:
            rows.append({"rule": label(rule), "series": "published", "value": published})
    names = list(SERIES)
    legend = alt.Legend(title=None, orient="bottom", columns=3, labelLimit=220)
    chart = (
        alt.Chart()
        .mark_point(size=80, strokeWidth=1.8, opacity=0.9)
        .encode(
            x=alt.X("value:Q", title=f"{measure}, %", scale=alt.Scale(domain=[0, 100])),
            y=alt.Y("rule:N", sort=[label(rule) for rule in rules], title=None),
            color=alt.Color("series:N", legend=legend, scale=alt.Scale(
                domain=names, range=[SERIES[name][0] for name in names])),
            shape=alt.Shape("series:N", legend=legend, scale=alt.Scale(
                domain=names, range=[SERIES[name][1] for name in names])),
        )
        .properties(width=330, height=34 * len(rules), title=group)
    )  # fmt: skip
    return with_rows(chart, rows)


def _description(cells: Sequence[Cell]) -> str:
    parts = [
        f"{c.group}, {label(c.name)}: {c.measure.removesuffix(' %')} {c.mean:.1f} % ({c.setting})"
        for c in cells
        if c.measure in ("SAIF %", "accuracy %")
    ]
    return "; ".join(parts) + "."
