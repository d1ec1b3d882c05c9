// One bag under four ways of training: attention on its segments while training plays.
//
// Weights and class probabilities were tabulated over the plane by the library. Attention of a
// segment is its weight over the sum of the weights in the bag.

import { formatPercent, formatShare, h, reducedMotion, render, s } from "../core/dom.js";
import { decodeBytes, paintGround } from "../drawing/plane.js";
import { pageColours } from "../ui/charts.js";
import { select, slider } from "../ui/controls.js";

const SIDE = 250;
const STEP_MS = 140; // between two moments while training plays
const MOST = 12; // segments of a bag
const READING = {
  soft: "reads the mixture",
  hard: "reads the top segment",
  lvml: "averages over segments",
  witness: "reads the top segment",
};

export function explorable(data, theme) {
  const tables = Object.fromEntries(
    Object.entries(data.paradigms).map(([name, one]) => [
      name,
      { ...one, weights: new Float32Array(decodeBytes(one.weights).buffer), p: decodeBytes(one.p) },
    ]),
  );
  const largest = Math.max(...Object.values(tables).flatMap((one) => one.incentive.map(Math.abs)));
  const state = { at: 0, bag: 0, points: [], z: [], selected: null, timer: null };
  const panels = Object.entries(tables).map(([name, table]) =>
    panel(name, table, { data, theme, largest, state, moved, choose }),
  );
  const play = h("button", { type: "button", class: "main", id: "play", onclick: toggle }, "Play");
  const scrubber = slider({
    label: "Training, epoch",
    min: 0,
    max: data.t.length - 1,
    value: 0,
    format: (k) => String(data.t[k]),
    oninput: (k) => {
      pause();
      state.at = k;
      update();
    },
  });
  const sentence = h("p", { id: "moment", role: "status" });
  const titles = Object.fromEntries(
    data.bags.map(({ truth }, k) => [k, `a bag of ${data.classes[truth]}`]),
  );
  const bagMenu = select({
    label: "Bag",
    options: titles,
    value: "0",
    onchange: (k) => load(Number(k)),
  });
  const button = (words, onclick) => h("button", { type: "button", onclick }, words);
  const element = h(
    "section",
    { class: "panel explorable", "aria-label": "A bag under four ways of training" },
    h("h2", { class: "visually-hidden" }, "One bag under four ways of training"),
    h("div", { class: "row player" }, play, scrubber.element, bagMenu),
    h(
      "div",
      { class: "stages" },
      panels.map((one) => one.element),
    ),
    h(
      "div",
      { class: "row" },
      button("Add a background segment", add),
      button("Remove the selected segment", remove),
      button("Reset the bag", () => load(state.bag)),
      h("span", { class: "note" }, "Drag a segment, or select it and use the arrow keys."),
    ),
    sentence,
    groundLegend(data.classes, theme),
  );

  function load(k) {
    state.bag = k;
    state.points = data.bags[k].points.map((point) => [...point]);
    state.z = [...data.bags[k].z];
    state.selected = null;
    panels.forEach((one) => one.rebuild());
    update();
  }

  function add() {
    if (state.points.length >= MOST) return;
    const background = data.points.filter(([, , kind]) => kind < 0);
    const [x, y] = background[state.points.length % background.length];
    state.points.push([x, y]);
    state.z.push(false);
    panels.forEach((one) => one.rebuild());
    update();
  }

  function remove() {
    if (state.selected === null || state.points.length < 2) return;
    state.points.splice(state.selected, 1);
    state.z.splice(state.selected, 1);
    state.selected = null;
    panels.forEach((one) => one.rebuild());
    update();
  }

  function moved(j, x, y) {
    const [left, right, low, high] = data.frame;
    state.points[j] = [Math.min(right, Math.max(left, x)), Math.min(high, Math.max(low, y))];
    update();
  }

  function choose(j) {
    state.selected = j;
    update();
  }

  function update() {
    const readings = panels.map((one) => one.update());
    scrubber.set(state.at);
    describe(readings);
  }

  function describe(readings) {
    const on = (name) => readings.find((one) => one.name === name)?.on;
    const deltas = readings.map(
      ({ name, delta }) => `${theme.paradigms[name].label} ${formatShare(delta)}`,
    );
    const start = `Epoch ${data.t[state.at]}: attention on the segment that decides is`;
    const [soft, hard] = [on("soft"), on("hard")].map(formatPercent);
    const values = `${soft} under soft and ${hard} under hard attention`;
    sentence.textContent = `${start} ${values}; incentive δ to look better: ${deltas.join(", ")}.`;
  }

  function toggle() {
    if (state.timer) return pause();
    if (state.at >= data.t.length - 1) state.at = 0;
    play.textContent = "Pause";
    state.timer = setInterval(() => {
      state.at += 1;
      update();
      if (state.at >= data.t.length - 1) pause();
    }, STEP_MS);
  }

  function pause() {
    clearInterval(state.timer);
    state.timer = null;
    play.textContent = "Play";
  }

  load(0);
  return {
    element,
    start: () => {
      if (!reducedMotion()) return toggle();
      state.at = data.t.length - 1;
      update();
    },
    stop: pause,
  };
}

function panel(name, table, { data, theme, largest, state, moved, choose }) {
  const { cells, classes } = data;
  const [left, right, low, high] = data.frame;
  const px = (x) => ((x - left) / (right - left)) * SIDE;
  const py = (y) => ((high - y) / (high - low)) * SIDE;
  const { colour, label } = theme.paradigms[name];
  const ground = s("image", { width: SIDE, height: SIDE, preserveAspectRatio: "none" });
  const marks = s("g", {});
  const mixture = s("path", { d: "M-6 0h12M0 -6v12", stroke: pageColours().ink, "stroke-width": 2 });
  const svg = s(
    "svg",
    { viewBox: `0 0 ${SIDE} ${SIDE}`, class: "stage", role: "group" },
    ground,
    marks,
    mixture,
  );
  svg.setAttribute("aria-label", `${label}: the segments of the bag`);
  const answer = h("p", { class: "says" });
  const arrow = incentiveArrow(label, colour);
  const element = h(
    "article",
    { class: "stage-panel", style: { "border-top-color": colour } },
    h("h3", {}, label, h("span", { class: "note" }, ` ${READING[name] ?? ""}`)),
    svg,
    answer,
    arrow.element,
  );
  let nodes = [];

  // Value of a table at a point: bilinear between the middles of its cells.
  function lookUp(values, x, y, offset, stride = 1, channel = 0) {
    const a = Math.min(cells - 1.001, Math.max(0, ((x - left) / (right - left)) * cells - 0.5));
    const b = Math.min(cells - 1.001, Math.max(0, ((high - y) / (high - low)) * cells - 0.5));
    const [i, j] = [Math.floor(a), Math.floor(b)];
    const at = (row, column) => values[offset + (row * cells + column) * stride + channel];
    const top = at(j, i) * (i + 1 - a) + at(j, i + 1) * (a - i);
    const bottom = at(j + 1, i) * (i + 1 - a) + at(j + 1, i + 1) * (a - i);
    return top * (j + 1 - b) + bottom * (b - j);
  }

  const probabilities = (x, y) => {
    const offset = state.at * cells * cells * classes.length;
    return classes.map((_, c) => lookUp(table.p, x, y, offset, classes.length, c) / 255);
  };

  function read() {
    const offset = state.at * cells * cells;
    const weights = state.points.map(([x, y]) => lookUp(table.weights, x, y, offset));
    const sum = weights.reduce((a, b) => a + b, 0) || 1;
    const alpha = weights.map((w) => w / sum);
    const mean = [0, 1].map((k) => alpha.reduce((total, a, j) => total + a * state.points[j][k], 0));
    const top = alpha.indexOf(Math.max(...alpha));
    let p;
    if (name === "soft") p = probabilities(...mean);
    else if (name === "lvml") {
      const each = state.points.map((point) => probabilities(...point));
      p = classes.map((_, c) => alpha.reduce((total, a, j) => total + a * each[j][c], 0));
    } else p = probabilities(...state.points[top]);
    return { alpha, mean, p };
  }

  function rebuild() {
    nodes = state.points.map((_, j) =>
      segmentNode(j, { svg, state, theme, moved, choose, px, py, data }),
    );
    render(
      marks,
      nodes.map((node) => node.group),
    );
  }

  function update() {
    const { alpha, mean, p } = read();
    ground.setAttribute(
      "href",
      paintGround(cells, regionOf(table.p, state.at, cells, classes.length, theme)),
    );
    nodes.forEach((node, j) => node.update(alpha[j]));
    mixture.setAttribute("transform", `translate(${px(mean[0])} ${py(mean[1])})`);
    mixture.style.setProperty("display", name === "soft" ? "" : "none");
    const best = p.indexOf(Math.max(...p));
    const { truth } = data.bags[state.bag];
    answer.textContent = `says ${classes[best]} (${formatShare(p[best])})${best === truth ? "" : ", wrong"}`;
    arrow.update(table.incentive[state.at], largest);
    const on = alpha.reduce((total, a, j) => total + (state.z[j] ? a : 0), 0);
    return { name, on, delta: table.incentive[state.at] };
  }
  return { element, rebuild, update };
}

function groundLegend(classes, theme) {
  const swatch = (k) =>
    h("span", { class: "key", style: { background: theme.classes[k], opacity: 0.55 } });
  return h(
    "p",
    { class: "legend note" },
    classes.map((name, k) => h("span", {}, swatch(k), `ground read as ${name}`)),
    h("span", {}, "dashed ring: the segment that decides"),
    h("span", {}, "+: the mixture that soft attention reads"),
  );
}

// Regions of the classifier: the colour of the class, the stronger the surer.
function regionOf(p, at, cells, count, theme) {
  const tones = theme.classes.map((colour) =>
    [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16)),
  );
  const offset = at * cells * cells * count;
  return (i) => {
    let best = 0;
    for (let c = 1; c < count; c += 1)
      if (p[offset + i * count + c] > p[offset + i * count + best]) best = c;
    return [...tones[best], Math.round((p[offset + i * count + best] / 255) * 80)];
  };
}

function segmentNode(j, { svg, state, theme, moved, choose, px, py, data }) {
  const colours = pageColours();
  const glow = s("circle", { fill: theme.attention, "fill-opacity": 0.65 });
  const dot = s("circle", { r: 4.5, fill: colours.ink, stroke: colours.ground, "stroke-width": 1.5 });
  const ring = s("circle", { r: 10, fill: "none", "stroke-dasharray": "4 3", stroke: colours.ink });
  const [left, right, low, high] = data.frame;
  const toData = (event) => {
    const box = svg.getBoundingClientRect();
    const x = left + ((event.clientX - box.left) / box.width) * (right - left);
    return [x, high - ((event.clientY - box.top) / box.height) * (high - low)];
  };
  const onpointermove = (event) => {
    if (group.hasPointerCapture(event.pointerId)) moved(j, ...toData(event));
  };
  const onpointerdown = (event) => {
    group.setPointerCapture(event.pointerId);
    choose(j);
  };
  const onkeydown = (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[
      event.key
    ];
    if (!step) return;
    event.preventDefault();
    const [x, y] = state.points[j];
    moved(j, x + (step[0] * (right - left)) / 50, y + (step[1] * (high - low)) / 50);
  };
  const handlers = { onpointermove, onpointerdown, onkeydown, onfocus: () => choose(j) };
  const group = s("g", { class: "segment", tabindex: 0, role: "button", ...handlers }, glow, ring, dot);
  const update = (alpha) => {
    const [x, y] = state.points[j];
    group.setAttribute("transform", `translate(${px(x).toFixed(1)} ${py(y).toFixed(1)})`);
    glow.setAttribute("r", (26 * Math.sqrt(alpha)).toFixed(1));
    ring.style.setProperty("display", state.z[j] ? "" : "none");
    dot.setAttribute("stroke-width", state.selected === j ? 4 : 1.5);
    const kind = state.z[j] ? "decides the label" : "background";
    group.setAttribute("aria-label", `Segment ${j + 1}, ${kind}, attention ${formatShare(alpha)}`);
    group.setAttribute("aria-pressed", String(state.selected === j));
  };
  return { group, update };
}

// The incentive as an arrow: to the right, looking better would lower the loss.
function incentiveArrow(label, colour) {
  const line = s("path", { stroke: colour, "stroke-width": 5, fill: "none", "stroke-linecap": "round" });
  const head = s("path", { fill: colour });
  const middle = s("path", { d: "M110 2v20", stroke: pageColours().soft, "stroke-dasharray": "2 3" });
  const svg = s("svg", { viewBox: "0 0 220 24", role: "img", class: "arrow" }, middle, line, head);
  const words = h("span", { class: "note" });
  const update = (delta, largest) => {
    const length = 96 * Math.sign(delta) * Math.sqrt(Math.abs(delta) / largest);
    const end = 110 + length;
    const side = Math.sign(length) || 1;
    line.setAttribute("d", `M110 12H${(end - 4 * side).toFixed(1)}`);
    head.setAttribute("d", `M${end.toFixed(1)} 12l${-9 * side} -7v14z`);
    words.textContent = `incentive δ = ${formatShare(delta)}`;
    svg.setAttribute("aria-label", `${label}: incentive to look better ${formatShare(delta)}`);
  };
  return { element: h("div", { class: "incentive" }, svg, words), update };
}
