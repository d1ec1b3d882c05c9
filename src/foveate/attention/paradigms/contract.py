"""What every paradigm offers to training, reading and reports."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from foveate.bags.segments import Network, Segments
from foveate.registry import Registry

__all__ = ["HOW_IT_READS", "PARADIGMS", "Aux", "Paradigm", "Progress"]

PARADIGMS: Registry[Callable[..., "Paradigm"]] = Registry(
    "paradigm", package="foveate.attention.paradigms"
)

Aux = Tensor | None
HOW_IT_READS = ("per_segment", "selects", "whole_bag")
"""What a paradigm that contains others has from the one it is read by."""


@dataclass(frozen=True)
class Progress:
    """Where a member of a training stands at the start of an epoch."""

    epoch: int
    epochs: int
    seed: int = 0
    losses: Sequence[float] = ()


class Paradigm(ABC):
    """A loss and the inference that goes with it."""

    draws: ClassVar[int] = 0  # uniform numbers per bag and step that the loss asks for as `aux`
    picks: ClassVar[int] = 0  # segments, drawn evenly from the bag, whose places it asks for
    recalls: ClassVar[bool] = False  # whether `remember` is run over all bags before each epoch
    per_segment: ClassVar[bool] = True  # whether g reads single segments only, never a mixture
    selects: ClassVar[bool] = False  # whether inference reads the most attended segments alone
    whole_bag: ClassVar[bool] = False  # whether g reads bags (B, m, *) instead of segments
    fresh_optimizer: ClassVar[bool] = False  # whether a new phase starts a new optimiser
    needs_z: ClassVar[bool] = False  # whether known relevance adds to the loss, by `told`

    @abstractmethod
    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        """The loss of each bag, shape (B,)."""

    @abstractmethod
    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        """Log-probabilities of the classes by this paradigm's inference, shape (B, C)."""

    def read(self, alpha: Tensor, x: Segments, g: Network, y: Tensor) -> tuple[Tensor, Tensor]:
        """`log_prob` and `loss` of the same bags."""
        return self.log_prob(alpha, x, g), self.loss(alpha, x, g, y)

    @abstractmethod
    def calls(self, m: int) -> int:
        """Classifier calls that one bag of m segments costs in one epoch of training."""

    def remember(self, alpha: Tensor, x: Segments, g: Network, y: Tensor) -> Tensor:
        """What `loss` gets as `aux` during the coming epoch, where ``recalls`` is set."""
        raise NotImplementedError

    def relevance_loss(self, alpha: Tensor, z: Tensor | None) -> Tensor:
        """What known relevance z (B, m) adds to the loss of each bag, where ``needs_z`` is set."""
        raise NotImplementedError

    def objective(self) -> "Paradigm":
        """The exact loss that this paradigm lowers, where its own is an estimate of it."""
        return self

    def phase(self, progress: Progress) -> "Paradigm":
        """The paradigm in force during an epoch; a plain paradigm is its own only phase."""
        return self

    def reading(self, progress: Progress) -> "Paradigm":
        """What bags are read by after an epoch: the phase that was in force."""
        return self.phase(progress)

    def in_final_phase(self, progress: Progress) -> bool:
        """Whether the training may be stopped after an epoch: no other phase is to come."""
        return True
