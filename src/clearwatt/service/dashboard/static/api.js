// Asking the service, with its own words where it refuses.

async function answered(response) {
  if (response.ok) return response.json();
  const told = await response.json().catch(() => null);
  throw new Error(told?.error?.message ?? `the service answered ${response.status}`);
}

/** The JSON of an address; values of the query that are lists are repeated. */
export async function get(path, query = {}) {
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of [value].flat()) asked.append(name, each);
  }
  return answered(await fetch(`${path}?${asked}`));
}

/** Sends JSON and returns the JSON of the answer. */
export async function send(path, { method = "POST", body = null } = {}) {
  const headers = body === null ? {} : { "Content-Type": "application/json" };
  const content = body === null ? null : JSON.stringify(body);
  return answered(await fetch(path, { method, headers, body: content }));
}
