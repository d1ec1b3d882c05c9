// Your data: a file, its columns, a fit, and one screen that says what came out.

import { addressOf, params, setParams } from "../core/address.js";
import { get, loadTheme, post, upload } from "../core/api.js";
import { h, render } from "../core/dom.js";
import { followJob, hasEnded, loadJob, stopJob } from "../core/job.js";
import { emptyState, errorState, loadingState, renderAsync } from "../ui/states.js";
import { columnEditor } from "./data_columns.js";
import { fitProgress, fitSettings } from "./data_fit.js";
import { fileChooser } from "./file_chooser.js";
import { fitResult, verdictPanel } from "./fit_result.js";

const LEAD =
  "Choose a table or an array file of labelled bags. The lab shows how it reads the columns, fits " +
  "several ways to attend, and says whether the attention can be trusted. Nothing leaves this machine.";
const EXAMPLE = "examples/fit-pumps";

export async function open(container) {
  const theme = await loadTheme();
  const section = (label) => h("section", { "aria-label": label });
  const [columns, work, result] = ["Columns", "Fit", "Result"].map(section);
  const chooser = fileChooser(send);
  render(
    container,
    h("h1", {}, "Can I trust attention on my data?"),
    h("p", { class: "lead" }, LEAD),
    chooser.element,
    result,
    columns,
    work,
  );
  let job = null;
  let stream = null;
  let current = null;

  let sending = 0;
  async function send(file) {
    const turn = ++sending; // of several files, the last one counts
    stream?.close();
    if (job && !hasEnded(job)) stopJob(job.id);
    render(columns, loadingState(`Sending ${file.name} …`));
    render(work);
    clearResult();
    try {
      const query = new URLSearchParams({ name: file.name });
      const started = await upload(`/api/uploads?${query}`, file);
      if (turn !== sending) return void stopJob(started.id);
      setParams({ id: started.id, run: null, paradigm: null, bag: null });
      dispatchEvent(new Event("jobs-changed"));
      chooser.fail(null);
      await attach();
    } catch (error) {
      if (turn !== sending) return;
      render(columns);
      chooser.fail(error);
    }
  }

  function clearResult() {
    current?.leave();
    current = null;
    render(result);
  }

  async function attach() {
    stream?.close();
    job = null;
    const { id, run } = params();
    if (run && !id) {
      await showResult(run);
      return;
    }
    if (!id) {
      clearResult();
      render(work);
      render(columns, example());
      return;
    }
    try {
      job = await loadJob(id);
    } catch (error) {
      if (run) return showResult(run);
      render(columns, errorState(new Error(`${error.message}. Choose the file again.`)));
      render(work);
      return;
    }
    draw();
    if (!hasEnded(job)) {
      const handlers = { state: draw, setup: draw, frame: draw, result: draw, end: draw };
      const lost = () => progress?.update(job, { lost: true });
      stream = followJob(job, { ...handlers, lost, reload: attach });
    }
  }

  // What comes out, by a fit that comes with the package.
  function example() {
    const box = h("div", {});
    renderAsync(box, async () => {
      const fit = await get("/api/fit", { run: EXAMPLE });
      const link = { href: addressOf("data", { run: EXAMPLE }), id: "example", class: "button" };
      return h(
        "div",
        {},
        h("h2", {}, "What comes out: a finished example, recordings of pumps"),
        verdictPanel(fit, fit.chosen, theme),
        h("p", {}, h("a", link, "Look at its bags")),
      );
    });
    return box;
  }

  function draw() {
    if (rereading && !hasBeenRead()) return;
    drawColumns();
    drawWork();
    if (job.result?.run && job.state === "done") {
      setParams({ run: job.result.run }, { step: false });
      showResult(job.result.run);
    }
  }

  let columnForm = "";
  function drawColumns() {
    const view = job.setup.view;
    if (!view) {
      const reading = loadingState(`Reading ${job.job.name} …`);
      return render(columns, job.state === "failed" ? errorState(new Error(job.reason)) : reading);
    }
    // The editor is rebuilt only when the file was read again, so that a menu keeps its focus.
    const editable = ["ready", "idle"].includes(job.state);
    const form = JSON.stringify([job.id, view, editable]);
    if (form === columnForm) return;
    if (!columnForm.startsWith(`["${job.id}"`)) chooser.collapse(`The file: ${job.job.name}`);
    columnForm = form;
    render(columns, columnEditor(job.job.name, view, editable ? changeRoles : null));
  }

  // While the file is read again its menus stay as they are, so that the focus does; a role that is
  // changed meanwhile is sent afterwards.
  let rereading = false;
  let nextRoles = null;
  async function changeRoles(roles) {
    if (rereading) {
      nextRoles = roles;
      return;
    }
    rereading = work.inert = true;
    job.state = "running";
    try {
      await post(`/api/uploads/${job.id}/columns`, roles);
      stream?.close();
      await attach();
    } catch (error) {
      finishReading();
      columnForm = "";
      await attach();
      chooser.fail(error);
    }
  }

  function finishReading() {
    rereading = work.inert = false;
  }

  // Whether the page can be drawn: the file has been read again, and no other role waits.
  function hasBeenRead() {
    if (!["ready", "idle"].includes(job.state) && !hasEnded(job)) return false;
    finishReading();
    const roles = nextRoles;
    nextRoles = null;
    if (roles && !hasEnded(job)) changeRoles(roles);
    return !roles;
  }

  let settings = null;
  let progress = null;
  function drawWork() {
    const view = job.setup.view;
    const isWaiting = ["ready", "idle"].includes(job.state);
    if (!view || isWaiting || (job.state === "done" && job.result?.run)) progress = null;
    if (!view || (job.state === "done" && job.result?.run)) return render(work);
    if (isWaiting) {
      const form = JSON.stringify([job.id, view.classes, view.absent]);
      if (settings?.form !== form) {
        settings = { form, element: view.labelled ? fitSettings(view, theme, begin) : unlabelled() };
        render(work, settings.element);
      }
      return;
    }
    settings = null;
    if (!progress) {
      progress = fitProgress(theme);
      render(work, progress.element);
    }
    progress.update(job);
  }

  const unlabelled = () =>
    emptyState("No labels.", "To fit these bags, give the role “label” to one of the columns above.");

  async function begin(request) {
    try {
      await post(`/api/uploads/${job.id}/fit`, request);
      dispatchEvent(new Event("jobs-changed"));
      if (!stream || job.state === "idle") await attach();
    } catch (error) {
      chooser.fail(error);
    }
  }

  async function showResult(run) {
    if (current?.run === run) return;
    current?.leave();
    current = { run, leave: () => {} };
    chooser.collapse();
    const view = await fitResult(result, run, theme);
    if (current?.run === run) current = { run, ...view };
    scrollTo(0, 0);
  }

  await attach();
  return {
    follow: async () => {
      const { id, run } = params();
      if (id !== job?.id || (!id && run !== current?.run)) await attach();
      else current?.follow?.();
    },
    leave: () => {
      stream?.close();
      current?.leave();
    },
  };
}
