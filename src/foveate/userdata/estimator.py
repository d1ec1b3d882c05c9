"""FocusClassifier: attention on bags as a scikit-learn estimator."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from foveate.attention.paradigms import PARADIGMS, Paradigm, WithClassWeights, WithFocus
from foveate.bags.bag import Bag, pad
from foveate.bags.segments import map_stored
from foveate.bags.standardisation import Standardisation
from foveate.errors import FoveateError
from foveate.io.check import require_sound
from foveate.io.collection import Collection, Kind
from foveate.metrics.faults import divergence
from foveate.models.focus import FCAM, AttentionModel
from foveate.models.nets import Pair, pair
from foveate.models.null_segment import NullSegment, add_null_segment
from foveate.training.loop import fit
from foveate.trust.explanation import Explained, explain
from foveate.trust.subject import Stacked
from foveate.types import Array

__all__ = [
    "FocusClassifier",
    "balanced",
    "focus_model",
    "inference",
    "training_rule",
    "usual_epochs",
]

Bags = Sequence[Any] | Array | Bag

STEPS, FEWEST, MOST = 1500, 20, 300  # of training, where no number of epochs is asked for


class FocusClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of bags that says which segments it looked at, and what they speak for.

    Bags are a list of arrays (m_i, d), an array of them, or a :class:`~foveate.bags.bag.Bag`.

    Args:
        paradigm: How it is trained and read, a name in ``foveate list paradigms``.
        map: How scores become attention, a name in ``foveate list maps``.
        net: Networks for f and g.
        epochs: Passes over the bags; None for as many as make 1,500 steps, between 20 and 300.
        lr: Learning rate of Adam.
        batch: Bags to a step.
        seeds: Models trained side by side, whose probabilities are averaged.
        layer: Where segments are averaged: "zeroth", or f's "last" hidden layer.
        class_weight: "balanced" weighs a bag by the rarity of its class; a dict gives the weight of
            each class by its label, 1 where it names none; None weighs all bags alike.
        standardise: Whether columns are standardised by their mean and spread in training.
        supervise_focus: Weight of −log attention on segments known to be relevant.
        null_segment: Whether each bag has one more, learnt segment, on which attention may rest
            where there is no evidence.
        random_state: Decides weights and order.
        force: Names of errors of :func:`foveate.io.check.problems` that are accepted.

    Example:
        >>> chance = np.random.default_rng(0)
        >>> y = np.array(["no", "yes"] * 20)
        >>> bags = [chance.normal(size=(4, 2)) for _ in y]
        >>> for bag, label in zip(bags, y):
        ...     bag[2] += 8 * (label == "yes")
        >>> model = FocusClassifier("soft", epochs=40, lr=0.02).fit(bags, y)
        >>> float(model.score(bags, y)), [int(a.argmax()) for a in model.attention(bags[1:6:2])]
        (1.0, [2, 2, 2])
    """

    def __init__(
        self,
        paradigm: str = "hybrid",
        map: str = "softmax",
        net: str = "mlp",
        epochs: int | None = None,
        lr: float = 1e-3,
        batch: int = 32,
        seeds: int = 1,
        layer: str = "zeroth",
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = "balanced",
        standardise: bool = True,
        supervise_focus: float = 0.0,
        null_segment: bool = False,
        random_state: int | None = 0,
        force: Sequence[str] = (),
    ) -> None:
        self.paradigm, self.map, self.net = paradigm, map, net
        self.epochs, self.lr, self.batch, self.seeds = epochs, lr, batch, seeds
        self.layer, self.class_weight, self.standardise = layer, class_weight, standardise
        self.supervise_focus, self.null_segment = supervise_focus, null_segment
        self.random_state = random_state
        self.force = force

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags

    def fit(self, bags: Bags, y: Any, relevance: Sequence[Any] | None = None) -> "FocusClassifier":
        """Train on labelled bags.

        Args:
            bags: The bags.
            y: Their labels, numbers or words.
            relevance: Of each bag, which segments are relevant, shape (m_i,), or None where that
                is not known. Used where ``supervise_focus`` is above 0.
        """
        self.classes_, labels = _labels(y, bags)
        rule = training_rule(
            self.paradigm,
            _class_weights(self.class_weight, self.classes_, labels),
            self.supervise_focus,
        )
        bag = _as_bag(bags, torch.from_numpy(labels), relevance)
        require_sound(_collection(bag, self.classes_, self.force))
        rows = bag.bank
        self.segment_shape_ = bag.segment_shape
        self.n_features_in_ = int(np.prod(bag.segment_shape))
        self.standard_ = Standardisation.of(rows) if self.standardise else None
        if self.seeds < 1:
            raise FoveateError(f"seeds must be at least 1, got {self.seeds}")
        first = _seed(self.random_state)
        train = self.prepared(bag, None if relevance is None else _known(relevance))
        del bag, rows  # one copy of large bags is enough
        record = fit(
            self._build,
            train,
            train.take(slice(0, 1)),  # nothing is held out here: measured on one bag, at the ends
            rule,
            seeds=range(first, first + self.seeds),
            epochs=(epochs := self.epochs or usual_epochs(len(train), self.batch)),
            lr=self.lr,
            batch=self.batch,
            every=epochs,
        )
        if lost := divergence({self.paradigm: record}):
            raise FoveateError(lost)
        self.stack_, self.n_iter_ = record.trained, epochs
        return self

    def predict(self, bags: Bags) -> Array:
        """The most probable class of each bag, shape (n,)."""
        p = self.predict_proba(bags)
        return self.classes_[p.argmax(1)]

    def predict_proba(self, bags: Bags) -> Array:
        """Probabilities of the classes, in the order of ``classes_``, shape (n, C)."""
        return self._read(bags).p

    def decision_function(self, bags: Bags) -> Array:
        """Log-probabilities (n, C); of two classes, the log-odds of the second, shape (n,)."""
        p = self.predict_proba(bags)
        log_p: Array = np.log(np.maximum(p, np.finfo(p.dtype).tiny))
        return log_p[:, 1] - log_p[:, 0] if len(self.classes_) == 2 else log_p

    def attention(self, bags: Bags) -> list[Array]:
        """Attention on the segments of each bag, (m_i,); what the null segment takes is missing."""
        return [alpha[self._first :] for alpha in self._read(bags).alpha]

    def null_attention(self, bags: Bags) -> Array:
        """Attention on the null segment of each bag, "no evidence here", shape (n,)."""
        if not self.null_segment:
            raise FoveateError("there is no null segment: fit with null_segment=True")
        return np.array([alpha[0] for alpha in self._read(bags).alpha])

    def evidence(self, bags: Bags) -> list[Array]:
        """What each segment says for (+) and against (−) each class, one array (m_i, C) a bag.

        See :mod:`foveate.trust.explanation` for the equation.
        """
        return [e[self._first :] for e in self._read(bags, with_evidence=True).evidence]

    @property
    def _first(self) -> int:
        return int(self.null_segment)

    def _read(self, bags: Bags, *, with_evidence: bool = False) -> Explained:
        check_is_fitted(self, "stack_")
        bag = _as_bag(bags, None)
        if bag.segment_shape != self.segment_shape_:
            widths = f"{_said(self.segment_shape_)} numbers, got {_said(bag.segment_shape)}"
            raise FoveateError(f"segments must have the shape of training, {widths}")
        rule = inference(self.paradigm)
        return explain(self.stack_, self.prepared(bag), rule, with_evidence=with_evidence)

    def examined(self) -> Stacked:
        """The trained models, as :func:`foveate.trust.examine.examine` reads them."""
        check_is_fitted(self, "stack_")
        return Stacked(self.stack_, inference(self.paradigm))

    def prepared(self, bag: Bag, known: Tensor | None = None) -> Bag:
        """Bags as the models read them: standardised, with the null segment in front."""
        if self.standard_ is not None:
            x = map_stored(self.standard_.apply, bag.x)
            bag = Bag(x, bag.y, bag.z, bag.mask, bag.group)
        return add_null_segment(bag, known=known) if self.null_segment else bag

    def _build(self) -> AttentionModel:
        nets = pair(self.net, self.segment_shape_, len(self.classes_), self.layer)
        map = self.map if inference(self.paradigm).uses_attention else "uniform"
        return focus_model(nets, map, self.segment_shape_ if self.null_segment else None)


def focus_model(
    nets: Pair, map: str = "softmax", null: Sequence[int] | None = None
) -> AttentionModel:
    """An untrained model; ``null`` is the shape of its null segment, if it has one."""
    model = FCAM(nets.f, nets.g, map, nets.layer)
    return model if null is None else NullSegment(model, null)


def inference(name: str) -> Paradigm:
    """A paradigm that reads segments, by name."""
    rule = PARADIGMS.get(name)()
    if rule.whole_bag:
        raise FoveateError(f"paradigm '{name}' reads whole bags and has no attention to show")
    return rule


def training_rule(
    name: str, weights: tuple[float, ...] | None = None, focus: float = 0.0
) -> Paradigm:
    """A paradigm by name with class weights and supervision of the focus around it."""
    rule = inference(name)
    if focus < 0:
        raise FoveateError(f"the weight of focus supervision must not be negative, got {focus}")
    rule = rule if weights is None else WithClassWeights(rule, weights)
    return WithFocus(rule, focus) if focus else rule


def balanced(y: Array, classes: int, kind: str | None = "balanced") -> tuple[float, ...] | None:
    """Weights n / (C n_c) of the classes, whose mean over the bags is 1.

    Example:
        >>> balanced(np.array([0, 0, 0, 1]), 2)
        (0.6666666666666666, 2.0)
    """
    if kind is None:
        return None
    if kind != "balanced":
        raise FoveateError(f"class_weight must be 'balanced' or None, got {kind!r}")
    counts = np.bincount(y, minlength=classes)
    return tuple((len(y) / (classes * np.maximum(counts, 1))).tolist())


def _class_weights(
    given: str | Mapping[Any, float] | None, classes: Array, labels: Array
) -> tuple[float, ...] | None:
    """Weights of the classes, from a rule or from a dict by label."""
    if not isinstance(given, Mapping):
        return balanced(labels, len(classes), given)
    names = classes.tolist()
    unknown = [label for label in given if label not in names]
    if unknown:
        raise FoveateError(f"class_weight names {unknown[0]!r}, which is none of {names}")
    weights = tuple(float(given.get(name, 1.0)) for name in names)
    if not all(0 < weight < np.inf for weight in weights):
        raise FoveateError(f"class weights must be above 0 and finite, got {dict(given)}")
    return weights


def usual_epochs(n: int, batch: int) -> int:
    """Epochs that make about 1,500 steps of ``batch`` of ``n`` bags, between 20 and 300."""
    return min(MOST, max(FEWEST, -(-STEPS // -(-n // batch))))


def _labels(y: Any, bags: Bags) -> tuple[Array, Array]:
    """The classes in order, and each bag's number among them."""
    given = np.asarray(y)
    if given.ndim != 1 or len(given) != len(bags):
        raise FoveateError(f"{len(bags)} bags need one label each, got shape {given.shape}")
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise FoveateError(f"labels must be known: that of bag {_first_odd(given)} is not")
    if given.dtype.kind == "f" and (given != np.floor(given)).any():
        odd = float(given[np.argmax(given != np.floor(given))])
        raise FoveateError(
            f"labels must be classes, whole numbers or names, got {odd}: this is a classifier"
        )
    classes, labels = np.unique(given, return_inverse=True)
    if len(classes) < 2:
        raise FoveateError(f"there must be two classes at least, got {list(classes)}")
    return classes, labels.astype(np.int64)


def _first_odd(values: Array) -> int:
    return int(np.flatnonzero(~np.isfinite(values))[0])


def _collection(bag: Bag, classes: Array, accepted: Sequence[str]) -> Collection:
    """Bags from Python as a collection, to be checked as bags from files are."""
    names = tuple(f"x{k}" for k in range(int(np.prod(bag.segment_shape))))
    kind: Kind = "features" if len(bag.segment_shape) == 1 else "image"
    return Collection(
        bag,
        tuple(map(str, range(len(bag)))),
        tuple(map(str, classes)),
        names if kind == "features" else (),
        kind,
        source="the bags",
        accepted=tuple(accepted),
    )


def _as_bag(bags: Bags, y: Tensor | None, relevance: Sequence[Any] | None = None) -> Bag:
    """Lists of arrays as one Bag, with errors that name the bag."""
    if isinstance(bags, Bag):
        return Bag(bags.x, bags.y if y is None else y, bags.z, bags.mask, bags.group)
    if not len(bags):
        raise FoveateError("at least one bag is needed, got none")
    rows = [_segments(i, bag) for i, bag in enumerate(bags)]
    for i, bag in enumerate(rows):
        if bag.shape[1:] != rows[0].shape[1:]:
            widths = f"bag {i} has {_said(bag.shape[1:])}, bag 0 {_said(rows[0].shape[1:])}"
            raise FoveateError(f"all segments must have as many numbers: {widths}")
    z = None if relevance is None else _relevance(relevance, rows)
    return pad(rows, torch.zeros(len(rows), dtype=torch.long) if y is None else y, z)


def _segments(i: int, bag: Any) -> Tensor:
    try:
        values = torch.as_tensor(np.asarray(bag, dtype=np.float32))
    except (TypeError, ValueError):
        raise FoveateError(f"bag {i} must be an array of numbers (segments, columns)") from None
    if values.dim() < 2 or not len(values):
        shape = f"got shape {tuple(values.shape)}"
        raise FoveateError(f"bag {i} must be an array (segments, columns) with a segment, {shape}")
    if not bool(torch.isfinite(values).all()):
        row = int((~torch.isfinite(values.flatten(1))).any(1).nonzero()[0])
        raise FoveateError(f"bag {i}: segment {row} holds NaN or infinity")
    return values


def _relevance(relevance: Sequence[Any], rows: Sequence[Tensor]) -> list[Tensor]:
    if len(relevance) != len(rows):
        raise FoveateError(f"relevance must be given for {len(rows)} bags, got {len(relevance)}")
    found = []
    for i, (own, bag) in enumerate(zip(relevance, rows, strict=True)):
        z = torch.zeros(len(bag)) if own is None else torch.as_tensor(np.asarray(own, dtype=float))
        if z.shape != (len(bag),):
            shape = f"{len(bag)} segments, got shape {tuple(z.shape)}"
            raise FoveateError(f"relevance of bag {i} must be None or name its {shape}")
        found.append(z > 0)
    return found


def _known(relevance: Sequence[Any]) -> Tensor:
    return torch.tensor([own is not None for own in relevance])


def _seed(random_state: Any) -> int:
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if not isinstance(random_state, int | np.integer) or random_state < 0:
        raise FoveateError(f"random_state must be a whole number from 0, got {random_state!r}")
    return int(random_state)


def _said(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape))
