"""A fitted run, loaded from its safetensors and its manifest."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from foveate.attention.paradigms import Paradigm
from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.io.collection import Collection
from foveate.metrics.calibration import calibrated
from foveate.models.focus import AttentionModel
from foveate.models.nets import pair
from foveate.records.record import Array, load_checkpoint
from foveate.records.runs import Run
from foveate.text.models.word_nets import words
from foveate.training.stack import Stack
from foveate.trust.explanation import Explained, explain
from foveate.types import PartProgress
from foveate.userdata.abstention import prediction_sets
from foveate.userdata.boosted_trees import BoostedTrees
from foveate.userdata.linear_models import PooledLinear
from foveate.userdata.prepare import Preparation
from foveate.userdata.settings import FitSettings
from foveate.userdata.training_rules import absent_classes, focus_model, inference

__all__ = [
    "PREPARATION",
    "WEIGHTS",
    "Component",
    "Explainer",
    "Fitted",
    "FittedModel",
    "build_model",
    "open_fitted",
    "read_fitted",
    "score_entry",
]

PREPARATION = "preparation.safetensors"
WEIGHTS = "weights.safetensors"
CIFAR = (3, 32, 32)  # tiles that the networks of the papers read


class Explainer(Protocol):
    """What tables and pages of explanations need of a model."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""

    @property
    def null(self) -> bool:
        """Whether the first segment of every bag is a null segment."""

    def probabilities(self, explained: Explained) -> Array:
        """Probabilities of the classes, shape (n, C)."""

    def predicted(self, p: Array) -> Array:
        """The predicted class of each bag, shape (n,)."""


class FittedModel(ABC):
    """A predictor of new bags: models of one paradigm, or an ensemble of several.

    Attributes:
        run: The run it comes from.
        name: Its name in the run's scores.
        preparation: What turns a user's collection into the bags that it reads.
        temperature: At which its probabilities are calibrated.
    """

    run: Run
    name: str
    preparation: Preparation
    temperature: float

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.preparation.classes

    @property
    def null(self) -> bool:
        """Whether the first segment of every bag is a null segment."""
        return self.preparation.null

    @property
    def note(self) -> str:
        """How much of the answer has no map of segments; "" if all of it has one."""
        return ""

    def bags(self, collection: Collection, report: PartProgress | None = None) -> Bag:
        """The bags as the models read them, prepared exactly as in training.

        A null segment, where there is one, is the first segment of every bag.
        """
        return self.preparation.apply(collection, report)

    @abstractmethod
    def explain(
        self, bag: Bag, report: PartProgress | None = None, *, with_evidence: bool = True
    ) -> Explained:
        """Predictions, attention and evidence for prepared bags."""

    def probabilities(self, explained: Explained) -> Array:
        """Calibrated probabilities of the classes, mean over members, shape (n, C)."""
        return calibrated(explained.p, self.temperature)

    def member_probabilities(self, explained: Explained) -> Array:
        """Calibrated probabilities of single members, shape (M, n, C)."""
        logs = explained.log_p if explained.members is None else explained.members
        return np.stack(
            [calibrated(np.exp(row.astype(np.float64)), self.temperature) for row in logs]
        )

    def answered(self, p: Array) -> Array | None:
        """Prediction sets (n, C) of the abstention that the run chose; None if it has none.

        Args:
            p: Calibrated probabilities, shape (n, C).
        """
        entry = self.run.manifest.get("abstention")
        if entry is None or self.name != self.run.manifest["chosen"]:
            return None
        return prediction_sets(p, np.array(entry["quantiles"]))

    def predicted(self, p: Array) -> Array:
        """The predicted class of each bag, shape (n,), from calibrated probabilities (n, C).

        It is the most probable one, unless the run chose a threshold for its own choice of model.
        """
        threshold = self.run.manifest.get("threshold")
        if threshold is None or self.name != self.run.manifest["chosen"]:
            return p.argmax(1)
        called: Array = (p[:, 1] >= threshold["value"]).astype(np.int64)
        return called

    @property
    @abstractmethod
    def components(self) -> "list[Component]":
        """The parts of the mixture, for export."""


class Component(NamedTuple):
    """One part of a mixture: models of one paradigm, or classifiers of pooled segments.

    Args:
        weight: Its share of the probabilities.
        temperature: At which its probabilities are calibrated before they are mixed.
        models: Attention models; empty for classifiers of pooled segments.
        paradigm: Whose inference reads the models.
        linear: Linear models of pooled segments.
        trees: Boosted trees of the mean, maximum and minimum of the segments; they have no map.
    """

    weight: float
    temperature: float
    models: "list[AttentionModel]"
    paradigm: Paradigm | None = None
    linear: PooledLinear | None = None
    trees: BoostedTrees | None = None


@dataclass(frozen=True)
class Fitted(FittedModel):
    """Models of one paradigm of a fit, one per seed (and fold).

    Args:
        run: The run they come from.
        name: The paradigm's name.
        stack: The models.
        preparation: What turns a user's collection into the bags they read.
        temperature: At which probabilities are calibrated.
    """

    run: Run
    name: str
    stack: Stack
    preparation: Preparation
    temperature: float

    @cached_property
    def models(self) -> list[AttentionModel]:
        """One model per member."""
        return [self.stack.member(i) for i in range(len(self.stack))]

    @property
    def paradigm(self) -> Paradigm:
        """The paradigm whose inference reads the models."""
        names = self.run.manifest["config"].get("absent", ())  # none in runs of version 0.1
        return inference(self.name, absent_classes(names, self.classes))

    @property
    def components(self) -> list[Component]:
        return [Component(1.0, 1.0, self.models, self.paradigm)]

    def explain(
        self, bag: Bag, report: PartProgress | None = None, *, with_evidence: bool = True
    ) -> Explained:
        progress = None if report is None else lambda done, total: report("reading", done, total)
        rule = self.paradigm
        return explain(self.stack, bag, rule, with_evidence=with_evidence, report=progress)


def build_model(preparation: Preparation, settings: FitSettings, paradigm: str) -> AttentionModel:
    """An untrained model for prepared bags.

    Args:
        preparation: How the bags were prepared.
        settings: Networks, attention map and averaging layer.
        paradigm: What it is trained by.
    """
    classes, shape = len(preparation.classes), preparation.width
    map = settings.map if inference(paradigm).uses_attention else "uniform"
    if preparation.vocabulary is not None:
        if settings.net not in (None, "words"):
            raise FoveateError(f"texts are read by the net 'words', got '{settings.net}'")
        nets = words(len(preparation.vocabulary), classes, last=settings.layer == "last")
        return focus_model(nets, map, dropout=settings.dropout)  # the null segment is a word
    usual = "vr23" if shape == CIFAR else "mlp"
    nets = pair(settings.net or usual, shape, classes, settings.layer)
    return focus_model(nets, map, shape if preparation.null else None, settings.dropout)


def open_fitted(run: Run, paradigm: str | None = None) -> Fitted:
    """The models of one paradigm of a fit with one split.

    Args:
        run: The run; its manifest has scores and choice.
        paradigm: Which of its paradigms; the chosen one unless given.
    """
    name = paradigm or run.manifest["chosen"]
    entry = score_entry(run, name)
    seeds = run.manifest["seeds"]
    return read_fitted(run, name, [run.path / name / WEIGHTS], seeds, entry["temperature"])


def read_fitted(
    run: Run, name: str, files: Sequence[Path], seeds: Sequence[int], temperature: float
) -> Fitted:
    """Models of one paradigm from one or more files of weights.

    Args:
        run: The run.
        name: The paradigm.
        files: Files of weights, each with one member per seed.
        seeds: The seeds of one file.
        temperature: At which probabilities are calibrated.
    """
    preparation = Preparation.load(run.path / PREPARATION)
    settings = FitSettings.from_manifest(run.manifest["config"])
    loaded = [load_checkpoint(path)[0] for path in files]
    tensors = {key: torch.cat([part[key] for part in loaded]) for key in loaded[0]}
    members = range(len(seeds) * len(loaded))
    stack = Stack(lambda: build_model(preparation, settings, name), members)
    stack.load(tensors)
    return Fitted(run, name, stack, preparation, temperature)


def score_entry(run: Run, name: str) -> dict[str, Any]:
    """The entry of the manifest with the scores of a paradigm, or an error that lists all."""
    if name not in run.manifest["scores"]:
        known = ", ".join(run.manifest["scores"])
        raise FoveateError(f"{run.path} has no paradigm '{name}'; it has {known}")
    entry: dict[str, Any] = run.manifest["scores"][name]
    return entry
