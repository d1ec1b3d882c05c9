// A figure with its caption, its explanation and its downloads.

import { h } from "../core/dom.js";
import { renderMath } from "./math.js";

// Returns the element, the body to draw in, and `downloads`, whose functions give the SVG and CSV.
// An equation is part of the explanation, or stands beneath the picture if it is to be seen at once.
export function figure({ title, about, equation = "", visible = false, ...more }) {
  const { id = "", wide = false, subtitle = "" } = more;
  const formula = equation && h("p", { class: "equation" }, renderMath(equation));
  const body = h("div", { class: "picture" });
  const subtitleElement = h("span", { class: "subtitle" }, subtitle);
  const downloads = { svg: null, csv: null };
  const file = (title || id || "figure").toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  const button = (kind, type) =>
    h(
      "button",
      {
        type: "button",
        class: "quiet",
        "aria-label": `Download ${title} as ${kind}`,
        onclick: async () => {
          const make = downloads[kind.toLowerCase()];
          if (make) download(`${file}.${kind.toLowerCase()}`, await make(), type);
        },
      },
      kind,
    );
  const text = h("p", {}, about ?? "");
  const explanation = h(
    "details",
    {},
    h("summary", {}, "What am I looking at?"),
    text,
    !visible && formula,
  );
  const element = h(
    "figure",
    { class: wide ? "figure wide" : "figure", "data-figure": id || file },
    h("figcaption", {}, h("span", { class: "title" }, title), subtitleElement),
    body,
    visible && formula,
    h(
      "div",
      { class: "foot" },
      about !== undefined && explanation,
      h("span", { class: "tools" }, button("SVG", "image/svg+xml"), button("CSV", "text/csv")),
    ),
  );
  return { element, body, downloads, subtitle: subtitleElement, about: text };
}

export function csv(rows) {
  if (!rows.length) return "";
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = rows.map((row) => names.map((name) => csvCell(row[name])).join(","));
  return `${[names.map(csvCell).join(","), ...lines].join("\r\n")}\r\n`;
}

function csvCell(value) {
  const text = value === null || value === undefined ? "" : String(value);
  // A spreadsheet would run a text that begins with one of these as a formula.
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function download(name, content, type) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const anchor = h("a", { href: address, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// An SVG of the page as a file of its own.
export function standaloneSvg(svg) {
  const copy = svg.cloneNode(true);
  const { width, height } = svg.viewBox.baseVal;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.setAttribute("font-family", "sans-serif");
  return new XMLSerializer().serializeToString(copy);
}
