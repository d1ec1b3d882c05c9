r"""Paradigms: how attention and a classifier become a loss and a prediction.

A paradigm sees ``alpha`` (B, m), segments ``x``, a classifier ``g`` from segments to logits
(B, C), and labels ``y`` (B,). It has no state, so a model trained under one paradigm can be
evaluated under any other: these are the three inference rules of the papers.
"""

from foveate.attention.paradigms.contract import PARADIGMS, Aux, Paradigm, Progress
from foveate.attention.paradigms.pooling import Additive, Max, Mean, NoisyOr, Presence
from foveate.attention.paradigms.published import (
    EM,
    Direct,
    Hard,
    LogitAverage,
    Marginal,
    SampledHard,
    Soft,
)
from foveate.attention.paradigms.schedules import Hybrid, RandomEpochs, TwoPhase
from foveate.attention.paradigms.taught import Taught, TaughtFocus
from foveate.attention.paradigms.witness import TopMarginal, WithWitness, Witness
from foveate.attention.paradigms.wrappers import WithClassWeights, WithEntropy, WithFocus

__all__ = [
    "EM",
    "PARADIGMS",
    "Additive",
    "Aux",
    "Direct",
    "Hard",
    "Hybrid",
    "LogitAverage",
    "Marginal",
    "Max",
    "Mean",
    "NoisyOr",
    "Paradigm",
    "Presence",
    "Progress",
    "RandomEpochs",
    "SampledHard",
    "Soft",
    "Taught",
    "TaughtFocus",
    "TopMarginal",
    "TwoPhase",
    "WithClassWeights",
    "WithEntropy",
    "WithFocus",
    "WithWitness",
    "Witness",
]
