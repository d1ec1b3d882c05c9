"""One training of a copy task: fresh sequences every step, read on held-out ones. [snell21] 3.3"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from foveate.randomness import generator
from foveate.records.record import Array
from foveate.text.corpora.copying import copying, word_count
from foveate.text.loop import MemberTraining
from foveate.text.models.seq2seq import Cell, Contexts, Seq2Seq, shifted
from foveate.text.tokens import MARKS

__all__ = ["CopyTask", "copy_training", "model_for", "read_copies"]


@dataclass(frozen=True)
class CopyTask:
    """A copy task and its training settings.

    Args:
        kind: One of :data:`foveate.text.corpora.copying.KINDS`.
        length: Words per sequence.
        d: Size of embeddings and states.
        batch: Sequences per step.
        held_out: Sequences to measure on.
        probed: How many of these the probe β is read on.
        lr: Learning rate of Adam.
        cell: Recurrent unit of encoder and decoder.
        contexts: How the contexts of several heads combine.
    """

    kind: str
    length: int
    d: int
    batch: int
    held_out: int
    probed: int
    lr: float
    cell: Cell = "lstm"
    contexts: Contexts = "sum"


def model_for(task: CopyTask, heads: int = 1) -> Seq2Seq:
    """The paper's copy model: one layer, one direction, tanh readout."""
    words = word_count(task.kind, task.length) + len(MARKS)
    return Seq2Seq(words, task.d, heads=heads, cell=task.cell, contexts=task.contexts)


def copy_training(
    task: CopyTask,
    model: Seq2Seq,
    data_seed: int,
    should_stop: Callable[[Mapping[str, Array]], bool] = lambda _: False,
) -> MemberTraining:
    """The training of ``model`` on the sequences that ``data_seed`` decides."""
    held_out = copying(
        task.kind, task.held_out, generator("copies to read", task.kind, data_seed), task.length
    )

    def loss(step: int) -> Tensor:
        stream = generator("copies to learn", task.kind, data_seed, step)
        x, y = copying(task.kind, task.batch, stream, task.length)
        scores = model(x, shifted(y))
        return torch.nn.functional.cross_entropy(scores.flatten(0, 1), y.flatten())

    return MemberTraining(
        model, loss, lambda _: read_copies(model, *held_out, task.probed), task.lr, should_stop
    )


@torch.no_grad()
def read_copies(model: Seq2Seq, x: Tensor, y: Tensor, probed: int) -> dict[str, Array]:
    """Accuracy, attention and probe on held-out sequences.

    Args:
        model: The model.
        x: Inputs, shape (n, L); no word occurs twice in one.
        y: Outputs, shape (n, L).
        probed: Number of sequences on which β is read at every position.

    Returns:
        ``accuracy`` of words with the true words before them; ``loss`` in nats per word; ``on``,
        the attention on the word to copy, summed over heads and divided by their number; ``knows``,
        the share of positions where β is largest at the word to copy (random level: 1/L).
    """
    reading = model.read(x, shifted(y))
    scores = model.logits(model.context(reading), reading.s)
    right = x[:, None, :] == y[:, :, None]  # (n, T, L): where the word to copy is
    first = model.read(x[:probed], shifted(y[:probed]))
    all_positions = torch.ones_like(right[:probed])
    beta = model.evidence(first, y[:probed], all_positions).view_as(all_positions)
    best = beta == beta.amax(-1, keepdim=True)
    beta_known = (best & right[:probed]).sum(-1) / best.sum(-1)
    return {
        "accuracy": _mean(scores.argmax(-1) == y),
        "loss": _mean(torch.nn.functional.cross_entropy(scores.mT, y, reduction="none")),
        "on": _mean((reading.alpha.mean(0) * right).sum(-1)),
        "knows": _mean(beta_known),
    }


def _mean(x: Tensor) -> Array:
    return np.asarray(x.double().mean())
