"""Parquet files: what goes in comes out, decoded once, or an error says where it went wrong."""

import io
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from foveate.data.files.parquet import read_column, read_parquet, split_files
from foveate.errors import FoveateError

Write = Callable[..., Path]
Draw = Callable[..., np.ndarray]


def encoded(image: Image.Image, form: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


# Parquet


def test_images_and_labels_come_back(tmp_path: Path, write_parquet: Write, pictures: Draw) -> None:
    grey, colour = pictures(7, 5, 4), pictures(7, 5, 4, 3)
    one = write_parquet(tmp_path / "grey.parquet", list(grey), [3, 0, 1, 2, 2, 1, 0])
    bank = read_parquet([one])
    assert torch.equal(bank.x, torch.from_numpy(grey)[:, None])
    assert bank.y.tolist() == [3, 0, 1, 2, 2, 1, 0]
    two = write_parquet(
        tmp_path / "colour.parquet", list(colour), range(7), image="img", label="fine_label"
    )
    bank = read_parquet([two], "fine_label")
    assert torch.equal(bank.x, torch.from_numpy(colour).permute(0, 3, 1, 2))
    assert bank.x.dtype == torch.uint8
    assert bank.y.dtype == torch.int64


def test_the_parts_of_a_split_follow_one_another(
    tmp_path: Path, write_parquet: Write, pictures: Draw
) -> None:
    x = pictures(6, 3, 3)
    for part in range(2):
        rows = slice(3 * part, 3 * part + 3)
        name = f"data/train-0000{part}-of-00002.parquet"
        write_parquet(tmp_path / name, list(x[rows]), [part] * 3, names=["a", "b"])
    write_parquet(tmp_path / "data/test-00000-of-00001.parquet", list(x[:1]), [0])
    files = split_files(tmp_path)
    bank = read_parquet(files["train"])
    assert torch.equal(bank.x[:, 0], torch.from_numpy(x))
    assert (bank.y.tolist(), bank.name(1), bank.name(5)) == ([0, 0, 0, 1, 1, 1], "b", "5")
    assert [file.name for file in files["test"]] == ["test-00000-of-00001.parquet"]


@pytest.mark.parametrize(
    ("names", "splits"),
    [
        (["train-0.parquet", "validation-0.parquet"], {"train": 1, "test": 1}),
        (["train-0.parquet", "test-0.parquet", "validation-0.parquet"], {"train": 1, "test": 1}),
        (["plain/train/0.parquet", "plain/train/1.parquet", "plain/test/0.parquet"], None),
        (["a.parquet", "b.parquet"], {"all": 2}),
        (["training.parquet", "testimony.parquet"], {"all": 2}),
        (["train-0.parquet", "undecided-0.parquet"], {"all": 1}),
        (["test-0.parquet"], {"all": 1}),
    ],
)
def test_files_find_their_split(
    tmp_path: Path, names: list[str], splits: dict[str, int] | None
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    result = {split: len(files) for split, files in split_files(tmp_path).items()}
    assert result == (splits or {"train": 2, "test": 1})


def test_all_kinds_of_images_become_bytes(tmp_path: Path, write_parquet: Write) -> None:
    colour = Image.new("RGB", (4, 3), (250, 0, 10))
    images = [
        encoded(Image.new("L", (4, 3), 77), "PNG"),
        encoded(colour, "WEBP", lossless=True),
        encoded(colour.convert("P", palette=Image.Palette.ADAPTIVE), "PNG"),
        encoded(colour, "BMP"),
        encoded(Image.new("1", (4, 3), 1), "PNG"),
        encoded(Image.new("RGBA", (4, 3), (1, 2, 3, 0)), "PNG"),
    ]
    bank = read_parquet([write_parquet(tmp_path / "mixed.parquet", images, range(6))])
    assert bank.x.shape == (6, 3, 3, 4)
    assert bank.x[:, :, 1, 2].tolist() == [
        [77, 77, 77],
        [250, 0, 10],
        [250, 0, 10],
        [250, 0, 10],
        [255, 255, 255],
        [1, 2, 3],
    ]


# the cache


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for every image that Pillow opens."""
    calls: list[int] = []
    real = Image.open

    def counting(*args: object, **options: object) -> Image.Image:
        calls.append(1)
        return real(*args, **options)

    monkeypatch.setattr(Image, "open", counting)
    return calls


@pytest.fixture
def five(tmp_path: Path, write_parquet: Write, pictures: Draw) -> Path:
    return write_parquet(tmp_path / "five.parquet", list(pictures(5, 8, 8, 3)), range(5))


def test_images_are_decoded_once(
    five: Path, cache: Path, opened: list[int], new_process: Callable[[], None]
) -> None:
    first = read_parquet([five])
    assert len(opened) == 5
    assert read_parquet([five]).x is first.x
    new_process()
    second = read_parquet([five])
    assert len(opened) == 5
    assert second.x is not first.x
    assert torch.equal(second.x, first.x)
    assert [file.suffix for file in (cache / "images").iterdir()] == [".npy"]


@pytest.mark.parametrize("harm", [b"", b"junk", b"\x93NUMPY\x01\x00"])
def test_a_corrupt_cache_file_is_rebuilt(
    five: Path, cache: Path, opened: list[int], new_process: Callable[[], None], harm: bytes
) -> None:
    first = read_parquet([five])
    (stored,) = (cache / "images").iterdir()
    whole = stored.read_bytes()
    for broken in (harm, whole[:-1], whole[:90]):
        stored.write_bytes(broken)
        new_process()
        opened.clear()
        assert torch.equal(read_parquet([five]).x, first.x)
        assert len(opened) == 5
        assert stored.read_bytes() == whole


def test_an_array_of_another_set_is_not_taken(
    five: Path, cache: Path, new_process: Callable[[], None]
) -> None:
    first = read_parquet([five])
    (stored,) = (cache / "images").iterdir()
    np.save(stored, np.zeros((4, 3, 8, 8), np.uint8))
    new_process()
    assert torch.equal(read_parquet([five]).x, first.x)


def test_a_changed_file_is_read_again(five: Path, write_parquet: Write, pictures: Draw) -> None:
    read_parquet([five])
    changed = pictures(5, 8, 8, 3, seed=1)
    stat = five.stat()
    write_parquet(five, list(changed), range(5))
    os.utime(five, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert torch.equal(read_parquet([five]).x, torch.from_numpy(changed).permute(0, 3, 1, 2))


def test_reading_works_without_a_cache_directory(
    five: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pictures: Draw
) -> None:
    (tmp_path / "occupied").write_text("a file where the directory should be")
    monkeypatch.setenv("FOVEATE_CACHE", str(tmp_path / "occupied"))
    bank = read_parquet([five])
    assert torch.equal(bank.x, torch.from_numpy(pictures(5, 8, 8, 3)).permute(0, 3, 1, 2))


def test_the_cache_is_where_the_user_says(
    five: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FOVEATE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    read_parquet([five])
    assert len(list((tmp_path / "xdg" / "foveate" / "images").iterdir())) == 1


# errors of Parquet files


def test_missing_columns_are_listed(tmp_path: Path, write_parquet: Write, pictures: Draw) -> None:
    x = list(pictures(2, 3, 3))
    file = write_parquet(tmp_path / "a.parquet", x, [0, 1], label="fine")
    with pytest.raises(FoveateError, match=r"'label'; --label chooses .* columns: image, fine"):
        read_parquet([file])
    file = write_parquet(tmp_path / "b.parquet", x, [0, 1], image="photo")
    with pytest.raises(FoveateError, match=r"'image' or 'img'; its columns are photo, label"):
        read_parquet([file])
    pq.write_table(pa.table({"image": [1, 2], "label": [0, 1]}), tmp_path / "c.parquet")
    with pytest.raises(
        FoveateError, match="column 'image': must be a struct with 'bytes', got int"
    ):
        read_parquet([tmp_path / "c.parquet"])


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (["cat", "dog"], "column 'label', row 0: .* whole numbers from 0 on, got 'cat'"),
        ([1.0, 0.5], "row 1: .* got 0.5"),
        ([1, None], "row 1: .* got nan"),
        ([2, -1], "row 1: .* got -1"),
    ],
)
def test_labels_must_be_whole_numbers(
    tmp_path: Path, write_parquet: Write, pictures: Draw, labels: list[object], sentence: str
) -> None:
    file = write_parquet(tmp_path / "a.parquet", list(pictures(2, 3, 3)), labels)
    with pytest.raises(FoveateError, match=sentence):
        read_column([file], "label")


def test_a_bad_image_is_named(tmp_path: Path, write_parquet: Write, pictures: Draw) -> None:
    good = list(pictures(3, 6, 6))
    cut = encoded(Image.fromarray(good[0]), "PNG")[:-30]
    deep = encoded(Image.fromarray(np.zeros((6, 6), np.uint16)), "PNG")
    for name, bad, why in (
        ("junk", b"not an image", "not an image"),
        ("cut", cut, "not an image"),
        ("null", None, "no bytes"),
        ("deep", deep, "not 8 bits"),
    ):
        file = write_parquet(tmp_path / f"{name}.parquet", [*good[:2], bad, good[2]], range(4))
        with pytest.raises(FoveateError, match=f"{name}.parquet, row 2: .*{why}"):
            read_parquet([file])


def test_images_must_have_one_size(tmp_path: Path, write_parquet: Write, pictures: Draw) -> None:
    x = [*pictures(2, 6, 6), *pictures(1, 6, 5)]
    file = write_parquet(tmp_path / "a.parquet", x, range(3))
    with pytest.raises(FoveateError, match="row 2: images must have one size, got 6×5 after 6×6"):
        read_parquet([file])


def test_a_folder_must_hold_one_data_set(tmp_path: Path, write_parquet: Write) -> None:
    with pytest.raises(FoveateError, match="neither a folder of Parquet files nor an NPZ file"):
        split_files(tmp_path)
    for part in ("small", "large"):
        write_parquet(tmp_path / part / "train-0.parquet", [], pa.array([], pa.int64()))
    with pytest.raises(FoveateError, match=r"several data sets: choose one, .*large or .*small"):
        split_files(tmp_path)
    (tmp_path / "junk.parquet").write_text("junk")
    with pytest.raises(FoveateError, match=r"junk.parquet is not a complete Parquet file"):
        read_parquet([tmp_path / "junk.parquet"])


def test_an_empty_file_is_reported(tmp_path: Path, pictures: Draw) -> None:
    cells = pa.array([{"bytes": b"", "path": None}])[:0]
    pq.write_table(pa.table({"image": cells, "label": pa.array([], pa.int64())}), tmp_path / "e")
    with pytest.raises(FoveateError, match="holds no images"):
        read_parquet([tmp_path / "e"])
