"""One process per run; leftovers of killed writes are removed at the next start."""

import os
import subprocess
import sys
import time

import pytest

from foveate.errors import FoveateError
from foveate.records.locking import leftovers, lock_run, lock_temporary, remove_leftovers
from foveate.records.record import write_atomically
from foveate.records.runs import create_run

HOLD = """
import sys, time
from pathlib import Path
from foveate.records.locking import lock_run
with lock_run(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def hold(folder):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    return process


def test_two_processes_cannot_compute_one_run_and_a_dead_one_does_not_hold_it(tmp_path):
    process = hold(tmp_path)
    try:
        expected = rf"another process \(process {process.pid}\)"
        with pytest.raises(FoveateError, match=expected), lock_run(tmp_path):
            pass
    finally:
        process.kill()
        process.communicate()
    for _ in range(2):
        with lock_run(tmp_path):
            assert (tmp_path / ".lock").read_text() == f"process {os.getpid()}"
        assert (tmp_path / ".lock").read_bytes() == b""


def test_two_locks_in_one_process_exclude_each_other(tmp_path):
    refused = pytest.raises(FoveateError, match="another process")
    with lock_run(tmp_path), refused, lock_run(tmp_path):
        pass


def test_leftovers_of_killed_writes_are_removed(tmp_path):
    (tmp_path / "soft").mkdir()
    left = [tmp_path / ".manifest.json.ab12cd_9", tmp_path / "soft" / ".record.npz.zzzzzzzz"]
    stored = [tmp_path / "manifest.json", tmp_path / "soft" / "record.npz", tmp_path / ".hidden"]
    for path in (*left, *stored):
        path.touch()
    assert leftovers(tmp_path) == sorted(left)
    with lock_run(tmp_path):
        assert leftovers(tmp_path) == []
    assert all(path.exists() for path in stored)
    assert remove_leftovers(tmp_path) == []


def test_a_write_removes_what_killed_writes_of_the_same_file_left(tmp_path):
    dead, live = tmp_path / ".page.html.ab12cd_9", tmp_path / ".page.html.zzzzzzzz"
    others = [tmp_path / ".page.html", tmp_path / ".other.html.ab12cd_9", tmp_path / ".page.html.x"]
    for path in (dead, live, *others):
        path.touch()
    with live.open("rb") as being_written:
        lock_temporary(being_written.fileno())
        write_atomically(tmp_path / "page.html", b"new")
    assert (tmp_path / "page.html").read_bytes() == b"new"
    assert not dead.exists()
    assert live.exists()
    assert all(path.exists() for path in others)


def test_a_new_run_removes_what_a_killed_start_left(tmp_path):
    left = tmp_path / ".run.ab12cd_9"
    left.mkdir()
    (left / ".manifest.json.ab12cd_9").touch()
    create_run(tmp_path / "run", "race", "digits", parts=[], config={})
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_folder_entries_are_synced(tmp_path, monkeypatch):
    from foveate.records.record import write_atomically

    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(os.fstat(handle)), real(handle)))
    write_atomically(tmp_path / "a", b"x")
    assert [os.path.samestat(stat, tmp_path.stat()) for stat in synced] == [False, True]


def test_verifying_costs_little(tmp_path):
    """SHA-256 of a large checkpoint takes a fraction of writing it to disk."""
    import torch

    from foveate.records.checksums import verify_safetensors
    from foveate.records.record import save_checkpoint

    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(path, {"a": torch.zeros(1 << 22)}, {})
    content = path.read_bytes()
    start = time.process_time()
    verify_safetensors(path, content)
    assert time.process_time() - start < 0.5
