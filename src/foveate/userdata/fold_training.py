"""Training of one paradigm without one fold, with a search for its settings if asked for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.records.record import Record
from foveate.training.loop import fit
from foveate.training.plan import Plan
from foveate.trust.explanation import explain
from foveate.types import StepProgress
from foveate.userdata.fitted import build_model
from foveate.userdata.prepare import Preparation
from foveate.userdata.scores import mean_probability
from foveate.userdata.search import search_settings
from foveate.userdata.settings import FitSettings
from foveate.userdata.training_rules import (
    absent_classes,
    class_weights,
    inference,
    parse_class_weight,
    training_rule,
    usual_epochs,
)

__all__ = ["FoldTask", "fold_plan", "train_fold"]

MAX_SEGMENT_READS = 2_000_000  # segments that a member reads in training
MIN_LARGE_EPOCHS = 20  # epochs at least, where that limits them
LARGE_EVERY = 5  # epochs between two measurements of held-out bags, where that limits them
SHORT_STEPS, FEWEST_EPOCHS = 100, 5  # of training where early stopping has too few bags


@dataclass(frozen=True)
class FoldTask:
    """One paradigm to be trained without one fold.

    Args:
        paradigm: Its name.
        train: Bags of the other folds, prepared.
        held_out: Bags of the fold; predicted, never trained or selected on.
        inner: For each member positions among the training bags for early stopping; None where
            they would be too few.
        seeds: One per member.
        preparation: How bags were prepared.
    """

    paradigm: str
    train: Bag
    held_out: Bag
    inner: Sequence[Tensor] | None
    seeds: Sequence[int]
    preparation: Preparation


def train_fold(
    task: FoldTask, settings: FitSettings, checkpoint: Path, progress: StepProgress
) -> Record:
    """Train all members, after a search for their settings if ``settings.search`` is above 0.

    Args:
        task: What to train.
        settings: Settings of the fit.
        checkpoint: File of the training's state.
        progress: Called as ``progress(done, total)``.
    """
    result = None
    if settings.search:
        settings, result = _searched_settings(task, settings, progress)
    record = _trained(task, settings, checkpoint, progress)
    meta = {**record.meta, "early_stopping": task.inner is not None}
    return replace(record, meta=meta | ({} if result is None else {"searched": result}))


def _searched_settings(
    task: FoldTask, settings: FitSettings, progress: StepProgress
) -> tuple[FitSettings, dict[str, float]]:
    inner = task.inner
    if inner is None:
        raise FoveateError(
            "--search needs inner validation bags, and a class has too few bags for them: leave it "
            "out, or choose fewer --folds"
        )
    one = replace(task, inner=inner[:1], seeds=task.seeds[:1], held_out=task.train.take(inner[0]))

    def score(tried: FitSettings, number: int) -> float:
        record = _trained(one, tried, None, lambda *_: None)
        progress(number + 1, settings.search + 1)
        absent = absent_classes(settings.absent, task.preparation.classes)
        rule = inference(task.paradigm, absent)
        explained = explain(record.trained, one.held_out, rule, with_evidence=False)
        label_p = mean_probability(explained.log_p)[
            np.arange(len(one.held_out)), one.held_out.y.numpy()
        ]
        return float(-np.log(np.maximum(label_p, 1e-12)).mean())

    return search_settings(settings, score, task.seeds[0])


def _trained(
    task: FoldTask, settings: FitSettings, checkpoint: Path | None, progress: StepProgress
) -> Record:
    train, classes = task.train, task.preparation.classes
    weights = class_weights(parse_class_weight(settings.class_weight), classes, train.y.numpy())
    absent = absent_classes(settings.absent, classes)
    record = fit(
        lambda: build_model(task.preparation, settings, task.paradigm),
        train,
        replace(task.held_out, z=None),
        training_rule(task.paradigm, weights, settings.supervise_focus, absent),
        seeds=task.seeds,
        plan=fold_plan(settings, len(train), _segments(train), task.inner is not None),
        checkpoint=checkpoint,
        report=progress,
        validation_rows=task.inner,
    )
    if record.meta["epochs_run"] < record.meta["plan"]["epochs"]:  # stopped early
        progress(record.meta["epochs_run"], record.meta["epochs_run"])
    return record


def fold_plan(settings: FitSettings, bags: int, segments: int, early_stopping: bool) -> Plan:
    """The plan of one training; large data get fewer epochs and measurements: time is bounded.

    Args:
        settings: Settings of the fit.
        bags: Number of training bags.
        segments: Number of their segments.
        early_stopping: Whether there are inner validation bags.

    Example:
        >>> fold_plan(FitSettings(), 240, 2400, True).epochs
        188
        >>> plan = fold_plan(FitSettings(), 240, 120_000, True)
        >>> plan.epochs, plan.measure_every
        (20, 5)
    """
    steps = -(-bags // settings.batch)
    usual = usual_epochs(bags, settings.batch)
    epochs = min(usual, max(MIN_LARGE_EPOCHS, MAX_SEGMENT_READS // segments))
    every = LARGE_EVERY if epochs < usual else None
    if not early_stopping and settings.patience:
        epochs = max(FEWEST_EPOCHS, -(-SHORT_STEPS // steps))
    return Plan(
        epochs=settings.epochs or epochs,
        batch=settings.batch,
        lr=settings.lr,
        weight_decay=settings.weight_decay,
        validation=0.2 if early_stopping else 0.0,
        patience=settings.patience if early_stopping else None,
        every=every,
        save_seconds=settings.save_seconds,
    )


def _segments(bag: Bag) -> int:
    return len(bag) * bag.m if bag.mask is None else int(bag.mask.sum())
