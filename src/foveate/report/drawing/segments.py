"""One bag as a small SVG: its segments, the attention drawn on them, the relevant one ringed.

Attention is a tint and a frame whose opacity is √alpha: nothing at 0, full at 1, and small shares,
which linear opacity would hide, can still be seen.
The ring is dashed in black on white, which shows on any ground.
"""

import base64
import io
from dataclasses import dataclass, replace
from html import escape
from math import ceil, sqrt

import numpy as np
from PIL import Image

from foveate.charts.layout import spread
from foveate.charts.palette import ATTENTION, INK
from foveate.records.record import Array

__all__ = ["PRINTED", "Sight", "draw", "kind_of"]

PRINTED = 0.1  # attention from which a segment carries its number
CELL, GAP = 40.0, 8.0  # of a mosaic
SIDE, MARGIN = 200.0, 20.0  # of a scatter and of bars


@dataclass(frozen=True)
class Sight:
    """What is drawn of one bag.

    Args:
        segments: The bag's segments as stored, shape (m, *).
        key: Under which the page keeps the segments' pictures, unique within it.
        low: Of vectors, the least value over the gallery, shape (d,).
        high: Of vectors, the greatest, shape (d,).
        alpha: Attention, shape (m,); None draws the bag alone.
        z: Which segments are relevant, shape (m,); None where nobody knows.
        mask: Which segments exist, shape (m,).
    """

    segments: Array
    key: str
    low: Array
    high: Array
    alpha: Array | None = None
    z: Array | None = None
    mask: Array | None = None

    @property
    def present(self) -> list[int]:
        """The segments that exist."""
        everyone = np.ones(len(self.segments), bool)
        return [int(j) for j in np.flatnonzero(everyone if self.mask is None else self.mask)]

    @property
    def relevant(self) -> list[int]:
        """The segments that are relevant, where that is known."""
        return [] if self.z is None else [j for j in self.present if self.z[j]]

    def attending(self, alpha: Array) -> "Sight":
        """The same bag with attention on it."""
        return replace(self, alpha=alpha)


def kind_of(segments: Array) -> str:
    """How a gallery's segments (K, m, *) are drawn: "image", "point" or "vector"."""
    shape = segments.shape[2:]
    if len(shape) == 2 or (len(shape) == 3 and shape[0] in (1, 3)):
        return "image"
    return "point" if shape == (2,) else "vector"


def draw(sight: Sight, kind: str, words: str) -> str:
    """A bag as an SVG element.

    The bag drawn alone holds the pictures of its segments; with attention it refers to them, so
    that a page carries every picture once.

    Args:
        sight: What is drawn.
        kind: See :func:`kind_of`.
        words: What the picture says, for those who cannot see it.
    """
    width, height, body = {"image": _mosaic, "point": _scatter, "vector": _bars}[kind](sight)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'font-family="sans-serif" role="img" aria-label="{escape(words)}">{body}</svg>'
    )


def _mosaic(sight: Sight) -> tuple[float, float, str]:
    """Images in a grid, 4 rows of 5 for twenty segments."""
    columns = ceil(sqrt(len(sight.segments)))
    tall = CELL * sight.segments.shape[-2] / sight.segments.shape[-1]
    corners = {
        j: (GAP + (j % columns) * (CELL + GAP), GAP + (j // columns) * (tall + GAP))
        for j in sight.present
    }
    rows = ceil(len(sight.segments) / columns)
    size = GAP + columns * (CELL + GAP), GAP + rows * (tall + GAP)
    if sight.alpha is None:
        images = "".join(
            _image(x, y, CELL, tall, sight.segments[j]) for j, (x, y) in corners.items()
        )
        body = f'<g id="{escape(sight.key)}">{images}</g>'
    else:
        body = f'<use href="#{escape(sight.key)}"/>'
        body += "".join(_tint(x, y, tall, sight.alpha[j]) for j, (x, y) in corners.items())
    rings = (corners[j] for j in sight.relevant)
    return *size, body + "".join(_ring(x - 4, y - 4, CELL + 8, tall + 8) for x, y in rings)


def _tint(x: float, y: float, tall: float, alpha: float) -> str:
    shown = sqrt(alpha)
    frame = (
        f'<rect x="{x:g}" y="{y:g}" width="{CELL:g}" height="{tall:g}" fill="{ATTENTION}" '
        f'opacity="{0.4 * shown:.3f}"/><rect x="{x + 1.5:g}" y="{y + 1.5:g}" width="{CELL - 3:g}" '
        f'height="{tall - 3:g}" fill="none" stroke="{ATTENTION}" stroke-width="3" '
        f'opacity="{shown:.3f}"/>'
    )
    return frame + (_number(x + CELL / 2, y + tall - 8, alpha) if alpha >= PRINTED else "")


def _number(x: float, y: float, alpha: float) -> str:
    """A value in white on a dark chip, which any image can carry."""
    return (
        f'<rect x="{x - 14:.1f}" y="{y - 7:.1f}" width="28" height="14" rx="3" fill="#000" '
        f'fill-opacity=".78"/><text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" '
        f'font-size="11.5" fill="#fff">{alpha:.2f}</text>'
    )


def _ring(x: float, y: float, width: float, height: float, round_: float = 3.0) -> str:
    box = (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round_:g}" '
        f'fill="none" stroke-width="2.4" '
    )
    return f'{box}stroke="#fff"/>{box}stroke="#000" stroke-dasharray="5 4"/>'


def _image(x: float, y: float, width: float, height: float, segment: Array) -> str:
    """A segment (c, h, w) or (h, w) with hard pixels; numbers that are not bytes are stretched."""
    pixels = segment if segment.ndim == 2 else np.moveaxis(segment, 0, -1)
    if pixels.shape[-1] == 1 and pixels.ndim == 3:
        pixels = pixels[..., 0]
    held = io.BytesIO()
    Image.fromarray(_bytes(pixels)).save(held, "PNG", optimize=True)
    source = base64.b64encode(held.getvalue()).decode()
    return (
        f'<image x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
        f'preserveAspectRatio="none" image-rendering="pixelated" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{source}"/>'
    )


def _bytes(pixels: Array) -> Array:
    if pixels.dtype != np.uint8:
        low, high = float(pixels.min()), float(pixels.max())
        pixels = (255 * (pixels - low) / ((high - low) or 1.0)).astype(np.uint8)
    return np.ascontiguousarray(pixels)


def _scatter(sight: Sight) -> tuple[float, float, str]:
    """Points in the plane; the area of a disc is its attention."""
    span = np.where(sight.high > sight.low, sight.high - sight.low, 1.0)
    unit = (sight.segments.astype(float) - sight.low) / span
    at = MARGIN + unit * (SIDE - 2 * MARGIN)
    at[:, 1] = SIDE - at[:, 1]
    body = f'<rect width="{SIDE:g}" height="{SIDE:g}" rx="4" fill="#fff" stroke="#b8bec4"/>'
    alpha = np.zeros(len(at)) if sight.alpha is None else sight.alpha
    numbers = ""
    for left in (True, False):
        said = [j for j in sight.present if alpha[j] >= PRINTED and (at[j, 0] < SIDE / 2) == left]
        leaders, chips = _column(at[said], alpha[said], left)
        body, numbers = body + leaders, numbers + chips
    for j in sight.present:
        x, y = at[j]
        body += (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{14 * sqrt(alpha[j]):.2f}" fill="{ATTENTION}" '
            f'fill-opacity=".75"/><circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{INK}"/>'
        )
    body += "".join(_ring(at[j, 0] - 16, at[j, 1] - 16, 32, 32, 16) for j in sight.relevant)
    return SIDE, SIDE, body + numbers


def _column(at: Array, alpha: Array, left: bool) -> tuple[str, str]:
    """Leaders and values, one below the other on the inner side of the points they belong to."""
    if not len(at):
        return "", ""
    x = at[:, 0].max() + 38 if left else at[:, 0].min() - 38
    heights = spread(at[:, 1].tolist(), 15, SIDE)
    leaders = "".join(
        f'<line x1="{px:.1f}" y1="{py:.1f}" x2="{x:.1f}" y2="{y:.1f}" stroke="#5b6268"/>'
        for (px, py), y in zip(at, heights, strict=True)
    )
    chips = (_number(x, y, weight) for y, weight in zip(heights, alpha, strict=True))
    return leaders, "".join(chips)


def _bars(sight: Sight) -> tuple[float, float, str]:
    """A bar a segment, as high as its attention; alone, a column of its numbers as greys."""
    height, m = SIDE / 2, len(sight.segments)
    step, room = (SIDE - 2 * MARGIN) / m, height - 2 * MARGIN
    left = [MARGIN + j * step for j in range(m)]
    body = f'<rect width="{SIDE:g}" height="{height:g}" rx="4" fill="#fff" stroke="#b8bec4"/>'
    if sight.alpha is None:
        numbers = np.where(np.isin(np.arange(m), sight.present), sight.segments.reshape(m, -1).T, 0)
        body += _image(MARGIN, MARGIN, m * step, room, numbers)
    else:
        bars = ((left[j] + 0.1 * step, sight.alpha[j] * room) for j in sight.present)
        body += "".join(
            f'<rect x="{x:.1f}" y="{height - MARGIN - tall:.1f}" width="{0.8 * step:.1f}" '
            f'height="{tall + 2:.1f}" fill="{ATTENTION}"/>'
            for x, tall in bars
        )
    body += "".join(_ring(left[j], MARGIN - 4, step, room + 8) for j in sight.relevant)
    if (alpha := sight.alpha) is not None:
        top = max(sight.present, key=lambda j: float(alpha[j]))
        body += _number(max(16.0, min(left[top] + step / 2, SIDE - 16)), 9.0, alpha[top])
    return SIDE, height, body
