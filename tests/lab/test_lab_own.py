"""A user's file in the lab: kept, checked, fitted, examined, and what comes of it."""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from foveate.lab.server.uploaded_files import discard, files_folder, tidy
from foveate.records.runs import create_run


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


def dropped(folder):
    """The files that are kept; runs of other tests may have left theirs."""
    return set((folder / "lab-files").glob("*"))


def gone(folder, before):
    """Waits until no more files are kept than before."""
    for _ in range(200):
        if dropped(folder) <= before:
            return
        time.sleep(0.05)
    raise AssertionError("a file was left behind")


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
    origin = Path(
        json.loads((folder / run / "manifest.json").read_text())["data"]["origin"]["path"]
    )
    assert origin.read_bytes() == table()  # the run can be resumed and examined again
    discard(origin)
    assert origin.exists()
    shutil.rmtree(folder / run)
    discard(origin)
    assert not origin.exists()


def test_a_file_that_nobody_fits_goes(client, folder):
    before = dropped(folder)
    name = drop(client, "bags.csv", table(8)).json()["id"]
    reached(client, name, "ready")
    (kept,) = dropped(folder) - before
    assert kept.suffix == ".csv"
    client.post(f"/api/trainings/{name}/stop")
    gone(folder, before)


def test_what_a_lab_of_before_left_goes_once_it_is_old(tmp_path, monkeypatch):
    monkeypatch.setenv("FOVEATE_RUNS", str(tmp_path))
    old, young, named = (files_folder() / f"{name}.csv" for name in ("old", "young", "named"))
    for path in (old, young, named):
        path.write_text("bag,label,a\n")
    for path in (old, named):
        os.utime(path, (time.time() - 3 * 3600,) * 2)
    origin = {"path": str(named.resolve()), "columns": {}}
    create_run(tmp_path / "fit", "fit", "x", parts=[], config={}, data={"origin": origin})
    tidy()
    assert sorted(files_folder().iterdir()) == sorted([young, named])


@pytest.mark.parametrize("name", ["bags.exe", "bags", "../../etc/passwd", "x.pkl"])
def test_only_known_kinds_are_taken(client, folder, name):
    before = dropped(folder)
    answer = drop(client, name, b"x")
    assert answer.status_code == 400
    assert "must end in" in answer.json()["error"]
    assert dropped(folder) == before


def test_a_wrong_row_is_named_and_a_name_is_never_a_path(client, folder):
    before = {path for path in folder.rglob("*") if path.is_file()}
    content = b"bag,label,a\ns1,x,1\ns2,y,cat\n"
    name = drop(client, "../../../escape.csv", content).json()["id"]
    found = reached(client, name, "failed")
    assert "escape.csv" in found["why"]
    assert "cat" in found["why"]
    assert str(folder) not in found["why"]
    assert not list(folder.parent.glob("escape*"))
    gone(folder, before)
    assert {path for path in folder.rglob("*") if path.is_file()} == before  # of no use to anybody


def test_an_empty_file_is_refused(client):
    answer = drop(client, "bags.csv", b"")
    assert answer.status_code == 400
    assert "empty" in answer.json()["error"]


def test_only_what_waits_can_be_fitted(client):
    assert client.post("/api/own/nothing/fit", json={}).status_code == 404


def test_a_small_file_that_unpacks_to_too_much_is_refused_with_a_sentence(tmp_path):
    bomb = tmp_path / "bomb.npz"
    np.savez_compressed(bomb, X=np.zeros((40_000_000, 8), np.int8), bag=np.zeros(1), y=np.zeros(1))
    assert bomb.stat().st_size < 1_000_000
    script = f"""
from pathlib import Path
import foveate.io.check  # what a worker has loaded, before the limit is set
from foveate.errors import FoveateError
from foveate.lab.live import fit as owner
from foveate.lab.requests import OwnBags
from foveate.userdata.source import Origin
used = next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]
owner.MOST_MEMORY = 1024 * int(used) + (200 << 20)
try:
    job = OwnBags(path={str(bomb)!r}, name="bomb.npz")
    owner._bounded(Origin(Path(job.path), {{}}), job)
except FoveateError as error:
    print("said:", error)
"""
    if not Path("/proc/self/status").exists():
        pytest.skip("the system does not tell how much memory a process has")
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "said: bomb.npz" in run.stdout
    assert "allocate" in run.stdout or "unpacks to more than" in run.stdout
