// Claims: all verdicts, and for each claim its figure and the study behind it.

import { params, setParams } from "../core/address.js";
import { get, loadTheme } from "../core/api.js";
import { h, render } from "../core/dom.js";
import { field, select, setControl } from "../ui/controls.js";
import { emptyState, renderAsync } from "../ui/states.js";
import { SIGNS, claimEntry } from "./claim_entry.js";

const LEAD =
  "Every claim of the papers has an executable check with a written criterion. A criterion that was " +
  "changed after results were known says so, with its earlier verdict.";

export async function open(container) {
  const body = h("div", {});
  render(container, h("h1", {}, "The ledger of claims"), h("p", { class: "lead" }, LEAD), body);
  let ledger = null;
  await renderAsync(
    body,
    async () => {
      await loadTheme();
      ledger = ledgerView(await get("/api/claims"));
      queueMicrotask(ledger.update);
      return ledger.element;
    },
    "Reading the ledger; the first time takes a few seconds …",
  );
  return { follow: () => ledger?.update(), leave: () => ledger?.leave() };
}

// Claims are made once; filters hide and show them.
function ledgerView({ claims, papers }) {
  const entries = new Map(claims.map((claim) => [claim.claim, claimEntry(claim)]));
  const sections = Object.entries(papers).map(([key, source]) => paperSection(key, source, claims, entries));
  const overview = claimOverview(papers, claims, entries);
  const verdicts = [...new Set(claims.map((claim) => claim.verdict))];
  const count = h("p", { class: "note", role: "status" });
  const nothing = emptyState("No claim fits.", "Clear the filter to see all.");
  const controls = filterControls();
  const panel = h("div", { class: "panel controls" }, Object.values(controls));
  const element = h("div", {}, panel, count, overview.element, sections, nothing);

  const isSelected = ({ claim, verdict, statement, experiment }) => {
    const query = params();
    const text = `${claim} ${statement} ${experiment}`.toLowerCase();
    return (
      (!query.paper || claim.startsWith(`${query.paper}:`)) &&
      (!query.verdict || verdict === query.verdict) &&
      text.includes((query.filter ?? "").toLowerCase())
    );
  };

  function filterControls() {
    const set = (name, step) => (value) => {
      setParams({ [name]: value }, { step });
      update();
    };
    const names = { "": "all", ...Object.fromEntries(Object.keys(papers).map((key) => [key, key])) };
    const kinds = { "": "all", ...Object.fromEntries(verdicts.map((word) => [word, word])) };
    return {
      paper: select({ label: "Paper", value: "", options: names, onchange: set("paper") }),
      verdict: select({ label: "Verdict", value: "", options: kinds, onchange: set("verdict") }),
      filter: field({ label: "Filter", value: "", onchange: set("filter", false), live: true }),
    };
  }

  function update() {
    for (const [name, control] of Object.entries(controls)) setControl(control, params()[name] ?? "");
    const selected = claims.filter(isSelected);
    const names = new Set(selected.map((claim) => claim.claim));
    for (const [name, entry] of entries) entry.element.hidden = !names.has(name);
    overview.update(names);
    for (const section of sections) {
      section.hidden = [...section.querySelectorAll(".claim")].every((entry) => entry.hidden);
    }
    nothing.hidden = selected.length > 0;
    const counts = verdicts.map((word) => [word, selected.filter(({ verdict }) => verdict === word).length]);
    const words = counts.map(([word, number]) => `${word} ${number}`).join(", ");
    count.textContent = `${selected.length} of ${claims.length} claims: ${words}.`;
    entries.get(params().claim)?.open();
  }

  return { element, update, leave: () => entries.forEach((entry) => entry.leave()) };
}

const claimsOf = (key, claims) => claims.filter(({ claim }) => claim.startsWith(`${key}:`));

function paperSection(key, { title, authors, where }, claims, entries) {
  return h(
    "section",
    {},
    h("h2", {}, `${key}: ${title}`),
    h("p", { class: "note" }, [authors, where].filter(Boolean).join(", ")),
    claimsOf(key, claims).map(({ claim }) => entries.get(claim).element),
  );
}

// All verdicts at a glance, a line for each paper.
function claimOverview(papers, claims, entries) {
  const links = new Map(claims.map((claim) => [claim.claim, verdictLink(claim, entries)]));
  const rows = Object.entries(papers).map(([key, { title }]) => {
    const squares = claimsOf(key, claims).map(({ claim }) => links.get(claim));
    const list = h("ul", { class: "verdicts", "aria-label": `Verdicts on ${key}` }, squares);
    return h("div", { class: "paper" }, h("p", {}, title), list);
  });
  const update = (names) => {
    for (const [claim, link] of links) link.hidden = !names.has(claim);
    for (const row of rows) row.hidden = [...row.querySelectorAll("li")].every((link) => link.hidden);
  };
  const element = h("section", { class: "panel overview", "aria-label": "All verdicts" }, rows);
  return { element, update };
}

// A small square for a claim: its number, with the sign and the colour of its verdict.
function verdictLink({ claim, verdict, level }, entries) {
  const number = claim.split(":")[1];
  const onclick = () => entries.get(claim).show();
  const label = `${number}: ${verdict}`;
  const sign = h("span", { "aria-hidden": "true" }, SIGNS[verdict] ?? "–");
  const attributes = { type: "button", class: `pill ${level}`, title: label, "aria-label": label };
  return h("li", {}, h("button", { ...attributes, onclick }, sign, ` ${number}`));
}
