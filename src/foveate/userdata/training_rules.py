"""From settings to a training: paradigm, class weights, model, number of epochs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foveate.attention.paradigms import PARADIGMS, Paradigm, WithClassWeights, WithFocus
from foveate.errors import FoveateError
from foveate.models.focus import FCAM, AttentionModel
from foveate.models.nets import Pair, with_dropout
from foveate.models.null_segment import NullSegment
from foveate.types import Array

__all__ = [
    "absent_classes",
    "balanced",
    "class_weights",
    "focus_model",
    "inference",
    "parse_class_weight",
    "training_rule",
    "usual_epochs",
]

STEPS, MIN_EPOCHS, MAX_EPOCHS = 1500, 20, 300  # of training, where no number of epochs is asked for


def focus_model(
    nets: Pair, map: str = "softmax", null: Sequence[int] | None = None, dropout: float = 0.0
) -> AttentionModel:
    """An untrained model.

    Args:
        nets: Its networks.
        map: How scores become attention.
        null: The shape of its null segment, if it has one.
        dropout: Share of hidden numbers that are set to 0 in training.
    """
    if dropout:
        nets = Pair(with_dropout(nets.f, dropout), with_dropout(nets.g, dropout), nets.layer)
    model = FCAM(nets.f, nets.g, map, nets.layer)
    return model if null is None else NullSegment(model, null)


def inference(name: str, absent: tuple[int, ...] = ()) -> Paradigm:
    """A paradigm that reads segments, by name.

    Args:
        name: Its name.
        absent: Classes without evidence, from :func:`absent_classes`; the paradigm's own if empty.
    """
    rule = PARADIGMS.get(name)()
    if rule.whole_bag:
        raise FoveateError(f"paradigm '{name}' reads whole bags and has no attention to show")
    return rule.without(absent) if absent else rule


def absent_classes(names: Sequence[Any], classes: Sequence[Any]) -> tuple[int, ...]:
    """Numbers of the classes that are declared to mean that nothing is there.

    Args:
        names: The declared classes.
        classes: All classes, in order.

    Example:
        >>> absent_classes(["normal"], ["lesion", "normal"])
        (1,)
    """
    listed = list(classes)
    unknown = [name for name in names if name not in listed]
    if unknown:
        known = ", ".join(map(str, listed))
        raise FoveateError(f"absent must name some of the classes {known}, got '{unknown[0]}'")
    numbers = tuple(sorted({listed.index(name) for name in names}))
    if len(numbers) == len(listed):
        raise FoveateError("absent must leave a class that segments can be evidence for, got all")
    return numbers


def training_rule(
    name: str,
    weights: tuple[float, ...] | None = None,
    focus: float = 0.0,
    absent: tuple[int, ...] = (),
) -> Paradigm:
    """A paradigm by name with class weights and supervision of the focus around it."""
    rule = inference(name, absent)
    if focus < 0:
        raise FoveateError(f"the weight of focus supervision must not be negative, got {focus}")
    rule = rule if weights is None else WithClassWeights(rule, weights)
    return WithFocus(rule, focus) if focus else rule


def balanced(y: Array, classes: int) -> tuple[float, ...]:
    """Weights n / (C n_c) of the classes, whose mean over the bags is 1.

    Example:
        >>> balanced(np.array([0, 0, 0, 1]), 2)
        (0.6666666666666666, 2.0)
    """
    counts = np.bincount(y, minlength=classes)
    return tuple((len(y) / (classes * np.maximum(counts, 1))).tolist())


def parse_class_weight(rule: str) -> str | dict[str, float]:
    """A rule by its name, or weights by class from a text.

    Example:
        >>> parse_class_weight("balanced"), parse_class_weight("no=1,yes=5")
        ('balanced', {'no': 1.0, 'yes': 5.0})
    """
    if rule in ("none", "balanced"):
        return rule
    weights: dict[str, float] = {}
    for part in rule.split(","):
        name, sign, value = part.strip().rpartition("=")
        try:
            weights[name.strip()] = float(value)
        except ValueError:
            sign = ""
        if not sign:
            raise FoveateError("class weights must be balanced, none, or CLASS=NUMBER,…")
    return weights


def class_weights(
    value: str | Mapping[Any, float] | None, classes: Sequence[Any], y: Array
) -> tuple[float, ...] | None:
    """Weights of the classes, from a rule or from a dict by class, 1 where it names none.

    Args:
        value: "balanced", "none" or None, or weights by class.
        classes: The classes, in order.
        y: Labels of the training bags, shape (n,).

    Example:
        >>> class_weights({"yes": 5}, ("no", "yes"), np.array([0, 1]))
        (1.0, 5.0)
    """
    if value is None or value == "none":
        return None
    if value == "balanced":
        return balanced(y, len(classes))
    if not isinstance(value, Mapping):
        raise FoveateError(f"class_weight must be 'balanced' or None, or a dict, got {value!r}")
    names = list(classes)
    unknown = [label for label in value if label not in names]
    if unknown:
        raise FoveateError(f"class_weight names {unknown[0]!r}, which is none of {names}")
    weights = tuple(float(value.get(name, 1.0)) for name in names)
    if not all(0 < weight < np.inf for weight in weights):
        raise FoveateError(f"class weights must be above 0 and finite, got {dict(value)}")
    return weights


def usual_epochs(n: int, batch: int) -> int:
    """Epochs that make about 1,500 steps of ``batch`` of ``n`` bags, between 20 and 300."""
    return min(MAX_EPOCHS, max(MIN_EPOCHS, -(-STEPS // -(-n // batch))))
