// The study behind a claim, run again from the page, with its progress and its findings.

import { addressOf } from "../core/address.js";
import { post } from "../core/api.js";
import { h, render } from "../core/dom.js";
import { followJob, hasEnded, loadJob, progressBar, stateLabel, stopJob } from "../core/job.js";
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
    const update = () => render(status, progress(job, scale), results(job, claim, scale));
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

function progress(job, scale) {
  const stop = { type: "button", class: "quiet", onclick: () => stopJob(job.id) };
  const words = `${job.job.experiment}, ${scale} scale: ${stateLabel(job)} ${job.reason ?? ""} `;
  const part = ({ part: name, done, total }) =>
    h("div", { class: "row note" }, name, progressBar(done / total), `${done} of ${total}`);
  return [h("p", {}, words, !hasEnded(job) && h("button", stop, "Stop")), job.parts.map(part)];
}

function results(job, claim, scale) {
  const { findings, run } = job.result;
  if (!findings) return null;
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
