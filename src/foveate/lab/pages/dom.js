// Elements from plain values. Text is only ever text: nothing here reads markup.

const SVG = "http://www.w3.org/2000/svg";

export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, own] of Object.entries(value)) element.style.setProperty(key, own);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function share(x, digits = 2) {
  return x === null || x === undefined ? "–" : x.toFixed(digits);
}

export function percent(x) {
  return x === null || x === undefined ? "–" : `${(100 * x).toFixed(0)} %`;
}

export function number(x, digits = 4) {
  if (x === null || x === undefined) return "–";
  const size = Math.abs(x);
  if (size >= 1e6 || (size > 0 && size < 1e-3)) return x.toExponential(2);
  return String(Number(x.toPrecision(digits)));
}

export function ids() {
  let count = 0;
  return (stem) => `${stem}-${++count}`;
}
export const fresh = ids();
