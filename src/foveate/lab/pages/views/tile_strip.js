// All starts of a training: one lane per paradigm, one tile per seed.

import { addressOf, params } from "../core/address.js";
import { formatShare, h, render } from "../core/dom.js";

const HINT =
  "In a square: FT, the share of bags in which the focus is right, and the seed. " +
  "Click one to look inside.";

export function tileStrip(job, theme, choose) {
  const { seeds } = job.setup;
  const tiles = {};
  const lanes = job.job.paradigms.map((name) => {
    tiles[name] = seeds.map((seed) => tile(() => choose(seed)));
    const { colour, label } = theme.paradigms[name];
    return h(
      "div",
      { class: "lane" },
      h("div", { class: "name", style: { "border-left-color": colour } }, label),
      h("div", { class: "tiles", style: { "max-width": `${76 * seeds.length}px` } }, tiles[name]),
    );
  });
  const legend = Object.entries(theme.outcomes).map(([key, { sign, label }]) =>
    h("span", {}, h("span", { class: `sign ${key}`, "aria-hidden": "true" }, sign), label),
  );
  const list = h("ul", {
    class: "found",
    id: "found",
    style: { "min-height": `${1.6 * job.job.paradigms.length}rem` },
    "aria-label": "Starts in an error mode",
  });
  const element = h(
    "div",
    {},
    h("h2", {}, "All starts"),
    h("div", { class: "legend" }, legend, h("span", { class: "note" }, HINT)),
    h("div", { class: "strip" }, lanes),
    list,
  );
  let listed = "";

  function update(now) {
    const chosen = Number(params().seed ?? now.seed ?? now.job.first);
    const misplaced = {};
    for (const [name, row] of Object.entries(tiles)) {
      row.forEach((element_, k) => {
        const outcome = now.epoch > 0 ? now.outcomes[name]?.[k] : undefined;
        updateTile(element_, { name, k, outcome, seed: seeds[k], chosen }, now, theme);
        if (outcome === "misplaced") (misplaced[name] ??= []).push(seeds[k]);
      });
    }
    const next = document.getElementById("next");
    next?.toggleAttribute("disabled", Object.keys(misplaced).length === 0);
    const form = JSON.stringify([now.epoch > 0, misplaced]);
    if (form === listed) return;
    listed = form;
    const items = now.job.paradigms.map((name) =>
      misplacedItem(name, misplaced[name] ?? [], seeds, theme),
    );
    render(list, now.epoch > 0 && items);
  }
  return { element, update };
}

function tile(onclick) {
  const content = [h("b", {}, "–"), h("span", { "aria-hidden": "true" })];
  return h("button", { type: "button", class: "tile none", onclick }, content);
}

function updateTile(element, { name, k, outcome, seed, chosen }, job, theme) {
  const { ft, accuracy } = job.now[name] ?? {};
  const words = outcome ? `, ${theme.outcomes[outcome].label}` : "";
  const numbers = ft && `accuracy ${formatShare(accuracy[k])}, FT ${formatShare(ft[k])}${words}`;
  const label = ft ? `${theme.paradigms[name].label}, seed ${seed}: ${numbers}` : `seed ${seed}`;
  element.className = `tile ${outcome ?? "none"}`;
  element.firstChild.textContent = ft ? formatShare(ft[k]) : "–";
  element.lastChild.textContent = `#${seed} ${theme.outcomes[outcome]?.sign ?? ""}`;
  element.setAttribute("aria-pressed", seed === chosen ? "true" : "false");
  element.setAttribute("aria-label", label);
  element.title = label;
}

function misplacedItem(name, misplaced, seeds, theme) {
  const title = h("b", {}, theme.paradigms[name].label);
  if (!misplaced.length) {
    return h("li", {}, title, ": no start answers right while looking at the wrong segment.");
  }
  const link = (seed) => h("a", { href: addressOf("train", { ...params(), seed }) }, String(seed));
  const links = misplaced.slice(0, 12).flatMap((seed, k) => [k ? ", " : "", link(seed)]);
  const count = `${misplaced.length} of ${seeds.length} starts`;
  const text = `: ${count} answer right but look at the wrong segment. Seeds `;
  return h("li", {}, title, text, links, misplaced.length > 12 ? ", …" : ".");
}
