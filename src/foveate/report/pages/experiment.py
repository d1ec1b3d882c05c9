"""The page of one experiment: its findings, all its figures, and how it was run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from foveate.records.findings import Entry, Finding, effect_words
from foveate.records.record import write_atomically
from foveate.records.runs import Run
from foveate.report.durations import run_duration
from foveate.report.rendering import render_page

__all__ = ["LEVELS", "claim_view", "finding_fields", "write_experiment_page"]

LEVELS: Mapping[str, str] = {
    "holds": "good",
    "holds in part": "warn",
    "does not hold": "bad",
    "contradicted": "bad",
    "underpowered": "none",
    "not testable here": "none",
}
"""How a verdict looks, a class of the style sheet."""


def write_experiment_page(
    run: Run,
    path: Path,
    about: str,
    entries: Sequence[Entry],
    charts: Mapping[str, Any],
) -> Path:
    """Write the page of a finished experiment, whole or not at all.

    Args:
        run: The run.
        path: The page to write.
        about: What the experiment is, in one line.
        entries: Its claims with what was found.
        charts: Its figures by name.
    """
    from markupsafe import Markup

    from foveate.charts.render import inline_svg

    drawn = {key: Markup(inline_svg(chart, f"f-{key}")) for key, chart in charts.items()}
    views = [claim_view(entry, run) for entry in entries]
    page = render_page(
        "claims.html",
        title=f"{run.manifest['label']}, {run.manifest['config']['scale']} scale",
        lead=about[:1].upper() + about[1:] + ".",
        groups=[{"title": "Findings", "note": "", "entries": views}] if views else [],
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
    rows |= {"took": run_duration(manifest), "commit": manifest.get("commit") or "not known"}
    rows |= {k: str(v) for k, v in manifest["config"]["settings"].items()}
    return rows | {k: str(v) for k, v in manifest["versions"].items()}


def finding_fields(finding: Finding | None) -> dict[str, str]:
    """Verdict, effect and words of a finding; of none, that the claim was not run."""
    if finding is None:
        words = dict.fromkeys(("effect", "measure", "summary", "deviation"), "")
        return {"verdict": "not run", "level": "none", **words}
    return {
        "verdict": finding.verdict,
        "level": LEVELS[finding.verdict],
        "effect": effect_words(finding),
        "measure": finding.measure,
        "summary": finding.summary,
        "deviation": finding.deviation if finding.deviation != "none" else "",
    }


def claim_view(entry: Entry, run: Run | None, figure: Any = None) -> dict[str, Any]:
    """What the template shows of one claim."""
    finding = entry.finding
    command = run.manifest.get("command") if run else None
    return {
        "anchor": entry.claim.replace(":", "-"),
        "number": entry.claim.split(":")[1],
        "statement": entry.statement,
        "criterion": entry.criterion,
        "revision": entry.revision,
        "command": command or f"foveate run {entry.experiment}",
        **finding_fields(finding),
        "figure": figure,
    }
