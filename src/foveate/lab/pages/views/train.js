// Train: many initial weights at once, several paradigms side by side, live.

import { addressOf, params, setParams } from "../core/address.js";
import { get, loadTheme, post } from "../core/api.js";
import { h, reducedMotion, render } from "../core/dom.js";
import { followJob, hasEnded, listJobs, loadJob, stateLabel, stopJob } from "../core/job.js";
import { preloadVega } from "../ui/charts.js";
import { jobStatus } from "../ui/job_status.js";
import { errorState } from "../ui/states.js";
import { modelColumns } from "./model_columns.js";
import { tileStrip } from "./tile_strip.js";
import { trainSettings } from "./train_settings.js";

const LEAD =
  "Train the same model from many initial weights at once. Each square is one start. " +
  "Striped squares answer right while looking at the wrong segment: click one to see which class " +
  "it reads from where.";
const STATES = { running: "Training" };
const EXAMPLE = "example"; // a training that comes with the package
const EXAMPLE_TASK = "error-mode-1";

export async function open(container) {
  const [theme, { tasks, maps }] = await Promise.all([loadTheme(), get("/api/tasks")]);
  preloadVega();
  const section = (label, more = "") => h("section", { class: more, "aria-label": label });
  const status = section("Progress", "panel status");
  const overview = section("All starts");
  const detail = section("One start");
  const settings = trainSettings(tasks, maps, theme, begin);
  render(
    container,
    h("h1", {}, "Right answer, wrong segment"),
    h("p", { class: "lead" }, LEAD),
    settings.element,
    status,
    overview,
    detail,
  );
  let job = null;
  let stream = null;
  let columns = null;
  let strip = null;
  let others = [];
  const bar = statusBar(status, (error) => render(detail, errorState(error)));

  async function begin(request) {
    try {
      if (job && !hasEnded(job)) await stopJob(job.id);
      bar.wait();
      const started = await post("/api/jobs", request);
      const isDefault = request.paradigms.join() === tasks[request.task].chosen.join();
      setParams({
        id: started.id,
        seed: null,
        task: request.task,
        first: request.first || null,
        paradigms: isDefault ? null : request.paradigms.join(","),
      });
      dispatchEvent(new Event("jobs-changed"));
      settings.update();
      settings.collapse(true);
      await attach();
    } catch (error) {
      bar.fail(error);
    }
  }

  const drawStatus = (lost = false) => bar.update(job, lost, otherJobs());

  function otherJobs() {
    const rest = others.filter((other) => other.job.kind === "train" && other.id !== job?.id);
    if (!rest.length) return null;
    const link = (other) => {
      const words = `${tasks[other.job.task].title}, seeds from ${other.job.first}`;
      const label = `${words} (${stateLabel(other, STATES).toLowerCase()})`;
      return h("a", { href: addressOf("train", { task: other.job.task, id: other.id }) }, label);
    };
    const links = rest.slice(0, 6).flatMap((other, k) => [k ? ", " : "", link(other)]);
    return h("p", { class: "note" }, "Other trainings of this lab: ", links);
  }

  // The job of the address; an example where there is none, so that there is something to look at.
  function jobId() {
    const { id, task = EXAMPLE_TASK } = params();
    return id ?? (task === EXAMPLE_TASK ? EXAMPLE : null);
  }

  async function attach() {
    stream?.close();
    columns?.destroy();
    stream = columns = strip = job = null;
    others = await listJobs();
    const { seed } = params();
    const id = jobId();
    let problem = null;
    try {
      job = id ? await loadJob(id, seed) : null;
    } catch (error) {
      problem = errorState(new Error(`${error.message}. Start it again above.`));
    }
    drawStatus();
    settings.collapse(job !== null && job.id !== EXAMPLE);
    if (!job) {
      render(overview);
      render(detail, problem);
      return;
    }
    drawStrip();
    if (job.setup.seeds) await drawDetail();
    if (!hasEnded(job) || job.epoch === 0) listen();
  }

  function listen() {
    const seed = Number(params().seed ?? job.seed ?? job.job.first);
    const handlers = {
      state: () => drawStatus(),
      lost: () => drawStatus(true),
      reload: () => attach(),
      setup: async () => {
        drawStrip();
        const { setup, curves, details, seed: watched } = await loadJob(job.id, params().seed);
        Object.assign(job, { setup, curves, details, seed: watched });
        await drawDetail();
      },
      frame: (frame) => {
        bar.progress(job);
        strip?.update(job);
        columns?.add(frame);
      },
      end: async () => {
        const { id } = job;
        const whole = await loadJob(id, params().seed).catch(() => null);
        if (!whole || job?.id !== id) return;
        job = whole;
        drawStatus();
        drawStrip();
        await drawDetail();
      },
    };
    stream = followJob(job, handlers, seed);
  }

  function drawStrip() {
    strip = null;
    if (job.job.task !== "copying" && job.setup.seeds) strip = tileStrip(job, theme, choose);
    render(overview, strip?.element);
    strip?.update(job);
  }

  async function choose(seed) {
    setParams({ seed });
    await changeSeed();
    scrollToDetail();
  }

  function scrollToDetail() {
    detail.scrollIntoView({ block: "start", behavior: reducedMotion() ? "auto" : "smooth" });
  }

  async function changeSeed() {
    const whole = await loadJob(job.id, params().seed);
    stream?.close();
    job = whole;
    strip?.update(job);
    await drawDetail();
    if (!hasEnded(job)) listen();
  }

  async function drawDetail() {
    columns?.destroy();
    columns = await modelColumns(detail, job, theme);
    if (!strip) return;
    const back = () => overview.scrollIntoView({ block: "start" });
    const next = { type: "button", id: "next", onclick: nextMisplaced };
    const row = h(
      "div",
      { class: "row" },
      h("button", next, "Next start that looks at the wrong segment"),
      h("button", { type: "button", onclick: back }, "Back to all starts"),
    );
    detail.querySelector("h2")?.after(row);
    strip.update(job);
  }

  // The next seed, in a circle, for which some paradigm answers right from the wrong segment.
  function nextMisplaced() {
    const { seeds } = job.setup;
    const position = seeds.indexOf(job.seed);
    const isMisplaced = (k) => Object.values(job.outcomes).some((list) => list[k] === "misplaced");
    const order = seeds.map((_, step) => (position + 1 + step) % seeds.length);
    const next = order.find(isMisplaced);
    if (next !== undefined) choose(seeds[next]);
  }

  await attach();
  return {
    follow: async () => {
      settings.update();
      const { seed } = params();
      if (jobId() !== (job?.id ?? null)) await attach();
      else if (job && String(job.seed) !== (seed ?? String(job.job.first))) {
        await changeSeed();
        if (seed) scrollToDetail();
      }
    },
    leave: () => {
      stream?.close();
      columns?.destroy();
    },
  };
}

// State, progress and commands of the job, or what is there where nothing is trained.
function statusBar(container, failed) {
  const total = (job) => job.setup.epochs ?? job.job.epochs;
  const bar = jobStatus({
    words: STATES,
    pausable: true,
    failed,
    amount: (job) => `${job.job.task === "copying" ? "step" : "epoch"} ${job.epoch} of ${total(job)}`,
    share: (job) => job.epoch / total(job),
    seconds: (job) => {
      if (job.epoch <= 3 || job.state !== "running") return null;
      return ((Date.now() / 1000 - job.started) * (total(job) - job.epoch)) / job.epoch;
    },
  });
  const idle = h("p", { class: "note" }, "Nothing is being trained. Start with the settings above.");
  const example = h(
    "p",
    { id: "state" },
    h("strong", {}, "An example, trained before. "),
    "Click a square, or train your own with the settings above.",
  );
  const others = h("div", {});
  const wait = () => render(container, h("p", { id: "state", role: "status" }, "Starting …"));

  function update(job, lost, links) {
    render(others, links);
    if (!job) return render(container, idle, others);
    if (job.id === EXAMPLE) return render(container, example, others);
    bar.update(job, { lost });
    if (!bar.element.isConnected) render(container, bar.element, others);
  }
  return { update, progress: bar.progress, wait, fail: (error) => render(container, errorState(error)) };
}
