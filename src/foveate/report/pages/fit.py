"""The report of a fit: results on test bags, example bags, data and settings."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foveate.charts.palette import AGAINST, FOR, colour, label
from foveate.metrics.calibration import calibrated
from foveate.metrics.faults import dead_focus_warning, divergence
from foveate.records.record import Record, write_atomically
from foveate.records.runs import Run
from foveate.report.drawing.bag_panels import bag_view
from foveate.report.first_screen import bag_examples
from foveate.report.next_steps import fit_steps
from foveate.report.outcomes import setup_tables
from foveate.report.pages.cross_fit import cross_fit_context
from foveate.report.pages.score_cells import COLUMNS, score_cell
from foveate.report.rendering import render_page
from foveate.report.sentences import count_of, glossary, unfinished
from foveate.userdata.gallery import load_gallery
from foveate.userdata.scores import mean_probability

__all__ = ["fit_page", "write_fit_report"]

ATTENTION = "Attention, label-free score (0 to 1)"
TERMS = ("FT", "SAIF")  # of the glossary; used by a fit with known relevance


def write_fit_report(run: Run, path: Path) -> Path:
    """Write the report of a fit atomically."""
    write_atomically(path, fit_page(run).encode())
    return path


def fit_page(run: Run) -> str:
    """The report of a fit, finished or not."""
    if run.manifest["config"].get("folds", 1) > 1:
        context = {**_context(run), **cross_fit_context(run)}
        return render_page("cross_fit.html", **context)
    return render_page("fit.html", **_context(run), **_split_context(run))


def _context(run: Run) -> dict[str, Any]:
    """What the templates of all fits need."""
    records, manifest = run.records(), run.manifest
    # Records without focus scores are those of baselines.
    named = {label(k): record for k, record in records.items() if "s" in record.final}
    chosen, name = manifest.get("chosen"), run.path.resolve().name
    examined = (run.path / "trust.json").exists()
    classes = [str(name) for name in manifest["classes"]]
    bags = load_gallery(run.path / "gallery.npz")
    views = [bag_view(bag, classes, manifest["columns"], f"bag-{k}") for k, bag in enumerate(bags)]
    return {
        "title": f"Fit of {manifest['label']}",
        "unfinished": unfinished(run, records),
        "diverged": divergence(named),
        "silent": dead_focus_warning(named),
        "name": name,
        "chosen": chosen,
        "rule": manifest["rule"],
        "groups": manifest["sizes"]["groups"] is not None,
        "examples": bag_examples(views) if chosen else [],
        "steps": fit_steps(manifest, name, done=run.done, examined=examined),
        "examined": examined,
        "data": _data(manifest),
        "warnings": manifest.get("warnings", ()),
        "forced": manifest.get("forced", ()),
        "roles": _roles(manifest),
        "counts": manifest["sizes"]["bags of class"],
        "classes": classes,
        "seeds": len(manifest["seeds"]),
        "bags": views,
        "kind": "features" if views and "ranked" in views[0] else manifest["data"]["kind"],
        "relevant": any(bag.z is not None for bag in bags),
        "map": bags[0].map if bags else "attention",
        "setup": setup_tables(run, name, records),
        "command": manifest.get("command") or "",
        "label": label,
        "colour": colour,
        "for_": FOR,
        "against": AGAINST,
    }


def _split_context(run: Run) -> dict[str, Any]:
    """What the template of a fit with one split needs beyond that of any fit."""
    records, manifest = run.records(), run.manifest
    chosen, scores = manifest.get("chosen"), manifest.get("scores", {})
    focused = any("ft" in record.values for record in records.values())
    return {
        "lead": _lead(manifest) if chosen else "",
        "rows": [_row(k, entry, k == chosen, records.get(k)) for k, entry in scores.items()],
        "headings": [heading for heading, _, _ in COLUMNS.values()],
        "attention": ATTENTION if manifest["config"].get("choose") == "attention" else "",
        "charts": _charts(records, chosen, manifest),
        "temperature": f"{scores[chosen]['temperature']:.2f}" if chosen else "",
        "curves": _curves(records),
        "gallery_title": "",
        "words": [(word, text) for word, text in glossary() if word in TERMS] if focused else [],
    }


def _roles(manifest: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Columns that share role and reason: the role, their names, and the reason."""
    names: dict[tuple[str, str], list[str]] = {}
    for name, role, reason in manifest.get("roles", ()):
        names.setdefault((role, reason), []).append(name)
    return [(role, ", ".join(listed), reason) for (role, reason), listed in names.items()]


def _lead(manifest: Mapping[str, Any]) -> str:
    """The result in a sentence."""
    mean, low, high = manifest["scores"][manifest["chosen"]]["test"]["balanced_accuracy"]
    chance = 100 / len(manifest["classes"])
    interval = f" [{100 * low:.1f}, {100 * high:.1f}]" if low is not None and low < high else ""
    return (
        f"{label(manifest['chosen'])} attention was chosen on validation bags. On "
        f"{manifest['sizes']['parts']['test']} test bags, which were not used for fitting or "
        f"choosing, its balanced accuracy is {100 * mean:.1f} %{interval}; guessing gives "
        f"{chance:.1f} %."
    )


def _row(
    name: str, scores: Mapping[str, Any], chosen: bool, record: Record | None
) -> dict[str, Any]:
    """One row of the tables of results."""
    cells = []
    for key, (_, factor, places) in COLUMNS.items():
        cells.append(score_cell(scores["validation"][key], factor, places, interval=False))
        cells.append(score_cell(scores["test"][key], factor, places))
    accuracy = 100 * np.array(scores["test_accuracy_of_seeds"])
    seeds = f"{accuracy.min():.1f} to {accuracy.max():.1f}"
    return {
        "name": name,
        "chosen": chosen,
        "cells": cells,
        "attention": f"{scores['attention_score']:.2f}" if "attention_score" in scores else "",
        "seeds": seeds,
        "correct": _correct(record),
    }


def _correct(record: Record | None) -> str:
    """Correct predictions on test bags of the averaged probabilities, as a count."""
    if record is None or "test_log_p" not in record.final:
        return "–"
    p, y = mean_probability(record.final["test_log_p"]), record.final["test_y"]
    return count_of(int((p.argmax(1) == y).sum()), len(y))


def _data(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    sizes, kind = manifest["sizes"], manifest["data"]["kind"]
    lengths = f"{sizes['shortest']:,} to {sizes['longest']:,}"
    groups = "none named" if sizes["groups"] is None else f"{sizes['groups']:,}, each in one part"
    return [
        ("read from", manifest["data"]["source"]),
        ("bags", f"{sizes['bags']:,}"),
        ("segments", f"{sizes['segments']:,}, {lengths} a bag"),
        ("a segment", _segment(kind, sizes["segment"])),
        ("groups", groups),
        ("split", sizes["split"]),
    ]  # fmt: skip


def _segment(kind: str, shape: Sequence[int]) -> str:
    """What a segment is, and its shape."""
    if kind == "text":
        return "a word" if list(shape) == [1] else f"a piece of text of up to {shape[0]} words"
    name = {"image": "a tile of an image", "series": "a window in time"}.get(kind, "a row")
    return f"{name}, read as {'×'.join(map(str, shape))} numbers"


def _charts(
    records: Mapping[str, Record], chosen: str | None, manifest: Mapping[str, Any]
) -> dict[str, Any]:
    """The calibration curve and the confusion matrix of the chosen paradigm on test bags."""
    if chosen is None or chosen not in records:
        return {}
    from markupsafe import Markup

    from foveate.charts.render import inline_svg
    from foveate.report.drawing.fit_charts import calibration_chart, confusion_chart

    final = records[chosen].final
    p, y = mean_probability(final["test_log_p"]), final["test_y"]
    scaled = calibrated(p, manifest["scores"][chosen]["temperature"])
    return {
        "calibration": Markup(inline_svg(calibration_chart(p, scaled, y), "calibration")),
        "confusion": Markup(inline_svg(confusion_chart(p, y, manifest["classes"]), "confusion")),
    }


def _curves(records: Mapping[str, Record]) -> list[Any]:
    if not records:
        return []
    from markupsafe import Markup

    from foveate.charts.render import inline_svg
    from foveate.report.drawing.curves import curve_chart, curve_names

    names = [k for k in curve_names() if all(k in record.values for record in records.values())]
    return [Markup(inline_svg(curve_chart(records, name), f"curve-{name}")) for name in names]
