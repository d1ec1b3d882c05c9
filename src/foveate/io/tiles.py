"""Folders of images, each a bag of tiles."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from foveate.errors import FoveateError
from foveate.io.cells import floats
from foveate.io.collection import Collection, collect
from foveate.io.columnar import SPLITS
from foveate.io.columns import BAG, Columns, column
from foveate.io.image_decoding import decode_image
from foveate.io.label_table import LabelTable, read_sheet
from foveate.io.rows import column_names, is_hidden, rows, where
from foveate.types import PartProgress

__all__ = ["SUFFIXES", "cut", "image_files", "read_tiles"]

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".ppm", ".pgm")
MASKS, BOXES = "masks", "boxes.csv"
CORNERS = ("x", "y", "width", "height")


def image_files(path: Path) -> list[Path]:
    """Images at a path, of a folder with all its subfolders but that of masks."""
    if path.is_file():
        return [path] if path.suffix.lower() in SUFFIXES else []
    files = (f for f in path.rglob("*") if f.suffix.lower() in SUFFIXES and not is_hidden(f))
    return sorted(f for f in files if f.relative_to(path).parts[0] != MASKS)


def read_tiles(
    path: Path,
    columns: Columns,
    classes: Sequence[str] | None = None,
    labelled: bool | None = None,
    report: PartProgress | None = None,
) -> Collection:
    """Images cut into square tiles, row by row from the upper left; each image is a bag.

    Only whole tiles are kept: what is left at the right and the lower edge, less than a tile, is
    not part of the bag. Labels come from a table beside (``image``, ``label``), else from the names
    of subfolders, within folders called train, test and so on where there are such. Relevance comes
    from images of the same path under ``masks/`` (a tile with any pixel above 0 is relevant), or
    from ``boxes.csv`` (``image, x, y, width, height`` in pixels; a tile that a box overlaps is
    relevant, a row without numbers says that there is none). Images without either are unknown.

    Args:
        path: A folder, or one image.
        columns: Size of the tiles, names of the table's columns.
        classes: The classes there may be, in order.
        labelled: Whether there must be labels; False leaves them out.
        report: Told of the images read.
    """
    side, files = columns.tiles, image_files(path)
    if side is None:
        raise FoveateError(
            f"{path} holds images: --tiles must say how many pixels a side a tile has"
        )
    root = path if path.is_dir() else path.parent
    label_table = read_sheet(root, columns, labelled) if path.is_dir() else None
    keys = [_keys(file, root) for file in files]
    boxes = _boxes(root / BOXES, keys) if (root / BOXES).exists() else {}
    bags, places, relevance = list[Tensor](), list[Tensor](), list[Tensor | None]()
    for done, file in enumerate(files, 1):
        image = _decoded(file)
        tiles, corners = cut(image, side, str(file))
        bags.append(tiles)
        places.append(corners)
        relevance.append(_relevant(file, root, image.shape[:2], corners, boxes.get(done - 1)))
        if report:
            report("images", done, len(files))
    split, named = _from_folders(files, root)
    labels = _labels(label_table, keys, named) if labelled is not False else None
    if labelled and labels is None:
        raise FoveateError(f"{path} has neither a table with labels nor a subfolder for each class")
    own_split = label_table.of(keys, "split") if label_table else None
    return collect(
        bags,
        [file.relative_to(root).as_posix() for file in files],
        lambda bag: str(files[bag]),
        source=str(path),
        labels=labels,
        classes=classes,
        relevance=relevance,
        groups=label_table.of(keys, "group") if label_table else None,
        split=own_split or split,
        kind="image",
        places=places,
        roles=label_table.roles if label_table else (),
        problems=label_table.problems(keys, root) if label_table else (),
    )


def cut(image: NDArray[np.uint8], side: int, location: str) -> tuple[Tensor, Tensor]:
    """Whole tiles of an image, bytes (m, 3, side, side), and their x, y, width, height, (m, 4).

    Example:
        >>> tiles, places = cut(np.zeros((5, 9, 3), np.uint8), 4, "a.png")
        >>> tuple(tiles.shape), places.tolist()
        ((2, 3, 4, 4), [[0.0, 0.0, 4.0, 4.0], [4.0, 0.0, 4.0, 4.0]])
    """
    down, across = (length // side for length in image.shape[:2])
    if not down or not across:
        size = f"{image.shape[1]}×{image.shape[0]}"
        raise FoveateError(f"{location}: must hold a tile of {side} pixels a side, is {size}")
    cropped = image[: down * side, : across * side]
    grid = cropped.reshape(down, side, across, side, 3).transpose(0, 2, 4, 1, 3)
    y, x = np.indices((down, across)).reshape(2, -1) * side
    sides = np.full_like(x, side)
    places = np.stack([x, y, sides, sides], 1).astype(np.float32)
    return (
        torch.from_numpy(np.ascontiguousarray(grid).reshape(-1, 3, side, side)),
        torch.from_numpy(places),
    )


def _decoded(file: Path) -> NDArray[np.uint8]:
    """An image in bytes, (H, W, 3); a grey one fills all channels."""
    from PIL import Image

    Image.init()
    try:
        image = decode_image(file.read_bytes(), list(Image.ID))[0]
    except Exception as error:  # Pillow's readers raise many kinds
        message = " ".join(str(error).split()).split(" <")[0]  # a Python object follows
        raise FoveateError(f"{file}: not an image ({message})") from None
    return np.repeat(image[..., None], 3, axis=2) if image.ndim == 2 else image


def _keys(file: Path, root: Path) -> tuple[str, ...]:
    """Names that an image may have in a table: its path within the folder, or its file name."""
    inner = file.relative_to(root)
    return inner.as_posix(), inner.with_suffix("").as_posix(), file.name, file.stem


def _from_folders(files: Sequence[Path], root: Path) -> tuple[list[str] | None, list[str] | None]:
    """Splits and classes that folders are named after, where all images lie in such."""
    inner = [file.relative_to(root).parts[:-1] for file in files]
    in_splits = all(parts and parts[0].lower() in SPLITS for parts in inner)
    split = [parts[0].lower() for parts in inner] if in_splits else None
    named = ["/".join(parts[in_splits:]) for parts in inner]
    return split, named if all(named) else None


def _labels(
    beside: LabelTable | None, keys: Sequence[tuple[str, ...]], named: Sequence[str | None] | None
) -> Sequence[str | None] | None:
    labels = beside.labels(keys) if beside else None
    return labels or named


def _relevant(
    file: Path, root: Path, size: tuple[int, ...], places: Tensor, boxes: NDArray[Any] | None
) -> Tensor | None:
    """Relevance of an image's tiles, (m,), by its mask or its boxes."""
    inner = file.relative_to(root)
    same = root / MASKS / inner
    mask = next((f for f in (same, same.with_suffix(".png")) if f.exists()), None)
    x, y, width, height = places.numpy().astype(np.int64).T
    if mask is not None:
        marked = _decoded(mask).max(2) > 0
        if marked.shape != size:
            sizes = ("{1}×{0}".format(*shape) for shape in (size, marked.shape))
            raise FoveateError(
                "{}: a mask must have its image's size {}, is {}".format(mask, *sizes)
            )
        inside = [
            bool(marked[b : b + h, a : a + w].any())
            for a, b, w, h in zip(x, y, width, height, strict=True)
        ]
        return torch.tensor(inside)
    if boxes is None:
        return None
    left, top, wide, high = (boxes[:, k, None] for k in range(4))
    over = (left < x + width) & (x < left + wide) & (top < y + height) & (y < top + high)
    return torch.from_numpy(over.any(0))


def _boxes(path: Path, keys: Sequence[tuple[str, ...]]) -> dict[int, NDArray[np.float64]]:
    """Boxes of each image by its number, (k, 4); a row without numbers adds none."""
    held = column_names(path)
    image = column(path, held, None, ("image", *BAG))
    chosen = [column(path, held, None, (name,)) for name in CORNERS]
    if image is None or None in chosen:
        raise FoveateError(f"{path} must have the columns image, {', '.join(CORNERS)}")
    images: dict[str, set[int]] = {}
    for k, names in enumerate(keys):
        for name in names:
            images.setdefault(name, set()).add(k)
    boxes: dict[int, list[list[float]]] = {}
    for line, (name, *corners) in rows(path, [image, *map(str, chosen)]):
        named = images.get(str(name), set())
        if len(named) != 1:
            how_many = (
                f"several images are called '{name}'" if named else f"there is no image '{name}'"
            )
            raise FoveateError(f"{where(path, line)}: {how_many}")
        of_image = boxes.setdefault(next(iter(named)), [])
        if any(corner is not None for corner in corners):
            of_image.append(_box(corners, where(path, line)))
    return {k: np.array(rows, np.float64).reshape(-1, 4) for k, rows in boxes.items()}


def _box(corners: Sequence[Any], location: str) -> list[float]:
    box = floats(corners, lambda k: f"{location}, column '{CORNERS[k]}'")[:, 0]
    if not np.isfinite(box).all() or min(box[2:]) <= 0:
        raise FoveateError(
            f"{location}: a box must have a finite place and size, got {box.tolist()}"
        )
    return [float(value) for value in box]
