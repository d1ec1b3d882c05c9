// One bag: its segments, attention, evidence, and what happens when a segment is removed or added.

import { get, post } from "../core/api.js";
import { capitalised, formatNumber, formatPercent, formatShare, h, render } from "../core/dom.js";
import { drawUserBag, segmentLabel } from "../drawing/user_bag.js";
import { csv, download } from "../ui/figure.js";
import { select } from "../ui/controls.js";

const LISTED = 12; // segments in the table, those with most attention

export async function bagEditor({ run, paradigm, bag, words, bags }, theme, close) {
  const content = await get("/api/fit/bag", { run, paradigm, row: bag.row });
  const predicted = content.classes.indexOf(content.says);
  const removed = new Set();
  const added = [];
  const drawing = drawUserBag(content, theme);
  drawing.attend(content.alpha);
  const answer = h("p", { class: "strong", role: "status", id: "edited" });
  const rows = h("tbody", {});
  const extra = h("ul", { class: "added" });
  let now = { p: content.p, alpha: null };

  const describe = () => {
    const p = now.p[predicted];
    const best = content.classes[now.p.indexOf(Math.max(...now.p))];
    const edited = removed.size || added.length;
    const before = `Read as ${content.says} with probability ${formatShare(content.p[predicted])}`;
    answer.textContent = edited
      ? `${before}; edited: ${formatShare(p)}${best === content.says ? "" : `, now read as ${best}`}.`
      : `${before}; ${words}.`;
  };

  async function update() {
    if (removed.size || added.length) {
      const numbers = [...removed].map((j) => content.segments[j]);
      const edit = { run, paradigm, row: bag.row, removed: numbers, added: added.map((one) => one.at) };
      try {
        now = await post("/api/fit/bag", edit);
      } catch (error) {
        answer.textContent = capitalised(error.message);
        return;
      }
      drawing.attend(content.segments.map((j) => now.alpha[j] ?? 0));
    } else {
      now = { p: content.p, alpha: null };
      drawing.attend(content.alpha);
    }
    describe();
    drawRows();
    drawAdded();
  }

  const toggle = (j) => {
    if (removed.has(j)) removed.delete(j);
    else removed.add(j);
    update();
  };

  // Most attended segments, and those that matter most when removed.
  const listed = () => {
    const by = (values) => content.alpha.map((_, j) => j).sort((a, b) => values[b] - values[a]);
    const attended = by(content.alpha).slice(0, LISTED);
    const strongest = by(content.removal.map(Math.abs)).slice(0, 3);
    return [...new Set([...attended, ...strongest])];
  };

  function drawRows() {
    render(
      rows,
      listed().map((j) => {
        const off = removed.has(j);
        const alpha = now.alpha ? now.alpha[content.segments[j]] : content.alpha[j];
        const button = {
          type: "button",
          class: "quiet",
          "aria-pressed": off,
          "data-focus": `segment-${j}`,
          onclick: () => toggle(j),
        };
        const name = segmentLabel(content, j);
        return h(
          "tr",
          { class: off ? "removed" : null },
          h("th", { scope: "row" }, name, content.z?.[j] ? " (evidence)" : ""),
          h("td", { class: "number" }, off ? "–" : formatShare(alpha)),
          h("td", {}, evidenceBar(content.evidence[j][predicted], largest, theme)),
          h("td", { class: "number" }, signed(-content.removal[j])),
          h(
            "td",
            {},
            h(
              "button",
              { ...button, "aria-label": `${off ? "Put back" : "Remove"} ${name}` },
              off ? "Put back" : "Remove",
            ),
          ),
        );
      }),
    );
  }

  const largest = Math.max(...content.evidence.map((row) => Math.abs(row[predicted])), 1e-9);

  function drawAdded() {
    render(
      extra,
      added.map((one, k) => {
        const drop = () => {
          added.splice(k, 1);
          update();
        };
        const share = now.added?.[k];
        const text = `Top segment of ${one.id} (${one.truth}): attention ${formatShare(share)} `;
        return h(
          "li",
          {},
          text,
          h("button", { type: "button", class: "quiet", onclick: drop }, "Take out"),
        );
      }),
    );
  }

  const others = bags.filter((one) => one.row !== bag.row).slice(0, 200);
  const titles = others.map((one) => [String(one.row), `${one.id} (${one.truth ?? one.says})`]);
  const options = new Map([["", "choose a bag …"], ...titles]);
  const add = (row) => {
    const one = others.find((other) => String(other.row) === row);
    if (!one || added.length >= 20) return;
    added.push({ at: [one.row, one.top], id: one.id, truth: one.truth ?? one.says });
    update();
  };
  const heads = ["Segment", "Attention", `Evidence for “${content.says}”`, "Change without it", "Edit"];
  const save = () => download(`bag-${bag.id}.csv`, csv(csvRows(content)), "text/csv");
  describe();
  drawRows();
  const title = `${bag.id}${content.truth === null ? "" : `, label ${content.truth}`}`;
  return h(
    "article",
    { class: "bag-editor", "aria-label": `Bag ${bag.id}` },
    h(
      "div",
      { class: "row" },
      h("h3", {}, title),
      h("button", { type: "button", class: "quiet", onclick: save }, "CSV"),
      h("button", { type: "button", class: "quiet", onclick: close }, "Close"),
    ),
    answer,
    h(
      "div",
      { class: "sides" },
      h("div", { class: "picture short" }, drawing.element, note(content)),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "group", "aria-label": "Segments" },
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              heads.map((head) => h("th", { scope: "col" }, head)),
            ),
          ),
          rows,
        ),
        select({ label: "Add the top segment of another bag", options, value: "", onchange: add }),
        extra,
      ),
    ),
  );
}

function note(content) {
  const rest = content.left_out
    ? ` The ${content.left_out} segments with least attention are not drawn.`
    : "";
  const null_ =
    content.null === null ? "" : ` ${formatPercent(content.null)} rests on the null segment.`;
  return h("p", { class: "note" }, `Violet is attention.${null_}${rest}`);
}

function signed(x) {
  const points = Math.round(100 * x);
  return `${points > 0 ? "+" : points < 0 ? "−" : ""}${Math.abs(points)} points`;
}

// Evidence for to the right, against to the left, with its sign as text.
function evidenceBar(value, largest, theme) {
  const share = Math.min(1, Math.abs(value) / largest);
  const against = value < 0;
  const colour = against ? theme.evidence.against : theme.evidence.for;
  const style = {
    width: `${(50 * share).toFixed(1)}%`,
    [against ? "right" : "left"]: "50%",
    background: colour,
  };
  const words = `${against ? "against" : "for"} ${formatNumber(Math.abs(value), 2)}`;
  return h(
    "span",
    { class: "evidence" },
    h(
      "span",
      { class: "track", "aria-hidden": "true" },
      h("span", { class: against ? "hatched" : null, style }),
    ),
    h("span", { class: "note" }, words),
  );
}

function csvRows(content) {
  return content.alpha.map((alpha, j) => ({
    segment: content.segments[j] + 1,
    text: content.words?.[j],
    attention: alpha,
    ...Object.fromEntries(
      content.classes.map((name, k) => [`evidence_${name}`, content.evidence[j][k]]),
    ),
    fall_without: content.removal[j],
    evidence_known: content.z?.[j],
  }));
}
