"""Jobs for the page: what can be trained, the list of jobs, and start, pause, step, stop."""

from typing import Any, Literal, get_args

from fastapi import APIRouter, Body, Request
from starlette.responses import Response

from foveate.errors import FoveateError
from foveate.lab.bundled import bundled_json
from foveate.lab.requests import TASKS, ExperimentJob, Map, TrainJob
from foveate.lab.server.responses import json_response
from foveate.lab.server.session import Session
from foveate.lab.server.sessions import MAX_RUNNING, Sessions

__all__ = ["EXAMPLE", "job_summary", "routes", "sessions_of"]

routes = APIRouter()

POINTS = 400  # of a curve that is sent when a page opens
EXAMPLE = "example"  # a finished training that comes with the package


def sessions_of(request: Request) -> Sessions:
    """The jobs of the lab that a request came to."""
    sessions: Sessions = request.app.state.sessions
    return sessions


@routes.get("/api/tasks")
def tasks(request: Request) -> Response:
    """What can be trained; a spare worker starts meanwhile."""
    sessions_of(request).prepare()
    tasks = {name: task.to_json() for name, task in TASKS.items()}
    return json_response({"tasks": tasks, "maps": get_args(Map)})


@routes.get("/api/jobs")
def list_jobs(request: Request) -> Response:
    """All jobs of this lab, newest first."""
    jobs = [job_summary(session) for session in sessions_of(request).all()]
    return json_response({"jobs": jobs, "most": MAX_RUNNING})


@routes.post("/api/jobs")
def start(request: Request, job: dict[str, Any] = Body()) -> Response:  # noqa: B008
    """Start a live training."""
    return json_response(job_summary(sessions_of(request).start(TrainJob(**job))), 201)


@routes.post("/api/claims/run")
def run_again(request: Request, job: dict[str, Any] = Body()) -> Response:  # noqa: B008
    """Run the experiment behind a claim again, in a run directory of its own."""
    return json_response(job_summary(sessions_of(request).start(ExperimentJob(**job))), 201)


@routes.get("/api/jobs/{name}")
def one(request: Request, name: str, seed: int | None = None) -> Response:
    """All that a page needs to show a job as it is now, or the training that is bundled."""
    if name == EXAMPLE:
        return json_response(_example(seed))
    session = sessions_of(request).get(name)
    number = session.last  # read first: later frames may be sent twice, but none is lost
    seeds = session.setup.get("seeds", [])
    member = seeds.index(seed) if seed in seeds else 0
    watched = seeds[member] if seeds else None
    return json_response(
        {
            **job_summary(session),
            "last": number,
            "setup": session.setup,
            "epoch": session.history.epoch,
            "now": session.history.last(),
            "outcomes": session.history.outcomes,
            "seed": watched,
            "curves": session.history.curves(member, POINTS) if seeds else {},
            "details": session.details.get(str(watched), {}),
            "parts": session.parts,
            "result": session.result,
        }
    )


def _example(seed: int | None) -> dict[str, Any]:
    """The bundled training as one of its seeds sees it."""
    training = bundled_json("training")
    by_seed: dict[str, dict[str, Any]] = training["by_seed"]
    member = by_seed.get(str(seed)) or next(iter(by_seed.values()))
    return {**training["job"], **member}


@routes.post("/api/jobs/{name}/{do}")
def command(request: Request, name: str, do: Literal["pause", "go", "step", "stop"]) -> Response:
    """Pause, continue, do one epoch, or stop for good: then no process is left."""
    session = sessions_of(request).get(name)
    if session.ended:
        raise FoveateError(f"this job has ended ({session.state}): start a new one")
    if do == "stop":
        session.stop()
    else:
        if do == "step":
            session.send(do="pause")
        session.send(do=do)
    return json_response(job_summary(session))


def job_summary(session: Session) -> dict[str, Any]:
    """What the list of jobs shows of a job."""
    job = session.job.model_dump(exclude={"path", "folder"})
    epochs = session.setup.get("epochs") or 0
    share = session.history.epoch / epochs if epochs and session.history.epoch else None
    if session.parts:
        share = sum(part["done"] / part["total"] for part in session.parts) / len(session.parts)
    return {
        "id": session.name,
        "job": job,
        "state": session.state,
        "reason": session.reason,
        "started": session.started,
        "share": share,
        "seconds_left": session.seconds_left,
    }
