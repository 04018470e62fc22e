// Pages that are tables: whenever something changed, their parts are asked for again, so that there
// is one way to draw a row, and it is the server's.
import { onChange } from "./live.js";
import { refreshParts } from "./parts.js";

onChange(refreshParts, { every: 3000 });
if (document.querySelector("[data-every]")) {
  // A service that is away is told of by the banner.
  setInterval(() => document.hidden || refreshParts().catch(() => {}), 5000);
}
