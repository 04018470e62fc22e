"""Databases of the schema before partitions, with rows in all three tables."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any
from unittest.mock import patch

import numpy as np

from clearwatt.service.records import (
    READING,
    Command,
    Readings,
    RegisteredEntity,
    Vintage,
    WeatherIssue,
    Zone,
)
from clearwatt.service.store import Store, open_store
from clearwatt.service.store.migrations import migrate
from clearwatt.service.store.schema import MIGRATIONS, PARTITIONS, TABLES

STEP, DAY = 900, 86_400
NOW = int(time.time()) // STEP * STEP
BEFORE = MIGRATIONS[: PARTITIONS - 1]


def make_earlier(address: str, *, hours: int = 400) -> None:
    """A database as the release before partitions has left it."""
    name = "clearwatt.service.store.postgres.migrate"
    with patch(name, lambda session, types: migrate(session, types, migrations=BEFORE)):
        store = open_store(address)
    with closing(store):
        fill(store, hours)


def fill(store: Store, hours: int) -> None:
    """Two zones with two entities each: readings, weather, commands, a correction, forecasts."""
    for zone in ("north", "south"):
        store.add_zone(Zone(zone, STEP, ("wind",)))
        store.add_entities(
            [RegisteredEntity(f"{zone} {place}", zone, "consumer") for place in range(2)]
        )
    numbers = [entity.number for entity in store.entities()]
    for start in range(0, hours, 100):
        times = NOW - 3600 * np.arange(start, min(start + 100, hours))
        store.add_readings(batch(numbers, times), at=NOW - 3600.0 * start)
    store.add_readings(batch(numbers[:2], [NOW, 650_000_000, -3600], 7.5), at=float(NOW))
    issue = WeatherIssue("north", NOW, np.array([NOW, NOW + 3600]), np.ones((2, 1), np.float32))
    store.add_weather(issue, at=float(NOW))
    store.add_command(Command("hold", "south", None, {}, "Ada", NOW - 5.0))
    store.add_vintages([vintage("north 0", NOW - DAY * age) for age in range(0, 500, 7)])


def batch(numbers: Any, times: Any, value: float | None = None) -> Readings:
    """A reading of each entity at each time."""
    entities, moments = (each.ravel() for each in np.meshgrid(numbers, times))
    readings = np.empty(len(entities), READING)
    readings["entity"], readings["time"] = entities, moments
    readings["value"] = entities + moments % 977 if value is None else value
    return readings


def vintage(entity: str, issued_at: float) -> Vintage:
    values, sources = np.full(4, issued_at % 1000, np.float32), np.zeros(4, np.uint8)
    return Vintage(entity, issued_at, NOW, "a:0", "p:0", NOW, STEP, values, sources)


def content(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables."""
    with store.read_session() as session:
        return {
            table: sorted(session.rows(f"SELECT {', '.join(columns)} FROM {table}"), key=repr)
            for table, columns in TABLES.items()
        }


def partition_names(store: Store, table: str) -> list[str]:
    """Names of the partitions of a table, without the table's own."""
    with store.read_session() as session:
        rows = session.rows(
            f"SELECT inhrelid::regclass::text FROM pg_inherits "
            f"WHERE inhparent = '{table}'::regclass ORDER BY 1"
        )
    return [name.removeprefix(f"{table}_") for (name,) in rows]


def rows_of(store: Store, table: str) -> dict[str, int]:
    """Rows in each partition that has some."""
    with store.read_session() as session:
        rows = session.rows(f"SELECT tableoid::regclass::text, COUNT(*) FROM {table} GROUP BY 1")
    return {name.removeprefix(f"{table}_"): count for name, count in rows}
