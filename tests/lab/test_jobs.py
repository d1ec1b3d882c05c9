"""Live trainings: they stream, pause, step and stop, and outlive their viewers."""

import json
import os
import signal
import time

import numpy as np
import pytest
import torch

from foveate.attention.paradigms import Progress
from foveate.errors import FoveateError
from foveate.lab.live.class_status import class_status
from foveate.lab.live.tasks import prepared
from foveate.lab.live.trainer import Trainer
from foveate.lab.requests import TASKS, TrainJob
from foveate.training.evaluation import read_stack
from foveate.training.loop import fit

SMALL = {"task": "error-mode-1", "paradigms": ["soft", "hard"], "seeds": 3, "epochs": 6}
ENDLESS = {**SMALL, "epochs": 5000}


def heard(client, name, count=None, *, seed=0, after=0, last=None):
    """Events of a stream: until its end, or the first ``count`` of them."""
    events, states = [], {}
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    query = {"seed": seed, "after": after}
    with client.stream("GET", f"/api/jobs/{name}/events", params=query, headers=headers) as s:
        for line in s.iter_lines():
            key, _, value = line.partition(": ")
            if line:
                states[key] = value
                continue
            if "event" in states:
                events.append(
                    (int(states.get("id", 0)), states["event"], json.loads(states["data"]))
                )
                if states["event"] in ("end", "gap") or len(events) == count:
                    return events
            states = {}
    return events


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="module")
def finished(client):
    """A training that ran to its end, and all its events."""
    name = client.post("/api/jobs", json=SMALL).json()["id"]
    return name, heard(client, name, seed=1)


def test_what_is_streamed_is_what_the_library_trains(client, finished):
    name, events = finished
    assert [kind for _, kind, _ in events][:2] == ["state", "setup"]
    assert events[-2][2]["state"] == "done"
    job = TrainJob(**SMALL)
    ready = prepared(job)
    record = fit(ready.build, ready.train, ready.test, "hard", seeds=range(3), plan=ready.plan)
    reported = {"t": [], "ft": []}
    for _, kind, content in events:
        if kind == "frame":
            for key, rows in reported.items():
                rows.extend(content["rows"]["hard"][key])
    assert reported["t"] == record.t.tolist()
    np.testing.assert_allclose(reported["ft"], record.values["ft"], atol=1e-4)
    whole = client.get(f"/api/jobs/{name}", params={"seed": 1}).json()
    np.testing.assert_allclose(whole["now"]["hard"]["ft"], record.last("ft"), atol=1e-4)
    curve = np.array(whole["curves"]["hard"]["accuracy"])
    np.testing.assert_allclose(curve[:, 1], record.values["accuracy"][:, 1], atol=1e-4)


def test_a_reconnected_client_receives_missed_events(client, finished):
    name, events = finished
    numbers = [number for number, kind, _ in events if kind != "end"]
    assert numbers == sorted(set(numbers))
    middle = numbers[len(numbers) // 2]
    again = heard(client, name, seed=1, last=middle)
    assert again == [event for event in events if event[0] > middle or event[1] == "end"]


def test_a_client_that_missed_too_many_events_is_notified(client, finished, app):
    name, _ = finished
    session = app.state.sessions.get(name)
    whole = session._frames.copy()
    for _ in range(3):
        session._frames.popleft()
    assert heard(client, name, seed=1, after=1) == [(0, "gap", {})]
    assert heard(client, name, seed=1, after=3)[0][0] == 4
    session._frames = whole


def test_every_member_can_be_looked_at_after_the_end(client, finished):
    name, _ = finished
    for seed in range(3):
        result = client.get(f"/api/jobs/{name}", params={"seed": seed}).json()
        assert result["seed"] == seed
        for detail in result["details"].values():
            assert np.sum(detail["heat"]) == pytest.approx(1, abs=0.01)
            assert detail["sentence"]
            assert len(detail["classes"]) == 3


def test_pause_step_go_and_stop(client, train, until, app):
    name = train(**ENDLESS)
    until(name, "running")
    process = app.state.sessions.get(name).process.pid
    heard(client, name, 4)
    client.post(f"/api/jobs/{name}/pause")
    held = until(name, "paused")
    time.sleep(0.3)
    start = client.get(f"/api/jobs/{name}").json()["epoch"]
    assert client.get(f"/api/jobs/{name}").json()["epoch"] == start >= held["epoch"]
    client.post(f"/api/jobs/{name}/step")
    for _ in range(100):
        now = client.get(f"/api/jobs/{name}").json()
        if now["epoch"] > start:
            break
        time.sleep(0.05)
    assert now["epoch"] == start + 1
    assert now["state"] == "paused"
    client.post(f"/api/jobs/{name}/go")
    until(name, "running")
    for _ in range(100):
        if client.get(f"/api/jobs/{name}").json()["epoch"] > start + 1:
            break
        time.sleep(0.05)
    else:
        raise AssertionError("it did not go on")
    assert alive(process)
    client.post(f"/api/jobs/{name}/stop")
    assert client.get(f"/api/jobs/{name}").json()["state"] == "stopped"
    assert not alive(process)
    refused = client.post(f"/api/jobs/{name}/pause")
    assert refused.status_code == 400
    assert "has ended" in refused.json()["error"]


def test_three_trainings_ten_readers_and_a_killed_worker(client, train, until, app):
    names = [train(**ENDLESS) for _ in range(3)]
    refused = client.post("/api/jobs", json=SMALL)
    assert refused.status_code == 400
    assert "stop one of them in the list of jobs" in refused.json()["error"]
    for name in names:
        until(name, "running")
    for reader in range(10):
        assert heard(client, names[reader % 3], 3, seed=reader % 3)
    os.kill(app.state.sessions.get(names[0]).process.pid, signal.SIGKILL)
    assert "signal 9" in until(names[0], "failed")["reason"]
    before = client.get(f"/api/jobs/{names[1]}").json()["epoch"]
    assert client.get("/api/flow").status_code == 200
    events = heard(client, names[1], 3, after=client.get(f"/api/jobs/{names[1]}").json()["last"])
    assert max(content["epoch"] for _, kind, content in events if kind == "frame") > before


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ({"task": "nothing"}, "task"),
        ({"map": "nothing"}, "map"),
        ({"seeds": 1000}, "seeds"),
        ({"epochs": 10**9}, "epochs"),
        ({"minutes": 1e9}, "minutes"),
        ({"paradigms": ["direct"]}, "has no 'direct'"),
        ({"paradigms": ["soft", "soft"]}, "once"),
        ({"seeds": 48, "paradigms": ["soft", "hard", "lvml", "em", "logit"]}, "192 at most"),
        ({"path": "/etc/passwd"}, "unknown setting"),
    ],
)
def test_limits_are_reported(client, job, words):
    answer = client.post("/api/jobs", json=job)
    assert answer.status_code == 400
    assert words in answer.json()["error"]


def test_all_maps_are_offered(client):
    from foveate.attention.maps import MAPS

    assert client.get("/api/tasks").json()["maps"] == MAPS.names()


def test_time_is_limited(client, train, until):
    name = train(**ENDLESS, minutes=0.05)
    client.post(f"/api/jobs/{name}/pause")  # a paused job holds its slot
    result = until(name, "stopped")
    assert result["reason"] == "the allowed time is over"


def test_there_is_no_such_training(client):
    assert client.get("/api/jobs/../../x").status_code == 404
    assert client.get("/api/jobs/abc").status_code == 404
    assert client.post("/api/jobs/abc/stop").status_code == 404
    assert client.get("/api/jobs/abc/events").status_code == 404


@pytest.mark.parametrize("task", ["digits", "topic-words", "gaussians", "error-mode-3"])
def test_every_task_shows_its_members(task):
    trainer = Trainer(TrainJob(task=task, paradigms=("soft",), seeds=2, first=5, epochs=1))
    trainer.advance()
    setup, detail = trainer.frames.setup(), trainer.details([6])["6"]["soft"]
    json.dumps([setup, detail, trainer.news()], allow_nan=False)
    assert trainer.done
    assert len(detail["classes"]) == len(setup["classes"])
    if TASKS[task].kind == "plane":
        import base64

        assert len(base64.b64decode(detail["focus"])) == setup["cells"] ** 2
    else:
        assert len(detail["examples"]) == len(setup["examples"]) == 6
        np.testing.assert_allclose([sum(e["alpha"]) for e in detail["examples"]], 1, atol=0.01)


def test_the_heat_map_is_that_of_the_members_own_reading():
    """For a hybrid after its switch too, which is read as a hard model."""
    trainer = Trainer(TrainJob(paradigms=("hybrid",), seeds=2, epochs=5))
    z, y = trainer.frames.z, trainer.frames.y
    while not trainer.done:
        trainer.advance()
        training = trainer.trainings["hybrid"]
        progress = Progress(training.epoch - 1, 5, 1)
        rule = training.paradigms[1].phase(progress)
        reading = read_stack(training.stack, training.test, rule, torch.tensor([1]))
        cells = np.zeros((5, 5))
        for i in range(len(y)):
            a_z = float(reading.alpha[0, i].double().numpy()[z[i]].sum())
            p_y = float(reading.log_p[0, i, y[i]].double().exp())
            cells[min(4, int(5 * p_y)), min(4, int(5 * a_z))] += 1 / len(y)
        heat = trainer.details([1])["1"]["hybrid"]["heat"]
        np.testing.assert_allclose(heat, cells, atol=1e-4)


def test_topic_words_attend_by_softmax_alone():
    with pytest.raises(FoveateError, match="softmax"):
        prepared(TrainJob(task="topic-words", map="sparsemax"))


def test_the_focus_on_the_plane_is_the_focus_of_the_model():
    """The grid's first cell is the top left one, and bytes run from the lowest to the highest."""
    import base64

    trainer = Trainer(TrainJob(paradigms=("soft",), seeds=1, epochs=1))
    trainer.advance()
    setup, detail = trainer.frames.setup(), trainer.details([0])["0"]["soft"]
    model = trainer.trainings["soft"].stack.member(0)
    left, right, low, high = setup["frame"]
    step_x, step_y = (right - left) / setup["cells"], (high - low) / setup["cells"]
    levels = base64.b64decode(detail["focus"])
    for row, column in ((0, 0), (0, 39), (39, 0), (17, 23)):
        at = torch.tensor([[left + (column + 0.5) * step_x, high - (row + 0.5) * step_y]])
        with torch.no_grad():
            score = float(model.f(at))
            says = int(model.g(at).argmax())
        heat = detail["low"] + levels[40 * row + column] / 255 * (detail["high"] - detail["low"])
        assert heat == pytest.approx(score, abs=0.01 * (detail["high"] - detail["low"]))
        assert base64.b64decode(detail["regions"])[40 * row + column] == says


def test_which_class_is_read_from_the_background():
    y = np.array([0, 0, 1, 1])
    z = np.zeros((4, 3), bool)
    z[:, 0] = True
    alpha = np.array([[1.0, 0, 0], [1, 0, 0], [0, 0.8, 0.2], [0, 1, 0]])
    focused, correct = np.array([True, True, False, False]), np.ones(4, bool)
    result = class_status(("cat", "dog"), y, focused, correct, alpha, z, np.array([0.1, 0.9]))
    assert result.ft == (1.0, 0.0)
    assert result.accuracy == (1.0, 1.0)
    assert result.misplaced == (1,)
    assert result.verdict == "misplaced"
    assert "dog is read from the background" in result.sentence
    assert "100 % of the attention" in result.sentence
    assert "says dog most (mean probability 0.90)" in result.sentence


def test_spread_attention_is_called_an_average():
    y, z = np.array([0, 1]), np.eye(2, 4, dtype=bool)
    alpha = np.full((2, 4), 0.25)
    result = class_status(
        ("a", "b"), y, np.zeros(2, bool), np.ones(2, bool), alpha, z, np.ones(2) / 2
    )
    assert "read from its average" in result.sentence
    assert "2.0 of 2.0 bits" in result.sentence


def test_right_and_wrong_members_are_told_apart():
    y, z, alpha = np.array([0, 1]), np.eye(2, dtype=bool), np.eye(2)
    true, false = np.ones(2, bool), np.zeros(2, bool)
    sound = class_status(("a", "b"), y, true, true, alpha, z, np.ones(2) / 2)
    assert (sound.verdict, sound.misplaced) == ("focused", ())
    assert "right place" in sound.sentence
    wrong = class_status(("a", "b"), y, true, false, alpha, z, np.ones(2) / 2)
    assert wrong.verdict == "inaccurate"
    assert "0 % of held-out bags are answered right" in wrong.sentence
