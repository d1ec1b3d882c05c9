"""An image assembled from its tiles, shaded by attention and by evidence."""

import base64
import io
from collections.abc import Sequence
from html import escape
from math import ceil, sqrt

import numpy as np
from PIL import Image

from foveate.charts.palette import AGAINST, ATTENTION, FOR
from foveate.records.record import Array
from foveate.userdata.gallery import GalleryBag

__all__ = ["tile_panels"]

PIXELS = 250_000  # of a drawn image; larger ones are subsampled
MAX_LABELS, MIN_SHARE = 3, 0.05  # tiles with a printed number, and its least share of the maximum
Panel = tuple[str, str]


def tile_panels(
    bag: GalleryBag, shown_classes: Sequence[int], titles: Sequence[str], key: str
) -> list[Panel]:
    """Panels of the image, of its attention and of the evidence per class: titles and SVG.

    Args:
        bag: A bag of tiles (m, c, h, w), with positions if they are known.
        shown_classes: Classes whose evidence is drawn.
        titles: Titles of their panels.
        key: Id of the image in the page.
    """
    boxes = _boxes(bag)
    size = (boxes[:, :2] + boxes[:, 2:]).max(0)
    line, marks = float(size.max()) / 220, ""
    if bag.z is not None:
        marks = "".join(_relevance_mark(boxes[j], line) for j in np.flatnonzero(bag.z))
    whole = f'<g id="{escape(key)}">{_picture(bag, boxes, size)}</g>'
    under = f'<use href="#{escape(key)}"/>'
    panels = [("the image", _svg(size, whole + marks, f"bag {bag.id}"))]
    tints = [_tint(box, a, line) for box, a in zip(boxes, bag.alpha, strict=True)]
    text, labels = _labels(boxes, bag.alpha, size, "{:.2f}")
    panels.append(
        ("attention", _svg(size, under + "".join(tints) + marks + labels, f"attention: {text}"))
    )
    largest = float(np.abs(bag.evidence).max(initial=0.0)) or 1.0
    for c, title in zip(shown_classes, titles, strict=True):
        evidence = bag.evidence[:, c]
        shades = [_signed(box, e / largest, line) for box, e in zip(boxes, evidence, strict=True)]
        text, labels = _labels(boxes, evidence, size, "{:+.2f}")
        panels.append((title, _svg(size, under + "".join(shades) + marks + labels, text)))
    return panels


def _boxes(bag: GalleryBag) -> Array:
    """Left, top, width and height of every tile; a grid if positions are not known."""
    tiles = _tiles(bag)
    tall, wide = tiles.shape[-2:]
    if bag.places is not None and bag.places.shape[1] >= 2:
        corner = bag.places[:, :2].astype(float)
        corner = corner - corner.min(0)
    else:
        columns = ceil(sqrt(len(tiles)))
        index = np.arange(len(tiles))
        corner = np.stack([index % columns * wide, index // columns * tall], 1).astype(float)
    return np.hstack([corner, np.tile([float(wide), float(tall)], (len(tiles), 1))])


def _tiles(bag: GalleryBag) -> Array:
    """Tiles as bytes (m, h, w) or (m, c, h, w)."""
    values = np.asarray(bag.values)
    if values.dtype != np.uint8:
        low, high = float(values.min()), float(values.max())
        values = (255 * (values - low) / ((high - low) or 1.0)).astype(np.uint8)
    return values


def _picture(bag: GalleryBag, boxes: Array, size: Array) -> str:
    """All tiles in one PNG; grey where there is none."""
    tiles = _tiles(bag)
    tiles = tiles[:, None] if tiles.ndim == 3 else tiles
    wide, tall = (int(n) for n in size)
    canvas = np.full((tall, wide, 3), 128, np.uint8)
    for tile, (x, y, w, h) in zip(tiles, boxes.astype(int), strict=True):
        canvas[y : y + h, x : x + w] = np.moveaxis(np.broadcast_to(tile, (3, h, w)), 0, -1)
    step = max(1, ceil(sqrt(wide * tall / PIXELS)))
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(canvas[::step, ::step])).save(buffer, "PNG")
    source = base64.b64encode(buffer.getvalue()).decode()
    return (
        f'<image width="{wide}" height="{tall}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{source}"/>'
    )


def _rect(box: Array, inset: float, rest: str) -> str:
    x, y, w, h = box
    return (
        f'<rect x="{x + inset:g}" y="{y + inset:g}" width="{w - 2 * inset:g}" '
        f'height="{h - 2 * inset:g}" {rest}/>'
    )


def _tint(box: Array, alpha: float, line: float) -> str:
    opacity = sqrt(max(0.0, float(alpha)))
    if opacity < 0.02:
        return ""
    return _rect(box, 0, f'fill="{ATTENTION}" opacity="{0.45 * opacity:.3f}"') + _rect(
        box,
        line / 2,
        f'fill="none" stroke="{ATTENTION}" stroke-width="{line:g}" opacity="{opacity:.3f}"',
    )


def _signed(box: Array, share: float, line: float) -> str:
    """Olive for the class; grey with a white diagonal against it."""
    if abs(share) < 0.02:
        return ""
    color = FOR if share > 0 else AGAINST
    body = _rect(box, 0, f'fill="{color}" opacity="{0.7 * abs(share):.3f}"')
    if share < 0:
        x, y, w, h = box
        body += (
            f'<line x1="{x:g}" y1="{y + h:g}" x2="{x + w:g}" y2="{y:g}" stroke="#fff" '
            f'stroke-width="{1.4 * line:g}" opacity="{abs(share):.3f}"/>'
        )
    return body


def _labels(boxes: Array, values: Array, size: Array, form: str) -> tuple[str, str]:
    """The largest values, as text and as white numbers on dark labels."""
    order = np.argsort(-np.abs(values), kind="stable")[:MAX_LABELS]
    order = order[np.abs(values[order]) >= MIN_SHARE * np.abs(values[order[0]])]
    font = float(size.max()) / 26
    labels = ""
    for j in order:
        number = form.format(values[j]).replace("-", "−")
        wide = font * (0.6 * len(number) + 0.4)
        x = float(np.clip(boxes[j, 0] + boxes[j, 2] / 2, wide / 2, size[0] - wide / 2))
        below = boxes[j, 1] + boxes[j, 3] + 0.8 * font
        y = below if below + 0.65 * font <= size[1] else boxes[j, 1] - 0.8 * font
        labels += (
            f'<rect x="{x - wide / 2:.1f}" y="{y - 0.65 * font:.1f}" width="{wide:.1f}" '
            f'height="{1.3 * font:.1f}" rx="{font / 4:.1f}" fill="#000" fill-opacity=".78"/>'
            f'<text x="{x:.1f}" y="{y + 0.35 * font:.1f}" text-anchor="middle" '
            f'font-size="{font:.1f}" fill="#fff">{number}</text>'
        )
    text = ", ".join(f"tile {j} {form.format(values[j])}" for j in order)
    return f"largest: {text}", labels


def _relevance_mark(box: Array, line: float) -> str:
    dash = f'stroke-dasharray="{4 * line:g} {3 * line:g}"'
    frame = f'fill="none" stroke-width="{1.6 * line:g}" '
    inside = _rect(box, line, frame + 'stroke="#fff"')
    return inside + _rect(box, line, f'{frame}stroke="#000" {dash}')


def _svg(size: Array, body: str, description: str) -> str:
    wide, tall = size
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {tall:g}" '
        f'font-family="sans-serif" role="img" aria-label="{escape(description)}">{body}</svg>'
    )
