// A bag with attention on it: pictures, points, words or plain numbers; the relevant one ringed.

import { formatShare, s } from "../core/dom.js";
import { decodeBytes } from "./plane.js";
import { pageColours } from "../ui/charts.js";

const CELL = 40,
  GAP = 6;
const canvas = document.createElement("canvas");

function pictures({ shape: [height, width, channels], m, bytes: code }) {
  const all = decodeBytes(code),
    size = height * width * channels;
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

const ring = (x, y, width, height, round = 3) =>
  [
    ["#fff", null],
    ["#000", "5 4"],
  ].map(([stroke, dash]) =>
    s("rect", {
      x,
      y,
      width,
      height,
      rx: round,
      fill: "none",
      "stroke-width": 2.2,
      stroke,
      "stroke-dasharray": dash,
    }),
  );

// An element and a function that shows attention (m,) on it.
export function drawBag(segments, z, theme, name) {
  if (segments.kind === "image") return mosaic(segments, z, theme, name);
  if (segments.kind === "point") return scatter(segments, z, theme, name);
  return attentionBars(segments, z, theme, name);
}

function mosaic(segments, z, theme, name) {
  const columns = Math.ceil(Math.sqrt(segments.m)),
    rows = Math.ceil(segments.m / columns);
  const at = (j) => [GAP + (j % columns) * (CELL + GAP), GAP + Math.floor(j / columns) * (CELL + GAP)];
  const tints = [];
  const svg = s("svg", {
    viewBox: `0 0 ${GAP + columns * (CELL + GAP)} ${GAP + rows * (CELL + GAP)}`,
    role: "img",
    "aria-label": name,
  });
  pictures(segments).forEach((source, j) => {
    const [x, y] = at(j);
    svg.append(
      s("image", {
        x,
        y,
        width: CELL,
        height: CELL,
        href: source,
        preserveAspectRatio: "none",
        style: { "image-rendering": "pixelated" },
      }),
    );
    const tint = s("rect", {
      x: x + 1.5,
      y: y + 1.5,
      width: CELL - 3,
      height: CELL - 3,
      fill: theme.attention,
      stroke: theme.attention,
      "stroke-width": 3,
      "fill-opacity": 0,
      "stroke-opacity": 0,
    });
    const words = s("text", {
      x: x + CELL / 2,
      y: y + CELL - 5,
      "font-size": 10.5,
      fill: "#fff",
      stroke: "#000",
      "stroke-width": 2.6,
      "paint-order": "stroke",
      "text-anchor": "middle",
    });
    tints.push([tint, words]);
    svg.append(tint, words);
    if (z?.[j]) svg.append(...ring(x - 3, y - 3, CELL + 6, CELL + 6));
  });
  return {
    element: svg,
    attend: (alpha) =>
      tints.forEach(([tint, words], j) => {
        const opacity = Math.sqrt(alpha[j]);
        tint.setAttribute("fill-opacity", (0.4 * opacity).toFixed(3));
        tint.setAttribute("stroke-opacity", opacity.toFixed(3));
        words.textContent = alpha[j] >= 0.1 ? formatShare(alpha[j]) : "";
      }),
  };
}

function scatter(segments, z, theme, name) {
  const values = segments.values,
    colours = pageColours();
  const range = [0, 1].map((k) => [
    Math.min(...values.map((v) => v[k])),
    Math.max(...values.map((v) => v[k])),
  ]);
  const unit = (v, k) => (v[k] - range[k][0]) / (range[k][1] - range[k][0] || 1);
  const at = values.map((v) => [20 + 160 * unit(v, 0), 180 - 160 * unit(v, 1)]);
  const discs = at.map(([cx, cy]) =>
    s("circle", { cx, cy, r: 0, fill: theme.attention, "fill-opacity": 0.75 }),
  );
  const svg = s(
    "svg",
    { viewBox: "0 0 200 200", role: "img", "aria-label": name },
    s("rect", { width: 200, height: 200, rx: 6, fill: colours.ground, stroke: colours.line }),
    discs,
    at.map(([cx, cy]) => s("circle", { cx, cy, r: 2.4, fill: colours.ink })),
    at.map(([x, y], j) => (z?.[j] ? ring(x - 15, y - 15, 30, 30, 15) : [])),
  );
  return {
    element: svg,
    attend: (alpha) =>
      discs.forEach((disc, j) => disc.setAttribute("r", (14 * Math.sqrt(alpha[j])).toFixed(2))),
  };
}

function attentionBars(segments, z, theme, name) {
  const m = segments.values.length,
    step = 200 / m,
    colours = pageColours();
  const columns = segments.values.map((_, j) =>
    s("rect", { x: j * step + step * 0.1, width: step * 0.8, y: 100, height: 0, fill: theme.attention }),
  );
  const svg = s(
    "svg",
    { viewBox: "0 0 200 104", role: "img", "aria-label": name },
    s("rect", { width: 200, height: 104, rx: 6, fill: colours.ground, stroke: colours.line }),
    columns,
    segments.values.map((_, j) => (z?.[j] ? ring(j * step, 2, step, 100) : [])),
  );
  return {
    element: svg,
    attend: (alpha) =>
      columns.forEach((bar, j) => {
        bar.setAttribute("y", (100 - 96 * alpha[j]).toFixed(1));
        bar.setAttribute("height", (96 * alpha[j] + 2).toFixed(1));
      }),
  };
}
