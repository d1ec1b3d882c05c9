"""Text models of the lab: what they answer is what the library reads."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def reader(client):
    name = client.post("/api/words", json={"what": "texts", "steps": 20}).json()["id"]
    _ready(client, name)
    yield name
    client.post(f"/api/trainings/{name}/stop")


def _ready(client, name):
    import time

    for _ in range(1200):
        found = client.get(f"/api/trainings/{name}").json()
        if found["state"] == "ready":
            return found
        assert found["state"] in ("starting", "running"), found["why"]
        time.sleep(0.05)
    raise AssertionError("never ready")


def test_a_text_is_read(client, reader):
    text = client.get(f"/api/trainings/{reader}").json()["stage"]["scene"]["examples"][0]
    found = client.post(f"/api/words/{reader}", json={"text": text}).json()
    assert found["tokens"] == text.split()
    assert sum(found["alpha"]) == pytest.approx(1, abs=0.01)
    assert all(0 <= beta <= 1 for beta in found["beta"])
    assert len(found["delta"]) == len(found["tokens"])
    assert 0.5 <= found["p"] <= 1
    assert all(found["known"])


def test_hostile_text_is_only_text(client, reader):
    text = "<script>alert(1)</script> \u0000 \U0001f600 ' OR 1=1"
    found = client.post(f"/api/words/{reader}", json={"text": text}).json()
    assert found["tokens"][0] == "<script>alert(1)</script>"
    assert not any(found["known"][:3])


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"text": ""}, "no word"),
        ({"text": "x" * 5000}, "text"),
        ({"nothing": 1}, "unknown setting"),
    ],
)
def test_what_cannot_be_read_is_said(client, reader, typed, words):
    answer = client.post(f"/api/words/{reader}", json=typed)
    assert answer.status_code == 400
    assert words in answer.json()["error"]


def test_only_what_is_offered_is_learnt_from(client):
    for corpus in ("../secrets", "made-up", "nothing"):
        answer = client.post("/api/words", json={"what": "texts", "corpus": corpus})
        assert answer.status_code == 400
        assert "to learn from" in answer.json()["error"]


def test_a_pair_is_aligned(client):
    job = {"what": "pairs", "corpus": "made-up", "steps": 20}
    name = client.post("/api/words", json=job).json()["id"]
    source, target = _ready(client, name)["stage"]["scene"]["examples"][1]
    found = client.post(f"/api/words/{name}", json={"source": source, "target": target}).json()
    client.post(f"/api/trainings/{name}/stop")
    assert found["source"] == source.split()
    for kind in ("attention", "ibm1"):
        rows = np.array(found[kind])
        assert rows.shape == (len(target.split()), len(source.split()))
        np.testing.assert_allclose(rows.sum(1), 1, atol=0.01)


def test_offers_exist():
    from foveate.corpora import PAIRS, TEXTS
    from foveate.lab import words

    assert set(words.TEXTS) <= set(TEXTS.names())
    assert set(words.PAIRS) <= set(PAIRS.names())
