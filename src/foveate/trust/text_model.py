"""Text classifiers of the transformers library as something that can be examined.

A bag is a text and its segments are words, numbered as :func:`foveate.jobs.examine.with_features`
numbers them; the auditor reads these numbers, the inputs, never a state of the model. Hidden words
are left out of the text, and a word alone is a text of its own.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.text.transformers.encoder import TextEncoder
from foveate.trust.segment_evidence import masks
from foveate.trust.subject import Reading, Subject
from foveate.types import Array

__all__ = ["TextModels", "class_order"]

UNNAMED = "LABEL_"  # what transformers calls classes without names


class TextModels(Subject):
    """Text classifiers, one per seed, that read bags of words.

    Args:
        encoders: The models with their tokenizers.
        words: The word of every number.
        classes: Names of the classes of the bags.
    """

    def __init__(
        self, encoders: Sequence[TextEncoder], words: Sequence[str], classes: Sequence[str]
    ) -> None:
        self.encoders, self.words, self.size = list(encoders), list(words), len(encoders)
        self.orders = [class_order(encoder.model.config, classes) for encoder in encoders]
        piece_names = {"first": "first piece", "last": "last piece", "mean": "mean over all pieces"}
        notes = []
        for encoder in self.encoders:
            notes.append(
                f"Attention is that of the {piece_names[encoder.summary]} in the last layer, mean "
                "over heads, pieces merged to words."
            )
            if encoder.model.config.id2label.get(0, "").startswith(UNNAMED):
                listed = ", ".join(classes)
                notes.append(f"The model does not name its classes; taken in this order: {listed}.")
            if not encoder.forceable:
                notes.append("Attention cannot be set where the mean over words is classified.")
        self.notes = tuple(dict.fromkeys(notes))

    def read(self, bags: Sequence[Bag]) -> Reading:
        parts = [self._read_batch(k, bag) for k, bag in self._pairs(bags)]
        alpha, p, even, segment_p = (np.stack(part) for part in zip(*parts, strict=True))
        exists = np.broadcast_to(masks(bags), alpha.shape)
        s = np.where(exists, np.log(np.maximum(alpha, 1e-300)), 0.0)
        return Reading(s, alpha, p, p, even, segment_p)

    def reread(self, bags: Sequence[Bag], keep: Array) -> Array:
        outputs = []
        for (k, bag), visible in zip(self._pairs(bags), keep, strict=True):
            exists = masks([bag])[0]
            read = [self._p(k, self._texts(bag, mask & exists)) for mask in visible]
            outputs.append(np.stack(read))
        return np.stack(outputs)

    def forced(self, bag: Bag, position: Array) -> Array:
        exists = masks([bag])[0]
        texts = self._texts(bag, exists)
        values = [
            (np.flatnonzero(exists[i]) == position[i]).astype(float) for i in range(len(texts))
        ]  # one-hot over the words of each text
        return np.stack([self._forced(k, texts, values) for k in range(self.size)])

    def _read_batch(self, k: int, bag: Bag) -> tuple[Array, Array, Array, Array]:
        """Attention (n, m), p (n, C), p with uniform attention, and of single words (n, m, C)."""
        exists = masks([bag])[0]
        texts = self._texts(bag, exists)
        read = self.encoders[k].read(texts)
        alpha = np.zeros(bag.shape)
        for i, row in enumerate(read.alpha):
            alpha[i, exists[i]] = row
        even = self._forced(k, texts, [np.full(len(text), 1 / len(text)) for text in texts])
        ids = _ids(bag)
        known = np.unique(ids[exists])
        single = self._p(k, [[self.words[word]] for word in known])
        segment_p = np.full((*bag.shape, single.shape[1]), 1 / single.shape[1])
        segment_p[exists] = single[np.searchsorted(known, ids[exists])]
        return alpha, read.p[:, self.orders[k]], even, segment_p

    def _p(self, k: int, texts: Sequence[Sequence[str]]) -> Array:
        return self.encoders[k].read(texts).p[:, self.orders[k]]

    def _forced(self, k: int, texts: Sequence[Sequence[str]], alpha: Sequence[Array]) -> Array:
        encoder = self.encoders[k]
        if not encoder.forceable:
            return np.full((len(texts), len(self.orders[k])), np.nan)
        return encoder.forced(texts, alpha)[:, self.orders[k]]

    def _texts(self, bag: Bag, exists: Array) -> list[list[str]]:
        return [
            [self.words[word] for word in row[visible]]
            for row, visible in zip(_ids(bag), exists, strict=True)
        ]

    def _pairs(self, bags: Sequence[Bag]) -> Iterator[tuple[int, Bag]]:
        return enumerate(bags if len(bags) > 1 else [bags[0]] * self.size)


def _ids(bag: Bag) -> Array:
    """Numbers of the words, shape (n, m)."""
    values: Array = bag.dense().numpy()
    return values


def class_order(config: Any, classes: Sequence[str]) -> list[int]:
    """The model's number of every class of the bags, by name; in order if the model names none.

    Args:
        config: Of the model.
        classes: Names of the classes of the bags.

    Example:
        >>> from types import SimpleNamespace
        >>> config = SimpleNamespace(id2label={0: "POS", 1: "NEG"}, num_labels=2)
        >>> class_order(config, ["neg", "pos"])
        [1, 0]
    """
    count = max(2, int(config.num_labels))
    names = {str(name).lower(): int(k) for k, name in config.id2label.items()}
    unnamed = all(name.startswith(UNNAMED.lower()) for name in names) or len(names) < count
    if count != len(classes):
        raise FoveateError(
            f"the model answers for {count} classes, but the bags have {len(classes)}: "
            f"{', '.join(classes)}"
        )
    if unnamed:
        return list(range(count))
    if strange := [name for name in classes if name.lower() not in names]:
        listed = ", ".join(config.id2label.values())
        raise FoveateError(f"the model has no class '{strange[0]}'; it has {listed}")
    return [names[name.lower()] for name in classes]
