"""Server-sent events: the frames of a job as they come, resumed from where a viewer was."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Header, HTTPException, Request
from starlette.responses import StreamingResponse

from foveate.lab.server.jobs import sessions_of
from foveate.lab.server.session import Frame, Session
from foveate.lab.server.sessions import MAX_STREAMS, Sessions

__all__ = ["event", "routes"]

routes = APIRouter()

POLL_SECONDS = 0.04  # between looks for new frames: a person sees no difference
HEARTBEAT = 10.0  # seconds without a frame after which a comment keeps the connection open
RETRY = 1000  # milliseconds after which a browser that lost the connection tries again


@routes.get("/api/jobs/{name}/events")
async def events(
    request: Request,
    name: str,
    seed: int | None = None,
    after: int = 0,
    last_event_id: str | None = Header(None),
) -> StreamingResponse:
    """The frames since ``after``, or since the last one that the browser says it has seen."""
    sessions = sessions_of(request)
    session = sessions.get(name)
    if not sessions.open_stream():
        raise HTTPException(
            429, f"{MAX_STREAMS} pages follow jobs of this lab, which is the most: close one"
        )
    last = int(last_event_id) if last_event_id and last_event_id.isdecimal() else after
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    stream = _events(sessions, session, seed, last)
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


async def _events(
    sessions: Sessions, session: Session, seed: int | None, last: int
) -> AsyncIterator[bytes]:
    """Events until the job has ended or the viewer is gone; the worker never waits for a viewer."""
    if seed is not None:
        session.watch(seed, +1)
    try:
        yield f"retry: {RETRY}\n\n".encode()
        idle_seconds = 0.0
        while not sessions.closed:
            over = session.ended  # read first, so that the last frames are sent before the end
            frames = session.frames_after(last)
            if frames and frames[0].number > last + 1:
                yield b"event: gap\ndata: {}\n\n"  # some frames are lost: the page reloads the job
                return
            for frame in frames:
                last, idle_seconds = frame.number, 0.0
                yield event(frame, seed)
            if over and not frames:
                yield b"event: end\ndata: {}\n\n"
                return
            await asyncio.sleep(POLL_SECONDS)
            idle_seconds += POLL_SECONDS
            if idle_seconds > HEARTBEAT:
                idle_seconds = 0.0
                yield b": heartbeat\n\n"
    finally:
        sessions.close_stream()
        if seed is not None:
            session.watch(seed, -1)


def event(frame: Frame, seed: int | None) -> bytes:
    r"""A frame as an event, with the details of the one member that is watched.

    Example:
        >>> event(Frame(7, "state", {"state": "done"}), None)
        b'id: 7\nevent: state\ndata: {"state":"done"}\n\n'
    """
    content: dict[str, Any] = frame.content
    if "details" in content:
        content = {**content, "details": content["details"].get(str(seed)) or {}}
    text = json.dumps(content, separators=(",", ":"))
    return f"id: {frame.number}\nevent: {frame.kind}\ndata: {text}\n\n".encode()
