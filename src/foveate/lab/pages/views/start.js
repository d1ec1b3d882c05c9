// The first page: a bag to move and edit while four ways of training attend to it.

import { get, isExported, loadTheme } from "../core/api.js";
import { h, render } from "../core/dom.js";
import { preloadVega } from "../ui/charts.js";
import { explorable } from "./explorable.js";
import { flowSection } from "./flow_section.js";

const LEAD =
  "A bag of segments comes with one label, and a model must find out by itself which segment " +
  "decides it. Drag the segments, and play the training: the violet glow is attention.";
const CARDS = [
  [
    "/train",
    "Find a start that cheats",
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
  const cheat = h("a", { href: "/train", class: "button" }, "Now find a start that cheats →");
  render(
    container,
    h("h1", {}, "Why does soft attention stop improving?"),
    section.answer,
    h("p", { class: "lead" }, LEAD),
    player.element,
    !isExported && h("p", {}, cheat),
    h("h2", {}, "The same, solved exactly"),
    section.element,
    isExported ? installHint() : cards(),
  );
  player.start();
  preloadVega();
  await section.update();
  return {
    follow: section.follow,
    leave: () => {
      player.stop();
      section.destroy();
    },
  };
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
