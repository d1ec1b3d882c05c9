// The shell: navigation, the list of jobs, and the view that the address names.

import { addressOf, navigate, viewName } from "./core/address.js";
import { isExported } from "./core/api.js";
import { h, render } from "./core/dom.js";
import { emptyState, errorState, loadingState } from "./ui/states.js";

const VIEWS = {
  start: ["Start", "Why soft attention stops improving"],
  flow: ["Flow", "Exact learning dynamics"],
  train: ["Train", "Live training"],
  data: ["Your data", "Your data"],
  words: ["Words", "Words"],
  runs: ["Runs", "Runs"],
  claims: ["Claims", "The ledger of claims"],
};

const main = document.getElementById("main");
let current = { name: null, leave: null, follow: null };

// Links are made once and updated, so that the focused one stays focused.
const links = Object.fromEntries(
  Object.entries(VIEWS).map(([name, [title]]) => [name, h("a", { href: addressOf(name) }, title)]),
);

function updateNavigation(name) {
  for (const [key, link] of Object.entries(links)) {
    if (key === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function notFound() {
  document.title = "Not found · foveate lab";
  const pages = Object.entries(VIEWS).map(([name, [, title]]) =>
    h("li", {}, h("a", { href: addressOf(name) }, title)),
  );
  const text = `The lab has no page ${location.pathname}. These are its pages:`;
  render(main, h("h1", {}, "There is no such page"), emptyState("Not found", text), h("ul", {}, pages));
}

async function show() {
  const name = viewName();
  updateNavigation(name);
  if (current.name === name && current.follow) return current.follow();
  current.leave?.();
  current = { name, leave: null, follow: null };
  if (!(name in VIEWS)) return notFound();
  document.title = `${VIEWS[name][1]} · foveate lab`;
  render(main, loadingState());
  try {
    const { open } = await import(`./views/${name}.js`);
    const container = h("div", { class: `view ${name}` });
    render(main, container);
    const opened = await open(container);
    if (current.name === name) Object.assign(current, opened ?? {});
    else opened?.leave?.();
  } catch (error) {
    const retry = () => {
      current.name = null;
      show();
    };
    if (current.name === name) render(main, errorState(error, retry));
  }
}

function followLink(event) {
  const anchor = event.target.closest?.("a[href]");
  if (!anchor || anchor.target || anchor.hasAttribute("download") || event.defaultPrevented) return;
  if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const address = new URL(anchor.href, location.href);
  const isPage = address.origin === location.origin && !address.pathname.startsWith("/api/");
  if (!isPage || anchor.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  navigate(address.pathname + address.search);
  if (!anchor.closest("main")) scrollTo(0, 0);
}

if (!isExported) {
  const items = Object.values(links).map((link) => h("li", {}, link));
  render(document.getElementById("nav"), h("ul", {}, items));
  document.addEventListener("click", followLink);
  import("./ui/jobs_panel.js").then(({ openJobsPanel }) =>
    openJobsPanel(document.getElementById("jobs")),
  );
}
addEventListener("popstate", show);
show();
