"""The ensemble of a cross-fitted run: models of all folds, mixed by their out-of-fold weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.metrics.calibration import calibrated
from foveate.records.record import load_checkpoint
from foveate.records.runs import Run, open_run
from foveate.trust.explanation import Explained
from foveate.trust.segment_maps import probabilities_of
from foveate.types import Array, PartProgress
from foveate.userdata.baselines import BASELINES, LINEAR
from foveate.userdata.boosted_trees import TREES, BoostedTrees
from foveate.userdata.fitted import (
    WEIGHTS,
    Component,
    Fitted,
    FittedModel,
    open_fitted,
    read_fitted,
    score_entry,
)
from foveate.userdata.folds import load_folds
from foveate.userdata.linear_models import PooledLinear
from foveate.userdata.mixture import mix, unmapped_note
from foveate.userdata.pooled_segments import pooled, segment_features
from foveate.userdata.prepare import Preparation
from foveate.userdata.settings import FitSettings

__all__ = ["BASELINE_PART", "MIXTURE", "Ensemble", "load_fitted", "open_ensemble", "part_name"]

BASELINE_PART = "baselines"
MIXTURE = "mixture"


def part_name(paradigm: str, repeat: int, fold: int) -> str:
    """The name of the part that trains a paradigm without a fold.

    Example:
        >>> part_name("soft", 0, 2), part_name("soft", 1, 0)
        ('soft-fold3', 'soft-repeat2-fold1')
    """
    again = f"-repeat{repeat + 1}" if repeat else ""
    return f"{paradigm}{again}-fold{fold + 1}"


@dataclass(frozen=True)
class Ensemble(FittedModel):
    """Attention models, a linear model of pooled segments and boosted trees, mixed.

    Args:
        run: The run they come from.
        name: "mixture".
        members: Models of each paradigm, with their own temperatures.
        weights: Weights of the paradigms, then of the linear models, then of the trees if any.
        linear: The linear models of P folds, one entry for each way to pool.
        linear_temperatures: At which their probabilities are calibrated.
        trees: Boosted trees of P folds; None if the mixture has none.
        trees_temperature: At which their probabilities are calibrated.
        preparation: What turns a user's collection into the bags they read.
        temperature: At which the mixture is calibrated.
    """

    run: Run
    name: str
    members: tuple[Fitted, ...]
    weights: Array
    linear: tuple[PooledLinear, ...]
    linear_temperatures: tuple[float, ...]
    trees: BoostedTrees | None
    trees_temperature: float
    preparation: Preparation
    temperature: float

    @property
    def components(self) -> list[Component]:
        parts = [
            Component(float(weight), member.temperature, member.models, member.paradigm)
            for weight, member in zip(self.weights, self.members, strict=False)
        ]
        parts += [
            Component(float(weight), t, [], linear=linear)
            for weight, t, linear in zip(
                self.weights[len(parts) :], self.linear_temperatures, self.linear, strict=False
            )
        ]
        if self.trees is not None:
            weight, t = float(self.weights[-1]), self.trees_temperature
            parts.append(Component(weight, t, [], trees=self.trees))
        return parts

    @property
    def note(self) -> str:
        return unmapped_note(self.run.manifest["weights"])

    @property
    def mapped(self) -> Array:
        """Weights of the parts that have a map, all but the trees, as shares that sum to 1."""
        weights = self.weights[: len(self.members) + len(self.linear)]
        shares: Array = weights / weights.sum()
        return shares

    def explain(
        self, bag: Bag, report: PartProgress | None = None, *, with_evidence: bool = True
    ) -> Explained:
        """The mixture; its attention is that of the attention models, by their weights.

        Evidence in the bag is the weighted mean over the parts that have a map, which the trees
        have not; under a linear model it is a segment's share of the logit of the pooled segments.
        What a segment says alone is the logit of the mixture of these parts.
        """
        parts = [m.explain(bag, report, with_evidence=with_evidence) for m in self.members]
        p = [m.probabilities(part) for m, part in zip(self.members, parts, strict=True)]
        pooled_p = self._pooled_probabilities(bag)
        p += [calibrated(probabilities.mean(0), t) for probabilities, t in pooled_p]
        mixed = np.einsum("k,knc->nc", self.weights, np.stack(p))
        single = self._single_members(parts, pooled_p)
        shares = self.weights[: len(parts)] / self.weights[: len(parts)].sum()
        alpha = [
            sum(w * part.alpha[i] for w, part in zip(shares, parts, strict=True))
            for i in range(len(bag))
        ]
        log_p = np.log(np.maximum(mixed, 1e-300))[None]
        if not with_evidence:
            return Explained(log_p, alpha, [], members=single)
        pairs = [self._bag_evidence(bag, row, parts) for row in range(len(bag))]
        evidence, alone = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        return Explained(log_p, alpha, evidence, alone, single)

    def _single_members(
        self, parts: Sequence[Explained], pooled_p: Sequence[tuple[Array, float]]
    ) -> Array:
        """Log-probabilities of mixtures of one member per part each, shape (M, n, C).

        Member k of every paradigm is of the same fold, and so are its linear model and its trees.
        """
        size, folds = len(parts[0].log_p), len(pooled_p[0][0])
        of_fold = np.repeat(np.arange(folds), size // folds)
        rows = []
        for k in range(size):
            values = [
                m.member_probabilities(part)[k] for m, part in zip(self.members, parts, strict=True)
            ]
            values += [calibrated(p[of_fold[k]], t) for p, t in pooled_p]
            rows.append(np.einsum("k,knc->nc", self.weights, np.stack(values)))
        return np.log(np.maximum(np.stack(rows), 1e-300))

    def _bag_evidence(self, bag: Bag, row: int, parts: Sequence[Explained]) -> tuple[Array, Array]:
        """Evidence of the segments of one bag, and their centred logits alone, each (m, C)."""
        null = int(self.preparation.null)
        rows = torch.from_numpy(segment_features(bag, row, self.preparation))
        evidence = [part.evidence[row] for part in parts]
        p = [
            calibrated(probabilities_of(part.alone[row]), member.temperature)
            for part, member in zip(parts, self.members, strict=True)
        ]
        for linear, t in zip(self.linear, self.linear_temperatures, strict=True):
            share, single = linear.evidence(rows).numpy(), linear.alone(rows).numpy()
            evidence.append(np.pad(share, ((null, 0), (0, 0))))
            uniform = np.full((null, single.shape[1]), 1 / single.shape[1])
            p.append(calibrated(np.concatenate([uniform, single]), t))
        mixed = sum(w * part for w, part in zip(self.mapped, evidence, strict=True))
        log_p = np.log(np.maximum(mix(self.mapped, np.stack(p)), 1e-300))
        return mixed, log_p - log_p.mean(1, keepdims=True)

    def _pooled_probabilities(self, bag: Bag) -> list[tuple[Array, float]]:
        """Probabilities (P, n, C) of the linear models and of the trees, and their temperatures."""
        parts: list[tuple[Array, float]] = []
        for linear, t in zip(self.linear, self.linear_temperatures, strict=True):
            x = pooled(bag, self.preparation, linear.kinds)
            parts.append((linear.probabilities(torch.from_numpy(x)).numpy(), t))
        if self.trees is not None:
            x = pooled(bag, self.preparation, BASELINES[TREES])
            parts.append((self.trees.probabilities(x), self.trees_temperature))
        return parts


def load_fitted(run: Path | str, paradigm: str | None = None) -> FittedModel:
    """The models of a finished fit.

    Args:
        run: The run directory, or its name under runs/.
        paradigm: Which of its paradigms; the run's choice unless given.
    """
    opened = open_run(run)
    opened.must_be("fit")
    if not opened.done:
        raise FoveateError(f"{opened.path} is not finished: 'foveate resume' continues it")
    folds = FitSettings.from_manifest(opened.manifest["config"]).folds
    return open_fitted(opened, paradigm) if folds == 1 else open_ensemble(opened, paradigm)


def open_ensemble(
    run: Run, name: str | None = None, folds: Sequence[tuple[int, int]] | None = None
) -> FittedModel:
    """The mixture of a cross-fitted run, or one of its paradigms.

    Args:
        run: The run; its manifest has scores and weights.
        name: A paradigm; the mixture unless given.
        folds: Pairs of repeat and fold whose models are used; all unless given.
    """
    chosen = name or run.manifest["chosen"]
    entry = score_entry(run, chosen)
    if entry["kind"] == "baseline":
        raise FoveateError(
            f"'{chosen}' is a baseline, for comparison only: choose a paradigm, or the mixture"
        )
    stored = load_folds(run.path)
    if stored is None:
        raise FoveateError(f"{run.path} has no file of folds")
    pairs = list(folds or stored.parts)
    if chosen != MIXTURE:
        return _paradigm(run, chosen, pairs)
    weights = run.manifest["weights"]
    names = [part for part in weights if part not in BASELINES]
    members = tuple(_paradigm(run, part, pairs) for part in names)
    tensors, _ = load_checkpoint(run.path / BASELINE_PART / WEIGHTS)
    used = [stored.parts.index(pair) for pair in pairs]
    trees = BoostedTrees.of_tensors(tensors) if TREES in weights else None
    return Ensemble(
        run,
        MIXTURE,
        members,
        np.array([weights[part] for part in (*names, *LINEAR, TREES) if part in weights]),
        tuple(PooledLinear.of_tensors(tensors, k, BASELINES[k], used) for k in LINEAR),
        tuple(score_entry(run, k)["temperature"] for k in LINEAR),
        None if trees is None else trees.of_folds(used),
        1.0 if trees is None else score_entry(run, TREES)["temperature"],
        members[0].preparation,
        entry["temperature"],
    )


def _paradigm(run: Run, name: str, pairs: Sequence[tuple[int, int]]) -> Fitted:
    files = [run.path / part_name(name, r, k) / WEIGHTS for r, k in pairs]
    entry = score_entry(run, name)
    return read_fitted(run, name, files, run.manifest["seeds"], entry["temperature"])
