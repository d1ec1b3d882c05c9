"""Real bags whose relevant segments are known: recordings, posts, documents and reviews."""

from typing import Any

import numpy as np
import torch

from foveate.bags.bag import Bag, pad
from foveate.data.files.hub import locate
from foveate.data.hatexplain import as_bag, read_posts
from foveate.randomness import generator
from foveate.types import Array

__all__ = [
    "birds",
    "fever",
    "hatexplain",
    "hockey",
    "hockey_posts",
    "latent_vectors",
    "news",
    "read_columns",
    "sentiment",
    "split_in_half",
]  # fmt: skip

TrainTestBags = tuple[Bag, Bag, Array | None, Array | None]
"""Training and test bags, and their other labels where there are any."""


def split_in_half(n: int, name: str, seed: int) -> tuple[Array, Array]:
    """Rows of the training and of the test half of n bags, drawn at random."""
    order = torch.randperm(n, generator=generator("trust study", name, seed)).numpy()
    return order[: n // 2], order[n // 2 :]


def birds(species: int, seed: int) -> TrainTestBags:
    """Recordings as bags of spectrogram segments; whether one species is in them."""
    folder = locate("mil_hja_birds", "none")
    segments, bags = (read_columns(folder / f"{name}.parquet") for name in ("segments", "bags"))
    x = np.stack([segments[f"x{k}"] for k in range(38)], 1).astype(np.float32)
    x = (x - x.mean(0)) / (x.std(0) + 1e-6)
    names = [name for name in bags if name.startswith("species_")]
    present = np.stack([bags[name] for name in names], 1).astype(bool)
    column = names.index(f"species_{species}")
    rows = {bag: np.flatnonzero(segments["bag"] == bag) for bag in bags["bag"]}
    parts: list[Any] = []
    for half in split_in_half(len(present), "birds", seed):
        bag_segments = [rows[bags["bag"][i]] for i in half]
        z = [torch.from_numpy(segments["segment_label"][r] == species) for r in bag_segments]
        y = torch.from_numpy(present[half, column].astype(np.int64))
        parts.append(pad([torch.from_numpy(x[r]) for r in bag_segments], y, z))
        parts.append(np.delete(present[half], column, 1))
    return parts[0], parts[2], parts[1], parts[3]


def hockey(seed: int) -> TrainTestBags:
    """Newsgroups: bags of posts, some of which are about hockey; 100 bags."""
    table = read_columns(next(locate("mil_newsgroups_hockey", "none").glob("train-*.parquet")))
    x = np.stack([table[f"x{k}"] for k in range(200)], 1).astype(np.float32)
    ids = list(dict.fromkeys(table["bag"].tolist()))
    parts = []
    for half in split_in_half(len(ids), "hockey", seed):
        bag_rows = [np.flatnonzero(table["bag"] == ids[i]) for i in half]
        y = torch.tensor([int(table["label"][r[0]] > 0) for r in bag_rows])
        z = [torch.from_numpy(table["relevant"][r] > 0) for r in bag_rows]
        parts.append(pad([torch.from_numpy(x[r]) for r in bag_rows], y, z))
    return parts[0], parts[1], None, None


def hockey_posts(n: int, seed: int) -> TrainTestBags:
    """Bags of eight posts on baseball; in half of them one to three are on hockey, the relevant."""
    folder = locate("newsgroups_baseball_hockey", "none")
    pools = []
    for split in ("train", "test"):
        table = read_columns(next(folder.glob(f"{split}-*.parquet")), ("text", "label"))
        texts = [(t, int(k)) for t, k in zip(table["text"], table["label"], strict=True) if t]
        pools.append(([t for t, k in texts if k == 0], [t for t, k in texts if k == 1]))
    vectors = latent_vectors([pools[0][0], pools[0][1]], [pools[1][0], pools[1][1]])
    parts = []
    for (background, hockey), size, name in zip(vectors, (n, n // 2), ("a", "b"), strict=True):
        rng = generator("second trust study", "hockey posts", name, seed)
        y = torch.arange(size) % 2
        x = background[torch.randint(len(background), (size, 8), generator=rng)]
        count = 1 + torch.randint(3, (size, 1), generator=rng)
        z = (torch.rand(size, 8, generator=rng).argsort(1) < count) & (y == 1)[:, None]
        x[z] = hockey[torch.randint(len(hockey), (int(z.sum()),), generator=rng)]
        parts.append(Bag(x, y, z))
    return parts[0], parts[1], None, None


def news(n: int, seed: int) -> TrainTestBags:
    """Bags of ten articles on the world, one of which is on sports, business or science."""
    folder = locate("ag_news", "fancyzhx/ag_news")
    pools = []
    for split, most in (("train", 4000), ("test", 4000)):
        table = read_columns(next(folder.glob(f"{split}-*.parquet")), ("text", "label"))
        texts, labels = table["text"][:most], table["label"][:most]
        pools.append([texts[labels == k].tolist() for k in range(4)])
    parts = []
    for pool, size, name in zip(latent_vectors(*pools), (n, n // 2), ("a", "b"), strict=True):
        rng = generator("second trust study", "news", name, seed)
        y = torch.arange(size) % 3
        x = pool[0][torch.randint(len(pool[0]), (size, 10), generator=rng)]
        position = torch.randint(10, (size,), generator=rng)
        z = torch.zeros(size, 10, dtype=torch.bool)
        z[torch.arange(size), position] = True
        for i in range(size):
            class_pool = pool[1 + int(y[i])]
            x[i, position[i]] = class_pool[int(torch.randint(len(class_pool), (1,), generator=rng))]
        parts.append(Bag(x, y, z))
    return parts[0], parts[1], None, None


def latent_vectors(train: list[list[str]], test: list[list[str]]) -> list[list[torch.Tensor]]:
    """Latent semantic vectors of texts in groups, learnt from the training texts."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    every = [text for group in train for text in group]
    words = TfidfVectorizer(min_df=3, sublinear_tf=True, stop_words="english").fit(every)
    latent = TruncatedSVD(32, random_state=0).fit(words.transform(every))
    return [
        [
            torch.from_numpy(10 * latent.transform(words.transform(group))).float()
            for group in groups
        ]
        for groups in (train, test)
    ]


def hatexplain(n: int, label: int = 0) -> TrainTestBags:
    """Posts as bags of words: hate speech (or label 2, offensive) against normal.

    Rationales are relevant.
    """
    posts = read_posts(locate("hatexplain", "Hate-speech-CNERG/hatexplain"))
    parts = []
    for split in ("train", "test"):
        selected = [p for p in posts.splits[split] if p.label in (label, 1)][:n]
        bag = as_bag(selected, posts.words, 40)
        parts.append(Bag(bag.x, (bag.y != 1).long(), bag.z, bag.mask))
    return parts[0], parts[1], None, None


def sentiment(n: int) -> TrainTestBags:
    """Sentences of film reviews as words; words with the sentence's polarity are relevant."""
    from foveate.data.topic_words import sentences

    folder = locate("sst", "stanfordnlp/sst")
    columns = ("tokens", "token_labels", "binary_label")
    tables = [
        read_columns(next(folder.glob(f"{split}-*.parquet")), columns)
        for split in ("train", "test")
    ]
    word_id: dict[str, int] = {"": 0}
    for row in tables[0]["tokens"]:
        for word in row:
            word_id.setdefault(word.lower(), len(word_id))
    parts = []
    for table in tables:
        graded = np.flatnonzero(np.asarray(table["binary_label"]) >= 0)
        rng = generator("trust study", "sentiment")  # the file is in order of films
        rows = graded[torch.randperm(len(graded), generator=rng)[:n].numpy()].tolist()
        m = max(len(table["tokens"][i]) for i in rows)
        index, z = np.zeros((len(rows), m), np.int64), np.zeros((len(rows), m), bool)
        mask, y = z.copy(), np.array([int(table["binary_label"][i]) for i in rows])
        for k, i in enumerate(rows):
            words, polarity = table["tokens"][i], np.asarray(table["token_labels"][i])
            index[k, : len(words)] = [word_id.get(word.lower(), 0) for word in words]
            mask[k, : len(words)] = True
            z[k, : len(words)] = polarity > 2 if y[k] else polarity < 2
        arrays = (torch.from_numpy(part) for part in (z, mask))
        parts.append(sentences(torch.from_numpy(index), len(word_id), torch.from_numpy(y), *arrays))
    return parts[0], parts[1], None, None


def fever(n: int) -> TrainTestBags:
    """Articles as sentences, with a claim: is it supported? Evidence sentences are relevant.

    A segment is the latent semantic vector of a sentence times that of the claim.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    folder = locate("eraser_fever", "none")
    columns = ("document", "query", "label", "evidence_start")
    tables = [
        read_columns(next(folder.glob(f"{split}-*.parquet")), columns)
        for split in ("validation", "test")
    ]
    texts = [line for row in tables[0]["document"][:n] for line in row.split("\n")]
    words = TfidfVectorizer(min_df=2, sublinear_tf=True).fit([*texts, *tables[0]["query"][:n]])
    latent = TruncatedSVD(32, random_state=0).fit(words.transform(texts))
    parts = []
    for table in tables:
        bags, z = [], []
        for row, claim, starts in zip(
            table["document"][:n], table["query"][:n], table["evidence_start"][:n], strict=True
        ):
            lines = row.split("\n")[:40]
            begin = np.cumsum([0, *(len(line.split()) for line in lines)])
            common = latent.transform(words.transform(lines)) * latent.transform(
                words.transform([claim])
            )
            bags.append(torch.from_numpy((10 * common).astype(np.float32)))
            z.append(torch.from_numpy(np.isin(begin[:-1], np.asarray(starts))))
        y = torch.from_numpy(np.array([int(v) for v in table["label"][:n]]))
        parts.append(pad(bags, y, z))
    return parts[0], parts[1], None, None


def read_columns(path: Any, columns: tuple[str, ...] | None = None) -> dict[str, Any]:
    """The columns of a Parquet file, numbers and texts as arrays and the rest as lists."""
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=None if columns is None else list(columns))
    values: dict[str, Any] = {}
    for name in table.column_names:
        listed = table.column(name).to_pylist()
        flat = bool(listed) and isinstance(listed[0], int | float | str)
        values[name] = np.array(listed) if flat else listed
    return values
