// Form controls with their labels.

import { h, uniqueId } from "../core/dom.js";

const identity = (x) => x;

// A range whose value may be shown and stored on another scale than the one the thumb moves on.
export function slider({ label, min, max, value, step = 1, oninput, disabled = false, ...more }) {
  const { format = identity, scale = identity, unscale = identity } = more;
  const id = uniqueId("slider");
  const output = h("output", { for: id }, String(format(value)));
  const range = h("input", {
    type: "range",
    id,
    min: unscale(min),
    max: unscale(max),
    step,
    value: unscale(value),
    disabled,
    "aria-valuetext": String(format(value)),
    oninput: () => {
      const now = scale(Number(range.value));
      set(now, false);
      oninput(now);
    },
  });
  function set(now, move = true) {
    output.textContent = format(now);
    range.setAttribute("aria-valuetext", String(format(now)));
    if (move) range.value = unscale(now);
  }
  const element = h("div", { class: "control" }, h("label", { for: id }, label), output, range);
  return { element, range, output, set };
}

// Options are an object of texts by value, or a Map where values are numbers: an object would sort them.
// `focus` names the control where its label may change.
export function select({ label, options, value, onchange, hideLabel, disabled, focus }) {
  const id = uniqueId("select");
  const entries = options instanceof Map ? [...options] : Object.entries(options);
  const choice = h(
    "select",
    { id, disabled, "data-focus": focus, onchange: () => onchange(choice.value) },
    entries.map(([key, words]) => h("option", { value: key, selected: key === value }, words)),
  );
  const title = h("label", { for: id, class: hideLabel ? "visually-hidden" : null }, label);
  return h("div", { class: "control" }, title, choice);
}

export function checkbox({ label, checked, onchange, colour = null, disabled = false }) {
  const change = () => onchange(box.checked);
  const box = h("input", { type: "checkbox", checked, disabled, onchange: change });
  const key = colour && h("span", { class: "key", style: { background: colour } });
  return h("label", { class: "check" }, box, key, label);
}

// With `live` every key stroke counts, else what is there when the field is left.
export function field({ label, value, type = "text", min, max, onchange, placeholder = "", live }) {
  const id = uniqueId("field");
  const act = { [live ? "oninput" : "onchange"]: () => onchange(input.value) };
  const input = h("input", { id, type, min, max, value, placeholder, ...act });
  return h("div", { class: "control" }, h("label", { for: id }, label), input);
}

// Show a value in a control that was made above; one that holds the focus keeps it.
export function setControl(control, value) {
  const input = control.querySelector("select, input");
  if (input.type === "checkbox") input.checked = value;
  else if (input.value !== String(value)) input.value = value;
}

// A panel that opens when its title is clicked.
export function folded(title, ...content) {
  return h("details", { class: "panel" }, h("summary", { class: "strong" }, title), ...content);
}
