"""Networks on the segments of bags: outputs, log-probabilities of labels, log-attention."""

from math import prod

import torch
from torch import Tensor

from foveate.attention.maps import label_log_softmax, log_softmax
from foveate.bags.segments import (
    Mosaics,
    Network,
    Segments,
    as_input,
    dense,
    gather_column,
    recompute_in_backward,
    rows_at,
    shared_bank,
    stored,
)

__all__ = ["entropy", "gather_label", "label_log_prob", "log_weights", "map_segments"]

ROWS = 4096  # most segments per network call without gradients,
NUMBERS = 2**19  # and most numbers in them, so that activations of convolutions stay in the cache


def map_segments(network: Network, x: Segments) -> Segments:
    """Send every segment through ``network``; a shared segment once, if that is less work.

    Returns:
        The outputs, shape (B, m, *), or a bank of outputs with the same index.
    """
    shared = shared_bank(x)
    if shared is not None and len(shared.bank) < shared.index.numel():
        return Mosaics(_through(network, shared.bank, shared.chunk), shared.index)
    if shared is not None and shared.chunk is not None:
        return _read_from_bank(network, shared, shared.chunk)
    rows = stored(x)
    if rows.stride(0) < rows.stride(1):  # in memory order, without a copy
        return _through_all(network, rows.transpose(0, 1)).transpose(0, 1)
    return _through_all(network, rows)


def _through_all(network: Network, rows: Tensor) -> Tensor:
    return _through(network, rows.flatten(0, 1)).unflatten(0, rows.shape[:2])


def _through(network: Network, rows: Tensor, chunk: int | None = None) -> Tensor:
    size = chunk or min(ROWS, max(1, NUMBERS // max(1, prod(rows.shape[1:]))))
    if chunk is None and (torch.is_grad_enabled() or len(rows) <= size):
        return network(as_input(rows))
    parts = rows.split(size)
    return torch.cat([recompute_in_backward(lambda p: network(as_input(p)), p) for p in parts])


def _read_from_bank(network: Network, x: Mosaics, chunk: int) -> Tensor:
    """Outputs (B, m, *) of segments that are read from the bank in chunks."""
    parts = [
        recompute_in_backward(lambda index: network(as_input(rows_at(x.bank, index))), part)
        for part in x.index.flatten().split(chunk)
    ]
    return torch.cat(parts).unflatten(0, x.index.shape)


def entropy(alpha: Tensor) -> Tensor:
    r"""Entropy of attention in nats, :math:`-\sum_j \alpha_j \log \alpha_j`, shape (B,)."""
    positive = alpha > 0
    return -(alpha * alpha.where(positive, 1.0).log()).sum(1)


def label_log_prob(x: Segments, g: Network, y: Tensor, chunk: int | None = None) -> Tensor:
    r""":math:`\log \sigma_y(g(x_j))` of the bag's label for each of its segments, shape (B, m).

    Args:
        x: Segments of B bags.
        g: The classifier.
        y: Labels, shape (B,).
        chunk: How many segments to classify at a time. The logits of a chunk are reduced to one
            number per segment and recomputed in the backward pass, so that memory does not grow
            with C·m. None classifies all at once.
    """
    shared = shared_bank(x)
    if shared is not None and shared.chunk is not None:
        return _from_bank(shared, g, y, min(shared.chunk, chunk or shared.chunk))
    if shared is not None and chunk is None:
        return gather_column(map_segments(lambda rows: log_softmax(g(rows)), x), y)
    rows = dense(x)
    if rows.stride(0) < rows.stride(1):  # bags are contiguous: process them in memory order
        return _from_dense(rows.transpose(0, 1), g, y.expand(rows.shape[1], -1), chunk).mT
    return _from_dense(rows, g, y[:, None].expand(rows.shape[:2]), chunk)


def _from_dense(rows: Tensor, g: Network, y: Tensor, chunk: int | None) -> Tensor:
    flat, label = rows.flatten(0, 1), y.flatten()

    def classify(part: Tensor, labels: Tensor) -> Tensor:
        return label_log_softmax(g(part), labels)

    if chunk is None or len(flat) <= chunk:
        return classify(flat, label).view(y.shape)
    parts = zip(flat.split(chunk), label.split(chunk), strict=True)
    return torch.cat([recompute_in_backward(classify, *part) for part in parts]).view(y.shape)


def _from_bank(x: Mosaics, g: Network, y: Tensor, chunk: int) -> Tensor:
    """The same for segments that are read from the bank in chunks."""

    def classify(index: Tensor, labels: Tensor) -> Tensor:
        return label_log_softmax(g(as_input(rows_at(x.bank, index))), labels)

    index, label = x.index.flatten(), y[:, None].expand(x.index.shape).flatten()
    parts = zip(index.split(chunk), label.split(chunk), strict=True)
    return torch.cat([recompute_in_backward(classify, *part) for part in parts]).view(x.index.shape)


def gather_label(log_p: Tensor, y: Tensor) -> Tensor:
    """The entry of each bag's label, from (B, …, C) to (B, …)."""
    index = y.view(-1, *[1] * (log_p.dim() - 1)).expand(*log_p.shape[:-1], 1)
    return log_p.gather(-1, index).squeeze(-1)


def log_weights(alpha: Tensor) -> Tensor:
    """log α with −∞, and no gradient, where the weight is exactly zero."""
    positive = alpha > 0
    return alpha.where(positive, 1.0).log().masked_fill(~positive, -torch.inf)
