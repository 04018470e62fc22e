"""Copies of zones in the database of a cluster, so that thousands of meters need no warm-up.

A copy has the models, the checkpoint and the status of its source under another name of the same
length. Its readings and journal entries are not copied: the checkpoint stands for them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import psycopg
from psycopg import sql
from safetensors.torch import load, save

from clearwatt.packing import verify_checksum, with_checksum

_RENAMED: Mapping[str, tuple[str, ...]] = {
    "zones": ("id",),
    "journals": ("zone",),
    "versions": ("id", "zone", "entity", "path"),
}
"""Columns with a name, of tables of which every row is copied with nothing else changed."""


class _File(NamedTuple):
    parent: str
    name: str
    file: str
    content: bytes


class _Source(NamedTuple):
    """What there is of a zone, apart from what the database copies by itself."""

    name: str
    entities: list[tuple[Any, ...]]
    status: tuple[Any, ...]
    deployed: tuple[Any, ...]
    intervals: tuple[Any, ...]
    weather: list[tuple[Any, ...]]
    files: list[_File]


def copy_zones(database: str, sources: list[str], targets: Iterable[str]) -> Iterator[str]:
    """Copy sources in turn; no node may run meanwhile. Yields each name when it is there."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("SET synchronous_commit = off")
        found = [_read(connection, name) for name in sources]
        for place, target in enumerate(targets):
            with connection.transaction():
                _copy(connection, found[place % len(found)], target)
            yield target
        connection.execute("CHECKPOINT")
        connection.execute("ANALYZE")


def _read(connection: psycopg.Connection[Any], zone: str) -> _Source:
    def rows(query: str) -> list[tuple[Any, ...]]:
        return connection.execute(query, {"zone": zone, "path": f"zones/{zone}"}).fetchall()

    newest = max(
        int(name.rpartition("-")[2])
        for (name,) in rows("SELECT DISTINCT name FROM folders WHERE parent = %(path)s")
        if name.startswith("checkpoint-")
    )
    status = rows("SELECT position, generation, content FROM statuses WHERE zone = %(zone)s")[0]
    if newest != status[0]:
        raise RuntimeError(
            f"the newest checkpoint of {zone} is of entry {newest}, but {status[0]} were learned; "
            "its learner had no time to write one: repeat it with less other work on the machine"
        )
    files = rows(
        "SELECT parent, name, file, content FROM folders WHERE parent = %(path)s "
        f"AND name = 'checkpoint-{newest}' OR parent || '/' || name IN "
        "(SELECT path FROM versions WHERE zone = %(zone)s AND status = 'deployed')"
    )
    return _Source(
        zone,
        rows(
            "SELECT number, id, kind, capacity, unit, name, extra FROM entities "
            "WHERE zone = %(zone)s ORDER BY number"
        ),
        status,
        rows("SELECT revision, base, latest FROM deployed WHERE zone = %(zone)s")[0],
        rows("SELECT revision, content FROM intervals WHERE zone = %(zone)s")[0],
        rows(
            "SELECT seq, issued_at, first, last, steps, content, checksum FROM weather "
            "WHERE zone = %(zone)s"
        ),
        [_File(*row) for row in files],
    )


def _copy(connection: psycopg.Connection[Any], source: _Source, target: str) -> None:
    def rename(text: str) -> str:
        return text.replace(source.name, target)

    for table, columns in _RENAMED.items():
        _copy_rows(connection, table, columns, source.name, target)
    first = _next_number(connection, len(source.entities))
    numbers = {row[0]: first + place for place, row in enumerate(source.entities)}
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO entities (number, id, zone, kind, capacity, unit, name, extra) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
            [
                (numbers[number], rename(name), target, *rest)
                for number, name, *rest in source.entities
            ],
        )
        position, generation, content = source.status
        cursor.execute(
            "INSERT INTO statuses (zone, position, generation, content) VALUES (%s, %s, %s, %s)",
            (target, position, generation, _status(rename(content), numbers)),
        )
        revision, base, latest = source.deployed
        cursor.execute(
            "INSERT INTO deployed (zone, revision, base, latest) VALUES (%s, %s, %s, %s)",
            (target, revision, _rename_packed(base, source.name, target), latest),
        )
        cursor.execute(
            "INSERT INTO intervals (zone, revision, entities, content) VALUES (%s, %s, %s, %s)",
            (target, source.intervals[0], json.dumps([*numbers.values()]), source.intervals[1]),
        )
        cursor.executemany(
            "INSERT INTO weather (zone, seq, issued_at, first, last, steps, content, checksum) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
            [(target, *row) for row in source.weather],
        )
        with cursor.copy(
            "COPY folders (parent, name, file, content, checksum) FROM STDIN WITH (FORMAT BINARY)"
        ) as copy:
            copy.set_types(["text", "text", "text", "bytea", "text"])
            for file in _rename_files(source.files, source.name, target):
                copy.write_row((*file, hashlib.sha256(file.content).hexdigest()))


def _copy_rows(
    connection: psycopg.Connection[Any],
    table: str,
    renamed: tuple[str, ...],
    source: str,
    target: str,
) -> None:
    """Copy the rows of a zone within the database."""
    names = [
        name
        for (name,) in connection.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = %s "
            "AND table_schema = current_schema() ORDER BY ordinal_position",
            (table,),
        )
    ]
    values = [
        sql.SQL("replace({}, {}, {})").format(sql.Identifier(name), source, target)
        if name in renamed
        else sql.Identifier(name)
        for name in names
    ]
    connection.execute(
        sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} WHERE {} = {}").format(
            sql.Identifier(table),
            sql.SQL(", ").join(map(sql.Identifier, names)),
            sql.SQL(", ").join(values),
            sql.Identifier(table),
            sql.Identifier("id" if table == "zones" else "zone"),
            source,
        )
    )


def _next_number(connection: psycopg.Connection[Any], count: int) -> int:
    """The first of ``count`` new numbers of entities."""
    row = connection.execute(
        "UPDATE counters SET value = value + %s WHERE name = 'entities' RETURNING value", (count,)
    ).fetchone()
    assert row is not None
    return int(row[0]) - count


def _status(content: str, numbers: Mapping[int, int]) -> str:
    values = json.loads(content)
    for entity in values["entities"].values():
        if entity.get("number") is not None:
            entity["number"] = numbers[entity["number"]]
    return json.dumps(values)


def _rename_packed(content: bytes, source: str, target: str) -> bytes:
    """Packed values with a checksum; names are in them as JSON, and keep their length."""
    return with_checksum(verify_checksum(content).replace(source.encode(), target.encode()))


def _rename_files(files: Iterable[_File], source: str, target: str) -> Iterator[_File]:
    tensors: dict[tuple[str, str, str], dict[str, Any]] = {}
    for each in files:
        folder = each.file.rpartition("/")[0]
        if each.file.endswith(".safetensors"):
            content = _without_numbers(each.content)
            digest = hashlib.sha256(content).hexdigest()
            name = f"tensors-{digest[:16]}.safetensors"
            tensors[each.parent, each.name, folder] = {
                "file": name,
                "sha256": digest,
                "bytes": len(content),
            }
            path = f"{folder}/{name}" if folder else name
            yield _renamed(each, source, target)._replace(file=path, content=content)
    for each in files:
        if each.file.endswith(".json"):
            manifest = json.loads(each.content.decode().replace(source, target))
            manifest["tensors"] = tensors[each.parent, each.name, each.file.rpartition("/")[0]]
            del manifest["sha256"]
            text = json.dumps(manifest, sort_keys=True)
            manifest["sha256"] = hashlib.sha256(text.encode()).hexdigest()
            content = json.dumps(manifest, indent=1).encode()
            yield _renamed(each, source, target)._replace(content=content)


def _renamed(file: _File, source: str, target: str) -> _File:
    return file._replace(
        parent=file.parent.replace(source, target), name=file.name.replace(source, target)
    )


def _without_numbers(content: bytes) -> bytes:
    """Tensors without those that name entities by number: how late their readings arrive."""
    if b'"arrivals.numbers"' not in content[:1_000_000]:
        return content
    tensors = load(content)
    for name in ("arrivals.numbers", "arrivals.counts"):
        tensors[name] = tensors[name][:0].clone()
    return save(tensors)
