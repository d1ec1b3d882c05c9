"""The lab's server: pages, and the library's answers as JSON; it computes nothing of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response

from foveate.errors import FoveateError
from foveate.lab.server import claims, flow, runs, streams, training, uploads, words
from foveate.lab.server.guard import Guard
from foveate.lab.server.responses import absent, answer, refusal
from foveate.lab.server.sessions import Sessions
from foveate.lab.server.theme import chart_theme, palette_css
from foveate.lab.server.uploaded_files import tidy
from foveate.lab.server.vega import vega_script, vega_version

__all__ = ["VIEWS", "create_app"]

VIEWS = ("flow", "train", "runs", "words", "own", "claims")
PAGES = Path(__file__).parents[1] / "pages"
KINDS = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


def create_app(*, host: str = "127.0.0.1", token: str | None = None) -> FastAPI:
    """The lab as an ASGI application; runs are looked for in the folder of runs.

    Args:
        host: The address it will be served on.
        token: The word that requests must carry, where there is one.
    """
    app = FastAPI(title="foveate lab", docs_url=None, redoc_url=None, openapi_url=None,
                  lifespan=_lifespan)  # fmt: skip
    app.state.sessions = Sessions()
    app.add_middleware(Guard, host=host, token=token)
    app.add_exception_handler(FoveateError, _mistake)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(Exception, _broken)
    for part in (flow, runs, claims, training, streams, words, uploads):
        app.include_router(part.routes)
    for path in ("/", *(f"/{view}" for view in VIEWS)):
        app.add_api_route(path, _shell, methods=["GET"])
    app.add_api_route("/pages/{name}", _page, methods=["GET"])
    app.add_api_route("/palette.css", _palette, methods=["GET"])
    app.add_api_route("/vega.js", _vega, methods=["GET"])
    app.add_api_route("/api/look", _look, methods=["GET"])
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    await run_in_threadpool(tidy)
    yield
    app.state.sessions.close()


def _shell() -> Response:
    """The one HTML file; what it shows, the address says."""
    page = (PAGES / "index.html").read_text("utf-8").replace("VEGA", f"/vega.js?v={vega_version()}")
    return Response(page, 200, {"Cache-Control": "no-cache"}, "text/html; charset=utf-8")


def _page(name: str) -> Response:
    """A module or style sheet, by a name among those that are there."""
    path = _pages().get(name)
    if path is None:
        raise absent("there is no such page")
    return Response(path.read_bytes(), 200, {"Cache-Control": "no-cache"}, KINDS[path.suffix])


@cache
def _pages() -> dict[str, Path]:
    return {path.name: path for path in PAGES.iterdir() if path.suffix in KINDS}


def _palette() -> Response:
    return Response(palette_css(), 200, {"Cache-Control": "no-cache"}, KINDS[".css"])


def _vega() -> Response:
    forever = {"Cache-Control": "private, max-age=31536000, immutable"}
    return Response(vega_script(), 200, forever, KINDS[".js"])


def _look() -> Response:
    return answer(chart_theme())


def _mistake(_: Request, error: Exception) -> Response:
    return refusal(str(error))


def _refused(_: Request, error: Exception) -> Response:
    known = isinstance(error, HTTPException)
    return refusal(str(error.detail), error.status_code) if known else refusal("", 500)  # type: ignore[attr-defined]


def _broken(_: Request, error: Exception) -> Response:
    """What nobody foresaw: the page says so, the terminal says what."""
    kind = type(error).__name__
    return refusal(f"The lab failed to answer ({kind}); its terminal says where.", 500)


def _unreadable(_: Request, error: Exception) -> Response:
    """The first thing that is wrong with a request: where, what must hold."""
    first = error.errors()[0] if isinstance(error, RequestValidationError) else {}
    name = ".".join(str(part) for part in first.get("loc", ())[1:])
    return refusal(f"{name or 'the request'}: {first.get('msg', 'cannot be read').lower()}", 422)
