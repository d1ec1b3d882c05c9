"""The ledger for the page: claims, a figure for each, and what it takes to run one again."""

from fastapi import APIRouter
from starlette.responses import Response

from foveate.lab.server.responses import json_response, not_found
from foveate.records.findings import Entry

__all__ = ["routes"]

routes = APIRouter()


@routes.get("/api/claims")
def claims() -> Response:
    """Every claim with its criterion and, where it was checked, the finding."""
    from foveate.papers import PAPERS
    from foveate.report.pages.experiment import finding_fields
    from foveate.studies.ledger import known_ledger

    ledger = known_ledger("small")
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
                **finding_fields(finding),
                "figure": finding is not None,
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
    """The figure of a claim as Vega-Lite, with a sentence that says what it is drawn from."""
    from foveate.lab.claim_figures import claim_figure
    from foveate.studies.ledger import known_ledger

    ledger = known_ledger("small")
    entry = next((candidate for candidate in ledger.entries if candidate.claim == claim), None)
    drawn = claim_figure(ledger, entry) if entry else None
    if drawn is None:
        raise not_found("there is no such claim, or it was not checked yet")
    return json_response(drawn)
