// Claims: the ledger, a figure for each, and the experiment behind it run again.

import { addressOf, params, setParams } from "../core/address.js";
import { get, loadTheme, post } from "../core/api.js";
import { h, render } from "../core/dom.js";
import { followJob, hasEnded, stateLabel } from "../core/job.js";
import { drawLibraryFigure } from "../ui/charts.js";
import { field, select } from "../ui/controls.js";
import { figure } from "../ui/figure.js";
import { emptyState, errorState, renderAsync } from "../ui/states.js";

export async function open(container) {
  const body = h("div", {});
  const ends = [];
  render(
    container,
    h("h1", {}, "The ledger of claims"),
    h(
      "p",
      { class: "lead" },
      "Every claim of the papers has an executable check with a written criterion. A criterion " +
        "that was changed after results were known says so, with its earlier verdict.",
    ),
    body,
  );
  let ledger = null;
  await renderAsync(
    body,
    async () => {
      await loadTheme();
      ledger = await get("/api/claims");
      return draw();
    },
    "Reading the ledger; the first time takes a few seconds …",
  );

  function draw() {
    const rows = h("div", {});
    const verdicts = ["", ...new Set(ledger.claims.map((claim) => claim.verdict))];
    const paint = () => {
      const { paper = "", verdict = "", filter = "" } = params();
      const kept = ledger.claims.filter(
        (claim) =>
          (!paper || claim.claim.startsWith(`${paper}:`)) &&
          (!verdict || claim.verdict === verdict) &&
          `${claim.claim} ${claim.statement} ${claim.experiment}`
            .toLowerCase()
            .includes(filter.toLowerCase()),
      );
      const groups = Object.entries(ledger.papers)
        .map(([key, source]) => [key, source, kept.filter((claim) => claim.claim.startsWith(`${key}:`))])
        .filter(([, , item]) => item.length);
      render(
        rows,
        h(
          "p",
          { class: "note", role: "status" },
          `${kept.length} of ${ledger.claims.length} claims: ${verdicts
            .slice(1)
            .map((word) => `${word} ${kept.filter((claim) => claim.verdict === word).length}`)
            .join(", ")}.`,
        ),
        groups.length
          ? groups.map(([key, source, item]) =>
              h(
                "section",
                {},
                h("h2", {}, `${key}: ${source.title}`),
                h("p", { class: "note" }, `${source.authors}, ${source.where}`),
                item.map(entry),
              ),
            )
          : emptyState("No claim fits.", "Clear the filter to see all."),
      );
      const opened = params().claim && document.getElementById(params().claim.replace(":", "-"));
      opened?.querySelector("details")?.setAttribute("open", "");
    };
    paint();
    queueMicrotask(paint);
    return h(
      "div",
      {},
      h(
        "div",
        { class: "panel controls" },
        select({
          label: "Paper",
          value: params().paper ?? "",
          options: {
            "": "all",
            ...Object.fromEntries(Object.keys(ledger.papers).map((key) => [key, key])),
          },
          onchange: (paper) => {
            setParams({ paper });
            paint();
          },
        }),
        select({
          label: "Verdict",
          value: params().verdict ?? "",
          options: Object.fromEntries(verdicts.map((word) => [word, word || "all"])),
          onchange: (verdict) => {
            setParams({ verdict });
            paint();
          },
        }),
        field({
          label: "Filter",
          value: params().filter ?? "",
          onchange: (filter) => {
            setParams({ filter });
            paint();
          },
        }),
      ),
      rows,
    );
  }

  function entry(claim) {
    const fig = figure({
      title: `Figure of ${claim.claim}`,
      about: claim.summary || claim.criterion,
      id: claim.claim.replace(":", "-"),
      wide: true,
    });
    const room = h("div", {}),
      progress = h("div", { role: "status" });
    const line = (term, words) => (words ? [h("dt", {}, term), h("dd", {}, words)] : []);
    let drawn = false;
    const details = h(
      "details",
      {
        ontoggle: () => {
          if (!details.open || drawn) return;
          drawn = true;
          setParams({ claim: claim.claim }, { step: false });
          if (!claim.figure) {
            render(
              room,
              emptyState(
                "The figure is not on this machine.",
                "It is drawn from the run behind the claim: run the experiment again to see it.",
              ),
            );
            return;
          }
          renderAsync(
            room,
            async () => {
              const { spec } = await get("/api/claims/figure", { claim: claim.claim });
              const inner = h("div", {});
              const chart = await drawLibraryFigure({ body: inner, downloads: fig.downloads }, spec);
              ends.push(chart.destroy);
              render(fig.body, inner);
              return fig.element;
            },
            "Drawing …",
          );
        },
      },
      h("summary", {}, "Criterion, figure, run again"),
      h(
        "dl",
        {},
        line("Criterion", claim.criterion),
        line("Criterion changed after results", claim.revision),
        line("Experiment", `${claim.experiment}${claim.scale ? `, ${claim.scale} scale` : ""}`),
        line("Differs from the paper", claim.deviation),
      ),
      room,
      h(
        "div",
        { class: "row" },
        h(
          "button",
          { type: "button", onclick: () => again(claim, "smoke", progress) },
          "Try it out (seconds)",
        ),
        h(
          "button",
          { type: "button", onclick: () => again(claim, "small", progress) },
          "Run at small scale (minutes)",
        ),
      ),
      progress,
    );
    return h(
      "article",
      { class: "claim", id: claim.claim.replace(":", "-") },
      h(
        "h3",
        {},
        `${claim.claim.split(":")[1]} `,
        h("span", { class: `pill ${claim.level}` }, claim.verdict),
        ` ${claim.statement}`,
      ),
      h(
        "dl",
        {},
        line("Measured", claim.effect && `${claim.effect} (${claim.measure})`),
        line("Found", claim.summary),
      ),
      details,
    );
  }

  async function again(claim, scale, progress) {
    try {
      const chart = await post("/api/claims/run", { experiment: claim.experiment, scale });
      const session = {
        ...chart,
        last: 0,
        epoch: 0,
        ends: {},
        now: {},
        parts: [],
        result: {},
        setup: {},
      };
      const paint = () =>
        render(
          progress,
          h(
            "p",
            {},
            `${claim.experiment}, ${scale} scale: ${stateLabel(session)} ${session.reason ?? ""} `,
            !hasEnded(session) &&
              h(
                "button",
                {
                  type: "button",
                  class: "quiet",
                  onclick: () => post(`/api/jobs/${session.id}/stop`).catch(() => null),
                },
                "Stop",
              ),
          ),
          session.parts.map((item) =>
            h(
              "div",
              { class: "row note" },
              item.part,
              h(
                "span",
                { class: "bar" },
                h("span", { style: { width: `${(100 * item.done) / item.total}%` } }),
              ),
              `${item.done} of ${item.total}`,
            ),
          ),
          session.result.findings &&
            h(
              "div",
              { class: "panel" },
              h(
                "p",
                {},
                h("a", { href: addressOf("runs", { run: session.result.run }) }, "Open the run"),
              ),
              session.result.findings.map((item) =>
                h(
                  "p",
                  { class: item.claim === claim.claim ? "strong" : "note" },
                  `${item.claim}: ${item.verdict}. ${item.summary}`,
                ),
              ),
              scale === "smoke" &&
                h(
                  "p",
                  { class: "note" },
                  "Smoke scale is to try things out; its verdicts are not evidence.",
                ),
            ),
        );
      paint();
      const stream = followJob(
        session,
        {
          state: paint,
          setup: paint,
          frame: paint,
          result: paint,
          end: paint,
          reload: async () => {
            Object.assign(session, await get(`/api/jobs/${session.id}`));
            paint();
          },
        },
        0,
      );
      ends.push(stream.close);
    } catch (error) {
      render(progress, errorState(error));
    }
  }

  return {
    follow: () => {
      if (ledger) render(body, draw());
    },
    leave: () => ends.forEach((end) => end()),
  };
}
