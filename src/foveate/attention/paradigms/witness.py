"""The witness paradigm: random segments are classified too, so that no class means background."""

import math
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, ClassVar

import torch
from torch import Tensor

from foveate.attention.likelihood import gather_label, log_weights
from foveate.attention.maps import log_softmax
from foveate.attention.paradigms.contract import PARADIGMS, Aux, Paradigm
from foveate.attention.paradigms.published import Soft
from foveate.attention.paradigms.schedules import TwoPhase
from foveate.attention.paradigms.wrappers import Wrapper
from foveate.bags.segments import Network, Segments, select
from foveate.errors import FoveateError

__all__ = ["TopMarginal", "WithWitness", "Witness"]


@dataclass(frozen=True)
class WithWitness(Wrapper):
    r"""Any paradigm with an extra loss on uniformly drawn segments, the witnesses.

    :math:`\ell - \lambda \log \sigma_y(g(x_r))`, averaged over the segments drawn. The background
    of a bag is independent of its label, so on background segments this term teaches g the class
    frequencies, that is, to make no prediction; on relevant segments, whether attended or not, it
    teaches the class. Reading a class from the background is then no stationary point of the flow
    (:mod:`foveate.dynamics.witness`), as long as g can separate evidence from background.

    Args:
        paradigm: The paradigm to extend.
        weight: λ.
        witnesses: Number of segments drawn, each one classifier call.
    """

    picks: ClassVar[Any] = property(attrgetter("witnesses"))
    paradigm: Paradigm
    weight: float = 1.0
    witnesses: int = 1

    def __post_init__(self) -> None:
        inner = self.paradigm
        if inner.draws or inner.picks or inner.recalls or inner.whole_bag:
            raise FoveateError(f"WithWitness cannot wrap {type(inner).__name__}")

    def transform_loss(self, loss: Tensor, alpha: Tensor, y: Tensor) -> Tensor:
        return loss

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        """``aux`` holds the positions of the witnesses, shape (B, k); None adds no term."""
        loss = self.paradigm.loss(alpha, x, g, y)
        if aux is None:
            return loss
        log_p = log_softmax(g(select(x, aux).flatten(0, 1))).unflatten(0, aux.shape)
        return loss - self.weight * self.witness_weight(log_p, y) * gather_label(log_p, y).mean(1)

    def witness_weight(self, log_p: Tensor, y: Tensor) -> Tensor | float:
        """The weight of each bag's witnesses, given their log-probabilities (B, k, C)."""
        return 1.0

    def calls(self, m: int) -> int:
        return self.paradigm.calls(m) + self.witnesses

    def objective(self) -> Paradigm:
        """The loss of the wrapped paradigm: the extra term is used in training only."""
        return self.paradigm.objective()


@dataclass(frozen=True)
class TopMarginal(Paradigm):
    r"""Marginal likelihood over the most attended segments; all others predict uniformly.

    :math:`\ell = -\log\big(\sum_{j \in T} \alpha_j \sigma_y(g(x_j)) + (1 - \sum_{j \in T}
    \alpha_j)/C\big)` with T the ``top`` segments of largest attention. The number of classifier
    calls does not grow with the bag; where α has its mass on T it equals :class:`Marginal`.

    Args:
        top: Number of segments read.
    """

    selects: ClassVar[bool] = True
    top: int = 3

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        return -gather_label(self.log_prob(alpha, x, g), y)

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        weight, index = self.most_attended(alpha)
        log_p = log_softmax(g(select(x, index).flatten(0, 1))).unflatten(0, index.shape)
        remainder = log_weights((1 - weight.sum(1)).clamp_min(0)) - math.log(log_p.shape[2])
        top = torch.logsumexp(log_weights(weight).unsqueeze(2) + log_p, 1)
        return torch.logaddexp(top, remainder.unsqueeze(1))

    def most_attended(self, alpha: Tensor) -> tuple[Tensor, Tensor]:
        """Attention on the top segments in descending order, and their positions, (B, top) each."""
        # A stable sort, unlike topk, picks the first of equal weights wherever padding is.
        weight, index = alpha.sort(stable=True, dim=1, descending=True)
        return weight[:, : self.top], index[:, : self.top]

    def calls(self, m: int) -> int:
        return min(self.top, m)


@PARADIGMS.register("witness")
@dataclass(frozen=True)
class Witness(TwoPhase):
    """Soft attention with witnesses, then the marginal likelihood of the top segments.

    Soft attention spreads over the bag, and the witnesses teach g every class by its own evidence
    before the second phase sharpens focus and prediction. From there the error mode is not reached
    again, and further witnesses would only lower the confidence. The two phases cost four and three
    classifier calls per bag, whatever its length.

    Args:
        switch: When the second phase begins, as in :class:`TwoPhase`.
        phases: The two paradigms, in order.
        patience: Epochs without a lower training loss that make a plateau.
    """

    colour: ClassVar[str] = "#D55E00"
    dash: ClassVar[tuple[int, ...]] = (14, 4)
    shape: ClassVar[str] = "cross"
    raced_by_default: ClassVar[bool] = True
    fresh_optimizer: ClassVar[bool] = True
    switch: float | str = 0.6
    phases: tuple[Paradigm, Paradigm] = field(
        default_factory=lambda: (WithWitness(Soft(), 3.0, 3), TopMarginal())
    )

    def objective(self) -> Paradigm:
        return self.phases[-1].objective()
