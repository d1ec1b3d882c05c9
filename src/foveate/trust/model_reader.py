"""Read one model of another library: answers and attention of bags, with any segments hidden."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.training.evaluation import ELEMENTS
from foveate.trust.attention_search import by_sigmoid
from foveate.trust.calling import Adjacency
from foveate.trust.recognition import how_to_call
from foveate.trust.self_attention import is_self_attention_row, positive_part
from foveate.trust.weights import (
    AttentionOutput,
    OutputKind,
    are_weights,
    check_finite,
    missing_weight,
    normalised,
    one_attention,
)

__all__ = ["NEAR", "ModelReader", "ReaderOptions", "in_parts", "mask_of"]

NEAR = 1e-4  # of answers that are equal
CHECKED_BAGS = 8  # bags on which outputs are checked before all are read


class ReaderOptions(NamedTuple):
    """How to read the outputs (None: recognised), and further inputs of the model."""

    attention: AttentionOutput | None = None
    outputs: OutputKind | None = None
    adjacency: Adjacency | None = None
    places: Adjacency | None = None
    classes: int | None = None
    seed: int | None = None


class ModelReader:
    """One model: how it is called, and what its outputs are.

    Args:
        model: A module or a function, see :mod:`foveate.trust.external`.
        bag: Some bags that it reads.
        options: What is known of it.

    Attributes:
        call: How it is called.
        classes: How many classes it answers for.
        weights: Whether it returns attention after normalisation.
        is_row: Whether its attention is a row of a larger self-attention.
        rest: The mean weight that is not on segments, where it was recognised by that.
        branches: Attentions that it returns for a bag.
        probabilities: Whether its answers are probabilities.
    """

    def __init__(self, model: Any, bag: Bag, options: ReaderOptions) -> None:
        _check_model(model)
        self.model, self.seed = model, options.seed
        few = bag.take(slice(0, CHECKED_BAGS))
        x, mask = self.segments(few), mask_of(few)
        with self.seeded():
            self.call = how_to_call(
                model, x[mask].unsqueeze(1), options.adjacency, options.places, options.classes
            )
        self._check_deterministic(x, mask)
        answers, attention = self._raw(self.segments(bag), mask_of(bag))
        check_finite(answers, attention, mask_of(bag))
        self.classes, self.branches = max(2, answers.shape[1]), attention.shape[1]
        self.is_row = options.attention is None and self._is_row(x, mask)
        self.weights = self.is_row or are_weights(attention, mask_of(bag), options.attention)
        self.rest = 0.0
        if options.attention is None and not self.weights:
            self.rest = missing_weight(attention, mask_of(bag))
            self.weights = self.rest > 0
        self.probabilities = self._gives_probabilities(answers, x, mask, options.outputs)

    def segments(self, bag: Bag) -> Tensor:
        """Segments in the number type of the model, shape (n, m, …); word ids stay integers."""
        x = bag.dense()
        if not x.is_floating_point() or not isinstance(self.model, nn.Module):
            return x
        return x.to(next((p.dtype for p in self.model.parameters()), torch.float32))

    def read(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Probabilities (n, C), scores (n, m) and attention (n, m)."""
        answers, attention = self._raw(x, mask)
        p = self.as_probabilities(answers)
        weights = normalised(attention, mask, self.weights)
        if self.is_row or self.rest:
            weights = positive_part(weights, mask)
        s = torch.where(mask, attention[:, 0], 0.0)
        if attention.shape[1] == 1 and not self.weights and bool(s.isfinite().all()):
            return p, s, weights[:, 0]
        alpha = one_attention(weights, p)
        tiny = torch.finfo(alpha.dtype).tiny
        return p, torch.where(mask, alpha.clamp_min(tiny).log(), 0.0), alpha

    def notes(self) -> list[str]:
        """What was recognised, a sentence each."""
        what = (
            "Attention is returned as weights that sum to one in every bag."
            if self.weights
            else "Attention is returned as scores, before normalisation; the softmax of them is "
            "read."
        )
        if self.is_row:
            what = (
                "Attention is one row of a self-attention, mean over its heads; weights of "
                "segments are divided by their sum, and negative ones, as approximations have, "
                "are taken as zero."
            )
        elif self.rest:
            what = (
                f"Attention is returned as weights that sum to {1 - self.rest:.2f} on average; the "
                "rest is taken to lie on a class token, and weights are divided by their sum "
                "(attention='scores' reads them as scores)."
            )
        notes = [what]
        for flag in self.call.arguments:
            if "att" not in flag and "weights" not in flag:
                notes.append(f"The model has no attention; what {flag}=True returns is read.")
        if self.call.attention is None:
            notes = ["Attention is that of nn.MultiheadAttention, the mean over its heads."]
        elif self.branches > 1:
            per_class = self.branches == self.classes
            which = "that of the predicted class" if per_class else "the mean over them"
            notes.append(f"There are {self.branches} attentions a bag; {which} is read.")
        if self.call.others and self.call.attention is not None:
            listed = " and ".join(str(i + 1) for i in (self.call.attention, *self.call.others))
            notes.append(
                f"Outputs {listed} could be attention; the first of them is read: return the other "
                "one alone, or a dict with 'attention', if that is wrong."
            )
        if self.probabilities:
            notes.append("Answers are probabilities.")
        return notes

    def as_probabilities(self, answers: Tensor) -> Tensor:
        """From one number a bag, of class 1 against class 0, or one a class."""
        if answers.shape[1] == 1:
            p = answers if self.probabilities else answers.sigmoid()
            return torch.cat([1 - p, p], 1)
        return answers if self.probabilities else answers.softmax(1)

    @contextmanager
    def seeded(self) -> Iterator[None]:
        """Set the generators that a model may draw from, and restore them afterwards."""
        if self.seed is None:
            yield
            return
        of_numpy, of_python = np.random.get_state(), random.getstate()  # noqa: NPY002
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            np.random.seed(self.seed % 2**32)  # noqa: NPY002
            random.seed(self.seed)
            try:
                yield
            finally:
                np.random.set_state(of_numpy)  # noqa: NPY002
                random.setstate(of_python)

    @torch.no_grad()
    def _raw(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Answers (n, C or 1) and attention (n, K, m), a bounded number of bags at a time."""
        parts = []
        for rows, exists in in_parts(x, mask):
            with self.seeded():
                answers, attention = self.call.run(rows, exists)
            parts.append((answers.detach().double(), attention.detach().double()))
        return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])

    def _gives_probabilities(
        self, answers: Tensor, x: Tensor, mask: Tensor, declared: OutputKind | None
    ) -> bool:
        """Whether answers are probabilities: rows that sum to one, or numbers from a sigmoid."""
        inside = bool((answers >= 0).all()) and bool((answers <= 1).all())
        several = answers.shape[1] > 1
        sums = not several or bool(((answers.sum(1) - 1).abs() < 1e-3).all())
        if declared == "probabilities" and not (inside and sums):
            raise FoveateError("answers must be probabilities that sum to one, but some are not")
        if declared is not None or several or not inside:
            return declared == "probabilities" or (declared is None and several and inside and sums)
        rows, exists, _ = next(self.call.pieces(x, mask, mask.to(x.dtype)))
        with torch.no_grad(), self.seeded():
            logits = self.call.run(rows, exists)[0]
        with torch.no_grad(), self.seeded():
            return by_sigmoid(lambda: self.call.run(rows, exists), logits)

    def _is_row(self, x: Tensor, mask: Tensor) -> bool:
        """Whether attention is a row of a larger self-attention, from one bag of several."""
        if self.call.attention is None or not bool((mask.sum(1) > 1).any()):
            return False
        i = int((mask.sum(1) > 1).nonzero()[0])
        rows = x[i : i + 1, mask[i]]
        exists = torch.ones(rows.shape[:2], dtype=torch.bool)
        attention = self._raw(rows, exists)[1]

        def run() -> None:
            with self.seeded():
                self.call.run(rows, exists)

        one = attention.shape[1] == 1
        with torch.no_grad():
            return one and is_self_attention_row(run, attention[:, 0])

    def _check_deterministic(self, x: Tensor, mask: Tensor) -> None:
        first, second = (self._raw(x, mask)[0] for _ in range(2))
        gap = float((first - second).abs().nan_to_num().max())
        if gap > NEAR * (1 + float(first.abs().nan_to_num().max())):
            raise FoveateError(
                f"{type(self.model).__name__} is not deterministic: answers for the same bags "
                f"differ by {gap:.2g}; give seed= to set the random generators before every call"
            )


def _check_model(model: Any) -> None:
    if not callable(model):
        raise FoveateError(f"a model must be callable, got {type(model).__name__}")
    if isinstance(model, nn.Module) and any(part.training for part in model.modules()):
        raise FoveateError(
            f"{type(model).__name__} is in training mode, in which answers may be random: call "
            "model.eval() before it is examined"
        )


def mask_of(bag: Bag) -> Tensor:
    """True where a segment exists, shape (n, m)."""
    return torch.ones(bag.shape, dtype=torch.bool) if bag.mask is None else bag.mask


def in_parts(x: Tensor, mask: Tensor, *others: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """A bounded number of bags at a time, with zeros outside the mask: not all models heed it."""
    x = x.masked_fill(~mask.reshape(*mask.shape, *(1,) * (x.dim() - 2)), 0)
    at_once = max(1, ELEMENTS // max(1, prod(x.shape[1:])))
    return zip(*(part.split(at_once) for part in (x, mask, *others)), strict=True)
