"""Models of torchmil, or any module that reads bags its way, as something that can be examined.

Such a model is called as ``model(X, mask=…, return_att=True)`` and gives logits (B,) or (B, C) and
attention before its softmax (B, m). Nothing of torchmil is imported.
"""

import inspect
from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
import torch
from torch import Tensor, nn

from foveate.attention.maps import softmax
from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.training.evaluation import ELEMENTS
from foveate.trust.subject import Reading, Subject
from foveate.types import Array

__all__ = ["TorchMIL"]


class TorchMIL(Subject):
    """Trained torchmil models, one per seed, read as they are.

    Every segment by itself is read as a bag of one, which is what such a model has in place of a
    classifier of segments. Its attention cannot be made uniform from outside, so that control is
    nan.

    Args:
        models: Modules with ``forward(X, mask, return_att)``, such as ``torchmil.models.ABMIL``.
    """

    def __init__(self, models: nn.Module | Sequence[nn.Module]) -> None:
        self.models = [models] if isinstance(models, nn.Module) else list(models)
        if not self.models:
            raise FoveateError("at least one model is needed, got none")
        for model in self.models:
            takes = inspect.signature(model.forward).parameters
            if missing := [name for name in ("X", "mask", "return_att") if name not in takes]:
                raise FoveateError(
                    f"a model must take X, mask and return_att, but {type(model).__name__} does "
                    f"not take {missing[0]}"
                )
            model.eval()
        self.size = len(self.models)

    def look(self, bags: Sequence[Bag]) -> Reading:
        seen = [self._look(model, bag) for model, bag in self._pairs(bags)]
        s, alpha, p, each = (np.stack(part) for part in zip(*seen, strict=True))
        return Reading(s, alpha, p, p, np.full(p.shape, np.nan), each)

    @torch.no_grad()
    def reread(self, bags: Sequence[Bag], keep: Array) -> Array:
        read = []
        for (model, bag), shown in zip(self._pairs(bags), torch.from_numpy(keep), strict=True):
            x = _floats(bag, model)
            masks = shown if bag.mask is None else shown & bag.mask
            read.append(np.stack([_in_parts(model, x, mask)[0] for mask in masks]))
        return np.stack(read)

    def _pairs(self, bags: Sequence[Bag]) -> Iterator[tuple[nn.Module, Bag]]:
        return zip(self.models, bags if len(bags) > 1 else [bags[0]] * self.size, strict=True)

    @torch.no_grad()
    def _look(self, model: nn.Module, bag: Bag) -> tuple[Array, ...]:
        x = _floats(bag, model)
        there = torch.ones(bag.shape, dtype=torch.bool) if bag.mask is None else bag.mask
        p, s = _in_parts(model, x, there)
        alpha = softmax(torch.from_numpy(s), there).numpy()
        rows = x[there].unsqueeze(1)
        alone, _ = _in_parts(model, rows, torch.ones(rows.shape[:2], dtype=torch.bool))
        each = np.full((*bag.shape, p.shape[-1]), 1 / p.shape[-1])
        each[there.numpy()] = alone
        return s, alpha, p, each


def _floats(bag: Bag, model: nn.Module) -> Tensor:
    """Segments in the number type of a model, shape (n, m, …)."""
    dtype = next((p.dtype for p in model.parameters()), torch.float32)
    return bag.dense().to(dtype)


def _in_parts(model: nn.Module, x: Tensor, mask: Tensor) -> tuple[Array, Array]:
    """Probabilities (n, C) and attention scores (n, m), a bounded number of bags at a time."""
    at_once = max(1, ELEMENTS // max(1, prod(x.shape[1:])))
    parts = []
    for rows, there in zip(x.split(at_once), mask.split(at_once), strict=True):
        logits, s = model(rows, mask=there, return_att=True)
        parts.append((_probabilities(logits, len(rows)), s.double().reshape(there.shape)))
    p, s = (torch.cat(part).numpy() for part in zip(*parts, strict=True))
    return p, np.where(mask.numpy(), s, 0.0)


def _probabilities(logits: Tensor, n: int) -> Tensor:
    """From one logit a bag, of class 1 against class 0, or one a class."""
    logits = logits.double().reshape(n, -1)
    if logits.shape[1] > 1:
        return logits.softmax(1)
    return torch.cat([-logits, logits], 1).sigmoid()
