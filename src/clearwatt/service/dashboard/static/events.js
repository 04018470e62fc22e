// Adds new events that match the filter to the top of the newest page.
import { onLog } from "./live.js";
import { timeElement } from "./page.js";

const table = document.getElementById("events");
const rows = table.tBodies[0];
const tones = JSON.parse(table.dataset.tones);
const most = Number(table.dataset.most);
let newest = Number(table.dataset.newest);
let fresh = 0;

function made(name, ...children) {
  const element = document.createElement(name);
  element.append(...children);
  return element;
}

/** Time of recording and, for events about readings, the time of the last of them. */
function when(event) {
  if (!event.time) return [timeElement(event.at)];
  const about = made("span", "about ", timeElement(event.time));
  about.className = "faint";
  return [timeElement(event.at), " ", about];
}

function where(event) {
  if (!event.entity) return event.zone ?? "service";
  const link = made("a", event.entity);
  link.href = `/entities/${encodeURIComponent(event.entity)}`;
  return link;
}

function details(event) {
  const list = made("dl");
  const add = (name, content) => list.append(made("dt", name), made("dd", content));
  for (const [name, value] of Object.entries(event.details)) {
    add(name.replaceAll("_", " "), typeof value === "string" ? value : JSON.stringify(value));
  }
  add("key", made("code", event.key));
  return made("details", made("summary", "Details"), list);
}

function row(event) {
  const kind = made("span", event.kind);
  kind.className = `state ${tones[event.kind] ?? ""}`;
  const cells = {
    When: when(event),
    What: [kind],
    Where: [where(event)],
    "In words": [event.message, details(event)],
    By: [event.actor === "system" ? "itself" : event.actor],
  };
  const element = made("tr");
  for (const [label, content] of Object.entries(cells)) {
    const cell = made("td", ...content);
    cell.dataset.label = label;
    element.append(cell);
  }
  element.className = "new";
  return element;
}

async function catchUp() {
  const answer = await fetch(`/v1/events?${table.dataset.query}&after=${newest}&limit=1000`);
  if (!answer.ok) return;
  const { events } = await answer.json();
  for (const event of events) {
    rows.prepend(row(event));
    newest = event.seq;
  }
  while (rows.rows.length > most) rows.lastElementChild.remove();
  fresh += events.length;
  if (events.length) {
    document.getElementById("fresh").textContent = `${fresh} new since you opened this page`;
    table.caption.textContent = `Newest first; ${rows.rows.length} shown`;
  }
}

if ("live" in table.dataset) onLog(catchUp);
