"""The channel between a worker process and the server: lines of JSON in both directions."""

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, BinaryIO

__all__ = ["Idle", "SendFrame", "Stopped", "WorkerChannel", "private_streams"]

DRAWING_SHARE = 0.05  # share of the worker's time that detailed frames may take
FRAME_SECONDS, HIDDEN_SECONDS = 0.1, 0.5  # between frames, with and without a viewer
IDLE_SECONDS = 900.0  # time without a question after which a waiting worker exits

SendFrame = Callable[[bool], None]
"""Sends a frame: numbers only, or (True) with the details of the watched members."""


class Stopped(Exception):
    """The job must end now; the message says why, and is empty if the user asked for it."""


class Idle(Exception):
    """Nobody has asked the job anything for a while: its process may end."""


class WorkerChannel:
    """Receives commands between units of work, and sends messages.

    Args:
        source: Where commands come from.
        sink: Where messages go.
    """

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._commands: queue.Queue[dict[str, Any]] = queue.Queue()
        self._sink = sink
        self._deadline = float("inf")
        self._next_frame = self._next_detailed = 0.0
        self.paused = False
        self.watched: list[int] = []
        threading.Thread(target=self._listen, args=(source,), daemon=True).start()

    def _listen(self, source: BinaryIO) -> None:
        for line in source:
            try:
                self._commands.put(dict(json.loads(line)))
            except (ValueError, TypeError):
                continue  # half a line of a server that was killed
        os._exit(0)  # the server is gone

    def receive_job(self) -> dict[str, Any]:
        """Wait for the job."""
        job = self._commands.get()
        self._deadline = time.monotonic() + 60 * float(job.get("minutes", 10))
        return job

    def send(self, kind: str, **content: Any) -> None:
        """Send a message to the server."""
        line = json.dumps({"kind": kind, **content}, separators=(",", ":"), allow_nan=False)
        self._sink.write(line.encode() + b"\n")
        self._sink.flush()

    def poll_commands(self, send_frame: SendFrame, *, over: bool = False) -> None:
        """Execute pending commands, wait while paused, and send a frame when it is time.

        Args:
            send_frame: Sends a frame.
            over: Whether all work is done, so that a frame must be sent.
        """
        self._execute_pending(send_frame)
        if time.monotonic() > self._deadline:
            raise Stopped("the allowed time is over")
        self.maybe_send_frame(send_frame, at_once=over or self.paused)
        while self.paused and not over:
            if self._execute(self._next_command(), send_frame) == "step":
                return

    def maybe_send_frame(self, send_frame: SendFrame, *, at_once: bool = False) -> None:
        """Send a frame ten times a second, with details as often as that is cheap, or at once."""
        now, cpu = time.monotonic(), time.process_time()
        if not at_once and now < self._next_frame:
            return
        self._next_frame = now + (FRAME_SECONDS if self.watched else HIDDEN_SECONDS)
        detailed = at_once or cpu >= self._next_detailed
        send_frame(detailed)
        if detailed:  # by processor time: other processes may have had the core meanwhile
            self._next_detailed = cpu + (time.process_time() - cpu) / DRAWING_SHARE

    def next_question(self) -> dict[str, Any]:
        """Wait for a question; raise Idle if none comes."""
        self._deadline = time.monotonic() + IDLE_SECONDS
        while True:
            try:
                command = self._next_command()
            except Stopped:
                raise Idle from None
            match command.get("do"):
                case "stop":
                    raise Stopped("")
                case "idle":
                    raise Idle
                case "ask":
                    return command

    def allow(self, minutes: float) -> None:
        """Set the time that the following work may take."""
        self._deadline = time.monotonic() + 60 * minutes

    def _next_command(self) -> dict[str, Any]:
        try:
            return self._commands.get(timeout=max(0.0, self._deadline - time.monotonic()))
        except queue.Empty:
            raise Stopped("the allowed time is over") from None

    def _execute_pending(self, send_frame: SendFrame) -> None:
        while True:
            try:
                self._execute(self._commands.get_nowait(), send_frame)
            except queue.Empty:
                return

    def _execute(self, command: dict[str, Any], send_frame: SendFrame) -> str:
        match command.get("do"):
            case "stop":
                raise Stopped("")
            case "pause" if not self.paused:
                self.paused = True
                self.send("state", state="paused")
            case "go" if self.paused:
                self.paused = False
                self.send("state", state="running")
            case "watch":
                self.watched = [int(seed) for seed in command.get("seeds", [])][:4]
                self._next_frame = self._next_detailed = 0.0
                if self.paused:
                    send_frame(True)
        return str(command.get("do"))


def private_streams() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output for messages alone; prints go to standard error."""
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return sys.stdin.buffer, sink
