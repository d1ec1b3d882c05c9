"""Slides as HDF5 files, one per bag."""

import sys

import numpy as np
import pytest

from foveate.errors import FoveateError
from foveate.io import read_bags

h5py = pytest.importorskip("h5py")

X = [np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([[7.0, 8.0]]), np.array([[9.0, 1.0]])]
Z = [0, 1, 0]
COORDS = [np.array([[0, 0], [0, 8], [8, 0]]), np.array([[0, 0]]), np.array([[16, 8]])]


def contents(collection):
    return [
        collection.bag.dense()[i][collection.bag.mask[i]].tolist() for i in range(len(collection))
    ]


def slides(root, *, extra=True):
    folder = root / "h5_files"
    folder.mkdir(parents=True)
    for name, x, c in zip(("s1", "s2", "s3"), X, COORDS, strict=True):
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file["features"] = x[None] if name == "s2" else x
            file["coords"] = c
    if extra:
        (root / "patches").mkdir()
        with h5py.File(root / "patches" / "s1_patches.h5", "w") as file:
            file["coords"] = COORDS[0]
    (root / "slides.csv").write_text(
        "case_id,slide_id,label\np1,s1.svs,tumour\np1,s2.svs,normal\np2,s3,tumour\np3,s9,x\n"
    )
    return folder


def test_hdf5_slides(tmp_path):
    slides(tmp_path / "set")
    collection = read_bags(tmp_path / "set")
    assert collection.ids == ("s1", "s2", "s3")
    assert contents(collection) == [x.tolist() for x in X]
    assert collection.classes == ("normal", "tumour")
    assert collection.bag.y.tolist() == [1, 0, 1]
    assert collection.groups == ("p1", "p2")
    assert collection.places.tolist() == np.concatenate(COORDS).tolist()
    assert collection.bag.z is None
    alone = read_bags(tmp_path / "set" / "h5_files" / "s2.h5", labelled=False)
    assert contents(alone) == [X[1].tolist()]


def test_hdf5_relevance(tmp_path):
    folder = slides(tmp_path / "set", extra=False)
    with h5py.File(folder / "s1.h5", "a") as file:
        file["patch_labels"] = np.array(Z)
    collection = read_bags(tmp_path / "set")
    assert collection.known.tolist() == [True, False, False]
    assert collection.bag.z[0].tolist() == [False, True, False]


def test_bad_hdf5_files_are_named(tmp_path, monkeypatch):
    folder = slides(tmp_path / "set", extra=False)
    with h5py.File(folder / "s3.h5", "w") as file:
        file["features"] = X[2]
    with pytest.raises(FoveateError, match=r"s3.h5 has no 'coords', which other files have"):
        read_bags(tmp_path / "set")
    with h5py.File(folder / "s3.h5", "w") as file:
        file["coords"] = COORDS[2]
    with pytest.raises(FoveateError, match=r"s3.h5 has no 'features': it holds coords"):
        read_bags(tmp_path / "set")
    with h5py.File(folder / "s3.h5", "w") as file:
        file["features"], file["coords"] = X[2], np.array([[16]])
    message = r"s3.h5: a segment must have 2 coordinates as in .*s1.h5, got 1"
    with pytest.raises(FoveateError, match=message):
        read_bags(tmp_path / "set")
    (folder / "s3.h5").write_bytes(b"half a file")
    with pytest.raises(FoveateError, match=r"s3.h5 is not a whole HDF5 file"):
        read_bags(tmp_path / "set")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(FoveateError, match=r"pip install 'foveate\[hdf5\]'"):
        read_bags(tmp_path / "set")
