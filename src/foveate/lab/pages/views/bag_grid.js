// The test bags of a fit as a grid: drawn when seen, most doubtful right answers first.

import { params, setParams } from "../core/address.js";
import { get } from "../core/api.js";
import { formatPercent, h, reducedMotion, render } from "../core/dom.js";
import { drawUserBag } from "../drawing/user_bag.js";
import { select, setControl } from "../ui/controls.js";
import { csv, download } from "../ui/figure.js";
import { emptyState, errorState, renderAsync } from "../ui/states.js";
import { bagEditor } from "./bag_editor.js";

const DOUBTFUL = 0.5; // from here on a right answer is probably right for the wrong reason
const OUTCOMES = {
  all: "all bags",
  doubtful: "right, but probably for the wrong reason",
  unsure: "right, for a reason that cannot be told",
  right: "right, for a good reason",
  wrong: "wrong",
};
const BADGES = {
  doubtful: ["misplaced", "!", "right, probably for the wrong reason"],
  unsure: ["inaccurate", "?", "right, the reason cannot be told"],
  right: ["focused", "✓", "right"],
  wrong: ["inaccurate", "✗", "wrong"],
  empty: ["focused", "✓", "right, nothing to point at"],
};

export function bagGrid(container, { run, paradigm, classes, unseen }, theme) {
  const cards = h("div", { class: "grid" });
  const count = h("span", { class: "note", role: "status" });
  const detail = h("div", { id: "bag" });
  const controls = h("div", { class: "controls" });
  const observer = new IntersectionObserver(drawVisible, { rootMargin: "300px" });
  const drawers = new WeakMap();
  const cardByRow = new Map(); // filters hide and show the cards
  let bags = [];
  let filters = null;
  let opened = null; // the row of the bag above the grid

  // The auditor cannot see the evidence of some classes: of their bags it says nothing.
  function outcomeOf(bag) {
    if (bag.right === false) return "wrong";
    if (bag.doubt === null) return "empty";
    if (unseen.includes(bag.says)) return "unsure";
    return bag.doubt >= DOUBTFUL ? "doubtful" : "right";
  }

  function drawVisible(entries) {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      drawers.get(target)?.();
    }
  }

  const filtered = () => {
    const { outcome = "all", label = "" } = params();
    const isAll = outcome === "all" || !(outcome in OUTCOMES);
    const fits = (bag) => isAll || outcomeOf(bag) === outcome;
    return bags.filter((bag) => fits(bag) && (!label || bag.truth === label));
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
    observer.observe(element);
    return element;
  }

  function cardOf(bag) {
    if (!cardByRow.has(bag.row)) cardByRow.set(bag.row, card(bag));
    return cardByRow.get(bag.row);
  }

  function update() {
    const visible = filtered();
    const number = (outcome) => bags.filter((bag) => outcomeOf(bag) === outcome).length;
    const words = [`${number("doubtful")} right, but probably for the wrong reason`];
    if (unseen.length) words.push(`${number("unsure")} right, for a reason that cannot be told`);
    count.textContent = `${visible.length} of ${bags.length} test bags; ${words.join("; ")}.`;
    render(cards, visible.length ? visible.map(cardOf) : emptyState("No bag fits.", "Change the filter."));
  }

  function makeFilters() {
    const set = (name) => (value) => {
      setParams({ [name]: value });
      update();
    };
    const titles = { ...OUTCOMES };
    if (!unseen.length) delete titles.unsure;
    const all = new Map([["", "every class"], ...classes.map((name) => [name, name])]);
    const save = () => download("bags.csv", csv(filtered()), "text/csv");
    const outcome = select({ label: "Show", options: titles, value: "all", onchange: set("outcome") });
    const label = select({ label: "Class", options: all, value: "", onchange: set("label") });
    const list = h("button", { type: "button", class: "quiet", onclick: save }, "List as CSV");
    render(controls, outcome, label, h("div", { class: "row" }, list, count));
    return { outcome, label };
  }

  // Show what the address says.
  async function follow() {
    const { outcome = "all", label = "", bag } = params();
    setControl(filters.outcome, outcome in OUTCOMES ? outcome : "all");
    setControl(filters.label, label);
    update();
    const row = bag === undefined ? null : Number(bag);
    if (row === opened) return;
    if (bags.some((one) => one.row === row)) await open(row);
    else {
      opened = null;
      render(detail);
    }
  }

  async function choose(row) {
    setParams({ bag: row });
    await open(row);
    const behavior = reducedMotion() ? "auto" : "smooth";
    detail.scrollIntoView({ block: "start", behavior });
  }

  async function open(row) {
    opened = row;
    const bag = bags.find((one) => one.row === row);
    await renderAsync(
      detail,
      async () =>
        bagEditor({ run, paradigm, bag, words: BADGES[outcomeOf(bag)][2], bags }, theme, close),
      "Reading the bag again …",
    );
  }

  function close() {
    setParams({ bag: null });
    render(detail);
    cardByRow.get(opened)?.focus();
    opened = null;
  }

  async function load() {
    try {
      ({ bags } = await get("/api/fit/bags", { run, paradigm }));
      filters ??= makeFilters();
      await follow();
    } catch (error) {
      render(cards, errorState(error, load));
    }
  }

  render(container, h("div", { class: "panel" }, h("h2", {}, "Your bags"), controls, detail, cards));
  load();
  return { follow: () => filters && follow(), leave: () => observer.disconnect() };
}
