"""The paper behind this folder, and the claims that its studies check."""

from foveate.papers import PAPERS, Paper

__all__ = ["PAPER"]

PAPER = Paper(
    title="Approximating How Single Head Attention Learns",
    authors="Snell, Zhong, Klein and Steinhardt",
    where="arXiv 2103.07601",
    claims={
        "C1": "Attention agrees with word knowledge learnt under uniform attention, A(α, "
        "β_uf), far above chance.",
        "C2": "Word knowledge under uniform attention agrees with the bag-of-words proxy, "
        "A(β_uf, β_px), far above chance.",
        "C3": "Gradient influence agrees with word knowledge, A(Δ, β_uf), far above chance.",
        "C4": "Attention agrees with the word knowledge of its own model, A(α, β), far above "
        "chance.",
        "C5": "Copying permutations of 40 words sometimes fails; copying 40 words drawn from "
        "60 is always learnt.",
        "C6": "Copying a mixture of two sets of permutations sometimes fails too.",
        "C7": "Eight heads with bad initial weights fail, one good head among them is enough, "
        "and eight random heads almost always learn.",
        "C8": "At initialisation ∂γ_{i,o}/∂τ tends to 2(C_{i,o} − mean_o C_{i,o}) as d → ∞ for "
        "the logits γ = We; for θ = σ(We) divided by |O|.",
        "C9": "The count table of IBM Model 1 equals the proxy's table C.",
        "C10": "The proxy equals logistic regression on bags of words.",
        "C11": "Under uniform attention word knowledge is local early in training, and not "
        "asymptotically.",
        "C12": "A fixed permutation of the input is not learnt where copying it is.",
        "C13": "Optimal attention can leave out the position with the largest β: γ₁ = (0, 0, "
        "0), γ₂ = (0, −10, 5), γ₃ = (0, 5, −10) gives α = (0, ½, ½).",
        "C14": "With word knowledge frozen, attention does not learn.",
        "C15": "Optimal attention is a convex problem, and its solution agrees with β.",
        "C16": "SMS spam is an outlier: attention differs much from seed to seed.",
        "C17": "A(α, β_uf(τ)) first rises and then falls as training goes on.",
        "C18": "The picture is the same on training data, and with BLEU in ξ.",
    },
)
PAPERS.register("snell21")(PAPER)
