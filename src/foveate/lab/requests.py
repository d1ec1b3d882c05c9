"""Settings of the jobs that the lab runs in worker processes, checked and limited."""

from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from foveate.settings import Settings, Words
from foveate.training.plan import default_paradigms

__all__ = [
    "TASKS",
    "ExamineJob",
    "ExperimentJob",
    "FitRequest",
    "JobRequest",
    "Map",
    "PredictJob",
    "Task",
    "TextJob",
    "TrainJob",
    "UploadJob",
    "lab_paradigms",
]

MAX_MEMBERS = 192  # seeds times paradigms
Name = Literal[
    "error-mode-1",
    "error-mode-2",
    "error-mode-3",
    "gaussians",
    "digits",
    "topic-words",
    "copying",
]


Map = Literal["softmax", "sparsemax", "entmax15", "spherical", "uniform"]


class Task(NamedTuple):
    """A task as the page offers it.

    Args:
        title: Its name.
        about: What there is to see, in a sentence.
        kind: How it is shown: "plane", "image", "words" or "copy".
        epochs: Passes that show what there is to see; steps of copying.
        seeds: Members that a core trains in about a minute.
        n: Training bags.
        n_test: Held-out bags.
        variants: What is trained side by side, where it is not paradigms.
        first_variants: Which of them are selected at first.
    """

    title: str
    about: str
    kind: str
    epochs: int
    seeds: int
    n: int
    n_test: int
    variants: tuple[str, ...] = ()
    first_variants: tuple[str, ...] = ()

    @property
    def choices(self) -> tuple[str, ...]:
        """What can be trained side by side: variants, or the paradigms offered in the lab."""
        return self.variants or lab_paradigms()

    @property
    def chosen(self) -> tuple[str, ...]:
        """Which of the choices are selected at first."""
        return self.first_variants or default_paradigms()

    def to_json(self) -> dict[str, Any]:
        """The task as the page reads it."""
        fields = {k: v for k, v in self._asdict().items() if not k.endswith("variants")}
        return {**fields, "choices": self.choices, "chosen": self.chosen}


def lab_paradigms() -> tuple[str, ...]:
    """The paradigms offered in the lab, those raced by default first."""
    from foveate.attention.paradigms import PARADIGMS

    raced = default_paradigms()
    others = (name for name, kind in PARADIGMS.items() if kind.in_lab and name not in raced)
    return (*raced, *others)


TASKS: dict[Name, Task] = {
    "error-mode-1": Task(
        "Error mode 1",
        "A bag is a handful of points in the plane. One lies in the box of the bag's class and "
        "decides the label; the others are background and say nothing. A right linear focus "
        "exists, but some starts end in another: every answer is right, yet one class is read "
        "from the background.",
        "plane", 100, 24, 1000, 300,
    ),
    "error-mode-2": Task(
        "Error mode 2",
        "Boxes in the plane. No linear focus is right, yet a linear pair answers right.",
        "plane", 100, 24, 1000, 300,
    ),
    "error-mode-3": Task(
        "Error mode 3",
        "Six small boxes. A strong classifier reads the plain average of the bag, so the focus "
        "need not move.",
        "plane", 150, 16, 1000, 300,
    ),
    "gaussians": Task(
        "Gaussians",
        "Ten clusters in the plane, three of them foreground; focus and classifier are networks.",
        "plane", 300, 8, 1000, 300,
    ),
    "digits": Task(
        "Digits",
        "Mosaics of twenty handwritten digits: a 0, 1 or 2 among the digits 3 to 9.",
        "image", 40, 4, 1000, 300,
    ),
    "topic-words": Task(
        "Topic words",
        "Sentences with one topic word among words that say nothing.",
        "words", 150, 4, 1000, 300,
    ),
    "copying": Task(
        "Copying",
        "A translator learns to copy sequences. Where every sequence has the same words, "
        "co-occurrence says nothing, and attention is late to come.",
        "copy", 1200, 1, 0, 64,
        ("subset", "permutation", "mixture", "permutation-function"), ("subset", "permutation"),
    ),
}  # fmt: skip


class TrainJob(Settings):
    """A live training of several members under several paradigms side by side."""

    kind: Literal["train"] = "train"
    task: Name = "error-mode-1"
    """What is learnt."""
    paradigms: Annotated[Words, Field(min_length=1, max_length=6)] = ("soft",)
    """How; for copying, which kind of sequences."""
    map: Map = "softmax"
    """How scores become attention."""
    seeds: Annotated[int, Field(ge=1, le=48)] = 24
    """How many initial weights; all see the same bags."""
    first: Annotated[int, Field(ge=0, le=10**6)] = 0
    """The first seed: others draw other initial weights."""
    epochs: Annotated[int, Field(ge=1, le=5000)] = 100
    """Passes over the bags; steps of copying."""
    minutes: Annotated[float, Field(gt=0, le=30)] = 10.0
    """When it is stopped, whatever it has reached."""

    @model_validator(mode="after")
    def _paradigms_fit(self) -> Self:
        task = TASKS[self.task]
        odd = [name for name in self.paradigms if name not in task.choices]
        if odd:
            raise ValueError(
                f"{task.title} has no '{odd[0]}': choose from {', '.join(task.choices)}"
            )
        if len(set(self.paradigms)) < len(self.paradigms):
            raise ValueError("a paradigm can be chosen once")
        if self.seeds * len(self.paradigms) > MAX_MEMBERS:
            raise ValueError(
                f"seeds times paradigms can be {MAX_MEMBERS} at most, "
                f"got {self.seeds * len(self.paradigms)}"
            )
        return self


class ExperimentJob(Settings):
    """An experiment behind some claims, run again."""

    kind: Literal["experiment"] = "experiment"
    experiment: str
    """A name in ``foveate list experiments``."""
    scale: Literal["smoke", "small"] = "smoke"
    """smoke takes seconds, small suits two cores."""
    minutes: Annotated[float, Field(gt=0, le=180)] = 60.0


class TextJob(Settings):
    """A text model that is trained and then asked: a reader of texts, or an aligner of pairs."""

    kind: Literal["words"] = "words"
    what: Literal["texts", "pairs"] = "texts"
    """Whether it reads texts or aligns pairs."""
    corpus: str = "keywords"
    """What it learns from, a registered set of texts or pairs."""
    steps: Annotated[int, Field(ge=20, le=5000)] = 300
    """Steps of training."""
    path: str = ""
    """Where a model that was trained before is kept, to be asked again; never a request's word."""
    minutes: Annotated[float, Field(gt=0, le=120)] = 60.0
    """When its training is stopped, whatever it has reached."""


Column = Annotated[str, Field(max_length=200)]
ColumnRole = Literal[
    "bag", "label", "group", "relevance", "place", "split", "text", "feature", "left out"
]
SINGLE_ROLES = ("bag", "label", "text", "group", "relevance", "split")


class UploadJob(Settings):
    """A user's file: read and checked, then fitted and examined when that is asked for."""

    kind: Literal["own"] = "own"
    path: str
    """Where the lab has stored the file; never taken from a request."""
    name: Annotated[str, Field(max_length=300)]
    """What the user calls it."""
    roles: dict[Column, ColumnRole] = Field(default_factory=dict)
    """Role of each column that the user has set."""
    minutes: Annotated[float, Field(gt=0, le=120)] = 30.0
    """When it is stopped, whatever it has reached."""

    @model_validator(mode="after")
    def _roles_are_possible(self) -> Self:
        for role in SINGLE_ROLES:
            named = [column for column, assigned in self.roles.items() if assigned == role]
            if len(named) > 1:
                raise ValueError(f"one column can be the {role}, got {' and '.join(named)}")
        return self

    def columns(self) -> dict[str, Any]:
        """The roles as keywords of :func:`foveate.io.read_bags`.

        Example:
            >>> UploadJob(path="x", name="x", roles={"id": "bag", "a": "feature"}).columns()
            {'bag': 'id', 'segment': ('a',)}
            >>> UploadJob(path="x", name="x", roles={"group": "left out"}).columns()
            {'ignore': ('group',)}
        """
        by_role: dict[str, list[str]] = {}
        for column, role in self.roles.items():
            by_role.setdefault(role, []).append(column)
        single = {role: names[0] for role, names in by_role.items() if role in SINGLE_ROLES}
        several = {"places": "place", "ignore": "left out"}
        if "text" not in by_role:
            several["segment"] = "feature"
        return single | {
            name: tuple(by_role[role]) for name, role in several.items() if role in by_role
        }


class PredictJob(Settings):
    """New bags that a fitted model reads."""

    kind: Literal["predict"] = "predict"
    path: str
    """Where the lab has stored the file; never taken from a request."""
    name: Annotated[str, Field(max_length=300)]
    """What the user calls it."""
    run: str
    """The fit, as the page names it."""
    folder: str
    """Its run directory; looked up, never taken from a request."""
    paradigm: str
    """Which of its models."""
    minutes: Annotated[float, Field(gt=0, le=120)] = 30.0


class FitRequest(Settings):
    """How a user's bags are fitted from the page."""

    paradigms: Annotated[Words, Field(min_length=1, max_length=6)] = Field(
        default_factory=default_paradigms
    )
    seeds: Annotated[int, Field(ge=1, le=10)] = 3
    epochs: Annotated[int, Field(ge=1, le=1000)] | None = None
    absent: Words = ()
    """Classes that mean that nothing is there."""
    teach: bool = False
    """Whether known relevant segments supervise attention."""
    minutes: Annotated[float, Field(gt=0, le=120)] = 60.0


class ExamineJob(Settings):
    """A finished fit that is examined under other answers to what its classes mean."""

    kind: Literal["examine"] = "examine"
    run: str
    """The fit, as the page names it."""
    folder: str
    """Its run directory; looked up, never taken from a request."""
    absent: Words = ()
    """Classes that mean that nothing is there."""
    evidence: dict[str, Literal["A", "B"]] = Field(default_factory=dict)
    """The kind of evidence that is meant, by class, where there are two."""
    minutes: Annotated[float, Field(gt=0, le=120)] = 30.0


JobRequest = TrainJob | ExperimentJob | TextJob | UploadJob | PredictJob | ExamineJob
