"""Secrets that the web nodes of a cluster share, such as the key that signs sessions."""

from __future__ import annotations

from clearwatt.service.store.session import Session


def find_or_create(session: Session, name: str, content: bytes) -> bytes:
    """The secret; ``content`` becomes it if there is none."""
    session.run(
        "INSERT INTO secrets (name, content) VALUES (?, ?) ON CONFLICT DO NOTHING", name, content
    )
    return bytes(session.rows("SELECT content FROM secrets WHERE name = ?", name)[0][0])
