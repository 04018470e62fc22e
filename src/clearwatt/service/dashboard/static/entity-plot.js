// The plot of an entity: power, both errors with their thresholds, and events.
// Plotly has no time zones, so times are passed in the viewer's local time.
import { isDark, utc } from "./page.js";

const MARKS = {
  update: { symbol: "triangle-down", name: "update" },
  refused: { symbol: "x", name: "update refused" },
  awaiting: { symbol: "diamond", name: "awaits approval" },
  activate: { symbol: "star", name: "version activated" },
  warmup: { symbol: "circle", name: "first model" },
};
export const MARKED = Object.keys(MARKS);

// The page has its own buttons, usable by keyboard; plotly's would cover the marks.
const CONFIG = { responsive: true, displayModeBar: false };

/** Milliseconds as the wall clock of the viewer, in the form plotly takes for a date. */
function wall(time) {
  const moment = new Date(time);
  return new Date(moment - 60_000 * moment.getTimezoneOffset()).toISOString().slice(0, 23);
}

/** The milliseconds of what plotly gives for a date. */
export function fromWall(text) {
  return new Date(String(text).replace(" ", "T")).getTime();
}

function colours() {
  const style = getComputedStyle(document.documentElement);
  const dark = isDark();
  return {
    ink: dark ? "#e8ecf3" : "#1a2230",
    faint: dark ? "#a9b4c4" : "#505b6b",
    grid: dark ? "#2b3545" : "#e1e5ec",
    measured: dark ? "#e8ecf3" : "#1a2230",
    forecast: dark ? "#4d9dff" : "#0b5fa5",
    ahead: dark ? "#2fd6b5" : "#007a63",
    // The widest first; a narrower band lies on it.
    bands: dark ? ["rgba(47, 214, 181, 0.2)", "rgba(47, 214, 181, 0.5)"] : ["rgba(0, 122, 99, 0.15)", "rgba(0, 122, 99, 0.45)"],
    fallback: dark ? "#d58bff" : "#8e24aa",
    novel: dark ? "#f3a74a" : "#b25e00",
    bad: dark ? "#ff6b81" : "#c4143c",
    suspect: dark ? "#ffe066" : "#6f7d00",
    ground: dark ? "#1b2330" : "#f3f5f8",
    page: dark ? "#11161f" : "#ffffff",
    font: style.fontFamily,
  };
}

function line(times, values, options) {
  return {
    type: "scatter",
    mode: "lines",
    x: times.map(wall),
    y: values,
    customdata: times.map(utc),
    connectgaps: false,
    ...options,
  };
}

function hover(unit) {
  return `%{y:.4~g} ${unit} <i>(%{customdata})</i>`.replace("  ", " ");
}

/** Steps of a threshold over the time shown, as a line that changes where they do. */
function threshold(steps, view, options) {
  const times = [];
  const values = [];
  for (const { time, value } of steps) {
    const from = Math.max(time === null ? view.start : Date.parse(time), view.start);
    if (from > view.end) break;
    if (times.at(-1) === from) values[values.length - 1] = value;
    else {
      times.push(from);
      values.push(value);
    }
  }
  if (times.length) {
    times.push(view.end);
    values.push(values.at(-1));
  }
  return line(times, values, { ...options, line: { ...options.line, shape: "hv" } });
}

/** Quantiles of the forecast to come as bands, the widest first; what lies beyond is rare. */
function bands(forecast, times, colour, unit) {
  if (!forecast.sources.includes("model")) return []; // a fallback has no quantiles
  const count = forecast.levels.length;
  const pairs = forecast.levels.slice(0, count >> 1).map((level, k) => [k, count - 1 - k, 1 - 2 * level]);
  return pairs.flatMap(([low, high, share], place) => {
    const name = `${Math.round(100 * share)} % interval`;
    const edge = { mode: "lines", line: { width: 0 }, hovertemplate: hover(unit), legendgroup: name };
    return [
      line(times, forecast.quantiles[low], { ...edge, name: `${name}, low`, showlegend: false }),
      line(times, forecast.quantiles[high], { ...edge, name, fill: "tonexty", fillcolor: colour.bands[Math.min(place, colour.bands.length - 1)] }),
    ];
  });
}

/** The forecast to come, apart from what a fallback says instead of the model. */
function ahead(forecast, colour, unit) {
  const times = forecast.times.map(Date.parse);
  const of = (own) => forecast.values.map((value, k) => ((forecast.sources[k] === "model") === own ? value : null));
  const common = { hovertemplate: hover(unit) };
  const traces = bands(forecast, times, colour, unit);
  if (forecast.sources.includes("model")) {
    traces.push(line(times, of(true), { ...common, name: "Forecast to come", line: { color: colour.ahead, width: 2.5 } }));
  }
  if (forecast.fallback) {
    const name = `Fallback (${[...new Set(forecast.sources)].filter((each) => each !== "model").join(", ")})`;
    traces.push(line(times, of(false), { ...common, name, line: { color: colour.fallback, dash: "dot" } }));
  }
  return traces;
}

function marks(events, colour) {
  const times = events.map((event) => Date.parse(event.time ?? event.at));
  return {
    type: "scatter",
    mode: "markers",
    name: "What happened",
    showlegend: events.length > 0,
    x: times.map(wall),
    y: events.map(() => 0.5),
    yaxis: "y4",
    customdata: events.map((event) => event.seq),
    text: events.map((event, k) => {
      const of = event.details.component ? ` of the ${event.details.component}` : "";
      return `${MARKS[event.kind].name}${of}<br>${utc(times[k])}<br>click for why`;
    }),
    hovertemplate: "%{text}<extra></extra>",
    marker: {
      symbol: events.map((event) => MARKS[event.kind].symbol),
      color: events.map((event) => (event.kind === "refused" ? colour.bad : colour.novel)),
      size: 11,
    },
  };
}

/** Readings in quarantine; one far beyond all others is drawn at the edge of what they need. */
function suspects(quarantined, signals, colour) {
  const others = [...signals.measured, ...signals.forecast].filter((value) => value !== null);
  const [low, high] = others.length ? [Math.min(...others), Math.max(...others)] : [-Infinity, Infinity];
  const margin = others.length ? (high - low) / 10 : 0;
  const shown = quarantined.filter(({ value }) => value !== null);
  return line(
    shown.map(({ time }) => time),
    shown.map(({ value }) => Math.min(Math.max(value, low - margin), high + margin)),
    {
      name: "In quarantine",
      showlegend: shown.length > 0,
      mode: "markers",
      text: shown.map(({ value }) => `${value} ${signals.unit}`),
      hovertemplate: "%{text} <i>(%{customdata})</i>",
      marker: { symbol: "x-thin", size: 8, color: colour.suspect, line: { color: colour.suspect, width: 2 } },
    },
  );
}

function traces({ signals, forecast, events, quarantined, view }, colour) {
  const times = signals.times.map(Date.parse);
  const { unit } = signals;
  const power = { hovertemplate: hover(unit) };
  const limit = { line: { color: colour.bad, dash: "dash", width: 1.5 } };
  return [
    line(times, signals.measured, { ...power, name: "Measured", line: { color: colour.measured, width: 1.5 } }),
    line(times, signals.forecast, { ...power, name: "Forecast", line: { color: colour.forecast, width: 1.5 } }),
    ...(forecast ? ahead(forecast, colour, unit) : []),
    suspects(quarantined, signals, colour),
    line(times, signals.error, { ...power, name: "Prediction error", yaxis: "y2", showlegend: false, line: { color: colour.novel, width: 1 } }),
    threshold(signals.thresholds, view, { ...power, ...limit, name: "Threshold", yaxis: "y2" }),
    line(times, signals.reconstruction, { hovertemplate: hover(""), name: "Reconstruction error", yaxis: "y3", showlegend: false, line: { color: colour.forecast, width: 1 } }),
    threshold(signals.reconstruction_thresholds, view, { hovertemplate: hover(""), ...limit, name: "Threshold", yaxis: "y3", showlegend: false }),
    marks(events, colour),
  ];
}

function shade({ start, end }, colour, options = {}) {
  return {
    type: "rect", xref: "x", yref: "paper", x0: wall(start), x1: wall(end), y0: 0, y1: 1,
    fillcolor: colour.bad, opacity: 0.15, line: { width: 0 }, ...options,
  };
}

function layout({ signals, events, exclusions, chosen, view, excluding }, colour, narrow) {
  const axis = { gridcolor: colour.grid, zerolinecolor: colour.grid, automargin: true, fixedrange: true };
  const lines = events.map((event) => {
    const at = wall(Date.parse(event.time ?? event.at));
    return { type: "line", xref: "x", yref: "paper", x0: at, x1: at, y0: 0, y1: 0.955, line: { color: colour.novel, width: 1, dash: "dot" } };
  });
  const { titles, annotations } = panelTitles(signals.unit, narrow, colour);
  return {
    annotations,
    uirevision: "kept",
    font: { color: colour.ink, family: colour.font, size: narrow ? 11 : 13 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: narrow ? 40 : 60, r: 10, t: 10, b: 40 },
    hovermode: "closest",
    hoverlabel: { bgcolor: colour.ground, font: { color: colour.ink } },
    dragmode: excluding ? "select" : "zoom",
    selectdirection: "h",
    showlegend: true,
    legend: { orientation: "h", y: narrow ? -0.12 : -0.08, yanchor: "top", font: { size: narrow ? 10 : 12 } },
    shapes: [
      ...lines,
      ...exclusions.map((window) => shade(window, colour)),
      ...(chosen ? [shade(chosen, colour, { opacity: 0.25, line: { color: colour.bad, width: 2, dash: "dash" } })] : []),
    ],
    xaxis: { type: "date", range: [wall(view.start), wall(view.end)], gridcolor: colour.grid, anchor: "y3", uirevision: `${view.start}` },
    yaxis4: { domain: [0.955, 1], range: [0, 1], visible: false, fixedrange: true },
    yaxis: { ...axis, domain: narrow ? [0.54, 0.88] : [0.5, 0.95], title: titles[0] },
    yaxis2: { ...axis, domain: narrow ? [0.27, 0.44] : [0.25, 0.46], rangemode: "tozero", title: titles[1] },
    yaxis3: { ...axis, domain: narrow ? [0, 0.18] : [0, 0.21], rangemode: "tozero", title: titles[2] && { ...titles[2], font: { size: 11 } } },
  };
}

/** Titles of the three panels: beside the axes, or on a narrow screen above, where they fit. */
function panelTitles(unit, narrow, colour) {
  const words = [`Power (${unit})`, `Error (${unit})`, "Reconstruction error"];
  if (!narrow) return { titles: words.map((text) => ({ text })), annotations: [] };
  const tops = [0.89, 0.45, 0.19];
  return {
    titles: words.map(() => undefined),
    annotations: words.map((text, place) => ({
      text, xref: "paper", yref: "paper", x: 0, y: tops[place], xanchor: "left", yanchor: "bottom", showarrow: false, bgcolor: colour.page,
    })),
  };
}

/** Draws everything that is known into an element, or draws it again. */
export function draw(element, state) {
  const colour = colours();
  const narrow = element.clientWidth < 600;
  return window.Plotly.react(element, traces(state, colour), layout(state, colour, narrow), CONFIG);
}

/** Once plotly is there. */
export function plotlyReady() {
  if (window.Plotly) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const script = document.getElementById("plotly");
    script.addEventListener("load", () => resolve());
    script.addEventListener("error", () => reject(new Error("plotly could not be loaded")));
  });
}
