r"""The oracle: a model that is told the relevant segments while it is trained, and not afterwards.

It bounds from above what any paradigm can reach with the same networks: the rest of the gap to a
perfect score is the data's and the networks', not the paradigm's. Reads z, by name.
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from foveate.attention.paradigms import Hard, Marginal
from foveate.bags.segments import Network, Segments
from foveate.errors import FoveateError
from foveate.models.focus import AttentionModel, Focus

__all__ = ["Oracle", "Taught"]


class Taught(AttentionModel):
    r"""Any model whose attention, in training, is cut down to the relevant segments.

    :math:`\tilde\alpha_j = \alpha_j\,[j \in z]`, not renormalised; a bag without relevant segments
    keeps its attention. Under :class:`Oracle` the loss of a bag is then
    :math:`-\log \sum_{j \in z} \alpha_j \sigma_y(g(x_j))`: with one relevant segment exactly the
    cross-entropy of attention on it plus that of g on it, and g never sees another. Once training
    is over (``eval``) it attends as the model inside, and asks for no z.

    Args:
        model: The model that is taught.
    """

    needs_z: ClassVar[bool] = True

    def __init__(self, model: AttentionModel) -> None:
        super().__init__()
        self.model = model

    @property
    def g(self) -> nn.Module:  # type: ignore[override]
        """The classifier of the model inside."""
        return self.model.g

    def attend(self, x: Segments, mask: Tensor | None, z: Tensor | None = None) -> Focus:
        focus = self.model.attend(x, mask, z)
        if not self.training:
            return focus
        if z is None:
            raise FoveateError("an oracle needs to be told the relevant segments z")
        told = z | ~z.any(1, keepdim=True)
        return focus._replace(alpha=focus.alpha * told)


@dataclass(frozen=True)
class Oracle(Marginal):
    """Maximum likelihood of label and relevant segment, for :class:`Taught`; read like hard
    attention. It is no registered paradigm: a race among the others does not know z.
    """

    def log_prob(self, alpha: Tensor, x: Segments, g: Network) -> Tensor:
        return Hard().log_prob(alpha, x, g)
