// Elements from plain values. Text is inserted as text nodes only; nothing here parses markup.

const SVG = "http://www.w3.org/2000/svg";

export function h(tag, attributes = {}, ...children) {
  return assemble(document.createElement(tag), attributes, children);
}

export function s(tag, attributes = {}, ...children) {
  return assemble(document.createElementNS(SVG, tag), attributes, children);
}

function assemble(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  element.append(...present(children));
  return element;
}

function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "style") {
    for (const [key, setting] of Object.entries(value)) element.style.setProperty(key, setting);
  } else if (name === "value" || name === "checked") element[name] = value;
  else element.setAttribute(name, value === true ? "" : String(value));
}

const present = (children) =>
  children.flat(3).filter((child) => child !== null && child !== undefined && child !== false);

// Replace the children of an element. Where the focused control is replaced by one with the same
// name, the new one gets the focus, so that a keyboard user stays where they were; where there is
// none, the element itself gets it.
export function render(element, ...children) {
  const name = element.contains(document.activeElement) ? focusName(document.activeElement) : null;
  const selection = name && selectionOf(document.activeElement);
  element.replaceChildren(...present(children));
  if (name) restoreFocus(element, name, selection);
  return element;
}

function focusName(control) {
  if (control.dataset?.focus) return control.dataset.focus;
  if (control.id && !/-\d+$/.test(control.id)) return `#${control.id}`;
  const label = control.labels?.[0]?.textContent ?? control.getAttribute("aria-label");
  return `${control.tagName}:${label ?? control.textContent}`;
}

function restoreFocus(element, name, selection) {
  const controls = element.querySelectorAll("a[href], button, input, select, textarea, [tabindex]");
  const match = [...controls].find((control) => focusName(control) === name);
  if (!match && !element.hasAttribute("tabindex")) element.tabIndex = -1;
  (match ?? element).focus({ preventScroll: true });
  if (match && selection && "setSelectionRange" in match) match.setSelectionRange(...selection);
}

function selectionOf(control) {
  try {
    return control.selectionStart === null ? null : [control.selectionStart, control.selectionEnd];
  } catch {
    return null;
  }
}

export function formatShare(x, digits = 2) {
  return x === null || x === undefined ? "–" : x.toFixed(digits);
}

export function formatPercent(x) {
  return x === null || x === undefined ? "–" : `${(100 * x).toFixed(0)}\u00a0%`;
}

export function formatNumber(x, digits = 4) {
  if (x === null || x === undefined) return "–";
  const size = Math.abs(x);
  if (size >= 1e6 || (size > 0 && size < 1e-3)) return x.toExponential(2);
  return String(Number(x.toPrecision(digits)));
}

export function capitalised(text) {
  return text ? text[0].toUpperCase() + text.slice(1) : text;
}

let count = 0;
export const uniqueId = (stem) => `${stem}-${++count}`;

export const reducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
