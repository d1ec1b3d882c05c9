"""The paradigm race: the same model, trained in several ways, on the same bags."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

from foveate.attention.maps import MAPS
from foveate.attention.paradigms import PARADIGMS, Paradigm, WithEntropy
from foveate.bags.bag import Bag
from foveate.data import DATASETS, Dataset
from foveate.data.image_mosaics import from_path
from foveate.errors import FoveateError
from foveate.jobs.engine import Engine, Job, execute
from foveate.jobs.race_gallery import pick_gallery
from foveate.models.focus import FCAM, AttentionModel
from foveate.models.nets import NETS, direct, pair
from foveate.records.checkpoint import load_checkpoint, save_checkpoint
from foveate.records.record import Record, save_arrays
from foveate.records.runs import Run, create_run
from foveate.training.cost import epochs_within, training_cost
from foveate.training.loop import fit
from foveate.training.plan import Race, ResolvedRace
from foveate.training.stack import Stack
from foveate.types import PartProgress

__all__ = ["do_part", "reopen", "resolve_race", "resume_race", "start_race"]

RECIPE = ("m", "n", "n_test", "net", "epochs", "batch", "lr", "optimizer", "stop_below")
CHECKPOINT = "checkpoint.safetensors"
HERE = Engine()


def resolve_race(race: Race) -> ResolvedRace:
    """The race with the data set's recipe written out where nothing was said, and checked."""
    recipe = _dataset(race).recipe
    filled = {k: v for k in RECIPE if (v := getattr(race, k)) is not None}
    usual = {k: getattr(recipe, k) for k in RECIPE}
    place = race.data if race.data in DATASETS else str(Path(race.data).resolve())
    settled = ResolvedRace(**{**race.model_dump(), **usual, **filled, "data": place})
    for name in settled.paradigms:
        _paradigm(settled, name)
    MAPS.get(settled.map)
    NETS.get(settled.net)
    settled.plan(settled.epochs)
    return settled


def _dataset(race: Race) -> Dataset:
    """The data set that is meant, registered or on disk."""
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
        raise FoveateError(
            "which labels are foreground must be said for a path: --foreground 0,1,2"
        )
    return from_path(race.data, label=race.label, foreground=_labels(race.foreground))


def _labels(words: Sequence[str]) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in words)
    except ValueError:
        raise FoveateError(f"foreground must be whole numbers, got '{','.join(words)}'") from None


def _paradigm(race: Race, name: str) -> Paradigm:
    """A paradigm with the race's switch and regulariser."""
    rule = PARADIGMS.get(name).from_settings(switch=race.switch)
    return WithEntropy(rule, race.entropy) if race.entropy else rule


def _model(
    race: ResolvedRace, rule: Paradigm, shape: tuple[int, ...], classes: int
) -> AttentionModel:
    """An untrained model for a paradigm."""
    f, g, layer = pair(race.net, shape, classes, race.layer)
    if rule.whole_bag:
        return FCAM(f, direct(shape, race.m, classes), "uniform")
    return FCAM(f, g, race.map, layer)


def start_race(
    race: Race,
    *,
    out: Path | None = None,
    report: PartProgress | None = None,
    command: str = "",
    engine: Engine = HERE,
) -> Run:
    """Run a race in a new run directory.

    Args:
        race: What to race.
        out: The directory; None for a new one in the folder of runs.
        report: Called as ``report(paradigm, epochs done, epochs)``.
        command: The command that repeats it, for the manifest.
        engine: Where its paradigms are trained.

    Example:
        >>> from tempfile import mkdtemp
        >>> from foveate.training.plan import Race
        >>> small = Race(data="error-mode-1", paradigms="soft", seeds=1, n=60, n_test=20, epochs=2)
        >>> run = start_race(small, out=Path(mkdtemp()) / "race")
        >>> run.done, list(run.records())
        (True, ['soft'])
    """
    settled = resolve_race(race)
    _check(settled, _load(settled))
    run = create_run(
        out,
        "race",
        settled.data,
        parts=list(settled.paradigms),
        config=settled.model_dump(),
        seeds=list(range(settled.seeds)),
        command=command,
        resolved={},
        seconds=0.0,
    )
    return resume_race(run, report, engine)


class _Bags(NamedTuple):
    """The bags of all seeds, and the names of their classes."""

    train: list[Bag]
    test: list[Bag]
    classes: tuple[str, ...]


@lru_cache(maxsize=1)  # the paradigms of a race share their bags
def _load(race: ResolvedRace) -> _Bags:
    data = _dataset(race)
    seeds = range(race.seeds)
    train = [data.load("train", n=race.n, m=race.m, seed=seed) for seed in seeds]
    test = [data.load("test", n=race.n_test, m=race.m, seed=seed) for seed in seeds]
    return _Bags(train, test, data.classes)


def _check(race: ResolvedRace, bags: _Bags) -> None:
    """What cannot be built or paid for is said before anything is on disk."""
    for name in race.paradigms:
        rule, shape = _paradigm(race, name), bags.train[0].segment_shape
        with torch.random.fork_rng(devices=[]):
            _model(race, rule, shape, len(bags.classes))
        _epochs(race, rule, shape, len(bags.classes))


def resume_race(run: Run, report: PartProgress | None = None, engine: Engine = HERE) -> Run:
    """Train what is not trained yet; a race that was killed ends as one that was not.

    Example:
        >>> from tempfile import mkdtemp
        >>> from foveate.training.plan import Race
        >>> small = Race(data="error-mode-1", paradigms="soft", seeds=1, n=60, n_test=20, epochs=2)
        >>> run = start_race(small, out=Path(mkdtemp()) / "race")
        >>> (run.path / "soft" / "record.npz").unlink()
        >>> resume_race(run.update(status="running")).done
        True
    """
    race, start = ResolvedRace(**run.manifest["config"]), time.monotonic()
    given = {"config": run.manifest["config"]}
    missing = [name for name in race.paradigms if not run.has(name)]
    execute([Job(name, f"{__name__}:do_part", given) for name in missing], run.path, engine, report)
    for name in race.paradigms:
        (run.part(name) / CHECKPOINT).unlink(missing_ok=True)
    bags = _load(race)
    shape = bags.train[0].segment_shape
    if not (run.path / "gallery.npz").exists():
        _save_gallery(run, bags.test[0])
    return run.update(
        status="done",
        seconds=(run.manifest.get("seconds") or 0.0) + time.monotonic() - start,
        resolved={name: _resolved(record) for name, record in run.records().items()},
        sizes={
            "n": race.n,
            "n_test": race.n_test,
            "m": race.m,
            "classes": list(bags.classes),
            "segment": list(shape),
            **({"budget": _budget(race, shape, len(bags.classes))} if race.equal_compute else {}),
        },
    )


def do_part(
    folder: Path, name: str, *, config: Mapping[str, Any], tell: Callable[[int, int], None]
) -> None:
    """Train one paradigm; leave its weights and, last, its record in ``folder / name``."""
    race = ResolvedRace(**config)
    bags, rule = _load(race), _paradigm(race, name)
    shape, classes = bags.train[0].segment_shape, len(bags.classes)
    plan = race.plan(_epochs(race, rule, shape, classes))
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    record = fit(
        lambda: _model(race, rule, shape, classes),
        bags.train,
        bags.test,
        rule,
        seeds=range(race.seeds),
        plan=plan,
        checkpoint=place / CHECKPOINT,
        report=tell,
    )
    save_checkpoint(place / "weights.safetensors", record.trained.tensors(), {"part": name})
    record.save(place / "record.npz")


def _resolved(record: Record) -> dict[str, Any]:
    """What a part was trained with, in the end."""
    plan = record.meta["plan"]
    return {"epochs": plan["epochs"], "lr": plan["lr"], "parameters": record.meta["parameters"]}


def _epochs(race: ResolvedRace, rule: Paradigm, shape: tuple[int, ...], classes: int) -> int:
    """The epochs of one paradigm: all, or as many as soft attention's cost pays for."""
    if not race.equal_compute:
        return race.epochs
    with torch.random.fork_rng(devices=[]):  # weights do not matter to the cost
        model = _model(race, rule, shape, classes)
    return epochs_within(_budget(race, shape, classes), rule, model, shape, race.m)


def _budget(race: ResolvedRace, shape: tuple[int, ...], classes: int) -> float:
    """Multiplications per training bag that soft attention needs for all its epochs."""
    soft = PARADIGMS.get("soft")()
    with torch.random.fork_rng(devices=[]):
        model = _model(race, soft, shape, classes)
    return training_cost(soft, model, shape, race.m, race.epochs)


def _save_gallery(run: Run, bag: Bag) -> None:
    save_arrays(run.path / "gallery.npz", pick_gallery(run.records(), bag))


def reopen(run: Run, name: str) -> tuple[Stack, list[Bag]]:
    """The trained members of one part, and the held-out bags of each, to be read again.

    Args:
        run: A race.
        name: A finished part of it.
    """
    race = ResolvedRace(**run.manifest["config"])
    bags, rule = _load(race), _paradigm(race, name)
    shape, classes = bags.train[0].segment_shape, len(bags.classes)
    stack = Stack(lambda: _model(race, rule, shape, classes), range(race.seeds))
    stack.load(load_checkpoint(run.path / name / "weights.safetensors")[0])
    return stack, bags.test
