// What to fit, and how far it is.

import { capitalised, h } from "../core/dom.js";
import { hasEnded } from "../core/job.js";
import { checkbox, field, select } from "../ui/controls.js";
import { jobStatus } from "../ui/job_status.js";

export function fitSettings(view, theme, begin) {
  const raced = Object.keys(theme.paradigms).filter((name) => theme.paradigms[name].raced);
  const request = { paradigms: [...raced], seeds: 3, epochs: null, absent: [], teach: false };
  if (view.absent) request.absent = [view.absent.name];
  const button = { type: "button", class: "main", id: "fit", onclick: () => begin(request) };
  const toggle = (name, on) => {
    request.paradigms = raced.filter((p) => (p === name ? on : request.paradigms.includes(p)));
  };
  const boxes = raced.map((name) =>
    checkbox({
      label: theme.paradigms[name].label,
      checked: true,
      onchange: (on) => toggle(name, on),
    }),
  );
  const teach = checkbox({
    label: "Teach attention the relevant segments",
    checked: false,
    onchange: (on) => (request.teach = on),
  });
  const more = h(
    "details",
    {},
    h("summary", {}, "More settings"),
    h(
      "div",
      { class: "controls" },
      h("fieldset", {}, h("legend", {}, "Ways to attend"), h("div", { class: "choices" }, boxes)),
      field({
        label: "Models of each",
        type: "number",
        min: 1,
        max: 10,
        value: 3,
        onchange: (value) => (request.seeds = Number(value)),
      }),
      field({
        label: "Epochs (by size unless given)",
        type: "number",
        min: 1,
        max: 1000,
        value: "",
        onchange: (value) => (request.epochs = value ? Number(value) : null),
      }),
      view.description.known > 0 && teach,
    ),
  );
  return h(
    "div",
    { class: "panel" },
    h("h2", {}, "Fit"),
    absentQuestion(view, request),
    h("div", { class: "row" }, h("button", button, "Fit and examine"), more),
  );
}

function absentQuestion(view, request) {
  const suggestion = view.absent
    ? `The data suggest “${view.absent.name}”: ${view.absent.reason}.`
    : "The data suggest none.";
  const control = absentSelect(view.classes, view.absent?.name, (names) => (request.absent = names));
  return h("div", { class: "question" }, control, h("p", { class: "note" }, suggestion));
}

// Asks for the class without evidence, and calls back with a list of it or an empty one.
export function absentSelect(classes, value, onchange) {
  const answers = classes.map((name) => [name, `yes, “${name}” means that nothing is there`]);
  return select({
    label: "Does any class mean that nothing is there?",
    options: new Map([["", "no, every class has evidence"], ...answers]),
    value: value ?? "",
    onchange: (name) => onchange(name ? [name] : []),
  });
}

// How far a fit is; `update` shows a later state of its job.
export function fitProgress(theme) {
  const partName = (part) => theme.paradigms[part]?.label ?? capitalised(part);
  const status = jobStatus({ words: { running: "Fitting" }, partName });
  const again = h("p", { class: "note" }, "Choose the file again to fit it.");
  const update = (job, how) => {
    status.update(job, how);
    again.hidden = !hasEnded(job) || job.state === "done";
  };
  return { element: h("div", { class: "panel" }, status.element, again), update };
}
