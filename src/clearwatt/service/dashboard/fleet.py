"""First page: all entities, those with alerts first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from pydantic import ValidationError

from clearwatt.service.api.context import App
from clearwatt.service.api.fleet_selection import Selection, select
from clearwatt.service.api.schemas.entities import KindName
from clearwatt.service.api.schemas.fleet import FleetQuery
from clearwatt.service.dashboard.drawing import bar, skill_words, sparkline, trend
from clearwatt.service.dashboard.rendering import page
from clearwatt.service.dashboard.start import start_page
from clearwatt.service.views.overview import FleetState

router = APIRouter(include_in_schema=False)

SHOWN = 50
"""Number of entities on a page."""

TONES: dict[FleetState, str] = {
    "degraded": "bad",
    "suspected": "warn",
    "standing still": "warn",
    "awaiting approval": "warn",
    "inaccurate": "warn",
    "held": "warn",
    "from the fleet": "good",
    "learning": "good",
    "updating": "good",
}


class Column(NamedTuple):
    """Header of a column; ``sort`` has its sort keys, the default direction first."""

    name: str
    sort: tuple[str, str] | None = None


COLUMNS = (
    Column("Entity", ("name", "-name")),
    Column("State"),
    Column("Error, last day", ("-error", "error")),
    Column("Against the last known day", ("skill", "-skill")),
    Column("Inside the 90 % interval", ("coverage", "-coverage")),
    Column("Against the week", ("-trend", "trend")),
    Column("Last 7 days"),
    Column("Novelty buffer", ("-fill", "fill")),
    Column("Last update", ("-updated", "updated")),
)


@router.get("/")
def show_fleet(app: App, request: Request) -> HTMLResponse:
    """The page of the fleet; of a service without zones, what to do first."""
    query = _query(request)
    if not app.registry.snapshot.zones:
        return start_page(app, request)
    found = select(app.overview.members(app.learner.health), query)
    context = {
        "query": query,
        "found": found,
        "columns": [(each.name, *_sort_link(each, query)) for each in COLUMNS],
        "zones": sorted(app.registry.snapshot.zones),
        "kinds": get_args(KindName),
        "states": get_args(FleetState),
        "pages": dict(_pages(query, found)),
        "link": lambda **changes: link(query, changes),
        "tones": TONES,
        "trend": trend,
        "skill_words": skill_words,
        "sparkline": sparkline,
        "bar": bar,
    }
    return page(request, "fleet.html", context)


def link(query: FleetQuery, changes: dict[str, object]) -> str:
    """Address of the page for a changed query; default values are left out."""
    defaults = FleetQuery(limit=SHOWN).model_dump()
    values = {**query.model_dump(), **changes}
    changed = {name: value for name, value in values.items() if value != defaults[name]}
    return f"/?{urlencode(changed)}" if changed else "/"


def _query(request: Request) -> FleetQuery:
    """The query of a form or link; empty and unknown fields are ignored."""
    names = FleetQuery.model_fields
    given = {name: value for name, value in request.query_params.items() if value and name in names}
    try:
        return FleetQuery.model_validate({"limit": SHOWN, **given})
    except ValidationError as error:
        found = [{**each, "loc": ("query", *each["loc"])} for each in error.errors()]
        raise RequestValidationError(found) from None


def _sort_link(column: Column, query: FleetQuery) -> tuple[str | None, str | None]:
    """Link of a column header, and the current order of the column as an ARIA value."""
    if column.sort is None:
        return None, None
    default, other = column.sort
    target = link(query, {"sort": other if query.sort == default else default, "offset": 0})
    if query.sort not in column.sort:
        return target, None
    return target, "descending" if query.sort.startswith("-") else "ascending"


def _pages(query: FleetQuery, found: Selection) -> Iterator[tuple[str, str]]:
    """Names and addresses of neighbouring pages."""
    last = max(0, (found.total - 1) // query.limit * query.limit)
    if query.offset > 0:
        yield "First", link(query, {"offset": 0})
        yield "Previous", link(query, {"offset": min(last, max(0, query.offset - query.limit))})
    if query.offset < last:
        yield "Next", link(query, {"offset": query.offset + query.limit})
        yield "Last", link(query, {"offset": last})
