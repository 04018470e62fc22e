"""Entities of the fleet that match a query: filtered, sorted, one page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from clearwatt.service.api.schemas.fleet import FleetEntity, FleetPage, FleetQuery
from clearwatt.service.views.overview import EntityOverview, FleetState


class Selection(NamedTuple):
    """A page of matching entities, their total, and counts over the whole fleet."""

    page: Sequence[EntityOverview]
    total: int
    everyone: int
    alerts: int
    states: dict[FleetState, int]

    def answer(self, query: FleetQuery) -> FleetPage:
        """The answer of the API."""
        return FleetPage(
            entities=[FleetEntity.of(member) for member in self.page],
            total=self.total,
            everyone=self.everyone,
            alerts=self.alerts,
            states=self.states,
            limit=query.limit,
            offset=query.offset,
        )


def select(members: Sequence[EntityOverview], query: FleetQuery) -> Selection:
    """Filter, sort and page the members of a fleet."""
    found = [member for member in members if _fits(member, query)]
    found.sort(key=_name)
    if query.sort == "alerts":
        found = _rank(found, lambda member: member.status.skill.skill)
        found.sort(key=lambda member: -member.severity)
    elif query.sort in _RANKS:
        found = _rank(found, _RANKS[query.sort])
    else:
        found.sort(key=_KEYS[query.sort.lstrip("-")], reverse=query.sort.startswith("-"))
    return Selection(
        page=found[query.offset : query.offset + query.limit],
        total=len(found),
        everyone=len(members),
        alerts=sum(bool(member.alerts) for member in members),
        states=dict(Counter(member.state for member in members)),
    )


def _fits(member: EntityOverview, query: FleetQuery) -> bool:
    entity = member.entity
    return (
        query.zone in (None, entity.zone)
        and query.kind in (None, entity.kind)
        and query.state in (None, member.state)
        and (not query.alerts or bool(member.alerts))
        and (not query.q or query.q.casefold() in member.search_text)
    )


def _name(member: EntityOverview) -> tuple[str, str]:
    return (member.entity.name or member.entity.id).casefold(), member.entity.id


def _rank(
    members: Sequence[EntityOverview], value: Callable[[EntityOverview], float | None]
) -> list[EntityOverview]:
    """Members by a value, the lowest first; those without one come last."""
    found = [(value(member), member) for member in members]
    known = [(number, member) for number, member in found if number is not None]
    known.sort(key=lambda pair: pair[0])
    return [member for _, member in known] + [each for number, each in found if number is None]


def _reversed(value: float | None) -> float | None:
    return None if value is None else -value


def _sort_value(value: float | None) -> float:
    """Sort key of an optional number; None sorts lowest."""
    return -1.0 if value is None else float(value)


_KEYS: dict[str, Callable[[EntityOverview], Any]] = {
    "name": _name,
    "zone": lambda member: member.entity.zone,
    "error": lambda member: _sort_value(member.status.live.rmse_day),
    "trend": lambda member: _sort_value(member.trend),
    "fill": lambda member: member.status.component.fill,
    "updated": lambda member: _sort_value(member.status.last_update),
}

_RANKS: dict[str, Callable[[EntityOverview], float | None]] = {
    "skill": lambda member: member.status.skill.skill,
    "-skill": lambda member: _reversed(member.status.skill.skill),
    "coverage": lambda member: member.status.interval.coverage_two_weeks,
    "-coverage": lambda member: _reversed(member.status.interval.coverage_two_weeks),
    "share": lambda member: member.error_share,
    "-share": lambda member: _reversed(member.error_share),
}
