"""Live trainings for the page: what there is to train, and start, pause, step, stop."""

from typing import Any, Literal, get_args

from fastapi import APIRouter, Body, Request
from starlette.responses import Response

from foveate.errors import FoveateError
from foveate.lab.requests import TASKS, Map, Rerun, TrainJob
from foveate.lab.server.responses import answer
from foveate.lab.server.sessions import Session, Sessions

__all__ = ["brief", "routes", "sessions_of"]

routes = APIRouter()

POINTS = 400  # of a curve that is sent when a page opens


def sessions_of(request: Request) -> Sessions:
    """The trainings of the lab that a request came to."""
    sessions: Sessions = request.app.state.sessions
    return sessions


@routes.get("/api/tasks")
def tasks(request: Request) -> Response:
    """What can be trained; a worker gets ready meanwhile."""
    sessions_of(request).prepare()
    return answer(
        {"tasks": {k: task.to_json() for k, task in TASKS.items()}, "maps": get_args(Map)}
    )


@routes.get("/api/trainings")
def every(request: Request) -> Response:
    """All trainings of this lab, newest first."""
    return answer({"trainings": [brief(own) for own in sessions_of(request).all()]})


@routes.post("/api/trainings")
def start(request: Request, job: dict[str, Any] = Body()) -> Response:  # noqa: B008
    """Begin a training."""
    return answer(brief(sessions_of(request).start(TrainJob(**job))), 201)


@routes.post("/api/claims/run")
def run_again(request: Request, job: dict[str, Any] = Body()) -> Response:  # noqa: B008
    """Run the experiment behind a claim again, in a run directory of its own."""
    return answer(brief(sessions_of(request).start(Rerun(**job))), 201)


@routes.get("/api/trainings/{name}")
def one(request: Request, name: str, seed: int | None = None) -> Response:
    """All that a page needs to show a training as it stands."""
    session = sessions_of(request).get(name)
    number = session.last  # before the rest is read: what comes after may be told twice, never lost
    seeds = session.stage.get("seeds", [])
    member = seeds.index(seed) if seed in seeds else 0
    watched = seeds[member] if seeds else None
    return answer(
        {
            **brief(session),
            "last": number,
            "stage": session.stage,
            "epoch": session.history.epoch,
            "now": session.history.last(),
            "ends": session.history.ends,
            "seed": watched,
            "curves": session.history.curves(member, POINTS) if seeds else {},
            "details": session.details.get(str(watched), {}),
            "parts": session.parts,
            "result": session.result,
        }
    )


@routes.post("/api/trainings/{name}/{do}")
def command(request: Request, name: str, do: Literal["pause", "go", "step", "stop"]) -> Response:
    """Pause, go on, go one epoch on, or stop for good: then no process is left."""
    session = sessions_of(request).get(name)
    if session.ended:
        raise FoveateError(f"this training has ended ({session.state}): start a new one")
    if do == "stop":
        session.stop()
    else:
        if do == "step":
            session.tell(do="pause")
        session.tell(do=do)
    return answer(brief(session))


def brief(session: Session) -> dict[str, Any]:
    """What a list shows of a training."""
    return {
        "id": session.name,
        "job": session.job.model_dump(exclude={"path"}),
        "state": session.state,
        "why": session.why,
        "started": session.started,
    }
