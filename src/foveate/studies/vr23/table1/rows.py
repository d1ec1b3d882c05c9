"""The rows of the first table: a data set, its length, its networks, and training settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import torch
from pydantic import Field

from foveate.attention.paradigms import PARADIGMS, Hybrid, Paradigm, Progress, RandomEpochs
from foveate.bags.bag import Bag
from foveate.data import DATASETS, ImageSplit
from foveate.data.files.hub import locate, missing
from foveate.data.hatexplain import Annotators, read_posts
from foveate.data.topic_words import topic_words
from foveate.errors import FoveateError
from foveate.models.contextual import Contextual
from foveate.models.focus import FCAM, AttentionModel
from foveate.models.nets import pair
from foveate.models.oracle import Oracle, OracleModel
from foveate.randomness import generator
from foveate.settings import Count, Positive, Settings
from foveate.studies.trials import Trial
from foveate.training.plan import Plan

__all__ = [
    "RATES",
    "ROWS",
    "RULES",
    "WORD_RULES",
    "Equal",
    "Row",
    "Sizes",
    "absent",
    "notes_on",
    "paradigm_of",
    "trial_epochs",
    "trial_of",
]

Equal = Literal["focus calls", "classifier calls"]
RATES = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005)
"""The grid of [vr23] Sec. 5, of which only the ends are published."""

RULES = ("soft", "hard", "lvml", "hybrid", "random", "random-matched", "oracle")
WORD_RULES = (*RULES[:4], "logit", *RULES[4:])  # what the released code calls LVML on HateXplain
SECOND_RATES = {1: 1.0, 2: 1.6}  # [vr23] released code: .1 after .1, and .008 after .005
HATEXPLAIN = ("hatexplain", "Hate-speech-CNERG/hatexplain")


@dataclass(frozen=True)
class MatchedRandomEpochs(RandomEpochs):
    """Random epochs with as many hard ones as the hybrid has, so that both cost the same."""

    def phase(self, progress: Progress) -> Paradigm:
        soft = Hybrid(switch=self.switch).switch_epoch(progress.epochs) or 0
        rng = generator("matched random epochs", progress.seed)
        hard = torch.randperm(progress.epochs, generator=rng)[soft:]
        return self.phases[int(bool((hard == progress.epoch).any()))]


class Sizes(Settings):
    """Size of a data set and its training settings."""

    n: Count
    n_test: Count
    epochs: Count
    batch: Count
    lr: Positive
    own_lr: dict[str, Positive] = Field(default_factory=dict)
    """Rates of single paradigms, where they have their own."""
    rates: tuple[Positive, ...] = ()
    """A grid from which each paradigm's rate is chosen on held-out training bags."""
    optimizer: Literal["sgd", "adam"] = "adam"
    switch: Positive = 0.8
    """Where the hybrid switches: a fraction of the epochs, or an epoch."""


class Row(NamedTuple):
    """A row of the table.

    Args:
        group: Its name in the paper, with its length.
        data: Name of the data set.
        m: Segments per bag, or most tokens of a post.
        net: Networks for f and g, a name in ``foveate.models.nets.NETS`` or "contextual".
        sizes: Key of its sizes in the settings.
        setting: Its name within the group.
        place: Folder and hub id of its files, None where it needs none.
        judge: Which annotators' labels, for rows of posts.
        second_rate: What the hybrid's learning rate is multiplied by when it switches.
    """

    group: str
    data: str
    m: int
    net: str
    sizes: str
    setting: str = ""
    folder: tuple[str, str] | None = None
    annotators: Annotators | None = None
    second_rate: float = 1.0

    @property
    def words(self) -> bool:
        """Whether its segments are words."""
        return self.net in ("hatexplain-1", "contextual")

    @property
    def cut(self) -> bool:
        """Whether its bags are mosaics that are cut from images."""
        return not self.words and DATASETS.get(self.data)().released is not None


def _mosaics(name: str, m: int) -> dict[str, Row]:
    group, source = f"{name.upper()} m={m}", (name, f"uoft-cs/{name}")
    return {
        f"{name}-{m}": Row(group, f"{name}-features", m, "mlp", name, "frozen features", source),
        f"{name}-{m}-pixels": Row(group, name, m, "vr23", "pixels", "pixels", source),
    }


def _posts(number: int, net: str, sizes: str) -> dict[str, Row]:
    name = f"hatexplain-{number}"
    rate = SECOND_RATES[number]
    row = partial(
        Row, f"HateXplain-{number}", net=net, sizes=sizes, m=64, folder=HATEXPLAIN, second_rate=rate
    )
    return {
        name: row(data="hatexplain-first", setting="first annotator", annotators="first"),
        f"{name}-majority": row(data="hatexplain", setting="majority", annotators="majority"),
    }


ROWS: Mapping[str, Row] = {
    **_mosaics("cifar10", 5),
    **_mosaics("cifar10", 20),
    **_mosaics("cifar100", 5),
    **_mosaics("cifar100", 20),
    **_posts(1, "hatexplain-1", "words"),
    **_posts(2, "contextual", "context"),
    # Stand-ins that need no files, for the smoke scale.
    "digits-5": Row("Digits m=5", "digits", 5, "mlp", "cifar10"),
    "topics-1": Row("Topic words, as HateXplain-1", "topic-words", 6, "hatexplain-1", "words"),
    "topics-2": Row("Topic words, as HateXplain-2", "topic-words", 6, "contextual", "context"),
}


def trial_epochs(rule: Paradigm, epochs: int, m: int, equal: Equal) -> int:
    """Epochs that give a paradigm as many calls as soft attention has in ``epochs``, at least one.

    Every paradigm calls f once a segment, so equal focus calls are equal epochs. Soft attention
    calls g once a bag, where hard attention and LVML call it m times.

    Example:
        >>> from foveate.attention.paradigms import Hard, Hybrid
        >>> trial_epochs(Hard(), 150, 5, "classifier calls")
        30
        >>> trial_epochs(Hybrid(switch=0.8), 150, 5, "classifier calls")  # 66 soft, 16 hard
        82
        >>> trial_epochs(Hard(), 150, 5, "focus calls")
        150
    """
    if equal == "focus calls":
        return epochs
    fits = [
        count
        for count in range(1, epochs + 1)
        if sum(rule.phase(Progress(epoch, count)).calls(m) for epoch in range(count)) <= epochs
    ]
    return max(fits, default=1)


def trial_of(
    row: Row,
    rule: str,
    sizes: Mapping[Any, Sizes],
    seeds: int,
    equal: Equal = "focus calls",
    split: ImageSplit = "clean",
) -> Trial:
    """The trial of a cell of the table.

    Args:
        row: Its row.
        rule: How it is trained, a registered paradigm or "oracle".
        sizes: Sizes by name.
        seeds: How many.
        equal: Which calls every paradigm has as many of as soft attention.
        split: "released" reads the models on mosaics of the training images too.
    """
    if row.sizes not in sizes:
        available = ", ".join(sizes) or "none"
        raise FoveateError(f"sizes must have '{row.sizes}' for {row.group}, got {available}")
    row_sizes = sizes[row.sizes]
    paradigm = paradigm_of(rule, row_sizes)
    epochs = trial_epochs(paradigm, row_sizes.epochs, row.m, equal)
    lr = row_sizes.own_lr.get(rule, row_sizes.lr)
    plan = Plan(
        epochs=epochs,
        batch=row_sizes.batch,
        lr=lr,
        switched_lr=lr * row.second_rate if rule == "hybrid" and row.second_rate != 1 else None,
        optimizer=row_sizes.optimizer,
        every=max(epochs // 10, min(epochs, 4)),  # few: evaluation takes longer than steps
    )
    return Trial(
        partial(_bags, row, row_sizes),
        partial(_model, row, rule == "oracle"),
        paradigm,
        seeds,
        plan,
        partial(notes_on, row),
        row_sizes.rates,
        released=partial(_released, row, row_sizes) if split == "released" and row.cut else None,
    )


def absent(rows: Mapping[str, Row]) -> dict[str, str]:
    """Reasons for rows without files, by name."""
    return missing({name: row.folder for name, row in rows.items() if row.folder is not None})


def _bags(row: Row, sizes: Sizes, split: Any, seed: int) -> Bag:
    n = sizes.n if split == "train" else sizes.n_test
    if row.data == "topic-words":
        return topic_words(split, n=n, m=row.m - 1, topics=3, others=60, seed=seed)
    return DATASETS.get(row.data)().load(split, n=n, m=row.m, seed=seed)


def _released(row: Row, sizes: Sizes, seed: int) -> Bag:
    data = DATASETS.get(row.data)().with_split("released")
    return data.load("test", n=sizes.n_test, m=row.m, seed=seed)


def _model(row: Row, oracle: bool, train: Bag) -> AttentionModel:
    shape, classes = train.segment_shape, _classes(row)
    if row.words:
        shape = (len(train.bank),)
    if row.net == "contextual":
        model: AttentionModel = Contextual(shape[0], classes)
    else:
        f, g, layer = pair(row.net, shape, classes)
        model = FCAM(f, g, layer=layer)
    return OracleModel(model) if oracle else model


def _classes(row: Row) -> int:
    return 3 if row.data == "topic-words" else len(DATASETS.get(row.data)().classes)


def paradigm_of(name: str, sizes: Sizes) -> Paradigm:
    """The paradigm by name, with the row's switch epoch."""
    if name == "oracle":
        return Oracle()
    if name == "random-matched":
        return MatchedRandomEpochs(switch=sizes.switch)
    return PARADIGMS.get(name).from_settings(switch=sizes.switch)


def notes_on(row: Row) -> tuple[str, ...]:
    """What in the files of a row is not as it should be, and what was done about it."""
    if row.annotators is None:
        return ()
    posts = read_posts(locate(*HATEXPLAIN), row.annotators)
    return (*posts.notes, *posts.cut_at(row.m))
