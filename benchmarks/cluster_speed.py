"""A fit and a race over a Dask cluster of two local workers, against a cluster of one.

    python benchmarks/cluster_speed.py [--repeats 2]

Wall time of a job on a running cluster whose workers have imported what they need. Ratio = time
with one worker ÷ time with two, the smaller of fit and race; at least 1.67 means that two workers
take at most .6 of the time of one. ``busiest`` is the CPU time of the busiest of two workers over
that of the only one, which other programs on the machine change less.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, LocalCluster

import measuring
from foveate.io.arrays import from_arrays
from foveate.io.collection import Collection
from foveate.jobs.engine import Engine
from foveate.jobs.fit import start_fit
from foveate.jobs.race import start_race
from foveate.training.plan import Race
from foveate.userdata.settings import FitSettings

Job = Callable[[Engine, Path], object]


def bags(n: int = 200, m: int = 30, width: int = 32) -> Collection:
    """Bags of noise with one shifted segment."""
    chance = np.random.default_rng(0)
    x = chance.standard_normal((n, m, width)).astype("float32")
    x[:, 0, 0] += 4 * (np.arange(n) % 2)
    return from_arrays(list(x), [("no", "yes")[i % 2] for i in range(n)])


def jobs() -> dict[str, Job]:
    """A fit of two paradigms in four folds, and a race of five paradigms."""
    data = bags()
    settings = FitSettings(paradigms=("soft", "hard"), folds=4, epochs=30, patience=None)
    race = Race(data="digits", seeds=2, epochs=10)
    return {
        "fit": lambda engine, out: start_fit(data, settings, out, engine=engine),
        "race": lambda engine, out: start_race(race, out=out, engine=engine),
    }


def timed(job: Job, client: Client) -> tuple[float, float]:
    """Wall seconds of a job, and CPU seconds of the busiest worker."""
    before = client.run(time.process_time)
    with tempfile.TemporaryDirectory() as place:
        start = time.perf_counter()
        job(Engine(cluster=client.scheduler.address), Path(place) / "run")
        wall = time.perf_counter() - start
    after = client.run(time.process_time)
    return wall, max(after[worker] - before[worker] for worker in after)


def main() -> None:
    arguments = measuring.parser(__doc__)
    arguments.add_argument("--repeats", type=int, default=2)
    options = arguments.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    times: dict[tuple[str, int], list[tuple[float, float]]] = {}
    clients = {}
    for workers in (1, 2):
        cluster = LocalCluster(workers, threads_per_worker=1, dashboard_address="127.0.0.1:0")
        clients[workers] = Client(cluster)
    for repeat in range(options.repeats + 1):  # the first imports
        for name, job in jobs().items():
            for workers, client in clients.items():
                both = timed(job, client)
                if repeat:
                    times.setdefault((name, workers), []).append(both)
    for client in clients.values():
        client.shutdown()
    measuring.finish("fit and race over Dask", numbers(times), options.json)


def numbers(times: dict[tuple[str, int], list[tuple[float, float]]]) -> dict[str, Any]:
    """The smaller of two ratios, and all times."""
    wall = {key: statistics.median(w for w, _ in both) for key, both in times.items()}
    busy = {key: statistics.median(cpu for _, cpu in both) for key, both in times.items()}
    names = dict.fromkeys(name for name, _ in times)
    ratios = {name: wall[name, 1] / wall[name, 2] for name in names}
    return {
        "ratio": min(ratios.values()),
        "ratios": ratios,
        "busiest": {name: busy[name, 2] / busy[name, 1] for name in names},
        "seconds": {f"{name}, {workers} workers": value for (name, workers), value in wall.items()},
    }


if __name__ == "__main__":
    main()
