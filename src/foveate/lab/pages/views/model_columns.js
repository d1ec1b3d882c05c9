// One start in detail, a column a paradigm: what it looks at, what it says, how it came to that.

import { formatPercent, formatShare, h, render } from "../core/dom.js";
import { drawBag } from "../drawing/bag.js";
import { collage, drawWords } from "../drawing/collage.js";
import { heatmap } from "../drawing/heatmap.js";
import { drawTokens } from "../drawing/tokens.js";
import { decodeBytes, drawPlane, focusPaint, regionPaint } from "../drawing/plane.js";
import { drawChart, stackedSpec } from "../ui/charts.js";
import { csv, figure } from "../ui/figure.js";
import { copyingCharts } from "./copying_charts.js";

const ABOUT = {
  focus: [
    "Where the focus looks",
    "Base points over the focus score: the more violet the ground, the higher f scores a " +
      "segment there. Crosses are background, filled shapes the classes. A right focus puts" +
      " every filled shape on a ground more violet than all crosses.",
    "α_j = e^(f(x_j)) / Σ_k e^(f(x_k))",
  ],
  regions: [
    "What the classifier reads",
    "Attended points over the regions in which g answers each class. A hollow point is a " +
      "bag whose highest focus score lies on a wrong segment. Hollow points in a region of " +
      "their column colour are right answers read from the wrong segment.",
    "x̃ = Σ_j α_j x_j,   answer = argmax g(x̃)",
  ],
  heat: [
    "Focus and prediction",
    "Share of held-out bags, in percent, by attention on the relevant segment (across) " +
      "and probability of the true class (up). The outlined corner is SAIF: right answer, " +
      "right segment. The top left is right for the wrong reason.",
    "a_z = Σ_{j∈z} α_j,   SAIF = share with a_z ≥ .8 and p_y ≥ .8",
  ],
  quadrants: [
    "Over training",
    "Shares of held-out bags over job. From the bottom: both right; right answer, wrong " +
      "segment; right segment, wrong answer; both wrong.",
    "FT = share of bags with max_{j∈z} f(x_j) > max_{j∉z} f(x_j)",
  ],
  examples: [
    "Attention on held-out bags",
    "Violet frames are attention (opacity √α); the dashed ring marks the segment that decides the label.",
    "α_j = e^(f(x_j)) / Σ_k e^(f(x_k))",
  ],
};

export async function modelColumns(container, job, theme) {
  const setup = job.setup;
  if (!setup.seeds) {
    render(container);
    return null;
  }
  if (setup.view.kind === "copy") return copyingCharts(container, job, theme);
  const columns = {};
  const seed = job.seed ?? job.job.first;
  render(
    container,
    h("h2", {}, `Seed ${seed}, paradigm by paradigm`),
    h(
      "div",
      { class: "legend" },
      setup.view.classes.map((name, k) =>
        h("span", {}, h("span", { class: "key", style: { background: `var(--class-${k})` } }), name),
      ),
      setup.view.kind === "plane" && h("span", {}, "+ background"),
    ),
    h(
      "div",
      { class: job.job.paradigms.length > 4 ? "columns many" : "columns" },
      job.job.paradigms.map((name) => (columns[name] = makeColumn(name, setup, theme)).element),
    ),
  );
  for (const [name, column] of Object.entries(columns)) {
    column.curves = job.curves[name] ?? {};
    if (job.details[name]) column.show(job.details[name]);
    await column.drawChart(job.setup.epochs);
  }
  return {
    add(frame) {
      for (const [name, column] of Object.entries(columns)) {
        if (frame.rows[name]) column.extend(frame.rows[name], setup.seeds.indexOf(seed));
        if (frame.details[name]) column.show(frame.details[name]);
      }
    },
    destroy: () => Object.values(columns).forEach((column) => column.destroy()),
  };
}

function figureOf(key) {
  const [title, about, equation] = ABOUT[key];
  return figure({ title, about, equation, id: key });
}

function makeColumn(name, setup, theme) {
  const view = setup.view;
  const words = h("p", { class: "sentence" }, "Waiting for the first picture …");
  const table = h("tbody", {});
  const column = { curves: {}, chart: null, due: false };
  const pictures =
    view.kind === "plane"
      ? { focus: figureOf("focus"), regions: figureOf("regions") }
      : { examples: figureOf("examples") };
  const map = figureOf("heat"),
    path = figureOf("quadrants");
  path.body.classList.add("curve");
  const cells = heatmap(map);
  let drawn = null;
  column.element = h(
    "article",
    { class: "model", style: { "border-top-color": theme.paradigms[name].colour } },
    h("h3", {}, theme.paradigms[name].label),
    words,
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "group", "aria-label": "Outcome by class" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("td", {}),
            ["answer right", "focus right", "back\u00adground read as it"].map((words) =>
              h("th", { class: "number", scope: "col" }, words),
            ),
          ),
        ),
        table,
      ),
    ),
    h(
      "div",
      { class: "pictures" },
      Object.values(pictures).map((one) => one.element),
      map.element,
      path.element,
    ),
  );

  column.show = (detail) => {
    words.textContent = detail.sentence;
    render(
      table,
      view.classes.map((label, k) => {
        const row = detail.classes[k],
          misplaced = detail.read_from_background.includes(k);
        return h(
          "tr",
          { class: misplaced ? "misplaced" : null },
          h("th", { scope: "row" }, label),
          [row.accuracy, row.ft, row.background].map((x) =>
            h("td", { class: "number" }, formatPercent(x)),
          ),
        );
      }),
    );
    cells.draw(detail.heat);
    drawn ??=
      view.kind === "plane" ? planes(pictures, view, theme) : examples(pictures.examples, view, theme);
    drawn(detail, theme.paradigms[name].label);
  };
  column.extend = (rows, at) => {
    for (const [key, values] of Object.entries(rows)) {
      if (key === "t") continue;
      const curve = (column.curves[key] ??= []);
      const since = curve.length ? curve.at(-1)[0] : -1;
      rows.t.forEach((t, i) => {
        if (t > since && values[i]?.[at] !== undefined) curve.push([t, values[i][at]]);
      });
    }
    if (column.chart && !column.due) {
      column.due = true;
      setTimeout(() => {
        column.due = false;
        column.chart?.update(quadrantRows());
      }, 180);
    }
  };
  const quadrantRows = () =>
    Object.entries(theme.quadrants).flatMap(([key, { label }], order) =>
      (column.curves[key] ?? []).map(([x, y]) => ({ x, share: y, name: label, order })),
    );
  column.drawChart = async (epochs) => {
    column.chart = await drawChart(
      path.body,
      stackedSpec({ names: Object.values(theme.quadrants), x: "epoch", until: epochs }),
      { rows: quadrantRows() },
    );
    path.downloads.svg = () => column.chart.svg();
    path.downloads.csv = () =>
      csv(
        Object.entries(column.curves).flatMap(([key, values]) =>
          values.map(([epoch, value]) => ({ epoch, quantity: key, value })),
        ),
      );
  };
  column.destroy = () => {
    column.chart?.destroy();
    column.chart = null;
  };
  return column;
}

function planes(pictures, view, theme) {
  const focus = drawPlane(pictures.focus, view, theme, true),
    regions = drawPlane(pictures.regions, view, theme, false);
  return (detail, label) => {
    const levels = decodeBytes(detail.focus),
      classes = decodeBytes(detail.regions);
    focus.draw({
      paint: focusPaint(levels, theme),
      points: view.points,
      words: `${label}: focus score over the plane. ${detail.sentence}`,
      cells: () =>
        Array.from(levels, (level, i) => {
          const [x, y] = focus.at(i);
          return {
            what: "focus score",
            x,
            y,
            value: detail.low + (level / 255) * (detail.high - detail.low),
          };
        }),
    });
    regions.draw({
      paint: regionPaint(classes, theme),
      points: detail.attended,
      words: `${label}: attended points over the decision regions of the classifier. ${detail.sentence}`,
      cells: () =>
        Array.from(classes, (k, i) => {
          const [x, y] = regions.at(i);
          return { what: "decision", x, y, class: view.classes[k] };
        }),
    });
  };
}

function examples(fig, view, theme) {
  const items = view.examples.map((example, k) => {
    const drawing = example.tokens
      ? drawTokens(example.tokens, example.z, theme)
      : drawBag(example.segments, example.z, theme, `Bag ${k + 1}, truly ${example.truth}`);
    const says = h("p", { class: "note" });
    return { drawing, says, element: h("div", {}, drawing.element, says) };
  });
  render(
    fig.body,
    h(
      "div",
      { class: view.kind === "words" ? "" : "bags" },
      items.map((example) => example.element),
    ),
  );
  fig.body.classList.add("free");
  return (detail) => {
    detail.examples.forEach((example, k) => {
      items[k].drawing.attend(example.alpha);
      items[k].says.textContent =
        `truly ${view.examples[k].truth}, says ${example.says} (${formatShare(example.p)})` +
        (example.right ? (example.focused ? "" : ", for the wrong reason") : ", wrong");
    });
    fig.downloads.csv = () =>
      csv(
        detail.examples.flatMap((example, k) =>
          example.alpha.map((alpha, j) => ({
            bag: k + 1,
            truth: view.examples[k].truth,
            says: example.says,
            segment: j + 1,
            relevant: view.examples[k].z[j],
            alpha,
          })),
        ),
      );
    const picture = (example, k) =>
      view.examples[k].tokens
        ? drawWords(view.examples[k].tokens, example.alpha, view.examples[k].z, theme)
        : items[k].drawing.element;
    fig.downloads.svg = () =>
      collage(
        detail.examples.map((example, k) => ({
          svg: picture(example, k),
          words: items[k].says.textContent,
        })),
        view.kind === "words" ? 1 : 3,
      );
  };
}
