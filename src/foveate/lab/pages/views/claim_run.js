// The study behind a claim, run again from the page, with its progress and its findings.

import { addressOf } from "../core/address.js";
import { post } from "../core/api.js";
import { h, render } from "../core/dom.js";
import { followJob, loadJob } from "../core/job.js";
import { jobStatus } from "../ui/job_status.js";
import { errorState } from "../ui/states.js";

const NEW = { last: 0, epoch: 0, outcomes: {}, now: {}, parts: [], result: {}, setup: {} };

export function claimRun(claim) {
  const status = h("div", { role: "status" });
  const streams = [];
  const button = (scale, words) =>
    h("button", { type: "button", onclick: () => start(claim, scale, status, streams) }, words);
  const buttons = h(
    "div",
    { class: "row" },
    button("smoke", "Try it out (seconds)"),
    button("small", "Run at small scale (minutes)"),
  );
  const leave = () => streams.forEach((stream) => stream.close());
  return { element: h("div", {}, buttons, status), leave };
}

async function start(claim, scale, status, streams) {
  try {
    const answer = await post("/api/claims/run", { experiment: claim.experiment, scale });
    const job = { ...structuredClone(NEW), ...answer };
    const progress = jobStatus({ id: null, about: `${job.job.experiment}, ${scale} scale` });
    const result = h("div", {});
    render(status, progress.element, result);
    const update = () => {
      progress.update(job);
      if (job.result.findings && !result.childElementCount) render(result, results(job, claim, scale));
    };
    const reload = async () => {
      Object.assign(job, await loadJob(job.id));
      update();
    };
    const events = ["state", "setup", "frame", "result", "end"];
    const handlers = Object.fromEntries(events.map((name) => [name, update]));
    update();
    streams.push(followJob(job, { ...handlers, reload }));
  } catch (error) {
    render(status, errorState(error));
  }
}

function results(job, claim, scale) {
  const { findings, run } = job.result;
  const finding = (item) =>
    h(
      "p",
      { class: item.claim === claim.claim ? "strong" : "note" },
      `${item.claim}: ${item.verdict}. ${item.summary}`,
    );
  const note = "Smoke scale is to try things out; its verdicts are not evidence.";
  return h(
    "div",
    { class: "panel" },
    h("p", {}, h("a", { href: addressOf("runs", { run }) }, "Open the run")),
    findings.map(finding),
    scale === "smoke" && h("p", { class: "note" }, note),
  );
}
