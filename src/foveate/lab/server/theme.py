"""How things look, told once: the palette as CSS variables and as JSON for the charts."""

from typing import Any

from foveate.charts.palette import (
    ATTENTION,
    CLASS_COLOURS,
    QUADRANT_COLOURS,
    colour,
    dash,
    label,
    shape,
)
from foveate.metrics.metric import METRICS

__all__ = ["chart_theme", "palette_css", "specified"]

# Classes and background have the colours of the error-mode figures.
BACKGROUND = "#4b5258"
# The sign says the same as the colour, which paradigms and classes use too.
ENDS = {
    "sound": ("right answer, right place", "#0072B2", "✓"),
    "astray": ("right answer, wrong place", "#E69F00", "!"),
    "inaccurate": ("wrong answers", "#4D4D4D", "✗"),
}
QUADRANTS = {
    "ftpt": "both right",
    "ffpt": "right answer, wrong place",
    "ftpf": "right place, wrong answer",
    "ffpf": "both wrong",
}


def chart_theme() -> dict[str, Any]:
    """Colours, names, dashes and shapes by what they stand for."""
    from foveate.attention.paradigms import PARADIGMS

    return {
        "paradigms": {
            name: {
                "label": label(name),
                "colour": colour(name),
                "dash": list(dash(name)),
                "shape": shape(name),
                "raced": kind.raced_by_default,
            }
            for name, kind in PARADIGMS.items()
        },
        "quadrants": {
            name: {"label": words, "colour": QUADRANT_COLOURS[name]}
            for name, words in QUADRANTS.items()
        },
        "ends": {
            name: {"label": words, "colour": shade, "sign": sign}
            for name, (words, shade, sign) in ENDS.items()
        },
        "metrics": {
            name: {"title": item.title, "heading": item.heading, "summary": item.summary}
            for name, item in METRICS.items()
        },
        "attention": ATTENTION,
        "classes": list(CLASS_COLOURS),
        "background": BACKGROUND,
    }


def palette_css() -> str:
    """The same colours as variables of the style sheet."""
    seen = chart_theme()
    lines = [f"  --{name}: {own['colour']};" for name, own in seen["paradigms"].items()]
    lines += [f"  --{name}: {own['colour']};" for name, own in seen["quadrants"].items()]
    lines += [f"  --{name}: {own['colour']};" for name, own in seen["ends"].items()]
    lines += [f"  --class-{k}: {own};" for k, own in enumerate(seen["classes"])]
    lines += [f"  --attention: {seen['attention']};", f"  --background: {seen['background']};"]
    return ":root {\n" + "\n".join(lines) + "\n}\n"


def specified(chart: Any) -> dict[str, Any]:
    """A chart of the library as Vega-Lite, in the theme of its reports."""
    from foveate.charts.render import theme

    return {**chart.to_dict(validate=False), "config": theme()}
