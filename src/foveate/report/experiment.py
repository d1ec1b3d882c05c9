"""The page of one experiment: its findings, all its figures, and how it was run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foveate.experiments.experiment import EXPERIMENTS
from foveate.experiments.ledger import Entry
from foveate.experiments.runner import findings_of, of_run
from foveate.experiments.verdicts import effect_words
from foveate.papers import CLAIMS
from foveate.record import write_atomically
from foveate.report.templates import rendered
from foveate.report.times import time_of
from foveate.runs import Run

__all__ = ["MOODS", "claim_view", "experiment_figures", "write_experiment_page"]

MOODS = {"holds": "good", "holds in part": "astray", "does not hold": "bad"}
"""How a verdict looks, a class of the style sheet."""


def experiment_figures(run: Run) -> Mapping[str, Any]:
    """The charts of an experiment run, drawn from its records."""
    experiment, use = of_run(run)
    return experiment.figures(use, run.records())


def write_experiment_page(run: Run, path: Path) -> Path:
    """Write the page of a finished experiment, whole or not at all."""
    from markupsafe import Markup

    from foveate.figures.render import inline_svg

    name = run.manifest["label"]
    kind = EXPERIMENTS.get(name)
    charts = experiment_figures(run)
    drawn = {key: Markup(inline_svg(chart, f"f-{key}")) for key, chart in charts.items()}
    entries = [
        claim_view(Entry(f.claim, CLAIMS[f.claim], name, kind.criteria[f.claim], f), run)
        for f in findings_of(run)
    ]
    config = run.manifest["config"]
    page = rendered(
        "claims.html",
        title=f"{name}, {config['scale']} scale",
        lead=kind.about[:1].upper() + kind.about[1:] + ".",
        groups=[{"title": "Findings", "note": "", "entries": entries}] if entries else [],
        figures=drawn,
        setup=setup_rows(run),
        command=run.manifest.get("command", ""),
    )
    write_atomically(path, lambda file: file.write(page.encode()))
    return path


def setup_rows(run: Run) -> dict[str, str]:
    """How a run was set up, as rows of words."""
    manifest = run.manifest
    rows = {"scale": manifest["config"]["scale"], "started": manifest["created"]}
    rows |= {"took": time_of(manifest), "commit": manifest["commit"] or "not known"}
    rows |= {k: str(v) for k, v in manifest["config"]["settings"].items()}
    return rows | {k: str(v) for k, v in manifest["versions"].items()}


def claim_view(entry: Entry, run: Run | None, figure: Any = None) -> dict[str, Any]:
    """What the template shows of one claim."""
    found = entry.finding
    own = run.manifest.get("command") if run else None
    return {
        "anchor": entry.claim.replace(":", "-"),
        "number": entry.claim.split(":")[1],
        "statement": entry.statement,
        "criterion": entry.criterion,
        "command": own or f"foveate run {entry.experiment}",
        "verdict": found.verdict if found else "not run",
        "mood": MOODS[found.verdict] if found else "none",
        "effect": effect_words(found) if found else "",
        "measure": found.measure if found else "",
        "said": found.said if found else "",
        "deviation": found.deviation if found and found.deviation != "none" else "",
        "figure": figure,
    }
