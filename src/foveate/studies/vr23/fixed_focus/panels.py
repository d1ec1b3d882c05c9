"""Shared by the figures of fixed focus: sizes, titles, and bands over seeds."""

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from foveate.metrics.intervals import ends_of_mean
from foveate.types import FloatArray

__all__ = ["HEIGHT", "TITLES", "WIDTH", "banded", "ends_of", "panel_title"]


WIDTH, HEIGHT = 215, 150
TITLES = {
    "set_loss": "training loss, nats",
    "incentive": "incentive −dL/dα, nats",
    "difference": "L(α) − L(α + .01), nats",
}


def panel_title(text: str) -> alt.Title:
    """A panel's title, aligned with the other titles of its row."""
    return alt.Title(text, frame="group", fontSize=13)


def ends_of(values: FloatArray) -> list[float]:
    """The ends of an axis for values, 0 included, with no tick at its very top."""
    return [min(0.0, 1.03 * float(values.min())), 1.03 * float(values.max())]


def banded(x: FloatArray, values: FloatArray, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Rows of mean and interval over seeds from values (T, K, S), one name for each of K."""
    mean, (low, high) = values.mean(2), ends_of_mean(values)
    alone = values.shape[2] == 1
    for k, name in enumerate(names):
        for i, x_value in enumerate(x):
            ends = (
                {} if alone else {"low": _round_limit(low[i, k]), "high": _round_limit(high[i, k])}
            )
            yield {"x": float(x_value), "mean": _round_limit(mean[i, k]), **ends, "name": name}


def _round_limit(value: float) -> float:
    """To six digits after the point, so that a page is small and no zero is −1e-9."""
    return round(float(value), 6) + 0.0
