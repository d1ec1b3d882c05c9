"""Log-probabilities of labels over segments, and logarithms of attention that stay finite."""

import torch
from torch import Tensor

from foveate.attention.maps import label_log_softmax, log_softmax
from foveate.bags.segments import (
    Mosaics,
    Network,
    Segments,
    as_input,
    dense,
    map_segments,
    recompute_in_backward,
    rows_at,
)

__all__ = ["entropy", "gather_label", "label_log_prob", "log_weights"]


def entropy(alpha: Tensor) -> Tensor:
    r"""Entropy of attention in nats, :math:`-\sum_j \alpha_j \log \alpha_j`, shape (B,)."""
    seen = alpha > 0
    return -(alpha * alpha.where(seen, 1.0).log()).sum(1)


def label_log_prob(x: Segments, g: Network, y: Tensor, chunk: int | None = None) -> Tensor:
    r""":math:`\log \sigma_y(g(x_j))` of the bag's own label for each of its segments, shape (B, m).

    Args:
        x: Segments of B bags.
        g: The classifier.
        y: Labels, shape (B,).
        chunk: How many segments to classify at a time. The logits of a chunk are made, reduced to
            one number a segment, and made again on the way back, so that memory does not grow with
            C·m. None classifies all at once.
    """
    if isinstance(x, Mosaics) and x.chunk is not None:
        return _from_bank(x, g, y, min(x.chunk, chunk or x.chunk))
    if isinstance(x, Mosaics) and chunk is None:
        scored = map_segments(lambda rows: log_softmax(g(rows)), x)
        if isinstance(scored, Mosaics):
            log_p, index = scored.bank, scored.index
            cell = index * log_p.shape[1] + y[:, None]
            return log_p.flatten().gather(0, cell.flatten()).view_as(index)
        return scored.gather(2, y[:, None, None].expand(-1, scored.shape[1], 1)).squeeze(2)
    rows = dense(x)
    if rows.stride(0) < rows.stride(1):  # bags lie side by side: go through them as they lie
        return _written_out(rows.transpose(0, 1), g, y.expand(rows.shape[1], -1), chunk).mT
    return _written_out(rows, g, y[:, None].expand(rows.shape[:2]), chunk)


def _written_out(rows: Tensor, g: Network, y: Tensor, chunk: int | None) -> Tensor:
    flat, label = rows.flatten(0, 1), y.flatten()

    def classified(part: Tensor, of: Tensor) -> Tensor:
        return label_log_softmax(g(part), of)

    if chunk is None or len(flat) <= chunk:
        return classified(flat, label).view(y.shape)
    parts = zip(flat.split(chunk), label.split(chunk), strict=True)
    return torch.cat([recompute_in_backward(classified, part, of) for part, of in parts]).view(
        y.shape
    )


def _from_bank(x: Mosaics, g: Network, y: Tensor, chunk: int) -> Tensor:
    """The same for segments that are taken from the bank a chunk at a time."""

    def classified(at: Tensor, of: Tensor) -> Tensor:
        return label_log_softmax(g(as_input(rows_at(x.bank, at))), of)

    at, label = x.index.flatten(), y[:, None].expand(x.index.shape).flatten()
    parts = zip(at.split(chunk), label.split(chunk), strict=True)
    return torch.cat([recompute_in_backward(classified, *part) for part in parts]).view(
        x.index.shape
    )


def gather_label(log_p: Tensor, y: Tensor) -> Tensor:
    """The entry of each bag's label, from (B, …, C) to (B, …)."""
    place = y.view(-1, *[1] * (log_p.dim() - 1)).expand(*log_p.shape[:-1], 1)
    return log_p.gather(-1, place).squeeze(-1)


def log_weights(alpha: Tensor) -> Tensor:
    """log α with −∞, and no gradient, where the weight is exactly zero."""
    seen = alpha > 0
    return alpha.where(seen, 1.0).log().masked_fill(~seen, -torch.inf)
