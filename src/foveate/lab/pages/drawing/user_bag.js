// A user's bag drawn as what it is: images, texts, windows on a time axis, points or numbers.

import { s } from "../core/dom.js";
import { pageColours } from "../ui/charts.js";
import { drawBag } from "./bag.js";
import { drawTokens } from "./tokens.js";

const WIDTH = 240;
const LINES = 5; // columns of windows that are drawn
const COLUMNS = 16; // of a segment that are drawn
const ROWS = 60; // segments of a table that are drawn

// An element and `attend`, which shows attention (m,) on it.
export function drawUserBag(bag, theme, { compact = false } = {}) {
  const name = `Bag ${bag.id}`;
  if (bag.words) return drawTexts(bag, theme, compact);
  if (bag.content?.kind === "image") return drawBag(bag.content, bag.z, theme, name);
  if (bag.places && bag.kind === "series") return drawWindows(bag, theme, name);
  if (bag.places) {
    const values = bag.places.map((place) => [place[0], -(place[1] ?? 0)]);
    return drawBag({ kind: "point", values }, bag.z, theme, name);
  }
  if (bag.content?.kind === "point") return drawBag(bag.content, bag.z, theme, name);
  return drawTable(bag, theme, name, compact ? 12 : ROWS);
}

function drawTexts(bag, theme, compact) {
  const short = (text) => (compact && text.length > 80 ? `${text.slice(0, 79)}…` : text);
  const words = compact ? bag.words.slice(0, 40) : bag.words;
  const drawing = drawTokens(words.map(short), bag.z, theme);
  if (words.length < bag.words.length) drawing.element.append("…");
  return drawing;
}

// Windows on a time axis: their numbers as lines, attention as bars beneath.
function drawWindows(bag, theme, name) {
  const colours = pageColours();
  const ends = bag.places.map(([start, end]) => [start, end ?? start]);
  const low = Math.min(...ends.map(([start]) => start));
  const high = Math.max(...ends.map(([, end]) => end));
  const step = (high - low) / ends.length || 1;
  const at = (t) => 6 + ((t - low) / (high + step - low)) * (WIDTH - 12);
  const widths = ends.map(([start, end]) =>
    Math.max(1.5, at(end > start ? end : start + step) - at(start) - 0.8),
  );
  const bars = ends.map(([start], j) =>
    s("rect", { x: at(start), width: widths[j], y: 80, height: 0, fill: theme.attention }),
  );
  const middles = ends.map(([start], j) => at(start) + widths[j] / 2);
  const lines = valueLines(bag, middles, colours.soft);
  const tallest = lines.length ? 30 : 74;
  const marks = ends.map(([start], j) =>
    s("rect", { x: at(start), y: 82, width: 2, height: bag.z?.[j] ? 8 : 3, fill: colours.soft }),
  );
  const label = (x, text, anchor) =>
    s("text", { x, y: 100, "font-size": 9, fill: colours.soft, "text-anchor": anchor }, text);
  const svg = s(
    "svg",
    { viewBox: `0 0 ${WIDTH} 104`, role: "img", "aria-label": `${name}, windows over time` },
    s("rect", { width: WIDTH, height: 104, rx: 6, fill: colours.ground, stroke: colours.line }),
    lines,
    bars,
    marks,
    label(6, String(low), "start"),
    label(WIDTH - 6, String(high), "end"),
  );
  const attend = (alpha) =>
    bars.forEach((bar, j) => {
      const height = tallest * (alpha[j] ?? 0) + 1;
      bar.setAttribute("y", (81 - height).toFixed(1));
      bar.setAttribute("height", height.toFixed(1));
    });
  return { element: svg, attend };
}

// A line for each of the first columns, from its lowest to its highest value in the bag.
function valueLines(bag, middles, stroke) {
  const values = bag.content?.values ?? [];
  const order = middles.map((_, j) => j).sort((i, j) => middles[i] - middles[j]);
  return (values[0] ?? []).slice(0, LINES).map((_, k) => {
    const column = values.map((segment) => segment[k]);
    const [low, high] = [Math.min(...column), Math.max(...column)];
    const y = (value) => 46 - (40 * (value - low)) / (high - low || 1);
    const points = order.map((j) => `${middles[j].toFixed(1)},${y(column[j]).toFixed(1)}`).join(" ");
    const title = s("title", {}, bag.columns[k] ?? String(k));
    return s("polyline", { points, fill: "none", stroke, "stroke-opacity": 0.75 - 0.12 * k }, title);
  });
}

// Numbers as a table of shades, a row per segment, attention as a bar in front of it.
function drawTable(bag, theme, name, most) {
  const colours = pageColours();
  const values = (bag.content?.values ?? bag.alpha.map((x) => [x])).slice(0, most);
  const width = Math.min(COLUMNS, values[0].length);
  const cell = Math.min(22, (WIDTH - 70) / width);
  const row = 12;
  const range = Array.from({ length: width }, (_, k) => {
    const column = values.map((segment) => segment[k]);
    return [Math.min(...column), Math.max(...column)];
  });
  const shade = (x, k) => (x - range[k][0]) / (range[k][1] - range[k][0] || 1);
  const bars = values.map((_, j) =>
    s("rect", { x: 4, y: 4 + j * row, width: 0, height: row - 2, fill: theme.attention }),
  );
  const cells = values.flatMap((segment, j) =>
    Array.from({ length: width }, (_, k) =>
      s(
        "rect",
        {
          x: 66 + k * cell,
          y: 4 + j * row,
          width: cell - 1,
          height: row - 2,
          fill: colours.ink,
          "fill-opacity": (0.08 + 0.75 * shade(segment[k], k)).toFixed(2),
        },
        s("title", {}, `${bag.columns[k] ?? k}: ${segment[k]}`),
      ),
    ),
  );
  const rings = values.map((_, j) =>
    bag.z?.[j] ? s("circle", { cx: 62, cy: 9 + j * row, r: 2.4, fill: colours.ink }) : [],
  );
  const height = 8 + values.length * row;
  const svg = s(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": `${name}, a row per segment` },
    s("rect", { width: WIDTH, height, rx: 6, fill: colours.ground, stroke: colours.line }),
    bars,
    cells,
    rings.flat(),
  );
  const attend = (alpha) =>
    bars.forEach((bar, j) => bar.setAttribute("width", (54 * (alpha[j] ?? 0)).toFixed(1)));
  return { element: svg, attend };
}

// What a segment is called in tables: its text, its place, or its number.
export function segmentLabel(bag, j) {
  if (bag.words) return bag.words[j];
  const number = `segment ${bag.segments[j] + 1}`;
  if (!bag.places) return number;
  return `${number}, ${bag.places[j].join(bag.kind === "series" ? " to " : ", ")}`;
}
