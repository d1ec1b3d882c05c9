"""Ours: a witness works against classes read from the background, at a few calls a bag."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from foveate.attention.likelihood import gather_label, log_weights
from foveate.attention.maps import log_softmax
from foveate.attention.paradigms.contract import PARADIGMS, Aux, Paradigm
from foveate.attention.paradigms.published import Hybrid, Soft
from foveate.attention.paradigms.wrappers import Wrapper
from foveate.bags.segments import Network, Segments, select
from foveate.errors import FoveateError

__all__ = ["TopMarginal", "WithWitness", "Witness"]


@dataclass(frozen=True)
class WithWitness(Wrapper):
    r"""Any paradigm with some more segments, drawn evenly from the bag, asked for the label.

    :math:`\ell - \lambda \log \sigma_y(g(x_r))`, in the mean over those drawn. A bag's background
    is independent of its label, so of background segments this teaches g the frequencies of the
    classes, that is, to say nothing; of relevant ones, found by the focus or not, it teaches the
    class. Reading a class from the background then is no resting place of the flow
    (:mod:`foveate.dynamics.witness`), as long as g can tell evidence from background.

    Args:
        paradigm: What has a witness.
        weight: λ.
        witnesses: How many are drawn, each a classifier call.
    """

    paradigm: Paradigm
    weight: float = 1.0
    witnesses: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        inside = self.paradigm
        if inside.draws or inside.picks or inside.recalls or inside.whole_bag:
            raise FoveateError(f"a witness cannot stand beside {type(inside).__name__}")
        object.__setattr__(self, "picks", self.witnesses)

    def transform_loss(self, loss: Tensor, alpha: Tensor, y: Tensor) -> Tensor:
        return loss

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        """``aux`` holds the places of the witnesses, shape (B, k); without it none is asked."""
        loss = self.paradigm.loss(alpha, x, g, y)
        if aux is None:
            return loss
        log_p = log_softmax(g(select(x, aux).flatten(0, 1))).unflatten(0, aux.shape)
        return loss - self.weight * self.witness_weight(log_p, y) * gather_label(log_p, y).mean(1)

    def witness_weight(self, log_p: Tensor, y: Tensor) -> Tensor | float:
        """How much the witnesses of each bag count that say this, log-probabilities (B, k, C)."""
        return 1.0

    def calls(self, m: int) -> int:
        return self.paradigm.calls(m) + self.witnesses

    def objective(self) -> Paradigm:
        """Without the witness: it guards the training and is no part of what is read."""
        return self.paradigm.objective()


@dataclass(frozen=True)
class TopMarginal(Paradigm):
    r"""Marginal likelihood over the most attended segments; the others are taken to say nothing.

    :math:`\ell = -\log\big(\sum_{j \in T} \alpha_j \sigma_y(g(x_j)) + (1 - \sum_{j \in T}
    \alpha_j)/C\big)` with T the ``top`` segments of largest attention. It costs as many classifier
    calls however long the bag; where α has its mass on T it is :class:`Marginal`.

    Args:
        top: How many segments are read.
    """

    selects: ClassVar[bool] = True
    top: int = 3

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        return -gather_label(self.log_prob(alpha, x, g), y)

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        weight, at = self.most_attended(alpha)
        read = select(x, at)
        log_p = log_softmax(g(read.flatten(0, 1))).unflatten(0, at.shape)
        silent = log_weights((1 - weight.sum(1)).clamp_min(0)) - math.log(log_p.shape[2])
        said = torch.logsumexp(log_weights(weight).unsqueeze(2) + log_p, 1)
        return torch.logaddexp(said, silent.unsqueeze(1))

    def most_attended(self, alpha: Tensor) -> tuple[Tensor, Tensor]:
        """Attention on the top segments, in falling order, and their places, (B, top) each."""
        # Of equals the first are read, wherever padding stands: a stable order, which topk has not.
        weight, at = alpha.sort(stable=True, dim=1, descending=True)
        return weight[:, : self.top], at[:, : self.top]

    def calls(self, m: int) -> int:
        return min(self.top, m)


@PARADIGMS.register("witness")
@dataclass(frozen=True)
class Witness(Hybrid):
    """Soft attention with witnesses, then the marginal likelihood of the top segments. Ours.

    Soft attention spreads, and the witnesses see to it that every class is known by its own
    evidence before the second phase makes focus and prediction sharp. From there the error mode is
    not reached again, and witnesses kept on would only cost confidence. Four, then three classifier
    calls a bag, however long it is.

    Args:
        switch: Where the second phase begins, as in :class:`Hybrid`.
        phases: The paradigms, in order.
    """

    switch: float | str = 0.6
    phases: tuple[Paradigm, Paradigm] = field(
        default_factory=lambda: (WithWitness(Soft(), 3.0, 3), TopMarginal())
    )

    def objective(self) -> Paradigm:
        return self.phases[-1].objective()
