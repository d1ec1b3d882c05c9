"""The interactive explanation for the page."""

from fastapi import APIRouter
from starlette.responses import Response

from foveate.lab.bundled import BUNDLED
from foveate.lab.server.responses import not_found

__all__ = ["routes"]

routes = APIRouter()


@routes.get("/api/explorable")
def explorable() -> Response:
    """One training per paradigm, tabulated over the plane, as it lies in the package."""
    path = BUNDLED / "explorable.json.gz"
    if not path.is_file():
        raise not_found("the interactive explanation is not part of this installation")
    headers = {"Content-Encoding": "gzip", "Cache-Control": "no-cache"}
    return Response(path.read_bytes(), 200, headers, "application/json")
