"""The part of a store that the nodes of a cluster share: nodes, leases, folders and news."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from clearwatt.service.records import ClusterNode, LatestContent, NodeIdentity, NodeRole
from clearwatt.service.store import folders, leases, nodes, revisions, secrets
from clearwatt.service.store.errors import LeaseLostError
from clearwatt.service.store.journal_store import JournalStore

LATEST_WAIT = 1.0
"""Seconds that `ClusterStore.put_latest` waits for a lock; the next readings repeat it anyway."""


class ClusterStore(JournalStore):
    """What nodes share; see `clearwatt.service.store.base.Store`."""

    # Nodes.

    def register_node(self, name: str, role: NodeRole) -> NodeIdentity:
        """Enter a node; an earlier process of this name loses its leases."""
        with self.write_session() as session:
            return nodes.register(session, name, role)

    def beat(self, node: NodeIdentity, content: Mapping[str, Any]) -> bool:
        """Note a sign of life; whether the node is to give its zones away.

        Raises:
            ConflictError: If a later process has the node's name.
        """
        with self.write_session() as session:
            return nodes.beat(session, node, dict(content))

    def leave(self, node: NodeIdentity) -> None:
        """Delete a node that has stopped, and its leases."""
        with self.write_session() as session:
            nodes.leave(session, node)

    def drain_node(self, name: str, *, draining: bool) -> None:
        """Let a node give its zones away, or take zones again; DataError if it is unknown."""
        with self.write_session() as session:
            nodes.drain(session, name, draining=draining)

    def nodes(self) -> list[ClusterNode]:
        """All nodes, by name."""
        with self.read_session() as session:
            return nodes.find_all(session)

    # Leases.

    def take_zones(self, node: NodeIdentity, *, limit: int) -> dict[str, int]:
        """Take up to ``limit`` zones that no node holds; zones and fencing numbers."""
        with self.write_session() as session:
            return leases.take_zones(session, node, limit)

    def renew_zones(self, node: NodeIdentity) -> dict[str, int]:
        """Renew all leases of a node; zones that it still holds, and their fencing numbers."""
        with self.write_session() as session:
            return leases.renew_zones(session, node)

    def take_lease(self, node: NodeIdentity, name: str) -> bool:
        """Take or renew a lease that is not of a zone; whether the node holds it."""
        with self.write_session() as session:
            return leases.take(session, node, name)

    def release_leases(self, node: NodeIdentity, names: Collection[str]) -> None:
        """Give leases back, so that another node can take them at once."""
        with self.write_session() as session:
            leases.release(session, node, names)

    def holders(self) -> Mapping[str, str]:
        """The node that learns each zone; zones that nobody learns are left out."""
        with self.read_session() as session:
            return leases.holders(session)

    # Folders.

    def put_folder(self, path: str, files: folders.Files) -> None:
        """Store the files of a folder; it replaces one of the same path."""
        with self.write_session() as session:
            folders.put(session, path, files)

    def folder(self, path: str) -> dict[str, bytes]:
        """The files of a folder, none if there is no such; StateError if one is damaged."""
        with self.read_session() as session:
            return folders.get(session, path)

    def existing_folders(self, paths: Collection[str]) -> set[str]:
        """The paths at which there is a folder."""
        with self.read_session() as session:
            return folders.existing(session, paths)

    def folder_names(self, parent: str) -> list[str]:
        """Names of the folders directly below a parent."""
        with self.read_session() as session:
            return folders.names(session, parent)

    def remove_folder(self, path: str) -> None:
        """Delete a folder, if there is one."""
        with self.write_session() as session:
            folders.remove(session, path)

    def move_folder(self, path: str, target: str) -> None:
        """Rename a folder; it replaces one of that name."""
        with self.write_session() as session:
            folders.move(session, path, target)

    # News.

    def put_latest(self, zone: str, content: bytes, *, fence: int) -> bool:
        """Store what the newest readings change in the forecasts of a zone.

        Returns:
            False if nothing was stored, because another node holds the zone: ``fence`` is not the
            number of its lease any more.
        """
        try:
            with self.write_session() as session:
                session.limit_lock_wait(LATEST_WAIT)
                stored = session.run(
                    "INSERT INTO latest (zone, revision, content) "
                    "SELECT id, 1, ? FROM zones WHERE id = ? ON CONFLICT (zone) DO UPDATE SET "
                    "revision = latest.revision + 1, content = excluded.content",
                    *(content, zone),
                )
                leases.check_fence(session, zone, fence)  # last: whoever waits for it waits little
        except LeaseLostError:
            return False
        return bool(stored)

    def latest_revisions(self) -> dict[str, int]:
        """How often `put_latest` was called for each zone, to see cheaply what has changed."""
        with self.read_session() as session:
            return dict(session.rows("SELECT zone, revision FROM latest"))

    def latest_content(self, zone: str) -> LatestContent | None:
        """What was stored last by `put_latest`; None if nothing was."""
        with self.read_session() as session:
            rows = session.rows("SELECT revision, content FROM latest WHERE zone = ?", zone)
        return LatestContent(rows[0][0], bytes(rows[0][1])) if rows else None

    def registry_revision(self) -> int:
        """A number that changes with every registration, new name and deletion."""
        with self.read_session() as session:
            return revisions.current(session, "registry")

    def secret(self, name: str, *, create: bytes) -> bytes:
        """A secret that all nodes share; ``create`` becomes it if there is none."""
        with self.write_session() as session:
            return secrets.find_or_create(session, name, create)
