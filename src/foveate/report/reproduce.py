"""Published and measured numbers beside each other: a page, and Markdown for the docs."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from foveate.experiments.published import PUBLISHED, SOURCES, TITLES
from foveate.experiments.reproduction import Result
from foveate.figures.palette import colour, label
from foveate.record import write_atomically
from foveate.report.templates import rendered

__all__ = ["as_markdown", "reproduction_page", "took", "write_results"]

MOODS = {"holds": "good", "holds in part": "astray", "does not hold": "bad"}
PARADIGMS = {"soft", "hard", "lvml", "hybrid", "logit", "random", "oracle"}


def reproduction_page(results: Sequence[Result], charts: Mapping[str, Mapping[str, Any]]) -> str:
    """One page of all tables.

    Args:
        results: From :func:`foveate.experiments.reproduction.reproduce`.
        charts: Altair charts by name, for the tables whose runs are here.
    """
    from markupsafe import Markup

    from foveate.figures.render import inline_svg

    tables = []
    for result in results:
        drawn = charts.get(result["table"], {})
        figures = {
            k: Markup(inline_svg(chart, f"{result['table']}-{k}")) for k, chart in drawn.items()
        }
        tables.append({**_table(result), "figures": figures})
    scales = sorted({result["scale"] for result in results})
    return rendered(
        "reproduce.html",
        title="Published tables, run again",
        lead=f"Published and measured numbers at {' and '.join(scales)} scale: means over seeds "
        "with 95 % bootstrap intervals; the difference is measured minus published. In figures a "
        "diamond is the published number.",
        tables=tables,
    )


def _table(result: Result) -> dict[str, Any]:
    """What the template shows of one table."""
    known = PUBLISHED[result["table"]]
    measures = _measures(result)
    groups = [_group(key, own, known, measures) for key, own in _grouped(result).items()]
    width = 1 + sum(3 if published else 1 for _, published in measures)
    for group, why in result["absent"].items():
        rows = _published_rows(group, known, measures)
        groups.append({"title": group, "note": "", "why": why, "rows": rows})
    return {
        "anchor": result["table"],
        "title": TITLES[result["table"]],
        "note": f"Published: {SOURCES[result['table']]}. Scale: {_scale(result)}.",
        "measures": [{"name": name, "published": published} for name, published in measures],
        "groups": groups,
        "width": width,
        "differs": result["differs"],
        "findings": [{**f, "mood": MOODS[f["verdict"]]} for f in result["findings"]],
        "setup": _setup(result["manifest"]),
    }


def _scale(result: Result) -> str:
    return result["scale"] + (f", changed: {result['label']}" if result.get("label") else "")


def _measures(result: Result) -> list[tuple[str, bool]]:
    """Measures in order, those with published numbers first, and whether they have any."""
    known = dict.fromkeys(measure for _, _, measure in PUBLISHED[result["table"]])
    seen = dict.fromkeys(cell["measure"] for cell in result["cells"])
    return [(m, True) for m in known] + [(m, False) for m in seen if m not in known]


def _grouped(result: Result) -> dict[tuple[str, str], dict[str, dict[str, Any]]]:
    """Cells by (group, setting), then name, then measure."""
    groups: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for cell in result["cells"]:
        own = groups.setdefault((cell["group"], cell["setting"]), {})
        own.setdefault(cell["name"], {})[cell["measure"]] = cell
    return groups


def _group(
    key: tuple[str, str],
    names: Mapping[str, Mapping[str, Any]],
    known: Mapping[Any, float],
    measures: Sequence[tuple[str, bool]],
) -> dict[str, Any]:
    group, setting = key
    rows = [
        {
            "name": label(name),
            "colour": _key(name, names),
            "entries": [
                _entry(own.get(m), known.get((group, name, m)), published)
                for m, published in measures
            ],
        }
        for name, own in names.items()
    ]
    seeds = max(cell["seeds"] for own in names.values() for cell in own.values())
    note = f"{setting}, {seeds} seeds" if setting else f"{seeds} seeds"
    return {"title": group, "note": note, "why": "", "rows": rows}


def _published_rows(
    group: str, known: Mapping[Any, float], measures: Sequence[tuple[str, bool]]
) -> list[dict[str, Any]]:
    names = dict.fromkeys(name for own, name, _ in known if own == group)
    return [
        {
            "name": label(name),
            "colour": _key(name, names),
            "entries": [_entry(None, known.get((group, name, m)), p) for m, p in measures],
        }
        for name in names
    ]


def _key(name: str, names: Iterable[str]) -> str:
    """The colour of a paradigm, where all that it is compared with are paradigms."""
    return colour(name) if set(names) <= PARADIGMS else ""


def _entry(cell: Mapping[str, Any] | None, known: float | None, three: bool) -> list[str]:
    """Published, measured with interval, difference; a dash where there is none."""
    measured, digits = "–", 1
    if cell is not None:
        digits = 1 if "%" in cell["measure"] else _digits(cell["mean"])
        measured = f"{cell['mean']:.{digits}f}"
        if cell["low"] is not None and cell["low"] != cell["high"]:
            measured += f" [{cell['low']:.{digits}f}, {cell['high']:.{digits}f}]"
    if not three:
        return [measured]
    published = "–" if known is None else f"{known:g}" if known % 1 else f"{known:.1f}"
    if cell is None or known is None:
        return [published, measured, "–"]
    return [published, measured, f"{cell['mean'] - known:+.{digits}f}"]


def _digits(value: float) -> int:
    return 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3


def _setup(manifest: Mapping[str, Any]) -> dict[str, str]:
    if not manifest:
        return {}
    versions = ", ".join(f"{k} {v}" for k, v in manifest["versions"].items())
    rows = {"started": manifest["created"], "took": took(manifest["seconds"])}
    rows |= {"command": manifest["command"] or "–", "commit": manifest["commit"] or "not known"}
    rows["versions"] = versions
    return rows | {k: str(v) for k, v in manifest["config"]["settings"].items()}


def took(seconds: float) -> str:
    """A time in the unit that suits it.

    Example:
        >>> took(42), took(900), took(3 * 86_400)
        ('42 s', '15 min', '72 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def write_results(results: Sequence[Result], place: Path) -> Path:
    """Write ``results.md`` into a folder of docs, whole or not at all."""
    place.mkdir(parents=True, exist_ok=True)
    path = place / "results.md"
    text = as_markdown(results).encode()
    write_atomically(path, lambda file: file.write(text))
    return path


def as_markdown(results: Sequence[Result]) -> str:
    """The stored results as Markdown tables; estimates of what was not run stand below."""
    lines = [
        "# Results beside the published ones",
        "",
        "Generated by `foveate reproduce --stored --docs docs` from the results that come with the "
        "package. Means over seeds with 95 % bootstrap intervals; the difference is measured minus "
        "published.",
    ]
    for result in results:
        if "cells" in result:
            lines += _markdown(result)
    for result in results:
        if "cells" not in result:
            lines += ["", f"`foveate reproduce {result['table']} --scale {result['scale']}` would "
                      f"take about {took(result['seconds'])} on one core of the machine that "
                      "estimated it."]  # fmt: skip
    return "\n".join(lines) + "\n"


def _markdown(result: Result) -> list[str]:
    table = _table(result)
    lines = ["", f"## {table['title']}; scale: {_scale(result)}", "", table["note"]]
    if result["manifest"]:
        lines[-1] += f" It took {took(result['manifest']['seconds'])}: "
        lines[-1] += f"`{result['manifest']['command'] or 'foveate reproduce ' + result['table']}`."
    head = ["", *(m["name"] for m in table["measures"])]
    for group in table["groups"]:
        note = f" ({group['note']})" if group["note"] else ""
        lines += ["", f"### {group['title']}{note}", ""]
        if group["why"]:
            lines += [f"Not run: {group['why']}.", ""]
        lines += [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
        lines += [
            f"| {row['name']} | {' | '.join(_in_one(entry) for entry in row['entries'])} |"
            for row in group["rows"]
        ]
    if result["differs"]:
        lines += ["", "What differs from the published set-up:", ""]
        lines += [f"- {text}" for text in result["differs"]]
    return lines


def _in_one(entry: Sequence[str]) -> str:
    if len(entry) == 1:
        return entry[0]
    published, measured, difference = entry
    if published == "–":
        return measured
    return f"{measured}; published {published}" + (f" ({difference})" if difference != "–" else "")
