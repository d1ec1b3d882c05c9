"""Mistakes and damage end in one sentence and exit code 2, never in a traceback."""

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.torch import load_file, save_file

from cli.typed import contents
from foveate.cli import main
from foveate.errors import FoveateError
from foveate.io import read_bags
from foveate.userdata.prepare import Preparation

OLD = Path(__file__).parents[1] / "fixtures" / "runs"


def stopped(capsys, *command):
    with pytest.raises(SystemExit) as caught:
        main([str(part) for part in command])
    assert caught.value.code == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("foveate: ")
    assert captured.err.count("\n") == 1
    return captured.err


def test_a_closed_pipe_is_no_traceback():
    command = f"{sys.executable} -m foveate flow --points 200000 --json | head -c 10"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert len(done.stdout) == 10


@contextmanager
def as_ordinary_user():
    """Take away the privileges of root, who may write everywhere."""
    user = os.geteuid()
    os.seteuid(user or 65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_run_that_cannot_be_written_is_one_sentence(capsys):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        run = shutil.copytree(OLD / "race", Path(folder) / "race")
        (run / ".lock").mkdir()
        assert "cannot write in" in stopped(capsys, "resume", run)
        (run / ".lock").rmdir()
        before = contents(run)
        run.chmod(0o555)
        with as_ordinary_user():
            assert "race: Permission denied" in stopped(capsys, "resume", run)
        assert contents(run) == before


PADDED = {
    "x": np.ones((4, 2, 3)),
    "y": np.array([0, 1, 0, 1]),
    "mask": np.ones((4, 2), bool),
    "ids": np.array(list("abcd")),
    "columns": np.array(list("uvw")),
    "z": np.zeros((4, 2)),
    "known": np.ones(4, bool),
    "group": np.arange(4),
    "split": np.array(["train", "train", "test", "test"]),
    "coords": np.ones((4, 2, 2)),
}
RAGGED = {"x": np.ones((8, 3)), "y": np.array([0, 1]), "offsets": np.array([0, 4, 8])}
NAMED = {"x": np.ones((8, 3)), "y": np.array([0, 1]), "bag": np.repeat([0, 1], 4)}


@pytest.mark.parametrize(
    ("arrays", "name"),
    [(PADDED, name) for name in PADDED]
    + [(RAGGED, name) for name in RAGGED]
    + [(NAMED, name) for name in NAMED],
)
def test_an_array_without_axes_is_named(tmp_path, arrays, name):
    path = tmp_path / "bags.npz"
    np.savez(path, **arrays)
    read_bags(path)
    np.savez(path, **{**arrays, name: np.array(1.0)})
    with pytest.raises(FoveateError, match=f"array '{name}': must have at least one axis"):
        read_bags(path)


def test_an_archive_larger_than_memory_is_refused_by_its_header(tmp_path):
    path = tmp_path / "bags.npz"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**7, 10**6, 3)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", header.getvalue())
    with pytest.raises(FoveateError, match=r"would unpack to 240,000.0 GB, more than"):
        read_bags(path)


def test_text_that_is_not_utf8_in_parquet_is_named(tmp_path):
    good, bad = b"abcd", b"ab\xffd"
    texts = pa.array([good, bad, good, good]).cast(pa.binary())
    cells = pa.StringArray.from_buffers(4, texts.buffers()[1], texts.buffers()[2])
    numbers = pa.array([1.0, 2.0, 3.0, 4.0])
    for column in ("bag", "label", "note"):
        names = {"bag": pa.array(list("aabb")), "label": pa.array([0, 0, 1, 1]), "x": numbers}
        pq.write_table(pa.table({**names, column: cells}), tmp_path / "t.parquet")
        with pytest.raises(FoveateError, match=rf"row 2, column '{column}': must be UTF-8"):
            read_bags(tmp_path / "t.parquet")


LONG = "x" * 300


@pytest.mark.parametrize(
    "command",
    [
        ["check", LONG],
        ["fit", LONG],
        ["resume", LONG],
        ["report", LONG],
        ["trust", LONG],
        ["doctor", LONG],
        ["predict", LONG, "t.csv", "--out", "p.csv"],
        ["predict", "run", "t.csv", "--out", f"{LONG}.csv"],
        ["race", "digits", "--out", LONG, "--n", "40", "--n-test", "10", "--epochs", "1"],
        ["race", LONG],
    ],
)
def test_names_of_300_letters(command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stopped(capsys, *command)


def test_bags_and_classes_of_300_letters_are_fitted(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOVEATE_RUNS", str(tmp_path / "runs"))
    rng = np.random.default_rng(0)
    rows = [f"{LONG}{i},{LONG}{i % 2},{rng.normal()},{rng.normal()}" for i in range(30)]
    path = tmp_path / f"{'n' * 240}.csv"
    path.write_text(f"bag,label,{LONG},b\n" + "\n".join(row for row in rows for _ in range(2)))
    main(["fit", str(path), "--paradigms", "soft", "--seeds", "1", "--epochs", "1", "--folds", "1"])
    assert list((tmp_path / "runs").iterdir())


@pytest.mark.parametrize(("old", "new"), [("mean", "maen"), ("scale", "scael")])
def test_other_keys_in_a_preparation_are_named(tmp_path, old, new):
    path = shutil.copy(OLD / "fit" / "preparation.safetensors", tmp_path)
    tensors = load_file(path)
    tensors[new] = tensors.pop(old)
    save_file(tensors, path)
    with pytest.raises(FoveateError, match=r"preparation.safetensors is damaged: it lacks"):
        Preparation.load(Path(path))


def test_entries_missing_in_a_preparation_are_named(tmp_path):
    import torch

    path = shutil.copy(OLD / "fit" / "preparation.safetensors", tmp_path)
    tensors = load_file(path)
    meta = json.loads(tensors["meta.json"].numpy().tobytes())
    meta["clasess"] = meta.pop("classes")
    text = json.dumps(meta).encode()
    tensors["meta.json"] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
    save_file(tensors, path)
    with pytest.raises(FoveateError, match=r"it lacks a sound 'classes'"):
        Preparation.load(Path(path))


def test_a_number_of_points_must_be_whole(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    message = stopped(capsys, "flow", "--points", "3.7")
    assert "3.7" in message
    assert not list(tmp_path.iterdir())
