"""The priors of a service, over HTTP or in its data directory."""

from __future__ import annotations

import time
from typing import Protocol

from clearwatt.service.api.schemas.priors import PriorAnswer
from clearwatt.service.client import Client
from clearwatt.service.priors import PriorBook, add_prior
from clearwatt.service.store import Store

ACTOR = "clearwatt prior import"


class PriorAccess(Protocol):
    """What the command line does with the priors of a service."""

    def list(self) -> list[PriorAnswer]:
        """All priors, the newest first."""

    def add(self, content: bytes) -> PriorAnswer:
        """Import a prior."""

    def content(self, digest: str) -> bytes:
        """The content of a prior that is listed."""


class RemotePriors:
    """The priors of a running service."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def list(self) -> list[PriorAnswer]:
        """All priors, the newest first."""
        return self._client.priors().priors

    def add(self, content: bytes) -> PriorAnswer:
        """Import a prior."""
        return self._client.add_prior(content)

    def content(self, digest: str) -> bytes:
        """The content of a prior that is listed."""
        return self._client.prior(digest).decoded


class StoredPriors:
    """The priors in a data directory; the service may be running."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def list(self) -> list[PriorAnswer]:
        """All priors, the newest first."""
        return [PriorAnswer.of(each) for each in PriorBook(self._store).all()]

    def add(self, content: bytes) -> PriorAnswer:
        """Import a prior."""
        stored = add_prior(self._store, content, origin="imported", actor=ACTOR, at=time.time())
        return PriorAnswer.of(stored)

    def content(self, digest: str) -> bytes:
        """The content of a prior that is listed."""
        found = self._store.prior(digest)
        assert found is not None
        return found
