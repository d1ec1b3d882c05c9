// New bags read by a finished fit: predictions, and how the bags differ from the training bags.

import { upload } from "../core/api.js";
import { formatPercent, formatShare, h, render, uniqueId } from "../core/dom.js";
import { followJob, formatSeconds, hasEnded, loadJob } from "../core/job.js";
import { folded } from "../ui/controls.js";
import { csv, download } from "../ui/figure.js";
import { errorState, loadingState } from "../ui/states.js";

const LISTED = 200; // bags in the table on the page; the CSV has more

export function newBags(run) {
  const id = uniqueId("new");
  const result = h("div", {});
  let paradigm = null;
  let stream = null;
  const input = h("input", {
    id,
    type: "file",
    accept: ".csv,.tsv,.jsonl,.parquet,.npz",
    onchange: () => input.files[0] && send(input.files[0]),
  });

  async function send(file) {
    stream?.close();
    render(result, loadingState(`Reading ${file.name} …`));
    try {
      const query = new URLSearchParams({ name: file.name, run, paradigm });
      const job = await loadJob((await upload(`/api/uploads?${query}`, file)).id);
      dispatchEvent(new Event("jobs-changed"));
      const show = () => showJob(job, file.name);
      if (hasEnded(job)) show();
      else stream = followJob(job, { frame: show, state: show, result: show, end: show });
    } catch (error) {
      render(result, errorState(error));
    }
  }

  function showJob(job, name) {
    if (job.state === "failed") return render(result, errorState(new Error(job.reason)));
    if (job.result?.rows) return render(result, predictions(job.result, name));
    const left = job.seconds_left ? `, about ${formatSeconds(job.seconds_left)} left` : "";
    return render(result, loadingState(`Reading ${name} …${left}`));
  }

  const text =
    "Bags laid out like those of the fit, with or without labels. Each is compared with the " +
    "training bags.";
  const element = folded(
    "Predict new bags",
    h("p", { class: "note" }, text),
    h("p", {}, h("label", { for: id }, "A file of new bags: "), input),
    result,
  );
  element.id = "new-bags";
  return {
    element,
    use: (name) => {
      if (paradigm !== null && name !== paradigm) render(result);
      paradigm = name;
    },
    leave: () => stream?.close(),
  };
}

function predictions({ total, rows, warnings, compared, unusual }, name) {
  const save = () => download("predictions.csv", csv(rows), "text/csv");
  const more = rows.length < total ? ` The CSV holds the first ${rows.length}.` : "";
  return h(
    "div",
    {},
    h("p", { class: "strong", role: "status" }, `${total.toLocaleString("en")} bags of ${name}.`),
    shiftWarnings({ warnings, compared, unusual, total }),
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", onclick: save }, "Predictions as CSV"),
      h("span", { class: "note" }, rows.length > LISTED ? `The first ${LISTED} are listed.${more}` : ""),
    ),
    table(rows.slice(0, LISTED), compared),
  );
}

function shiftWarnings({ warnings, compared, unusual, total }) {
  if (!compared)
    return h("p", { class: "note" }, "This fit has no summary of its training bags to compare with.");
  if (!warnings.length && !unusual)
    return h("p", { id: "shift" }, "They look like the training bags: no column is out of range.");
  const item = (words) => h("li", {}, h("span", { class: "pill warn" }, "unusual"), ` ${words}`);
  const text = `${unusual} of ${total} bags differ from the training bags; be careful with the answers.`;
  return h(
    "div",
    { id: "shift", role: "alert" },
    h("p", { class: "strong" }, text),
    h("ul", { class: "problems" }, warnings.map(item)),
  );
}

function table(rows, compared) {
  const heads = ["Bag", "Answer", "Probability", "Top segment", "Attention on it"];
  if (compared) heads.push("Unusual");
  const cells = (row) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, row.bag),
      h("td", {}, row.predicted),
      h("td", { class: "number" }, formatPercent(row[`p_${row.predicted}`])),
      h("td", { class: "number" }, String(row.top_segment + 1)),
      h("td", { class: "number" }, formatShare(row.top_attention)),
      compared && h("td", {}, row.unusual),
    );
  const head = h("tr", {}, heads.map((title) => h("th", { scope: "col" }, title)));
  return h(
    "div",
    { class: "scroll list", tabindex: 0, role: "group", "aria-label": "Predictions" },
    h("table", {}, h("thead", {}, head), h("tbody", {}, rows.map(cells))),
  );
}
