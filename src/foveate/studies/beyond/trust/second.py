"""The second protocol: new sets that confirm the rule after its repair, run once.

After the first confirmation all of its sets became design sets: question (c) also repeats the
segment with the most evidence against the class; where the auditor's evidence is uncertain, the
interval of the estimate is wider or there is no estimate; the bounds that grades require are
stricter; a background segment that changes predictions leads to "trust with care". These sets had
not been used before, and nothing was changed after this file was committed.

``identifiable`` was stated beforehand, as in the first protocol: it is False where a second kind
of segment gives the label away as well (*texture*, *companion*), or where the label lies in
several segments together (*multi*, *frequency*).
"""

from collections.abc import Callable
from functools import partial

import torch

from foveate.bags.bag import Bag
from foveate.data import Split
from foveate.data.digits import read_digits
from foveate.data.files.bank import Bank
from foveate.data.files.hub import locate
from foveate.data.image_mosaics import mosaics, read_split
from foveate.data.topic_words import topic_words
from foveate.randomness import generator
from foveate.studies.beyond.trust.encoded import people
from foveate.studies.beyond.trust.real import TrainTestBags, hatexplain, hockey_posts, news
from foveate.studies.beyond.trust.sets import (
    NO_YES,
    RECORDINGS,
    SETS,
    WORDS,
    Sample,
    TrustSet,
    unit,
)

__all__ = ["EVERY", "SECOND"]

Change = Callable[[Bag, torch.Generator], Bag]


def _digits(split: Split, seed: int) -> Bank:
    return read_digits(split, seed)


def _mnist(split: Split, seed: int) -> Bank:
    return read_split(locate("mnist", "ylecun/mnist"), split, seed)


def _mosaics(
    bank: Callable[[Split, int], Bank],
    foreground: tuple[int, ...],
    m: int,
    n: int,
    seed: int,
    change: Change | None = None,
    shares: tuple[float, ...] | None = None,
) -> Sample:
    """Bags of images with other classes, sizes and draws than the sets of the first protocol."""
    parts = []
    sizes: tuple[tuple[Split, int], ...] = (("train", n), ("test", n // 2))
    for split, size in sizes:
        rng = generator("second trust study", split, m, seed)
        bag = mosaics(
            bank(split, seed + 1), foreground, None, n=size, m=m, generator=rng, shares=shares
        )
        plain = Bag(bag.dense().flatten(2).float() / 255, bag.y, bag.z)
        parts.append(plain if change is None else change(plain, rng))
    return Sample(parts[0], parts[1])


def _background(bag: Bag, i: int, rng: torch.Generator) -> int:
    assert bag.z is not None
    free = (~bag.z[i]).nonzero()[:, 0]
    return int(free[torch.randint(len(free), (1,), generator=rng)])


def _texture(bag: Bag, rng: torch.Generator) -> Bag:
    """One background segment has a faint texture of the class, right in 80 % of the bags."""
    x, classes = bag.dense().clone(), int(bag.y.max()) + 1
    pattern = torch.rand(classes, x.shape[-1], generator=generator("second trust study", "texture"))
    for i, c in enumerate(bag.y.tolist()):
        texture_fits = float(torch.rand(1, generator=rng)) < 0.8
        textured = c if texture_fits else int(torch.randint(classes, (1,), generator=rng))
        x[i, _background(bag, i, rng)] += 0.5 * pattern[textured]
    return Bag(x, bag.y, bag.z)


def _companion(bag: Bag, rng: torch.Generator) -> Bag:
    """A bright square takes a background place, in 95 % of the first class and 5 % else."""
    x = bag.dense().clone()
    has = torch.rand(len(bag), generator=rng) < torch.where(bag.y == 0, 0.95, 0.05)
    for i in has.nonzero()[:, 0].tolist():
        noise = 0.05 * torch.randn(x.shape[-1], generator=rng)
        x[i, _background(bag, i, rng)] = 0.8 + noise
    return Bag(x, bag.y, bag.z)


def _noise(bag: Bag, rng: torch.Generator) -> Bag:
    """One label in five is drawn at random; relevance is that of the first label."""
    wrong = torch.rand(len(bag), generator=rng) < 0.2
    drawn = torch.randint(int(bag.y.max()) + 1, (len(bag),), generator=rng)
    y = torch.where(wrong, drawn, bag.y)
    assert bag.z is not None
    return Bag(bag.dense(), y, bag.z & (y == bag.y)[:, None])


def _topics(n: int, seed: int) -> Sample:
    arguments = {"m": 30, "topics": 3, "per_topic": 4, "others": 800, "seed": seed + 5}
    return Sample(
        topic_words("train", n=n, **arguments), topic_words("test", n=n // 2, **arguments)
    )


def _halves(make: Callable[[int, int], TrainTestBags], n: int, seed: int) -> Sample:
    train, test, _, _ = make(n, seed)
    return Sample(train, test)


def _offensive(n: int, seed: int) -> TrainTestBags:
    del seed
    return hatexplain(2 * n, label=2)


def _people(n: int, seed: int) -> TrainTestBags:
    del n
    return people(seed)


FIVE, EIGHTS = tuple("01234"), ("3", "5", "8")

SECOND: dict[str, TrustSet] = {
    "raff-frequency-2": unit("second", "frequency", sees=False, seed=7, more=6),
    "raff-single-2": unit("second", "single", seed=7, more=6),
    "raff-multi-2": unit("second", "multi", sees=False, seed=7, more=6),
    "posts": TrustSet(
        "second", partial(_halves, hockey_posts), NO_YES, plan=RECORDINGS, graded=(1,)
    ),
    "news": TrustSet(
        "second", partial(_halves, news), ("sports", "business", "science"), plan=RECORDINGS
    ),
    "offensive": TrustSet(
        "second", partial(_halves, _offensive), NO_YES, net="hatexplain-1", plan=WORDS, graded=(1,)
    ),
    "digits-five": TrustSet(
        "second", partial(_mosaics, _digits, (0, 1, 2, 3, 4), 8), FIVE, graded=(0, 1, 2, 3, 4)
    ),
    "digits-companion-95": TrustSet(
        "second",
        partial(_mosaics, _digits, (5, 7, 9), 12, change=_companion),
        ("5", "7", "9"),
        False,
    ),
    "digits-imbalance-2": TrustSet(
        "second", partial(_mosaics, _digits, (6, 4), 12, shares=(0.8, 0.2)), ("6", "4"),
        graded=(0, 1),
    ),
    "digits-label-noise-20": TrustSet(
        "second", partial(_mosaics, _digits, (2, 4, 6), 7, change=_noise), ("2", "4", "6")
    ),
    "mnist-texture-80": TrustSet(
        "second", partial(_mosaics, _mnist, (0, 1, 6), 8, change=_texture), ("0", "1", "6"), False
    ),
    "mnist-m6": TrustSet("second", partial(_mosaics, _mnist, (3, 5, 8), 6), EIGHTS),
    "topic-words-m30": TrustSet(
        "second", _topics, ("t0", "t1", "t2"), net="hatexplain-1", plan=WORDS
    ),
    "people": TrustSet(
        "second", partial(_halves, _people), NO_YES, plan=RECORDINGS, graded=(1,)
    ),
}  # fmt: skip

EVERY = {**SETS, **SECOND}
