// The first page: what there is to see, as questions.

import { h, render } from "../core/dom.js";

const CARDS = [
  [
    "/train",
    "Right answer, wrong segment",
    "Train a small model from many initial weights, live, and find the starts that answer" +
      " every question right while looking at the wrong thing.",
    "Train it, live",
  ],
  [
    "/flow",
    "Why does soft attention stop improving?",
    "Three ways to train attention, solved exactly. Move a slider and see which of them " +
      "learns where to look, and when it stops.",
    "Move sliders",
  ],
  [
    "/data",
    "Can I trust attention on my own data?",
    "Drop a table of labelled bags. It is checked and fitted, and you are told whether " +
      "its attention can be trusted. Nothing leaves this machine.",
    "Drop a file",
  ],
  [
    "/words",
    "What does a text model look at?",
    "Train a small reader or translator and type: attention, what each word knows by " +
      "itself, what moves the answer.",
    "Type a text",
  ],
  [
    "/runs",
    "What did my runs learn, and where do they look?",
    "Step through a training, open a cell of its heat map, and look at the very bags that" +
      " were right for the wrong reason.",
    "Open a run",
  ],
  [
    "/claims",
    "Do the papers' claims hold?",
    "Every claim as a check with its criterion, its verdict and its figure; run the " +
      "experiment again from the page.",
    "Read the ledger",
  ],
];

export async function open(container) {
  render(
    container,
    h("h1", {}, "Attention that looks at the right thing"),
    h(
      "p",
      { class: "lead" },
      "A model gets a bag of segments, one of which decides the label, and must find out " +
        "by itself which to look at. It can answer right and still look in the wrong segment." +
        " Here you see when, and why.",
    ),
    h(
      "ul",
      { class: "cards" },
      CARDS.map(([href, question, words, act], k) =>
        h(
          "li",
          {},
          h(
            "a",
            { class: "card", href },
            h("h2", {}, question),
            h("p", {}, words),
            h("span", { class: k ? "act" : "act first" }, `${act} →`),
          ),
        ),
      ),
    ),
  );
}
