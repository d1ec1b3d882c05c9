// One run: how it ended, how it came to that, its figures, how it was set up.

import { addressOf } from "../core/address.js";
import { get } from "../core/api.js";
import { h, render } from "../core/dom.js";
import { drawLibraryFigure } from "../ui/charts.js";
import { figure } from "../ui/figure.js";
import { emptyState, renderAsync } from "../ui/states.js";
import { drawCurves } from "./curves.js";
import { timeline } from "./timeline.js";

// The link back, the title of the page, and a place for what is loaded.
export function runsPage(container, title) {
  const place = h("div", {});
  const back = h("p", { class: "note" }, h("a", { href: "/runs" }, "← all runs"));
  render(container, back, h("h1", {}, title), place);
  return place;
}

export async function openRun(container, name, theme) {
  const leavers = [];
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
        body.append(...(await race(run, parts, theme, leavers)));
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
  return () => leavers.forEach((leave) => leave());
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

function named(key, theme) {
  const words = key
    .split("-")
    .map((word) => theme.paradigms[word]?.label ?? word)
    .join(" ")
    .replaceAll("_", " ");
  return words[0].toUpperCase() + words.slice(1);
}

function drawn(name, theme, leavers) {
  const container = h("div", { class: "figures" });
  renderAsync(
    container,
    async () => {
      const { figures } = await get("/api/run/figures", { run: name });
      if (!figures.length) return emptyState("No figures yet.", "They are drawn from finished parts.");
      return figures.map((key) => {
        const item = figure({ title: named(key, theme), about: "", id: key });
        item.body.classList.add("light");
        const watch = new IntersectionObserver(async (entries) => {
          if (!entries.some((entry) => entry.isIntersecting)) return;
          watch.disconnect();
          await renderAsync(
            item.body,
            async () => {
              const { spec } = await get("/api/run/figure", { run: name, name: key });
              const inner = h("div", {});
              const chart = await drawLibraryFigure(
                { ...item, body: inner, downloads: item.downloads },
                spec,
              );
              leavers.push(chart.destroy);
              return inner;
            },
            "Drawing …",
          );
        });
        watch.observe(item.element);
        leavers.push(() => watch.disconnect());
        return item.element;
      });
    },
    "Looking for figures …",
  );
  return container;
}

async function race(run, parts, theme, leavers) {
  const focused = parts.filter((part) => run.parts[part].focus);
  const overTime = focused.length ? timeline(run, focused, theme, () => chart.toEnd()) : null;
  const chart = await drawCurves([run.name], run, theme, overTime ?? {});
  leavers.push(chart.destroy, () => overTime?.destroy());
  return [h("section", {}, h("h2", {}, "Over training"), chart.element, overTime?.one)];
}
