"""Settings of a fit: every field is a flag of ``foveate fit`` and an entry of its manifest."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from foveate.settings import Count, NonNegative, Positive, Settings, Words
from foveate.training.plan import default_paradigms

__all__ = ["FitSettings", "mixed_paradigms"]

DEFAULT_PARADIGMS = (
    "lvml",
    "soft",
    "max",
    "presence",
)  # of these, what is registered is fitted by default


def mixed_paradigms() -> tuple[str, ...]:
    """Names of the paradigms whose mixture answers by default."""
    from foveate.attention.paradigms import PARADIGMS

    return tuple(name for name in DEFAULT_PARADIGMS if name in PARADIGMS)


def _threshold(rule: str) -> str:
    from foveate.userdata.thresholds import parse_rule

    parse_rule(rule)
    return rule


def _class_weight_text(class_weight: Any) -> Any:
    """Weights by class as a text, which flags and manifests hold."""
    if not isinstance(class_weight, Mapping):
        return class_weight
    odd = [name for name in class_weight if "," in str(name)]
    if odd:
        raise ValueError(f"class weights need class names without commas, got '{odd[0]}'")
    return ",".join(f"{name}={value}" for name, value in class_weight.items())


def _class_weight(rule: str) -> str:
    from foveate.userdata.training_rules import parse_class_weight

    parse_class_weight(rule)
    return rule


class FitSettings(Settings):
    """How a user's bags are fitted.

    Some defaults depend on ``folds``: with one split (``folds=1``) they are those of version 0.1.
    With folds, learning rate, weight decay and patience were chosen on the design sets of the study
    ``real-bags``.

    Example:
        >>> FitSettings(folds=1).lr, FitSettings().lr, FitSettings(folds=1, lr=0.03).lr
        (0.001, 0.01, 0.03)
    """

    folds: Count = 5
    """Folds of cross-fitting; 1 draws one training, one validation and one test part instead."""
    repeats: Count = 1
    """How often folds are drawn."""
    test_share: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    """Share of the bags that only test the final ensemble; a --split column names them itself."""
    paradigms: Annotated[Words, Field(min_length=1)] = Field(default_factory=mixed_paradigms)
    """Ways to train, compared on the same bags; a pooling family unless given."""
    seeds: Count = 3
    """Models of each (in each fold), whose probabilities are averaged."""
    epochs: Count | None = None
    """Passes over the training bags at most; by the number of bags unless given."""
    batch: Count = 32
    """Bags per step."""
    lr: Positive = 0.01
    """Learning rate of Adam."""
    weight_decay: NonNegative = 0.01
    """L2 penalty on all weights."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of hidden numbers that are set to 0 in each step of training."""
    search: Annotated[int, Field(ge=0)] = 0
    """Trials that choose learning rate, weight decay and dropout within each fold's training bags
    (Optuna); 0 for none."""
    patience: Count | None = 10
    """Epochs without a lower loss on inner validation bags before a model stops."""
    net: str | None = None
    """Networks for f and g; by what a segment is unless given."""
    map: str = "softmax"
    """How scores become attention."""
    layer: str = "zeroth"
    """Where segments are averaged: zeroth, or f's last hidden layer."""
    choose: Literal["accuracy", "attention"] = "accuracy"
    """What the main paradigm is chosen by: accuracy, or the score of its attention among those
    about as accurate as the best."""
    absent: Words = ()
    """Classes that mean that nothing is there, such as "normal": max, presence and noisy-or let no
    segment vote for them, and the verdict asks for no evidence of them. Unless given, the first of
    two classes for these paradigms, and what the segments suggest for the verdict."""
    class_weight: Annotated[
        str, BeforeValidator(_class_weight_text), AfterValidator(_class_weight)
    ] = "none"
    """Weigh bags by the rarity of their class (balanced), by CLASS=WEIGHT,…, or not (none)."""
    threshold: Annotated[str, AfterValidator(_threshold)] = "none"
    """With folds and two classes: youden, f1, or cost=C (a missed bag of the second class costs C
    false alarms) choose the probability from which on the second class is predicted."""
    abstain: Annotated[float, Field(gt=0, lt=0.5)] | None = None
    """With folds: predict a class only where its share of wrong exclusions is at most this."""
    standardise: bool = True
    """Standardise columns by their mean and spread over the training bags."""
    supervise_focus: NonNegative = 0.0
    """Weight of −log attention on segments known to be relevant."""
    null_segment: bool = False
    """Add a learnt segment to every bag, for attention where there is no evidence."""
    encoder: str = "auto"
    """Frozen encoder of image tiles: a name, none, or auto: where its weights are found."""
    least: Count = 2
    """Words seen less often in training are unknown."""
    split_seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the folds, or of the split."""
    save_seconds: NonNegative = 5.0
    """Time between checkpoints."""

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_one_split(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("folds") in (1, "1"):
            return {**_one_split(), **values}
        return values

    @model_validator(mode="after")
    def _one_split_has_no_repeats(self) -> Self:
        if self.folds == 1 and (self.repeats > 1 or self.test_share):
            raise ValueError("repeats and test-share need folds: set --folds to 2 or more")
        if self.search and (self.folds == 1 or self.patience is None):
            raise ValueError("search needs folds and inner validation bags: set folds and patience")
        if self.folds == 1 and self.abstain is not None:
            raise ValueError("abstain needs out-of-fold predictions: set --folds to 2 or more")
        if self.abstain is not None and self.threshold != "none":
            raise ValueError("threshold and abstain both decide: give one of them")
        return self

    @classmethod
    def from_manifest(cls, config: Mapping[str, Any]) -> Self:
        """The settings of a run; runs of version 0.1 have one split and do not name it."""
        return cls(**{"folds": 1, **config})


def _one_split() -> dict[str, Any]:
    """Defaults of a fit with one split, as in version 0.1."""
    return {
        "paradigms": default_paradigms(),
        "lr": 1e-3,
        "weight_decay": 0.0,
        "patience": None,
        "class_weight": "balanced",
    }
