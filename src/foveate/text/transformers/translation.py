r"""Probes of encoder–decoders: attention, lexical probe and influence. [snell21]

For every target word t and source word l of a pair: attention :math:`\alpha_{t,l}`, by layer and
head or their mean; the lexical probe :math:`\beta_{t,l}`, the probability of the target word with
all cross-attention of its row on word l; and influence
:math:`\Delta_{t,l} = -e_l \cdot \partial L_t / \partial e_l`. Words are made of pieces: attention
is summed over the pieces of a source word and averaged over those of a target word, forced
attention is spread evenly over the pieces of a source word, and the log probability and the
influence of a target word are the sums over its pieces.

All layers and heads are forced together: residual streams let a single head's change go unnoticed.
With one decoder layer all rows are forced at once; with more, one target word at a time, since the
states of forced rows would reach later rows through self-attention.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from foveate.errors import FoveateError
from foveate.text.statistics.pair_tables import Tables
from foveate.text.transformers.attention import AttentionRecorder, Forcing, record_attention
from foveate.text.transformers.embeddings import captured_embedding
from foveate.text.transformers.pieces import Pieces, Splitter

__all__ = [
    "PiecePair",
    "influence",
    "piece_pairs",
    "read_attention",
    "read_evidence",
    "right_words",
]

TOGETHER = 32  # pairs read together
COPIES = 256  # copies of a pair read together


@dataclass(frozen=True)
class PiecePair:
    """A sentence pair in pieces: source, target, and where their words are."""

    source: Pieces
    target: Pieces

    @classmethod
    def of_ids(cls, source: Sequence[int], target: Sequence[int]) -> "PiecePair":
        """A pair in which every piece is a word.

        Example:
            >>> PiecePair.of_ids([5, 6], [7]).source.words
            [[0], [1]]
        """
        sides = (Pieces(list(ids), [[k] for k in range(len(ids))]) for ids in (source, target))
        return cls(*sides)


def piece_pairs(
    tokenizer: Any, source: Sequence[Sequence[str]], target: Sequence[Sequence[str]]
) -> list[PiecePair]:
    """Sentence pairs in the pieces of a model.

    Args:
        tokenizer: The model's.
        source: Words of each source sentence.
        target: Words of each target sentence.
    """
    splits = Splitter(tokenizer), Splitter(tokenizer, target=True)
    return [
        PiecePair(*(split(words) for split, words in zip(splits, pair, strict=True)))
        for pair in zip(source, target, strict=True)
    ]


@torch.no_grad()
def read_attention(
    model: Any,
    pairs: Sequence[PiecePair],
    layer: int | None = None,
    head: int | None = None,
) -> Tables:
    """α of every pair: the mean over layers and heads, or that of one.

    Attention on special pieces (the end of the source) belongs to no word; what a row lacks to one
    is there.

    Args:
        model: An encoder–decoder.
        pairs: What it reads.
        layer: Which decoder layer, from 0.
        head: Which head, from 0.
    """
    grids: list[Any] = []
    with record_attention(model) as recorder:
        for start in range(0, len(pairs), TOGETHER):
            batch = pairs[start : start + TOGETHER]
            _run(model, *_padded(model, batch))
            alpha = recorder.of("cross")
            alpha = alpha.mean(0) if layer is None else alpha[_index(layer, len(alpha), "layer")]
            heads = alpha.shape[1]
            alpha = alpha.mean(1) if head is None else alpha[:, _index(head, heads, "head")]
            grids += [_by_words(a, pair) for a, pair in zip(alpha, batch, strict=True)]
    return Tables.of(grids)


@torch.no_grad()
def read_evidence(model: Any, pairs: Sequence[PiecePair]) -> Tables:
    """log β of every pair, with all layers and heads forced together."""
    with record_attention(model) as recorder:
        return Tables.of([_evidence(model, recorder, pair) for pair in pairs])


def _evidence(model: Any, recorder: AttentionRecorder, pair: PiecePair) -> Any:
    """log β of one pair, shape (target words, source words)."""
    x, mask, y = _padded(model, [pair])
    states = model.get_encoder()(input_ids=x, attention_mask=mask).last_hidden_state
    spread = torch.zeros(len(pair.source.words), x.shape[1])
    for k, positions in enumerate(pair.source.words):
        spread[k, positions] = 1 / len(positions)
    rows = torch.zeros(len(pair.target.words), y.shape[1], dtype=torch.bool)
    for k, positions in enumerate(pair.target.words):
        rows[k, positions] = True
    if _decoder_layers(model) == 1:  # rows do not meet behind cross-attention
        rows = torch.ones(1, y.shape[1], dtype=torch.bool)
    word, row = (part.flatten() for part in torch.meshgrid(
        torch.arange(len(spread)), torch.arange(len(rows)), indexing="ij"))  # fmt: skip
    parts = []
    for w, r in zip(word.split(COPIES), row.split(COPIES), strict=True):
        with recorder.set_to(Forcing(spread[w][:, None], rows[r])):
            logits = _decoded(model, states.expand(len(w), -1, -1), mask.expand(len(w), -1), y)
        label_log_p = logits.log_softmax(-1).gather(-1, y.expand(len(w), -1)[..., None])[..., 0]
        parts.append(label_log_p)
    log_p = torch.cat(parts).unflatten(0, (len(spread), len(rows)))  # (words, rows, T)
    grid = [
        [log_p[k, 0 if len(rows) == 1 else t, positions].sum() for k in range(len(spread))]
        for t, positions in enumerate(pair.target.words)
    ]
    return torch.tensor(grid, dtype=torch.float64).numpy()


def influence(model: Any, pairs: Sequence[PiecePair]) -> Tables:
    """Δ of every pair: one copy of a pair for each target word, and one backward pass."""
    grids = []
    for pair in pairs:
        x, mask, y = _padded(model, [pair])
        count = len(pair.target.words)
        chosen = torch.zeros(count, y.shape[1])
        for t, positions in enumerate(pair.target.words):
            chosen[t, positions] = 1.0
        with torch.enable_grad(), captured_embedding(model) as embedding:
            logits = _run(model, x.expand(count, -1), mask.expand(count, -1), y.expand(count, -1))
            label_log_p = logits.log_softmax(-1).gather(-1, y.expand(count, -1)[..., None])[..., 0]
            (gradient,) = torch.autograd.grad(-(label_log_p * chosen).sum(), embedding[0])
        change = -(embedding[0].detach() * gradient).sum(-1)
        grids.append(
            torch.stack([change[:, positions].sum(1) for positions in pair.source.words], 1).numpy()
        )
    return Tables.of(grids)


@torch.no_grad()
def right_words(model: Any, pairs: Sequence[PiecePair]) -> float:
    """Share of target pieces that get the largest probability with the true ones before them."""
    right = total = 0
    for start in range(0, len(pairs), TOGETHER):
        batch = pairs[start : start + TOGETHER]
        x, mask, y = _padded(model, batch)
        best = _run(model, x, mask, y).argmax(-1)
        lengths = torch.tensor([len(pair.target.ids) for pair in batch])
        real = torch.arange(y.shape[1]) < lengths[:, None]
        right, total = right + int((best == y)[real].sum()), total + int(real.sum())
    return right / total


def _padded(model: Any, pairs: Sequence[PiecePair]) -> tuple[Tensor, Tensor, Tensor]:
    """Source pieces, their mask and target pieces."""
    pad = model.config.pad_token_id or 0
    longest = getattr(model.config, "max_position_embeddings", None)
    sides = []
    for ids in ([p.source.ids for p in pairs], [p.target.ids for p in pairs]):
        length = max(map(len, ids))
        if longest is not None and length > longest:
            raise FoveateError(
                f"a sentence has {length} pieces, and the model reads {longest} at most: leave it "
                "out or cut it"
            )
        sides.append(torch.tensor([row + [pad] * (length - len(row)) for row in ids]))
    lengths = torch.tensor([len(pair.source.ids) for pair in pairs])
    mask = (torch.arange(sides[0].shape[1]) < lengths[:, None]).long()
    return sides[0], mask, sides[1]


def _before(model: Any, y: Tensor) -> Tensor:
    """The decoder's input: the start piece, then the target without its last piece."""
    start = model.config.decoder_start_token_id
    if start is None:
        raise FoveateError(f"{type(model).__name__} has no decoder_start_token_id in its config")
    return torch.cat([torch.full_like(y[:, :1], start), y[:, :-1]], 1)


def _run(model: Any, x: Tensor, mask: Tensor, y: Tensor) -> Tensor:
    """Scores of all pieces at every target place, shape (B, T, V)."""
    logits: Tensor = model(
        input_ids=x, attention_mask=mask, decoder_input_ids=_before(model, y), use_cache=False
    ).logits
    return logits


def _decoded(model: Any, states: Tensor, mask: Tensor, y: Tensor) -> Tensor:
    """The same, given the states of the encoder."""
    from transformers.modeling_outputs import BaseModelOutput

    logits: Tensor = model(
        encoder_outputs=BaseModelOutput(last_hidden_state=states),
        attention_mask=mask,
        decoder_input_ids=_before(model, y).expand(len(states), -1),
        use_cache=False,
    ).logits
    return logits


def _decoder_layers(model: Any) -> int:
    config = model.config
    layers = getattr(config, "decoder_layers", None) or getattr(config, "num_decoder_layers", None)
    return int(layers or config.num_hidden_layers)


def _by_words(alpha: Tensor, pair: PiecePair) -> Any:
    """Attention (T, L) of pieces as that of words: sums over source, means over target pieces."""
    columns = torch.stack([alpha[:, positions].sum(1) for positions in pair.source.words], 1)
    rows = [columns[positions].mean(0) for positions in pair.target.words]
    return torch.stack(rows).double().numpy()


def _index(k: int, count: int, name: str) -> int:
    if not 0 <= k < count:
        raise FoveateError(f"{name} must be from 0 to {count - 1}, got {k}")
    return k
