"""What a viewer costs a live training: the same training with and without one.

Four paradigms of 8 seeds on error mode 1. A viewer reads the stream of one member, details and
all. Told are epochs per second of the worker's own processor time, which does not depend on what
else the machine does, and of the clock; and how many updates a second the viewer saw.
"""

import argparse
import json
import os
import statistics
import threading
import time
from pathlib import Path

import httpx
import uvicorn

from foveate.lab.server.app import create_app
from foveate.lab.server.serving import bind_socket

JOB = {"paradigms": ["soft", "hard", "lvml", "hybrid"], "seeds": 8}
TICK = os.sysconf("SC_CLK_TCK")


def processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def once(client: httpx.Client, sessions: object, epochs: int, watched: bool) -> dict[str, float]:
    name = client.post("/api/jobs", json={**JOB, "epochs": epochs}).json()["id"]
    session = sessions.get(name)  # type: ignore[attr-defined]
    while session.history.epoch == 0:
        time.sleep(0.01)
    start = session.history.epoch, processor_seconds(session.process.pid), time.monotonic()
    frames = pictures = 0
    done = threading.Event()

    def look() -> None:
        nonlocal frames, pictures
        with client.stream("GET", f"/api/jobs/{name}/events", params={"seed": 4}) as stream:
            for line in stream.iter_lines():
                if line.startswith("data: ") and '"rows"' in line:
                    frames += 1
                    pictures += bool(json.loads(line[6:])["details"])
                if done.is_set():
                    return

    viewer = threading.Thread(target=look)
    if watched:
        viewer.start()
    while session.history.epoch < epochs * 0.9:
        time.sleep(0.02)
        end = session.history.epoch, processor_seconds(session.process.pid), time.monotonic()
    done.set()
    client.post(f"/api/jobs/{name}/stop")
    if watched:
        viewer.join()
    run = end[0] - start[0]
    return {
        "cpu": run / (end[1] - start[1]),
        "clock": run / (end[2] - start[2]),
        "frames": frames / (end[2] - start[2]),
        "pictures": pictures / (end[2] - start[2]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    app, listener = create_app(), bind_socket("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    results: dict[bool, list[dict[str, float]]] = {False: [], True: []}
    with httpx.Client(
        base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=60
    ) as client:
        for _ in range(options.rounds):
            for watched, rows in results.items():
                rows.append(once(client, app.state.sessions, options.epochs, watched))
    app.state.sessions.closed = True
    server.should_exit = True
    thread.join()
    for watched, rows in results.items():
        middle = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
        rates = f"{middle['cpu']:.2f} epochs per CPU second, {middle['clock']:.2f} by the clock"
        who = "with" if watched else "without"
        seen = f"{middle['frames']:.1f} updates a second, {middle['pictures']:.1f} with pictures"
        print(f"{who} a viewer: {rates}, {seen}")
    ratio = statistics.median(r["cpu"] for r in results[True]) / statistics.median(
        r["cpu"] for r in results[False]
    )
    print(f"a viewer costs {100 * (1 - ratio):.1f} % of the training's throughput")


if __name__ == "__main__":
    main()
