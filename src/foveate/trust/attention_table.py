"""Attention from a table: a verdict without the model.

Columns (CSV, Parquet, JSON lines) or arrays (NPZ) are ``bag``, ``segment`` (its place in the bag,
from 0) and ``attention``, before or after normalisation; optionally ``p_CLASS``, the predicted
probabilities of the bag, and ``segment_p_CLASS``, those of the segment alone.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from foveate.attention.maps import softmax
from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.trust.attention_columns import (
    bag_and_segment,
    bag_probabilities,
    read_cells,
    segment_probabilities,
)
from foveate.trust.segment_evidence import masks
from foveate.trust.subject import Reading, Subject
from foveate.types import Array

__all__ = ["AttentionTable", "read_attention"]

NOT_DONE = (
    "Not done, since it needs the model read again: removal, transplant and repetition of "
    "segments, uniform attention, and whether segments see each other before attention."
)


class AttentionTable(Subject):
    """Attention that a model of any framework gave, one row of numbers for each bag.

    Args:
        alpha: Attention, shape (n, m), zero where there is no segment.
        s: What attention grows with, shape (n, m).
        p: Predicted class probabilities, shape (n, C); nan where not known.
        segment_p: Those of single segments, shape (n, m, C); nan where not known.
        notes: What was recognised, a sentence each.
    """

    size = 1
    rereadable = False

    def __init__(
        self, alpha: Array, s: Array, p: Array, segment_p: Array, notes: tuple[str, ...] = ()
    ) -> None:
        self.alpha, self.s, self.p, self.segment_p, self.notes = alpha, s, p, segment_p, notes

    def read(self, bags: Sequence[Bag]) -> Reading:
        if len(bags) != 1 or bags[0].shape != self.alpha.shape:
            raise FoveateError(f"the table has attention for bags of shape {self.alpha.shape}")
        p = self.p[None]
        even = np.full(p.shape, np.nan)
        return Reading(self.s[None], self.alpha[None], p, p, even, self.segment_p[None])

    def reread(self, bags: Sequence[Bag], keep: Array) -> Array:
        raise FoveateError("attention from a table cannot be read again")

    def take(self, rows: Array) -> "AttentionTable":
        parts = (self.alpha[rows], self.s[rows], self.p[rows], self.segment_p[rows])
        return AttentionTable(*parts, self.notes)


def read_attention(
    path: Path, ids: Sequence[str], bag: Bag, classes: Sequence[str]
) -> AttentionTable:
    r"""Attention from a file, for bags with names.

    Args:
        path: CSV, TSV, JSON lines, Parquet or NPZ; see the module.
        ids: Names of the bags.
        bag: The bags.
        classes: Names of the classes.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> text = "bag,segment,attention\na,0,0.25\na,1,0.75\nb,0,0.5\nb,1,0.5\n"
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "attention.csv"
        ...     _ = path.write_text(text)
        ...     bag = Bag(torch.zeros(2, 2, 3), torch.tensor([0, 1]))
        ...     table = read_attention(path, ["a", "b"], bag, ["no", "yes"])
        >>> table.alpha.tolist()
        [[0.25, 0.75], [0.5, 0.5]]
    """
    cells = read_cells(path, classes)
    rows_of, segments = bag_and_segment(cells, ids, bag)
    exists = masks([bag])[0]
    attention = np.full(bag.shape, np.nan)
    attention[rows_of, segments] = cells.numbers("attention")
    missing = exists & np.isnan(attention)
    if missing.any():
        i, j = (int(part[0]) for part in np.nonzero(missing))
        raise FoveateError(f"{path} has no attention for segment {j} of bag '{ids[i]}'")
    weights = _are_weights(path, attention, exists, ids)
    filled = torch.from_numpy(np.where(exists, attention, 0.0))
    alpha = filled.numpy() if weights else softmax(filled, torch.from_numpy(exists)).numpy()
    s = np.where(exists, np.log(np.maximum(alpha, 1e-300)), 0.0) if weights else filled.numpy()
    p = bag_probabilities(cells, rows_of, len(bag), classes)
    segment_p = segment_probabilities(cells, rows_of, segments, bag.shape, classes)
    return AttentionTable(alpha, s, p, segment_p, _notes(weights, p, segment_p))


def _notes(weights: bool, p: Array, segment_p: Array) -> tuple[str, ...]:
    kind = (
        "Attention is given as weights that sum to one in every bag."
        if weights
        else "Attention is given as scores, before normalisation; the softmax of them is read."
    )
    notes = [kind, NOT_DONE]
    if np.isnan(p).any():
        notes.append(
            "Not known, since the table has no columns p_CLASS: how accurate the model is."
        )
    if np.isnan(segment_p).any():
        notes.append("Not known, without columns segment_p_CLASS: what it says of single segments.")
    return tuple(notes)


def _are_weights(path: Path, attention: Array, exists: Array, ids: Sequence[str]) -> bool:
    """Whether attention is normalised: not negative, and summing to one in every bag.

    Where most bags sum to one, those that do not are mistakes.
    """
    inside = np.where(exists, attention, 0.0)
    total = inside.sum(1)
    off = np.abs(total - 1) > 1e-2
    if not off.any() and not (inside < 0).any():
        return True
    if off.mean() < 0.5:
        i = int(np.flatnonzero(off | (inside < 0).any(1))[0])
        if (inside[i] < 0).any():
            raise FoveateError(f"{path}: attention of bag '{ids[i]}' must not be negative")
        raise FoveateError(
            f"{path}: attention of bag '{ids[i]}' must sum to one as in other bags, got "
            f"{total[i]:.3g}"
        )
    return False
