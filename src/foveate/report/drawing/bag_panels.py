"""A bag with its attention and its signed evidence, as panels for a page.

Attention is orange, of opacity √α. Evidence for a class is blue, against it vermilion with a mark
of its own, as strong as |e| over the largest |e| of the bag; the largest numbers are printed. Tiles
are drawn with hard edges, never smoothed: what is shown is what was computed.
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

LONGEST = 400  # words of a text that are shown
RANKED = 12  # segments of plain features that are shown
CLASSES = 4  # classes whose evidence is shown, the most probable


def bag_view(bag: GalleryBag, classes: Sequence[str], columns: Sequence[str], key: str) -> Any:
    """What the template shows of one bag.

    Args:
        bag: The bag.
        classes: Names of the classes.
        columns: Names of a segment's numbers.
        key: What ids begin with, unique within the page.
    """
    asked = _asked(bag, len(classes))
    largest = float(np.abs(bag.evidence).max(initial=0.0))
    view: dict[str, Any] = {
        "id": bag.id,
        "kind": bag.kind,
        "says": classes[int(bag.p.argmax())],
        "probabilities": [(classes[c], float(bag.p[c])) for c in np.argsort(-bag.p, kind="stable")],
        "truth": None if bag.truth is None else classes[bag.truth],
        "right": None if bag.truth is None else int(bag.p.argmax()) == bag.truth,
        "segments": len(bag.alpha),
        "null": bag.null,
        "largest": largest,
        "asked": [classes[c] for c in asked],
    }
    titles = [f"evidence for {classes[c]}" for c in asked]
    if bag.kind == "text":
        return view | {"texts": _texts(bag, asked, titles, largest)}
    if bag.kind == "image":
        panels = tile_panels(bag, asked, titles, key)
    elif bag.kind == "series" and bag.places is not None:
        panels = window_panels(bag, asked, titles, columns)
    else:
        return view | {"ranked": _ranked(bag, asked, largest)}
    return view | {"panels": [(title, Markup(svg)) for title, svg in panels]}


def _asked(bag: GalleryBag, classes: int) -> list[int]:
    """Classes whose evidence is shown; of two, one: the other's is its opposite."""
    if classes == 2:
        return [1]
    order = [int(c) for c in np.argsort(-bag.p, kind="stable")[:CLASSES]]
    if bag.truth is not None and bag.truth not in order:
        order[-1] = bag.truth
    return order


def _texts(
    bag: GalleryBag, asked: Sequence[int], titles: Sequence[str], largest: float
) -> dict[str, Any]:
    words = list(bag.words or ())
    views = [{"name": "attention", "kind": "look", "levels": _levels(np.sqrt(bag.alpha))}]
    for c, title in zip(asked, titles, strict=True):
        shares = bag.evidence[:, c] / (largest or 1.0)
        views.append({"name": title, "kind": "sign", "levels": _levels(shares)})
    relevant = [] if bag.z is None else [bool(one) for one in bag.z[:LONGEST]]
    return {
        "tokens": words[:LONGEST],
        "left_out": max(0, len(words) - LONGEST),
        "relevant": relevant or [False] * min(len(words), LONGEST),
        "views": views,
    }


def _levels(values: Array) -> list[int]:
    levels: list[int] = np.rint(100 * np.clip(values[:LONGEST], -1, 1)).astype(int).tolist()
    return levels


def _ranked(bag: GalleryBag, asked: Sequence[int], largest: float) -> dict[str, Any]:
    """The segments with most attention, with bars."""
    order = np.argsort(-bag.alpha, kind="stable")[:RANKED]
    rows = [
        {
            "segment": int(j),
            "place": "" if bag.places is None else ", ".join(f"{v:g}" for v in bag.places[j]),
            "alpha": float(bag.alpha[j]),
            "relevant": None if bag.z is None else bool(bag.z[j]),
            "evidence": [
                (float(bag.evidence[j, c]), float(bag.evidence[j, c]) / (largest or 1.0))
                for c in asked
            ],
        }
        for j in order
    ]
    rest = float(bag.alpha.sum() - bag.alpha[order].sum())
    return {"rows": rows, "left_out": len(bag.alpha) - len(order), "rest": max(0.0, rest)}
