// What the tables of the explanation say: attention and answer of each paradigm for any bag.
//
// Weights and class probabilities were tabulated over the plane by the library. Attention of a
// segment is its weight over the sum of the weights in the bag.

import { formatNumber, formatPercent } from "../core/dom.js";
import { decodeBytes } from "../drawing/plane.js";

export function decodeTables({ paradigms }) {
  const decode = (table) => ({
    ...table,
    weights: new Float32Array(decodeBytes(table.weights).buffer),
    p: decodeBytes(table.p),
  });
  return Object.fromEntries(Object.entries(paradigms).map(([name, table]) => [name, decode(table)]));
}

// Value of a table at a point: bilinear between the middles of its cells.
function interpolate({ cells, frame }, [x, y], at) {
  const [left, right, low, high] = frame;
  const column = Math.min(cells - 1.001, Math.max(0, ((x - left) / (right - left)) * cells - 0.5));
  const row = Math.min(cells - 1.001, Math.max(0, ((high - y) / (high - low)) * cells - 0.5));
  const [i, j] = [Math.floor(column), Math.floor(row)];
  const along = (k) => at(k * cells + i) * (i + 1 - column) + at(k * cells + i + 1) * (column - i);
  return along(j) * (j + 1 - row) + along(j + 1) * (row - j);
}

function probabilitiesAt(data, table, moment, point) {
  const count = data.classes.length;
  const start = moment * data.cells ** 2 * count;
  return data.classes.map((_, c) => interpolate(data, point, (i) => table.p[start + i * count + c] / 255));
}

// Attention, its weighted mean of the segments, and the probability of each class.
export function readBag(data, name, table, moment, points) {
  const start = moment * data.cells ** 2;
  const weights = points.map((point) => interpolate(data, point, (i) => table.weights[start + i]));
  const sum = weights.reduce((a, b) => a + b, 0) || 1;
  const alpha = weights.map((weight) => weight / sum);
  const weighted = (values) => alpha.reduce((total, a, j) => total + a * values[j], 0);
  const mean = [0, 1].map((k) => weighted(points.map((point) => point[k])));
  const answer = (point) => probabilitiesAt(data, table, moment, point);
  if (name === "soft") return { alpha, mean, p: answer(mean) };
  if (name !== "lvml") return { alpha, mean, p: answer(points[alpha.indexOf(Math.max(...alpha))]) };
  const answers = points.map(answer);
  return { alpha, mean, p: data.classes.map((_, c) => weighted(answers.map((p) => p[c]))) };
}

// Why soft attention stops improving, in two sentences computed from the tabulated curves.
export function explorableAnswer({ t, paradigms: { soft, hard } }) {
  const largest = Math.max(...soft.incentive);
  const peak = soft.incentive.indexOf(largest);
  const right = soft.accuracy.findIndex((share) => share >= 0.995);
  const end = t.length - 1;
  const left = (table) => formatNumber(100 * (1 - table.alpha[end]), 2);
  const delta = (table, k) => formatNumber(table.incentive[k], 2);
  return (
    "Soft attention stops improving because its incentive to look better, δ, dies: from epoch " +
    `${t[right]} on it answers every held-out bag right from a mixture with ` +
    `${formatPercent(soft.alpha[right])} of the attention on the segment that decides, so there is ` +
    `little left to gain, and δ falls from its peak of ${delta(soft, peak)} at epoch ${t[peak]} to ` +
    `${delta(soft, end)} at epoch ${t[end]}. Hard attention is scored on single segments, so its δ ` +
    `keeps growing, to ${delta(hard, end)}, and it leaves ${left(hard)}\u00a0% of the attention ` +
    `elsewhere where soft attention leaves ${left(soft)}\u00a0%.`
  );
}
