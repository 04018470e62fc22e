// The upload form: what the service understands of a file is shown before anything is stored.
import { send } from "./api.js";
import { onChange } from "./live.js";

const form = document.getElementById("upload");
const result = document.getElementById("result");
const answers = {};

/** The form as the first line, then the file. */
function body(store) {
  const file = form.elements.file.files[0];
  const fields = {
    file: file.name, answers, zone: form.elements.zone.value.trim(),
    variables: form.elements.variables.value, coordinates: form.elements.coordinates.value, entities: store ? entities() : {}, send: store,
  };
  return new Blob([JSON.stringify(fields), "\n", file]);
}

function entities() {
  const rows = result.querySelectorAll("tr[data-entity]");
  return Object.fromEntries(Array.from(rows, (row) => {
    const capacity = Number(row.querySelector("[data-capacity]").value);
    return [row.dataset.entity, {
      kind: row.querySelector("[data-kind]").value, capacity: capacity > 0 ? capacity : null,
    }];
  }));
}

async function ask(store) {
  if (!form.reportValidity()) return;
  for (const each of result.querySelectorAll("[data-answer]")) {
    if (each.value) answers[each.dataset.answer] = each.value;
  }
  const request = { method: "POST", body: body(store), headers: { "Content-Type": "application/octet-stream" } };
  result.textContent = store ? "Storing…" : "Reading…";
  try {
    const answer = await fetch("/start/import", request);
    const html = answer.headers.get("content-type")?.startsWith("text/html");
    if (html) result.innerHTML = await answer.text(); // escaped by the service
    else show((await answer.json()).error.message);
  } catch {
    show("The service did not answer, or the file has changed. Choose it again.");
  }
}

function show(message) {
  const line = document.createElement("p");
  line.className = "notice bad";
  line.setAttribute("role", "alert");
  line.textContent = message;
  result.replaceChildren(line);
}

async function warmUp(zone) {
  const outcome = document.getElementById("warmup-outcome");
  outcome.textContent = "Asking…";
  try {
    await send(`/v1/zones/${encodeURIComponent(zone)}/warmup`);
    outcome.textContent = "Asked. The page of events says what came of it.";
  } catch (error) {
    outcome.textContent = error.message;
  }
}

// The first page of a service without data becomes that of its entities when there are some.
onChange(() => {
  if (location.pathname === "/" && !result?.hasChildNodes()) location.reload();
});
form?.addEventListener("submit", (event) => {
  event.preventDefault();
  ask(false);
});
form?.elements.file.addEventListener("change", () => {
  for (const key of Object.keys(answers)) delete answers[key];
  result.replaceChildren();
});
result?.addEventListener("click", ({ target }) => {
  if (target.matches("[data-look]")) ask(false);
  if (target.matches("[data-send]")) ask(true);
  if (target.matches("[data-warmup]")) warmUp(target.dataset.warmup);
});
