"""Words for the page: a text model is trained, then asked about texts that are typed."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Request
from pydantic import Field
from starlette.responses import Response

from foveate.errors import FoveateError
from foveate.lab.requests import Study
from foveate.lab.saved_models import saved_model, saved_models
from foveate.lab.server.responses import answer
from foveate.lab.server.training import brief, sessions_of
from foveate.settings import Settings

__all__ = ["Question", "TextRequest", "routes"]

routes = APIRouter()

Typed = Annotated[str, Field(max_length=4000)]

# What there is to learn from: all but the first of each kind need their files.
TEXTS = {
    "keywords": "Made-up texts with keywords (no files needed)",
    "sst": "Film reviews, SST",
    "imdb": "Film reviews, IMDB",
    "yelp": "Restaurant reviews, Yelp",
    "amazon": "Product reviews, Amazon",
    "newsgroups": "Newsgroups, baseball or hockey",
    "sms": "Text messages, spam or not",
}
PAIRS = {
    "made-up": "Two made-up languages (no files needed)",
    "multi30k": "German and English captions, Multi30k",
    "iwslt14": "German and English talks, IWSLT 14",
}


class TextRequest(Settings):
    """What is asked for: a model to train, or the name of one that was kept."""

    what: Literal["texts", "pairs"] = "texts"
    corpus: str = "keywords"
    steps: int = 300
    model: str = ""


class Question(Settings):
    """What is typed: a text to read, or a pair to align."""

    text: Typed = ""
    source: Typed = ""
    target: Typed = ""


@routes.get("/api/words")
def offered(request: Request) -> Response:
    """What can be studied, and which models were kept."""
    sessions_of(request).prepare()
    return answer({"texts": TEXTS, "pairs": PAIRS, "kept": saved_models()})


@routes.post("/api/words")
def start(request: Request, job: dict[str, Any] = Body()) -> Response:  # noqa: B008
    """Train a text model, or open one that was kept."""
    wanted = TextRequest(**job)
    path = ""
    if wanted.model:
        place, about = saved_model(wanted.model)
        path = str(place)
        wanted = TextRequest(**{key: about[key] for key in ("what", "corpus", "steps")})
    if wanted.corpus not in (TEXTS if wanted.what == "texts" else PAIRS):
        raise FoveateError(f"there are no {wanted.what} called '{wanted.corpus}' to learn from")
    study = Study(what=wanted.what, corpus=wanted.corpus, steps=wanted.steps, path=path)
    return answer(brief(sessions_of(request).start(study)), 201)


@routes.post("/api/words/{name}")
def ask(request: Request, name: str, typed: dict[str, Any] = Body()) -> Response:  # noqa: B008
    """What the model makes of a text or a pair."""
    session = sessions_of(request).get(name)
    if not isinstance(session.job, Study) or session.state != "ready":
        raise FoveateError("this model cannot be asked: it is still training, or has ended")
    return answer(session.ask(**Question(**typed).model_dump()))
