"""Bags that do not fit into memory are read through a file that is mapped."""

import operator
import shutil

import numpy as np
import pyarrow as pa
import pytest
import torch
from pyarrow import parquet

from foveate.bags.mapped import is_mapped
from foveate.errors import FoveateError
from foveate.io import read_bags
from foveate.io.check import problems
from foveate.io.streamed_rows import RowReader

h5py = pytest.importorskip("h5py")

LENGTHS = (3, 1, 4, 2)
LABELS = "bag,label\nb0,sick\nb1,well\nb2,sick\nb3,well\n"


def arrays():
    chance = np.random.default_rng(0)
    return [chance.normal(size=(length, 6)).astype("float32") for length in LENGTHS]


def npy_folder(root):
    (root / "features").mkdir(parents=True)
    for k, x in enumerate(arrays()):
        np.save(root / "features" / f"b{k}.npy", x)
    (root / "labels.csv").write_text(LABELS)
    return root


def hdf5_folder(root):
    root.mkdir()
    for k, x in enumerate(arrays()):
        with h5py.File(root / f"b{k}.h5", "w") as file:
            file["features"] = x[None] if k == 1 else x
            file["coords"] = np.arange(2 * len(x)).reshape(-1, 2)
    (root / "labels.csv").write_text(LABELS)
    return root


def hdf5_groups(root):
    root.mkdir()
    with h5py.File(root / "all.h5", "w") as file:
        for k, x in enumerate(arrays()):
            file[f"b{k}/features"] = x
            file[f"b{k}/relevance"] = np.arange(len(x)) == 0
    (root / "labels.csv").write_text(LABELS)
    return root / "all.h5"


def zarr_folder(root):
    zarr = pytest.importorskip("zarr")
    root.mkdir()
    for k, x in enumerate(arrays()):
        zarr.open_group(str(root / f"b{k}.zarr"), mode="w")["features"] = x
    (root / "labels.csv").write_text(LABELS)
    return root


def zarr_groups(root):
    zarr = pytest.importorskip("zarr")
    root.mkdir()
    store = zarr.open_group(str(root / "all.zarr"), mode="w")
    for k, x in enumerate(arrays()):
        store.create_group(f"b{k}")["features"] = x
    (root / "labels.csv").write_text(LABELS)
    return root / "all.zarr"


LAYOUTS = [npy_folder, hdf5_folder, hdf5_groups, zarr_folder, zarr_groups]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FOVEATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FOVEATE_MEMORY", "1e-9")
    return tmp_path / "cache" / "banks"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_streamed_bags_are_those_in_memory(layout, tmp_path, cache, monkeypatch):
    path = layout(tmp_path / "set")
    streamed = read_bags(path)
    monkeypatch.setenv("FOVEATE_MEMORY", "1")
    loaded = read_bags(path)
    assert is_mapped(streamed.bag.bank)
    assert not is_mapped(loaded.bag.bank)
    assert torch.equal(loaded.bag.bank, torch.from_numpy(np.concatenate(arrays())))
    for one, other in ((streamed, loaded), (streamed.bag, loaded.bag)):
        for name in one.__dict__.keys() - {"bag", "x"}:
            first, second = getattr(one, name), getattr(other, name)
            same = torch.equal if isinstance(first, torch.Tensor) else operator.eq
            assert same(first, second), name
    for name in ("bank", "index"):
        assert torch.equal(getattr(streamed.bag, name), getattr(loaded.bag, name))
    assert [str(p) for p in problems(streamed)] == [str(p) for p in problems(loaded)]


def test_a_converted_file_is_used_again_until_the_files_change(tmp_path, cache, monkeypatch):
    path = npy_folder(tmp_path / "set")
    read_bags(path)
    converted = list(cache.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr("foveate.io.folders.load_plain", None)
        read_bags(path)
    assert list(cache.iterdir()) == converted
    np.save(path / "features" / "b0.npy", np.zeros((7, 6), "float32"))
    assert int(read_bags(path).bag.mask.sum()) == 7 + sum(LENGTHS[1:])
    assert len(list(cache.iterdir())) == 1  # the earlier content is gone


def test_missing_numbers_are_refused_and_nothing_is_left(tmp_path, cache):
    path = npy_folder(tmp_path / "set")
    np.save(path / "features" / "b2.npy", np.array([[1.0] * 6, [np.nan] * 6]))
    with pytest.raises(FoveateError, match=r"b2\.npy, row 1: a number is missing, .*FOVEATE_MEM"):
        read_bags(path)
    assert not list(cache.iterdir())


def test_bags_of_different_widths_are_refused(tmp_path, cache):
    path = npy_folder(tmp_path / "set")
    np.save(path / "features" / "b3.npy", np.zeros((2, 5)))
    with pytest.raises(FoveateError, match=r"b3\.npy: must have 2×6 numbers, got 2×5"):
        read_bags(path)


def test_a_bag_without_axes_is_refused(tmp_path, cache):
    path = npy_folder(tmp_path / "set")
    np.save(path / "features" / "b3.npy", np.array(1.0))
    with pytest.raises(FoveateError, match=r"b3\.npy: must have shape .*, got a single value"):
        read_bags(path)


@pytest.mark.parametrize("text", ["much", "0", "-1", "nan"])
def test_the_limit_of_memory_must_be_a_number(text, tmp_path, monkeypatch):
    path = npy_folder(tmp_path / "set")
    monkeypatch.setenv("FOVEATE_MEMORY", text)
    with pytest.raises(
        FoveateError, match=f"FOVEATE_MEMORY must be a number of GB above 0, got '{text}'"
    ):
        read_bags(path)


def test_a_damaged_zarr_store_is_named(tmp_path):
    pytest.importorskip("zarr")
    path = zarr_folder(tmp_path / "set")
    (path / "b1.zarr" / "zarr.json").write_text("{")
    with pytest.raises(FoveateError, match=r"b1\.zarr is not a whole Zarr store"):
        read_bags(path)


def parquet_table(path, *, shuffled=False, row_group_size=4, **more):
    """A row per segment; with ``shuffled`` the rows of bags are not one after another."""
    rows = [(bag, x.tolist()) for bag, xs in enumerate(arrays()) for x in xs]
    if shuffled:
        rows = [rows[i] for i in np.random.default_rng(1).permutation(len(rows))]
    bags = [bag for bag, _ in rows]
    table = {
        "bag": [f"b{bag}" for bag in bags],
        "label": [("sick", "well")[bag % 2] for bag in bags],
        "patient": [f"p{bag // 2}" for bag in bags],
        "embedding": [x for _, x in rows],
        "x": [float(i) for i in range(len(rows))],
        "y": [float(-i) for i in range(len(rows))],
        "relevance": [None if bag == 3 else int(x[0] > 0) for bag, x in rows],
        **more,
    }
    parquet.write_table(pa.table(table), path, row_group_size=row_group_size)
    return path


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("options", [{"places": ["x", "y"]}, {"segment": ["embedding", "x"]}])
def test_streamed_tables_are_those_in_memory(shuffled, options, tmp_path, cache, monkeypatch):
    monkeypatch.setattr("foveate.io.streamed_rows.BLOCK", 2**6 * 3)
    path = parquet_table(tmp_path / "bags.parquet", shuffled=shuffled)
    streamed = read_bags(path, **options)
    monkeypatch.setenv("FOVEATE_MEMORY", "1")
    loaded = read_bags(path, **options)
    assert is_mapped(streamed.bag.bank)
    assert not is_mapped(loaded.bag.bank)
    for one, other in ((streamed, loaded), (streamed.bag, loaded.bag)):
        for name in one.__dict__.keys() - {"bag", "x", "roles"}:
            first, second = getattr(one, name), getattr(other, name)
            same = torch.equal if isinstance(first, torch.Tensor) else operator.eq
            assert same(first, second), name
    for name in ("bank", "index"):
        assert torch.equal(getattr(streamed.bag, name), getattr(loaded.bag, name))
    assert [role[:2] for role in streamed.roles] == [role[:2] for role in loaded.roles]


def test_splits_and_errors_of_streamed_tables_name_rows(tmp_path, cache):
    (tmp_path / "set").mkdir()
    for split in ("train", "test"):
        parquet_table(tmp_path / "set" / f"{split}.parquet")
    assert set(read_bags(tmp_path / "set").split) == {"train", "test"}
    label = ["sick"] * 3 + ["well"] * 5 + ["sick", "sick"]
    path = parquet_table(tmp_path / "odd.parquet", label=[*label[:4], "sick", *label[5:]])
    with pytest.raises(FoveateError, match=r"row 6, column 'label': must be one for all rows"):
        read_bags(path)
    path = parquet_table(tmp_path / "short.parquet", embedding=[[1.0] * 6] * 9 + [[1.0]])
    with pytest.raises(FoveateError, match=r"row 10, column 'embedding': must hold 6 numbers"):
        read_bags(path)
    path = parquet_table(tmp_path / "text.parquet", size=["a"] * 10)
    with pytest.raises(FoveateError, match="column 'size': must hold numbers or lists of them"):
        read_bags(path, segment=["size"])


def roles_and_columns(path):
    bags = read_bags(path)
    return bags, [(*role,) for role in bags.roles], [problem.name for problem in problems(bags)]


@pytest.mark.parametrize("shuffled", [False, True])
def test_columns_have_the_roles_that_they_have_in_memory(shuffled, tmp_path, cache, monkeypatch):
    rows = range(48)
    table = {
        "bag": [f"b{i // 4}" for i in rows],
        "label": ["uv"[i // 4 % 2] for i in rows],
        "embedding": np.random.default_rng(0).normal(size=(48, 3)).tolist(),
        "site": [f"s{i // 8}" for i in rows],
        "hospital": [i // 16 for i in rows],
        "__index_level_0__": [3 * i for i in rows],
        "age": [0.5 * i for i in rows],
        "absent": pa.array([None] * 48, pa.float64()),
        "day": pa.array(rows, pa.int32()).cast(pa.date32()),
    }
    order = np.random.default_rng(2).permutation(48) if shuffled else np.arange(48)
    path = tmp_path / "bags.parquet"
    parquet.write_table(pa.table(table).take(order), path, row_group_size=9)
    monkeypatch.setattr("foveate.io.streamed_columns.ROWS", 4)
    streamed, roles, named = roles_and_columns(path)
    monkeypatch.setenv("FOVEATE_MEMORY", "1")
    loaded, roles_in_memory, named_in_memory = roles_and_columns(path)
    assert is_mapped(streamed.bag.bank)
    assert streamed.columns == loaded.columns
    assert loaded.columns == ("embedding[0]", "embedding[1]", "embedding[2]", "age")
    assert named.count("suspected-group") == 2
    assert roles == roles_in_memory
    assert named == named_in_memory
    assert torch.equal(streamed.bag.bank, loaded.bag.bank)


def test_numbers_as_texts_and_files_of_other_types_are_refused(tmp_path, cache):
    path = parquet_table(tmp_path / "text.parquet", x=[f"{i}.5" for i in range(10)])
    with pytest.raises(FoveateError, match="column 'x': holds numbers as texts"):
        read_bags(path)
    (tmp_path / "set").mkdir()
    parquet_table(tmp_path / "set" / "test.parquet")
    parquet_table(tmp_path / "set" / "train.parquet", x=[f"{i}.5" for i in range(10)])
    with pytest.raises(FoveateError, match=r"train\.parquet, column 'x': must be double as in"):
        read_bags(tmp_path / "set")


@pytest.mark.parametrize(
    ("name", "cells"), [("embedding", [None] + [[1.0] * 6] * 9), ("x", [None] + [1.0] * 9)]
)
def test_a_missing_number_of_a_streamed_table_is_named(name, cells, tmp_path, cache):
    path = parquet_table(tmp_path / "bags.parquet", **{name: cells})
    with pytest.raises(FoveateError, match=f"row 1, column '{name}': a number is missing, which"):
        read_bags(path)


def test_a_table_that_changes_while_it_is_read_is_refused(tmp_path, cache, monkeypatch):
    path = parquet_table(tmp_path / "bags.parquet")
    convert = RowReader.convert

    def changed(*arguments):
        convert(*arguments)
        parquet_table(path, y=[0.0] * 10)

    monkeypatch.setattr(RowReader, "convert", changed)
    with pytest.raises(FoveateError, match="changed while it was read"):
        read_bags(path)
    assert not list(cache.iterdir())


def test_parts_that_were_never_written_are_an_error(tmp_path):
    path = hdf5_folder(tmp_path / "set")
    with h5py.File(path / "b2.h5", "w") as file:
        stored = file.create_dataset("features", (4, 6), "f4", chunks=(2, 6))
        stored[:2] = 1
        file["coords"] = np.zeros((4, 2))
    found = problems(read_bags(path))
    assert [(p.severity, p.name) for p in found if "b2.h5" in p.where] == [
        ("error", "unwritten-parts")
    ]


def test_lost_chunks_of_zarr_are_an_error(tmp_path):
    zarr = pytest.importorskip("zarr")
    path = zarr_folder(tmp_path / "set")
    shutil.rmtree(path / "b1.zarr" / "features" / "c")
    assert zarr.open_group(str(path / "b1.zarr"), mode="r")["features"][0, 0] == 0
    found = problems(read_bags(path))
    assert [(p.severity, p.name) for p in found if "b1.zarr" in p.where] == [
        ("error", "unwritten-parts")
    ]
