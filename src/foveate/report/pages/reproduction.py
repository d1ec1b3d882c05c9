"""Published and measured numbers beside each other: a page, and Markdown for the docs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from foveate.charts.palette import colour, has_colour, label
from foveate.records.published import Key, PublishedTable
from foveate.records.record import write_atomically
from foveate.report.durations import format_duration, run_duration
from foveate.report.pages.experiment import LEVELS
from foveate.report.rendering import render_page

__all__ = ["as_markdown", "reproduction_page", "write_results"]

Result = dict[str, Any]
Tables = Mapping[str, PublishedTable]
Measured = Mapping[str, Any]
"""A :class:`foveate.records.published.Cell` as it is kept."""


def reproduction_page(
    results: Sequence[Result], published: Tables, charts: Mapping[str, Mapping[str, Any]]
) -> str:
    """One page of all tables.

    Args:
        results: From :func:`foveate.studies.reproduction.reproduce`.
        published: What was published, by the name of the table.
        charts: Altair charts by name, for the tables whose runs are here.
    """
    from markupsafe import Markup

    from foveate.charts.render import inline_svg

    tables = []
    for result in results:
        drawn = charts.get(result["table"], {})
        figures = {
            k: Markup(inline_svg(chart, f"{result['table']}-{k}")) for k, chart in drawn.items()
        }
        tables.append({**_table(result, published[result["table"]]), "figures": figures})
    scales = sorted({result["scale"] for result in results})
    return render_page(
        "reproduce.html",
        title="Published tables, run again",
        lead=f"Published and measured numbers at {' and '.join(scales)} scale: means over seeds "
        "with 95 % intervals by Student's t; the difference is measured minus published. In "
        "figures a diamond is the published number.",
        tables=tables,
    )


def _table(result: Result, published: PublishedTable) -> dict[str, Any]:
    """What the template shows of one table."""
    known, name = published.numbers, result["table"]
    groups = [_group(*key, cells, known) for key, cells in _grouped(result).items()]
    groups += [{**_group(group, "", [], known), "why": why}
               for group, why in result["absent"].items()]  # fmt: skip
    return {
        "anchor": "-".join(filter(None, (name, result["scale"], result.get("label")))),
        "title": published.title,
        "note": f"Published: {published.source}. Scale: {_scale(result)}.",
        "groups": groups,
        "differs": result["differs"],
        "findings": [{**f, "level": LEVELS[f["verdict"]]} for f in result["findings"]],
        "setup": _setup(result["manifest"]),
    }


def _scale(result: Result) -> str:
    """The scale, and the settings in which a result differs from it, whatever its label says."""
    label, changed = result.get("label", ""), ", ".join(result.get("changed", ()))
    notes = f"{label} ({changed})" if label and changed else label or changed
    return result["scale"] + (f", changed: {notes}" if notes else "")


def _grouped(result: Result) -> dict[tuple[str, str], list[Measured]]:
    """Cells by (group, setting)."""
    groups: dict[tuple[str, str], list[Measured]] = {}
    for cell in result["cells"]:
        groups.setdefault((cell["group"], cell["setting"]), []).append(cell)
    return groups


def _group(
    group: str, setting: str, cells: Sequence[Measured], known: Mapping[Key, float]
) -> dict[str, Any]:
    """A group, measure by measure, those with published numbers first; published alone if not run.

    Args:
        group: A group of the published table.
        setting: What tells runs of the group apart.
        cells: What was measured there, nothing where it was not run.
        known: The published table.
    """
    published = {key[1:]: value for key, value in known.items() if key[0] == group}
    measured = {(cell["name"], cell["measure"]): cell for cell in cells}
    numbers = measured or published
    order = dict.fromkeys(m for table in (published, numbers) for _, m in table)
    names = list(dict.fromkeys(name for name, _ in numbers))
    seeds = max((cell["seeds"] for cell in cells), default=0)
    count = f"{seeds} seed{'s' * (seeds != 1)}" if seeds else ""
    return {
        "title": group,
        "note": ", ".join(filter(None, (setting, count))),
        "why": "",
        "names": [label(name) for name in names],
        "measures": [
            _measure(m, names, measured, published)
            for m in order
            if any((name, m) in numbers for name in names)
        ],
    }


def _measure(
    measure: str,
    names: Sequence[str],
    measured: Mapping[tuple[str, str], Measured],
    published: Mapping[tuple[str, str], float],
) -> dict[str, Any]:
    """One measure of a group: a row a name, as many digits in each."""
    means = {name: measured[name, measure] for name in names if (name, measure) in measured}
    known = {name: published[name, measure] for name in names if (name, measure) in published}
    digits = _digits(measure, list(means.values()))
    rows = [
        {
            "name": label(name),
            "colour": colour(name) if all(map(has_colour, names)) else "",
            **_entry(means.get(name), known.get(name), digits),
        }
        for name in names
        if name in means or name in known
    ]
    has = {"measured": bool(means), "published": bool(known)}
    return {"name": measure, "rows": rows, "ranges": any(r["range"] for r in rows), **has}


def _entry(cell: Measured | None, known: float | None, digits: int) -> dict[str, str]:
    """Mean, interval, published number and difference; a dash where there is none."""
    entry = {"mean": "–", "range": "", "published": "–", "difference": "–"}
    if cell is not None:
        entry["mean"] = f"{cell['mean']:,.{digits}f}"
        if _varies(cell):
            entry["range"] = f"[{cell['low']:.{digits}f}, {cell['high']:.{digits}f}]"
    if known is not None:
        entry["published"] = f"{known:g}" if known % 1 else f"{known:.1f}"
        if cell is not None:
            entry["difference"] = f"{cell['mean'] - known:+.{digits}f}"
    return entry


def _digits(measure: str, cells: Sequence[Measured]) -> int:
    """None for counts, one for shares, else what leaves three digits to the least that is not 0."""
    values = [cell["mean"] for cell in cells]
    if cells and all(value == round(value) for value in values) and not any(map(_varies, cells)):
        return 0
    if "%" in measure:
        return 1
    least = min((abs(value) for value in values if value), default=1.0)
    return 1 if least >= 10 else 2 if least >= 1 else 3


def _varies(cell: Measured) -> bool:
    return cell["low"] is not None and cell["low"] != cell["high"]


def _setup(manifest: Mapping[str, Any]) -> dict[str, str]:
    if not manifest:
        return {}
    versions = ", ".join(f"{k} {v}" for k, v in manifest["versions"].items())
    rows = {"started": manifest["created"], "took": run_duration(manifest)}
    rows |= {"command": manifest["command"] or "–", "commit": manifest.get("commit") or "not known"}
    rows["versions"] = versions
    return rows | {k: str(v) for k, v in manifest["config"]["settings"].items()}


def write_results(results: Sequence[Result], published: Tables, folder: Path) -> Path:
    """Write ``results.md`` into a folder of docs, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "results.md"
    text = as_markdown(results, published).encode()
    write_atomically(path, lambda file: file.write(text))
    return path


def as_markdown(results: Sequence[Result], published: Tables) -> str:
    """The stored results as Markdown tables; estimates of what was not run stand below."""
    lines = [
        "# Results beside the published ones",
        "",
        "Generated by `foveate reproduce --stored --docs docs` from the results that come with the "
        "package. Means over seeds with 95 % intervals by Student's t; the difference is measured "
        "minus published.",
    ]
    for result in results:
        if "cells" in result:
            lines += _markdown(result, published[result["table"]])
    for result in results:
        if "cells" not in result:
            lines += ["", _estimated(result)]
    return "\n".join(lines) + "\n"


def _estimated(result: Result) -> str:
    usual = f"foveate reproduce {result['table']} --scale {result['scale']}"
    return (
        f"`{result.get('command', usual)}` would take "
        f"about {format_duration(result['seconds'])} on one core of the machine that estimated it."
    )


def _markdown(result: Result, published: PublishedTable) -> list[str]:
    table = _table(result, published)
    lines = ["", f"## {table['title']}; scale: {_scale(result)}", "", table["note"]]
    if result["manifest"]:
        lines[-1] += f" It took {run_duration(result['manifest'])}: "
        lines[-1] += f"`{result['manifest']['command'] or 'foveate reproduce ' + result['table']}`."
    if any("values" not in cell for cell in result["cells"]):
        lines[-1] += " Kept by an earlier version, whose intervals are by bootstrap."
    for group in table["groups"]:
        note = f" ({group['note']})" if group["note"] else ""
        lines += ["", f"### {group['title']}{note}", ""]
        if group["why"]:
            lines += [f"Not run: {group['why']}.", ""]
        lines += _markdown_rows(group)
    if result["differs"]:
        lines += ["", "What differs from the published set-up:", ""]
        lines += [f"- {text}" for text in result["differs"]]
    return lines


def _markdown_rows(group: Mapping[str, Any]) -> list[str]:
    """A row a name, a column a measure."""
    head = ["", *(m["name"] for m in group["measures"])]
    columns = [{row["name"]: _joined_cells(row) for row in m["rows"]} for m in group["measures"]]
    rows = [[name, *(column.get(name, "–") for column in columns)] for name in group["names"]]
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"] + [
        f"| {' | '.join(row)} |" for row in rows
    ]


def _joined_cells(row: Mapping[str, str]) -> str:
    measured = f"{row['mean']} {row['range']}".strip()
    if row["published"] == "–":
        return measured
    difference = f" ({row['difference']})" if row["difference"] != "–" else ""
    return f"{measured}; published {row['published']}{difference}"
