// Flow: the exact dynamics of the paradigms as sliders move, and a gradient descent beside them.

import { loadTheme } from "../core/api.js";
import { h, render } from "../core/dom.js";
import { flowSection } from "./flow_section.js";

const LEAD =
  "One segment of each bag decides its label. Three ways to train the same linear model, solved " +
  "exactly: no data, no noise, no step size. Move a slider.";

export async function open(container) {
  const theme = await loadTheme();
  const section = flowSection(theme);
  render(
    container,
    h("h1", {}, "Why does soft attention stop improving?"),
    h("p", { class: "lead" }, LEAD),
    section.answer,
    section.element,
  );
  await section.update();
  return { follow: section.follow, leave: section.destroy };
}
