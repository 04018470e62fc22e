"""Reads model versions; a damaged one is replaced by the one before it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, TypeVar

from clearwatt.adaptive import NetworkVersion
from clearwatt.adaptive.publication import unpack_networks
from clearwatt.clear.component import Model
from clearwatt.clear.model_saving import unpack_model
from clearwatt.errors import ClearwattError, StateError
from clearwatt.files import SavedState
from clearwatt.service.records import ServiceEvent, StoredVersion
from clearwatt.service.store import Store

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Files(Protocol):
    """Reads version files; see `clearwatt.service.files.ModelFiles`."""

    def read(self, path: str) -> SavedState:
        """Read a version; StateError if it is damaged."""


class Versions(NamedTuple):
    """The versions that forecast an entity; an adaptive forecaster has no encoder."""

    encoder: str | None
    predictor: str


class LoadedModel(NamedTuple):
    """A model and its version, which may be earlier than the requested one."""

    version: str
    model: Model


class Library:
    """Reads version files; a damaged one is marked, recorded and replaced by the one before it."""

    def __init__(
        self, store: Store, files: Files, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._store, self._files, self._clock = store, files, clock

    def find(self, version: str) -> LoadedModel:
        """The version, or the newest earlier one of its component that can be read."""
        return LoadedModel(*self._find(version, _unpack_model))

    def find_networks(self, version: str) -> tuple[str, NetworkVersion]:
        """Like `find`, for the networks of an adaptive forecaster."""
        return self._find(version, lambda saved: unpack_networks(saved.values, saved.tensors))

    def _find(self, version: str, unpack: Callable[[SavedState], T]) -> tuple[str, T]:
        wanted = self._store.version(version)
        if wanted is None:
            raise StateError(f"version {version} is not known; restore the store from a backup")
        damaged: list[tuple[StoredVersion, str]] = []
        for candidate in self._candidates(wanted):
            try:
                found = self._read(candidate, unpack)
            except StateError as error:
                damaged.append((candidate, str(error)))
                continue
            self._report(damaged, candidate.id)
            return candidate.id, found
        self._report(damaged, None)
        raise StateError(f"{version} is damaged and no earlier version can be read")

    def _read(self, version: StoredVersion, unpack: Callable[[SavedState], T]) -> T:
        saved = self._files.read(version.path)
        try:
            return unpack(saved)
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"{version.path} is no model ({error!r})") from error

    def _candidates(self, wanted: StoredVersion) -> Iterator[StoredVersion]:
        yield wanted
        others = self._store.versions(zone=wanted.zone, entity=wanted.entity)
        served = [
            other
            for other in others
            if (other.component, other.entity) == (wanted.component, wanted.entity)
            and other.number < wanted.number
            and other.status in ("deployed", "superseded")
        ]
        yield from sorted(served, key=lambda version: version.number, reverse=True)

    def _report(self, damaged: list[tuple[StoredVersion, str]], used: str | None) -> None:
        instead = f"{used} is used instead" if used else "a fallback answers instead"
        for version, reason in damaged:
            _log.error("damaged version", extra={"version": version.id, "reason": reason})
            event = ServiceEvent(
                key=f"damaged:{version.id}",
                kind="damaged",
                message=f"{version.id} cannot be read: {reason}; {instead}",
                at=self._clock(),
                zone=version.zone,
                entity=version.entity,
                details={"version": version.id, "used": used},
            )
            try:
                self._store.mark_version(version.id, "damaged")
                self._store.add_event(event)
            except ClearwattError as error:
                # A full disk must not prevent the use of the earlier version.
                _log.warning("damage not recorded", extra={"reason": str(error)})


def _unpack_model(saved: SavedState) -> Model:
    return unpack_model(saved.values, saved.tensors, None)
