// Curves over a common axis as an SVG of its own, updated in place: quick enough to follow a slider.

import { s } from "../core/dom.js";
import { dark, pageColours, visibleColour } from "../ui/charts.js";
import { standaloneSvg } from "../ui/figure.js";

const HEIGHT = 240;
const MARGIN = { left: 46, right: 20, top: 8, bottom: 38 };
const TICK_ROOM = { x: 70, y: 34 }; // pixels for each label
const BOTTOM = HEIGHT - MARGIN.bottom;

// Round steps that divide a range into about `count` parts.
function roundStep(low, high, count) {
  const rough = (high - low || 1) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= 0.999 * rough);
}

function multiples(low, high, step) {
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, k) => (first + k) * step);
}

function tickLabel(x) {
  const size = Math.abs(x);
  if (size >= 1e6 || (size > 0 && size < 1e-3)) return x.toExponential().replace("+", "");
  return String(Number(x.toPrecision(6)));
}

function extent(series, key) {
  let [low, high] = [Infinity, -Infinity];
  for (const line of series) {
    for (const value of line[key]) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : [0, 1];
}

// From values to pixels, with ticks. The upright axis ends at round values.
function uprightAxis([low, high], log) {
  const count = (BOTTOM - MARGIN.top) / TICK_ROOM.y;
  const onScale = (x) => (log ? Math.log10(x) : x);
  const step = log
    ? Math.max(1, Math.ceil((onScale(high) - onScale(low)) / count))
    : roundStep(low, high, count);
  const ends = [Math.floor(onScale(low) / step + 1e-9) * step, Math.ceil(onScale(high) / step - 1e-9) * step];
  if (ends[0] === ends[1]) ends[1] += step;
  const ticks = multiples(...ends, step).map((x) => (log ? 10 ** x : x));
  const share = (x) => (onScale(x) - ends[0]) / (ends[1] - ends[0]);
  return { ticks, at: (x) => BOTTOM - share(x) * (BOTTOM - MARGIN.top) };
}

function levelAxis([low, high], width) {
  const room = width - MARGIN.left - MARGIN.right;
  const step = roundStep(low, high, room / TICK_ROOM.x);
  const at = (x) => MARGIN.left + ((x - low) / (high - low || 1)) * room;
  const invert = (pixel) => low + ((pixel - MARGIN.left) / room) * (high - low);
  return { ticks: multiples(low, high, step), at, invert, low, high };
}

// `update` takes series {label, colour, dash, x, y, dots} and marks {x, label, height}; `move` puts
// the cursor at a value of x.
export function lineChart(container, { title, log = false }) {
  const svg = s("svg", { "aria-hidden": "true" });
  const grid = s("g", {});
  const lines = s("g", { class: "lines", fill: "none", "stroke-width": 2.2 });
  const dots = s("g", { fill: "none", "stroke-width": 1.4 });
  const marks = s("g", {});
  const cursor = s("line", { y1: MARGIN.top, y2: BOTTOM, "stroke-width": 1.6, opacity: 0.75 });
  svg.append(grid, lines, dots, marks, cursor);
  container.replaceChildren(svg);
  let content = { series: [], marks: [] };
  let axis = levelAxis([0, 1], 300);
  let position = null;
  let width = 0; // as it was last seen: reading it for every update would lay out the page again

  function draw() {
    width ||= Math.max(200, Math.round(container.clientWidth));
    const colours = pageColours();
    const level = extent(content.series, "x");
    const upright = uprightAxis(extent(content.series, "y"), log);
    axis = levelAxis(level, width);
    svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    grid.replaceChildren(...gridOf(axis, upright, width, title, colours));
    lines.replaceChildren(...content.series.filter((one) => !one.dots).map(pathOf(axis, upright)));
    dots.replaceChildren(...content.series.filter((one) => one.dots).flatMap(dotsOf(axis, upright)));
    marks.replaceChildren(...content.marks.flatMap((mark) => markOf(mark, axis, width, colours)));
    cursor.setAttribute("stroke", colours.ink);
    move(position);
  }

  function move(x) {
    position = x;
    const inside = x !== null && x >= axis.low && x <= axis.high;
    cursor.style.setProperty("display", inside ? "" : "none");
    if (!inside) return;
    cursor.setAttribute("x1", axis.at(x));
    cursor.setAttribute("x2", axis.at(x));
  }

  const sizes = new ResizeObserver(() => {
    width = 0;
    draw();
  });
  sizes.observe(container);
  dark.addEventListener("change", draw);
  return {
    update: (series, times) => {
      content = { series, marks: times };
      draw();
    },
    move,
    // Calls back with the value on the x axis under the pointer, or null when it leaves.
    onPointer: (callback) => {
      svg.addEventListener("pointermove", (event) => {
        const x = axis.invert(event.clientX - svg.getBoundingClientRect().left);
        callback(x >= axis.low && x <= axis.high ? x : null);
      });
      svg.addEventListener("pointerleave", () => callback(null));
    },
    svg: () => standaloneSvg(svg),
    destroy: () => {
      sizes.disconnect();
      dark.removeEventListener("change", draw);
    },
  };
}

function gridOf(axis, upright, width, title, { soft, line }) {
  const text = (x, y, words, anchor) =>
    s("text", { x, y, "font-size": 11, fill: soft, "text-anchor": anchor }, words);
  const rule = (y) =>
    s("line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: y, y2: y, stroke: line, opacity: 0.8 });
  return [
    ...upright.ticks.flatMap((tick) => {
      const y = upright.at(tick);
      return [rule(y), text(MARGIN.left - 6, y + 4, tickLabel(tick), "end")];
    }),
    ...axis.ticks.map((tick) => text(axis.at(tick), BOTTOM + 16, tickLabel(tick), "middle")),
    text((MARGIN.left + width - MARGIN.right) / 2, HEIGHT - 5, title, "middle"),
  ];
}

const pathOf =
  (axis, upright) =>
  ({ label, colour, dash, x, y }) => {
    const points = x.map((value, i) => `${axis.at(value).toFixed(1)} ${upright.at(y[i]).toFixed(1)}`);
    const stroke = { stroke: visibleColour(colour), "stroke-dasharray": dash.join(" ") };
    return s("path", { d: `M${points.join("L")}`, "data-name": label, ...stroke });
  };

const dotsOf =
  (axis, upright) =>
  ({ colour, x, y }) =>
    x.map((value, i) =>
      s("circle", { cx: axis.at(value), cy: upright.at(y[i]), r: 2.6, stroke: visibleColour(colour) }),
    );

// A dashed upright line with its label; the label has a margin, so that lines do not cross it.
function markOf({ x, label, height }, axis, width, { soft, ground }) {
  const at = axis.at(x);
  const isRight = at > width - 140;
  const halo = { stroke: ground, "stroke-width": 5, "stroke-linejoin": "round", "paint-order": "stroke" };
  const position = { x: at + (isRight ? -5 : 5), y: height, "text-anchor": isRight ? "end" : "start" };
  return [
    s("line", { x1: at, x2: at, y1: MARGIN.top, y2: BOTTOM, stroke: soft, "stroke-dasharray": "3 3" }),
    s("text", { ...position, "font-size": 11.5, fill: soft, ...halo }, label),
  ];
}
