"""A time series: windows shaded by attention, evidence as signed bars."""

from collections.abc import Sequence
from html import escape
from math import sqrt

import numpy as np

from foveate.charts.palette import AGAINST, ATTENTION, FOR, TEXT_COLOUR
from foveate.charts.render import spread_labels
from foveate.records.record import Array
from foveate.userdata.gallery import GalleryBag

__all__ = ["window_panels"]

WIDTH, HEIGHT, LOW, SIDE, FOOT = 600.0, 130.0, 70.0, 14.0, 22.0
NAMES, MAX_LETTERS = 118.0, 14  # width for the names of lines, and their maximum length
LINES = 4  # maximum number of columns drawn
GREYS = ("#1b1f24", "#5b6268", "#8a9299", "#b0b6bc")
Panel = tuple[str, str]


def window_panels(
    bag: GalleryBag, shown_classes: Sequence[int], titles: Sequence[str], columns: Sequence[str]
) -> list[Panel]:
    """Panels of the values over time and of the evidence per class: titles and SVG.

    Of many columns, those are drawn in which the most attended window deviates most from the bag.

    Args:
        bag: A bag of windows; positions hold the start and, if known, the end.
        shown_classes: Classes whose evidence is drawn.
        titles: Titles of their panels.
        columns: Names of a window's features.
    """
    spans, ticks = _spans(bag)
    drawn, total = _deviating_columns(bag), _columns(bag).shape[1]
    names = [columns[k] if columns else f"column {k}" for k in drawn]
    shades = "".join(_shading(a, b, w) for (a, b), w in zip(spans, bag.alpha, strict=True))
    top = int(bag.alpha.argmax())
    description = f"attention: most on window {top}, {bag.alpha[top]:.2f}"
    selection = f"; {len(drawn)} of {total} columns, in which the top window deviates most"
    title = "attention, and each column from its lowest to its highest value"
    body = (
        shades
        + _lines(bag, spans, drawn, names)
        + _relevance_marks(bag, spans, HEIGHT)
        + _axis(ticks, HEIGHT)
    )
    panels = [(title + selection * (total > len(drawn)), _svg(body, description, HEIGHT))]
    largest = float(np.abs(bag.evidence).max(initial=0.0)) or 1.0
    for c, title in zip(shown_classes, titles, strict=True):
        evidence = bag.evidence[:, c]
        bars = "".join(
            _signed(a, b, e / largest) for (a, b), e in zip(spans, evidence, strict=True)
        )
        zero = f'<path d="M{SIDE:g} {LOW / 2:g}H{WIDTH - SIDE:g}" stroke="#6b7278"/>'
        j = int(np.abs(evidence).argmax())
        body = bars + zero + _relevance_marks(bag, spans, LOW) + _axis(ticks, LOW)
        description = f"window {j}: {evidence[j]:+.2f}"
        panels.append((f"{title}, −{largest:.2g} to +{largest:.2g}", _svg(body, description, LOW)))
    return panels


def _spans(bag: GalleryBag) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Left and right of every window, and the positions of three tick labels."""
    positions = np.asarray(bag.places, dtype=float)
    starts = positions[:, 0]
    if positions.shape[1] > 1:
        ends = positions[:, 1]
    else:
        step = float(np.diff(np.sort(starts)).min(initial=1.0)) if len(starts) > 1 else 1.0
        ends = starts + step
    low, high = float(starts.min()), float(ends.max())

    def across(t: float) -> float:
        return SIDE + (WIDTH - 2 * SIDE) * (t - low) / ((high - low) or 1.0)

    ticks = [(t, across(t)) for t in (low, (low + high) / 2, high)]
    return [(across(a), across(b)) for a, b in zip(starts, ends, strict=True)], ticks


def _axis(ticks: Sequence[tuple[float, float]], tall: float) -> str:
    anchors = ("start", "middle", "end")
    return f'<path d="M{SIDE:g} {tall:g}H{WIDTH - SIDE:g}" stroke="#6b7278"/>' + "".join(
        f'<text x="{x:.1f}" y="{tall + 15:g}" font-size="12" text-anchor="{anchor}" '
        f'fill="{TEXT_COLOUR}">{t:g}</text>'
        for (t, x), anchor in zip(ticks, anchors, strict=True)
    )


def _columns(bag: GalleryBag) -> Array:
    return np.asarray(bag.values, dtype=float).reshape(len(bag.alpha), -1)


def _deviating_columns(bag: GalleryBag) -> list[int]:
    """The columns whose value in the top window deviates most from the bag's median."""
    values = _columns(bag)
    deviation = np.abs(values[int(bag.alpha.argmax())] - np.median(values, 0))
    scale = values.std(0)
    order = np.argsort(-deviation / np.where(scale > 0, scale, 1.0), kind="stable")[:LINES]
    return sorted(int(k) for k in order)


def _lines(
    bag: GalleryBag,
    spans: Sequence[tuple[float, float]],
    drawn: Sequence[int],
    names: Sequence[str],
) -> str:
    """One line per column, scaled to the height, with its name."""
    values = _columns(bag)[:, drawn]
    low, high = values.min(0), values.max(0)
    unit = (values - low) / np.where(high > low, high - low, 1.0)
    order = np.argsort([a for a, _ in spans], kind="stable")
    ends = [8 + (HEIGHT - 16) * (1 - float(u)) for u in unit[order[-1]]]
    lines = ""
    for k, (name, grey, y) in enumerate(
        zip(names, GREYS, spread_labels(ends, 18, HEIGHT), strict=False)
    ):
        points = " ".join(
            f"{(spans[j][0] + spans[j][1]) / 2:.1f},{8 + (HEIGHT - 16) * (1 - unit[j, k]):.1f}"
            for j in order
        )
        lines += f'<polyline points="{points}" fill="none" stroke="{grey}" stroke-width="1.6"/>'
        right = WIDTH - SIDE + 6
        lines += f'<path d="M{right:g} {y:.1f}h14" stroke="{grey}" stroke-width="2.4"/>'
        text = name if len(name) <= MAX_LETTERS else f"{name[: MAX_LETTERS - 1]}…"
        lines += (
            f'<text x="{right + 18:g}" y="{y + 4:.1f}" font-size="12" fill="{TEXT_COLOUR}">'
            f"{escape(text)}</text>"
        )
    return lines


def _shading(a: float, b: float, alpha: float) -> str:
    opacity = sqrt(max(0.0, float(alpha)))
    return (
        f'<rect x="{a:.1f}" width="{b - a:.1f}" height="{HEIGHT:g}" fill="{ATTENTION}" '
        f'opacity="{opacity:.3f}"/>'
    )


def _signed(a: float, b: float, share: float) -> str:
    tall = abs(share) * (LOW / 2 - 4)
    top = LOW / 2 - tall if share > 0 else LOW / 2
    color = FOR if share > 0 else AGAINST
    return (
        f'<rect x="{a + 0.5:.1f}" y="{top:.1f}" width="{max(1.0, b - a - 1):.1f}" '
        f'height="{tall:.1f}" fill="{color}"/>'
    )


def _relevance_marks(bag: GalleryBag, spans: Sequence[tuple[float, float]], tall: float) -> str:
    """Dashed frames around the relevant windows, if they are known."""
    drawn = ""
    for j in [] if bag.z is None else np.flatnonzero(bag.z).tolist():
        a, b = spans[j]
        box = (
            f'<rect x="{a:.1f}" y="1.5" width="{b - a:.1f}" height="{tall - 3:g}" fill="none" '
            f'stroke-width="2.4" '
        )
        drawn += f'{box}stroke="#fff"/>{box}stroke="#000" stroke-dasharray="5 4"/>'
    return drawn


def _svg(body: str, description: str, tall: float) -> str:
    wide = WIDTH + NAMES
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {tall + FOOT:g}" '
        f'font-family="sans-serif" role="img" aria-label="{escape(description)}">'
        f'<rect width="{wide:g}" height="{tall + FOOT:g}" fill="#fff"/>{body}</svg>'
    )
