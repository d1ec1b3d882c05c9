"""Standardised columns: mean and standard deviation of the training segments, part of a model."""

from dataclasses import dataclass

import torch
from torch import Tensor

from foveate.bags.mapped import row_parts

__all__ = ["Standardisation"]

MAX_DEVIATION = (
    20.0  # deviations: a column that hardly varied in training must not dominate the others
)


@dataclass(frozen=True)
class Standardisation:
    """Shift and scale of each number of a segment.

    Numbers more than 20 standard deviations from the mean are clipped.

    Args:
        mean: Shape of a segment.
        scale: Standard deviations, 1 where a column is constant; shape of a segment.

    Example:
        >>> scale = Standardisation.of(torch.tensor([[1.0, 5.0], [3.0, 5.0]]))
        >>> scale.apply(torch.tensor([[4.0, 6.0]]))
        tensor([[2., 1.]])
    """

    mean: Tensor
    scale: Tensor

    @classmethod
    def of(cls, rows: Tensor, indices: Tensor | None = None) -> "Standardisation":
        """The mean and the standard deviation of the segments ``rows`` (N, *).

        Args:
            rows: Segments.
            indices: Which of them count, shape (k,); None for all.
        """
        indices = torch.arange(len(rows)) if indices is None else indices
        mean = sum(part.double().sum(0) for part in row_parts(rows, indices)) / len(indices)
        square = sum((part.double() - mean).square().sum(0) for part in row_parts(rows, indices))
        scale = torch.as_tensor(square / len(indices)).sqrt()
        flat = scale <= 1e-12 * (1 + torch.as_tensor(mean).abs())
        return cls(torch.as_tensor(mean).float(), scale.masked_fill(flat, 1.0).float())

    def apply(self, rows: Tensor) -> Tensor:
        """Segments with their columns standardised, shape (N, *)."""
        return ((rows.float() - self.mean) / self.scale).clamp(-MAX_DEVIATION, MAX_DEVIATION)
