// Charts by Vega, which comes out of the wheel; its interpreter runs expressions, so no text
// becomes code. Charts follow the colours of the page, light or dark.

import { h, s } from "../core/dom.js";
import { csv } from "./figure.js";

let script = null;

export function preloadVega() {
  script ??= new Promise((resolve, reject) => {
    const source = document.querySelector('meta[name="vega"]').content;
    const tag = h("script", { src: source });
    tag.addEventListener("load", () => resolve(window.vegaEmbed));
    tag.addEventListener("error", () => reject(new Error("The charts could not be loaded.")));
    document.head.append(tag);
  });
  return script;
}

export const dark = matchMedia("(prefers-color-scheme: dark)");

export function pageColours() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  return { ink: read("--ink"), soft: read("--soft-ink"), line: read("--line"), ground: read("--card") };
}

// Black and dark blue lines of the palette would be hard to see on a dark ground.
const LIGHTER = { "#000000": "#e8ecef", "#1b1f24": "#e8ecef", "#0072b2": "#4aa3df", "#882255": "#cc6699" };
export const visibleColour = (colour) =>
  dark.matches ? (LIGHTER[colour.toLowerCase()] ?? colour) : colour;

// A short piece of a line with its colour and dashes, for a legend.
export function lineSample({ colour, dash }) {
  const stroke = { stroke: visibleColour(colour), "stroke-width": 3, "stroke-dasharray": dash.join(" ") };
  const line = s("line", { x1: 0, x2: 36, y1: 5, y2: 5, ...stroke });
  return s("svg", { class: "stroke", viewBox: "0 0 36 10", "aria-hidden": "true" }, line);
}

function theme() {
  const { ink: text, soft, line, ground } = pageColours();
  return {
    background: ground,
    font: "system-ui, sans-serif",
    padding: 4,
    aria: false,
    view: { stroke: null },
    axis: {
      labelColor: soft,
      titleColor: soft,
      gridColor: line,
      domainColor: line,
      tickColor: line,
      labelFontSize: 11,
      titleFontSize: 11.5,
      titleFontWeight: "normal",
      titlePadding: 6,
      tickCount: 5,
      gridOpacity: 0.7,
      domain: false,
      ticks: false,
      labelPadding: 6,
    },
    legend: {
      orient: "top",
      title: null,
      labelColor: text,
      labelFontSize: 12,
      symbolSize: 220,
      symbolStrokeWidth: 2.4,
      columnPadding: 12,
      offset: 4,
      labelLimit: 180,
    },
    title: { color: text, subtitleColor: soft, fontSize: 13, anchor: "start", frame: "bounds" },
    text: { color: text, fontSize: 12 },
  };
}

// Scales of lightness begin at white; on a dark page they begin at its ground instead.
const LIGHT_TO_DARK = ["#f6f8fa", "#b3bec8", "#66788a", "#263340"];
const DARK_TO_LIGHT = ["#22272d", "#3d4b59", "#66788a", "#a9b8c6"];
function withDarkScales(spec) {
  const isScale = (key, value) => key === "range" && String(value) === String(LIGHT_TO_DARK);
  const text = JSON.stringify(spec, (key, value) => {
    if (isScale(key, value)) return DARK_TO_LIGHT;
    return key === "ink" && typeof value === "string" ? "#ffffff" : value;
  });
  return JSON.parse(text);
}

// Charts follow the width of the window. A chart may also be drawn before its container is in the
// page, or the container may change its width: a resize event then updates it.
const widths = new WeakMap();
const sizes = new ResizeObserver((changes) => {
  const changed = changes.filter(
    ({ target, contentRect }) => Math.abs((widths.get(target) ?? 0) - contentRect.width) > 1,
  );
  changed.forEach(({ target, contentRect }) => widths.set(target, contentRect.width));
  if (changed.length) requestAnimationFrame(() => dispatchEvent(new Event("resize")));
});

// Draw a specification; the result can replace its rows and move its cursor.
export async function drawChart(container, spec, options = {}) {
  const { rows = null, config = null, at = null, darkened = false } = options;
  const embed = await preloadVega();
  const chart = { rows: rows ?? [], at, view: null };
  const cursor = () => (chart.at === null ? {} : { cursor: [{ x: chart.at }] });
  async function redraw() {
    const drawn = darkened && dark.matches ? withDarkScales(spec) : spec;
    const whole = { ...drawn, config: config ?? theme() };
    if (rows) whole.datasets = { rows: chart.rows, ...cursor() };
    container.replaceChildren();
    const settings = {
      mode: "vega-lite",
      ast: true,
      actions: false,
      tooltip: false,
      renderer: "svg",
      defaultStyle: false,
      logLevel: 1,
    };
    const result = await embed(container, whole, settings);
    chart.view?.finalize();
    chart.view = result.view;
    container.querySelector("svg")?.setAttribute("aria-hidden", "true");
  }
  await redraw();
  sizes.observe(container);
  chart.update = async (next) => {
    chart.rows = next;
    await chart.view.data("rows", next).runAsync();
  };
  chart.move = async (x) => {
    chart.at = x;
    await chart.view.data("cursor", [{ x }]).runAsync();
  };
  // Calls back with the value on the x axis under the pointer, or null when it leaves.
  chart.onPointer = (callback) => {
    const locate = (event) => {
      const [left] = chart.view.origin();
      const x = event.clientX - container.getBoundingClientRect().left - left - 4;
      const inside = x >= 0 && x <= chart.view.width();
      callback(inside ? chart.view.scale("x").invert(x) : null);
    };
    container.addEventListener("pointermove", locate);
    container.addEventListener("pointerleave", () => callback(null));
  };
  chart.svg = () => chart.view.toSVG();
  const onSchemeChange = () =>
    container.isConnected ? redraw() : dark.removeEventListener("change", onSchemeChange);
  dark.addEventListener("change", onSchemeChange);
  chart.destroy = () => {
    sizes.unobserve(container);
    dark.removeEventListener("change", onSchemeChange);
    chart.view?.finalize();
  };
  return chart;
}

// A vertical rule at the current time, which `move` moves.
function cursorLayer(x) {
  return {
    data: { name: "cursor" },
    mark: { type: "rule", strokeWidth: 1.6, clip: true, color: pageColours().ink, opacity: 0.75 },
    encoding: { x },
  };
}

const quantitative = (field, title, domain) => ({
  field,
  type: "quantitative",
  title,
  scale: { nice: false, ...(domain ? { domain } : { zero: false }) },
  axis: { format: ".6~g" },
});

// Lines by name; rows are {x, y, name} and, for a band, low and high.
export function lineSpec({ names, x, y, height = 190, ...more }) {
  const { domainX, domainY, band, legend, zoom, withCursor } = more;
  const labels = names.map((item) => item.label);
  const longest = Math.max(...labels.map((text) => text.length));
  const room = Math.min(innerWidth, 1440) - 120;
  const most = Math.max(1, Math.floor(room / (60 + 6.6 * longest)));
  const columns = Math.ceil(labels.length / Math.ceil(labels.length / most)); // rows of one length
  const key = legend ? { symbolType: "stroke", symbolOpacity: 1, columns } : null;
  const byName = (range) => ({
    field: "name",
    type: "nominal",
    scale: { domain: labels, range },
    legend: key,
  });
  const colour = byName(names.map((item) => visibleColour(item.colour)));
  const dash = byName(names.map((item) => item.dash));
  const across = quantitative("x", x, domainX);
  across.axis.grid = false;
  const up = { ...quantitative("y", y, domainY) };
  up.scale.nice = true;
  const layer = [];
  if (band) {
    const encoding = { x: across, y: { ...up, field: "low" }, y2: { field: "high" }, fill: colour };
    layer.push({ mark: { type: "area", opacity: 0.16, clip: true }, encoding });
  }
  const select = { type: "interval", encodings: ["x"], zoom: false, translate: false };
  layer.push({
    mark: { type: "line", strokeWidth: 2.2, clip: true, interpolate: "linear" },
    encoding: { x: across, y: up, color: colour, strokeDash: dash },
    ...(zoom ? { params: [{ name: "brush", select }] } : {}),
  });
  if (withCursor) layer.push(cursorLayer(across));
  return chartOf(height, layer);
}

function chartOf(height, layer) {
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    width: "container",
    height,
    autosize: { type: "fit-x", contains: "padding" },
    data: { name: "rows" },
    layer,
  };
}

// Shares that sum to 1 over time, stacked; rows are {x, share, name, order}.
export function stackedSpec({ names, x, until, height = 130, withCursor = false, legend = 0 }) {
  const labels = names.map((item) => item.label);
  const across = {
    field: "x",
    type: "quantitative",
    title: x,
    scale: { domain: [0, until || 1], nice: false },
    axis: { grid: false, format: "d", tickMinStep: 1 },
  };
  const up = {
    field: "share",
    type: "quantitative",
    title: null,
    scale: { domain: [0, 1] },
    axis: { format: "%", grid: false },
    stack: true,
  };
  const key = { symbolType: "square", symbolSize: 90, columns: legend, labelLimit: 240 };
  const colour = {
    field: "name",
    type: "nominal",
    scale: { domain: labels, range: names.map((item) => item.colour) },
    legend: legend ? key : null,
  };
  const order = { field: "order", type: "quantitative" };
  const areas = {
    mark: { type: "area", strokeWidth: 0 },
    encoding: { x: across, y: up, color: colour, order },
  };
  return chartOf(height, withCursor ? [areas, cursorLayer(across)] : [areas]);
}

// A figure of the library, drawn as its reports draw it; its rows are what the CSV holds.
export async function drawLibraryFigure(figure, spec) {
  figure.body.classList.add("library");
  // A wide figure scrolls in its frame, with the keyboard too.
  for (const [name, value] of Object.entries({ tabindex: 0, role: "group" }))
    figure.body.setAttribute(name, value);
  figure.body.setAttribute("aria-label", figure.element.querySelector(".title").textContent);
  const chart = await drawChart(figure.body, spec, { config: spec.config, darkened: true });
  figure.downloads.svg = () => chart.svg();
  figure.downloads.csv = () => csv(figureRows(spec));
  if (figure.about && spec.description) figure.about.textContent = spec.description;
  return chart;
}

function figureRows(spec) {
  const inline = spec.data?.values ?? [];
  const named = Object.entries(spec.datasets ?? {}).flatMap(([name, rows]) =>
    rows.map((row) => ({ set: name, ...row })),
  );
  const isPlain = ([, value]) => typeof value !== "object";
  return [...inline, ...named].map((row) => Object.fromEntries(Object.entries(row).filter(isPlain)));
}
