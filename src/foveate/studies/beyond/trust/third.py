"""The third protocol: unused texts that confirm the rule with a stronger auditor, run once.

After the second confirmation all of its sets became design sets. Changed on them: a third
classifier of segments that knows that most of a bag is background (the mixture), the mean of the
classifiers calibrated again, opinions of two auditors that share the mixture, and a lower end of
.55 in place of .5 for "trust with care". All other thresholds are those of the second protocol.
The texts of these sets had been used in no study of trust. Their counts were seen before this file
was committed, nothing else, and nothing was changed afterwards.

Goals: no miss, no false alarm, an error of at most .10 where something is said, something said in
70 % of identifiable cases, intervals that hold in 95 %. If one case is missed, the auditor of the
second protocol is used again.

``identifiable`` was stated beforehand: it is False where a second kind of segment gives the label
away as well (*companion*, *mark*). *Polarity* sets are identifiable, since single texts tell the
class, though weakly: 32 numbers of a text hold little of its sentiment.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.data.files.hub import locate
from foveate.randomness import generator
from foveate.studies.beyond.trust.real import latent_vectors, read_columns
from foveate.studies.beyond.trust.second import EVERY as EARLIER
from foveate.studies.beyond.trust.sets import NO_YES, RECORDINGS, Sample, TrustSet

__all__ = ["EVERY", "THIRD"]

Texts = list[list[str]]
"""Texts of the background, then of the evidence of each class."""
Change = Callable[[Bag, list[Tensor], torch.Generator], Bag]

DOMAINS = ("dvd", "electronics", "kitchen_housewares")
MOST = 2000  # texts of each group in training and in test


def _halves(groups: Texts) -> tuple[Texts, Texts]:
    """Different texts for training and test, without repeated ones."""
    unique = [list(dict.fromkeys(group))[: 2 * MOST] for group in groups]
    return [group[::2] for group in unique], [group[1::2] for group in unique]


def _messages() -> tuple[Texts, Texts]:
    """Short messages, and spam."""
    columns = read_columns(
        next(locate("sms_spam", "none").glob("train-*.parquet")), ("sms", "label")
    )
    pairs = list(zip(columns["sms"].tolist(), columns["label"].tolist(), strict=True))
    return _halves([[text for text, spam in pairs if spam == k] for k in (0, 1)])


def _products() -> tuple[Texts, Texts]:
    """Reviews of books, and of three other domains."""
    folder = locate("multi_domain_sentiment", "none")
    columns = read_columns(next(folder.glob("train-*.parquet")), ("text", "domain"))
    texts, domains = columns["text"], columns["domain"]
    return _halves([texts[domains == name].tolist() for name in ("books", *DOMAINS)])


def _films_among_places() -> tuple[Texts, Texts]:
    """Reviews of places (Yelp), and of films (IMDb)."""
    places = read_columns(
        next(locate("yelp_polarity_sample", "none").glob("test-*.parquet")), ("text",)
    )
    films = read_columns(next(locate("imdb", "none").glob("test-*.parquet")), ("text",))
    return _halves([places["text"].tolist(), films["text"].tolist()])


def _by_polarity(folder: str, column: str) -> tuple[Texts, Texts]:
    """Negative texts, and positive ones."""
    columns = read_columns(next(locate(folder, "none").glob("train-*.parquet")), (column, "label"))
    texts, labels = columns[column], columns["label"]
    return _halves([texts[labels == k].tolist() for k in (0, 1)])


def _composed(
    texts: Callable[[], tuple[Texts, Texts]],
    name: str,
    m: int,
    most: int,
    n: int,
    seed: int,
    change: Change | None = None,
) -> Sample:
    """Bags of m background texts; one to ``most`` of them are replaced by evidence of the class.

    With one group of evidence, class 0 has none; with several, every class has its group.
    """
    parts = []
    for groups, size, split in zip(latent_vectors(*texts()), (n, n // 2), ("a", "b"), strict=True):
        chance = generator("third trust study", name, split, seed)
        kinds = groups[1:]
        y = torch.arange(size) % max(2, len(kinds))
        x = _drawn(groups[0], (size, m), chance)
        count = 1 + torch.randint(most, (size, 1), generator=chance)
        z = torch.rand(size, m, generator=chance).argsort(1) < count
        z &= (y == 1)[:, None] | torch.tensor(len(kinds) > 1)
        for c, evidence in enumerate(kinds):
            of = z & (y == (c if len(kinds) > 1 else 1))[:, None]
            x[of] = _drawn(evidence, (int(of.sum()),), chance)
        bag = Bag(x, y, z)
        parts.append(bag if change is None else change(bag, groups, chance))
    return Sample(parts[0], parts[1])


def _drawn(pool: Tensor, shape: tuple[int, ...], chance: torch.Generator) -> Tensor:
    return pool[torch.randint(len(pool), shape, generator=chance)]


def _background(bag: Bag, i: int, chance: torch.Generator) -> int:
    assert bag.z is not None
    free = (~bag.z[i]).nonzero()[:, 0]
    return int(free[torch.randint(len(free), (1,), generator=chance)])


def _companion(bag: Bag, groups: list[Tensor], chance: torch.Generator) -> Bag:
    """One and the same review, slightly varied, accompanies the first class in 90 %, else 10 %."""
    x = bag.dense().clone()
    has = torch.rand(len(bag), generator=chance) < torch.where(bag.y == 0, 0.9, 0.1)
    for i in has.nonzero()[:, 0].tolist():
        noise = 0.05 * torch.randn(x.shape[-1], generator=chance)
        x[i, _background(bag, i, chance)] = 2 * groups[0][0] + noise
    return Bag(x, bag.y, bag.z)


def _mark(bag: Bag, groups: list[Tensor], chance: torch.Generator) -> Bag:
    """A background message of a bag with spam is marked, in 80 % of them and in 20 % of others."""
    del groups
    x = bag.dense().clone()
    pattern = torch.randn(x.shape[-1], generator=generator("third trust study", "mark"))
    has = torch.rand(len(bag), generator=chance) < torch.where(bag.y == 1, 0.8, 0.2)
    for i in has.nonzero()[:, 0].tolist():
        x[i, _background(bag, i, chance)] += 2 * pattern
    return Bag(x, bag.y, bag.z)


def _noise(bag: Bag, groups: list[Tensor], chance: torch.Generator) -> Bag:
    """15 % of the labels are drawn at random; relevance is that of the first label."""
    del groups
    wrong = torch.rand(len(bag), generator=chance) < 0.15
    y = torch.where(wrong, torch.randint(2, (len(bag),), generator=chance), bag.y)
    assert bag.z is not None
    return Bag(bag.dense(), y, bag.z & (y == bag.y)[:, None])


def _set(
    texts: Callable[[], tuple[Texts, Texts]],
    name: str,
    m: int,
    most: int,
    *,
    change: Change | None = None,
    sees: bool = True,
    classes: tuple[str, ...] = NO_YES,
) -> TrustSet:
    def load(n: int, seed: int) -> Sample:
        return _composed(texts, name, m, most, n, seed, change)

    graded = (1,) if classes == NO_YES else tuple(range(len(classes)))
    return TrustSet("third", load, classes, sees, plan=RECORDINGS, graded=graded)


_film_polarity = partial(_by_polarity, "imdb", "text")
_phrase_polarity = partial(_by_polarity, "sst2", "sentence")

THIRD: dict[str, TrustSet] = {
    "spam": _set(_messages, "spam", 10, 3),
    "spam-single": _set(_messages, "spam single", 20, 1),
    "spam-noise": _set(_messages, "spam noise", 8, 2, change=_noise),
    "domains": _set(_products, "domains", 8, 1, classes=DOMAINS),
    "domains-several": _set(_products, "domains several", 12, 3, classes=DOMAINS),
    "films": _set(_films_among_places, "films", 12, 2),
    "film-polarity": _set(_film_polarity, "film polarity", 8, 3),
    "phrase-polarity": _set(_phrase_polarity, "phrase polarity", 10, 4),
    "domains-companion": _set(
        _products, "domains companion", 10, 1, change=_companion, sees=False, classes=DOMAINS
    ),
    "spam-mark": _set(_messages, "spam mark", 10, 1, change=_mark, sees=False),
}

EVERY = {**EARLIER, **THIRD}
