"""Page of events: what the service did and what people did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from clearwatt.service.api.context import App, AppContext
from clearwatt.service.api.schemas.base import EventNumber, PrintableText
from clearwatt.service.api.schemas.history import EventAnswer
from clearwatt.service.dashboard.rendering import page
from clearwatt.service.times import EARLIEST, LATEST, text

router = APIRouter(include_in_schema=False)

SHOWN = 100
"""Number of events on a page."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Learning": (
        "update",
        "refused",
        "awaiting",
        "warmup",
        "start",
        "no start",
        "adopt",
        "change",
        "standstill",
        "late",
        "training failed",
    ),
    "What people decided": (
        *("hold", "resume", "approval", "activate", "reject", "exclude", "include"),
        *("release", "drop", "confirm", "settings", "rename", "delete", "command refused"),
    ),
    "Accuracy": (
        *("worse than persistence", "better than persistence"),
        *("coverage low", "coverage restored"),
    ),
    "Readings and weather": (
        *("quarantine", "suspicion", "suspicion ended"),
        *("correction", "weather stale", "weather restored"),
    ),
    "The service itself": (
        "prior",
        *("started", "stopped", "learner restarted", "degraded", "damaged"),
        *("fallback", "full", "unavailable"),
    ),
}
"""Kinds of events by group; the page filters by kind or group."""

TONES: Mapping[str, str] = {
    **dict.fromkeys(("refused", "awaiting", "quarantine", "fallback", "command refused"), "warn"),
    **dict.fromkeys(("suspicion", "change", "standstill"), "warn"),
    **dict.fromkeys(("damaged", "degraded", "full", "unavailable", "learner restarted"), "bad"),
    **dict.fromkeys(("worse than persistence", "coverage low", "weather stale"), "warn"),
    "training failed": "bad",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """Filter of the form; an empty text does not filter."""

    zone: str = ""
    entity: str = ""
    what: str = ""
    since: str = ""
    until: str = ""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the selected group, or the selected kind."""
        return GROUPS.get(self.what) or ((self.what,) if self.what else ())

    @property
    def start(self) -> float | None:
        """Start of the first day."""
        return _midnight(self.since)

    @property
    def end(self) -> float | None:
        """End of the last day."""
        last = _midnight(self.until)
        return None if last is None else last + timedelta(days=1).total_seconds()

    @property
    def form(self) -> dict[str, str]:
        """Parameters of the page's address."""
        given = (self.zone, self.entity, self.what, self.since, self.until)
        names = ("zone", "entity", "what", "since", "until")
        return {name: value for name, value in zip(names, given, strict=True) if value}

    @property
    def query(self) -> str:
        """The same filter as query string of the API."""
        given: list[tuple[str, str]] = [("kind", kind) for kind in self.kinds]
        given += [(n, v) for n, v in (("zone", self.zone), ("entity", self.entity)) if v]
        bounds = (("start", self.start), ("end", self.end))
        return urlencode(given + [(name, text(at)) for name, at in bounds if at is not None])


@router.get("/events")
def show_events(
    app: App,
    request: Request,
    *,
    zone: PrintableText = "",
    entity: PrintableText = "",
    what: PrintableText = "",
    since: str = "",
    until: str = "",
    before: EventNumber | None = None,
) -> HTMLResponse:
    """The page of events; ``before`` pages back in time."""
    choice = Choice(zone.strip(), entity.strip(), what, since, until)
    return page(request, "events.html", _content(app, choice, before))


def _content(app: AppContext, choice: Choice, before: int | None) -> dict[str, Any]:
    found = app.store.events(
        zone=choice.zone or None,
        entity=choice.entity or None,
        kinds=choice.kinds or None,
        start=choice.start,
        end=choice.end,
        before=before,
        limit=SHOWN + 1,
    )
    shown = [EventAnswer.of(event) for event in found[:SHOWN]]
    older = urlencode({**choice.form, "before": shown[-1].seq}) if len(found) > SHOWN else None
    return {
        "events": shown,
        "choice": choice,
        "groups": GROUPS,
        "tones": TONES,
        "zones": sorted(app.registry.snapshot.zones),
        "older": older,
        "newest": None if before is None else urlencode(choice.form),
        "most": SHOWN,
    }


def _midnight(day: str) -> float | None:
    """Start of an ISO date in UTC; None if the text is not a date that the service accepts."""
    try:
        start = datetime.combine(date.fromisoformat(day), time(), UTC).timestamp()
    except ValueError:
        return None
    return start if EARLIEST <= start < LATEST else None
