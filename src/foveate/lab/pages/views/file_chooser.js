// A file to drop or to choose; folded when it was chosen.

import { h, render, uniqueId } from "../core/dom.js";
import { errorState } from "../ui/states.js";

const FORMATS =
  "CSV, TSV, JSON lines or Parquet with a row for each segment; or NPZ. Up to 64 MB and a million " +
  "segments. A copy is stored in the runs folder while it is needed.";

export function fileChooser(send) {
  const id = uniqueId("file");
  const problem = h("div", {});
  const take = (files) => files[0] && send(files[0]);
  const input = h("input", {
    id,
    type: "file",
    accept: ".csv,.tsv,.jsonl,.parquet,.npz",
    onchange: () => take(input.files),
  });
  const highlight = (on) => (event) => {
    event.preventDefault();
    zone.classList.toggle("over", on);
  };
  const zone = h(
    "div",
    {
      class: "drop",
      ondragover: highlight(true),
      ondragleave: highlight(false),
      ondrop: (event) => {
        highlight(false)(event);
        take(event.dataTransfer.files);
      },
    },
    h("p", {}, h("label", { for: id }, "Drop a file here, or choose one: "), input),
    h("p", { class: "note" }, FORMATS),
  );
  const summary = h("summary", {}, "The file");
  const details = h("details", { class: "panel", open: true }, summary, zone, problem);
  return {
    element: details,
    collapse: (title) => {
      details.open = false;
      if (title) summary.textContent = title;
    },
    fail: (error) => {
      render(problem, error && errorState(error));
      if (error) details.open = true;
    },
  };
}
