"""What is examined: models that read bags, and read them again with segments hidden."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from foveate.attention.likelihood import map_segments
from foveate.attention.maps import MAPS, uniform
from foveate.attention.paradigms import PARADIGMS, Marginal, Paradigm, Soft
from foveate.bags.bag import Bag
from foveate.bags.segments import dense
from foveate.errors import FoveateError
from foveate.models.focus import FCAM, AttentionModel
from foveate.settings import current_device
from foveate.training.evaluation import ELEMENTS
from foveate.training.stack import Batch, MemberBags, Stack
from foveate.types import Array

__all__ = ["Reading", "Stacked", "Subject", "as_subject"]


class Reading(NamedTuple):
    """What S models make of n bags of at most m segments.

    Args:
        s: What attention grows with, comparable between bags, shape (S, n, m).
        alpha: Attention, shape (S, n, m).
        p: Class probabilities by the models' own inference, shape (S, n, C).
        mixed: The same with the classifier reading the mixture of segments, shape (S, n, C).
        even: The models' own inference with the same attention on every segment, (S, n, C).
        segment_p: Class probabilities of every segment by itself, shape (S, n, m, C).
    """

    s: Array
    alpha: Array
    p: Array
    mixed: Array
    even: Array
    segment_p: Array


class Subject(ABC):
    """S models that read the same kind of bags: the contract of all evidence.

    Attributes:
        size: Number of models S.
        context_free: Whether the models read segments one by one, by construction.
        notes: What was recognised or assumed about them, a sentence each.
        rereadable: Whether bags can be read again with segments hidden or added; False for
            attention from a table.
        external: Whether the models were not trained by this library, so that no option of its
            training is advised.
        fold: Which fold's models read each bag, shape (n,); None where all models read all bags.
    """

    size: int
    context_free: bool = False
    notes: tuple[str, ...] = ()
    rereadable: bool = True
    external: bool = True
    fold: Array | None = None

    @abstractmethod
    def read(self, bags: Sequence[Bag]) -> Reading:
        """Read bags, one set for all members or one set each."""

    @abstractmethod
    def reread(self, bags: Sequence[Bag], keep: Array) -> Array:
        """Class probabilities with only some segments there.

        Args:
            bags: One set for all members, or one each.
            keep: True where a segment stays, shape (S, K, n, m); each bag keeps one at least.

        Returns:
            Shape (S, K, n, C).
        """

    def forced(self, bag: Bag, position: Array) -> Array:
        """Class probabilities with all attention on one segment of each bag, inside its bag.

        Args:
            bag: One set for all members.
            position: Which segment, shape (n,).

        Returns:
            Shape (S, n, C); nan where attention cannot be set.
        """
        del position
        return np.full((self.size, len(bag), 1), np.nan)

    def take(self, rows: Array) -> "Subject":
        """What reads the bags at ``rows``: the same models, unless each bag has its own."""
        del rows
        return self


def as_subject(
    models: "Subject | Stack | AttentionModel | Sequence[AttentionModel]", paradigm: str | Paradigm
) -> Subject:
    """Anything that can be examined, as a :class:`Subject`."""
    if isinstance(models, Subject):
        return models
    rule = PARADIGMS.get(paradigm)() if isinstance(paradigm, str) else paradigm
    if isinstance(models, Stack):
        return Stacked(models, rule)
    several = [models] if isinstance(models, AttentionModel) else list(models)
    if not several:
        raise FoveateError("at least one model is needed, got none")
    dtype = next((p.dtype for p in several[0].parameters()), torch.float32)
    builds = [lambda model=model: model for model in several]
    device = next((p.device for p in several[0].parameters()), current_device())
    return Stacked(Stack(builds, range(len(several)), dtype, device), rule)


class Stacked(Subject):
    """Models with a focus and a classifier, many as one program.

    Args:
        stack: The models.
        paradigm: Whose inference is their own.
    """

    external = False

    def __init__(self, stack: Stack, paradigm: Paradigm) -> None:
        if paradigm.whole_bag:
            raise FoveateError("a classifier of whole bags has no attention to be examined")
        self.stack = stack.on(current_device())
        self.paradigm, self.size = paradigm, len(stack)
        self.context_free = isinstance(stack.model.unwrapped, FCAM)

    def read(self, bags: Sequence[Bag]) -> Reading:
        parts = self._in_parts(bags, None, _read_batch)
        return Reading(*(np.concatenate(part, 1) for part in zip(*parts, strict=True)))

    def reread(self, bags: Sequence[Bag], keep: Array) -> Array:
        parts = self._in_parts(bags, torch.from_numpy(np.ascontiguousarray(keep)), _reread)
        return np.concatenate([part[0] for part in parts], 2)

    def forced(self, bag: Bag, position: Array) -> Array:
        segment_p = self.read([bag]).segment_p
        return np.take_along_axis(segment_p, position[None, :, None, None], 2)[:, :, 0]

    @torch.no_grad()
    def _in_parts(self, bags: Sequence[Bag], keep: Tensor | None, task: Any) -> list[list[Array]]:
        """Run a task over a bounded number of bags at a time."""
        self.stack.model.eval()
        one = bags[0] if len(bags) == 1 else bags
        member_bags = MemberBags(one, self.size, self.stack.dtype, self.stack.device)
        at_once = max(
            1, ELEMENTS // (self.size * member_bags.m * max(1, prod(member_bags.segment_shape)))
        )
        rows = torch.arange(member_bags.n, device=member_bags.device).expand(self.size, -1)
        keep = None if keep is None else keep.to(member_bags.device)
        parts = []
        for chunk in rows.split(at_once, 1):
            batch = member_bags.batch(chunk)
            visible = None if keep is None else keep[:, :, chunk[0]]
            outputs = self.stack.run(task, batch, visible, self.paradigm)
            several = outputs if isinstance(outputs, tuple) else (outputs,)
            parts.append([value.cpu().double().numpy() for value in several])
        return parts


def _read_batch(model: AttentionModel, batch: Batch, _: None, rule: Paradigm) -> tuple[Tensor, ...]:
    focus = model.attend(batch.x, batch.mask, batch.z)
    h, g = rule.classify_once(focus.h, model.g)
    alone = dense(h if rule.per_segment else map_segments(model.g, focus.h))
    alpha, s = rule.segment_weights(focus.alpha, h, g), _strength(model, focus.s)
    return (
        s if rule.uses_attention else alpha.clamp_min(torch.finfo(alpha.dtype).tiny).log(),
        alpha,
        rule.log_prob(focus.alpha, h, g).exp(),
        Soft().log_prob(alpha, focus.h, model.g).exp(),
        _evenly(rule).log_prob(uniform(focus.s, batch.mask), h, g).exp(),
        alone.softmax(-1),
    )


def _evenly(rule: Paradigm) -> Paradigm:
    """How bags are read with even attention.

    Where the most attended segments are read, all are alike: the mean over all stands for one that
    is drawn, since of equals the first would be taken and places mean nothing.
    """
    return Marginal() if rule.selects else rule


def _reread(model: AttentionModel, batch: Batch, keep: Tensor, rule: Paradigm) -> Tensor:
    whole = model.attend(batch.x, batch.mask, batch.z)
    h, g = rule.classify_once(whole.h, model.g)
    read = []
    for visible in keep.unbind(0):
        mask = visible if batch.mask is None else visible & batch.mask
        if isinstance(model, FCAM):  # a segment's score and representation are its own
            alpha = MAPS.get(model.map)(whole.s, mask)
            read.append(rule.log_prob(alpha, h, g).exp())
        else:
            focus = model.attend(batch.x, mask, batch.z)
            read.append(rule.log_prob(focus.alpha, *rule.classify_once(focus.h, model.g)).exp())
    return torch.stack(read)


def _strength(model: AttentionModel, s: Tensor) -> Tensor:
    """What attention grows with: the score, or its square under the spherical map."""
    inner = model.unwrapped
    return s.square() if isinstance(inner, FCAM) and inner.map == "spherical" else s
