// News from the service: one stream per page, reconnected whenever it breaks.
// A page in the background closes it, because a browser limits connections to one service.
import { local, utc } from "./page.js";

const SILENCE = 25_000; // the service sends something every ten seconds
const SHORT = 3_000; // shorter interruptions are not shown
const LONGEST_WAIT = 10_000;

const news = new EventTarget();
const banner = document.getElementById("stale");
const sign = document.getElementById("live");

let source = null;
let retry = 0;
let failures = 0;
let last = null; // number of the newest event received
let heard = Date.now();
let missed = false; // whether news may have been missed

/**
 * Calls back after a change of a zone (of any, without one) and whenever news may have been missed,
 * at most once in `every` milliseconds and never twice at the same time.
 */
export function onChange(callback, { zone = null, every = 1000 } = {}) {
  const ask = gathered(callback, every);
  news.addEventListener("change", ({ detail }) => {
    if (zone === null || detail.zone === zone) ask();
  });
  news.addEventListener("resumed", ask);
}

/** The same after anything was recorded in the log. */
export function onLog(callback, { every = 1000 } = {}) {
  const ask = gathered(callback, every);
  news.addEventListener("log", ask);
  news.addEventListener("resumed", ask);
}

/** Calls back with each event the service records, as /v1/events has it. */
export function onEvent(callback) {
  news.addEventListener("log", ({ detail }) => callback(detail));
}

/** Combines calls that come close together into one. */
function gathered(callback, every) {
  let waiting = false;
  let busy = false;
  const run = async () => {
    busy = true;
    waiting = false;
    try {
      await callback();
    } catch (error) {
      // The banner reports a service that does not answer; anything else is a fault of the page.
      if (source?.readyState === EventSource.OPEN) throw error;
      missed = true;
    } finally {
      setTimeout(() => {
        busy = false;
        if (waiting) run();
      }, every);
    }
  };
  return () => {
    waiting = true;
    if (!busy) run();
  };
}

function tell(name, detail = null) {
  news.dispatchEvent(new CustomEvent(name, { detail }));
}

function connect() {
  clearTimeout(retry);
  source?.close();
  source = new EventSource(last === null ? "/v1/stream" : `/v1/stream?after=${last}`);
  source.addEventListener("beat", hear);
  source.addEventListener("change", (message) => {
    hear();
    tell("change", JSON.parse(message.data));
  });
  source.addEventListener("log", (message) => {
    hear();
    last = Number(message.lastEventId);
    tell("log", JSON.parse(message.data));
  });
  source.addEventListener("error", reconnect);
}

function hear() {
  heard = Date.now();
  failures = 0;
  show();
  if (missed) {
    missed = false;
    tell("resumed");
  }
}

function reconnect() {
  source.close();
  missed = true;
  failures += 1;
  if (failures > 1) leaveIfLoggedOut();
  clearTimeout(retry);
  retry = setTimeout(connect, Math.min(250 * 2 ** failures, LONGEST_WAIT));
}

/** A stream does not report why it was rejected; the session may have ended. */
async function leaveIfLoggedOut() {
  const answer = await fetch("/v1/models?limit=1").catch(() => null);
  if (answer?.status === 401) {
    location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  }
}

function show() {
  const quiet = Date.now() - heard;
  const down = source === null || source.readyState !== EventSource.OPEN;
  const stale = quiet > SILENCE || (down && quiet > SHORT);
  sign.hidden = stale;
  if (stale === !banner.hidden) return;
  banner.hidden = !stale;
  if (stale) {
    banner.textContent = `Stale since ${local(heard)}: the service does not answer. Values may be out of date. Reconnecting…`;
    banner.title = utc(heard);
  }
}

function watch() {
  if (document.hidden) return;
  if (Date.now() - heard > SILENCE && source?.readyState === EventSource.OPEN) reconnect();
  show();
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    clearTimeout(retry);
    source?.close();
    source = null;
    missed = true;
  } else {
    heard = Date.now();
    connect();
  }
});
addEventListener("pagehide", () => source?.close());
addEventListener("pageshow", ({ persisted }) => {
  if (!persisted) return;
  missed = true;
  connect();
});

sign.textContent = "● live";
setInterval(watch, 1000);
if (!document.hidden) connect();
