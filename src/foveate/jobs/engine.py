"""Where the parts of runs execute: in this process, in several here, or on a cluster.

A job names a function and what it is given, so that any machine with foveate can do it. It works in
a folder: the run's own where the worker sees it, so that a job whose worker was killed goes on from
its checkpoint on another; else in a temporary one, whose files travel back. What is finished is a
file in the run's folder, so a coordinator that was killed and started again repeats nothing.
"""

import importlib
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
from foveate.types import PartProgress

__all__ = ["Engine", "Job", "execute"]

TELL_EVERY = 0.2  # seconds between two reports of a job
WORKERS = {
    # Workers may start processes of their own, which daemons may not.
    "distributed.worker.daemon": False,
    # Dask has glibc give back freed memory at once; a step that has to get it again, page by page,
    # takes nearly twice as long. What is kept is what a process of its own would keep.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**26,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**25,
}


@dataclass(frozen=True)
class Engine:
    """Where jobs execute.

    Args:
        workers: Processes of this machine, one thread each; 1 is this process.
        cluster: Address of a Dask scheduler, "tcp://host:8786"; it wins over ``workers``.
    """

    workers: int = 1
    cluster: str | None = None

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise FoveateError(f"workers must be at least 1, got {self.workers}")

    @property
    def here(self) -> bool:
        """Whether jobs execute in this process."""
        return self.workers == 1 and self.cluster is None


@dataclass(frozen=True)
class Job:
    """One part of a run.

    Args:
        name: Its name, and that of its folder within the run's.
        target: The function that does it, "module:function", called as
            ``function(folder, name, tell=…, **arguments)`` with the run's folder.
        arguments: What else it is given.
        after: Names of the jobs whose files it needs.
    """

    name: str
    target: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    after: tuple[str, ...] = ()


def execute(jobs: Sequence[Job], folder: Path, engine: Engine, report: PartProgress | None) -> None:
    """Do all jobs; when it returns, their files are in ``folder``.

    Args:
        jobs: What to do; a job stands behind those it needs.
        folder: The run's folder.
        engine: Where.
        report: Called as ``report(job, done, total)``.
    """
    tell = report or (lambda _job, _done, _total: None)
    if engine.here:
        for job in jobs:
            _call(job, folder, partial(tell, job.name))
    elif jobs:
        with _client(engine) as client:
            _distribute(client, jobs, folder.resolve(), tell)


def _call(job: Job, folder: Path, tell: Callable[[int, int], None]) -> None:
    module, _, name = job.target.partition(":")
    getattr(importlib.import_module(module), name)(folder, job.name, tell=tell, **job.arguments)


@contextmanager
def _client(engine: Engine) -> Iterator[Any]:
    """A client of the cluster, or of one made here and taken down again."""
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
                LocalCluster(  # any free port, so that two of these get on
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


def _distribute(client: Any, jobs: Sequence[Job], folder: Path, tell: PartProgress) -> None:
    """Submit all jobs, pass reports on, and write files that come back as they come."""
    from distributed import as_completed

    topic = f"foveate-{uuid4().hex}"
    client.subscribe_topic(topic, lambda event: tell(*event[1]))
    mark = _mark(folder)
    needed_by_others = {name for job in jobs for name in job.after}
    futures: dict[str, Any] = {}
    for job in jobs:
        needed = {name: futures[name] for name in job.after if name in futures}
        there = {name: _files(folder / name) for name in job.after if name not in futures}
        futures[job.name] = client.submit(
            _perform,
            job,
            str(folder),
            mark,
            topic,
            needed,
            there,
            handed_on=job.name in needed_by_others,
            key=f"{topic}-{job.name}",
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
        raise FoveateError(f"the workers that did '{name}' were killed again and again") from None
    except Exception as error:
        raise FoveateError(f"'{name}' failed: {type(error).__name__}: {error}") from error


def _perform(
    job: Job,
    folder: str,
    mark: str,
    topic: str,
    needed: dict[str, dict[str, bytes]],
    there: dict[str, dict[str, bytes]],
    handed_on: bool = False,
) -> dict[str, bytes]:
    """On a worker: do the job, in the run's folder if it is the same here, and send files back.

    Files that are in the run's folder already go on to the jobs that need them all the same: a
    worker that does not see the folder may do these.
    """
    import torch
    from distributed import get_worker

    worker = get_worker()
    torch.set_num_threads(max(1, worker.state.nthreads))
    last = [0.0]

    def tell(done: int, total: int) -> None:
        now = time.monotonic()
        if done == total or now - last[0] > TELL_EVERY:
            last[0] = now
            worker.log_event(topic, (job.name, done, total))

    if _mark(Path(folder)) == mark:
        _call(job, Path(folder), tell)
        return _files(Path(folder) / job.name) if handed_on else {}
    with tempfile.TemporaryDirectory() as place:
        for name, files in (there | needed).items():
            _write(Path(place) / name, files)
        _call(job, Path(place), tell)
        return _files(Path(place) / job.name)


def _mark(folder: Path) -> str:
    """What tells a run's folder from another that has the same path on another machine."""
    path = folder / ".mark"
    if folder.is_dir() and not path.exists():
        write_atomically(path, lambda file: file.write(uuid4().hex.encode()))
    return path.read_text() if path.exists() else ""


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # The record comes last: where it is, the part is whole.
    for name in sorted(files, key=lambda name: name == "record.npz"):
        write_atomically(folder / name, files[name])
