"""Copying k of n words: the sequences, their diagnosis, and one training."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from foveate.errors import FoveateError
from foveate.randomness import generator
from foveate.records.record import Array
from foveate.studies.beyond.diagnosis.corpora import diagnosed
from foveate.text.loop import MemberTraining, built
from foveate.text.models.seq2seq import Seq2Seq, shifted
from foveate.text.tokens import MARKS, Tokens

if TYPE_CHECKING:
    from foveate.studies.beyond.diagnosis import DiagnosisSettings

__all__ = ["Condition", "condition_training", "predicted"]


@dataclass(frozen=True)
class Condition:
    """Sequences of different words, to be copied.

    Args:
        name: What the condition is called.
        length: Words per sequence, k.
        words: Number of words that they are drawn from, n ≥ k; k = n makes permutations.
        sets: Number of such sets of words; a sequence is drawn from one of them, with equal chance.
    """

    name: str
    length: int
    words: int
    sets: int = 1

    def __post_init__(self) -> None:
        if self.words < self.length:
            message = f"cannot draw {self.length} different words from {self.words}"
            raise FoveateError(f"{self.name}: {message}")

    @property
    def vocabulary(self) -> int:
        """Number of ids, marks included."""
        return self.words * self.sets + len(MARKS)

    def draw(self, n: int, rng: torch.Generator) -> Tensor:
        """n sequences, shape (n, k).

        Example:
            >>> Condition("of 9", 3, 9).draw(2, generator("doctest")).shape
            torch.Size([2, 3])
        """
        keys = torch.rand(n, self.words, generator=rng, dtype=torch.float64)
        offset = self.words * torch.randint(self.sets, (n, 1), generator=rng)
        return keys.argsort(1)[:, : self.length] + offset + len(MARKS)


def predicted(task: Condition, n: int) -> tuple[dict[str, Array], str]:
    """The diagnosis of n sequences: its numbers, shape (1,) each, and its verdict."""
    x = task.draw(n, generator("diagnosed copies", task.name))
    tokens = Tokens(x.flatten(), torch.arange(n + 1) * task.length)
    names = [str(i) for i in range(task.vocabulary)]
    return diagnosed(tokens, tokens, (names, names))


def condition_training(settings: "DiagnosisSettings", task: Condition, seed: int) -> MemberTraining:
    """The paper's copy model on new sequences, until it reaches the accuracy. [snell21] Sec. 3.3"""
    make = partial(Seq2Seq, task.vocabulary, settings.d)
    model: Seq2Seq = built(make, "diagnosis", task.name, seed)  # type: ignore[assignment]
    held_out = task.draw(settings.held_out, generator("copies to read", task.name, seed))

    def loss(step: int) -> Tensor:
        x = task.draw(settings.batch, generator("copies to learn", task.name, seed, step))
        scores = model(x, shifted(x))
        return torch.nn.functional.cross_entropy(scores.flatten(0, 1), x.flatten())

    @torch.no_grad()
    def measure(_step: int) -> dict[str, Array]:
        right = model(held_out, shifted(held_out)).argmax(-1) == held_out
        return {"accuracy": np.asarray(right.double().mean())}

    return MemberTraining(
        model, loss, measure, settings.lr, lambda seen: bool(seen["accuracy"] > settings.learnt)
    )
