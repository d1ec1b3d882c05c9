"""A user's file in the lab is fitted and examined; new bags are predicted."""

import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from foveate.lab.server.fits import kinds_of_evidence
from foveate.lab.server.upload_storage import remove_unreferenced
from foveate.records.checksums import read_json
from foveate.records.runs import open_run
from foveate.trust.grades import GRADES

from ..cli.typed import succeed
from .uploading import reached, stored_files, table, wait_until_removed


def test_a_file_is_described_before_it_is_fitted(fitted):
    job, run = fitted
    view = job["setup"]["view"]
    assert job["job"]["name"] == "<b>my bags.csv"
    assert "path" not in job["job"]
    assert view["description"]["classes"] == {"sick": 45, "well": 45}
    assert view["problems"] == []
    assert view["absent"]["name"] == "well"
    assert run.startswith("fit-_b_my bags")


def test_the_verdict_the_recommendation_and_bags_with_ids(client, fitted):
    _, run = fitted
    fit = client.get("/api/fit", params={"run": run}).json()
    assert fit["chosen"] == "soft"
    assert fit["absent"] == ["well"]
    assert fit["verdicts"]["soft"]["grade"] in GRADES
    assert fit["recommendation"]["name"] == "soft"
    assert "--" not in json.dumps(fit["verdicts"])
    query = {"run": run, "paradigm": "soft"}
    bags = client.get("/api/fit/bags", params=query).json()["bags"]
    assert len(bags) == 18
    assert {bag["id"][0] for bag in bags} == {"s"}
    right = [bag["doubt"] or 0.0 for bag in bags if bag["right"]]
    assert right == sorted(right, reverse=True)
    assert all(bag["doubt"] is None for bag in bags if bag["says"] == "well")


def test_a_bag_is_edited(client, fitted):
    _, run = fitted
    query = {"run": run, "paradigm": "soft"}
    bags = client.get("/api/fit/bags", params=query).json()["bags"]
    sick = next(bag for bag in bags if bag["says"] == "sick" and bag["right"])
    detail = client.get("/api/fit/bag", params={**query, "row": sick["row"]}).json()
    assert sum(detail["alpha"]) == pytest.approx(1, abs=1e-5)
    top = sick["top"]
    assert detail["removal"][top] == pytest.approx(max(detail["removal"]))
    edit = {**query, "row": sick["row"], "removed": [top]}
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
    assert client.get("/api/fit/bags", params={**query, "paradigm": "x"}).status_code == 404


def test_another_answer_to_what_a_class_means_needs_no_training(client, folder, fitted):
    run = f"{fitted[1]} again"
    shutil.copytree(folder / fitted[1], folder / run)
    answers = {"run": run, "absent": []}
    name = client.post("/api/fit/examine", json=answers).json()["id"]
    job = reached(client, name, "done", "failed")
    assert job["state"] == "done", job["reason"]
    assert "folder" not in job["job"]
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
    kinds_by_class = kinds_of_evidence(
        {"soft": {"by_class": by_class}, "hard": {"by_class": by_class}}
    )
    assert kinds_by_class == [{"class": "sick", "kinds": kinds["examples"]}]


def test_pages_and_tables_of_a_fit(client, fitted):
    _, run = fitted
    for page in ("report", "trust", "evidence"):
        answer = client.get("/api/run/report", params={"run": run, "page": page})
        assert answer.status_code == 200
        assert "sandbox" in answer.headers["content-security-policy"]
        assert "<b>my" not in answer.text
    bags = client.get("/api/run/table", params={"run": run, "name": "bags"}).text
    assert len(list(csv.DictReader(io.StringIO(bags)))) == 18  # a fifth is held out
    segments = client.get("/api/run/table", params={"run": run, "name": "segments"})
    assert "attachment" in segments.headers["content-disposition"]
    assert len(segments.text.splitlines()) == 1 + 4 * 18
    assert client.get("/api/run", params={"run": run}).status_code == 200


def test_the_verdict_equals_that_of_the_command_line(client, folder, fitted, tmp_path):
    """The same file with the same settings, fitted and examined by ``foveate``."""
    file, out = tmp_path / "bags.csv", tmp_path / "run"
    file.write_bytes(table())
    settings = ["--folds", 1, "--paradigms", "soft", "--seeds", 2, "--epochs", 20]
    succeed("fit", file, *settings, "--supervise-focus", 1, "--choose", "attention",
            "--absent", "well", "--out", out)  # fmt: skip
    lab, command = open_run(folder / fitted[1]), open_run(out)
    assert lab.manifest["scores"] == command.manifest["scores"]
    (in_lab,) = read_json(lab.path / "trust.json")["found"]
    (by_command,) = read_json(command.path / "trust.json")["found"]
    assert in_lab["verdict"]["grade"] in GRADES
    folds = ", or fit with --folds"  # the page has no folds to choose
    assert in_lab == json.loads(json.dumps(by_command).replace(folds, ""))


def test_the_uploaded_file_is_kept_for_the_run(folder, fitted):
    manifest = json.loads((folder / fitted[1] / "manifest.json").read_text())
    assert manifest["config"]["supervise_focus"] == 1
    origin = Path(manifest["data"]["origin"]["path"])
    remove_unreferenced(origin)
    assert origin.read_bytes() == table()  # the run can be resumed and examined again


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
    before = stored_files(folder)
    query = {"name": "new.csv", "run": "examples/fit-pumps", "paradigm": "soft"}
    answer = client.post("/api/uploads", params=query, content=recordings())
    job = reached(client, answer.json()["id"], "done", "failed")
    assert job["state"] == "done", job["reason"]
    assert "folder" not in job["job"]
    result = job["result"]
    assert result["total"] == len(result["rows"]) == 6
    assert "label" not in result["rows"][0]
    assert {row["predicted"] for row in result["rows"]} <= {"bearing", "healthy", "leak"}
    assert result["unusual"] == 2
    assert any("column 'rms'" in words for words in result["warnings"])
    assert [row["bag"] for row in result["rows"] if "rms" in row["unusual"]] == ["n0", "n1"]
    wait_until_removed(folder, before)
    other = {**query, "paradigm": "nothing"}
    assert client.post("/api/uploads", params=other, content=b"bag\n").status_code == 404
    assert stored_files(folder) <= before
