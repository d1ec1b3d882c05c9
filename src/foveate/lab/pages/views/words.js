// Words: a text model is trained or a saved one is opened, then queried with what is typed.

import { params, setParams } from "../core/address.js";
import { get, loadTheme, post } from "../core/api.js";
import { formatPercent, h, render, uniqueId } from "../core/dom.js";
import { followJob, hasEnded, loadJob, stopJob } from "../core/job.js";
import { select } from "../ui/controls.js";
import { jobStatus } from "../ui/job_status.js";
import { errorState, loadingState, renderAsync } from "../ui/states.js";
import { alignmentFigures, readingFigures } from "./text_answers.js";

const LEAD =
  "Type a sentence and see which word decides the answer: where the model looks, what each word " +
  "says by itself, and what happens without it. Or type a sentence and its translation.";
const STEPS = { texts: 300, pairs: 400 };

export async function open(container) {
  const theme = await loadTheme();
  let offer = await get("/api/text-models");
  const settings = h("section", { class: "panel", "aria-label": "Model" });
  const status = h("section", { class: "panel status", "aria-label": "Progress" });
  const questions = h("section", { "aria-label": "Ask the model" });
  render(
    container,
    h("h1", {}, "Which word decides?"),
    h("p", { class: "lead" }, LEAD),
    questions,
    status,
    settings,
  );
  let model = null;
  let stream = null;
  let panel = null; // the boxes to type in, and what is read out of them

  const selection = () => {
    const query = params();
    const what = query.what === "pairs" ? "pairs" : "texts";
    const names = Object.keys(offer[what]);
    return { what, corpus: names.includes(query.corpus) ? query.corpus : names[0] };
  };

  function drawSettings() {
    const { what, corpus } = selection();
    const saved = Object.entries(offer.saved).filter(([, about]) => about.what === what);
    const start = () => begin({ ...selection(), steps: STEPS[selection().what] });
    render(
      settings,
      h("h2", {}, "Another model"),
      h(
        "div",
        { class: "controls" },
        select({
          label: "I want to",
          value: what,
          options: { texts: "read texts", pairs: "align sentence pairs" },
          onchange: (value) => {
            setParams({ what: value, corpus: null });
            drawSettings();
          },
        }),
        select({
          label: "A new model learns from",
          value: corpus,
          options: offer[what],
          onchange: (value) => {
            setParams({ corpus: value });
            drawSettings();
          },
        }),
        h(
          "div",
          { class: "row" },
          h("button", { type: "button", class: "main", id: "start", onclick: start }, "Train a model"),
          h("span", { class: "note" }, "about a minute"),
        ),
      ),
      saved.length ? savedSelect(saved) : noneSaved(what),
    );
  }

  function savedSelect(saved) {
    const describe = ([name, about]) => {
      const corpus = offer[about.what][about.corpus] ?? about.corpus;
      const numbers = [`${about.steps} steps`, `${formatPercent(about.accuracy)} right`];
      const facts = about.created ? [...numbers, about.created.replace("T", " ")] : numbers;
      return [name, `${corpus}: ${facts.join(", ")}`];
    };
    return select({
      label: "Or ask one that was trained before",
      value: params().model ?? "",
      options: { "": "choose …", ...Object.fromEntries(saved.map(describe)) },
      onchange: (name) => name && begin({ model: name }),
    });
  }

  function noneSaved(what) {
    const which = what === "texts" ? "reads texts" : "aligns pairs";
    const text = `No model that ${which} was saved yet. What is trained here is saved in the runs folder.`;
    return h("p", { class: "note" }, text);
  }

  async function begin(request) {
    try {
      if (model?.state === "running") await stopJob(model.id);
      const started = await post("/api/text-models", request);
      const { what, corpus } = started.job;
      const cleared = { text: null, source: null, target: null };
      setParams({ id: started.id, model: request.model ?? null, what, corpus, ...cleared });
      dispatchEvent(new Event("jobs-changed"));
      drawSettings();
      await attach();
    } catch (error) {
      render(status, errorState(error));
    }
  }

  async function attach() {
    stream?.close();
    model = null;
    const { id, model: name } = params();
    if (!id) {
      const first = name ?? defaultModel();
      if (first) return reopen(first);
      render(status, h("p", { class: "note" }, "No model is open. Train one below."));
      return clearQuestions();
    }
    try {
      model = await loadJob(id);
    } catch (error) {
      if (name in offer.saved) return reopen(name);
      render(status, errorState(new Error(`${error.message}. Train one below.`)));
      return clearQuestions();
    }
    drawStatus();
    if (isReady()) await drawQuestions(model.setup.view);
    else if (!hasEnded(model)) {
      listen(id);
      await drawStoredReadings(name);
    } else clearQuestions();
  }

  function clearQuestions() {
    panel = null;
    render(questions);
  }

  // Texts that a bundled model has read before, to look at while it is loaded.
  async function drawStoredReadings(name) {
    const { readings } = await get("/api/text-models/readings", { model: name ?? "" });
    if (isReady()) return;
    const examples = Object.keys(readings);
    if (examples.length) await drawQuestions({ kind: "texts", examples }, readings);
    else clearQuestions();
  }

  const isReady = () => ["ready", "idle"].includes(model.state);

  // The model that opens without being asked for: the newest one that fits the address.
  function defaultModel() {
    const { what } = selection();
    const { corpus } = params();
    const fits = ([, about]) => about.what === what && (!corpus || about.corpus === corpus);
    return Object.entries(offer.saved).find(fits)?.[0];
  }

  function listen(id) {
    const onState = async () => {
      drawStatus();
      if (!isReady() || !stream) return;
      stream.close();
      stream = null;
      model = await loadJob(id);
      offer = await get("/api/text-models");
      setParams({ model: model.result?.model || null }, { step: false });
      drawSettings();
      drawStatus();
      if (panel) await panel.answer();
      else await drawQuestions(model.setup.view);
    };
    stream = followJob(model, {
      state: onState,
      frame: drawStatus,
      setup: drawStatus,
      end: drawStatus,
      reload: attach,
    });
  }

  async function reopen(name) {
    try {
      const started = await post("/api/text-models", { model: name });
      setParams({ id: started.id, model: name }, { step: false });
    } catch (error) {
      render(status, errorState(error));
      return clearQuestions();
    }
    await attach();
  }

  let bar = null; // the status of one model
  function drawStatus() {
    if (bar?.id !== model.id) bar = statusBar(model.id);
    bar.update(model);
    if (!bar.element.isConnected) render(status, bar.element);
  }

  function statusBar(id) {
    const { corpus, what, steps } = model.job;
    const total = (job) => job.setup.epochs ?? steps;
    const unit = what === "texts" ? "texts" : "words";
    const right = (job) => {
      const accuracy = job.now.soft?.accuracy?.[0];
      return accuracy === undefined ? "" : `, ${formatPercent(accuracy)} of held-out ${unit} right`;
    };
    const progress = jobStatus({
      words: { running: "Training", ready: "Ready to be asked", idle: "Ready to be asked" },
      about: offer[what][corpus] ?? corpus,
      amount: (job) => `step ${job.epoch} of ${total(job)}${right(job)}`,
      share: (job) => job.epoch / total(job),
    });
    const open = { type: "button", onclick: () => reopen(model.result.model) };
    const again = h("button", open, "Open it again");
    const update = (job) => {
      progress.update(job);
      again.hidden = !(hasEnded(job) && job.result?.model);
    };
    return { id, update, element: h("div", {}, progress.element, again) };
  }

  async function drawQuestions({ examples, kind }, readings = {}) {
    const query = params();
    const pairs = kind === "pairs";
    const result = h("div", {});
    const ask = () => {
      setParams(typed());
      return answer();
    };
    const boxes = pairs
      ? {
          source: textBox("Source sentence", query.source ?? examples[0][0], ask),
          target: textBox("Its translation", query.target ?? examples[0][1], ask),
        }
      : { text: textBox("A text to read", query.text ?? examples[0], ask) };
    const typed = () =>
      Object.fromEntries(Object.entries(boxes).map(([key, one]) => [key, one.box.value]));
    const answer = () => {
      if (!isReady()) {
        const stored = readings[typed().text];
        const wait = loadingState("The model is being loaded …");
        return render(result, stored ? readingFigures(stored, theme) : wait);
      }
      return renderAsync(
        result,
        async () => {
          const content = await post(`/api/text-models/${model.id}`, typed());
          return content.tokens ? readingFigures(content, theme) : alignmentFigures(content, theme);
        },
        "Reading …",
      );
    };
    const fillIn = (example) => {
      if (pairs) [boxes.source.box.value, boxes.target.box.value] = example;
      else boxes.text.box.value = example;
      return ask();
    };
    const chip = (example) => {
      const attributes = { type: "button", onclick: () => fillIn(example) };
      return h("button", attributes, pairs ? example[0] : example);
    };
    const group = { class: "chips", role: "group", "aria-label": "Held-out examples" };
    render(
      questions,
      h(
        "div",
        { class: "panel" },
        Object.values(boxes).map((one) => one.element),
        h(
          "div",
          { class: "row" },
          h(
            "button",
            { type: "button", class: "main", id: "ask", onclick: ask },
            pairs ? "Align" : "Read",
          ),
          h("span", { class: "note" }, "or take a text that the model has not seen in training:"),
        ),
        h("div", group, examples.map(chip)),
      ),
      result,
    );
    panel = { answer };
    await answer();
  }

  drawSettings();
  await attach();
  return {
    follow: async () => {
      drawSettings();
      if (params().id !== model?.id) await attach();
      else if (model && isReady()) await drawQuestions(model.setup.view);
    },
    leave: () => stream?.close(),
  };
}

function textBox(label, value, submit) {
  const id = uniqueId("text");
  const onkeydown = (event) => {
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    submit();
  };
  const box = h("textarea", { id, rows: 2, maxlength: 4000, value, onkeydown });
  return { box, element: h("div", { class: "control stacked" }, h("label", { for: id }, label), box) };
}
