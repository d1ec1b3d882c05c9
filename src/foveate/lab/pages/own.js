// Own data: a file, checked; models, fitted; a verdict on their attention; results to keep.

import { fill, fresh, h, number, percent } from "/pages/dom.js";
import { change, link, state } from "/pages/address.js";
import { get, look, post } from "/pages/api.js";
import { check, empty, failed, field } from "/pages/parts.js";
import { follow } from "/pages/stream.js";

const ENDED = ["done", "stopped", "failed"];
const ROLES = { label: "Label (label unless given)", bag: "Bag (bag unless given)", text: "Text", group: "Group, such as patient", relevance: "Relevance" };
const GRADES = { trust: "good", "trust with care": "astray", "do not trust": "bad", "cannot tell": "" };

export async function open(place) {
  const seen = await look();
  const raced = Object.keys(seen.paradigms).filter((name) => seen.paradigms[name].raced);
  const drop = h("section", { class: "panel", "aria-label": "File" }), found = h("section", { "aria-label": "What is in it" });
  const work = h("section", { "aria-label": "Fit" }), result = h("section", { "aria-label": "Result" });
  fill(place, h("h1", {}, "Own data"),
    h("p", { class: "lead" }, "Drop a table or an array file of labelled bags. The lab checks it, fits several ways to attend, and says whether the attention can be trusted. Nothing leaves this machine."),
    drop, found, work, result);
  let session = null, stream = null, chosen = [...raced], sizes = { seeds: 3, epochs: "" }, trusted = false;
  const columns = {};

  function drawDrop(error = null) {
    const id = fresh("file");
    const input = h("input", { id, type: "file", accept: ".csv,.tsv,.jsonl,.parquet,.npz", onchange: () => input.files[0] && send(input.files[0]) });
    const zone = h("div", { class: "drop",
      ondragover: (event) => { event.preventDefault(); zone.classList.add("over"); },
      ondragleave: () => zone.classList.remove("over"),
      ondrop: (event) => { event.preventDefault(); zone.classList.remove("over"); if (event.dataTransfer.files[0]) send(event.dataTransfer.files[0]); } },
    h("p", {}, h("label", { for: id }, "Drop a file here, or choose one: "), input),
    h("p", { class: "note" }, "CSV, TSV, JSON lines or Parquet with a row for each segment and columns bag and label; or NPZ. Up to 64 MB and a million segments. A copy lies in the folder of runs while it is fitted, and stays as long as a run was made from it."));
    fill(drop, zone,
      h("details", {}, h("summary", {}, "Name the columns"), h("div", { class: "controls" }, Object.entries(ROLES).map(([role, label]) => field({ label, value: columns[role] ?? "", onchange: (value) => { columns[role] = value; } })))),
      error && failed(error));
  }

  async function send(file) {
    try {
      stream?.close();
      if (session && !ENDED.includes(session.state)) await post(`/api/trainings/${session.id}/stop`).catch(() => null);
      fill(found, h("p", { class: "state", role: "status" }, `Sending ${file.name} …`));
      fill(work);
      fill(result);
      const query = new URLSearchParams({ name: file.name, ...Object.fromEntries(Object.entries(columns).filter(([, value]) => value)) });
      const response = await fetch(`/api/own?${query}`, { method: "POST", body: file, headers: { "Content-Type": "application/octet-stream" } });
      const said = await response.json();
      if (!response.ok) throw new Error(said.error);
      change({ id: said.id });
      await attach();
    } catch (error) {
      fill(found);
      drawDrop(error);
    }
  }

  async function attach() {
    stream?.close();
    session = null;
    const { id } = state();
    if (!id) { fill(found, empty("Nothing is dropped yet.", "No file at hand? ", h("a", { href: "/train" }, "Train"), " shows the same on made-up bags.")); fill(work); fill(result); return; }
    try {
      session = await get(`/api/trainings/${id}`);
    } catch (error) {
      fill(found, failed(new Error(`${error.message}. Drop the file again.`)));
      return;
    }
    draw();
    if (!ENDED.includes(session.state)) stream = follow(session, { state: draw, hello: draw, frame: drawWork, result: draw, end: draw, back: attach }, 0);
  }

  function draw() {
    drawFound();
    drawWork();
    drawResult();
  }

  function drawFound() {
    const scene = session.stage.scene;
    if (session.state === "failed" && !scene) { fill(found, failed(new Error(session.why))); return; }
    if (!scene) { fill(found, h("p", { class: "state", role: "status" }, `Reading ${session.job.name} …`)); return; }
    const own = scene.description;
    const rows = { Bags: `${own.bags.toLocaleString("en")}, with ${own.segments.toLocaleString("en")} segments in all`, "Segments a bag": `${own.lengths[0]} to ${own.lengths[2]}, median ${own.lengths[1]}`, "A segment is": `${own.kind}${own.columns.length ? `: ${own.columns.slice(0, 8).join(", ")}${own.columns.length > 8 ? ", …" : ""}` : ""}`, Classes: Object.entries(own.classes).map(([name, count]) => `${name}: ${count}`).join(", ") || "none", Groups: own.groups ?? "none", "Relevance known": percent(own.known) };
    fill(found, h("h2", {}, session.job.name), h("div", { class: "panel scroll" }, h("table", {}, h("tbody", {}, Object.entries(rows).map(([key, value]) => h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, String(value))))))),
      scene.problems.length ? h("ul", { class: "problems" }, scene.problems.slice(0, 12).map((one) => h("li", {}, h("span", { class: `pill ${one.severity === "error" ? "bad" : "astray"}` }, one.severity), ` ${one.where}: ${one.what}`))) : h("p", {}, h("span", { class: "pill good" }, "no problems found")));
  }

  function drawWork() {
    if (session.state === "ready") {
      fill(work, h("h2", {}, "Fit"), h("div", { class: "panel" },
        h("div", { class: "controls" },
          h("fieldset", {}, h("legend", {}, "Ways to attend"), h("div", { class: "choices" }, raced.map((name) => check({ label: seen.paradigms[name].label, colour: seen.paradigms[name].colour, checked: chosen.includes(name), onchange: (on) => { chosen = raced.filter((own) => (own === name ? on : chosen.includes(own))); } })))),
          field({ label: "Models of each", type: "number", min: 1, max: 10, value: sizes.seeds, onchange: (value) => { sizes.seeds = value; } }),
          field({ label: "Epochs (by size unless given)", type: "number", min: 1, max: 1000, value: sizes.epochs, onchange: (value) => { sizes.epochs = value; } }),
          h("fieldset", {}, h("legend", {}, "Which is chosen"), check({ label: "of those about as accurate, the one whose attention is most to be trusted", checked: trusted, onchange: (on) => { trusted = on; } }))),
        h("div", { class: "row" }, h("button", { type: "button", class: "main", id: "fit", onclick: begin }, "Fit and examine"))));
      return;
    }
    if (!session.stage.scene) { fill(work); return; }
    fill(work, h("h2", {}, "Fit"), h("div", { class: "panel", role: "status" },
      h("div", { class: "row" }, h("strong", { id: "state" }, { running: "Fitting", done: "Done", failed: "Failed", stopped: "Stopped" }[session.state] ?? session.state),
        !ENDED.includes(session.state) && h("button", { type: "button", onclick: () => post(`/api/trainings/${session.id}/stop`).catch(() => null) }, "Stop")),
      session.why && h("p", { class: "note error" }, session.why),
      session.parts.map((own) => h("div", { class: "row note" }, h("span", { class: "part" }, seen.paradigms[own.part]?.label ?? own.part), h("span", { class: "bar" }, h("span", { style: { width: `${(100 * own.done) / own.total}%` } })), `${own.done} of ${own.total}`))));
  }

  async function begin() {
    try {
      await post(`/api/own/${session.id}/fit`, { paradigms: chosen, seeds: Number(sizes.seeds), epochs: sizes.epochs ? Number(sizes.epochs) : null, choose: trusted ? "attention" : "accuracy" });
    } catch (error) {
      fill(result, failed(error));
    }
  }

  function drawResult() {
    const own = session.result;
    if (!own?.run) { fill(result); return; }
    const cell = ([mean, low, high]) => `${number(mean, 3)}${low === null || low === undefined ? "" : ` [${number(low, 2)}, ${number(high, 2)}]`}`;
    const judged = Object.values(own.scores).some((row) => row.attention_score !== undefined);
    const keep = (words, path, values) => h("li", {}, h("a", { href: link(path, { run: own.run, ...values }), target: "_blank", rel: "noopener" }, words));
    fill(result, h("h2", {}, "Can its attention be trusted?"),
      h("div", { class: "panel" },
        h("p", {}, h("span", { class: `pill ${GRADES[own.verdict.grade]}`, id: "verdict" }, own.verdict.grade), " ", own.verdict.said),
        own.verdict.why.length > 0 && h("ul", {}, own.verdict.why.map((words) => h("li", {}, words))),
        own.verdict.next.length > 0 && [h("p", { class: "strong" }, "What to do next"), h("ul", {}, own.verdict.next.map((words) => h("li", {}, words)))],
        h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "Class"), h("th", { class: "number" }, "Answered right"), h("th", {}, "Verdict"))),
          h("tbody", {}, own.by_class.map((row) => h("tr", {}, h("th", { scope: "row" }, row.name), h("td", { class: "number" }, percent(row.accuracy)), h("td", {}, h("span", { class: `pill ${GRADES[row.verdict.grade]}` }, row.verdict.grade), ` ${row.verdict.said}`))))))),
      h("h2", {}, "How well does it answer?"),
      h("div", { class: "panel scroll" }, h("table", {}, h("thead", {}, h("tr", {}, ["", "Balanced accuracy", "AUROC", "Log loss", ...(judged ? ["Attention, label-free score"] : [])].map((title, k) => h("th", { class: k ? "number" : null }, title)))),
        h("tbody", {}, Object.entries(own.scores).map(([name, row]) => h("tr", {}, h("th", { scope: "row" }, `${seen.paradigms[name]?.label ?? name}${name === own.chosen ? ", chosen" : ""}`), ["balanced_accuracy", "auroc", "log_loss"].map((key) => h("td", { class: "number" }, cell(row.test[key]))), judged && h("td", { class: "number" }, number(row.attention_score, 2))))))),
      h("p", { class: "note" }, `On test bags, with 95 % intervals. Chosen: ${own.rule}.`),
      h("h2", {}, "To keep"),
      h("ul", {}, keep("Evidence page: where it looks and for which class each segment speaks", "api/run/report", { page: "evidence" }), keep("Report of the fit", "api/run/report", { page: "report" }), keep("Report on trust", "api/run/report", { page: "trust" }),
        keep("Predictions, one row a bag (CSV)", "api/run/table", { name: "bags" }), keep("Attention and evidence, one row a segment (CSV)", "api/run/table", { name: "segments" }), h("li", {}, h("a", { href: link("runs", { run: own.run }) }, "The run")))) ;
  }

  drawDrop();
  await attach();
  return { follow: async () => { if (state().id !== session?.id) await attach(); }, leave: () => stream?.close() };
}
