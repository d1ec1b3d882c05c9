// Train: many initial weights at once, several paradigms side by side, live.

import { fill, h, share } from "/pages/dom.js";
import { change, link, state } from "/pages/address.js";
import { get, look, post } from "/pages/api.js";
import { warm } from "/pages/charts.js";
import { check, failed, field, select } from "/pages/parts.js";
import { follow } from "/pages/stream.js";
import { member } from "/pages/member.js";

const STATES = { starting: "Starting …", running: "Training", paused: "Paused", done: "Done", stopped: "Stopped", failed: "Failed" };
const ENDED = ["done", "stopped", "failed"];

export async function open(place) {
  const [seen, { tasks, maps }] = await Promise.all([look(), get("/api/tasks")]);
  warm();
  const setup = h("section", { class: "panel", "aria-label": "What to train" });
  const status = h("section", { class: "panel status", "aria-label": "Progress", "aria-live": "off" });
  const strip = h("section", { "aria-label": "All starts" });
  const detail = h("section", { "aria-label": "One start" });
  fill(place,
    h("h1", {}, "Right answer, wrong place"),
    h("p", { class: "lead" }, "Train the same model from many initial weights at once. Each square will be one start. Squares with an exclamation mark answer right while looking at the wrong segment: click one to see which class it reads from where."),
    setup, status, strip, detail);
  const show = { training: null, stream: null, view: null, tiles: null };

  const job = () => {
    const own = state();
    const name = own.task in tasks ? own.task : "error-mode-1";
    const task = tasks[name];
    const chosen = (own.paradigms?.split(",") ?? task.chosen).filter((one) => task.choices.includes(one));
    return { task: name, paradigms: chosen.length ? chosen : task.chosen, map: maps.includes(own.map) ? own.map : "softmax",
      seeds: Number(own.seeds) || task.seeds, first: Number(own.first) || 0, epochs: Number(own.epochs) || task.epochs };
  };

  function drawSetup() {
    const now = job(), task = tasks[now.task];
    const set = (values) => { change(values); drawSetup(); };
    const kinds = now.task === "copying";
    fill(setup,
      h("div", { class: "controls" },
        select({ label: "Task", value: now.task, options: Object.fromEntries(Object.entries(tasks).map(([key, own]) => [key, own.title])),
          onchange: (name) => set({ task: name, paradigms: null, seeds: null, epochs: null, first: null, map: null }) }),
        !kinds && now.task !== "topic-words" && select({ label: "From scores to attention", value: now.map, options: Object.fromEntries(maps.map((own) => [own, own])), onchange: (map) => set({ map }) }),
        !kinds && field({ label: "Initial weights to try", type: "number", min: 1, max: 48, value: now.seeds, onchange: (seeds) => set({ seeds }) }),
        field({ label: kinds ? "Steps" : "Epochs", type: "number", min: 1, max: 5000, value: now.epochs, onchange: (epochs) => set({ epochs }) }),
        h("fieldset", {}, h("legend", {}, kinds ? "Kinds of sequences, one after another" : "Paradigms, side by side"),
          h("div", { class: "choices" }, task.choices.map((one) => check({
            label: seen.paradigms[one]?.label ?? one, colour: seen.paradigms[one]?.colour, checked: now.paradigms.includes(one),
            onchange: (on) => set({ paradigms: task.choices.filter((own) => (own === one ? on : now.paradigms.includes(own))).join(",") || null }),
          }))))),
      h("p", { class: "note" }, task.about),
      h("div", { class: "row" },
        h("button", { type: "button", class: "main", id: "start", onclick: () => begin(now) }, "Start training"),
        h("button", { type: "button", id: "redraw", onclick: () => begin({ ...now, first: now.first + now.seeds }) }, "Draw new initial weights"),
        h("span", { class: "note" }, `${now.seeds > 1 ? `Seeds ${now.first} to ${now.first + now.seeds - 1}` : `Seed ${now.first}`}.${kinds ? "" : " All see the same bags."}`)));
  }

  async function begin(what) {
    try {
      const old = show.training;
      if (old && !ENDED.includes(old.state)) await post(`/api/trainings/${old.id}/stop`).catch(() => null);
      const made = await post("/api/trainings", what);
      const usual = tasks[what.task];
      change({ id: made.id, seed: null, task: what.task, first: what.first || null, paradigms: what.paradigms.join() === usual.chosen.join() ? null : what.paradigms.join(",") });
      drawSetup();
      await attach();
    } catch (error) {
      fill(status, failed(error));
    }
  }

  function drawStatus(lost = false) {
    const own = show.training;
    if (!own) {
      fill(status, h("p", { class: "note" }, "Nothing is being trained. Start with the settings above: a minute at most, and you can watch."), others());
      return;
    }
    const over = ENDED.includes(own.state), total = own.stage.epochs ?? own.job.epochs;
    const button = (words, path, disabled) => h("button", { type: "button", disabled, onclick: () => command(path) }, words);
    fill(status,
      h("div", { class: "row" },
        h("strong", { id: "state", role: "status" }, lost ? "Connection lost, trying again …" : STATES[own.state] ?? own.state),
        h("span", { class: "bar", "aria-hidden": "true" }, h("span", { style: { width: `${(100 * own.epoch) / total}%` } })),
        h("output", { id: "epoch" }, `${own.job.task === "copying" ? "step" : "epoch"} ${own.epoch} of ${total}`),
        button(own.state === "paused" ? "Go on" : "Pause", own.state === "paused" ? "go" : "pause", over || own.state === "starting"),
        button("Step", "step", over || own.state === "starting"),
        button("Stop", "stop", over)),
      own.why && h("p", { class: "note error" }, `${own.why[0].toUpperCase()}${own.why.slice(1)}.`),
      others());
  }

  function others() {
    const rest = (show.others ?? []).filter((own) => own.job.kind === "train" && own.id !== show.training?.id);
    return rest.length ? h("p", { class: "note" }, "Other trainings of this lab: ", rest.slice(0, 6).flatMap((own, k) => [k ? ", " : "",
      h("a", { href: link("train", { task: own.job.task, id: own.id }) }, `${tasks[own.job.task].title}, seeds from ${own.job.first} (${STATES[own.state].toLowerCase()})`)])) : null;
  }

  async function command(path) {
    try {
      await post(`/api/trainings/${show.training.id}/${path}`);
    } catch (error) {
      fill(detail, failed(error));
    }
  }

  async function attach() {
    show.stream?.close();
    show.view?.end();
    Object.assign(show, { stream: null, view: null, tiles: null, training: null });
    show.others = (await get("/api/trainings")).trainings;
    const { id, seed } = state();
    if (!id) {
      fill(strip);
      fill(detail);
      drawStatus();
      return;
    }
    try {
      show.training = await get(`/api/trainings/${id}`, { seed });
    } catch (error) {
      fill(strip);
      fill(detail, failed(new Error(`${error.message}. Start it again above.`)));
      drawStatus();
      return;
    }
    drawStatus();
    drawStrip();
    if (show.training.stage.seeds) await drawDetail();
    if (!ENDED.includes(show.training.state) || show.training.epoch === 0) listen();
  }

  function listen() {
    show.stream = follow(show.training, {
      state: () => drawStatus(),
      hello: async () => { drawStrip(); await attachDetail(); },
      frame: (frame) => { progress(); drawTiles(); show.view?.add(frame); },
      lost: () => drawStatus(true),
      back: () => attach(),
      end: async () => {
        const { id } = show.training;
        const whole = await get(`/api/trainings/${id}`, { seed: state().seed }).catch(() => null);
        if (whole && show.training?.id === id) { show.training = whole; drawStatus(); drawStrip(); await drawDetail(); }
      },
    }, Number(state().seed ?? show.training.seed ?? show.training.job.first));
  }

  async function attachDetail() {
    const whole = await get(`/api/trainings/${show.training.id}`, { seed: state().seed });
    Object.assign(show.training, { stage: whole.stage, curves: whole.curves, details: whole.details, seed: whole.seed });
    await drawDetail();
  }

  function progress() {
    const own = show.training, epoch = document.getElementById("epoch");
    const total = own.stage.epochs ?? own.job.epochs;
    if (epoch) epoch.textContent = `${own.job.task === "copying" ? "step" : "epoch"} ${own.epoch} of ${total}`;
    status.querySelector(".bar > span")?.style.setProperty("width", `${(100 * own.epoch) / total}%`);
  }

  function drawStrip() {
    const own = show.training;
    if (own.job.task === "copying" || !own.stage.seeds) { fill(strip); return; }
    show.tiles = {};
    const lanes = own.job.paradigms.map((name) => {
      show.tiles[name] = own.stage.seeds.map((seed) => h("button", { type: "button", class: "tile none", onclick: () => choose(seed) }, h("b", {}, "–"), h("span", { "aria-hidden": "true" })));
      return h("div", { class: "lane" },
        h("div", { class: "name", style: { "border-left-color": seen.paradigms[name].colour } }, seen.paradigms[name].label),
        h("div", { class: "tiles", style: { "max-width": `${76 * own.stage.seeds.length}px` } }, show.tiles[name]));
    });
    fill(strip,
      h("h2", {}, "All starts"),
      h("div", { class: "legend" },
        Object.entries(seen.ends).map(([key, end]) => h("span", {}, h("span", { class: `sign ${key}`, "aria-hidden": "true" }, end.sign), end.label)),
        h("span", { class: "note" }, "In a square: FT, the share of bags in which the focus is right, and the seed. Click one to look inside.")),
      h("div", { class: "strip" }, lanes),
      h("ul", { class: "found", id: "found", style: { "min-height": `${1.6 * own.job.paradigms.length}rem` }, "aria-label": "Starts in an error mode" }));
    drawTiles();
  }

  function drawTiles() {
    const own = show.training;
    if (!show.tiles) return;
    const chosen = Number(state().seed ?? own.seed ?? own.job.first);
    const astray = {};
    for (const [name, tiles] of Object.entries(show.tiles)) {
      const { ft, accuracy } = own.now[name] ?? {};
      const ends = own.ends[name] ?? [];
      tiles.forEach((tile, k) => {
        const end = own.epoch > 0 ? ends[k] : undefined, seed = own.stage.seeds[k];
        tile.className = `tile ${end ?? "none"}`;
        tile.firstChild.textContent = ft ? share(ft[k]) : "–";
        tile.lastChild.textContent = `#${seed} ${seen.ends[end]?.sign ?? ""}`;
        tile.setAttribute("aria-pressed", seed === chosen ? "true" : "false");
        tile.setAttribute("aria-label", ft ? `${seen.paradigms[name].label}, seed ${seed}: accuracy ${share(accuracy[k])}, FT ${share(ft[k])}${end ? `, ${seen.ends[end].label}` : ""}` : `seed ${seed}`);
        tile.title = tile.getAttribute("aria-label");
        if (end === "astray") (astray[name] ??= []).push(seed);
      });
    }
    document.getElementById("next")?.toggleAttribute("disabled", Object.keys(astray).length === 0);
    const found = document.getElementById("found"), form = JSON.stringify([own.epoch > 0, astray]);
    if (!found || found.dataset.form === form) return;
    found.dataset.form = form;
    fill(found, own.epoch > 0 && own.job.paradigms.map((name) => {
      const seeds = astray[name] ?? [];
      return h("li", {}, h("b", {}, seen.paradigms[name].label), seeds.length ? `: ${seeds.length} of ${own.stage.seeds.length} starts answer right but look in the wrong place. Seeds ` : ": no start answers right while looking in the wrong place.",
        seeds.slice(0, 12).flatMap((seed, k) => [k ? ", " : "", h("a", { href: link("train", { ...state(), seed }) }, String(seed))]), seeds.length > 12 && ", …", seeds.length > 0 && ".");
    }));
  }

  async function choose(seed) {
    change({ seed });
    await reseed();
    bring();
  }

  // What was asked for lies below the squares: bring it into sight.
  function bring() {
    detail.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }

  async function reseed() {
    const { id } = show.training;
    const whole = await get(`/api/trainings/${id}`, { seed: state().seed });
    show.stream?.close();
    show.training = whole;
    drawTiles();
    await drawDetail();
    if (!ENDED.includes(whole.state)) listen();
  }

  async function drawDetail() {
    show.view?.end();
    show.view = await member(detail, show.training, seen);
    if (show.tiles) detail.querySelector("h2")?.after(h("div", { class: "row" },
      h("button", { type: "button", id: "next", onclick: next }, "Next start that looks in the wrong place"),
      h("button", { type: "button", onclick: () => strip.scrollIntoView({ block: "start" }) }, "Back to all starts")));
    drawTiles();
  }

  // The next seed, in a circle, of which some paradigm answers right from the wrong place.
  function next() {
    const own = show.training, seeds = own.stage.seeds, here = seeds.indexOf(own.seed);
    const astray = (k) => Object.values(own.ends).some((ends) => ends[k] === "astray");
    const found = seeds.map((_, step) => (here + 1 + step) % seeds.length).find(astray);
    if (found !== undefined) choose(seeds[found]);
  }

  drawSetup();
  await attach();
  return {
    follow: async () => {
      drawSetup();
      if (state().id !== show.training?.id) await attach();
      else if (show.training && String(show.training.seed) !== (state().seed ?? String(show.training.seed))) { await reseed(); bring(); }
      else if (show.training && !state().seed && show.training.seed !== show.training.job.first) await reseed();
    },
    leave: () => { show.stream?.close(); show.view?.end(); },
  };
}
