// Where a job stands: state, progress, time left and commands. Made once and updated in place, so that
// a button keeps its focus, and a click that lasts longer than a frame counts.

import { h, render } from "../core/dom.js";
import { commandJob, formatSeconds, hasEnded, progressBar, stateLabel, stopJob } from "../core/job.js";

const LOST = "Connection lost, trying again …";

const remaining = (job) => job.seconds_left;

// `words` names states in the words of a page and `partName` its parts; `amount` says how much is done in
// words, `share` as a number from 0 to 1, `seconds` how long it takes; `id` marks the state; `pausable`
// adds pause and step, and `failed` hears of errors.
export function jobStatus({ words = {}, id = "state", about = "", seconds = remaining, ...more }) {
  const { amount, share, partName = (name) => name, pausable, failed } = more;
  const state = h("strong", { id, role: "status" });
  const note = h("span", { class: "note" }, about);
  const track = h("span", { class: "progress" });
  const count = h("output", { id: id && "epoch" });
  const left = h("output", { id: id && "left", class: "note" });
  const commands = pausable ? jobCommands(failed) : null;
  const stop = h("button", { type: "button", onclick: () => stopJob(job.id) }, "Stop");
  const reason = h("p", { class: "note error" });
  const parts = partBars(partName);
  const row = h("div", { class: "row" }, state, note, track, count, left, commands?.buttons, stop);
  const element = h("div", {}, row, reason, parts.element);
  let job = null;

  function update(now, { lost = false } = {}) {
    job = now;
    const over = hasEnded(job);
    const isReady = ["ready", "idle"].includes(job.state);
    state.textContent = lost ? LOST : stateLabel(job, words);
    stop.hidden = !pausable && (over || isReady);
    stop.disabled = over;
    commands?.update(job);
    reason.textContent = job.reason ? `${job.reason.replace(/\.$/, "")}.` : "";
    reason.hidden = !job.reason;
    progress(job);
  }

  // What changes with every frame.
  function progress(now) {
    const time = hasEnded(now) ? null : seconds(now);
    left.textContent = time ? `about ${formatSeconds(time)} left` : "";
    if (amount) count.textContent = amount(now);
    if (share) render(track, progressBar(share(now)));
    parts.update(now.parts ?? []);
  }
  return { element, update, progress };
}

function jobCommands(failed) {
  let job = null;
  const act = (command) => commandJob(job.id, command).catch(failed);
  const pause = h("button", { type: "button", onclick: () => act(pause.dataset.command) });
  const step = h("button", { type: "button", onclick: () => act("step") }, "Step");
  const update = (now) => {
    job = now;
    const isPaused = job.state === "paused";
    pause.dataset.command = isPaused ? "go" : "pause";
    pause.textContent = isPaused ? "Continue" : "Pause";
    pause.disabled = step.disabled = hasEnded(job) || job.state === "starting";
  };
  return { buttons: [pause, step], update };
}

// The parts of a job with a bar each.
function partBars(partName) {
  const element = h("div", {});
  const rows = new Map();
  const make = (part) => {
    const bar = h("span", { class: "progress" });
    const count = h("span", { class: "count" });
    element.append(h("div", { class: "row note" }, h("span", { class: "part" }, partName(part)), bar, count));
    return { bar, count };
  };
  const update = (parts) => {
    for (const one of parts) {
      if (!rows.has(one.part)) rows.set(one.part, make(one.part));
      const { bar, count } = rows.get(one.part);
      render(bar, progressBar(one.done / one.total));
      count.textContent = `${Math.round((100 * one.done) / one.total)}\u00a0%`;
    }
  };
  return { element, update };
}
