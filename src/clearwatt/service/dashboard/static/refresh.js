// Pages of tables: their parts are fetched again after every change, so that only the server draws
// rows.
import { onChange } from "./live.js";
import { refreshParts } from "./parts.js";

onChange(refreshParts, { every: 3000 });
if (document.querySelector("[data-every]")) {
  // The banner reports a service that does not answer.
  setInterval(() => document.hidden || refreshParts().catch(() => {}), 5000);
}
