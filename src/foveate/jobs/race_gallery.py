"""Which held-out bags to show: those come first that some get right for the wrong reason."""

from collections.abc import Mapping

import numpy as np
import torch

from foveate.bags.bag import Bag
from foveate.bags.segments import stored, take
from foveate.metrics.focus import focus_true
from foveate.records.record import Array, Record

__all__ = ["pick_gallery"]


def pick_gallery(records: Mapping[str, Record], bag: Bag, member: int = 0) -> dict[str, Array]:
    """A few bags of one member: right with a wrong focus, right with the right one, and wrong.

    Args:
        records: The records of the paradigms that are compared.
        bag: The held-out bags of the member.
        member: Whose readings decide.

    Returns:
        ``rows`` (K,) into the held-out bags, and their ``segments`` (K, m, *) as stored.
    """
    rows = np.arange(min(6, len(bag))) if bag.z is None else _chosen(records, bag, member)
    segments = stored(take(bag.x, torch.from_numpy(rows)))
    return {"rows": rows, "segments": segments.numpy()}


def _chosen(records: Mapping[str, Record], bag: Bag, member: int) -> Array:
    z, y = np.asarray(bag.z), np.asarray(bag.y)
    mask = None if bag.mask is None else np.asarray(bag.mask)
    right = np.stack([r.final["log_p"][member].argmax(-1) == y for r in records.values()])
    focused = np.stack([focus_true(r.final["s"][member], z, mask) for r in records.values()])
    wrongly, rightly = (right & ~focused).sum(0), (right & focused).sum(0)
    order = np.lexsort((-wrongly, -wrongly * rightly))  # first where the paradigms differ most
    astray = [i for i in order if wrongly[i]][:4]
    wrong = np.flatnonzero(~right.all(0))[:2]
    sound = np.flatnonzero((right & focused).all(0))[:2]
    return np.array(list(dict.fromkeys([*astray, *sound, *wrong])), dtype=np.int64)
