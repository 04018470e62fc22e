// Parts of a page, rendered by the service and replaced when they have changed.
import { showTimes } from "./page.js";

/** One part of a page of this service. */
export async function partOf(address, name) {
  const page = await fetchPage(address);
  const part = page.querySelector(`[data-part="${name}"]`);
  if (part === null) throw new Error(`${address} has nothing to show`);
  showTimes(part);
  return document.adoptNode(part);
}

/** Updates every part of this page; selection and focus stay. */
export async function refreshParts() {
  const page = await fetchPage(location.href);
  for (const fresh of page.querySelectorAll("[data-part]")) {
    const shown = document.querySelector(`[data-part="${fresh.dataset.part}"]`);
    if (shown !== null) replace(shown, fresh);
  }
  return page;
}

async function fetchPage(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (answer.redirected) {
    location.assign("/login?next=" + encodeURIComponent(location.pathname + location.search));
    throw new Error("the session has ended; log in again");
  }
  if (!answer.ok) throw new Error(`the service answered ${answer.status}`);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

function replace(shown, fresh) {
  const checked = checkedIn(shown);
  const focused = place(shown, document.activeElement);
  showTimes(fresh);
  for (const box of fresh.querySelectorAll("input[type=checkbox]")) {
    box.checked = checked.has(box.value);
  }
  if (shown.innerHTML === fresh.innerHTML) return;
  const down = shown.scrollTop;
  const aside = shown.querySelector(".scroll")?.scrollLeft ?? 0;
  shown.replaceChildren(...document.adoptNode(fresh).childNodes);
  shown.scrollTop = down;
  if (aside) shown.querySelector(".scroll")?.scrollTo({ left: aside });
  if (focused) shown.querySelector(focused)?.focus({ preventScroll: true });
}

function checkedIn(part) {
  return new Set(Array.from(part.querySelectorAll("input:checked"), (box) => box.value));
}

/** Selector that finds a focused element again after its part was replaced. */
function place(part, element) {
  if (!part.contains(element)) return null;
  for (const name of ["id", "data-url", "value", "href"]) {
    const value = element.getAttribute(name);
    if (value) return `[${name}="${CSS.escape(value)}"]`;
  }
  return null;
}
