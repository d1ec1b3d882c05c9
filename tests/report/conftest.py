"""Small run directories with generated arrays; nothing is trained."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foveate.metrics.focus import attention_on, focus_true, quadrants, saif
from foveate.records.record import Record
from foveate.records.runs import Run, create_run, open_run
from foveate.report import race_page

MakeRun = Callable[..., Run]


def make_record(
    seed: int = 0,
    *,
    members: int = 3,
    n: int = 40,
    m: int = 6,
    classes: int = 3,
    times: int = 5,
    z: bool = True,
    mask: bool = False,
    sharp: float = 3.0,
) -> Record:
    """A record whose last row over time agrees with its final arrays; records share bags."""
    rng, bags = np.random.default_rng(seed), np.random.default_rng(99)
    where = bags.integers(m, size=(members, n))
    relevant = where[..., None] == np.arange(m)
    present = np.ones((members, n, m), bool)
    if mask:
        present = (bags.random((members, n, m)) < 0.7) | relevant
    s = rng.normal(size=(members, n, m)) + sharp * relevant * (rng.random((members, n, 1)) < 0.7)
    weight = np.where(present, np.exp(2 * s), 0.0)
    alpha = weight / weight.sum(-1, keepdims=True)
    y = bags.integers(classes, size=(members, n))
    logits = 2 * rng.normal(size=(members, n, classes)) + 3.0 * (y[..., None] == np.arange(classes))
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    final = {"s": s, "alpha": alpha, "log_p": log_p, "loss": -log_p.max(-1), "y": y}
    right = log_p.argmax(-1) == y
    last = {"train_loss": rng.random(members) + 0.01, "accuracy": right.mean(-1)}
    if z:
        final["z"] = relevant
        p_y = np.exp(np.take_along_axis(log_p, y[..., None], -1)[..., 0])
        a_z = attention_on(alpha, relevant)
        focused = focus_true(s, relevant, present)
        last |= {"ft": focused.mean(-1), "saif": saif(a_z, p_y), "a_z": a_z.mean(-1)}
        last |= quadrants(focused, right)
    if mask:
        final["mask"] = present
    grow = np.linspace(0.3, 1.0, times)[:, None]
    values = {k: grow * v for k, v in last.items()}
    values["train_loss"] = np.vstack([np.full(members, np.nan), values["train_loss"][1:]])
    if z:
        values["ffpf"] = 1 - values["ftpt"] - values["ffpt"] - values["ftpf"]
    meta = {
        "seeds": list(range(members)),
        "plan": {"epochs": times - 1},
        "epochs_run": times - 1,
        "parameters": 12,
        "cpu_seconds": 3.0 * members * (seed + 1),
        "classifier_calls": [100 * (seed + 1)] * members,
    }
    return Record(np.arange(times), values, final, meta)


def drawn_segments(kind: str, rows: int, m: int) -> np.ndarray:
    """Random segments of one kind."""
    rng = np.random.default_rng(7)
    if kind == "grey":
        return rng.integers(256, size=(rows, m, 1, 5, 5), dtype=np.uint8)
    if kind == "rgb":
        return rng.integers(256, size=(rows, m, 3, 6, 4), dtype=np.uint8)
    return rng.normal(size=(rows, m, 2 if kind == "point" else 7)).astype(np.float32)


def build_run(
    path: Path,
    parts: Sequence[str] = ("soft", "hybrid"),
    *,
    finished: Sequence[str] | None = None,
    kind: str = "grey",
    manifest: dict[str, Any] | None = None,
    **shape: Any,
) -> Run:
    """A run directory; keywords of :func:`make_record` shape its records."""
    run = create_run(
        path,
        "race",
        "toy",
        parts=list(parts),
        config={"data": "toy", "switch": 0.5, "m": 6, "equal_compute": False, "label": None},
        seeds=[0, 1, 2],
        command="foveate race toy --seeds 3",
        resolved={part: {"epochs": 4, "lr": 0.001, "parameters": 12} for part in parts},
        seconds=1.5,
    )
    done = parts if finished is None else finished
    for i, part in enumerate(done):
        make_record(i, **shape).save(run.part(part) / "record.npz")
    if len(done) == len(parts):
        m = shape.get("m", 6)
        rows = np.array([3, 0, 11])
        segments = drawn_segments(kind, len(rows), m)
        np.savez(run.path / "gallery.npz", rows=rows, segments=segments)
        sizes = {"n": 10, "m": m, "classes": ["cat", "dog", "emu"], "segment": [1]}
        run = run.update(status="done", sizes=sizes)
    run.update(**(manifest or {}))
    return open_run(run.path)


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """Makes run directories by name; see :func:`build_run`."""
    return lambda name="one", *args, **keywords: build_run(tmp_path / name, *args, **keywords)


@pytest.fixture(scope="session")
def race(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished race of four paradigms over images."""
    parts = ("soft", "hard", "lvml", "hybrid")
    return build_run(tmp_path_factory.mktemp("report") / "race", parts)


@pytest.fixture(scope="session")
def points(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished race of two paradigms over points in the plane."""
    return build_run(tmp_path_factory.mktemp("report") / "points", ("soft", "em"), kind="point")


@pytest.fixture(scope="session")
def race_html(race: Run) -> str:
    """The page of one run."""
    return race_page([race])


@pytest.fixture(scope="session")
def both_html(race: Run, points: Run) -> str:
    """The page of two runs."""
    return race_page([race, points])
