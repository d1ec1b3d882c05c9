// One run: how it ended, how it came to that, its figures, how it was set up.

import { addressOf } from "../core/address.js";
import { get } from "../core/api.js";
import { capitalised, h, render } from "../core/dom.js";
import { drawLibraryFigure } from "../ui/charts.js";
import { figure } from "../ui/figure.js";
import { emptyState, renderAsync } from "../ui/states.js";
import { drawCurves } from "./curves.js";
import { timeline } from "./timeline.js";

// The link back, the title of the page, and an element for what is loaded.
export function runsPage(container, title) {
  const content = h("div", {});
  const back = h("p", { class: "note" }, h("a", { href: "/runs" }, "← all runs"));
  render(container, back, h("h1", {}, title), content);
  return content;
}

export async function openRun(container, name, theme) {
  const leavers = [];
  const followers = [];
  await renderAsync(
    runsPage(container, name),
    async () => {
      const run = await get("/api/run", { run: name });
      const parts = Object.keys(run.parts);
      const body = h("div", {});
      const page = h(
        "div",
        {},
        run.unfinished && h("p", { class: "pill warn" }, run.unfinished),
        run.summary && h("p", { class: "lead" }, run.summary),
        run.outcomes.length > 0 && outcomeTable(run, theme),
        run.findings.length > 0 && findings(run),
        body,
        h("section", {}, h("h2", {}, "Figures"), drawn(name, theme, leavers)),
        h("section", {}, h("h2", {}, "How it was set up"), setup(run)),
        run.report &&
          h(
            "p",
            {},
            h(
              "a",
              { href: addressOf("api/run/report", { run: name }), target: "_blank", rel: "noopener" },
              "The report of this run, as one page",
            ),
          ),
      );
      if (["race", "fit"].includes(run.kind) && parts.length)
        body.append(...(await race(run, parts, theme, { leavers, followers })));
      else if (!parts.length)
        body.append(
          emptyState(
            "Nothing is finished yet.",
            "Parts of a run appear here when they are trained to the end.",
          ),
        );
      return page;
    },
    "Opening the run …",
  );
  return {
    follow: () => followers.forEach((follow) => follow()),
    leave: () => leavers.forEach((leave) => leave()),
  };
}

const interval = ({ low, high }) => (low === null ? "" : ` [${low.toFixed(1)}, ${high.toFixed(1)}]`);

export function outcomeTable(run, theme) {
  const cell = (value) => (value ? `${value.mean.toFixed(1)}${interval(value)}` : "–");
  const metrics = Object.entries(theme.metrics).filter(([, metric]) => metric.summary);
  const heads = ["Paradigm", ...metrics.map(([, metric]) => metric.heading), "Epochs", "Seeds"];
  return h(
    "div",
    { class: "scroll panel", tabindex: 0, role: "group", "aria-label": `How ${run.name} ended` },
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          heads.map((title, k) => h("th", { class: k ? "number" : null }, title)),
        ),
      ),
      h(
        "tbody",
        {},
        run.outcomes.map((item) =>
          h(
            "tr",
            {},
            h(
              "td",
              {},
              h("span", {
                class: "key",
                style: { background: theme.paradigms[item.paradigm]?.colour ?? "#767676" },
              }),
              " ",
              theme.paradigms[item.paradigm]?.label ?? item.paradigm,
            ),
            metrics.map(([key]) => h("td", { class: "number" }, cell(item[key]))),
            h("td", { class: "number" }, item.epochs),
            h("td", { class: "number" }, item.seeds),
          ),
        ),
      ),
    ),
  );
}

function findings(run) {
  return h(
    "div",
    { class: "panel" },
    run.findings.map((item) =>
      h(
        "p",
        {},
        h("b", {}, item.claim),
        " ",
        h("span", { class: "pill" }, item.verdict),
        " ",
        item.summary,
      ),
    ),
  );
}

function setup(run) {
  return h(
    "div",
    {},
    run.setup.map(([title, rows]) =>
      h(
        "details",
        {},
        h("summary", {}, title),
        h(
          "div",
          { class: "scroll", tabindex: 0, role: "group", "aria-label": title },
          h(
            "table",
            {},
            h(
              "tbody",
              {},
              rows.map(([key, value]) =>
                h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, value)),
              ),
            ),
          ),
        ),
      ),
    ),
    run.command && h("p", {}, "The command that repeats it: ", h("code", {}, run.command)),
  );
}

const FIGURES = {
  plane: "Accuracy and SAIF",
  threshold: "Bags above a threshold",
};
const GROUPS = [
  ["curve-", "Over training", (key, theme) => theme.metrics[key]?.title],
  ["heat-map-", "Focus and prediction", (key, theme) => theme.paradigms[key]?.label],
  ["quadrants-", "Answers and places over training", (key, theme) => theme.paradigms[key]?.label],
];

const titleOf = (key) => FIGURES[key] ?? capitalised(key.replace(/[-_]/g, " "));

// The figures in groups of one kind, each with a title; a group without a heading comes first.
function figureGroups(keys, theme) {
  const groups = GROUPS.map(([stem, heading, title]) => ({
    heading,
    figures: keys
      .filter((key) => key.startsWith(stem))
      .map((key) => [key, title(key.slice(stem.length), theme) ?? titleOf(key.slice(stem.length))]),
  }));
  const isOther = (key) => !GROUPS.some(([stem]) => key.startsWith(stem));
  const others = keys.filter(isOther).map((key) => [key, titleOf(key)]);
  return [{ heading: null, figures: others }, ...groups].filter(({ figures }) => figures.length);
}

function drawn(name, theme, leavers) {
  const container = h("div", {});
  renderAsync(
    container,
    async () => {
      const { figures } = await get("/api/run/figures", { run: name });
      if (!figures.length) return emptyState("No figures yet.", "They are drawn from finished parts.");
      return figureGroups(figures, theme).map((group) =>
        h(
          "div",
          {},
          group.heading && h("h3", {}, group.heading),
          h(
            "div",
            { class: "figures" },
            group.figures.map(([key, title]) => runFigure(name, key, title, leavers)),
          ),
        ),
      );
    },
    "Looking for figures …",
  );
  return container;
}

// A figure of a run, drawn when it is seen.
function runFigure(name, key, title, leavers) {
  const item = figure({ title, about: "", id: key });
  item.body.classList.add("light");
  const draw = async () => {
    const { spec } = await get("/api/run/figure", { run: name, name: key });
    const body = h("div", {});
    const chart = await drawLibraryFigure({ ...item, body, downloads: item.downloads }, spec);
    leavers.push(chart.destroy);
    return body;
  };
  const watch = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watch.disconnect();
    renderAsync(item.body, draw, "Drawing …");
  });
  watch.observe(item.element);
  leavers.push(() => watch.disconnect());
  return item.element;
}

async function race(run, parts, theme, { leavers, followers }) {
  const focused = parts.filter((part) => run.parts[part].focus);
  const overTime = focused.length ? timeline(run, focused, theme, () => chart.toEnd()) : null;
  const chart = await drawCurves([run.name], run, theme, overTime ?? {});
  leavers.push(chart.destroy, () => overTime?.destroy());
  followers.push(chart.follow, () => overTime?.follow());
  return [h("section", {}, h("h2", {}, "Over training"), chart.element, overTime?.one)];
}
