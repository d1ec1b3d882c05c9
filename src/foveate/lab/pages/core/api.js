// Requests to the server. A refused request is an Error whose message is the server's sentence.
// Exported pages have no server: they read the same answers from files.

const exported = document.documentElement.dataset.exported !== undefined;

export const isExported = exported;

export async function get(path, values = {}, signal = undefined) {
  if (exported) return readExported(path, values);
  const query = new URLSearchParams(
    Object.entries(values)
      .filter(([, value]) => value !== null && value !== undefined && value !== "")
      .map(([key, value]) => [key, String(value)]),
  );
  return parse(fetch(`${path}?${query}`, { signal }));
}

export async function post(path, body = {}) {
  const headers = { "Content-Type": "application/json" };
  return parse(fetch(path, { method: "POST", headers, body: JSON.stringify(body) }));
}

export async function upload(path, file) {
  const headers = { "Content-Type": "application/octet-stream" };
  return parse(fetch(path, { method: "POST", headers, body: file }));
}

async function parse(request) {
  let response;
  try {
    response = await request;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The lab does not answer. Is 'foveate lab' still running?");
  }
  const unreadable = { error: "The lab sent an answer that cannot be read." };
  const content = await response.json().catch(() => unreadable);
  if (!response.ok) throw new Error(content.error || `The lab refused (${response.status}).`);
  return content;
}

async function readExported(path, values) {
  const name = path.replace(/^\/api\//, "").replaceAll("/", "-");
  const key = Object.entries(values)
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([part, value]) => `_${part}-${value}`)
    .join("");
  const response = await fetch(new URL(`data/${name}${key}.json`, document.baseURI));
  if (!response.ok) throw new Error("These static pages do not hold this setting.");
  return response.json();
}

let theme = null;
export function loadTheme() {
  theme ??= get("/api/theme");
  return theme;
}
