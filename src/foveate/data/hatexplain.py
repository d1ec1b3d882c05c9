"""HateXplain: posts as bags of words, the words that annotators marked as the relevant ones.

Real hate speech: nothing here prints a post. [vr23] Sec. 5

Segments are word ids: the bank of a bag is the vocabulary and its index is the posts, as in
:mod:`foveate.data.topic_words`. Train and test share words, as languages do, and a bag has several
relevant segments, or none where nobody marked any.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from foveate.bags.bag import Bag
from foveate.data import DATASETS, Dataset, Recipe, Split, check_sizes
from foveate.data.files.cache import fingerprint
from foveate.data.files.hub import locate
from foveate.data.files.parquet import read_rows
from foveate.data.topic_words import sentences
from foveate.errors import FoveateError
from foveate.randomness import generator

__all__ = [
    "CLASSES",
    "UNKNOWN",
    "Annotators",
    "Post",
    "Posts",
    "as_bag",
    "hatexplain",
    "read_posts",
]

Annotators = Literal["majority", "first"]
CLASSES = ("hatespeech", "normal", "offensive")
UNKNOWN = 0  # the id of every word that no training post has
COLUMNS = ("id", "annotators", "rationales", "post_tokens")
MAX_TOKENS = 64  # tokens; of 19,229 posts of the official splits a few are longer


class Post(NamedTuple):
    """One post.

    Args:
        name: Its id in the data set.
        words: Its tokens.
        label: 0 … 2, see :data:`CLASSES`.
        marked: Whether each token is part of the rationale.
    """

    name: str
    words: tuple[str, ...]
    label: int
    marked: tuple[bool, ...]


@dataclass(frozen=True)
class Posts:
    """The posts of the official splits with labels and rationales of the chosen annotators.

    Args:
        splits: Posts by split.
        words: The vocabulary, of the training posts only; id 0 is every other word. (The
            released code takes it from all splits.)
        notes: Irregularities of the files and how they were handled, by post.
    """

    splits: Mapping[str, tuple[Post, ...]]
    words: tuple[str, ...]
    notes: tuple[str, ...]

    def cut_at(self, m: int) -> tuple[str, ...]:
        """A note for each post with more than m tokens."""
        return tuple(
            f"post {post.name} has {len(post.words)} tokens; those after the first {m} are cut off"
            for chosen_posts in self.splits.values()
            for post in chosen_posts
            if len(post.words) > m
        )


def read_posts(folder: Path, annotators: Annotators = "majority") -> Posts:
    """The posts of a folder in the hub's layout; read once in a process.

    Args:
        folder: Files ``train-*.parquet``, ``test-*.parquet`` and, where there is one,
            ``validation-*.parquet``. Posts that no majority decided (``undecided-*.parquet``) are
            in no official split and are not read.
        annotators: "majority": the label of most annotators, and the tokens that at least half of
            the rationales mark; "first": the first label and the first rationale, as in the
            released code. Rationales do not name their annotator, so the first label and the first
            rationale may come from different annotators.
    """
    files = {split: sorted(folder.rglob(f"{split}-*.parquet")) for split in _SPLITS}
    for split in ("train", "test"):
        if not files[split]:
            raise FoveateError(f"{folder} has no file {split}-*.parquet")
    all_files = [file for part in files.values() for file in part]
    return _read(tuple((split, tuple(part)) for split, part in files.items()), annotators,
                 fingerprint(all_files))  # fmt: skip


def as_bag(posts: Sequence[Post], words: Sequence[str], m: int) -> Bag:
    """Posts as bags of word ids with z on the rationale.

    Args:
        posts: At least one.
        words: The vocabulary.
        m: Most tokens of a post; longer posts are truncated.

    Example:
        >>> post = Post("a", ("good", "bad", "new"), 0, (False, True, False))
        >>> bag = as_bag([post], ("", "bad", "good"), 4)
        >>> bag.x.index.tolist(), bag.z.tolist()
        ([[2, 1, 0, 0]], [[False, True, False, False]])
    """
    id_of = {word: i for i, word in enumerate(words)}
    index = np.zeros((len(posts), m), np.int64)
    z, mask = np.zeros(index.shape, bool), np.zeros(index.shape, bool)
    for row, post in enumerate(posts):
        ids = [id_of.get(word, UNKNOWN) for word in post.words[:m]]
        index[row, : len(ids)], mask[row, : len(ids)] = ids, True
        z[row, : len(ids)] = post.marked[:m]
    y = torch.tensor([post.label for post in posts])
    return sentences(torch.from_numpy(index), len(words), y, torch.from_numpy(z),
                     torch.from_numpy(mask))  # fmt: skip


_SPLITS = ("train", "validation", "test")


@lru_cache(maxsize=4)
def _read(
    files: tuple[tuple[str, tuple[Path, ...]], ...], annotators: Annotators, stamp: object
) -> Posts:
    notes: list[str] = []
    splits = {}
    for split, part in files:
        rows = [(file, k, row) for file in part for k, row in enumerate(read_rows(file, COLUMNS))]
        splits[split] = tuple(_post(f"{file}, row {k}", row, annotators, notes)
                              for file, k, row in rows)  # fmt: skip
    counts = Counter(word for post in splits["train"] for word in post.words)
    # By falling frequency, then alphabetically.
    words = ("", *sorted(counts, key=lambda word: (-counts[word], word)))
    return Posts(splits, words, tuple(notes))


def _post(where: str, row: Mapping[str, Any], annotators: Annotators, notes: list[str]) -> Post:
    """A row of the file as a post; irregular rationales are recorded in the notes."""
    name, words = str(row["id"]), tuple(row["post_tokens"] or ())
    if not words:
        raise FoveateError(f"{where}, post {name}: must have a token, got none")
    label = _label(f"{where}, post {name}", (row["annotators"] or {}).get("label"), annotators)
    marks = [
        _fitted(f"post {name}: rationale {k}", rationale, len(words), notes)
        for k, rationale in enumerate(row["rationales"] or (), 1)
    ]
    if not marks:
        return Post(name, words, label, (False,) * len(words))
    used = np.array(marks[:1] if annotators == "first" else marks)
    return Post(name, words, label, tuple((2 * used.sum(0) >= len(used)).tolist()))


def _label(where: str, labels: Sequence[int] | None, annotators: Annotators) -> int:
    if not labels:
        raise FoveateError(f"{where}: must have a label, got none")
    for label in labels:
        if label not in range(len(CLASSES)):
            names = ", ".join(f"{k} {name}" for k, name in enumerate(CLASSES))
            raise FoveateError(f"{where}: labels must be {names}, got {label}")
    if annotators == "first":
        return int(labels[0])
    (label, count), *runners_up = Counter(labels).most_common()
    if runners_up and runners_up[0][1] == count:
        raise FoveateError(f"{where}: must have a majority label, got {list(labels)}")
    return int(label)


def _fitted(
    where: str, rationale: Sequence[int], length: int, notes: list[str]
) -> NDArray[np.bool_]:
    """A rationale as one mark per token; marks after the last token are dropped."""
    marks = np.asarray(rationale, dtype=np.int64)
    if not np.isin(marks, (0, 1)).all():
        invalid = marks[~np.isin(marks, (0, 1))][0]
        raise FoveateError(f"{where}: marks must be 0 or 1, got {invalid}")
    if len(marks) != length:
        done = "the rest is cut off" if len(marks) > length else "tokens without one are unmarked"
        notes.append(f"{where} has {len(marks)} marks for {length} tokens; {done}")
    fitted = np.zeros(length, bool)
    fitted[: len(marks)] = marks[:length] == 1
    return fitted


def _load(annotators: Annotators, split: Split, *, n: int, m: int, seed: int) -> Bag:
    """All posts of a split in the order of the file, or a random sample of n."""
    check_sizes(m, n)
    posts = read_posts(locate("hatexplain", "Hate-speech-CNERG/hatexplain"), annotators)
    chosen_posts = posts.splits[split]
    if n > len(chosen_posts):
        raise FoveateError(f"hatexplain has {len(chosen_posts):,} {split} posts, got n = {n:,}")
    if n < len(chosen_posts):
        chosen = torch.randperm(len(chosen_posts), generator=generator("hatexplain", split, seed))[
            :n
        ]
        chosen_posts = tuple(chosen_posts[k] for k in chosen.sort().values.tolist())
    return as_bag(chosen_posts, posts.words, m)


def hatexplain(annotators: Annotators) -> Dataset:
    """The data set; its splits are the official ones, so the seed only chooses among posts.

    Args:
        annotators: Which labels and rationales to use, see :func:`read_posts`.
    """
    source = "most annotators" if annotators == "majority" else "the first annotator"
    return Dataset(
        name="hatexplain" if annotators == "majority" else "hatexplain-first",
        about=f"posts as bags of words, label and rationale of {source}: hate, normal, offensive",
        classes=CLASSES,
        load=partial(_load, annotators),
        recipe=Recipe(
            m=MAX_TOKENS,
            n=15_383,  # the official splits
            n_test=1_924,
            net="hatexplain-1",
            epochs=10,  # [vr23] has SGD for 550 epochs; Adam is past its best after ten
            batch=256,  # not specified in [vr23]
            lr=1e-3,
        ),
    )


DATASETS.register("hatexplain")(partial(hatexplain, "majority"))
DATASETS.register("hatexplain-first")(partial(hatexplain, "first"))
