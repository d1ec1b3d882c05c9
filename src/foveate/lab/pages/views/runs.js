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
  let leave = null;
  let list = null;

  async function draw() {
    const { run, compare } = params();
    if (list && !run && !compare) return list.update();
    leave?.();
    leave = list = null;
    if (run) {
      render(container);
      leave = await openRun(container, run, theme);
    } else if (compare) {
      render(container);
      leave = await compareRuns(container, compare.split(","), theme);
    } else await showList();
  }

  async function showList() {
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
  }

  await draw();
  return { follow: draw, leave: () => leave?.() };
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
