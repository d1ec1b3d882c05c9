r"""Paradigms: how attention and a classifier become a loss, and how they are read.

A paradigm sees ``alpha`` (B, m), segments ``x``, a classifier ``g`` from segments to logits
(B, C), and labels ``y`` (B,). It holds no state, so a model trained under one may be read under
any other; that is what the papers' three inference rules are.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch
from torch import Tensor

from foveate.errors import FoveateError
from foveate.likelihood import entropy, label_log_prob, log_weights, of_label
from foveate.maps import label_log_softmax, log_softmax
from foveate.registry import Registry
from foveate.segments import Network, Segments, dense, each, mix, select

__all__ = [
    "EM",
    "PARADIGMS",
    "Direct",
    "Hard",
    "Hybrid",
    "LogitAverage",
    "Marginal",
    "Paradigm",
    "Progress",
    "RandomEpochs",
    "SampledHard",
    "Soft",
    "TopMarginal",
    "WithClassWeights",
    "WithEntropy",
    "WithFocus",
    "WithWitness",
    "Witness",
]

PARADIGMS: Registry[Callable[..., "Paradigm"]] = Registry("paradigm")

Aux = Tensor | None


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

    def told(self, alpha: Tensor, z: Tensor | None) -> Tensor:
        """What known relevance z (B, m) adds to the loss of each bag, where ``needs_z`` is set."""
        raise NotImplementedError

    def objective(self) -> "Paradigm":
        """The exact loss that this paradigm lowers, where its own is an estimate of it."""
        return self

    def phase(self, progress: Progress) -> "Paradigm":
        """The paradigm in force during an epoch; a plain paradigm is its own only phase."""
        return self


class _Predictive(Paradigm):
    """A paradigm whose loss is minus the log-probability that its own inference gives the label."""

    @abstractmethod
    def logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        """Logits of the classes, shape (B, C)."""

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        return -label_log_softmax(self.logits(alpha, x, g), y)

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return log_softmax(self.logits(alpha, x, g))

    def read(self, alpha: Tensor, x: Segments, g: Network, y: Tensor) -> tuple[Tensor, Tensor]:
        log_p = self.log_prob(alpha, x, g)
        return log_p, -of_label(log_p, y)


@PARADIGMS.register("soft")
@dataclass(frozen=True)
class Soft(_Predictive):
    r"""Soft attention: g reads the mixture of segments.

    :math:`\ell = -\log \sigma_y(g(\sum_j \alpha_j x_j))`. [vr23] Sec. 2.3
    """

    per_segment: ClassVar[bool] = False

    def logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return g(mix(alpha, x))

    def calls(self, m: int) -> int:
        return 1


@PARADIGMS.register("hard")
@dataclass(frozen=True)
class Hard(Paradigm):
    r"""Hard attention: the expected loss of one drawn segment, exactly; reads the top segment.

    :math:`\ell = -\sum_j \alpha_j \log \sigma_y(g(x_j))`. [vr23] Sec. 2.3

    Args:
        chunk: Segments classified at a time (see :func:`label_log_prob`).
    """

    chunk: int | None = None

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        return -(alpha * label_log_prob(x, g, y, self.chunk)).sum(1)

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return log_softmax(g(select(x, alpha.argmax(1))))

    def calls(self, m: int) -> int:
        return m


@PARADIGMS.register("lvml")
@dataclass(frozen=True)
class Marginal(Paradigm):
    r"""Marginal likelihood (LVML): minus the log-likelihood of the SDC model, in log space.

    :math:`\ell = -\log \sum_j \alpha_j \sigma_y(g(x_j))`. [vr23] Sec. 2.3

    Args:
        chunk: Segments classified at a time (see :func:`label_log_prob`).
    """

    chunk: int | None = None

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        return -torch.logsumexp(log_weights(alpha) + label_log_prob(x, g, y, self.chunk), 1)

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        p = each(lambda rows: log_softmax(g(rows)).exp(), x)
        return mix(alpha, p).clamp_min(torch.finfo(alpha.dtype).tiny).log()

    def calls(self, m: int) -> int:
        return m


@dataclass(frozen=True)
class TopMarginal(Paradigm):
    r"""Marginal likelihood over the most attended segments; the others are taken to say nothing.

    :math:`\ell = -\log\big(\sum_{j \in T} \alpha_j \sigma_y(g(x_j)) + (1 - \sum_{j \in T}
    \alpha_j)/C\big)` with T the ``top`` segments of largest attention. It costs as many classifier
    calls however long the bag; where α has its mass on T it is :class:`Marginal`.

    Args:
        top: How many segments are read.
    """

    top: int = 3

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        return -of_label(self.log_prob(alpha, x, g), y)

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        # Of equals the first are read, wherever padding stands: a stable order, which topk has not.
        weight, at = (
            part[:, : self.top] for part in alpha.sort(stable=True, dim=1, descending=True)
        )
        read = select(x, at)
        log_p = log_softmax(g(read.flatten(0, 1))).unflatten(0, at.shape)
        silent = log_weights((1 - weight.sum(1)).clamp_min(0)) - math.log(log_p.shape[2])
        said = torch.logsumexp(log_weights(weight).unsqueeze(2) + log_p, 1)
        return torch.logaddexp(said, silent.unsqueeze(1))

    def calls(self, m: int) -> int:
        return min(self.top, m)


@PARADIGMS.register("logit")
@dataclass(frozen=True)
class LogitAverage(_Predictive):
    r"""Averaged logits: g reads every segment, and its logits are mixed.

    :math:`\ell = -\log \sigma_y(\sum_j \alpha_j g(x_j))`. The released HateXplain script calls this
    LVML; it is not.
    """

    def logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return mix(alpha, each(g, x))

    def calls(self, m: int) -> int:
        return m


@PARADIGMS.register("em")
@dataclass(frozen=True)
class EM(Paradigm):
    r"""Expectation–maximisation of the marginal likelihood, an E-step an epoch.

    Before each epoch the responsibilities
    :math:`\gamma_j \propto \alpha_j \sigma_y(g(x_j))` of every bag are computed and kept (E); the
    steps of the epoch lower :math:`-\sum_j \gamma_j \log(\alpha_j \sigma_y(g(x_j)))` (M). With
    responsibilities renewed at every step the gradient would be the marginal likelihood's own.
    """

    recalls: ClassVar[bool] = True
    chunk: int | None = None

    def remember(self, alpha: Tensor, x: Segments, g: Network, y: Tensor) -> Tensor:
        joint = log_weights(alpha) + label_log_prob(x, g, y, self.chunk)
        return joint.softmax(1)

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        """``aux`` holds the responsibilities, shape (B, m); without them they are computed here."""
        gamma = self.remember(alpha, x, g, y).detach() if aux is None else aux
        joint = log_weights(alpha) + label_log_prob(x, g, y, self.chunk)
        return -(gamma * joint.masked_fill(gamma == 0, 0.0)).sum(1)

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return Marginal().log_prob(alpha, x, g)

    def objective(self) -> Paradigm:
        return Marginal(self.chunk)

    def calls(self, m: int) -> int:
        return 2 * m


@PARADIGMS.register("hard-sampled")
@dataclass(frozen=True)
class SampledHard(Paradigm):
    r"""Hard attention by two sampled segments a bag, for when m classifier calls are too many.

    With :math:`j_1, j_2 \sim \alpha` and :math:`\ell_k = -\log \sigma_y(g(x_{j_k}))` the gradient
    is :math:`\tfrac12 \sum_k \nabla\ell_k + \tfrac12(\ell_1 - \ell_2)(\nabla\log\alpha_{j_1} -
    \nabla\log\alpha_{j_2})`: the score-function estimator in which each sample is the other's
    control variate. It is unbiased for the gradient of :class:`Hard`. (The released captioning
    script adds its baseline where it must be subtracted; reference [vr23], errata.)
    """

    draws: ClassVar[int] = 2

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        """``aux`` holds two uniform numbers a bag, shape (B, 2)."""
        if aux is None:
            raise FoveateError("sampled hard attention needs two uniform numbers per bag as aux")
        edges = alpha.detach().cumsum(1)
        picks = (aux[:, :, None] * edges[:, None, -1:] >= edges[:, None, :]).sum(2)
        # Rounding can leave the last edge below the draw; the last segment with weight is meant.
        last = (alpha.detach() > 0).long().mul(torch.arange(alpha.shape[1])).amax(1, keepdim=True)
        picks = torch.minimum(picks, last)
        first, second = (-label_log_softmax(g(select(x, j)), y) for j in picks.unbind(1))
        log_alpha = log_weights(alpha.gather(1, picks))
        advantage = (first - second).detach()
        score = advantage * (log_alpha[:, 0] - log_alpha[:, 1]) / 2
        return (first + second) / 2 + score - score.detach()

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return Hard().log_prob(alpha, x, g)

    def objective(self) -> Paradigm:
        return Hard()

    def calls(self, m: int) -> int:
        return 2


@PARADIGMS.register("hybrid")
@dataclass(frozen=True)
class Hybrid(Paradigm):
    """Soft attention first, then hard from its weights on, with a fresh optimiser. [vr23] Sec. 5

    Args:
        switch: Where the second phase begins: a fraction of the epochs (below 1), an epoch (from 1
            on), or "plateau": once the training loss has not fallen for ``patience`` epochs. The
            paper states none; its known ratios lie between .8 and .91.
        phases: The paradigms, in order.
        patience: Epochs without a lower training loss that make a plateau.
    """

    fresh_optimizer: ClassVar[bool] = True
    switch: float | str = 0.8
    phases: tuple[Paradigm, Paradigm] = field(default_factory=lambda: (Soft(), Hard()))
    patience: int = 5

    def __post_init__(self) -> None:
        if isinstance(self.switch, str) and self.switch != "plateau":
            raise FoveateError(f"switch must be a number or 'plateau', got '{self.switch}'")
        if not isinstance(self.switch, str) and self.switch < 0:
            raise FoveateError(f"switch must not be negative, got {self.switch}")

    def phase(self, progress: Progress) -> Paradigm:
        return self.phases[int(self._switched(progress))]

    def _switched(self, progress: Progress) -> bool:
        if isinstance(self.switch, str):
            best, since = float("inf"), 0
            for loss in progress.losses:
                best, since = (loss, 0) if loss < best else (best, since + 1)
                if since >= self.patience:
                    return True
            return False
        start = self.switch * progress.epochs if self.switch < 1 else self.switch
        return progress.epoch >= round(start)

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        return self.phases[-1].loss(alpha, x, g, y, aux)

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return self.phases[-1].log_prob(alpha, x, g)

    def calls(self, m: int) -> int:
        return self.phases[-1].calls(m)


@PARADIGMS.register("random")
@dataclass(frozen=True)
class RandomEpochs(Hybrid):
    """Soft or hard, drawn anew for each epoch and seed: the practice the hybrid is held against.

    Read as hard attention. [vr23] Sec. 5, on reference [20]
    """

    fresh_optimizer: ClassVar[bool] = False

    def phase(self, progress: Progress) -> Paradigm:
        coin = torch.Generator().manual_seed(1_000_003 * progress.seed + progress.epoch)
        return self.phases[int(torch.randint(2, (), generator=coin))]


@PARADIGMS.register("direct")
@dataclass(frozen=True)
class Direct(_Predictive):
    """No attention at all: g reads the concatenated bag. A baseline. [pvr22] Sec. 3.1"""

    per_segment: ClassVar[bool] = False
    whole_bag: ClassVar[bool] = True

    def logits(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        rows = dense(x)
        there = (alpha > 0).to(rows.dtype)  # attention is uniform, so only padding has none
        return g(rows * there.reshape(*there.shape, *[1] * (rows.dim() - 2)))

    def calls(self, m: int) -> int:
        return 1


class _Around(Paradigm):
    """Another paradigm with its loss changed; its inference and its schedule stay."""

    paradigm: Paradigm

    def __post_init__(self) -> None:
        for name in ("draws", "picks", "recalls", "per_segment", "whole_bag", "fresh_optimizer"):
            object.__setattr__(self, name, getattr(self.paradigm, name))
        object.__setattr__(self, "needs_z", type(self).needs_z or self.paradigm.needs_z)

    @abstractmethod
    def changed(self, loss: Tensor, alpha: Tensor, y: Tensor) -> Tensor:
        """The loss of each bag, from that of the paradigm inside, shape (B,)."""

    def around(self, paradigm: Paradigm) -> Paradigm:
        """The same change around another paradigm."""
        return self if paradigm is self.paradigm else replace(self, paradigm=paradigm)  # type: ignore[type-var]

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        return self.changed(self.paradigm.loss(alpha, x, g, y, aux), alpha, y)

    def told(self, alpha: Tensor, z: Tensor | None) -> Tensor:
        return self.paradigm.told(alpha, z)

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return self.paradigm.log_prob(alpha, x, g)

    def read(self, alpha: Tensor, x: Segments, g: Network, y: Tensor) -> tuple[Tensor, Tensor]:
        log_p, loss = self.paradigm.read(alpha, x, g, y)
        return log_p, self.changed(loss, alpha, y)

    def remember(self, alpha: Tensor, x: Segments, g: Network, y: Tensor) -> Tensor:
        return self.paradigm.remember(alpha, x, g, y)

    def calls(self, m: int) -> int:
        return self.paradigm.calls(m)

    def objective(self) -> Paradigm:
        return self.around(self.paradigm.objective())

    def phase(self, progress: Progress) -> Paradigm:
        return self.around(self.paradigm.phase(progress))


@dataclass(frozen=True)
class WithEntropy(_Around):
    r"""Any paradigm with the entropy of its attention added to the loss.

    :math:`\ell + \lambda\,\mathrm{Ent}(\alpha)`, in nats, as in the text; the released code weighs
    :math:`(1-\lambda)\ell` against it. [pvr22] Sec. 5

    Args:
        paradigm: What is regularised.
        weight: λ; the released code has .005.
    """

    paradigm: Paradigm
    weight: float = 0.005

    def changed(self, loss: Tensor, alpha: Tensor, y: Tensor) -> Tensor:
        return loss + self.weight * entropy(alpha)


@dataclass(frozen=True)
class WithClassWeights(_Around):
    r"""Any paradigm with the loss of a bag weighed by its class, :math:`w_y \ell`.

    Args:
        paradigm: What is weighed.
        weights: One a class, w_0 … w_{C−1}.
    """

    paradigm: Paradigm
    weights: tuple[float, ...]

    def changed(self, loss: Tensor, alpha: Tensor, y: Tensor) -> Tensor:
        return loss * torch.tensor(self.weights, dtype=loss.dtype)[y]


@dataclass(frozen=True)
class WithFocus(_Around):
    r"""Any paradigm with known relevant segments supervised. Reads z, by name.

    :math:`\ell - \lambda \log \sum_{j \in z} \alpha_j` for bags that have a relevant segment;
    a bag without one counts as a bag of which nothing is known. Where a map gives the relevant
    segments exactly nothing, no gradient can pull attention there.

    Args:
        paradigm: What is supervised.
        weight: λ.
    """

    needs_z: ClassVar[bool] = True
    paradigm: Paradigm
    weight: float = 1.0

    def changed(self, loss: Tensor, alpha: Tensor, y: Tensor) -> Tensor:
        return loss

    def told(self, alpha: Tensor, z: Tensor | None) -> Tensor:
        if z is None:
            raise FoveateError("supervising the focus needs bags whose relevant segments are known")
        mass = (alpha * z).sum(1).clamp_min(torch.finfo(alpha.dtype).tiny)
        return -self.weight * torch.where(z.any(1), mass.log(), 0.0)


@dataclass(frozen=True)
class WithWitness(_Around):
    r"""Any paradigm with one more segment, drawn evenly from the bag, asked for the label.

    :math:`\ell - \lambda \log \sigma_y(g(x_r))`. A bag's background is independent of its label, so
    of background segments this teaches g the frequencies of the classes, that is, to say nothing;
    of relevant ones, found by the focus or not, it teaches the class. No class can then be read
    from the background (:mod:`foveate.dynamics.witness`).

    Args:
        paradigm: What has a witness.
        weight: λ.
    """

    picks: ClassVar[int] = 1
    paradigm: Paradigm
    weight: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.paradigm.draws or self.paradigm.recalls or self.paradigm.whole_bag:
            raise FoveateError(f"a witness cannot stand beside {type(self.paradigm).__name__}")
        object.__setattr__(self, "picks", type(self).picks)

    def changed(self, loss: Tensor, alpha: Tensor, y: Tensor) -> Tensor:
        return loss

    def loss(self, alpha: Tensor, x: Segments, g: Network, y: Tensor, aux: Aux = None) -> Tensor:
        """``aux`` holds the place of the witness, shape (B, 1); without it none is asked."""
        loss = self.paradigm.loss(alpha, x, g, y)
        if aux is None:
            return loss
        return loss - self.weight * label_log_softmax(g(select(x, aux[:, 0])), y)

    def calls(self, m: int) -> int:
        return self.paradigm.calls(m) + 1

    def objective(self) -> Paradigm:
        """Without the witness: it guards the training and is no part of what is read."""
        return self.paradigm.objective()


@PARADIGMS.register("witness")
@dataclass(frozen=True)
class Witness(Hybrid):
    """Soft attention with a witness, then the marginal likelihood of the top segments. Ours.

    Soft attention spreads, and the witness sees to it that every class is known by its own evidence
    before the second phase makes focus and prediction sharp. From there the error mode is not
    reached again, and a witness kept on would only cost confidence. Two, then three classifier
    calls a bag, however long it is.

    Args:
        switch: Where the second phase begins, as in :class:`Hybrid`.
        phases: The paradigms, in order.
    """

    switch: float | str = 0.6
    phases: tuple[Paradigm, Paradigm] = field(
        default_factory=lambda: (WithWitness(Soft(), 3.0), TopMarginal())
    )

    def objective(self) -> Paradigm:
        return self.phases[-1].objective()
