"""The protocol: which sets were used for design, which confirm, and what can be identified.

Thresholds of the verdict were chosen on the design sets alone. The confirmation sets are run once,
after this file was committed. ``identifiable`` was stated beforehand: it is False where labels and
segments cannot tell which segments are meant, whatever the method: a second kind of segment gives
the label away as well (tag, companion without its label), every segment does (stain, sites), the
label lies in a relation between segments or to a claim (multi, frequency, the toys of xMIL,
documents), or the evidence of a class is evidence of another one too (*four* of xMIL). Single
species without the other labels are confounded with the species that accompany them. There "cannot
tell" is the right answer, and only misses count.

Ways to train cover the paradigms, maps, models that were stopped early or overfitted, a random
focus, and ABMIL of torchmil, which has one logit and is trained where there are two classes.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from foveate.bags.bag import Bag
from foveate.data.topic_words import topic_words
from foveate.studies.beyond.trust.attacks import attacked, plain
from foveate.studies.beyond.trust.encoded import cifar_features, photographs
from foveate.studies.beyond.trust.raff import unit_test
from foveate.studies.beyond.trust.real import (
    TrainTestBags,
    birds,
    fever,
    hatexplain,
    hockey,
    sentiment,
)
from foveate.studies.beyond.trust.toys import toy
from foveate.types import Array

__all__ = [
    "MODEL_VARIANTS", "NO_YES", "RECORDINGS", "SETS", "WORDS", "ModelVariant", "Sample", "TrustSet",
    "unit",
]  # fmt: skip

Role = Literal["design", "confirmation", "second", "third"]


@dataclass(frozen=True)
class Sample:
    """Bags to train on, bags to examine, and their other labels where there are any."""

    train: Bag
    test: Bag
    train_labels: Array | None = None
    test_labels: Array | None = None


@dataclass(frozen=True)
class TrustSet:
    """One set of the study.

    Args:
        role: Whether thresholds were chosen on it.
        load: Gives the bags, from their number and the seed.
        classes: Names of the classes.
        identifiable: Whether segments and labels can tell which segments are meant.
        net: Networks for f and g.
        plan: How models are trained.
        graded: Classes whose relevant segments are known.
        swapped: Bags of a unit test that break a model which reads more than presence.
    """

    role: Role
    load: Callable[[int, int], Sample]
    classes: tuple[str, ...] = ("0", "1", "2")
    identifiable: bool = True
    net: str = "mlp"
    plan: dict[str, Any] = field(default_factory=lambda: {"epochs": 30, "batch": 100, "lr": 1e-3})
    graded: tuple[int, ...] = (0, 1, 2)
    swapped: Callable[[], Bag] | None = None


@dataclass(frozen=True)
class ModelVariant:
    """One way to train two models.

    Args:
        name: What it is called.
        paradigm: How to train.
        map: How scores become attention.
        epochs: Times the usual epochs.
        share: Of the training bags.
        redraw: Whether f is drawn anew after training, so that attention is random.
        torchmil: Whether torchmil's ABMIL is trained in place of our models.
    """

    name: str
    paradigm: str
    map: str = "softmax"
    epochs: float = 1.0
    share: float = 1.0
    redraw: bool = False
    torchmil: bool = False


MODEL_VARIANTS = (
    ModelVariant("soft", "soft"),
    ModelVariant("hard", "hard"),
    ModelVariant("lvml", "lvml"),
    ModelVariant("soft, random focus", "soft", redraw=True),
    ModelVariant("soft, overfitted", "soft", epochs=4.0, share=0.2),
    ModelVariant("soft, sparsemax", "soft", "sparsemax"),
    ModelVariant("soft, stopped early", "soft", epochs=0.2),
    ModelVariant("witness", "witness"),
    ModelVariant("torchmil ABMIL", "soft", torchmil=True),
)


def _generated(make: Callable[..., Bag], name: str, m: int, n: int, seed: int) -> Sample:
    return Sample(make(name, "train", n, m, seed), make(name, "test", n // 2, m, seed))


def _attack(attack: str, name: str, m: int, n: int, seed: int) -> Sample:
    return _generated(partial(attacked, attack), name, m, n, seed)


def unit(role: Role, kind: str, *, sees: bool = True, seed: int = 0, more: int = 0) -> TrustSet:
    """One of Raff and Holt's unit tests, with the bags that break models."""

    def load(n: int, own_seed: int) -> Sample:
        first = 2 * (own_seed + seed)
        return Sample(
            unit_test(kind, n, first, more=more), unit_test(kind, n // 2, first + 1, more=more)
        )

    swapped = partial(unit_test, kind, 200, 99, swapped=True, more=more)
    return TrustSet(role, load, NO_YES, sees, plan=UNITS, graded=(1,), swapped=swapped)


def _topics(n: int, seed: int) -> Sample:
    options = {"m": 15, "others": 300, "seed": seed}
    return Sample(topic_words("train", n=n, **options), topic_words("test", n=n // 2, **options))


def _birds(species: int, labels: bool, n: int, seed: int) -> Sample:
    del n
    train, test, train_labels, test_labels = birds(species, seed)
    return Sample(train, test, train_labels, test_labels) if labels else Sample(train, test)


def _loaded(make: Callable[..., TrainTestBags], n: int, seed: int) -> Sample:
    del seed
    return Sample(*make(n))


def _seeded(make: Callable[[int], TrainTestBags], n: int, seed: int) -> Sample:
    del n
    return Sample(*make(seed))


def _cifar(n: int, seed: int) -> Sample:
    size, m = min(n, 300), 5  # every segment is an image to be encoded
    return Sample(
        cifar_features("train", size, m, seed), cifar_features("test", size // 2, m, seed)
    )


def _toy(kind: str, n: int, seed: int) -> Sample:
    return Sample(toy(kind, "train", n, seed), toy(kind, "test", n // 2, seed))


BOXES: dict[str, Any] = {"epochs": 60, "batch": 100, "lr": 0.01, "optimizer": "sgd"}
RECORDINGS: dict[str, Any] = {
    "epochs": 60,
    "batch": 50,
    "lr": 3e-3,
    "weight_decay": 1e-3,
    "optimizer": "adamw",
}
UNITS: dict[str, Any] = {"epochs": 40, "batch": 50, "lr": 3e-3}
WORDS: dict[str, Any] = {"epochs": 8, "batch": 100, "lr": 3e-3}
ABC, NO_YES = ("a", "b", "c"), ("no", "yes")


def _images(role: Role, name: str, m: int) -> TrustSet:
    return TrustSet(role, partial(_generated, plain, name, m))


def _attacked(role: Role, attack: str, name: str, *, sees: bool = True, m: int = 10) -> TrustSet:
    graded = (0, 1) if attack == "absent" else (0, 1, 2)
    return TrustSet(role, partial(_attack, attack, name, m), identifiable=sees, graded=graded)


def _birds_set(role: Role, species: int, labels: bool = True) -> TrustSet:
    load = partial(_birds, species, labels)
    return TrustSet(role, load, NO_YES, labels, plan=RECORDINGS, graded=(1,))


SETS: dict[str, TrustSet] = {
    "digits-m5": _images("design", "digits", 5),
    "digits-m20": _images("design", "digits", 20),
    "error-mode-1": TrustSet(
        "design", partial(_generated, plain, "error-mode-1", 9), ABC, net="linear", plan=BOXES
    ),
    "digits-several": _attacked("design", "several", "digits"),
    "digits-absent": _attacked("design", "absent", "digits"),
    "digits-tag-100": _attacked("design", "tag-100", "digits", sees=False),
    "digits-tag-90": _attacked("design", "tag-90", "digits", sees=False),
    "digits-tag-50": _attacked("design", "tag-50", "digits", sees=False),
    "digits-stain": _attacked("design", "stain", "digits", sees=False),
    "digits-leak": _attacked("design", "leak", "digits"),
    "birds-1": _birds_set("design", 1),
    "birds-2": _birds_set("design", 2),
    "birds-3": _birds_set("design", 3),
    "birds-1-alone": _birds_set("design", 1, labels=False),
    "raff-single": unit("design", "single"),
    "error-mode-2": TrustSet(
        "confirmation", partial(_generated, plain, "error-mode-2", 9), ABC, net="linear", plan=BOXES
    ),
    "error-mode-3": TrustSet(
        "confirmation",
        partial(_generated, plain, "error-mode-3", 9),
        tuple("abcdef"),
        net="mode3",
        plan=UNITS,
        graded=tuple(range(6)),
    ),
    "gaussians": TrustSet(
        "confirmation", partial(_generated, plain, "gaussians", 9), ABC, net="gaussians", plan=UNITS
    ),
    "mnist-m10": _images("confirmation", "mnist", 10),
    "mnist-several": _attacked("confirmation", "several", "mnist"),
    "mnist-absent": _attacked("confirmation", "absent", "mnist"),
    "mnist-tag-100": _attacked("confirmation", "tag-100", "mnist", sees=False),
    "mnist-tag-70": _attacked("confirmation", "tag-70", "mnist", sees=False),
    "mnist-tag-50": _attacked("confirmation", "tag-50", "mnist", sees=False),
    "mnist-stain": _attacked("confirmation", "stain", "mnist", sees=False),
    "mnist-leak": _attacked("confirmation", "leak", "mnist"),
    "digits-imbalance": _attacked("confirmation", "imbalance", "digits"),
    "digits-label-noise": _attacked("confirmation", "label-noise", "digits"),
    "digits-companion": _attacked("confirmation", "companion", "digits", sees=False),
    "digits-sites": _attacked("confirmation", "sites", "digits", sees=False),
    "digits-m150": TrustSet(
        "confirmation",
        lambda n, seed: _generated(plain, "digits", 150, n // 2, seed),
        plan={"epochs": 20, "batch": 50, "lr": 1e-3},
    ),
    "cifar10-features": TrustSet("confirmation", _cifar),
    "mnist-xmil-four": TrustSet(
        "confirmation", partial(_toy, "four"), ("neither", "8", "9", "both"), False,
        graded=(1, 2, 3),
    ),
    "mnist-xmil-pos-neg": TrustSet(
        "confirmation", partial(_toy, "pos-neg"), NO_YES, False, graded=(0, 1)
    ),
    "mnist-xmil-pairs": TrustSet(
        "confirmation", partial(_toy, "pairs"), NO_YES, False, graded=(1,)
    ),
    "topic-words": TrustSet(
        "confirmation", _topics, ("t0", "t1", "t2", "t3"), net="hatexplain-1", plan=WORDS,
        graded=(0, 1, 2, 3),
    ),
    "raff-multi": unit("confirmation", "multi", sees=False),
    "raff-frequency": unit("confirmation", "frequency", sees=False),
    "birds-4": _birds_set("confirmation", 4),
    "birds-6": _birds_set("confirmation", 6),
    "birds-8": _birds_set("confirmation", 8),
    "birds-4-alone": _birds_set("confirmation", 4, labels=False),
    "hockey": TrustSet(
        "confirmation", partial(_seeded, hockey), NO_YES, plan=RECORDINGS, graded=(1,)
    ),
    "photographs": TrustSet(
        "confirmation", partial(_seeded, photographs), ("man", "woman"), plan=RECORDINGS,
        graded=(0, 1),
    ),
    "hatexplain": TrustSet(
        "confirmation", partial(_loaded, lambda n: hatexplain(2 * n)), NO_YES,
        net="hatexplain-1", plan=WORDS, graded=(1,),
    ),
    "sst": TrustSet(
        "confirmation", partial(_loaded, lambda n: sentiment(2 * n)), ("negative", "positive"),
        net="hatexplain-1", plan=WORDS, graded=(0, 1),
    ),
    "fever": TrustSet(
        "confirmation", partial(_loaded, fever), ("refuted", "supported"), False,
        plan=RECORDINGS, graded=(0, 1),
    ),
}  # fmt: skip
