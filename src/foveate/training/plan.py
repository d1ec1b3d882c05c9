"""Plans: validated settings of a training or a race, shared by library, TOML and command line."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from foveate.settings import AtLeastTwo, Count, NonNegative, Positive, Settings, Share, Words

__all__ = ["Plan", "Race", "ResolvedRace", "default_paradigms"]


def default_paradigms() -> tuple[str, ...]:
    """The names of the paradigms that declare themselves raced by default.

    Example:
        >>> default_paradigms()
        ('soft', 'hard', 'lvml', 'hybrid', 'witness')
    """
    from foveate.attention.paradigms import PARADIGMS

    return tuple(name for name, kind in PARADIGMS.items() if kind.raced_by_default)


def _number(value: Any) -> Any:
    """A number if the text is one: the command line passes text only."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


class Plan(Settings):
    """Length, batch size, learning rate and other settings of a training.

    Example:
        >>> Plan(epochs=5, lr=0.01).model_dump(include={"epochs", "lr", "optimizer"})
        {'epochs': 5, 'lr': 0.01, 'optimizer': 'adam'}
    """

    epochs: Count = 60
    """Passes over the training bags."""
    batch: Count = 200
    """Bags per step."""
    lr: Positive | tuple[Positive, ...] = 1e-3
    """Learning rate, or one per member."""
    switched_lr: Positive | None = None
    """Learning rate after the switch of a hybrid; unchanged unless given."""
    optimizer: Literal["sgd", "adam", "adamw"] = "adam"
    """Optimiser."""
    momentum: Share = 0.9
    """Momentum of SGD."""
    weight_decay: NonNegative = 0.0
    """Weight decay."""
    every: Count | None = None
    """Epochs between measurements; about thirty in all unless given."""
    validation: Share = 0.0
    """Share of the training bags used for early stopping."""
    patience: Count | None = None
    """Stop a member after so many epochs without a lower validation loss; restore its best."""
    stop_below: Positive | None = None
    """Stop a member when its mean training loss falls below."""
    dtype: Literal["float32", "float64"] = "float32"
    """Number type."""
    save_seconds: NonNegative = 5.0
    """Seconds between checkpoints."""

    @model_validator(mode="after")
    def _patience_needs_bags(self) -> Self:
        if self.patience is not None and self.validation == 0:
            raise ValueError("patience needs validation bags: set validation above 0")
        return self

    @property
    def measure_every(self) -> int:
        """Epochs between measurements."""
        return self.every or max(1, self.epochs // 30)


class Race(Settings):
    """Settings of a race: every field is a flag of ``foveate race`` and a key of its TOML file.

    Fields left out are taken from the data set's recipe.

    Example:
        >>> Race(data="digits", paradigms="soft,hard", seeds=3).paradigms
        ('soft', 'hard')
    """

    data: str = "digits"
    """A data set by name, or the path of a Parquet folder or an NPZ file."""
    label: str | None = None
    """Label column of a Parquet folder."""
    foreground: Words | None = None
    """Labels that are foreground, where data is a path."""
    paradigms: Annotated[Words, Field(min_length=1)] = Field(default_factory=default_paradigms)
    """Ways to train; unless given, those that are raced by default."""
    seeds: Count = 10
    """How many seeds; seed 0, 1, … decides data, weights and order."""
    m: int | None = None
    """Segments per bag."""
    n: int | None = None
    """Training bags."""
    n_test: int | None = None
    """Held-out bags."""
    net: str | None = None
    """Networks for f and g."""
    map: str = "softmax"
    """How scores become attention."""
    layer: str = "zeroth"
    """Where segments are averaged: zeroth, or f's last hidden layer."""
    entropy: NonNegative = 0.0
    """Weight of the entropy regulariser."""
    switch: Annotated[float | str, BeforeValidator(_number)] = 0.8
    """Where the hybrid switches: a fraction, an epoch, or plateau."""
    equal_compute: bool = False
    """Give every paradigm the multiplications that soft attention needs for all epochs."""
    epochs: int | None = None
    """Passes over the training bags."""
    batch: int | None = None
    """Bags per step."""
    lr: float | None = None
    """Learning rate."""
    optimizer: str | None = None
    """sgd, adam or adamw."""
    validation: float = 0.0
    """Share of the training bags used for early stopping."""
    patience: int | None = None
    """Epochs without a lower validation loss before a seed stops."""
    stop_below: float | None = None
    """Training loss at which a seed stops."""
    save_seconds: float = 5.0
    """Seconds between checkpoints."""


class ResolvedRace(Race):
    """A race with every setting resolved, as stored in the manifest of a run."""

    data: str
    paradigms: Annotated[Words, Field(min_length=1)]
    seeds: Count
    m: AtLeastTwo
    n: Count
    n_test: Count
    net: str
    epochs: Count
    batch: Count
    lr: Positive
    optimizer: str

    @model_validator(mode="after")
    def _both_sides_have_bags(self) -> Self:
        if self.validation and not 0 < round(self.n * (1 - self.validation)) < self.n:
            share = f"a validation share of {self.validation}"
            raise ValueError(f"{share} leaves no bags on one side of {self.n}")
        return self

    def plan(self, epochs: int) -> Plan:
        """The training plan of one paradigm."""
        names = ("batch", "lr", "optimizer", "validation", "patience", "stop_below", "save_seconds")
        return Plan(epochs=epochs, **{name: getattr(self, name) for name in names})
