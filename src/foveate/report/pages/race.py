"""The report of one or several races: one HTML file without network access and scripts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from foveate.charts.palette import colour, label
from foveate.errors import FoveateError
from foveate.metrics.faults import faults
from foveate.metrics.metric import summary_metrics
from foveate.records.record import Record, write_atomically
from foveate.records.runs import Run
from foveate.report.figure_files import FORMATS, write_drawings
from foveate.report.first_screen import race_examples
from foveate.report.next_steps import race_steps
from foveate.report.outcomes import Outcome, class_names, outcomes, run_names, setup_tables
from foveate.report.rendering import render_page
from foveate.report.sentences import glossary, seconds, share, summary, unfinished

__all__ = ["export_figures", "race_drawings", "race_overview", "race_page", "write_report"]


def race_page(runs: Sequence[Run]) -> str:
    """The report of one run, or of several side by side.

    Args:
        runs: The runs, in this order.
    """
    if not runs:
        raise FoveateError("a report needs at least one run")
    names = run_names(runs)
    records = [run.records() for run in runs]
    results = [o for name, part in zip(names, records, strict=True) for o in outcomes(name, part)]
    sections = [
        _section(run, name, part, number)
        for number, (run, name, part) in enumerate(zip(runs, names, records, strict=True), start=1)
    ]
    return render_page(
        "race.html",
        sections=sections,
        seeds=min((o.seeds for o in results), default=0),
        plane=_joint_plane(results, names) if len(runs) > 1 else None,
        glossary=glossary(),
        metrics=summary_metrics(),
        share=share,
        seconds=seconds,
        label=label,
        colour=colour,
    )


def write_report(runs: Sequence[Run], path: Path) -> Path:
    """Write the report atomically.

    Args:
        runs: The runs.
        path: The HTML file.
    """
    write_atomically(path, race_page(runs).encode())
    return path


def race_drawings(run: Run) -> dict[str, str]:
    """Every figure of a race as SVG, with the gallery and the heat maps of the released script."""
    from foveate.charts.render import to_svg
    from foveate.report.drawing.gallery import gallery
    from foveate.report.drawing.gallery_sheet import gallery_sheet
    from foveate.report.drawing.race_charts import figures, heat_map_chart

    records = run.records()
    drawings = {name: to_svg(chart) for name, chart in figures(run, records).items()}
    for name, record in records.items():
        if f"heat-map-{name}" in drawings:
            chart = heat_map_chart(record, name, bins="data range")
            drawings[f"released-heat-map-{name}"] = to_svg(chart)
    if rows := gallery(run, records):
        drawings["gallery"] = gallery_sheet(rows)
    return drawings


def race_overview(run: Run, records: Mapping[str, Record]) -> dict[str, Any]:
    """What the lab shows of a race: sentences, outcomes, classes and settings."""
    name = run.path.resolve().name
    results = outcomes(name, records)
    sizes = [r.final["log_p"].shape[-1] for r in records.values() if "log_p" in r.final]
    return {
        "unfinished": unfinished(run, records),
        "summary": summary(results),
        "outcomes": results,
        "classes": list(class_names(run, max(sizes, default=0))),
        "setup": setup_tables(run, name, records),
    }


def export_figures(run: Run, folder: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write every figure of a race as a file of its own, the gallery as one more.

    Args:
        run: The run.
        folder: Where; made if need be.
        formats: Of "svg" and "png".
    """
    return write_drawings(race_drawings(run), folder, formats)


def _section(run: Run, name: str, records: Mapping[str, Record], number: int) -> dict[str, Any]:
    """The template variables of one run."""
    from markupsafe import Markup

    from foveate.charts.render import inline_svg
    from foveate.report.drawing.gallery import gallery
    from foveate.report.drawing.race_charts import figures

    prefix = f"run{number}"
    drawn = {
        key: Markup(inline_svg(chart, f"{prefix}-{index}"))
        for index, (key, chart) in enumerate(figures(run, records).items())
    }
    results = outcomes(name, records)
    rows = gallery(run, records, prefix)
    return {
        "name": name,
        "number": number,
        "prefix": prefix,
        "title": run.manifest["label"],
        "unfinished": unfinished(run, records),
        "faults": faults({label(k): record for k, record in records.items()}),
        "summary": summary(results),
        "outcomes": results,
        "focused": any(o.share("saif") is not None for o in results),
        "seeds": max((o.seeds for o in results), default=0),
        "plane": drawn.pop("plane", None),
        "threshold": drawn.pop("threshold", None),
        "paradigms": _by_paradigm(drawn),
        "curves": [svg for key, svg in drawn.items() if key.startswith("curve-")],
        "gallery": rows,
        "examples": race_examples(rows),
        "steps": race_steps(results, name, done=run.done),
        "setup": setup_tables(run, name, records),
        "command": run.manifest.get("command") or "",
    }


def _by_paradigm(drawn: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Heat map and quadrants of each paradigm whose relevant segments are known."""
    names = [key.removeprefix("heat-map-") for key in drawn if key.startswith("heat-map-")]
    return [
        {"name": k, "heat_map": drawn[f"heat-map-{k}"], "quadrants": drawn[f"quadrants-{k}"]}
        for k in names
    ]


def _joint_plane(results: Sequence[Outcome], names: Sequence[str]) -> Any:
    """The plane over all runs with known relevant segments; None if there is none."""
    from markupsafe import Markup

    from foveate.charts.render import inline_svg
    from foveate.report.drawing.race_charts import plane

    focused = [o for o in results if o.share("saif") is not None]
    return Markup(inline_svg(plane(focused, names), "all")) if focused else None
