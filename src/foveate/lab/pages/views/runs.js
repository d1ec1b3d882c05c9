// Runs: the list, several compared, one opened.

import { addressOf, params, setParams } from "../core/address.js";
import { get, loadTheme } from "../core/api.js";
import { formatNumber, h, render } from "../core/dom.js";
import { field, select } from "../ui/controls.js";
import { emptyState, renderAsync } from "../ui/states.js";
import { compareRuns } from "./compare.js";
import { openRun } from "./run.js";

const COLUMNS = {
  name: "Run",
  kind: "Kind",
  label: "What",
  status: "Status",
  seeds: "Seeds",
  seconds: "Seconds",
  created: "Created",
};

export async function open(container) {
  const theme = await loadTheme();
  let leave = null;

  async function draw() {
    leave?.();
    leave = null;
    const now = params();
    if (now.run) {
      render(container);
      leave = await openRun(container, now.run, theme);
    } else if (now.compare) {
      render(container);
      leave = await compareRuns(container, now.compare.split(","), theme);
    } else await list();
  }

  async function list() {
    const table = h("div", {});
    render(
      container,
      h("h1", {}, "Runs"),
      h(
        "p",
        { class: "lead" },
        "What was trained on this machine, and an example. Open one to go from a cell of its heat map to " +
          "the bags in it; choose several to compare them.",
      ),
      table,
    );
    await renderAsync(
      table,
      async () => {
        const { runs } = await get("/api/runs");
        if (!runs.length)
          return emptyState(
            "There are no runs yet.",
            "Run ",
            h("code", {}, "foveate race digits"),
            " in a terminal, or start a training on the page ",
            h("a", { href: "/train" }, "Train"),
            ".",
          );
        return listed(runs);
      },
      "Looking for runs …",
    );
  }

  function listed(runs) {
    const chosen = new Set();
    const rows = h("tbody", {}),
      heads = h("tr", {});
    const together = h(
      "button",
      {
        type: "button",
        class: "main",
        disabled: true,
        onclick: () => setParams({ compare: [...chosen].join(",") }, { redraw: true }),
      },
      "Compare",
    );
    const kinds = ["", ...new Set(runs.filter((run) => run.kind).map((run) => run.kind))];
    function paint() {
      const { filter = "", kind = "", sort = "created", order = "down" } = params();
      const words = filter.toLowerCase();
      const kept = runs.filter(
        (run) =>
          (!kind || run.kind === kind) &&
          `${run.name} ${run.label ?? ""} ${run.status ?? ""}`.toLowerCase().includes(words),
      );
      const sign = order === "up" ? 1 : -1;
      kept.sort((a, b) => {
        const [x, y] = [a[sort] ?? "", b[sort] ?? ""];
        return (
          sign *
          (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y)))
        );
      });
      render(
        heads,
        h("th", {}, h("span", { class: "visually-hidden" }, "Compare")),
        Object.entries(COLUMNS).map(([key, title]) =>
          h(
            "th",
            {
              class: ["seeds", "seconds"].includes(key) ? "number" : null,
              "aria-sort": sort === key ? (order === "up" ? "ascending" : "descending") : null,
            },
            h(
              "button",
              {
                type: "button",
                class: "sort",
                onclick: () => {
                  setParams({ sort: key, order: sort === key && order === "down" ? "up" : "down" });
                  paint();
                },
              },
              `${title}${sort === key ? (order === "up" ? " ↑" : " ↓") : ""}`,
            ),
          ),
        ),
      );
      render(
        rows,
        kept.map((run) =>
          run.broken
            ? h(
                "tr",
                { class: "broken" },
                h("td", {}),
                h("td", {}, run.name),
                h("td", { colspan: 6 }, `broken: ${run.broken}`),
              )
            : h(
                "tr",
                {},
                h(
                  "td",
                  {},
                  run.parts.length > 0 &&
                    h("input", {
                      type: "checkbox",
                      "aria-label": `Compare ${run.name}`,
                      checked: chosen.has(run.name),
                      onchange: (event) => {
                        chosen[event.target.checked ? "add" : "delete"](run.name);
                        together.disabled = chosen.size < 2;
                      },
                    }),
                ),
                h(
                  "td",
                  {},
                  h("a", { href: addressOf("runs", { run: run.name }) }, run.name),
                  run.bundled && h("span", { class: "note" }, " comes with foveate"),
                ),
                h("td", {}, run.kind),
                h("td", {}, `${run.label}${run.scale ? `, ${run.scale}` : ""}`),
                h(
                  "td",
                  {},
                  h("span", { class: `pill ${run.status === "done" ? "good" : "warn"}` }, run.status),
                ),
                h("td", { class: "number" }, run.seeds || "–"),
                h("td", { class: "number" }, formatNumber(run.seconds, 3)),
                h("td", {}, run.created.slice(0, 16).replace("T", " ")),
              ),
        ),
      );
      if (!kept.length) render(rows, h("tr", {}, h("td", { colspan: 8 }, "No run fits.")));
    }
    paint();
    return h(
      "div",
      {},
      h(
        "div",
        { class: "panel controls" },
        field({
          label: "Filter",
          value: params().filter ?? "",
          placeholder: "name, data set or status",
          onchange: (filter) => {
            setParams({ filter });
            paint();
          },
        }),
        select({
          label: "Kind",
          value: params().kind ?? "",
          options: Object.fromEntries(kinds.map((kind) => [kind, kind || "all"])),
          onchange: (kind) => {
            setParams({ kind });
            paint();
          },
        }),
        h("div", { class: "row" }, together, h("span", { class: "note" }, "Mark two runs or more.")),
      ),
      h("div", { class: "scroll panel" }, h("table", {}, h("thead", {}, heads), rows)),
    );
  }

  await draw();
  return { follow: draw, leave: () => leave?.() };
}
