"""A worker's desk: commands come in and messages go out, each a line of JSON."""

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, BinaryIO

__all__ = ["Show", "Stopped", "WorkerChannel", "own_streams"]

LEISURE = 0.05  # share of the worker's time that may go into pictures: they must not slow it down
SHORTEST, UNSEEN = 0.1, 0.5  # seconds between messages while somebody looks, and while nobody does

Show = Callable[[bool], None]
"""Sends how things stand: in numbers, or (True) with all that a viewer sees of its members."""


class Stopped(Exception):
    """The work is to end now; the text says why, and is empty if it was asked for."""


class WorkerChannel:
    """Between units of work a worker turns to its desk; there it is paused, stepped or stopped.

    Args:
        source: Where commands come from.
        sink: Where messages go.
    """

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._commands: queue.Queue[dict[str, Any]] = queue.Queue()
        self._sink = sink
        self._until = float("inf")
        self._next = self._next_whole = 0.0
        self.paused = False
        self.watched: list[int] = []
        threading.Thread(target=self._listen, args=(source,), daemon=True).start()

    def _listen(self, source: BinaryIO) -> None:
        for line in source:
            try:
                self._commands.put(dict(json.loads(line)))
            except (ValueError, TypeError):
                continue  # half a line of a server that went away
        os._exit(0)  # nobody is left to work for

    def first(self) -> dict[str, Any]:
        """Wait for the job."""
        job = self._commands.get()
        self._until = time.monotonic() + 60 * float(job.get("minutes", 10))
        return job

    def send(self, kind: str, **content: Any) -> None:
        """Tell the server something."""
        line = json.dumps({"kind": kind, **content}, separators=(",", ":"), allow_nan=False)
        self._sink.write(line.encode() + b"\n")
        self._sink.flush()

    def poll_commands(self, show: Show, *, over: bool = False) -> None:
        """Obey what has come in, wait while paused, and show how things stand when it is time.

        Args:
            show: Sends how things stand.
            over: Whether all work is done, so that it must be shown.
        """
        self._obey(show)
        if time.monotonic() > self._until:
            raise Stopped("the time that was allowed is over")
        self.maybe_send_frame(show, at_once=over or self.paused)
        while self.paused and not over:
            if self._take(self._next_command(), show) == "step":
                return

    def maybe_send_frame(self, show: Show, *, at_once: bool = False) -> None:
        """Show how things stand ten times a second, whole as often as that is cheap, or at once."""
        now, worked = time.monotonic(), time.process_time()
        if not at_once and now < self._next:
            return
        self._next = now + (SHORTEST if self.watched else UNSEEN)
        whole = at_once or worked >= self._next_whole
        show(whole)
        if whole:  # by what it cost the processor: others may have had it meanwhile
            spent = time.process_time() - worked
            self._next_whole = worked + spent / LEISURE

    def asked(self) -> dict[str, Any]:
        """Wait for a question, until the time that was allowed is over."""
        while True:
            command = self._next_command()
            if command.get("do") == "stop":
                raise Stopped("")
            if command.get("do") == "ask":
                return command

    def _next_command(self) -> dict[str, Any]:
        """Wait for a command, but not for ever: one that waits holds a place."""
        try:
            return self._commands.get(timeout=max(0.0, self._until - time.monotonic()))
        except queue.Empty:
            raise Stopped("the time that was allowed is over") from None

    def _obey(self, show: Show) -> None:
        while True:
            try:
                self._take(self._commands.get_nowait(), show)
            except queue.Empty:
                return

    def _take(self, command: dict[str, Any], show: Show) -> str:
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
                self._next = self._next_whole = 0.0
                if self.paused:
                    show(True)
        return str(command.get("do"))


def own_streams() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output for messages alone; whatever prints, prints to the error stream."""
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return sys.stdin.buffer, sink
