// Today's remaining hours beside tomorrow, from the forecast that the plot shows.
import { local, timeElement } from "./page.js";

const list = document.getElementById("outlook");
const hint = document.getElementById("outlook-hint");
const LEVELS = { low: 0.05, high: 0.95 };

/** A number with about three digits. */
function figure(value) {
  return new Intl.NumberFormat("en", { maximumSignificantDigits: 3 }).format(value);
}

/** Places of the steps of each day, by the calendar of the zone, in their order. */
function days(times, timeZone) {
  const calendar = new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" });
  const found = new Map();
  times.forEach((time, place) => {
    const day = calendar.format(time);
    found.set(day, [...(found.get(day) ?? []), place]);
  });
  return [...found.values()];
}

/** Energy, mean and highest power of some steps, with the ends of the 90 % interval. */
function summary(forecast, places, hours) {
  const own = places.filter((place) => forecast.values[place] !== null);
  if (!own.length) return null;
  const values = own.map((place) => forecast.values[place]);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const top = own[values.indexOf(Math.max(...values))];
  const end = (level) => forecast.quantiles[forecast.levels.indexOf(level)]?.[top] ?? null;
  return {
    mean, energy: mean * values.length * hours, highest: forecast.values[top], at: forecast.times[top],
    low: end(LEVELS.low), high: end(LEVELS.high), fallback: own.some((place) => forecast.sources[place] !== "model"),
  };
}

function term(name, ...content) {
  const [dt, dd] = [document.createElement("dt"), document.createElement("dd")];
  dt.textContent = name;
  dd.append(...content);
  return [dt, dd];
}

function card(title, unit, found, span) {
  const section = document.createElement("section");
  section.className = "card";
  section.setAttribute("aria-label", title);
  const [heading, facts] = [document.createElement("h2"), document.createElement("dl")];
  heading.textContent = title;
  section.append(heading);
  if (found === null) {
    section.append("No forecast.");
    return section;
  }
  const big = document.createElement("p");
  big.className = "big";
  big.textContent = `${figure(found.energy)} ${unit}h`;
  facts.append(
    ...term("from", timeElement(span[0])),
    ...term("to", timeElement(span[1])),
    ...term("mean", `${figure(found.mean)} ${unit}`),
    ...term("highest", `${figure(found.highest)} ${unit}, `, timeElement(found.at)),
  );
  if (found.low !== null && found.high !== null) {
    facts.append(...term("its 90 % interval", `${figure(found.low)} to ${figure(found.high)} ${unit}`));
  }
  if (found.fallback) facts.append(...term("source", "a fallback, at least for some hours"));
  section.append(big, facts);
  return section;
}

/** Shows both days of a forecast; "today" is the day of its first step in the zone's calendar. */
export function showOutlook({ unit, step, timezone }, forecast) {
  const times = forecast?.times.map(Date.parse) ?? [];
  if (!times.length) {
    hint.textContent = "There is no forecast.";
    return;
  }
  const titles = ["Today's remaining hours", "Tomorrow"];
  const cards = days(times, timezone).slice(0, titles.length).map((places, day) => {
    const span = [times[places[0]], times[places.at(-1)] + 1000 * Number(step)];
    return card(titles[day], unit, summary(forecast, places, Number(step) / 3600), span);
  });
  const known = forecast.measured_until;
  hint.textContent = known
    ? `The next hours use readings up to ${local(known)}; days are those of ${timezone}.`
    : `The forecast uses no readings of the last day; days are those of ${timezone}.`;
  list.replaceChildren(...cards);
}
