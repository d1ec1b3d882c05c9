"""A user's file in the lab: kept, checked, fitted, examined, and what comes of it."""

import csv
import io
import time

import numpy as np
import pytest


def table(bags=90):
    chance = np.random.default_rng(0)
    file = io.StringIO()
    write = csv.writer(file)
    write.writerow(["bag", "label", "a", "b", "relevance"])
    for k in range(bags):
        sick, place = k % 2, chance.integers(4)
        for j in range(4):
            relevant = int(sick and j == place)
            write.writerow([f"s{k}", ["well", "sick"][sick], *chance.normal(4 * relevant, 0.5, 2),
                            relevant])  # fmt: skip
    return file.getvalue().encode()


def drop(client, name, content, **columns):
    return client.post("/api/own", params={"name": name, **columns}, content=content)


def reached(client, name, *states):
    for _ in range(1600):
        found = client.get(f"/api/trainings/{name}").json()
        if found["state"] in states:
            return found
        time.sleep(0.05)
    raise AssertionError(f"still {found['state']}: {found['why']}")


def test_from_a_file_to_a_verdict(client, folder):
    name = drop(client, "<b>my bags.csv", table()).json()["id"]
    found = reached(client, name, "ready")
    scene = found["stage"]["scene"]
    assert found["job"]["name"] == "<b>my bags.csv"
    assert "path" not in found["job"]
    assert scene["description"]["classes"] == {"sick": 45, "well": 45}
    assert scene["problems"] == []
    wanted = {"paradigms": ["soft"], "seeds": 2, "epochs": 20}
    assert client.post(f"/api/own/{name}/fit", json=wanted).json()["begun"]
    found = reached(client, name, "done", "failed")
    result = found["result"]
    assert result["chosen"] == "soft", found["why"]
    assert result["verdict"]["grade"] in ("trust", "trust with care", "do not trust", "cannot tell")
    assert {row["name"] for row in result["by_class"]} == {"sick", "well"}
    run = result["run"]
    assert run.startswith("fit-_b_my bags")
    for page in ("report", "trust", "evidence"):
        answer = client.get("/api/run/report", params={"run": run, "page": page})
        assert answer.status_code == 200
        assert "sandbox" in answer.headers["content-security-policy"]
        assert "<b>my" not in answer.text
    rows = list(csv.DictReader(io.StringIO(
        client.get("/api/run/table", params={"run": run, "name": "bags"}).text)))  # fmt: skip
    assert len(rows) == 18  # a fifth is held out
    kept = client.get("/api/run/table", params={"run": run, "name": "segments"})
    assert "attachment" in kept.headers["content-disposition"]
    assert len(kept.text.splitlines()) == 1 + 4 * 18
    assert client.get("/api/run", params={"run": run}).status_code == 200
    import shutil

    shutil.rmtree(folder / run)


@pytest.mark.parametrize("name", ["bags.exe", "bags", "../../etc/passwd", "x.pkl"])
def test_only_known_kinds_are_taken(client, folder, name):
    before = sorted((folder / "lab-files").glob("*")) if (folder / "lab-files").exists() else []
    answer = drop(client, name, b"x")
    assert answer.status_code == 400
    assert "must end in" in answer.json()["error"]
    after = sorted((folder / "lab-files").glob("*")) if (folder / "lab-files").exists() else []
    assert after == before


def test_a_wrong_row_is_named_and_a_name_is_never_a_path(client, folder):
    before = {path for path in folder.rglob("*") if path.is_file()}
    content = b"bag,label,a\ns1,x,1\ns2,y,cat\n"
    name = drop(client, "../../../escape.csv", content).json()["id"]
    found = reached(client, name, "failed")
    assert "escape.csv" in found["why"]
    assert "cat" in found["why"]
    assert str(folder) not in found["why"]
    new = {path for path in folder.rglob("*") if path.is_file()} - before
    assert {path.parent.name for path in new} == {"lab-files"}
    assert not list(folder.parent.glob("escape*"))


def test_an_empty_file_is_refused(client):
    answer = drop(client, "bags.csv", b"")
    assert answer.status_code == 400
    assert "empty" in answer.json()["error"]


def test_only_what_waits_can_be_fitted(client):
    assert client.post("/api/own/nothing/fit", json={}).status_code == 404
