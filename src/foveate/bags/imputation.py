"""Missing numbers of segments: the median of the training segments, and an indicator."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from foveate.bags.mapped import row_parts, sampled_rows

__all__ = ["Imputation"]

LEAST_SHARE = 0.01  # of training segments that lack a number, for an indicator to be learnt from
CELLS = 1 << 24  # numbers whose median is taken at a time
MOST = 1 << 28  # numbers beyond which the medians are those of a sample
SAMPLE = 1 << 16  # segments of that sample: the error of a median is .5 % of the deviation


@dataclass(frozen=True)
class Imputation:
    """Replacement of missing numbers, part of a model.

    Args:
        medians: Median of each column over the training segments, shape (d,).
        indicators: Columns that have an indicator, 1 where the number is missing, shape (k,).

    Example:
        >>> rows = torch.tensor([[1.0, 5.0], [3.0, 0.0], [8.0, 7.0]])
        >>> missing = torch.tensor([[False, False], [False, True], [False, False]])
        >>> Imputation.of(rows, missing).apply(rows, missing).tolist()
        [[1.0, 5.0, 0.0], [3.0, 6.0, 1.0], [8.0, 7.0, 0.0]]
    """

    medians: Tensor
    indicators: Tensor

    @classmethod
    def of(
        cls, rows: Tensor, missing: Tensor | None = None, indices: Tensor | None = None
    ) -> "Imputation":
        """The medians of segments, and the columns that enough of them lack.

        Of more than 2²⁸ numbers the medians are those of 65,536 segments at equal distances.

        Args:
            rows: Segments, shape (N, d).
            missing: True where a number is missing, shape (N, d); None where none is.
            indices: Which segments count, shape (k,); None for all.
        """
        indices = torch.arange(len(rows)) if indices is None else indices
        if missing is None and len(indices) * rows.shape[1] > MOST:
            count = min(SAMPLE, len(indices))
            sample = torch.linspace(0, len(indices) - 1, count, dtype=torch.float64).long()
            rows, indices = sampled_rows(rows, indices[sample]), torch.arange(count)
        columns = torch.arange(rows.shape[1]).split(max(1, CELLS // max(1, len(indices))))
        medians = torch.cat([_medians(rows, missing, indices, part) for part in columns])
        if missing is None:
            return cls(medians, torch.zeros(0, dtype=torch.long))
        share = missing[indices].double().mean(0)
        return cls(medians, ((share >= LEAST_SHARE) & (share < 1)).nonzero().flatten())

    @property
    def extra(self) -> int:
        """Numbers that are added to a segment."""
        return len(self.indicators)

    def apply(self, rows: Tensor, missing: Tensor | None) -> Tensor:
        """Segments without missing numbers, followed by the indicators, shape (N, d + k).

        Args:
            rows: Segments, shape (N, d).
            missing: True where a number is missing, shape (N, d); None where none is.
        """
        if missing is None:
            return (
                rows
                if not self.extra
                else torch.cat([rows, rows.new_zeros(len(rows), self.extra)], 1)
            )
        filled = torch.where(missing, self.medians, rows)
        return torch.cat([filled, missing[:, self.indicators].to(rows.dtype)], 1)


def _medians(rows: Tensor, missing: Tensor | None, indices: Tensor, columns: Tensor) -> Tensor:
    """Medians of some columns, the mean of the two middle values; 0 where all are missing."""
    values = torch.cat([part[:, columns].float() for part in row_parts(rows, indices)])
    absent = torch.zeros_like(values, dtype=torch.bool)
    if missing is not None:
        absent = missing[:, columns][indices]
    present = values.masked_fill(absent, torch.inf).T.contiguous()
    ordered = torch.from_numpy(np.sort(present.numpy())).T  # torch's sort is slower
    count = (~absent).sum(0)
    low = ordered.gather(0, ((count - 1).clamp_min(0) // 2)[None])
    high = ordered.gather(0, (count // 2).clamp_max(len(values) - 1)[None])
    return torch.where(count > 0, ((low.double() + high.double()) / 2).float(), 0.0).squeeze(0)
