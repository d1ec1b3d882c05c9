"""Preparation of bags, learnt from the training bags: medians, scales, a vocabulary, an encoder."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.bags.imputation import Imputation
from foveate.bags.mapped import is_mapped, mapped_copy
from foveate.bags.segments import Mosaics
from foveate.bags.standardisation import Standardisation
from foveate.errors import FoveateError
from foveate.io.collection import Collection
from foveate.io.tokenisation import words as words_of
from foveate.models.null_segment import add_null_segment
from foveate.records.record import load_checkpoint, save_checkpoint
from foveate.records.runs import cache_directory
from foveate.text.tokens import MARKS, PAD, START, UNKNOWN, Vocabulary
from foveate.types import PartProgress
from foveate.userdata.settings import FitSettings
from foveate.userdata.tile_encoding import Encoding

__all__ = ["Preparation"]

LONGEST = 64  # words of a segment that are read


@dataclass(frozen=True)
class Preparation:
    """From a user's collection to the bags that a network reads, the same in fitting and later.

    Args:
        kind: What a segment is: features, text, image or series.
        classes: Names of the classes.
        columns: Names of a segment's numbers.
        shape: Shape of a segment as the user gives it.
        standard: Mean and spread of the training segments; None where columns stay as they are.
        vocabulary: Words of the training bags, kind "text".
        longest: Words of a segment that are read.
        encoding: The frozen encoder that tiles go through, if any.
        null: Whether bags have a place for a null segment.
        imputation: What stands for missing numbers; None in runs of older versions, for texts and
            for images.
    """

    kind: str
    classes: tuple[str, ...]
    columns: tuple[str, ...]
    shape: tuple[int, ...]
    standard: Standardisation | None = None
    vocabulary: Vocabulary | None = None
    longest: int = 1
    encoding: Encoding | None = None
    null: bool = False
    imputation: Imputation | None = None

    @classmethod
    def learn(
        cls,
        collection: Collection,
        rows: Tensor,
        settings: FitSettings,
        encoded: "tuple[Encoding, Tensor] | None" = None,
    ) -> "Preparation":
        """Fit the preparation to the bags at ``rows`` only.

        Args:
            collection: Labelled bags.
            rows: The training bags.
            settings: What is asked for.
            encoded: A frozen encoder, and what it makes of the whole bank (N, width).
        """
        shape = collection.bag.segment_shape
        fresh = cls(collection.kind, collection.classes, collection.columns, shape)
        fresh = replace(fresh, null=settings.null_segment)
        used = _used(collection.bag.take(rows))
        if collection.kind == "text":
            return _with_words(fresh, collection, used, settings.least)
        bank = collection.bag.bank
        if encoded is not None:
            fresh, bank = replace(fresh, encoding=encoded[0]), encoded[1]
        elif bank.is_floating_point() and bank.dim() == 2:
            imputation = Imputation.of(bank, collection.missing, used)
            fresh = replace(fresh, imputation=imputation)
            bank = imputation.apply(bank, collection.missing)
        if not settings.standardise or bank.dtype == torch.uint8:
            return fresh  # bytes are images and become numbers in [−1, 1] where they are read
        return replace(fresh, standard=Standardisation.of(bank, used))

    @property
    def width(self) -> tuple[int, ...]:
        """Shape of a segment as the network reads it."""
        if self.kind == "text":
            return (self.longest,)
        if self.encoding is not None:
            return (self.encoding.width,)
        if self.imputation is None or not self.imputation.extra:
            return self.shape
        return (self.shape[0] + self.imputation.extra,)

    def apply(
        self,
        collection: Collection,
        report: PartProgress | None = None,
        features: Tensor | None = None,
    ) -> Bag:
        """The bags that a network reads, with labels in the order of the training classes.

        Args:
            collection: Bags of the same kind and columns; labels are not needed.
            report: Called as ``report("encoding", done, total)`` where tiles are encoded.
            features: What the encoder makes of the bank, where that is known already.
        """
        self._must_match(collection)
        bag = collection.bag
        if self.null and is_mapped(bag.bank):
            raise FoveateError(
                f"{collection.source}: bags larger than memory are read without a null segment: "
                "fit without --null-segment"
            )
        bank = self._bank(collection, report, features)
        x, y = Mosaics(bank, bag.index), self._labels(collection)
        ready = Bag(x, y, bag.z, bag.mask, bag.group, bag.weight)
        if not self.null:
            return ready
        row = None
        if self.kind == "text":
            row = torch.full((self.longest,), PAD).index_fill(0, torch.tensor([0]), START)
        return add_null_segment(ready, row, collection.known)

    def _bank(
        self, collection: Collection, report: PartProgress | None, features: Tensor | None
    ) -> Tensor:
        bank = collection.bag.bank
        if self.vocabulary is not None:
            return self._ids(collection.words or ())
        if features is not None:
            bank = features
        elif self.encoding is not None:  # some bags need some tiles only, and each takes long
            used = _used(collection.bag)
            encoded = self.encoding.apply(bank[used], report)
            bank = torch.zeros(len(bank), self.encoding.width).index_copy(0, used, encoded)
        order = self._order(collection.columns)
        as_stored = self.standard is None and self.width == self.shape and order is None
        if as_stored or not is_mapped(bank):
            return self._rows(bank, collection.missing, order, collection.source)
        folder, progress = cache_directory() / "banks", report and partial(report, "preparing")
        rows = partial(self._rows, missing=None, order=order, source=collection.source)
        return mapped_copy(bank, rows, folder, progress)

    def _order(self, columns: tuple[str, ...]) -> list[int] | None:
        """Where the columns of training stand in new bags; None where they stand as in training."""
        if not self.columns or not columns or columns == self.columns:
            return None
        index = {name: i for i, name in enumerate(columns)}
        return [index[name] for name in self.columns]

    def _rows(
        self, bank: Tensor, missing: Tensor | None, order: list[int] | None, source: str
    ) -> Tensor:
        """Rows of a bank with columns in the order of training, imputed and standardised."""
        if order is not None:
            bank, missing = bank[:, order], None if missing is None else missing[:, order]
        if self.imputation is not None:
            bank = self.imputation.apply(bank, missing)
        elif missing is not None:
            raise FoveateError(
                f"{source} has missing numbers, and this run keeps no medians to impute "
                "them by: fit again, or give --missing refuse to see where they are"
            )
        if self.standard is not None:
            return self.standard.apply(bank)
        return bank if bank.dtype == torch.uint8 else bank.float()

    def _ids(self, texts: Sequence[str]) -> Tensor:
        """Ids of the first words of each text, shape (N, longest)."""
        assert self.vocabulary is not None
        seen: dict[str, list[int]] = {}
        for text in texts:
            if text not in seen:
                ids = self.vocabulary.encode(words_of(text)[: self.longest]) or [UNKNOWN]
                seen[text] = ids + [PAD] * (self.longest - len(ids))
        return torch.tensor([seen[text] for text in texts])

    def _labels(self, collection: Collection) -> Tensor:
        if not collection.labelled:
            return collection.bag.y
        unknown = [name for name in collection.classes if name not in self.classes]
        if unknown:
            known = ", ".join(self.classes)
            raise FoveateError(f"{collection.source}: class '{unknown[0]}' is none of {known}")
        return torch.tensor([self.classes.index(name) for name in collection.classes])[
            collection.bag.y
        ]

    def _must_match(self, collection: Collection) -> None:
        if collection.kind != self.kind:
            kinds = f"{self.kind} as in training, got {collection.kind}"
            raise FoveateError(f"{collection.source}: segments must be {kinds}")
        if self.columns and collection.columns:
            lacking = [name for name in self.columns if name not in collection.columns]
            unknown = [name for name in collection.columns if name not in self.columns]
            if lacking:
                raise FoveateError(
                    f"{collection.source} lacks the column '{lacking[0]}' of training"
                )
            if unknown:
                raise FoveateError(
                    f"{collection.source} has a column '{unknown[0]}', which the model was not "
                    "fitted on"
                )
        if collection.bag.segment_shape != self.shape and self.encoding is None:
            got, expected = (
                "×".join(map(str, s)) for s in (collection.bag.segment_shape, self.shape)
            )
            raise FoveateError(
                f"{collection.source}: a segment must have {expected} numbers as in training, got "
                f"{got}"
            )

    def save(self, path: Path) -> None:
        """Write to one safetensors file, atomically."""
        tensors: dict[str, Tensor] = {}
        if self.standard is not None:
            tensors |= {"mean": self.standard.mean, "scale": self.standard.scale}
        if self.imputation is not None:
            tensors |= {"median": self.imputation.medians, "indicators": self.imputation.indicators}
        meta: dict[str, Any] = {
            "kind": self.kind,
            "classes": self.classes,
            "columns": self.columns,
            "shape": self.shape,
            "words": None if self.vocabulary is None else self.vocabulary.words[len(MARKS) :],
            "longest": self.longest,
            "encoding": None if self.encoding is None else self.encoding.as_json(),
            "null": self.null,
        }
        save_checkpoint(path, tensors, meta)

    @classmethod
    def load(cls, path: Path) -> "Preparation":
        """Read what :meth:`save` wrote."""
        tensors, meta = load_checkpoint(path)
        try:
            return cls._of(tensors, meta)
        except (KeyError, TypeError, ValueError) as error:
            raise FoveateError(
                f"{path} is damaged: it lacks a sound {error}; fit again, or restore the file"
            ) from None

    @classmethod
    def _of(cls, tensors: dict[str, Tensor], meta: dict[str, Any]) -> "Preparation":
        words, encoding = meta["words"], meta["encoding"]
        standard = imputation = None
        if "mean" in tensors or "scale" in tensors:
            standard = Standardisation(tensors["mean"], tensors["scale"])
        if "median" in tensors or "indicators" in tensors:
            imputation = Imputation(tensors["median"], tensors["indicators"])
        return cls(
            str(meta["kind"]),
            tuple(meta["classes"]),
            tuple(meta["columns"]),
            tuple(meta["shape"]),
            standard,
            None if words is None else Vocabulary(words),
            int(meta["longest"]),
            None if encoding is None else Encoding.of_json(encoding),
            bool(meta["null"]),
            imputation,
        )


def _with_words(
    fresh: Preparation, collection: Collection, used: Tensor, least: int
) -> Preparation:
    texts = [words_of((collection.words or ())[row]) for row in used.tolist()]
    longest = min(LONGEST, max(1, *(len(text) for text in texts), 1))
    counts = Counter(word for text in texts for word in text)
    return replace(fresh, vocabulary=Vocabulary.counted(counts, least), longest=longest)


def _used(bag: Bag) -> Tensor:
    """Rows of the bank that the bags hold, each once."""
    return (bag.index if bag.mask is None else bag.index[bag.mask]).unique()
