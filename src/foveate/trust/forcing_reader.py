"""Read one model of another library with attention that is given.

A model may take ``alpha`` itself; else the torch call that computes its attention is found once,
and its result replaced. That the model's own attention gives its own answer, and another attention
another one, is checked before anything is read.
"""

import inspect
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from foveate.attention.maps import uniform
from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.trust.attention_search import attention_call, averaged_call
from foveate.trust.calling import call_model, tensors_in
from foveate.trust.forcing import AttentionCall, Forced
from foveate.trust.model_reader import (
    CHECKED_BAGS,
    NEAR,
    ModelReader,
    ReaderOptions,
    in_parts,
    mask_of,
)
from foveate.trust.weights import check_sums_to_one, normalised
from foveate.types import Array

__all__ = ["ForcingReader"]


class ForcingReader(ModelReader):
    """One model, and how its attention is set.

    Args:
        model: A module or a function.
        bag: Some bags that it reads.
        options: What is known of it.

    Attributes:
        takes_alpha: Whether the model takes attention as an argument.
        attention_call: The torch call that computes attention; None if it was not found.
        can_force: Whether attention can be set.
    """

    def __init__(self, model: Any, bag: Bag, options: ReaderOptions) -> None:
        super().__init__(model, bag, options)
        forward = model.forward if isinstance(model, nn.Module) else model
        self.takes_alpha = "alpha" in inspect.signature(forward).parameters
        few = bag.take(slice(0, CHECKED_BAGS))
        x, mask = self.segments(few), mask_of(few)
        self.attention_call = None if self.takes_alpha else self._find_attention_call(x, mask)
        self.can_force = self._forcing_works(x, mask)

    def read_bags(self, bag: Bag) -> tuple[Array, ...]:
        """Scores, attention, answers, answers with uniform attention, and of single segments."""
        x, mask = self.segments(bag), mask_of(bag)
        p, s, alpha = self.read(x, mask)
        rows = x[mask].unsqueeze(1)
        alone, _, _ = self.read(rows, torch.ones(rows.shape[:2], dtype=torch.bool))
        segment_p = np.full((*bag.shape, p.shape[-1]), 1 / p.shape[-1])
        segment_p[mask.numpy()] = alone.numpy()
        even = self.forced(x, mask, uniform(s, mask))
        none = np.full(tuple(p.shape), np.nan)
        return (
            s.numpy(),
            alpha.numpy(),
            p.numpy(),
            none if even is None else even.numpy(),
            segment_p,
        )

    def forced(self, x: Tensor, mask: Tensor, alpha: Tensor) -> Tensor | None:
        """Probabilities with given attention, shape (n, C); None where it cannot be set."""
        return self._forced(x, mask, alpha) if self.can_force else None

    def notes(self) -> list[str]:
        notes = super().notes()
        if self.attention_call is not None and self.attention_call.averaged:
            notes.append(
                f"The model averages {self.attention_call.branches:,} attentions a bag and returns "
                "their mean; where attention is set, it is set in all of them."
            )
        if not self.can_force:
            notes.append(
                "Attention could not be set from outside: segments are read as bags of one, and "
                "the answer under uniform attention is not known."
            )
        return notes

    @torch.no_grad()
    def _forced(self, x: Tensor, mask: Tensor, alpha: Tensor) -> Tensor:
        check_sums_to_one(alpha, mask)
        parts = []
        for rows, exists, attention in in_parts(x, mask, alpha):
            with self.seeded():
                parts.append(self._forced_part(rows, exists, attention))
        return self.as_probabilities(torch.cat(parts))

    def _forced_part(self, x: Tensor, mask: Tensor, alpha: Tensor) -> Tensor:
        dtype = x.dtype if x.is_floating_point() else torch.float32
        if self.takes_alpha:
            outputs = tensors_in(call_model(self.model, x, mask, alpha=alpha.to(dtype)))
            return self.call.answers(outputs, len(x)).double()
        if self.attention_call is None:
            raise _NotForced
        answers = []
        for rows, exists, attention in self.call.pieces(x, mask, alpha.to(dtype)):
            with Forced(self.attention_call, attention) as mode:
                answers.append(self.call.run(rows, exists)[0].double())
            if not mode.done:
                raise _NotForced
        return torch.cat(answers)

    @torch.no_grad()
    def _find_attention_call(self, x: Tensor, mask: Tensor) -> AttentionCall | None:
        if self.call.attention is None:
            return AttentionCall(None)
        if (
            self.is_row or self.rest
        ):  # a part of a larger attention, which has no place to be set alone
            return None
        rows, exists, _ = next(self.call.pieces(x, mask, mask.to(x.dtype)))

        def run() -> Tensor:
            with self.seeded():
                return self.call.run(rows, exists)[1].double()

        attention = run()
        weights = normalised(attention, exists, self.weights)
        last = self.call.axis == -1
        index = attention_call(run, weights if last else weights.movedim(-1, 1))
        if index is not None:
            return AttentionCall(index, self.branches, branches_last=not last)
        if self.branches > 1:
            return None
        return averaged_call(run, attention[:, 0], exists, scores=not self.weights)

    def _forcing_works(self, x: Tensor, mask: Tensor) -> bool:
        """Whether given attention is used: the model's own gives its answer, another changes it."""
        p, _, alpha = self.read(x, mask)
        ends = alpha.masked_fill(~mask, torch.inf).argmin(1), alpha.masked_fill(~mask, -1).argmax(1)
        least, most = (torch.nn.functional.one_hot(end, mask.shape[1]) for end in ends)
        try:
            low, high = (self._forced(x, mask, part.double()) for part in (least, most))
            same = self._forced(x, mask, alpha) if self._is_exact() else p
        except _NotForced:
            return False
        changes = bool((low - high).abs().max() > 1e-9)
        if not self.takes_alpha:
            return changes and bool((same - p).abs().max() <= NEAR)
        alone = [self.read(x, mask & part.bool())[0] for part in (least, most)]
        if not changes and bool((alone[0] - alone[1]).abs().max() > NEAR):
            raise FoveateError(
                "the answer does not change with a given alpha, though it does with the "
                "segments: model(x, mask, alpha) must use alpha in place of its attention"
            )
        return changes

    def _is_exact(self) -> bool:
        """Whether the attention that is read is all that the model uses, not a mean of several."""
        several = self.attention_call is not None and self.attention_call.several
        return self.branches == 1 and not several


class _NotForced(Exception):
    """Attention was not replaced in a call."""
