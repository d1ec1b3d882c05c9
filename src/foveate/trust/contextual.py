"""Do segments see each other before attention?

Where they do (self-attention, graphs, convolutions over neighbours), the state at the top place may
stand for other segments. Two tests on a few bags: do scores change when half of a bag is hidden,
and does the answer of one segment, with all attention on it, change when the others are hidden?
"""

from dataclasses import dataclass

import numpy as np
import torch

from foveate.bags.bag import Bag
from foveate.randomness import generator
from foveate.trust.subject import Reading, Subject
from foveate.types import Array

__all__ = ["Context", "context_of"]

SCORES_BAGS = 16  # read twice to compare scores
ANSWER_BAGS = 64  # read to compare answers of single segments
CHANGE = 1e-3  # of scores, relative, and of probabilities
TINY = 1e-30  # weights up to which their logarithm is not exact in single precision
UNTESTED = (
    "Whether segments see each other before attention could not be tested, since attention cannot "
    "be set from outside."
)


@dataclass(frozen=True)
class Context:
    """What segments know of the others of their bag, means over models.

    Args:
        scores: Whether the score of a segment depends on the others.
        answers: Whether the answer of a segment depends on the others; None where attention cannot
            be set, so that it is not known.
        inside: Accuracy with all attention on a random segment, inside its bag; nan if not known.
        alone: Accuracy of the same segment as a bag of its own.
    """

    scores: bool
    answers: bool | None
    inside: float
    alone: float

    @property
    def contextual(self) -> bool:
        """Whether anything of a segment depends on the others."""
        return self.scores or bool(self.answers)

    @property
    def sentence(self) -> str:
        """What was found, for a contextual model or one that could not be tested, else empty."""
        if not self.contextual:
            return UNTESTED if self.answers is None else ""
        text = (
            "Segments see each other before attention, so that the top segment may stand for others"
        )
        if np.isnan(self.inside) or not self.answers:
            return f"{text}."
        inside, alone = 100 * self.inside, 100 * self.alone
        return (
            f"{text}: with all attention on a random segment {inside:.0f} % of answers are right, "
            f"and {alone:.0f} % when that segment is all there is."
        )


def context_of(subject: Subject, bag: Bag) -> Context:
    """Test a few bags.

    Args:
        subject: The models.
        bag: Bags that they read, of one set.
    """
    if subject.context_free:
        return Context(False, False, float("nan"), float("nan"))
    few = bag.take(slice(0, ANSWER_BAGS))
    readers = subject.take(np.arange(len(few)))
    position = _random_segment(few)
    inside = readers.forced(few, position)
    keep = np.zeros((subject.size, 1, *few.shape), bool)
    np.put_along_axis(
        keep,
        np.broadcast_to(position[None, None, :, None], (subject.size, 1, len(few), 1)),
        True,
        -1,
    )
    alone = readers.reread([few], keep)[:, 0]
    y = few.y.numpy()
    known = not np.isnan(inside).any()
    changed = bool(np.abs(inside - alone).max() > CHANGE) if known else None
    right = float((inside.argmax(-1) == y).mean()) if known else float("nan")
    return Context(
        reads_context(subject, bag), changed, right, float((alone.argmax(-1) == y).mean())
    )


def reads_context(subject: Subject, bag: Bag) -> bool:
    """Whether scores change when half of a bag's segments are not there."""
    few = bag.take(slice(0, SCORES_BAGS))
    readers = subject.take(np.arange(len(few)))
    half = max(1, few.m // 2)
    mask = torch.ones(few.shape, dtype=torch.bool) if few.mask is None else few.mask
    short = mask.clone()
    short[:, half:] = False
    short |= mask & ~short.any(1, keepdim=True)  # bags without a segment in the first half
    whole = readers.read([few])
    part = readers.read([Bag(few.x, few.y, None, short)])
    present = _comparable(whole, part, np.broadcast_to(short.numpy(), whole.s.shape))
    # Weights after normalisation are compared up to the constant that their sum decides.
    first, second = (np.where(present, read.s, 0.0) for read in (whole, part))
    scale = max(float(np.abs(first).max()), 1e-9)
    plain = np.abs(first - second).max()
    count = np.maximum(present.sum(-1, keepdims=True), 1)
    first, second = (s - s.sum(-1, keepdims=True) / count for s in (first, second))
    centred = np.abs(first - second)[present].max(initial=0)
    return bool(min(plain, centred) / scale > CHANGE)


def _comparable(whole: Reading, part: Reading, present: Array) -> Array:
    """Where scores are exact: logarithms of weights near zero are not, since these underflow."""
    logarithms = (np.log(np.maximum(read.alpha, TINY)) for read in (whole, part))
    of_weights = all(
        np.allclose(np.maximum(read.s, np.log(TINY))[present], log[present])
        for read, log in zip((whole, part), logarithms, strict=True)
    )
    if not of_weights:
        return present
    return present & (whole.alpha > TINY) & (part.alpha > TINY)


def _random_segment(bag: Bag) -> Array:
    """A random segment of each bag, shape (n,)."""
    mask = torch.ones(bag.shape, dtype=torch.bool) if bag.mask is None else bag.mask
    drawn = torch.rand(bag.shape, generator=generator("trust", "context"))
    return drawn.masked_fill(~mask, -1.0).argmax(1).numpy()
