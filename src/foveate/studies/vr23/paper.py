"""The paper behind this folder, and the claims that its studies check."""

from foveate.papers import PAPERS, Paper

__all__ = ["PAPER"]

PAPER = Paper(
    title="On the Learning Dynamics of Attention Networks",
    authors="Vashisht and Ramaswamy",
    where="ECAI 2023, arXiv 2307.13421",
    claims={
        "C1": "Soft attention ends with confident predictions and an unconfident focus.",
        "C2": "Hard attention ends with unconfident predictions and a focus that is "
        "confidently right or confidently wrong.",
        "C3": "LVML ends with confident predictions and a confident focus.",
        "C4": "LVML ends with a higher SAIF than soft and hard attention.",
        "C5": "The soft fixed-focus loss goes to 0 already for moderate α.",
        "C6": "The hard and LVML fixed-focus losses flatten above 0 for every α < 1.",
        "C7": "The LVML fixed-focus loss falls fastest at first and ends below the hard one.",
        "C8": "Loss curves for large α nearly coincide under soft attention, and do not under "
        "hard attention and LVML.",
        "C9": "The hard fixed-focus loss is almost flat at small α.",
        "C10": "The incentive to improve the focus falls with α under soft attention and is "
        "negligible near 1.",
        "C11": "The incentive rises with α under hard attention and is tiny at small α.",
        "C12": "The incentive falls with α under LVML but stays above 0.",
        "C13": "Theorem 1: with a fixed focus the classifier follows eqs (1)–(3).",
        "C14": "Theorem 2: classifier and focus together follow eqs (1)–(6).",
        "C15": "In the flow LVML converges fastest, and hard attention ends with the largest ν.",
        "C16": "The hybrid raises SAIF over soft attention at no cost in accuracy.",
        "C17": "One-hot attention makes the three losses equal.",
        "C18": "The LVML loss is never above the hard one (Jensen).",
        "C19": "In the flow, soft attention improves the focus fastest at first and hard later.",
        "C20": "All three flows end in the same direction, at different rates.",
        "C21": "Switching deliberately beats choosing soft or hard at random each epoch.",
        "C1-real": "On mosaics of CIFAR images: soft attention ends with confident predictions "
        "and an unconfident focus.",
        "C2-real": "On mosaics of CIFAR images: hard attention ends with unconfident "
        "predictions and a focus that is confidently right or confidently wrong.",
        "C3-real": "On mosaics of CIFAR images: LVML ends with confident predictions and a "
        "confident focus.",
        "C16-real": "On the data sets of Table 1: the hybrid raises SAIF over soft attention "
        "at no cost in accuracy.",
        "C16-captions": "Captions of images: the hybrid raises SAIF over soft attention at no "
        "cost in BLEU.",
        "C21-real": "On the data sets of Table 1: switching deliberately beats choosing soft "
        "or hard at random each epoch.",
    },
)
PAPERS.register("vr23")(PAPER)
