// What the classes of a fit mean, as its user says: the fit is then examined again, not trained.

import { post } from "../core/api.js";
import { h, render } from "../core/dom.js";
import { followJob, formatSeconds, hasEnded, loadJob } from "../core/job.js";
import { folded, select } from "../ui/controls.js";
import { errorState, loadingState } from "../ui/states.js";
import { absentSelect } from "./data_fit.js";

const ABOUT =
  "The verdict depends on what the classes mean. Change an answer, and the test bags are examined " +
  "again; nothing is trained.";

export function fitAnswers(fit, reload) {
  const answers = { run: fit.run, absent: [...fit.absent], evidence: { ...fit.evidence } };
  const status = h("div", {});
  let stream = null;

  async function examine() {
    render(status, loadingState("Examining …"));
    try {
      const job = await loadJob((await post("/api/fit/examine", answers)).id);
      dispatchEvent(new Event("jobs-changed"));
      const show = () => showProgress(job);
      show();
      if (!hasEnded(job)) stream = followJob(job, { frame: show, state: show, end: show });
    } catch (error) {
      render(status, errorState(error));
    }
  }

  function showProgress(job) {
    if (job.state === "done") return reload();
    if (hasEnded(job)) return render(status, errorState(new Error(job.reason || "It was stopped.")));
    const left = job.seconds_left ? ` about ${formatSeconds(job.seconds_left)} left` : "";
    render(status, loadingState(`Examining …${left}`));
  }

  const element = folded(
    "What the classes mean",
    h("p", { class: "note" }, ABOUT),
    absentSelect(fit.classes, answers.absent[0], (names) => (answers.absent = names)),
    fit.kinds.map((entry) => kindSelect(entry, answers.evidence)),
    h("p", {}, h("button", { type: "button", id: "examine", onclick: examine }, "Examine again")),
    status,
  );
  element.id = "answers";
  element.open = fit.kinds.some((entry) => !(entry.class in fit.evidence));
  return { element, leave: () => stream?.close() };
}

// Two kinds of segments that both tell a class, by some examples of each.
function kindSelect({ class: name, kinds }, evidence) {
  const options = { "": "not said" };
  for (const [kind, examples] of Object.entries(kinds)) {
    const listed = examples.map(([bag, segment]) => `bag ${bag}, segment ${segment + 1}`);
    options[kind] = `${kind}: ${listed.join("; ")}`;
  }
  return select({
    label: `Two kinds of segments tell “${name}”. Which of them do you mean?`,
    options,
    value: evidence[name] ?? "",
    onchange: (kind) => {
      delete evidence[name];
      if (kind) evidence[name] = kind;
    },
  });
}
