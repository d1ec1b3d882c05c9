"""Text models for the page: trained or loaded, then queried with texts that are typed."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Request
from pydantic import Field
from starlette.responses import Response

from foveate.errors import FoveateError
from foveate.lab.bundled import bundled_json
from foveate.lab.requests import TextJob
from foveate.lab.saved_models import saved_models
from foveate.lab.server.jobs import job_summary, sessions_of
from foveate.lab.server.responses import json_response, not_found
from foveate.settings import Settings

__all__ = ["Question", "TextRequest", "routes"]

routes = APIRouter()

Typed = Annotated[str, Field(max_length=4000)]

# Corpora to learn from; all but the first of each kind need their files.
TEXTS = {
    "keywords": "Generated texts with keywords (no files needed)",
    "sst": "Film reviews, SST",
    "imdb": "Film reviews, IMDB",
    "yelp": "Restaurant reviews, Yelp",
    "amazon": "Product reviews, Amazon",
    "newsgroups": "Newsgroups, baseball or hockey",
    "sms": "Text messages, spam or not",
}
PAIRS = {
    "made-up": "Two generated languages (no files needed)",
    "multi30k": "German and English captions, Multi30k",
    "iwslt14": "German and English talks, IWSLT 14",
}


class TextRequest(Settings):
    """A model to train, or the name of a saved one."""

    what: Literal["texts", "pairs"] = "texts"
    corpus: str = "keywords"
    steps: int = 300
    model: str = ""


class Question(Settings):
    """A text to read, or a pair to align."""

    text: Typed = ""
    source: Typed = ""
    target: Typed = ""


@routes.get("/api/text-models")
def offered(request: Request) -> Response:
    """Which corpora there are, and which models were saved."""
    sessions_of(request).prepare()
    models = {name: model.about for name, model in saved_models().items()}
    return json_response({"texts": TEXTS, "pairs": PAIRS, "saved": models})


@routes.get("/api/text-models/readings")
def readings(model: str = "") -> Response:
    """What a bundled model has made of some texts, to look at while it is loaded."""
    return json_response({"readings": bundled_json("readings").get(model, {})})


@routes.post("/api/text-models")
def start(request: Request, job: dict[str, Any] = Body()) -> Response:  # noqa: B008
    """Train a text model, or load a saved one."""
    text_request = TextRequest(**job)
    if text_request.model:
        return json_response(job_summary(_load(request, text_request.model)), 201)
    if text_request.corpus not in (TEXTS if text_request.what == "texts" else PAIRS):
        raise FoveateError(
            f"there are no {text_request.what} called '{text_request.corpus}' to learn from"
        )
    request_ = TextJob(what=text_request.what, corpus=text_request.corpus, steps=text_request.steps)
    return json_response(job_summary(sessions_of(request).start(request_)), 201)


def _load(request: Request, name: str) -> Any:
    """The job that serves a saved model: one that waits already, or a new one."""
    saved = saved_models().get(name)
    if saved is None:
        raise not_found("there is no such model: train one")
    sessions = sessions_of(request)
    for session in sessions.all():
        if session.waiting and session.result.get("model") == name:
            return session
    about = {key: saved.about[key] for key in ("what", "corpus", "steps")}
    return sessions.start(TextJob(**about, path=str(saved.path)))


@routes.post("/api/text-models/{name}")
def ask(request: Request, name: str, typed: dict[str, Any] = Body()) -> Response:  # noqa: B008
    """What the model makes of a text or a pair."""
    sessions = sessions_of(request)
    session = sessions.get(name)
    if not isinstance(session.job, TextJob) or not session.waiting:
        raise FoveateError("this model cannot be asked: it is still training, or has ended")
    if session.state == "idle" and session.result.get("model") in (saved := saved_models()):
        path = saved[session.result["model"]].path  # the new worker loads what the old one trained
        session.job = session.job.model_copy(update={"path": str(path)})
    return json_response(sessions.query(session, **Question(**typed).model_dump()))
