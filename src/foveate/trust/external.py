"""Models of other libraries as something that can be examined.

The contract is one call: ``model(x, mask, alpha=None) -> (logits, scores)``. A given ``alpha``
(B, m) is the attention that the model must use; hidden segments are outside ``mask``. Plain modules
that return answers and attention are wrapped into it: see :mod:`foveate.trust.calling` for how
outputs are recognised and :mod:`foveate.trust.forcing` for how attention is set. Models whose
attention cannot be set are read on bags of one segment.
"""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from math import prod
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from foveate.attention.maps import softmax, uniform
from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.training.evaluation import ELEMENTS
from foveate.trust.calling import Adjacency, Call, how_to_call, tensors_in
from foveate.trust.forcing import Forced, attention_call, by_sigmoid
from foveate.trust.subject import Reading, Subject
from foveate.types import Array

__all__ = ["AttentionOutput", "BagModel", "External", "OutputKind"]

AttentionOutput = Literal["scores", "weights"]
OutputKind = Literal["logits", "probabilities"]
NEAR = 1e-4
MISTAKES = 0.5  # share of bags whose weights do not sum to one, below which they are mistakes
CHECKED_BAGS = 8  # bags on which outputs are checked before all are read


class BagModel(Protocol):
    """A model that reads bags, and whose attention can be set."""

    def __call__(self, x: Tensor, mask: Tensor, alpha: Tensor | None = None) -> Any:
        """Logits (B, C) or (B,) and attention before or after its softmax (B, m).

        Args:
            x: Segments, shape (B, m, …).
            mask: True where a segment exists, shape (B, m).
            alpha: Attention to use instead of the model's own, shape (B, m); rows sum to one.
        """


class _OutputOptions(NamedTuple):
    """How to read the outputs (None: recognised), and further inputs of the model."""

    attention: AttentionOutput | None
    outputs: OutputKind | None
    adjacency: Adjacency | None
    places: Adjacency | None
    classes: int | None


class External(Subject):
    """Models of any library, one per seed, that return answers and attention.

    Args:
        models: A model or several; see the module.
        bag: Some bags that they read, for recognising their outputs.
        adjacency: Links between segments, for models that take ``adj``.
        places: Places of segments (B, m, 2), for models that take ``coords``.
        attention: Whether attention is given before ("scores") or after normalisation ("weights");
            recognised unless given.
        outputs: Whether answers are logits or probabilities; recognised unless given.
        seed: Set before every call of a model that draws random numbers.
        classes: How many classes the bags have, for choosing between outputs.

    Example:
        >>> def model(x, mask, alpha=None):
        ...     s = x[..., 0].masked_fill(~mask, -torch.inf)
        ...     alpha = s.softmax(1) if alpha is None else alpha
        ...     return (alpha * x[..., 1]).sum(1), s
        >>> x = torch.tensor([[[0.0, 1.0], [0.0, 3.0]], [[0.0, -1.0], [9.0, -2.0]]])
        >>> subject = External(model, Bag(x, torch.tensor([1, 0])))
        >>> subject.look([Bag(x, torch.tensor([1, 0]))]).alpha[0, 0].tolist()
        [0.5, 0.5]
        >>> subject.notes[0]
        'Attention is returned as scores, before normalisation; the softmax of them is read.'
    """

    def __init__(
        self,
        models: Any,
        bag: Bag,
        *,
        adjacency: Adjacency | None = None,
        places: Adjacency | None = None,
        attention: AttentionOutput | None = None,
        outputs: OutputKind | None = None,
        seed: int | None = None,
        classes: int | None = None,
    ) -> None:
        several = list(models) if isinstance(models, list | tuple | nn.ModuleList) else [models]
        if not several:
            raise FoveateError("at least one model is needed, got none")
        options = _OutputOptions(attention, outputs, adjacency, places, classes)
        self.readers = [_Reader(model, bag, options, seed) for model in several]
        self.size = len(several)
        notes = [note for reader in self.readers for note in reader.notes()]
        self.notes = tuple(dict.fromkeys(notes))

    def look(self, bags: Sequence[Bag]) -> Reading:
        seen = [reader.look(bag) for reader, bag in self._pairs(bags)]
        s, alpha, p, even, each = (np.stack(part) for part in zip(*seen, strict=True))
        return Reading(s, alpha, p, p, even, each)

    def reread(self, bags: Sequence[Bag], keep: Array) -> Array:
        read = []
        for (reader, bag), visible in zip(self._pairs(bags), torch.from_numpy(keep), strict=True):
            x, there = reader.segments(bag), _there(bag)
            parts = [reader.read(x, mask & there)[0] for mask in visible]
            read.append(np.stack([part.numpy() for part in parts]))
        return np.stack(read)

    def forced(self, bag: Bag, place: Array) -> Array:
        """Class probabilities with all attention on one segment of each bag, shape (S, n, C)."""
        rows = torch.nn.functional.one_hot(torch.from_numpy(place), bag.m).double()
        read = []
        for reader in self.readers:
            x, there = reader.segments(bag), _there(bag)
            p = reader.forced(x, there, rows)
            read.append(np.full((len(bag), reader.classes), np.nan) if p is None else p.numpy())
        return np.stack(read)

    def _pairs(self, bags: Sequence[Bag]) -> Iterator[tuple["_Reader", Bag]]:
        return zip(self.readers, bags if len(bags) > 1 else [bags[0]] * self.size, strict=True)


class _Reader:
    """One model: how it is called, what its outputs are, and how its attention is set."""

    def __init__(self, model: Any, bag: Bag, options: _OutputOptions, seed: int | None) -> None:
        if not callable(model):
            raise FoveateError(f"a model must be callable, got {type(model).__name__}")
        if isinstance(model, nn.Module) and any(part.training for part in model.modules()):
            raise FoveateError(
                f"{type(model).__name__} is in training mode, in which answers may be random: call "
                "model.eval() before it is examined"
            )
        self.model, self.seed = model, seed
        few = bag.take(slice(0, CHECKED_BAGS))
        x, there = self.segments(few), _there(few)
        forward = model.forward if isinstance(model, nn.Module) else model
        self.own_forcing = "alpha" in inspect.signature(forward).parameters
        with self._seeded():
            rows = x[there].unsqueeze(1)
            self.call: Call = how_to_call(
                model, rows, options.adjacency, options.places, options.classes
            )
        self._must_repeat(x, there)
        answers, attention = self._raw(self.segments(bag), _there(bag))
        _must_be_numbers(answers, attention, _there(bag))
        self.classes = max(2, answers.shape[1])
        self.weights = _are_weights(attention, _there(bag), options.attention)
        self.rest = 0.0
        if options.attention is None and not self.weights:
            self.rest = _rest(attention, _there(bag))
            self.weights = self.rest > 0
        self.probabilities = self._gives_probabilities(answers, x, there, options.outputs)
        self.branches = attention.shape[1]
        self.attention_call_index = (
            None if self.own_forcing else self._attention_call_index(x, there)
        )
        self.can_force = self._forcing_works(x, there)

    def segments(self, bag: Bag) -> Tensor:
        """Segments in the number type of the model, shape (n, m, …); word ids stay integers."""
        x = bag.dense()
        if not x.is_floating_point() or not isinstance(self.model, nn.Module):
            return x
        return x.to(next((p.dtype for p in self.model.parameters()), torch.float32))

    def look(self, bag: Bag) -> tuple[Array, ...]:
        """Scores, attention, answers, answers with uniform attention, and of single segments."""
        x, there = self.segments(bag), _there(bag)
        p, s, alpha = self.read(x, there)
        rows = x[there].unsqueeze(1)
        alone, _, _ = self.read(rows, torch.ones(rows.shape[:2], dtype=torch.bool))
        each = np.full((*bag.shape, p.shape[-1]), 1 / p.shape[-1])
        each[there.numpy()] = alone.numpy()
        even = self.forced(x, there, uniform(s, there))
        none = np.full(tuple(p.shape), np.nan)
        return s.numpy(), alpha.numpy(), p.numpy(), none if even is None else even.numpy(), each

    def read(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Probabilities (n, C), scores (n, m) and attention (n, m)."""
        answers, attention = self._raw(x, mask)
        p = self._probabilities(answers)
        weights = _normalised(attention, mask, self.weights)
        if self.rest:
            weights = weights / weights.sum(-1, keepdim=True)
        if attention.shape[1] == 1 and not self.weights:
            return p, torch.where(mask, attention[:, 0], 0.0), weights[:, 0]
        alpha = _one_attention(weights, p)
        tiny = torch.finfo(alpha.dtype).tiny
        return p, torch.where(mask, alpha.clamp_min(tiny).log(), 0.0), alpha

    def forced(self, x: Tensor, mask: Tensor, alpha: Tensor) -> Tensor | None:
        """Probabilities with given attention, shape (n, C); None where it cannot be set."""
        if not self.can_force:
            return None
        return self._forced(x, mask, alpha)

    def notes(self) -> list[str]:
        """What was recognised, a sentence each."""
        what = (
            "Attention is returned as weights that sum to one in every bag."
            if self.weights
            else "Attention is returned as scores, before normalisation; the softmax of them is "
            "read."
        )
        if self.rest:
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
        if not self.can_force:
            notes.append(
                "Attention could not be set from outside: segments are read as bags of one, and "
                "the answer under uniform attention is not known."
            )
        return notes

    def _probabilities(self, answers: Tensor) -> Tensor:
        """From one number a bag, of class 1 against class 0, or one a class."""
        if answers.shape[1] == 1:
            p = answers if self.probabilities else answers.sigmoid()
            return torch.cat([1 - p, p], 1)
        return answers if self.probabilities else answers.softmax(1)

    @torch.no_grad()
    def _raw(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Answers (n, C or 1) and attention (n, K, m), a bounded number of bags at a time."""
        x = _hidden(x, mask)
        at_once = max(1, ELEMENTS // max(1, prod(x.shape[1:])))
        parts = []
        for rows, there in zip(x.split(at_once), mask.split(at_once), strict=True):
            with self._seeded():
                answers, attention = self.call.run(rows, there)
            parts.append((answers.detach().double(), attention.detach().double()))
        return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])

    @torch.no_grad()
    def _forced(self, x: Tensor, mask: Tensor, alpha: Tensor) -> Tensor:
        _must_sum_to_one(alpha, mask)
        x = _hidden(x, mask)
        at_once = max(1, ELEMENTS // max(1, prod(x.shape[1:])))
        parts = []
        for rows, there, given in zip(
            x.split(at_once), mask.split(at_once), alpha.split(at_once), strict=True
        ):
            with self._seeded():
                parts.append(self._forced_part(rows, there, given))
        return self._probabilities(torch.cat(parts))

    def _forced_part(self, x: Tensor, mask: Tensor, alpha: Tensor) -> Tensor:
        dtype = x.dtype if x.is_floating_point() else torch.float32
        if self.own_forcing:
            outputs = tensors_in(self.model(x, mask, alpha=alpha.to(dtype)))
            return outputs[self.call.answer][1].double().reshape(len(x), -1)
        axis = "front" if self.call.axis == -1 else "back"
        answers = []
        for rows, there, given in _pieces(self.call, x, mask, alpha.to(dtype)):
            with Forced(self.attention_call_index, given, (self.branches, axis)) as mode:
                answers.append(self.call.run(rows, there)[0].double())
            if not mode.done:
                raise _NotForced
        return torch.cat(answers)

    def _attention_call_index(self, x: Tensor, mask: Tensor) -> int | None:
        """The torch call that computes attention; None for a pooling layer, −1 if not found."""
        if self.call.attention is None:
            return None
        rows, there, _ = next(_pieces(self.call, x, mask, mask.to(x.dtype)))
        with torch.no_grad(), self._seeded():
            _, attention = self.call.run(rows, there)
        weights = _normalised(attention.double(), there, self.weights)
        alpha = weights.movedim(-1, 1) if self.call.axis != -1 else weights
        if self.rest:  # a part of a larger attention, which has no place to be set alone
            return -1
        with torch.no_grad(), self._seeded():
            output = attention_call(lambda: self.call.run(rows, there), alpha)
        return -1 if output is None else output

    def _forcing_works(self, x: Tensor, mask: Tensor) -> bool:
        """Whether given attention is used: the model's own gives its answer, another changes it."""
        p, _, alpha = self.read(x, mask)
        first = torch.nn.functional.one_hot(_first(mask, alpha, least=True), mask.shape[1])
        top = torch.nn.functional.one_hot(_first(mask, alpha, least=False), mask.shape[1])
        try:
            same = self._forced(x, mask, alpha) if self.branches == 1 else p
            low, high = (self._forced(x, mask, part.double()) for part in (first, top))
        except _NotForced:
            return False
        changes = bool((low - high).abs().max() > 1e-9)
        if self.own_forcing:
            alone = [self.read(x, mask & part.bool())[0] for part in (first, top)]
            if not changes and bool((alone[0] - alone[1]).abs().max() > NEAR):
                raise FoveateError(
                    "the answer does not change with a given alpha, though it does with the "
                    "segments: model(x, mask, alpha) must use alpha in place of its attention"
                )
            return changes
        several_heads = self.call.attention is None
        exact = several_heads or bool((same - p).abs().max() <= NEAR)
        return changes and exact

    def _gives_probabilities(
        self, answers: Tensor, x: Tensor, mask: Tensor, given: OutputKind | None
    ) -> bool:
        """Whether answers are probabilities: rows that sum to one, or numbers from a sigmoid."""
        inside = bool((answers >= 0).all()) and bool((answers <= 1).all())
        several = answers.shape[1] > 1
        sums = not several or bool(((answers.sum(1) - 1).abs() < 1e-3).all())
        if given == "probabilities" and not (inside and sums):
            raise FoveateError("answers must be probabilities that sum to one, but some are not")
        if given is not None or several or not inside:
            return given == "probabilities" or (given is None and several and inside and sums)
        rows, there, _ = next(_pieces(self.call, x, mask, mask.to(x.dtype)))
        with torch.no_grad(), self._seeded():
            logits = self.call.run(rows, there)[0]
        with torch.no_grad(), self._seeded():
            return by_sigmoid(lambda: self.call.run(rows, there), logits)

    def _must_repeat(self, x: Tensor, mask: Tensor) -> None:
        first, second = (self._raw(x, mask)[0] for _ in range(2))
        gap = float((first - second).abs().nan_to_num().max())
        if gap > NEAR * (1 + float(first.abs().nan_to_num().max())):
            raise FoveateError(
                f"{type(self.model).__name__} is not deterministic: answers for the same bags "
                f"differ by {gap:.2g}; give seed= to set torch's generator before every call"
            )

    def _seeded(self) -> ExitStack:
        stack = ExitStack()
        if self.seed is not None:
            stack.enter_context(torch.random.fork_rng(devices=[]))
            torch.manual_seed(self.seed)
        return stack


class _NotForced(Exception):
    """Attention was not replaced in a call."""


def _pieces(
    call: Call, x: Tensor, mask: Tensor, alpha: Tensor
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Bags that a model reads in one call, with the attention for them."""
    if call.mask is not None:
        yield x, mask, alpha
        return
    if not call.single and bool(mask.all()):
        yield x, mask, alpha
        return
    for i in range(len(x)):
        there = mask[i]
        yield x[i : i + 1, there], mask[i : i + 1, there], alpha[i : i + 1, there]


def _hidden(x: Tensor, mask: Tensor) -> Tensor:
    """Segments with zeros outside the mask: not every model heeds it everywhere."""
    return x.masked_fill(~mask.reshape(*mask.shape, *(1,) * (x.dim() - 2)), 0)


def _there(bag: Bag) -> Tensor:
    return torch.ones(bag.shape, dtype=torch.bool) if bag.mask is None else bag.mask


def _first(mask: Tensor, alpha: Tensor, *, least: bool) -> Tensor:
    """The least or most attended segment that exists, shape (n,)."""
    if least:
        return alpha.masked_fill(~mask, torch.inf).argmin(1)
    return alpha.masked_fill(~mask, -torch.inf).argmax(1)


def _normalised(attention: Tensor, mask: Tensor, weights: bool) -> Tensor:
    """Weights (n, K, m), zero outside the mask."""
    if weights:
        return torch.where(mask[:, None], attention, 0.0)
    n, k, m = attention.shape
    flat = torch.where(mask[:, None], attention, 0.0).reshape(n * k, m)
    return softmax(flat, mask.repeat_interleave(k, 0)).reshape(n, k, m)


def _one_attention(weights: Tensor, p: Tensor) -> Tensor:
    """Of one attention a class that of the predicted class, else the mean over heads, (n, m)."""
    if weights.shape[1] == p.shape[1] and weights.shape[1] > 1:
        return weights[torch.arange(len(p)), p.argmax(1)]
    return weights.mean(1)


def _must_be_numbers(answers: Tensor, attention: Tensor, mask: Tensor) -> None:
    for name, bad in (
        ("answers", answers.isnan().any(1)),
        ("attention", (attention.isnan() & mask[:, None]).any(2).any(1)),
    ):
        if bool(bad.any()):
            row = int(bad.nonzero()[0])
            raise FoveateError(f"{name} must be numbers, but bag {row} gets NaN")


def _are_weights(attention: Tensor, mask: Tensor, output: AttentionOutput | None) -> bool:
    """Whether attention is normalised: no number is negative and rows sum to one.

    Where most bags of several segments sum to one, those that do not are mistakes.
    """
    inside = torch.where(mask[:, None], attention, 0.0)
    total = inside.sum(-1)
    negative, off = inside.min() < 0, (total - 1).abs() > 1e-3
    weights = not bool(negative) and not bool(off.any())
    long = mask.sum(1) > 1
    several = bool(long.any())
    usual = several and float(off.any(1)[long].double().mean()) < MISTAKES
    if not weights and (output == "weights" or (output is None and usual)):
        if bool(negative):
            row = int((inside < 0).any(2).any(1).nonzero()[0])
            raise FoveateError(f"attention weights must not be negative: those of bag {row} are")
        row = int(off.any(1).nonzero()[0])
        value = float(total[row].flatten()[0])
        raise FoveateError(f"attention weights of bag {row} must sum to one, got {value:.3g}")
    return output == "weights" or (output is None and weights and several)


def _rest(attention: Tensor, mask: Tensor) -> float:
    """The mean weight that is not on segments, 0 if these are no weights.

    Weights are not negative, sum to less than one in every bag of several segments, and to more
    than nothing.
    """
    inside = torch.where(mask[:, None], attention, 0.0)
    total = inside.sum(-1)[mask.sum(1) > 1]
    if len(total) < 2 or bool(inside.min() < 0) or bool((total > 1 + 1e-3).any()):
        return 0.0
    return float(1 - total.mean()) if bool((total > 0).all()) else 0.0


def _must_sum_to_one(alpha: Tensor, mask: Tensor) -> None:
    total = torch.where(mask, alpha, 0.0).sum(1)
    if bool(((total - 1).abs() > 1e-4).any()):
        row = int(((total - 1).abs() > 1e-4).nonzero()[0])
        raise FoveateError(
            f"forced attention of bag {row} must sum to one, got {float(total[row]):.3g}"
        )
