"""The paper behind this folder, and the claims that its studies check."""

from foveate.papers import PAPERS, Paper

__all__ = ["PAPER"]

PAPER = Paper(
    title="On the Dynamics of Training Attention Models",
    authors="Lu, Mao and Nayak",
    where="ICLR 2021, arXiv 2011.10036",
    claims={
        "C1": "The identity between score and embedding norm holds whatever the classifier.",
        "C2": "With a fixed linear classifier attention converges to the topic word and the "
        "loss to 0.",
        "C3": "Low-capacity classifiers give attention a stronger signal: scores grow faster.",
        "C4": "Mutual promotion: with keys or embeddings frozen the loss falls more slowly.",
        "C5": "Mutual suppression: early in training a score can fall with its embedding norm.",
        "C6": "On SST the highest-scored words become purer and the identity holds approximately.",
    },
)
PAPERS.register("lu21")(PAPER)
