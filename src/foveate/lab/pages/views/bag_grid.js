// The test bags of a fit as a grid: drawn when seen, most doubtful right answers first.

import { params, setParams } from "../core/address.js";
import { get } from "../core/api.js";
import { formatPercent, h, reducedMotion, render } from "../core/dom.js";
import { drawUserBag } from "../drawing/user_bag.js";
import { select } from "../ui/controls.js";
import { csv, download } from "../ui/figure.js";
import { emptyState, errorState, renderAsync } from "../ui/states.js";
import { bagEditor } from "./bag_editor.js";

const DOUBTFUL = 0.5; // from here on a right answer is probably right for the wrong reason
const OUTCOMES = {
  all: ["all bags", () => true],
  doubtful: ["right, but probably for the wrong reason", (bag) => outcomeOf(bag) === "doubtful"],
  right: ["right, for a good reason", (bag) => outcomeOf(bag) === "right"],
  wrong: ["wrong", (bag) => outcomeOf(bag) === "wrong"],
};
const BADGES = {
  doubtful: ["misplaced", "!", "right, probably for the wrong reason"],
  right: ["focused", "✓", "right"],
  wrong: ["inaccurate", "✗", "wrong"],
  empty: ["focused", "✓", "right, nothing to point at"],
};

function outcomeOf(bag) {
  if (bag.right === false) return "wrong";
  if (bag.doubt === null) return "empty";
  return bag.doubt >= DOUBTFUL ? "doubtful" : "right";
}

export function bagGrid(container, { run, paradigm, classes }, theme) {
  const cards = h("div", { class: "grid" });
  const count = h("span", { class: "note", role: "status" });
  const detail = h("div", { id: "bag" });
  const controls = h("div", { class: "controls" });
  const observer = new IntersectionObserver(drawVisible, { rootMargin: "300px" });
  const drawers = new WeakMap();
  let bags = [];

  function drawVisible(entries) {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      drawers.get(target)?.();
    }
  }

  const filtered = () => {
    const { outcome = "all", label = "" } = params();
    const [, test] = OUTCOMES[outcome] ?? OUTCOMES.all;
    return bags.filter((bag) => test(bag) && (!label || bag.truth === label));
  };

  function card(bag) {
    const [style, sign, words] = BADGES[outcomeOf(bag)];
    const picture = h("div", { class: "thumbnail" });
    const element = h(
      "button",
      {
        type: "button",
        class: "bag-card",
        "data-focus": `bag-${bag.row}`,
        "data-outcome": outcomeOf(bag),
        onclick: () => choose(bag.row),
      },
      h(
        "span",
        { class: "head" },
        h("span", { class: `sign ${style}`, "aria-hidden": "true" }, sign),
        h("b", { title: bag.id }, bag.id),
      ),
      h(
        "span",
        { class: "text" },
        `${bag.truth ?? "unlabelled"}, read as ${bag.says} (${formatPercent(bag.p)})`,
      ),
      h("span", { class: "text" }, words),
      picture,
    );
    drawers.set(element, async () => {
      try {
        const content = await get("/api/fit/bag", { run, paradigm, row: bag.row, removal: false });
        const drawing = drawUserBag(content, theme, { compact: true });
        drawing.attend(content.alpha);
        render(picture, drawing.element);
      } catch {
        render(picture, h("span", { class: "note" }, "cannot be drawn"));
      }
    });
    return element;
  }

  function update() {
    const kept = filtered();
    const doubtful = bags.filter((bag) => outcomeOf(bag) === "doubtful").length;
    const words = `${doubtful} right, but probably for the wrong reason`;
    count.textContent = `${kept.length} of ${bags.length} test bags; ${words}.`;
    observer.disconnect();
    const elements = kept.map(card);
    render(cards, elements.length ? elements : emptyState("No bag fits.", "Change the filter."));
    elements.forEach((element) => observer.observe(element));
  }

  function drawControls() {
    const { outcome = "all", label = "" } = params();
    const set = (values) => {
      setParams(values);
      update();
    };
    const titles = Object.fromEntries(Object.entries(OUTCOMES).map(([key, [words]]) => [key, words]));
    const all = new Map([["", "every class"], ...classes.map((name) => [name, name])]);
    const save = () => download("bags.csv", csv(filtered()), "text/csv");
    render(
      controls,
      select({
        label: "Show",
        options: titles,
        value: outcome,
        onchange: (value) => set({ outcome: value }),
      }),
      select({ label: "Class", options: all, value: label, onchange: (value) => set({ label: value }) }),
      h(
        "div",
        { class: "row" },
        h("button", { type: "button", class: "quiet", onclick: save }, "List as CSV"),
        count,
      ),
    );
  }

  async function choose(row, scroll = true) {
    setParams({ bag: row });
    const bag = bags.find((one) => one.row === row);
    await renderAsync(
      detail,
      async () =>
        bagEditor({ run, paradigm, bag, words: BADGES[outcomeOf(bag)][2], bags }, theme, close),
      "Reading the bag again …",
    );
    const behavior = reducedMotion() ? "auto" : "smooth";
    if (scroll) detail.scrollIntoView({ block: "start", behavior });
  }

  function close() {
    const { bag } = params();
    setParams({ bag: null });
    render(detail);
    cards.querySelector(`[data-focus="bag-${bag}"]`)?.focus();
  }

  async function load() {
    try {
      ({ bags } = await get("/api/fit/bags", { run, paradigm }));
      drawControls();
      update();
      const { bag } = params();
      if (bag !== undefined && bags.some((one) => one.row === Number(bag)))
        await choose(Number(bag), false);
    } catch (error) {
      render(cards, errorState(error, load));
    }
  }

  render(container, h("div", { class: "panel" }, h("h2", {}, "Your bags"), controls, detail, cards));
  load();
  return { leave: () => observer.disconnect() };
}
