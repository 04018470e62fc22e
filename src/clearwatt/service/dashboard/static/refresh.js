// Pages that are tables: whenever something changed, the parts marked data-live are asked for again
// and put in place of those shown, so that there is one way to draw a row, and it is the server's.
import { onChange } from "./live.js";
import { showTimes } from "./page.js";

const EVERY = 3000; // milliseconds between two refreshes at least
const parser = new DOMParser();

async function refresh() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (answer.redirected) {
    location.assign(answer.url); // the session is over
    return;
  }
  if (!answer.ok) return; // the banner tells of a service that is away
  const fresh = parser.parseFromString(await answer.text(), "text/html");
  for (const part of document.querySelectorAll("[data-live]")) {
    const next = fresh.getElementById(part.id);
    if (next) replace(part, document.importNode(next, true));
  }
}

/** Puts a part in place of another; who has the focus in it keeps it. */
function replace(part, next) {
  const held = part.contains(document.activeElement) ? document.activeElement : null;
  const scrolled = part.querySelector(".scroll")?.scrollLeft ?? 0;
  showTimes(next);
  part.replaceWith(next);
  if (scrolled) next.querySelector(".scroll").scrollLeft = scrolled;
  if (held?.href) next.querySelector(`a[href="${CSS.escape(held.getAttribute("href"))}"]`)?.focus();
}

onChange(refresh, { every: EVERY });
if (document.querySelector("[data-every]")) {
  setInterval(() => document.hidden || refresh().catch(() => {}), 5000);
}
