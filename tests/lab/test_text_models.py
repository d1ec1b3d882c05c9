"""Text models of the lab: what they answer is what the library reads."""

import numpy as np
import pytest
import torch

from foveate.errors import FoveateError
from foveate.lab.requests import TextJob
from foveate.lab.saved_models import load_saved_model, save_model, saved_models
from foveate.text.tokens import Vocabulary


@pytest.fixture(scope="module")
def reader(client):
    name = client.post("/api/text-models", json={"what": "texts", "steps": 20}).json()["id"]
    _ready(client, name)
    yield name
    client.post(f"/api/jobs/{name}/stop")


def _ready(client, name):
    import time

    for _ in range(1200):
        result = client.get(f"/api/jobs/{name}").json()
        if result["state"] in ("ready", "idle"):  # an idle one is restarted when it is asked
            return result
        assert result["state"] in ("starting", "running"), result["reason"]
        time.sleep(0.05)
    raise AssertionError("never ready")


def test_a_text_is_read(client, reader):
    text = client.get(f"/api/jobs/{reader}").json()["setup"]["view"]["examples"][0]
    result = client.post(f"/api/text-models/{reader}", json={"text": text}).json()
    assert result["tokens"] == text.split()
    assert sum(result["alpha"]) == pytest.approx(1, abs=0.01)
    assert all(0 <= beta <= 1 for beta in result["beta"])
    assert len(result["delta"]) == len(result["tokens"])
    assert 0.5 <= result["p"] <= 1
    assert all(result["known"])


def test_hostile_text_is_only_text(client, reader):
    text = "<script>alert(1)</script> \u0000 \U0001f600 ' OR 1=1"
    result = client.post(f"/api/text-models/{reader}", json={"text": text}).json()
    assert result["tokens"][0] == "<script>alert(1)</script>"
    assert not any(result["known"][:3])


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"text": ""}, "no word"),
        ({"text": "x" * 5000}, "text"),
        ({"nothing": 1}, "unknown setting"),
    ],
)
def test_unreadable_files_are_reported(client, reader, typed, words):
    answer = client.post(f"/api/text-models/{reader}", json=typed)
    assert answer.status_code == 400
    assert words in answer.json()["error"]


def test_only_what_is_offered_is_learnt_from(client):
    for corpus in ("../secrets", "made-up", "nothing"):
        answer = client.post("/api/text-models", json={"what": "texts", "corpus": corpus})
        assert answer.status_code == 400
        assert "to learn from" in answer.json()["error"]


def test_a_pair_is_aligned(client):
    job = {"what": "pairs", "corpus": "made-up", "steps": 20}
    name = client.post("/api/text-models", json=job).json()["id"]
    source, target = _ready(client, name)["setup"]["view"]["examples"][1]
    result = client.post(
        f"/api/text-models/{name}", json={"source": source, "target": target}
    ).json()
    client.post(f"/api/jobs/{name}/stop")
    assert result["source"] == source.split()
    for kind in ("attention", "ibm1"):
        rows = np.array(result[kind])
        assert rows.shape == (len(target.split()), len(source.split()))
        np.testing.assert_allclose(rows.sum(1), 1, atol=0.01)


def test_a_saved_model_gives_the_same_output_after_loading(client, reader, folder):
    query = {"text": "7 4 1 13 23 38"}
    before = client.post(f"/api/text-models/{reader}", json=query).json()
    session = client.get(f"/api/jobs/{reader}").json()
    name = session["result"]["model"]
    about = client.get("/api/text-models").json()["saved"][name]
    assert (about["what"], about["corpus"], about["steps"]) == ("texts", "keywords", 20)
    assert about["accuracy"] == pytest.approx(session["now"]["soft"]["accuracy"][0], abs=1e-4)
    again = client.post("/api/text-models", json={"model": name}).json()["id"]
    result = _ready(client, again)
    after = client.post(f"/api/text-models/{again}", json=query).json()
    client.post(f"/api/jobs/{again}/stop")
    assert result["result"] == {"model": name}
    assert result["epoch"] == 20
    assert {k: v for k, v in after.items() if k != "number"} == {
        k: v for k, v in before.items() if k != "number"
    }
    (folder / "lab-words" / "damaged").mkdir()
    (folder / "lab-words" / "damaged" / "about.json").write_text("{")
    assert name in client.get("/api/text-models").json()["saved"]


@pytest.mark.parametrize("name", ["../boxes", "..", "nothing", "damaged", "/etc"])
def test_kept_models_are_looked_up(client, name):
    answer = client.post("/api/text-models", json={"model": name})
    assert answer.status_code == 404
    assert "no such model" in answer.json()["error"]


def test_a_request_cannot_choose_a_path(client):
    answer = client.post("/api/text-models", json={"path": "/etc"})
    assert answer.status_code == 400
    assert "unknown setting" in answer.json()["error"]


def test_evidence_weights_belong_to_words(tmp_path, monkeypatch):
    monkeypatch.setenv("FOVEATE_RUNS", str(tmp_path))
    with torch.random.fork_rng(devices=[]):
        one, other = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    words = [Vocabulary(["a", "b"])]
    place = save_model(TextJob(), one, 0.5, words)
    assert saved_models()[place.name].path == place
    with pytest.raises(FoveateError, match="other words"):
        load_saved_model(place, other, [Vocabulary(["b", "a"])])
    load_saved_model(place, other, words)
    assert torch.equal(one.weight, other.weight)


def test_no_partial_files_are_left(tmp_path, monkeypatch):
    monkeypatch.setenv("FOVEATE_RUNS", str(tmp_path / "runs"))
    (tmp_path / "runs").write_text("a file where the folder of runs should be")
    with torch.random.fork_rng(devices=[]):
        model = torch.nn.Linear(3, 2)
    with pytest.raises(FoveateError, match="cannot save the model"):
        save_model(TextJob(), model, 0.5, [Vocabulary(["a"])])
    assert all(name.startswith("example-") for name in saved_models())


def test_offers_exist():
    from foveate.lab.server import text_models
    from foveate.text.corpora import PAIRS, TEXTS

    assert set(text_models.TEXTS) <= set(TEXTS.names())
    assert set(text_models.PAIRS) <= set(PAIRS.names())


@pytest.mark.parametrize(
    ("name", "text", "says", "word"),
    [
        ("example-imdb", "The acting was superb, a wonderful film.", "positive", "wonderful"),
        ("example-imdb", "A terrible, boring film. The worst.", "negative", "worst"),
        ("example-sms", "You have won a free prize! Call now to claim.", "spam", "claim"),
        ("example-sms", "Shall we meet for lunch, mom?", "ham", None),
    ],
)
def test_bundled_models_read_plain_sentences(client, monkeypatch, name, text, says, word):
    monkeypatch.delenv("FOVEATE_DATA", raising=False)
    assert client.get("/api/text-models").json()["saved"][name]["accuracy"] > 0.8
    session = client.post("/api/text-models", json={"model": name}).json()["id"]
    _ready(client, session)
    answer = client.post(f"/api/text-models/{session}", json={"text": text}).json()
    assert answer["says"] == says
    assert "." in answer["tokens"] or "." not in text
    if word is not None:
        assert answer["beta"][answer["tokens"].index(word)] > 0.5


def test_stored_readings_are_what_the_bundled_model_says(client):
    name = "example-sms"
    stored = client.get("/api/text-models/readings", params={"model": name}).json()["readings"]
    assert len(stored) >= 6
    session = client.post("/api/text-models", json={"model": name}).json()["id"]
    _ready(client, session)
    for text, reading in list(stored.items())[:2]:
        answer = client.post(f"/api/text-models/{session}", json={"text": text}).json()
        assert answer["tokens"] == reading["tokens"]
        assert answer["alpha"] == pytest.approx(reading["alpha"], abs=1e-3)
        assert answer["says"] == reading["says"]
    assert client.get("/api/text-models/readings").json() == {"readings": {}}
