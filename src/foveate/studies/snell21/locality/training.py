"""One training on keyword sentences under uniform attention, and what is read from it."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from foveate.randomness import generator
from foveate.records.record import Array
from foveate.text.corpora.keywords import KEYWORD, keyword_sentences
from foveate.text.loop import MemberTraining, built
from foveate.text.models.reader import Reader, signed
from foveate.text.tokens import MARKS

__all__ = ["MAX_DISTANCE", "Condition", "KeywordTask", "keyword_training", "read_keywords"]

MAX_DISTANCE = 8
"""The profile of γ around the keyword goes so many positions to either side."""


@dataclass(frozen=True)
class KeywordTask:
    """The task and its training settings.

    Args:
        length: Words to a sentence, L.
        vocabulary: Number of words.
        embedding: Size of an embedding.
        d: Size of a state in each direction.
        batch: New sentences per step.
        held_out: Sentences to measure on, half of them positive.
        lr: Learning rate of Adam.
    """

    length: int
    vocabulary: int
    embedding: int
    d: int
    batch: int
    held_out: int
    lr: float


@dataclass(frozen=True)
class Condition:
    """Differences of a reader from the paper's.

    Args:
        both: Whether the LSTM is bidirectional.
        sd: Standard deviation of its embeddings at the beginning.
    """

    both: bool = True
    sd: float = 1.0


def keyword_training(task: KeywordTask, condition: Condition, seed: int) -> MemberTraining:
    """The training that ``seed`` decides: weights, sentences to learn from and to read."""
    model = built(partial(_reader, task, condition), "locality", seed)

    def sentences(n: int, *name: str | int) -> tuple[Tensor, Tensor]:
        return keyword_sentences(n, generator(*name), task.length, task.vocabulary)

    held_out = sentences(task.held_out, "keywords to read", seed)

    def loss(step: int) -> Tensor:
        x, y = sentences(task.batch, "keywords to learn", seed, step)
        return torch.nn.functional.softplus(-signed(model(x).logit, y)).mean()

    return MemberTraining(model, loss, lambda _: read_keywords(model, *held_out), task.lr)  # type: ignore[arg-type]


def _reader(task: KeywordTask, condition: Condition) -> Reader:
    words = task.vocabulary + len(MARKS)
    return Reader(
        words,
        embedding=task.embedding,
        d=task.d,
        attention="uniform",
        both=condition.both,
        vectors=condition.sd * torch.randn(words, task.embedding),
    )


@torch.no_grad()
def read_keywords(model: Reader, x: Tensor, y: Tensor) -> dict[str, Array]:
    r"""Evidence of the keyword by position, :math:`γ_l = \log β_l / (1 - β_l)`. [snell21] 6.1

    Args:
        model: A reader.
        x: Sentences, shape (n, L).
        y: Labels, shape (n,); the keyword stands once in each positive sentence.

    Returns:
        ``accuracy`` and ``loss`` (nats) over all sentences. Over positive ones whose keyword is not
        the last word: ``keyword`` γ_{l*}, ``after`` γ_{l*+1}, ``mean`` γ̄, ``last`` γ_L, and
        ``first`` γ_1 (ours: the backward direction ends there). Over all positive ones: ``place``,
        γ_l by l (L,); ``around``, γ_{l*+k} for k = −REACH … REACH, NaN where no sentence has one.
    """
    output = model(x)
    positive = y == 1
    gamma, keyword = output.gamma[positive], (x[positive] == KEYWORD).long().argmax(1)
    inner, last_position = gamma[keyword < x.shape[1] - 1], keyword[keyword < x.shape[1] - 1, None]
    return {
        "accuracy": _mean((output.logit > 0) == positive),
        "loss": _mean(torch.nn.functional.softplus(-signed(output.logit, y))),
        "keyword": _mean(inner.gather(1, last_position)),
        "after": _mean(inner.gather(1, last_position + 1)),
        "mean": _mean(inner),
        "last": _mean(inner[:, -1]),
        "first": _mean(inner[:, 0]),
        "place": gamma.double().mean(0).numpy(),
        "around": _window(gamma, keyword),
    }


def _window(gamma: Tensor, keyword: Tensor) -> Array:
    """The mean of γ at each distance from the keyword, shape (2 REACH + 1,)."""
    position = keyword[:, None] + torch.arange(-MAX_DISTANCE, MAX_DISTANCE + 1)
    inside = (position >= 0) & (position < gamma.shape[1])
    neighbours = gamma.double().gather(1, position.clamp(0, gamma.shape[1] - 1))
    return neighbours.masked_fill(~inside, torch.nan).nanmean(0).numpy()


def _mean(x: Tensor) -> Array:
    return np.asarray(x.double().mean())
