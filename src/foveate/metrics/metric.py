"""Metrics: functions from a model's outputs on bags to one number per member, by name.

A registered metric is measured in every training and stored in its record; tables, reports, JSON
and the lab show it by its title. The metrics that every record has are at the end of this file.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from foveate.metrics.focus import (
    QUADRANTS,
    attention_on,
    distance,
    entropy_bits,
    focus_true,
    heat_map,
    label_probability,
    nonzeros,
    quadrants,
    saif,
)
from foveate.metrics.intervals import Interval, mean_interval
from foveate.records.record import Record
from foveate.registry import Registry
from foveate.types import Array

__all__ = [
    "METRICS",
    "Evaluation",
    "Metric",
    "accuracy",
    "curve_metrics",
    "held_out_loss",
    "metric",
    "summarise",
    "summary_metrics",
]


@dataclass(frozen=True)
class Evaluation:
    """Outputs of the members of a stack for n held-out bags.

    Args:
        s: Focus scores, shape (S, n, m).
        scores_alpha: Attention in the precision of the model, shape (S, n, m).
        alpha: Attention in double precision, shape (S, n, m).
        log_p: Log-probabilities of the classes, shape (S, n, C).
        loss: The paradigm's loss, shape (S, n).
        y: Labels, shape (S, n) or (n,).
        z: Relevant segments, boolean, shape (S, n, m); None where they are not known.
        mask: True where a segment exists, shape (S, n, m); None where all do.
    """

    s: Array
    scores_alpha: Array
    alpha: Array
    log_p: Array
    loss: Array
    y: Array
    z: Array | None = None
    mask: Array | None = None

    @cached_property
    def correct(self) -> Array:
        """Whether the most probable class is the label, shape (S, n)."""
        return np.asarray(self.log_p.argmax(-1) == self.y)

    @cached_property
    def p_y(self) -> Array:
        """Probability of the label, shape (S, n)."""
        return label_probability(self.log_p, self.y)

    @property
    def relevant(self) -> Array:
        """The relevant segments, for metrics that are registered with ``needs_relevance``."""
        assert self.z is not None
        return self.z

    @cached_property
    def a_z(self) -> Array:
        """Attention on the relevant segments, shape (S, n)."""
        return attention_on(self.alpha, self.relevant)

    @cached_property
    def focused(self) -> Array:
        """Whether a relevant segment has the highest focus score, shape (S, n)."""
        return focus_true(self.s, self.relevant, self.mask)

    @cached_property
    def quadrants(self) -> dict[str, Array]:
        """Shares of focus true or false and prediction true or false, each of shape (S,)."""
        return quadrants(self.focused, self.correct)


Compute = Callable[[Evaluation], Array]


@dataclass(frozen=True)
class Metric:
    """A registered metric.

    Args:
        name: Its key in records and JSON.
        title: What tables and axes call it, without unit.
        compute: From an evaluation to one number (or array) a member, shape (S, …).
        unit: "%" where the number is a share that is shown as a percentage, else its unit or "".
        summary: Whether tables of results have a column of it.
        curve: Whether reports draw it over training.
        needs_relevance: Whether it is only defined where relevant segments are known.
        bounds: Lower and upper bound of its mean, in the unit of reports.
    """

    name: str
    title: str
    compute: Compute
    unit: str = ""
    summary: bool = False
    curve: bool = False
    needs_relevance: bool = False
    bounds: tuple[float, float] | None = None

    @property
    def heading(self) -> str:
        """The title with its unit, for columns and axes."""
        return f"{self.title}, {self.unit}" if self.unit else self.title

    @property
    def description(self) -> str:
        """What it means: the first paragraph of its function's docstring."""
        paragraph = (self.compute.__doc__ or "").strip().partition("\n\n")[0]
        return " ".join(paragraph.split())

    @property
    def factor(self) -> float:
        """Factor from the unit of records to that of reports: shares become percentages."""
        return 100.0 if self.unit == "%" else 1.0

    def interval(self, values: Array) -> Interval:
        """Mean and 95 % interval over members, as it is shown.

        Args:
            values: One number a member as records hold them, shape (S,).
        """
        return mean_interval(self.factor * values, within=self.bounds)


def _check_usable(item: Metric) -> None:
    """Evaluate a metric of another package on two bags, so that a broken one is left out."""
    alpha = np.full((1, 2, 2), 0.5)
    z = np.array([[[True, False], [False, True]]])
    item.compute(
        Evaluation(alpha, alpha, alpha, np.log(alpha), np.ones((1, 2)), np.array([0, 1]), z)
    )


METRICS: Registry[Metric] = Registry(
    "metric", package="foveate.metrics", group="foveate.metrics", check=_check_usable
)


def metric(
    name: str,
    *,
    title: str,
    unit: str = "",
    summary: bool = False,
    curve: bool = False,
    needs_relevance: bool = False,
    bounds: tuple[float, float] | None = None,
) -> Callable[[Compute], Compute]:
    """Decorate a function to register it as a metric; see :class:`Metric` for the arguments.

    Example:
        >>> @metric("example_largest_weight", title="Largest weight")
        ... def largest_weight(evaluation: Evaluation) -> Array:
        ...     '''Attention of the most attended segment, mean over bags.'''
        ...     return evaluation.alpha.max(-1).mean(-1)
        >>> METRICS.get("example_largest_weight").description
        'Attention of the most attended segment, mean over bags.'
        >>> del METRICS._items["example_largest_weight"]
    """

    def enter(compute: Compute) -> Compute:
        within = (0, 100) if unit == "%" and bounds is None else bounds
        METRICS.register(name)(
            Metric(name, title, compute, unit, summary, curve, needs_relevance, within)
        )
        return compute

    return enter


def summary_metrics() -> list[Metric]:
    """The metrics that tables of results show, in order of registration."""
    return [item for _, item in METRICS.items() if item.summary]


def curve_metrics() -> list[Metric]:
    """The metrics that reports draw over training, in order of registration."""
    return [item for _, item in METRICS.items() if item.curve]


@metric("loss", title="Held-out loss", unit="nats")
def held_out_loss(evaluation: Evaluation) -> Array:
    """The paradigm's loss on held-out bags."""
    return evaluation.loss.mean(-1)


@metric("accuracy", title="Accuracy", unit="%", summary=True, curve=True)
def accuracy(evaluation: Evaluation) -> Array:
    """The share of held-out bags whose most probable class is the true one."""
    return evaluation.correct.mean(-1)


@metric("ft", title="FT", unit="%", summary=True, curve=True, needs_relevance=True)
def _ft(evaluation: Evaluation) -> Array:
    """Focus true: the share of bags whose relevant segment has the highest focus score."""
    return evaluation.focused.mean(-1)


@metric("saif", title="SAIF", unit="%", summary=True, curve=True, needs_relevance=True)
def _saif(evaluation: Evaluation) -> Array:
    """Strongly accurate interpretable fraction: the share of bags where both a_z and the
    probability of the true class are at least 0.8; right, and visibly for the right reason.
    """
    return saif(evaluation.a_z, evaluation.p_y)


@metric("ft_alpha", title="FT by attention", unit="%", needs_relevance=True)
def _ft_alpha(evaluation: Evaluation) -> Array:
    """The share of bags whose relevant segment has the largest attention."""
    return focus_true(evaluation.scores_alpha, evaluation.relevant, evaluation.mask).mean(-1)


@metric("a_z", title="Attention on the relevant segment", needs_relevance=True)
def _a_z(evaluation: Evaluation) -> Array:
    """The attention on the relevant segment, from 0 to 1."""
    return evaluation.a_z.mean(-1)


@metric("heat", title="Heat map of focus and prediction", needs_relevance=True)
def _heat(evaluation: Evaluation) -> Array:
    """Share of bags by focus and by probability of the true class, five by five cells."""
    return heat_map(evaluation.a_z, evaluation.p_y)


@metric("nnz", title="NNZ")
def _nnz(evaluation: Evaluation) -> Array:
    """How many segments of a bag get more attention than 0.01, on average."""
    return nonzeros(evaluation.alpha).mean(-1)


@metric("dist", title="Dist")
def _dist(evaluation: Evaluation) -> Array:
    """How far the attention is from a single segment, min over j of ‖α − e_j‖."""
    return distance(evaluation.alpha).mean(-1)


@metric("ent", title="Ent", unit="bits")
def _ent(evaluation: Evaluation) -> Array:
    """Entropy of the attention, in bits; 0 when one segment has it all."""
    return entropy_bits(evaluation.alpha).mean(-1)


_QUADRANTS = {
    "ftpt": ("Both correct (FTPT)", "Focus true, prediction true."),
    "ffpt": ("Prediction only (FFPT)", "Focus false, prediction true: right for the wrong reason."),
    "ftpf": ("Focus only (FTPF)", "Focus true, prediction false."),
    "ffpf": ("Neither (FFPF)", "Focus false, prediction false."),
}


def _register_quadrant(name: str) -> None:
    title, description = _QUADRANTS[name]

    def share(evaluation: Evaluation) -> Array:
        return evaluation.quadrants[name]

    share.__doc__ = description
    metric(name, title=title, unit="%", needs_relevance=True)(share)


for _name in QUADRANTS:
    _register_quadrant(_name)


def summarise(record: Record) -> dict[str, Any]:
    """The metrics of result tables with intervals over seeds, and the cost of one training.

    Returns:
        ``accuracy``, ``ft``, ``saif`` and every other metric registered with ``summary=True``, as
        :class:`~foveate.metrics.intervals.Interval` (those the record has; shares in percent);
        ``cpu_seconds`` and ``classifier_calls``: the mean over seeds.

    Example:
        >>> import numpy as np
        >>> meta = {"seeds": [0, 1], "cpu_seconds": 4.0, "classifier_calls": [10, 10]}
        >>> record = Record(np.arange(1), {"accuracy": np.array([[0.8, 0.9]])}, {}, meta)
        >>> round(summarise(record)["accuracy"].mean, 6), summarise(record)["cpu_seconds"]
        (85.0, 2.0)
    """
    metrics = [item for item in summary_metrics() if item.name in record.values]
    return {
        **{item.name: item.interval(record.last(item.name)) for item in metrics},
        "cpu_seconds": record.meta["cpu_seconds"] / len(record.meta["seeds"]),
        "classifier_calls": float(np.mean(record.meta["classifier_calls"])),
    }
