"""Where the parts of a run are computed: in this process, in several processes, or on a cluster.

A task is a function and its arguments, so that any machine with foveate can run it. A worker that
sees the run's directory works in it, so that the task of a killed worker continues on another from
its checkpoint. Any other worker works in a temporary directory, and its files are sent back.
Finished results are files in the run's directory: a restarted coordinator repeats nothing.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from foveate.errors import FoveateError
from foveate.records.record import write_atomically
from foveate.settings import VARIABLE, use_device
from foveate.types import PartProgress, StepProgress

__all__ = ["Engine", "Task", "execute"]

PROGRESS_EVERY = 0.2  # seconds between two progress messages of a task
WORKERS = {
    # Workers may start processes, which daemons may not.
    "distributed.worker.daemon": False,
    # By default Dask makes glibc return freed memory at once; steps that request it again, page by
    # page, take nearly twice as long. These are the values of an ordinary process.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**26,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**25,
}


@dataclass(frozen=True)
class Engine:
    """Where tasks run.

    Args:
        workers: Processes of this machine, one thread each; 1 is this process.
        cluster: Address of a Dask scheduler, "tcp://host:8786"; ``workers`` is then ignored.
    """

    workers: int = 1
    cluster: str | None = None

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise FoveateError(f"workers must be at least 1, got {self.workers}")

    @property
    def in_process(self) -> bool:
        """Whether tasks run in this process."""
        return self.workers == 1 and self.cluster is None


@dataclass(frozen=True)
class Task:
    """One part of a run.

    Args:
        name: Its name, and that of its folder within the run's directory.
        function: Called as ``function(folder, name, progress=…, **arguments)`` with the run's
            directory; importable on every worker.
        arguments: Further arguments.
        after: Folders whose files it reads: those of other tasks, or of the run.
    """

    name: str
    function: Callable[..., None]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    after: tuple[str, ...] = ()

    def __call__(self, folder: Path, progress: StepProgress) -> None:
        self.function(folder, self.name, progress=progress, **self.arguments)


def execute(
    tasks: Sequence[Task], folder: Path, engine: Engine, report: PartProgress | None
) -> None:
    """Run all tasks; when it returns, their files are in ``folder``.

    Args:
        tasks: What to run; a task comes after those it needs.
        folder: The run's directory.
        engine: Where.
        report: Called as ``report(task, done, total)``.
    """
    progress = report or (lambda _task, _done, _total: None)
    if engine.in_process:
        for task in tasks:
            task(folder, partial(progress, task.name))
    elif tasks:
        with _client(engine) as client:
            _distribute(client, tasks, folder.resolve(), progress)


@contextmanager
def _client(engine: Engine) -> Iterator[Any]:
    """A client of the cluster, or of a temporary one on this machine."""
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise FoveateError(
            "several workers need the package distributed: pip install 'foveate[scale]'"
        ) from None
    with (
        tempfile.TemporaryDirectory() as scratch,
        dask.config.set(WORKERS | {"temporary-directory": scratch}),
    ):
        if engine.cluster is None:
            os.environ.setdefault("OMP_NUM_THREADS", "1")  # inherited by the workers
            with (
                LocalCluster(  # any free port: several may run at once
                    n_workers=engine.workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
                ) as cluster,
                Client(cluster) as client,
            ):
                yield client
            return
        try:
            client = Client(engine.cluster, timeout="10s")
        except (OSError, ValueError) as error:
            raise FoveateError(f"no Dask scheduler answers at {engine.cluster}: {error}") from None
        with client:
            yield client


def _distribute(client: Any, tasks: Sequence[Task], folder: Path, progress: PartProgress) -> None:
    """Submit all tasks, forward progress, and write files that are sent back as they arrive."""
    from distributed import as_completed

    topic = f"foveate-{uuid4().hex}"
    client.subscribe_topic(topic, lambda event: progress(*event[1]))
    mark = _mark(folder)
    needed_by_others = {name for task in tasks for name in task.after}
    futures: dict[str, Any] = {}
    present: dict[str, Any] = {}  # files of the run's directory, each sent once
    for task in tasks:
        for name in task.after:
            if name not in futures and name not in present:
                # As a task, not scattered: the scheduler repeats it where a worker is lost.
                key = f"{topic}-files of {name}"
                present[name] = client.submit(dict, _files(folder / name), key=key)
        futures[task.name] = client.submit(
            _perform,
            task,
            str(folder),
            mark,
            topic,
            {name: futures.get(name, present.get(name)) for name in task.after},
            send_files=task.name in needed_by_others,
            device=os.environ.get(VARIABLE),
            key=f"{topic}-{task.name}",
        )
    names = {future.key: name for name, future in futures.items()}
    try:
        for future in as_completed(list(futures.values())):
            name = names[future.key]
            _write(folder / name, _result(future, name))
    finally:
        client.cancel(list(futures.values()))


def _result(future: Any, name: str) -> dict[str, bytes]:
    from distributed.scheduler import KilledWorker

    try:
        return dict(future.result())
    except FoveateError:
        raise
    except KilledWorker:
        raise FoveateError(f"the workers that ran '{name}' were killed repeatedly") from None
    except Exception as error:
        raise FoveateError(f"'{name}' failed: {type(error).__name__}: {error}") from error


def _perform(
    task: Task,
    folder: str,
    mark: str,
    topic: str,
    needed: dict[str, dict[str, bytes]],
    send_files: bool = False,
    device: str | None = None,
) -> dict[str, bytes]:
    """On a worker: run the task, in the run's directory if it is visible, and return its files.

    Files that are in the run's directory are returned as well if other tasks need them: a worker
    that does not see the directory may run these.
    """
    import torch
    from distributed import get_worker

    worker = get_worker()
    torch.set_num_threads(max(1, worker.state.nthreads))
    last = [0.0]

    def progress(done: int, total: int) -> None:
        now = time.monotonic()
        if done == total or now - last[0] > PROGRESS_EVERY:
            last[0] = now
            worker.log_event(topic, (task.name, done, total))

    with use_device(device), tempfile.TemporaryDirectory() as scratch:
        if _mark(Path(folder)) == mark:
            task(Path(folder), progress)
            return _files(Path(folder) / task.name) if send_files else {}
        for name, files in needed.items():
            _write(Path(scratch) / name, files)
        task(Path(scratch), progress)
        return _files(Path(scratch) / task.name)


def _mark(folder: Path) -> str:
    """A token that differs between directories of the same path on different machines."""
    path = folder / ".mark"
    if folder.is_dir() and not path.exists():
        write_atomically(path, lambda file: file.write(uuid4().hex.encode()))
    return path.read_text() if path.exists() else ""


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # The record is written last: it marks the part as finished.
    for name in sorted(files, key=lambda name: name == "record.npz"):
        write_atomically(folder / name, files[name])
