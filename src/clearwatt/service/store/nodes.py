"""Nodes of a cluster: who runs, since when, and the last sign of life.

Times are those of the database's clock, so the clocks of the nodes need not agree.
"""

from __future__ import annotations

import secrets
from typing import Any

from pydantic_core import from_json

from clearwatt.errors import DataError
from clearwatt.service.records import ClusterNode, NodeIdentity, NodeRole
from clearwatt.service.store.content import dump_json
from clearwatt.service.store.errors import ConflictError
from clearwatt.service.store.session import Session

RESTART = 60.0
"""Seconds within which a process of a node that died is started again by the node itself."""
FORGOTTEN = 7 * 86400.0
"""Seconds without a sign of life after which a node is deleted from the list."""


def register(session: Session, name: str, role: NodeRole) -> NodeIdentity:
    """Enter a node; an earlier process of this name loses its leases.

    Its number is drawn at random, because the row of a node that has left is deleted, and a process
    that was paused since must not be taken for a later one. A learner that dies and is started
    again at once goes on draining.
    """
    session.run(f"DELETE FROM nodes WHERE beat < {session.now} - ? AND name <> ?", FORGOTTEN, name)
    incarnation = secrets.randbits(62)
    session.run(
        "INSERT INTO nodes (name, role, incarnation, started, beat, draining, content) "
        f"VALUES (?, ?, ?, {session.now}, {session.now}, 0, ?) ON CONFLICT (name) DO UPDATE SET "
        "role = excluded.role, incarnation = excluded.incarnation, started = excluded.started, "
        "beat = excluded.beat, content = excluded.content, "
        "draining = CASE WHEN nodes.beat < excluded.beat - ? THEN 0 ELSE nodes.draining END",
        *(name, role, incarnation, "{}", RESTART),
    )
    session.run("UPDATE leases SET node = NULL, expires = 0 WHERE node = ?", name)
    return NodeIdentity(name, incarnation)


def beat(session: Session, node: NodeIdentity, content: dict[str, Any]) -> bool:
    """Note a sign of life; returns whether the node is to give its zones away.

    Raises:
        ConflictError: If a later process has the node's name.
    """
    rows = session.rows(
        f"UPDATE nodes SET beat = {session.now}, content = ? WHERE name = ? AND incarnation = ? "
        "RETURNING draining",
        *(dump_json(content), node.name, node.incarnation),
    )
    if not rows:
        raise ConflictError(
            f"another process is the node {node.name!r} by now; give each node its own --node"
        )
    return bool(rows[0][0])


def leave(session: Session, node: NodeIdentity) -> None:
    """Delete a node that has stopped, and its leases."""
    key = (node.name, node.incarnation)
    session.run(
        "UPDATE leases SET node = NULL, expires = 0 WHERE node = ? AND incarnation = ?", *key
    )
    session.run("DELETE FROM nodes WHERE name = ? AND incarnation = ?", *key)


def drain(session: Session, name: str, *, draining: bool) -> None:
    """Let a node give its zones away, or take zones again."""
    if not session.run("UPDATE nodes SET draining = ? WHERE name = ?", int(draining), name):
        raise DataError(f"there is no node {name!r}; 'clearwatt cluster status' lists them")


def find_all(session: Session) -> list[ClusterNode]:
    """All nodes, by name, with the zones that they hold."""
    zones: dict[tuple[str, int], list[str]] = {}
    held = session.rows(
        "SELECT l.node, l.incarnation, l.name FROM leases l JOIN zones z ON z.id = l.name "
        f"WHERE l.node IS NOT NULL AND l.expires >= {session.now} ORDER BY l.name"
    )
    for node, incarnation, zone in held:
        zones.setdefault((node, incarnation), []).append(zone)
    rows = session.rows(
        f"SELECT name, role, incarnation, started, beat, {session.now} - beat, draining, content "
        "FROM nodes ORDER BY name"
    )
    return [
        ClusterNode(
            name=name,
            role=role,
            incarnation=incarnation,
            started=started,
            beat=at,
            age=age,
            draining=bool(draining),
            zones=tuple(zones.get((name, incarnation), ())),
            content=from_json(content),
        )
        for name, role, incarnation, started, at, age, draining, content in rows
    ]
