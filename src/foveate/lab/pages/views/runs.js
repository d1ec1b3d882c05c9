// Runs: the list, several compared, one opened.

import { params } from "../core/address.js";
import { get, loadTheme } from "../core/api.js";
import { h, render } from "../core/dom.js";
import { emptyState, renderAsync } from "../ui/states.js";
import { compareRuns } from "./compare.js";
import { openRun } from "./run.js";
import { runList } from "./run_list.js";

const LEAD =
  "What was trained on this machine, and an example. Open one to go from a cell of its heat map to " +
  "the bags in it; choose several to compare them.";

export async function open(container) {
  const theme = await loadTheme();
  let opened = null; // a run or a comparison
  let list = null;

  async function draw() {
    const { run, compare } = params();
    if (list && !run && !compare) return list.update();
    const key = JSON.stringify([run, compare]);
    if (opened?.key === key) return opened.follow?.();
    const left = opened?.run;
    opened?.leave?.();
    opened = list = null;
    if (!run && !compare) return showList(left);
    render(container);
    opened = { key, run };
    const view = run
      ? await openRun(container, run, theme)
      : await compareRuns(container, compare.split(","), theme);
    if (opened?.key === key) Object.assign(opened, view);
    else view.leave();
  }

  // The list; after Back the focus is on the run that was left.
  async function showList(left) {
    const table = h("div", {});
    render(container, h("h1", {}, "Runs"), h("p", { class: "lead" }, LEAD), table);
    await renderAsync(
      table,
      async () => {
        const { runs } = await get("/api/runs");
        if (!runs.length) return noRuns();
        list = runList(runs);
        return list.element;
      },
      "Looking for runs …",
    );
    if (left) list?.focus(left);
  }

  await draw();
  return { follow: draw, leave: () => opened?.leave?.() };
}

function noRuns() {
  return emptyState(
    "There are no runs yet.",
    "Run ",
    h("code", {}, "foveate race digits"),
    " in a terminal, or start a training on the page ",
    h("a", { href: "/train" }, "Train"),
    ".",
  );
}
