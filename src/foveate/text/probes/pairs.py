r"""Probes of a translation model: attention, evidence, influence on the loss. [snell21]

For every target word t of a pair and every source word l: attention :math:`\alpha_{t,l}`, the
lexical probe :math:`\beta_{t,l} = N([h_l, s_t])_{y_t}` (its logarithm), and gradient influence
:math:`\Delta_{t,l} = -e_l \cdot \partial L_t / \partial e_l`. Pairs are read in batches of like
length and are returned in the original order. END is learnt and counts as a word of the
performance, but has no row: no source word is its translation.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from foveate.text.models.lstm import look_up
from foveate.text.models.proxy import Proxy
from foveate.text.models.seq2seq import Seq2Seq, shifted
from foveate.text.statistics.pair_tables import Tables
from foveate.text.tokens import END, Tokens, batches

__all__ = [
    "PairBatch",
    "Performance",
    "append_end",
    "influence",
    "links_of",
    "pair_batches",
    "performance",
    "proxy_evidence",
    "read_attention",
    "read_evidence",
]

SIZE = 64  # pairs read together
INFLUENCE_BATCH = 8  # pairs whose influence is computed together, a copy per word
CELLS = 1 << 22  # scores of the proxy held at a time


@dataclass(frozen=True)
class PairBatch:
    """Some pairs, padded.

    Args:
        rows: Which pairs they are, shape (B,).
        x: Source words, shape (B, L).
        mask: True where there is one, shape (B, L).
        y: Target words, END appended, shape (B, T).
        real: True where there is one, END included, shape (B, T).
    """

    rows: Tensor
    x: Tensor
    mask: Tensor
    y: Tensor
    real: Tensor

    @classmethod
    def of(cls, source: Tokens, target: Tokens, rows: Tensor) -> "PairBatch":
        """The pairs at ``rows``; targets are :func:`append_end`."""
        return cls(rows, *source.padded(rows), *target.padded(rows))

    @property
    def cells(self) -> Tensor:
        """True where a target word, END left out, meets a source word, shape (B, T − 1, L)."""
        return self.real[:, 1:, None] & self.mask[:, None, :]


@dataclass(frozen=True)
class Performance:
    """Performance with teacher forcing, END included.

    Args:
        accuracy: Share of words given the largest probability (token accuracy).
        loss: Nats per word.
    """

    accuracy: float
    loss: float


def append_end(target: Tokens) -> Tokens:
    """The texts with END appended.

    Example:
        >>> append_end(Tokens.of([[5, 6], [7]])).ids.tolist()
        [5, 6, 3, 7, 3]
    """
    n = torch.arange(len(target))
    ids = torch.full((len(target.ids) + len(target),), END)
    ids[torch.arange(len(target.ids)) + target.text] = target.ids
    return Tokens(ids, target.start + torch.cat([n, n.new_tensor([len(target)])]))


def pair_batches(source: Tokens, target: Tokens, size: int) -> Iterator[PairBatch]:
    """All pairs in batches of similar length, END appended to the targets."""
    lengths = torch.stack([source.lengths, target.lengths], 1)
    with_end = append_end(target)
    for rows in batches(lengths, size, None):
        yield PairBatch.of(source, with_end, rows)


@torch.no_grad()
def performance(model: Seq2Seq, source: Tokens, target: Tokens) -> Performance:
    """Token accuracy and loss over all pairs."""
    right = loss = words = 0.0
    for batch in pair_batches(source, target, SIZE):
        reading = model.read(batch.x, shifted(batch.y), batch.mask)
        context = model.context(reading)[batch.real]
        scores, y = model.logits(context, reading.s[batch.real]), batch.y[batch.real]
        right += float((scores.argmax(-1) == y).sum())
        loss += float(nn.functional.cross_entropy(scores, y, reduction="sum"))
        words += len(y)
    return Performance(right / words, loss / words)


def read_attention(model: Seq2Seq, source: Tokens, target: Tokens) -> Tables:
    """α of every pair, the mean over heads."""

    def read(batch: PairBatch) -> Tensor:
        return model.read(batch.x, shifted(batch.y), batch.mask).alpha.mean(0)[:, :-1]

    return _read(read, source, target)


def read_evidence(model: Seq2Seq, source: Tokens, target: Tokens) -> Tables:
    """log β of every pair; expensive, since each cell needs the scores of all words."""

    def read(batch: PairBatch) -> Tensor:
        reading = model.read(batch.x, shifted(batch.y), batch.mask)
        cells = batch.cells
        values = reading.s.new_zeros(cells.shape)
        # `cells` leaves out a place at the end, so y keeps its places
        values[cells] = model.evidence(reading, batch.y, cells)
        return values

    return _read(read, source, target)


def influence(model: Seq2Seq, source: Tokens, target: Tokens) -> Tables:
    r"""Gradient influence :math:`\Delta_{t,l} = -e_l \cdot \partial L_t / \partial e_l`.

    To first order, how much the loss of word t falls as the embedding of word l grows. Every target
    word gets a copy of its pair, so that one backward pass serves all words of some pairs; a third
    faster than a pass for each t, but as expensive as T training steps. [snell21] Sec. 5.1
    """
    return _read(lambda batch: _influence(model, batch), source, target, INFLUENCE_BATCH)


def _influence(model: Seq2Seq, batch: PairBatch) -> Tensor:
    counted = batch.real[:, 1:]
    b, t = counted.nonzero(as_tuple=True)
    mask, before = batch.mask[b], shifted(batch.y)[b]
    with torch.enable_grad():
        e = look_up(model.table, batch.x[b]).detach().requires_grad_()
        index = torch.arange(mask.numel()).view_as(mask)  # one embedding per position
        raw, last = model.encoder(index, e.flatten(0, 1), mask)
        target_table = model.table if model.own is None else model.own
        states, _ = model.decoder(before, target_table.detach(), first=last)
        s = states[torch.arange(len(t)), t][:, None]
        context = model.attend(s, raw, mask).sum(0) @ model.narrow(raw)
        scores = model.logits(context, s)[:, 0]
        loss = nn.functional.cross_entropy(scores, batch.y[b, t], reduction="sum")
        (gradient,) = torch.autograd.grad(loss, e)
    values = e.new_zeros(*counted.shape, mask.shape[1])
    values[b, t] = -(e.detach() * gradient).sum(-1)
    return values


def links_of(tables: Tables) -> list[set[tuple[int, int]]]:
    """Links (l, t) from every target word to the source word where its row is largest.

    Example:
        >>> links_of(Tables.of([[[0.9, 0.1]], [[0.2, 0.8]]]))
        [{(0, 0)}, {(1, 0)}]
    """
    best = np.split(tables.best(), np.cumsum(tables.target)[:-1])
    return [{(int(index), t) for t, index in enumerate(row)} for row in best]


@torch.no_grad()
def proxy_evidence(proxy: Proxy, source: Tokens, target: Tokens) -> Tables:
    r"""The proxy's probe, :math:`\log \beta^{px}_{t,l} = \log σ(W e_{x_l})_{y_t}`. [snell21] 2.3"""
    words, index = source.ids.unique(return_inverse=True)
    size = max(1, CELLS // len(proxy.weight))
    total = torch.cat([proxy.logits(part).logsumexp(-1) for part in words.split(size)])[index]

    def read(batch: PairBatch) -> Tensor:
        scores = look_up(proxy.weight, batch.y[:, :-1]) @ look_up(proxy.table, batch.x).mT
        within = torch.arange(batch.x.shape[1])
        index = torch.where(batch.mask, source.start[batch.rows][:, None] + within, 0)
        return scores - total[index][:, None, :]

    return _read(read, source, target)


def _read(
    read: Callable[[PairBatch], Tensor], source: Tokens, target: Tokens, size: int | None = None
) -> Tables:
    """Tables from padded ones (B, T − 1, L), batch by batch, in order of the pairs."""
    parts, order = [], []
    with torch.no_grad():
        for batch in pair_batches(source, target, size or SIZE):
            lengths = source.lengths[batch.rows].numpy(), target.lengths[batch.rows].numpy()
            parts.append(Tables.unpadded(read(batch).numpy(), *lengths))
            order.append(batch.rows)
    return Tables.join(parts).take(torch.cat(order).argsort().numpy())
