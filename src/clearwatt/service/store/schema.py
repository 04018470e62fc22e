"""The tables of a store, as migrations.

The statements are the same for both databases; each replaces the words in braces by its own types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

Type = Literal["integer", "real", "text", "blob"]

CHUNK = 4 * 3600
"""Seconds. Readings are ordered by chunk, entity, time; see `readings.py`."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (  # 1: tables
        "CREATE TABLE counters (name TEXT PRIMARY KEY, value {integer} NOT NULL){keyed}",
        "INSERT INTO counters (name, value) VALUES ('entities', 0), ('events', 0), ('vintages', 0)",
        """CREATE TABLE zones (
            id TEXT PRIMARY KEY, step {integer} NOT NULL, variables TEXT NOT NULL,
            timezone TEXT NOT NULL, name TEXT NOT NULL, settings TEXT NOT NULL){keyed}""",
        """CREATE TABLE journals (
            zone TEXT PRIMARY KEY REFERENCES zones (id), head {integer} NOT NULL,
            readings {integer} NOT NULL, issues {integer} NOT NULL){keyed}""",
        """CREATE TABLE entities (
            number {integer} PRIMARY KEY, id TEXT NOT NULL UNIQUE,
            zone TEXT NOT NULL REFERENCES zones (id), kind TEXT NOT NULL, capacity {real},
            unit TEXT NOT NULL, name TEXT NOT NULL, extra TEXT NOT NULL){strict}""",
        """CREATE TABLE readings (
            chunk {integer} NOT NULL, entity {integer} NOT NULL, time {integer} NOT NULL,
            value {real}, flag {integer} NOT NULL, reason TEXT NOT NULL, received {real} NOT NULL,
            PRIMARY KEY (chunk, entity, time)){keyed}""",
        """CREATE TABLE extents (
            entity {integer} PRIMARY KEY, first {integer} NOT NULL, last {integer} NOT NULL
            ){strict}""",
        """CREATE TABLE journal (
            zone TEXT NOT NULL REFERENCES zones (id), seq {integer} NOT NULL, kind TEXT NOT NULL,
            content {blob}, at {real} NOT NULL, PRIMARY KEY (zone, seq)){strict}""",
        """CREATE TABLE weather (
            zone TEXT NOT NULL REFERENCES zones (id), seq {integer} NOT NULL,
            issued_at {integer} NOT NULL, first {integer} NOT NULL, last {integer} NOT NULL,
            steps {integer} NOT NULL, content {blob} NOT NULL, PRIMARY KEY (zone, seq)){strict}""",
        """CREATE TABLE events (
            seq {integer} PRIMARY KEY, key TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
            message TEXT NOT NULL, at {real} NOT NULL, actor TEXT NOT NULL, zone TEXT, entity TEXT,
            time {integer}, details TEXT NOT NULL){strict}""",
        """CREATE TABLE versions (
            id TEXT PRIMARY KEY, component TEXT NOT NULL, zone TEXT NOT NULL, entity TEXT,
            number {integer} NOT NULL, status TEXT NOT NULL, at {real} NOT NULL, time {integer},
            threshold {real} NOT NULL, path TEXT NOT NULL, event TEXT){strict}""",
        """CREATE TABLE statuses (
            zone TEXT PRIMARY KEY REFERENCES zones (id), position {integer} NOT NULL,
            generation {integer} NOT NULL, content TEXT NOT NULL){strict}""",
        """CREATE TABLE signals (
            zone TEXT NOT NULL REFERENCES zones (id), day {integer} NOT NULL,
            content {blob} NOT NULL, PRIMARY KEY (zone, day)){strict}""",
        """CREATE TABLE vintages (
            entity TEXT NOT NULL, issued_at {real} NOT NULL, weather_issued_at {integer},
            encoder TEXT, predictor TEXT, start {integer} NOT NULL, stop {integer} NOT NULL,
            step {integer} NOT NULL, forecast {blob} NOT NULL, sources {blob} NOT NULL){strict}""",
        """CREATE TABLE tokens (
            id TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, hash TEXT NOT NULL,
            created_at {real} NOT NULL, last_used_at {real}){strict}""",
    ),
    (  # 2: indexes
        "CREATE INDEX readings_quarantined ON readings (time, entity) WHERE flag = 1",
        "CREATE INDEX entities_zone ON entities (zone, number)",
        "CREATE INDEX weather_issue ON weather (zone, issued_at, seq)",
        "CREATE INDEX weather_reach ON weather (zone, last, first)",
        "CREATE INDEX events_zone ON events (zone, seq)",
        "CREATE INDEX events_entity ON events (entity, seq)",
        "CREATE INDEX events_kind ON events (kind, seq)",
        "CREATE INDEX versions_zone ON versions (zone, entity, at)",
        "CREATE INDEX versions_entity ON versions (entity, at)",
        "CREATE INDEX versions_deployed ON versions (zone, component) WHERE status = 'deployed'",
        "CREATE INDEX versions_newest ON versions (at DESC, number DESC, id)",
        "CREATE INDEX vintages_entity ON vintages (entity, issued_at)",
        "CREATE INDEX vintages_issued ON vintages (issued_at)",
    ),
    (  # 3: quantiles
        """CREATE TABLE intervals (
            zone TEXT PRIMARY KEY REFERENCES zones (id), revision {integer} NOT NULL,
            entities TEXT NOT NULL, content {blob} NOT NULL){strict}""",
    ),
    (  # 4: adaptive forecasters; zones registered before keep theirs
        """CREATE TABLE deployed (
            zone TEXT PRIMARY KEY REFERENCES zones (id), revision {integer} NOT NULL,
            base {blob} NOT NULL, latest {blob} NOT NULL){strict}""",
        """UPDATE zones SET settings = '{{"forecaster":"clear"' ||
            CASE WHEN settings = '{{}}' THEN '}}' ELSE ',' || substr(settings, 2) END""",
    ),
    (  # 5: deletion; the journal of a zone that is registered again continues after the last entry
        """CREATE TABLE removed_entities (
            number {integer} PRIMARY KEY, id TEXT NOT NULL,
            zone TEXT NOT NULL REFERENCES zones (id), kind TEXT NOT NULL, capacity {real},
            unit TEXT NOT NULL, name TEXT NOT NULL, extra TEXT NOT NULL,
            seq {integer} NOT NULL){strict}""",
        "CREATE TABLE removed_zones (zone TEXT PRIMARY KEY, seq {integer} NOT NULL){strict}",
        "CREATE TABLE removed_files (path TEXT PRIMARY KEY){strict}",
    ),
    (  # 6: which measurements a forecast knew; not known of earlier ones
        "ALTER TABLE vintages ADD COLUMN measured_until {integer}",
    ),
    (  # 7: checksums of rows; rows written before have none
        "ALTER TABLE journal ADD COLUMN checksum {integer}",
        "ALTER TABLE weather ADD COLUMN checksum {integer}",
        "ALTER TABLE readings ADD COLUMN checksum {integer}",
    ),
    (  # 8: fleet priors; journals name them by their digest
        """CREATE TABLE priors (
            digest TEXT PRIMARY KEY, number {integer} NOT NULL, origin TEXT NOT NULL,
            actor TEXT NOT NULL, at {real} NOT NULL, content {blob} NOT NULL,
            checksum {integer} NOT NULL){strict}""",
        "INSERT INTO counters (name, value) VALUES ('priors', 0)",
    ),
    (  # 9: nodes of a cluster, their leases of zones, and what they share
        """CREATE TABLE nodes (
            name TEXT PRIMARY KEY, role TEXT NOT NULL, incarnation {integer} NOT NULL,
            started {real} NOT NULL, beat {real} NOT NULL, draining {integer} NOT NULL,
            content TEXT NOT NULL){strict}""",
        """CREATE TABLE leases (
            name TEXT PRIMARY KEY, node TEXT, incarnation {integer}, fence {integer} NOT NULL,
            expires {real} NOT NULL){strict}""",
        """CREATE TABLE folders (
            parent TEXT NOT NULL, name TEXT NOT NULL, file TEXT NOT NULL, content {blob} NOT NULL,
            checksum TEXT NOT NULL, PRIMARY KEY (parent, name, file)){strict}""",
        """CREATE TABLE latest (
            zone TEXT PRIMARY KEY REFERENCES zones (id), revision {integer} NOT NULL,
            content {blob} NOT NULL){strict}""",
        "CREATE TABLE secrets (name TEXT PRIMARY KEY, content {blob} NOT NULL){strict}",
        "CREATE TABLE revisions (name TEXT PRIMARY KEY, value {integer} NOT NULL){strict}",
        "INSERT INTO revisions (name, value) VALUES ('registry', 0), ('removals', 0)",
    ),
    (  # 10: the number up to which the entries of a journal are archived
        "ALTER TABLE journals ADD COLUMN archive_end {integer} NOT NULL DEFAULT 0",
    ),
    (),  # 11: readings, journal and vintages partitioned by time, where the database can do that
)
PARTITIONS = 11
"""The migration that `Session.arrange_tables` does."""

_TYPES: Mapping[str, Type] = {
    "TEXT": "text",
    "{integer}": "integer",
    "{real}": "real",
    "{blob}": "blob",
}
_CREATION = re.compile(r"CREATE TABLE (\w+) \((.*)\)\{\w+\}", re.DOTALL)
_ADDITION = re.compile(r"ALTER TABLE (\w+) ADD COLUMN (.*)")
_COLUMN = re.compile(r"(\w+) (TEXT|\{integer\}|\{real\}|\{blob\})")


def _columns(statement: str) -> Iterator[tuple[str, Mapping[str, Type]]]:
    for table, definition in (*_CREATION.findall(statement), *_ADDITION.findall(statement)):
        yield table, {name: _TYPES[kind] for name, kind in _COLUMN.findall(definition)}


def _tables() -> dict[str, dict[str, Type]]:
    tables: dict[str, dict[str, Type]] = {}
    for statement in (each for step in MIGRATIONS for each in step):
        for table, columns in _columns(statement):
            tables.setdefault(table, {}).update(columns)
    return tables


TABLES: Mapping[str, Mapping[str, Type]] = _tables()
"""The columns of each table; a table comes after those it references."""
