// What every page does: times in the viewer's zone, and the theme.

const short = new Intl.DateTimeFormat(undefined, {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit",
});

/** A time (RFC 3339 or milliseconds) as the viewer reads it. */
export function local(time) {
  return short.format(new Date(time));
}

/** The same in UTC, for titles. */
export function utc(time) {
  return `${new Date(time).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** Shows every <time> below an element in the viewer's zone, with UTC on hover. */
export function showTimes(root = document) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    element.textContent = local(element.dateTime);
    element.title = utc(element.dateTime);
  }
}

/** A new <time> element. */
export function timeElement(time) {
  const element = document.createElement("time");
  element.dateTime = new Date(time).toISOString();
  element.textContent = local(time);
  element.title = utc(time);
  return element;
}

const dark = matchMedia("(prefers-color-scheme: dark)");

/** Whether the page is dark now. */
export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : dark.matches;
}

function offerThemes() {
  const button = document.getElementById("theme");
  const label = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Use the light theme" : "Use the dark theme");
  };
  button.addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem("clearwatt-theme", next);
    label();
    document.dispatchEvent(new CustomEvent("clearwatt:theme"));
  });
  dark.addEventListener("change", () => {
    label();
    document.dispatchEvent(new CustomEvent("clearwatt:theme"));
  });
  label();
  button.hidden = false;
}

showTimes();
offerThemes();
document.getElementById("zone").textContent = Intl.DateTimeFormat().resolvedOptions().timeZone;
