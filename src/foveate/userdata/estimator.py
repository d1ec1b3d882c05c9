"""FocusClassifier: attention on bags as a scikit-learn estimator."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sklearn.base import BaseEstimator, ClassifierMixin

from foveate.settings import use_device
from foveate.userdata.estimator_inputs import Bags
from foveate.userdata.estimator_training import BagTrainer

__all__ = ["FocusClassifier"]


class FocusClassifier(BagTrainer, ClassifierMixin, BaseEstimator):
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
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> y = np.array(["no", "yes"] * 20)
        >>> bags = [rng.normal(size=(4, 2)) for _ in y]
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
