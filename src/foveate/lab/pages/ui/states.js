// What a part of a page shows while it waits, when it has nothing, and when something failed.

import { h, render } from "../core/dom.js";

export function loadingState(words = "Loading …") {
  const spinner = h("span", { class: "spinner", "aria-hidden": "true" });
  return h("p", { class: "state", role: "status" }, spinner, words);
}

export function emptyState(title, ...words) {
  return h("div", { class: "state empty" }, h("p", { class: "strong" }, title), h("p", {}, ...words));
}

export function errorState(error, retry = null) {
  return h(
    "div",
    { class: "state error", role: "alert" },
    h("p", { class: "strong" }, "That did not work."),
    h("p", {}, error.message || String(error)),
    retry && h("button", { type: "button", onclick: retry }, "Try again"),
  );
}

// Render what a promise gives: a loading state meanwhile, an error state if it fails. Only the last
// call for a container counts.
export async function renderAsync(container, make, words) {
  const turn = (container.turn = (container.turn ?? 0) + 1);
  const isCurrent = () => container.turn === turn;
  const timer = setTimeout(() => isCurrent() && render(container, loadingState(words)), 120);
  try {
    const content = await make();
    if (isCurrent()) render(container, content);
  } catch (error) {
    if (isCurrent() && error.name !== "AbortError") {
      render(
        container,
        errorState(error, () => renderAsync(container, make, words)),
      );
    }
  } finally {
    clearTimeout(timer);
  }
}
