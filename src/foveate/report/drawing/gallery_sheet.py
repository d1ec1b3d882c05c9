"""The gallery as one SVG document."""

import re
from collections.abc import Sequence
from html import escape

from foveate.charts.palette import TEXT_COLOUR, label
from foveate.report.drawing.gallery import Row

__all__ = ["gallery_sheet"]

PANEL, GUTTER, MARGIN = 200.0, 20.0, 16.0
HEAD, FOOT = 28.0, 44.0  # above the first row, below every drawing


def gallery_sheet(rows: Sequence[Row]) -> str:
    """A row per bag, a column per paradigm; the prediction is printed below each drawing.

    Args:
        rows: From :func:`foveate.report.drawing.gallery.gallery`, at least one.
    """
    tall = PANEL * _ratio(rows[0].picture)
    columns = ["The bag", *(label(view.paradigm) for view in rows[0].views)]
    width = 2 * MARGIN + len(columns) * (PANEL + GUTTER) - GUTTER
    height = 2 * MARGIN + HEAD + len(rows) * (tall + FOOT)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="sans-serif" font-size="13" '
        f'fill="{TEXT_COLOUR}"><rect width="100%" height="100%" fill="#fff"/>'
    ]
    for k, name in enumerate(columns):
        parts.append(_text(_left(k), MARGIN + 12, name, bold=True))
    for i, row in enumerate(rows):
        top = MARGIN + HEAD + i * (tall + FOOT)
        captions = [(f"Bag {row.bag}", f"label {row.truth}")]
        captions += [(f"predicted {view.prediction}", view.verdict) for view in row.views]
        pictures = [row.picture, *(view.picture for view in row.views)]
        for k, (picture, caption) in enumerate(zip(pictures, captions, strict=True)):
            position = f'<svg x="{_left(k):g}" y="{top:g}" width="{PANEL:g}" height="{tall:g}" '
            parts.append(str(picture).replace("<svg ", position, 1))
            for line, words in enumerate(caption):
                parts.append(_text(_left(k), top + tall + 14 + 16 * line, words))
    return "".join(parts) + "</svg>"


def _left(column: int) -> float:
    return MARGIN + column * (PANEL + GUTTER)


def _ratio(picture: str) -> float:
    box = re.search(r'viewBox="0 0 (\S+) ([^"]+)"', picture)
    return float(box[2]) / float(box[1]) if box else 1.0


def _text(x: float, y: float, words: str, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}"{weight}>{escape(words)}</text>'
