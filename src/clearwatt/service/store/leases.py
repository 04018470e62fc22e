"""Leases: the right of one node to learn a zone, for some seconds, with a fencing number.

A lease that is not renewed can be taken by another node. Taking it raises the fencing number, which
every commit of the zone checks in its own transaction, so a node that was paused cannot write.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from clearwatt.service.records import NodeIdentity
from clearwatt.service.store.errors import LeaseLostError
from clearwatt.service.store.session import Session

SECONDS = 15.0
"""How long a lease lasts unless it is renewed."""
PAUSE = 10.0
"""Seconds after which the locks of a process that hangs within a commit are released."""

_FREE = "(leases.node IS NULL OR leases.expires < {now})"


def take_zones(session: Session, node: NodeIdentity, limit: int) -> dict[str, int]:
    """Take up to ``limit`` zones that no node holds; zones and fencing numbers.

    A zone that is locked, as by a node that hangs within a commit, is left for the next time.
    """
    free = _FREE.format(now=session.now)
    locking = f"{session.locking} SKIP LOCKED" if session.locking else ""
    found = session.rows(
        f"SELECT name FROM leases WHERE {free} AND name IN (SELECT id FROM zones) "
        f"ORDER BY name LIMIT ? {locking}",
        limit,
    )
    found += session.rows(
        "SELECT id FROM zones WHERE NOT EXISTS "
        "(SELECT 1 FROM leases WHERE leases.name = zones.id) ORDER BY id LIMIT ?",
        limit - len(found),
    )
    fences = {zone: _take(session, node, zone) for (zone,) in found}
    return {zone: fence for zone, fence in fences.items() if fence is not None}


def take(session: Session, node: NodeIdentity, name: str) -> bool:
    """Take or renew one lease by name; whether the node holds it."""
    return bool(_renew(session, node, name)) or _take(session, node, name) is not None


def renew_zones(session: Session, node: NodeIdentity) -> dict[str, int]:
    """Renew all leases of a node; zones that it still holds, and their fencing numbers."""
    rows = session.rows(
        f"UPDATE leases SET expires = {session.now} + ? WHERE node = ? AND incarnation = ? "
        "RETURNING name, fence",
        *(SECONDS, node.name, node.incarnation),
    )
    registered = {zone for (zone,) in session.rows("SELECT id FROM zones")}
    return {zone: fence for zone, fence in rows if zone in registered}


def release(session: Session, node: NodeIdentity, names: Collection[str]) -> None:
    """Give leases back, so that another node can take them at once."""
    for name in sorted(names):
        session.run(
            "UPDATE leases SET node = NULL, expires = 0 "
            "WHERE name = ? AND node = ? AND incarnation = ?",
            *(name, node.name, node.incarnation),
        )


def check_fence(session: Session, zone: str, fence: int) -> None:
    """Lock a lease until the transaction ends.

    Raises:
        LeaseLostError: If another node has taken it since.
    """
    session.limit_pause(PAUSE)
    sql = f"SELECT fence FROM leases WHERE name = ? {session.locking}"
    found = session.rows(sql, zone)
    if not found or found[0][0] != fence:
        raise LeaseLostError(f"zone {zone} is learned by another node by now")


def holders(session: Session) -> Mapping[str, str]:
    """The node that holds each zone; zones that nobody holds are left out."""
    rows = session.rows(
        "SELECT l.name, l.node FROM leases l JOIN zones z ON z.id = l.name "
        f"WHERE l.node IS NOT NULL AND l.expires >= {session.now}"
    )
    return dict(rows)


def _renew(session: Session, node: NodeIdentity, name: str) -> int:
    return session.run(
        f"UPDATE leases SET expires = {session.now} + ? "
        f"WHERE name = ? AND node = ? AND incarnation = ? AND expires >= {session.now}",
        *(SECONDS, name, node.name, node.incarnation),
    )


def _take(session: Session, node: NodeIdentity, name: str) -> int | None:
    """Take a lease if it is free; its fencing number, None if another node was faster."""
    free = _FREE.format(now=session.now)
    rows = session.rows(
        "INSERT INTO leases (name, node, incarnation, fence, expires) "
        f"VALUES (?, ?, ?, 1, {session.now} + ?) ON CONFLICT (name) DO UPDATE SET "
        "node = excluded.node, incarnation = excluded.incarnation, fence = leases.fence + 1, "
        f"expires = excluded.expires WHERE {free} RETURNING fence",
        *(name, node.name, node.incarnation, SECONDS),
    )
    return int(rows[0][0]) if rows else None
