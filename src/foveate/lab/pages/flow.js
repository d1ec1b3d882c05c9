// Flow: the exact dynamics of the paradigms as sliders move, and a real descent beside them.

import { fill, h, number, percent } from "/pages/dom.js";
import { change, state } from "/pages/address.js";
import { get, look } from "/pages/api.js";
import { draw, lines } from "/pages/charts.js";
import { check, csv, figure, slider } from "/pages/parts.js";

const PANELS = {
  mu: ["μ, the classifier", "How far the classifier has grown, w_k = μ (s_k − s̄). It starts at 0 and learns from whatever the attention lets through.", "soft:  μ̇ = α / (e^(αμ) + C − 1)\nhard:  μ̇ = α β / e^μ\nLVML:  μ̇ = α β² / (Z e^μ),   Z = αβ + (1 − α)/C"],
  nu: ["ν, the focus", "How far the focus has grown, u = ν Σ s_k. The larger ν, the more attention goes to the segment that decides the label.", "ν̇ = α (1 − α) / C · δ,   δ the incentive of the paradigm"],
  alpha: ["α, attention on the foreground", "The share of attention on the one segment that decides the label. It starts at 1/m. Soft attention rises before hard attention does, and stops improving before it: once the classifier is good enough on the mixture, little is left to gain from looking better.", "α = e^ν / (e^ν + m − 1)"],
  loss: ["Loss", "What each paradigm lowers. Soft attention reaches a small loss under a weak focus: that is why a low loss says little about where a model looks.", "soft:  log(1 + (C − 1) e^(−αμ))\nhard:  −α log β + (1 − α) log C\nLVML:  −log(αβ + (1 − α)/C)"],
  incentive: ["δ, incentive to look better", "How much the loss would fall if a little more attention went to the foreground, with the classifier held. Soft attention's incentive dies first.", "δ = −∂L/∂α\nsoft:  μ (C − 1) / (e^(αμ) + C − 1)\nhard:  log(Cβ)\nLVML:  (β − 1/C) / Z,   Z = αβ + (1 − α)/C"],
  beta: ["β, the right class on the foreground", "The probability that the classifier gives the right class when it sees the foreground segment alone.", "β = e^μ / (e^μ + C − 1)"],
};
const LIMITS = { m: [2, 1000], classes: [2, 1000], until: [10, 1e6] };
const log = { scale: (x) => 10 ** x, unscale: (x) => Math.log10(x), step: 0.005 };
const whole = { ...log, scale: (x) => Math.round(10 ** x) };

export async function open(place) {
  const seen = await look();
  const settings = () => {
    const own = state();
    const read = (name, usual) => { const x = Number(own[name]); return own[name] !== undefined && Number.isFinite(x) ? x : usual; };
    return { m: read("m", 20), classes: read("classes", 20), until: read("until", 1000),
      alpha: own.alpha === undefined ? null : read("alpha", 0.5),
      switch: own.switch === undefined ? null : read("switch", 400), descent: own.descent === "1" };
  };

  const figures = Object.fromEntries(Object.entries(PANELS).map(([key, [title, about, equation]]) => [key, figure({ title, about, equation, id: key })]));
  const note = h("p", { class: "note", role: "status" });
  const controls = h("section", { class: "panel controls", "aria-label": "Settings" });
  const key = h("div", { class: "legend", "aria-hidden": "true" });
  const gain = h("span", { class: "note", id: "gain", role: "status" });
  fill(place,
    h("h1", {}, "Why does soft attention stop improving?"),
    h("p", { class: "lead" }, "One segment of each bag decides its label. Three ways to train the same linear model, solved exactly: no data, no noise, no step size. Move a slider."),
    controls, key, note,
    h("div", { class: "figures" }, Object.values(figures).map((own) => own.element)));

  const charts = {};
  let flow = null, descent = null, asked = false, again = false, turn = 0;

  function drawControls() {
    const now = settings();
    const set = (values) => { change(values, { step: false }); gain.textContent = ""; redraw(); };
    const fixed = now.alpha !== null, hybrid = now.switch !== null;
    fill(controls,
      slider({ label: "m, segments in a bag", min: LIMITS.m[0], max: LIMITS.m[1], value: now.m, ...whole, oninput: (m) => set({ m }) }).element,
      slider({ label: "C, classes", min: LIMITS.classes[0], max: LIMITS.classes[1], value: now.classes, ...whole, oninput: (classes) => set({ classes }) }).element,
      slider({ label: "Horizon, time", min: LIMITS.until[0], max: LIMITS.until[1], value: now.until, ...log, scale: (x) => Number((10 ** x).toPrecision(3)), show: (x) => number(x), oninput: (until) => set({ until }) }).element,
      h("div", { class: "control both" },
        check({ label: "Hold the focus", checked: fixed, onchange: (on) => { change({ alpha: on ? 0.3 : null, ...(on ? { switch: null } : {}) }); drawControls(); redraw(); } }),
        slider({ label: "fixed α", min: 0, max: 1, step: 0.01, value: now.alpha ?? 0.3, disabled: !fixed, show: (x) => x.toFixed(2), oninput: (alpha) => set({ alpha }) }).element),
      h("div", { class: "control both" },
        check({ label: "Hybrid: soft, then hard", checked: hybrid, disabled: fixed, onchange: (on) => { gain.textContent = ""; change({ switch: on ? Number((0.4 * settings().until).toPrecision(2)) : null }); drawControls(); redraw(); } }),
        slider({ label: "switch at", min: 0, max: 1, step: 0.005, value: Math.min(1, (now.switch ?? 0.4 * now.until) / now.until), disabled: !hybrid || fixed, show: (x) => number(x * settings().until, 3), oninput: (x) => set({ switch: Number((x * settings().until).toPrecision(3)) }) }).element,
        h("div", { class: "row" }, h("button", { type: "button", id: "best", disabled: fixed, onclick: best }, "Best switch"), gain)),
      h("div", { class: "control both" },
        check({ label: "Overlay a real gradient descent", checked: now.descent, disabled: fixed, onchange: (on) => { change({ descent: on ? 1 : null }); redraw(); } }),
        h("span", { class: "note" }, "200 steps by the library's own training loop, as dots")));
  }

  // The switch after which the hybrid, read as the hard model that it is by then, loses least.
  async function best() {
    const { m, classes, until } = settings();
    try {
      const found = await get("/api/flow/switch", { m, classes, until });
      const { hybrid, soft, hard } = found.ends;
      change({ switch: Number(found.switch.toPrecision(4)) });
      drawControls();
      gain.textContent = found.switch <= 0 || found.switch >= until
        ? `Before t = ${number(until)} it does not pay to switch: ${soft.loss < hard.loss ? "soft" : "hard"} all the time is best.`
        : `At ${number(found.switch, 3)}: hard loss ${number(hybrid.loss, 3)}, with soft all the time ${number(soft.loss, 3)}, hard ${number(hard.loss, 3)}. That is ${percent(found.gain)} less than the better of the two.`;
      await redraw();
    } catch (error) {
      gain.textContent = error.message;
    }
  }

  async function redraw() {
    if (asked) { again = true; return; }
    asked = true;
    note.setAttribute("aria-busy", "true");
    const now = settings(), mine = ++turn;
    try {
      flow = await get("/api/flow", { m: now.m, classes: now.classes, until: now.until, alpha: now.alpha, switch: now.alpha === null ? now.switch : null });
      note.classList.remove("error");
      note.textContent = said(flow, now);
      descent = null;
      await paint(now);
    } catch (error) {
      note.classList.add("error");
      note.textContent = error.message;
    }
    asked = false;
    if (again) { again = false; return redraw(); }
    note.setAttribute("aria-busy", "false");
    if (now.descent && now.alpha === null) {
      try {
        descent = await get("/api/flow/descent", { m: now.m, classes: now.classes, until: now.until });
        if (mine === turn) await paint(now);
      } catch (error) {
        if (mine === turn) { note.classList.add("error"); note.textContent = `No overlay: ${error.message}.`; }
      }
    }
  }

  function said(rows, now) {
    const names = Object.keys(rows).filter((name) => name !== "t");
    const end = (name) => `${seen.paradigms[name].label} α ${number(rows[name].alpha.at(-1), 3)}, loss ${number(rows[name].loss.at(-1), 3)}`;
    return `At t = ${number(now.until)}: ${names.map(end).join("; ")}.`;
  }

  async function paint(now) {
    const names = Object.keys(flow).filter((name) => name !== "t");
    const marks = names.map((name) => ({ ...seen.paradigms[name], name }));
    fill(key, marks.map((own) => h("span", {}, h("span", { class: "stroke", style: { background: own.colour } }), own.label)));
    for (const [panel, own] of Object.entries(figures)) {
      const rows = names.flatMap((name) => flow[name][panel] === null ? [] : flow.t.map((x, i) => ({ x, y: flow[name][panel][i], name: seen.paradigms[name].label })));
      if (descent) {
        for (const name of names.filter((own) => own in descent)) {
          const every = Math.ceil(descent.t.length / 25);
          descent.t.forEach((x, i) => { if (i % every === 0) rows.push({ x, y: descent[name][panel][i], name: seen.paradigms[name].label, dot: true }); });
        }
      }
      own.element.classList.toggle("void", rows.length === 0);
      const form = JSON.stringify(names);
      if (charts[panel]?.form === form) await charts[panel].update(rows);
      else {
        charts[panel]?.end();
        charts[panel] = await draw(own.place, lines({ names: marks, x: "time t", y: null, dots: true }), { rows });
        charts[panel].form = form;
      }
      const made = charts[panel];
      own.keep.svg = () => made.svg();
      own.keep.csv = () => csv(rows.map(({ x, y, name, dot }) => ({ t: x, [panel]: y, paradigm: name, kind: dot ? "descent" : "flow" })));
    }
  }

  drawControls();
  await redraw();
  return {
    follow: () => { drawControls(); redraw(); },
    leave: () => Object.values(charts).forEach((own) => own.end()),
  };
}
