"""The durable store of the service: SQLite in a file, or PostgreSQL."""

from clearwatt.service.store.base import Store
from clearwatt.service.store.errors import (
    ConflictError,
    LeaseLostError,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
    UnregisteredEntityError,
    UnregisteredZoneError,
)
from clearwatt.service.store.opening import open_store

__all__ = [
    "ConflictError",
    "LeaseLostError",
    "Store",
    "StoreDamagedError",
    "StoreFullError",
    "StoreUnavailableError",
    "UnregisteredEntityError",
    "UnregisteredZoneError",
    "open_store",
]
