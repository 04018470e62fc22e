"""Errors of a store."""

from __future__ import annotations

from clearwatt.errors import ClearwattError, DataError


class StoreFullError(ClearwattError):
    """The disk is full: nothing was written; free space and send it again."""


class StoreUnavailableError(ClearwattError):
    """The database does not answer; nothing was written."""


class StoreBusyError(StoreUnavailableError):
    """Another transaction has locked what this one needs; nothing was written."""


class StoreDamagedError(ClearwattError):
    """The database is damaged; the message names the remedy."""


class ConflictError(ClearwattError):
    """The object exists already and differs, or is in use elsewhere."""


class UnregisteredEntityError(DataError):
    """Readings name an entity that is not registered, or no longer; nothing was written."""


class UnregisteredZoneError(DataError):
    """A zone is not registered, or no longer; nothing was written."""


class LeaseLostError(ClearwattError):
    """Another node has taken the zone over; nothing was written."""
