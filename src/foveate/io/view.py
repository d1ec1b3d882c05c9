"""A collection's segments without padding, and a hash of each bag's content."""

from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from foveate.bags.mapped import row_blocks
from foveate.io.collection import Collection

__all__ = ["View", "content", "repeated_segments"]


class View:
    """A collection's segments without padding, bag after bag."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        bag = collection.bag
        n, m = bag.shape
        mask = torch.ones(n, m, dtype=torch.bool) if bag.mask is None else bag.mask
        self.mask = mask.numpy()
        self.lengths = self.mask.sum(1)
        self.start = np.cumsum(self.lengths) - self.lengths
        self.y = bag.y.numpy()
        known = collection.label_known
        self.label_known = np.ones(n, bool) if known is None else known.numpy()

    def flat(self, per_segment: torch.Tensor) -> NDArray[Any]:
        """Values of every segment, from (n, m) to (N,)."""
        return per_segment.numpy()[self.mask]

    def rows(self) -> NDArray[np.int64]:
        """Row of the bank of every segment, (N,)."""
        return self.flat(self.collection.bag.index)

    def bank(self) -> NDArray[Any]:
        """The rows that these point to."""
        return self.collection.bag.bank.numpy()

    def segments(self) -> NDArray[Any]:
        """All segments, (N, *), without a copy where the bank is just that."""
        rows, bank = self.rows(), self.bank()
        whole = len(rows) == len(bank) and bool((rows == np.arange(len(rows))).all())
        return bank if whole else bank[rows]

    def segments_with_nan(self) -> NDArray[Any]:
        """All segments, (N, *), NaN where a number is missing."""
        if self.collection.missing is None:
            return self.segments()
        missing = self.collection.missing.numpy()[self.rows()]
        return np.where(missing, np.float32(np.nan), self.segments())

    @cached_property
    def hashes(self) -> NDArray[np.uint64]:
        """Hash of the content of every segment, (N,)."""
        return _row_hashes(self)[self.rows()]

    def class_counts(self) -> dict[str, int]:
        """Bags of each class."""
        counts = np.bincount(self.y[self.label_known], minlength=len(self.collection.classes))
        return dict(zip(self.collection.classes, counts.tolist(), strict=False))

    def names(self, which: NDArray[np.int64]) -> list[str]:
        """Names of some bags."""
        return [self.collection.ids[i] for i in which]


def content(view: View) -> NDArray[np.uint64]:
    """Hash of the content of every bag, (n,); order counts in texts and series only."""
    rows = view.hashes
    if view.collection.kind in ("text", "series"):
        position = np.arange(len(rows)) - np.repeat(view.start, view.lengths)
        rows = rows + _hash_rows(position.astype(np.uint64))
    return _hash_rows(
        np.add.reduceat(_hash_rows(rows), view.start) + view.lengths.astype(np.uint64)
    )


def repeated_segments(view: View) -> int:
    """How many segments have the same content as an earlier one of their bag."""
    bag = np.repeat(np.arange(len(view.lengths), dtype=np.uint64), view.lengths)
    return len(bag) - len(np.unique(_hash_rows(view.hashes + _hash_rows(bag))))


def _row_hashes(view: View) -> NDArray[np.uint64]:
    """Hash of every row of the bank, (N,)."""
    if view.collection.words is not None:
        number: dict[str, int] = {}
        codes = [number.setdefault(word, len(number)) for word in view.collection.words]
        return _hash_rows(np.array(codes, np.uint64))
    bank = view.collection.bag.bank
    hashes = [np.empty(0, np.uint64)]
    for block in row_blocks(bank):
        flat = np.ascontiguousarray(block.numpy().reshape(len(block), -1))
        words = flat.view(np.uint32 if flat.dtype.itemsize == 4 else np.uint8)
        factors = _hash_rows(np.arange(1, words.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
        hashes.append(words.astype(np.uint64) @ factors)
    return _hash_rows(np.concatenate(hashes))


def _hash_rows(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers whose every bit depends on every bit of the given ones (splitmix64)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
