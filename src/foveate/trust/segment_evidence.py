"""Label-free evidence: what models do when segments are hidden, and what they say of each segment.

No location label is read here. Bags have their own labels y. Everything is one number a bag, with
members in front: means over bags of a class, or intervals over bags, come later.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from foveate.bags.bag import Bag
from foveate.metrics.agreement import fair_agreement, random_level
from foveate.metrics.ranks import from_the_top, spearman
from foveate.randomness import generator
from foveate.trust.subject import Reading, Subject
from foveate.types import Array

__all__ = [
    "SHARES",
    "Curves",
    "Evidence",
    "evidence_of",
    "masks",
    "random_order",
    "relative_entropy",
]


SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75)  # of a bag's segments, one at least
ERASER = (0.01, 0.05, 0.1, 0.2, 0.5)  # the shares that sufficiency and comprehensiveness average
CURVES = 50_000  # segments of bags that are read again for curves; beyond, some bags are drawn


class Curves(NamedTuple):
    """Probability of the predicted class with segments hidden, shape (S, n, len(SHARES)) each.

    Args:
        kept: Only the most attended share is there (insertion).
        removed: The most attended share is gone, one segment at least stays (deletion).
        kept_random: As ``kept``, in an order drawn at random.
        removed_random: As ``removed``, in an order drawn at random.
    """

    kept: Array
    removed: Array
    kept_random: Array
    removed_random: Array


class Evidence(NamedTuple):
    """One number a bag and member, (S, n), unless said otherwise.

    Args:
        y: Labels, shape (S, n).
        p: Class probabilities, shape (S, n, C).
        right: The own reading is right.
        top_right: The reading of the top segment alone is right.
        mixed_right: The soft reading is right.
        even_right: The own reading with uniform attention is right (frozen-uniform control);
            nan where attention cannot be set.
        gap: Total variation between soft and top-segment reading, ½ Σ_c |Δp_c|.
        entropy: Entropy of α over log m_i; 1 is uniform, nan where a bag has one segment.
        top: α of the top segment.
        agreement: Fair agreement of α with β, the evidence of g for the true class.
        chance: Its level for a random α, shape (n,) or (S, n).
        correlation: Spearman's correlation of s with β.
        first: s of the top segment.
        second: s of the runner-up, the best segment beyond those that may be relevant; nan where a
            bag has none.
        last: s of the lowest segment.
        said_by_top: The class that the top segment alone is read as; −1 where it is not known.
        runner_up: Class probabilities of the runner-up by itself, (S, n, C).
        attended: Mean prediction of g over segments, weighed by α, (S, n, C).
        unattended: The same, weighed by 1 − α, (S, n, C).
        curves: What happens when segments are hidden.
    """

    y: Array
    p: Array
    right: Array
    top_right: Array
    mixed_right: Array
    even_right: Array
    gap: Array
    entropy: Array
    top: Array
    agreement: Array
    chance: Array
    correlation: Array
    first: Array
    second: Array
    last: Array
    said_by_top: Array
    runner_up: Array
    attended: Array
    unattended: Array
    curves: Curves

    @property
    def predicted(self) -> Array:
        """Probability of the predicted class, shape (S, n)."""
        return self.p.max(-1)

    @property
    def sufficiency(self) -> Array:
        """Fall of p(ŷ) with only the top share kept, mean over shares; low is good. (ERASER)"""
        return self.predicted - self.curves.kept[..., _eraser()].mean(-1)

    @property
    def comprehensiveness(self) -> Array:
        """Fall of p(ŷ) with the top share removed, mean over shares; high is good. (ERASER)"""
        return self.predicted - self.curves.removed[..., _eraser()].mean(-1)

    @property
    def drop(self) -> Array:
        """Fall of p(ŷ) when the top goes, beyond the fall when as many random ones go.

        The top is a segment, or the least of SHARES where a bag has so many.
        """
        return self.curves.removed_random[..., 0] - self.curves.removed[..., 0]

    def deletion(self, random: bool = False) -> Array:
        """Area under p(ŷ) over the share removed, from none to the largest of SHARES."""
        curve = self.curves.removed_random if random else self.curves.removed
        return _area(np.array([0.0, *SHARES]), self.predicted, curve)

    def insertion(self, random: bool = False) -> Array:
        """Area under p(ŷ) over the share kept, from the smallest of SHARES to all."""
        curve = self.curves.kept_random if random else self.curves.kept
        return _area(
            np.array([0.0, *(1 - np.array(SHARES[::-1]))]), self.predicted, curve[..., ::-1]
        )


def evidence_of(
    subject: Subject, bags: Sequence[Bag], reading: Reading | None = None, relevant: int = 1
) -> Evidence:
    """All evidence that single models give on labelled bags.

    Args:
        subject: The models.
        bags: One set for all members, or one each, of equal sizes.
        reading: What ``subject.read(bags)`` gave, where it is known already.
        relevant: How many segments of a bag may be evidence; the next one is its runner-up.
    """
    seen = subject.read(bags) if reading is None else reading
    size, n, m = seen.alpha.shape
    mask = np.broadcast_to(masks(bags), (size, n, m))
    y = np.broadcast_to(np.stack([bag.y.numpy() for bag in bags]), (size, n))
    order = from_the_top(seen.alpha, seen.s, mask)
    lengths = mask.sum(-1)
    next_one = order[..., min(relevant, m - 1)]
    top, none = _at_position(seen.segment_p, order[..., 0]), lengths <= relevant
    lowest = np.take_along_axis(order, lengths[..., None] - 1, -1)[..., 0]
    beta = _of_class(np.log(np.maximum(seen.segment_p, 1e-300)), y[..., None])
    unknown = np.isnan(beta).any(-1)
    agreed, chance = _agreement(seen.alpha, np.nan_to_num(beta), mask)
    return Evidence(
        y=y,
        p=seen.p,
        right=_right(seen.p, y),
        top_right=_right(top, y),
        mixed_right=_right(seen.mixed, y),
        even_right=_right(seen.even, y),
        gap=np.abs(seen.mixed - top).sum(-1) / 2,
        entropy=relative_entropy(seen.alpha, mask),
        top=seen.alpha.max(-1),
        agreement=np.where(unknown, np.nan, agreed),
        chance=chance,
        correlation=np.where(unknown, np.nan, spearman(seen.s, np.nan_to_num(beta), mask)),
        first=_at_position(seen.s, order[..., 0]),
        second=np.where(none, np.nan, _at_position(seen.s, next_one)),
        last=_at_position(seen.s, lowest),
        said_by_top=np.where(np.isnan(top).any(-1), -1, top.argmax(-1)),
        runner_up=np.where(none[..., None], np.nan, _at_position(seen.segment_p, next_one)),
        attended=_weighted_mean(seen.alpha, seen.segment_p),
        unattended=_weighted_mean(np.where(mask, 1 - seen.alpha, 0.0), seen.segment_p),
        curves=_curves(subject, bags, seen, order, mask),
    )


def _right(p: Array, y: Array) -> Array:
    """Whether the largest probability is the label's; nan where probabilities are not known."""
    return np.where(np.isnan(p).any(-1), np.nan, p.argmax(-1) == y)


def masks(bags: Sequence[Bag]) -> Array:
    """Where segments exist, shape (1 or S, n, m)."""
    return np.stack(
        [np.ones(bag.shape, bool) if bag.mask is None else bag.mask.numpy() for bag in bags]
    )


def relative_entropy(alpha: Array, mask: Array) -> Array:
    """Entropy of attention over log m_i, the most there can be; nan for single segments."""
    most = np.log(mask.sum(-1))
    entropy = -(alpha * np.log(np.where(alpha > 0, alpha, 1.0))).sum(-1)
    return np.divide(entropy, most, out=np.full(most.shape, np.nan), where=most > 0)


def _curves(
    subject: Subject, bags: Sequence[Bag], seen: Reading, order: Array, mask: Array
) -> Curves:
    """Read bags again with a growing share of their segments kept, and removed; nan for others."""
    curves = np.full((*mask.shape[:2], 4, len(SHARES)), np.nan)
    if subject.rereadable:
        rows = _read_again(masks(bags))
        few = [bag.take(torch.from_numpy(rows)) for bag in bags]
        keep = _kept(order[:, rows], mask[:, rows])
        read = subject.take(rows).reread(few, keep)
        predicted = np.broadcast_to(seen.p[:, rows].argmax(-1)[:, None], read.shape[:-1])
        p = np.moveaxis(_of_class(read, predicted), 1, -1)  # (S, k, 2 orders × shares × 2)
        by_order = p.reshape(*p.shape[:2], 2, len(SHARES), 2)
        curves[:, rows] = by_order.swapaxes(-1, -2).reshape(*p.shape[:2], 4, len(SHARES))
    return Curves(*(curves[:, :, k] for k in range(4)))


def _read_again(mask: Array) -> Array:
    """Which bags are read again for curves: all, or as many as the bound on segments allows."""
    n, total = mask.shape[1], int(mask[0].sum())
    size = n if total <= CURVES else max(2, int(n * CURVES / total))
    drawn = torch.randperm(n, generator=generator("trust", "curves"))[:size]
    return np.sort(drawn.numpy())


def _kept(order: Array, mask: Array) -> Array:
    """Which segments stay, by order (attention, random), share, and kept or removed."""
    chance = random_order(mask)
    lengths = mask.sum(-1)
    keep = []
    for ranking in (order, from_the_top(chance, chance, mask)):
        position = np.empty(ranking.shape, int)
        np.put_along_axis(
            position, ranking, np.broadcast_to(np.arange(mask.shape[-1]), position.shape), -1
        )
        for share in SHARES:
            k = np.clip(np.ceil(share * lengths - 1e-9), 1, None)
            keep.append((position < k[..., None]) & mask)
            gone = np.minimum(k, lengths - 1)  # a bag cannot lose its last segment
            keep.append((position >= gone[..., None]) & mask)
    return np.stack(keep, 1)


def random_order(mask: Array) -> Array:
    """Random numbers that a bag's row and length alone decide, so that padding changes nothing."""
    drawn = np.zeros(mask.shape)
    lengths = mask.sum(-1)
    for j in range(lengths.shape[1]):
        for length in np.unique(lengths[:, j]).tolist():  # one, where members share the bags
            row = torch.rand(length, generator=generator("trust", "order", j)).numpy()
            for i in np.flatnonzero(lengths[:, j] == length):
                drawn[i, j, mask[i, j]] = row
    return drawn


def _eraser() -> list[int]:
    return [SHARES.index(share) for share in ERASER]


def _area(at: Array, whole: Array, curve: Array) -> Array:
    """Mean height of a curve over ``at``, whose first point is the whole bag."""
    height = np.concatenate([whole[..., None], curve], -1)
    return ((height[..., 1:] + height[..., :-1]) / 2 * np.diff(at)).sum(-1) / (at[-1] - at[0])


def _agreement(alpha: Array, beta: Array, mask: Array) -> tuple[Array, Array]:
    """Fair agreement of attention with evidence, and its random level, shape (S, n) each."""
    lengths = mask.sum(-1).ravel()
    start = np.concatenate([[0], np.cumsum(lengths)])
    agreed = fair_agreement(alpha[mask], beta[mask], start)
    return agreed.reshape(mask.shape[:-1]), random_level(lengths).reshape(mask.shape[:-1])


def _at_position(values: Array, position: Array) -> Array:
    """Entries of each bag's segment at ``place`` (S, n), from (S, n, m, …) to (S, n, …)."""
    at = position.reshape(*position.shape, *[1] * (values.ndim - 2))
    return np.take_along_axis(values, at, 2).squeeze(2)


def _of_class(values: Array, y: Array) -> Array:
    """Entries of the class y along the last axis; y has the other axes, or ones that broadcast."""
    at = np.broadcast_to(y, values.shape[:-1])[..., None]
    return np.take_along_axis(values, at, -1)[..., 0]


def _weighted_mean(weight: Array, segment_p: Array) -> Array:
    """Mean prediction over segments; even over nothing where no weight is left."""
    total = weight.sum(-1, keepdims=True)
    mean = np.einsum("...m,...mc->...c", weight, segment_p)
    return np.divide(mean, total, out=np.full(mean.shape, np.nan), where=total > 1e-9)
