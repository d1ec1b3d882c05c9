"""Figures of transformers: order of learning, agreement over steps, and final values of seeds."""

from collections.abc import Mapping
from typing import Any

import altair as alt

from foveate.charts.render import with_rows
from foveate.jobs.experiment import Records
from foveate.studies.snell21.copying.figures import TITLES, quantile_chart

__all__ = ["figures"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#1b1f24")


def figures(_: object, records: Records) -> Mapping[str, Any]:
    """The order of learning by task and heads, A(α, β), and accuracy against α and β."""
    copies = [name for name in records if name != "pairs"]
    charts = [quantile_chart(records[name], _title(name), (0.0, 0.5, 1.0)) for name in copies]
    rows = [alt.hconcat(*charts[k : k + 2]) for k in range(0, len(charts), 2)]
    order = alt.vconcat(*rows).properties(
        description="Word knowledge, attention and accuracy over steps, medians and range."
    )
    return {"order": order, "agreement": _agreements(records), "ends": _ends(records, copies)}


def _title(name: str) -> str:
    kind, _, heads = name.partition("-")
    return f"{TITLES[kind]}, {heads} head{'s' if heads != '1' else ''}"


def _agreements(records: Records) -> Any:
    rows = []
    for name, record in records.items():
        label = "captions" if name == "pairs" else _title(name)
        rows += [
            {"x": float(t), "y": float(a), "name": label, "seed": f"{name} {k}"}
            for k in range(record.values["agreement"].shape[1])
            for t, a in zip(record.t, record.values["agreement"][:, k], strict=True)
        ]
    names = list(dict.fromkeys(str(row["name"]) for row in rows))
    chart = (
        alt.Chart()
        .mark_line(strokeWidth=1.4, opacity=0.8)
        .encode(
            x=alt.X("x:Q", title="steps"),
            y=alt.Y("y:Q", title="A(α, β)", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("name:N", title=None,
                            scale=alt.Scale(domain=names, range=list(COLOURS))),
            detail="seed:N",
        )
        .properties(width=520, height=260, description="Fair agreement A(α, β) of every seed.")
    )  # fmt: skip
    return with_rows(chart, rows)


def _ends(records: Records, copies: list[str]) -> Any:
    rows = []
    for name in copies:
        values = records[name].values
        for k in range(values["accuracy"].shape[1]):
            accuracy = float(values["accuracy"][-1, k])
            rows.append({
                "on": float(values["on"][-1, k]), "knows": float(values["knows"][-1, k]),
                "name": _title(name), "accuracy": accuracy, "right": accuracy > 0.95,
            })  # fmt: skip
    unit = alt.Scale(domain=[0, 1])
    chart = (
        alt.Chart()
        .mark_point(size=90, filled=True, opacity=0.85)
        .encode(
            x=alt.X("on:Q", title="α on the word to copy", scale=unit),
            y=alt.Y("knows:Q", title="places where β is largest at it", scale=unit),
            color=alt.Color("name:N", title=None, scale=alt.Scale(range=list(COLOURS))),
            shape=alt.Shape("right:N", title="accuracy above .95"),
        )
        .properties(width=360, height=300, description="α and β of every seed at the end.")
    )
    return with_rows(chart, rows)
