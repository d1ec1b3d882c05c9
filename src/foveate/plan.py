"""Plans: what is trained and how, checked once, shared by library, TOML and command line."""

from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from foveate.errors import FoveateError

__all__ = ["RACED", "Checked", "Plan", "Race", "SettledRace"]

RACED = ("soft", "hard", "lvml", "hybrid", "witness")
Rate = Annotated[float, Field(gt=0)]


def _words(given: Any) -> Any:
    """Words separated by commas, or a list of them."""
    parts = given.split(",") if isinstance(given, str) else given
    if not isinstance(parts, list | tuple):
        return given
    return tuple(word.strip() for part in parts for word in str(part).split(","))


def _number(given: Any) -> Any:
    """A number where there is one in the text: a command line has only text."""
    try:
        return float(given) if isinstance(given, str) else given
    except ValueError:
        return given


Words = Annotated[tuple[str, ...], BeforeValidator(_words)]


class Checked(BaseModel):
    """A frozen set of named values whose errors are one sentence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise FoveateError(_sentence(error, type(self))) from None


class Plan(Checked):
    """How long, in what batches and at what rate a stack is trained."""

    epochs: Annotated[int, Field(ge=1)] = 60
    """Passes over the training bags."""
    batch: Annotated[int, Field(ge=1)] = 200
    """Bags per step."""
    lr: Rate | tuple[Rate, ...] = 1e-3
    """Learning rate, or one per member."""
    optimizer: Literal["sgd", "adam", "adamw"] = "adam"
    """Optimiser."""
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    """Momentum of SGD."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    """Weight decay."""
    every: Annotated[int, Field(ge=1)] | None = None
    """Epochs between measurements; about thirty in all unless given."""
    validation: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of the training bags kept for stopping."""
    patience: Annotated[int, Field(ge=1)] | None = None
    """Stop a member after so many epochs without a lower validation loss, and keep its best."""
    stop_below: Rate | None = None
    """Stop a member when its mean training loss falls below."""
    dtype: Literal["float32", "float64"] = "float32"
    """Number type."""
    save_seconds: Annotated[float, Field(ge=0)] = 5.0
    """Time between checkpoints, where one is kept."""

    @model_validator(mode="after")
    def _patience_needs_bags(self) -> Self:
        if self.patience is not None and self.validation == 0:
            raise ValueError("patience needs validation bags: set validation above 0")
        return self

    @property
    def measure_every(self) -> int:
        """Epochs between measurements."""
        return self.every or max(1, self.epochs // 30)


class Race(Checked):
    """What is raced: every field is a flag of ``foveate race`` and a key of its TOML file.

    Fields left out take the data set's own recipe.
    """

    data: str = "digits"
    """A data set by name, or the path of a Parquet folder or an NPZ file."""
    label: str | None = None
    """Label column of a Parquet folder."""
    foreground: Words | None = None
    """Labels that are foreground, where data is a path."""
    paradigms: Annotated[Words, Field(min_length=1)] = RACED
    """Ways to train."""
    seeds: Annotated[int, Field(ge=1)] = 10
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
    entropy: Annotated[float, Field(ge=0)] = 0.0
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
    """Share of the training bags kept for stopping."""
    patience: int | None = None
    """Epochs without a lower validation loss before a seed stops."""
    stop_below: float | None = None
    """Training loss at which a seed stops."""
    save_seconds: float = 5.0
    """Time between checkpoints."""


class SettledRace(Race):
    """A race with nothing left open: what a manifest keeps and a resumed run reads."""

    data: str
    paradigms: Annotated[Words, Field(min_length=1)]
    seeds: Annotated[int, Field(ge=1)]
    m: Annotated[int, Field(ge=2)]
    n: Annotated[int, Field(ge=1)]
    n_test: Annotated[int, Field(ge=1)]
    net: str
    epochs: Annotated[int, Field(ge=1)]
    batch: Annotated[int, Field(ge=1)]
    lr: Rate
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


def _sentence(error: ValidationError, kind: type[BaseModel]) -> str:
    """The first problem in words: what must hold, what came, where."""
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"][:1]).replace("_", "-")
    if first["type"] == "extra_forbidden":
        import difflib

        near = difflib.get_close_matches(str(first["loc"][0]), kind.model_fields, n=1)
        return f"unknown setting '{first['loc'][0]}'" + (
            f". Did you mean '{near[0]}'?" if near else ""
        )
    if first["type"] == "missing":
        return f"{name} must be given"
    message = first["msg"].removeprefix("Value error, ")
    if not name:
        return message
    return f"{name}: {message[0].lower()}{message[1:]}, got {first['input']!r}"
