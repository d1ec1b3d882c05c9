"""Question (c): does the answer depend on what is attended?

Three interventions. *Keep-only*: with nothing but the most attended segments, as many as a bag has
evidence, is the answer the same? *Removal*: without them, does it change, or fall more than without
as many others? *Transplant*: with one segment of a bag of another class added, does it flip? A
background segment should flip nothing. A segment of evidence competes with the evidence of the bag,
and either class may win; where one class always wins and the answer of the other does not change
without its evidence, that other class is the default answer, given wherever the first is not seen.
The poison of Raff & Holt (NeurIPS 2023) is found so. *Repetition*: copies of a segment that a bag
has already should change nothing, be it the most attended one or the one that speaks most against
the class; a model that counts fails (their false frequency test).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from foveate.bags.bag import Bag
from foveate.bags.segments import as_mosaics
from foveate.randomness import generator
from foveate.trust.auditor import Audit
from foveate.trust.segment_evidence import random_order
from foveate.trust.subject import Reading, Subject
from foveate.types import Array

__all__ = ["Dependence", "dependence", "transplanted", "untested"]

RECEIVERS = 48  # bags of a class that receive a segment
COPIES = 20  # of a bag's own segment


@dataclass(frozen=True)
class Dependence:
    """Whether answers rest on what is attended; one number a class, means over models.

    Args:
        keep_only: Share of right answers that stay with the most attended segments alone.
        removal: Share of right answers that change without them.
        removal_random: The same without as many others, drawn at random.
        background_flips: Share of right answers that one background segment of a bag of another
            class overturns, of the worst model.
        overturned_by: Share of right answers of each class that one segment of a bag of class k
            overturns, of the worst model, shape (C, C).
        overridden_by: The same minus the share the other way round, shape (C, C).
        repeat_flips: Share of right answers that change when a segment of the bag is repeated, the
            most attended one or the one that speaks most against the class, of the worst model and
            segment.
        receivers: Bags of each class that received a segment.
        tested: Whether the models could be read again; if not, all numbers are nan.
    """

    keep_only: tuple[float, ...]
    removal: tuple[float, ...]
    removal_random: tuple[float, ...]
    background_flips: tuple[float, ...]
    overturned_by: tuple[tuple[float, ...], ...]
    overridden_by: tuple[tuple[float, ...], ...]
    repeat_flips: tuple[float, ...]
    receivers: tuple[int, ...]
    tested: bool = True


def dependence(
    subject: Subject,
    bags: Sequence[Bag],
    reading: Reading,
    audit: Audit,
    order: Array,
    classes: int,
) -> Dependence:
    """Intervene on the audited bags.

    Args:
        subject: The models.
        bags: One set for all members, or one each.
        reading: What the models make of them.
        audit: Where evidence is.
        order: Segments from the most attended on, shape (S, n, m).
        classes: Number of classes C.
    """
    sets = [bag.take(torch.from_numpy(audit.bag_index)) for bag in bags]
    p, ranking = reading.p[:, audit.bag_index], order[:, audit.bag_index]
    y = np.broadcast_to(audit.y, p.shape[:2])
    right = p.argmax(-1) == y
    readers = subject.take(audit.bag_index)
    retained, removed, random = _hidden(readers, sets, audit, ranking, y)
    flips, background, repeated, count = _transplants(readers, sets, reading, audit, right, classes)
    return Dependence(
        keep_only=_by_class(retained, right, y, classes),
        removal=_by_class(~removed, right, y, classes),
        removal_random=_by_class(~random, right, y, classes),
        background_flips=tuple(background.max(0).tolist()),
        overturned_by=_table(flips.max(0)),
        overridden_by=_table((flips - flips.swapaxes(1, 2)).max(0)),
        repeat_flips=tuple(repeated.max(0).tolist()),
        receivers=tuple(count),
    )


def untested(classes: int) -> Dependence:
    """Nothing is known, because the models cannot be read again."""
    none = (float("nan"),) * classes
    table = (none,) * classes
    return Dependence(none, none, none, none, table, table, none, (0,) * classes, tested=False)


def transplanted(bag: Bag, rows: Array, donors: Array, segments: Array, copies: int = 1) -> Bag:
    """Bags with one segment of other bags added behind their own.

    Args:
        bag: The bags.
        rows: Which of them receive, shape (k,).
        donors: Which give, shape (k,).
        segments: Which segment each gives, shape (k,).
        copies: How many copies of it are added.

    Example:
        >>> from foveate.bags.segments import dense
        >>> bag = Bag(torch.arange(4.0).reshape(2, 2, 1), torch.tensor([0, 1]))
        >>> both = transplanted(bag, np.array([0]), np.array([1]), np.array([0]))
        >>> dense(both.x).flatten().tolist()
        [0.0, 1.0, 2.0]
    """
    to, by, j = (torch.as_tensor(part, dtype=torch.long) for part in (rows, donors, segments))
    mask = torch.ones(bag.shape, dtype=torch.bool) if bag.mask is None else bag.mask
    wide = torch.cat([mask[to], torch.ones(len(to), copies, dtype=torch.bool)], 1)
    by, j = (part[:, None].expand(-1, copies) for part in (by, j))
    mosaics = as_mosaics(bag.x)
    index = torch.cat([mosaics.index[to], mosaics.index[by, j]], 1)
    return Bag(mosaics._replace(index=index), bag.y[to], None, wide)


def _hidden(
    subject: Subject, bags: Sequence[Bag], audit: Audit, order: Array, y: Array
) -> tuple[Array, Array, Array]:
    """Whether answers are right with the top only, without it, and without others, (S, k) each."""
    mask = np.broadcast_to(audit.mask, order.shape)
    lengths = mask.sum(-1)
    count = np.broadcast_to(np.round(audit.e.sum(-1)), lengths.shape)
    count = np.clip(count, 1, np.maximum(1, lengths // 2))
    position = np.empty(order.shape, int)
    np.put_along_axis(position, order, np.broadcast_to(np.arange(order.shape[-1]), order.shape), -1)
    top = (position < count[..., None]) & mask
    single = lengths[..., None] <= 1  # a bag cannot lose its only segment
    chance = random_order(mask)
    # Others go in a random order, the top last of all.
    rank = np.where(mask & ~top, chance, np.where(mask, 1 + chance, 2 + chance)).argsort(-1)
    position = np.empty(order.shape, int)
    np.put_along_axis(position, rank, np.broadcast_to(np.arange(order.shape[-1]), rank.shape), -1)
    other = (position < count[..., None]) & mask
    keep = np.stack([top, mask & (~top | single), mask & (~other | single)], 1)
    predicted = subject.reread(bags, keep).argmax(-1)
    same = predicted == y[:, None]
    return same[:, 0], same[:, 1], same[:, 2]


def _transplants(
    subject: Subject,
    bags: Sequence[Bag],
    reading: Reading,
    audit: Audit,
    right: Array,
    classes: int,
) -> tuple[Array, Array, Array, list[int]]:
    """Flips (S, C, C) by evidence, (S, C) by background and by repetition, receivers (C,)."""
    size = len(right)
    flips = np.zeros((size, classes, classes))
    background, repeated = np.zeros((size, classes)), np.zeros((size, classes))
    alpha = reading.alpha[:, audit.bag_index].mean(0)
    donors = _donors(audit, alpha)
    segment_p = reading.segment_p[:, audit.bag_index].mean(0)
    count = []
    y = audit.y[0]
    for c in range(classes):
        receivers = _drawn(np.flatnonzero(y == c), RECEIVERS, f"receivers {c}")
        count.append(len(receivers))
        others = np.flatnonzero(y != c)
        if not len(receivers) or not len(others):
            continue
        chance = generator("trust", "donors", c)
        pick = others[torch.randint(len(others), (len(receivers),), generator=chance).numpy()]
        own_right = right[:, receivers]
        for segment in (donors["attended"], _contrary(audit, segment_p[..., c])):
            itself = segment[receivers]
            lost = own_right & ~_right_after(subject, bags, receivers, receivers, itself, COPIES)
            share = lost.sum(1) / np.maximum(own_right.sum(1), 1)
            repeated[:, c] = np.maximum(repeated[:, c], share)
        for kind, segment in donors.items():
            lost = own_right & ~_right_after(subject, bags, receivers, pick, segment[pick])
            if kind == "background":
                background[:, c] = lost.sum(1) / np.maximum(own_right.sum(1), 1)
                continue
            for k in range(classes):
                of = y[pick] == k
                share = lost[:, of].sum(1) / np.maximum(own_right[:, of].sum(1), 1)
                flips[:, c, k] = np.maximum(flips[:, c, k], share)
    return flips, background, repeated, count


def _right_after(
    subject: Subject,
    bags: Sequence[Bag],
    rows: Array,
    donors: Array,
    segments: Array,
    copies: int = 1,
) -> Array:
    """Whether answers are right with one more segment, or copies of it, shape (S, k)."""
    sets = [transplanted(bag, rows, donors, segments, copies) for bag in bags]
    y = np.stack([bag.y.numpy() for bag in sets])
    return subject.take(rows).read(sets).p.argmax(-1) == y


def _donors(audit: Audit, alpha: Array) -> dict[str, Array]:
    """Which segment each bag of the first set gives, by kind."""
    mask = audit.mask[0]
    a = np.where(mask, audit.a[0], -1.0)
    seen = np.where(mask, alpha, -1.0)
    return {
        "evidence": a.argmax(-1),
        "attended": seen.argmax(-1),
        "background": np.where(mask, audit.e[0] + alpha, np.inf).argmin(-1),
    }


def _contrary(audit: Audit, p: Array) -> Array:
    """The segment of each bag that by itself is least of the class, shape (k,); p is (k, m)."""
    return np.where(audit.mask[0], np.nan_to_num(p, nan=1.0), np.inf).argmin(-1)


def _drawn(rows: Array, most: int, name: str) -> Array:
    order = torch.randperm(len(rows), generator=generator("trust", name)).numpy()
    return np.sort(rows[order[:most]])


def _by_class(values: Array, right: Array, y: Array, classes: int) -> tuple[float, ...]:
    """Share of right answers for which something holds, by class; nan without any."""
    counts = [((y == c) & right).sum() for c in range(classes)]
    shares = [(values & right & (y == c)).sum() / max(1, counts[c]) for c in range(classes)]
    return tuple(float(s) if n else float("nan") for s, n in zip(shares, counts, strict=True))


def _table(values: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in values.tolist())
