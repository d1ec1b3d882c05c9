"""What a trained estimator says of bags: predictions, attention and evidence."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from foveate.bags.bag import Bag
from foveate.bags.segments import map_stored
from foveate.bags.standardisation import Standardisation
from foveate.errors import FoveateError
from foveate.models.null_segment import add_null_segment
from foveate.settings import use_device
from foveate.training.stack import Stack
from foveate.trust.explanation import Explained, explain
from foveate.trust.subject import Stacked
from foveate.types import Array
from foveate.userdata.estimator_inputs import Bags, as_bag, as_collection, shape_text
from foveate.userdata.fitted import Fitted, FittedModel
from foveate.userdata.training_rules import absent_classes, inference

__all__ = ["POSITIVE_CLASS", "BagReader"]

POSITIVE_CLASS = 1  # of a label's own classifier


class BagReader:
    """The half of the estimator that reads bags with the models that its other half trained.

    It has ``stack_`` (trained on all bags), ``ensemble_`` (trained in folds), or ``label_models_``
    (one estimator per label).
    """

    paradigm: str
    null_segment: bool
    force: Sequence[str]
    absent: Sequence[Any]
    device: str | None
    classes_: Array
    segment_shape_: tuple[int, ...]
    standard_: Standardisation | None
    stack_: Stack
    ensemble_: FittedModel
    label_models_: Sequence[Any]

    def predict(self, bags: Bags) -> Array:
        """The most probable class of each bag, (n,); of multi-label bags 0 or 1, (n, L)."""
        p = self.predict_proba(bags)
        if self._is_multi_label:
            return (p >= 0.5).astype(np.int64)
        return self.classes_[p.argmax(1)]

    def predict_proba(self, bags: Bags) -> Array:
        """Probabilities of the classes, in the order of ``classes_``, shape (n, C).

        Of multi-label bags, the probability of each label, shape (n, L).
        """
        if self._is_multi_label:
            return np.stack(
                [model.predict_proba(bags)[:, POSITIVE_CLASS] for model in self.label_models_], 1
            )
        explained = self._read(bags)
        return self.ensemble_.probabilities(explained) if self._is_ensemble else explained.p

    def decision_function(self, bags: Bags) -> Array:
        """Log-probabilities (n, C); of two classes, the log-odds of the second, shape (n,).

        Of multi-label bags, the log-odds of each label, shape (n, L).
        """
        p = self.predict_proba(bags)
        log_p: Array = np.log(np.maximum(p, np.finfo(p.dtype).tiny))
        if self._is_multi_label:
            return log_p - np.log(np.maximum(1 - p, np.finfo(p.dtype).tiny))
        return log_p[:, 1] - log_p[:, 0] if len(self.classes_) == 2 else log_p

    def attention(self, bags: Bags) -> list[Array]:
        """Attention on the segments of each bag, (m_i,); what the null segment takes is missing.

        Of multi-label bags, one column per label, (m_i, L).
        """
        if self._is_multi_label:
            return _columns([model.attention(bags) for model in self.label_models_])
        return [alpha[self._first :] for alpha in self._read(bags).alpha]

    def null_attention(self, bags: Bags) -> Array:
        """Attention on the null segment of each bag, "no evidence here", shape (n,)."""
        if not self.null_segment:
            raise FoveateError("there is no null segment: fit with null_segment=True")
        return np.array([alpha[0] for alpha in self._read(bags).alpha])

    def evidence(self, bags: Bags) -> list[Array]:
        """Evidence of each segment for (+) and against (−) each class, one array (m_i, C) per bag.

        See :mod:`foveate.trust.explanation` for the equation. Of multi-label bags, what it says for
        each label, (m_i, L).
        """
        if self._is_multi_label:
            parts = [model.evidence(bags) for model in self.label_models_]
            return _columns(
                [[label_evidence[:, POSITIVE_CLASS] for label_evidence in part] for part in parts]
            )
        return [e[self._first :] for e in self._read(bags, with_evidence=True).evidence]

    @property
    def _is_multi_label(self) -> bool:
        return hasattr(self, "label_models_")

    @property
    def _is_ensemble(self) -> bool:
        return hasattr(self, "ensemble_")

    @property
    def _absent(self) -> tuple[int, ...]:
        return absent_classes(self.absent, self.classes_.tolist())

    @property
    def _first(self) -> int:
        return int(self.null_segment)

    def _read(self, bags: Bags, *, with_evidence: bool = False) -> Explained:
        check_is_fitted(self, "classes_")
        bag = as_bag(bags, None)
        if bag.segment_shape != self.segment_shape_:
            widths = f"{shape_text(self.segment_shape_)} numbers, got "
            raise FoveateError(
                f"segments must have the shape of training, {widths}{shape_text(bag.segment_shape)}"
            )
        with use_device(self.device):
            if self._is_ensemble:
                return self.ensemble_.explain(self.prepared(bag), with_evidence=with_evidence)
            rule = inference(self.paradigm, self._absent)
            return explain(self.stack_, self.prepared(bag), rule, with_evidence=with_evidence)

    def examined(self) -> Stacked:
        """The trained models, as :func:`foveate.trust.examine.examine` reads them."""
        check_is_fitted(self, "classes_")
        if self._is_multi_label:
            raise FoveateError("labels are examined one by one: see label_models_")
        if not self._is_ensemble:
            return Stacked(self.stack_, inference(self.paradigm, self._absent))
        if not isinstance(self.ensemble_, Fitted):
            raise FoveateError("a mixture has no single attention: fit with one paradigm")
        return Stacked(self.ensemble_.stack, self.ensemble_.paradigm)

    def prepared(self, bag: Bag, known: Tensor | None = None) -> Bag:
        """Bags as the models read them: standardised, with the null segment in front."""
        if self._is_ensemble:
            plain = as_collection(bag, self.classes_, self.force)
            return self.ensemble_.bags(plain)
        if self.standard_ is not None:
            x = map_stored(self.standard_.apply, bag.x)
            bag = Bag(x, bag.y, bag.z, bag.mask, bag.group, bag.weight)
        return add_null_segment(bag, has_z=known) if self.null_segment else bag


def _columns(parts: Sequence[Sequence[Array]]) -> list[Array]:
    """Of each bag, the arrays (m_i,) of all labels side by side, (m_i, L)."""
    return [np.stack(member_values, 1) for member_values in zip(*parts, strict=True)]
