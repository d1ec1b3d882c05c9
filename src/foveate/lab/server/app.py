"""The lab's server: its pages, and the library's results as JSON; it computes nothing itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from foveate.errors import FoveateError
from foveate.lab.server import (
    claims,
    compare,
    explorable,
    fits,
    flow,
    jobs,
    runs,
    streams,
    text_models,
    uploads,
)
from foveate.lab.server.guard import Guard
from foveate.lab.server.responses import error_response, json_response, not_found
from foveate.lab.server.sessions import Sessions
from foveate.lab.server.theme import chart_theme, palette_css
from foveate.lab.server.upload_storage import remove_stale_files
from foveate.lab.server.vega import vega_script, vega_version

__all__ = ["PAGES", "VIEWS", "create_app", "shell_html"]

VIEWS = ("flow", "train", "runs", "words", "data", "claims")
PAGES = Path(__file__).parents[1] / "pages"
MEDIA_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


def create_app(*, host: str = "127.0.0.1", token: str | None = None) -> FastAPI:
    """The lab as an ASGI application; it shows the runs of the runs folder.

    Args:
        host: The address it will be served on.
        token: What requests must carry, or None.
    """
    app = FastAPI(title="foveate lab", docs_url=None, redoc_url=None, openapi_url=None,
                  lifespan=_lifespan)  # fmt: skip
    app.state.sessions = Sessions()
    app.add_middleware(Guard, host=host, token=token)
    app.add_exception_handler(FoveateError, _user_error)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected_error)
    for part in (
        compare,
        explorable,
        flow,
        runs,
        fits,
        claims,
        jobs,
        streams,
        text_models,
        uploads,
    ):
        app.include_router(part.routes)
    for path in ("/", *(f"/{view}" for view in VIEWS)):
        app.add_api_route(path, _shell, methods=["GET"])
    app.add_api_route("/own", _renamed, methods=["GET"])
    app.add_api_route("/pages/{name:path}", _page, methods=["GET"])
    app.add_api_route("/palette.css", _palette, methods=["GET"])
    app.add_api_route("/vega.js", _vega, methods=["GET"])
    app.add_api_route("/api/theme", _theme, methods=["GET"])
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    await run_in_threadpool(remove_stale_files)
    await run_in_threadpool(chart_theme)  # imports that the first page would wait for
    yield
    app.state.sessions.close()


def shell_html() -> str:
    """The one HTML file of the lab; the address says which view it shows."""
    page = (PAGES / "index.html").read_text("utf-8")
    return page.replace("VEGA", f"/vega.js?v={vega_version()}")


def _shell(status: int = 200) -> Response:
    return Response(shell_html(), status, {"Cache-Control": "no-cache"}, "text/html; charset=utf-8")


def _renamed(request: Request) -> Response:
    """The address that the page of own data had in earlier versions."""
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"/data{query}", 308)


def _page(name: str) -> Response:
    """A module or style sheet, looked up among the files that exist."""
    path = _pages().get(name)
    if path is None:
        raise not_found("there is no such file")
    headers = {"Cache-Control": "no-cache"}
    return Response(path.read_bytes(), 200, headers, MEDIA_TYPES[path.suffix])


@cache
def _pages() -> dict[str, Path]:
    files = (path for path in PAGES.rglob("*") if path.suffix in MEDIA_TYPES)
    return {path.relative_to(PAGES).as_posix(): path for path in files}


def _palette() -> Response:
    return Response(palette_css(), 200, {"Cache-Control": "no-cache"}, MEDIA_TYPES[".css"])


def _vega() -> Response:
    cache_headers = {"Cache-Control": "private, max-age=31536000, immutable"}
    return Response(vega_script(), 200, cache_headers, MEDIA_TYPES[".js"])


def _theme() -> Response:
    return json_response(chart_theme())


def _user_error(_: Request, error: Exception) -> Response:
    return error_response(str(error))


def _http_error(request: Request, error: Exception) -> Response:
    """An error as a sentence; an unknown page as the shell, which says what there is instead."""
    if not isinstance(error, HTTPException):
        return error_response("", 500)
    page = not request.url.path.startswith(("/api/", "/pages/"))
    if error.status_code == 404 and page and "text/html" in request.headers.get("accept", ""):
        return _shell(404)
    return error_response(str(error.detail), error.status_code)


def _unexpected_error(_: Request, error: Exception) -> Response:
    """The page names the error; the terminal has the traceback."""
    kind = type(error).__name__
    return error_response(f"The lab failed to answer ({kind}); its terminal shows where.", 500)


def _invalid_request(_: Request, error: Exception) -> Response:
    """The first invalid value of a request: its name, and what must hold."""
    first = error.errors()[0] if isinstance(error, RequestValidationError) else {}
    name = ".".join(str(part) for part in first.get("loc", ())[1:])
    message = f"{name or 'the request'}: {first.get('msg', 'cannot be read').lower()}"
    return error_response(message, 422)
