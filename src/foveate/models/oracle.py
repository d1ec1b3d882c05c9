r"""The oracle: a model that is given the relevant segments z during training only.

It is an upper bound for all paradigms with the same networks: the remaining gap to a perfect score
is due to the data and the networks.
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from foveate.attention.paradigms import Hard, Marginal
from foveate.bags.segments import Network, Segments
from foveate.errors import FoveateError
from foveate.models.focus import AttentionModel, Focus

__all__ = ["Oracle", "OracleModel"]


class OracleModel(AttentionModel):
    r"""Any model whose attention is restricted to the relevant segments during training.

    :math:`\tilde\alpha_j = \alpha_j\,[j \in z]`, not renormalised; a bag without relevant segments
    keeps its attention. Under :class:`Oracle` the loss of a bag is then
    :math:`-\log \sum_{j \in z} \alpha_j \sigma_y(g(x_j))`: with one relevant segment exactly the
    cross-entropy of attention on it plus that of g on it, and g reads no other. In evaluation mode
    attention is that of the inner model, without z.

    Args:
        model: The inner model.
    """

    needs_z: ClassVar[bool] = True

    def __init__(self, model: AttentionModel) -> None:
        super().__init__()
        self.model = model

    @property
    def g(self) -> nn.Module:  # type: ignore[override]
        """The classifier of the inner model."""
        return self.model.g

    def attend(self, x: Segments, mask: Tensor | None, z: Tensor | None = None) -> Focus:
        focus = self.model.attend(x, mask, z)
        if not self.training:
            return focus
        if z is None:
            raise FoveateError("an oracle needs the relevant segments z")
        allowed = z | ~z.any(1, keepdim=True)
        return focus._replace(alpha=focus.alpha * allowed)


@dataclass(frozen=True)
class Oracle(Marginal):
    """Maximum likelihood of label and relevant segment for :class:`OracleModel`.

    Inference is that of hard attention.

    It is not a registered paradigm, because a race does not use z.
    """

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return Hard().log_prob(alpha, x, g)
