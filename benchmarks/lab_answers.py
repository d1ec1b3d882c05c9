"""How long the lab takes to answer while a slider is dragged, alone and beside live trainings.

Every question differs from the one before it, as those of a slider do. Told are the middle and the
slowest twentieth by the clock, and the processor time of server and asker together, which does not
depend on what else the machine does.
"""

import argparse
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import uvicorn

from foveate.jobs.race import start_race
from foveate.lab.server.app import create_app
from foveate.lab.server.serving import bind_socket
from foveate.training.plan import Race

RACE = Race(data="error-mode-1", paradigms=("soft",), seeds=2, n=200, n_test=300, epochs=40)
JOB = {"paradigms": ["soft", "hard"], "seeds": 8, "epochs": 5000}
QUESTIONS: dict[str, Callable[[int], tuple[str, dict[str, str | int]]]] = {
    "flow": lambda k: ("/api/flow", {"m": 20 + k, "switch": 300 + k}),
    "best switch": lambda k: ("/api/flow/switch", {"m": 20 + k}),
    "a run, stepped through": lambda k: ("/api/run/heat", {"run": "boxes", "part": "soft",
                                                           "member": k % 2}),
}  # fmt: skip


def asked(client: httpx.Client, name: str, times: int) -> str:
    clock, processor = [], []
    for k in range(times):
        path, values = QUESTIONS[name](k)
        start = time.perf_counter(), time.process_time()
        client.get(path, params=values).raise_for_status()
        clock.append(1000 * (time.perf_counter() - start[0]))
        processor.append(1000 * (time.process_time() - start[1]))
    slow = statistics.quantiles(clock, n=20)[-1]
    return (
        f"{name}: {statistics.median(clock):.1f} ms by the clock ({slow:.1f} at worst in 19 of "
        f"20), {statistics.median(processor):.1f} ms of processor time"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--trainings", type=int, default=0, help="live trainings beside it, 0 to 3")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FOVEATE_RUNS"] = folder
        start_race(RACE, out=Path(folder) / "boxes")
        app, listener = create_app(), bind_socket("127.0.0.1", 0)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with httpx.Client(base_url=address, timeout=60) as client:
            for _ in range(options.trainings):
                client.post("/api/jobs", json=JOB).raise_for_status()
            for session in app.state.sessions.all():
                while session.history.epoch == 0 and not session.ended:
                    time.sleep(0.05)
            print(f"beside {options.trainings} live trainings")
            for name in QUESTIONS:
                print(asked(client, name, options.times))
        app.state.sessions.closed = True
        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    main()
