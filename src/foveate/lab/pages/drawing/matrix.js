// A matrix of attention: written words down, read words across.

import { s } from "../core/dom.js";
import { pageColours } from "../ui/charts.js";
import { csv, standaloneSvg } from "../ui/figure.js";

export function drawMatrix(figure, { source, target, alpha }, theme) {
  const colours = pageColours();
  const cell = Math.max(14, Math.min(30, 300 / Math.max(source.length, target.length)));
  const left = Math.min(120, 12 + 7 * Math.max(...target.map((word) => word.length)));
  const top = Math.min(110, 12 + 7 * Math.max(...source.map((word) => word.length)));
  const short = (word) => (word.length > 14 ? `${word.slice(0, 13)}…` : word);
  const svg = s(
    "svg",
    {
      viewBox: `0 0 ${left + cell * source.length + 4} ${top + cell * target.length + 4}`,
      style: { "max-width": `${1.3 * (left + cell * source.length + 4)}px` },
      role: "img",
      "aria-label": `Attention of ${target.length} words over ${source.length} words`,
    },
    source.map((word, l) =>
      s(
        "text",
        {
          transform: `translate(${left + (l + 0.65) * cell} ${top - 6}) rotate(-60)`,
          "font-size": 11,
          fill: colours.soft,
        },
        short(word),
      ),
    ),
    target.map((word, t) =>
      s(
        "text",
        {
          x: left - 6,
          y: top + (t + 0.65) * cell,
          "font-size": 11,
          fill: colours.soft,
          "text-anchor": "end",
        },
        short(word),
      ),
    ),
    alpha.flatMap((row, t) =>
      row.map((value, l) =>
        s(
          "rect",
          {
            x: left + l * cell + 0.5,
            y: top + t * cell + 0.5,
            width: cell - 1,
            height: cell - 1,
            fill: theme.attention,
            "fill-opacity": Math.sqrt(Math.max(0, value)).toFixed(3),
            stroke: colours.line,
            "stroke-width": 0.6,
          },
          s("title", {}, `${target[t]} ← ${source[l]}: ${value.toFixed(3)}`),
        ),
      ),
    ),
  );
  figure.body.replaceChildren(svg);
  figure.downloads.svg = () => standaloneSvg(svg);
  figure.downloads.csv = () =>
    csv(
      alpha.flatMap((row, t) =>
        row.map((value, l) => ({ target: target[t], source: source[l], alpha: value })),
      ),
    );
}
