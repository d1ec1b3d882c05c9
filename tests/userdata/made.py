"""Small collections that the tests of this folder share."""

import numpy as np
import torch

from foveate.io.collection import Collection, collect

QUICK = {
    "folds": 1,
    "epochs": 6,
    "seeds": 2,
    "lr": 0.02,
    "batch": 16,
    "paradigms": ("soft", "hard"),
}
NAMES = ("c0", "c1", "c2")


def numbers(n=60, seed=0, labelled=True, groups=False, relevance=False, split=None) -> Collection:
    """Bags of 2 to 5 segments; the one at a random place has its first column shifted by class."""
    chance = np.random.default_rng(seed)
    y = np.arange(n) % 3 // 2  # a third is "yes"
    bags, place = [], []
    for label in y:
        bag = chance.normal(size=(chance.integers(2, 6), 3)) * (1, 10, 1) + (0, 50, 0)
        place.append(int(chance.integers(len(bag))))
        bag[place[-1], 0] += 6 * (2 * label - 1)
        bags.append(torch.tensor(bag, dtype=torch.float32))
    z = [torch.arange(len(bag)) == j for bag, j in zip(bags, place, strict=True)]
    return collect(
        bags,
        [f"bag {i}" for i in range(n)],
        lambda i: f"bag {i}",
        source="toy.csv",
        labels=[("no", "yes")[c] for c in y] if labelled else None,
        relevance=[own if i % 2 else None for i, own in enumerate(z)] if relevance else None,
        groups=[f"p{i // 2}" for i in range(n)] if groups else None,
        split=split,
        columns=NAMES,
    )


WORDS = ["the", "a", "film", "was", "plot", "it"]


def texts(n=40, seed=0, words_per_segment=1, labelled=True) -> Collection:
    """Texts whose class one word tells; a segment is a word or a few."""
    chance = np.random.default_rng(seed)
    bags, words, labels = [], [], []
    for i in range(n):
        m = int(chance.integers(3, 7))
        own = [" ".join(chance.choice(WORDS, words_per_segment)) for _ in range(m)]
        own[int(chance.integers(m))] = ("awful", "great")[i % 2]
        bags.append(torch.zeros(m, 1, dtype=torch.long))
        words += own
        labels.append(("bad", "good")[i % 2])
    return collect(
        bags, [f"text {i}" for i in range(n)], lambda i: f"text {i}", source="toy.jsonl",
        labels=labels if labelled else None, kind="text", words=words,
    )  # fmt: skip


def tiles(n=40, seed=0) -> Collection:
    """Images of four tiles of 4×4 pixels; one of them is red or blue."""
    chance = np.random.default_rng(seed)
    bags = []
    for i in range(n):
        own = chance.integers(60, 90, size=(4, 3, 4, 4)).astype(np.uint8)
        own[chance.integers(4), 2 * (i % 2)] = 250
        bags.append(torch.from_numpy(own))
    corners = torch.tensor([[0, 0, 4, 4], [4, 0, 4, 4], [0, 4, 4, 4], [4, 4, 4, 4]])
    return collect(
        bags, [f"{i}.png" for i in range(n)], lambda i: f"{i}.png", source="images",
        labels=[("red", "blue")[i % 2] for i in range(n)], kind="image", places=[corners] * n,
    )  # fmt: skip
