r"""Question (d): is what the models look at the only kind of evidence?

Evidence segments of a class are split in two clusters. If all evidence were of one kind, the
clusters would be arbitrary and the segments of a bag would fall into them independently: a bag
with n evidence segments would hold both with probability :math:`1 - q^n - (1-q)^n`, q the share of
one cluster. Where every bag holds one of each, as when a tag accompanies the object, both occur far
more often. Which of the two is meant cannot be known from labels; it is asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from foveate.bags.bag import Bag
from foveate.randomness import generator
from foveate.trust.auditor import Audit
from foveate.trust.co_occurrence import DEVIATIONS, EXCESS, SEVERAL_SHARE, co_occurrence, word_split
from foveate.trust.segment_rows import rows_of
from foveate.types import Array

__all__ = ["KIND_NAMES", "MARKED", "Kinds", "kind_of_segments", "kinds", "marked_kind"]

KIND_NAMES = ("A", "B")
EVIDENCE = 0.5  # e from which on a segment counts as evidence
FEWEST = 15  # evidence segments are needed for a split
PAIRS = 5  # bags with two of them, at least
COMPONENTS, ROWS = 10, 3000
MARKED, MARKED_SHARE = 3, 0.8  # marked bags of a class that decide, and their share of one kind


@dataclass(frozen=True)
class Kinds:
    """The kinds of evidence of one class.

    Args:
        several: Whether there are two kinds.
        chosen: The kind that was declared to be meant, None where none was.
        with_two: Share of the bags that have two evidence segments or more.
        observed: Share of those that hold both clusters.
        expected: The same if all evidence were of one kind.
        deviations: Standard deviations between them.
        sizes: Evidence segments of kind A and B.
        attended: Share of top segments of kind A and B, mean over models; the rest is no evidence.
        unattended: Share of bags with evidence of another kind than the attended one.
        examples: Bag and segment of some evidence of each kind, by kind.
    """

    several: bool
    chosen: str | None
    with_two: float
    observed: float
    expected: float
    deviations: float
    sizes: tuple[int, int]
    attended: tuple[float, float]
    unattended: float
    examples: dict[str, list[tuple[int, int]]]


def kind_of_segments(bags: Sequence[Bag], audit: Audit, classes: int) -> Array:
    """The cluster of every audited segment among its class's evidence, −1 where there is none.

    Kind 0 (A) is the more frequent one. Shape (K, k, m).
    """
    assigned = np.full(audit.mask.shape, -1)
    sets = [bag.take(torch.from_numpy(audit.bag_index)) for bag in bags]
    parts = [rows_of(bag) for bag in sets]
    words = parts[0].words
    bag_of = np.concatenate([rows.bag + k * len(audit.bag_index) for k, rows in enumerate(parts)])
    x = np.concatenate([rows.x for rows in parts])
    segment_label = audit.y[np.nonzero(audit.mask)[0], np.nonzero(audit.mask)[1]]
    e, flat = audit.e[audit.mask], np.full(len(x), -1)
    for c in range(classes):
        evidence = np.flatnonzero((segment_label == c) & (e >= EVIDENCE))
        if len(evidence) >= FEWEST:
            of = np.flatnonzero(segment_label == c)
            if words:
                flat[of] = word_split(x[evidence], bag_of[evidence], x[of])
            else:
                flat[of] = _clusters(x[evidence], x[of], f"class {c}")
    assigned[audit.mask] = flat
    return assigned


def kinds(audit: Audit, assigned: Array, top: Array, c: int, chosen: str | None = None) -> Kinds:
    """The kinds of evidence of class c, and which of them models look at.

    Args:
        audit: What the auditor knows.
        assigned: What :func:`kind_of_segments` gave.
        top: The most attended segment of each audited bag, shape (S, k).
        c: Which class.
        chosen: "A" or "B" where it was declared which is meant.
    """
    evidence = (audit.e >= EVIDENCE) & (assigned >= 0) & (audit.y == c)[..., None]
    where = np.argwhere(evidence)
    cluster = assigned[evidence]
    bag = where[:, 0] * audit.y.shape[1] + where[:, 1]
    total = max(1, int((audit.y == c).sum()))
    two, observed, expected, z = co_occurrence(cluster, bag) if len(bag) else (0, *_NONE)
    several = (
        two >= max(PAIRS, SEVERAL_SHARE * total)
        and z >= DEVIATIONS
        and observed - expected >= EXCESS
    )
    attended, missed = _attended(audit, assigned, evidence, top, c)
    return Kinds(
        several=bool(several),
        chosen=chosen,
        with_two=two / total,
        observed=observed,
        expected=expected,
        deviations=z,
        sizes=(int((cluster == 0).sum()), int((cluster == 1).sum())),
        attended=attended,
        unattended=missed,
        examples=_examples(audit, where, cluster) if several else {},
    )


def marked_kind(assigned: Array, relevant: Array, of: Array) -> str | None:
    """The kind that marked segments belong to; None where too few are marked or they disagree.

    Args:
        assigned: What :func:`kind_of_segments` gave, shape (K, k, m).
        relevant: Segments that were marked as relevant, shape (K, k, m).
        of: Which bags are of the class, shape (K, k).

    Example:
        >>> assigned, relevant = np.array([[[1, 0]] * 3]), np.array([[[True, False]] * 3])
        >>> marked_kind(assigned, relevant, np.full((1, 3), True))
        'B'
    """
    marked = relevant & (assigned >= 0) & of[..., None]
    bags = marked.any(-1)
    if bags.sum() < MARKED:
        return None
    share = float(assigned[marked].mean())  # of kind B
    if max(share, 1 - share) < MARKED_SHARE:
        return None
    return KIND_NAMES[round(share)]


_NONE = (float("nan"), float("nan"), 0.0)


def _clusters(evidence: Array, x: Array, name: str) -> Array:
    """Two clusters of evidence, and the nearer one of every row; the larger cluster is 0."""
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA

    order = torch.randperm(len(evidence), generator=generator("trust", "kinds", name)).numpy()
    train = evidence[order[:ROWS]]
    mean, scale = train.mean(0), np.maximum(train.std(0), 1e-6)
    if not (train.std(0) > 1e-6).any():  # all evidence is the same
        return np.zeros(len(x), int)
    size = min(COMPONENTS, train.shape[1], len(train) - 1)
    pca = PCA(size, svd_solver="randomized" if train.shape[1] > 200 else "full", random_state=0)
    points = pca.fit_transform((train - mean) / scale)
    model = KMeans(2, n_init=4, random_state=0).fit(points)
    larger = int(np.bincount(model.labels_, minlength=2).argmax())
    label = model.predict(np.ascontiguousarray(pca.transform((x - mean) / scale), points.dtype))
    return np.where(label == larger, 0, 1)


def _attended(
    audit: Audit, assigned: Array, evidence: Array, top: Array, c: int
) -> tuple[tuple[float, float], float]:
    """Shares of tops of each kind, and of bags whose evidence of the other kind is passed over."""
    size = len(top)
    kind = np.where(evidence, assigned, -1)
    wide = np.broadcast_to(kind, (size, *kind.shape[1:]))
    seen = np.take_along_axis(wide, top[..., None], -1)[..., 0]
    of = np.broadcast_to(audit.y == c, seen.shape)
    if not of.any():
        return (float("nan"), float("nan")), float("nan")
    shares = tuple(float((seen[of] == k).mean()) for k in (0, 1))
    has = np.stack([(wide == k).any(-1) for k in (0, 1)])
    other = np.where(seen == 0, has[1], np.where(seen == 1, has[0], has.any(0)))
    return (shares[0], shares[1]), float(other[of].mean())


def _examples(
    audit: Audit, where: Array, cluster: Array, most: int = 4
) -> dict[str, list[tuple[int, int]]]:
    """The surest evidence of each kind as (bag, segment), of the first set of bags."""
    first = where[:, 0] == 0
    rows, label = where[first], cluster[first]
    e = audit.e[tuple(rows.T)]
    examples = {}
    for k, name in enumerate(KIND_NAMES):
        of_kind = rows[label == k][np.argsort(-e[label == k], kind="stable")][:most]
        examples[name] = [(int(audit.bag_index[i]), int(j)) for _, i, j in of_kind]
    return examples
