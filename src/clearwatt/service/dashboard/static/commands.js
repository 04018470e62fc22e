// Commands: sent to the service, carried out by the learner; their outcomes are shown here.
import { get, send } from "./api.js";
import { onEvent } from "./live.js";

const MOST_RECENT = 200;
const outcomes = document.getElementById("outcomes");
const waiting = new Map(); // key of the event with the outcome → the line that shows it
const recent = new Map(); // recent events by key: one may arrive before the answer that names it

onEvent(hear);

/** Sends a command and shows its outcome. */
export async function command(what, url, request = {}) {
  const line = document.createElement("p");
  line.textContent = `Sending: ${what}…`;
  outcomes.prepend(line);
  while (outcomes.children.length > 4) outcomes.lastElementChild.remove();
  try {
    const answer = await send(url, request);
    line.textContent = `Accepted: ${what}. Waiting for the learner…`;
    for (const accepted of answer.commands ?? [answer]) expect(accepted.event, line);
  } catch (error) {
    line.className = "refused";
    line.textContent = `Not done: ${what}: ${error.message}`;
  }
}

/** Looks for missed outcomes among the newest events of an entity. */
export async function catchUp(entity) {
  if (waiting.size === 0) return;
  const { events } = await get("/v1/events", { entity, shared: true, limit: 50 });
  events.forEach(hear);
}

/** Asks in a dialog, below evidence if there is some; resolves to whether the answer was yes. */
export function confirmed(text, evidence = null) {
  const dialog = document.getElementById("confirm");
  document.getElementById("confirm-evidence").replaceChildren(...(evidence ? [evidence] : []));
  document.getElementById("confirm-text").textContent = text;
  dialog.returnValue = "no";
  dialog.showModal();
  dialog.scrollTop = 0; // the focus is on a button below the evidence
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      document.getElementById("confirm-evidence").replaceChildren();
      resolve(dialog.returnValue === "yes");
    }, { once: true });
  });
}

function expect(key, line) {
  waiting.set(key, line);
  if (recent.has(key)) hear(recent.get(key));
}

function hear(event) {
  recent.set(event.key, event);
  if (recent.size > MOST_RECENT) recent.delete(recent.keys().next().value);
  const line = waiting.get(event.key);
  if (line === undefined) return;
  waiting.delete(event.key);
  const refused = event.kind === "command refused";
  line.className = refused ? "refused" : "done";
  const forgotten = event.details.forgotten;
  const more = forgotten === undefined ? "" : ` (forgotten: ${forgotten} samples)`;
  line.textContent = `${refused ? "Refused" : "Done"}: ${event.message}${more}`;
}
