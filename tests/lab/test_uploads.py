"""A user's file in the lab: stored, checked, removed; what is refused."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from foveate.lab.server.upload_storage import (
    remove_stale_files,
    remove_unreferenced,
    uploads_folder,
)
from foveate.records.runs import create_run

from .uploading import reached, send_file, stored_files, table, wait_until_removed


def test_unused_uploads_are_removed(client, folder):
    before = stored_files(folder)
    name = send_file(client, "bags.csv", table(8)).json()["id"]
    reached(client, name, "ready")
    (kept,) = stored_files(folder) - before
    assert kept.suffix == ".csv"
    client.post(f"/api/jobs/{name}/stop")
    wait_until_removed(folder, before)


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


def test_a_file_is_removed_with_the_last_run_that_names_it(tmp_path, monkeypatch):
    monkeypatch.setenv("FOVEATE_RUNS", str(tmp_path))
    path = uploads_folder() / "bags.csv"
    path.write_text("bag,label,a\n")
    origin = {"path": str(path.resolve()), "columns": {}}
    create_run(tmp_path / "fit", "fit", "x", parts=[], config={}, data={"origin": origin})
    remove_unreferenced(path)
    assert path.exists()
    shutil.rmtree(tmp_path / "fit")
    remove_unreferenced(path)
    assert not path.exists()


@pytest.mark.parametrize("name", ["bags.exe", "bags", "../../etc/passwd", "x.pkl"])
def test_only_known_kinds_are_taken(client, folder, name):
    before = stored_files(folder)
    answer = send_file(client, name, b"x")
    assert answer.status_code == 400
    assert "must end in" in answer.json()["error"]
    assert stored_files(folder) == before


def test_a_wrong_row_is_named_and_a_name_is_never_a_path(client, folder):
    before = {path for path in folder.rglob("*") if path.is_file()}
    content = b"bag,label,a\ns1,x,1\ns2,y,cat\n"
    name = send_file(client, "../../../escape.csv", content).json()["id"]
    view = reached(client, name, "ready")["setup"]["view"]
    assert "escape.csv" in view["error"]
    assert str(folder) not in json.dumps(view)
    assert "--" not in view["error"]
    assert [column["name"] for column in view["columns"]] == ["bag", "label", "a"]
    assert not list(folder.parent.glob("escape*"))
    client.post(f"/api/jobs/{name}/stop")
    wait_until_removed(folder, before)
    assert {path for path in folder.rglob("*") if path.is_file()} == before


def test_an_empty_file_is_refused(client):
    answer = send_file(client, "bags.csv", b"")
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
