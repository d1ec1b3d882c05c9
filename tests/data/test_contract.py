"""What every registered data set owes its users."""

import os
import random
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from foveate.bags.bag import Bag
from foveate.bags.segments import Mosaics
from foveate.data import DATASETS, load
from foveate.models.nets import pair

NEED_FILES = {"mnist": "mnist", "mnist-bags": "mnist", "cifar10": "cifar10", "cifar100": "cifar100"}
RAGGED = {
    "mnist-bags",
    "digits-bags",
    "mil-single-concept",
    "mil-multi-concept",
    "mil-frequency",
}  # m is a mean: test_mnist_bags.py says what these owe besides
UNEVEN = {"digits-unbalanced"}  # in training, as test_images.py says
RARE = 1e-6


def has_files(name: str) -> bool:
    return (Path(os.environ.get("FOVEATE_DATA", "/nowhere")) / NEED_FILES[name]).is_dir()


NAMES = [
    pytest.param(
        name,
        marks=[pytest.mark.data, pytest.mark.skipif(not has_files(name), reason="needs files")]
        if name in NEED_FILES
        else [],
    )
    for name in DATASETS.names()
    if not name.endswith("-features")  # tests/features shows that these follow their images
    and not name.startswith("hatexplain")  # no mosaics: test_hatexplain.py says what it owes
]
every = pytest.mark.parametrize("name", NAMES)
every_mosaic = pytest.mark.parametrize("name", [p for p in NAMES if p.values[0] not in RAGGED])


def bags(name: str, split: str = "train", n: int = 60, m: int = 4, seed: int = 0) -> Bag:
    return DATASETS.get(name)().load(split, n=n, m=m, seed=seed)


def same(a: Bag, b: Bag) -> bool:
    return torch.equal(a.dense(), b.dense()) and torch.equal(a.y, b.y) and torch.equal(a.z, b.z)


@every
def test_results_depend_on_the_seed_only(name: str) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        first = bags(name)
        torch.manual_seed(2)
        assert same(first, bags(name))
    assert not same(first, bags(name, seed=1))
    assert not same(first, bags(name, "test"))


@every
def test_no_global_generator_is_touched(name: str) -> None:
    bags(name)  # an import may draw a number of its own
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    bags(name, seed=5)
    bags(name, "test", seed=5)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]  # noqa: NPY002
    assert random.getstate() == before[2]


@every_mosaic
def test_one_relevant_segment_at_a_uniform_place_and_a_uniform_label(name: str) -> None:
    data = DATASETS.get(name)()
    bag = bags(name, "test" if name in UNEVEN else "train", n=4000, m=5)
    assert (bag.z.sum(1) == 1).all()
    positions = torch.bincount(bag.z.int().argmax(1), minlength=5)
    labels = torch.bincount(bag.y, minlength=len(data.classes))
    assert len(labels) == len(data.classes)
    assert chisquare(positions.numpy()).pvalue > RARE
    assert chisquare(labels.numpy()).pvalue > RARE


@every
def test_train_and_test_share_no_segment(name: str) -> None:
    train, test = bags(name), bags(name, "test")
    if not isinstance(train.x, Mosaics) and name == "orthogonal":
        train, test = train.x[~train.z], test.x[~test.z]  # the foreground is one point per class
    else:
        train, test = train.dense().flatten(0, 1), test.dense().flatten(0, 1)
    assert not {row.numpy().tobytes() for row in train} & {row.numpy().tobytes() for row in test}


@every
def test_the_recipe_can_be_cooked(name: str) -> None:
    data = DATASETS.get(name)()
    recipe = data.recipe
    bag = bags(name, n=6, m=recipe.m)
    assert len(bag) == 6
    assert name in RAGGED or bag.m == recipe.m
    assert recipe.optimizer in ("sgd", "adam")
    with torch.random.fork_rng(devices=[]):
        f, g, _ = pair(recipe.net, bag.segment_shape, len(data.classes))
    rows = bag.dense().flatten(0, 1)
    assert f(rows).shape == (6 * bag.m, 1)
    assert g(rows).shape == (6 * bag.m, len(data.classes))


@pytest.mark.parametrize("name", DATASETS.names())
def test_a_factory_reads_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FOVEATE_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    data = DATASETS.get(name)()
    assert data.name == name
    assert len(data.about) <= 100
    assert len(set(data.classes)) == len(data.classes) >= 2


def test_load_takes_the_usual_sizes_by_default() -> None:
    train, test = load("digits", n=30, seed=3)
    assert (len(train), train.m, len(test), test.m) == (30, 20, 1000, 20)
    assert same(train, DATASETS.get("digits")().load("train", n=30, m=20, seed=3))
