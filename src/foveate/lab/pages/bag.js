// A bag with attention on it: pictures, points, words or plain numbers; the relevant one ringed.

import { h, s, share } from "/pages/dom.js";
import { bytes } from "/pages/plane.js";
import { ink } from "/pages/charts.js";

const CELL = 40, GAP = 6;
const canvas = document.createElement("canvas");

function pictures({ shape: [height, width, channels], m, bytes: code }) {
  const all = bytes(code), size = height * width * channels;
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  return Array.from({ length: m }, (_, j) => {
    const picture = context.createImageData(width, height);
    for (let i = 0; i < height * width; i += 1) {
      const at = j * size + i * channels;
      const colour = channels === 1 ? [all[at], all[at], all[at]] : [all[at], all[at + 1], all[at + 2]];
      picture.data.set([...colour, 255], 4 * i);
    }
    context.putImageData(picture, 0, 0);
    return canvas.toDataURL();
  });
}

const ring = (x, y, width, height, round = 3) => [["#fff", null], ["#000", "5 4"]].map(([stroke, dash]) =>
  s("rect", { x, y, width, height, rx: round, fill: "none", "stroke-width": 2.2, stroke, "stroke-dasharray": dash }));

// An element and a function that shows attention (m,) on it.
export function bag(segments, z, look, name) {
  if (segments.kind === "image") return mosaic(segments, z, look, name);
  if (segments.kind === "point") return scatter(segments, z, look, name);
  return bars(segments, z, look, name);
}

function mosaic(segments, z, look, name) {
  const columns = Math.ceil(Math.sqrt(segments.m)), rows = Math.ceil(segments.m / columns);
  const at = (j) => [GAP + (j % columns) * (CELL + GAP), GAP + Math.floor(j / columns) * (CELL + GAP)];
  const tints = [];
  const svg = s("svg", { viewBox: `0 0 ${GAP + columns * (CELL + GAP)} ${GAP + rows * (CELL + GAP)}`, role: "img", "aria-label": name });
  pictures(segments).forEach((source, j) => {
    const [x, y] = at(j);
    svg.append(s("image", { x, y, width: CELL, height: CELL, href: source, preserveAspectRatio: "none", style: { "image-rendering": "pixelated" } }));
    const tint = s("rect", { x: x + 1.5, y: y + 1.5, width: CELL - 3, height: CELL - 3, fill: look.attention, stroke: look.attention, "stroke-width": 3, "fill-opacity": 0, "stroke-opacity": 0 });
    const words = s("text", { x: x + CELL / 2, y: y + CELL - 5, "font-size": 10.5, fill: "#fff", stroke: "#000", "stroke-width": 2.6, "paint-order": "stroke", "text-anchor": "middle" });
    tints.push([tint, words]);
    svg.append(tint, words);
    if (z?.[j]) svg.append(...ring(x - 3, y - 3, CELL + 6, CELL + 6));
  });
  return { element: svg, attend: (alpha) => tints.forEach(([tint, words], j) => {
    const shown = Math.sqrt(alpha[j]);
    tint.setAttribute("fill-opacity", (0.4 * shown).toFixed(3));
    tint.setAttribute("stroke-opacity", shown.toFixed(3));
    words.textContent = alpha[j] >= 0.1 ? share(alpha[j]) : "";
  }) };
}

function scatter(segments, z, look, name) {
  const values = segments.values, colours = ink();
  const range = [0, 1].map((k) => [Math.min(...values.map((v) => v[k])), Math.max(...values.map((v) => v[k]))]);
  const unit = (v, k) => (v[k] - range[k][0]) / (range[k][1] - range[k][0] || 1);
  const at = values.map((v) => [20 + 160 * unit(v, 0), 180 - 160 * unit(v, 1)]);
  const discs = at.map(([cx, cy]) => s("circle", { cx, cy, r: 0, fill: look.attention, "fill-opacity": 0.75 }));
  const svg = s("svg", { viewBox: "0 0 200 200", role: "img", "aria-label": name },
    s("rect", { width: 200, height: 200, rx: 6, fill: colours.ground, stroke: colours.line }), discs,
    at.map(([cx, cy]) => s("circle", { cx, cy, r: 2.4, fill: colours.ink })),
    at.map(([x, y], j) => (z?.[j] ? ring(x - 15, y - 15, 30, 30, 15) : [])));
  return { element: svg, attend: (alpha) => discs.forEach((disc, j) => disc.setAttribute("r", (14 * Math.sqrt(alpha[j])).toFixed(2))) };
}

function bars(segments, z, look, name) {
  const m = segments.values.length, step = 200 / m, colours = ink();
  const made = segments.values.map((_, j) => s("rect", { x: j * step + step * 0.1, width: step * 0.8, y: 100, height: 0, fill: look.attention }));
  const svg = s("svg", { viewBox: "0 0 200 104", role: "img", "aria-label": name },
    s("rect", { width: 200, height: 104, rx: 6, fill: colours.ground, stroke: colours.line }), made,
    segments.values.map((_, j) => (z?.[j] ? ring(j * step, 2, step, 100) : [])));
  return { element: svg, attend: (alpha) => made.forEach((bar, j) => {
    bar.setAttribute("y", (100 - 96 * alpha[j]).toFixed(1));
    bar.setAttribute("height", (96 * alpha[j] + 2).toFixed(1));
  }) };
}

// Words shaded by attention, opacity √α, the relevant ones framed.
export function sentence(tokens, z, look) {
  const spans = tokens.map((word, j) => h("span", { class: z?.[j] ? "relevant" : null }, word));
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(look.attention.slice(at, at + 2), 16));
  return { element: h("p", { class: "tokens" }, spans.flatMap((span) => [span, " "])), attend: (alpha) => spans.forEach((span, j) => {
    span.style.background = `rgb(${r} ${g} ${b} / ${Math.sqrt(Math.max(0, alpha[j])).toFixed(3)})`;
    span.setAttribute("title", `α = ${alpha[j].toFixed(3)}`);
  }) };
}
