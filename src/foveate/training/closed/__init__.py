"""Losses and gradients of focus–classify models by closed formulas, without autograd."""

from foveate.training.closed.gradients import ClosedGradients, flush_denormals

__all__ = ["ClosedGradients", "flush_denormals"]
