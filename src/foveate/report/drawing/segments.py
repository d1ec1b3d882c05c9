"""One bag as a small SVG: segments with attention; a dashed frame marks the relevant one.

Attention is a tint and a frame with opacity √alpha: linear opacity would hide small values. The
mark of the relevant segment is dashed black on white, which is visible on any background.
"""

import base64
import io
from dataclasses import dataclass, replace
from html import escape
from math import ceil, sqrt

import numpy as np
from PIL import Image

from foveate.charts.palette import ATTENTION, TEXT_COLOUR
from foveate.charts.render import spread_labels
from foveate.records.record import Array

__all__ = ["MIN_PRINTED", "BagDrawing", "draw", "kind_of"]

MIN_PRINTED = 0.1  # attention from which the number is printed on the segment
CELL, GAP = 40.0, 8.0  # of a mosaic
SIDE, MARGIN = 200.0, 20.0  # of a scatter and of bars


@dataclass(frozen=True)
class BagDrawing:
    """The content of a drawing of one bag.

    Args:
        segments: The bag's segments as stored, shape (m, *).
        key: Id of the segments' images, unique within the page.
        low: For vectors, the minimum over the gallery, shape (d,).
        high: For vectors, the maximum over the gallery, shape (d,).
        alpha: Attention, shape (m,); None draws the bag without attention.
        z: Which segments are relevant, shape (m,); None if it is not known.
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
        """Indices of the segments that exist."""
        everything = np.ones(len(self.segments), bool)
        return [int(j) for j in np.flatnonzero(everything if self.mask is None else self.mask)]

    @property
    def relevant(self) -> list[int]:
        """Indices of the relevant segments, if they are known."""
        return [] if self.z is None else [j for j in self.present if self.z[j]]

    def with_attention(self, alpha: Array) -> "BagDrawing":
        """The same bag with attention on it."""
        return replace(self, alpha=alpha)


def kind_of(segments: Array) -> str:
    """How a gallery's segments (K, m, *) are drawn: "image", "point" or "vector"."""
    shape = segments.shape[2:]
    if len(shape) == 2 or (len(shape) == 3 and shape[0] in (1, 3)):
        return "image"
    return "point" if shape == (2,) else "vector"


def draw(drawing: BagDrawing, kind: str, description: str) -> str:
    """Draw a bag as an SVG element.

    The drawing without attention contains the images of the segments; the drawings with attention
    refer to them, so that a page contains every image once.

    Args:
        drawing: The bag and its attention.
        kind: See :func:`kind_of`.
        description: Alternative text.
    """
    width, height, body = {"image": _mosaic, "point": _scatter, "vector": _bars}[kind](drawing)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'font-family="sans-serif" role="img" aria-label="{escape(description)}">{body}</svg>'
    )


def _mosaic(drawing: BagDrawing) -> tuple[float, float, str]:
    """Images in a grid, 4 rows of 5 for twenty segments."""
    columns = ceil(sqrt(len(drawing.segments)))
    tall = CELL * drawing.segments.shape[-2] / drawing.segments.shape[-1]
    corners = {
        j: (GAP + (j % columns) * (CELL + GAP), GAP + (j // columns) * (tall + GAP))
        for j in drawing.present
    }
    rows = ceil(len(drawing.segments) / columns)
    size = GAP + columns * (CELL + GAP), GAP + rows * (tall + GAP)
    if drawing.alpha is None:
        images = "".join(
            _image(x, y, CELL, tall, drawing.segments[j]) for j, (x, y) in corners.items()
        )
        body = f'<g id="{escape(drawing.key)}">{images}</g>'
    else:
        body = f'<use href="#{escape(drawing.key)}"/>'
        body += "".join(_tint(x, y, tall, drawing.alpha[j]) for j, (x, y) in corners.items())
    marks = (corners[j] for j in drawing.relevant)
    return *size, body + "".join(
        _relevance_mark(x - 4, y - 4, CELL + 8, tall + 8) for x, y in marks
    )


def _tint(x: float, y: float, tall: float, alpha: float) -> str:
    opacity = sqrt(alpha)
    frame = (
        f'<rect x="{x:g}" y="{y:g}" width="{CELL:g}" height="{tall:g}" fill="{ATTENTION}" '
        f'opacity="{0.4 * opacity:.3f}"/>'
        f'<rect x="{x + 1.5:g}" y="{y + 1.5:g}" width="{CELL - 3:g}" '
        f'height="{tall - 3:g}" fill="none" stroke="{ATTENTION}" stroke-width="3" '
        f'opacity="{opacity:.3f}"/>'
    )
    return frame + (_number(x + CELL / 2, y + tall - 8, alpha) if alpha >= MIN_PRINTED else "")


def _number(x: float, y: float, alpha: float) -> str:
    """A value in white on a dark label, readable on any image."""
    return (
        f'<rect x="{x - 14:.1f}" y="{y - 7:.1f}" width="28" height="14" rx="3" fill="#000" '
        f'fill-opacity=".78"/><text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" '
        f'font-size="11.5" fill="#fff">{alpha:.2f}</text>'
    )


def _relevance_mark(x: float, y: float, width: float, height: float, radius: float = 3.0) -> str:
    box = (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius:g}" '
        f'fill="none" stroke-width="2.4" '
    )
    return f'{box}stroke="#fff"/>{box}stroke="#000" stroke-dasharray="5 4"/>'


def _image(x: float, y: float, width: float, height: float, segment: Array) -> str:
    """A segment (c, h, w) or (h, w) without smoothing; floats are scaled to 0–255."""
    pixels = segment if segment.ndim == 2 else np.moveaxis(segment, 0, -1)
    if pixels.shape[-1] == 1 and pixels.ndim == 3:
        pixels = pixels[..., 0]
    buffer = io.BytesIO()
    Image.fromarray(_bytes(pixels)).save(buffer, "PNG", optimize=True)
    source = base64.b64encode(buffer.getvalue()).decode()
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


def _scatter(drawing: BagDrawing) -> tuple[float, float, str]:
    """Points in the plane; the area of a disc is its attention."""
    span = np.where(drawing.high > drawing.low, drawing.high - drawing.low, 1.0)
    unit = (drawing.segments.astype(float) - drawing.low) / span
    position = MARGIN + unit * (SIDE - 2 * MARGIN)
    position[:, 1] = SIDE - position[:, 1]
    body = f'<rect width="{SIDE:g}" height="{SIDE:g}" rx="4" fill="#fff" stroke="#b8bec4"/>'
    alpha = np.zeros(len(position)) if drawing.alpha is None else drawing.alpha
    numbers = ""
    for left in (True, False):
        labelled = [
            j
            for j in drawing.present
            if alpha[j] >= MIN_PRINTED and (position[j, 0] < SIDE / 2) == left
        ]
        leaders, labels = _column(position[labelled], alpha[labelled], left)
        body, numbers = body + leaders, numbers + labels
    for j in drawing.present:
        x, y = position[j]
        body += (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{14 * sqrt(alpha[j]):.2f}" fill="{ATTENTION}" '
            f'fill-opacity=".75"/><circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{TEXT_COLOUR}"/>'
        )
    body += "".join(
        _relevance_mark(position[j, 0] - 16, position[j, 1] - 16, 32, 32, 16)
        for j in drawing.relevant
    )
    return SIDE, SIDE, body + numbers


def _column(position: Array, alpha: Array, left: bool) -> tuple[str, str]:
    """Values in a column beside their points, with leader lines."""
    if not len(position):
        return "", ""
    x = position[:, 0].max() + 38 if left else position[:, 0].min() - 38
    heights = spread_labels(position[:, 1].tolist(), 15, SIDE)
    leaders = "".join(
        f'<line x1="{px:.1f}" y1="{py:.1f}" x2="{x:.1f}" y2="{y:.1f}" stroke="#5b6268"/>'
        for (px, py), y in zip(position, heights, strict=True)
    )
    labels = (_number(x, y, weight) for y, weight in zip(heights, alpha, strict=True))
    return leaders, "".join(labels)


def _bars(drawing: BagDrawing) -> tuple[float, float, str]:
    """One bar per segment, as high as its attention; without attention, its features as greys."""
    height, m = SIDE / 2, len(drawing.segments)
    step, space = (SIDE - 2 * MARGIN) / m, height - 2 * MARGIN
    left = [MARGIN + j * step for j in range(m)]
    body = f'<rect width="{SIDE:g}" height="{height:g}" rx="4" fill="#fff" stroke="#b8bec4"/>'
    if drawing.alpha is None:
        numbers = np.where(
            np.isin(np.arange(m), drawing.present), drawing.segments.reshape(m, -1).T, 0
        )
        body += _image(MARGIN, MARGIN, m * step, space, numbers)
    else:
        bars = ((left[j] + 0.1 * step, drawing.alpha[j] * space) for j in drawing.present)
        body += "".join(
            f'<rect x="{x:.1f}" y="{height - MARGIN - tall:.1f}" width="{0.8 * step:.1f}" '
            f'height="{tall + 2:.1f}" fill="{ATTENTION}"/>'
            for x, tall in bars
        )
    body += "".join(_relevance_mark(left[j], MARGIN - 4, step, space + 8) for j in drawing.relevant)
    if (alpha := drawing.alpha) is not None:
        top = max(drawing.present, key=lambda j: float(alpha[j]))
        body += _number(max(16.0, min(left[top] + step / 2, SIDE - 16)), 9.0, alpha[top])
    return SIDE, height, body
