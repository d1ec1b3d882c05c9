"""Rendering of charts to SVG and PNG without a browser, with one theme; placement of labels."""

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import altair as alt
import numpy as np
import vl_convert

from foveate.charts.palette import TEXT_COLOUR

__all__ = [
    "inline_svg",
    "spread_labels",
    "svg_to_png",
    "theme",
    "to_png",
    "to_svg",
    "vega_spec",
    "with_rows",
]

SCALE = 2.0  # PNG pixels per unit, for print and dense screens


def theme() -> dict[str, Any]:
    """The Vega-Lite config of every chart: one font, faint grid, legend on top."""
    faint = "#d5d8dc"
    return {
        "background": "#ffffff",
        "font": "sans-serif",
        "aria": False,  # the figure has one description instead
        "padding": 8,
        "view": {"stroke": faint},
        "title": {
            "fontSize": 14,
            "color": TEXT_COLOUR,
            "subtitleColor": "#4b5258",
            "subtitleFontSize": 12,
            "anchor": "start",
            "frame": "bounds",
            "offset": 8,
        },
        "axis": {
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "labelColor": TEXT_COLOUR,
            "titleColor": TEXT_COLOUR,
            "gridColor": faint,
            "domainColor": "#6b7278",
            "tickColor": "#6b7278",
            "titlePadding": 8,
        },
        "legend": {
            "orient": "top",
            "title": None,
            "labelFontSize": 12,
            "labelColor": TEXT_COLOUR,
            "labelLimit": 150,
            "symbolSize": 260,
            "symbolStrokeWidth": 2.4,
            "columnPadding": 12,
            "offset": 6,
        },
        "text": {"fontSize": 12, "color": TEXT_COLOUR},
    }


def with_rows(chart: Any, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Attach the data to a finished chart; attached earlier, every method would copy them."""
    chart.data = alt.Data(values=list(rows))
    return chart


def to_svg(chart: alt.TopLevelMixin) -> str:
    """Render a chart to a self-contained SVG document."""
    return _render(vega_spec(chart))


def to_png(chart: alt.TopLevelMixin, scale: float = SCALE) -> bytes:
    """Render a chart to PNG."""
    return svg_to_png(to_svg(chart), scale)


def svg_to_png(svg: str, scale: float = SCALE) -> bytes:
    """Convert an SVG document to PNG."""
    png: bytes = vl_convert.svg_to_png(svg, scale=scale)
    return png


def inline_svg(chart: alt.TopLevelMixin, prefix: str) -> str:
    """Render a chart to SVG for inlining in a page: unique ids, description as alternative text.

    Args:
        chart: The chart; its ``description`` becomes the alternative text.
        prefix: Prefix of its ids, unique within the page.
    """
    spec = vega_spec(chart)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', _render(spec))
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    description = escape(spec.get("description", ""))
    return svg.replace("<svg ", f'<svg role="img" aria-label="{description}" ', 1)


def vega_spec(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """A chart as Vega-Lite, in the theme of the reports."""
    # Schema validation would take longer than rendering; the tests validate.
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return {**spec, "config": theme()}


def _render(spec: dict[str, Any]) -> str:
    svg: str = vl_convert.vegalite_to_svg(json.dumps(spec))
    return svg


def spread_labels(positions: Sequence[float], gap: float, length: float) -> list[float]:
    """Move labels apart to at least ``gap``, as little as possible, within ``length``.

    Args:
        positions: Preferred positions.
        gap: Minimum distance between two labels; half of it to either end.
        length: Length of the axis, at least ``gap`` per label.

    Example:
        >>> spread_labels([10.0, 11.0, 90.0], 20.0, 100.0)
        [10.0, 30.0, 90.0]
    """
    order = np.argsort(positions, kind="stable")
    shifted = np.empty(len(positions))
    floor = gap / 2
    for i in order:
        shifted[i] = max(positions[i], floor)
        floor = shifted[i] + gap
    ceiling = length - gap / 2
    for i in order[::-1]:
        shifted[i] = min(shifted[i], ceiling)
        ceiling = shifted[i] - gap
    return [float(position) for position in shifted]
