// The quantities of the flow: what they are, their equations, and at which height in pixels the
// times are labelled at which the incentive of soft attention peaks and dies.

export const PANELS = {
  rest: {
    title: "1 − α, attention that is still elsewhere",
    about:
      "The share of attention that is not on the one segment that decides the label, on a " +
      "logarithmic axis: a straight fall is steady improvement, a flat line is a stall. It starts " +
      "at 1 − 1/m.",
    equation: "α = e^ν / (e^ν + m − 1)",
    log: true,
    annotate: 26,
  },
  incentive: {
    title: "δ, the incentive to look better",
    about:
      "How much the loss would fall if a little more attention went to the deciding segment, with " +
      "the classifier held. Soft attention's incentive peaks and dies.",
    equation:
      "δ = −∂L/∂α\nsoft:  μ (C − 1) / (e^(αμ) + C − 1)\nhard:  log(Cβ)\n" +
      "LVML:  (β − 1/C) / Z,   Z = αβ + (1 − α)/C",
    annotate: 70,
  },
  loss: {
    title: "Loss",
    about:
      "What each paradigm minimises. Soft attention reaches a small loss under a weak focus: that " +
      "is why a low loss says little about where a model looks.",
    equation:
      "soft:  log(1 + (C − 1) e^(−αμ))\nhard:  −α log β + (1 − α) log C\n" +
      "LVML:  −log(αβ + (1 − α)/C)",
  },
  alpha: {
    title: "α, attention on the deciding segment",
    about:
      "Soft attention rises before hard attention does, and stops improving before it: once the " +
      "classifier is good enough on the mixture, little is left to gain from looking better.",
    equation: "α = e^ν / (e^ν + m − 1)",
    annotate: 130,
  },
  mu: {
    title: "μ, the classifier",
    about:
      "How far the classifier has grown, w_k = μ (s_k − s̄). It starts at 0 and learns from " +
      "whatever the attention lets through.",
    equation:
      "soft:  μ̇ = α / (e^(αμ) + C − 1)\nhard:  μ̇ = α β / e^μ\n" +
      "LVML:  μ̇ = α β² / (Z e^μ),   Z = αβ + (1 − α)/C",
  },
  nu: {
    title: "ν, the focus",
    about:
      "How far the focus has grown, u = ν Σ s_k. The larger ν, the more attention goes to the " +
      "segment that decides the label.",
    equation: "ν̇ = α (1 − α) / C · δ,   δ the incentive of the paradigm",
  },
  beta: {
    title: "β, the right class on the deciding segment",
    about: "The probability that the classifier gives the right class when it sees that segment alone.",
    equation: "β = e^μ / (e^μ + C − 1)",
  },
};
