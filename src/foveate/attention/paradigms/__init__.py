r"""Paradigms: how attention and a classifier become a loss, and how they are read.

A paradigm sees ``alpha`` (B, m), segments ``x``, a classifier ``g`` from segments to logits
(B, C), and labels ``y`` (B,). It holds no state, so a model trained under one may be read under
any other; that is what the papers' three inference rules are.
"""

from foveate.attention.paradigms.contract import PARADIGMS, Aux, Paradigm, Progress
from foveate.attention.paradigms.published import (
    EM,
    Direct,
    Hard,
    Hybrid,
    LogitAverage,
    Marginal,
    RandomEpochs,
    SampledHard,
    Soft,
)
from foveate.attention.paradigms.witness import TopMarginal, WithWitness, Witness
from foveate.attention.paradigms.wrappers import WithClassWeights, WithEntropy, WithFocus

__all__ = [
    "EM",
    "PARADIGMS",
    "Aux",
    "Direct",
    "Hard",
    "Hybrid",
    "LogitAverage",
    "Marginal",
    "Paradigm",
    "Progress",
    "RandomEpochs",
    "SampledHard",
    "Soft",
    "TopMarginal",
    "WithClassWeights",
    "WithEntropy",
    "WithFocus",
    "WithWitness",
    "Witness",
]
