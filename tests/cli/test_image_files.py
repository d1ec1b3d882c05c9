"""A user's own images as data of a race."""

import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from foveate.records.runs import list_runs, open_run

from .typed import SOFT, complain, contents, succeed


def images(path, labels=6, per_label=12, bad=None):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (labels * per_label, 4, 4), dtype=np.uint8)
    if bad is not None:
        x = x.astype(float)
        x[bad] = np.nan
    np.savez(path, X=x, y=np.arange(len(x)) % labels)
    return path


def parquet(folder):
    folder.mkdir()
    rng, cells = np.random.default_rng(0), []
    for _ in range(60):
        file = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (4, 4), dtype=np.uint8)).save(file, "PNG")
        cells.append({"bytes": file.getvalue(), "path": None})
    table = pa.table({"image": cells, "kind": [k % 5 for k in range(60)]})
    pq.write_table(table, folder / "train-00000-of-00001.parquet")
    return folder


def test_user_files_are_cut_into_mosaics(workdir):
    path = images(workdir / "mine.npz")
    flags = [*SOFT, "--m", "3", "--foreground", "4,1", "--json"]
    answer = json.loads(succeed("race", path, *flags))
    assert answer["data"] == str(path)
    assert answer["m"] == 3
    run = open_run(answer["run"])
    assert run.name.startswith("race-mine-")
    assert run.manifest["sizes"]["classes"] == ["4", "1"]
    assert run.manifest["sizes"]["segment"] == [1, 4, 4]
    assert set(run.record("soft").final["y"].flatten().tolist()) == {0, 1}
    folder = parquet(workdir / "images")
    flags = [*SOFT, "--m", "3", "--foreground", "0,1,2", "--label", "kind", "--json"]
    answer = json.loads(succeed("race", "images", *flags))
    assert answer["data"] == str(folder)  # so that the run can be resumed from anywhere
    assert len(open_run(answer["run"]).manifest["sizes"]["classes"]) == 3


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ([], "the foreground labels of a path must be given: --foreground 0,1,2"),
        (["--foreground", "0"], "foreground must be two or more labels"),
        (["--foreground", "0,9"], "empty classes: no image in the train split"),
        (["--foreground", "0,1,2,3,4,5"], "no background is left"),
        (["--foreground", "cat,dog"], "foreground must be integers, got 'cat,dog'"),
        (["--foreground", "0,1", "--label", "kind"], "has no array 'kind': it holds X, y"),
        (["--foreground", "0,1", "--m", "1"], "m: input should be greater than or equal to 2"),
        (["--foreground", "0,1", "--net", "vr23"], "'vr23' reads 3×32×32 images"),
    ],
)
def test_files_that_do_not_fit_leaves_no_files(workdir, flags, sentence):
    path = images(workdir / "mine.npz")
    assert sentence in complain("race", path, *flags)
    assert contents(workdir).keys() == {"mine.npz"}


def test_pixels_that_are_not_numbers_are_found(workdir):
    path = images(workdir / "mine.npz", bad=17)
    assert "array 'X', row 17: must be finite" in complain("race", path, "--foreground", "0,1")
    (workdir / "half.npz").write_bytes(path.read_bytes()[:300])
    assert "half.npz is neither" in complain("race", "half.npz", "--foreground", "0,1")
    assert list_runs() == []
