// Parts that every view is made of: states, controls, figures with their words and downloads.

import { fill, fresh, h } from "/pages/dom.js";
import { math } from "/pages/math.js";

export function loading(words = "Loading …") {
  return h("p", { class: "state", role: "status" }, h("span", { class: "spinner", "aria-hidden": "true" }), words);
}

export function empty(title, ...words) {
  return h("div", { class: "state empty" }, h("p", { class: "strong" }, title), h("p", {}, ...words));
}

export function failed(error, retry = null) {
  return h(
    "div", { class: "state error", role: "alert" },
    h("p", { class: "strong" }, "That did not work."),
    h("p", {}, error.message || String(error)),
    retry && h("button", { type: "button", onclick: retry }, "Try again"),
  );
}

// Show what comes, a state while it is awaited, and a sentence if it fails.
export async function shown(place, make, words) {
  const turn = (place.turn = (place.turn ?? 0) + 1);
  const wait = setTimeout(() => place.turn === turn && fill(place, loading(words)), 120);
  try {
    const made = await make();
    if (place.turn === turn) fill(place, made);
  } catch (error) {
    if (place.turn === turn && error.name !== "AbortError") {
      fill(place, failed(error, () => shown(place, make, words)));
    }
  } finally {
    clearTimeout(wait);
  }
}

export function slider({ label, min, max, value, step = 1, show = (x) => x, scale = (x) => x, unscale = (x) => x, oninput, disabled = false }) {
  const id = fresh("slider");
  const output = h("output", { for: id }, String(show(value)));
  const range = h("input", {
    type: "range", id, min: unscale(min), max: unscale(max), step, value: unscale(value), disabled,
    "aria-valuetext": String(show(value)),
    oninput: () => {
      const now = scale(Number(range.value));
      output.textContent = show(now);
      range.setAttribute("aria-valuetext", String(show(now)));
      oninput(now);
    },
  });
  const element = h("div", { class: "control" }, h("label", { for: id }, label), output, range);
  return { element, range, output };
}

export function select({ label, options, value, onchange }) {
  const id = fresh("select");
  const choice = h("select", { id, onchange: () => onchange(choice.value) },
    Object.entries(options).map(([key, words]) => h("option", { value: key, selected: key === value }, words)));
  return h("div", { class: "control" }, h("label", { for: id }, label), choice);
}

export function check({ label, checked, onchange, colour = null, disabled = false }) {
  const box = h("input", { type: "checkbox", checked, disabled, onchange: () => onchange(box.checked) });
  const key = colour && h("span", { class: "key", style: { background: colour } });
  return h("label", { class: "check" }, box, key, label);
}

export function field({ label, value, type = "text", min, max, onchange, placeholder = "" }) {
  const id = fresh("field");
  const input = h("input", { id, type, min, max, value, placeholder, onchange: () => onchange(input.value) });
  return h("div", { class: "control" }, h("label", { for: id }, label), input);
}

// A figure: its title, room for the picture, what it shows, and the picture and numbers to keep.
export function figure({ title, about, equation = "", id = "", tools = true, wide = false, subtitle = "" }) {
  const place = h("div", { class: "picture" });
  const words = h("span", { class: "subtitle" }, subtitle);
  const keep = { svg: null, csv: null };
  const file = (title || id || "figure").toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  const save = (kind, make, type) => h("button", {
    type: "button", class: "quiet", "aria-label": `Download ${title} as ${kind}`,
    onclick: async () => { if (make()) download(`${file}.${kind.toLowerCase()}`, await make()(), type); },
  }, kind);
  const telling = h("p", {}, about ?? "");
  const element = h("figure", { class: wide ? "figure wide" : "figure", "data-figure": id || file },
    h("figcaption", {}, h("span", { class: "title" }, title), words),
    place,
    h("div", { class: "foot" },
      about !== undefined && h("details", {}, h("summary", {}, "What am I looking at?"),
        telling, equation && h("p", { class: "equation" }, math(equation))),
      tools && h("span", { class: "tools" },
        save("SVG", () => keep.svg, "image/svg+xml"), save("CSV", () => keep.csv, "text/csv"))));
  return { element, place, keep, words, about: telling };
}

export function csv(rows) {
  if (!rows.length) return "";
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    // A spreadsheet would run what begins with one of these.
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [names.map(cell).join(","), ...rows.map((row) => names.map((name) => cell(row[name])).join(","))].join("\r\n") + "\r\n";
}

export function download(name, content, type) {
  const place = URL.createObjectURL(new Blob([content], { type }));
  const anchor = h("a", { href: place, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(place), 1000);
}

export function standalone(svg) {
  const copy = svg.cloneNode(true);
  const { width, height } = svg.viewBox.baseVal;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.setAttribute("font-family", "sans-serif");
  return new XMLSerializer().serializeToString(copy);
}
