// Several races side by side: how they ended, and their curves on one axis.

import { fill, h } from "/pages/dom.js";
import { link } from "/pages/address.js";
import { get } from "/pages/api.js";
import { shown } from "/pages/parts.js";
import { curves } from "/pages/curves.js";
import { outcomes } from "/pages/run.js";

export async function compare(place, names, look) {
  let made = null;
  await shown(place, async () => {
    const runs = await Promise.all(names.map((name) => get("/api/run", { run: name })));
    const parts = Object.assign({}, ...runs.map((run) => Object.fromEntries(Object.entries(run.parts).map(([part, own]) => [`${run.name}/${part}`, own]))));
    made = await curves(names, { parts }, look);
    return h("div", {},
      h("p", { class: "note" }, h("a", { href: "/runs" }, "← all runs")),
      h("h1", {}, `${names.length} runs compared`),
      runs.map((run) => h("section", {}, h("h2", {}, h("a", { href: link("runs", { run: run.name }) }, run.name)), outcomes(run, look))),
      h("h2", {}, "Over training"), made.element);
  }, "Opening the runs …");
  return () => made?.end();
}
