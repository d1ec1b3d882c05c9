// One claim: statement and verdict; folded, what was found, its figure and the study run again.

import { setParams } from "../core/address.js";
import { get } from "../core/api.js";
import { h, reducedMotion, render } from "../core/dom.js";
import { drawLibraryFigure } from "../ui/charts.js";
import { figure } from "../ui/figure.js";
import { emptyState, renderAsync } from "../ui/states.js";
import { claimRun } from "./claim_run.js";

export const SIGNS = {
  holds: "✓",
  "holds in part": "◐",
  "does not hold": "✗",
  contradicted: "✗✗",
  underpowered: "?",
  "not testable here": "?",
  "not run": "–",
};

const line = (term, words) => (words ? [h("dt", {}, term), h("dd", {}, words)] : []);

export function claimEntry(claim) {
  const id = claim.claim.replace(":", "-");
  const picture = h("div", {});
  const again = claimRun(claim);
  let chart = null;

  const draw = () =>
    renderAsync(
      picture,
      async () => {
        const drawn = await claimFigure(claim, id);
        chart = drawn.chart;
        return drawn.element;
      },
      "Drawing …",
    );

  const details = h(
    "details",
    { ontoggle },
    h("summary", {}, "What was found, criterion, figure, run again"),
    findings(claim),
    picture,
    again.element,
  );

  function ontoggle() {
    if (!details.open || picture.childElementCount) return;
    setParams({ claim: claim.claim }, { step: false });
    if (claim.figure) draw();
    else render(picture, emptyState("Not checked yet.", "Run the study to see its figure."));
  }

  const element = h("article", { class: "claim", id }, heading(claim), details);
  const open = () => (details.open = true);
  const show = () => {
    open();
    element.scrollIntoView({ behavior: reducedMotion() ? "auto" : "smooth" });
    details.querySelector("summary").focus({ preventScroll: true });
  };
  const leave = () => {
    chart?.destroy();
    again.leave();
  };
  return { element, open, show, leave };
}

function heading({ claim, level, verdict, statement, effect, measure }) {
  const sign = h("span", { "aria-hidden": "true" }, `${SIGNS[verdict] ?? "–"} `);
  const pill = h("span", { class: `pill ${level}` }, sign, verdict);
  return [
    h("h3", {}, `${claim.split(":")[1]} `, pill, ` ${statement}`),
    effect && h("p", { class: "note effect" }, `${effect} (${measure})`),
  ];
}

function findings(claim) {
  return h(
    "dl",
    {},
    line("Found", claim.summary),
    line("Criterion", claim.criterion),
    line("Criterion changed after results", claim.revision),
    line("Experiment", `${claim.experiment}${claim.scale ? `, ${claim.scale} scale` : ""}`),
    line("Differs from the paper", claim.deviation),
  );
}

async function claimFigure(claim, id) {
  const title = `Figure of ${claim.claim}`;
  const frame = figure({ title, about: claim.summary || claim.criterion, id, wide: true });
  const { spec, source } = await get("/api/claims/figure", { claim: claim.claim });
  frame.subtitle.textContent = source;
  const chart = await drawLibraryFigure(frame, spec);
  return { element: frame.element, chart };
}
