// What a person tells the service to do: asked for at once, carried out by the learner, told here.
import { get, send } from "./api.js";
import { onEvent } from "./live.js";

const REMEMBERED = 200;
const outcomes = document.getElementById("outcomes");
const waiting = new Map(); // key of the event that tells the outcome → the line that shows it
const told = new Map(); // events heard lately: one may come before the answer that names it

onEvent(hear);

/** Sends a command and shows what becomes of it. */
export async function command(what, url, request = {}) {
  const line = document.createElement("p");
  line.textContent = `Asking: ${what}…`;
  outcomes.prepend(line);
  while (outcomes.children.length > 4) outcomes.lastElementChild.remove();
  try {
    const answer = await send(url, request);
    line.textContent = `Asked: ${what}. The learner gets to it…`;
    for (const accepted of answer.commands ?? [answer]) expect(accepted.event, line);
  } catch (error) {
    line.className = "refused";
    line.textContent = `Not done: ${what}: ${error.message}`;
  }
}

/** Looks for outcomes that were not heard, among the newest events of an entity. */
export async function catchUp(entity) {
  if (waiting.size === 0) return;
  const { events } = await get("/v1/events", { entity, shared: true, limit: 50 });
  events.forEach(hear);
}

/** Asks in a dialog; whether the answer was yes. */
export function confirmed(text) {
  const dialog = document.getElementById("confirm");
  document.getElementById("confirm-text").textContent = text;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

function expect(key, line) {
  waiting.set(key, line);
  if (told.has(key)) hear(told.get(key));
}

function hear(event) {
  told.set(event.key, event);
  if (told.size > REMEMBERED) told.delete(told.keys().next().value);
  const line = waiting.get(event.key);
  if (line === undefined) return;
  waiting.delete(event.key);
  const refused = event.kind === "command refused";
  line.className = refused ? "refused" : "done";
  const forgotten = event.details.forgotten;
  const more = forgotten === undefined ? "" : ` (forgotten: ${forgotten} samples)`;
  line.textContent = `${refused ? "Refused" : "Done"}: ${event.message}${more}`;
}
