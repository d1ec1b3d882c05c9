"""The contract of a paradigm: a loss, the inference that goes with it, and its metadata."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from torch import Tensor

from foveate.attention.likelihood import gather_label, map_segments
from foveate.attention.maps import label_log_softmax, log_softmax
from foveate.bags.segments import Network, Segments, dense
from foveate.errors import FoveateError
from foveate.registry import Registry

__all__ = ["PARADIGMS", "Aux", "Paradigm", "Predictive", "Progress", "centred"]

Aux = Tensor | None


@dataclass(frozen=True)
class Progress:
    """The position of a stack member in its training at the start of an epoch.

    Args:
        epoch: The epoch, from 0 on.
        epochs: The number of epochs planned.
        seed: The member's seed.
        losses: Training losses of the epochs so far.
    """

    epoch: int
    epochs: int
    seed: int = 0
    losses: Sequence[float] = ()


class Paradigm(ABC):
    """A loss and the inference that goes with it.

    Class attributes declare how the paradigm appears in lists, reports and the lab, what inputs its
    loss needs, and how it reads bags. A subclass sets those that differ from the defaults; no other
    code needs to know its name or its type. Every registered class can be called without arguments.
    Flags on losses and reading are looked up on instances: a wrapper takes them from what it wraps.
    """

    # Appearance. Empty values are derived from the registered name by foveate.charts.palette.
    label: ClassVar[str] = ""  # name in tables and legends
    colour: ClassVar[str] = ""  # hexadecimal, "#0072B2"
    dash: ClassVar[tuple[int, ...]] = ()  # dash pattern of its lines
    shape: ClassVar[str] = ""  # Vega-Lite shape of its points

    # Where it is offered.
    raced_by_default: ClassVar[bool] = False  # in `foveate race` and `foveate fit` unless named
    in_lab: ClassVar[bool] = True  # among the choices of the lab's trainings
    has_switch: ClassVar[bool] = False  # whether the setting `switch` of a race applies to it

    # What its loss needs.
    draws: ClassVar[int] = 0  # uniform random numbers per bag and step, passed to `loss` as `aux`
    picks: ClassVar[int] = 0  # positions of uniformly drawn segments, passed to `loss` as `aux`
    recalls: ClassVar[bool] = False  # whether `remember` runs over all bags before each epoch
    needs_z: ClassVar[bool] = False  # whether known relevance adds `relevance_loss` to the loss
    fresh_optimizer: ClassVar[bool] = False  # whether a new phase resets the optimiser

    # How it reads bags.
    uses_attention: ClassVar[bool] = True  # the prediction depends on alpha, not on its mask alone
    per_segment: ClassVar[bool] = True  # g reads single segments only, never a mixture
    selects: ClassVar[bool] = False  # inference reads only the most attended segments
    whole_bag: ClassVar[bool] = False  # g reads bags (B, m, *); there is no attention to examine

    @classmethod
    def from_settings(cls, switch: float | str) -> Self:
        """The paradigm as the settings of a race ask for it.

        Args:
            switch: When the second phase begins; used where ``has_switch`` is set.
        """
        return cls()

    @property
    def phase_labels(self) -> tuple[str, ...]:
        """The labels of its phases in order; one for a paradigm without a schedule."""
        return (self.label or type(self).__name__,)

    @abstractmethod
    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        """The loss of each bag, shape (B,)."""

    @abstractmethod
    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        """Log-probabilities of the classes by this paradigm's inference, shape (B, C)."""

    def classify_once(self, x: Segments, g: Network) -> tuple[Segments, Network]:
        """Segments and classifier that give the same inference with one classifier call each.

        Where g reads single segments only, these are the logits of the segments and the identity.
        """
        return (map_segments(g, x), _identity) if self.per_segment else (x, g)

    def read(self, alpha: Tensor, x: Segments, g: Network, y: Tensor) -> tuple[Tensor, Tensor]:
        """`log_prob` and `loss` of the same bags."""
        return self.log_prob(alpha, x, g), self.loss(alpha, x, g, y)

    def evidence(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        r"""Signed evidence of every segment for every class, shape (B, m, C).

        .. math:: e_{jc} = \alpha_j \Big(g_c(x_j) - \tfrac1C \sum_k g_k(x_j)\Big)

        unless a paradigm defines its own: the centred logits of the segment alone, times its
        attention. They sum to the centred logits of the bag where logits are averaged, and under
        soft attention where g is affine.
        """
        return alpha.unsqueeze(2) * centred(dense(map_segments(g, x)))

    def segment_logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        """Centred logits of the bag that consists of one segment alone, shape (B, m, C).

        They do not depend on attention; padding, where alpha is 0, has zeros.
        """
        alone = centred(dense(map_segments(g, x)))
        return alone.masked_fill((alpha == 0).unsqueeze(2), 0.0)

    def segment_weights(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        """The share of each segment in the prediction, shape (B, m): attention, if it is used."""
        return alpha

    @abstractmethod
    def calls(self, m: int) -> int:
        """Classifier calls per bag of m segments and training epoch."""

    def remember(self, alpha: Tensor, x: Segments, g: Network, y: Tensor) -> Tensor:
        """The `aux` of `loss` during the next epoch, where ``recalls`` is set."""
        raise NotImplementedError

    def relevance_loss(self, alpha: Tensor, z: Tensor | None) -> Tensor:
        """The loss that known relevance z (B, m) adds per bag, where ``needs_z`` is set."""
        raise NotImplementedError

    def in_chunks(self, chunk: int) -> "Paradigm":
        """The same paradigm with at most ``chunk`` segments classified at a time, if it can."""
        return self

    def without(self, absent: tuple[int, ...]) -> "Paradigm":
        """The same paradigm with classes ``absent`` without evidence, if it has such classes."""
        return self

    def objective(self) -> "Paradigm":
        """The exact loss, where the training loss is an estimate of it or has further terms."""
        return self

    def phase(self, progress: Progress) -> "Paradigm":
        """The paradigm in force during an epoch; itself unless there is a schedule."""
        return self

    def reading(self, progress: Progress) -> "Paradigm":
        """The paradigm whose inference applies after an epoch: the phase that was in force."""
        return self.phase(progress)

    def in_final_phase(self, progress: Progress) -> bool:
        """Whether no other phase follows, so that early stopping may end the training."""
        return True

    def switch_epoch(self, epochs: int) -> int | None:
        """The epoch in which the last phase starts; None if there is one phase or a loss decides.

        Args:
            epochs: The number of epochs planned.
        """
        return None

    @property
    def fixed_schedule(self) -> bool:
        """Whether the epochs of each phase are known before training."""
        return True


class Predictive(Paradigm):
    """A paradigm whose loss is the negative log-probability of the label under its inference."""

    @abstractmethod
    def logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        """Logits of the classes, shape (B, C)."""

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        return -label_log_softmax(self.logits(alpha, x, g), y)

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return log_softmax(self.logits(alpha, x, g))

    def read(self, alpha: Tensor, x: Segments, g: Network, y: Tensor) -> tuple[Tensor, Tensor]:
        log_p = self.log_prob(alpha, x, g)
        return log_p, -gather_label(log_p, y)


def centred(logits: Tensor) -> Tensor:
    """Logits minus their mean over the classes, the last axis."""
    return logits - logits.mean(-1, keepdim=True)


def _identity(rows: Tensor) -> Tensor:
    return rows


def _check_usable(kind: type[Paradigm]) -> None:
    if not issubclass(kind, Paradigm):
        raise FoveateError("a paradigm must be a subclass of foveate.attention.paradigms.Paradigm")
    kind()


PARADIGMS: Registry[type[Paradigm]] = Registry(
    "paradigm",
    package="foveate.attention.paradigms",
    group="foveate.paradigms",
    check=_check_usable,
)
"""Paradigms by name: ``PARADIGMS.get("soft")()``; ``@PARADIGMS.register("name")`` adds one."""
