// The shell: navigation, and the view that the address names.

import { fill, h } from "/pages/dom.js";
import { go, view } from "/pages/address.js";
import { failed, loading } from "/pages/parts.js";

const VIEWS = {
  start: ["Start", "Start"],
  flow: ["Flow", "Exact learning dynamics"],
  train: ["Train", "Live training"],
  runs: ["Runs", "Runs"],
  words: ["Words", "Words"],
  own: ["Own data", "Own data"],
  claims: ["Claims", "The ledger of claims"],
};

const main = document.getElementById("main");
const nav = document.getElementById("nav");
let now = { name: null, leave: null, follow: null };

function navigation() {
  fill(nav, h("ul", {}, Object.entries(VIEWS).map(([name, [title]]) =>
    h("li", {}, h("a", { href: name === "start" ? "/" : `/${name}`, "aria-current": name === view() ? "page" : null }, title)))));
}

async function show() {
  const name = view() in VIEWS ? view() : "start";
  navigation();
  document.title = `${VIEWS[name][1]} · foveate lab`;
  if (now.name === name && now.follow) return now.follow();
  now.leave?.();
  now = { name, leave: null, follow: null };
  fill(main, loading());
  try {
    const { open } = await import(`/pages/${name}.js`);
    const place = h("div", { class: `view ${name}` });
    fill(main, place);
    const opened = await open(place);
    if (now.name === name) Object.assign(now, opened ?? {});
    else opened?.leave?.();
  } catch (error) {
    if (now.name === name) fill(main, failed(error, () => { now.name = null; show(); }));
  }
}

addEventListener("popstate", show);
document.addEventListener("click", (event) => {
  const anchor = event.target.closest?.("a[href]");
  if (!anchor || anchor.target || anchor.hasAttribute("download") || event.defaultPrevented) return;
  if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const place = new URL(anchor.href, location.href);
  if (place.origin !== location.origin || place.pathname.startsWith("/api/") || anchor.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  go(place.pathname + place.search);
  if (!anchor.closest("main")) scrollTo(0, 0);
});
show();
