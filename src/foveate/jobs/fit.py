"""Fit a user's bags: paradigms trained on training bags, one chosen on validation bags.

The run directory is of kind "fit": ``preparation.safetensors`` (scales or vocabulary),
``split.json`` (names and rows of the bags of each part), a folder per paradigm with its record and
weights, ``gallery.npz`` (test bags to look at) and the manifest with the scores and the choice.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.io.check import require_sound
from foveate.io.collection import Collection
from foveate.io.problem import Problem
from foveate.jobs.engine import Engine
from foveate.jobs.job import CHECKPOINT, JOBS, Job, NewBags, TrainedPart
from foveate.jobs.lifecycle import IN_PROCESS, resume_job, start_job
from foveate.metrics.calibration import calibrated, temperature
from foveate.metrics.faults import diverged, divergence
from foveate.records.checkpoint import save_checkpoint
from foveate.records.record import Record
from foveate.records.runs import Run
from foveate.training.loop import fit
from foveate.training.plan import Plan
from foveate.trust.explanation import explain
from foveate.types import PartProgress, StepProgress
from foveate.userdata.estimator import balanced, training_rule, usual_epochs
from foveate.userdata.fitted import (
    PREPARATION,
    WEIGHTS,
    build_model,
    load_fitted,
    open_fitted,
)
from foveate.userdata.gallery import pick_gallery_bags, save_gallery
from foveate.userdata.prepare import Preparation
from foveate.userdata.scores import mean_probability, scores
from foveate.userdata.select import RULES, attention_score, choose
from foveate.userdata.settings import FitSettings
from foveate.userdata.source import Origin, fingerprint, read_again
from foveate.userdata.split import (
    PARTS,
    Split,
    held_out,
    keep_split,
    resumed_split,
    split_bags,
    stored_split,
    trained_on,
)
from foveate.userdata.stored_collection import load_collection, save_collection
from foveate.userdata.tile_encoding import encode_tiles

__all__ = ["FitJob", "resume_fit", "start_fit"]

INPUTS = "inputs"  # folder with the bags, while workers train
BAGS = "bags.safetensors"


@dataclass(frozen=True)
class _Prepared:
    """Everything that is fixed before training; a resumed run computes the same."""

    settings: FitSettings
    collection: Collection
    split: Split
    preparation: Preparation
    bags: Mapping[str, Bag]

    @property
    def epochs(self) -> int:
        return self.settings.epochs or usual_epochs(len(self.bags["train"]), self.settings.batch)


@JOBS.register("fit")
class FitJob(Job):
    """Paradigms fitted to a user's bags; each paradigm is a part.

    Args:
        settings: How to fit.
        collection: Labelled bags; read from where the run's manifest says if None.
        origin: Where the bags were read from, so that the run can be resumed.
        run: The run, if there is one already.
    """

    keeps_models = True

    def __init__(
        self,
        settings: FitSettings,
        collection: Collection | None = None,
        origin: Origin | None = None,
        run: Run | None = None,
    ) -> None:
        self.settings, self.origin = settings, origin
        self._collection, self._run = collection, run
        self._prepared: _Prepared | None = None
        self._problems: list[Problem] = []

    @classmethod
    def reopen(cls, run: Run, collection: Collection | None = None) -> Self:
        """The fit of a run directory.

        Args:
            run: The run.
            collection: Its bags; read again from where they came if None.
        """
        return cls(FitSettings(**run.manifest["config"]), collection, run=run)

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
            "sizes": _sizes(data),
            "rule": RULES[self.settings.choose],
            "resolved": {},
        }

    def parts(self) -> dict[str, tuple[str, ...]]:
        return dict.fromkeys(self.settings.paradigms, ())

    def check(self, progress: PartProgress | None) -> None:
        """Read, check, split and prepare the bags, and build a model."""
        if self._run is None:
            self._problems = require_sound(self._read(progress))
        data = self._data(progress)
        for name in self.settings.paradigms:
            training_rule(name)
        with torch.random.fork_rng(devices=[]):
            build_model(data.preparation, self.settings)

    def write_inputs(self, folder: Path, *, for_workers: bool) -> tuple[str, ...]:
        data = self._data()
        data.preparation.save(folder / PREPARATION)
        keep_split(data.split, data.collection.ids, folder)
        if not for_workers:
            return ()
        (folder / INPUTS).mkdir(exist_ok=True)
        save_collection(folder / INPUTS / BAGS, data.collection)
        keep_split(data.split, data.collection.ids, folder / INPUTS)
        return (INPUTS,)

    def run_part(self, name: str, folder: Path, progress: StepProgress) -> Record:
        """Train one paradigm, write its weights, and predict the test bags."""
        data, settings = self._data(), self.settings
        train, validation, test = (data.bags[part] for part in PARTS)
        classes = len(data.preparation.classes)
        kind = None if settings.class_weight == "none" else settings.class_weight
        weights = balanced(train.y.numpy(), classes, kind)
        record = fit(
            lambda: build_model(data.preparation, settings),
            train,
            validation,
            training_rule(name, weights, settings.supervise_focus),
            seeds=range(settings.seeds),
            plan=Plan(
                epochs=data.epochs,
                batch=settings.batch,
                lr=settings.lr,
                save_seconds=settings.save_seconds,
            ),
            checkpoint=folder / name / CHECKPOINT,
            report=progress,
        )
        log_p = explain(record.trained, test, training_rule(name), with_evidence=False).log_p
        final = {**record.final, "test_log_p": log_p, "test_y": test.y.numpy()}
        if settings.choose == "attention":
            final["attention_score"] = attention_score(
                record.trained, training_rule(name), validation, classes
            )
        save_checkpoint(folder / name / WEIGHTS, record.trained.tensors(), {"part": name})
        return replace(record, final=final)

    def finish(self, run: Run) -> dict[str, Any]:
        """Score every paradigm, choose one, and write the gallery."""
        data, records = self._data(), run.records()
        sound = {name: record for name, record in records.items() if not diverged(record)}
        if not sound:
            raise FoveateError(divergence(records))
        numbers = {name: _scores(record, data) for name, record in sound.items()}
        entries = {
            "chosen": choose(numbers, self.settings.choose),
            "scores": numbers,
            "resolved": {
                name: {
                    "epochs": data.epochs,
                    "lr": self.settings.lr,
                    "parameters": record.meta["parameters"],
                }
                for name, record in records.items()
            },
        }
        if not (run.path / "gallery.npz").exists():
            fitted = open_fitted(Run(run.path, {**run.manifest, **entries}))
            test = data.collection.take(data.split.test)
            bags = pick_gallery_bags(fitted, test, data.bags["test"])
            save_gallery(run.path / "gallery.npz", bags)
        return entries

    def results(self, run: Run) -> dict[str, Any]:
        stored = ("chosen", "rule", "scores", "sizes")
        return {"run": str(run.path), **{name: run.manifest[name] for name in stored}}

    def print_results(self, run: Run) -> None:
        from foveate.report.terminal.fit import print_fit

        print_fit(run)

    def write_report(self, run: Run, path: Path) -> Path:
        from foveate.report.pages.fit import write_fit_report

        return write_fit_report(run, path)

    def trained_parts(
        self, run: Run, names: Sequence[str], new: NewBags | None, progress: PartProgress | None
    ) -> Iterator[TrainedPart]:
        if new is None:
            whole = self._all_bags(run)
            collection, other = held_out(whole, run.path), trained_on(whole, run.path)
        else:
            collection, other = _read_new(run, new), None
            require_sound(collection, learning=False)
        known = None if collection.known is None else collection.known.numpy()
        bag: Bag | None = None
        more: Bag | None = None
        for name in names:
            fitted = load_fitted(run.path, name)
            if bag is None:
                bag = fitted.bags(collection, progress)
                more = None if other is None else fitted.bags(other, progress)
            yield TrainedPart(name, fitted.stack, bag, fitted.classes, known, collection.ids, more)

    def _all_bags(self, run: Run) -> Collection:
        data = run.manifest["data"]
        collection = read_again(data.get("origin"), run.name, classes=run.manifest["classes"])
        if fingerprint(collection) != data["fingerprint"]:
            raise FoveateError(
                f"{data['source']} is not what it was when {run.name} was fitted: give --data"
            )
        return collection

    def _data(self, progress: PartProgress | None = None) -> _Prepared:
        """The bags, split and prepared; computed once."""
        if self._prepared is None:
            stored = None if self._run is None else self._run.path / INPUTS / BAGS
            if self._collection is None and stored is not None and stored.exists():
                self._prepared = _stored(stored, stored.stat().st_mtime_ns, self.settings)
            else:
                bags, run, seed = self._read(progress), self._run, self.settings.split_seed
                split = None if run is None else resumed_split(run.path, bags, seed)
                self._prepared = _prepare(bags, self.settings, progress, split)
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
            collection = read_again(data.get("origin"), self._run.name, progress, classes)
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
def _stored(path: Path, _changed: int, settings: FitSettings) -> _Prepared:
    collection = load_collection(path)
    return _prepare(collection, settings, None, stored_split(path.parent, collection))


def _read_new(run: Run, new: NewBags) -> Collection:
    """New labelled bags, read with the fit's columns except those that are given."""
    columns = (run.manifest["data"].get("origin") or {"columns": {}})["columns"]
    origin = Origin(new.path, {**columns, **new.columns})
    features = [name.partition("[")[0] for name in run.manifest["columns"]]
    return origin.read(labelled=True, classes=run.manifest["classes"], features=features)


def _prepare(
    collection: Collection,
    settings: FitSettings,
    progress: PartProgress | None,
    split: Split | None = None,
) -> _Prepared:
    split = split or split_bags(collection, settings.split_seed)
    if settings.supervise_focus and (
        collection.known is None or not bool(collection.known[split.train].any())
    ):
        raise FoveateError(
            f"{collection.source}: --supervise-focus needs training bags whose relevance is known"
        )
    encoded = encode_tiles(collection, settings.encoder, progress)
    preparation = Preparation.learn(collection, split.train, settings, encoded)
    whole = preparation.apply(collection, progress, None if encoded is None else encoded[1])
    bags = {part: whole.take(split.rows(part)) for part in PARTS}
    bags["validation"] = _measurable(bags["validation"])
    return _Prepared(settings, collection, split, preparation, bags)


def _measurable(bag: Bag) -> Bag:
    """Held-out bags without relevance, unless every bag has a relevant segment."""
    sure = bag.z is not None and bool(bag.z.any(1).all())
    return bag if sure else replace(bag, z=None)


def _scores(record: Record, data: _Prepared) -> dict[str, Any]:
    """The temperature fitted on validation bags, and all measures of both held-out parts."""
    final = record.final
    y, p = final["y"][0], mean_probability(final["log_p"])
    t = temperature(p, y)
    numbers: dict[str, Any] = {"temperature": t}
    for part, probabilities, labels in (
        ("validation", p, y),
        ("test", mean_probability(final["test_log_p"]), final["test_y"]),
    ):
        group = data.bags[part].group
        groups = None if group is None else group.numpy()
        intervals = scores(calibrated(probabilities, t), labels, groups)
        numbers[part] = {name: list(value) for name, value in intervals.items()}
    numbers["test_accuracy_of_seeds"] = [
        float(np.mean(row.argmax(1) == final["test_y"])) for row in final["test_log_p"]
    ]
    if "attention_score" in final:
        numbers["attention_score"] = float(np.nan_to_num(final["attention_score"]).mean())
    return numbers


def _sizes(data: _Prepared) -> dict[str, Any]:
    bag = data.collection.bag
    counts = {
        part: {
            name: int((data.bags[part].y == c).sum())
            for c, name in enumerate(data.preparation.classes)
        }
        for part in PARTS
    }
    lengths = [bag.m] if bag.mask is None else bag.mask.sum(1).tolist()
    return {
        "bags": len(bag),
        "segments": int(sum(lengths)) if bag.mask is not None else len(bag) * bag.m,
        "shortest": min(lengths),
        "longest": max(lengths),
        "segment": list(data.preparation.width),
        "groups": None if bag.group is None else int(bag.group.unique().numel()),
        "split": data.split.how,
        "parts": {part: len(data.bags[part]) for part in PARTS},
        "bags of class": counts,
        "classes": list(data.preparation.classes),
    }
