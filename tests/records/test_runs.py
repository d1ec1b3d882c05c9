import json
import os

import numpy as np
import pytest

from foveate.errors import FoveateError
from foveate.records import runs
from foveate.records.record import UMASK, Record, save_arrays
from foveate.records.runs import create_run, list_runs, open_run, runs_folder


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FOVEATE_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def new(path=None, label="digits", **entries):
    return create_run(path, "race", label, **{"parts": ["soft", "hard"], "config": {}, **entries})


def record(value):
    return Record(np.array([0]), {"loss": np.array([[value]])}, meta={"seeds": [0]})


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_new_run_says_what_it_is(folder):
    run = new(config={"m": 3}, seeds=[0, 1])
    assert run.path.parent == folder
    assert run.name.startswith("race-digits-")
    assert open_run(run.path) == run
    manifest = json.loads((run.path / "manifest.json").read_text())
    assert len(manifest.pop("checksum")) == 64
    assert manifest == run.manifest
    assert manifest["config"] == {"m": 3}
    assert manifest["seeds"] == [0, 1]
    assert manifest["status"] == "running"
    assert not run.done
    assert set(manifest["versions"]) == {"python", "foveate", "torch", "numpy", "scikit-learn"}
    assert run.path.stat().st_mode & 0o777 == 0o777 & ~UMASK


def test_concurrent_runs_have_different_names(folder):
    names = [new().name for _ in range(3)]
    assert len(set(names)) == 3
    assert sorted(names) == sorted(os.listdir(folder))


def test_each_run_has_its_own_folder(tmp_path):
    run = new(tmp_path / "deep" / "er" / "mine")
    assert run.path == tmp_path / "deep" / "er" / "mine"
    assert files(tmp_path) == ["deep", "deep/er", "deep/er/mine", "deep/er/mine/manifest.json"]
    (tmp_path / "empty").mkdir()
    assert new(tmp_path / "empty").path == tmp_path / "empty"


def test_a_folder_with_something_in_it_is_refused(tmp_path):
    run = new(tmp_path / "mine")
    with pytest.raises(FoveateError, match=r"mine is not empty: go on with 'foveate resume'"):
        new(run.path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("dear")
    (tmp_path / "file").write_text("dear")
    for name in ("other", "file"):
        with pytest.raises(FoveateError, match=f"{name} is not empty: choose another"):
            new(tmp_path / name)
    assert (tmp_path / "other" / "thesis.txt").read_text() == "dear"
    assert (tmp_path / "file").read_text() == "dear"


def test_runs_in_unwritable_folders(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(FoveateError, match=r"cannot make the folder .*file"):
        new(tmp_path / "file" / "runs" / "mine")
    monkeypatch.setenv("FOVEATE_RUNS", str(tmp_path / "file"))
    with pytest.raises(FoveateError, match=r"cannot make the folder .*file"):
        new()

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(runs.tempfile, "mkdtemp", refuse)
    with pytest.raises(FoveateError, match=r"cannot write in .*: Permission denied"):
        new(tmp_path / "mine")
    assert files(tmp_path) == ["file"]


@pytest.mark.parametrize("failure", [PermissionError(13, "Permission denied"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["write_atomically", "os.replace"])
def test_a_run_appears_atomically(tmp_path, monkeypatch, failure, step):
    def fail(*args, **kwargs):
        raise failure

    monkeypatch.setattr(f"foveate.records.runs.{step}", fail)
    expected = FoveateError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        new(tmp_path / "mine")
    assert files(tmp_path) == []


def test_changes_to_the_manifest_are_on_disk(folder):
    run = new()
    later = run.update(status="done", sizes={"n": 3})
    assert later.done
    assert not run.done
    assert open_run(run.path).manifest == {**run.manifest, "status": "done", "sizes": {"n": 3}}


def test_parts_come_in_the_order_of_the_manifest():
    run = new()
    for name, value in (("hard", 2.0), ("soft", 1.0), ("unplanned", 3.0)):
        assert not run.has(name)
        record(value).save(run.part(name) / "record.npz")
        assert run.has(name)
    assert list(run.records()) == ["soft", "hard"]
    assert [float(r.last("loss")[0]) for r in run.records().values()] == [1.0, 2.0]
    with pytest.raises(FoveateError, match=r"there is no record at .*lvml"):
        run.record("lvml")


def test_the_gallery():
    run = new()
    assert run.gallery() == {}
    save_arrays(run.path / "gallery.npz", {"rows": np.array([3, 1])})
    assert run.gallery()["rows"].tolist() == [3, 1]
    (run.path / "gallery.npz").write_bytes(b"half")
    with pytest.raises(FoveateError, match=r"gallery\.npz is damaged"):
        run.gallery()


def test_a_run_is_opened_by_path_or_by_name(folder, monkeypatch, tmp_path):
    run = new()
    assert open_run(str(run.path)) == open_run(run.name) == run
    monkeypatch.chdir(tmp_path)
    other = new(tmp_path / run.name)  # what is here is meant before what is in the folder of runs
    assert open_run(run.name).path.resolve() == other.path


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, r"is not a run: it has no manifest\.json"),
        (b"", r"manifest\.json is damaged"),
        (b'{"kind": "race", ', r"manifest\.json is damaged"),
        (b"[]", r"manifest\.json is damaged"),
        (b"7", r"manifest\.json is damaged"),
        (b"\xff\xfe", r"manifest\.json is damaged"),
        (b"{}", "damaged: its entry 'kind' is missing"),
    ],
)
def test_a_damaged_manifest(tmp_path, content, sentence):
    (tmp_path / "mine").mkdir()
    if content is not None:
        (tmp_path / "mine" / "manifest.json").write_bytes(content)
    with pytest.raises(FoveateError, match=sentence) as caught:
        open_run(tmp_path / "mine")
    assert "\n" not in str(caught.value)


NEEDED = ["kind", "label", "status", "created", "parts", "config"]
USUAL = ["seeds", "versions", "resolved", "sizes", "seconds"]


def rewritten(key, value=...):
    """A run whose manifest has lost an entry, or has another in its place."""
    run = new(seeds=[0], resolved={}, sizes={}, seconds=0.0)
    manifest = {k: v for k, v in run.manifest.items() if k != key}
    (run.path / "manifest.json").write_text(
        json.dumps(manifest if value is ... else {**manifest, key: value})
    )
    return run.path


@pytest.mark.parametrize("key", NEEDED)
def test_a_manifest_without_what_it_needs(key):
    with pytest.raises(FoveateError, match=f"damaged: its entry '{key}' is missing or invalid$"):
        open_run(rewritten(key))


@pytest.mark.parametrize("key", [*NEEDED, *USUAL])
def test_a_manifest_with_something_else_in_its_place(key):
    text = key in ("kind", "label", "status", "created")
    for value in (None, 7 if text else "seven"):
        with pytest.raises(
            FoveateError, match=f"damaged: its entry '{key}' is missing or invalid$"
        ):
            open_run(rewritten(key, value))


@pytest.mark.parametrize("key", USUAL)
def test_a_manifest_may_go_without_the_rest(key):
    assert key not in open_run(rewritten(key)).manifest


def test_no_run_at_all(tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "nowhere", tmp_path / "file", "nowhere"):
        with pytest.raises(FoveateError, match=r"there is no run directory .*(nowhere|file)"):
            open_run(place)


def test_a_list_is_newest_first_and_passes_over_junk(folder):
    assert list_runs() == []  # no folder yet
    created = [new().name for _ in range(4)]
    old = new(folder / "zz-old").update(created="2001-01-01T00:00:00+00:00")
    (folder / "notes.txt").write_text("")
    (folder / "empty").mkdir()
    for name, content in (("broken", "{"), (".half", json.dumps(dict(old.manifest)))):
        (folder / name).mkdir()
        (folder / name / "manifest.json").write_text(content)
    assert [run.name for run in list_runs()] == [*reversed(created), "zz-old"]
    assert [run.name for run in list_runs(folder)] == [run.name for run in list_runs()]
    assert list_runs(folder / "empty") == []


def test_the_folder_of_runs(monkeypatch, tmp_path, folder):
    assert runs_folder() == folder
    monkeypatch.delenv("FOVEATE_RUNS")
    monkeypatch.chdir(tmp_path)
    assert str(runs_folder()) == "runs"
    assert new().path.resolve().parent == tmp_path / "runs"


def test_the_commit_is_that_of_the_source_or_none(monkeypatch):
    commit = new().manifest["commit"]
    assert commit is None or len(commit) == 40

    def no_git(*args, **kwargs):
        raise FileNotFoundError("git")

    monkeypatch.setattr(runs.subprocess, "run", no_git)
    assert new().manifest["commit"] is None


def test_no_temporary_files_remain(folder):
    run = new()
    run.update(status="done")
    assert os.listdir(run.path) == ["manifest.json"]
    assert os.listdir(folder) == [run.name]
