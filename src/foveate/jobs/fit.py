"""The job that fits a user's bags.

The run directory is of kind "fit": ``preparation.safetensors`` (scales or vocabulary),
``folds.json`` or ``split.json`` (which bags are used for what), a folder per part with its record
and weights, ``gallery.npz`` (bags to look at) and the manifest with the scores and the choice.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import torch

from foveate.errors import FoveateError
from foveate.io.check import require_sound
from foveate.io.collection import Collection
from foveate.io.problem import Problem
from foveate.jobs.engine import Engine
from foveate.jobs.fit_models import trained_fit_parts
from foveate.jobs.job import JOBS, Job, NewBags, TrainedPart
from foveate.jobs.lifecycle import IN_PROCESS, resume_job, start_job
from foveate.jobs.run_verdicts import examine_run, main_paradigm
from foveate.records.checksums import read_json
from foveate.records.record import Record
from foveate.records.runs import Run
from foveate.report.trust_files import DeclaredEvidence
from foveate.types import PartProgress, StepProgress
from foveate.userdata.cross_fit import CrossFit
from foveate.userdata.ensemble import part_name
from foveate.userdata.fitted import PREPARATION, build_model
from foveate.userdata.folds import Folds
from foveate.userdata.model_card import CARD_JSON, model_card, write_model_card
from foveate.userdata.procedure import Procedure
from foveate.userdata.settings import FitSettings
from foveate.userdata.source import Origin, fingerprint, read_again
from foveate.userdata.split_fit import SplitFit
from foveate.userdata.stored_collection import load_collection, save_collection
from foveate.userdata.training_rules import (
    absent_classes,
    class_weights,
    inference,
    parse_class_weight,
)

__all__ = ["BAGS", "INPUTS", "FitJob", "resume_fit", "start_fit"]

INPUTS = "inputs"  # folder with the bags, while workers train
BAGS = "bags.safetensors"
RESULTS = (
    "chosen", "rule", "scores", "weights", "comparison", "recall", "threshold", "abstention",
    "sizes",
)  # fmt: skip


@JOBS.register("fit")
class FitJob(Job):
    """Paradigms fitted to a user's bags, with one split or in folds.

    Args:
        settings: How to fit.
        collection: Labelled bags; read from where the run's manifest says if None.
        origin: Where the bags were read from, so that the run can be resumed.
        run: The run, if there is one already.
        folds: Folds that the run shares with others; drawn unless given.
    """

    keeps_models = True

    def __init__(
        self,
        settings: FitSettings,
        collection: Collection | None = None,
        origin: Origin | None = None,
        run: Run | None = None,
        folds: Folds | None = None,
    ) -> None:
        self.settings, self.origin, self._folds = settings, origin, folds
        self._collection, self._run = collection, run
        self._prepared: Procedure | None = None
        self._problems: list[Problem] = []

    @classmethod
    def reopen(cls, run: Run, collection: Collection | None = None) -> Self:
        """The fit of a run directory.

        Args:
            run: The run.
            collection: Its bags; read again from where they came if None.
        """
        return cls(FitSettings.from_manifest(run.manifest["config"]), collection, run=run)

    @property
    def label(self) -> str:
        return Path(self._data().collection.source).name or "bags"

    def describe(self) -> dict[str, Any]:
        data = self._data()
        collection = data.collection
        return {
            "config": self.settings.model_dump(),
            "seeds": list(range(self.settings.seeds)),
            "data": {
                "source": collection.source,
                "kind": collection.kind,
                "fingerprint": fingerprint(collection),
                "origin": None if self.origin is None else self.origin.as_json(),
            },
            "classes": list(collection.classes),
            "columns": list(collection.columns),
            "roles": [list(role) for role in collection.roles],
            "missing": collection.missing_cells(),
            "warnings": [str(p) for p in self._problems if p.name not in collection.accepted],
            "forced": [f"{p.name}: {p}" for p in self._problems if p.name in collection.accepted],
            "sizes": data.sizes(),
            "rule": data.rule,
            "resolved": {},
        }

    def parts(self) -> dict[str, tuple[str, ...]]:
        return dict.fromkeys(self._data().parts, ())

    def check(self, progress: PartProgress | None) -> None:
        """Read, check, split and prepare the bags, and build a model."""
        if self._run is None:
            self._problems = require_sound(self._read(progress))
        data = self._data(progress)
        y = data.collection.bag.y.numpy()
        class_weights(parse_class_weight(self.settings.class_weight), data.collection.classes, y)
        absent = absent_classes(self.settings.absent, data.collection.classes)
        for name in self.settings.paradigms:
            inference(name, absent)
            with torch.random.fork_rng(devices=[]):
                build_model(data.preparation, self.settings, name)

    def write_inputs(self, folder: Path, *, for_workers: bool) -> tuple[str, ...]:
        data = self._data()
        data.preparation.save(folder / PREPARATION)
        data.save_division(folder)
        if not for_workers:
            return ()
        (folder / INPUTS).mkdir(exist_ok=True)
        save_collection(folder / INPUTS / BAGS, data.collection)
        data.save_division(folder / INPUTS)
        return (INPUTS,)

    def run_part(self, name: str, folder: Path, progress: StepProgress) -> Record:
        return self._data().run_part(name, folder, progress)

    def finish(self, run: Run) -> dict[str, Any]:
        entries = self._data().finish(run)
        write_model_card(Run(run.path, {**run.manifest, **entries}))
        return entries

    def results(self, run: Run) -> dict[str, Any]:
        entries = {name: run.manifest[name] for name in RESULTS if name in run.manifest}
        return {"run": str(run.path), **entries, "model_card": model_card(run)}

    def print_results(self, run: Run) -> None:
        from foveate.report.terminal.fit import print_fit

        print_fit(run)

    def write_report(self, run: Run, path: Path) -> Path:
        from foveate.report.pages.fit import write_fit_report

        return write_fit_report(run, path)

    @classmethod
    def excluded_options(cls, run: Run) -> tuple[str, ...]:
        config = run.manifest["config"]
        used = {"folds": config.get("folds", 1) > 1,
                "supervise-focus": config.get("supervise_focus")}  # fmt: skip
        return tuple(name for name, is_used in used.items() if is_used)

    @classmethod
    def update_card(cls, run: Run) -> None:
        write_model_card(run)

    def lacks_verdict(self, run: Run) -> bool:
        card = run.path / CARD_JSON  # runs of version 0.1 have none
        if not card.exists():
            return False
        verdict = read_json(card)["attention"]["verdict"]
        return verdict is None or not (run.path / "trust.json").exists()

    def add_verdict(
        self, run: Run, declared: DeclaredEvidence, command: str, report: PartProgress
    ) -> Run:
        examine_run(run, declared, command, report, paradigm=main_paradigm(run))
        return run

    def trained_parts(
        self, run: Run, names: Sequence[str], new: NewBags | None, progress: PartProgress | None
    ) -> Iterator[TrainedPart]:
        return trained_fit_parts(run, names, new, progress)

    def model_records(self, run: Run) -> dict[str, list[Record]]:
        """The records of each paradigm; of a cross-fitted one those of the first repeat's folds."""
        if self.settings.folds == 1:
            return super().model_records(run)
        folds = range(self.settings.folds)
        return {
            name: [run.record(part_name(name, 0, k)) for k in folds]
            for name in self.settings.paradigms
        }

    def _data(self, progress: PartProgress | None = None) -> Procedure:
        """The bags, divided and prepared; computed once."""
        if self._prepared is None:
            stored = None if self._run is None else self._run.path / INPUTS / BAGS
            if self._collection is None and stored is not None and stored.exists():
                self._prepared = _stored(stored, stored.stat().st_mtime_ns, self.settings)
            else:
                folder = None if self._run is None else self._run.path
                bags = self._read(progress)
                self._prepared = _procedure(bags, self.settings, folder, progress, self._folds)
        return self._prepared

    def _read(self, progress: PartProgress | None) -> Collection:
        if self._run is None:
            if self._collection is None:
                raise FoveateError("a fit needs bags")
            return self._collection.with_labels_only()
        data = self._run.manifest["data"]
        collection = self._collection
        if collection is None:
            classes = self._run.manifest["classes"]
            collection = read_again(data.get("origin"), self._run, progress, classes)
        collection = collection.with_labels_only()
        if fingerprint(collection) != data["fingerprint"]:
            raise FoveateError(
                f"{data['source']} is not what it was when {self._run.name} was started"
            )
        return collection


def start_fit(
    collection: Collection,
    settings: FitSettings | None = None,
    out: Path | None = None,
    *,
    origin: Origin | None = None,
    report: PartProgress | None = None,
    command: str = "",
    engine: Engine = IN_PROCESS,
) -> Run:
    """Fit bags in a new run directory.

    Args:
        collection: Labelled bags.
        settings: How.
        out: The directory; None for a new one in the folder of runs.
        origin: Where the bags were read from, so that the run can be resumed.
        report: Called as ``report(paradigm, epochs done, epochs)``.
        command: The command that repeats it, for the manifest.
        engine: Where its parts are trained.
    """
    job = FitJob(settings or FitSettings(), collection, origin)
    return start_job(job, out=out, report=report, command=command, engine=engine)


def resume_fit(
    run: Run,
    report: PartProgress | None = None,
    collection: Collection | None = None,
    engine: Engine = IN_PROCESS,
) -> Run:
    """Train what is missing; the results equal those of an unbroken fit.

    Args:
        run: A run of kind "fit".
        report: Called as ``report(paradigm, epochs done, epochs)``.
        collection: The same bags; None reads them again from where they came.
        engine: Where its parts are trained.
    """
    return resume_job(run, report, engine, FitJob.reopen(run, collection))


@lru_cache(maxsize=1)  # the parts that a worker trains share their bags
def _stored(path: Path, _changed: int, settings: FitSettings) -> Procedure:
    return _procedure(load_collection(path), settings, path.parent, None)


def _procedure(
    collection: Collection,
    settings: FitSettings,
    folder: Path | None,
    progress: PartProgress | None,
    folds: Folds | None = None,
) -> Procedure:
    if settings.folds == 1:
        return SplitFit(collection, settings, folder, progress)
    return CrossFit(collection, settings, folder, progress, folds)
