"""The paper behind this folder, and the claims that its studies check."""

from foveate.papers import PAPERS, Paper

__all__ = ["PAPER"]

PAPER = Paper(
    title="Approximating How Single Head Attention Learns (blog post)",
    authors="Snell, Zhong, Klein and Steinhardt",
    where="2021",
    claims={
        "B1": "From a uniform start the toy classifier learns β first, then p goes to 1.",
        "B2": "From β₀ = 10, β₁ = −10 the attention p first falls.",
        "B3": "β₀ = −K, β₁ = 3K, p = ½ has arbitrarily low loss with uniform attention.",
    },
)
PAPERS.register("blog21")(PAPER)
