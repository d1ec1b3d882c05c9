// One run: how it ended, curves over any stretch, the heat map, its bags, its own figures.

import { fill, h, number, percent, share } from "/pages/dom.js";
import { change, link, state } from "/pages/address.js";
import { get } from "/pages/api.js";
import { library } from "/pages/charts.js";
import { csv, empty, figure, select, shown, standalone } from "/pages/parts.js";
import { heat } from "/pages/heat.js";
import { bag } from "/pages/bag.js";
import { curves } from "/pages/curves.js";

export async function openRun(place, name, look) {
  const leavers = [];
  await shown(place, async () => {
    const run = await get("/api/run", { run: name });
    const parts = Object.keys(run.parts);
    const body = h("div", {});
    const page = h("div", {},
      h("p", { class: "note" }, h("a", { href: "/runs" }, "← all runs")),
      h("h1", {}, name),
      run.unfinished && h("p", { class: "pill astray" }, run.unfinished),
      run.summary && h("p", { class: "lead" }, run.summary),
      run.outcomes.length > 0 && outcomes(run, look),
      run.findings.length > 0 && findings(run),
      body,
      h("section", {}, h("h2", {}, "Figures"), drawn(name, look, leavers)),
      h("section", {}, h("h2", {}, "How it was set up"), setup(run)),
      run.report && h("p", {}, h("a", { href: link("api/run/report", { run: name }), target: "_blank", rel: "noopener" }, "The report of this run, as one page")));
    if (["race", "fit"].includes(run.kind) && parts.length) body.append(...(await race(run, parts, look, leavers)));
    else if (!parts.length) body.append(empty("Nothing is finished yet.", "Parts of a run appear here when they are trained to the end."));
    return page;
  }, "Opening the run …");
  return () => leavers.forEach((leave) => leave());
}

export function outcomes(run, look) {
  const cell = (value) => (value ? `${value.mean.toFixed(1)}${value.low === null ? "" : ` [${value.low.toFixed(1)}, ${value.high.toFixed(1)}]`}` : "–");
  return h("div", { class: "scroll panel" }, h("table", {},
    h("thead", {}, h("tr", {}, ["Paradigm", "Accuracy, %", "FT, %", "SAIF, %", "Epochs", "Seeds"].map((title, k) => h("th", { class: k ? "number" : null }, title)))),
    h("tbody", {}, run.outcomes.map((own) => h("tr", {},
      h("td", {}, h("span", { class: "key", style: { background: look.paradigms[own.paradigm]?.colour ?? "#767676" } }), " ", look.paradigms[own.paradigm]?.label ?? own.paradigm),
      [own.accuracy, own.ft, own.saif].map((value) => h("td", { class: "number" }, cell(value))),
      h("td", { class: "number" }, own.epochs), h("td", { class: "number" }, own.seeds))))));
}

function findings(run) {
  return h("div", { class: "panel" }, run.findings.map((own) => h("p", {}, h("b", {}, own.claim), " ", h("span", { class: "pill" }, own.verdict), " ", own.said)));
}

function setup(run) {
  return h("div", {}, run.setup.map(([title, rows]) => h("details", {}, h("summary", {}, title),
    h("div", { class: "scroll" }, h("table", {}, h("tbody", {}, rows.map(([key, value]) => h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, value)))))))),
  run.command && h("p", {}, "The command that repeats it: ", h("code", {}, run.command)));
}

function named(key, look) {
  const words = key.split("-").map((word) => look.paradigms[word]?.label ?? word).join(" ").replaceAll("_", " ");
  return words[0].toUpperCase() + words.slice(1);
}

function drawn(name, look, leavers) {
  const place = h("div", { class: "figures" });
  shown(place, async () => {
    const { figures } = await get("/api/run/figures", { run: name });
    if (!figures.length) return empty("No figures yet.", "They are drawn from finished parts.");
    return figures.map((key) => {
      const own = figure({ title: named(key, look), about: "", id: key });
      own.place.classList.add("figure-light");
      const watch = new IntersectionObserver(async (seen) => {
        if (!seen.some((one) => one.isIntersecting)) return;
        watch.disconnect();
        await shown(own.place, async () => {
          const { spec } = await get("/api/run/figure", { run: name, name: key });
          const inner = h("div", {});
          const made = await library({ ...own, place: inner, keep: own.keep }, spec);
          leavers.push(made.end);
          return inner;
        }, "Drawing …");
      });
      watch.observe(own.element);
      leavers.push(() => watch.disconnect());
      return own.element;
    });
  }, "Looking for figures …");
  return place;
}

async function race(run, parts, look, leavers) {
  const made = await curves([run.name], run, look);
  leavers.push(made.end);
  const focused = parts.filter((part) => run.parts[part].focus);
  const sections = [h("section", {}, h("h2", {}, "Over training"), made.element)];
  if (focused.length) sections.push(bags(run, focused, look));
  return sections;
}

function bags(run, parts, look) {
  const now = () => { const own = state(); return { part: parts.includes(own.part) ? own.part : parts[0], member: Number(own.member ?? 0), cell: own.cell?.split(",").map(Number) ?? null, bag: own.bag === undefined ? null : Number(own.bag) }; };
  const controls = h("div", { class: "controls" }), list = h("div", { class: "cells" }), one = h("div", {});
  const map = figure({ title: "Focus and prediction at the end", about: "Held-out bags by attention on the relevant segment and probability of the true class, in percent. Choose a cell to see the bags in it: the top left is right for the wrong reason.", equation: "a_z = Σ_{j∈z} α_j", id: "heat" });
  const cells = heat(map, { choose: (row, column) => { change({ cell: `${row},${column}`, bag: null }); draw(); } });
  function drawControls() {
    const own = now(), members = run.parts[own.part].members;
    fill(controls,
      select({ label: "Paradigm", value: own.part, options: Object.fromEntries(parts.map((part) => [part, look.paradigms[part]?.label ?? part])), onchange: (part) => { change({ part, bag: null }); draw(); } }),
      select({ label: "Seed", value: String(own.member), options: Object.fromEntries(Array.from({ length: members }, (_, k) => [String(k), String(k)])), onchange: (member) => { change({ member, bag: null }); draw(); } }));
  }
  async function draw() {
    drawControls();
    const own = now();
    const { shares } = await get("/api/run/heat", { run: run.name, part: own.part, member: own.member });
    cells.draw(shares, own.cell);
    if (!own.cell) { fill(list, empty("Choose a cell.", "Its bags appear here.")); fill(one); return; }
    await shown(list, async () => {
      const { count, bags: rows } = await get("/api/run/bags", { run: run.name, part: own.part, member: own.member, row: own.cell[0], column: own.cell[1] });
      if (!count) return empty("No bag lies in this cell.", "Choose another.");
      return h("div", {}, h("p", { class: "note" }, `${count} bags${count > rows.length ? `, the first ${rows.length} are shown` : ""}`),
        h("div", { class: "bags" }, rows.map((row) => h("button", { type: "button", "aria-pressed": String(row.bag === own.bag), onclick: () => { change({ bag: row.bag }); draw(); } },
          h("b", {}, `Bag ${row.bag}`), h("br"), `truly ${row.truth}, says ${row.says}`, h("br"), h("span", { class: `pill ${row.right ? (row.focused ? "good" : "astray") : "bad"}` }, row.verdict)))));
    }, "Looking for the bags …");
    if (own.bag === null) { fill(one); return; }
    await shown(one, () => looked(run, own, look), "Drawing the bag again …");
  }
  draw();
  return h("section", {}, h("h2", {}, "From the heat map to a bag"), h("div", { class: "panel" }, controls),
    h("div", { class: "beside" }, map.element, h("div", { class: "panel list" }, list)), one);
}

async function looked(run, own, look) {
  const found = await get("/api/run/bag", { run: run.name, member: own.member, bag: own.bag });
  const columns = Object.entries(found.views).map(([name, view]) => {
    const fig = figure({ title: look.paradigms[name]?.label ?? name, subtitle: `says ${view.says} (${share(view.p_said)}), ${view.verdict}`, about: "Orange is attention; the dashed ring marks the relevant segment. Below, what the classifier says of each segment by itself.", equation: "evidence of segment j = σ(g(x_j))", id: `bag-${name}` });
    if (found.segments) {
      const drawnBag = bag(found.segments, found.z, look, `Bag ${own.bag}`);
      drawnBag.attend(view.alpha);
      fill(fig.place, drawnBag.element);
      fig.keep.svg = () => standalone(drawnBag.element);
    } else fill(fig.place, h("p", { class: "note" }, found.missing ?? ""));
    const evidence = found.evidence?.[name];
    const rows = view.alpha.map((alpha, j) => ({ segment: j + 1, relevant: Boolean(found.z?.[j]), alpha, score: view.scores[j], ...Object.fromEntries((evidence?.[j] ?? []).map((p, k) => [found.classes[k] ?? k, p])) }));
    fig.keep.csv = () => csv(rows);
    const order = [...rows].filter((_, j) => found.mask?.[j] !== false).sort((a, b) => b.alpha - a.alpha).slice(0, 8);
    fig.place.append(h("div", { class: "scroll" }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", {}, "segment"), h("th", { class: "number" }, "α"), evidence && found.classes.map((label) => h("th", { class: "number" }, label)))),
      h("tbody", {}, order.map((row) => h("tr", {}, h("td", {}, `${row.segment}${row.relevant ? " (relevant)" : ""}`), h("td", { class: "number" }, share(row.alpha)), evidence && found.classes.map((label) => h("td", { class: "number" }, percent(row[label])))))))));
    return fig.element;
  });
  return h("div", {}, h("h3", {}, `Bag ${own.bag}, truly ${Object.values(found.views)[0].truth}`), h("div", { class: "figures" }, columns));
}
