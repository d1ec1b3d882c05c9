// Curves of runs over training: thinned on the server, exact where one looks closely.

import { params, setParams } from "../core/address.js";
import { get } from "../core/api.js";
import { formatNumber, h, render } from "../core/dom.js";
import { drawChart, lineSpec } from "../ui/charts.js";
import { select, slider } from "../ui/controls.js";
import { csv, figure } from "../ui/figure.js";

const OTHER_TITLES = { train_loss: "Training loss" }; // quantities that are no registered metric
const SPARE = ["#332288", "#117733", "#AA4499", "#661100", "#6699CC", "#999933"];
const RUN_DASHES = [[1, 0], [7, 4], [2, 3], [10, 3, 2, 3], [14, 5], [4, 2, 1, 2]];
const USUAL = ["ft", "accuracy"]; // quantities to begin with

// Which quantities each run has; where several are compared, parts are named "run/part".
function quantitiesOf(names, parts) {
  const partsOf = (name) =>
    Object.entries(parts).filter(([key]) => names.length === 1 || key.startsWith(`${name}/`));
  return Object.fromEntries(
    names.map((name) => [name, new Set(partsOf(name).flatMap(([, part]) => part.quantities))]),
  );
}

// Further controls and figures may stand with the curve; `moved` hears where the slider stands.
export async function drawCurves(
  names,
  run,
  theme,
  { controls: more = [], figures = [], moved = () => {}, short = {} } = {},
) {
  const quantities = [...new Set(Object.values(run.parts).flatMap((part) => part.quantities))];
  const known = quantitiesOf(names, run.parts);
  const shared = quantities.filter((key) => names.every((name) => known[name].has(key)));
  const first = USUAL.find((key) => shared.includes(key)) ?? shared[0] ?? quantities[0];
  const last = Math.max(...Object.values(run.parts).map((part) => part.last));
  const now = () => {
    const range = params();
    return {
      quantity: quantities.includes(range.quantity) ? range.quantity : first,
      start: range.from === undefined ? null : Number(range.from),
      end: range.to === undefined ? null : Number(range.to),
      at: range.at === undefined ? last : Number(range.at),
    };
  };
  const titleOf = (key) => theme.metrics?.[key]?.title ?? OTHER_TITLES[key] ?? key;
  const fig = figure({
    title: "Over training",
    about:
      "Mean over seeds; the band reaches from the lowest seed to the highest. The upright" +
      " line stands where the slider does. Drag across the curve, or use the buttons, to " +
      "look closely: then every measured point is drawn.",
    id: "curve",
    wide: true,
  });
  const controls = h("div", { class: "controls" }),
    numbers = h("p", { class: "note", role: "status" });
  let chart = null,
    data = null,
    form = "";
  const label = (run_, part) =>
    names.length > 1
      ? `${short[run_] ?? run_}: ${theme.paradigms[part]?.label ?? part}`
      : (theme.paradigms[part]?.label ?? part);
  const marks = () =>
    data.map(({ run: name, part }, k) => ({
      label: label(name, part),
      colour: theme.paradigms[part]?.colour ?? SPARE[k % SPARE.length],
      dash:
        names.length > 1
          ? RUN_DASHES[names.indexOf(name) % RUN_DASHES.length]
          : (theme.paradigms[part]?.dash ?? [1, 0]),
    }));
  const rows = () =>
    data.flatMap(({ run: name, part, curve }) =>
      curve.t.map((x, i) => ({
        x,
        y: curve.mean[i],
        low: curve.low[i],
        high: curve.high[i],
        name: label(name, part),
      })),
    );

  const step = last <= 1000 ? 1 : last / 1000;
  const where = slider({
    label: "Step through training: epoch",
    min: 0,
    max: last || 1,
    step,
    value: Math.min(now().at, last),
    format: (x) => formatNumber(x, 7),
    oninput: (at) => {
      setParams({ at: at === last ? null : formatNumber(at, 7) }, { step: false });
      showMoment();
    },
  });

  function drawControls() {
    const range = now(),
      whole = range.start === null && range.end === null;
    render(
      controls,
      select({
        label: "Curve",
        value: range.quantity,
        options: Object.fromEntries(quantities.map((key) => [key, titleOf(key)])),
        onchange: (quantity) => {
          setParams({ quantity });
          drawControls();
          redraw();
        },
      }),
      more,
      h(
        "div",
        { class: "control stacked" },
        h(
          "span",
          {},
          whole
            ? "The whole training is shown."
            : `Shown: ${formatNumber(range.start ?? 0)} to ${formatNumber(range.end ?? last)}`,
        ),
        h(
          "div",
          { class: "row" },
          h("button", { type: "button", onclick: () => zoom(0.25) }, "Closer"),
          h(
            "button",
            {
              type: "button",
              disabled: whole,
              onclick: () => {
                setParams({ from: null, to: null });
                drawControls();
                redraw();
              },
            },
            "All",
          ),
        ),
      ),
    );
  }
  function showMoment() {
    const { at } = now();
    chart?.move(at);
    describe();
    moved(at);
  }
  function zoom(half) {
    const range = now(),
      [low, high] = [range.start ?? 0, range.end ?? last];
    const middle = Math.min(high, Math.max(low, range.at)),
      reach = (high - low) * half;
    set(Math.max(0, middle - reach), Math.min(last, middle + reach));
  }
  function set(from, to) {
    setParams({ from: formatNumber(from, 6), to: formatNumber(to, 6) });
    drawControls();
    redraw();
  }
  function describe(at = now().at) {
    if (!data) return;
    const { quantity } = now();
    const near = data.map(({ run: name, part, curve }) => {
      let best = 0;
      curve.t.forEach((t, i) => {
        if (Math.abs(t - at) < Math.abs(curve.t[best] - at)) best = i;
      });
      return `${label(name, part)} ${formatNumber(curve.mean[best], 3)}`;
    });
    numbers.textContent = `${titleOf(quantity)} at epoch ${formatNumber(at)}: ${near.join("; ")}.`;
  }
  async function redraw() {
    const range = now();
    const drawn = names.filter((name) => known[name].has(range.quantity));
    const answers = await Promise.all(
      drawn.map((name) =>
        get("/api/run/curves", {
          run: name,
          quantity: range.quantity,
          start: range.start,
          end: range.end,
        }),
      ),
    );
    data = answers.flatMap((answer, k) =>
      Object.entries(answer.parts).map(([part, curve]) => ({ run: drawn[k], part, curve })),
    );
    const total = Math.max(...data.map(({ curve }) => curve.rows)),
      exact = data.every(({ curve }) => curve.exact);
    const points = total.toLocaleString("en");
    const title = titleOf(range.quantity);
    const absent = names.filter((name) => !drawn.includes(name)).map((name) => short[name] ?? name);
    const without = absent.length ? ` Not measured in ${absent.join(", ")}.` : "";
    const thinned = exact
      ? `All ${points} points are drawn.`
      : `Thinned from ${points} points; look closer to see all.`;
    fig.subtitle.textContent = `${title}. ${thinned}${without}`;
    const next = JSON.stringify([
      range.quantity,
      range.start,
      range.end,
      data.map(({ run: a, part }) => [a, part]),
    ]);
    if (chart && form === next) await chart.update(rows());
    else {
      chart?.destroy();
      const spec = lineSpec({
        names: marks(),
        x: "epoch",
        y: null,
        band: true,
        legend: true,
        height: 220,
        domainX: range.start === null ? [0, last || 1] : [range.start, range.end ?? last],
        zoom: true,
        withCursor: true,
      });
      chart = await drawChart(fig.body, spec, { rows: rows(), at: range.at });
      form = next;
      chart.onPointer((x) => describe(x ?? now().at));
      chart.view.addSignalListener("brush", (_, value) => {
        chart.brush = value.x;
      });
      chart.view.addEventListener("pointerup", () => {
        const range = chart.brush;
        chart.brush = null;
        if (range && range[1] > range[0]) set(range[0], range[1]);
      });
    }
    fig.downloads.svg = () => chart.svg();
    fig.downloads.csv = () =>
      csv(
        data.flatMap(({ run: run_, part, curve }) =>
          curve.t.map((epoch, i) => ({
            run: run_,
            paradigm: part,
            epoch,
            quantity: range.quantity,
            mean: curve.mean[i],
            lowest: curve.low[i],
            highest: curve.high[i],
          })),
        ),
      );
    describe();
  }
  drawControls();
  await redraw();
  moved(now().at);
  return {
    element: h(
      "div",
      {},
      h("div", { class: "panel" }, controls),
      h("div", { class: "panel sticky" }, where.element, numbers),
      h("div", { class: "figures" }, fig.element, figures),
    ),
    // The slider at the end, as if it had been moved there.
    toEnd() {
      where.range.value = last;
      where.range.dispatchEvent(new Event("input"));
    },
    // What the address says, after Back.
    async follow() {
      drawControls();
      where.set(Math.min(now().at, last));
      await redraw();
      showMoment();
    },
    destroy: () => chart?.destroy(),
  };
}
