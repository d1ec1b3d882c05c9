"""Settings of a fit: every field is a flag of ``foveate fit`` and an entry of its manifest."""

from typing import Annotated, Literal

from pydantic import Field

from foveate.settings import Count, NonNegative, Positive, Settings, Words
from foveate.training.plan import default_paradigms

__all__ = ["FitSettings"]


class FitSettings(Settings):
    """How a user's bags are fitted."""

    paradigms: Annotated[Words, Field(min_length=1)] = Field(default_factory=default_paradigms)
    """Ways to train, compared on the same bags; unless given, those that are raced by default."""
    seeds: Count = 3
    """Models of each, whose probabilities are averaged."""
    epochs: Count | None = None
    """Passes over the training bags; as many as make 1,500 steps, from 20 to 300, unless given."""
    batch: Count = 32
    """Bags per step."""
    lr: Positive = 1e-3
    """Learning rate of Adam."""
    net: str | None = None
    """Networks for f and g; by what a segment is unless given."""
    map: str = "softmax"
    """How scores become attention."""
    layer: str = "zeroth"
    """Where segments are averaged: zeroth, or f's last hidden layer."""
    choose: Literal["accuracy", "attention"] = "accuracy"
    """What decides: accuracy, or of those about as accurate the attention most to be trusted."""
    class_weight: Literal["balanced", "none"] = "balanced"
    """Weigh bags by the rarity of their class, or not."""
    standardise: bool = True
    """Standardise columns by their mean and spread over the training bags."""
    supervise_focus: NonNegative = 0.0
    """Weight of −log attention on segments known to be relevant."""
    null_segment: bool = False
    """Give every bag a learnt segment to rest on where there is no evidence."""
    encoder: str = "auto"
    """Frozen encoder of image tiles: a name, none, or auto: where its weights are found."""
    least: Count = 2
    """Words seen less often in training are unknown."""
    split_seed: Annotated[int, Field(ge=0)] = 0
    """Decides which bags are held out."""
    save_seconds: NonNegative = 5.0
    """Time between checkpoints."""
