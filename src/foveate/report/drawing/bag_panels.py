"""A bag with its attention and its signed evidence, as panels for a page.

Attention is violet with opacity √α. Evidence for a class is olive, evidence against it grey
with an additional mark; its strength is |e| divided by the largest |e| of the bag. The largest
numbers are printed. Tiles are drawn with hard edges, without interpolation.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from foveate.records.record import Array
from foveate.report.drawing.tiles import tile_panels
from foveate.report.drawing.windows import window_panels
from foveate.userdata.gallery import GalleryBag

__all__ = ["bag_view"]

MAX_WORDS = 400  # of a text
MAX_SEGMENTS = 12  # in the table of plain features
MAX_CLASSES = 4  # the most probable, whose evidence is drawn


def bag_view(bag: GalleryBag, classes: Sequence[str], columns: Sequence[str], key: str) -> Any:
    """The template variables of one bag.

    Args:
        bag: The bag.
        classes: Names of the classes.
        columns: Names of a segment's features.
        key: Prefix of ids, unique within the page.
    """
    shown_classes = _evidence_classes(bag, len(classes))
    largest = float(np.abs(bag.evidence).max(initial=0.0))
    view: dict[str, Any] = {
        "id": bag.id,
        "kind": bag.kind,
        "prediction": classes[int(bag.p.argmax())],
        "probabilities": [(classes[c], float(bag.p[c])) for c in np.argsort(-bag.p, kind="stable")],
        "label": None if bag.truth is None else classes[bag.truth],
        "correct": None if bag.truth is None else int(bag.p.argmax()) == bag.truth,
        "focused": _focused(bag),
        "empty": bag.z is not None and not np.any(bag.z),
        "segments": len(bag.alpha),
        "null": bag.null,
        "largest": largest,
        "map": bag.map,
        "shown_classes": [classes[c] for c in shown_classes],
    }
    titles = [f"evidence for {classes[c]}" for c in shown_classes]
    if bag.kind == "text":
        return view | {"texts": _texts(bag, shown_classes, titles, largest)}
    if bag.kind == "image":
        panels = tile_panels(bag, shown_classes, titles, key)
    elif bag.kind == "series" and bag.places is not None:
        panels = window_panels(bag, shown_classes, titles, columns)
    else:
        return view | {"ranked": _ranked(bag, shown_classes, largest)}
    drawn = [(title, Markup(svg)) for title, svg in panels]
    return view | {"panels": drawn, "example": _example(bag, drawn)}


def _example(bag: GalleryBag, panels: Sequence[tuple[str, Markup]]) -> Markup:
    """What is drawn at the top of a page: the map, of a series above it what was recorded."""
    first = 1 if bag.kind == "image" else 0
    if bag.map == "attention":
        return panels[first][1]
    return panels[2][1] if bag.kind == "image" else panels[0][1] + panels[1][1]


def _focused(bag: GalleryBag) -> bool | None:
    """Whether the top segment of the map is relevant; None if it is not known."""
    if bag.z is None or not np.any(bag.z):
        return None
    return bool(bag.z[int(bag.ranking.argmax())])


def _evidence_classes(bag: GalleryBag, classes: int) -> list[int]:
    """Classes whose evidence is drawn; one of two, because the other is its negative."""
    if classes == 2:
        return [1]
    order = [int(c) for c in np.argsort(-bag.p, kind="stable")[:MAX_CLASSES]]
    if bag.truth is not None and bag.truth not in order:
        order[-1] = bag.truth
    return order


def _texts(
    bag: GalleryBag, shown_classes: Sequence[int], titles: Sequence[str], largest: float
) -> dict[str, Any]:
    words = list(bag.words or ())
    views = [{"name": "attention", "kind": "look", "levels": _levels(np.sqrt(bag.alpha))}]
    for c, title in zip(shown_classes, titles, strict=True):
        shares = bag.evidence[:, c] / (largest or 1.0)
        views.append({"name": title, "kind": "sign", "levels": _levels(shares)})
    if bag.map != "attention":
        views = [*views[1:], views[0]]
    relevant = [] if bag.z is None else [bool(one) for one in bag.z[:MAX_WORDS]]
    return {
        "tokens": words[:MAX_WORDS],
        "omitted": max(0, len(words) - MAX_WORDS),
        "relevant": relevant or [False] * min(len(words), MAX_WORDS),
        "views": views,
    }


def _levels(values: Array) -> list[int]:
    levels: list[int] = np.rint(100 * np.clip(values[:MAX_WORDS], -1, 1)).astype(int).tolist()
    return levels


def _ranked(bag: GalleryBag, shown_classes: Sequence[int], largest: float) -> dict[str, Any]:
    """The top segments of the map, as rows with bars."""
    order = np.argsort(-bag.ranking, kind="stable")[:MAX_SEGMENTS]
    rows = [
        {
            "segment": int(j),
            "position": "" if bag.places is None else ", ".join(f"{v:g}" for v in bag.places[j]),
            "alpha": float(bag.alpha[j]),
            "relevant": None if bag.z is None else bool(bag.z[j]),
            "evidence": [
                (float(bag.evidence[j, c]), float(bag.evidence[j, c]) / (largest or 1.0))
                for c in shown_classes
            ],
        }
        for j in order
    ]
    rest = float(bag.alpha.sum() - bag.alpha[order].sum())
    return {"rows": rows, "omitted": len(bag.alpha) - len(order), "rest": max(0.0, rest)}
