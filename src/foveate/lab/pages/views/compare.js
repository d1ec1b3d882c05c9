// Several races side by side: how they ended, and their curves on one axis.

import { addressOf } from "../core/address.js";
import { get } from "../core/api.js";
import { h } from "../core/dom.js";
import { renderAsync } from "../ui/states.js";
import { drawCurves } from "./curves.js";
import { outcomeTable } from "./run.js";

export async function compareRuns(container, names, theme) {
  let made = null;
  await renderAsync(
    container,
    async () => {
      const runs = await Promise.all(names.map((name) => get("/api/run", { run: name })));
      const parts = Object.assign(
        {},
        ...runs.map((run) =>
          Object.fromEntries(
            Object.entries(run.parts).map(([part, own]) => [`${run.name}/${part}`, own]),
          ),
        ),
      );
      made = await drawCurves(names, { parts }, theme);
      return h(
        "div",
        {},
        h("p", { class: "note" }, h("a", { href: "/runs" }, "← all runs")),
        h("h1", {}, `${names.length} runs compared`),
        runs.map((run) =>
          h(
            "section",
            {},
            h("h2", {}, h("a", { href: addressOf("runs", { run: run.name }) }, run.name)),
            outcomeTable(run, theme),
          ),
        ),
        h("h2", {}, "Over training"),
        made.element,
      );
    },
    "Opening the runs …",
  );
  return () => made?.destroy();
}
