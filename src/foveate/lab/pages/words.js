// Words: a text model is trained here, or one that was kept is opened, then asked about what is typed.

import { fill, fresh, h, percent, share } from "/pages/dom.js";
import { change, state } from "/pages/address.js";
import { get, look, post } from "/pages/api.js";
import { csv, failed, figure, select, shown, standalone } from "/pages/parts.js";
import { sentence } from "/pages/bag.js";
import { matrix } from "/pages/matrix.js";
import { written } from "/pages/sheet.js";
import { follow } from "/pages/stream.js";

const SHADES = {
  alpha: ["α, where it looks", "Attention of the reader over the words of the text. Opacity is the square root of α.", "α_l = e^(s_l) / Σ_k e^(s_k)"],
  beta: ["β, what each word knows by itself", "The probability that the position alone would give the answer: strong orange speaks for it, none against it.", "β_l = σ((2y − 1)(w·h_l + b))"],
  delta: ["Δ, what moves the answer", "How much the word speaks for the answer, to first order: the gain in log-probability if its embedding grew. Shaded by size, relative to the largest.", "Δ_l = −e_l · ∂L/∂e_l"],
};

const ENDED = ["done", "stopped", "failed"];

export async function open(place) {
  const seen = await look();
  let offer = await get("/api/words");
  const setup = h("section", { class: "panel", "aria-label": "Model" }), status = h("section", { class: "panel status", "aria-label": "Progress" });
  const room = h("section", { "aria-label": "Ask the model" });
  fill(place, h("h1", {}, "What does a text model look at?"),
    h("p", { class: "lead" }, "Train a small model on texts or on sentence pairs, or open one that was kept. Then type: see its attention, what each word knows by itself, what moves the answer, or which word was translated into which."),
    setup, status, room);
  let model = null, stream = null;

  const now = () => { const own = state(); const what = own.what === "pairs" ? "pairs" : "texts"; const names = Object.keys(offer[what]); return { what, corpus: names.includes(own.corpus) ? own.corpus : names[0] }; };

  function drawSetup() {
    const own = now(), kept = Object.entries(offer.kept).filter(([, one]) => one.what === own.what);
    const said = ([name, one]) => [name, `${offer[one.what][one.corpus] ?? one.corpus}: ${one.steps} steps, ${percent(one.accuracy)} right, ${one.created.replace("T", " ")}`];
    fill(setup, h("div", { class: "controls" },
      select({ label: "I want to", value: own.what, options: { texts: "read texts", pairs: "align sentence pairs" }, onchange: (what) => { change({ what, corpus: null }); drawSetup(); } }),
      select({ label: "A new model learns from", value: own.corpus, options: offer[own.what], onchange: (corpus) => { change({ corpus }); drawSetup(); } }),
      h("div", { class: "row" }, h("button", { type: "button", class: "main", id: "start", onclick: () => begin({ ...now(), steps: now().what === "texts" ? 300 : 400 }) }, "Train a model"), h("span", { class: "note" }, "about a minute"))),
    kept.length
      ? select({ label: "Or ask one that was trained before", value: state().model ?? "", options: { "": "choose …", ...Object.fromEntries(kept.map(said)) }, onchange: (name) => name && begin({ model: name }) })
      : h("p", { class: "note" }, `No model that ${own.what === "texts" ? "reads texts" : "aligns pairs"} was kept yet. What is trained here is kept in the folder of runs, in lab-words, and can be asked again on another day.`));
  }

  async function begin(wanted) {
    try {
      if (model && !ENDED.includes(model.state)) await post(`/api/trainings/${model.id}/stop`).catch(() => null);
      const made = await post("/api/words", wanted);
      change({ id: made.id, model: wanted.model ?? null, what: made.job.what, corpus: made.job.corpus, text: null, source: null, target: null });
      drawSetup();
      await attach();
    } catch (error) {
      fill(status, failed(error));
      fill(room);
    }
  }

  async function attach() {
    stream?.close();
    model = null;
    const { id, model: name } = state();
    if (!id && name) return reopen(name);
    if (!id) { fill(status, h("p", { class: "note" }, "No model is open. Train one above: the made-up texts need no files and take half a minute.")); fill(room); return; }
    try {
      model = await get(`/api/trainings/${id}`);
    } catch (error) {
      if (name in offer.kept) return reopen(name);
      fill(status, failed(new Error(`${error.message}. Train one above.`)));
      fill(room);
      return;
    }
    drawStatus();
    if (model.state === "ready") await drawRoom();
    else fill(room);
    if (model.state !== "ready" && !ENDED.includes(model.state)) {
      stream = follow(model, { state: async () => { drawStatus(); if (model.state === "ready" && !room.firstChild) { model = await get(`/api/trainings/${id}`); stream?.close(); await remember(); await drawRoom(); } }, frame: drawStatus, hello: drawStatus, end: drawStatus, back: attach }, 0);
    }
  }

  // A link to a lab that was closed since opens the model that was kept.
  async function reopen(name) {
    const made = await post("/api/words", { model: name }).catch((error) => { fill(status, failed(error)); fill(room); });
    if (!made) return;
    change({ id: made.id }, { step: false });
    await attach();
  }

  async function remember() {
    offer = await get("/api/words");
    change({ model: model.result?.model || null }, { step: false });
    drawSetup();
  }

  function drawStatus() {
    const words = { starting: "Starting …", running: "Training", ready: "Ready to be asked", failed: "Failed", stopped: "Stopped", done: "Done", paused: "Paused" };
    const reached = model.now.soft?.accuracy?.[0], total = model.stage.epochs ?? model.job.steps;
    fill(status, h("div", { class: "row" }, h("strong", { id: "state", role: "status" }, words[model.state]),
      h("span", { class: "bar", "aria-hidden": "true" }, h("span", { style: { width: `${(100 * model.epoch) / total}%` } })),
      h("output", {}, `step ${model.epoch} of ${total}${reached === undefined ? "" : `, ${percent(reached)} of held-out ${model.job.what === "texts" ? "texts" : "words"} right`}`)),
      model.why && h("p", { class: "note error" }, model.why),
      ENDED.includes(model.state) && model.result?.model && h("button", { type: "button", onclick: () => reopen(model.result.model) }, "Open it again"));
  }

  async function drawRoom() {
    const scene = model.stage.scene, result = h("div", {});
    const area = (label, key, value) => { const id = fresh("text"); const box = h("textarea", { id, rows: 2, maxlength: 4000, value, onkeydown: (event) => { if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); ask(); } } }); return { box, element: h("div", { class: "control both" }, h("label", { for: id }, label), box) }; };
    const own = state(), pairs = scene.kind === "pairs";
    const boxes = pairs
      ? { source: area("Source sentence", "source", own.source ?? scene.examples[0][0]), target: area("Its translation", "target", own.target ?? scene.examples[0][1]) }
      : { text: area("A text to read", "text", own.text ?? scene.examples[0]) };
    const ask = () => { change(Object.fromEntries(Object.entries(boxes).map(([key, { box }]) => [key, box.value]))); return answerIn(result, boxes); };
    fill(room, h("div", { class: "panel" },
      Object.values(boxes).map((one) => one.element),
      h("div", { class: "chips", role: "group", "aria-label": "Examples that it has not seen in training" }, scene.examples.map((one) => h("button", { type: "button", onclick: () => { if (pairs) { boxes.source.box.value = one[0]; boxes.target.box.value = one[1]; } else boxes.text.box.value = one; ask(); } }, pairs ? one[0] : one))),
      h("div", { class: "row" }, h("button", { type: "button", class: "main", id: "ask", onclick: ask }, pairs ? "Align" : "Read"))), result);
    await answerIn(result, boxes);
  }

  async function answerIn(result, boxes) {
    await shown(result, async () => {
      const found = await post(`/api/words/${model.id}`, Object.fromEntries(Object.entries(boxes).map(([key, { box }]) => [key, box.value])));
      return found.tokens ? shades(found) : matrices(found);
    }, "Reading …");
  }

  function shades(found) {
    const rows = found.tokens.map((word, j) => ({ word, known: found.known[j], alpha: found.alpha[j], beta: found.beta[j], delta: found.delta[j] }));
    const largest = Math.max(...found.delta.map(Math.abs), 1e-9);
    const scale = { alpha: (x) => x, beta: (x) => Math.max(0, 2 * x - 1) ** 2, delta: (x) => (Math.max(0, x) / largest) ** 2 };
    const unknown = found.known.filter((one) => !one).length;
    return h("div", {}, h("p", { class: "strong", role: "status" }, `Answer: “${found.says}”, probability ${share(found.p)}.`, unknown ? ` ${unknown} of ${found.tokens.length} words were never seen in training.` : ""),
      h("div", { class: "shades" }, Object.entries(SHADES).map(([key, [title, about, equation]]) => {
        const fig = figure({ title, about, equation, id: key, wide: true });
        fig.place.classList.add("short");
        const words = sentence(found.tokens, null, seen);
        words.attend(found[key].map(scale[key]));
        words.element.querySelectorAll("span").forEach((span, j) => span.setAttribute("title", `${key} = ${found[key][j]}`));
        fill(fig.place, words.element);
        fig.keep.csv = () => csv(rows);
        fig.keep.svg = () => standalone(written(found.tokens, found[key].map(scale[key]), null, seen));
        return fig.element;
      })));
  }

  function matrices(found) {
    const kinds = { attention: ["Attention of the translator", "Each row is a word of the translation, each column a source word; the translator's attention when it wrote the word.", "α_t,l"], ibm1: ["IBM Model 1", "Where each word comes from by co-occurrence alone, without any network.", "Trans(y_t|x_l) / Σ_k Trans(y_t|x_k)"] };
    return h("div", { class: "figures" }, Object.entries(kinds).map(([key, [title, about, equation]]) => {
      const fig = figure({ title, about, equation, id: key });
      matrix(fig, { source: found.source, target: found.target, alpha: found[key] }, seen);
      return fig.element;
    }));
  }

  drawSetup();
  await attach();
  return { follow: async () => { drawSetup(); if (state().id !== model?.id) await attach(); else if (model?.state === "ready") await drawRoom(); }, leave: () => stream?.close() };
}
