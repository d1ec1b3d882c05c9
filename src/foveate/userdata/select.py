"""Selection of a paradigm on validation bags."""

from collections.abc import Mapping
from typing import Any

from foveate.attention.paradigms import Paradigm
from foveate.bags.bag import Bag
from foveate.records.record import Array
from foveate.training.stack import Stack
from foveate.trust.error_modes import score
from foveate.trust.examine import examined_marks
from foveate.trust.subject import Stacked

__all__ = ["RULES", "attention_score", "choose"]

RULES = {
    "accuracy": "the paradigm with the highest balanced accuracy on the validation bags, "
    "probabilities averaged over seeds; among equals the lowest log loss; test bags play no part",
    "attention": "the paradigm whose attention has the highest label-free score on the validation "
    "bags, of those whose balanced accuracy there lies within the 95 % interval of the best; test "
    "bags and known locations play no part",
}


def choose(numbers: Mapping[str, Mapping[str, Any]], by: str) -> str:
    """The paradigm that the rule selects.

    Args:
        numbers: Of each paradigm, as the manifest of a fit has them.
        by: A name in :data:`RULES`.
    """

    def rank(name: str) -> tuple[float, float]:
        scores = numbers[name]["validation"]
        return -scores["balanced_accuracy"][0], scores["log_loss"][0]

    best = min(numbers, key=rank)
    if by == "accuracy":
        return best
    mean, low, _ = numbers[best]["validation"]["balanced_accuracy"]
    least = mean if low is None else low
    accurate = [n for n in numbers if numbers[n]["validation"]["balanced_accuracy"][0] >= least]
    return min(accurate, key=lambda name: (-numbers[name]["attention_score"], rank(name)))


def attention_score(stack: Stack, rule: Paradigm, bags: Bag, classes: int) -> Array:
    """The label-free estimate of FT of every seed, shape (S,); known locations are not read."""
    return score(examined_marks(Stacked(stack, rule), [bags], classes))
