r"""Attention over a grid compared with the boxes of an image. [pvr22] Sec. 2

Attention :math:`\alpha` on h × w grid cells is brought to the pixels of a square by bilinear
up-sampling, which is linear and separable: :math:`U(\alpha) = R \alpha
R^\top` with one matrix R for both, pixels × cells. Its product with a mask v and its length are
then those of small matrices,

.. math:: \langle U\alpha, v\rangle = \langle \alpha, R^\top v R\rangle, \qquad
          \|U\alpha\|^2 = \langle \alpha, G \alpha G\rangle, \quad G = R^\top R,

so that cosines are exact and no up-sampled map is computed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foveate.types import FloatArray

__all__ = ["PIXELS", "Grid", "box_mask", "only"]


PIXELS = 224  # [pvr22] Sec. 2: boxes are masks of 224 × 224


def box_mask(
    boxes: Iterable[tuple[float, float, float, float]], pixels: int = PIXELS
) -> FloatArray:
    """The union of some boxes as a mask of 0 and 1, shape (pixels, pixels).

    A pixel is in a box if its centre is; a box without any has the pixel at the box's centre.

    Args:
        boxes: Left, top, right and bottom as shares of the image.
        pixels: Pixels per side.

    Example:
        >>> box_mask([(0.0, 0.0, 0.5, 0.25)], 4).sum(1)
        array([2., 0., 0., 0.])
    """
    mask = np.zeros((pixels, pixels))
    middle = (np.arange(pixels) + 0.5) / pixels
    for left, top, right, bottom in boxes:
        x, y = (middle >= left) & (middle < right), (middle >= top) & (middle < bottom)
        for inside, ends in ((x, left + right), (y, top + bottom)):
            if not inside.any():
                inside[min(pixels - 1, int(ends / 2 * pixels))] = True
        mask[np.ix_(y, x)] = 1.0
    return mask


def only(s: FloatArray, k: int) -> FloatArray:
    """Ones at the k largest of the last axis and 0 elsewhere; of equals the first.

    Example:
        >>> only(np.array([0.1, 0.4, 0.2, 0.3]), 2)
        array([0., 1., 0., 1.])
    """
    chosen = np.argsort(-s, -1, kind="stable")[..., :k]
    ones = np.zeros(s.shape)
    np.put_along_axis(ones, chosen, 1.0, -1)
    return ones


@dataclass(frozen=True)
class Grid:
    """A square grid over a square of pixels.

    Args:
        side: Cells per side.
        pixels: Pixels per side.
    """

    side: int
    pixels: int = PIXELS

    @cached_property
    def rows(self) -> FloatArray:
        """R, bilinear weights of cells for pixels, shape (pixels, side); rows sum to 1."""
        centres = (np.arange(self.pixels) + 0.5) * self.side / self.pixels - 0.5
        centres = centres.clip(0, self.side - 1)  # constant beyond the outermost centres
        below = np.floor(centres).astype(int).clip(max=max(0, self.side - 2))
        weights = np.zeros((self.pixels, self.side))
        pixel = np.arange(self.pixels)
        weights[pixel, below] = 1 - (centres - below)
        weights[pixel, np.minimum(below + 1, self.side - 1)] += centres - below
        return weights

    def raised(self, alpha: FloatArray) -> FloatArray:
        """U(α), shape (…, pixels, pixels), from (…, places): for pictures."""
        return self.rows @ self._square(alpha) @ self.rows.T

    def lowered(self, mask: FloatArray) -> FloatArray:
        """:math:`R^T v R`, shape (places,): the part of a mask that products with U(α) need."""
        low: FloatArray = (self.rows.T @ mask @ self.rows).reshape(-1)
        return low

    def cosine(self, alpha: FloatArray, low: FloatArray, area: FloatArray) -> FloatArray:
        """Cosine of up-sampled attention and masks, shape (n,).

        Args:
            alpha: Attention, not negative, of any sum above 0, shape (n, places).
            low: :meth:`lowered` masks, shape (n, places).
            area: Pixels of each mask, shape (n,).
        """
        gram = self.rows.T @ self.rows
        square = self._square(alpha)
        length = np.sqrt((square * (gram @ square @ gram)).sum((-2, -1)))
        cosines: FloatArray = (alpha * low).sum(-1) / (length * np.sqrt(area))
        return cosines

    def inside(self, alpha: FloatArray, low: FloatArray) -> FloatArray:
        """The share of up-sampled attention within masks, shape (n,); arguments as above."""
        total = self.lowered(np.ones((self.pixels, self.pixels)))
        shares: FloatArray = (alpha * low).sum(-1) / (alpha @ total)
        return shares

    def _square(self, alpha: FloatArray) -> FloatArray:
        return alpha.reshape(*alpha.shape[:-1], self.side, self.side)
