"""Charts into SVG and PNG, without a browser; one theme for all of them."""

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import altair as alt
import vl_convert

from foveate.charts.palette import INK

__all__ = ["inline_svg", "svg_to_png", "theme", "to_png", "to_svg", "with_rows"]

SCALE = 2.0  # PNG pixels per unit, for print and dense screens


def theme() -> dict[str, Any]:
    """The look of every chart: dark ink on white, one generic font, faint grid."""
    faint = "#d5d8dc"
    return {
        "background": "#ffffff",
        "font": "sans-serif",
        "aria": False,  # the whole picture carries one description instead
        "padding": 8,
        "view": {"stroke": faint},
        "title": {
            "fontSize": 14,
            "color": INK,
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
            "labelColor": INK,
            "titleColor": INK,
            "gridColor": faint,
            "domainColor": "#6b7278",
            "tickColor": "#6b7278",
            "titlePadding": 8,
        },
        "legend": {
            "orient": "top",
            "title": None,
            "labelFontSize": 12,
            "labelColor": INK,
            "labelLimit": 150,
            "symbolSize": 260,
            "symbolStrokeWidth": 2.4,
            "columnPadding": 12,
            "offset": 6,
        },
        "text": {"fontSize": 12, "color": INK},
    }


def with_rows(chart: Any, rows: Sequence[Mapping[str, Any]]) -> Any:
    """A chart with its data, given last: every step of building a chart copies what it has."""
    chart.data = alt.Data(values=list(rows))
    return chart


def to_svg(chart: alt.TopLevelMixin) -> str:
    """A chart as an SVG document that needs nothing from outside."""
    return _drawn(_spec(chart))


def to_png(chart: alt.TopLevelMixin, scale: float = SCALE) -> bytes:
    """A chart as PNG."""
    return svg_to_png(to_svg(chart), scale)


def svg_to_png(svg: str, scale: float = SCALE) -> bytes:
    """An SVG document as PNG."""
    png: bytes = vl_convert.svg_to_png(svg, scale=scale)
    return png


def inline_svg(chart: alt.TopLevelMixin, prefix: str) -> str:
    """A chart as SVG to stand within a page beside others: ids of its own, a description as text.

    Args:
        chart: The chart; its ``description`` becomes the text that stands for the picture.
        prefix: What its ids begin with, different for every picture of a page.
    """
    spec = _spec(chart)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', _drawn(spec))
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    words = escape(spec.get("description", ""))
    return svg.replace("<svg ", f'<svg role="img" aria-label="{words}" ', 1)


def _spec(chart: alt.TopLevelMixin) -> dict[str, Any]:
    # Validation against the schema would take longer than drawing; the tests validate.
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return {**spec, "config": theme()}


def _drawn(spec: dict[str, Any]) -> str:
    svg: str = vl_convert.vegalite_to_svg(json.dumps(spec))
    return svg
