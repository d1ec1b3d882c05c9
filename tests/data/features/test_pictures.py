"""Where images come from, and what is said of those that are none."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from foveate.data.features.image_sources import Pictures, find_pictures
from foveate.data.files.bank import Bank
from foveate.errors import FoveateError

Draw = Callable[..., np.ndarray]
Write = Callable[..., Path]


def all_of(pictures: Pictures, start: int = 0) -> list[np.ndarray]:
    return [image.numpy() for image in pictures.read(start)]


def test_parquet_comes_in_order_with_its_split(
    workdir: Path, draw: Draw, write_table: Write
) -> None:
    x = list(draw(9, 5, 4, 3))
    write_table(workdir / "set/data/test-0.parquet", x[7:], [1, 0], ["cat", "dog"])
    write_table(workdir / "set/data/train-0.parquet", x[:4], [0, 1, 0, 1], ["cat", "dog"])
    write_table(workdir / "set/data/train-1.parquet", x[4:7], [1, 1, 0], ["cat", "dog"])
    pictures = find_pictures("set")
    assert (pictures.name, pictures.rows, pictures.names) == ("set", 9, ("cat", "dog"))
    assert pictures.y.tolist() == [0, 1, 0, 1, 1, 1, 0, 1, 0]
    assert pictures.test.tolist() == [False] * 7 + [True] * 2
    for start in (0, 3, 4, 5, 7, 8, 9):
        got = all_of(pictures, start)
        assert len(got) == 9 - start
        for image, want in zip(got, x[start:], strict=True):
            assert (image == want.transpose(2, 0, 1)).all()


def test_images_of_any_size_and_without_labels(
    workdir: Path, draw: Draw, write_table: Write
) -> None:
    sizes = [(5, 4, 3), (9, 2), (3, 3, 3)]
    write_table(workdir / "a.parquet", [draw(*size) for size in sizes])
    pictures = find_pictures("a.parquet")
    assert (pictures.y, pictures.test, pictures.names) == (None, None, ())
    assert [image.shape for image in all_of(pictures)] == [(3, 5, 4), (1, 9, 2), (3, 3, 3)]


def test_an_npz_file_must_hold_bytes(workdir: Path, draw: Draw) -> None:
    np.savez("a.npz", X=draw(4, 5, 6), y=[0, 1, 2, 0])
    pictures = find_pictures("a.npz")
    assert (pictures.name, pictures.y.tolist(), pictures.test) == ("a.npz", [0, 1, 2, 0], None)
    assert (np.stack(all_of(pictures, 1))[:, 0] == draw(4, 5, 6)[1:]).all()
    np.savez("b.npz", X=np.zeros((4, 7)), y=[0, 1, 2, 0])
    with pytest.raises(FoveateError, match=r"b.npz: images must be bytes .* float32 of shape \(4"):
        find_pictures("b.npz")


def test_a_data_set_has_all_its_images(few_digits: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = find_pictures("digits")
    assert torch.equal(torch.stack(list(pictures.read(0))), few_digits.x)
    assert (pictures.y.tolist(), pictures.test) == (few_digits.y.tolist(), None)
    changed = few_digits.x.clone()
    changed[0, 0, 0, 0] ^= 1
    monkeypatch.setattr("foveate.data.digits._bank", lambda: few_digits._replace(x=changed))
    assert find_pictures("digits").digest != pictures.digest


def save(path: Path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def test_subfolders_are_classes(workdir: Path, draw: Draw) -> None:
    x = draw(4, 6, 5, 3)
    for name, image in zip(("dog/2.png", "cat/b.PNG", "cat/a.bmp", "dog/1.png"), x, strict=True):
        save(workdir / "pets" / name, image)
    (workdir / "pets" / "readme.txt").write_text("not an image")
    pictures = find_pictures("pets")
    assert pictures.paths == ("cat/a.bmp", "cat/b.PNG", "dog/1.png", "dog/2.png")
    assert (pictures.y.tolist(), pictures.names) == ([0, 0, 1, 1], ("cat", "dog"))
    assert pictures.test is None
    for image, want in zip(all_of(pictures), x[[2, 1, 3, 0]], strict=True):
        assert (image == want.transpose(2, 0, 1)).all()


def test_folders_may_be_split(workdir: Path, draw: Draw) -> None:
    for name in ("train/cat/a.png", "train/dog/a.png", "test/dog/a.png"):
        save(workdir / "pets" / name, draw(3, 3))
    pictures = find_pictures("pets")
    assert pictures.paths == ("test/dog/a.png", "train/cat/a.png", "train/dog/a.png")
    assert pictures.test.tolist() == [True, False, False]
    assert (pictures.y.tolist(), pictures.names) == ([1, 0, 1], ("cat", "dog"))


def test_a_folder_without_classes_has_no_labels(workdir: Path, draw: Draw) -> None:
    for name in ("a.png", "more/b.png"):
        save(workdir / "photos" / name, draw(3, 3))
    pictures = find_pictures("photos")
    assert (pictures.y, pictures.names, pictures.rows) == (None, (), 2)


# what is wrong


def test_a_row_that_is_no_image_is_named(workdir: Path, draw: Draw, write_table: Write) -> None:
    path = write_table(workdir / "a.parquet", [*draw(3, 4, 4), b"junk"], [0, 0, 0, 0])
    with pytest.raises(FoveateError, match=r"a.parquet, row 3: not an image \(cannot identify"):
        all_of(find_pictures(str(path)), 2)
    save(workdir / "pets/a.png", draw(4, 4))
    (workdir / "pets/b.jpg").write_bytes((workdir / "pets/a.png").read_bytes()[:40])
    with pytest.raises(FoveateError, match=r"pets/b.jpg: not an image"):
        all_of(find_pictures("pets"))


def test_a_cut_or_damaged_parquet_file_is_named(
    workdir: Path, draw: Draw, write_table: Write
) -> None:
    path = write_table(workdir / "a.parquet", list(draw(30, 16, 16, 3)), list(range(30)))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FoveateError, match=r"a.parquet is not a complete Parquet file"):
        find_pictures("a.parquet")
    path.write_bytes(whole[:4] + bytes(2000) + whole[2004:])  # the foot is sound, the pages are not
    with pytest.raises(FoveateError, match=r"a.parquet is not a complete Parquet file"):
        all_of(find_pictures("a.parquet"))


def test_a_label_outside_the_classes_is_named(
    workdir: Path, draw: Draw, write_table: Write
) -> None:
    names = ["cat", "dog"]
    write_table(workdir / "a.parquet", list(draw(4, 3, 3)), [0, 1, 2, 1], names)
    sentence = r"a.parquet, column 'label', row 2: labels must be below 2, .* classes, got 2"
    with pytest.raises(FoveateError, match=sentence):
        find_pictures("a.parquet")


def test_an_empty_folder_is_reported(workdir: Path) -> None:
    (workdir / "empty").mkdir()
    with pytest.raises(FoveateError, match="empty holds neither Parquet files nor images"):
        find_pictures("empty")
