"""A series along its time: windows shaded by attention, evidence as signed bars."""

from collections.abc import Callable, Sequence
from html import escape
from math import sqrt

import numpy as np

from foveate.figures.palette import AGAINST, ATTENTION, FOR, INK
from foveate.own.shown import ShownBag
from foveate.record import Array

__all__ = ["window_panels"]

WIDE, TALL, SIDE, FOOT = 600.0, 130.0, 14.0, 22.0
LINES = 4  # columns that are drawn
GREYS = ("#1b1f24", "#5b6268", "#8a9299", "#b0b6bc")
Panel = tuple[str, str]
Across = Callable[[float], float]


def window_panels(
    bag: ShownBag, asked: Sequence[int], titles: Sequence[str], columns: Sequence[str]
) -> list[Panel]:
    """Numbers over time with shaded windows, then evidence for each class; titles and SVG.

    Args:
        bag: A bag of windows, whose places begin with start and, where known, end.
        asked: Classes whose evidence is drawn.
        titles: What their panels are called.
        columns: Names of a window's numbers.
    """
    spans, axis = _spans(bag)
    ring = "" if bag.z is None else "".join(_ring(*spans[j]) for j in np.flatnonzero(bag.z))
    drawn = min(LINES, _columns(bag).shape[1])
    named = ", ".join(columns[:drawn]) if columns else f"{drawn} columns"
    shades = "".join(_shade(a, b, w) for (a, b), w in zip(spans, bag.alpha, strict=True))
    top = int(bag.alpha.argmax())
    said = f"attention: most on window {top}, {bag.alpha[top]:.2f}"
    title = f"attention on {named} (each from its lowest to its highest value)"
    panels = [(title, _svg(shades + _lines(bag, spans) + ring + axis, said))]
    largest = float(np.abs(bag.evidence).max(initial=0.0)) or 1.0
    for c, title in zip(asked, titles, strict=True):
        own = bag.evidence[:, c]
        bars = "".join(_signed(a, b, e / largest) for (a, b), e in zip(spans, own, strict=True))
        zero = f'<path d="M{SIDE:g} {TALL / 2:g}H{WIDE - SIDE:g}" stroke="#6b7278"/>'
        j = int(np.abs(own).argmax())
        body = bars + zero + ring + axis
        panels.append(
            (f"{title}, −{largest:.2g} to +{largest:.2g}", _svg(body, f"window {j}: {own[j]:+.2f}"))
        )
    return panels


def _spans(bag: ShownBag) -> tuple[list[tuple[float, float]], str]:
    """Left and right of every window on the page, and the axis below them."""
    places = np.asarray(bag.places, dtype=float)
    starts = places[:, 0]
    if places.shape[1] > 1:
        ends = places[:, 1]
    else:
        step = float(np.diff(np.sort(starts)).min(initial=1.0)) if len(starts) > 1 else 1.0
        ends = starts + step
    low, high = float(starts.min()), float(ends.max())

    def across(t: float) -> float:
        return SIDE + (WIDE - 2 * SIDE) * (t - low) / ((high - low) or 1.0)

    marks = (low, (low + high) / 2, high)
    anchors = ("start", "middle", "end")
    axis = f'<path d="M{SIDE:g} {TALL:g}H{WIDE - SIDE:g}" stroke="#6b7278"/>' + "".join(
        f'<text x="{across(t):.1f}" y="{TALL + 15:g}" font-size="12" text-anchor="{anchor}" '
        f'fill="{INK}">{t:g}</text>'
        for t, anchor in zip(marks, anchors, strict=True)
    )
    return [(across(a), across(b)) for a, b in zip(starts, ends, strict=True)], axis


def _columns(bag: ShownBag) -> Array:
    return np.asarray(bag.values, dtype=float).reshape(len(bag.alpha), -1)


def _lines(bag: ShownBag, spans: Sequence[tuple[float, float]]) -> str:
    """The first columns, each stretched over the height, through the middles of the windows."""
    values = _columns(bag)[:, :LINES]
    low, high = values.min(0), values.max(0)
    unit = (values - low) / np.where(high > low, high - low, 1.0)
    order = np.argsort([a for a, _ in spans], kind="stable")
    drawn = ""
    for k, grey in zip(range(values.shape[1]), GREYS, strict=False):
        points = " ".join(
            f"{(spans[j][0] + spans[j][1]) / 2:.1f},{8 + (TALL - 16) * (1 - unit[j, k]):.1f}"
            for j in order
        )
        drawn += f'<polyline points="{points}" fill="none" stroke="{grey}" stroke-width="1.6"/>'
    return drawn


def _shade(a: float, b: float, alpha: float) -> str:
    opacity = sqrt(max(0.0, float(alpha)))
    return (
        f'<rect x="{a:.1f}" width="{b - a:.1f}" height="{TALL:g}" fill="{ATTENTION}" '
        f'opacity="{opacity:.3f}"/>'
    )


def _signed(a: float, b: float, share: float) -> str:
    tall = abs(share) * (TALL / 2 - 4)
    top = TALL / 2 - tall if share > 0 else TALL / 2
    paint = FOR if share > 0 else AGAINST
    return (
        f'<rect x="{a + 0.5:.1f}" y="{top:.1f}" width="{max(1.0, b - a - 1):.1f}" '
        f'height="{tall:.1f}" fill="{paint}"/>'
    )


def _ring(a: float, b: float) -> str:
    box = (
        f'<rect x="{a:.1f}" y="1.5" width="{b - a:.1f}" height="{TALL - 3:g}" fill="none" '
        f'stroke-width="2.4" '
    )
    return f'{box}stroke="#fff"/>{box}stroke="#000" stroke-dasharray="5 4"/>'


def _svg(body: str, words: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE:g} {TALL + FOOT:g}" '
        f'font-family="sans-serif" role="img" aria-label="{escape(words)}">'
        f'<rect width="{WIDE:g}" height="{TALL + FOOT:g}" fill="#fff"/>{body}</svg>'
    )
