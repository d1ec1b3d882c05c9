"""A fitted run, from its safetensors and its manifest alone."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from foveate.attention.paradigms import Paradigm
from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.io.collection import Collection
from foveate.metrics.calibration import calibrated
from foveate.models.focus import AttentionModel
from foveate.models.nets import pair
from foveate.records.checkpoint import load_checkpoint
from foveate.records.record import Array
from foveate.records.runs import Run, open_run
from foveate.text.models.word_nets import words
from foveate.training.stack import Stack
from foveate.trust.explanation import Explained, explain
from foveate.types import PartProgress
from foveate.userdata.estimator import focus_model, inference
from foveate.userdata.prepare import Preparation
from foveate.userdata.settings import FitSettings

__all__ = ["PREPARATION", "WEIGHTS", "Fitted", "build_model", "load_fitted", "open_fitted"]

PREPARATION = "preparation.safetensors"
WEIGHTS = "weights.safetensors"
CIFAR = (3, 32, 32)  # tiles that the networks of the papers read


@dataclass(frozen=True)
class Fitted:
    """Models of one paradigm of a fit, one per seed.

    Args:
        run: The run they come from.
        name: The paradigm's name.
        stack: The models.
        preparation: What turns a user's collection into the bags they read.
        temperature: Under which probabilities are calibrated on the validation bags.
    """

    run: Run
    name: str
    stack: Stack
    preparation: Preparation
    temperature: float

    @cached_property
    def models(self) -> list[AttentionModel]:
        """One model per seed."""
        return [self.stack.member(i) for i in range(len(self.stack))]

    @property
    def paradigm(self) -> Paradigm:
        """Whose inference the models are read by."""
        return inference(self.name)

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.preparation.classes

    def bags(self, collection: Collection, report: PartProgress | None = None) -> Bag:
        """The bags as the models read them, prepared exactly as in training.

        A null segment, where there is one, stands at place 0 of every bag.
        """
        return self.preparation.apply(collection, report)

    def explain(
        self, bag: Bag, report: PartProgress | None = None, *, with_evidence: bool = True
    ) -> Explained:
        """What the models make of prepared bags."""
        tell = None if report is None else lambda done, total: report("reading", done, total)
        rule = self.paradigm
        return explain(self.stack, bag, rule, with_evidence=with_evidence, report=tell)

    def probabilities(self, explained: Explained) -> Array:
        """Calibrated probabilities of the classes, mean over seeds, shape (n, C)."""
        return calibrated(explained.p, self.temperature)


def build_model(preparation: Preparation, settings: FitSettings) -> AttentionModel:
    """An untrained model for prepared bags."""
    classes, shape = len(preparation.classes), preparation.width
    if preparation.vocabulary is not None:
        if settings.net not in (None, "words"):
            raise FoveateError(f"texts are read by the net 'words', got '{settings.net}'")
        nets = words(len(preparation.vocabulary), classes, last=settings.layer == "last")
        return focus_model(nets, settings.map)  # the null segment is a word of its own
    usual = "vr23" if shape == CIFAR else "mlp"
    nets = pair(settings.net or usual, shape, classes, settings.layer)
    return focus_model(nets, settings.map, shape if preparation.null else None)


def load_fitted(run: Path | str, paradigm: str | None = None) -> Fitted:
    """The models of a finished fit.

    Args:
        run: The run directory, or its name under runs/.
        paradigm: Which of its paradigms; the one chosen on validation bags unless given.
    """
    opened = open_run(run)
    opened.must_be("fit")
    if not opened.done:
        raise FoveateError(f"{opened.path} is not finished: 'foveate resume' goes on with it")
    return open_fitted(opened, paradigm)


def open_fitted(run: Run, paradigm: str | None = None) -> Fitted:
    """The models of a fit whose scores are known.

    Args:
        run: The run; its manifest has scores and choice.
        paradigm: Which of its paradigms; the one chosen on validation bags unless given.
    """
    manifest = run.manifest
    name = paradigm or manifest["chosen"]
    if name not in manifest["scores"]:
        known = ", ".join(manifest["scores"])
        raise FoveateError(f"{run.path} has no paradigm '{name}'; it has {known}")
    preparation = Preparation.load(run.path / PREPARATION)
    settings = FitSettings(**manifest["config"])
    stack = Stack(lambda: build_model(preparation, settings), manifest["seeds"])
    tensors, _ = load_checkpoint(run.path / name / WEIGHTS)
    stack.load(tensors)
    return Fitted(run, name, stack, preparation, manifest["scores"][name]["temperature"])
