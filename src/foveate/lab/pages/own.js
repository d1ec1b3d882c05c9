// Own data: a file, checked; a model, fitted; a verdict on its attention.

import { fill, h } from "/pages/dom.js";
import { empty } from "/pages/parts.js";

export async function open(place) {
  fill(place, h("h1", {}, "Own data"),
    empty("Your own bags are fitted from a terminal.", "Run ", h("code", {}, "foveate race FOLDER --foreground 0,1,2"), " on a Parquet folder or an NPZ file; the run then appears under ", h("a", { href: "/runs" }, "Runs"), "."));
}
