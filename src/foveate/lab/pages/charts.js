// Charts by Vega, which comes out of the wheel; its interpreter runs expressions, so no text
// becomes code. Charts follow the colours of the page, light or dark.

import { csv } from "/pages/parts.js";
import { h } from "/pages/dom.js";

let script = null;

function vega() {
  script ??= new Promise((resolve, reject) => {
    const source = document.querySelector('meta[name="vega"]').content;
    const tag = h("script", { src: source });
    tag.addEventListener("load", () => resolve(window.vegaEmbed));
    tag.addEventListener("error", () => reject(new Error("The charts could not be loaded.")));
    document.head.append(tag);
  });
  return script;
}
export { vega as warm };

export const dark = matchMedia("(prefers-color-scheme: dark)");

export function ink() {
  const own = getComputedStyle(document.documentElement);
  const read = (name) => own.getPropertyValue(name).trim();
  return { ink: read("--ink"), soft: read("--soft-ink"), line: read("--line"), ground: read("--card") };
}

// Black lines of the palette would vanish on a dark ground.
export const seenOn = (colour) => (dark.matches && /^#0{6}$/i.test(colour) ? ink().ink : colour);

function theme() {
  const { ink: text, soft, line, ground } = ink();
  return {
    background: ground, font: "system-ui, sans-serif", padding: 4, aria: false,
    view: { stroke: null },
    axis: {
      labelColor: soft, titleColor: soft, gridColor: line, domainColor: line, tickColor: line,
      labelFontSize: 11, titleFontSize: 11.5, titleFontWeight: "normal", titlePadding: 6, tickCount: 5,
      gridOpacity: 0.7, domain: false, ticks: false, labelPadding: 6,
    },
    legend: { orient: "top", title: null, labelColor: text, labelFontSize: 12, symbolSize: 220, symbolStrokeWidth: 2.4, columnPadding: 12, offset: 4, labelLimit: 180 },
    title: { color: text, subtitleColor: soft, fontSize: 13, anchor: "start", frame: "bounds" },
    text: { color: text, fontSize: 12 },
  };
}

// A chart as wide as its place asks for it when the window is resized. It may also be drawn before
// its place is in the page, or the place may change by itself: then the window says so again.
const widths = new WeakMap();
const places = new ResizeObserver((changes) => {
  const changed = changes.filter(({ target, contentRect }) => Math.abs((widths.get(target) ?? 0) - contentRect.width) > 1);
  changed.forEach(({ target, contentRect }) => widths.set(target, contentRect.width));
  if (changed.length) requestAnimationFrame(() => dispatchEvent(new Event("resize")));
});

// Draw a specification in a place; returns what changes its rows, and moves its cursor, later.
export async function draw(place, spec, { rows = null, config = null, at = null } = {}) {
  const embed = await vega();
  const made = { rows: rows ?? [], at, view: null };
  async function once() {
    const whole = { ...spec, config: config ?? theme() };
    if (rows) whole.datasets = { rows: made.rows, ...(made.at === null ? {} : { cursor: [{ x: made.at }] }) };
    place.replaceChildren();
    const options = { mode: "vega-lite", ast: true, actions: false, tooltip: false, renderer: "svg", defaultStyle: false, logLevel: 1 };
    const result = await embed(place, whole, options);
    made.view?.finalize();
    made.view = result.view;
    place.querySelector("svg")?.setAttribute("aria-hidden", "true");
  }
  await once();
  places.observe(place);
  made.update = async (next) => {
    made.rows = next;
    await made.view.data("rows", next).runAsync();
  };
  made.move = async (x) => {
    made.at = x;
    await made.view.data("cursor", [{ x }]).runAsync();
  };
  made.svg = () => made.view.toSVG();
  const again = () => (place.isConnected ? once() : dark.removeEventListener("change", again));
  dark.addEventListener("change", again);
  made.end = () => { places.unobserve(place); dark.removeEventListener("change", again); made.view?.finalize(); };
  return made;
}

// Where one stands in time: a rule that `move` moves.
function cursor(across) {
  return { data: { name: "cursor" }, mark: { type: "rule", strokeWidth: 1.6, clip: true, color: ink().ink, opacity: 0.75 }, encoding: { x: across } };
}

// Lines by name in the colours of the look; rows are {x, y, name}, dots are rows with dot: true.
export function lines({ names, x, y, height = 190, logX = false, logY = false, domainY = null, domainX = null, band = false, legend = false, dots = false, zoom = false, stand = false }) {
  const shown = names.map((own) => own.label);
  const colour = { field: "name", type: "nominal", scale: { domain: shown, range: names.map((own) => seenOn(own.colour)) }, legend: legend ? { symbolType: "stroke", symbolOpacity: 1, columns: 4 } : null };
  const dash = { field: "name", type: "nominal", scale: { domain: shown, range: names.map((own) => own.dash) }, legend: colour.legend };
  const across = { field: "x", type: "quantitative", title: x, scale: { type: logX ? "log" : "linear", nice: false, ...(domainX ? { domain: domainX } : { zero: false }) }, axis: { grid: false, format: ".6~g" } };
  const up = { field: "y", type: "quantitative", title: y, scale: { type: logY ? "log" : "linear", ...(domainY ? { domain: domainY } : { zero: false }) }, axis: { format: ".6~g" } };
  const layer = [];
  if (band) {
    layer.push({ mark: { type: "area", opacity: 0.16, clip: true }, encoding: { x: across, y: { ...up, field: "low" }, y2: { field: "high" }, fill: colour } });
  }
  layer.push({
    mark: { type: "line", strokeWidth: 2.2, clip: true, interpolate: "linear" },
    transform: dots ? [{ filter: "datum.dot !== true" }] : [],
    encoding: { x: across, y: up, color: colour, strokeDash: dash },
    ...(zoom ? { params: [{ name: "brush", select: { type: "interval", encodings: ["x"], zoom: false, translate: false } }] } : {}),
  });
  if (dots) {
    layer.push({ mark: { type: "point", size: 22, strokeWidth: 1.4, clip: true, opacity: 0.95 }, transform: [{ filter: "datum.dot === true" }], encoding: { x: across, y: up, color: colour } });
  }
  if (stand) layer.push(cursor(across));
  return { $schema: "https://vega.github.io/schema/vega-lite/v6.json", width: "container", height, autosize: { type: "fit-x", contains: "padding" }, data: { name: "rows" }, layer };
}

// Shares that sum to 1 over time, stacked; rows are {x, share, name, order}.
export function stacked({ names, x, until, height = 130, stand = false, legend = 0 }) {
  const shown = names.map((own) => own.label);
  const across = { field: "x", type: "quantitative", title: x, scale: { domain: [0, until || 1], nice: false }, axis: { grid: false, format: "d", tickMinStep: 1 } };
  const areas = {
    mark: { type: "area", strokeWidth: 0 },
    encoding: {
      x: across,
      y: { field: "share", type: "quantitative", title: null, scale: { domain: [0, 1] }, axis: { format: "%", grid: false }, stack: true },
      color: { field: "name", type: "nominal", scale: { domain: shown, range: names.map((own) => own.colour) }, legend: legend ? { symbolType: "square", symbolSize: 90, columns: legend, labelLimit: 240 } : null },
      order: { field: "order", type: "quantitative" },
    },
  };
  return { width: "container", height, autosize: { type: "fit-x", contains: "padding" }, data: { name: "rows" }, layer: [areas, ...(stand ? [cursor(across)] : [])] };
}

// A figure of the library, drawn as its reports draw it, on white; its rows are what CSV holds.
export async function library(figure, spec) {
  figure.place.classList.add("white");
  const made = await draw(figure.place, spec, { config: spec.config });
  figure.keep.svg = () => made.svg();
  figure.keep.csv = () => csv(held(spec));
  if (figure.about && spec.description) figure.about.textContent = spec.description;
  return made;
}

function held(spec) {
  const inline = spec.data?.values ?? [];
  const named = Object.entries(spec.datasets ?? {}).flatMap(([name, rows]) => rows.map((row) => ({ set: name, ...row })));
  return [...inline, ...named].map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => typeof value !== "object")));
}
