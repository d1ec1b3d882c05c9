"""The paradigm race: the same model, trained in several ways, on the same bags."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch

from foveate.attention.maps import MAPS
from foveate.attention.paradigms import PARADIGMS, Paradigm, WithEntropy
from foveate.bags.bag import Bag
from foveate.bags.segments import stored, take
from foveate.data import DATASETS, Dataset
from foveate.data.image_mosaics import from_path
from foveate.errors import FoveateError
from foveate.jobs.engine import Engine
from foveate.jobs.job import CHECKPOINT, JOBS, Job, NewBags, Overview, TrainedPart
from foveate.jobs.lifecycle import IN_PROCESS, resume_job, start_job
from foveate.metrics.focus import focus_true
from foveate.models.focus import FCAM, AttentionModel
from foveate.models.nets import NETS, direct, pair
from foveate.records.record import Array, Record, load_checkpoint, save_arrays, save_checkpoint
from foveate.records.runs import Run
from foveate.training.cost import epochs_within, training_cost
from foveate.training.loop import fit
from foveate.training.plan import Race, ResolvedRace
from foveate.training.stack import Stack
from foveate.types import PartProgress, StepProgress

__all__ = ["RaceJob", "pick_gallery", "resolve_race", "resume_race", "start_race"]

RECIPE = ("m", "n", "n_test", "net", "epochs", "batch", "lr", "optimizer", "stop_below")


@JOBS.register("race")
class RaceJob(Job):
    """Paradigms raced on a data set; each paradigm is a part.

    Args:
        race: The race, resolved.
    """

    comparable = True
    keeps_models = True
    draws_thinned = True

    def __init__(self, race: ResolvedRace) -> None:
        self.race = race

    @classmethod
    def reopen(cls, run: Run) -> Self:
        return cls(ResolvedRace(**run.manifest["config"]))

    @property
    def label(self) -> str:
        return self.race.data

    def describe(self) -> dict[str, Any]:
        seeds = list(range(self.race.seeds))
        return {"config": self.race.model_dump(), "seeds": seeds, "resolved": {}}

    def parts(self) -> dict[str, tuple[str, ...]]:
        return dict.fromkeys(self.race.paradigms, ())

    def check(self, progress: PartProgress | None) -> None:
        """Build every model and compute its epochs once."""
        bags = load_bags(self.race)
        for name in self.race.paradigms:
            rule, shape = race_paradigm(self.race, name), bags.train[0].segment_shape
            with torch.random.fork_rng(devices=[]):
                race_model(self.race, rule, shape, len(bags.classes))
            race_epochs(self.race, rule, shape, len(bags.classes))

    def run_part(self, name: str, folder: Path, progress: StepProgress) -> Record:
        """Train one paradigm and write its weights."""
        race = self.race
        bags, rule = load_bags(race), race_paradigm(race, name)
        shape, classes = bags.train[0].segment_shape, len(bags.classes)
        record = fit(
            lambda: race_model(race, rule, shape, classes),
            bags.train,
            bags.test,
            rule,
            seeds=range(race.seeds),
            plan=race.plan(race_epochs(race, rule, shape, classes)),
            checkpoint=folder / name / CHECKPOINT,
            report=progress,
        )
        weights = folder / name / "weights.safetensors"
        save_checkpoint(weights, record.trained.tensors(), {"part": name})
        return record

    def finish(self, run: Run) -> dict[str, Any]:
        """Write the gallery; the manifest gets sizes and what every paradigm was trained with."""
        race, bags = self.race, load_bags(self.race)
        shape, records = bags.train[0].segment_shape, run.records()
        if not (run.path / "gallery.npz").exists():
            save_arrays(run.path / "gallery.npz", pick_gallery(records, bags.test[0]))
        budget = (
            {"budget": soft_budget(race, shape, len(bags.classes))} if race.equal_compute else {}
        )
        return {
            "resolved": {name: _resolved(record) for name, record in records.items()},
            "sizes": {
                "n": race.n,
                "n_test": race.n_test,
                "m": race.m,
                "classes": list(bags.classes),
                "segment": list(shape),
                **budget,
            },
        }

    def results(self, run: Run) -> dict[str, Any]:
        from foveate.report.terminal.race import race_numbers

        return race_numbers(run)

    def print_results(self, run: Run) -> None:
        from foveate.report.terminal.race import print_race

        print_race(run)

    def write_report(self, run: Run, path: Path) -> Path:
        return self.compare([run], path)

    def compare(self, runs: Sequence[Run], path: Path) -> Path:
        from foveate.report.pages.race import write_report

        return write_report(runs, path)

    def figures(self, run: Run, records: Mapping[str, Record]) -> Mapping[str, Any]:
        from foveate.report.drawing.race_charts import figures

        return figures(run, records)

    def drawings(self, run: Run) -> dict[str, str]:
        from foveate.report.pages.race import race_drawings

        return race_drawings(run)

    def overview(self, run: Run, records: Mapping[str, Record]) -> Overview:
        from foveate.report.pages.race import race_overview

        return Overview(**race_overview(run, records))

    def reopen_part(self, run: Run, name: str) -> tuple[Stack, list[Bag]]:
        bags, rule = load_bags(self.race), race_paradigm(self.race, name)
        shape, classes = bags.train[0].segment_shape, len(bags.classes)
        stack = Stack(lambda: race_model(self.race, rule, shape, classes), range(self.race.seeds))
        stack.load(load_checkpoint(run.path / name / "weights.safetensors")[0])
        return stack, bags.test

    def trained_parts(
        self, run: Run, names: Sequence[str], new: NewBags | None, progress: PartProgress | None
    ) -> Iterator[TrainedPart]:
        if new is not None:
            raise FoveateError("--data is for a fit; a race is examined on its own held-out bags")
        for name in names:
            yield TrainedPart(name, *self.reopen_part(run, name), run.manifest["sizes"]["classes"])


def start_race(
    race: Race,
    *,
    out: Path | None = None,
    report: PartProgress | None = None,
    command: str = "",
    engine: Engine = IN_PROCESS,
) -> Run:
    """Run a race in a new run directory.

    Args:
        race: Data, paradigms and sizes.
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
    job = RaceJob(resolve_race(race))
    return start_job(job, out=out, report=report, command=command, engine=engine)


def resume_race(run: Run, report: PartProgress | None = None, engine: Engine = IN_PROCESS) -> Run:
    """Train the paradigms that are missing; the results equal those of an uninterrupted race.

    Example:
        >>> from tempfile import mkdtemp
        >>> from foveate.training.plan import Race
        >>> small = Race(data="error-mode-1", paradigms="soft", seeds=1, n=60, n_test=20, epochs=2)
        >>> run = start_race(small, out=Path(mkdtemp()) / "race")
        >>> (run.path / "soft" / "record.npz").unlink()
        >>> resume_race(run.update(status="running")).done
        True
    """
    return resume_job(run, report, engine, RaceJob.reopen(run))


def _resolved(record: Record) -> dict[str, Any]:
    """What a paradigm was trained with."""
    plan = record.meta["plan"]
    return {"epochs": plan["epochs"], "lr": plan["lr"], "parameters": record.meta["parameters"]}


def pick_gallery(records: Mapping[str, Record], bag: Bag, member: int = 0) -> dict[str, Array]:
    """A few bags of one member: correct with a wrong focus, correct with the right one, wrong.

    Args:
        records: The records of the paradigms that are compared.
        bag: The held-out bags of the member.
        member: Whose readings decide.

    Returns:
        ``rows`` (K,) into the held-out bags, and their ``segments`` (K, m, *) as stored.
    """
    rows = np.arange(min(6, len(bag))) if bag.z is None else _chosen(records, bag, member)
    segments = stored(take(bag.x, torch.from_numpy(rows)))
    return {"rows": rows, "segments": segments.numpy()}


def _chosen(records: Mapping[str, Record], bag: Bag, member: int) -> Array:
    z, y = np.asarray(bag.z), np.asarray(bag.y)
    mask = None if bag.mask is None else np.asarray(bag.mask)
    right = np.stack([r.final["log_p"][member].argmax(-1) == y for r in records.values()])
    focused = np.stack([focus_true(r.final["s"][member], z, mask) for r in records.values()])
    misfocused_seeds, focused_seeds = (right & ~focused).sum(0), (right & focused).sum(0)
    order = np.lexsort(
        (-misfocused_seeds, -misfocused_seeds * focused_seeds)
    )  # first where the paradigms differ most
    misfocused = [i for i in order if misfocused_seeds[i]][:4]
    wrong = np.flatnonzero(~right.all(0))[:2]
    focused_right = np.flatnonzero((right & focused).all(0))[:2]
    return np.array(list(dict.fromkeys([*misfocused, *focused_right, *wrong])), dtype=np.int64)


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
    """The epochs of one paradigm: all, or as many as cost no more than those of soft attention."""
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
