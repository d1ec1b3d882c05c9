// The incentive δ as an arrow, now, and as a curve over training. Both on a square-root scale.

import { formatShare, s } from "../core/dom.js";
import { pageColours } from "../ui/charts.js";

const WIDTH = 220;
const MIDDLE = WIDTH / 2; // where an arrow of length zero would be
const REACH = 96; // length of the longest arrow
const TOP = 30; // of the curve
const HEIGHT = 44; // of the curve

const signedRoot = (x) => Math.sign(x) * Math.sqrt(Math.abs(x));

// `range` is the smallest and largest incentive of all charts that are compared.
export function incentiveChart({ label, colour }, times, values, range) {
  const colours = pageColours();
  const [low, high] = range.map(signedRoot);
  const px = (k) => 4 + (times[k] / times.at(-1)) * (WIDTH - 8);
  const py = (x) => TOP + ((high - signedRoot(x)) / (high - low)) * HEIGHT;
  const point = (x, k) => `${px(k).toFixed(1)} ${py(x).toFixed(1)}`;
  const dashed = { stroke: colours.soft, "stroke-width": 0.8, "stroke-dasharray": "2 3" };
  const line = s("path", { stroke: colour, "stroke-width": 5, "stroke-linecap": "round" });
  const head = s("path", { fill: colour });
  const dot = s("circle", { r: 4, fill: colour, stroke: colours.ground, "stroke-width": 1.5 });
  const svg = s(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${TOP + HEIGHT + 6}`, role: "img", class: "incentive" },
    s("path", { d: `M${MIDDLE} 2v20`, ...dashed }),
    line,
    head,
    s("path", { d: `M4 ${py(0).toFixed(1)}H${WIDTH - 4}`, ...dashed }),
    s("path", { d: `M${values.map(point).join("L")}`, fill: "none", stroke: colour, "stroke-width": 1.6 }),
    dot,
  );
  const update = (k) => {
    const length = (REACH * signedRoot(values[k])) / Math.max(-low, high);
    const end = MIDDLE + length;
    const side = Math.sign(length) || 1;
    line.setAttribute("d", `M${MIDDLE} 12H${(end - 4 * side).toFixed(1)}`);
    head.setAttribute("d", `M${end.toFixed(1)} 12l${-9 * side} -7v14z`);
    dot.setAttribute("cx", px(k).toFixed(1));
    dot.setAttribute("cy", py(values[k]).toFixed(1));
    svg.setAttribute("aria-label", `${label}: incentive to look better ${formatShare(values[k])}`);
  };
  return { element: svg, update };
}
