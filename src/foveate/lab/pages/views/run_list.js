// The list of runs: filtered, sorted, and marked to be compared.

import { addressOf, params, setParams } from "../core/address.js";
import { formatNumber, h } from "../core/dom.js";
import { field, select, setControl } from "../ui/controls.js";

const COLUMNS = {
  name: "Run",
  kind: "Kind",
  label: "What",
  status: "Status",
  seeds: "Seeds",
  seconds: "Seconds",
  created: "Created",
};
const NUMBERS = ["seeds", "seconds"];

// Controls, heads and rows are made once; `update` shows what the address says.
export function runList(runs) {
  const chosen = new Set();
  const compare = () => setParams({ compare: [...chosen].join(",") }, { redraw: true });
  const button = { type: "button", class: "main", disabled: true, onclick: compare };
  const together = h("button", button, "Compare");
  const mark = (name, on) => {
    chosen[on ? "add" : "delete"](name);
    together.disabled = chosen.size < 2;
  };
  const rows = new Map(runs.map((run) => [run, runRow(run, mark)]));
  const nothing = h("tr", {}, h("td", { colspan: 8 }, "No run fits."));
  const body = h("tbody", {});
  const set = (values, how) => {
    setParams(values, how);
    update();
  };
  const controls = filterControls(runs, set);
  const heads = Object.entries(COLUMNS).map(([key, title]) => sortHead(key, title, set));
  const marks = h("th", {}, h("span", { class: "visually-hidden" }, "Compare"));
  const head = h("tr", {}, marks, heads.map((one) => one.element));
  const row = h("div", { class: "row" }, together, h("span", { class: "note" }, "Mark two runs or more."));
  const element = h(
    "div",
    {},
    h("div", { class: "panel controls" }, Object.values(controls), row),
    h("div", { class: "scroll panel" }, h("table", {}, h("thead", {}, head), body)),
  );

  function update() {
    const { filter = "", kind = "", sort = "created", order = "down" } = params();
    setControl(controls.filter, filter);
    setControl(controls.kind, kind);
    heads.forEach((one) => one.update(sort, order));
    const listed = runs.filter((run) => fits(run, filter.toLowerCase(), kind)).sort(by(sort, order));
    body.replaceChildren(...(listed.length ? listed.map((run) => rows.get(run)) : [nothing]));
  }

  // Put the focus on the link to a run.
  function focus(name) {
    const run = runs.find((one) => one.name === name);
    rows.get(run)?.querySelector("a")?.focus();
  }

  update();
  return { element, update, focus };
}

function fits(run, words, kind) {
  const text = `${run.name} ${run.label ?? ""} ${run.status ?? ""}`.toLowerCase();
  return (!kind || run.kind === kind) && text.includes(words);
}

function by(key, order) {
  const sign = order === "up" ? 1 : -1;
  return (a, b) => {
    const [x, y] = [a[key] ?? "", b[key] ?? ""];
    const areNumbers = typeof x === "number" && typeof y === "number";
    return sign * (areNumbers ? x - y : String(x).localeCompare(String(y)));
  };
}

function filterControls(runs, set) {
  const kinds = ["", ...new Set(runs.filter((run) => run.kind).map((run) => run.kind))];
  return {
    filter: field({
      label: "Filter",
      value: "",
      placeholder: "name, data set or status",
      onchange: (filter) => set({ filter }, { step: false }),
      live: true,
    }),
    kind: select({
      label: "Kind",
      value: "",
      options: Object.fromEntries(kinds.map((kind) => [kind, kind || "all"])),
      onchange: (kind) => set({ kind }),
    }),
  };
}

function sortHead(key, title, set) {
  const onclick = () => {
    const { sort = "created", order = "down" } = params();
    set({ sort: key, order: sort === key && order === "down" ? "up" : "down" });
  };
  const button = h("button", { type: "button", class: "sort", onclick }, title);
  const element = h("th", { class: NUMBERS.includes(key) ? "number" : null }, button);
  const update = (sort, order) => {
    const isSorted = sort === key;
    button.textContent = isSorted ? `${title} ${order === "up" ? "↑" : "↓"}` : title;
    if (isSorted) element.setAttribute("aria-sort", order === "up" ? "ascending" : "descending");
    else element.removeAttribute("aria-sort");
  };
  return { element, update };
}

function runRow(run, mark) {
  if (run.broken) {
    const words = h("td", { colspan: 6 }, `broken: ${run.broken}`);
    return h("tr", { class: "broken" }, h("td", {}), h("td", {}, run.name), words);
  }
  const box = h("input", {
    type: "checkbox",
    "aria-label": `Compare ${run.name}`,
    onchange: (event) => mark(run.name, event.target.checked),
  });
  const link = h("a", { href: addressOf("runs", { run: run.name }) }, run.name);
  const bundled = run.bundled && h("span", { class: "note" }, " comes with foveate");
  const status = h("span", { class: `pill ${run.status === "done" ? "good" : "warn"}` }, run.status);
  return h(
    "tr",
    {},
    h("td", {}, run.parts.length > 0 && box),
    h("td", {}, link, bundled),
    h("td", {}, run.kind),
    h("td", {}, `${run.label}${run.scale ? `, ${run.scale}` : ""}`),
    h("td", {}, status),
    h("td", { class: "number" }, run.seeds || "–"),
    h("td", { class: "number" }, formatNumber(run.seconds, 3)),
    h("td", {}, run.created.slice(0, 16).replace("T", " ")),
  );
}
