// One start in detail, a column a paradigm: what it looks at, what it says, how it came to that.

import { fill, h, percent, share } from "/pages/dom.js";
import { draw, lines, stacked } from "/pages/charts.js";
import { csv, empty, figure } from "/pages/parts.js";
import { bytes, focusPaint, plane, regionPaint } from "/pages/plane.js";
import { heat } from "/pages/heat.js";
import { bag, sentence } from "/pages/bag.js";
import { matrix } from "/pages/matrix.js";
import { sheet, written } from "/pages/sheet.js";

const ABOUT = {
  focus: ["Where the focus looks", "Base points over the focus score: the more orange the ground, the higher f scores a segment there. Crosses are background, filled shapes the classes. A right focus puts every filled shape on a ground more orange than all crosses.", "α_j = e^(f(x_j)) / Σ_k e^(f(x_k))"],
  regions: ["What the classifier reads", "Attended points over the regions in which g answers each class. A hollow point is a bag whose highest focus score lies on a wrong segment. Hollow points in a region of their own colour are right answers read from the wrong place.", "x̃ = Σ_j α_j x_j,   answer = argmax g(x̃)"],
  heat: ["Focus and prediction", "Share of held-out bags, in percent, by attention on the relevant segment (across) and probability of the true class (up). The outlined corner is SAIF: right answer, right place. The top left is right for the wrong reason.", "a_z = Σ_{j∈z} α_j,   SAIF = share with a_z ≥ .8 and p_y ≥ .8"],
  quadrants: ["How it came", "Shares of held-out bags over training. Blue: both right. Orange: right answer, wrong place. Light blue: right place, wrong answer. Grey: both wrong.", "FT = share of bags with max_{j∈z} f(x_j) > max_{j∉z} f(x_j)"],
  examples: ["Attention on held-out bags", "Orange frames are attention (opacity √α); the dashed ring marks the segment that decides the label.", "α_j = e^(f(x_j)) / Σ_k e^(f(x_k))"],
};

export async function member(place, training, look) {
  const stage = training.stage;
  if (!stage.seeds) { fill(place); return null; }
  if (stage.scene.kind === "copy") return copies(place, training, look);
  const columns = {};
  const seed = training.seed ?? training.job.first;
  fill(place,
    h("h2", {}, `Seed ${seed}, paradigm by paradigm`),
    h("div", { class: "legend" }, stage.scene.classes.map((name, k) => h("span", {}, h("span", { class: "key", style: { background: `var(--class-${k})` } }), name)), stage.scene.kind === "plane" && h("span", {}, "+ background")),
    h("div", { class: training.job.paradigms.length > 4 ? "columns many" : "columns" }, training.job.paradigms.map((name) => (columns[name] = column(name, stage, look)).element)));
  for (const [name, own] of Object.entries(columns)) {
    own.curves = training.curves[name] ?? {};
    if (training.details[name]) own.show(training.details[name]);
    await own.chart(training.stage.epochs);
  }
  return {
    add(frame) {
      for (const [name, own] of Object.entries(columns)) {
        if (frame.rows[name]) own.extend(frame.rows[name], stage.seeds.indexOf(seed));
        if (frame.details[name]) own.show(frame.details[name]);
      }
    },
    end: () => Object.values(columns).forEach((own) => own.end()),
  };
}

function titled(key) {
  const [title, about, equation] = ABOUT[key];
  return figure({ title, about, equation, id: key });
}

function column(name, stage, look) {
  const scene = stage.scene;
  const words = h("p", { class: "sentence" }, "Waiting for the first picture …");
  const table = h("tbody", {});
  const own = { curves: {}, made: null, due: false };
  const pictures = scene.kind === "plane" ? { focus: titled("focus"), regions: titled("regions") } : { examples: titled("examples") };
  const map = titled("heat"), path = titled("quadrants");
  path.place.classList.add("curve");
  const cells = heat(map);
  let drawn = null;
  own.element = h("article", { class: "member", style: { "border-top-color": look.paradigms[name].colour } },
    h("h3", {}, look.paradigms[name].label), words,
    h("div", { class: "scroll" }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", {}, ""), ["answer right", "focus right", "back\u00adground read as it"].map((words) => h("th", { class: "number", scope: "col" }, words)))),
      table)),
    h("div", { class: "pictures" }, Object.values(pictures).map((one) => one.element), map.element, path.element));

  own.show = (detail) => {
    words.textContent = detail.sentence;
    fill(table, scene.classes.map((label, k) => {
      const row = detail.classes[k], astray = detail.read_from_background.includes(k);
      return h("tr", { class: astray ? "astray" : null }, h("th", { scope: "row" }, label),
        [row.accuracy, row.ft, row.background].map((x) => h("td", { class: "number" }, percent(x))));
    }));
    cells.draw(detail.heat);
    drawn ??= scene.kind === "plane" ? planes(pictures, scene, look) : examples(pictures.examples, scene, look);
    drawn(detail, look.paradigms[name].label);
  };
  own.extend = (rows, at) => {
    for (const [key, values] of Object.entries(rows)) {
      if (key === "t") continue;
      const curve = (own.curves[key] ??= []);
      const since = curve.length ? curve.at(-1)[0] : -1;
      rows.t.forEach((t, i) => { if (t > since && values[i]?.[at] !== undefined) curve.push([t, values[i][at]]); });
    }
    if (own.made && !own.due) {
      own.due = true;
      setTimeout(() => { own.due = false; own.made?.update(quadrantRows()); }, 180);
    }
  };
  const quadrantRows = () => Object.entries(look.quadrants).flatMap(([key, { label }], order) => (own.curves[key] ?? []).map(([x, y]) => ({ x, share: y, name: label, order })));
  own.chart = async (epochs) => {
    own.made = await draw(path.place, stacked({ names: Object.values(look.quadrants), x: "epoch", until: epochs }), { rows: quadrantRows() });
    path.keep.svg = () => own.made.svg();
    path.keep.csv = () => csv(Object.entries(own.curves).flatMap(([key, values]) => values.map(([epoch, value]) => ({ epoch, quantity: key, value }))));
  };
  own.end = () => { own.made?.end(); own.made = null; };
  return own;
}

function planes(pictures, scene, look) {
  const focus = plane(pictures.focus, scene, look, true), regions = plane(pictures.regions, scene, look, false);
  return (detail, label) => {
    const levels = bytes(detail.focus), classes = bytes(detail.regions);
    focus.draw({ paint: focusPaint(levels, look), points: scene.points, words: `${label}: focus score over the plane. ${detail.sentence}`,
      cells: () => Array.from(levels, (level, i) => { const [x, y] = focus.at(i); return { what: "focus score", x, y, value: detail.low + (level / 255) * (detail.high - detail.low) }; }) });
    regions.draw({ paint: regionPaint(classes, look), points: detail.attended, words: `${label}: attended points over the decision regions of the classifier. ${detail.sentence}`,
      cells: () => Array.from(classes, (k, i) => { const [x, y] = regions.at(i); return { what: "decision", x, y, class: scene.classes[k] }; }) });
  };
}

function examples(fig, scene, look) {
  const made = scene.examples.map((own, k) => {
    const shown = own.tokens ? sentence(own.tokens, own.z, look) : bag(own.segments, own.z, look, `Bag ${k + 1}, truly ${own.truth}`);
    const says = h("p", { class: "note" });
    return { shown, says, element: h("div", {}, shown.element, says) };
  });
  fill(fig.place, h("div", { class: scene.kind === "words" ? "" : "bags" }, made.map((own) => own.element)));
  fig.place.classList.add("free");
  return (detail) => {
    detail.examples.forEach((own, k) => {
      made[k].shown.attend(own.alpha);
      made[k].says.textContent = `truly ${scene.examples[k].truth}, says ${own.says} (${share(own.p)})${own.right ? (own.focused ? "" : ", for the wrong reason") : ", wrong"}`;
    });
    fig.keep.csv = () => csv(detail.examples.flatMap((own, k) => own.alpha.map((alpha, j) => ({ bag: k + 1, truth: scene.examples[k].truth, says: own.says, segment: j + 1, relevant: scene.examples[k].z[j], alpha }))));
    const picture = (own, k) => (scene.examples[k].tokens ? written(scene.examples[k].tokens, own.alpha, scene.examples[k].z, look) : made[k].shown.element);
    fig.keep.svg = () => sheet(detail.examples.map((own, k) => ({ svg: picture(own, k), words: made[k].says.textContent })), scene.kind === "words" ? 1 : 3);
  };
}

async function copies(place, training, look) {
  const kinds = training.job.paradigms;
  const names = kinds.map((kind, k) => ({ label: kind, colour: look.classes[k], dash: [1, 0] }));
  const quantities = { accuracy: ["Words copied right", "Share of held-out words that are written right, given the true words before them.", "accuracy = mean [argmax p(y_t | y_<t, x) = y_t]"],
    on: ["Attention on the word to copy", "Chance is one in the length of the sequence. Until attention is learnt, this stays low.", "α_t,l at the l with x_l = y_t"],
    knows: ["Which word knows", "Share of places where the evidence β of a position by itself is largest at the word to copy: what the model knows before attention does.", "β_t,l = p(y_t | position l alone)"] };
  const figures = Object.entries(quantities).map(([key, [title, about, equation]]) => ({ key, own: figure({ title, about, equation, id: key }) }));
  const grids = kinds.map((kind) => ({ kind, own: figure({ title: `Attention while copying (${kind})`, about: "Each row is a word that is written, each column a word that was read; dark is attention. Learnt copying is a diagonal.", equation: "α_t,l over the words read", id: `matrix-${kind}` }) }));
  fill(place, h("h2", {}, "Learning to copy"), h("div", { class: "figures" }, figures.map(({ own }) => own.element), grids.map(({ own }) => own.element)));
  const curves = structuredClone(training.curves);
  const rows = (key) => kinds.flatMap((kind) => (curves[kind]?.[key] ?? []).map(([x, y]) => ({ x, y, name: kind })));
  const charts = [];
  for (const { key, own } of figures) {
    const made = await draw(own.place, lines({ names, x: "step", y: null, domainY: [0, 1], domainX: [0, training.stage.epochs], legend: true }), { rows: rows(key) });
    own.keep.svg = () => made.svg();
    own.keep.csv = () => csv(rows(key).map(({ x, y, name }) => ({ step: x, [key]: y, kind: name })));
    charts.push({ key, made });
  }
  const show = (details) => grids.forEach(({ kind, own }) => { if (details[kind]) matrix(own, details[kind], look); });
  grids.forEach(({ own }) => fill(own.place, empty("Waiting", "Its turn has not come yet.")));
  show(training.details);
  return {
    add(frame) {
      for (const [kind, more] of Object.entries(frame.rows)) {
        for (const [key, values] of Object.entries(more)) {
          if (key === "t") continue;
          const curve = ((curves[kind] ??= {})[key] ??= []);
          const since = curve.length ? curve.at(-1)[0] : -1;
          more.t.forEach((t, i) => { if (t > since) curve.push([t, values[i][0]]); });
        }
      }
      charts.forEach(({ key, made }) => made.update(rows(key)));
      show(frame.details);
    },
    end: () => charts.forEach(({ made }) => made.end()),
  };
}
