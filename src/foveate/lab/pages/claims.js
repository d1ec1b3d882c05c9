// Claims: the ledger, a figure for each, and the experiment behind it run again.

import { fill, h } from "/pages/dom.js";
import { change, link, state } from "/pages/address.js";
import { get, look, post } from "/pages/api.js";
import { library } from "/pages/charts.js";
import { empty, failed, figure, field, select, shown } from "/pages/parts.js";
import { follow } from "/pages/stream.js";

export async function open(place) {
  const body = h("div", {});
  const ends = [];
  fill(place, h("h1", {}, "The ledger of claims"),
    h("p", { class: "lead" }, "Every claim of the papers is an executable check whose criterion was written before its result was seen."), body);
  let ledger = null;
  await shown(body, async () => {
    await look();
    ledger = await get("/api/claims");
    return draw();
  }, "Reading the ledger; the first time takes a few seconds …");

  function draw() {
    const rows = h("div", {});
    const verdicts = ["", ...new Set(ledger.claims.map((claim) => claim.verdict))];
    const paint = () => {
      const { paper = "", verdict = "", filter = "" } = state();
      const kept = ledger.claims.filter((claim) => (!paper || claim.claim.startsWith(`${paper}:`)) && (!verdict || claim.verdict === verdict) && `${claim.claim} ${claim.statement} ${claim.experiment}`.toLowerCase().includes(filter.toLowerCase()));
      const groups = Object.entries(ledger.papers).map(([key, source]) => [key, source, kept.filter((claim) => claim.claim.startsWith(`${key}:`))]).filter(([, , own]) => own.length);
      fill(rows, h("p", { class: "note", role: "status" }, `${kept.length} of ${ledger.claims.length} claims: ${verdicts.slice(1).map((word) => `${word} ${kept.filter((claim) => claim.verdict === word).length}`).join(", ")}.`),
        groups.length ? groups.map(([key, source, own]) => h("section", {}, h("h2", {}, `${key}: ${source.title}`), h("p", { class: "note" }, `${source.authors}, ${source.where}`), own.map(entry))) : empty("No claim fits.", "Clear the filter to see all."));
      const opened = state().claim && document.getElementById(state().claim.replace(":", "-"));
      opened?.querySelector("details")?.setAttribute("open", "");
    };
    paint();
    queueMicrotask(paint);
    return h("div", {}, h("div", { class: "panel controls" },
      select({ label: "Paper", value: state().paper ?? "", options: { "": "all", ...Object.fromEntries(Object.keys(ledger.papers).map((key) => [key, key])) }, onchange: (paper) => { change({ paper }); paint(); } }),
      select({ label: "Verdict", value: state().verdict ?? "", options: Object.fromEntries(verdicts.map((word) => [word, word || "all"])), onchange: (verdict) => { change({ verdict }); paint(); } }),
      field({ label: "Filter", value: state().filter ?? "", onchange: (filter) => { change({ filter }); paint(); } })), rows);
  }

  function entry(claim) {
    const fig = figure({ title: `Figure of ${claim.claim}`, about: claim.said || claim.criterion, id: claim.claim.replace(":", "-"), wide: true });
    const room = h("div", {}), progress = h("div", { role: "status" });
    const line = (term, words) => words ? [h("dt", {}, term), h("dd", {}, words)] : [];
    let drawn = false;
    const details = h("details", { ontoggle: () => {
      if (!details.open || drawn) return;
      drawn = true;
      change({ claim: claim.claim }, { step: false });
      if (!claim.figure) { fill(room, empty("The figure is not on this machine.", "It is drawn from the run behind the claim: run the experiment again to see it.")); return; }
      shown(room, async () => {
        const { spec } = await get("/api/claims/figure", { claim: claim.claim });
        const inner = h("div", {});
        const made = await library({ place: inner, keep: fig.keep }, spec);
        ends.push(made.end);
        fill(fig.place, inner);
        return fig.element;
      }, "Drawing …");
    } }, h("summary", {}, "Criterion, figure, run again"),
    h("dl", {}, line("Criterion", claim.criterion), line("Criterion changed after results", claim.revision),
      line("Experiment", `${claim.experiment}${claim.scale ? `, ${claim.scale} scale` : ""}`), line("Differs from the paper", claim.deviation)),
    room,
    h("div", { class: "row" },
      h("button", { type: "button", onclick: () => again(claim, "smoke", progress) }, "Try it out (seconds)"),
      h("button", { type: "button", onclick: () => again(claim, "small", progress) }, "Run at small scale (minutes)")), progress);
    return h("article", { class: "claim", id: claim.claim.replace(":", "-") },
      h("h3", {}, `${claim.claim.split(":")[1]} `, h("span", { class: `pill ${claim.level}` }, claim.verdict), ` ${claim.statement}`),
      h("dl", {}, line("Measured", claim.effect && `${claim.effect} (${claim.measure})`), line("Found", claim.said)), details);
  }

  async function again(claim, scale, progress) {
    try {
      const made = await post("/api/claims/run", { experiment: claim.experiment, scale });
      const session = { ...made, last: 0, epoch: 0, ends: {}, now: {}, parts: [], result: {}, stage: {} };
      const paint = () => fill(progress,
        h("p", {}, `${claim.experiment}, ${scale} scale: ${session.state}${session.why ? `, ${session.why}` : ""} `,
          !["done", "stopped", "failed"].includes(session.state) && h("button", { type: "button", class: "quiet", onclick: () => post(`/api/trainings/${session.id}/stop`).catch(() => null) }, "Stop")),
        session.parts.map((own) => h("div", { class: "row note" }, own.part, h("span", { class: "bar" }, h("span", { style: { width: `${(100 * own.done) / own.total}%` } })), `${own.done} of ${own.total}`)),
        session.result.findings && h("div", { class: "panel" },
          h("p", {}, h("a", { href: link("runs", { run: session.result.run }) }, "Open the run")),
          session.result.findings.map((own) => h("p", { class: own.claim === claim.claim ? "strong" : "note" }, `${own.claim}: ${own.verdict}. ${own.said}`)),
          scale === "smoke" && h("p", { class: "note" }, "Smoke scale is to try things out; its verdicts are not evidence.")));
      paint();
      const stream = follow(session, { state: paint, hello: paint, frame: paint, result: paint, end: paint, back: async () => { Object.assign(session, await get(`/api/trainings/${session.id}`)); paint(); } }, 0);
      ends.push(stream.close);
    } catch (error) {
      fill(progress, failed(error));
    }
  }

  return { follow: () => { if (ledger) fill(body, draw()); }, leave: () => ends.forEach((end) => end()) };
}
