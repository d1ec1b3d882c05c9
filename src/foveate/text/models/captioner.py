r"""A decoder that attends to positions of an image for every word: Xu et al. (2015). [vr23] 5

.. math:: \alpha_t = \mathrm{softmax}_i\, v^\top \tanh(W a_i + U h_{t-1}), \quad
          z_t = \phi(\{a_i\}, \alpha_t), \quad
          h_t = \mathrm{LSTM}([E y_{t-1}, z_t], h_{t-1}),

with words from :math:`p_t = \mathrm{softmax}\, L_o(E y_{t-1} + L_h h_t + L_z z_t)` and first states
from the mean of the :math:`a_i`. Soft attention has :math:`z_t = \sum_i \alpha_{ti} a_i`, hard
attention :math:`z_t = a_{s_t}` with a place :math:`s_t \sim \alpha_t` while it is trained and the
top place when it is read. Neither the gate on z nor the penalty on :math:`\sum_t \alpha_t` of Xu
et al. is here: [vr23] mentions none.

Captions are ordered (image, caption, word), so that the captions of an image share its
features.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from foveate.errors import FoveateError
from foveate.text.models.lstm import drop
from foveate.text.models.seq2seq import shifted
from foveate.text.tokens import PAD, UNKNOWN

__all__ = [
    "CaptionOutput",
    "Captioner",
    "ReadRule",
    "State",
    "counted_words",
    "features_at",
    "position_read",
    "sampled_loss",
    "word_loss",
]

ReadRule = Literal["soft", "top", "sampled"]
"""The context of a step: the mean of all positions, the top one, or one drawn from α."""
TINY = 1e-38  # rounding can select a position of weight 0; its logarithm must be finite


@dataclass(frozen=True)
class CaptionOutput:
    """Output of the captioner.

    Args:
        h: States, shape (I, k, T, hidden).
        z: What was seen, shape (I, k, T, d).
        alpha: Attention, shape (I, k, T, L).
        log_pi: Logarithm of the probability of the place that was seen, shape (I, k, T); 0 where
            all are.
    """

    h: Tensor
    z: Tensor
    alpha: Tensor
    log_pi: Tensor


@dataclass(frozen=True)
class State:
    """State of the recurrence: hidden and cell state, each (I, k, hidden)."""

    h: Tensor
    c: Tensor


class Captioner(nn.Module):
    """Show, attend and tell on a grid of frozen features.

    Args:
        words: Size of the vocabulary.
        d: Size of the features of a place.
        embed: Size of word embeddings.
        hidden: Size of the decoder's state.
        attention: Size of the layer that scores places.
        dropout: Share of the state dropped on its way to the words while training.
    """

    baseline: Tensor

    def __init__(
        self,
        words: int,
        d: int,
        *,
        embed: int = 512,
        hidden: int = 512,
        attention: int = 256,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(words, embed).uniform_(-0.1, 0.1))
        self.first = nn.Linear(d, 2 * hidden)
        self.key = nn.Linear(d, attention)
        self.query = nn.Linear(hidden, attention, bias=False)
        self.score = nn.Parameter(torch.empty(attention).uniform_(-1, 1) * attention**-0.5)
        self.from_word = nn.Linear(embed, 4 * hidden)
        self.from_place = nn.Linear(d, 4 * hidden, bias=False)
        self.from_state = nn.Linear(hidden, 4 * hidden, bias=False)
        self.state_out = nn.Linear(hidden, embed)
        self.place_out = nn.Linear(d, embed, bias=False)
        self.out = nn.Linear(embed, words)
        self.dropout = dropout
        # Mean log p of a word: REINFORCE's baseline, stored with the weights.
        self.register_buffer("baseline", -torch.tensor(float(words)).log())

    def read(
        self,
        a: Tensor,
        y_in: Tensor,
        read_rule: ReadRule,
        generator: torch.Generator | None = None,
        positions: Tensor | None = None,
    ) -> CaptionOutput:
        """Run the decoder over the words before each place.

        Args:
            a: Features of the places, shape (I, L, d).
            y_in: Words shifted by one, see :func:`~foveate.text.models.seq2seq.shifted`, (I, k, T).
            read_rule: What is seen.
            generator: Draws positions; needed by "sampled" only.
            positions: Positions to use instead of drawn ones, shape (I, k, T).
        """
        images, captions, length = y_in.shape
        state, keys = self.begin(a, captions), self.key(a)
        words = self.from_word(nn.functional.embedding(y_in, self.table))
        draws = None
        if read_rule == "sampled" and positions is None:
            if generator is None:
                raise FoveateError("sampled positions need a generator, got none")
            draws = torch.rand(length, images, captions, 1, generator=generator)
        rows: list[list[Tensor]] = [[], [], [], []]
        for t in range(length):
            weights = self.attend(keys, state.h)
            position = position_read(weights, read_rule, None if draws is None else draws[t])
            position = position if positions is None else positions[..., t, None]
            if position is None:
                context, log = weights @ a, weights.new_zeros(images, captions)
            else:
                context = features_at(a, position)
                log = weights.gather(-1, position).squeeze(-1).clamp(min=TINY).log()
            state = self.advance(words[:, :, t], context, state)
            for row, value in zip(rows, (state.h, context, weights, log), strict=True):
                row.append(value)
        return CaptionOutput(*(torch.stack(row, 2) for row in rows))

    def logits(
        self, output: CaptionOutput, y_in: Tensor, generator: torch.Generator | None = None
    ) -> Tensor:
        """Scores of all words at every position, (I, k, T, V); ``generator`` draws the dropout."""
        h = drop(output.h, self.dropout, generator)
        before = nn.functional.embedding(y_in, self.table)
        return self.out(before + self.state_out(h) + self.place_out(output.z))

    def log_prob(
        self,
        a: Tensor,
        y: Tensor,
        read_rule: ReadRule,
        generator: torch.Generator | None = None,
        positions: Tensor | None = None,
    ) -> tuple[Tensor, CaptionOutput]:
        """log p of the words y (I, k, T), given those before and the image, and the attention.

        ``generator`` draws positions and dropout; None means no dropout.
        """
        y_in = shifted(y.flatten(0, 1)).view_as(y)
        output = self.read(a, y_in, read_rule, generator, positions)
        logits = self.logits(output, y_in, generator)
        chosen = logits.gather(-1, y[..., None]).squeeze(-1)
        return chosen - logits.logsumexp(-1), output

    def begin(self, a: Tensor, captions: int) -> State:
        """The first state of some captions of every image, from its mean features."""
        h, c = self.first(a.mean(1)).tanh()[:, None].expand(-1, captions, -1).chunk(2, -1)
        return State(h, c)

    def attend(self, keys: Tensor, h: Tensor) -> Tensor:
        """α, shape (I, k, L), from keys (I, L, a) and the state before (I, k, hidden)."""
        layer = (keys[:, None] + self.query(h)[:, :, None]).tanh()
        return (layer @ self.score).softmax(-1)

    def advance(self, word: Tensor, context: Tensor, state: State) -> State:
        """The next state, from the gate inputs of a word (I, k, 4·hidden) and the context."""
        gates = word + self.from_place(context) + self.from_state(state.h)
        i, f, o, g = gates.chunk(4, -1)
        c = f.sigmoid() * state.c + i.sigmoid() * g.tanh()
        return State(o.sigmoid() * c.tanh(), c)


def position_read(alpha: Tensor, read_rule: ReadRule, draw: Tensor | None) -> Tensor | None:
    """The place that is seen, shape (I, k, 1), None for all of them."""
    if read_rule == "soft":
        return None
    if draw is None:
        return alpha.argmax(-1, keepdim=True)
    below = (alpha.detach().cumsum(-1) <= draw).sum(-1, keepdim=True)
    return below.clamp(max=alpha.shape[-1] - 1)  # a sum may round to less than 1


def features_at(a: Tensor, position: Tensor) -> Tensor:
    """Features (I, k, d) of one place (I, k, 1) for every caption."""
    return a.gather(1, position.expand(-1, -1, a.shape[-1]))


def counted_words(y: Tensor) -> Tensor:
    """True where a word counts: not padding, and in the vocabulary of the model."""
    return (y != PAD) & (y != UNKNOWN)


def word_loss(log_p: Tensor, counts: Tensor) -> Tensor:
    """Cross-entropy in nats per word, from log p (I, k, T) and which words count."""
    return -(log_p * counts).sum() / counts.sum()


def sampled_loss(log_p: Tensor, log_pi: Tensor, counts: Tensor, baseline: Tensor) -> Tensor:
    r"""A loss whose gradient is REINFORCE's for hard attention. [vr23] Sec. 5, corrected

    The bound :math:`J = E_{s \sim \alpha} \sum_t \log p(y_t \mid s_{\le t})` has the gradient

    .. math:: E_s \sum_t \big[\nabla \log p(y_t \mid s_{\le t})
              + (R_t - b_t) \nabla \log \alpha_t(s_t)\big], \quad
              R_t = \sum_{t' \ge t} \log p(y_{t'} \mid s_{\le t'}).

    The place of every step enters, and the baseline is subtracted; the released code adds it, and
    has the last step only. Words before t do not depend on :math:`s_t` and are left out of R. Here
    :math:`b_t` is the mean log p of a word times the words left, which no place of the batch
    decides.

    Args:
        log_p: log p of the words given the places seen so far, shape (I, k, T).
        log_pi: log α of these places, shape (I, k, T).
        counts: True where a word counts, shape (I, k, T).
        baseline: Mean log p of a word, from earlier steps.

    Returns:
        Divided by the number of words, like :func:`word_loss`.
    """
    later_log_p, later_words = (
        _reverse_cumsum(log_p.detach() * counts),
        _reverse_cumsum(counts.to(log_p.dtype)),
    )
    advantage = later_log_p - baseline * later_words
    return -(log_p * counts + advantage * log_pi).sum() / counts.sum()


def _reverse_cumsum(x: Tensor) -> Tensor:
    """Sums from each place to the end."""
    return x.flip(-1).cumsum(-1).flip(-1)
