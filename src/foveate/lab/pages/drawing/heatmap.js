// The heat map of focus and prediction, five by five; cells can be chosen.

import { s } from "../core/dom.js";
import { pageColours } from "../ui/charts.js";
import { csv, standaloneSvg } from "../ui/figure.js";

const EDGES = ["0", ".2", ".4", ".6", ".8", "1"];
const CELL = 40,
  LEFT = 30,
  BOTTOM = 30;

export function heatmap(figure, { choose = null } = {}) {
  const colours = pageColours();
  const side = 5 * CELL;
  const cells = [];
  const svg = s("svg", {
    viewBox: `0 0 ${LEFT + side + 6} ${side + BOTTOM + 4}`,
    role: choose ? "group" : "img",
    "aria-label": "Heat map",
  });
  const text = (x, y, words, more = {}) =>
    s("text", { x, y, "font-size": 10, fill: colours.soft, "text-anchor": "middle", ...more }, words);
  for (let row = 0; row < 5; row += 1) {
    for (let column = 0; column < 5; column += 1) {
      const x = LEFT + column * CELL,
        y = 4 + (4 - row) * CELL;
      const ground = s("rect", {
        x: x + 1,
        y: y + 1,
        width: CELL - 2,
        height: CELL - 2,
        rx: 4,
        fill: colours.line,
        "fill-opacity": 0.35,
      });
      const tone = s("rect", {
        x: x + 1,
        y: y + 1,
        width: CELL - 2,
        height: CELL - 2,
        rx: 4,
        fill: "#4a5b6c",
        "fill-opacity": 0,
      });
      const words = text(x + CELL / 2, y + CELL / 2 + 4, "", { "font-size": 12 });
      const open =
        choose &&
        (() => {
          if (group.getAttribute("aria-disabled") !== "true") choose(row, column);
        });
      const group = s(
        "g",
        choose
          ? {
              tabindex: 0,
              role: "button",
              class: "cell",
              onclick: open,
              onkeydown: (event) => {
                if (event.key === "Enter" || event.key === " ") {
                  event.preventDefault();
                  open();
                }
              },
            }
          : {},
        ground,
        tone,
        words,
      );
      cells.push({ row, column, tone, words, group, ground });
      svg.append(group);
    }
  }
  svg.append(
    s("rect", {
      x: LEFT + 4 * CELL,
      y: 4,
      width: CELL,
      height: CELL,
      rx: 5,
      fill: "none",
      stroke: colours.ink,
      "stroke-dasharray": "5 3",
      "stroke-width": 2,
      "pointer-events": "none",
    }),
    ...EDGES.map((edge, k) => text(LEFT + k * CELL, side + 16, edge)),
    ...EDGES.map((edge, k) => text(LEFT - 5, 4 + side - k * CELL + 3, edge, { "text-anchor": "end" })),
    text(LEFT + side / 2, side + 30, "attention on the relevant segment"),
    s(
      "text",
      {
        transform: `translate(9 ${4 + side / 2}) rotate(-90)`,
        "font-size": 10,
        fill: colours.soft,
        "text-anchor": "middle",
      },
      "probability of the truth",
    ),
  );
  figure.body.replaceChildren(svg);
  return {
    // Cells that are shut show their share and cannot be chosen.
    draw(shares, { chosen = null, shut = false } = {}) {
      for (const cell of cells) {
        const share = shares[cell.row][cell.column];
        cell.tone.setAttribute("fill-opacity", Math.sqrt(share).toFixed(3));
        cell.words.textContent = share === 0 ? "" : share < 0.0095 ? "<1" : (100 * share).toFixed(0);
        cell.words.setAttribute("fill", share > 0.28 ? "#fff" : colours.ink);
        const on = chosen && chosen[0] === cell.row && chosen[1] === cell.column;
        cell.ground.setAttribute("stroke", on ? colours.ink : "none");
        cell.ground.setAttribute("stroke-width", on ? 3 : 0);
        if (choose) {
          const range = (k) => `${EDGES[k]} to ${EDGES[k + 1]}`;
          const where = `attention ${range(cell.column)}, probability ${range(cell.row)}`;
          const percent = cell.words.textContent || "0";
          cell.group.setAttribute("aria-label", `${percent} % of bags: ${where}`);
          cell.group.setAttribute("aria-pressed", on ? "true" : "false");
          cell.group.setAttribute("aria-disabled", String(shut));
          cell.group.setAttribute("tabindex", shut ? -1 : 0);
        }
      }
      const corner = `${(100 * shares[4][4]).toFixed(1)} % of bags have both at least .8`;
      const axes = "Attention on the relevant segment and probability of the true class";
      if (!choose) svg.setAttribute("aria-label", `${axes}: ${corner}`);
      figure.downloads.svg = () => standaloneSvg(svg);
      figure.downloads.csv = () =>
        csv(
          cells.map(({ row, column }) => ({
            attention_from: EDGES[column],
            probability_from: EDGES[row],
            share: shares[row][column],
          })),
        );
    },
  };
}
