// The columns of a file as menus: the role of each, why, and some of its values.

import { h } from "../core/dom.js";
import { select } from "../ui/controls.js";

const ROLES = {
  bag: "bag: which rows belong together",
  label: "label of the bag",
  feature: "feature of the segment",
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

const ROLES_OF_ONE = ["bag", "label", "text", "group", "relevance", "split"];
const ROLES_OF_MANY = Object.fromEntries(
  Object.entries(ROLES).filter(([role]) => !ROLES_OF_ONE.includes(role)),
);
const LEAST_GROUPED = 6; // neighbouring columns with one role that share a row
let changed = null; // the column whose role was changed last: its menu keeps the focus

export function columnEditor(name, view, change) {
  const roles = Object.fromEntries(view.columns.map((column) => [column.name, column.role]));
  const set = (names, role) => {
    const next = { ...roles, ...Object.fromEntries(names.map((column) => [column, role])) };
    // A role that only one column can have moves to the column it was given to.
    if (ROLES_OF_ONE.includes(role)) {
      for (const other of Object.keys(next)) {
        if (!names.includes(other) && next[other] === role) next[other] = "left out";
      }
    }
    Object.assign(roles, next);
    change(next);
  };
  return h(
    "div",
    {},
    h("h2", {}, name),
    view.error &&
      h("p", { class: "state error", role: "alert" }, `${view.error}. Choose the roles here.`),
    view.description && summaryLine(view.description),
    problemList(view.problems),
    view.columns.length > 0 && columnTable(view.columns, change && set),
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

// Open while roles can be changed. Neighbouring columns with one role share a row.
function columnTable(columns, set) {
  const heads = ["Column", "Role", "Why", "Some values"].map((title) =>
    h("th", { scope: "col" }, title),
  );
  const rows = neighbours(columns).map((group) =>
    group.length < LEAST_GROUPED
      ? group.map((column) => columnRow(column, set))
      : groupRow(group, set),
  );
  const table = h("table", { class: "columns" }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows));
  return h(
    "details",
    { class: "panel", open: Boolean(set) },
    h("summary", { class: "strong" }, "How the columns are read"),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Columns" }, table),
  );
}

// Columns in stretches with the same role for the same reason.
function neighbours(columns) {
  const groups = [];
  for (const column of columns) {
    const last = groups.at(-1)?.[0];
    if (last && last.role === column.role && last.reason === column.reason) groups.at(-1).push(column);
    else groups.push([column]);
  }
  return groups;
}

function columnRow({ name, role, reason, values }, set) {
  return tableRow(name, roleMenu([name], name, ROLES, role, set), reason, values);
}

// A row for many columns; a button shows each of them.
function groupRow(group, set) {
  const names = group.map(({ name }) => name);
  const range = `${names[0]} to ${names.at(-1)}`;
  const expand = () => {
    const rows = group.map((column) => columnRow(column, set));
    row.replaceWith(...rows);
    rows[0].querySelector("select").focus();
  };
  const button = h("button", { type: "button", class: "quiet", onclick: expand }, "Show each");
  const title = [`${range} `, h("span", { class: "note" }, `(${names.length} columns) `), button];
  const { role, reason, values } = group[0];
  const row = tableRow(title, roleMenu(names, range, ROLES_OF_MANY, role, set), reason, values);
  return row;
}

function roleMenu(names, title, options, value, set) {
  const key = names.includes(changed) ? changed : names.at(-1);
  const onchange = (role) => {
    changed = key;
    set(names, role);
  };
  const menu = { label: `Role of ${title}`, hideLabel: true, focus: `role-${key}` };
  return select({ ...menu, options, value, onchange, disabled: !set });
}

function tableRow(title, menu, reason, values) {
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, title),
    h("td", {}, menu),
    h("td", { class: "note" }, reason),
    h("td", { class: "samples" }, values.join(" · ")),
  );
}
