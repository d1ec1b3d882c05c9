"""Jobs that wait to be asked: they hold no slot, go idle, and come back when they are asked."""

import subprocess
import sys

import pytest

from foveate.errors import FoveateError
from foveate.lab.requests import TextJob, TrainJob, UploadJob
from foveate.lab.server import sessions as sessions_module
from foveate.lab.server.session import trains_at_once
from foveate.lab.server.sessions import MAX_LOADING, Sessions

from .uploading import reached, send_file, table

LONG = 300  # seconds, for a worker that starts on a busy machine
# A worker with the real channel, without the libraries that reading a file needs; it goes idle
# after a moment instead of a quarter of an hour.
QUICK_WORKER = """
import os, sys
from foveate.lab.live import worker_channel
worker_channel.IDLE_SECONDS = float(sys.argv[1])
channel = worker_channel.WorkerChannel(*worker_channel.private_streams())
job = channel.receive_job()
channel.send("state", state="running")
channel.send("setup", view={"roles": job["roles"]}, seeds=[0], epochs=1)
try:
    while True:
        channel.send("state", state="ready")
        question = channel.next_question()
        channel.send("state", state="running")
        channel.send("answer", number=question["number"], begun=True)
except worker_channel.Idle:
    channel.send("state", state="idle")
os._exit(0)
"""


def quick_sessions(monkeypatch, seconds):
    """Jobs whose workers go idle after some seconds."""
    spawn = lambda: subprocess.Popen(  # noqa: E731
        [sys.executable, "-c", QUICK_WORKER, str(seconds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    monkeypatch.setattr(sessions_module, "_spawn_worker", spawn)
    return Sessions()


def wait_for(session, state):
    with session._changed:
        assert session._changed.wait_for(lambda: session.state == state, LONG)


SILENT = "import sys; [sys.exit() for line in sys.stdin if 'stop' in line]"


UPLOAD = UploadJob(path="bags.csv", name="bags.csv")


def test_an_unused_file_goes_idle_by_itself_and_comes_back_when_asked(monkeypatch):
    sessions = quick_sessions(monkeypatch, seconds=0.1)
    session = sessions.start(UPLOAD)
    wait_for(session, "idle")
    assert session.process.wait(LONG) == 0
    assert not session.training
    session.job = UPLOAD.model_copy(update={"roles": {"id": "bag"}})
    assert sessions.query(session, roles={})["begun"]
    assert session.setup["view"] == {"roles": {"id": "bag"}}
    sessions.close()


def test_a_worker_that_goes_idle_while_it_is_asked_is_replaced(monkeypatch):
    sessions = quick_sessions(monkeypatch, seconds=LONG)
    session = sessions.start(UPLOAD)
    wait_for(session, "ready")
    first = session.process
    session.send(do="idle")  # read before the question that follows
    assert sessions.query(session, roles={})["begun"]
    assert session.process is not first
    sessions.close()


def test_a_fit_of_a_file_takes_a_slot_and_a_refused_one_does_not(monkeypatch):
    monkeypatch.setattr(sessions_module, "MAX_RUNNING", 1)
    sessions = quick_sessions(monkeypatch, seconds=LONG)
    one, two = (sessions.start(UPLOAD) for _ in range(2))
    wait_for(one, "ready")
    wait_for(two, "ready")
    one.trains = True
    with pytest.raises(FoveateError, match="stop one of them"):
        sessions.query(two, trains=True, fit={})
    assert not two.training
    one.trains = False
    assert sessions.query(two, trains=True, fit={})["begun"]
    sessions.close()


def test_reading_and_loading_take_no_slot():
    assert trains_at_once(TrainJob())
    assert trains_at_once(TextJob())
    assert not trains_at_once(TextJob(path="saved"))
    assert not trains_at_once(UploadJob(path="x.csv", name="x.csv"))


def test_a_file_is_read_while_every_slot_is_taken_and_waits_to_be_fitted(
    client, train, until, monkeypatch
):
    monkeypatch.setattr(sessions_module, "MAX_RUNNING", 1)
    training = train(task="error-mode-1", paradigms=["soft"], seeds=1, epochs=5000)
    until(training, "running")
    name = send_file(client, "bags.csv", table(12)).json()["id"]
    reached(client, name, "ready")
    refused = client.post(f"/api/uploads/{name}/fit", json={})
    assert refused.status_code == 400
    assert "stop one of them" in refused.json()["error"]
    assert client.get(f"/api/jobs/{name}").json()["state"] == "ready"
    client.post(f"/api/jobs/{training}/stop")
    settings = {"paradigms": ["soft"], "seeds": 1, "epochs": 1}
    assert client.post(f"/api/uploads/{name}/fit", json=settings).json()["begun"]
    assert client.post("/api/jobs", json={"epochs": 1}).status_code == 400  # the fit has the slot
    client.post(f"/api/jobs/{name}/stop")


def test_few_files_are_read_at_a_time(monkeypatch):
    """Workers that never answer: as many as allowed are started, no more."""
    command = [sys.executable, "-c", SILENT]
    silent = lambda: subprocess.Popen(  # noqa: E731
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    monkeypatch.setattr(sessions_module, "_spawn_worker", silent)
    opened = Sessions()
    for _ in range(MAX_LOADING):
        opened.start(UPLOAD)
    with pytest.raises(FoveateError, match="are being loaded"):
        opened.start(UPLOAD)
    opened.close()


def test_waiting_files_go_idle_beyond_a_number_and_reopen_on_request(client, app, monkeypatch):
    monkeypatch.setattr(sessions_module, "MAX_READY", 1)
    sessions = app.state.sessions
    names = []
    for k in range(2):
        names.append(send_file(client, f"{k}.csv", table(12)).json()["id"])
        reached(client, names[-1], "ready")
    reached(client, names[0], "idle")
    assert client.get(f"/api/jobs/{names[1]}").json()["state"] == "ready"
    first = sessions.get(names[0])
    assert first.process.wait(LONG) == 0
    roles = {"bag": "bag", "label": "label", "a": "feature"}
    assert client.post(f"/api/uploads/{names[0]}/columns", json=roles).json()["begun"]
    view = reached(client, names[0], "ready")["setup"]["view"]
    assert view["description"]["columns"] == ["a"]
    for name in names:
        client.post(f"/api/jobs/{name}/stop")
