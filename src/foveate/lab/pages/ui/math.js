// Equations as text with raised and lowered parts: e^(αμ), x_j, max_{j∈z}.

import { h } from "../core/dom.js";

export function renderMath(text) {
  const parts = [];
  let plain = "",
    at = 0;
  while (at < text.length) {
    const sign = text[at];
    if (sign !== "^" && sign !== "_") {
      plain += sign;
      at += 1;
      continue;
    }
    const [inner, next] = group(text, at + 1);
    parts.push(plain, h(sign === "^" ? "sup" : "sub", {}, renderMath(inner)));
    plain = "";
    at = next;
  }
  return [...parts, plain].filter((part) => part !== "");
}

// What belongs to a raised or lowered part: a bracket, or letters and digits with commas between.
function group(text, from) {
  const close = { "(": ")", "{": "}" }[text[from]];
  if (!close) {
    const token = /^[<]?[\p{L}\p{N}]+(?:,[\p{L}\p{N}]+)*/u.exec(text.slice(from))?.[0] ?? text[from] ?? "";
    return [token, from + Math.max(1, token.length)];
  }
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === text[from]) depth += 1;
    if (text[at] === close) depth -= 1;
    if (depth === 0) return [text.slice(from + 1, at), at + 1];
  }
  return [text.slice(from + 1), text.length];
}
