"""Own data for the page: a dropped file is kept under a name of the lab's, checked and fitted."""

import secrets
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Body, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from foveate.errors import FoveateError
from foveate.lab.requests import FitOwn, OwnBags
from foveate.lab.server.guard import LARGEST_FILE
from foveate.lab.server.responses import answer
from foveate.lab.server.training import brief, sessions_of
from foveate.lab.server.uploaded_files import discard, files_folder

__all__ = ["routes"]

routes = APIRouter()

KINDS = (".csv", ".tsv", ".jsonl", ".parquet", ".npz")
ROLES = ("bag", "label", "text", "group", "relevance")


@routes.post("/api/own")
async def drop(request: Request, name: str) -> Response:
    """Keep a file and check it; the columns may be named in the address."""
    kind = Path(name).suffix.lower()
    if kind not in KINDS:
        raise FoveateError(f"a file must end in {', '.join(KINDS)}, got '{name[-60:]}'")
    place = files_folder() / f"{secrets.token_hex(8)}{kind}"
    try:
        await _keep(request, place)
        columns: dict[str, Any] = {
            role: own for role in ROLES if (own := request.query_params.get(role))
        }
        job = OwnBags(path=str(place), name=name[-300:], **columns)
        start = sessions_of(request).start
        session = await run_in_threadpool(start, job, partial(discard, place))
    except BaseException:
        place.unlink(missing_ok=True)
        raise
    return answer(brief(session), 201)


@routes.post("/api/own/{name}/fit")
def fit(request: Request, name: str, wanted: dict[str, Any] = Body()) -> Response:  # noqa: B008
    """Fit what was checked."""
    session = sessions_of(request).get(name)
    if not isinstance(session.job, OwnBags) or session.state != "ready":
        raise FoveateError("these bags are not waiting to be fitted: drop the file again")
    return answer(session.ask(fit=FitOwn(**wanted).model_dump()))


async def _keep(request: Request, place: Path) -> None:
    """Write the body to a file as it comes, and no more of it than is allowed."""
    size = 0
    with place.open("wb") as file:
        async for part in request.stream():
            size += len(part)
            if size > LARGEST_FILE:
                raise FoveateError(f"a file can have {LARGEST_FILE:,} bytes at most")
            file.write(part)
    if not size:
        raise FoveateError("the file is empty")
