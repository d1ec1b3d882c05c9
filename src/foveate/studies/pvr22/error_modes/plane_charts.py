"""The plane of an error mode: attention, decision regions, and quadrants over training.

[pvr22] Fig. 2–5: base points over the focus score, attended points over the decision regions, and
the quadrants over training, for three starts side by side.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import torch

from foveate.charts.palette import QUADRANT_COLOURS
from foveate.data.error_modes import Boxes, points
from foveate.randomness import generator
from foveate.records.record import Array, Record
from foveate.studies.pvr22.error_modes.colours import (
    BACKGROUND_COLOUR,
    CLASS_COLOURS,
    CLASS_SHAPES,
)
from foveate.studies.pvr22.error_modes.outcome import CELLS, accurate, misfocused, window

__all__ = ["Member", "examples", "mode_figure", "tiles"]

BACKGROUND = "background"
QUADRANT_WORDS = {
    "ftpt": "both right",
    "ffpt": "right, looking elsewhere",
    "ftpf": "wrong, looking at it",
    "ffpf": "both wrong",
}
WIDTH, HEIGHT = 214, 200
LEVELS = 8
MOMENTS = 76  # at most, of a training


class Member(NamedTuple):
    """One training to show: its title, record and row."""

    title: str
    record: Record
    row: int


def examples(authors: Record, random: Record) -> list[Member]:
    """The authors' start, the median start that ended in the mode, and the median other start."""
    members = [Member("From the authors' weights", authors, 0)]
    solved = accurate(random) & ~misfocused(random)
    kinds = {"fell": misfocused(random), "focused": solved}
    if not solved.any():
        kinds["failed"] = ~accurate(random)
    for word, chosen in kinds.items():
        rows = np.flatnonzero(chosen)
        if len(rows):
            ft = random.last("ft")[rows]
            row = int(rows[np.abs(ft - np.median(ft)).argmin()])
            members.append(Member(f"Random start {random.meta['seeds'][row]}: {word}", random, row))
    return members


def mode_figure(mode: int, boxes: Boxes, authors: Record, random: Record) -> alt.VConcatChart:
    """Three trainings on one mode: focus, classifier, and quadrants over training.

    Args:
        mode: 1, 2 or 3.
        boxes: Its base distributions.
        authors: Trainings from the authors' weights.
        random: Trainings from random starts.
    """
    members, store = examples(authors, random), _Store()
    base = store.keep(_base_points(boxes))
    rows = [
        alt.hconcat(*(_focus_panel(boxes, member, base, store) for member in members)),
        alt.hconcat(*(_classifier_panel(boxes, member, store) for member in members)),
        alt.hconcat(*(_quadrant_panel(member, store) for member in members)),
    ]
    shared = [row.resolve_scale(color="shared", shape="shared", fill="shared") for row in rows]
    ends = "; ".join(f"{member.title}: {_ends(member)}" for member in members)
    chart = (
        alt.vconcat(*shared, spacing=18)
        .resolve_scale(color="independent", shape="independent", fill="independent")
        .properties(
            title=alt.Title(
                f"Error mode {mode}",
                subtitle="Top: base points over the focus score, dark where it is high. Middle: "
                "attended points over the regions of g, hollow where the focus is wrong.",
            ),
            description=f"Error mode {mode}, three trainings: focus score over the plane, decision "
            f"regions with attended points, quadrants over training. {ends}.",
        )
    )
    chart.datasets = store.sets
    return chart


class _Store:
    """Rows by name, stored in the chart once: panels are copied many times while it is built."""

    def __init__(self) -> None:
        self.sets: dict[str, list[dict[str, Any]]] = {}

    def keep(self, rows: list[dict[str, Any]]) -> alt.NamedData:
        name = f"rows-{len(self.sets)}"
        self.sets[name] = rows
        return alt.NamedData(name=name)


def tiles(level: Array, frame: Sequence[float]) -> list[dict[str, Any]]:
    """Rectangles of equal level: runs of cells within each row of the plane become one.

    Args:
        level: Whole numbers, shape (rows upwards, columns).
        frame: Left, right, low, high of the plane.
    """
    left, right, low, high = frame
    x = np.linspace(left, right, level.shape[1] + 1)
    y = np.linspace(low, high, level.shape[0] + 1)
    rows, height = [], y[1] - y[0]
    for i, row in enumerate(level):
        cuts = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), len(row)]
        for a, b in pairwise(cuts):
            # A little higher than the row: the next one covers the rest, and no seam is left.
            corner = {"x": float(x[a]), "x2": float(x[b]), "y": float(y[i])}
            rows.append({**corner, "y2": float(y[i + 1] + height / 4), "level": int(row[a])})
    return rows


def _base_points(boxes: Boxes) -> list[dict[str, Any]]:
    """Some points of every class, and more of the background."""
    kinds = np.repeat(np.arange(-1, len(boxes.foreground)), 30)
    kinds = np.concatenate([kinds, np.full(60, -1)])
    x = points(boxes, torch.from_numpy(kinds), generator("error-modes", "base points")).tolist()
    return [
        {"x": a, "y": b, "class": _class_name(k), "hollow": k < 0}
        for (a, b), k in zip(x, kinds.tolist(), strict=True)
    ]


def _focus_panel(boxes: Boxes, member: Member, base: alt.NamedData, store: _Store) -> Any:
    """Base points of each class over the focus score."""
    frame = window(boxes)
    w = member.record.final["f_w"][member.row]
    middle = (np.arange(CELLS) + 0.5) / CELLS
    x_score = w[0] * (frame[1] - frame[0]) * middle
    y_score = w[1] * (frame[3] - frame[2]) * middle
    score = y_score[:, None] + x_score[None]
    span = score.max() - score.min() or 1.0
    level = np.minimum((LEVELS * (score - score.min()) / span).astype(int), LEVELS - 1)
    greys = alt.Scale(domain=[0, LEVELS - 1], range=["#ffffff", "#8d949b"])
    fill = alt.Fill("level:Q", scale=greys, legend=None)
    ground = _ground(store.keep(tiles(level, frame)), frame, fill)
    return alt.layer(ground, _dots(boxes, base, frame)).properties(
        width=WIDTH, height=HEIGHT, title=alt.Title(member.title, subtitle=_ends(member))
    )


def _classifier_panel(boxes: Boxes, member: Member, store: _Store) -> Any:
    """Attended points over the regions in which g gives each class."""
    frame, final, i = window(boxes), member.record.final, member.row
    tints = alt.Scale(
        domain=list(range(len(boxes.foreground))),
        range=[_tint(colour) for colour in CLASS_COLOURS[: len(boxes.foreground)]],
    )
    fill = alt.Fill("level:N", scale=tints, legend=None)
    ground = _ground(store.keep(tiles(final["region"][i], frame)), frame, fill)
    rows = [
        {"x": float(a), "y": float(b), "class": _class_name(k), "hollow": not seen}
        for (a, b), k, seen in zip(
            final["point"][i], final["label"][i], final["focused"][i], strict=True
        )
    ]
    dots = _dots(boxes, store.keep(rows), frame, legend=False)
    return alt.layer(ground, dots).properties(width=WIDTH, height=HEIGHT)


def _tint(colour: str, share: float = 0.24) -> str:
    """A colour mixed with white, so that points of the same colour stand out on it."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 + share * (part - 255)):02x}" for part in parts)


def _ground(rects: alt.NamedData, frame: Sequence[float], fill: alt.Fill) -> alt.Chart:
    x, y = _axes(frame)
    chart = alt.Chart(rects).mark_rect(fillOpacity=1, strokeWidth=0, clip=True)
    return chart.encode(x=x, x2="x2:Q", y=y, y2="y2:Q", fill=fill)


def _dots(boxes: Boxes, rows: alt.NamedData, frame: Sequence[float], legend: bool = True) -> Any:
    """Points by class, hollow where a row says so."""
    k = len(boxes.foreground)
    names = [_class_name(c) for c in range(k)] + [BACKGROUND]
    colours = alt.Scale(domain=names, range=[*CLASS_COLOURS[:k], BACKGROUND_COLOUR])
    shapes = alt.Scale(domain=names, range=[*CLASS_SHAPES[:k], "stroke"])
    key = alt.Legend(columns=k + 1, symbolSize=90, symbolStrokeWidth=1.5) if legend else None
    x, y = _axes(frame)
    layers = [
        alt.Chart()
        .transform_filter(f"datum.hollow === {str(hollow).lower()}")
        .mark_point(size=22, strokeWidth=1.3, filled=not hollow, opacity=0.9, clip=True)
        .encode(
            x=x,
            y=y,
            color=alt.Color("class:N", scale=colours, legend=key),
            shape=alt.Shape("class:N", scale=shapes, legend=key),
        )
        for hollow in (False, True)
    ]
    return alt.layer(*layers, data=rows)


def _quadrant_panel(member: Member, store: _Store) -> alt.Chart:
    """Shares of focus right or wrong and prediction right or wrong over training. [pvr22] Fig. 5"""
    record, i = member.record, member.row
    keep = np.unique(np.linspace(0, len(record.t) - 1, MOMENTS).round().astype(int))
    rows = [
        {"t": int(t), "share": 100 * float(share), "what": words, "order": order}
        for order, (name, words) in enumerate(QUADRANT_WORDS.items())
        for t, share in zip(record.t[keep], record.values[name][keep, i], strict=True)
    ]
    scale = alt.Scale(
        domain=list(QUADRANT_WORDS.values()),
        range=[QUADRANT_COLOURS[name] for name in QUADRANT_WORDS],
    )
    return (
        alt.Chart(store.keep(rows))
        .mark_area(stroke="white", strokeWidth=0.4)
        .encode(
            x=alt.X("t:Q", title="epoch", scale=alt.Scale(nice=False)),
            y=alt.Y("share:Q", title="held-out bags, %", scale=alt.Scale(domain=[0, 100])),
            color=alt.Color("what:N", scale=scale, legend=alt.Legend(columns=4, labelLimit=200)),
            order="order:O",
        )
        .properties(width=WIDTH, height=130)
    )


def _axes(frame: Sequence[float]) -> tuple[alt.X, alt.Y]:
    left, right, low, high = frame
    axis = alt.Axis(grid=False, tickCount=5, titlePadding=2)
    x = alt.X(
        "x:Q", title="x1", axis=axis, scale=alt.Scale(domain=[left, right], nice=False, zero=False)
    )
    y = alt.Y(
        "y:Q", title="x2", axis=axis, scale=alt.Scale(domain=[low, high], nice=False, zero=False)
    )
    return x, y


def _class_name(kind: int) -> str:
    return BACKGROUND if kind < 0 else f"class {kind + 1}"


def _ends(member: Member) -> str:
    accuracy, ft = (100 * member.record.last(k)[member.row] for k in ("accuracy", "ft"))
    return f"accuracy {accuracy:.0f} %, FT {ft:.0f} %"
