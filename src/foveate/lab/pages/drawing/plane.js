// The plane: a value in every cell as a ground, points on it. One SVG, its ground an image.

import { s } from "../core/dom.js";
import { dark, pageColours } from "../ui/charts.js";
import { csv, standaloneSvg } from "../ui/figure.js";

const SIDE = 240,
  MARGIN = { left: 26, bottom: 18, top: 4, right: 4 };
const canvas = document.createElement("canvas");

export function decodeBytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

const rgb = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

// A square of cells as an image; paint(i) gives the four channels of cell i.
export function paintGround(cells, paint) {
  canvas.width = canvas.height = cells;
  const context = canvas.getContext("2d");
  const picture = context.createImageData(cells, cells);
  for (let i = 0; i < cells * cells; i += 1) picture.data.set(paint(i), 4 * i);
  context.putImageData(picture, 0, 0);
  return canvas.toDataURL();
}

// A mark for each class, so that colour is not all that tells them apart.
function mark(kind, x, y, colour, hollow, size = 3.4) {
  const paint = hollow
    ? { fill: "none", stroke: colour, "stroke-width": 1.3 }
    : { fill: colour, stroke: dark.matches ? "#000" : "#fff", "stroke-width": 0.5 };
  const at = (points) =>
    points.map(([a, b]) => `${(x + a * size).toFixed(1)},${(y + b * size).toFixed(1)}`).join(" ");
  switch (kind) {
    case -1:
      return s("path", {
        d: `M${x - 2.4} ${y}h4.8M${x} ${y - 2.4}v4.8`,
        stroke: colour,
        "stroke-width": 1.1,
        fill: "none",
        opacity: 0.8,
      });
    case 0:
      return s("circle", { cx: x, cy: y, r: size, ...paint });
    case 1:
      return s("rect", {
        x: x - size * 0.9,
        y: y - size * 0.9,
        width: size * 1.8,
        height: size * 1.8,
        ...paint,
      });
    case 2:
      return s("polygon", {
        points: at([
          [0, -1.15],
          [1.1, 0.85],
          [-1.1, 0.85],
        ]),
        ...paint,
      });
    case 3:
      return s("polygon", {
        points: at([
          [0, -1.25],
          [1.25, 0],
          [0, 1.25],
          [-1.25, 0],
        ]),
        ...paint,
      });
    case 4:
      return s("polygon", {
        points: at([
          [0, 1.15],
          [1.1, -0.85],
          [-1.1, -0.85],
        ]),
        ...paint,
      });
    default:
      return s("polygon", {
        points: at([
          [-0.4, -1.2],
          [0.4, -1.2],
          [0.4, -0.4],
          [1.2, -0.4],
          [1.2, 0.4],
          [0.4, 0.4],
          [0.4, 1.2],
          [-0.4, 1.2],
          [-0.4, 0.4],
          [-1.2, 0.4],
          [-1.2, -0.4],
          [-0.4, -0.4],
        ]),
        ...paint,
      });
  }
}

// A plane in a figure: draw({ground, points, words}) any number of times.
export function drawPlane(figure, setup, theme, smooth) {
  const [left, right, low, high] = setup.frame;
  const width = SIDE - MARGIN.left - MARGIN.right,
    height = SIDE - MARGIN.top - MARGIN.bottom;
  const px = (x) => MARGIN.left + ((x - left) / (right - left)) * width;
  const py = (y) => MARGIN.top + ((high - y) / (high - low)) * height;
  const ground = s("image", {
    x: MARGIN.left,
    y: MARGIN.top,
    width,
    height,
    preserveAspectRatio: "none",
    style: { "image-rendering": smooth ? "auto" : "pixelated" },
  });
  const dots = s("g", {});
  const colours = pageColours();
  const label = (x, y, words, anchor = "middle") =>
    s("text", { x, y, "font-size": 9, fill: colours.soft, "text-anchor": anchor }, words);
  const ticks = (from, to) => {
    const step = (to - from) / 4;
    return [1, 2, 3].map((k) => from + k * step);
  };
  const svg = s(
    "svg",
    { viewBox: `0 0 ${SIDE} ${SIDE}`, role: "img" },
    s("rect", {
      x: MARGIN.left,
      y: MARGIN.top,
      width,
      height,
      fill: colours.ground,
      stroke: colours.line,
    }),
    ground,
    dots,
    ticks(left, right).map((x) => label(px(x), SIDE - 6, x.toFixed(1))),
    ticks(low, high).map((y) => label(MARGIN.left - 4, py(y) + 3, y.toFixed(1), "end")),
  );
  figure.body.replaceChildren(svg);
  figure.body.classList.add("square");
  const name = (k) => (k < 0 ? "background" : setup.classes[k]);
  const colour = (k) =>
    k < 0 ? (dark.matches ? "#cfd6dc" : theme.background) : theme.classes[k % theme.classes.length];
  return {
    draw({ paint, points, words, cells }) {
      ground.setAttribute("href", paintGround(setup.cells, paint));
      dots.replaceChildren(
        ...points.map(([x, y, kind, focused]) => mark(kind, px(x), py(y), colour(kind), focused === 0)),
      );
      svg.setAttribute("aria-label", words);
      figure.downloads.svg = () => standaloneSvg(svg);
      figure.downloads.csv = () =>
        csv([
          ...points.map(([x, y, kind, focused]) => ({
            what: "point",
            x,
            y,
            class: name(kind),
            focus: focused === undefined ? "" : focused ? "right" : "wrong",
          })),
          ...cells(),
        ]);
    },
    at: (i) => {
      const column = i % setup.cells,
        row = Math.floor(i / setup.cells);
      return [
        left + ((column + 0.5) / setup.cells) * (right - left),
        high - ((row + 0.5) / setup.cells) * (high - low),
      ];
    },
  };
}

export function focusPaint(levels, theme) {
  const tone = rgb(theme.attention);
  return (i) => [...tone, Math.round(levels[i] * 0.72)];
}

export function regionPaint(regions, theme) {
  const tones = theme.classes.map(rgb);
  return (i) => [...tones[regions[i] % tones.length], dark.matches ? 105 : 62];
}
