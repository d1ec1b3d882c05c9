r"""Probes of a text classifier: attention, evidence of each word, influence on its output.

Quantities by position are concatenated over texts, as
:mod:`foveate.metrics.agreement` takes them: attention :math:`α_l`, evidence
:math:`γ_l = w^\top h_l + b`, the lexical probe :math:`β_l = σ((2y - 1)\,γ_l)` and influence
:math:`Δ_l = -e_l \cdot ∂\mathcal L/∂e_l`. [snell21] Sec. 2.4, 5.1
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from foveate.metrics.ragged import equal_length_groups
from foveate.records.record import Array
from foveate.text.models.proxy import Proxy
from foveate.text.models.reader import Reader, ReaderOutput, label_log_odds
from foveate.text.tokens import Tokens

__all__ = ["TextProbes", "influence", "probe_texts", "word_evidence"]

CELLS = 1 << 13  # padded positions processed together: they fit the cache


@dataclass(frozen=True)
class TextProbes:
    """Quantities of n texts of N tokens in all.

    Args:
        start: Where each text begins, and N at the end, shape (n + 1,).
        alpha: Attention, shape (N,).
        gamma: Log-odds of class 1 at each position by itself, shape (N,), or scores (N, C) of more
            than two classes.
        favour: Log-odds of the label at each position by itself, (2y − 1) γ for two classes, shape
            (N,). It ranks positions as β does, also where β is 1 to rounding.
        logit: Log-odds of class 1 of each text, shape (n,), or scores (n, C).
        loss: −log p of each text's label, shape (n,).
        right: Whether each text's label is the likeliest class, shape (n,).
    """

    start: Array
    alpha: Array
    gamma: Array
    favour: Array
    logit: Array
    loss: Array
    right: Array

    @property
    def beta(self) -> Array:
        """The lexical probe: probability of the label at each position by itself, shape (N,)."""
        return np.exp(-np.logaddexp(0.0, -self.favour.astype(np.float64)))


@torch.no_grad()
def probe_texts(model: Reader, tokens: Tokens, y: Tensor, cells: int = CELLS) -> TextProbes:
    """All but the influence, in one pass over texts of similar length.

    Args:
        model: A reader.
        tokens: Texts.
        y: Labels, shape (n,).
        cells: Padded positions per batch, at most, unless one text has more.
    """
    columns = () if model.classes == 2 else (model.classes,)
    alpha, gamma = torch.empty(len(tokens.ids)), torch.empty(len(tokens.ids), *columns)
    logit = torch.empty(len(tokens), *columns)
    for rows in _batches_by_length(tokens.lengths, cells):
        ids, mask = tokens.padded(rows)
        output = model(ids, mask)
        index = _flat(tokens, rows, mask)
        alpha[index], gamma[index] = output.alpha[mask].float(), output.gamma[mask].float()
        logit[rows] = output.logit.float()
    for_label = label_log_odds(logit, y)
    right = for_label > 0 if model.classes == 2 else logit.argmax(1) == y
    return TextProbes(
        tokens.start.numpy(),
        alpha.numpy(),
        gamma.numpy(),
        label_log_odds(gamma, y.repeat_interleave(tokens.lengths)).numpy(),
        logit.numpy(),
        torch.nn.functional.softplus(-for_label).numpy(),
        right.numpy(),
    )


def influence(model: Reader, tokens: Tokens, y: Tensor, cells: int = CELLS) -> Array:
    r"""How much each word supports the label, to first order.

    :math:`Δ_l = -e_l \cdot ∂\mathcal L/∂e_l` with :math:`\mathcal L = -\log p_y`: the gain in
    :math:`\log p_y` per unit of growth of the word's embedding at position l alone.

    Args:
        model: A reader.
        tokens: Texts.
        y: Labels, shape (n,).
        cells: Padded positions per batch, at most, unless one text has more.

    Returns:
        Flat, text after text, shape (N,).
    """
    delta = torch.empty(len(tokens.ids))
    for rows in _batches_by_length(tokens.lengths, cells):
        ids, mask = tokens.padded(rows)
        # Every position gets a separate row in the table, and so a separate gradient.
        e = model.table.detach()[ids.flatten()].requires_grad_()
        output: ReaderOutput = model(torch.arange(ids.numel()).view_as(ids), mask, e)
        loss = torch.nn.functional.softplus(-label_log_odds(output.logit, y[rows])).sum()
        (gradient,) = torch.autograd.grad(loss, e)
        change = -(e.detach() * gradient).sum(1).view_as(ids)
        delta[_flat(tokens, rows, mask)] = change[mask].float()
    return delta.numpy()


@torch.no_grad()
def word_evidence(model: Proxy) -> Array:
    """Output of a classifier's proxy for single words: γ₁ − γ₀, shape (words,)."""
    gamma = model.logits(torch.arange(len(model.table)))
    return (gamma[:, 1] - gamma[:, 0]).double().numpy()


def _batches_by_length(lengths: Tensor, cells: int) -> Iterator[Tensor]:
    rows = np.arange(len(lengths))
    return map(torch.from_numpy, equal_length_groups(lengths.numpy(), rows, cells))


def _flat(tokens: Tokens, rows: Tensor, mask: Tensor) -> Tensor:
    """The places of a batch's real tokens among all tokens, row by row."""
    return (tokens.start[:-1][rows][:, None] + torch.arange(mask.shape[1]))[mask]
