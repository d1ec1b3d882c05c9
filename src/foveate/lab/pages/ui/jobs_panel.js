// The list of jobs in the header of every page: what runs or waits, how far it is, and stop.

import { addressOf } from "../core/address.js";
import { get } from "../core/api.js";
import { h, render } from "../core/dom.js";
import { formatSeconds, hasEnded, progressBar, stateLabel, stopJob } from "../core/job.js";

const POLL = 2000; // milliseconds between updates
const VIEW = {
  train: "train",
  experiment: "claims",
  words: "words",
  own: "data",
  predict: "data",
  examine: "data",
};

const title = ({ job }) =>
  ({
    train: `Training: ${job.task}`,
    experiment: `Experiment: ${job.experiment}`,
    words: `Text model: ${job.corpus}`,
    own: `Your data: ${job.name}`,
    predict: `New bags: ${job.name}`,
    examine: `Examination: ${job.run}`,
  })[job.kind] ?? job.kind;

const address = (entry) =>
  addressOf(VIEW[entry.job.kind] ?? "start", {
    id: ["predict", "examine"].includes(entry.job.kind) ? null : entry.id,
    run: entry.job.run,
    task: entry.job.task,
    what: entry.job.what,
    corpus: entry.job.corpus,
  });

export function openJobsPanel(container) {
  const label = h("span", {}, "Jobs");
  const list = h("ul", { class: "jobs" });
  const summary = h("summary", {}, label);
  const panel = h("details", { class: "jobs-panel" }, summary, list);
  const items = new Map();
  render(container, panel);

  // Items are updated in place: the list may be open and a button in it focused.
  function update(jobs) {
    const open = jobs.filter((entry) => !hasEnded(entry));
    const running = open.filter((entry) => !["ready", "idle"].includes(entry.state)).length;
    const ready = open.length - running;
    const words = [running && `${running} running`, ready && `${ready} ready`].filter(Boolean);
    label.textContent = words.length ? `Jobs: ${words.join(", ")}` : "Jobs";
    panel.classList.toggle("busy", running > 0);
    for (const [id, item] of items) {
      if (open.some((entry) => entry.id === id)) continue;
      if (item.element.contains(document.activeElement)) summary.focus();
      item.element.remove();
      items.delete(id);
    }
    for (const entry of open) {
      if (!items.has(entry.id)) {
        items.set(entry.id, makeItem(entry));
        list.append(items.get(entry.id).element);
      }
      items.get(entry.id).update(entry);
    }
    list.classList.toggle("none", open.length === 0);
  }

  async function poll() {
    try {
      if (document.visibilityState === "visible") update((await get("/api/jobs")).jobs);
    } catch {
      label.textContent = "Jobs: no connection";
    }
  }

  addEventListener("jobs-changed", poll);
  setInterval(poll, POLL);
  poll();
}

function makeItem(entry) {
  const progress = h("span", { class: "progress" });
  const state = h("span", { class: "note" });
  const stop = async () => {
    await stopJob(entry.id);
    dispatchEvent(new Event("jobs-changed"));
  };
  const name = title(entry);
  const element = h(
    "li",
    {},
    h("a", { href: address(entry) }, name),
    state,
    progress,
    h("button", { type: "button", class: "quiet", "aria-label": `Stop ${name}`, onclick: stop }, "Stop"),
  );
  const update = ({ state: now, share, seconds_left: left, ...rest }) => {
    const time = left ? `, about ${formatSeconds(left)} left` : "";
    state.textContent = `${stateLabel({ state: now, ...rest })}${now === "running" ? time : ""}`;
    render(progress, share !== null && now === "running" && progressBar(share));
  };
  return { element, update };
}
