"""A page to open: every entity as it stands and what happened last, without any script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse

from clearwatt.service.parts import Here
from clearwatt.service.records import Entity, Event
from clearwatt.service.times import text as written

router = APIRouter(include_in_schema=False)

SHOWN = 200
"""Entities on the page; the API has the others."""
EVENTS = 30

STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #8884; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
time { white-space: nowrap; }
"""


@router.get("/home.css")
async def style() -> Response:
    """How the page looks."""
    return Response(STYLE, media_type="text/css")


@router.get("/")
def home(here: Here) -> HTMLResponse:
    """The page; it asks for itself again every five seconds."""
    roster, statuses = here.registry.roster, here.store.statuses()
    contents: dict[str, Mapping[str, Any]] = {}
    for status in statuses.values():
        contents |= status.content.get("entities", {})
    entities = list(roster.entities.values())
    rows = (_entity(entity, contents.get(entity.id, {})) for entity in entities[:SHOWN])
    events = map(_event, here.store.events(limit=EVENTS))
    more = f"<p>{len(entities) - SHOWN} more in /v1/entities</p>" if len(entities) > SHOWN else ""
    return HTMLResponse(
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>ClearWatt</title>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        "<meta http-equiv='refresh' content='5'><link rel='stylesheet' href='/home.css'></head>"
        "<body><main><h1>ClearWatt</h1><h2>Entities</h2>"
        + _table(("entity", "kind", "state", "error of the last day", "novel", "updates"), rows)
        + more
        + "<h2>What happened</h2>"
        + _table(("time of the stream", "kind", "what"), events)
        + "<p>The description of the API is in <a href='/openapi.json'>/openapi.json</a>.</p>"
        "</main></body></html>"
    )


def _table(head: Iterable[str], rows: Iterable[str]) -> str:
    cells = "".join(f"<th scope='col'>{name}</th>" for name in head)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _entity(entity: Entity, content: Mapping[str, Any]) -> str:
    error = (content.get("live") or {}).get("rmse_day")
    live = "" if error is None else f"{error:,.4g} {entity.unit}"
    fill = f"{content['novel']} of {content['capacity']}" if "capacity" in content else ""
    return (
        f"<tr><th scope='row'>{escape(entity.name or entity.id)}</th><td>{escape(entity.kind)}</td>"
        f"<td>{escape(content.get('state', 'waiting'))}</td>"
        f"<td class='number'>{escape(live)}</td><td class='number'>{fill}</td>"
        f"<td class='number'>{content.get('updates', 0)}</td></tr>"
    )


def _event(event: Event) -> str:
    moment = written(event.at if event.time is None else event.time)
    return (
        f"<tr><td><time datetime='{moment}'>{moment}</time></td><td>{escape(event.kind)}</td>"
        f"<td>{escape(event.message)}</td></tr>"
    )
