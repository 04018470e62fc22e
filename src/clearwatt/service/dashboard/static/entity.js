// The page of an entity: its plot and the commands of an operator.
import { get } from "./api.js";
import { catchUp, command, confirmed } from "./commands.js";
import { draw, fromWall, MARKED, plotlyReady } from "./entity-plot.js";
import { onChange } from "./live.js";
import { showOutlook } from "./outlook.js";
import { local } from "./page.js";
import { partOf, refreshParts } from "./parts.js";

const DAY = 86_400_000;
const AHEAD = 2 * DAY;
const LONG = 60 * DAY; // longer views take long to load, so they are not reloaded at every change
const PATIENCE = 15_000;
const BANDS = [0.05, 0.25, 0.75, 0.95]; // the ends of the intervals that are drawn
const MOST_STEPS = 499_000; // limit of the service per request

const root = document.getElementById("entity");
const plot = document.getElementById("plot");
const hint = document.getElementById("plot-hint");
const { entity, zone } = root.dataset;
const step = 1000 * Number(root.dataset.step);

const state = {
  life: root.dataset.last
    ? { start: 1000 * Number(root.dataset.first), end: 1000 * Number(root.dataset.last) + step }
    : null,
  view: null,
  days: 7, // the span that follows the newest reading; null: the viewer has chosen a time
  signals: null,
  forecast: null,
  events: [],
  exclusions: [],
  quarantined: [],
  chosen: null,
  excluding: false,
};
let asked = 0; // number of the newest request; answers to older ones are ignored
let loaded = 0;
let later = 0;
let listening = false;
let dragging = false; // redrawing would interrupt the drag
let waiting = false;

function follow() {
  const end = state.life?.end ?? Math.floor(Date.now() / step) * step;
  const start = state.days === "all" ? (state.life?.start ?? end - 7 * DAY) : end - state.days * DAY;
  // In a long view, two days of forecast would be too narrow to see.
  const past = end - Math.max(start, end - MOST_STEPS * step);
  state.view = { start: end - past, end: end + Math.min(AHEAD, past) };
}

async function load() {
  if (state.days !== null) follow();
  const question = ++asked;
  const { start, end } = state.view;
  const span = { start: new Date(start).toISOString(), end: new Date(end).toISOString() };
  const points = Math.min(5000, Math.max(400, 2 * Math.round(plot.clientWidth || 1000)));
  const [signals, forecasts, happened] = await Promise.all([
    get("/v1/signals", { entity, ...span, points, by: "extremes" }),
    get("/v1/forecasts", { entity, level: BANDS }),
    get("/v1/events", { entity, shared: true, kind: MARKED, limit: 1000 }),
    plotlyReady(),
  ]);
  if (question !== asked) return;
  Object.assign(state, { signals, forecast: forecasts.forecasts[0] ?? null, events: happened.events });
  showOutlook(root.dataset, state.forecast);
  loaded = Date.now();
  await takeLife(signals.life);
}

/** Goes on to readings that are newer than the page knew of. */
async function takeLife(life) {
  if (life === null) return show();
  const known = { start: Date.parse(life.start), end: Date.parse(life.end) };
  const grown = known.end !== state.life?.end || known.start !== state.life?.start;
  state.life = known;
  if (grown && state.days !== null && asked === 1) return load();
  return show();
}

async function show() {
  if (dragging) {
    waiting = true;
    return;
  }
  readParts();
  plot.querySelector(".first-look")?.remove();
  await draw(plot, state);
  if (!listening) listenToPlot();
  const { start, end } = state.view;
  hint.textContent = state.excluding
    ? "Drag over the plot to choose a window to exclude, or fill in the form below."
    : `${local(start)} to ${local(end)}. Drag to zoom, or use the buttons.`;
}

function letGo() {
  dragging = false;
  if (waiting) show();
  waiting = false;
}

/** What the parts of the page say that the plot shows too. */
function readParts() {
  const windows = root.querySelectorAll("[data-part=exclusions] li");
  state.exclusions = Array.from(windows, ({ dataset }) => ({
    start: Date.parse(dataset.start), end: Date.parse(dataset.end),
  }));
  const readings = root.querySelectorAll("[data-part=quarantine] tr[data-time]");
  state.quarantined = Array.from(readings, ({ dataset }) => ({
    time: Date.parse(dataset.time), value: dataset.value === "" ? null : Number(dataset.value),
  }));
}

async function refresh() {
  const page = await refreshParts();
  await catchUp(entity);
  const { first, last } = page.getElementById("entity").dataset;
  if (last) state.life = { start: 1000 * Number(first), end: 1000 * Number(last) + step };
  clearTimeout(later);
  const wait = state.view.end - state.view.start > LONG ? loaded + PATIENCE - Date.now() : 0;
  if (wait <= 0) return load();
  later = setTimeout(() => load().catch(fail), wait);
  return show();
}

function fail(error) {
  hint.textContent = `The plot could not be loaded: ${error.message}`;
}

function press(button) {
  for (const each of document.querySelectorAll("[data-days]")) {
    each.setAttribute("aria-pressed", String(each === button));
  }
}

function look(view) {
  press(null);
  state.days = null;
  state.view = view;
  return load().catch(fail);
}

function chooseDays(button) {
  press(button);
  state.days = button.dataset.days === "all" ? "all" : Number(button.dataset.days);
  load().catch(fail);
}

function shift(share) {
  const by = share * (state.view.end - state.view.start);
  look({ start: state.view.start + by, end: state.view.end + by });
}

function listenToPlot() {
  listening = true;
  let pause = 0;
  plot.on("plotly_relayout", (change) => {
    const start = change["xaxis.range[0]"] ?? change["xaxis.range"]?.[0];
    const end = change["xaxis.range[1]"] ?? change["xaxis.range"]?.[1];
    if (change["xaxis.autorange"]) return chooseDays(document.querySelector("[data-days=all]"));
    if (start === undefined || end === undefined) return undefined;
    const view = { start: Math.floor(fromWall(start)), end: Math.ceil(fromWall(end)) };
    if (view.end - view.start < 2 * step) view.end = view.start + 2 * step;
    clearTimeout(pause);
    pause = setTimeout(() => look(view), 150);
    return undefined;
  });
  plot.on("plotly_click", ({ points }) => {
    const mark = points.find((point) => point.data.yaxis === "y4");
    if (mark) explain(mark.customdata).catch(fail);
  });
  plot.on("plotly_selected", (selected) => {
    const range = selected?.range?.x;
    if (range) choose({ start: fromWall(range[0]), end: fromWall(range[1]) });
  });
}

// Why something happened.

async function explain(number) {
  const dialog = document.getElementById("why");
  const why = await partOf(`/entities/${encodeURIComponent(entity)}/events/${number}`, "why");
  document.getElementById("why-content").replaceChildren(why);
  dialog.showModal();
  dialog.scrollTop = 0;
}

// Windows to forget.

function field(time) {
  return new Date(time - 60_000 * new Date(time).getTimezoneOffset()).toISOString().slice(0, 16);
}

/** Puts a window, widened to whole steps, into the form and onto the plot. */
function choose({ start, end }) {
  const form = document.getElementById("exclude");
  state.chosen = { start: Math.floor(start / step) * step, end: Math.ceil(end / step) * step };
  form.elements.start.value = field(state.chosen.start);
  form.elements.end.value = field(state.chosen.end);
  setExcluding(false);
  form.scrollIntoView({ block: "center" });
  form.elements.reason.focus();
}

function setExcluding(on) {
  state.excluding = on;
  if (on) state.chosen = null;
  document.getElementById("exclude-mode").setAttribute("aria-pressed", String(on));
  plot.classList.toggle("excluding", on);
  window.Plotly.relayout(plot, { dragmode: on ? "select" : "zoom", selections: [] }).then(show);
}

async function exclude(form) {
  const { start, end, reason } = form.elements;
  const window_ = {
    start: new Date(start.value).toISOString(),
    end: new Date(end.value).toISOString(),
    reason: reason.value,
  };
  const span = `${local(window_.start)} to ${local(window_.end)}`;
  const question = `Exclude ${span}, because: ${window_.reason}? What was learned from these readings is forgotten, and forecasts go on. You can undo it below the plot.`;
  if (!(await confirmed(question))) return;
  await command(`exclude ${span}`, form.dataset.url, { body: window_ });
  state.chosen = null;
  form.reset();
  await show();
}

async function judge(form, button) {
  const times = Array.from(form.querySelectorAll("input[name=time]:checked"), ({ value }) => value);
  const what = `${button.dataset.what} ${times.length} readings`;
  if (times.length === 0 || (button.dataset.what === "drop" && !(await confirmed(`Drop ${times.length} readings? They are never learned from.`)))) return;
  await command(what, button.dataset.url, { body: { items: times.map((time) => ({ entity, time })) } });
}

/** The comparison of two versions; without it, why it could not be loaded. */
async function evidenceAt(address) {
  try {
    return await partOf(address, "evidence");
  } catch (error) {
    const line = document.createElement("p");
    line.textContent = `The comparison could not be loaded: ${error.message}`;
    return line;
  }
}

async function order(button) {
  const { url, method = "POST", body, what, confirm, evidence } = button.dataset;
  if (confirm && !(await confirmed(confirm, evidence ? await evidenceAt(evidence) : null))) return;
  await command(what, url, { method, body: body ? JSON.parse(body) : null });
}

document.addEventListener("click", (click) => {
  const button = click.target.closest("button");
  const link = click.target.closest("a[data-event]");
  if (link && !click.ctrlKey && !click.metaKey && !click.shiftKey) {
    click.preventDefault();
    explain(link.dataset.event).catch(() => location.assign(link.href));
  } else if (button?.dataset.days) chooseDays(button);
  else if (button?.dataset.shift) shift(Number(button.dataset.shift));
  else if (button?.id === "exclude-mode") setExcluding(!state.excluding);
  else if (button?.type === "button" && button.dataset.url) order(button);
});
document.addEventListener("submit", (submit) => {
  const form = submit.target;
  if (form.id !== "exclude" && form.id !== "quarantine") return;
  submit.preventDefault();
  if (form.id === "exclude") exclude(form);
  else judge(form, submit.submitter);
});
document.addEventListener("change", ({ target }) => {
  if (target.id !== "every") return;
  for (const box of target.form.querySelectorAll("input[name=time]")) box.checked = target.checked;
});
document.addEventListener("clearwatt:theme", () => show());
plot.addEventListener("pointerdown", () => {
  dragging = true;
}, { capture: true });
for (const end of ["pointerup", "pointercancel"]) {
  // Plotly receives the end of a drag after this.
  addEventListener(end, () => dragging && setTimeout(letGo, 100), { capture: true });
}

load().catch(fail);
onChange(refresh, { zone, every: 2000 });
