"""Decoding: the output of a trained encoder–decoder, greedily or by beam search.

The published BLEU is measured with a beam of 5; whether scores are divided by length the paper does
not say. [snell21] A.8
"""

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from foveate.errors import FoveateError
from foveate.text.models.seq2seq import Seq2Seq
from foveate.text.tokens import END, PAD, START, Tokens, batches

__all__ = ["Decoded", "Decoder", "beam_search", "greedy", "translate"]

SIZE = 32  # sentences decoded together
FORBIDDEN = (PAD, START)  # never part of a translation


class Decoder(Protocol):
    """A model that generates text word by word: a translator or a captioner."""

    @property
    def table(self) -> Tensor: ...

    def steps(self, x: Tensor, mask: Tensor | None = None) -> Any: ...

    def step(self, word: Tensor, state: Any) -> tuple[Tensor, Any]: ...


class Decoded(NamedTuple):
    """Decoded sentences.

    Args:
        words: The words of each, without END.
        log_prob: Logarithm of their probability, END included, shape (n,).
    """

    words: list[list[int]]
    log_prob: Tensor


@torch.no_grad()
def greedy(model: Decoder, x: Tensor, mask: Tensor | None = None, *, most: int) -> Decoded:
    """Take the most probable word at every step, until END.

    Args:
        model: The model.
        x: Source words, shape (n, L).
        mask: True where there is a source word, shape (n, L); None where all are.
        most: At most so many words, END included.
    """
    state, word = model.steps(x, mask), x.new_full((len(x),), START)
    over = torch.zeros(len(x), dtype=torch.bool)
    score, outputs = model.table.new_zeros(len(x)), []
    for _ in range(_positive(most)):
        logits, state = model.step(word, state)
        best, word = _log_prob(logits).max(1)
        score += best.masked_fill(over, 0.0)
        outputs.append(word.masked_fill(over, PAD))
        over = over | (word == END)
        if bool(over.all()):
            break
    return Decoded(_until_end(torch.stack(outputs, 1)), score)


@torch.no_grad()
def beam_search(
    model: Decoder,
    x: Tensor,
    mask: Tensor | None = None,
    *,
    most: int,
    width: int = 5,
    by_length: bool = True,
) -> Decoded:
    r"""Keep the ``width`` best partial hypotheses of every sentence at each step.

    The rank of a hypothesis is :math:`\log p / T`, a finished one's T including END; without
    ``by_length`` it is :math:`\log p`, which favours short hypotheses. Finished hypotheses stay and
    compete with unfinished ones. With width 1 this is :func:`greedy`.

    Args:
        model: The model.
        x: Source words, shape (n, L).
        mask: True where there is a source word, shape (n, L); None where all are.
        most: At most so many words, END included.
        width: Hypotheses per sentence.
        by_length: Whether ranks are divided by length.
    """
    n = len(x)
    state = model.steps(x, mask).take(torch.arange(n).repeat_interleave(_positive(width)))
    # At first all hypotheses of a sentence are the same, so only one of them counts.
    score = model.table.new_full((n, width), -torch.inf)
    score[:, 0] = 0.0
    length, over = torch.zeros(n, width), torch.zeros(n, width, dtype=torch.bool)
    words = x.new_full((n, width, 1), START)
    for _ in range(_positive(most)):
        logits, state = model.step(words[..., -1].flatten(), state)
        log_p = _log_prob(logits).view(n, width, -1)
        log_p[over] = -torch.inf
        log_p[..., PAD].masked_fill_(over, 0.0)  # a finished hypothesis is kept unchanged
        length = length + ~over
        total = score[..., None] + log_p
        rank = total / length[..., None] if by_length else total
        index = rank.flatten(1).topk(width).indices
        parent, word = index // log_p.shape[-1], index % log_p.shape[-1]
        score, length = total.flatten(1).gather(1, index), length.gather(1, parent)
        over = over.gather(1, parent) | (word == END) | score.isinf()
        words = torch.cat([words.take_along_dim(parent[..., None], 1), word[..., None]], -1)
        state = state.take((torch.arange(n)[:, None] * width + parent).flatten())
        if bool(over.all()):
            break
    # topk sorts, so the first hypothesis is the best
    return Decoded(_until_end(words[:, 0, 1:]), score[:, 0])


def translate(model: Seq2Seq, source: Tokens, *, most: int, width: int = 5) -> list[list[int]]:
    """Translations of many sentences, in their order; greedy with width 1.

    Args:
        model: The model.
        source: Sentences.
        most: At most so many words to a translation, END included.
        width: Hypotheses per sentence, ranked by length (see :func:`beam_search`).
    """
    outputs: list[list[int]] = []
    order = batches(source.lengths, SIZE, None)
    for rows in order:
        x, mask = source.padded(rows)
        if width == 1:
            outputs += greedy(model, x, mask, most=most).words
        else:
            outputs += beam_search(model, x, mask, most=most, width=width).words
    return [outputs[index] for index in torch.cat(order).argsort().tolist()]


def _log_prob(logits: Tensor) -> Tensor:
    log_p = logits.log_softmax(-1)
    log_p[:, FORBIDDEN] = -torch.inf
    return log_p


def _until_end(words: Tensor) -> list[list[int]]:
    rows = (row[: row.index(END)] if END in row else row for row in words.tolist())
    return [[word for word in row if word != PAD] for row in rows]


def _positive(count: int) -> int:
    if count < 1:
        raise FoveateError(f"decoding needs at least one word and one hypothesis, got {count}")
    return count
