"""Images with captions and the boxes of their objects, in the layout of the Hugging Face hub.

A folder holds Parquet files of ``train`` and ``test`` with the columns

::

    image     struct{bytes, path}, an image file each
    image_id  an integer, the same for the same photo in every set
    width     of the stored image in pixels, as ``height``
    captions  list<string>
    objects   struct{bbox list<[x, y, w, h] in pixels>, category list<int>}
    license   a name, where it is known

and next to them ``object_words.csv``: for each category, in order, the words that name it. COCO as
a whole is read the same way from a folder of this layout.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foveate.data.files.parquet import columns_of, read_rows, split_files
from foveate.data.object_words import caption_words
from foveate.errors import FoveateError

__all__ = ["Captioned", "read_captioned"]

COLUMNS = ("image_id", "width", "height", "captions", "objects")
EDGE = 1.0  # pixels that a box may reach beyond its image, by rounding

Box = tuple[int, float, float, float, float]
"""Category, then left, top, right and bottom as shares of the image's width and height."""


@dataclass(frozen=True)
class Captioned:
    """N images with their captions and boxes; the pixels stay where they are.

    Args:
        image_id: A number for each photo, shape (N,).
        captions: Captions of each image, as written; at least one.
        boxes: Boxes of each image.
        row: Row of each image among all images of the folder, shape (N,).
        names: Names of the categories, where they are known.
        licence: Licence of each photo, "" where it is not known.
        notes: Irregularities of the files and how they were handled.
    """

    image_id: NDArray[np.int64]
    captions: tuple[tuple[str, ...], ...]
    boxes: tuple[tuple[Box, ...], ...]
    row: NDArray[np.int64]
    names: tuple[str, ...] = ()
    licence: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.captions)

    def without(self, excluded: "Captioned") -> "Captioned":
        """The images whose number is not among ``excluded``: no photo is in both."""
        keep = np.flatnonzero(~np.isin(self.image_id, excluded.image_id))
        removed = len(self) - len(keep)
        note = (
            (f"{removed} photos are also held out and are excluded from training",)
            if removed
            else ()
        )
        return Captioned(
            self.image_id[keep],
            tuple(self.captions[i] for i in keep),
            tuple(self.boxes[i] for i in keep),
            self.row[keep],
            self.names,
            tuple(self.licence[i] for i in keep) if self.licence else (),
            self.notes + note,
        )


def read_captioned(folder: Path) -> dict[str, Captioned]:
    """The images of a folder, ``train`` and ``test``, or ``all`` where it is not split.

    Args:
        folder: A folder of Parquet files with the columns at the top of this module.
    """
    if not folder.is_dir():
        raise FoveateError(f"there is no folder {folder} of images with captions")
    parts_by_split, start = {}, 0
    for split, files in split_files(folder).items():
        parts = _Parts(_names(files[0]))
        for file in files:
            start += parts.read(file, start)
        parts_by_split[split] = parts.as_captioned()
    return parts_by_split


class _Parts:
    """The images of some files, gathered file by file."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.rows: list[tuple[Any, ...]] = []
        self.notes: list[str] = []

    def read(self, file: Path, start: int) -> int:
        """Add a file whose first row is row ``start`` of the folder; return its number of rows."""
        licensed = "license" in columns_of(file)
        rows = read_rows(file, (*COLUMNS, "license") if licensed else COLUMNS)
        for k, row in enumerate(rows):
            where = f"{file}, row {k}"
            captions = tuple(text for text in row["captions"] or () if text and caption_words(text))
            if not captions:
                self.notes.append(f"image {row['image_id']} has no caption and is left out")
                continue
            boxes = self._boxes(row, where)
            licence = str(row.get("license") or "")
            self.rows.append(
                (_integer(row["image_id"], where), captions, boxes, start + k, licence)
            )
        return len(rows)

    def _boxes(self, row: Mapping[str, Any], where: str) -> tuple[Box, ...]:
        width, height = row["width"], row["height"]
        if not (width and height and width > 0 and height > 0):
            raise FoveateError(f"{where}: width and height must be above 0")
        kinds, stored = row["objects"]["category"], row["objects"]["bbox"]
        if len(kinds) != len(stored):
            raise FoveateError(f"{where}: {len(stored)} boxes and {len(kinds)} categories")
        boxes = []
        for kind, box in zip(kinds, stored, strict=True):
            if kind is None or not 0 <= kind < (len(self.names) or kind + 1):
                raise FoveateError(
                    f"{where}: a category must be 0 to {len(self.names) - 1}, got {kind}"
                )
            x, y, w, h = _inside(box, width, height, where)
            if w * h <= 0:
                self.notes.append(f"image {row['image_id']} has a box of no area, left out")
                continue
            ends = (x / width, y / height, min(1.0, (x + w) / width), min(1.0, (y + h) / height))
            boxes.append((int(kind), *ends))
        return tuple(boxes)

    def as_captioned(self) -> Captioned:
        ids, captions, boxes, rows, licence = (tuple(row[k] for row in self.rows) for k in range(5))
        return Captioned(
            np.array(ids, np.int64),
            captions,
            boxes,
            np.array(rows, np.int64),
            self.names,
            licence,
            tuple(self.notes),
        )


def _integer(value: Any, where: str) -> int:
    if not isinstance(value, int):
        raise FoveateError(f"{where}: image_id must be an integer, got {value!r}")
    return value


def _inside(box: Sequence[float], width: int, height: int, where: str) -> list[float]:
    """A box within its image; rounding beyond the border is clipped."""
    x, y, w, h = box
    fits = x >= -EDGE and y >= -EDGE and x + w <= width + EDGE and y + h <= height + EDGE
    if not fits or min(w, h) < 0:  # also where a number is none
        numbers = ", ".join(f"{value:g}" for value in box)
        raise FoveateError(f"{where}: box [{numbers}] must lie in the image of {width}×{height}")
    return [max(0.0, x), max(0.0, y), w + min(0.0, x), h + min(0.0, y)]


def _names(file: Path) -> tuple[str, ...]:
    """Names of the categories in the hub's metadata."""
    import pyarrow.parquet as pq

    columns_of(file)  # reports a damaged file
    metadata = pq.read_schema(file).metadata or {}
    try:
        features = json.loads(metadata[b"huggingface"])["info"]["features"]
        return tuple(str(name) for name in features["objects"]["category"]["feature"]["names"])
    except (KeyError, ValueError, TypeError):
        return ()
