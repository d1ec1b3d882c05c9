// What to train: task, attention map, seeds, epochs and paradigms, kept in the address.

import { params, setParams } from "../core/address.js";
import { h, render } from "../core/dom.js";
import { checkbox, field, select } from "../ui/controls.js";

export function trainSettings(tasks, maps, theme, begin) {
  const form = h("div", {});
  const summary = h("summary", { class: "strong" }, "What to train");
  const element = h("details", { class: "panel", open: true }, summary, form);

  const request = () => {
    const given = params();
    const name = given.task in tasks ? given.task : "error-mode-1";
    const task = tasks[name];
    const chosen = (given.paradigms?.split(",") ?? task.chosen).filter((p) => task.choices.includes(p));
    return {
      task: name,
      paradigms: chosen.length ? chosen : task.chosen,
      map: maps.includes(given.map) ? given.map : "softmax",
      seeds: Number(given.seeds) || task.seeds,
      first: Number(given.first) || 0,
      epochs: Number(given.epochs) || task.epochs,
    };
  };

  const set = (values) => {
    setParams(values);
    update();
  };

  function paradigmChoices(now, task) {
    const toggle = (name, on) => {
      const keep = (p) => (p === name ? on : now.paradigms.includes(p));
      set({ paradigms: task.choices.filter(keep).join(",") || null });
    };
    const boxes = task.choices.map((name) =>
      checkbox({
        label: theme.paradigms[name]?.label ?? name,
        colour: theme.paradigms[name]?.colour,
        checked: now.paradigms.includes(name),
        onchange: (on) => toggle(name, on),
      }),
    );
    const title =
      now.task === "copying" ? "Kinds of sequences, one after another" : "Paradigms, side by side";
    return h("fieldset", {}, h("legend", {}, title), h("div", { class: "choices" }, boxes));
  }

  function update() {
    const now = request();
    const task = tasks[now.task];
    const copying = now.task === "copying";
    const titles = Object.fromEntries(Object.entries(tasks).map(([key, one]) => [key, one.title]));
    const others = { paradigms: null, seeds: null, epochs: null, first: null, map: null };
    const number = (label, name, max) =>
      field({
        label,
        type: "number",
        min: 1,
        max,
        value: now[name],
        onchange: (x) => set({ [name]: x }),
      });
    const seeds =
      now.seeds > 1 ? `Seeds ${now.first} to ${now.first + now.seeds - 1}` : `Seed ${now.first}`;
    const start = { type: "button", class: "main", id: "start", onclick: () => begin(request()) };
    const redraw = () => begin({ ...request(), first: now.first + now.seeds });
    summary.textContent = `What to train: ${task.title}, ${now.paradigms.length} side by side`;
    render(
      form,
      h(
        "div",
        { class: "controls" },
        select({
          label: "Task",
          value: now.task,
          options: titles,
          onchange: (name) => set({ task: name, ...others }),
        }),
        !copying &&
          now.task !== "topic-words" &&
          select({
            label: "From scores to attention",
            value: now.map,
            options: Object.fromEntries(maps.map((map) => [map, map])),
            onchange: (map) => set({ map }),
          }),
        !copying && number("Initial weights to try", "seeds", 48),
        number(copying ? "Steps" : "Epochs", "epochs", 5000),
        paradigmChoices(now, task),
      ),
      h("p", { class: "note" }, task.about),
      h(
        "div",
        { class: "row" },
        h("button", start, "Start training"),
        h("button", { type: "button", id: "redraw", onclick: redraw }, "Draw new initial weights"),
        h("span", { class: "note" }, `${seeds}.${copying ? "" : " All see the same bags."}`),
      ),
    );
  }

  update();
  return { element, update, collapse: (closed) => (element.open = !closed) };
}
