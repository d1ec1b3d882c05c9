"""Readers of the real sets: each gives the bags as a user's collection."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foveate.data import DATASETS
from foveate.data.files.hub import locate
from foveate.data.hatexplain import read_posts
from foveate.io.collection import Collection, collect
from foveate.io.tokenisation import words as words_of
from foveate.randomness import generator
from foveate.types import Array

__all__ = [
    "bird_labels", "birds", "digit_bags", "documents", "messages", "newsgroup_posts", "people",
    "photographs", "posts", "reviews", "table_bags",
]  # fmt: skip

MAX_SEGMENTS = 40  # sentences of an article, words of a post
SIDE = 224  # pixels a side of photographs: a grid of 7 × 7 cells
FEMALE = {"woman", "women", "girl", "girls", "lady", "she", "her", "female", "bride"}
MALE = {"man", "men", "boy", "boys", "guy", "he", "his", "him", "male", "gentleman"}


def table_bags(folder: str) -> Collection:
    """A table with one row per segment; ``relevant`` is read where there is such a column."""
    table = _table(next(locate(folder, "none").glob("train-*.parquet")))
    names = [name for name in table if name[0] == "x" and name[1:].isdigit()]
    x = np.stack([table[name] for name in names], 1).astype(np.float32)
    ids = list(dict.fromkeys(table["bag"].tolist()))
    rows = [np.flatnonzero(table["bag"] == name) for name in ids]
    z = None
    if "relevant" in table:
        z = [torch.from_numpy(table["relevant"][bag_rows] > 0) for bag_rows in rows]
    labels = [int(table["label"][bag_rows[0]] > 0) for bag_rows in rows]
    return _collected(folder, [torch.from_numpy(x[bag_rows]) for bag_rows in rows], labels, z)


def birds(species: int) -> Collection:
    """Recordings as bags of spectrogram segments; whether one species is in them.

    The relevance of a positive bag without a labelled segment of the species is not known.
    """
    folder = locate("mil_hja_birds", "none")
    segments, bags = (_table(folder / f"{name}.parquet") for name in ("segments", "bags"))
    x = np.stack([segments[f"x{k}"] for k in range(38)], 1).astype(np.float32)
    rows = [np.flatnonzero(segments["bag"] == name) for name in bags["bag"]]
    labels = bags[f"species_{species}"].astype(int).tolist()
    z: list[Tensor | None] = []
    for bag_rows, label in zip(rows, labels, strict=True):
        marked = torch.from_numpy(segments["segment_label"][bag_rows] == species)
        z.append(None if label and not bool(marked.any()) else marked)
    return _collected(
        f"birds-{species}", [torch.from_numpy(x[bag_rows]) for bag_rows in rows], labels, z
    )


def bird_labels(species: Sequence[int]) -> Collection:
    """Recordings with a label per species: whether it is in the recording."""
    bags = _table(locate("mil_hja_birds", "none") / "bags.parquet")
    columns = [torch.from_numpy(bags[f"species_{k}"].astype(bool)) for k in species]
    return replace(
        birds(species[0]),
        labels=torch.stack(columns, 1),
        label_names=tuple(f"species {k}" for k in species),
        classes=(),
        known=None,
        source="birds",
    )


def digit_bags(name: str, n: int) -> Collection:
    """Bags of about ten digits, positive if a nine is among them."""
    bag = DATASETS.get(name)().load("train", n=n, m=10, seed=0)
    mask = torch.ones(bag.shape, dtype=torch.bool) if bag.mask is None else bag.mask
    x = bag.dense().flatten(2).float()
    assert bag.z is not None
    rows = [x[i][mask[i]] for i in range(n)]
    return _collected(name, rows, bag.y.tolist(), [bag.z[i][mask[i]] for i in range(n)])


def posts(n: int, split: str = "train") -> Collection:
    """HateXplain posts as bags of words: hate speech against normal; rationales are relevant."""
    every = read_posts(locate("hatexplain", "Hate-speech-CNERG/hatexplain")).splits[split]
    labelled = [post for post in every if post.label in (0, 1)]
    chosen = torch.randperm(len(labelled), generator=generator("real-bags", "posts"))[:n].tolist()
    words: list[str] = []
    bags, labels = [], []
    z: list[Tensor | None] = []
    for k in chosen:
        post = labelled[k]
        words += post.words[:MAX_SEGMENTS]
        bags.append(torch.zeros(min(len(post.words), MAX_SEGMENTS), 1))
        labels.append(int(post.label == 0))
        marked = torch.tensor(post.marked[:MAX_SEGMENTS])
        z.append(marked if bool(marked.any()) or not labels[-1] else None)
    ids = [str(i) for i in range(len(bags))]
    return collect(
        bags, ids, lambda i: f"post {i}", source="hatexplain", labels=_names(labels),
        relevance=z, kind="text", words=words,
    )  # fmt: skip


def messages(n: int) -> Collection:
    """Text messages as bags of words, half of them spam; copies are left out."""
    table = _table(next(locate("sms_spam", "ucirvine/sms_spam").glob("train-*.parquet")))
    return _bags_of_words("sms_spam", table["sms"], table["label"], n)


def reviews(n: int) -> Collection:
    """Sentences of film reviews as bags of words, half of them positive."""
    table = _table(
        next(locate("sst", "stanfordnlp/sst").glob("train-*.parquet")), ("sentence", "binary_label")
    )
    sure = table["binary_label"] >= 0
    return _bags_of_words("sst", table["sentence"][sure], table["binary_label"][sure], n)


def newsgroup_posts(n: int) -> Collection:
    """Posts on baseball and on hockey as bags of sentences, half of each."""
    path = next(locate("newsgroups_baseball_hockey", "none").glob("train-*.parquet"))
    table = _table(path, ("text", "label"))
    return _bags_of_texts("newsgroup-posts", table["text"], table["label"], n, _sentences)


def _sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?])\s+|\n\s*\n", text) if words_of(part)]


def _bags_of_words(source: str, texts: Array, labels: Array, n: int) -> Collection:
    return _bags_of_texts(source, texts, labels, n, words_of)


def _bags_of_texts(
    source: str, texts: Array, labels: Array, n: int, cut: Callable[[str], list[str]]
) -> Collection:
    """n texts, half of each label, drawn by the name of the source, each cut into segments."""
    unique_rows = list({text: i for i, text in enumerate(texts.tolist()) if cut(text)}.values())
    order = torch.randperm(len(unique_rows), generator=generator("real-bags", source)).tolist()
    drawn = [unique_rows[k] for k in order]
    chosen = [i for label in (0, 1) for i in [i for i in drawn if labels[i] == label][: n // 2]]
    segments = [cut(str(texts[i]))[:MAX_SEGMENTS] for i in chosen]
    return collect(
        [torch.zeros(len(sentences), 1) for sentences in segments],
        [str(i) for i in range(len(chosen))],
        lambda i: f"text {i}",
        source=source,
        labels=_names([int(labels[i]) for i in chosen]),
        kind="text",
        words=[part for sentences in segments for part in sentences],
    )


def documents(n: int, split: str = "validation") -> Collection:
    """FEVER articles as bags of sentences, with a claim: is it supported?

    Whether a sentence supports a claim is a relation of the two, so a segment is what they have in
    common: the cosine of their TF-IDF vectors; the shares of the claim's words and of their TF-IDF
    weight that the sentence has, and that the whole article has; and the length of the claim.
    Claims about one article are one group.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    path = next(locate("eraser_fever", "none").glob(f"{split}-*.parquet"))
    table = _table(path, ("document", "query", "label", "evidence_start", "doc_id"))
    total = len(table["label"])
    chosen = torch.randperm(total, generator=generator("real-bags", "documents"))[:n].numpy()
    sentences = [table["document"][i].split("\n")[:MAX_SEGMENTS] for i in chosen]
    claims = [str(table["query"][i]) for i in chosen]
    lines = [line for bag_sentences in sentences for line in bag_sentences]
    words = TfidfVectorizer(sublinear_tf=True).fit([*lines, *claims])
    bags, z = [], []
    for text, claim, i in zip(sentences, words.transform(claims), chosen, strict=True):
        bags.append(torch.from_numpy(_relation(words.transform(text), claim)))
        begin = np.cumsum([0, *(len(line.split()) for line in text)])[:-1]
        marked = torch.from_numpy(np.isin(begin, np.asarray(table["evidence_start"][i])))
        z.append(marked if bool(marked.any()) else None)
    labels = [int(table["label"][i]) for i in chosen]
    groups = [str(table["doc_id"][i]) for i in chosen]
    return _collected(f"documents-{split}", bags, labels, z, groups)


def _relation(sentences: Any, claim: Any) -> Array:
    """What each sentence and the claim have in common, from sparse TF-IDF rows, shape (m, 6)."""
    rows = claim.indices
    has = (sentences[:, rows] > 0).toarray().astype(float)
    weight = claim.data / claim.data.sum()
    whole = has.max(0)
    return np.column_stack(
        [
            (sentences @ claim.T).toarray()[:, 0],
            has.mean(1),
            has @ weight,
            np.full(len(has), whole.mean()),
            np.full(len(has), whole @ weight),
            np.full(len(has), len(rows)),
        ]
    ).astype(np.float32)


def photographs() -> Collection:
    """Photographs of one person as cells of a frozen encoder's grid: a woman or a man?

    The label is what at least three captions say and none contradicts; cells whose centre is in the
    person's box are relevant.
    """
    from foveate.data.object_words import caption_words

    folder = locate("coco_one_person", "none")
    rows = [
        row
        for path in sorted(folder.glob("*.parquet"))
        for row in _rows(path, ("image", "captions", "objects", "width", "height"))
    ]
    feature_rows, labels = [], []
    for row in rows:
        caption_sets = [set(caption_words(text)) for text in row["captions"]]
        female, male = (
            sum(bool(words & names) for words in caption_sets) for names in (FEMALE, MALE)
        )
        if (female >= 3 and not male) or (male >= 3 and not female):
            feature_rows.append(row)
            labels.append(int(female >= 3))
    features = _grids(tuple(row["image"]["bytes"] for row in feature_rows))
    side = int(features.shape[1] ** 0.5)
    z = [_box_mask(row, row["objects"]["bbox"][:1], side) for row in feature_rows]
    return _collected("photographs", list(features), labels, z)


def people() -> Collection:
    """Photographs of any objects as cells of a frozen encoder's grid: is a person in it?

    Cells whose centre is in the box of a person are relevant.
    """
    folder = locate("coco_captions_boxes", "none")
    rows = [
        row
        for path in sorted(folder.glob("*.parquet"))
        for row in _rows(path, ("image", "objects", "width", "height"))
    ]
    features = _grids(tuple(row["image"]["bytes"] for row in rows))
    side = int(features.shape[1] ** 0.5)
    boxes = [
        [
            box
            for box, kind in zip(bag_boxes["bbox"], bag_boxes["category"], strict=True)
            if kind == 0
        ]
        for bag_boxes in (row["objects"] for row in rows)
    ]
    z = [_box_mask(row, bag_boxes, side) for row, bag_boxes in zip(rows, boxes, strict=True)]
    return _collected("people", list(features), [int(bool(bag_boxes)) for bag_boxes in boxes], z)


@lru_cache(maxsize=1)
def _grids(images: tuple[bytes, ...]) -> Tensor:
    """Features of the cells of each image, (N, 49, 320)."""
    from foveate.data.features.encoding import squared
    from foveate.io.image_decoding import decode_image
    from foveate.models.efficientnet import efficientnet_lite0

    network = efficientnet_lite0(layer="block15")
    parts = []
    for raw in images:
        decoded = torch.from_numpy(np.atleast_3d(decode_image(raw, ["JPEG", "PNG"])[0]).copy())
        with torch.no_grad():
            parts.append(network(squared([decoded.permute(2, 0, 1)], SIDE)))
    return torch.cat(parts).flatten(2).transpose(1, 2).contiguous()


def _box_mask(row: dict[str, Any], boxes: Sequence[Sequence[float]], side: int) -> Tensor | None:
    """Cells whose centre lies in one of the boxes, shape (side²,); None if there is none."""
    x = (np.arange(side) + 0.5) / side * row["width"]
    y = (np.arange(side) + 0.5) / side * row["height"]
    inside = np.zeros((side, side), bool)
    for left, top, width, height in boxes:
        across, down = (left <= x) & (x <= left + width), (top <= y) & (y <= top + height)
        inside |= np.outer(down, across)
    return torch.from_numpy(inside.ravel()) if inside.any() else None


def _collected(
    source: str,
    bags: Sequence[Tensor],
    labels: Sequence[int],
    z: Sequence[Tensor | None] | None = None,
    groups: Sequence[str] | None = None,
) -> Collection:
    columns = [f"x{k}" for k in range(bags[0].shape[1])]
    ids = [str(i) for i in range(len(bags))]
    return collect(
        bags, ids, lambda i: f"bag {i}", source=source, labels=_names(labels), relevance=z,
        groups=groups, columns=columns,
    )  # fmt: skip


def _names(labels: Sequence[int]) -> list[str]:
    return [("no", "yes")[label] for label in labels]


def _rows(path: Path, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    listed: list[dict[str, Any]] = pq.read_table(path, columns=list(columns)).to_pylist()
    return listed


def _table(path: Path, columns: tuple[str, ...] | None = None) -> dict[str, Array]:
    """The columns of a Parquet file as arrays."""
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=None if columns is None else list(columns))
    values: dict[str, Array] = {}
    for name in table.column_names:
        listed = table.column(name).to_pylist()
        flat = bool(listed) and isinstance(listed[0], int | float | str)
        values[name] = np.array(listed) if flat else np.array(listed, dtype=object)
    return values
