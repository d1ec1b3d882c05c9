"""The paper behind this folder, and the claims that its studies check."""

from foveate.papers import PAPERS, Paper

__all__ = ["PAPER"]

PAPER = Paper(
    title="On the Interpretability of Attention Networks",
    authors="Pandey, Vashisht and Ramaswamy",
    where="ACML 2022, arXiv 2212.14776",
    claims={
        "C1": "Attention of a captioning model aligns with the boxes of what it names: the "
        "whole map more than its top 20 places, these more than 20 random places.",
        "C2": "Error mode 1 exists: accuracy near 100 %, FT near 67–70 %.",
        "C3": "Error mode 2 exists: accuracy near 100 %, FT near 67–70 %.",
        "C4": "Error mode 3 exists: accuracy near 100 %, FT near 67–70 %.",
        "C5": "A direct classifier on the concatenated mosaic fits the training set and is "
        "near chance on test.",
        "C6": "At the zeroth layer sparsemax and spherical softmax raise FT by more than 10 "
        "points, entropy regularisation does not.",
        "C7": "Averaging at f's last layer raises FT for softmax and entropy regularisation.",
        "C8": "Hard attention raises FT at a cost in accuracy.",
        "C9": "Where the focus is wrong but the model accurate, attention is mostly non-sparse.",
        "C10": "Error mode 1 converges more slowly than modes 2 and 3.",
        "C11": "Entropy regularisation, sparsemax, spherical softmax and hard attention lower "
        "NNZ and Ent.",
        "C12": "Mode 2 admits no linear focus with FT = 1, modes 1 and 3 do; in mode 1 f = x₁ "
        "+ x₂ gives FT near 67 % at full accuracy.",
        "C13": "On the appendix's Gaussians the effect of the last layer is larger, and hard "
        "attention does much worse.",
    },
)
PAPERS.register("pvr22")(PAPER)
