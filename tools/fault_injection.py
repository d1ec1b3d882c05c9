"""Faults at the file operations of a process: a kill, a torn write, or a full disk.

Counted are, within one folder: opening for writing, writing, syncing, renaming, making and removing
of files and folders, changing permissions and truncating. A kill within a write happens after half
of its bytes. Processes that share a counter file share the count, so that the workers of a run take
part: as a preload of Dask (``DASK_DISTRIBUTED__WORKER__PRELOAD=fault_injection``) this module reads
its plan from the environment.
"""

import errno
import io
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Plan", "count_operations", "inject"]

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
OPERATIONS = {
    "open": b"o",
    "write": b"w",
    "os.fsync": b"s",
    "os.rename": b"r",
    "os.mkdir": b"m",
    "os.remove": b"u",
    "os.rmdir": b"d",
    "os.chmod": b"c",
    "os.truncate": b"t",
}
"""Kinds of operations and their letters in the counter file."""
VARIABLE = "FOVEATE_FAULT_PLAN"


@dataclass(frozen=True)
class Plan:
    """What happens, where and when.

    Args:
        folder: Operations within it are counted.
        counter: File with one letter per operation, outside the folder.
        at: Number of the operation, from 1, that meets the fault; 0 for none.
        kind: "kill" ends the process; "full" refuses this and all later operations.
    """

    folder: Path
    counter: Path
    at: int = 0
    kind: str = "kill"

    def met(self) -> str:
        """The kind of operation that met the fault; empty if the process ended before."""
        letters = self.counter.read_bytes() if self.counter.exists() else b""
        letter = letters[self.at - 1 : self.at]
        kinds = (kind for kind, letter_of_kind in OPERATIONS.items() if letter_of_kind == letter)
        return next(kinds, "").removeprefix("os.")

    def as_text(self) -> str:
        """For the environment of a worker."""
        return "\n".join([str(self.folder), str(self.counter), str(self.at), self.kind])

    @classmethod
    def from_text(cls, text: str) -> "Plan":
        """The plan of :meth:`as_text`."""
        folder, counter, at, kind = text.split("\n")
        return cls(Path(folder), Path(counter), int(at), kind)


_active: list["_Faults"] = []


class _Faults:
    """The faults of this process."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.inside = plan, str(plan.folder)
        self._counter = os.open(plan.counter, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._counting = False

    def matches(self, event: str, path: object) -> bool:
        """Count an operation on a path; whether it meets the fault."""
        if self._counting or not os.path.abspath(os.fsdecode(str(path))).startswith(self.inside):
            return False
        self._counting = True
        try:
            os.write(self._counter, OPERATIONS[event])
            number = os.lseek(self._counter, 0, os.SEEK_CUR)
        finally:
            self._counting = False
        if not self.plan.at:
            return False
        return number == self.plan.at if self.plan.kind == "kill" else number >= self.plan.at

    def trigger(self) -> None:
        """End this process, or refuse the operation."""
        if self.plan.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def check(self, event: str, path: object) -> None:
        """Count an operation and let the fault happen."""
        if self.matches(event, path):
            self.trigger()


class _TornFile(io.FileIO):
    """A file whose write may end half-way."""

    def write(self, content: Any) -> int:
        faults = _active[-1]
        if faults.matches("write", os.readlink(f"/proc/self/fd/{self.fileno()}")):
            super().write(memoryview(content)[: len(content) // 2])
            faults.trigger()
        return super().write(content)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _active:
        return
    if event == "open":
        if not isinstance(arguments[2], int) or not arguments[2] & WRITES:
            return
    elif event not in OPERATIONS:
        return
    if not isinstance(arguments[0], int):  # a descriptor was counted when it was opened
        _active[-1].check(event, arguments[0])


def inject(plan: Plan) -> None:
    """Let the faults of a plan happen in this process from now on; it cannot be undone."""
    real_fsync, real_fdopen = os.fsync, os.fdopen
    _active.append(_Faults(plan))

    def fsync(handle: int) -> None:
        _active[-1].check("os.fsync", os.readlink(f"/proc/self/fd/{handle}"))
        real_fsync(handle)

    def fdopen(handle: int, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if mode == "wb":
            return io.BufferedWriter(_TornFile(handle, "wb"))
        return real_fdopen(handle, mode, *args, **kwargs)

    os.fsync, os.fdopen = fsync, fdopen
    sys.addaudithook(_audit)
    os.environ[VARIABLE] = plan.as_text()
    os.environ["DASK_DISTRIBUTED__WORKER__PRELOAD"] = "fault_injection"


def count_operations(plan: Plan, work: Callable[[], None]) -> int:
    """Run a function and count its file operations within the plan's folder.

    Args:
        plan: A plan without a fault.
        work: Runs in this process.
    """
    inject(plan)
    work()
    return plan.counter.stat().st_size


def dask_setup(_worker: object) -> None:
    """Called by Dask in every worker process."""
    if VARIABLE in os.environ and not _active:
        inject(Plan.from_text(os.environ[VARIABLE]))
