r"""A text classifier: bi-LSTM, attention, and a gated sum of word evidence. [snell21] Sec. 2.4

:math:`a_l = v^\top \mathrm{ReLU}(Q h_l)`, :math:`\alpha = \mathrm{softmax}(a)`, and
:math:`p = σ(\sum_l \alpha_l \gamma_l)` with :math:`\gamma_l = w^\top h_l + b`: attention gates what
each position contributes by itself. (The constant b passes through the sum because α adds up to 1.)
With more than two classes γ has one column for each and a softmax replaces σ; the paper has two.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from foveate.attention.maps import softmax
from foveate.text.models.lstm import LSTM

__all__ = ["Reader", "ReaderOutput", "label_log_odds", "signed"]

Attention = Literal["free", "uniform"]
Score = Literal["mlp", "linear"]


@dataclass(frozen=True)
class ReaderOutput:
    """Output of a reader for a batch of texts.

    Args:
        alpha: Attention, shape (B, L), 0 where a text has ended.
        gamma: Evidence of each position for class 1 by itself, a log-odds ratio, shape (B, L); with
            more than two classes their scores, shape (B, L, C).
    """

    alpha: Tensor
    gamma: Tensor

    @property
    def logit(self) -> Tensor:
        """Log-odds of class 1, the gated sum, shape (B,); scores (B, C) of more than two."""
        if self.gamma.dim() == 2:
            return (self.alpha * self.gamma).sum(-1)
        return (self.alpha[:, None, :] @ self.gamma).squeeze(1)


class Reader(nn.Module):
    r"""The paper's classifier: 1,274,882 parameters besides the embedding at the usual sizes.

    Args:
        words: Size of the vocabulary.
        embedding: Size of a word's embedding.
        d: Size of a state in each direction, and of the hidden layer of attention.
        attention: "uniform" keeps all weights equal.
        both: Whether the LSTM is bidirectional, as in the paper.
        vectors: Embeddings to begin with, shape (words, embedding); None draws N(0, 1).
        classes: Number of classes; two have one logit, as in the paper.
        score: "mlp" for the score of the paper, "linear" for :math:`a_l = v^\top h_l`. [blog21]
    """

    def __init__(
        self,
        words: int,
        *,
        embedding: int = 300,
        d: int = 256,
        attention: Attention = "free",
        both: bool = True,
        vectors: Tensor | None = None,
        classes: int = 2,
        score: Score = "mlp",
    ) -> None:
        super().__init__()
        start = torch.randn(words, embedding) if vectors is None else vectors.clone()
        self.table = nn.Parameter(start)
        self.lstm = LSTM(embedding, d, both=both)
        hidden = (nn.Linear(self.lstm.out, d), nn.ReLU()) if score == "mlp" else ()
        self.focus = nn.Sequential(*hidden, nn.Linear(d if hidden else self.lstm.out, 1))
        self.out = nn.Linear(self.lstm.out, 1 if classes == 2 else classes)
        self.attention, self.classes = attention, classes

    def forward(
        self, ids: Tensor, mask: Tensor | None = None, table: Tensor | None = None
    ) -> ReaderOutput:
        """Attend to texts of word ids.

        Args:
            ids: Words, shape (B, L).
            mask: True where there is a word, shape (B, L), words first; None where all are.
            table: Embeddings instead of the model's, for gradients by position.
        """
        h, _ = self.lstm(ids, self.table if table is None else table, mask)
        gamma = self.out(h).squeeze(-1) if self.classes == 2 else self.out(h)
        free = self.attention == "free"
        scores = self.focus(h).squeeze(-1) if free else h.new_zeros(h.shape[:2])
        return ReaderOutput(softmax(scores, mask), gamma)

    def train_attention_only(self) -> "Reader":
        """Freeze all but the attention, so that word knowledge stays as it is. [snell21] A.6"""
        for name, parameter in self.named_parameters():
            parameter.requires_grad_(name.startswith("focus."))
        return self


def signed(logit: Tensor, y: Tensor) -> Tensor:
    """Log-odds in favour of the label: (2y − 1) · logit, for (B,) or (B, L)."""
    sign = 2.0 * y.to(logit.dtype) - 1.0
    return logit * (sign if logit.dim() == 1 else sign[:, None])


def label_log_odds(scores: Tensor, y: Tensor) -> Tensor:
    r"""Log-odds of the label, :math:`\log p_y / (1 - p_y)`, from what a reader gives.

    Args:
        scores: Log-odds of class 1, shape (n,), or scores of C classes, shape (n, C).
        y: Labels, shape (n,).

    Returns:
        Shape (n,); softplus of its negative is the loss :math:`-\log p_y`.

    Example:
        >>> label_log_odds(torch.tensor([[2.0, 0.0, 0.0]]), torch.tensor([0])).exp()
        tensor([3.6945])
    """
    if scores.dim() == 1:
        return signed(scores, y)
    other_scores = scores.scatter(1, y[:, None], -torch.inf).logsumexp(1)
    return scores.gather(1, y[:, None]).squeeze(1) - other_scores
