// A training as it goes on: frames change what is known of it, at most once a drawn picture.

export function follow(training, hear, seed) {
  const source = new EventSource(`/api/trainings/${training.id}/events?seed=${seed}&after=${training.last}`);
  let waiting = [], due = false;

  const on = (kind, act) => source.addEventListener(kind, (event) => {
    if (Number(event.lastEventId) <= training.last) return;
    if (event.lastEventId) training.last = Number(event.lastEventId);
    act(JSON.parse(event.data));
  });

  on("hello", (stage) => { training.stage = stage; hear.hello?.(); });
  on("state", ({ state, why }) => { training.state = state; training.why = why ?? ""; hear.state?.(); });
  on("result", (result) => { training.result = result; hear.result?.(); });
  on("frame", (frame) => {
    training.epoch = Math.max(training.epoch, frame.epoch);
    Object.assign(training.ends, frame.ends);
    if (frame.parts) training.parts = frame.parts;
    for (const [name, rows] of Object.entries(frame.rows)) {
      const now = (training.now[name] ??= {});
      for (const [key, values] of Object.entries(rows)) if (key !== "t" && values.length) now[key] = values.at(-1);
    }
    waiting.push(frame);
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      const all = waiting;
      waiting = [];
      hear.frame?.(merged(all));
    });
  });
  source.addEventListener("end", () => { close(); hear.end?.(); });
  source.addEventListener("gap", () => { close(); hear.back?.(); });
  source.addEventListener("error", () => { if (source.readyState !== EventSource.CLOSED) hear.lost?.(); });
  source.addEventListener("open", () => hear.state?.());
  // A browser grants a site six connections for all its tabs: those that nobody sees give theirs up.
  const hidden = () => {
    if (document.visibilityState === "hidden") source.close();
    else if (source.readyState === EventSource.CLOSED) { close(); hear.back?.(); }
  };
  document.addEventListener("visibilitychange", hidden);
  function close() {
    document.removeEventListener("visibilitychange", hidden);
    source.close();
  }
  return { close };
}

function merged(frames) {
  const rows = {};
  for (const frame of frames) {
    for (const [name, own] of Object.entries(frame.rows)) {
      const all = (rows[name] ??= {});
      for (const [key, values] of Object.entries(own)) (all[key] ??= []).push(...values);
    }
  }
  const details = Object.assign({}, ...frames.map((frame) => frame.details));
  return { ...frames.at(-1), rows, details };
}
