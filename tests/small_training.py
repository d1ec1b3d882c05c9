"""Trainings that take a moment, for tests of the loop and of the command line."""

from pathlib import Path

import numpy as np

from foveate.attention.paradigms import PARADIGMS
from foveate.cli import main
from foveate.data import DATASETS
from foveate.models.focus import FCAM
from foveate.models.nets import mlp
from foveate.training.loop import fit

__all__ = ["TRAINABLE", "bags", "fit_small_table", "small_model", "trained"]

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


def fit_small_table(folder: Path) -> None:
    """Write t.csv, 30 bags of two classes with three rows of noise, and fit them in run/."""
    rng = np.random.default_rng(0)
    lines = ["bag,label,a,b"]
    for i in range(30):
        for _ in range(3):
            a, b = rng.normal(size=2)
            lines.append(f"b{i},{'uv'[i % 2]},{a:.4f},{b:.4f}")
    (folder / "t.csv").write_text("\n".join(lines))
    options = ["--paradigms", "soft", "--seeds", "1", "--epochs", "1", "--folds", "1"]
    main(["fit", str(folder / "t.csv"), *options, "--out", str(folder / "run")])
