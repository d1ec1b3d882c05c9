"""Models of other libraries as something that can be examined.

The contract is one call: ``model(x, mask, alpha=None) -> (logits, scores)``. A given ``alpha``
(B, m) is the attention that the model must use; hidden segments are outside ``mask``. Plain modules
that return answers and attention are wrapped into it: see :mod:`foveate.trust.calling` for how they
are called, :mod:`foveate.trust.recognition` for how outputs are recognised, and
:mod:`foveate.trust.forcing` for how attention is set. Models whose attention cannot be set are read
on bags of one segment.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.trust.calling import Adjacency
from foveate.trust.forcing_reader import ForcingReader
from foveate.trust.model_reader import ReaderOptions, mask_of
from foveate.trust.subject import Reading, Subject
from foveate.trust.weights import AttentionOutput, OutputKind
from foveate.types import Array

__all__ = ["AttentionOutput", "BagModel", "External", "OutputKind"]


class BagModel(Protocol):
    """A model that reads bags, and whose attention can be set."""

    def __call__(self, x: Tensor, mask: Tensor, alpha: Tensor | None = None) -> Any:
        """Logits (B, C) or (B,) and attention before or after its softmax (B, m).

        Args:
            x: Segments, shape (B, m, …).
            mask: True where a segment exists, shape (B, m).
            alpha: Attention to use instead of the model's own, shape (B, m); rows sum to one.
        """


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
        >>> subject.read([Bag(x, torch.tensor([1, 0]))]).alpha[0, 0].tolist()
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
        options = ReaderOptions(attention, outputs, adjacency, places, classes, seed)
        self.readers = [ForcingReader(model, bag, options) for model in several]
        self.size = len(several)
        notes = [note for reader in self.readers for note in reader.notes()]
        self.notes = tuple(dict.fromkeys(notes))

    def read(self, bags: Sequence[Bag]) -> Reading:
        parts = [reader.read_bags(bag) for reader, bag in self._pairs(bags)]
        s, alpha, p, even, segment_p = (np.stack(part) for part in zip(*parts, strict=True))
        return Reading(s, alpha, p, p, even, segment_p)

    def reread(self, bags: Sequence[Bag], keep: Array) -> Array:
        read = []
        for (reader, bag), visible in zip(self._pairs(bags), torch.from_numpy(keep), strict=True):
            x, exists = reader.segments(bag), mask_of(bag)
            parts = [reader.read(x, mask & exists)[0] for mask in visible]
            read.append(np.stack([part.numpy() for part in parts]))
        return np.stack(read)

    def forced(self, bag: Bag, position: Array) -> Array:
        """Class probabilities with all attention on one segment of each bag, shape (S, n, C)."""
        rows = torch.nn.functional.one_hot(torch.from_numpy(position), bag.m).double()
        read = []
        for reader in self.readers:
            p = reader.forced(reader.segments(bag), mask_of(bag), rows)
            read.append(np.full((len(bag), reader.classes), np.nan) if p is None else p.numpy())
        return np.stack(read)

    def _pairs(self, bags: Sequence[Bag]) -> Iterator[tuple[ForcingReader, Bag]]:
        return zip(self.readers, bags if len(bags) > 1 else [bags[0]] * self.size, strict=True)
