"""Fit a user's bags: paradigms raced on training bags, one chosen on validation bags.

The run directory is of kind "fit": ``preparation.safetensors`` (scales or vocabulary),
``split.json`` (names and rows of the bags of each part), a folder a paradigm with its record and
weights, ``gallery.npz`` (test bags to look at) and the manifest, which has the numbers and the
choice.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.io.collection import Collection
from foveate.metrics.calibration import calibrated, temperature
from foveate.metrics.faults import diverged, divergence
from foveate.records.checkpoint import save_checkpoint
from foveate.records.record import Record
from foveate.records.runs import Run, create_run
from foveate.training.loop import fit
from foveate.training.plan import Plan
from foveate.trust.explanation import explain
from foveate.types import PartProgress
from foveate.userdata.estimator import balanced, training_rule, usual_epochs
from foveate.userdata.fitted import PREPARATION, WEIGHTS, Fitted, build_model, load_fitted
from foveate.userdata.gallery import pick_gallery_bags, save_gallery
from foveate.userdata.prepare import Preparation
from foveate.userdata.scores import mean_probability, scores
from foveate.userdata.select import RULES, attention_score, choose
from foveate.userdata.settings import FitSettings
from foveate.userdata.source import Origin, fingerprint, read_again
from foveate.userdata.split import PARTS, Split, keep_split, resumed_split, split_bags
from foveate.userdata.tile_encoding import encode_tiles

__all__ = ["resume_fit", "start_fit"]

CHECKPOINT = "checkpoint.safetensors"


@dataclass(frozen=True)
class _Work:
    """All that is fixed before training, made again alike when a run is resumed."""

    settings: FitSettings
    collection: Collection
    split: Split
    preparation: Preparation
    parts: Mapping[str, Bag]

    @property
    def epochs(self) -> int:
        return self.settings.epochs or usual_epochs(len(self.parts["train"]), self.settings.batch)


def start_fit(
    collection: Collection,
    settings: FitSettings | None = None,
    out: Path | None = None,
    *,
    origin: Origin | None = None,
    report: PartProgress | None = None,
    command: str = "",
) -> Run:
    """Fit bags in a new run directory.

    Args:
        collection: Labelled bags.
        settings: How.
        out: The directory; None for a new one in the folder of runs.
        origin: Where the bags were read from, so that the run can be resumed.
        report: Called as ``report(paradigm, epochs done, epochs)``.
        command: The command that repeats it, for the manifest.
    """
    work = _prepared(collection, settings or FitSettings(), report)
    run = create_run(
        out,
        "fit",
        Path(collection.source).name or "bags",
        parts=list(work.settings.paradigms),
        config=work.settings.model_dump(),
        seeds=list(range(work.settings.seeds)),
        command=command,
        data={
            "source": collection.source,
            "kind": collection.kind,
            "fingerprint": fingerprint(collection),
            "origin": None if origin is None else origin.as_json(),
        },
        classes=list(collection.classes),
        columns=list(collection.columns),
        sizes=_sizes(work),
        rule=RULES[work.settings.choose],
        resolved={},
        seconds=0.0,
    )
    return _go_on(run, work, report)


def resume_fit(
    run: Run, report: PartProgress | None = None, collection: Collection | None = None
) -> Run:
    """Train what is not trained yet; a fit that was killed ends as one that was not.

    Args:
        run: A run of kind "fit".
        report: Called as ``report(paradigm, epochs done, epochs)``.
        collection: The same bags; None reads them again from where they came.
    """
    kept = run.manifest["data"]
    bags = read_again(kept.get("origin"), run.name, report) if collection is None else collection
    if fingerprint(bags) != kept["fingerprint"]:
        raise FoveateError(f"{kept['source']} is not what it was when {run.name} was started")
    settings = FitSettings(**run.manifest["config"])
    split = resumed_split(run.path, bags, settings.split_seed)
    return _go_on(run, _prepared(bags, settings, report, split), report)


def _prepared(
    collection: Collection,
    settings: FitSettings,
    report: PartProgress | None,
    split: Split | None = None,
) -> _Work:
    """What cannot be split, prepared or built is said before anything is on disk."""
    split = split or split_bags(collection, settings.split_seed)
    if settings.supervise_focus and (
        collection.known is None or not bool(collection.known[split.train].any())
    ):
        raise FoveateError(
            f"{collection.source}: --supervise-focus needs training bags whose relevance is known"
        )
    encoded = encode_tiles(collection, settings.encoder, report)
    preparation = Preparation.learn(collection, split.train, settings, encoded)
    whole = preparation.apply(collection, report, None if encoded is None else encoded[1])
    parts = {part: whole.take(split.rows(part)) for part in PARTS}
    parts["validation"] = _measurable(parts["validation"])
    work = _Work(settings, collection, split, preparation, parts)
    for name in settings.paradigms:
        training_rule(name)
    with torch.random.fork_rng(devices=[]):
        build_model(preparation, settings)
    return work


def _measurable(bag: Bag) -> Bag:
    """Held-out bags without relevance, unless all have a relevant segment to be looked at."""
    sure = bag.z is not None and bool(bag.z.any(1).all())
    return bag if sure else replace(bag, z=None)


def _go_on(run: Run, work: _Work, report: PartProgress | None) -> Run:
    start = time.monotonic()
    work.preparation.save(run.path / PREPARATION)
    keep_split(work.split, work.collection.ids, run.path)
    for name in work.settings.paradigms:
        if not run.has(name):
            _train(run, name, work, report)
        (run.part(name) / CHECKPOINT).unlink(missing_ok=True)
    records = run.records()
    sound = {name: record for name, record in records.items() if not diverged(record)}
    if not sound:
        raise FoveateError(divergence(records))
    numbers = {name: _numbers(record, work) for name, record in sound.items()}
    chosen = choose(numbers, work.settings.choose)
    run = run.update(
        status="done",
        seconds=(run.manifest.get("seconds") or 0.0) + time.monotonic() - start,
        chosen=chosen,
        scores=numbers,
        resolved={
            name: {
                "epochs": work.epochs,
                "lr": work.settings.lr,
                "parameters": r.meta["parameters"],
            }
            for name, r in records.items()
        },
    )
    if not (run.path / "gallery.npz").exists():
        _keep_gallery(run, load_fitted(run.path), work)
    return run


def _train(run: Run, name: str, work: _Work, report: PartProgress | None) -> None:
    """Train one paradigm; leave its weights and, last, its record."""
    settings, place, train = work.settings, run.part(name), work.parts["train"]
    kind, classes = settings.class_weight, len(work.preparation.classes)
    weights = balanced(train.y.numpy(), classes, None if kind == "none" else kind)
    record = fit(
        lambda: build_model(work.preparation, settings),
        train,
        work.parts["validation"],
        training_rule(name, weights, settings.supervise_focus),
        seeds=range(settings.seeds),
        plan=Plan(
            epochs=work.epochs,
            batch=settings.batch,
            lr=settings.lr,
            save_seconds=settings.save_seconds,
        ),
        checkpoint=place / CHECKPOINT,
        report=None if report is None else lambda done, total: report(name, done, total),
    )
    test = work.parts["test"]
    log_p = explain(record.trained, test, training_rule(name), with_evidence=False).log_p
    held_out = {"test_log_p": log_p, "test_y": test.y.numpy()}
    if settings.choose == "attention":
        held_out["attention_score"] = attention_score(
            record.trained, training_rule(name), work.parts["validation"], classes
        )
    save_checkpoint(place / WEIGHTS, record.trained.tensors(), {"part": name})
    replace(record, final={**record.final, **held_out}).save(place / "record.npz")


def _numbers(record: Record, work: _Work) -> dict[str, Any]:
    """The temperature, found on validation bags, and all measures of both held-out parts."""
    final, found = record.final, {}
    y, p = final["y"][0], mean_probability(final["log_p"])
    t = temperature(p, y)
    for part, own, labels in (
        ("validation", p, y),
        ("test", mean_probability(final["test_log_p"]), final["test_y"]),
    ):
        group = work.parts[part].group
        numbers = scores(calibrated(own, t), labels, None if group is None else group.numpy())
        found[part] = {name: list(value) for name, value in numbers.items()}
    accuracy = [float(np.mean(row.argmax(1) == final["test_y"])) for row in final["test_log_p"]]
    whole = {"temperature": t, **found, "test_accuracy_of_seeds": accuracy}
    if "attention_score" in final:
        whole["attention_score"] = float(np.nan_to_num(final["attention_score"]).mean())
    return whole


def _keep_gallery(run: Run, fitted: Fitted, work: _Work) -> None:
    test: Tensor = work.split.test
    shown = pick_gallery_bags(fitted, work.collection.take(test), work.parts["test"])
    save_gallery(run.path / "gallery.npz", shown)


def _sizes(work: _Work) -> dict[str, Any]:
    bag = work.collection.bag
    counts = {
        part: {
            name: int((work.parts[part].y == c).sum())
            for c, name in enumerate(work.preparation.classes)
        }
        for part in PARTS
    }
    lengths = [bag.m] if bag.mask is None else bag.mask.sum(1).tolist()
    return {
        "bags": len(bag),
        "segments": int(sum(lengths)) if bag.mask is not None else len(bag) * bag.m,
        "shortest": min(lengths),
        "longest": max(lengths),
        "segment": list(work.preparation.width),
        "groups": None if bag.group is None else int(bag.group.unique().numel()),
        "split": work.split.how,
        "parts": {part: len(work.parts[part]) for part in PARTS},
        "bags of class": counts,
        "classes": list(work.preparation.classes),
    }
