// One run: how it ended, how it came to that, its own figures, how it was set up.

import { h } from "/pages/dom.js";
import { link } from "/pages/address.js";
import { get } from "/pages/api.js";
import { library } from "/pages/charts.js";
import { empty, figure, shown } from "/pages/parts.js";
import { curves } from "/pages/curves.js";
import { film } from "/pages/film.js";

export async function openRun(place, name, look) {
  const leavers = [];
  await shown(place, async () => {
    const run = await get("/api/run", { run: name });
    const parts = Object.keys(run.parts);
    const body = h("div", {});
    const page = h("div", {},
      h("p", { class: "note" }, h("a", { href: "/runs" }, "← all runs")),
      h("h1", {}, name),
      run.unfinished && h("p", { class: "pill astray" }, run.unfinished),
      run.summary && h("p", { class: "lead" }, run.summary),
      run.outcomes.length > 0 && outcomes(run, look),
      run.findings.length > 0 && findings(run),
      body,
      h("section", {}, h("h2", {}, "Figures"), drawn(name, look, leavers)),
      h("section", {}, h("h2", {}, "How it was set up"), setup(run)),
      run.report && h("p", {}, h("a", { href: link("api/run/report", { run: name }), target: "_blank", rel: "noopener" }, "The report of this run, as one page")));
    if (["race", "fit"].includes(run.kind) && parts.length) body.append(...(await race(run, parts, look, leavers)));
    else if (!parts.length) body.append(empty("Nothing is finished yet.", "Parts of a run appear here when they are trained to the end."));
    return page;
  }, "Opening the run …");
  return () => leavers.forEach((leave) => leave());
}

export function outcomes(run, look) {
  const cell = (value) => (value ? `${value.mean.toFixed(1)}${value.low === null ? "" : ` [${value.low.toFixed(1)}, ${value.high.toFixed(1)}]`}` : "–");
  const metrics = Object.entries(look.metrics).filter(([, own]) => own.summary);
  const heads = ["Paradigm", ...metrics.map(([, own]) => own.heading), "Epochs", "Seeds"];
  return h("div", { class: "scroll panel" }, h("table", {},
    h("thead", {}, h("tr", {}, heads.map((title, k) => h("th", { class: k ? "number" : null }, title)))),
    h("tbody", {}, run.outcomes.map((own) => h("tr", {},
      h("td", {}, h("span", { class: "key", style: { background: look.paradigms[own.paradigm]?.colour ?? "#767676" } }), " ", look.paradigms[own.paradigm]?.label ?? own.paradigm),
      metrics.map(([key]) => h("td", { class: "number" }, cell(own[key]))),
      h("td", { class: "number" }, own.epochs), h("td", { class: "number" }, own.seeds))))));
}

function findings(run) {
  return h("div", { class: "panel" }, run.findings.map((own) => h("p", {}, h("b", {}, own.claim), " ", h("span", { class: "pill" }, own.verdict), " ", own.said)));
}

function setup(run) {
  return h("div", {}, run.setup.map(([title, rows]) => h("details", {}, h("summary", {}, title),
    h("div", { class: "scroll" }, h("table", {}, h("tbody", {}, rows.map(([key, value]) => h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, value)))))))),
  run.command && h("p", {}, "The command that repeats it: ", h("code", {}, run.command)));
}

function named(key, look) {
  const words = key.split("-").map((word) => look.paradigms[word]?.label ?? word).join(" ").replaceAll("_", " ");
  return words[0].toUpperCase() + words.slice(1);
}

function drawn(name, look, leavers) {
  const place = h("div", { class: "figures" });
  shown(place, async () => {
    const { figures } = await get("/api/run/figures", { run: name });
    if (!figures.length) return empty("No figures yet.", "They are drawn from finished parts.");
    return figures.map((key) => {
      const own = figure({ title: named(key, look), about: "", id: key });
      own.place.classList.add("figure-light");
      const watch = new IntersectionObserver(async (seen) => {
        if (!seen.some((one) => one.isIntersecting)) return;
        watch.disconnect();
        await shown(own.place, async () => {
          const { spec } = await get("/api/run/figure", { run: name, name: key });
          const inner = h("div", {});
          const made = await library({ ...own, place: inner, keep: own.keep }, spec);
          leavers.push(made.end);
          return inner;
        }, "Drawing …");
      });
      watch.observe(own.element);
      leavers.push(() => watch.disconnect());
      return own.element;
    });
  }, "Looking for figures …");
  return place;
}

async function race(run, parts, look, leavers) {
  const focused = parts.filter((part) => run.parts[part].focus);
  const shown = focused.length ? film(run, focused, look, () => made.toEnd()) : null;
  const made = await curves([run.name], run, look, shown ?? {});
  leavers.push(made.end, () => shown?.end());
  return [h("section", {}, h("h2", {}, "Over training"), made.element, shown?.one)];
}
