"""Uploaded files: stored under a random name, read, assigned column roles, and fitted."""

import secrets
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Body, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from foveate.errors import FoveateError
from foveate.lab.requests import FitRequest, PredictJob, UploadJob
from foveate.lab.server.fits import finished_fit
from foveate.lab.server.guard import LARGEST_FILE
from foveate.lab.server.jobs import job_summary, sessions_of
from foveate.lab.server.responses import json_response, not_found
from foveate.lab.server.session import Session
from foveate.lab.server.upload_storage import remove_unreferenced, uploads_folder

__all__ = ["routes"]

routes = APIRouter()

FORMATS = (".csv", ".tsv", ".jsonl", ".parquet", ".npz")


@routes.post("/api/uploads")
async def upload(request: Request, name: str, run: str = "", paradigm: str = "") -> Response:
    """Store a file and read it: to be fitted, or as new bags of a finished fit."""
    suffix = Path(name).suffix.lower()
    if suffix not in FORMATS:
        raise FoveateError(f"a file must end in {', '.join(FORMATS)}, got '{name[-60:]}'")
    path = uploads_folder() / f"{secrets.token_hex(8)}{suffix}"
    try:
        await _store(request, path)
        job = _job(path, name[-300:], run, paradigm)
        start = sessions_of(request).start
        session = await run_in_threadpool(start, job, partial(remove_unreferenced, path))
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return json_response(job_summary(session), 201)


def _job(path: Path, name: str, run: str, paradigm: str) -> UploadJob | PredictJob:
    if not run:
        return UploadJob(path=str(path), name=name)
    fit = finished_fit(run)
    if paradigm not in fit.manifest["scores"]:
        raise not_found("the fit has no such paradigm")
    return PredictJob(path=str(path), name=name, run=run, folder=str(fit.path), paradigm=paradigm)


@routes.post("/api/uploads/{name}/columns")
def set_columns(request: Request, name: str, roles: dict[str, str] = Body()) -> Response:  # noqa: B008
    """Read the file again with other roles of its columns."""
    session = _waiting_upload(request, name)
    job = UploadJob(**{**session.job.model_dump(), "roles": roles})
    answer = sessions_of(request).query(session, roles=job.roles)
    session.job = job  # a worker that replaces an idle one starts from here
    return json_response(answer)


@routes.post("/api/uploads/{name}/fit")
def fit(request: Request, name: str, settings: dict[str, Any] = Body()) -> Response:  # noqa: B008
    """Fit the bags of a file that was read."""
    session = _waiting_upload(request, name)
    fit_request = FitRequest(**settings).model_dump()
    return json_response(sessions_of(request).query(session, trains=True, fit=fit_request))


def _waiting_upload(request: Request, name: str) -> Session:
    session = sessions_of(request).get(name)
    if not isinstance(session.job, UploadJob) or not session.waiting:
        raise FoveateError("this file is not waiting to be fitted: choose the file again")
    return session


async def _store(request: Request, path: Path) -> None:
    """Write the body to a file as it comes, up to the allowed size."""
    size = 0
    with path.open("wb") as file:
        async for chunk in request.stream():
            size += len(chunk)
            if size > LARGEST_FILE:
                raise FoveateError(f"a file can have {LARGEST_FILE:,} bytes at most")
            file.write(chunk)
    if not size:
        raise FoveateError("the file is empty")
