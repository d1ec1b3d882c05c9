"""Where images to be encoded come from: a data set by name, Parquet, NPZ, or a folder of files."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from foveate.data import DATASETS
from foveate.data.files.bank import Bank
from foveate.data.files.cache import fingerprint
from foveate.data.files.npz import read_npz
from foveate.data.files.parquet import (
    columns_of,
    count_rows,
    decoded_images,
    label_names,
    read_column,
    split_files,
)
from foveate.errors import FoveateError
from foveate.io.image_decoding import decode_image

__all__ = ["Pictures", "find_pictures"]

SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"}
SPLITS = ("train", "test", "validation", "valid", "val")


@dataclass(frozen=True)
class Pictures:
    """Images of any sizes, decoded on demand.

    Args:
        name: Their name.
        digest: A digest of their contents.
        rows: Their number.
        read: From a row to the images from there on, bytes (C, H, W) with one or three channels.
        y: Labels, shape (N,), where they have some.
        names: Names of the labels, where they are known.
        test: True for images of the official test split, shape (N,), where there is one.
        paths: Files of the images, where there is one for each.
    """

    name: str
    digest: str
    rows: int
    read: Callable[[int], Iterator[Tensor]]
    y: NDArray[np.int64] | None = None
    names: tuple[str, ...] = ()
    test: NDArray[np.bool_] | None = None
    paths: tuple[str, ...] = ()


def find_pictures(where: str, label: str | None = None) -> Pictures:
    """The images of a data set, or at a path.

    Args:
        where: A data set of images by name, a folder of Parquet files in the hub's layout, one such
            file, an NPZ file with bytes ``X``, or a folder of image files, whose subfolders are
            classes, within ``train`` and ``test`` where there are such folders.
        label: Name of the column or array of labels, if it is not the default.
    """
    path = Path(where)
    if where in DATASETS or not path.exists():
        return _named(where, label)
    if path.is_file() and path.suffix != ".parquet":
        return _of_banks(path.resolve().name, {"all": read_npz(path, label)}, str(path))
    if path.is_file() or any(path.rglob("*.parquet")):
        return _of_parquet(path, label)
    return _of_folder(path)


def _named(name: str, label: str | None) -> Pictures:
    if name not in DATASETS and ("/" in name or "." in name):
        raise FoveateError(f"there is nothing at {name}")
    data = DATASETS.get(name)()
    if label is not None:
        raise FoveateError(f"--label is for a path, got the data set {name}")
    if data.banks is None:
        names = [key for key, make in DATASETS.items() if make().banks is not None]
        raise FoveateError(f"'{name}' is not made of images; these are: {', '.join(names)}")
    return _of_banks(name, data.banks(), name)


def _of_banks(name: str, banks: Mapping[str, Bank], where: str) -> Pictures:
    for bank in banks.values():
        if bank.x.dtype != torch.uint8 or bank.x.dim() != 4 or bank.x.shape[1] not in (1, 3):
            raise FoveateError(
                f"{where}: images must be bytes with one or three channels, got "
                f"{str(bank.x.dtype).removeprefix('torch.')} of shape {tuple(bank.x.shape)}"
            )
    parts = list(banks.values())
    digest = hashlib.sha256("".join(_digest(bank.x) for bank in parts).encode()).hexdigest()

    def read(start: int) -> Iterator[Tensor]:
        for bank in parts:
            yield from bank.x[start:]
            start = max(0, start - len(bank.x))

    y = np.concatenate([bank.y.numpy() for bank in parts])
    sides = {split: len(bank.y) for split, bank in banks.items()}
    return Pictures(name, digest, len(y), read, y, parts[0].names, _test(sides))


@lru_cache(maxsize=8)  # of the tensor itself: seeds and splits share their banks
def _digest(x: Tensor) -> str:
    result = hashlib.sha256(repr(tuple(x.shape)).encode())
    result.update(x.contiguous().numpy().data)
    return result.hexdigest()


def _of_parquet(path: Path, label: str | None) -> Pictures:
    splits = split_files(path)
    files = [file for part in splits.values() for file in part]
    sides = {split: sum(map(count_rows, part)) for split, part in splits.items()}
    labelled = label is not None or all("label" in columns_of(file) for file in files)
    return Pictures(
        path.resolve().name,
        _stamp(files),
        sum(sides.values()),
        lambda start: map(_channels_first, decoded_images(files, start)),
        read_column(files, label or "label") if labelled else None,
        label_names(files[0], label or "label"),
        _test(sides),
    )


def _of_folder(path: Path) -> Pictures:
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES)
    if not files:
        raise FoveateError(f"{path} holds neither Parquet files nor images")
    inner = [file.relative_to(path).parts[:-1] for file in files]
    split = all(parts and parts[0] in SPLITS for parts in inner) and len({p[0] for p in inner}) > 1
    classes = ["/".join(parts[split:]) for parts in inner]
    names = tuple(sorted(set(classes)))
    number_of = {name: k for k, name in enumerate(names)}
    return Pictures(
        path.resolve().name,
        _stamp(files),
        len(files),
        lambda start: map(_opened, files[start:]),
        np.array([number_of[name] for name in classes]) if "" not in names else None,
        names if "" not in names else (),
        np.array([parts[0] != "train" for parts in inner]) if split else None,
        tuple(str(file.relative_to(path)) for file in files),
    )


def _opened(file: Path) -> Tensor:
    from PIL import Image

    Image.init()
    try:
        return _channels_first(decode_image(file.read_bytes(), list(Image.ID))[0])
    except Exception as error:  # Pillow's readers raise many kinds
        raise FoveateError(f"{file}: not an image ({error})") from None


def _channels_first(image: NDArray[np.uint8]) -> Tensor:
    x = torch.from_numpy(np.array(image))
    return x[None] if x.dim() == 2 else x.permute(2, 0, 1)


def _stamp(files: Sequence[Path]) -> str:
    return hashlib.sha256(repr(fingerprint(files)).encode()).hexdigest()


def _test(sides: Mapping[str, int]) -> NDArray[np.bool_] | None:
    if "test" not in sides:
        return None
    return np.repeat([split == "test" for split in sides], list(sides.values()))
