// A bag in the plane under one paradigm: attention, answer and incentive at a moment of training.

import { formatPercent, formatShare, h, render, s } from "../core/dom.js";
import { incentiveChart } from "../drawing/incentive.js";
import { paintGround } from "../drawing/plane.js";
import { dark, pageColours } from "../ui/charts.js";
import { readBag } from "./explorable_tables.js";

const WIDTH = 250;
const HEIGHT = 195;
const GLOW = 26; // radius of attention 1
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const READING = {
  soft: "classifies the mixture + of all segments",
  hard: "classifies the segment with most attention",
  lvml: "marginal likelihood: averages the answers for each segment",
  witness: "soft with a loss for evidence, then the segment with most attention",
};

// `bag` holds the moment, points, z, the selected segment and whether the label still stands.
export function stage(name, table, { data, theme, range, bag, move, select }) {
  const { classes, frame } = data;
  const [left, right, low, high] = frame;
  const scale = {
    px: (x) => ((x - left) / (right - left)) * WIDTH,
    py: (y) => ((high - y) / (high - low)) * HEIGHT,
    step: [(right - left) / 50, (high - low) / 50],
    point: (event) => {
      const box = svg.getBoundingClientRect();
      const x = left + ((event.clientX - box.left) / box.width) * (right - left);
      return [x, high - ((event.clientY - box.top) / box.height) * (high - low)];
    },
  };
  const paradigm = theme.paradigms[name];
  const ground = s("image", { width: WIDTH, height: HEIGHT, preserveAspectRatio: "none" });
  const marks = s("g", {});
  const mixture = s("path", { d: "M-6 0h12M0 -6v12", stroke: pageColours().ink, "stroke-width": 2 });
  if (name !== "soft") mixture.style.setProperty("display", "none");
  const svg = s(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "stage", role: "group" },
    ground,
    marks,
    mixture,
  );
  svg.setAttribute("aria-label", `${paradigm.label}: the segments of the bag`);
  const answer = h("p", { class: "says" });
  const chart = incentiveChart(paradigm, data.t, table.incentive, range);
  const element = h(
    "article",
    { class: "stage-panel", style: { "border-top-color": paradigm.colour } },
    h("h3", {}, paradigm.label),
    h("p", { class: "note reading" }, READING[name] ?? ""),
    svg,
    answer,
    chart.element,
  );
  let nodes = [];

  function rebuild() {
    nodes = bag.points.map((_, j) => segmentNode(j, { bag, theme, scale, move, select }));
    render(
      marks,
      nodes.map((node) => node.group),
    );
  }

  // Attention on the segment that decides is returned.
  function update() {
    const { alpha, mean, p } = readBag(data, name, table, bag.moment, bag.points);
    ground.setAttribute("href", paintGround(data.cells, blendClasses(data, table, bag.moment, theme)));
    nodes.forEach((node, j) => node.update(alpha[j]));
    mixture.setAttribute("transform", `translate(${scale.px(mean[0])} ${scale.py(mean[1])})`);
    const best = p.indexOf(Math.max(...p));
    const on = alpha.reduce((total, a, j) => total + (bag.z[j] ? a : 0), 0);
    const outcome = bag.truth === null ? "" : best === bag.truth ? ", right" : ", wrong";
    const attention = bag.z.includes(true) && `${formatPercent(on)} of attention in the ring; `;
    render(
      answer,
      h("b", {}, `${classes[best]} (${formatShare(p[best])})${outcome}`),
      h("span", {}, attention, `incentive δ = ${formatShare(table.incentive[bag.moment])}`),
    );
    chart.update(bag.moment);
    return on;
  }
  return { name, element, rebuild, update };
}

// The colours of the classes, mixed as the classifier mixes them; paler where it is less sure.
function blendClasses({ cells, classes }, table, moment, theme) {
  const tones = theme.classes.map((colour) => [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16)));
  const count = classes.length;
  const start = moment * cells * cells * count;
  const strength = dark.matches ? 0.55 : 0.38;
  return (i) => {
    const p = table.p.subarray(start + i * count, start + (i + 1) * count);
    let [sum, top] = [0, 0];
    const mixed = [0, 0, 0];
    for (let c = 0; c < count; c += 1) {
      const weight = p[c] ** 2;
      sum += weight;
      top = Math.max(top, p[c]);
      for (let k = 0; k < 3; k += 1) mixed[k] += weight * tones[c][k];
    }
    return [...mixed.map((x) => x / sum), top * strength];
  };
}

function segmentNode(j, { bag, theme, scale, move, select }) {
  const colours = pageColours();
  const glow = s("circle", { fill: theme.attention, "fill-opacity": 0.65 });
  const dot = s("circle", { r: 4.5, fill: colours.ink, stroke: colours.ground, "stroke-width": 1.5 });
  const ring = s("circle", { r: 10, fill: "none", "stroke-dasharray": "4 3", stroke: colours.ink });
  const handlers = {
    onpointermove: (event) => {
      if (group.hasPointerCapture(event.pointerId)) move(j, ...scale.point(event));
    },
    onpointerdown: (event) => {
      group.setPointerCapture(event.pointerId);
      select(j);
    },
    onkeydown: (event) => {
      const step = ARROWS[event.key];
      if (!step) return;
      event.preventDefault();
      const [x, y] = bag.points[j];
      move(j, x + step[0] * scale.step[0], y + step[1] * scale.step[1]);
    },
    onfocus: () => select(j),
  };
  const group = s("g", { class: "segment", tabindex: 0, role: "button", ...handlers }, glow, ring, dot);
  const update = (alpha) => {
    const [x, y] = bag.points[j];
    group.setAttribute("transform", `translate(${scale.px(x).toFixed(1)} ${scale.py(y).toFixed(1)})`);
    glow.setAttribute("r", (GLOW * Math.sqrt(alpha)).toFixed(1));
    ring.style.setProperty("display", bag.z[j] ? "" : "none");
    dot.setAttribute("stroke-width", bag.selected === j ? 4 : 1.5);
    const kind = bag.z[j] ? "decides the label" : "background";
    group.setAttribute("aria-label", `Segment ${j + 1}, ${kind}, attention ${formatShare(alpha)}`);
    group.setAttribute("aria-pressed", String(bag.selected === j));
  };
  return { group, update };
}
