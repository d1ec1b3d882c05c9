"""Metrics: functions from what a model makes of bags to one number a member, registered by name.

A registered metric is measured in every training and kept in its record; tables, reports, JSON and
the lab show it by its own title.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foveate.metrics.focus import attention_on, focus_true, label_probability, quadrants
from foveate.metrics.intervals import Interval, mean_interval
from foveate.registry import Registry
from foveate.types import Array

__all__ = ["METRICS", "Evaluation", "Metric", "curve_metrics", "metric", "summary_metrics"]


@dataclass(frozen=True)
class Evaluation:
    """What the members of a stack make of n held-out bags.

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
        bounds: Between what its mean must lie, in the unit that is shown.
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
        """From what records hold to what is shown: shares become percentages."""
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
