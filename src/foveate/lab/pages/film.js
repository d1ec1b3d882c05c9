// A training stepped through: heat map and quadrants at the moment where the slider stands. At the
// end, where bags are kept, a cell opens its bags and a bag its segments.

import { fill, h, number, percent } from "/pages/dom.js";
import { change, state } from "/pages/address.js";
import { get } from "/pages/api.js";
import { draw as chart, stacked } from "/pages/charts.js";
import { csv, empty, failed, figure, select } from "/pages/parts.js";
import { heat } from "/pages/heat.js";
import { bagsIn, looked } from "/pages/cell.js";

const ABOUT = {
  heat: ["Focus and prediction", "Held-out bags by attention on the relevant segment (across) and probability of the true class (up), in percent. The outlined corner is SAIF: right answer, right place. The top left is right for the wrong reason. At the end of training, choose a cell to see the bags in it.", "a_z = Σ_{j∈z} α_j,   SAIF = share with a_z ≥ .8 and p_y ≥ .8"],
  quadrants: ["Answers and places", "Shares of held-out bags over training: is the answer right, and is the highest focus score on the relevant segment? The upright line stands where the slider does.", "FT = share of bags with max_{j∈z} f(x_j) > max_{j∉z} f(x_j)"],
};

export function film(run, parts, look, toEnd) {
  const now = () => { const own = state(); return { part: parts.includes(own.part) ? own.part : parts[0], member: Math.min(Number(own.member) || 0, run.parts[parts[0]].members - 1), cell: own.cell?.split(",").map(Number) ?? null, bag: own.bag === undefined ? null : Number(own.bag) }; };
  const [map, path] = Object.entries(ABOUT).map(([id, [title, about, equation]]) => figure({ title, about, equation, id }));
  const list = h("div", { class: "panel list", "aria-label": "Bags of the cell" }), one = h("div", {});
  const cells = heat(map, { choose: (row, column) => { change({ cell: `${row},${column}`, bag: null }); stand(); bags(); } });
  const controls = [h("div", { class: "chosen" })];
  const until = Math.max(...Object.values(run.parts).map((part) => part.last));
  let known = null, made = null, form = "", at = state().at === undefined ? until : Number(state().at), turn = 0;

  function drawControls() {
    const own = now();
    const set = (values) => { change({ ...values, bag: null }); drawControls(); load(); };
    fill(controls[0],
      select({ label: "Heat map of", value: own.part, options: Object.fromEntries(parts.map((part) => [part, look.paradigms[part]?.label ?? part])), onchange: (part) => set({ part }) }),
      select({ label: "Seed", value: String(own.member), options: Object.fromEntries(Array.from({ length: run.parts[own.part].members }, (_, k) => [String(k), String(k)])), onchange: (member) => set({ member }) }));
  }

  async function load() {
    const own = now(), mine = ++turn;
    try {
      const found = await get("/api/run/heat", { run: run.name, part: own.part, member: own.member });
      if (mine !== turn) return;
      known = found;
      await drawPath(own);
      stand();
      await bags();
    } catch (error) {
      if (mine === turn) fill(list, failed(error, load));
    }
  }

  async function drawPath(own) {
    const { t, quadrants } = known.film, names = Object.entries(look.quadrants).filter(([key]) => quadrants[key]);
    const rows = names.flatMap(([key, { label }], order) => t.map((x, i) => ({ x, share: quadrants[key][i], name: label, order })));
    if (!rows.length) { fill(path.place, empty("Not kept.", "This run did not keep its quadrants over training.")); return; }
    const next = JSON.stringify([own.part]);
    if (made && form === next) await made.update(rows);
    else {
      made?.end();
      made = await chart(path.place, stacked({ names: names.map(([, value]) => value), x: "epoch", until, height: 185, stand: true, legend: path.place.clientWidth < 340 ? 1 : 2 }), { rows, at });
      form = next;
    }
    path.keep.svg = () => made.svg();
    path.keep.csv = () => csv(t.map((epoch, i) => ({ paradigm: own.part, seed: own.member, epoch, ...Object.fromEntries(names.map(([key]) => [key, quadrants[key][i]])) })));
  }

  // Everything at the kept moment that is nearest to where the slider stands.
  function stand() {
    if (!known) return;
    const { t, heat: over, quadrants } = known.film, own = now();
    let near = t.length - 1;
    t.forEach((x, i) => { if (Math.abs(x - at) < Math.abs(t[near] - at)) near = i; });
    const ended = near === t.length - 1, shown = ended || !over ? known.shares : over[near];
    cells.draw(shown, { chosen: ended ? own.cell : null, shut: !ended });
    const who = `${look.paradigms[own.part]?.label ?? own.part}, seed ${own.member}`;
    map.words.textContent = ended || !over ? `${who}, at the end` : `${who}, at epoch ${number(t[near], 7)}`;
    path.words.textContent = `${who}, at epoch ${number(t[near], 7)}: ${Object.entries(quadrants).map(([key, values]) => `${look.quadrants[key].label} ${percent(values[near])}`).join(", ")}`;
    made?.move(at);
    list.classList.toggle("early", !ended);
    if (!ended) {
      fill(list, empty(over ? "Bags are kept at the end of training." : "This run kept its heat map at the end only.", over ? "Before it, the heat map shows how many there were in each cell." : "Runs of this version keep it all along: train it again to step through it."), h("button", { type: "button", onclick: toEnd }, "To the end"));
      fill(one);
    }
    return ended;
  }

  async function bags() {
    const own = now();
    if (list.classList.contains("early")) return;
    if (!own.cell) { fill(list, empty("Choose a cell of the heat map.", "Its bags appear here. The top left cell has the bags that are answered right from the wrong place.")); fill(one); return; }
    await bagsIn(list, run, own, (bag) => { change({ bag }); bags(); });
    if (own.bag === null) fill(one);
    else await looked(one, run, own, look);
  }

  drawControls();
  load();
  return {
    controls, figures: [map.element, path.element, list], one,
    moved(x) {
      const early = list.classList.contains("early");
      at = x;
      if (stand() && early) bags();
    },
    end: () => made?.end(),
  };
}
