r"""A focus taught by an auditor: expectation–maximisation between the two.

The auditor of :mod:`foveate.trust.auditor` reads the bag's label from single segments. Here g is
such an auditor, trained on all segments of a bag alike. With :math:`p_j = \sigma_y(g(x_j))` and
equally frequent classes, the likelihood ratio of a segment between bags of class y and others is

.. math:: r_j = (C - 1)\, \frac{p_j}{1 - p_j}.

If a bag has background b and one segment of evidence :math:`f_y`, :math:`r_j - 1` is proportional
to :math:`f_y(x_j) / b(x_j)`, and with the prior :math:`\alpha_j^t` segment j is the evidence with
probability

.. math:: w_j \propto \alpha_j^t \max(0, r_j - 1).

The E-step computes w before each epoch; the M-step lowers :math:`-\sum_j w_j \log \alpha_j`, which
teaches the focus, and :math:`-\tfrac1m \sum_j \log p_j`, which trains the auditor.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from foveate.attention.likelihood import label_log_prob, log_weights, map_segments
from foveate.attention.paradigms.contract import PARADIGMS, Aux, Paradigm
from foveate.attention.paradigms.published import Marginal
from foveate.attention.paradigms.schedules import TwoPhase
from foveate.attention.paradigms.witness import TopMarginal
from foveate.bags.segments import Network, Segments, dense
from foveate.errors import FoveateError

__all__ = ["Taught", "TaughtFocus"]


@dataclass(frozen=True)
class TaughtFocus(Paradigm):
    r"""The loss of auditor and focus, :math:`-\sum_j w_j \log\alpha_j - \tfrac1m\sum_j \log p_j`.

    Bags without evidence for the label (all :math:`r_j \le 1`) do not teach the focus.

    Args:
        prior: t, how much attention counts in the E-step: 0 for the auditor alone, 1 for EM.
    """

    recalls: ClassVar[bool] = True
    prior: float = 0.0

    def __post_init__(self) -> None:
        if self.prior < 0:
            raise FoveateError(f"prior must not be negative, got {self.prior}")

    def remember(self, alpha: Tensor, x: Segments, g: Network, y: Tensor) -> Tensor:
        """w, shape (B, m); zeros for a bag that does not teach."""
        logits = dense(map_segments(g, x))
        label = torch.nn.functional.one_hot(y, logits.shape[2]).bool().unsqueeze(1)
        others = logits.masked_fill(label, -torch.inf).logsumexp(2)
        label_score = logits.masked_fill(~label, -torch.inf).logsumexp(2)
        ratio = (logits.shape[2] - 1) * (label_score - others).exp()
        excess = torch.where(alpha > 0, (ratio - 1).clamp(0, 1e6), 0.0)
        w = excess * alpha**self.prior if self.prior else excess
        return w / w.sum(1, keepdim=True).clamp_min(torch.finfo(w.dtype).tiny)

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        """``aux`` holds w, shape (B, m); without it w is computed here."""
        w = self.remember(alpha, x, g, y).detach() if aux is None else aux
        valid = (alpha > 0).to(alpha.dtype)
        focus = (w * log_weights(alpha).masked_fill(w == 0, 0.0)).sum(1)
        auditor = (label_log_prob(x, g, y) * valid).sum(1) / valid.sum(1)
        return -focus - auditor

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return Marginal().log_prob(alpha, x, g)

    def calls(self, m: int) -> int:
        return 2 * m


@PARADIGMS.register("taught")
@dataclass(frozen=True)
class Taught(TwoPhase):
    """Auditor and focus, then the marginal likelihood of the top segments.

    The second phase is that of :class:`~foveate.attention.paradigms.witness.Witness`: it makes
    focus and prediction sharp. A taught model must be examined by an auditor of another kind.

    Args:
        switch: When the second phase begins, as in :class:`TwoPhase`.
        phases: The two paradigms, in order.
        patience: Epochs without a lower training loss that make a plateau.
    """

    label: ClassVar[str] = "Taught"
    colour: ClassVar[str] = "#44AA99"
    shape: ClassVar[str] = "diamond"
    in_lab: ClassVar[bool] = False
    fresh_optimizer: ClassVar[bool] = True
    switch: float | str = 0.6
    phases: tuple[Paradigm, Paradigm] = field(
        default_factory=lambda: (TaughtFocus(), TopMarginal())
    )

    def objective(self) -> Paradigm:
        return self.phases[-1].objective()
