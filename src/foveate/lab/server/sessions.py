"""All jobs of a lab: how many may run at once, and a spare worker so that the next starts fast."""

import os
import subprocess
import sys
import threading
from typing import Any

from foveate.errors import FoveateError
from foveate.lab.requests import JobRequest
from foveate.lab.server.responses import not_found
from foveate.lab.server.session import Callback, Process, Session, WorkerExited, trains_at_once

__all__ = ["MAX_READY", "MAX_RUNNING", "MAX_STREAMS", "Sessions"]

MAX_RUNNING = 3  # jobs that train at a time
MAX_LOADING = 3  # jobs that read a file or load a model at a time
MAX_READY = 4  # workers that wait to be asked; the one unused for longest goes idle
MAX_KEPT = 12  # ended jobs that can still be looked at
MAX_STREAMS = 48  # pages that follow a job at a time


class Sessions:
    """All jobs of a lab."""

    def __init__(self) -> None:
        self._all: dict[str, Session] = {}
        self._spare: Process | None = None
        self._lock = threading.Lock()
        self._streams = 0
        self.closed = False

    def start(self, job: JobRequest, on_exit: Callback = lambda: None) -> Session:
        """Start a job, unless as many of its kind as allowed are running.

        Args:
            job: What it does.
            on_exit: Called when it has ended.
        """
        with self._lock:
            self._require_slot(trains=trains_at_once(job))
            session = Session(job, self._worker(), on_exit, self._limit_ready)
            self._all[session.name] = session
            ended = [name for name, other in self._all.items() if other.ended]
            for name in ended[: max(0, len(self._all) - MAX_KEPT)]:
                del self._all[name]
        return session

    def query(self, session: Session, *, trains: bool = False, **question: Any) -> dict[str, Any]:
        """Ask a job that waits; one that went idle gets a new worker first.

        Args:
            session: The job.
            trains: Whether the answer starts a training, which needs a free slot.
            question: What is asked.
        """
        try:
            return self._ask(session, trains, question)
        except WorkerExited:  # it went idle while it was asked
            return self._ask(session, trains, question)

    def _ask(self, session: Session, trains: bool, question: dict[str, Any]) -> dict[str, Any]:
        if session.state == "idle":
            session.restart(self._worker)
        if not trains:
            return session.query(**question)
        with self._lock:
            self._require_slot(trains=True)
            session.trains = True
        try:
            return session.query(**question)
        except FoveateError:
            session.trains = False
            raise

    def get(self, name: str) -> Session:
        """The job of a name."""
        session = self._all.get(name)
        if session is None:
            raise not_found("there is no such job; it may belong to a lab that was closed")
        return session

    def all(self) -> list[Session]:
        """All jobs, newest first."""
        return list(reversed(self._all.values()))

    def prepare(self) -> None:
        """Start a spare worker, which imports what it needs before it has a job."""
        with self._lock:
            if not self.closed and (self._spare is None or self._spare.poll() is not None):
                self._spare = _spawn_worker()

    def open_stream(self) -> bool:
        """Count in a page that follows a job; False if there are too many."""
        with self._lock:
            if self._streams >= MAX_STREAMS:
                return False
            self._streams += 1
            return True

    def close_stream(self) -> None:
        """Count out a page that followed a job."""
        with self._lock:
            self._streams -= 1

    def close(self) -> None:
        """End every process."""
        with self._lock:
            self.closed = True
            spare, self._spare = self._spare, None
        if spare is not None:
            spare.kill()
            spare.communicate()
        for session in self._all.values():
            if not session.ended:
                session.stop()

    def _require_slot(self, *, trains: bool) -> None:
        sessions = self._all.values()
        if self.closed or (trains and sum(s.training for s in sessions) >= MAX_RUNNING):
            raise FoveateError(
                f"{MAX_RUNNING} jobs are running, which is as many as this lab allows: "
                "stop one of them in the list of jobs first"
            )
        loading = [s for s in sessions if not (s.training or s.waiting or s.ended)]
        if not trains and len(loading) >= MAX_LOADING:
            raise FoveateError(
                f"{MAX_LOADING} files or models are being loaded: wait until one of them is ready"
            )

    def _limit_ready(self) -> None:
        ready = [session for session in self.all() if session.state == "ready"]
        by_last_use = sorted(ready, key=lambda session: session.last_used)
        for session in by_last_use[: max(0, len(by_last_use) - MAX_READY)]:
            session.make_idle()

    def _worker(self) -> Process:
        spare, self._spare = self._spare, None
        return spare if spare is not None and spare.poll() is None else _spawn_worker()


def _spawn_worker() -> Process:
    """A worker process that imports what it needs and waits for its job."""
    return subprocess.Popen(
        [sys.executable, "-m", "foveate.lab.live.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
