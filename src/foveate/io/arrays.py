"""Bags as one array per bag, from Python or from the other readers."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from foveate.bags.mapped import is_mapped
from foveate.errors import FoveateError
from foveate.io.cells import flags, is_missing, name_of, names, optional_names, single
from foveate.io.collection import Collection, Kind, Where, collect
from foveate.io.columns import ColumnRole
from foveate.io.problem import Problem
from foveate.types import Array

__all__ = ["from_arrays", "load_plain", "marks", "places_of", "plain_shape", "segments_of"]

T = TypeVar("T")


def from_arrays(
    bags: Sequence[ArrayLike],
    y: Sequence[Any] | Array | None = None,
    *,
    ids: Sequence[str] | None = None,
    relevance: Sequence[ArrayLike | None] | None = None,
    groups: Sequence[Any] | Array | None = None,
    split: Sequence[Any] | None = None,
    places: Sequence[ArrayLike] | None = None,
    columns: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    source: str = "arrays",
    where: Where | None = None,
    missing: Literal["impute", "refuse"] = "impute",
    roles: Sequence[ColumnRole] = (),
    problems: Sequence[Problem] = (),
) -> Collection:
    """Ragged arrays as a collection.

    Args:
        bags: Segments of each bag, numbers (m_i, d), or images in bytes (m_i, C, H, W) or
            (m_i, H, W, C).
        y: Labels, numbers or names, shape (n,); NaN, None or a text such as "NA" is unknown.
        ids: Names of the bags; their numbers unless given.
        relevance: Relevance of each bag's segments, (m_i,), or None where unknown.
        groups: Groups, numbers or names, shape (n,).
        split: Name of each bag's split.
        places: Coordinates of each bag's segments, (m_i, k).
        columns: Names of a segment's numbers.
        classes: The classes there may be, in order.
        source: What the arrays are, for messages.
        where: From a bag's number to its place, for messages.
        missing: Whether NaN stays, to be imputed in training, or is refused.
        roles: Roles of the arrays of a file.
        problems: What the reader has to report.

    Example:
        >>> bags = from_arrays([np.ones((2, 3)), np.zeros((1, 3))], ["sick", "well"])
        >>> bags.classes, bags.bag.mask.tolist(), bags.columns
        (('sick', 'well'), [[True, True], [True, False]], ('x0', 'x1', 'x2'))
    """
    at = where or (lambda bag: f"{source}, bag {bag}")
    if not len(bags):
        raise FoveateError(f"{source}: at least one bag is needed, got none")
    of_bags = {"y": y, "ids": ids, "relevance": relevance, "groups": groups, "split": split}
    _must_be_as_many(len(bags), source, {**of_bags, "places": places})
    twice = [name for name, count in Counter(columns or ()).items() if count > 1]
    if twice:
        raise FoveateError(f"{source}: names of columns must differ, got '{twice[0]}' twice")
    keep = missing == "impute"
    parts = [
        bag
        if isinstance(bag, Tensor) and is_mapped(bag)  # checked when it was written
        else segments_of(np.asarray(bag), at(i), columns, allow_missing=keep)
        for i, bag in enumerate(bags)
    ]
    wide = parts[0].shape[1] if parts[0].dim() == 2 else 0
    lengths = [len(part) for part in parts]
    coordinates = None if places is None else _all_places(places, lengths, at)
    kind: Kind = "image" if parts[0].dtype == torch.uint8 else "features"
    if kind == "features" and coordinates is not None and coordinates[0].shape[1] == 1:
        kind = "series"
    return collect(
        parts,
        [str(i) for i in range(len(bags))] if ids is None else [str(name) for name in ids],
        at,
        source=source,
        labels=_label_names(y, at, classes or ()),
        classes=classes,
        relevance=None if relevance is None else _all_marks(relevance, lengths, at),
        groups=_named(groups, "group", at),
        split=_named(split, "split", at),
        columns=columns or [f"x{k}" for k in range(wide)],
        kind=kind,
        places=coordinates,
        roles=roles,
        problems=problems,
    )


def _must_be_as_many(n: int, source: str, parts: Mapping[str, Any]) -> None:
    for name, part in parts.items():
        if part is not None and len(part) != n:
            raise FoveateError(
                f"{source}: {name} must have one entry for each of {n} bags, got {len(part)}"
            )


def _all_places(places: Sequence[ArrayLike], lengths: Sequence[int], where: Where) -> list[Tensor]:
    return [
        places_of(np.asarray(array), length, f"{where(i)}, coords")
        for i, (array, length) in enumerate(zip(places, lengths, strict=True))
    ]


def _all_marks(
    relevance: Sequence[ArrayLike | None], lengths: Sequence[int], where: Where
) -> list[Tensor | None]:
    return [
        None if z is None else marks(np.asarray(z), length, where(i))
        for i, (z, length) in enumerate(zip(relevance, lengths, strict=True))
    ]


def _named(values: Sequence[Any] | Array | None, what: str, where: Where) -> list[str] | None:
    if values is None:
        return None
    codes, listed = names(_cells(values), lambda bag: f"{where(bag)}: the {what}")
    return [listed[code] for code in codes]


def _label_names(
    values: Sequence[Any] | Array | None, where: Where, classes: Sequence[str]
) -> list[str | None] | None:
    """Names of labels, None where one is missing."""
    if values is None:
        return None
    absent = lambda cell: is_missing(cell) and name_of(cell) not in classes  # noqa: E731
    codes, listed = optional_names(_cells(values), lambda bag: f"{where(bag)}: the label", absent)
    return [None if code < 0 else listed[code] for code in codes]


def _cells(values: Sequence[Any] | Array) -> list[Any]:
    return list(values.tolist() if hasattr(values, "tolist") else values)


def segments_of(
    x: Array,
    location: str,
    columns: Sequence[str] | None = None,
    *,
    allow_missing: bool = False,
) -> Tensor:
    """Segments of one bag: numbers (m, d) in single precision, or images in bytes (m, 3, H, W).

    Args:
        x: What was read; one axis is a segment of one number each.
        location: Where from.
        columns: Names of the numbers, for messages.
        allow_missing: Whether NaN may stay.
    """
    if x.dtype.kind not in "biuf":
        raise FoveateError(f"{location}: segments must be numbers, got {x.dtype}")
    if x.ndim in (3, 4) and x.dtype == np.uint8:
        return _images(x, location)
    if x.ndim and not len(x):
        raise FoveateError(f"{location}: a bag needs a segment, this one has none: remove it")
    x = x[:, None] if x.ndim == 1 else x
    if x.ndim != 2 or not x.shape[1]:
        raise FoveateError(f"{location}: must have shape (segments, numbers), got {x.shape}")
    if columns and len(columns) != x.shape[1]:
        raise FoveateError(
            f"{location}: a segment must have the {len(columns)} numbers {', '.join(columns)}, got "
            f"{x.shape[1]}"
        )

    def cell(row: int, number: int) -> str:
        called = f"'{columns[number]}'" if columns else number
        return f"{location}, row {row}, column {called}"

    return torch.from_numpy(single(x, cell, allow_missing=allow_missing))


def _images(x: Array, location: str) -> Tensor:
    """Images in bytes, channels first; a grey one fills all three channels."""
    x = x[:, None] if x.ndim == 3 else x
    if x.shape[-1] in (1, 3) and x.shape[1] not in (1, 3):
        x = np.moveaxis(x, -1, 1)
    if x.shape[1] not in (1, 3):
        raise FoveateError(f"{location}: images must have one or three channels, got {x.shape}")
    return torch.from_numpy(np.ascontiguousarray(np.repeat(x, 3 // x.shape[1], axis=1)))


def marks(z: Array, length: int, location: str) -> Tensor:
    """Relevance of one bag's segments, boolean (m,): whole numbers above 0 are relevant."""
    if z.size != length:
        raise FoveateError(f"{location}: relevance must name {length} segments, got {z.size}")
    known = flags(z.ravel().tolist(), lambda row: f"{location}, row {row}")
    if (known < 0).any():
        raise FoveateError(f"{location}, row {int(np.argmax(known < 0))}: relevance is missing")
    return torch.from_numpy(known > 0)


def places_of(places: Array, length: int, location: str) -> Tensor:
    """Coordinates of one bag's segments, (m, k)."""
    if not places.ndim or len(places) != length:
        got = len(places) if places.ndim else "a single value"
        raise FoveateError(f"{location}: must place {length} segments, got {got}")
    return segments_of(places if places.dtype != np.uint8 else places.astype(np.int64), location)


def load_plain(path: Path) -> Array:
    """An array from a .npy file; never a pickle."""
    return np.asarray(_plain(path, lambda file: np.lib.format.read_array(file, allow_pickle=False)))


def plain_shape(path: Path) -> tuple[int, ...]:
    """The shape of the array in a .npy file, by its header alone."""

    def shape(file: BinaryIO) -> tuple[int, ...]:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0
        read = read if version == (1, 0) else np.lib.format.read_array_header_2_0
        return tuple(read(file)[0])

    return _plain(path, shape)


def _plain(path: Path, read: Callable[[BinaryIO], T]) -> T:
    """What is read from a .npy file, with errors that name it."""
    if not path.exists():
        raise FoveateError(f"there is no file {path}")
    if not path.stat().st_size:
        raise FoveateError(f"{path} is empty")
    try:
        with path.open("rb") as file:
            return read(file)
    except Exception as error:  # a damaged header fails in as many ways as there are bytes
        if "Object arrays" in str(error):
            raise FoveateError(
                f"{path} must hold plain numbers: it holds a pickle, which is never loaded"
            ) from None
        message = " ".join(str(error).split())
        raise FoveateError(f"{path} is not a whole .npy file: {message}") from None
