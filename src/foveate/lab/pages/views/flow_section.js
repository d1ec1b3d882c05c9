// The flows as figures with sliders; the answer in two sentences above them.

import { addressOf, params, setParams, viewName } from "../core/address.js";
import { get, isExported } from "../core/api.js";
import { formatNumber, formatPercent, h, render } from "../core/dom.js";
import { lineChart } from "../drawing/line_chart.js";
import { lineSample } from "../ui/charts.js";
import { csv, figure } from "../ui/figure.js";
import { checkbox, select, slider } from "../ui/controls.js";
import { PANELS } from "./flow_panels.js";

const LIMITS = { m: [2, 1000], classes: [2, 1000], until: [10, 1e6] };
const STORED = { m: [5, 20, 100], classes: [2, 5, 20, 100], until: [300, 3000, 30000] };
const LABELS = { m: "m, segments in a bag", classes: "C, classes", until: "Horizon, time" };
const logScale = { scale: (x) => 10 ** x, unscale: (x) => Math.log10(x), step: 0.005 };
const wholeScale = { ...logScale, scale: (x) => Math.round(10 ** x) };
const timeScale = { ...logScale, scale: (x) => Number((10 ** x).toPrecision(3)), format: formatNumber };
const DOTS = 25; // of a descent that are drawn

// Rounding below zero would add a negative tick to an axis that begins at zero.
const withoutNoise = (y) => (Math.abs(y) < 1e-9 ? 0 : y);

export function flowSettings() {
  const query = params();
  const read = (name, usual) => {
    const x = Number(query[name]);
    return query[name] !== undefined && Number.isFinite(x) ? x : usual;
  };
  return {
    m: read("m", 20),
    classes: read("classes", 20),
    until: read("until", 3000),
    alpha: query.alpha === undefined ? null : read("alpha", 0.5),
    switch: query.switch === undefined ? null : read("switch", 400),
    descent: query.descent === "1",
  };
}

export function flowSection(theme) {
  const figures = Object.fromEntries(
    Object.entries(PANELS).map(([key, { title, about, equation }]) => [
      key,
      figure({ title, about, equation, id: key, visible: true }),
    ]),
  );
  const answer = h("p", { class: "answer", id: "flow-answer", "aria-live": "polite" });
  const note = h("p", { class: "note", role: "status" });
  const gain = h("span", { class: "note", id: "gain", role: "status" });
  const settings = h("section", { class: "panel controls", "aria-label": "Settings" });
  const key = h("div", { class: "legend", "aria-hidden": "true" });
  const grid = h(
    "div",
    { class: "figures" },
    Object.values(figures).map((fig) => fig.element),
  );
  const element = h("div", { class: "flow" }, settings, key, note, grid);
  const charts = {};
  const state = { flow: null, descent: null, loading: false, stale: false, turn: 0 };

  const set = (values) => {
    setParams(values, { step: false });
    gain.textContent = "";
    update();
  };
  const setAndRedraw = (values) => {
    setParams(values);
    drawSettings();
    update();
  };

  function sizeControl(name, scale) {
    const value = flowSettings()[name];
    if (isExported) {
      const options = Object.fromEntries(STORED[name].map((x) => [x, String(x)]));
      const onchange = (x) => set({ [name]: x });
      return select({ label: LABELS[name], options, value: String(value), onchange });
    }
    const [min, max] = LIMITS[name];
    const oninput = (x) => set({ [name]: x });
    return slider({ label: LABELS[name], min, max, value, ...scale, oninput }).element;
  }

  function drawSettings() {
    const sizes = [
      sizeControl("m", wholeScale),
      sizeControl("classes", wholeScale),
      sizeControl("until", timeScale),
    ];
    const more = isExported ? [] : [fixedControl(), hybridControl(), descentControl()];
    render(settings, sizes, more);
  }

  function fixedControl() {
    const { alpha } = flowSettings();
    const toggle = (on) => setAndRedraw({ alpha: on ? 0.3 : null, ...(on ? { switch: null } : {}) });
    return h(
      "div",
      { class: "control stacked" },
      checkbox({ label: "Hold the focus", checked: alpha !== null, onchange: toggle }),
      slider({
        label: "fixed α",
        min: 0,
        max: 1,
        step: 0.01,
        value: alpha ?? 0.3,
        disabled: alpha === null,
        format: (x) => x.toFixed(2),
        oninput: (x) => set({ alpha: x }),
      }).element,
    );
  }

  function hybridControl() {
    const now = flowSettings();
    const fixed = now.alpha !== null;
    const hybrid = now.switch !== null;
    const toggle = (on) => {
      gain.textContent = "";
      setAndRedraw({ switch: on ? Number((0.4 * flowSettings().until).toPrecision(2)) : null });
    };
    const best = { type: "button", id: "best", disabled: fixed, onclick: findBestSwitch };
    return h(
      "div",
      { class: "control stacked" },
      checkbox({ label: "Hybrid: soft, then hard", checked: hybrid, disabled: fixed, onchange: toggle }),
      slider({
        label: "switch at",
        min: 0,
        max: 1,
        step: 0.005,
        value: Math.min(1, (now.switch ?? 0.4 * now.until) / now.until),
        disabled: !hybrid || fixed,
        format: (x) => formatNumber(x * flowSettings().until, 3),
        oninput: (x) => set({ switch: Number((x * flowSettings().until).toPrecision(3)) }),
      }).element,
      h("div", { class: "row" }, h("button", best, "Best switch"), gain),
    );
  }

  function descentControl() {
    const { alpha, descent } = flowSettings();
    const toggle = (on) => {
      setParams({ descent: on ? 1 : null });
      update();
    };
    const label = "Overlay a real gradient descent";
    return h(
      "div",
      { class: "control stacked" },
      checkbox({ label, checked: descent, disabled: alpha !== null, onchange: toggle }),
      h("span", { class: "note" }, "200 steps by the library's training loop, as dots"),
    );
  }

  // The switch after which the hybrid, read as the hard model that it is by then, loses least.
  async function findBestSwitch() {
    const { m, classes, until } = flowSettings();
    try {
      const best = await get("/api/flow/switch", { m, classes, until });
      const { hybrid, soft, hard } = best.final;
      setParams({ switch: Number(best.switch.toPrecision(4)) });
      drawSettings();
      const never = best.switch <= 0 || best.switch >= until;
      const always = soft.loss < hard.loss ? "soft" : "hard";
      const losses =
        `hard loss ${formatNumber(hybrid.loss, 3)}, with soft all the time ` +
        `${formatNumber(soft.loss, 3)}, hard ${formatNumber(hard.loss, 3)}`;
      gain.textContent = never
        ? `Before t = ${formatNumber(until)} switching does not pay: ${always} all the time is best.`
        : `At ${formatNumber(best.switch, 3)}: ${losses}. ` +
          `That is ${formatPercent(best.gain)} less than the better of the two.`;
      await update();
    } catch (error) {
      gain.textContent = error.message;
    }
  }

  async function update() {
    if (state.loading) {
      state.stale = true;
      return;
    }
    state.loading = true;
    note.setAttribute("aria-busy", "true");
    const now = flowSettings();
    const turn = ++state.turn;
    const { m, classes, until, alpha } = now;
    try {
      const content = await get("/api/flow", {
        m,
        classes,
        until,
        alpha,
        switch: alpha === null ? now.switch : null,
      });
      state.flow = content;
      state.descent = null;
      answer.textContent = content.answer;
      note.classList.remove("error");
      describeAt(null);
      drawFigures();
    } catch (error) {
      note.classList.add("error");
      const usual = h("a", { href: addressOf(viewName()) }, "Back to the usual settings");
      render(note, `${error.message}. `, usual);
      const empty = state.flow ? [] : Object.values(figures);
      empty.forEach((fig) => (fig.element.hidden = true));
    }
    state.loading = false;
    if (state.stale) {
      state.stale = false;
      return update();
    }
    note.setAttribute("aria-busy", "false");
    if (now.descent && alpha === null) await overlayDescent(turn, { m, classes, until });
  }

  async function overlayDescent(turn, sizes) {
    try {
      const descent = await get("/api/flow/descent", sizes);
      if (turn !== state.turn) return;
      state.descent = descent;
      drawFigures();
    } catch (error) {
      if (turn !== state.turn) return;
      note.classList.add("error");
      note.textContent = `No overlay: ${error.message}.`;
    }
  }

  const paradigms = () => Object.keys(state.flow.curves).filter((name) => name !== "t");

  // Values at the time under the pointer, or at the end.
  function describeAt(x) {
    const { curves } = state.flow;
    let at = curves.t.length - 1;
    if (x !== null) {
      curves.t.forEach((t, i) => {
        if (Math.abs(t - x) < Math.abs(curves.t[at] - x)) at = i;
      });
    }
    const value = (name, quantity) => formatNumber(curves[name][quantity][at], 3);
    const words = paradigms().map((name) => {
      const [alpha, delta, loss] = ["alpha", "incentive", "loss"].map((key) => value(name, key));
      return `${theme.paradigms[name].label} α ${alpha}, δ ${delta}, loss ${loss}`;
    });
    note.textContent = `At t = ${formatNumber(curves.t[at])}: ${words.join("; ")}.`;
    for (const [panel, fig] of Object.entries(figures)) {
      const known = paradigms().filter((name) => curves[name][panel] !== null);
      const values = known.map((name) => `${theme.paradigms[name].label} ${value(name, panel)}`);
      fig.subtitle.textContent = `t = ${formatNumber(curves.t[at])}: ${values.join(", ")}`;
    }
    if (x !== null) Object.values(charts).forEach((chart) => chart.move(curves.t[at]));
  }

  // The curves of a quantity, and those of a descent as dots.
  function seriesOf(panel) {
    const { curves } = state.flow;
    const available = paradigms().filter((name) => curves[name][panel] !== null);
    const flows = available.map((name) => {
      const { label, colour, dash } = theme.paradigms[name];
      return { label, colour, dash, x: curves.t, y: curves[name][panel].map(withoutNoise) };
    });
    if (!state.descent) return flows;
    const every = Math.ceil(state.descent.t.length / DOTS);
    const thin = (values) => values.filter((_, i) => i % every === 0);
    const descents = paradigms().filter((name) => name in state.descent);
    const dots = descents.map((name) => {
      const { label, colour } = theme.paradigms[name];
      const [x, y] = [state.descent.t, state.descent[name][panel]].map(thin);
      return { label, colour, dots: true, x, y };
    });
    return [...flows, ...dots];
  }

  function marksOf(panel) {
    const { peak, dead } = state.flow.events;
    if (!PANELS[panel].annotate || peak === undefined) return [];
    const top = PANELS[panel].annotate;
    const marks = [{ x: peak, label: "soft δ peaks", height: top }];
    if (dead !== null) marks.push({ x: dead, label: "soft δ below a tenth", height: top + 17 });
    return marks;
  }

  function drawFigures() {
    const names = paradigms().map((name) => theme.paradigms[name]);
    render(
      key,
      names.map((item) => h("span", {}, lineSample(item), item.label)),
    );
    for (const [panel, fig] of Object.entries(figures)) drawPanel(panel, fig);
  }

  function drawPanel(panel, fig) {
    const series = seriesOf(panel);
    fig.element.hidden = false;
    fig.element.classList.toggle("void", series.length === 0);
    charts[panel] ??= newChart(panel, fig);
    charts[panel].update(series, marksOf(panel));
  }

  function newChart(panel, fig) {
    const chart = lineChart(fig.body, { title: "time t", log: PANELS[panel].log ?? false });
    chart.onPointer(describeAt);
    fig.downloads.svg = chart.svg;
    fig.downloads.csv = () =>
      csv(
        seriesOf(panel).flatMap(({ label, x, y, dots }) => {
          const kind = dots ? "descent" : "flow";
          return x.map((t, i) => ({ t, [panel]: y[i], paradigm: label, kind }));
        }),
      );
    return chart;
  }

  drawSettings();
  return {
    element,
    answer,
    update,
    follow: () => {
      drawSettings();
      update();
    },
    destroy: () => Object.values(charts).forEach((chart) => chart.destroy()),
  };
}
