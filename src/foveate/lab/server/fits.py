"""Fits for the page: verdicts, the recommendation, the grid of test bags, one bag to edit."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Request
from pydantic import Field
from starlette.responses import Response

from foveate.errors import FoveateError
from foveate.lab.advice import page_advice, recommend
from foveate.lab.fit_bags import FitBags, bag_detail, bag_list, edited_bag, open_fit_bags
from foveate.lab.requests import ExamineJob
from foveate.lab.server.catalog import is_bundled, run_by_name
from foveate.lab.server.jobs import job_summary, sessions_of
from foveate.lab.server.responses import json_response, not_found
from foveate.records.checksums import read_json
from foveate.records.runs import Run
from foveate.report.sentences import count_of
from foveate.settings import Settings, Words

__all__ = ["Edit", "finished_fit", "kinds_of_evidence", "routes"]

routes = APIRouter()


class Edit(Settings):
    """A bag of a fit with segments removed and added."""

    run: str
    paradigm: str
    row: int
    removed: Annotated[tuple[int, ...], Field(max_length=2000)] = ()
    added: Annotated[tuple[tuple[int, int], ...], Field(max_length=20)] = ()


@routes.get("/api/fit")
def fit(run: str) -> Response:
    """How well each paradigm of a fit answers, where it looks, and which one to use."""
    opened = finished_fit(run)
    manifest = opened.manifest
    examined = _verdicts_by_paradigm(opened)
    tried = list(manifest["scores"])
    taught = bool(manifest["config"].get("supervise_focus"))
    verdicts = {
        name: _verdict(examination, tried, taught) for name, examination in examined.items()
    }
    sizes = manifest["sizes"]["parts"]
    return json_response(
        {
            "run": run,
            "chosen": manifest["chosen"],
            "rule": manifest["rule"],
            "scores": manifest["scores"],
            "right": {name: _right(manifest, name) for name in tried},
            "sizes": sizes,
            "paradigms": tried,
            "classes": next((examination["classes"] for examination in examined.values()), []),
            "absent": _absent(opened),
            "evidence": _trust(opened).get("evidence", {}),
            "kinds": kinds_of_evidence(examined),
            "examinable": not is_bundled(opened),
            "verdicts": verdicts,
            "recommendation": recommend(
                manifest["scores"], verdicts, sizes["validation"], manifest["chosen"]
            ),
            "pages": [
                page for page in ("report", "trust", "evidence")
                if (opened.path / f"{page}.html").is_file()
            ],
        }
    )  # fmt: skip


@routes.get("/api/fit/bags")
def bags(run: str, paradigm: str) -> Response:
    """A line for every test bag, those to look at first."""
    return json_response({"bags": bag_list(_bags(run, paradigm))})


@routes.get("/api/fit/bag")
def bag(run: str, paradigm: str, row: int, removal: bool = True) -> Response:
    """One test bag with attention, evidence and the effect of removing each segment."""
    return json_response(bag_detail(_bags(run, paradigm), row, removal=removal))


@routes.post("/api/fit/bag")
def edit(change: dict[str, Any] = Body()) -> Response:  # noqa: B008
    """The reading of a test bag after segments were removed or added."""
    bag_edit = Edit(**change)
    opened = _bags(bag_edit.run, bag_edit.paradigm)
    return json_response(edited_bag(opened, bag_edit.row, bag_edit.removed, bag_edit.added))


class Answers(Settings):
    """What the user says that the classes of a fit mean."""

    run: str
    absent: Words = ()
    evidence: dict[str, Literal["A", "B"]] = Field(default_factory=dict)


@routes.post("/api/fit/examine")
def examine_again(request: Request, answers: dict[str, Any] = Body()) -> Response:  # noqa: B008
    """Examine a fit again under other answers, as a job."""
    checked = Answers(**answers)
    opened = finished_fit(checked.run)
    if is_bundled(opened):
        raise FoveateError("an example of the package cannot be changed: fit the file yourself")
    job = ExamineJob(**checked.model_dump(), folder=str(opened.path))
    return json_response(job_summary(sessions_of(request).start(job)), 201)


def finished_fit(name: str) -> Run:
    """The finished fit of a name, with one test part."""
    run = run_by_name(name)
    if not run.is_a("fit") or not run.done:
        raise not_found("there is no such fit, or it is not finished")
    if run.manifest["config"].get("folds", 1) > 1:
        raise not_found("a cross-fitted run has no single test part: see its report")
    return run


def _bags(name: str, paradigm: str) -> FitBags:
    run = finished_fit(name)
    if paradigm not in run.manifest["scores"]:
        raise not_found("the fit has no such paradigm")
    return open_fit_bags(run, paradigm, _absent(run))


def _verdicts_by_paradigm(run: Run) -> dict[str, dict[str, Any]]:
    """The examinations of a fit by paradigm."""
    return {examination["paradigm"]: examination for examination in _trust(run).get("found", [])}


def kinds_of_evidence(examined: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Classes with two kinds of evidence, with some segments of each kind."""
    classes: dict[str, dict[str, Any]] = {}
    for examination in examined.values():
        for row in examination["by_class"]:
            kinds = row["answers"].get("kinds") or {}
            if kinds.get("examples") and (kinds.get("several") or kinds.get("chosen")):
                classes.setdefault(row["name"], {"class": row["name"], "kinds": kinds["examples"]})
    return list(classes.values())


def _absent(run: Run) -> list[str]:
    return [str(name) for name in _trust(run).get("absent", [])]


def _trust(run: Run) -> dict[str, Any]:
    path = run.path / "trust.json"
    return read_json(path) if path.exists() else {}


def _right(manifest: Mapping[str, Any], paradigm: str) -> str:
    """How many test bags a paradigm answers right, with an interval of the share."""
    total = manifest["sizes"]["parts"]["test"]
    return count_of(round(total * manifest["scores"][paradigm]["test"]["accuracy"][0]), total)


def _verdict(examination: dict[str, Any], tried: list[str], taught: bool) -> dict[str, Any]:
    verdict = examination["verdict"]
    if not isinstance(verdict, dict):
        raise FoveateError("trust.json was written by another version: examine the fit again")
    return {
        "grade": verdict["grade"],
        "summary": _summary(verdict),
        "why": page_advice(verdict.get("why", ()), tried, taught=taught),
        "next": page_advice(verdict.get("next", ()), tried, taught=taught),
        "answers": [
            answer
            for answer in (examination.get("answers") or {}).values()
            if "--" not in str(answer.get("text", ""))
        ],
        "classes": [
            {
                "name": row["name"],
                "accuracy": row["accuracy"],
                "grade": row["verdict"]["grade"],
                "visible": row.get("visible", True),
                "summary": _summary(row["verdict"]),
            }
            for row in examination["by_class"]
        ],
    }


def _summary(verdict: dict[str, Any]) -> str:
    """The summary of a verdict, which was called ``said`` before version 0.2."""
    return str(verdict["summary"] if "summary" in verdict else verdict["said"])
