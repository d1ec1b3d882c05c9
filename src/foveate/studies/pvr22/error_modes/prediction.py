"""Prediction of the error mode from initial weights."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from foveate.data.error_modes import Box, Boxes
from foveate.metrics.intervals import Interval
from foveate.records.record import Array, Record
from foveate.studies.pvr22.error_modes.linear_focus import exact_ft
from foveate.studies.pvr22.error_modes.outcome import misfocused
from foveate.studies.pvr22.error_modes.statistics import auc, cross_validated_scores

__all__ = ["ModePrediction", "angle", "predict_error_mode"]

LEAST = 10  # starts of either kind that a prediction needs


class ModePrediction(NamedTuple):
    """Predictive power of initial weights for starts that end in the mode.

    Args:
        neglected: The class (from 0) on which models that fell have the lowest FT; None if unknown.
        left: Their mean FT on it.
        rates: Share of falls among starts that score that class below the background at first (box
            centre against box centre), and among the others; NaN where there are none.
        power: For each predictor, the chance that a start that falls ranks above one that does not
            (AUC: .5 is chance, 1 is certainty), with its interval over starts.
    """

    neglected: int | None
    left: float
    rates: tuple[float, float]
    power: Mapping[str, Interval]

    @property
    def summary(self) -> str:
        """As a sentence."""
        if self.neglected is None:
            return "Too few starts of one kind for predictors."
        powers = ", ".join(f"{name} {_words(power)}" for name, power in self.power.items())
        return (
            f"Models that fell miss class {self.neglected + 1} most (FT {self.left:.2f} on it): of "
            f"starts whose focus scores it below the background {100 * self.rates[0]:.0f} % fall, "
            f"of the others {100 * self.rates[1]:.0f} %. Predictors of a fall (AUC): {powers}."
        )


def predict_error_mode(boxes: Boxes, record: Record, m: int) -> ModePrediction:
    r"""Predictors of the starts of a record that end in the error mode.

    A low FT of the initial focus; a low initial score of the class that ends neglected, against the
    background, :math:`w_0 \cdot (\bar x_c - \bar x_0)`; and logistic regressions on the initial
    weights, fitted to four fifths of the starts and tested on the others.

    Args:
        boxes: The base distributions of the mode.
        record: Its random starts.
        m: Segments of a bag.
    """
    is_misfocused, w = misfocused(record), record.final["f_w0"].astype(float)
    if min(is_misfocused.sum(), (~is_misfocused).sum()) < LEAST:
        return ModePrediction(None, np.nan, (np.nan, np.nan), {})
    by_class = exact_ft(boxes, record.final["f_w"][is_misfocused], m).mean(0)
    neglected = int(by_class.argmin())
    gap = w @ (_middle(boxes.foreground[neglected]) - _middle(boxes.background))
    power = {
        "a low initial FT": auc(-exact_ft(boxes, w, m).mean(1), is_misfocused),
        "a low initial score of the missed class": auc(-gap, is_misfocused),
        "regression on f's weights": auc(
            cross_validated_scores(_features(w), is_misfocused), is_misfocused
        ),
    }
    if "g_w0" in record.final:
        g = [record.final[k].reshape(len(w), -1) for k in ("g_w0", "g_b0")]
        both = np.concatenate([_features(w), *g], 1)
        power["regression on f's and g's weights"] = auc(
            cross_validated_scores(both, is_misfocused), is_misfocused
        )
    rates = (_share(is_misfocused[gap < 0]), _share(is_misfocused[gap >= 0]))
    return ModePrediction(neglected, float(by_class[neglected]), rates, power)


def angle(w: Array) -> Array:
    """Direction of weights (S, 2) in degrees, counted from the first axis to the second."""
    return np.degrees(np.arctan2(w[:, 1], w[:, 0]))


def _features(w: Array) -> Array:
    """The weights, their direction and their size, shape (S, 5)."""
    size = np.linalg.norm(w, axis=1, keepdims=True)
    return np.concatenate([w, w / size, size], 1)


def _share(chosen: Array) -> float:
    return float(chosen.mean()) if len(chosen) else np.nan


def _middle(box: Box) -> Array:
    return np.array([(box.left + box.right) / 2, (box.low + box.high) / 2])


def _words(power: Interval) -> str:
    if power.low is None or power.high is None:
        return f"{power.mean:.2f}"
    return f"{power.mean:.2f} ({power.low:.2f}–{power.high:.2f})"
