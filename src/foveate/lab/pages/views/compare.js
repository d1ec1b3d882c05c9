// Runs side by side: paired differences, how they ended, and their curves on one axis.

import { addressOf } from "../core/address.js";
import { get } from "../core/api.js";
import { h } from "../core/dom.js";
import { emptyState, renderAsync } from "../ui/states.js";
import { drawCurves } from "./curves.js";
import { outcomeTable, runsPage } from "./run.js";

const OTHER_DATA =
  "These runs were not trained on the same data: differences are between tasks, not between methods.";

// Names without the words that all of them begin with.
export function shortNames(names) {
  const words = names.map((name) => name.split(/(?<=[-/])/));
  let common = 0;
  while (words.every((list) => list.length > common + 1 && list[common] === words[0][common]))
    common += 1;
  return Object.fromEntries(names.map((name, k) => [name, words[k].slice(common).join("")]));
}

export async function compareRuns(container, names, theme) {
  let curves = null;
  await renderAsync(
    runsPage(container, `${names.length} runs compared`),
    async () => {
      const runs = await Promise.all(names.map((name) => get("/api/run", { run: name })));
      const differences = await Promise.all(
        names.slice(1).map((second) => get("/api/runs/differences", { first: names[0], second })),
      );
      const short = shortNames(names);
      const parts = Object.fromEntries(
        runs.flatMap((run) =>
          Object.entries(run.parts).map(([part, about]) => [`${run.name}/${part}`, about]),
        ),
      );
      const isEmpty = Object.keys(parts).length === 0;
      curves = isEmpty ? null : await drawCurves(names, { parts }, theme, { short });
      const section = (run) => {
        const link = h("a", { href: addressOf("runs", { run: run.name }) }, short[run.name]);
        const table = run.outcomes.length > 0 && outcomeTable(run, theme);
        const result = { href: addressOf("data", { run: run.name }) };
        const fit = run.kind === "fit" && h("p", {}, h("a", result, "Its verdict and its bags"));
        return h("section", {}, h("h2", {}, link), run.summary && h("p", {}, run.summary), table, fit);
      };
      return h(
        "div",
        {},
        new Set(runs.map((run) => run.label)).size > 1 && h("p", { class: "note" }, OTHER_DATA),
        differences.map((one) => differenceTable(one, short, theme)),
        h("h2", {}, "Over training"),
        curves ? curves.element : emptyState("No curves.", "These runs have no finished parts."),
        runs.map(section),
      );
    },
    "Opening the runs …",
  );
  return { follow: () => curves?.follow(), leave: () => curves?.destroy() };
}

// The second run minus the first, over seeds that both have.
function differenceTable({ first, second, parts }, short, theme) {
  const metrics = Object.entries(theme.metrics).filter(([, metric]) => metric.summary);
  const cell = (value) => {
    if (!value) return "–";
    const points = (x) => `${x > 0 ? "+" : ""}${(100 * x).toFixed(1)}`;
    const { mean, low, high } = value;
    return `${points(mean)}${low === null ? "" : ` [${points(low)}, ${points(high)}]`}`;
  };
  const row = ([part, { seeds, metrics: values }]) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, theme.paradigms[part]?.label ?? part),
      metrics.map(([key]) => h("td", { class: "number" }, cell(values[key]))),
      h("td", { class: "number" }, seeds),
    );
  const title = `${short[second]} minus ${short[first]}`;
  const heads = ["Paradigm", ...metrics.map(([, metric]) => metric.heading), "Shared seeds"];
  const entries = Object.entries(parts);
  if (!entries.length) return h("p", { class: "note" }, `${title}: no paradigm is in both.`);
  return h(
    "div",
    { class: "scroll panel", tabindex: 0, role: "group", "aria-label": title },
    h("h2", {}, title),
    h("p", { class: "note" }, "Paired differences in points, with 95 % intervals over seeds."),
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          heads.map((head, k) => h("th", { scope: "col", class: k ? "number" : null }, head)),
        ),
      ),
      h("tbody", {}, entries.map(row)),
    ),
  );
}
