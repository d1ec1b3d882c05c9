// From a cell of the heat map to its bags, and from a bag to segments, attention and evidence.

import { get } from "../core/api.js";
import { formatPercent, formatShare, h, render } from "../core/dom.js";
import { drawBag } from "../drawing/bag.js";
import { csv, download, figure, standaloneSvg } from "../ui/figure.js";
import { emptyState, renderAsync } from "../ui/states.js";

export async function renderCellBags(
  container,
  run,
  { part, member, cell: [row, column], bag: chosen },
  choose,
) {
  await renderAsync(
    container,
    async () => {
      const { count, bags } = await get("/api/run/bags", { run: run.name, part, member, row, column });
      if (!count) return emptyState("No bag lies in this cell.", "Choose another.");
      const more = count > bags.length ? `, the first ${bags.length} are shown` : "";
      const save = () =>
        download(
          "bags.csv",
          csv(bags.map((bag) => ({ paradigm: part, seed: member, ...bag }))),
          "text/csv",
        );
      return h(
        "div",
        {},
        h(
          "div",
          { class: "row" },
          h(
            "span",
            { class: "note" },
            `${count} ${count === 1 ? "bag" : "bags"} in this cell${more}. Choose one.`,
          ),
          h(
            "button",
            {
              type: "button",
              class: "quiet",
              "aria-label": "Download the bags of the cell as CSV",
              onclick: save,
            },
            "CSV",
          ),
        ),
        h(
          "div",
          { class: "bags" },
          bags.map((bag) =>
            h(
              "button",
              {
                type: "button",
                "aria-pressed": String(bag.bag === chosen),
                onclick: () => choose(bag.bag),
              },
              h("b", {}, `Bag ${bag.bag}`),
              h("br"),
              `truly ${bag.truth}, says ${bag.says}`,
              h("br"),
              h(
                "span",
                { class: `pill ${bag.right ? (bag.focused ? "good" : "warn") : "bad"}` },
                bag.verdict,
              ),
            ),
          ),
        ),
      );
    },
    "Looking for the bags …",
  );
}

export async function renderBag(container, run, { member, bag: number }, theme) {
  await renderAsync(
    container,
    async () => {
      const answer = await get("/api/run/bag", { run: run.name, member, bag: number });
      return h(
        "div",
        {},
        h("h3", {}, `Bag ${number}, truly ${Object.values(answer.views)[0].truth}`),
        h(
          "div",
          { class: "figures" },
          Object.entries(answer.views).map(([name, view]) => reading(name, view, answer, number, theme)),
        ),
      );
    },
    "Drawing the bag again …",
  );
}

// What one paradigm makes of the bag.
function reading(name, view, answer, number, theme) {
  const fig = figure({
    title: theme.paradigms[name]?.label ?? name,
    subtitle: `says ${view.says} (${formatShare(view.p_said)}), ${view.verdict}`,
    about:
      "Violet is attention; the dashed ring marks the relevant segment. Below, what the " +
      "classifier says of each segment by itself.",
    equation: "evidence of segment j = σ(g(x_j))",
    id: `bag-${name}`,
  });
  const evidence = answer.evidence?.[name];
  const rows = view.alpha.map((alpha, j) => ({
    segment: j + 1,
    relevant: Boolean(answer.z?.[j]),
    alpha,
    score: view.scores[j],
    ...Object.fromEntries((evidence?.[j] ?? []).map((p, k) => [answer.classes[k] ?? k, p])),
  }));
  fig.downloads.csv = () => csv(rows);
  // Where the segments cannot be drawn again, attention is still known: a bar for each.
  const drawn = drawBag(
    answer.segments ?? { kind: "features", values: view.alpha },
    answer.z,
    theme,
    `Bag ${number}`,
  );
  drawn.attend(view.alpha);
  render(fig.body, drawn.element, answer.missing && h("p", { class: "note" }, answer.missing));
  fig.downloads.svg = () => standaloneSvg(drawn.element);
  const most = rows
    .filter((_, j) => answer.mask?.[j] !== false)
    .sort((a, b) => b.alpha - a.alpha)
    .slice(0, 8);
  fig.body.append(
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "group", "aria-label": "Segments" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", {}, "segment"),
            h("th", { class: "number" }, "α"),
            evidence && answer.classes.map((label) => h("th", { class: "number" }, label)),
          ),
        ),
        h(
          "tbody",
          {},
          most.map((row) =>
            h(
              "tr",
              {},
              h("td", {}, `${row.segment}${row.relevant ? " (relevant)" : ""}`),
              h("td", { class: "number" }, formatShare(row.alpha)),
              evidence &&
                answer.classes.map((label) => h("td", { class: "number" }, formatPercent(row[label]))),
            ),
          ),
        ),
      ),
    ),
  );
  return fig.element;
}
