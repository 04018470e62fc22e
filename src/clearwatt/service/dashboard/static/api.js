// Calls of the API; an error has the service's message.

async function parse(response) {
  if (response.ok) return response.json();
  const problem = await response.json().catch(() => null);
  throw new Error(problem?.error?.message ?? `the service answered ${response.status}`);
}

/** The JSON of an address; a list in the query becomes a repeated parameter. */
export async function get(path, query = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of [value].flat()) parameters.append(name, each);
  }
  return parse(await fetch(`${path}?${parameters}`));
}

/** Sends JSON and returns the JSON of the answer. */
export async function send(path, { method = "POST", body = null } = {}) {
  const headers = body === null ? {} : { "Content-Type": "application/json" };
  const content = body === null ? null : JSON.stringify(body);
  return parse(await fetch(path, { method, headers, body: content }));
}
