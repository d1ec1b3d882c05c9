"""Banks: the base images, or feature vectors, that mosaics are cut from."""

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from foveate.data import Split
from foveate.errors import FoveateError

__all__ = ["Bank", "integer_labels", "must_be_classes", "split_rows"]

TRAIN_SHARE = 0.7  # of the base images, where no official split exists


class Bank(NamedTuple):
    """Labelled base images or features.

    Args:
        x: Images as bytes, channels first (N, C, H, W), or floats of any shape (N, *).
        y: Their labels, integers from 0, shape (N,).
        names: Names of the labels where they are known, else empty.
    """

    x: Tensor
    y: Tensor
    names: tuple[str, ...] = ()

    def take(self, rows: Tensor) -> "Bank":
        """The images at ``rows``."""
        return Bank(self.x[rows], self.y[rows], self.names)

    def name(self, label: int) -> str:
        """The name of a label, or its number."""
        return self.names[label] if label < len(self.names) else str(label)


def split_rows(bank: Bank, split: Split, generator: torch.Generator) -> Tensor:
    """Rows of a split, stratified by label, 70 to 30; equal images are in one split.

    Args:
        bank: All base images.
        split: Which side.
        generator: Draws the split; in the same state for both splits of a seed.

    Returns:
        Rows of the bank in increasing order.

    Example:
        >>> bank = Bank(torch.arange(10.0)[:, None], torch.zeros(10, dtype=torch.long))
        >>> sides = [split_rows(bank, s, torch.Generator()) for s in ("train", "test")]
        >>> [len(side) for side in sides], torch.cat(sides).sort().values.tolist()
        ([7, 3], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    first: dict[bytes, int] = {}  # copies would otherwise carry test images into training
    original = torch.tensor(
        [
            first.setdefault(hashlib.blake2b(row.tobytes(), digest_size=16).digest(), row_number)
            for row_number, row in enumerate(bank.x.numpy())
        ]
    )
    unique = torch.tensor(list(first.values()))
    train = torch.zeros(len(bank.y), dtype=torch.bool)
    for label in bank.y.unique():
        rows = unique[bank.y[unique] == label]
        shuffled = rows[torch.randperm(len(rows), generator=generator)]
        train[shuffled[: round(TRAIN_SHARE * len(rows))]] = True
    train = train[original]
    return (train if split == "train" else ~train).nonzero().squeeze(1)


def integer_labels(values: NDArray[Any], where: str) -> NDArray[np.int64]:
    """Labels as integers, or an error that names the first row that is not one.

    Args:
        values: Labels as read, shape (N,).
        where: File and column, for the message.

    Example:
        >>> integer_labels(np.array([0.0, 1.5]), "a.npz, array 'y'")
        Traceback (most recent call last):
        foveate.errors.FoveateError: a.npz, array 'y', row 1: labels must be whole numbers from 0 \
on, got 1.5
    """
    if values.dtype.kind in "biuf":
        valid = np.isfinite(values) & (values >= 0) & (values == np.floor(values))
    else:
        valid = np.zeros(len(values), bool)
    if not valid.all():
        row = int(np.argmin(valid))
        received = values[row : row + 1].tolist()[0]
        raise FoveateError(
            f"{where}, row {row}: labels must be whole numbers from 0 on, got {received!r}"
        )
    return values.astype(np.int64)


def must_be_classes(labels: NDArray[np.int64], names: Sequence[str], where: str) -> None:
    """Labels must be among the classes, where these are known by name.

    Args:
        labels: Whole numbers from 0 on, shape (N,).
        names: Names of the classes; none where they are not known.
        where: File and column, for the message.

    Example:
        >>> must_be_classes(np.array([0, 2]), ("cat", "dog"), "a.parquet, column 'label'")
        Traceback (most recent call last):
        foveate.errors.FoveateError: a.parquet, column 'label', row 1: labels must be below 2, the \
number of classes, got 2
    """
    if names and (labels >= len(names)).any():
        row = int(np.argmax(labels >= len(names)))
        raise FoveateError(
            f"{where}, row {row}: labels must be below {len(names)}, the number of classes, "
            f"got {labels[row]}"
        )
