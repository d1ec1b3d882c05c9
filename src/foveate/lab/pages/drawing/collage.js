// One SVG for download of what the page shows in several pieces, or as text.

import { s } from "../core/dom.js";
import { pageColours } from "../ui/charts.js";
import { standaloneSvg } from "../ui/figure.js";

const FONT = 13,
  LINE = 26,
  WIDTH = 560,
  WORDS = 34;
const measure = document.createElement("canvas").getContext("2d");

function widthOf(word) {
  measure.font = `${FONT}px sans-serif`;
  return measure.measureText(word).width;
}

// Words in lines, each on a ground of opacity 0.6 √|shade|, the relevant ones framed. Shades are
// attention, or evidence with a sign.
export function drawWords(tokens, shades, z, theme, signed = false) {
  const colourOf = (shade) => (shade < 0 ? theme.evidence.against : theme.evidence.for);
  const colours = pageColours(),
    marks = [];
  let x = 4,
    y = 4;
  tokens.forEach((word, j) => {
    const width = widthOf(word) + 8;
    if (x + width > WIDTH && x > 4) {
      x = 4;
      y += LINE;
    }
    marks.push(
      s("rect", {
        x,
        y,
        width,
        height: LINE - 5,
        rx: 4,
        fill: signed ? colourOf(shades[j]) : theme.attention,
        "fill-opacity": (0.6 * Math.sqrt(Math.abs(shades[j]))).toFixed(3),
        ...(z?.[j] ? { stroke: colours.ink, "stroke-dasharray": "4 3" } : {}),
      }),
      s("text", { x: x + 4, y: y + LINE - 11, "font-size": FONT, fill: colours.ink }, word),
    );
    x += width + 3;
  });
  return s(
    "svg",
    { viewBox: `0 0 ${WIDTH + 8} ${y + LINE + 4}` },
    s("rect", { width: WIDTH + 8, height: y + LINE + 4, fill: colours.ground }),
    marks,
  );
}

// Pictures with a line of words under each, side by side.
export function collage(pieces, columns) {
  const colours = pageColours(),
    sizes = pieces.map(({ svg }) => svg.viewBox.baseVal);
  const width = Math.max(...sizes.map((size) => size.width)) + 16,
    height = Math.max(...sizes.map((size) => size.height)) + WORDS;
  const across = Math.min(columns, pieces.length),
    down = Math.ceil(pieces.length / across);
  return standaloneSvg(
    s(
      "svg",
      { viewBox: `0 0 ${across * width} ${down * height}` },
      s("rect", { width: across * width, height: down * height, fill: colours.ground }),
      pieces.map(({ svg, words }, k) => {
        const x = (k % across) * width + 8,
          y = Math.floor(k / across) * height,
          copy = svg.cloneNode(true);
        for (const [name, value] of Object.entries({
          x,
          y: y + 4,
          width: sizes[k].width,
          height: sizes[k].height,
        }))
          copy.setAttribute(name, value);
        return [
          copy,
          s(
            "text",
            {
              x: x + 4,
              y: y + sizes[k].height + 20,
              "font-size": 11,
              fill: colours.soft,
              "font-family": "sans-serif",
            },
            words,
          ),
        ];
      }),
    ),
  );
}
