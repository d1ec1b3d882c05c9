r"""Losses of paradigms and their gradients with respect to scores and logits, in closed form.

With bags b of weight :math:`c_b` (one over their number, times the weight of the class if there is
one), scores s, attention :math:`\alpha = \mathrm{softmax}(s)`, logits of segments or mixtures,
:math:`p = \sigma(\text{logits})` and the one-hot label :math:`e_y`:

- soft: :math:`\ell = -\log p_y` of the mixture; its logits have the gradient :math:`p - e_y`, and
  :math:`\partial\ell/\partial\alpha_j = x_j \cdot \partial\ell/\partial\tilde x`;
- hard: :math:`\ell = -\sum_j \alpha_j \log p_{jy}`; gradients :math:`\alpha_j(p_j - e_y)` of the
  logits of segment j, :math:`-\alpha_j(\log p_{jy} + \ell)` of its score;
- LVML: :math:`\ell = -\log \sum_j \alpha_j p_{jy}`; with the posterior
  :math:`\gamma_j = \alpha_j p_{jy} e^{\ell}` gradients :math:`\gamma_j(p_j - e_y)` of the logits,
  :math:`\alpha_j - \gamma_j` of the score;
- EM: :math:`\ell = -\sum_j \gamma_j \log(\alpha_j p_{jy})` with given :math:`\gamma`; gradients as
  for LVML.

The gradient of :math:`\sum_k t_k \log p_k` with respect to the logits is :math:`t - p \sum_k t_k`,
so that the weights ``t`` of the labels are all that the backward pass of a log-softmax needs.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor

from foveate.attention.paradigms import EM, Hard, Marginal, Paradigm, Soft, WithClassWeights
from foveate.training.closed.layouts import Layout, Loaded
from foveate.training.closed.networks import Chain, Memory
from foveate.training.stack import Batch

__all__ = ["Head", "Objective", "objective_of"]


class Objective(NamedTuple):
    """A loss with a closed gradient: the head that computes it, and the weights of the classes."""

    head: type["Head"]
    class_weights: tuple[float, ...] | None = None


def objective_of(phase: Paradigm) -> Objective | None:
    """The closed form of a paradigm's loss; None if there is none.

    Only exact types count, since a subclass may change the loss.

    Example:
        >>> objective_of(Soft()).head.__name__, objective_of(Hard(chunk=10))
        ('SoftHead', None)
    """
    if type(phase) is WithClassWeights:
        inner = objective_of(phase.paradigm)
        if inner is None or inner.class_weights is not None:
            return None
        return inner._replace(class_weights=phase.weights)
    if isinstance(phase, Hard | Marginal | EM) and phase.chunk is not None:
        return None
    head = HEADS.get(type(phase))
    return None if head is None else Objective(head)


class Head(ABC):
    """Computes losses and the gradient of the scores from attention; writes the gradient of g.

    Args:
        layout: The segments.
        g: The classifier.
        memory: Where results are stored.
        class_weights: Weight of each class divided by the number of bags, shape (C,), or None.
    """

    reads_segments: bool  # whether g reads the columns of the layout, not mixtures

    def __init__(
        self, layout: Layout, g: Chain, memory: Memory, class_weights: Tensor | None
    ) -> None:
        self.layout, self.g, self.memory = layout, g, memory
        self._class_weights = class_weights
        self.delta = memory.of("logits gradient", *g.outputs[-1].shape)

    @abstractmethod
    def load(self, batch: Batch, steps: list[Loaded]) -> None:
        """Set the labels of the next steps, which are run in order.

        Args:
            batch: Their bags, with a leading axis of steps.
            steps: Their segments.
        """

    @abstractmethod
    def write_scores_grad(self, k: int, step: Loaded) -> None:
        """Write the gradient of the mean loss with respect to the scores, from attention.

        Args:
            k: Number of the step.
            step: Its segments.
        """

    @abstractmethod
    def losses(self) -> Tensor:
        """The mean loss of each member in each step that was run, shape (steps, S)."""

    def _weights(self, y: Tensor) -> Tensor | float:
        """The weight of each bag in the mean loss."""
        by_class = self._class_weights
        return 1 / self.layout.bags if by_class is None else by_class[y]

    def _logits_grad(self, targets: Tensor, log_p: Tensor) -> Tensor:
        """The gradient of Σ targets · log p with respect to the logits."""
        delta: Tensor = torch._log_softmax_backward_data(
            targets, log_p, 1, log_p.dtype, out=self.delta
        )
        return delta


class SoftHead(Head):
    """Soft attention: g reads the mixture."""

    reads_segments = False

    def __init__(
        self, layout: Layout, g: Chain, memory: Memory, class_weights: Tensor | None
    ) -> None:
        super().__init__(layout, g, memory, class_weights)
        self._mixture_rows = layout.mixture.mT
        self._classes = torch.arange(self.delta.shape[1], device=self.delta.device).view(-1, 1)
        self._targets: tuple[Tensor, ...] = ()

    def load(self, batch: Batch, steps: list[Loaded]) -> None:
        if len(steps) != len(self._targets):
            shape = len(steps), *self.delta.shape
            self._all_targets = self.memory.of("targets", *shape)
            self._all_log_p = self.memory.of("log p", *shape)
            self._targets, self._log_p = self._all_targets.unbind(), self._all_log_p.unbind()
        weights = self._weights(batch.y)
        minus = -weights.unsqueeze(2) if isinstance(weights, Tensor) else -weights
        torch.eq(batch.y.unsqueeze(2), self._classes, out=self._all_targets)
        self._all_targets.mul_(minus)

    def write_scores_grad(self, k: int, step: Loaded) -> None:
        layout, g, log_p = self.layout, self.g, self._log_p[k]
        torch._log_softmax(g.forward(layout.mix(step)), 1, False, out=log_p)
        delta = self._logits_grad(self._targets[k], log_p)
        g.backward(delta, self._mixture_rows, layout.mixture_grad)
        layout.write_input_grad(step)
        alpha_grad, alpha = layout.write_alpha_grad(step), layout.alpha
        torch._softmax_backward_data(
            alpha_grad, alpha, layout.axis, alpha.dtype, grad_input=layout.scores_grad
        )

    def losses(self) -> Tensor:
        return (self._all_targets * self._all_log_p).sum((2, 3))


class SegmentHead(Head):
    """A paradigm in which g reads every segment."""

    reads_segments = True

    def load(self, batch: Batch, steps: list[Loaded]) -> None:
        labels = batch.y.unbind()
        self._cells = [self.layout.cells(*part) for part in zip(labels, steps, strict=True)]
        self._bag_weights = [self._weights(y) for y in labels]
        self._aux = [None] * len(steps) if batch.aux is None else batch.aux.unbind()
        self._losses = self.memory.of("losses of bags", *batch.y.shape)
        self._log_p = self.memory.of("log p", *self.delta.shape)
        self._targets = self.memory.of("targets", *self.delta.shape)

    def write_scores_grad(self, k: int, step: Loaded) -> None:
        alpha = self.layout.alpha
        layout, g, cells, weights = self.layout, self.g, self._cells[k], self._bag_weights[k]
        torch._log_softmax(g.forward(step.inputs), 1, False, out=self._log_p)
        label_log_p = self._log_p.flatten(1).gather(1, cells).view(alpha.shape)
        losses, shares, grad = self.terms(alpha, label_log_p, self._aux[k])
        torch.mul(losses.squeeze(layout.axis), weights, out=self._losses[k])
        by_bag = layout.by_bag(weights) if isinstance(weights, Tensor) else weights
        minus = (shares * by_bag).neg_().flatten(1)
        self._targets.zero_().flatten(1).scatter_add_(1, cells, minus)
        delta = self._logits_grad(self._targets, self._log_p)
        g.backward(delta, step.rows, layout.input_grad)
        torch.mul(grad, by_bag, out=layout.scores_grad)

    def losses(self) -> Tensor:
        return self._losses.sum(2)

    @abstractmethod
    def terms(
        self, alpha: Tensor, label_p: Tensor, aux: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Losses of bags, shares of segments in them, gradients with respect to the scores.

        Args:
            alpha: Attention.
            label_p: Log-probability of the label in each segment.
            aux: The auxiliary input of the paradigm, shape (S, B, m).
        """


class HardHead(SegmentHead):
    """Hard attention."""

    def terms(
        self, alpha: Tensor, label_p: Tensor, aux: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        expected = (alpha * label_p).sum(self.layout.axis, keepdim=True)
        return expected.neg(), alpha, (expected - label_p).mul_(alpha)


class MarginalHead(SegmentHead):
    """Marginal likelihood."""

    def terms(
        self, alpha: Tensor, label_p: Tensor, aux: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        joint = alpha.log().add_(label_p)
        total = joint.logsumexp(self.layout.axis, keepdim=True)
        shares = joint.sub_(total).exp_()
        return total.neg_(), shares, alpha - shares


class EMHead(SegmentHead):
    """The M-step of expectation–maximisation, given the responsibilities."""

    def terms(
        self, alpha: Tensor, label_p: Tensor, aux: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        assert aux is not None
        axis, shares = self.layout.axis, self.layout.arranged(aux)
        joint = alpha.log().add_(label_p).masked_fill_(shares == 0, 0.0)
        losses = -(shares * joint).sum(axis, keepdim=True)
        return losses, shares, alpha * shares.sum(axis, keepdim=True) - shares


HEADS: dict[type[Paradigm], type[Head]] = {
    Soft: SoftHead,
    Hard: HardHead,
    Marginal: MarginalHead,
    EM: EMHead,
}
