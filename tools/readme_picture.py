"""Draw the picture of the README: one mosaic, two models, equal accuracy, different attention.

Usage: ``python tools/readme_picture.py`` in the root of the repository. The race comes with the
package, so the picture changes only with it.
"""

import re
from collections.abc import Mapping
from html import escape
from pathlib import Path

from foveate.charts.palette import TEXT_COLOUR
from foveate.lab.bundled import BUNDLED
from foveate.metrics.metric import summarise
from foveate.records.record import Record, write_atomically
from foveate.records.runs import open_run
from foveate.report.drawing.gallery import Row, View, gallery

WRONG, RIGHT = "hard", "witness"
PANEL, MARGIN, GAP, HEAD, FOOT = 330.0, 10.0, 20.0, 76.0, 68.0


def picture(records: Mapping[str, Record], row: Row) -> str:
    """The two panels as SVG.

    Args:
        records: The records of the race.
        row: A stored bag that both paradigms classify correctly.
    """
    views = {view.paradigm: view for view in row.views}
    size = [float(v) for v in re.findall(r'viewBox="[\d.-]+ [\d.-]+ ([\d.]+) ([\d.]+)"',
                                         str(row.picture))[0]]  # fmt: skip
    panel_height = PANEL * size[1] / size[0]
    width, height = 2 * (MARGIN + PANEL) + GAP, HEAD + panel_height + FOOT + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" font-family="sans-serif" fill="{TEXT_COLOUR}" '
        'role="img" aria-label="One mosaic of digits and the attention of two equally accurate '
        'models">'
        '<rect width="100%" height="100%" rx="8" fill="#fff"/>'
        f"<defs>{row.picture}</defs>"  # the segments, which both panels refer to
    ]
    for k, (name, model) in enumerate(((WRONG, "A"), (RIGHT, "B"))):
        left = MARGIN + k * (PANEL + GAP)
        parts += _panel(f"Model {model}", records[name], views[name], left, panel_height)
    parts.append(
        _text(MARGIN, height - 12, "Dashed: the digit that decides. Violet: attention.", 20)
    )
    return "".join(parts) + "</svg>\n"


def _panel(model: str, record: Record, view: View, left: float, panel_height: float) -> list[str]:
    numbers = summarise(record)
    title = f"{model}: {numbers['accuracy'].mean:.0f} % accurate"
    caption = f"looks at the right digit: {numbers['ft'].mean:.0f} %"
    svg = f'<svg x="{left:g}" y="{HEAD:g}" width="{PANEL:g}" height="{panel_height:g}" '
    colour = "#00684a" if view.focused else "#a03c00"
    return [
        _text(left, 30, title, 25, bold=True),
        _text(left, 62, caption, 22),
        str(view.picture).replace("<svg ", svg, 1),
        _text(
            left, HEAD + panel_height + 28, view.verdict.capitalize(), 24, bold=True, fill=colour
        ),
    ]


def _text(
    x: float, y: float, words: str, size: int, bold: bool = False, fill: str = TEXT_COLOUR
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}"{weight}>{escape(words)}</text>'
    )


def main() -> None:
    """Write docs/images/two-panels.svg."""
    run = open_run(BUNDLED / "runs" / "race-digits")
    records = run.records()
    for row in gallery(run, records):
        views = {view.paradigm: view for view in row.views}
        if views[WRONG].correct and not views[WRONG].focused and views[RIGHT].focused:
            write_atomically(Path("docs/images/two-panels.svg"), picture(records, row).encode())
            return
    raise SystemExit("no stored bag is right for the wrong reason under one paradigm only")


if __name__ == "__main__":
    main()
