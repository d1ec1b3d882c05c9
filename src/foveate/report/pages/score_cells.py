"""Scores of a fit as cells of a table."""

from collections.abc import Sequence

import numpy as np

__all__ = ["COLUMNS", "score_cell"]

COLUMNS = {
    "balanced_accuracy": ("Balanced accuracy, %", 100, 1),
    "auroc": ("AUROC", 1, 3),
    "log_loss": ("Log loss, nats", 1, 3),
    "calibration_error": ("Calibration error", 1, 3),
}
"""For each score of the table its heading, the factor it is multiplied by, and its decimals."""


def score_cell(
    value: Sequence[float | None], factor: int, places: int, interval: bool = True
) -> str:
    """A score with its 95 % interval.

    Args:
        value: Mean, lower and upper end; the ends may be None.
        factor: What numbers are multiplied by.
        places: Decimals.
        interval: Whether the interval is given; never where all bootstrap samples are equal.

    Example:
        >>> score_cell([0.912, 0.85, 0.95], 100, 1), score_cell([0.5, None, None], 1, 3)
        ('91.2 [85.0, 95.0]', '0.500')
    """
    mean, low, high = value
    if mean is None or not np.isfinite(mean):
        return "–"
    text = f"{factor * mean:.{places}f}"
    if low is None or high is None or low == high or not interval:
        return text
    return f"{text} [{factor * low:.{places}f}, {factor * high:.{places}f}]"
