"""One job of the lab: a worker process, the messages it has sent, and who follows it."""

import json
import queue
import secrets
import subprocess
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from foveate.errors import FoveateError
from foveate.lab.requests import JobRequest, TextJob, UploadJob
from foveate.lab.server.history import History

__all__ = ["ENDED", "Callback", "Frame", "Session", "WorkerExited", "trains_at_once"]

ENDED = ("done", "stopped", "failed")
WAITING = ("ready", "idle")  # states in which a job trains nothing
MAX_FRAMES = 240  # frames kept for replay: half a minute of a hidden tab
STOP_SECONDS = 3.0  # time a worker has to stop before it is killed
RESTART_SECONDS = 180.0  # time a new worker has to become ready
QUERY_SECONDS = 20.0  # time a worker has to answer a query
MAX_WATCHED = 4  # members shown in detail at a time, over all viewers

Callback = Callable[[], None]
Process = subprocess.Popen[bytes]


class WorkerExited(FoveateError):
    """The worker has exited without an answer."""


def trains_at_once(job: JobRequest) -> bool:
    """Whether a job trains when it starts; reading a file or loading a saved model does not."""
    return not (isinstance(job, UploadJob) or (isinstance(job, TextJob) and job.path))


class Frame(NamedTuple):
    """A message of a worker with its number, counted from 1."""

    number: int
    kind: str
    content: dict[str, Any]


class Session:
    """One job in a process of its own.

    Args:
        job: What it does.
        process: A worker that waits for a job.
        on_exit: Called when the job has ended, however it did.
        on_ready: Called when the job has become ready to be asked.
    """

    def __init__(
        self, job: JobRequest, process: Process, on_exit: Callback, on_ready: Callback
    ) -> None:
        self.name, self.job, self.process = secrets.token_hex(4), job, process
        self._on_exit, self._on_ready = on_exit, on_ready
        self.started = self.last_used = time.time()
        self.state, self.reason = "starting", ""
        self.trains = trains_at_once(job)
        self.setup: dict[str, Any] = {}
        self.history = History()
        self.details: dict[str, Any] = {}
        self.parts: list[dict[str, Any]] = []
        self.seconds_left: float | None = None
        self.result: dict[str, Any] = {}
        self._frames: deque[Frame] = deque(maxlen=MAX_FRAMES)
        self._count = 0
        self._viewers: Counter[int] = Counter()
        self._lock, self._write_lock = threading.Lock(), threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._restart_lock = threading.Lock()
        self._answers: dict[int, tuple[Process, queue.Queue[dict[str, Any]]]] = {}
        self._queries = 0
        self._start(process)

    def _start(self, process: Process) -> None:
        self.process, self._exited = process, False
        self._listener = threading.Thread(target=self._listen, args=(process,), daemon=True)
        self._listener.start()
        self.send(**self.job.model_dump(mode="json"))

    @property
    def ended(self) -> bool:
        """Whether the job is over."""
        return self.state in ENDED

    @property
    def waiting(self) -> bool:
        """Whether the job trains nothing and waits to be asked."""
        return self.state in WAITING

    @property
    def training(self) -> bool:
        """Whether the job holds one of the slots for trainings."""
        return self.trains and not self.ended

    @property
    def last(self) -> int:
        """The number of the last frame."""
        return self._count

    def send(self, **command: Any) -> None:
        """Send the worker a command; a worker that has exited ignores it."""
        pipe = self.process.stdin
        with suppress(OSError, ValueError), self._write_lock:
            if pipe is not None:
                pipe.write(json.dumps(command).encode() + b"\n")
                pipe.flush()

    def query(self, **question: Any) -> dict[str, Any]:
        """The worker's answer to a question.

        Raises:
            FoveateError: If it cannot answer, or does not in time; WorkerExited if it has exited.
        """
        self.last_used = time.time()
        with self._lock:
            if self._exited:
                raise WorkerExited("the process of this job has exited")
            self._queries += 1
            number, answers = self._queries, queue.Queue[dict[str, Any]]()
            self._answers[number] = self.process, answers
        self.send(do="ask", number=number, **question)
        try:
            answer = answers.get(timeout=QUERY_SECONDS)
        except queue.Empty:
            raise FoveateError("the model did not answer in time: is it still training?") from None
        finally:
            self._answers.pop(number, None)
        if "error" in answer:
            raise FoveateError(answer["error"])
        if "exited" in answer:
            raise WorkerExited("the process of this job has exited")
        return answer

    def stop(self) -> None:
        """End the process: by a command, and by a signal if that does not help."""
        if self.state == "idle":
            self._handle("state", {"state": "stopped"})
            self._on_exit()
            return
        self.send(do="stop")
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._listener.join(STOP_SECONDS)

    def make_idle(self) -> None:
        """End the process of a job that waits; :meth:`restart` brings it back."""
        self.send(do="idle")
        self._listener.join(STOP_SECONDS)

    def restart(self, spawn: Callable[[], Process], seconds: float = RESTART_SECONDS) -> None:
        """Give an idle job a new worker, and wait until it is ready."""
        with self._restart_lock:
            if self.state == "idle":
                self.state = "starting"
                self._start(spawn())
        with self._changed:
            self._changed.wait_for(lambda: self.state in ("ready", *ENDED), seconds)
        if self.state != "ready":
            raise FoveateError(self.reason or "the job did not become ready again in time")

    def frames_after(self, number: int) -> list[Frame]:
        """All frames since a number that are still kept."""
        with self._lock:
            return [frame for frame in self._frames if frame.number > number]

    def watch(self, seed: int, viewers: int) -> None:
        """Count viewers of a member in or out, and tell the worker which members are watched."""
        with self._lock:
            self._viewers[seed] += viewers
            watched = [s for s, count in self._viewers.most_common(MAX_WATCHED) if count > 0]
        self.send(do="watch", seeds=watched)

    def _listen(self, process: Process) -> None:
        for line in process.stdout or ():
            try:
                message = json.loads(line)
            except ValueError:
                continue  # half a line of a worker that was killed
            kind = message.pop("kind")
            self._handle(kind, message)
            if kind == "state" and self.state == "ready":
                self._on_ready()
        code = process.wait()
        if self.state != "idle":
            self._on_exit()
            if not self.ended:
                self._handle("state", {"state": "failed", "reason": _exit_reason(code)})
        self._release_queries(process)
        for end in (process.stdin, process.stdout):
            if end is not None:
                with suppress(OSError):  # the worker is gone; what was buffered is lost
                    end.close()

    def _release_queries(self, process: Process) -> None:
        """Tell those who wait for an answer of a process that it has exited."""
        with self._lock:
            self._exited = self._exited or process is self.process
            for owner, answers in self._answers.values():
                if owner is process:
                    answers.put({"exited": True})

    def _handle(self, kind: str, content: dict[str, Any]) -> None:
        with self._lock:
            match kind:
                case "ready":
                    return
                case "answer":
                    if content["number"] in self._answers:
                        self._answers[content["number"]][1].put(content)
                    return
                case "setup":
                    self.setup = content
                case "state":
                    self.state, self.reason = content["state"], content.get("reason", "")
                    self.last_used = time.time()
                    self.trains = self.trains and not self.waiting
                case "result":
                    self.result = content
                case "frame":
                    self._add_frame(content)
            self._count += 1
            self._frames.append(Frame(self._count, kind, content))
            self._changed.notify_all()

    def _add_frame(self, content: dict[str, Any]) -> None:
        self.history.add(content)
        for seed, detail in content["details"].items():
            self.details[seed] = {**self.details.get(seed, {}), **detail}
        self.parts = content.get("parts", self.parts)
        self.seconds_left = content.get("seconds_left", self.seconds_left)


def _exit_reason(code: int) -> str:
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"the process of this job ended before it was done ({how})"
