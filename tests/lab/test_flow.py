"""What the page shows of flows is what the library says."""

import time

import numpy as np
import pytest

from foveate.dynamics import vr23
from foveate.dynamics.vr23_table import flow_record, flow_rows
from foveate.lab.server.flow import flow, flow_with_incentives
from foveate.lab.server.flow_answer import flow_answer, incentive_events


@pytest.mark.parametrize(
    ("m", "classes", "until", "alpha", "switch"),
    [(20, 20, 1000.0, None, None), (5, 3, 80.0, None, 30.0), (8, 4, 50.0, 0.3, None)],
)
def test_the_answer_is_the_librarys(client, m, classes, until, alpha, switch):
    asked = {"m": m, "classes": classes, "until": until, "alpha": alpha, "switch": switch}
    given = {k: v for k, v in asked.items() if v is not None}
    found = client.get("/api/flow", params={**given, "points": 40}).json()["curves"]
    curves = flow_record(m, classes, until, alpha, switch, 40)
    for name, rows in flow_rows(curves).items():
        if name == "t":
            assert found["t"] == rows
        else:
            assert {k: v for k, v in found[name].items() if k not in ("incentive", "rest")} == rows


def test_incentives_are_minus_the_slope_of_the_loss(client):
    found = client.get("/api/flow", params={"m": 6, "classes": 5, "until": 60, "switch": 20})
    found = found.json()["curves"]
    step = 1e-6
    for name, rows in found.items():
        if name == "t":
            continue
        mu, alpha = np.array(rows["mu"]), np.array(rows["alpha"])
        t = np.array(found["t"])
        slopes = {
            rule: -(vr23.losses(rule, mu, alpha + step, 5) - vr23.losses(rule, mu, alpha - step, 5))
            / (2 * step)
            for rule in vr23.PARADIGMS
        }
        wanted = np.where(t <= 20, slopes["soft"], slopes["hard"]) if name == "hybrid" else (
            slopes[name]
        )  # fmt: skip
        np.testing.assert_allclose(rows["incentive"], wanted, atol=1e-6)


def test_descent_follows_the_flow(client):
    asked = {"m": 6, "classes": 5, "until": 60}
    descent = client.get("/api/flow/descent", params={**asked, "steps": 300}).json()
    exact = client.get("/api/flow", params={**asked, "points": 301}).json()["curves"]
    np.testing.assert_allclose(descent["t"], exact["t"], atol=1e-9)
    for name in vr23.PARADIGMS:
        for key in ("mu", "nu", "alpha", "loss"):
            top = np.abs(exact[name][key]).max()
            assert np.abs(np.array(descent[name][key]) - exact[name][key]).max() < 0.02 * top


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/api/flow?m=1", "m must be from 2"),
        ("/api/flow?points=999999", "points must be at most"),
        ("/api/flow?until=-1", "until must be a time above 0"),
        ("/api/flow/descent?m=500&classes=500", "lower m or C"),
        ("/api/flow/descent?until=1e9", "too long to follow"),
        ("/api/flow/descent?steps=0", "steps must be from 1"),
    ],
)
def test_mistakes_are_one_sentence(client, path, words):
    answer = client.get(path)
    assert answer.status_code == 400
    assert words in answer.json()["error"]


def test_unreadable_files_are_reported(client):
    answer = client.get("/api/flow?m=cat")
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("m: ")


def test_a_slider_can_follow():
    """Under 50 ms for an answer, as a rule, in the time that its thread had a processor."""
    took = []
    for m in range(20, 140, 10):
        start = time.thread_time()
        assert flow(m=m, switch=300.0).status_code == 200
        took.append(time.thread_time() - start)
    assert np.median(took) < 0.05


def test_the_best_switch_is_the_librarys(client):
    asked = {"m": 6, "classes": 5, "until": 150}
    found = client.get("/api/flow/switch", params=asked).json()
    assert (found["switch"], found["loss"]) == vr23.best_switch(6, 5, 150)
    curves = client.get("/api/flow", params={**asked, "points": 50}).json()["curves"]
    assert found["final"]["hard"]["loss"] == pytest.approx(curves["hard"]["loss"][-1])
    assert found["final"]["soft"]["alpha"] == pytest.approx(curves["soft"]["alpha"][-1])
    assert found["final"]["hybrid"]["loss"] == pytest.approx(found["loss"])
    others = []
    for switch in np.linspace(0, 150, 61):
        mu, nu = vr23.hybrid([150.0], 6, 5, float(switch))
        others.append(float(vr23.losses("hard", mu, vr23.share(nu, 6), 5)[0]))
    assert found["loss"] <= min(others) + 1e-9
    assert found["gain"] == pytest.approx(1 - found["loss"] / min(others[0], others[-1]))
    assert found["gain"] > 0


def test_the_answer_names_when_the_incentive_peaks_and_dies():
    rows = flow_with_incentives(20, 20, 3000.0, None, None, 400)
    t, delta = np.array(rows["t"]), np.array(rows["soft"]["incentive"])
    peak, dead = incentive_events(delta)
    assert delta[peak] == delta.max()
    assert delta[dead] <= 0.1 * delta[peak] < delta[dead - 1]
    answer = flow_answer(rows)
    assert f"peaks at t = {t[peak]:.3g}" in answer
    assert f"below a tenth of that from t = {float(f'{t[dead]:.3g}'):,g} on" in answer
    assert f"leaves {100 * rows['hard']['rest'][-1]:.2f}\u00a0%" in answer


def test_a_growing_incentive_is_not_reported_as_vanishing():
    rows = flow_with_incentives(20, 20, 30.0, None, None, 50)
    assert "has not stopped yet" in flow_answer(rows)
    rows = flow_with_incentives(20, 20, 1000.0, None, None, 50)
    assert incentive_events(np.array(rows["soft"]["incentive"])).dead is None
    assert "of that at t = 1,000" in flow_answer(rows)
