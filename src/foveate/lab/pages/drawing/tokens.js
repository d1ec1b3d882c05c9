// Words shaded by attention, or by signed evidence.

import { h } from "../core/dom.js";
import { dark } from "../ui/charts.js";

const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
const withOpacity = (colour, x) => `rgb(${channels(colour).join(" ")} / ${x.toFixed(3)})`;

function paragraph(spans) {
  const spaced = spans.flatMap((span) => [span, " "]);
  return h("p", { class: "tokens" }, spaced);
}

// Shades let the word stay readable; on a dark ground they must be stronger to be seen.
const strongest = () => (dark.matches ? 0.65 : 0.6);

// Opacity grows with √α; relevant words are framed.
export function drawTokens(tokens, z, theme) {
  const spans = tokens.map((word, j) => h("span", { class: z?.[j] ? "relevant" : null }, word));
  const attend = (alpha) =>
    spans.forEach((span, j) => {
      span.style.background = withOpacity(
        theme.attention,
        strongest() * Math.sqrt(Math.max(0, alpha[j])),
      );
      span.setAttribute("title", `α = ${alpha[j].toFixed(3)}`);
    });
  return { element: paragraph(spans), attend };
}

// Values from −1 (against) to 1 (for): a colour for each sign, and a wavy line for "against".
export function drawSignedTokens(tokens, theme) {
  const spans = tokens.map((word) => h("span", {}, word));
  const attend = (values) =>
    spans.forEach((span, j) => {
      const against = values[j] < 0;
      const colour = against ? theme.evidence.against : theme.evidence.for;
      span.style.background = withOpacity(colour, strongest() * Math.abs(values[j]));
      span.classList.toggle("against", against && values[j] < -0.05);
    });
  return { element: paragraph(spans), attend };
}
