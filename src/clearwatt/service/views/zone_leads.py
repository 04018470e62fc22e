"""Errors by lead of all entities of a zone together."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import NamedTuple

from clearwatt.service.leads import LeadQuality
from clearwatt.service.status import EntityStatus


class ZoneLead(NamedTuple):
    """Forecasts of one lead, of all entities that were compared.

    ``lead`` is in seconds. ``share`` is the root mean square of all errors as shares of capacity,
    ``share_persistence`` that of persistence, ``coverage`` the share of readings inside the 90 %
    interval.
    """

    lead: int
    entities: int
    n: int
    share: float
    share_persistence: float
    coverage: float | None

    @property
    def skill(self) -> float | None:
        """1 - share / share_persistence: 1 is perfect, below 0 is worse than persistence."""
        return 1 - self.share / self.share_persistence if self.share_persistence else None


def zone_leads(entities: Iterable[EntityStatus]) -> tuple[ZoneLead, ...]:
    """The errors of entities by lead, ascending; leads without any are left out."""
    found: dict[int, list[tuple[LeadQuality, float]]] = {}
    for entity in entities:
        for each in entity.leads:
            if each.n and entity.size:
                found.setdefault(each.lead, []).append((each, entity.size))
    return tuple(_pool(lead, own) for lead, own in sorted(found.items()))


def pooled_power(own: Iterable[LeadQuality]) -> float | None:
    """Root mean square error of entities with one unit, at one lead; None without any."""
    pairs = [(each.n, each.rmse or 0.0) for each in own if each.n]
    total = sum(n for n, _ in pairs)
    return sqrt(sum(n * rmse**2 for n, rmse in pairs) / total) if total else None


def _pool(lead: int, own: list[tuple[LeadQuality, float]]) -> ZoneLead:
    n = sum(each.n for each, _ in own)
    squares = sum(each.n * ((each.rmse or 0.0) / size) ** 2 for each, size in own)
    others = sum(each.n * ((each.rmse_persistence or 0.0) / size) ** 2 for each, size in own)
    covered = [(each.n, each.coverage) for each, _ in own if each.coverage is not None]
    weight = sum(count for count, _ in covered)
    return ZoneLead(
        lead=lead,
        entities=len(own),
        n=n,
        share=sqrt(squares / n),
        share_persistence=sqrt(others / n),
        coverage=sum(count * share for count, share in covered) / weight if covered else None,
    )
