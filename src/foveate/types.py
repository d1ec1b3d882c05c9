"""Type aliases that every package shares."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "FloatArray", "PartProgress", "StepProgress"]

Array = NDArray[Any]
"""A NumPy array of any number type."""

FloatArray = NDArray[np.float64]
"""A NumPy array in double precision."""

PartProgress = Callable[[str, int, int], None]
"""Progress callback of a job: ``(part, done, total)``."""

StepProgress = Callable[[int, int], None]
"""Progress callback of one part: ``(done, total)``."""
