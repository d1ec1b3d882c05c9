// What to train: task, attention map, seeds, epochs and paradigms, kept in the address.

import { params, setParams } from "../core/address.js";
import { h, render } from "../core/dom.js";
import { checkbox, field, select, setControl } from "../ui/controls.js";

export function trainSettings(tasks, maps, theme, begin) {
  const form = h("div", {});
  const summary = h("summary", { class: "strong" }, "What to train");
  const element = h("details", { class: "panel", open: true }, summary, form);

  const request = () => {
    const query = params();
    const name = query.task in tasks ? query.task : "error-mode-1";
    const task = tasks[name];
    const chosen = (query.paradigms?.split(",") ?? task.chosen).filter((p) => task.choices.includes(p));
    return {
      task: name,
      paradigms: chosen.length ? chosen : task.chosen,
      map: maps.includes(query.map) ? query.map : "softmax",
      seeds: Number(query.seeds) || task.seeds,
      first: Number(query.first) || 0,
      epochs: Number(query.epochs) || task.epochs,
    };
  };

  const set = (values) => {
    setParams(values);
    update();
  };

  const titles = Object.fromEntries(Object.entries(tasks).map(([key, one]) => [key, one.title]));
  const others = { paradigms: null, seeds: null, epochs: null, first: null, map: null };
  const task = select({
    label: "Task",
    value: request().task,
    options: titles,
    onchange: (name) => set({ task: name, ...others }),
  });
  const fields = h("div", { class: "controls" }, task);
  const about = h("p", { class: "note" });
  const seeds = h("span", { class: "note" });
  const start = { type: "button", class: "main", id: "start", onclick: () => begin(request()) };
  const redraw = () => {
    const now = request();
    begin({ ...now, first: now.first + now.seeds });
  };
  const row = h(
    "div",
    { class: "row" },
    h("button", start, "Start training"),
    h("button", { type: "button", id: "redraw", onclick: redraw }, "Draw new initial weights"),
    seeds,
  );
  render(form, fields, about, row);
  let current = null; // the task and its controls by name

  function update() {
    const now = request();
    const copying = now.task === "copying";
    if (current?.task !== now.task) {
      const controls = taskControls(now.task, tasks[now.task], { maps, theme, request, set });
      Object.values(current?.controls ?? {}).forEach((control) => control.remove());
      fields.append(...Object.values(controls)); // after the task, which keeps the focus
      current = { task: now.task, controls };
    }
    setControl(task, now.task);
    for (const name of ["map", "seeds", "epochs"]) {
      if (current.controls[name]) setControl(current.controls[name], now[name]);
    }
    current.controls.paradigms.update(now.paradigms);
    summary.textContent = `What to train: ${titles[now.task]}, ${now.paradigms.length} side by side`;
    about.textContent = tasks[now.task].about;
    const last = now.first + now.seeds - 1;
    const drawn = now.seeds > 1 ? `Seeds ${now.first} to ${last}` : `Seed ${now.first}`;
    seeds.textContent = `${drawn}.${copying ? "" : " All see the same bags."}`;
  }

  update();
  return { element, update, collapse: (closed) => (element.open = !closed) };
}

// The settings that a task has.
function taskControls(name, task, { maps, theme, request, set }) {
  const copying = name === "copying";
  const number = (label, key, max) =>
    field({ label, type: "number", min: 1, max, value: "", onchange: (x) => set({ [key]: x }) });
  const controls = {};
  if (!copying && name !== "topic-words") {
    controls.map = select({
      label: "From scores to attention",
      value: maps[0],
      options: Object.fromEntries(maps.map((map) => [map, map])),
      onchange: (map) => set({ map }),
    });
  }
  if (!copying) controls.seeds = number("Initial weights to try", "seeds", 48);
  controls.epochs = number(copying ? "Steps" : "Epochs", "epochs", 5000);
  const title = copying ? "Kinds of sequences, one after another" : "Paradigms, side by side";
  controls.paradigms = paradigmChoices(title, task, { theme, request, set });
  return controls;
}

function paradigmChoices(title, task, { theme, request, set }) {
  const toggle = (name, on) => {
    const { paradigms } = request();
    const keep = (p) => (p === name ? on : paradigms.includes(p));
    set({ paradigms: task.choices.filter(keep).join(",") || null });
  };
  const boxes = task.choices.map((name) => [
    name,
    checkbox({
      label: theme.paradigms[name]?.label ?? name,
      colour: theme.paradigms[name]?.colour,
      checked: false,
      onchange: (on) => toggle(name, on),
    }),
  ]);
  const choices = h("div", { class: "choices" }, boxes.map(([, box]) => box));
  const element = h("fieldset", {}, h("legend", {}, title), choices);
  element.update = (chosen) => boxes.forEach(([name, box]) => setControl(box, chosen.includes(name)));
  return element;
}
