// The address holds the whole state of a view: a link restores it, and Back goes back.

export function view() {
  const name = location.pathname.split("/")[1];
  return name || "start";
}

export function state() {
  return Object.fromEntries(new URLSearchParams(location.search));
}

export function link(name, values = {}) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== "") query.set(key, String(value));
  }
  const text = query.toString();
  return `/${name === "start" ? "" : name}${text ? `?${text}` : ""}`;
}

// Change some of the state: as a step that Back undoes, or, while a slider moves, in place.
export function change(values, { step = true, redraw = false } = {}) {
  const place = link(view(), { ...state(), ...values });
  if (place === location.pathname + location.search) return;
  history[step ? "pushState" : "replaceState"](null, "", place);
  if (redraw) dispatchEvent(new PopStateEvent("popstate"));
}

export function go(place) {
  history.pushState(null, "", place);
  dispatchEvent(new PopStateEvent("popstate"));
}
