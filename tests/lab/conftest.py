"""A lab on a free port, with a small race, a broken run and a hostile name in its folder."""

import json
import threading
import time

import httpx
import numpy as np
import pytest
import uvicorn

from foveate.jobs.race import start_race
from foveate.lab.server.app import create_app
from foveate.lab.server.serving import bind_socket
from foveate.records.record import Record
from foveate.training.plan import Race

from .uploading import reached, send_file, table

MILLION = 1_000_000
HOSTILE = "<img src=x onerror=window.hurt=1>"


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder of runs."""
    place = tmp_path_factory.mktemp("runs")
    race = Race(
        data="error-mode-1", paradigms=("soft", "hard"), seeds=2, n=200, n_test=60, epochs=4
    )
    start_race(race, out=place / "boxes")
    start_race(Race(data="digits", paradigms=("soft",), seeds=1, n=60, n_test=20, epochs=1),
               out=place / "digits")  # fmt: skip
    (place / "broken").mkdir()
    (place / "broken" / "manifest.json").write_text('{"kind": "race"')
    (place / HOSTILE).mkdir()
    manifest = json.loads((place / "boxes" / "manifest.json").read_text())
    del manifest["checksum"]
    manifest |= {"label": HOSTILE, "parts": [], "status": HOSTILE}
    (place / HOSTILE / "manifest.json").write_text(json.dumps(manifest))
    _long(place / "long", manifest)
    return place


def _long(place, manifest):
    """A run of a million measurements, one of them out of the way."""
    (place / "soft").mkdir(parents=True)
    manifest |= {"label": "long", "parts": ["soft"], "status": "done", "seeds": [0]}
    (place / "manifest.json").write_text(json.dumps(manifest))
    loss = np.ones((MILLION, 1), np.float32)
    loss[MILLION // 2] = 9.0
    meta = {"seeds": [0], "epochs_run": MILLION, "cpu_seconds": 1.0, "classifier_calls": [1]}
    accuracy = np.ones((MILLION, 1), np.float32)
    values = {"train_loss": loss, "accuracy": accuracy}
    Record(np.arange(MILLION), values, {}, meta).save(place / "soft" / "record.npz")


@pytest.fixture(scope="session")
def app():
    return create_app()


@pytest.fixture(scope="session")
def lab(folder, app):
    """The address of a lab that serves the folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FOVEATE_RUNS", str(folder))
        listener = bind_socket("127.0.0.1", 0)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        app.state.sessions.closed = True
        server.should_exit = True
        thread.join()
        listener.close()


@pytest.fixture(scope="session")
def client(lab):
    with httpx.Client(base_url=lab, timeout=60) as asking:
        yield asking


@pytest.fixture
def train(client):
    """Starts a training, and stops it when the test is over."""
    begun = []

    def begin(**job):
        answer = client.post("/api/jobs", json=job)
        assert answer.status_code == 201, answer.text
        begun.append(answer.json()["id"])
        return begun[-1]

    yield begin
    for name in begun:
        client.post(f"/api/jobs/{name}/stop")


FIT = {"paradigms": ["soft"], "seeds": 2, "epochs": 20, "absent": ["well"], "teach": True}


@pytest.fixture(scope="session")
def fitted(client):
    """A file that was sent, read, fitted and examined: what was read and what came of it."""
    name = send_file(client, "<b>my bags.csv", table()).json()["id"]
    read = reached(client, name, "ready")
    assert client.post(f"/api/uploads/{name}/fit", json=FIT).json()["begun"]
    job = reached(client, name, "done", "failed")
    assert job["state"] == "done", job["reason"]
    return read, job["result"]["run"]


@pytest.fixture
def until(client):
    """Waits until a training is in one of some states."""

    def wait(name, *states, seconds=300):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            result = client.get(f"/api/jobs/{name}").json()
            if result["state"] in states:
                return result
            time.sleep(0.05)
        raise AssertionError(f"still {result['state']} ({result['reason']}), not {states}")

    return wait
