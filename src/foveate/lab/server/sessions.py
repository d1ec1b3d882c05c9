"""Trainings under way: a worker process each, what it has said, and who is looking."""

import json
import os
import queue
import secrets
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from foveate.errors import FoveateError
from foveate.lab.requests import Job
from foveate.lab.server.history import History
from foveate.lab.server.responses import absent

__all__ = ["ENDED", "Frame", "Session", "Sessions"]

ENDED = ("done", "stopped", "failed")
MOST_AT_ONCE = 3  # trainings at a time
MOST_KEPT = 12  # of ended ones that can still be looked at
FRAMES = 240  # of a training that can be replayed: half a minute of looking away
PATIENCE = 3.0  # seconds to end by itself before it is ended
ANSWER = 20.0  # seconds that a question may take
WATCHED = 4  # members shown in detail at a time, over all viewers

After = Callable[[], None]


class Frame(NamedTuple):
    """A message with its number, counted from 1."""

    number: int
    kind: str
    content: dict[str, Any]


class Session:
    """One job in a process of its own.

    Args:
        job: What it does.
        process: A worker that waits for a job.
        after: Called when the worker has ended, however it did.
    """

    def __init__(self, job: Job, process: "subprocess.Popen[bytes]", after: After) -> None:
        self.name, self.job, self.process = secrets.token_hex(4), job, process
        self._after = after
        self.started = time.time()
        self.state, self.why = "starting", ""
        self.stage: dict[str, Any] = {}
        self.history = History()
        self.details: dict[str, Any] = {}
        self.parts: list[dict[str, Any]] = []
        self.result: dict[str, Any] = {}
        self._frames: deque[Frame] = deque(maxlen=FRAMES)
        self._count = 0
        self._viewers: Counter[int] = Counter()
        self._lock, self._telling = threading.Lock(), threading.Lock()
        self._answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._asked = 0
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self.tell(**job.model_dump(mode="json"))

    @property
    def ended(self) -> bool:
        """Whether its process has nothing more to say."""
        return self.state in ENDED

    @property
    def last(self) -> int:
        """The number of the last frame."""
        return self._count

    def tell(self, **command: Any) -> None:
        """Send the worker a command; one that is gone does not hear it."""
        pipe = self.process.stdin
        with suppress(OSError, ValueError), self._telling:
            if pipe is not None:
                pipe.write(json.dumps(command).encode() + b"\n")
                pipe.flush()

    def ask(self, **question: Any) -> dict[str, Any]:
        """What the worker says to a question; one that does not answer in time is busy or gone."""
        with self._lock:
            self._asked += 1
            number, here = self._asked, queue.Queue[dict[str, Any]]()
            self._answers[number] = here
        self.tell(do="ask", number=number, **question)
        try:
            answer = here.get(timeout=ANSWER)
        except queue.Empty:
            raise FoveateError("the model did not answer in time: is it still training?") from None
        finally:
            self._answers.pop(number, None)
        if "error" in answer:
            raise FoveateError(answer["error"])
        return answer

    def stop(self) -> None:
        """End the process: by a word, and if that does not help, by force."""
        self.tell(do="stop")
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._listener.join(PATIENCE)

    def after(self, number: int) -> list[Frame]:
        """All frames since a number that are still kept."""
        with self._lock:
            return [frame for frame in self._frames if frame.number > number]

    def watch(self, seed: int, viewers: int) -> None:
        """Count viewers of a member in or out, and have the worker show what is looked at."""
        with self._lock:
            self._viewers[seed] += viewers
            looked_at = [own for own, count in self._viewers.most_common(WATCHED) if count > 0]
        self.tell(do="watch", seeds=looked_at)

    def _listen(self) -> None:
        pipe = self.process.stdout
        for line in pipe or ():
            try:
                message = json.loads(line)
            except ValueError:
                continue  # the last words of a worker that was killed
            self._hear(message.pop("kind"), message)
        code = self.process.wait()
        self._after()
        if not self.ended:
            self._hear("state", {"state": "failed", "why": _last_words(code)})
        for end in (self.process.stdin, self.process.stdout):
            if end is not None:
                with suppress(OSError):  # what was written last reached nobody
                    end.close()

    def _hear(self, kind: str, content: dict[str, Any]) -> None:
        with self._lock:
            match kind:
                case "ready":
                    return
                case "answer":
                    if content["number"] in self._answers:
                        self._answers[content["number"]].put(content)
                    return
                case "hello":
                    self.stage = content
                case "state":
                    self.state, self.why = content["state"], content.get("why", "")
                case "result":
                    self.result = content
                case "frame":
                    self.history.add(content)
                    for seed, own in content["details"].items():
                        self.details[seed] = {**self.details.get(seed, {}), **own}
                    self.parts = content.get("parts", self.parts)
            self._count += 1
            self._frames.append(Frame(self._count, kind, content))


class Sessions:
    """All trainings of a lab, and a worker that waits so that the next one starts at once."""

    def __init__(self) -> None:
        self._all: dict[str, Session] = {}
        self._spare: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self.closed = False

    def start(self, job: Job, after: After = lambda: None) -> Session:
        """A new training, unless as many as the machine bears are under way.

        Args:
            job: What it does.
            after: Called when its worker has ended.
        """
        with self._lock:
            under_way = [own for own in self._all.values() if not own.ended]
            if self.closed or len(under_way) >= MOST_AT_ONCE:
                raise FoveateError(
                    f"{MOST_AT_ONCE} trainings are under way, which is as many as this lab bears: "
                    "stop one of them first"
                )
            session = Session(job, self._worker(), after)
            self._all[session.name] = session
            ended = [name for name, own in self._all.items() if own.ended]
            for name in ended[: max(0, len(self._all) - MOST_KEPT)]:
                del self._all[name]
        return session

    def get(self, name: str) -> Session:
        """The training of a name, by looking it up among those that are there."""
        session = self._all.get(name)
        if session is None:
            raise absent("there is no such training; it may be of a lab that was closed")
        return session

    def all(self) -> list[Session]:
        """All trainings, newest first."""
        return list(reversed(self._all.values()))

    def prepare(self) -> None:
        """Have a worker ready: what takes long, it does before it is needed."""
        with self._lock:
            if not self.closed and (self._spare is None or self._spare.poll() is not None):
                self._spare = _begin()

    def _worker(self) -> "subprocess.Popen[bytes]":
        spare, self._spare = self._spare, None
        return spare if spare is not None and spare.poll() is None else _begin()

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


def _begin() -> "subprocess.Popen[bytes]":
    """A worker that loads what it needs and waits for its job."""
    return subprocess.Popen(
        [sys.executable, "-m", "foveate.lab.live.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def _last_words(code: int) -> str:
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"the process of this training ended before it was done ({how})"
