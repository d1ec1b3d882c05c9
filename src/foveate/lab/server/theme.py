"""The palette, as CSS variables and as JSON for the charts.

One hue means one thing on a screen (:mod:`foveate.charts.palette`). Outcomes have no hue of their
own but lightness, a pattern and a sign, except for the one to look for (right answer, wrong
segment). Classes have a shape each as well.
"""

from typing import Any

from foveate.charts.palette import (
    AGAINST,
    ATTENTION,
    CLASS_COLOURS,
    FOR,
    MISPLACED,
    QUADRANT_COLOURS,
    colour,
    dash,
    label,
    shape,
)
from foveate.metrics.metric import METRICS

__all__ = ["chart_theme", "palette_css"]

BACKGROUND = "#4b5258"
OUTCOMES = {
    "focused": ("right answer, right segment", "#4a5b6c", "✓"),
    "misplaced": ("right answer, wrong segment", MISPLACED, "!"),
    "inaccurate": ("wrong answers", "#b9c0c7", "✗"),
}
QUADRANTS = {
    "ftpt": "both right",
    "ffpt": "right answer, wrong segment",
    "ftpf": "right segment, wrong answer",
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
        "outcomes": {
            name: {"label": words, "colour": shade, "sign": sign}
            for name, (words, shade, sign) in OUTCOMES.items()
        },
        "metrics": {
            name: {"title": item.title, "heading": item.heading, "summary": item.summary}
            for name, item in METRICS.items()
        },
        "attention": ATTENTION,
        "evidence": {"for": FOR, "against": AGAINST},
        "classes": list(CLASS_COLOURS),
        "background": BACKGROUND,
    }


def palette_css() -> str:
    """The same colours as variables of the style sheet."""
    theme = chart_theme()
    lines = [
        f"  --{name}: {entry['colour']};"
        for group in ("paradigms", "quadrants", "outcomes")
        for name, entry in theme[group].items()
    ]
    lines += [f"  --class-{k}: {class_colour};" for k, class_colour in enumerate(theme["classes"])]
    lines += [f"  --attention: {ATTENTION};", f"  --background: {BACKGROUND};"]
    lines += [
        f"  --evidence-{sign}: {class_colour};" for sign, class_colour in theme["evidence"].items()
    ]
    return ":root {\n" + "\n".join(lines) + "\n}\n"
