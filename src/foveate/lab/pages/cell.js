// From a cell of the heat map to its bags, and from a bag to segments, attention and evidence.

import { fill, h, percent, share } from "/pages/dom.js";
import { get } from "/pages/api.js";
import { csv, download, empty, figure, shown, standalone } from "/pages/parts.js";
import { bag } from "/pages/bag.js";

export async function bagsIn(place, run, { part, member, cell: [row, column], bag: chosen }, choose) {
  await shown(place, async () => {
    const { count, bags } = await get("/api/run/bags", { run: run.name, part, member, row, column });
    if (!count) return empty("No bag lies in this cell.", "Choose another.");
    const keep = () => download("bags.csv", csv(bags.map((own) => ({ paradigm: part, seed: member, ...own }))), "text/csv");
    return h("div", {},
      h("div", { class: "row" }, h("span", { class: "note" }, `${count} ${count === 1 ? "bag" : "bags"} in this cell${count > bags.length ? `, the first ${bags.length} are shown` : ""}. Choose one.`),
        h("button", { type: "button", class: "quiet", "aria-label": "Download the bags of the cell as CSV", onclick: keep }, "CSV")),
      h("div", { class: "bags" }, bags.map((own) => h("button", { type: "button", "aria-pressed": String(own.bag === chosen), onclick: () => choose(own.bag) },
        h("b", {}, `Bag ${own.bag}`), h("br"), `truly ${own.truth}, says ${own.says}`, h("br"), h("span", { class: `pill ${own.right ? (own.focused ? "good" : "astray") : "bad"}` }, own.verdict)))));
  }, "Looking for the bags …");
}

export async function looked(place, run, { member, bag: number }, look) {
  await shown(place, async () => {
    const found = await get("/api/run/bag", { run: run.name, member, bag: number });
    return h("div", {}, h("h3", {}, `Bag ${number}, truly ${Object.values(found.views)[0].truth}`),
      h("div", { class: "figures" }, Object.entries(found.views).map(([name, view]) => reading(name, view, found, number, look))));
  }, "Drawing the bag again …");
}

// What one paradigm makes of the bag.
function reading(name, view, found, number, look) {
  const fig = figure({ title: look.paradigms[name]?.label ?? name, subtitle: `says ${view.says} (${share(view.p_said)}), ${view.verdict}`, about: "Orange is attention; the dashed ring marks the relevant segment. Below, what the classifier says of each segment by itself.", equation: "evidence of segment j = σ(g(x_j))", id: `bag-${name}` });
  const evidence = found.evidence?.[name];
  const rows = view.alpha.map((alpha, j) => ({ segment: j + 1, relevant: Boolean(found.z?.[j]), alpha, score: view.scores[j], ...Object.fromEntries((evidence?.[j] ?? []).map((p, k) => [found.classes[k] ?? k, p])) }));
  fig.keep.csv = () => csv(rows);
  // Where the segments cannot be drawn again, attention is still known: a bar for each.
  const drawn = bag(found.segments ?? { kind: "features", values: view.alpha }, found.z, look, `Bag ${number}`);
  drawn.attend(view.alpha);
  fill(fig.place, drawn.element, found.missing && h("p", { class: "note" }, found.missing));
  fig.keep.svg = () => standalone(drawn.element);
  const most = rows.filter((_, j) => found.mask?.[j] !== false).sort((a, b) => b.alpha - a.alpha).slice(0, 8);
  fig.place.append(h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", {}, "segment"), h("th", { class: "number" }, "α"), evidence && found.classes.map((label) => h("th", { class: "number" }, label)))),
    h("tbody", {}, most.map((row) => h("tr", {}, h("td", {}, `${row.segment}${row.relevant ? " (relevant)" : ""}`), h("td", { class: "number" }, share(row.alpha)), evidence && found.classes.map((label) => h("td", { class: "number" }, percent(row[label])))))))));
  return fig.element;
}
