// Copying: curves of every kind of sequence, and attention of one held-out sequence.

import { h, render } from "../core/dom.js";
import { drawMatrix } from "../drawing/matrix.js";
import { drawChart, lineSpec } from "../ui/charts.js";
import { csv, figure } from "../ui/figure.js";
import { emptyState } from "../ui/states.js";

export async function copyingCharts(container, job, theme) {
  const kinds = job.job.paradigms;
  const names = kinds.map((kind, k) => ({ label: kind, colour: theme.classes[k], dash: [1, 0] }));
  const quantities = {
    accuracy: [
      "Words copied right",
      "Share of held-out words that are written right, given the true words before them.",
      "accuracy = mean [argmax p(y_t | y_<t, x) = y_t]",
    ],
    on: [
      "Attention on the word to copy",
      "Chance is one in the length of the sequence. Until attention is learnt, this stays low.",
      "α_t,l at the l with x_l = y_t",
    ],
    knows: [
      "Which word knows",
      "Share of places where the evidence β of a position by itself is largest at the " +
        "word to copy: what the model knows before attention does.",
      "β_t,l = p(y_t | position l alone)",
    ],
  };
  const figures = Object.entries(quantities).map(([key, [title, about, equation]]) => ({
    key,
    fig: figure({ title, about, equation, id: key }),
  }));
  const grids = kinds.map((kind) => ({
    kind,
    fig: figure({
      title: `Attention while copying (${kind})`,
      about:
        "Each row is a word that is written, each column a word that was read; dark is " +
        "attention. Learnt copying is a diagonal.",
      equation: "α_t,l over the words read",
      id: `matrix-${kind}`,
    }),
  }));
  render(
    container,
    h("h2", {}, "Learning to copy"),
    h(
      "div",
      { class: "figures" },
      figures.map(({ fig }) => fig.element),
      grids.map(({ fig }) => fig.element),
    ),
  );
  const curves = structuredClone(job.curves);
  const rows = (key) =>
    kinds.flatMap((kind) => (curves[kind]?.[key] ?? []).map(([x, y]) => ({ x, y, name: kind })));
  const charts = [];
  for (const { key, fig } of figures) {
    const chart = await drawChart(
      fig.body,
      lineSpec({
        names,
        x: "step",
        y: null,
        domainY: [0, 1],
        domainX: [0, job.setup.epochs],
        legend: true,
      }),
      { rows: rows(key) },
    );
    fig.downloads.svg = () => chart.svg();
    fig.downloads.csv = () =>
      csv(rows(key).map(({ x, y, name }) => ({ step: x, [key]: y, kind: name })));
    charts.push({ key, chart });
  }
  const show = (details) =>
    grids.forEach(({ kind, fig }) => {
      if (details[kind]) drawMatrix(fig, details[kind], theme);
    });
  grids.forEach(({ fig }) => render(fig.body, emptyState("Waiting", "Its turn has not come yet.")));
  show(job.details);
  return {
    add(frame) {
      for (const [kind, more] of Object.entries(frame.rows)) {
        for (const [key, values] of Object.entries(more)) {
          if (key === "t") continue;
          const curve = ((curves[kind] ??= {})[key] ??= []);
          const since = curve.length ? curve.at(-1)[0] : -1;
          more.t.forEach((t, i) => {
            if (t > since) curve.push([t, values[i][0]]);
          });
        }
      }
      charts.forEach(({ key, chart }) => chart.update(rows(key)));
      show(frame.details);
    },
    destroy: () => charts.forEach(({ chart }) => chart.destroy()),
  };
}
