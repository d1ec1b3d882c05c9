"""Sentences of film reviews with their sentiment: the Stanford Sentiment Treebank.

[lu21] Sec. 5: sentences, not the treebank's phrases, as bags of words without punctuation.
Letters are lower-cased, which the paper does not mention and its traced sentence shows.
"""

import string
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from foveate.bags.bag import Bag
from foveate.data.files.hub import locate
from foveate.data.topic_words import sentences
from foveate.errors import FoveateError

__all__ = ["HUB_ID", "SPLITS", "UNKNOWN", "Corpus", "Texts", "clean", "load_sst", "make_corpus"]

Texts = tuple[list[list[str]], NDArray[np.int64]]
"""Cleaned words and the label of every sentence."""

HUB_ID = "stanfordnlp/sst"
SPLITS = ("train", "validation", "test")
NEUTRAL = 2
UNKNOWN = 0  # the id of every word that no training sentence has; its key and embedding never move


@dataclass(frozen=True)
class Corpus:
    """Labelled sentences over one vocabulary.

    Args:
        words: The words by id; id 0 is every word that training lacks.
        train: Training sentences as bags of word ids.
        validation: Validation sentences, for early stopping.
        test: Held-out sentences.
        tone: Sentiment of each training sentence, −1, 0 or 1, shape (n,).
    """

    words: tuple[str, ...]
    train: Bag
    validation: Bag
    test: Bag
    tone: NDArray[np.int64]

    def ids(self, text: str) -> list[int]:
        """The word ids of a sentence."""
        id_of = {word: i for i, word in enumerate(self.words)}
        return [id_of.get(word, UNKNOWN) for word in clean(text.split())]


def clean(tokens: list[str]) -> list[str]:
    """Lower case, punctuation stripped from the ends of each token, empty tokens left out.

    Example:
        >>> clean(["A", "well-made", "``", "thriller", "''", "does", "n't", "."])
        ['a', 'well-made', 'thriller', 'does', "n't"]
    """
    return [word for token in tokens if (word := token.lower().strip(string.punctuation))]


def load_sst(classes: Literal[2, 5]) -> Corpus:
    """SST-2 (6,920 / 872 / 1,821 sentences, neutral ones left out) or SST-5 (all).

    Args:
        classes: 2 for negative and positive, 5 for very negative to very positive.
    """
    return _read(locate("sst", HUB_ID), classes)


@cache
def _read(folder: Path, classes: Literal[2, 5]) -> Corpus:
    return make_corpus({split: _split(folder, split) for split in SPLITS}, classes)


def make_corpus(texts: Mapping[str, Texts], classes: Literal[2, 5]) -> Corpus:
    """Sentences as bags over the words of the training sentences.

    Args:
        texts: Words and labels 0 … 4 of the sentences of each split; wordless ones are left out.
        classes: 2 for negative and positive without the neutral sentences, or 5.
    """
    chosen: dict[str, Texts] = {}
    for split, (rows, label) in texts.items():
        keep = [i for i in range(len(label)) if rows[i] and (classes == 5 or label[i] != NEUTRAL)]
        chosen[split] = [rows[i] for i in keep], label[keep]
    # By falling frequency, then alphabetically.
    counts = Counter(word for row in chosen["train"][0] for word in row)
    words = ("", *sorted(counts, key=lambda word: (-counts[word], word)))
    id_of = {word: i for i, word in enumerate(words)}
    bags = {
        split: _bag(
            [[id_of.get(word, UNKNOWN) for word in row] for row in rows],
            label if classes == 5 else (label > NEUTRAL).astype(np.int64),
            len(words),
        )
        for split, (rows, label) in chosen.items()
    }
    return Corpus(words=words, tone=np.sign(chosen["train"][1] - NEUTRAL), **bags)


def _split(folder: Path, split: str) -> Texts:
    """The cleaned words and the label 0 … 4 of every sentence of a split."""
    import pyarrow.parquet as pq

    columns = ["tokens", "label"]
    files = [
        file
        for file in sorted(folder.rglob(f"{split}-*.parquet"))
        if set(columns) <= set(pq.read_schema(file).names)
    ]
    if not files:
        raise FoveateError(f"{folder} has no {split} file with the columns tokens and label")
    tables = [pq.read_table(file, columns=columns) for file in files]
    tokens = [row for table in tables for row in table.column("tokens").to_pylist()]
    label = np.concatenate([table.column("label").to_numpy() for table in tables])
    return [clean(_listed(row)) for row in tokens], _graded(label)


def _listed(tokens: Any) -> list[str]:
    """A list of tokens; the hub's copy joins them by bars."""
    return tokens.split("|") if isinstance(tokens, str) else list(tokens)


def _graded(label: NDArray[Any]) -> NDArray[np.int64]:
    """Labels 0 … 4; the hub's copy has shares in [0, 1], cut at .2, .4, .6 and .8."""
    if np.issubdtype(label.dtype, np.floating):
        return np.searchsorted([0.2, 0.4, 0.6, 0.8], label.astype(np.float64).round(5))
    return label.astype(np.int64)


def _bag(rows: list[list[int]], y: NDArray[np.int64], words: int) -> Bag:
    length = torch.tensor([len(row) for row in rows])
    mask = torch.arange(int(length.max())) < length[:, None]
    index = torch.full(mask.shape, UNKNOWN)
    index[mask] = torch.tensor([word for row in rows for word in row])
    return sentences(index, words, torch.from_numpy(y), None, mask)
