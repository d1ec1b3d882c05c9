"""The focus–classify attention model (FCAM), and a model with fixed attention."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from foveate.attention.likelihood import map_segments
from foveate.attention.maps import MAPS
from foveate.bags.segments import Segments, as_matrix, map_stored
from foveate.errors import FoveateError

__all__ = ["FCAM", "AttentionModel", "FixedFocus", "Focus"]


class Focus(NamedTuple):
    """Scores, attention and representation of the segments of B bags.

    Args:
        s: Scores, shape (B, m).
        alpha: Attention, shape (B, m).
        h: The input of the classifier for each segment, shape (B, m, *).
    """

    s: Tensor
    alpha: Tensor
    h: Segments


class AttentionModel(nn.Module, ABC):
    """The contract of trainable models: a classifier ``g`` and :meth:`attend`.

    ``compares_segments`` says that the cost of a bag grows with the square of its length, so that
    the bags of a step are computed in groups of similar length.
    """

    g: nn.Module
    needs_z: ClassVar[bool] = False
    compares_segments: ClassVar[bool] = False

    @property
    def unwrapped(self) -> "AttentionModel":
        """The model itself; a wrapper returns the model it contains."""
        return self

    @abstractmethod
    def attend(self, x: Segments, mask: Tensor | None, z: Tensor | None = None) -> Focus:
        """Scores, attention and representation of the segments of B bags."""


class FCAM(AttentionModel):
    r"""Focus–classify attention model, :math:`\alpha = \mathrm{map}(f(x_1), …, f(x_m))`.

    The classifier reads :math:`\phi(x)`: the segment itself (averaging at the zeroth layer), or the
    output of a hidden layer of f (:math:`\tilde x = \sum_j \alpha_j \phi(x_j)`).
    [pvr22] Sec. 3.2 and Sec. 5, [vr23] Sec. 2.3

    Args:
        f: Focus network, from segments (N, *) to scores (N, 1) or (N,).
        g: Classifier, from φ (N, *) to logits (N, C).
        map: How scores become attention, a name in ``foveate list maps``.
        layer: Name of the submodule of f whose output is φ; None for the zeroth layer.

    Example:
        >>> model = FCAM(nn.Linear(2, 1), nn.Linear(2, 3), map="sparsemax")
        >>> model.attend(torch.zeros(1, 4, 2), None).alpha.tolist()
        [[0.25, 0.25, 0.25, 0.25]]
    """

    def __init__(
        self, f: nn.Module, g: nn.Module, map: str = "softmax", layer: str | None = None
    ) -> None:
        super().__init__()
        self.f, self.g = f, g
        self.map, self.layer = map, layer
        self._to_alpha = MAPS.get(map)
        if layer is not None and layer not in dict(f.named_modules()):
            module_names = ", ".join(name for name, _ in f.named_modules() if name)
            raise FoveateError(f"f has no layer '{layer}'; it has {module_names}")

    def attend(self, x: Segments, mask: Tensor | None, z: Tensor | None = None) -> Focus:
        if self.layer is None:
            scored, h = map_segments(self._score, x), x
        else:
            joint = map_segments(self._score_and_represent, x)
            scored, h = self._split(joint)
        s = as_matrix(scored)
        return Focus(s, self._to_alpha(s, mask), h)

    def _score(self, rows: Tensor) -> Tensor:
        """Scores of N segments, shape (N, 1)."""
        s = self.f(rows)
        n = rows.shape[0]  # not len(rows), which an ONNX exporter treats as a constant
        if s.numel() != n:
            raise FoveateError(f"f must return one score per segment, got {s.numel() // n}")
        return s.reshape(n, 1)

    def _score_and_represent(self, rows: Tensor) -> Tensor:
        """Scores and φ of N segments side by side, shape (N, 1 + |φ|), in one pass through f."""
        outputs: list[Tensor] = []
        layer = self.f.get_submodule(self.layer or "")
        hook = layer.register_forward_hook(lambda _module, _args, output: outputs.append(output))
        try:
            s = self._score(rows)
        finally:
            hook.remove()
        self._phi_shape = outputs[0].shape[1:]
        return torch.cat([s, outputs[0].flatten(1)], 1)

    def _split(self, joint: Segments) -> tuple[Segments, Segments]:
        phi = map_stored(lambda rows: rows[..., 1:].unflatten(-1, self._phi_shape), joint)
        return map_stored(lambda rows: rows[..., :1], joint), phi


class FixedFocus(AttentionModel):
    r"""A model with attention α on the relevant segment, (1−α)/(m−1) on each other. [vr23] Sec. 3

    With several relevant segments, α is shared among them and 1−α among the rest. It reads z.

    Args:
        g: The classifier.
        alpha: Attention on the relevant segments, in [0, 1].

    Example:
        >>> from foveate.models.nets import mlp
        >>> model = FixedFocus(mlp(2, 3), alpha=0.7)
        >>> round(float(model.alpha), 3)
        0.7
    """

    needs_z: ClassVar[bool] = True
    alpha: Tensor

    def __init__(self, g: nn.Module, alpha: float) -> None:
        super().__init__()
        if not 0 <= alpha <= 1:
            raise FoveateError(f"alpha must lie in [0, 1], got {alpha}")
        self.g = g
        self.register_buffer("alpha", torch.tensor(float(alpha)))

    def attend(self, x: Segments, mask: Tensor | None, z: Tensor | None = None) -> Focus:
        if z is None:
            raise FoveateError("a fixed focus needs the relevant segments z")
        inside = z.to(self.alpha.dtype)
        outside = 1 - inside if mask is None else mask.to(self.alpha.dtype) * (1 - inside)
        on = self.alpha * inside / inside.sum(1, keepdim=True).clamp_min(1)
        off = (1 - self.alpha) * outside / outside.sum(1, keepdim=True).clamp_min(1)
        total = on + off  # less than 1 where a bag has only relevant segments, or none
        return Focus(inside, total / total.sum(1, keepdim=True), x)
