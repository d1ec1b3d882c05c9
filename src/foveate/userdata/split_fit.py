"""Fit with one split: train on training bags, choose on validation bags, score on test bags."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.io.collection import Collection
from foveate.metrics.calibration import calibrated, temperature
from foveate.metrics.faults import diverged, divergence
from foveate.records.record import Record, save_checkpoint
from foveate.records.runs import Run
from foveate.training.loop import fit
from foveate.training.plan import Plan
from foveate.trust.explanation import explain
from foveate.types import PartProgress, StepProgress
from foveate.userdata.fitted import WEIGHTS, build_model, open_fitted
from foveate.userdata.gallery import pick_gallery_bags, save_gallery
from foveate.userdata.procedure import CHECKPOINT, Procedure, collection_sizes, prepare_bags
from foveate.userdata.scores import mean_probability, scores
from foveate.userdata.select import RULES, attention_score, choose
from foveate.userdata.settings import FitSettings
from foveate.userdata.shift import TrainingSummary
from foveate.userdata.split import PARTS, keep_split, resumed_split, split_bags
from foveate.userdata.training_rules import (
    absent_classes,
    class_weights,
    inference,
    parse_class_weight,
    training_rule,
    usual_epochs,
)

__all__ = ["SplitFit"]


class SplitFit(Procedure):
    """One training, one validation and one test part; every paradigm is a part of the run."""

    def __init__(
        self,
        collection: Collection,
        settings: FitSettings,
        folder: Path | None = None,
        progress: PartProgress | None = None,
    ) -> None:
        self.collection, self.settings = collection, settings
        seed = settings.split_seed
        self.split = (
            split_bags(collection, seed)
            if folder is None
            else resumed_split(folder, collection, seed)
        )
        self.preparation, whole = prepare_bags(collection, settings, self.split.train, progress)
        self.bags = {part: whole.take(self.split.rows(part)) for part in PARTS}
        self.bags["validation"] = _measurable(self.bags["validation"])

    @property
    def rule(self) -> str:  # type: ignore[override]
        """How the paradigm is chosen, in words."""
        return RULES[self.settings.choose]

    @property
    def epochs(self) -> int:
        """Passes over the training bags."""
        return self.settings.epochs or usual_epochs(len(self.bags["train"]), self.settings.batch)

    @property
    def parts(self) -> list[str]:
        return list(self.settings.paradigms)

    def save_division(self, folder: Path) -> None:
        keep_split(self.split, self.collection.ids, folder)
        train, validation = self.split.train, self.split.validation
        vocabulary = self.preparation.vocabulary
        TrainingSummary.of(self.collection, train, validation, vocabulary).save(folder)

    def sizes(self) -> dict[str, Any]:
        return collection_sizes(self.collection, self.preparation, self.split.how, self.bags)

    def run_part(self, name: str, folder: Path, progress: StepProgress) -> Record:
        """Train one paradigm, write its weights, and predict the test bags."""
        settings = self.settings
        train, validation, test = (self.bags[part] for part in PARTS)
        classes = len(self.preparation.classes)
        rule = parse_class_weight(settings.class_weight)
        weights = class_weights(rule, self.preparation.classes, train.y.numpy())
        absent = absent_classes(settings.absent, self.preparation.classes)
        record = fit(
            lambda: build_model(self.preparation, settings, name),
            train,
            validation,
            training_rule(name, weights, settings.supervise_focus, absent),
            seeds=range(settings.seeds),
            plan=Plan(
                epochs=self.epochs,
                batch=settings.batch,
                lr=settings.lr,
                weight_decay=settings.weight_decay,
                save_seconds=settings.save_seconds,
            ),
            checkpoint=folder / name / CHECKPOINT,
            report=progress,
        )
        reading = inference(name, absent)
        log_p = explain(record.trained, test, reading, with_evidence=False).log_p
        final = {**record.final, "test_log_p": log_p, "test_y": test.y.numpy()}
        if settings.choose == "attention":
            final["attention_score"] = attention_score(record.trained, reading, validation, classes)
        save_checkpoint(folder / name / WEIGHTS, record.trained.tensors(), {"part": name})
        return replace(record, final=final)

    def finish(self, run: Run) -> dict[str, Any]:
        """Score every paradigm, choose one, and write the gallery."""
        records = run.records()
        sound = {name: record for name, record in records.items() if not diverged(record)}
        if not sound:
            raise FoveateError(divergence(records))
        numbers = {name: self._scores(record) for name, record in sound.items()}
        entries = {
            "chosen": choose(numbers, self.settings.choose),
            "scores": numbers,
            "resolved": {
                name: {
                    "epochs": self.epochs,
                    "lr": self.settings.lr,
                    "parameters": record.meta["parameters"],
                }
                for name, record in records.items()
            },
        }
        if not (run.path / "gallery.npz").exists():
            fitted = open_fitted(Run(run.path, {**run.manifest, **entries}))
            test = self.collection.take(self.split.test)
            bags = pick_gallery_bags(fitted, test, self.bags["test"])
            save_gallery(run.path / "gallery.npz", bags)
        return entries

    def _scores(self, record: Record) -> dict[str, Any]:
        """The temperature fitted on validation bags, and all measures of both held-out parts."""
        final = record.final
        y, p = final["y"][0], mean_probability(final["log_p"])
        t = temperature(p, y)
        numbers: dict[str, Any] = {"temperature": t}
        for part, probabilities, labels in (
            ("validation", p, y),
            ("test", mean_probability(final["test_log_p"]), final["test_y"]),
        ):
            group = self.bags[part].group
            groups = None if group is None else group.numpy()
            intervals = scores(calibrated(probabilities, t), labels, groups)
            numbers[part] = {name: list(value) for name, value in intervals.items()}
        numbers["test_accuracy_of_seeds"] = [
            float(np.mean(row.argmax(1) == final["test_y"])) for row in final["test_log_p"]
        ]
        if "attention_score" in final:
            numbers["attention_score"] = float(np.nan_to_num(final["attention_score"]).mean())
        return numbers


def _measurable(bag: Bag) -> Bag:
    """Held-out bags without relevance, unless every bag has a relevant segment."""
    sure = bag.z is not None and bool(bag.z.any(1).all())
    return bag if sure else replace(bag, z=None)
