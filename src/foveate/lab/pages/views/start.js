// The first page: a bag to move and edit while four ways of training attend to it.

import { get, isExported, loadTheme } from "../core/api.js";
import { h, render } from "../core/dom.js";
import { explorable } from "./explorable.js";
import { flowSection } from "./flow_section.js";

const LEAD =
  "A bag of segments comes with one label, and a model must find out by itself which segment " +
  "decides it. Drag segments and play the training: violet is attention.";
const THINGS_TO_SEE = [
  "Play: soft attention's arrow grows until its answers are right, then shrinks and stays small. " +
    "Hard attention's keeps growing, although both look at the same bags from the same start.",
  "Drag the ringed segment across a border: hard attention and witness answer by it as soon as it " +
    "has most attention, soft attention only when the mixture + crosses too.",
  "Remove the segment that decides: every model still answers. If background alone gives the answer " +
    "of one class, bags of that class can be right without a look at their evidence.",
];
const SOLVED =
  "For a linear model, and bags with one segment that decides and m − 1 that say nothing, training can " +
  "be solved: no data, no noise, no step size. Time t is the number of steps times their size.";
const OTHER_STARTS =
  "From these initial weights all four find the segment that decides. From others some answer every " +
  "bag right while looking at the wrong segment.";
const CARDS = [
  [
    "/train",
    "Find a start that is right for the wrong reason",
    "Train from many initial weights, live, and find those that answer every bag right while " +
      "looking at the wrong segment.",
    "Train it, live",
  ],
  [
    "/data",
    "Can I trust attention on my data?",
    "Choose a table of labelled bags. It is fitted, and you see which bags are right for the wrong " +
      "reason. Nothing leaves this machine.",
    "Choose a file",
  ],
  [
    "/words",
    "Which word decides?",
    "Type a sentence: where a text model looks, what each word says by itself, what changes " +
      "without it.",
    "Type a sentence",
  ],
  [
    "/runs",
    "What did my runs learn?",
    "Step through a training, open a cell of its heat map, look at its bags, compare runs.",
    "Open a run",
  ],
  [
    "/claims",
    "Do the papers' claims hold?",
    "Every claim as a check with its criterion, its verdict and its figure.",
    "Read the ledger",
  ],
];

export async function open(container) {
  const [theme, data] = await Promise.all([loadTheme(), get("/api/explorable")]);
  const section = flowSection(theme);
  const player = explorable(data, theme);
  render(
    container,
    h("h1", {}, "Why does soft attention stop improving?"),
    h("p", { class: "lead" }, LEAD),
    h("p", { class: "answer", id: "why" }, player.answer),
    player.element,
    thingsToSee(),
    h("h2", {}, "The same, solved exactly"),
    h("p", { class: "lead" }, SOLVED),
    section.answer,
    section.element,
    isExported ? installHint() : cards(),
  );
  player.start();
  await section.update();
  return {
    follow: section.follow,
    leave: () => {
      player.stop();
      section.destroy();
    },
  };
}

function thingsToSee() {
  const words = "Find a start that is right for the wrong reason →";
  const link = h("a", { href: "/train", class: "button" }, words);
  return [
    h("h2", {}, "Three things to see"),
    h("ol", { class: "steps" }, THINGS_TO_SEE.map((text) => h("li", {}, text))),
    h("p", {}, OTHER_STARTS),
    !isExported && h("p", {}, link),
  ];
}

function cards() {
  const card = ([href, question, words, act]) =>
    h(
      "li",
      {},
      h(
        "a",
        { class: "card", href },
        h("h3", {}, question),
        h("p", {}, words),
        h("span", { class: "act" }, `${act} →`),
      ),
    );
  return [h("h2", {}, "What else there is"), h("ul", { class: "cards" }, CARDS.map(card))];
}

function installHint() {
  const text = "Install foveate and open its lab to train from many starts and to use your own data: ";
  return h("p", {}, text, h("code", {}, "foveate lab"));
}
