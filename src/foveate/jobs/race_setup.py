"""What a race is made of: resolved settings, bags, models and epochs of each paradigm."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import torch

from foveate.attention.maps import MAPS
from foveate.attention.paradigms import PARADIGMS, Paradigm, WithEntropy
from foveate.bags.bag import Bag
from foveate.data import DATASETS, Dataset
from foveate.data.image_mosaics import from_path
from foveate.errors import FoveateError
from foveate.models.focus import FCAM, AttentionModel
from foveate.models.nets import NETS, direct, pair
from foveate.training.cost import epochs_within, training_cost
from foveate.training.plan import Race, ResolvedRace

__all__ = [
    "RaceBags",
    "load_bags",
    "race_epochs",
    "race_model",
    "race_paradigm",
    "resolve_race",
    "soft_budget",
]

RECIPE = ("m", "n", "n_test", "net", "epochs", "batch", "lr", "optimizer", "stop_below")


def resolve_race(race: Race) -> ResolvedRace:
    """The race with defaults from the data set's recipe filled in, and checked."""
    recipe = _dataset(race).recipe
    filled = {k: v for k in RECIPE if (v := getattr(race, k)) is not None}
    defaults = {k: getattr(recipe, k) for k in RECIPE}
    data = race.data if race.data in DATASETS else str(Path(race.data).resolve())
    resolved = ResolvedRace(**{**race.model_dump(), **defaults, **filled, "data": data})
    for name in resolved.paradigms:
        race_paradigm(resolved, name)
    MAPS.get(resolved.map)
    NETS.get(resolved.net)
    resolved.plan(resolved.epochs)
    return resolved


def _dataset(race: Race) -> Dataset:
    """The data set of a race, registered or on disk."""
    if race.data in DATASETS:
        if race.foreground is not None or race.label is not None:
            raise FoveateError(
                f"--foreground and --label are for a path, got the data set {race.data}"
            )
        return DATASETS.get(race.data)()
    if not Path(race.data).exists():
        looks_like_path = "/" in race.data or race.data.endswith(".npz")
        if looks_like_path:
            raise FoveateError(f"there is nothing at {race.data}")
        return DATASETS.get(race.data)()
    if race.foreground is None:
        raise FoveateError("the foreground labels of a path must be given: --foreground 0,1,2")
    return from_path(race.data, label=race.label, foreground=_labels(race.foreground))


def _labels(words: Sequence[str]) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in words)
    except ValueError:
        raise FoveateError(f"foreground must be integers, got '{','.join(words)}'") from None


def race_paradigm(race: Race, name: str) -> Paradigm:
    """A paradigm with the race's switch and regulariser."""
    rule = PARADIGMS.get(name).from_settings(switch=race.switch)
    return WithEntropy(rule, race.entropy) if race.entropy else rule


def race_model(
    race: ResolvedRace, rule: Paradigm, shape: tuple[int, ...], classes: int
) -> AttentionModel:
    """An untrained model for a paradigm."""
    f, g, layer = pair(race.net, shape, classes, race.layer)
    if rule.whole_bag:
        return FCAM(f, direct(shape, race.m, classes), "uniform")
    return FCAM(f, g, race.map if rule.uses_attention else "uniform", layer)


class RaceBags(NamedTuple):
    """The bags of all seeds, and the names of their classes."""

    train: list[Bag]
    test: list[Bag]
    classes: tuple[str, ...]


@lru_cache(maxsize=1)
def load_bags(race: ResolvedRace) -> RaceBags:
    """The bags of a race; the last ones loaded stay in memory for its other paradigms."""
    data = _dataset(race)
    seeds = range(race.seeds)
    train = [data.load("train", n=race.n, m=race.m, seed=seed) for seed in seeds]
    test = [data.load("test", n=race.n_test, m=race.m, seed=seed) for seed in seeds]
    return RaceBags(train, test, data.classes)


def race_epochs(race: ResolvedRace, rule: Paradigm, shape: tuple[int, ...], classes: int) -> int:
    """The epochs of one paradigm: all, or as many as soft attention's cost pays for."""
    if not race.equal_compute:
        return race.epochs
    with torch.random.fork_rng(devices=[]):  # weights do not matter to the cost
        model = race_model(race, rule, shape, classes)
    return epochs_within(soft_budget(race, shape, classes), rule, model, shape, race.m)


def soft_budget(race: ResolvedRace, shape: tuple[int, ...], classes: int) -> float:
    """Multiplications per training bag that soft attention needs for all its epochs."""
    soft = PARADIGMS.get("soft")()
    with torch.random.fork_rng(devices=[]):
        model = race_model(race, soft, shape, classes)
    return training_cost(soft, model, shape, race.m, race.epochs)
