"""Fleet priors: kept for good, because journals name them."""

from __future__ import annotations

import zlib

from clearwatt.service.records import PriorOrigin, PriorVersion
from clearwatt.service.store.checksums import check
from clearwatt.service.store.counters import lock_counter, set_counter
from clearwatt.service.store.session import Insert, Row, Session

NEW = Insert("priors")
VERSIONS = "SELECT digest, number, origin, actor, at FROM priors"


def add(
    session: Session, digest: str, content: bytes, *, origin: PriorOrigin, actor: str, at: float
) -> PriorVersion:
    """Store a prior; one that is stored already stays as it is."""
    number = lock_counter(session, "priors") + 1
    known = session.rows(f"{VERSIONS} WHERE digest = ?", digest)
    if known:
        return PriorVersion(*known[0])
    version = PriorVersion(digest, number, origin, actor, at)
    row = NEW.row(version, content=content, checksum=zlib.crc32(content))
    session.insert_rows(NEW, [row])
    set_counter(session, "priors", number)
    return version


def versions(session: Session) -> list[PriorVersion]:
    """All priors, the newest first."""
    return [PriorVersion(*row) for row in session.rows(f"{VERSIONS} ORDER BY number DESC")]


def content(session: Session, digest: str) -> bytes | None:
    """The content of a prior; None if it is not stored."""
    found = session.rows("SELECT content, checksum, digest FROM priors WHERE digest = ?", digest)
    return _checked(found[0]) if found else None


def check_all(session: Session) -> None:
    """Raise StoreDamagedError if a prior is not what was written."""
    for (digest,) in session.rows("SELECT digest FROM priors ORDER BY number"):
        content(session, digest)


def _checked(row: Row) -> bytes:
    stored, checksum, digest = row
    found = bytes(stored)
    check(f"the prior {digest[:16]}", checksum, zlib.crc32(found))
    return found
