"""The ledger for the page: claims, a figure for each, and what it takes to run one again."""

from functools import lru_cache
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from foveate.lab.bundled import bundled_json
from foveate.lab.server.responses import json_response, not_found
from foveate.lab.server.theme import vega_spec
from foveate.records.findings import Entry

__all__ = ["routes"]

routes = APIRouter()


@routes.get("/api/claims")
def claims() -> Response:
    """Every claim with its criterion and, where it was checked, the finding."""
    from foveate.papers import PAPERS
    from foveate.records.findings import effect_words
    from foveate.report.pages.experiment import LEVELS
    from foveate.studies.ledger import known_ledger

    ledger, bundled = known_ledger("small"), bundled_json("claims")
    rows = []
    for entry in ledger.of(None):
        finding = entry.finding
        rows.append(
            {
                "claim": entry.claim,
                "statement": entry.statement,
                "criterion": entry.criterion,
                "revision": _revision(entry),
                "experiment": entry.experiment,
                "scale": entry.scale,
                "verdict": finding.verdict if finding else "not run",
                "level": LEVELS[finding.verdict] if finding else "none",
                "effect": effect_words(finding) if finding else "",
                "measure": finding.measure if finding else "",
                "summary": finding.summary if finding else "",
                "deviation": finding.deviation if finding and finding.deviation != "none" else "",
                "figure": bool(
                    finding and (entry.experiment in ledger.runs or entry.claim in bundled)
                ),
            }
        )
    papers = {
        key: {"title": source.title, "authors": source.authors, "where": source.where}
        for key, source in PAPERS.items()
    }
    return json_response({"scale": ledger.scale, "papers": papers, "claims": rows})


def _revision(entry: Entry) -> str:
    """When and why the criterion was changed, with the earlier verdict; empty if it was not."""
    if entry.revision is None:
        return ""
    change = entry.revision
    return f"{change.date}: {change.reason} Earlier verdict: {change.verdict}."


@routes.get("/api/claims/figure")
def figure(claim: str) -> Response:
    """The figure of a claim as Vega-Lite, from the run behind it or as it came with the package."""
    from foveate.studies.ledger import known_ledger

    ledger = known_ledger("small")
    entry = next((candidate for candidate in ledger.entries if candidate.claim == claim), None)
    if entry is None or entry.finding is None:
        raise not_found("there is no such claim, or it was not checked yet")
    if entry.experiment not in ledger.runs:
        figure = bundled_json("claims").get(claim)
        if figure is None:
            raise not_found("its run is not on this machine: run it again to see the figure")
        return json_response(figure)
    run = ledger.runs[entry.experiment]
    chart = _charts(str(run.path), (run.path / "manifest.json").stat().st_mtime_ns).get(
        entry.finding.figure
    )
    if chart is None:
        raise not_found("this claim has no figure")
    return json_response({"name": entry.finding.figure, "spec": vega_spec(chart)})


@lru_cache(maxsize=4)
def _charts(path: str, _changed: int) -> dict[str, Any]:
    from foveate.jobs.experiment import experiment_charts
    from foveate.records.runs import open_run

    return dict(experiment_charts(open_run(path)))
