"""Training of the estimator: at once, in folds, or one classifier per label."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import torch
from sklearn.base import clone
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.bags.standardisation import Standardisation
from foveate.errors import FoveateError
from foveate.io.check import require_sound
from foveate.io.collection import Collection
from foveate.metrics.faults import divergence
from foveate.models.focus import AttentionModel
from foveate.models.nets import pair
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

__all__ = ["BagTrainer"]


class BagTrainer(BagReader):
    """The half of the estimator that trains; its parameters are those of its subclass."""

    map: str
    net: str
    epochs: int | None
    lr: float
    batch: int
    seeds: int
    layer: str
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    standardise: bool
    supervise_focus: float
    random_state: int | None
    folds: int
    weight_decay: float
    dropout: float
    patience: int | None
    n_iter_: int
    n_features_in_: int
    out_of_fold_proba_: Array

    def _fit_bags(
        self, bags: Bags, y: Any, relevance: Sequence[Any] | None, sample_weight: Any, groups: Any
    ) -> Self:
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

    def _fit_some(self, rows: Tensor, bags: Bags, *parts: Any) -> Self:
        """Train on the bags at ``rows``, with the same rows of the other arguments."""
        numbers = rows.tolist()
        chosen = bags.take(rows) if isinstance(bags, Bag) else [bags[i] for i in numbers]
        some = [None if part is None else [part[i] for i in numbers] for part in parts]
        return self._fit_bags(chosen, *some)

    def _fit_one(self, bag: Bag, relevance: Sequence[Any] | None, folds: Folds | None) -> Self:
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

    def _fit_folds(self, collection: Collection, known: Tensor | None, folds: Folds | None) -> Self:
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
    ) -> Self:
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
            model = clone(self)
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
