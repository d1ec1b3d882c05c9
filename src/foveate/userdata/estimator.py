"""FocusClassifier: attention on bags as a scikit-learn estimator."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.bags.standardisation import Standardisation
from foveate.errors import FoveateError
from foveate.io.check import require_sound
from foveate.io.collection import Collection
from foveate.metrics.faults import divergence
from foveate.models.focus import AttentionModel
from foveate.models.nets import pair
from foveate.settings import use_device
from foveate.training.loop import fit
from foveate.training.plan import Plan
from foveate.types import Array
from foveate.userdata.ensemble import MIXTURE
from foveate.userdata.estimator_inputs import (
    Bags,
    as_bag,
    as_collection,
    bag_weights,
    class_labels,
    known_relevance,
    multi_labels,
    whole_seed,
    with_extras,
)
from foveate.userdata.estimator_reading import POSITIVE_CLASS, BagReader
from foveate.userdata.folds import Folds, draw_cross_fit
from foveate.userdata.in_memory import cross_fit
from foveate.userdata.settings import FitSettings, mixed_paradigms
from foveate.userdata.training_rules import (
    class_weights,
    focus_model,
    inference,
    training_rule,
    usual_epochs,
)

__all__ = ["FocusClassifier"]


class FocusClassifier(BagReader, ClassifierMixin, BaseEstimator):
    """A scikit-learn classifier of bags, with the attention and evidence of every segment.

    Bags are a list of arrays (m_i, d), an array of them, or a :class:`~foveate.bags.bag.Bag`.
    Labels of shape (n, L), 0 or 1, make it multi-label: one classifier per label, on shared folds;
    probabilities, predictions and evidence then have one column per label.

    Args:
        paradigm: How it is trained and how it predicts, a name in ``foveate list paradigms``;
            with folds also "mixture", the default of ``foveate fit``.
        map: How scores become attention, a name in ``foveate list maps``.
        net: Networks for f and g.
        epochs: Passes over the bags; None for as many as make 1,500 steps, between 20 and 300.
        lr: Learning rate of Adam.
        batch: Bags per step.
        seeds: Number of models (in each fold), whose probabilities are averaged.
        layer: Where segments are averaged: "zeroth", or f's "last" hidden layer.
        class_weight: "balanced" weighs a bag by the rarity of its class; a dict gives the weight of
            each class by its label, 1 where it names none; None weighs all bags alike.
        standardise: Whether columns are standardised by their mean and standard deviation in
            training.
        supervise_focus: Weight of −log attention on segments known to be relevant.
        null_segment: Whether each bag has one more, learnt segment, on which attention may rest
            where there is no evidence.
        random_state: Decides weights, order and folds.
        force: Names of errors of :func:`foveate.io.check.problems` that are accepted.
        folds: Folds of cross-fitting, whose models make the ensemble that predicts; 1 trains on all
            bags without early stopping.
        weight_decay: L2 penalty on all weights.
        dropout: Share of hidden numbers that are set to 0 in training.
        patience: With folds, epochs without a lower loss on inner validation bags before a model
            stops; None trains for all epochs.
        absent: Labels that mean that nothing is there: max, presence and noisy-or let no segment
            vote for them; the first of two classes unless given.
        device: Where it trains and predicts: "cpu", "cuda", "mps", or "auto" for the first GPU
            there is; None for that of the environment variable FOVEATE_DEVICE, else the CPU.

    Attributes:
        classes_: The classes; of multi-label bags 0 and 1.
        out_of_fold_proba_: With folds, probabilities of the training bags by models that were not
            trained on them, as ``predict_proba`` gives them.

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
        folds: int = 1,
        weight_decay: float = 0.0,
        dropout: float = 0.0,
        patience: int | None = 10,
        absent: Sequence[Any] = (),
        device: str | None = None,
    ) -> None:
        self.paradigm, self.map, self.net = paradigm, map, net
        self.epochs, self.lr, self.batch, self.seeds = epochs, lr, batch, seeds
        self.layer, self.class_weight, self.standardise = layer, class_weight, standardise
        self.supervise_focus, self.null_segment = supervise_focus, null_segment
        self.random_state = random_state
        self.force = force
        self.folds, self.patience = folds, patience
        self.weight_decay, self.dropout = weight_decay, dropout
        self.absent = absent
        self.device = device

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.classifier_tags.multi_label = True
        return tags

    def fit(
        self,
        bags: Bags,
        y: Any,
        relevance: Sequence[Any] | None = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> "FocusClassifier":
        """Train on labelled bags.

        Args:
            bags: The bags.
            y: Their labels, numbers or words, shape (n,); of multi-label bags 0 or 1, (n, L).
            relevance: Of each bag, which segments are relevant, shape (m_i,), or None where that
                is not known. Used where ``supervise_focus`` is above 0.
            sample_weight: Weight of each bag's loss, shape (n,); bags of weight 0 are left out.
            groups: What bags belong together, shape (n,): never in two folds.
        """
        with use_device(self.device):
            return self._fit_bags(bags, y, relevance, sample_weight, groups)

    def _fit_bags(
        self, bags: Bags, y: Any, relevance: Sequence[Any] | None, sample_weight: Any, groups: Any
    ) -> "FocusClassifier":
        if self.seeds < 1 or self.folds < 1:
            odd = "seeds" if self.seeds < 1 else "folds"
            raise FoveateError(f"{odd} must be at least 1, got {getattr(self, odd)}")
        self.__dict__.pop("label_models_", None)
        if sample_weight is not None:
            weight = bag_weights(sample_weight, len(bags))
            rows = (weight > 0).nonzero().flatten()
            if len(rows) < len(bags):
                return self._fit_some(rows, bags, y, relevance, sample_weight, groups)
            sample_weight = weight
        if (several := multi_labels(y, bags)) is not None:
            return self._fit_labels(bags, several, relevance, sample_weight, groups)
        self.classes_, labels = class_labels(y, bags)
        bag = with_extras(as_bag(bags, torch.from_numpy(labels), relevance), sample_weight, groups)
        return self._fit_one(bag, relevance, None)

    def _fit_some(self, rows: Tensor, bags: Bags, *parts: Any) -> "FocusClassifier":
        """Train on the bags at ``rows``, with the same rows of the other arguments."""
        numbers = rows.tolist()
        chosen = bags.take(rows) if isinstance(bags, Bag) else [bags[i] for i in numbers]
        some = [None if part is None else [part[i] for i in numbers] for part in parts]
        return FocusClassifier.fit(self, chosen, *some)

    def _fit_one(
        self, bag: Bag, relevance: Sequence[Any] | None, folds: Folds | None
    ) -> "FocusClassifier":
        """Train on bags with one label each, in folds or at once."""
        known = None if relevance is None else known_relevance(relevance)
        collection = as_collection(bag, self.classes_, self.force)
        require_sound(collection)
        self.segment_shape_ = bag.segment_shape
        self.n_features_in_ = int(np.prod(bag.segment_shape))
        if self.folds > 1:
            return self._fit_folds(collection, known, folds)
        self.__dict__.pop("ensemble_", None)
        labels = bag.y.numpy()
        rule = training_rule(
            self.paradigm,
            class_weights(self.class_weight, self.classes_.tolist(), labels),
            self.supervise_focus,
            self._absent,
        )
        self.standard_ = Standardisation.of(bag.bank) if self.standardise else None
        first = whole_seed(self.random_state)
        train = self.prepared(bag, known)
        del bag, collection  # one copy of large bags is enough
        epochs = self.epochs or usual_epochs(len(train), self.batch)
        record = fit(
            self._build,
            train,
            train.take(slice(0, 1)),  # nothing is held out here: measured on one bag, at the ends
            rule,
            seeds=range(first, first + self.seeds),
            plan=Plan(
                epochs=epochs, lr=self.lr, batch=self.batch, weight_decay=self.weight_decay,
                every=epochs,
            ),
        )  # fmt: skip
        if lost := divergence({self.paradigm: record}):
            raise FoveateError(lost)
        self.stack_, self.n_iter_ = record.trained, epochs
        return self

    def _fit_folds(
        self, collection: Collection, known: Tensor | None, folds: Folds | None
    ) -> "FocusClassifier":
        """Train the models of every fold."""
        self.__dict__.pop("stack_", None)
        weight: Any = self.class_weight
        if isinstance(weight, Mapping):
            class_weights(weight, self.classes_.tolist(), collection.bag.y.numpy())
            weight = {str(label): value for label, value in weight.items()}
        mixed = self.paradigm == MIXTURE
        settings = FitSettings(
            folds=self.folds, paradigms=mixed_paradigms() if mixed else (self.paradigm,),
            seeds=self.seeds, epochs=self.epochs, batch=self.batch, lr=self.lr, map=self.map,
            weight_decay=self.weight_decay, dropout=self.dropout, patience=self.patience,
            net=self.net, layer=self.layer, class_weight="none" if weight is None else weight,
            standardise=self.standardise, supervise_focus=self.supervise_focus, encoder="none",
            null_segment=self.null_segment, split_seed=whole_seed(self.random_state),
            absent=tuple(str(self.classes_[c]) for c in self._absent),
        )  # fmt: skip
        if known is None and collection.bag.z is not None:
            known = torch.ones(len(collection), dtype=torch.bool)
        marked = replace(collection, known=known)
        result = cross_fit(marked, settings, None if mixed else self.paradigm, folds)
        self.ensemble_, self.out_of_fold_proba_ = result.model, result.p
        self.n_iter_ = max(e["epochs"] for e in result.model.run.manifest["resolved"].values())
        return self

    def _fit_labels(
        self,
        bags: Bags,
        y: Array,
        relevance: Sequence[Any] | None,
        sample_weight: Any,
        groups: Any,
    ) -> "FocusClassifier":
        """One classifier per label; with folds, on folds that balance all labels."""
        bag = with_extras(as_bag(bags, torch.zeros(len(y), dtype=torch.long), relevance),
                          sample_weight, groups)  # fmt: skip
        names = tuple(str(k) for k in range(y.shape[1]))
        every = Collection(
            bag, tuple(map(str, range(len(bag)))), labels=torch.from_numpy(y > 0),
            label_names=names, source="the bags",
        )  # fmt: skip
        folds = None
        if self.folds > 1:
            seed = whole_seed(self.random_state)
            folds = draw_cross_fit(every, FitSettings(folds=self.folds, split_seed=seed))
        models = []
        for name in names:
            model: FocusClassifier = clone(self)
            model.classes_ = np.array([0, 1])
            models.append(model._fit_one(every.of_label(name).bag, relevance, folds))
        self.label_models_, self.classes_ = models, np.array([0, 1])
        self.segment_shape_ = models[0].segment_shape_
        self.n_features_in_ = models[0].n_features_in_
        if folds is not None:
            held = [model.out_of_fold_proba_[:, POSITIVE_CLASS] for model in models]
            self.out_of_fold_proba_ = np.stack(held, 1)
        return self

    def _build(self) -> AttentionModel:
        nets = pair(self.net, self.segment_shape_, len(self.classes_), self.layer)
        map = self.map if inference(self.paradigm).uses_attention else "uniform"
        shape = self.segment_shape_ if self.null_segment else None
        return focus_model(nets, map, shape, self.dropout)
