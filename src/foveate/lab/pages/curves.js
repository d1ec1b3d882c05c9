// Curves of runs over training: thinned on the server, exact where one looks closely.

import { fill, h, number } from "/pages/dom.js";
import { change, state } from "/pages/address.js";
import { get } from "/pages/api.js";
import { draw, lines } from "/pages/charts.js";
import { csv, figure, select, slider } from "/pages/parts.js";

const OTHER_TITLES = { train_loss: "Training loss" }; // what is no registered metric
const SPARE = ["#332288", "#117733", "#AA4499", "#661100", "#6699CC", "#999933"];

// Further controls and figures may stand with the curve; `moved` hears where the slider stands.
export async function curves(names, run, look, { controls: more = [], figures = [], moved = () => {} } = {}) {
  const title = (key) => look.metrics?.[key]?.title ?? OTHER_TITLES[key] ?? key;
  const quantities = [...new Set(Object.values(run.parts).flatMap((part) => part.quantities))];
  const last = Math.max(...Object.values(run.parts).map((part) => part.last));
  const now = () => { const own = state(); return { quantity: quantities.includes(own.quantity) ? own.quantity : quantities.includes("ft") ? "ft" : quantities[0], start: own.from === undefined ? null : Number(own.from), end: own.to === undefined ? null : Number(own.to), at: own.at === undefined ? last : Number(own.at) }; };
  const fig = figure({ title: "Over training", about: "Mean over seeds; the band reaches from the lowest seed to the highest. The upright line stands where the slider does. Drag across the curve, or use the buttons, to look closely: then every measured point is drawn.", id: "curve", wide: true });
  const controls = h("div", { class: "controls" }), numbers = h("p", { class: "note", role: "status" });
  let made = null, data = null, form = "";
  const label = (run_, part) => (names.length > 1 ? `${run_}: ${look.paradigms[part]?.label ?? part}` : look.paradigms[part]?.label ?? part);
  const marks = () => data.map(({ run: own, part }, k) => ({ label: label(own, part), colour: names.length > 1 ? [...look.classes, ...SPARE][k % 12] : look.paradigms[part]?.colour ?? SPARE[k % 6], dash: look.paradigms[part]?.dash ?? [1, 0] }));
  const rows = () => data.flatMap(({ run: own, part, curve }) => curve.t.map((x, i) => ({ x, y: curve.mean[i], low: curve.low[i], high: curve.high[i], name: label(own, part) })));

  const step = last <= 1000 ? 1 : last / 1000;
  const where = slider({ label: "Step through training: epoch", min: 0, max: last || 1, step, value: Math.min(now().at, last), show: (x) => number(x, 7), oninput: (at) => { change({ at: at === last ? null : number(at, 7) }, { step: false }); stand(); } });

  function drawControls() {
    const own = now(), whole = own.start === null && own.end === null;
    fill(controls,
      select({ label: "Curve", value: own.quantity, options: Object.fromEntries(quantities.map((key) => [key, title(key)])), onchange: (quantity) => { change({ quantity }); drawControls(); redraw(); } }),
      more,
      h("div", { class: "control both" }, h("span", {}, whole ? "The whole training is shown." : `Shown: ${number(own.start ?? 0)} to ${number(own.end ?? last)}`),
        h("div", { class: "row" },
          h("button", { type: "button", onclick: () => zoom(0.25) }, "Closer"), h("button", { type: "button", disabled: whole, onclick: () => { change({ from: null, to: null }); drawControls(); redraw(); } }, "All"))));
  }
  function stand() {
    const { at } = now();
    made?.move(at);
    tell();
    moved(at);
  }
  function zoom(half) {
    const own = now(), [low, high] = [own.start ?? 0, own.end ?? last];
    const middle = Math.min(high, Math.max(low, own.at)), reach = (high - low) * half;
    set(Math.max(0, middle - reach), Math.min(last, middle + reach));
  }
  function set(from, to) {
    change({ from: number(from, 6), to: number(to, 6) });
    drawControls();
    redraw();
  }
  function tell() {
    if (!data) return;
    const { at, quantity } = now();
    const near = data.map(({ run: own, part, curve }) => { let best = 0; curve.t.forEach((t, i) => { if (Math.abs(t - at) < Math.abs(curve.t[best] - at)) best = i; }); return `${label(own, part)} ${number(curve.mean[best], 3)}`; });
    numbers.textContent = `${title(quantity)} at epoch ${number(at)}: ${near.join("; ")}.`;
  }
  async function redraw() {
    const own = now();
    const answers = await Promise.all(names.map((name) => get("/api/run/curves", { run: name, quantity: own.quantity, start: own.start, end: own.end })));
    data = answers.flatMap((answer, k) => Object.entries(answer.parts).map(([part, curve]) => ({ run: names[k], part, curve })));
    const total = Math.max(...data.map(({ curve }) => curve.rows)), exact = data.every(({ curve }) => curve.exact);
    fig.words.textContent = `${title(own.quantity)}. ${exact ? `All ${total.toLocaleString("en")} points are drawn.` : `Thinned from ${total.toLocaleString("en")} points; look closer to see all.`}`;
    const next = JSON.stringify([own.quantity, own.start, own.end, data.map(({ run: a, part }) => [a, part])]);
    if (made && form === next) await made.update(rows());
    else {
      made?.end();
      const spec = lines({ names: marks(), x: "epoch", y: null, band: true, legend: true, height: 220, domainX: own.start === null ? [0, last || 1] : [own.start, own.end ?? last], zoom: true, stand: true });
      made = await draw(fig.place, spec, { rows: rows(), at: own.at });
      form = next;
      made.view.addSignalListener("brush", (_, value) => { made.brush = value.x; });
      made.view.addEventListener("pointerup", () => { const range = made.brush; made.brush = null; if (range && range[1] > range[0]) set(range[0], range[1]); });
    }
    fig.keep.svg = () => made.svg();
    fig.keep.csv = () => csv(data.flatMap(({ run: run_, part, curve }) => curve.t.map((epoch, i) => ({ run: run_, paradigm: part, epoch, quantity: own.quantity, mean: curve.mean[i], lowest: curve.low[i], highest: curve.high[i] }))));
    tell();
  }
  drawControls();
  await redraw();
  moved(now().at);
  return {
    element: h("div", {}, h("div", { class: "panel" }, controls), h("div", { class: "panel stay" }, where.element, numbers), h("div", { class: "figures" }, fig.element, figures)),
    // The slider at the end, as if it had been moved there.
    toEnd() { where.range.value = last; where.range.dispatchEvent(new Event("input")); },
    end: () => made?.end(),
  };
}
