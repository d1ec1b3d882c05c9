// The columns of a file as menus: the role of each, why, and some of its values.

import { h } from "../core/dom.js";
import { select } from "../ui/controls.js";

const ROLES = {
  bag: "bag: which rows belong together",
  label: "label of the bag",
  feature: "feature: a number of the segment",
  text: "text of the segment",
  group: "group, such as a patient",
  place: "place: coordinates or times",
  relevance: "relevance: 1 where the evidence is",
  split: "split: train, validation, test",
  "left out": "left out",
};

const KINDS = {
  features: "a row of numbers",
  series: "a window in time",
  text: "a text",
  image: "an image",
};

export function columnEditor(name, view, change) {
  const roles = Object.fromEntries(view.columns.map((column) => [column.name, column.role]));
  const set = (column, role) => {
    const next = { ...roles, [column]: role };
    // A role that only one column can have moves to the column it was given to.
    if (["bag", "label", "text", "group", "relevance", "split"].includes(role)) {
      for (const other of Object.keys(next)) {
        if (other !== column && next[other] === role) next[other] = "left out";
      }
    }
    change(next);
  };
  return h(
    "div",
    {},
    h("h2", {}, name),
    view.error &&
      h("p", { class: "state error", role: "alert" }, `${view.error}. Choose the roles below.`),
    view.description && summaryLine(view.description),
    problemList(view.problems),
    view.columns.length > 0 && columnTable(view.columns, change && set, !view.labelled),
  );
}

function summaryLine(description) {
  const { bags, segments, lengths, kind, classes, groups, known } = description;
  const counts = Object.entries(classes).map(([name, count]) => `${name} (${count})`);
  const parts = [
    `${bags.toLocaleString("en")} bags with ${segments.toLocaleString("en")} segments`,
    `${lengths[0]} to ${lengths[2]} a bag (median ${lengths[1]})`,
    `a segment is ${KINDS[kind] ?? kind}`,
    counts.length ? `classes: ${counts.join(", ")}` : "no labels",
    groups !== null && `${groups} groups`,
    known > 0 && `evidence known in ${(100 * known).toFixed(0)} % of bags`,
  ];
  return h("p", { id: "summary" }, `${parts.filter(Boolean).join("; ")}.`);
}

function problemList(problems) {
  if (!problems.length) return null;
  const pill = ({ severity }) =>
    h("span", { class: `pill ${severity === "error" ? "bad" : "warn"}` }, severity);
  const items = problems
    .slice(0, 12)
    .map((problem) => h("li", {}, pill(problem), ` ${problem.where}: ${problem.what}`));
  return h("ul", { class: "problems" }, items);
}

// Open where there is something to choose: few columns, or no label yet.
function columnTable(columns, set, unlabelled) {
  const heads = ["Column", "Role", "Why", "Some values"].map((title) =>
    h("th", { scope: "col" }, title),
  );
  const row = ({ name, role, reason, values }) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, name),
      h(
        "td",
        {},
        select({
          label: `Role of ${name}`,
          hideLabel: true,
          options: ROLES,
          value: role,
          disabled: !set,
          onchange: (value) => set(name, value),
        }),
      ),
      h("td", { class: "note" }, reason),
      h("td", { class: "samples" }, values.join(" · ")),
    );
  const table = h("table", {}, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, columns.map(row)));
  return h(
    "details",
    { class: "panel", open: Boolean(set) && (unlabelled || columns.length <= 12) },
    h("summary", { class: "strong" }, "How the columns are read"),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Columns" }, table),
  );
}
