// One bag under four ways of training: attention on its segments while training plays.

import { formatPercent, h, reducedMotion } from "../core/dom.js";
import { select, slider } from "../ui/controls.js";
import { stage } from "./explorable_stage.js";
import { decodeTables, explorableAnswer } from "./explorable_tables.js";

const STEP_MS = 140; // between two moments while training plays
const MAX_SEGMENTS = 12;

export function explorable(data, theme) {
  const tables = decodeTables(data);
  const incentives = Object.values(tables).flatMap((table) => table.incentive);
  const range = [Math.min(...incentives), Math.max(...incentives)];
  const bag = { moment: 0, index: 0, points: [], z: [], selected: null, truth: null };
  const stages = Object.entries(tables).map(([name, table]) =>
    stage(name, table, { data, theme, range, bag, move, select: selectSegment }),
  );
  const last = data.t.length - 1;
  let timer = null;
  const play = h("button", { type: "button", class: "main", id: "play", onclick: toggle }, "Play");
  const scrubber = slider({
    label: "Training, epoch",
    min: 0,
    max: last,
    value: 0,
    format: (k) => String(data.t[k]),
    oninput: (k) => {
      pause();
      bag.moment = k;
      update();
    },
  });
  const sentence = h("p", { id: "moment", role: "status" });
  const element = h(
    "section",
    { class: "panel explorable", "aria-label": "A bag under four ways of training" },
    h("h2", { class: "visually-hidden" }, "One bag under four ways of training"),
    h("div", { class: "row player" }, play, scrubber.element, bagMenu(data.bags, data.classes, load)),
    sentence,
    h("div", { class: "stages" }, stages.map((one) => one.element)),
    bagButtons(),
    groundLegend(data.classes, theme),
  );

  function bagButtons() {
    const button = (words, onclick) => h("button", { type: "button", onclick }, words);
    return h(
      "div",
      { class: "row" },
      button("Add a background segment", add),
      button("Remove the segment that decides", () => remove(bag.z.indexOf(true))),
      button("Remove the selected segment", () => remove(bag.selected ?? -1)),
      button("Reset the bag", () => load(bag.index)),
      h("span", { class: "note" }, "Drag a segment, or select it and use the arrow keys."),
    );
  }

  function load(index) {
    const { points, z, truth } = data.bags[index];
    Object.assign(bag, { index, truth, z: [...z], selected: null });
    bag.points = points.map((point) => [...point]);
    rebuild();
  }

  function rebuild() {
    stages.forEach((one) => one.rebuild());
    update();
  }

  function add() {
    if (bag.points.length >= MAX_SEGMENTS) return;
    const background = data.points.filter(([, , kind]) => kind < 0);
    const [x, y] = background[bag.points.length % background.length];
    bag.points.push([x, y]);
    bag.z.push(false);
    rebuild();
  }

  function remove(j) {
    if (j < 0 || bag.points.length < 2) return;
    if (bag.z[j]) bag.truth = null; // without the segment that decides there is no right answer
    bag.points.splice(j, 1);
    bag.z.splice(j, 1);
    bag.selected = null;
    rebuild();
  }

  function move(j, x, y) {
    const [left, right, low, high] = data.frame;
    if (bag.z[j]) bag.truth = null;
    bag.points[j] = [Math.min(right, Math.max(left, x)), Math.min(high, Math.max(low, y))];
    update();
  }

  function selectSegment(j) {
    bag.selected = j;
    update();
  }

  function update() {
    const attention = Object.fromEntries(stages.map((one) => [one.name, one.update()]));
    scrubber.set(bag.moment);
    const epoch = `Epoch ${data.t[bag.moment]}`;
    const [soft, hard] = [attention.soft, attention.hard].map(formatPercent);
    const values = `${soft} under soft and ${hard} under hard attention`;
    sentence.textContent = bag.z.includes(true)
      ? `${epoch}: attention on the segment that decides is ${values}.`
      : `${epoch}: no segment decides any more, yet every model answers, from background alone.`;
  }

  function toggle() {
    if (timer) return pause();
    if (bag.moment >= last) bag.moment = 0;
    play.textContent = "Pause";
    timer = setInterval(() => {
      bag.moment += 1;
      update();
      if (bag.moment >= last) pause();
    }, STEP_MS);
  }

  function pause() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  }

  function start() {
    if (!reducedMotion()) return toggle();
    bag.moment = last;
    update();
  }

  load(0);
  return { element, answer: explorableAnswer(data), start, stop: pause };
}

function bagMenu(bags, classes, load) {
  const titles = bags.map(({ truth }, k) => [k, `a bag of ${classes[truth]}`]);
  return select({
    label: "Bag",
    options: Object.fromEntries(titles),
    value: "0",
    onchange: (k) => load(Number(k)),
  });
}

function groundLegend(classes, theme) {
  const swatch = (k) =>
    h("span", { class: "key", style: { background: theme.classes[k], opacity: 0.55 } });
  return h(
    "p",
    { class: "legend note" },
    classes.map((name, k) => h("span", {}, swatch(k), `a segment here is read as ${name}`)),
    h("span", {}, "dashed ring: the segment that decides"),
    h("span", {}, "arrow and curve: δ now and over training, on a square-root scale"),
  );
}
