// What a text model makes of a text or of a sentence pair.

import { formatShare, h, render } from "../core/dom.js";
import { drawSignedTokens, drawTokens } from "../drawing/tokens.js";
import { drawWords } from "../drawing/collage.js";
import { drawMatrix } from "../drawing/matrix.js";
import { csv, figure, standaloneSvg } from "../ui/figure.js";

const READING = {
  alpha: [
    "α, where it looks",
    "Attention of the model over the words of the text. Opacity is the square root of α.",
    "α_l = e^(s_l) / Σ_k e^(s_k)",
  ],
  beta: [
    "β, what each word says by itself",
    "The probability of the answer from this position alone: green speaks for the answer, grey " +
      "with a wavy line against it, no colour for neither.",
    "β_l = σ((2y − 1)(w·h_l + b))",
  ],
  removal: [
    "Without the word",
    "How much the log-odds of the answer change when the word is removed and the text is read " +
      "again. Green: the answer needs the word. Grey with a wavy line: the word speaks against it.",
    "logit p(y | text) − logit p(y | text without word l)",
  ],
  delta: [
    "Δ, to first order",
    "How much the word speaks for the answer, to first order: the gain in log-probability if its " +
      "embedding grew. Shaded relative to the largest.",
    "Δ_l = −e_l · ∂L/∂e_l",
  ],
};
const ALIGNMENT = {
  attention: [
    "Attention of the translator",
    "Each row is a word of the translation, each column a source word: the translator's attention " +
      "when it wrote the word.",
    "α_t,l",
  ],
  ibm1: [
    "IBM Model 1",
    "Where each word comes from by co-occurrence alone, without any network.",
    "Trans(y_t|x_l) / Σ_k Trans(y_t|x_k)",
  ],
};

// The word whose removal changes the log-odds of the answer most, in a sentence.
function decidingWord({ tokens, removal, alpha, says, p_without: pWithout }) {
  const most = removal.indexOf(Math.max(...removal));
  if (tokens.length < 2 || removal[most] <= 0) {
    return `No single word decides for “${says}”: removing any one does not weaken the answer.`;
  }
  const looked = alpha.indexOf(Math.max(...alpha));
  const focus = looked === most ? "It is also where the model looks most." : "";
  const other = looked === most ? "" : `The model looks most at “${tokens[looked]}”.`;
  const without = `without it the probability is ${formatShare(pWithout[most])}`;
  return `“${tokens[most]}” decides: ${without}. ${focus}${other}`;
}

export function readingFigures(content, theme) {
  const { tokens, known } = content;
  const rows = tokens.map((word, j) => ({
    word,
    known: known[j],
    alpha: content.alpha[j],
    beta: content.beta[j],
    removal: content.removal[j],
    delta: content.delta[j],
  }));
  const largest = (values) => Math.max(...values.map(Math.abs), 1e-9);
  const shade = {
    alpha: (x) => x,
    beta: (x) => 2 * x - 1,
    removal: (x) => x / largest(content.removal),
    delta: (x) => x / largest(content.delta),
  };
  const unknown = known.filter((one) => !one).length;
  const figures = Object.entries(READING).map(([key, [title, about, equation]]) => {
    const fig = figure({ title, about, equation, id: key, wide: true });
    fig.body.classList.add("short");
    const shades = content[key].map(shade[key]);
    const words = key === "alpha" ? drawTokens(tokens, null, theme) : drawSignedTokens(tokens, theme);
    words.attend(shades);
    words.element
      .querySelectorAll("span")
      .forEach((span, j) => span.setAttribute("title", `${key} = ${content[key][j]}`));
    render(fig.body, words.element);
    fig.downloads.csv = () => csv(rows);
    fig.downloads.svg = () => standaloneSvg(drawWords(tokens, shades, null, theme, key !== "alpha"));
    return fig.element;
  });
  const answer = `Answer: “${content.says}”, probability ${formatShare(content.p)}.`;
  const unseen = unknown ? ` ${unknown} of ${tokens.length} words were never seen in training.` : "";
  return h(
    "div",
    {},
    h("p", { class: "strong", role: "status", id: "answer" }, answer, unseen),
    h("p", { id: "decides" }, decidingWord(content)),
    h("div", { class: "shades" }, figures),
  );
}

export function alignmentFigures({ source, target, ...tables }, theme) {
  const figures = Object.entries(ALIGNMENT).map(([key, [title, about, equation]]) => {
    const fig = figure({ title, about, equation, id: key });
    drawMatrix(fig, { source, target, alpha: tables[key] }, theme);
    return fig.element;
  });
  return h("div", { class: "figures" }, figures);
}
