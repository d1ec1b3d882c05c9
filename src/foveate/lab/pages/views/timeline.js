// A training stepped through: heat map and quadrants at the moment where the slider stands. At the
// end, where bags are kept, a cell opens its bags and a bag its segments.

import { params, setParams } from "../core/address.js";
import { get } from "../core/api.js";
import { formatNumber, formatPercent, h, render } from "../core/dom.js";
import { heatmap } from "../drawing/heatmap.js";
import { drawChart, stackedSpec } from "../ui/charts.js";
import { select } from "../ui/controls.js";
import { csv, figure } from "../ui/figure.js";
import { emptyState, errorState } from "../ui/states.js";
import { renderBag, renderCellBags } from "./cell_bags.js";

const ABOUT = {
  heat: [
    "Focus and prediction",
    "Held-out bags by attention on the relevant segment (across) and probability of the " +
      "true class (up), in percent. The outlined corner is SAIF: right answer, right " +
      "segment. The top left is right for the wrong reason. At the end of training, choose " +
      "a cell to see the bags in it.",
    "a_z = Σ_{j∈z} α_j,   SAIF = share with a_z ≥ .8 and p_y ≥ .8",
  ],
  quadrants: [
    "Answers and places",
    "Shares of held-out bags over training: is the answer right, and is the highest focus" +
      " score on the relevant segment? The upright line stands where the slider does.",
    "FT = share of bags with max_{j∈z} f(x_j) > max_{j∉z} f(x_j)",
  ],
};

export function timeline(run, parts, theme, toEnd) {
  const now = () => {
    const selection = params();
    return {
      part: parts.includes(selection.part) ? selection.part : parts[0],
      member: Math.min(Number(selection.member) || 0, run.parts[parts[0]].members - 1),
      cell: selection.cell?.split(",").map(Number) ?? null,
      bag: selection.bag === undefined ? null : Number(selection.bag),
    };
  };
  const [heatFigure, quadrantFigure] = Object.entries(ABOUT).map(([id, [title, about, equation]]) =>
    figure({ title, about, equation, id }),
  );
  const list = h("div", { class: "panel list", "aria-label": "Bags of the cell" }),
    one = h("div", {});
  const cells = heatmap(heatFigure, {
    choose: (row, column) => {
      setParams({ cell: `${row},${column}`, bag: null });
      showMoment();
      bags();
    },
  });
  const controls = [h("div", { class: "chosen" })];
  const until = Math.max(...Object.values(run.parts).map((part) => part.last));
  let loaded = null,
    chart = null,
    form = "",
    at = params().at === undefined ? until : Number(params().at),
    turn = 0;

  function drawControls() {
    const selection = now();
    const set = (values) => {
      setParams({ ...values, bag: null });
      drawControls();
      load();
    };
    render(
      controls[0],
      select({
        label: "Heat map of",
        value: selection.part,
        options: Object.fromEntries(parts.map((part) => [part, theme.paradigms[part]?.label ?? part])),
        onchange: (part) => set({ part }),
      }),
      select({
        label: "Seed",
        value: String(selection.member),
        options: Object.fromEntries(
          Array.from({ length: run.parts[selection.part].members }, (_, k) => [String(k), String(k)]),
        ),
        onchange: (member) => set({ member }),
      }),
    );
  }

  async function load() {
    const selection = now(),
      request = ++turn;
    try {
      const answer = await get("/api/run/heat", {
        run: run.name,
        part: selection.part,
        member: selection.member,
      });
      if (request !== turn) return;
      loaded = answer;
      await drawPath(selection);
      showMoment();
      await bags();
    } catch (error) {
      if (request === turn) render(list, errorState(error, load));
    }
  }

  async function drawPath(selection) {
    const { t, quadrants } = loaded.timeline,
      names = Object.entries(theme.quadrants).filter(([key]) => quadrants[key]);
    const rows = names.flatMap(([key, { label }], order) =>
      t.map((x, i) => ({ x, share: quadrants[key][i], name: label, order })),
    );
    if (!rows.length) {
      render(
        quadrantFigure.body,
        emptyState("Not kept.", "This run did not keep its quadrants over training."),
      );
      return;
    }
    const next = JSON.stringify([selection.part]);
    if (chart && form === next) await chart.update(rows);
    else {
      chart?.destroy();
      chart = await drawChart(
        quadrantFigure.body,
        stackedSpec({
          names: names.map(([, value]) => value),
          x: "epoch",
          until,
          height: 185,
          withCursor: true,
          legend: quadrantFigure.body.clientWidth < 340 ? 1 : 2,
        }),
        { rows, at },
      );
      form = next;
    }
    quadrantFigure.downloads.svg = () => chart.svg();
    quadrantFigure.downloads.csv = () =>
      csv(
        t.map((epoch, i) => ({
          paradigm: selection.part,
          seed: selection.member,
          epoch,
          ...Object.fromEntries(names.map(([key]) => [key, quadrants[key][i]])),
        })),
      );
  }

  // Everything at the kept moment that is nearest to where the slider stands.
  function showMoment() {
    if (!loaded) return;
    const { t, heat: over, quadrants } = loaded.timeline,
      selection = now();
    let nearest = t.length - 1;
    t.forEach((x, i) => {
      if (Math.abs(x - at) < Math.abs(t[nearest] - at)) nearest = i;
    });
    const ended = nearest === t.length - 1,
      shares = ended || !over ? loaded.shares : over[nearest];
    cells.draw(shares, { chosen: ended ? selection.cell : null, shut: !ended });
    const title = `${theme.paradigms[selection.part]?.label ?? selection.part}, seed ${selection.member}`;
    heatFigure.subtitle.textContent =
      ended || !over ? `${title}, at the end` : `${title}, at epoch ${formatNumber(t[nearest], 7)}`;
    const share = ([key, values]) => `${theme.quadrants[key].label} ${formatPercent(values[nearest])}`;
    const answers = Object.entries(quadrants).map(share).join(", ");
    quadrantFigure.subtitle.textContent = `${title}, at epoch ${formatNumber(t[nearest], 7)}: ${answers}`;
    chart?.move(at);
    list.classList.toggle("early", !ended);
    if (!ended) {
      render(
        list,
        emptyState(
          over ? "Bags are kept at the end of training." : "This run kept its heat map at the end only.",
          over
            ? "Before it, the heat map shows how many there were in each cell."
            : "Runs of this version keep it all along: train it again to step through it.",
        ),
        h("button", { type: "button", onclick: toEnd }, "To the end"),
      );
      render(one);
    }
    return ended;
  }

  async function bags() {
    const selection = now();
    if (list.classList.contains("early")) return;
    if (!selection.cell) {
      render(
        list,
        emptyState(
          "Choose a cell of the heat map.",
          "Its bags appear here. The top left cell has the bags that are answered right " +
            "from the wrong segment.",
        ),
      );
      render(one);
      return;
    }
    await renderCellBags(list, run, selection, (bag) => {
      setParams({ bag });
      bags();
    });
    if (selection.bag === null) render(one);
    else await renderBag(one, run, selection, theme);
  }

  const follow = () => {
    drawControls();
    return load();
  };
  follow();
  return {
    follow,
    controls,
    figures: [heatFigure.element, quadrantFigure.element, list],
    one,
    moved(x) {
      const early = list.classList.contains("early");
      at = x;
      if (showMoment() && early) bags();
    },
    destroy: () => chart?.destroy(),
  };
}
