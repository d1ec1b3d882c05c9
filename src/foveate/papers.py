"""The papers that docstrings cite, and the claims they make, by key."""

from typing import NamedTuple

__all__ = ["CLAIMS", "PAPERS", "Paper"]


class Paper(NamedTuple):
    """A source.

    Args:
        title: Its title.
        authors: Its authors.
        where: Where it appeared.
    """

    title: str
    authors: str
    where: str


PAPERS = {
    "vr23": Paper(
        "On the Learning Dynamics of Attention Networks",
        "Vashisht and Ramaswamy",
        "ECAI 2023, arXiv 2307.13421",
    ),
    "pvr22": Paper(
        "On the Interpretability of Attention Networks",
        "Pandey, Vashisht and Ramaswamy",
        "ACML 2022, arXiv 2212.14776",
    ),
    "lu21": Paper(
        "On the Dynamics of Training Attention Models",
        "Lu, Mao and Nayak",
        "ICLR 2021, arXiv 2011.10036",
    ),
    "snell21": Paper(
        "Approximating How Single Head Attention Learns",
        "Snell, Zhong, Klein and Steinhardt",
        "arXiv 2103.07601",
    ),
    "blog21": Paper(
        "Approximating How Single Head Attention Learns (blog post)",
        "Snell, Zhong, Klein and Steinhardt",
        "2021",
    ),
}

CLAIMS = {
    "vr23:C1": "Soft attention ends with confident predictions and an unconfident focus.",
    "vr23:C2": "Hard attention ends with unconfident predictions and a focus that is confidently "
    "right or confidently wrong.",
    "vr23:C3": "LVML ends with confident predictions and a confident focus.",
    "vr23:C4": "LVML ends with a higher SAIF than soft and hard attention.",
    "vr23:C5": "The soft fixed-focus loss goes to 0 already for moderate α.",
    "vr23:C6": "The hard and LVML fixed-focus losses flatten above 0 for every α < 1.",
    "vr23:C7": "The LVML fixed-focus loss falls fastest at first and ends below the hard one.",
    "vr23:C8": "Loss curves for large α nearly coincide under soft attention, and do not under "
    "hard attention and LVML.",
    "vr23:C9": "The hard fixed-focus loss is almost flat at small α.",
    "vr23:C10": "The incentive to improve the focus falls with α under soft attention and is "
    "negligible near 1.",
    "vr23:C11": "The incentive rises with α under hard attention and is tiny at small α.",
    "vr23:C12": "The incentive falls with α under LVML but stays above 0.",
    "vr23:C13": "Theorem 1: with a fixed focus the classifier follows eqs (1)–(3).",
    "vr23:C14": "Theorem 2: classifier and focus together follow eqs (1)–(6).",
    "vr23:C15": "In the flow LVML converges fastest, and hard attention ends with the largest ν.",
    "vr23:C16": "The hybrid raises SAIF over soft attention at no cost in accuracy.",
    "vr23:C17": "One-hot attention makes the three losses equal.",
    "vr23:C18": "The LVML loss is never above the hard one (Jensen).",
    "vr23:C19": "In the flow, soft attention improves the focus fastest at first and hard later.",
    "vr23:C20": "All three flows end in the same direction, at different rates.",
    "vr23:C21": "Switching deliberately beats choosing soft or hard at random each epoch.",
    "vr23:C1-real": "On mosaics of CIFAR images: soft attention ends with confident predictions "
    "and an unconfident focus.",
    "vr23:C2-real": "On mosaics of CIFAR images: hard attention ends with unconfident predictions "
    "and a focus that is confidently right or confidently wrong.",
    "vr23:C3-real": "On mosaics of CIFAR images: LVML ends with confident predictions and a "
    "confident focus.",
    "vr23:C16-real": "On the data sets of Table 1: the hybrid raises SAIF over soft attention at "
    "no cost in accuracy.",
    "vr23:C16-captions": "Captions of images: the hybrid raises SAIF over soft attention at no "
    "cost in BLEU.",
    "vr23:C21-real": "On the data sets of Table 1: switching deliberately beats choosing soft or "
    "hard at random each epoch.",
    "pvr22:C1": "Attention of a captioning model aligns with the boxes of what it names: the whole "
    "map more than its top 20 places, these more than 20 random places.",
    "pvr22:C2": "Error mode 1 exists: accuracy near 100 %, FT near 67–70 %.",
    "pvr22:C3": "Error mode 2 exists: accuracy near 100 %, FT near 67–70 %.",
    "pvr22:C4": "Error mode 3 exists: accuracy near 100 %, FT near 67–70 %.",
    "pvr22:C5": "A direct classifier on the concatenated mosaic fits the training set and is near "
    "chance on test.",
    "pvr22:C6": "At the zeroth layer sparsemax and spherical softmax raise FT by more than 10 "
    "points, entropy regularisation does not.",
    "pvr22:C7": "Averaging at f's last layer raises FT for softmax and entropy regularisation.",
    "pvr22:C8": "Hard attention raises FT at a cost in accuracy.",
    "pvr22:C9": "Where the focus is wrong but the model accurate, attention is mostly non-sparse.",
    "pvr22:C10": "Error mode 1 converges more slowly than modes 2 and 3.",
    "pvr22:C11": "Entropy regularisation, sparsemax, spherical softmax and hard attention lower "
    "NNZ and Ent.",
    "pvr22:C12": "Mode 2 admits no linear focus with FT = 1, modes 1 and 3 do; in mode 1 "
    "f = x₁ + x₂ gives FT near 67 % at full accuracy.",
    "pvr22:C13": "On the appendix's Gaussians the effect of the last layer is larger, and hard "
    "attention does much worse.",
    "lu21:C1": "The identity between score and embedding norm holds whatever the classifier.",
    "lu21:C2": "With a fixed linear classifier attention converges to the topic word and the loss "
    "to 0.",
    "lu21:C3": "Low-capacity classifiers give attention a stronger signal: scores grow faster.",
    "lu21:C4": "Mutual promotion: with keys or embeddings frozen the loss falls more slowly.",
    "lu21:C5": "Mutual suppression: early in training a score can fall with its embedding norm.",
    "lu21:C6": "On SST the highest-scored words become purer and the identity holds approximately.",
    "snell21:C1": "Attention agrees with word knowledge learnt under uniform attention, "
    "A(α, β_uf), far above chance.",
    "snell21:C2": "Word knowledge under uniform attention agrees with the bag-of-words proxy, "
    "A(β_uf, β_px), far above chance.",
    "snell21:C3": "Gradient influence agrees with word knowledge, A(Δ, β_uf), far above chance.",
    "snell21:C4": "Attention agrees with the word knowledge of its own model, A(α, β), far above "
    "chance.",
    "snell21:C5": "Copying permutations of 40 words sometimes fails; copying 40 words drawn from "
    "60 is always learnt.",
    "snell21:C6": "Copying a mixture of two sets of permutations sometimes fails too.",
    "snell21:C7": "Eight heads with bad initial weights fail, one good head among them is enough, "
    "and eight random heads almost always learn.",
    "snell21:C8": "At initialisation ∂γ_{i,o}/∂τ tends to 2(C_{i,o} − mean_o C_{i,o}) as d → ∞ for "
    "the logits γ = We; for θ = σ(We) divided by |O|.",
    "snell21:C9": "The count table of IBM Model 1 equals the proxy's table C.",
    "snell21:C10": "The proxy equals logistic regression on bags of words.",
    "snell21:C11": "Under uniform attention word knowledge is local early in training, and not "
    "asymptotically.",
    "snell21:C12": "A fixed permutation of the input is not learnt where copying it is.",
    "snell21:C13": "Optimal attention can leave out the position with the largest β: "
    "γ₁ = (0, 0, 0), γ₂ = (0, −10, 5), γ₃ = (0, 5, −10) gives α = (0, ½, ½).",
    "snell21:C14": "With word knowledge frozen, attention does not learn.",
    "snell21:C15": "Optimal attention is a convex problem, and its solution agrees with β.",
    "snell21:C16": "SMS spam is an outlier: attention differs much from seed to seed.",
    "snell21:C17": "A(α, β_uf(τ)) first rises and then falls as training goes on.",
    "snell21:C18": "The picture is the same on training data, and with BLEU in ξ.",
    "blog21:B1": "From a uniform start the toy classifier learns β first, then p goes to 1.",
    "blog21:B2": "From β₀ = 10, β₁ = −10 the attention p first falls.",
    "blog21:B3": "β₀ = −K, β₁ = 3K, p = ½ has arbitrarily low loss with uniform attention.",
}
