// Questions to the server; a refusal is an Error whose message is the server's sentence.

export async function get(path, values = {}, signal = undefined) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== "") query.set(key, String(value));
  }
  return answered(fetch(`${path}?${query}`, { signal }));
}

export async function post(path, body = {}) {
  const headers = { "Content-Type": "application/json" };
  return answered(fetch(path, { method: "POST", headers, body: JSON.stringify(body) }));
}

async function answered(promise) {
  let response;
  try {
    response = await promise;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The lab does not answer. Is 'foveate lab' still running?");
  }
  const said = await response.json().catch(() => ({ error: "The lab gave an answer that cannot be read." }));
  if (!response.ok) throw new Error(said.error || `The lab refused (${response.status}).`);
  return said;
}

let seen = null;
export function look() {
  seen ??= get("/api/look");
  return seen;
}
