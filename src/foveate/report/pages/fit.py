"""The report of a fit: what was fitted, on what, how well it does, and what it looks at."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foveate.charts.palette import AGAINST, FOR, colour, label
from foveate.metrics.calibration import calibrated
from foveate.metrics.faults import divergence, silence
from foveate.records.record import Record, write_atomically
from foveate.records.runs import Run
from foveate.report.drawing.bag_panels import bag_view
from foveate.report.rendering import render_page
from foveate.report.sentences import glossary
from foveate.report.setup_tables import setup_tables, unfinished
from foveate.userdata.gallery import load_gallery
from foveate.userdata.scores import mean_probability

__all__ = ["fit_page", "write_fit_report"]

COLUMNS = {
    "balanced_accuracy": ("Balanced accuracy, %", 100, 1),
    "auroc": ("AUROC", 1, 3),
    "log_loss": ("Log loss, nats", 1, 3),
    "calibration_error": ("Calibration error", 1, 3),
}
ATTENTION = "Attention, label-free score (0 to 1)"
SPOKEN = ("FT", "SAIF")  # words of the glossary that a fit with known relevance uses


def write_fit_report(run: Run, path: Path) -> Path:
    """Write the report of a fit, whole or not at all."""
    write_atomically(path, fit_page(run).encode())
    return path


def fit_page(run: Run) -> str:
    """The report of a fit, finished or not."""
    records, manifest = run.records(), run.manifest
    named = {label(name): record for name, record in records.items()}
    chosen = manifest.get("chosen")
    classes = [str(name) for name in manifest["classes"]]
    bags = load_gallery(run.path / "gallery.npz")
    views = [bag_view(bag, classes, manifest["columns"], f"bag-{k}") for k, bag in enumerate(bags)]
    return render_page(
        "fit.html",
        title=f"Fit of {manifest['label']}",
        unfinished=unfinished(run, records),
        diverged=divergence(named),
        silent=silence(named),
        name=run.path.resolve().name,
        lead=_lead(manifest) if chosen else "",
        chosen=chosen,
        rule=manifest["rule"],
        rows=[_row(name, own, name == chosen) for name, own in manifest.get("scores", {}).items()],
        headings=[heading for heading, _, _ in COLUMNS.values()],
        attention=ATTENTION if manifest["config"].get("choose") == "attention" else "",
        data=_data(manifest),
        warnings=manifest.get("warnings", ()),
        forced=manifest.get("forced", ()),
        roles=_roles(manifest),
        counts=manifest["sizes"]["bags of class"],
        classes=classes,
        seeds=len(manifest["seeds"]),
        charts=_charts(records, chosen, manifest),
        temperature=f"{manifest['scores'][chosen]['temperature']:.2f}" if chosen else "",
        curves=_curves(records),
        bags=views,
        kind="features" if views and "ranked" in views[0] else manifest["data"]["kind"],
        relevant=any(bag.z is not None for bag in bags),
        words=[(word, meaning) for word, meaning in glossary() if word in SPOKEN]
        if any("ft" in record.values for record in records.values())
        else [],
        setup=setup_tables(run, run.path.resolve().name, records),
        command=manifest.get("command") or "",
        label=label,
        colour=colour,
        for_=FOR,
        against=AGAINST,
    )


def _roles(manifest: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Columns that share role and reason: the role, their names, and the reason."""
    names: dict[tuple[str, str], list[str]] = {}
    for name, role, reason in manifest.get("roles", ()):
        names.setdefault((role, reason), []).append(name)
    return [(role, ", ".join(listed), reason) for (role, reason), listed in names.items()]


def _lead(manifest: Mapping[str, Any]) -> str:
    """The outcome in a sentence."""
    own = manifest["scores"][manifest["chosen"]]["test"]
    mean, low, high = own["balanced_accuracy"]
    chance = 100 / len(manifest["classes"])
    spread = f" [{100 * low:.1f}, {100 * high:.1f}]" if low is not None else ""
    return (
        f"{label(manifest['chosen'])} attention was chosen on validation bags. On "
        f"{manifest['sizes']['parts']['test']} test bags, which played no part in fitting or "
        f"choosing, its balanced accuracy is {100 * mean:.1f} %{spread}; guessing gives "
        f"{chance:.1f} %."
    )


def _row(name: str, own: Mapping[str, Any], chosen: bool) -> dict[str, Any]:
    cells = []
    for key, (_, factor, places) in COLUMNS.items():
        cells.append(_number(own["validation"][key], factor, places, spread=False))
        cells.append(_number(own["test"][key], factor, places))
    accuracy = 100 * np.array(own["test_accuracy_of_seeds"])
    seeds = f"{accuracy.min():.1f} to {accuracy.max():.1f}"
    return {
        "name": name,
        "chosen": chosen,
        "cells": cells,
        "attention": f"{own['attention_score']:.2f}" if "attention_score" in own else "",
        "seeds": seeds,
    }


def _number(value: Sequence[float | None], factor: int, places: int, spread: bool = True) -> str:
    mean, low, high = value
    if mean is None or not np.isfinite(mean):
        return "–"
    text = f"{factor * mean:.{places}f}"
    if low is None or high is None or not spread:
        return text
    return f"{text} [{factor * low:.{places}f}, {factor * high:.{places}f}]"


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
    """What a segment is, and as what it is read."""
    if kind == "text":
        return "a word" if list(shape) == [1] else f"a piece of text of up to {shape[0]} words"
    named = {"image": "a tile of an image", "series": "a window in time"}.get(kind, "a row")
    return f"{named}, read as {'×'.join(map(str, shape))} numbers"


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

    shown = [k for k in curve_names() if all(k in record.values for record in records.values())]
    return [Markup(inline_svg(curve_chart(records, name), f"curve-{name}")) for name in shown]
