// Jobs of the lab: their states in words, commands, and their events as they come.

import { h } from "./dom.js";
import { get, post } from "./api.js";

const RETRY = 2000; // milliseconds until a refused stream is asked for again
const ENDED = ["done", "stopped", "failed"];
const STATES = {
  starting: "Starting …",
  running: "Running",
  paused: "Paused",
  ready: "Ready",
  idle: "Idle",
  done: "Done",
  stopped: "Stopped",
  failed: "Failed",
};

export const hasEnded = (job) => ENDED.includes(job.state);

export const stateLabel = (job, words = {}) => words[job.state] ?? STATES[job.state] ?? job.state;

export const loadJob = (id, seed) => get(`/api/jobs/${id}`, { seed });

export const stopJob = (id) => post(`/api/jobs/${id}/stop`).catch(() => null);

export const commandJob = (id, command) => post(`/api/jobs/${id}/${command}`);

export async function listJobs() {
  return (await get("/api/jobs")).jobs;
}

export function progressBar(share) {
  const width = `${Math.min(100, 100 * share).toFixed(1)}%`;
  return h("span", { class: "bar", "aria-hidden": "true" }, h("span", { style: { width } }));
}

// Seconds as a person would say them: "40 s", "3 min", "1 h 20 min".
export function formatSeconds(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// Follow the events of a job. Frames are handed on at most once per drawn picture.
export function followJob(job, handlers, seed = 0) {
  const source = new EventSource(`/api/jobs/${job.id}/events?seed=${seed}&after=${job.last}`);
  let waiting = [];
  const listen = (kind, act) =>
    source.addEventListener(kind, (event) => {
      if (Number(event.lastEventId) <= job.last) return;
      if (event.lastEventId) job.last = Number(event.lastEventId);
      act(JSON.parse(event.data));
    });

  listen("setup", (setup) => {
    job.setup = setup;
    handlers.setup?.();
  });
  listen("state", ({ state, reason }) => {
    job.state = state;
    job.reason = reason ?? "";
    handlers.state?.();
  });
  listen("result", (result) => {
    job.result = result;
    handlers.result?.();
  });
  listen("frame", (frame) => {
    applyFrame(job, frame);
    waiting.push(frame);
    if (waiting.length > 1) return;
    requestAnimationFrame(() => {
      const frames = waiting;
      waiting = [];
      handlers.frame?.(mergeFrames(frames));
    });
  });
  source.addEventListener("end", () => {
    close();
    handlers.end?.();
  });
  source.addEventListener("gap", () => {
    close();
    handlers.reload?.();
  });
  // A browser tries again by itself unless the lab refuses, as one does that was started anew.
  source.addEventListener("error", () => {
    handlers.lost?.();
    if (source.readyState !== EventSource.CLOSED) return;
    close();
    retry = setTimeout(() => handlers.reload?.(), RETRY);
  });
  source.addEventListener("open", () => handlers.state?.());
  // A browser grants a site six connections for all its tabs, so hidden tabs give theirs up.
  const onVisibility = () => {
    if (document.visibilityState === "hidden") source.close();
    else if (source.readyState === EventSource.CLOSED) {
      close();
      handlers.reload?.();
    }
  };
  document.addEventListener("visibilitychange", onVisibility);
  let retry = null;
  function close() {
    clearTimeout(retry);
    document.removeEventListener("visibilitychange", onVisibility);
    source.close();
  }
  return { close };
}

function applyFrame(job, frame) {
  job.epoch = Math.max(job.epoch, frame.epoch);
  Object.assign(job.outcomes, frame.outcomes);
  if (frame.parts) job.parts = frame.parts;
  if (frame.seconds_left !== undefined) job.seconds_left = frame.seconds_left;
  for (const [name, rows] of Object.entries(frame.rows)) {
    const now = (job.now[name] ??= {});
    for (const [key, values] of Object.entries(rows)) {
      if (key !== "t" && values.length) now[key] = values.at(-1);
    }
  }
}

function mergeFrames(frames) {
  const rows = {};
  for (const frame of frames) {
    for (const [name, columns] of Object.entries(frame.rows)) {
      const merged = (rows[name] ??= {});
      for (const [key, values] of Object.entries(columns)) (merged[key] ??= []).push(...values);
    }
  }
  const details = Object.assign({}, ...frames.map((frame) => frame.details));
  return { ...frames.at(-1), rows, details };
}
