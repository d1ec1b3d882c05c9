"""What a collection of bags holds: counts of bags, segments, classes and groups."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from foveate.io.collection import Collection
from foveate.io.view import View

__all__ = ["Description", "describe"]


@dataclass(frozen=True)
class Description:
    """What a collection holds; shares are from 0 to 1.

    Args:
        source: What was read.
        kind: What a segment is.
        bags: How many bags.
        segments: How many segments in all.
        lengths: Segments of the shortest, the median and the longest bag.
        classes: Bags of each class.
        unlabelled: Bags without a label, where others have one.
        imbalance: Bags of the largest class over those of the smallest.
        groups: How many groups, where there are some.
        splits: Bags of each split, where there are some.
        known: Share of bags whose relevance is known.
        relevant: Share of relevant segments in these.
        columns: Names of a segment's numbers.
        missing: Missing cells of each column that has any.
        roles: Name, role and reason of every column of the files.
    """

    source: str
    kind: str
    bags: int
    segments: int
    lengths: tuple[int, float, int]
    classes: dict[str, int]
    unlabelled: int
    imbalance: float | None
    groups: int | None
    splits: dict[str, int] | None
    known: float
    relevant: float | None
    columns: tuple[str, ...]
    missing: dict[str, int]
    roles: tuple[tuple[str, str, str], ...]

    def as_numbers(self) -> dict[str, Any]:
        """The same for JSON."""
        return asdict(self)


def describe(collection: Collection) -> Description:
    """Counts of bags, segments, classes, groups and known relevance."""
    view = View(collection)
    counts = view.class_counts()
    if collection.multi_label and collection.labels is not None:
        sums = collection.labels.sum(0).tolist()
        counts = dict(zip(collection.label_names, sums, strict=True))
    relevant = None
    if collection.known is not None and collection.bag.z is not None:
        known = collection.known.numpy()
        z = view.flat(collection.bag.z)[np.repeat(known, view.lengths)]
        relevant = float(z.mean()) if z.size else None
    present = [count for count in counts.values() if count]
    group = collection.bag.group
    return Description(
        collection.source,
        collection.kind,
        len(collection),
        int(view.lengths.sum()),
        (int(view.lengths.min()), float(np.median(view.lengths)), int(view.lengths.max())),
        counts,
        0 if collection.label_known is None else int((~collection.label_known).sum()),
        max(present) / min(present) if present else None,
        None if group is None else len(group.unique()),
        None if collection.split is None else dict(Counter(collection.split)),
        0.0 if collection.known is None else float(collection.known.float().mean()),
        relevant,
        collection.columns,
        collection.missing_cells(),
        tuple((role.name, role.role, role.reason) for role in collection.roles),
    )
