"""Paradigms with two phases: hybrid training and random alternation."""

from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from foveate.attention.paradigms.contract import PARADIGMS, Aux, Paradigm, Progress
from foveate.attention.paradigms.published import Hard, Soft
from foveate.bags.segments import Network, Segments
from foveate.errors import FoveateError

__all__ = ["Hybrid", "RandomEpochs", "TwoPhase"]


def _of_last_phase(name: str) -> Any:
    """A class attribute whose value on an instance is that of its last phase."""
    last = attrgetter(name)
    return property(lambda self: last(self.phases[-1]))


@dataclass(frozen=True)
class TwoPhase(Paradigm):
    """One paradigm, then another; inference is that of the phase in force, at the end the last.

    Args:
        switch: When the second phase begins: a fraction of the epochs (below 1), an epoch (from 1
            on), or "plateau": once the training loss has not fallen for ``patience`` epochs.
        phases: The two paradigms, in order.
        patience: Epochs without a lower training loss that make a plateau.
    """

    uses_attention: ClassVar[Any] = _of_last_phase("uses_attention")
    per_segment: ClassVar[Any] = _of_last_phase("per_segment")
    selects: ClassVar[Any] = _of_last_phase("selects")
    whole_bag: ClassVar[Any] = _of_last_phase("whole_bag")
    switch: float | str = 0.8
    phases: tuple[Paradigm, Paradigm] = field(default_factory=lambda: (Soft(), Hard()))
    patience: int = 5

    def __post_init__(self) -> None:
        if isinstance(self.switch, str) and self.switch != "plateau":
            raise FoveateError(f"switch must be a number or 'plateau', got '{self.switch}'")
        if not isinstance(self.switch, str) and self.switch < 0:
            raise FoveateError(f"switch must not be negative, got {self.switch}")

    @property
    def phase_labels(self) -> tuple[str, ...]:
        return tuple(label for phase in self.phases for label in phase.phase_labels)

    @property
    def fixed_schedule(self) -> bool:
        return not isinstance(self.switch, str)

    def switch_epoch(self, epochs: int) -> int | None:
        if isinstance(self.switch, str):
            return None
        return round(self.switch * epochs if self.switch < 1 else self.switch)

    def phase(self, progress: Progress) -> Paradigm:
        return self.phases[int(self.in_final_phase(progress))]

    def in_final_phase(self, progress: Progress) -> bool:
        start = self.switch_epoch(progress.epochs)
        if start is not None:
            return progress.epoch >= start
        best, since = float("inf"), 0
        for loss in progress.losses:
            best, since = (loss, 0) if loss < best else (best, since + 1)
            if since >= self.patience:
                return True
        return False

    def in_chunks(self, chunk: int) -> Paradigm:
        first, second = (phase.in_chunks(chunk) for phase in self.phases)
        return replace(self, phases=(first, second))

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        return self.phases[-1].loss(alpha, x, g, y, aux)

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return self.phases[-1].log_prob(alpha, x, g)

    def evidence(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return self.phases[-1].evidence(alpha, x, g)

    def segment_logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return self.phases[-1].segment_logits(alpha, x, g)

    def segment_weights(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return self.phases[-1].segment_weights(alpha, x, g)

    def calls(self, m: int) -> int:
        return self.phases[-1].calls(m)


@PARADIGMS.register("hybrid")
@dataclass(frozen=True)
class Hybrid(TwoPhase):
    """Soft attention first, then hard from its weights on, with a fresh optimiser. [vr23] Sec. 5

    The paper does not state when it switches; its known ratios lie between .8 and .91.

    Args:
        switch: When the second phase begins, as in :class:`TwoPhase`.
        phases: The two paradigms, in order.
        patience: Epochs without a lower training loss that make a plateau.
    """

    colour: ClassVar[str] = "#CC79A7"
    dash: ClassVar[tuple[int, ...]] = (9, 3, 2, 3)
    shape: ClassVar[str] = "diamond"
    raced_by_default: ClassVar[bool] = True
    has_switch: ClassVar[bool] = True
    fresh_optimizer: ClassVar[bool] = True

    @classmethod
    def from_settings(cls, switch: float | str) -> Self:
        return cls(switch=switch)


@PARADIGMS.register("random")
@dataclass(frozen=True)
class RandomEpochs(TwoPhase):
    """Soft or hard, drawn for each epoch and seed: the practice that hybrid is compared with.

    Inference is that of hard attention. [vr23] Sec. 5, on reference [20]
    """

    label: ClassVar[str] = "Random epochs"
    colour: ClassVar[str] = "#767676"
    in_lab: ClassVar[bool] = False

    def switch_epoch(self, epochs: int) -> int | None:
        return None

    def phase(self, progress: Progress) -> Paradigm:
        coin = torch.Generator().manual_seed(1_000_003 * progress.seed + progress.epoch)
        return self.phases[int(torch.randint(2, (), generator=coin))]

    def reading(self, progress: Progress) -> Paradigm:
        return self.phases[-1]

    def in_final_phase(self, progress: Progress) -> bool:
        return True
