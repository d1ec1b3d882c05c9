r"""An encoder and a decoder joined by dot attention, one head or several. [snell21] Sec. 2.1, 5.2

:math:`a_{t,l} = s_t^\top W h_l`, :math:`\alpha_t = \mathrm{softmax}(a_t)`,
:math:`c_t = \sum_l \alpha_{t,l} h_l` (summed over heads), :math:`p_t = N([c_t, s_t])`. The context
is not fed back into the decoder, so with the true words as its input all t are one product.
"""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from foveate.attention.maps import softmax
from foveate.errors import FoveateError
from foveate.text.models.gru import GRU
from foveate.text.models.lstm import LSTM, State, look_up
from foveate.text.tokens import START

__all__ = ["Attention", "Cell", "Contexts", "Decoding", "Reading", "Readout", "Seq2Seq", "shifted"]

Readout = Literal["tanh", "relu", "linear"]
Attention = Literal["free", "uniform"]
Cell = Literal["lstm", "gru"]
Contexts = Literal["sum", "mean"]
ROWS = 2048  # rows of vocabulary scores held at a time where every position is read by itself


@dataclass(frozen=True)
class Reading:
    """Output of the model for a batch of pairs.

    Args:
        h: Encoder states as the readout takes them, shape (B, L, d).
        s: Decoder states, shape (B, T, d).
        alpha: Attention of every head, shape (K, B, T, L).
        mask: True where there is a source word, shape (B, L), or None.
    """

    h: Tensor
    s: Tensor
    alpha: Tensor
    mask: Tensor | None


class Seq2Seq(nn.Module):
    """LSTM encoder and decoder with dot attention.

    Args:
        words: Size of the vocabulary.
        d: Size of embeddings and states.
        layers: Layers of encoder and decoder.
        both: Whether the encoder is bidirectional; its states then pass a linear map to d.
        dropout: Share dropped between layers while training.
        heads: Number of attention heads.
        readout: N's squashing, "tanh" ([snell21] copying) or "relu" (translation) over one hidden
            layer of d; "linear" has none and adds context and state, :math:`p = σ(V(c + s))`.
        attention: "uniform" keeps the weights of every head equal.
        outputs: Size of the target vocabulary where it is not the source's; None shares words and
            embeddings.
        cell: Recurrent unit, "lstm" or "gru" (the released copy model, one layer, one direction).
        contexts: How the contexts of several heads combine, "sum" ([snell21] Sec. 5.2) or "mean"
            (released code).
    """

    def __init__(
        self,
        words: int,
        d: int = 256,
        *,
        layers: int = 1,
        both: bool = False,
        dropout: float = 0.0,
        heads: int = 1,
        readout: Readout = "tanh",
        attention: Attention = "free",
        outputs: int | None = None,
        cell: Cell = "lstm",
        contexts: Contexts = "sum",
    ) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(words, d))
        self.own = None if outputs is None else nn.Parameter(torch.empty(outputs, d))
        self.reset_parameters()
        self.encoder: LSTM | GRU
        self.decoder: LSTM | GRU
        if cell == "gru":
            if layers > 1 or both:
                raise FoveateError("a model with cell 'gru' has one layer in one direction")
            self.encoder, self.decoder = GRU(d, d), GRU(d, d)
        else:
            self.encoder = LSTM(d, d, layers=layers, both=both, dropout=dropout)
            self.decoder = LSTM(d, d, layers=layers, dropout=dropout)
        wide = self.encoder.out
        # Biases where the published number of parameters, 6,132,544, needs them: with both ways.
        self.heads = nn.ModuleList(nn.Linear(d, wide, bias=both) for _ in range(heads))
        self.narrow = nn.Linear(wide, d) if both else nn.Identity()
        self.hidden = nn.Linear(2 * d, d) if readout != "linear" else None
        self.out = nn.Linear(d, outputs or words)
        self.readout, self.attention, self.contexts = readout, attention, contexts

    def reset_parameters(self) -> None:
        """Draw the embeddings from the standard normal distribution."""
        for table in (self.table, self.own):
            if table is not None:
                nn.init.normal_(table)

    def read(
        self,
        x: Tensor,
        y_in: Tensor,
        mask: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Reading:
        """Encode x (B, L), run the decoder over the words y_in (B, T) before each t, and attend.

        Args:
            x: Source words, shape (B, L).
            y_in: Target words shifted by one (:func:`shifted`), shape (B, T).
            mask: True where there is a source word, shape (B, L); None where all are.
            generator: Draws the dropout; None means no dropout.
        """
        if self.own is None:
            source, (x, y_in) = _needed(self.table, x, y_in)
            target = source
        else:
            source, (x,) = _needed(self.table, x)
            target, (y_in,) = _needed(self.own, y_in)
        h, last = self.encoder(x, source, mask, generator=generator)
        s, _ = self.decoder(y_in, target, first=last, generator=generator)
        return Reading(self.narrow(h), s, self.attend(s, h, mask), mask)

    def attend(self, s: Tensor, h: Tensor, mask: Tensor | None) -> Tensor:
        """Attention of every head, shape (K, B, T, L), from decoder and raw encoder states."""
        shape = (len(self.heads), *s.shape[:2], h.shape[1])
        visible = None if mask is None else mask[None, :, None, :].expand(shape)
        if self.attention == "uniform":
            return softmax(h.new_zeros(shape), visible)
        scores = torch.stack([head(s) @ h.transpose(1, 2) for head in self.heads])
        return softmax(scores, visible)

    def context(self, reading: Reading) -> Tensor:
        """The contexts of all heads, summed or averaged, shape (B, T, d)."""
        alpha = reading.alpha.sum(0) if self.contexts == "sum" else reading.alpha.mean(0)
        return alpha @ reading.h

    def logits(self, context: Tensor, s: Tensor) -> Tensor:
        """N before its softmax: scores of all words, shape (…, V)."""
        if self.hidden is None:
            return self.out(context + s)
        return self.out(self._squash(self.hidden(torch.cat([context, s], -1))))

    def forward(
        self,
        x: Tensor,
        y_in: Tensor,
        mask: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Scores of the next word at every t, shape (B, T, V)."""
        reading = self.read(x, y_in, mask, generator)
        return self.logits(self.context(reading), reading.s)

    def evidence(self, reading: Reading, y: Tensor, real: Tensor) -> Tensor:
        r"""The lexical probe :math:`\beta_{t,l} = N([h_l, s_t])_{y_t}`, logarithm. [snell21] 2.2

        Vocabulary scores are made a bounded number of rows at a time.

        Args:
            reading: What :meth:`read` gave.
            y: The correct words, shape (B, T).
            real: True where β is needed, shape (B, T, L).

        Returns:
            log β at these positions in order of (b, t, l), shape (N,).
        """
        b, t, index = real.nonzero(as_tuple=True)
        h, s = reading.h, reading.s
        if self.hidden is not None:  # the hidden layer's halves, once for each state
            from_context, from_state = self.hidden.weight.chunk(2, 1)
            h, s = h @ from_context.t(), nn.functional.linear(s, from_state, self.hidden.bias)
        parts = [
            self._log_prob(h[i, k] + s[i, j], y[i, j])
            for i, j, k in zip(b.split(ROWS), t.split(ROWS), index.split(ROWS), strict=True)
        ]
        return torch.cat(parts) if parts else h.new_zeros(0)

    def _log_prob(self, mixed: Tensor, y: Tensor) -> Tensor:
        scores = self.out(mixed if self.hidden is None else self._squash(mixed))
        return scores.gather(1, y[:, None]).squeeze(1) - scores.logsumexp(1)

    def _squash(self, x: Tensor) -> Tensor:
        return torch.tanh(x) if self.readout == "tanh" else torch.relu(x)

    def steps(self, x: Tensor, mask: Tensor | None = None) -> "Decoding":
        """Begin to decode word by word, for greedy and beam search."""
        h, last = self.encoder(x, self.table, mask)
        return Decoding(h, self.narrow(h), mask, last)

    def step(self, word: Tensor, state: "Decoding") -> tuple[Tensor, "Decoding"]:
        """Scores of the next word (B, V) after ``word`` (B,), and the next state."""
        table = self.table if self.own is None else self.own
        s, last = self.decoder(word[:, None], table, first=state.last)
        alpha = self.attend(s, state.raw, state.mask)
        context = self.context(Reading(state.h, s, alpha, state.mask))
        return self.logits(context, s)[:, 0], replace(state, last=last)


@dataclass(frozen=True)
class Decoding:
    """State of decoding: encoder states, raw and for the readout, and the decoder's state."""

    raw: Tensor
    h: Tensor
    mask: Tensor | None
    last: list[State]

    def take(self, rows: Tensor) -> "Decoding":
        """The hypotheses at ``rows``."""
        return Decoding(
            self.raw[rows],
            self.h[rows],
            None if self.mask is None else self.mask[rows],
            [State(state.h[rows], state.c[rows]) for state in self.last],
        )


def _needed(table: Tensor, *ids: Tensor) -> tuple[Tensor, list[Tensor]]:
    """The rows of a table that some ids point at, and the ids as places among these rows.

    The gradient of a table is as large as the table, and every way into it makes one.
    """
    words, index = torch.cat([rows.flatten() for rows in ids]).unique(return_inverse=True)
    positions = index.split([rows.numel() for rows in ids])
    return look_up(table, words), [p.view_as(i) for p, i in zip(positions, ids, strict=True)]


def shifted(y: Tensor) -> Tensor:
    """The previous word at each position: START, then all but the last, shape (B, T)."""
    return torch.cat([y.new_full((len(y), 1), START), y[:, :-1]], 1)
