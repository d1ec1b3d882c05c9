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

from foveate.io import read_bags
from foveate.lab.live.columns import suggest_absent
from foveate.lab.live.role_guess import guess_roles
from foveate.lab.server.fits import kinds_of_evidence
from foveate.lab.server.sessions import MAX_READY
from foveate.lab.server.upload_storage import (
    remove_stale_files,
    remove_unreferenced,
    uploads_folder,
)
from foveate.records.runs import create_run
from foveate.trust.grades import GRADES


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
    return client.post("/api/uploads", params={"name": name, **columns}, content=content)


def reached(client, name, *states):
    for _ in range(1600):
        found = client.get(f"/api/jobs/{name}").json()
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


def _check_fit(client, run):
    """The verdict, the recommendation, and bags with their ids, one of them edited."""
    fit = client.get("/api/fit", params={"run": run}).json()
    assert fit["chosen"] == "soft"
    assert fit["absent"] == ["well"]
    assert fit["verdicts"]["soft"]["grade"] in GRADES
    assert fit["recommendation"]["name"] == "soft"
    assert "--" not in json.dumps(fit["verdicts"])
    asked = {"run": run, "paradigm": "soft"}
    bags = client.get("/api/fit/bags", params=asked).json()["bags"]
    assert len(bags) == 18
    assert {bag["id"][0] for bag in bags} == {"s"}
    right = [bag["doubt"] or 0.0 for bag in bags if bag["right"]]
    assert right == sorted(right, reverse=True)
    assert all(bag["doubt"] is None for bag in bags if bag["says"] == "well")
    sick = next(bag for bag in bags if bag["says"] == "sick" and bag["right"])
    detail = client.get("/api/fit/bag", params={**asked, "row": sick["row"]}).json()
    assert sum(detail["alpha"]) == pytest.approx(1, abs=1e-5)
    top = sick["top"]
    assert detail["removal"][top] == pytest.approx(max(detail["removal"]))
    edit = {**asked, "row": sick["row"], "removed": [top]}
    edited = client.post("/api/fit/bag", json=edit).json()
    p_sick = detail["p"][detail["classes"].index("sick")]
    after = edited["p"][detail["classes"].index("sick")]
    assert p_sick - after == pytest.approx(detail["removal"][top], abs=1e-6)
    assert edited["alpha"][top] is None
    back = {**edit, "added": [[sick["row"], top]]}
    restored = client.post("/api/fit/bag", json=back).json()
    assert restored["p"] == pytest.approx(detail["p"], abs=1e-5)
    nothing = {**edit, "removed": list(range(4))}
    answer = client.post("/api/fit/bag", json=nothing)
    assert answer.status_code == 400
    assert "leave one in" in answer.json()["error"]
    assert client.get("/api/fit/bags", params={**asked, "paradigm": "x"}).status_code == 404


def _check_examined_again(client, run):
    """Another answer to what a class means changes the verdict, without a training."""
    answers = {"run": run, "absent": []}
    name = client.post("/api/fit/examine", json=answers).json()["id"]
    found = reached(client, name, "done", "failed")
    assert found["state"] == "done", found["reason"]
    assert "folder" not in found["job"]
    fit = client.get("/api/fit", params={"run": run}).json()
    assert fit["examinable"]
    assert (fit["absent"], fit["evidence"], fit["kinds"]) == ([], {}, [])
    bags = client.get("/api/fit/bags", params={"run": run, "paradigm": "soft"}).json()["bags"]
    assert any(bag["doubt"] is not None for bag in bags if bag["says"] == "well")
    wrong = client.post("/api/fit/examine", json={**answers, "evidence": {"sick": "C"}})
    assert wrong.status_code == 400
    bundled = client.post("/api/fit/examine", json={"run": "examples/fit-pumps"})
    assert bundled.status_code == 400
    assert "cannot be changed" in bundled.json()["error"]


def test_kinds_of_evidence_are_asked_about_by_their_examples():
    kinds = {"several": True, "chosen": None, "examples": {"A": [["s1", 0]], "B": [["s2", 3]]}}
    one = {"several": False, "chosen": None, "examples": {}}
    by_class = [
        {"name": name, "answers": {"kinds": of}} for name, of in (("sick", kinds), ("well", one))
    ]
    found = kinds_of_evidence({"soft": {"by_class": by_class}, "hard": {"by_class": by_class}})
    assert found == [{"class": "sick", "kinds": kinds["examples"]}]


def test_a_negated_class_is_suggested_as_absent(tmp_path):
    file = tmp_path / "birds.csv"
    rows = [f"r{i},{['wren', 'no wren'][i % 2]},{i + j}" for i in range(8) for j in range(2)]
    file.write_text("\n".join(["bag,label,a", *rows]))
    assert suggest_absent(read_bags(file))["name"] == "no wren"


def test_from_a_file_to_a_verdict(client, folder):
    name = drop(client, "<b>my bags.csv", table()).json()["id"]
    found = reached(client, name, "ready")
    view = found["setup"]["view"]
    assert found["job"]["name"] == "<b>my bags.csv"
    assert "path" not in found["job"]
    assert view["description"]["classes"] == {"sick": 45, "well": 45}
    assert view["problems"] == []
    assert view["absent"]["name"] == "well"
    wanted = {"paradigms": ["soft"], "seeds": 2, "epochs": 20, "absent": ["well"], "teach": True}
    assert client.post(f"/api/uploads/{name}/fit", json=wanted).json()["begun"]
    found = reached(client, name, "done", "failed")
    assert found["state"] == "done", found["reason"]
    run = found["result"]["run"]
    assert run.startswith("fit-_b_my bags")
    _check_fit(client, run)
    _check_examined_again(client, run)
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
    manifest = json.loads((folder / run / "manifest.json").read_text())
    assert manifest["config"]["supervise_focus"] == 1
    origin = Path(manifest["data"]["origin"]["path"])
    assert origin.read_bytes() == table()  # the run can be resumed and examined again
    remove_unreferenced(origin)
    assert origin.exists()
    shutil.rmtree(folder / run)
    remove_unreferenced(origin)
    assert not origin.exists()


def recordings():
    """New recordings of the bundled fit, without labels; two of them in other units."""
    chance = np.random.default_rng(1)
    rows = ["recording,pump,start,end,rms,peak,low,high,hiss"]
    for k in range(6):
        for j in range(10):
            values = chance.normal(0, 1, 5) * (1000 if k < 2 else 1)
            rows.append(f"n{k},new,{j},{j + 1},{','.join(f'{x:.3f}' for x in values)}")
    return "\n".join(rows).encode()


def test_new_bags_are_predicted_and_compared_with_training(client, folder):
    before = dropped(folder)
    asked = {"name": "new.csv", "run": "examples/fit-pumps", "paradigm": "soft"}
    answer = client.post("/api/uploads", params=asked, content=recordings())
    found = reached(client, answer.json()["id"], "done", "failed")
    assert found["state"] == "done", found["reason"]
    assert "folder" not in found["job"]
    result = found["result"]
    assert result["total"] == len(result["rows"]) == 6
    assert "label" not in result["rows"][0]
    assert {row["predicted"] for row in result["rows"]} <= {"bearing", "healthy", "leak"}
    assert result["unusual"] == 2
    assert any("column 'rms'" in words for words in result["warnings"])
    assert [row["bag"] for row in result["rows"] if "rms" in row["unusual"]] == ["n0", "n1"]
    gone(folder, before)
    other = {**asked, "paradigm": "nothing"}
    assert client.post("/api/uploads", params=other, content=b"bag\n").status_code == 404
    assert dropped(folder) <= before


def test_unused_uploads_are_removed(client, folder):
    before = dropped(folder)
    name = drop(client, "bags.csv", table(8)).json()["id"]
    reached(client, name, "ready")
    (kept,) = dropped(folder) - before
    assert kept.suffix == ".csv"
    client.post(f"/api/jobs/{name}/stop")
    gone(folder, before)


def test_old_files_of_an_earlier_lab_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("FOVEATE_RUNS", str(tmp_path))
    old, young, named = (uploads_folder() / f"{name}.csv" for name in ("old", "young", "named"))
    for path in (old, young, named):
        path.write_text("bag,label,a\n")
    for path in (old, named):
        os.utime(path, (time.time() - 30 * 3600,) * 2)
    origin = {"path": str(named.resolve()), "columns": {}}
    create_run(tmp_path / "fit", "fit", "x", parts=[], config={}, data={"origin": origin})
    remove_stale_files()
    assert sorted(uploads_folder().iterdir()) == sorted([young, named])


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
    view = reached(client, name, "ready")["setup"]["view"]
    assert "escape.csv" in view["error"]
    assert str(folder) not in json.dumps(view)
    assert "--" not in view["error"]
    assert [column["name"] for column in view["columns"]] == ["bag", "label", "a"]
    assert not list(folder.parent.glob("escape*"))
    client.post(f"/api/jobs/{name}/stop")
    gone(folder, before)
    assert {path for path in folder.rglob("*") if path.is_file()} == before


def test_roles_are_changed_without_sending_the_file_again(client):
    content = table(12).replace(b"bag,label,", b"patient,outcome,")
    name = drop(client, "bags.csv", content).json()["id"]
    view = reached(client, name, "ready")["setup"]["view"]
    roles = {column["name"]: column["role"] for column in view["columns"]}
    assert roles == {"patient": "bag", "outcome": "label", "a": "feature", "b": "feature",
                     "relevance": "relevance"}  # fmt: skip
    assert all(column["reason"] for column in view["columns"])
    assert view["columns"][0]["values"][0] == "s0"
    changed = {**roles, "b": "left out"}
    assert client.post(f"/api/uploads/{name}/columns", json=changed).json()["begun"]
    for _ in range(200):
        view = reached(client, name, "ready")["setup"]["view"]
        if view["description"]["columns"] == ["a"]:
            break
        time.sleep(0.05)
    assert view["description"]["columns"] == ["a"]
    twice = {**roles, "a": "label"}
    answer = client.post(f"/api/uploads/{name}/columns", json=twice)
    assert answer.status_code == 400
    assert "one column can be the label" in answer.json()["error"]
    client.post(f"/api/jobs/{name}/stop")


def test_a_column_that_is_left_out_is_not_read_whatever_it_is_called(client):
    rows = [f"s{k},{k % 2},p{k // 6},{1 - j},{k + j}" for k in range(24) for j in (0, 1)]
    content = "\n".join(["bag,label,group,relevance,a", *rows]).encode()
    name = drop(client, "bags.csv", content).json()["id"]
    view = reached(client, name, "ready")["setup"]["view"]
    assert view["description"]["groups"] == 4
    assert view["description"]["known"] == 1
    roles = {row["name"]: row["role"] for row in view["columns"]}
    roles |= {"group": "left out", "relevance": "left out"}
    client.post(f"/api/uploads/{name}/columns", json=roles)
    for _ in range(200):
        view = reached(client, name, "ready")["setup"]["view"]
        if view["description"]["groups"] is None:
            break
        time.sleep(0.05)
    assert view["description"]["groups"] is None
    assert view["description"]["known"] == 0
    assert {row["name"]: row["role"] for row in view["columns"]} == roles
    assert client.post(f"/api/jobs/{name}/stop").json()["state"] == "stopped"


def test_roles_are_guessed_from_values(tmp_path):
    file = tmp_path / "recordings.csv"
    rows = ["recording,fault,pump,start,end,rms,heard,remark"]
    for i in range(12):
        fault = ["bearing", "leak", "none"][i % 3]
        rows += [f"r{i},{fault},pump {i % 6},{j},{j + 1},{j / 7},{j % 2 if i < 3 else ''},w{i}{j}"
                 for j in range(3)]  # fmt: skip
    file.write_text("\n".join(rows))
    assert guess_roles(file) == {
        "recording": "left out", "fault": "label", "pump": "group", "start": "place",
        "end": "place", "rms": "feature", "heard": "relevance", "remark": "left out",
    } | {"recording": "bag"}  # fmt: skip
    file.write_text("a,b\n1,2\n3,4\n")
    assert guess_roles(file) == {}


def test_roles_of_texts_are_guessed_from_values(tmp_path):
    file = tmp_path / "posts.csv"
    posts = [f"p{i},{['rude', 'kind'][i % 2]},{i % 3},what {i} was said here" for i in range(12)]
    file.write_text("\n".join(["post,class,likes,comment", *posts]))
    whole = {"post": "bag", "class": "label", "likes": "left out", "comment": "text"}
    assert guess_roles(file) == whole
    rows = ["claim,article,verdict,line,sentence"]
    for i in range(12):
        verdict = ["supported", "refuted"][i % 2]
        rows += [f"{900 + i},page {i % 4},{verdict},{j},sentence {j} of page {i}" for j in range(3)]
    file.write_text("\n".join(rows))
    by_sentence = {"claim": "bag", "article": "group", "verdict": "label", "line": "left out"}
    assert guess_roles(file) == by_sentence | {"sentence": "text"}


def test_roles_of_claims_about_articles_are_guessed_from_values(tmp_path):
    """Lists are no cells; a claim is no name of a bag, although each is different."""
    file = tmp_path / "claims.jsonl"
    rows = [
        {"article": f"article {i % 4} says much more than a claim does", "label": i % 2,
         "claim": f"claim {i} is true", "spans": [i], "id": f"c{i}"}
        for i in range(12)
    ]  # fmt: skip
    file.write_text("\n".join(json.dumps(row) for row in rows))
    roles = {"article": "text", "label": "label", "claim": "left out", "spans": "left out"}
    assert guess_roles(file) == roles | {"id": "bag"}


def test_queued_files_use_no_training_slot_and_reopen_on_request(client, app, train, until):
    sessions = app.state.sessions
    names = []
    for k in range(MAX_READY + 1):
        names.append(drop(client, f"{k}.csv", table(12)).json()["id"])
        reached(client, names[-1], "ready", "idle")
    running = train(task="error-mode-1", paradigms=["soft"], seeds=1, epochs=5000)
    until(running, "running")
    states = [client.get(f"/api/jobs/{name}").json()["state"] for name in names]
    assert states.count("ready") <= MAX_READY
    assert states[0] == "idle"
    first = sessions.get(names[0])
    assert first.process.poll() is not None
    roles = {"bag": "bag", "label": "label", "a": "feature"}
    assert client.post(f"/api/uploads/{names[0]}/columns", json=roles).json()["begun"]
    view = reached(client, names[0], "ready")["setup"]["view"]
    assert view["description"]["columns"] == ["a"]
    for name in names:
        client.post(f"/api/jobs/{name}/stop")


def test_an_empty_file_is_refused(client):
    answer = drop(client, "bags.csv", b"")
    assert answer.status_code == 400
    assert "empty" in answer.json()["error"]


def test_only_what_waits_can_be_fitted(client):
    assert client.post("/api/uploads/nothing/fit", json={}).status_code == 404


def test_a_small_file_that_unpacks_to_too_much_is_refused_with_a_sentence(tmp_path):
    bomb = tmp_path / "bomb.npz"
    np.savez_compressed(bomb, X=np.zeros((40_000_000, 8), np.int8), bag=np.zeros(1), y=np.zeros(1))
    assert bomb.stat().st_size < 1_000_000
    script = f"""
from pathlib import Path
import foveate.io.check  # what a worker has loaded, before the limit is set
from foveate.errors import FoveateError
from foveate.lab.live import fit as owner
from foveate.lab.requests import UploadJob
from foveate.userdata.source import Origin
used = next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]
owner.MAX_MEMORY = 1024 * int(used) + (200 << 20)
try:
    job = UploadJob(path={str(bomb)!r}, name="bomb.npz")
    owner._read(Origin(Path(job.path), {{}}), job)
except FoveateError as error:
    print("said:", error)
"""
    if not Path("/proc/self/status").exists():
        pytest.skip("the system does not tell how much memory a process has")
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "bomb.npz" in run.stdout
    assert "allocate" in run.stdout or "unpacks to more than" in run.stdout
