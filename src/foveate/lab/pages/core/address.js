// The address holds the whole state of a view: a link restores it, and Back undoes a step.

import { isExported } from "./api.js";

export function viewName() {
  if (isExported) return "start";
  return location.pathname.split("/")[1] || "start";
}

export function params() {
  return Object.fromEntries(new URLSearchParams(location.search));
}

export function addressOf(name, values = {}) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== "") query.set(key, String(value));
  }
  const text = query.toString();
  const path = isExported ? location.pathname : `/${name === "start" ? "" : name}`;
  return `${path}${text ? `?${text}` : ""}`;
}

// Change some parameters: as a step that Back undoes, or, while a slider moves, in place.
export function setParams(values, { step = true, redraw = false } = {}) {
  const address = addressOf(viewName(), { ...params(), ...values });
  if (address === location.pathname + location.search) return;
  history[step ? "pushState" : "replaceState"](null, "", address);
  if (redraw) dispatchEvent(new PopStateEvent("popstate"));
}

export function navigate(address) {
  history.pushState(null, "", address);
  dispatchEvent(new PopStateEvent("popstate"));
}
