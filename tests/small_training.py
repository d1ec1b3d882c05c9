"""A training that takes a moment, for tests of the loop."""

from foveate.attention.paradigms import PARADIGMS
from foveate.data import DATASETS
from foveate.models.focus import FCAM
from foveate.models.nets import mlp
from foveate.training.loop import fit

__all__ = ["TRAINABLE", "bags", "small_model", "trained"]

TRAINABLE = [name for name, kind in PARADIGMS.items() if not kind().whole_bag]


def bags(seeds, n=40, m=4, name="error-mode-1"):
    data = DATASETS.get(name)()
    return [data.load("train", n=n, m=m, seed=s) for s in seeds], [
        data.load("test", n=30, m=m, seed=s) for s in seeds
    ]


def small_model():
    return FCAM(mlp(2, 1, (5,)), mlp(2, 3, (6,)))


def trained(seeds, paradigm="soft", build=small_model, data="error-mode-1", **plan):
    train, test = bags(seeds, name=data)
    plan = {"epochs": 6, "batch": 16, "lr": 0.05} | plan
    return fit(build, train, test, paradigm, seeds=seeds, **plan)
