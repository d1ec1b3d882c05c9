// Runs: the list, several compared, one opened.

import { fill, h, number } from "/pages/dom.js";
import { change, link, state } from "/pages/address.js";
import { get, look } from "/pages/api.js";
import { empty, field, select, shown } from "/pages/parts.js";
import { openRun } from "/pages/run.js";
import { compare } from "/pages/compare.js";

const COLUMNS = { name: "Run", kind: "Kind", label: "What", status: "Status", seeds: "Seeds", seconds: "Seconds", created: "Created" };

export async function open(place) {
  const seen = await look();
  let leave = null;

  async function draw() {
    leave?.();
    leave = null;
    const now = state();
    if (now.run) {
      fill(place);
      leave = await openRun(place, now.run, seen);
    } else if (now.compare) {
      fill(place);
      leave = await compare(place, now.compare.split(","), seen);
    } else await list();
  }

  async function list() {
    const table = h("div", {});
    fill(place, h("h1", {}, "Runs"), h("p", { class: "lead" }, "What was trained on this machine. Open one to go from a cell of its heat map to the bags in it; choose several races to compare them."), table);
    await shown(table, async () => {
      const { runs } = await get("/api/runs");
      if (!runs.length) return empty("There are no runs yet.", "Run ", h("code", {}, "foveate race digits"), " in a terminal, or start a training on the page ", h("a", { href: "/train" }, "Train"), ".");
      return listed(runs);
    }, "Looking for runs …");
  }

  function listed(runs) {
    const chosen = new Set();
    const rows = h("tbody", {}), heads = h("tr", {});
    const together = h("button", { type: "button", class: "main", disabled: true, onclick: () => change({ compare: [...chosen].join(",") }, { redraw: true }) }, "Compare");
    const kinds = ["", ...new Set(runs.filter((run) => run.kind).map((run) => run.kind))];
    function paint() {
      const { filter = "", kind = "", sort = "created", order = "down" } = state();
      const words = filter.toLowerCase();
      const kept = runs.filter((run) => (!kind || run.kind === kind) && `${run.name} ${run.label ?? ""} ${run.status ?? ""}`.toLowerCase().includes(words));
      const sign = order === "up" ? 1 : -1;
      kept.sort((a, b) => { const [x, y] = [a[sort] ?? "", b[sort] ?? ""]; return sign * (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y))); });
      fill(heads, h("th", {}, h("span", { class: "note" }, "")), Object.entries(COLUMNS).map(([key, title]) => h("th", { class: ["seeds", "seconds"].includes(key) ? "number" : null, "aria-sort": sort === key ? (order === "up" ? "ascending" : "descending") : null },
        h("button", { type: "button", class: "sort", onclick: () => { change({ sort: key, order: sort === key && order === "down" ? "up" : "down" }); paint(); } }, `${title}${sort === key ? (order === "up" ? " ↑" : " ↓") : ""}`))));
      fill(rows, kept.map((run) => (run.broken
        ? h("tr", { class: "broken" }, h("td", {}), h("td", {}, run.name), h("td", { colspan: 6 }, `broken: ${run.broken}`))
        : h("tr", {},
          h("td", {}, run.kind === "race" && h("input", { type: "checkbox", "aria-label": `Compare ${run.name}`, checked: chosen.has(run.name), onchange: (event) => { chosen[event.target.checked ? "add" : "delete"](run.name); together.disabled = chosen.size < 2; } })),
          h("td", {}, h("a", { href: link("runs", { run: run.name }) }, run.name)),
          h("td", {}, run.kind), h("td", {}, `${run.label}${run.scale ? `, ${run.scale}` : ""}`),
          h("td", {}, h("span", { class: `pill ${run.status === "done" ? "good" : "astray"}` }, run.status)),
          h("td", { class: "number" }, run.seeds || "–"), h("td", { class: "number" }, number(run.seconds, 3)),
          h("td", {}, run.created.slice(0, 16).replace("T", " "))))));
      if (!kept.length) fill(rows, h("tr", {}, h("td", { colspan: 8 }, "No run fits.")));
    }
    paint();
    return h("div", {},
      h("div", { class: "panel controls" },
        field({ label: "Filter", value: state().filter ?? "", placeholder: "name, data set or status", onchange: (filter) => { change({ filter }); paint(); } }),
        select({ label: "Kind", value: state().kind ?? "", options: Object.fromEntries(kinds.map((kind) => [kind, kind || "all"])), onchange: (kind) => { change({ kind }); paint(); } }),
        h("div", { class: "row" }, together, h("span", { class: "note" }, "Mark two races or more."))),
      h("div", { class: "scroll panel" }, h("table", {}, h("thead", {}, heads), rows)));
  }

  await draw();
  return { follow: draw, leave: () => leave?.() };
}
