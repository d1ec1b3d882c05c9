// The result of a fit on one screen: verdict, recommendation, the bags, what to do next.

import { addressOf, params, setParams } from "../core/address.js";
import { get } from "../core/api.js";
import { capitalised, formatNumber, formatPercent, h, render } from "../core/dom.js";
import { folded } from "../ui/controls.js";
import { renderAsync } from "../ui/states.js";
import { bagGrid } from "./bag_grid.js";
import { fitAnswers } from "./fit_answers.js";
import { newBags } from "./new_bags.js";

const GRADES = { trust: "good", "trust with care": "warn", "do not trust": "bad", "cannot tell": "" };

export async function fitResult(container, run, theme) {
  let grid = null;
  let fit = null;
  const selected = () => {
    const { paradigm } = params();
    return fit.paradigms.includes(paradigm) ? paradigm : fit.chosen;
  };
  const verdict = h("div", {});
  const bags = h("div", {});
  const table = h("div", {});
  const ways = folded("All ways to attend", table);
  const folds = h("div", { class: "folds" });
  const predictor = newBags(run);
  let answers = null;

  const use = (paradigm) => {
    setParams({ paradigm, bag: null });
    update();
  };
  // The button is gone when its advice was taken; the focus goes on to what it changed.
  const take = (paradigm) => {
    use(paradigm);
    verdict.querySelector("h2").focus();
  };
  let current = null;

  function update() {
    const paradigm = selected();
    current = paradigm;
    render(verdict, verdictPanel(fit, paradigm, theme, take));
    render(table, paradigmTable(fit, paradigm, theme, use));
    predictor.use(paradigm);
    grid?.leave();
    const rows = fit.verdicts[paradigm]?.classes ?? [];
    const unseen = rows.filter((one) => !one.visible).map((one) => one.name);
    grid = bagGrid(bags, { run, paradigm, classes: fit.classes, unseen }, theme);
  }

  async function load() {
    fit = await get("/api/fit", { run });
    answers?.leave();
    answers = fit.examinable ? fitAnswers(fit, load) : null;
    update();
    render(folds, ways, answers?.element, predictor.element, downloads(fit));
  }

  await renderAsync(
    container,
    async () => {
      await load();
      return [verdict, folds, bags];
    },
    "Opening the fit …",
  );
  const leave = () => {
    grid?.leave();
    predictor.leave();
    answers?.leave();
  };
  const follow = () => {
    if (!fit) return;
    if (selected() === current) grid.follow();
    else update();
  };
  return { leave, follow };
}

function label(theme, name) {
  return theme.paradigms[name]?.label ?? capitalised(name);
}

export function verdictPanel(fit, paradigm, theme, use = null) {
  const verdict = fit.verdicts[paradigm];
  const grade =
    verdict && h("span", { class: `pill ${GRADES[verdict.grade]}`, id: "verdict" }, verdict.grade);
  const summary = verdict ? verdict.summary : "This fit was not examined yet.";
  const reasons = (verdict?.why ?? []).filter((words) => !summary.includes(words)).slice(0, 4);
  const advice = fit.recommendation;
  const other = advice && advice.name !== paradigm;
  const name = label(theme, paradigm).replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());
  const button = { type: "button", class: "main", id: "use", onclick: () => use(advice.name) };
  return h(
    "div",
    { class: "panel verdict" },
    h("h2", { tabindex: -1 }, `Can the attention of the ${name} models be trusted?`),
    h("p", { class: "summary" }, grade, " ", summary),
    reasons.length > 0 && h("ul", {}, reasons.map((words) => h("li", {}, words))),
    verdict?.answers.length > 0 && sixQuestions(verdict.answers),
    verdict?.next.length > 0 && nextSteps(verdict.next),
    advice &&
      h(
        "p",
        { class: "row", id: "recommendation" },
        h("span", {}, capitalised(advice.sentence)),
        other && use && h("button", button, `Use ${label(theme, advice.name).toLowerCase()}`),
      ),
  );
}

// Each question with a mark and a sentence.
function sixQuestions(answers) {
  const style = { good: "good", fair: "warn", bad: "bad", unknown: "" };
  const item = ({ question, mark, text }) =>
    h(
      "li",
      {},
      h("span", { class: `pill ${style[mark] ?? ""}` }, mark),
      ` ${question} `,
      h("span", { class: "note" }, text),
    );
  return h("ul", { class: "problems", id: "questions" }, answers.map(item));
}

// An estimate with its interval, unless resampling the bags gave none.
function interval([mean, low, high], format) {
  if (mean === null || mean === undefined) return "–";
  const hasEnds = low !== null && low !== undefined && low < high;
  return `${format(mean)}${hasEnds ? ` [${format(low)}, ${format(high)}]` : ""}`;
}

const HEADS = ["Way to attend", "Right on test bags", "Balanced accuracy", "AUROC"];

function paradigmTable(fit, paradigm, theme, use) {
  const number = (words) => h("td", { class: "number" }, words);
  const row = (name) => {
    const { test } = fit.scores[name];
    const verdict = fit.verdicts[name];
    const isSelected = name === paradigm;
    const title = label(theme, name);
    const choose = {
      type: "button",
      class: "quiet",
      "aria-pressed": isSelected,
      "aria-label": `Show ${title}`,
      onclick: () => use(name),
    };
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, title, name === fit.chosen ? " (chosen)" : ""),
      number(fit.right[name]),
      number(interval(test.balanced_accuracy, formatPercent)),
      number(interval(test.auroc, (x) => formatNumber(x, 2))),
      h("td", {}, verdict ? h("span", { class: `pill ${GRADES[verdict.grade]}` }, verdict.grade) : "–"),
      h("td", {}, h("button", choose, isSelected ? "Shown" : "Show")),
    );
  };
  const head = (title, k) => h("th", { class: k > 0 ? "number" : null }, title);
  const others = ["Can it be trusted?", "Show"].map((title) => h("th", {}, title));
  const table = h(
    "table",
    {},
    h("thead", {}, h("tr", {}, HEADS.map(head), others)),
    h("tbody", {}, fit.paradigms.map(row)),
  );
  const note =
    `On ${fit.sizes.test} test bags, with 95 % intervals: Wilson's for counts, resampled bags for the ` +
    `others. Chosen: ${fit.rule}.`;
  return h(
    "div",
    {},
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Ways to attend" }, table),
    h("p", { class: "note" }, note),
  );
}

function nextSteps(next) {
  const items = next.map((words) => h("li", {}, words));
  return [h("h3", {}, "What to do next"), h("ul", { id: "next-steps" }, items)];
}

function downloads(fit) {
  const page = (words, path, values) => {
    const href = addressOf(path, { run: fit.run, ...values });
    return h("li", {}, h("a", { href, target: "_blank", rel: "noopener" }, words));
  };
  const titles = {
    evidence: "Evidence page: attention and evidence for each class",
    report: "Report of the fit",
    trust: "Report on trust",
  };
  return folded(
    "Downloads",
    h(
      "ul",
      {},
      page("Predictions, one row a bag (CSV)", "api/run/table", { name: "bags" }),
      page("Attention and evidence, one row a segment (CSV)", "api/run/table", { name: "segments" }),
      fit.pages.map((name) => page(titles[name], "api/run/report", { page: name })),
      h("li", {}, h("a", { href: addressOf("runs", { run: fit.run }) }, "The run")),
    ),
  );
}
