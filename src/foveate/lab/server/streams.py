"""Server-sent events: frames of a training as they come, and again from where a viewer was."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Header, Request
from starlette.responses import StreamingResponse

from foveate.lab.server.sessions import Frame, Session, Sessions
from foveate.lab.server.training import sessions_of

__all__ = ["event", "routes"]

routes = APIRouter()

GLANCE = 0.04  # seconds between looks for news: a person sees no difference
HEARTBEAT = 10.0  # seconds of silence after which a sign of life is sent
RETRY = 1000  # milliseconds after which a browser that lost the connection tries again


@routes.get("/api/trainings/{name}/events")
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
    seen = int(last_event_id) if last_event_id and last_event_id.isdecimal() else after
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        _told(sessions, session, seed, seen), media_type="text/event-stream", headers=headers
    )


async def _told(
    sessions: Sessions, session: Session, seed: int | None, seen: int
) -> AsyncIterator[bytes]:
    """Events until the training has ended or the viewer is gone; the worker never waits for one."""
    if seed is not None:
        session.watch(seed, +1)
    try:
        yield f"retry: {RETRY}\n\n".encode()
        silent = 0.0
        while not sessions.closed:
            over = session.ended  # looked at first, so that the last frames are sent before the end
            fresh = session.after(seen)
            if fresh and fresh[0].number > seen + 1:
                yield b"event: gap\ndata: {}\n\n"  # away for too long: look at the whole again
                return
            for frame in fresh:
                seen, silent = frame.number, 0.0
                yield event(frame, seed)
            if over and not fresh:
                yield b"event: end\ndata: {}\n\n"
                return
            await asyncio.sleep(GLANCE)
            silent += GLANCE
            if silent > HEARTBEAT:
                silent = 0.0
                yield b": still here\n\n"
    finally:
        if seed is not None:
            session.watch(seed, -1)


def event(frame: Frame, seed: int | None) -> bytes:
    r"""A frame as an event, with the details of the one member that is looked at.

    Example:
        >>> event(Frame(7, "state", {"state": "done"}), None)
        b'id: 7\nevent: state\ndata: {"state":"done"}\n\n'
    """
    content: dict[str, Any] = frame.content
    if "details" in content:
        own = content["details"].get(str(seed))
        content = {**content, "details": {} if own is None else own}
    text = json.dumps(content, separators=(",", ":"))
    return f"id: {frame.number}\nevent: {frame.kind}\ndata: {text}\n\n".encode()
