"""What the trainings of labelled texts and of sentence pairs have in common."""

from collections.abc import Callable, Sequence
from pathlib import Path

from foveate.records.record import Record
from foveate.studies.snell21.agreement.comparison import compare, random_levels
from foveate.text.loop import MemberTraining, follow
from foveate.types import Array, StepProgress

__all__ = ["Stages"]


class Stages:
    """The trainings of one data set, one kind of model after the other.

    Args:
        checkpoint: Checkpoint of the part; every kind has a file beside it.
        kinds: Kinds that will be trained.
        rows: Where each evaluation row begins, and N at the end, shape (R + 1,).
        group: The set of each row, shape (R,).
        steps: Steps of all trainings together.
        progress: Called as ``progress(steps done, steps in all)``, all kinds together.
    """

    def __init__(
        self,
        checkpoint: Path,
        kinds: Sequence[str],
        rows: Array,
        group: Array,
        steps: int,
        progress: StepProgress,
    ) -> None:
        self.files = {kind: checkpoint.with_name(f"{kind}.safetensors") for kind in kinds}
        self.start, self.group = rows, group
        self.steps, self.progress, self.done = steps, progress, 0

    @property
    def random(self) -> Array:
        """The random level of agreement in each set, shape (3,)."""
        return random_levels(self.start, self.group)

    def clear(self) -> None:
        """Remove the files of the kinds."""
        for file in self.files.values():
            file.unlink(missing_ok=True)

    def follow(
        self, kind: str, members: Sequence[Callable[[], MemberTraining]], measured: Sequence[int]
    ) -> Record:
        """Train the models of one kind and measure them at some steps."""
        before = self.done
        self.done += len(members) * measured[-1]
        return follow(
            members,
            measured,
            checkpoint=self.files[kind],
            report=lambda done, _: self.progress(before + done, self.steps),
        )

    def compare(self, u: Array, v: Array) -> Array:
        """Agreement of u with v by set and measure, shape (3, 3)."""
        return compare(u, v, self.start, self.group)
